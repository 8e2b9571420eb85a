//! Properties whose values must never be shown, of either driver.

/// True if a property's value must never be shown.
pub fn is_secret(key: &str) -> bool {
    const SECRET: &[&str] =
        &["password", "secret", "key.pem", "jaas", "oauthbearer.config", "token", "private"];
    SECRET.iter().any(|part| key.contains(part))
}

/// The text that is shown instead of a secret.
pub const REDACTED: &str = "[redacted]";
