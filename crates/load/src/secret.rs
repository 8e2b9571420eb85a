//! Properties whose values must never be shown, of either driver.

/// Whether a property's value must never be shown.
pub fn is_secret(key: &str) -> bool {
    const SECRET: &[&str] =
        &["password", "secret", "key.pem", "jaas", "oauthbearer.config", "token", "private"];
    SECRET.iter().any(|part| key.contains(part))
}

/// What is shown instead of a secret.
pub const REDACTED: &str = "[redacted]";
