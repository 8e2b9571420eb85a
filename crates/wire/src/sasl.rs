//! Proves to a broker who we are: PLAIN and SCRAM, with Kafka's two requests around them.
//!
//! The messages are pure functions here and in [`scram`]; `connection/open.rs` sends them.

pub mod scram;

use std::fmt;
use std::ops::RangeInclusive;

use crate::read::{Reader, Result};

/// The versions of SaslHandshake that we speak. Version 1 is the one after which SaslAuthenticate carries the messages.
pub(crate) const HANDSHAKE_VERSIONS: RangeInclusive<i16> = 1..=1;
/// The versions of SaslAuthenticate that we speak.
pub(crate) const AUTHENTICATE_VERSIONS: RangeInclusive<i16> = 0..=1;

/// The user, and the mechanism that proves it.
#[derive(Debug, Clone)]
pub struct Sasl {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The user's name.
    pub user: String,
    /// The proof.
    pub password: Secret,
}

/// A way to prove who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself (RFC 4616): only for TLS.
    Plain,
    /// RFC 7677.
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// As in `sasl.mechanism`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// A password, which shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The password.
    #[must_use]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// PLAIN's only message. Neither name nor password may have a NUL in it.
#[must_use]
pub(crate) fn plain_message(user: &str, password: &Secret) -> Vec<u8> {
    [b"\0", user.as_bytes(), b"\0", password.0.as_bytes()].concat()
}

/// The body of a SaslHandshake v1 response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// 0, or why not.
    pub error_code: i16,
    /// The mechanisms that the broker offers on this listener.
    pub mechanisms: Vec<String>,
}

impl Handshake {
    /// Reads the response's body.
    ///
    /// # Errors
    /// When the bytes are not that.
    pub fn read(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let error_code = reader.i16("error_code")?;
        let count = reader.array_length(2, "mechanisms")?;
        let mechanisms =
            (0..count).map(|_| reader.string("mechanism").map(str::to_owned)).collect::<Result<_>>()?;
        Ok(Self { error_code, mechanisms })
    }
}

/// The body of a SaslAuthenticate response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authenticate<'a> {
    /// 0, or why not.
    pub error_code: i16,
    /// The broker's reason, in words.
    pub error_message: Option<&'a str>,
    /// The mechanism's message.
    pub message: &'a [u8],
}

impl<'a> Authenticate<'a> {
    /// Reads the response's body, of version 0 or 1.
    ///
    /// # Errors
    /// When the bytes are not that.
    pub fn read(version: i16, body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let error_code = reader.i16("error_code")?;
        let error_message = reader.nullable_string("error_message")?;
        let message = reader.bytes("auth_bytes")?;
        if version >= 1 {
            reader.i64("session_lifetime_ms")?;
        }
        Ok(Self { error_code, error_message, message })
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_protocol::messages::{SaslAuthenticateResponse, SaslHandshakeResponse};
    use kafka_protocol::protocol::Encodable;
    use proptest::prelude::*;

    use super::*;

    fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        message.encode(&mut bytes, version).unwrap();
        bytes.to_vec()
    }

    #[test]
    fn responses_are_read_as_the_protocol_crate_writes_them() {
        let mechanisms = vec!["PLAIN".into(), "SCRAM-SHA-256".into()];
        let body =
            encoded(&SaslHandshakeResponse::default().with_error_code(33).with_mechanisms(mechanisms), 1);
        let handshake = Handshake::read(&body).unwrap();
        assert_eq!(
            (handshake.error_code, handshake.mechanisms.join(" ")),
            (33, "PLAIN SCRAM-SHA-256".into())
        );
        assert!((0..body.len()).all(|length| Handshake::read(&body[..length]).is_err()));

        for version in AUTHENTICATE_VERSIONS {
            let response = SaslAuthenticateResponse::default()
                .with_error_code(58)
                .with_error_message(Some("no".into()))
                .with_auth_bytes(bytes::Bytes::from_static(b"v=1"));
            let body = encoded(&response, version);
            let expected = Authenticate { error_code: 58, error_message: Some("no"), message: b"v=1" };
            assert_eq!(Authenticate::read(version, &body), Ok(expected));
            assert!((0..body.len()).all(|length| Authenticate::read(version, &body[..length]).is_err()));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_responses_or_errors(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _result = Handshake::read(&bytes);
            let _result = Authenticate::read(1, &bytes);
        }
    }

    #[test]
    fn a_password_is_in_no_debug_text() {
        let sasl = Sasl { mechanism: Mechanism::Plain, user: "ann".into(), password: Secret::new("hunter2") };
        let text = format!("{sasl:?}");
        assert!(text.contains("ann") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn plain_is_an_empty_identity_the_user_and_the_password() {
        assert_eq!(plain_message("tim", &Secret::new("tanstaaftanstaaf")), b"\0tim\0tanstaaftanstaaf");
    }
}
