//! Names whose values must never be shown: the one table for clients, brokers, headers and commands.

/// Parts of such names, in lower case.
const PARTS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "key.pem",
    "keystore.key",
    "user.info",
    "jaas",
    "oauthbearer.config",
    "token",
    "private",
    "credential",
    "authorization",
    "api-key",
    "api_key",
    "apikey",
    "cookie",
];

/// The text that is shown instead of a secret.
pub const REDACTED: &str = "[redacted]";

/// The variable of the environment with the password of the brokers' metrics: no command that Plumb starts inherits it.
pub const METRICS_PASSWORD: &str = "PLUMB_METRICS_PASSWORD";

/// True if the value under this name must never be shown.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// A value as it may be shown: as it is, or redacted where its name is a secret's.
pub fn shown<'v>(name: &str, value: &'v str) -> &'v str {
    if is_secret(name) { REDACTED } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_case_and_others_are_none() {
        for secret in [
            "sasl.password",
            "ssl.keystore.password",
            "listener.name.x.scram-sha-256.sasl.jaas.config",
            "Authorization",
            "X-Api-Key",
            "AWS_SECRET_ACCESS_KEY",
            "javax.net.ssl.keyStorePassword",
            "ssl.keystore.key",
            "schema.registry.basic.auth.user.info",
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in ["linger.ms", "log.segment.bytes", "ssl.keystore.location", "traceparent", "key"] {
            assert!(!is_secret(plain), "{plain}");
        }
    }
}
