//! The errors between us and a broker, told apart by what a user can do about them.
//!
//! Each error names the broker as it was addressed. Passwords and keys are in none of them.

mod code;

use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

pub use self::code::ErrorCode;
use crate::read::DecodeError;
use crate::versions::ApiKey;

/// The failure to open or to use a connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The connection's settings cannot be used.
    #[error("{what}: {problem}")]
    Settings {
        /// The setting, with the file's path where there is one.
        what: String,
        /// The fault, and what would be right.
        problem: String,
    },
    /// The name has no address.
    #[error("{broker}: the host name cannot be resolved")]
    Unresolved {
        /// As it was addressed.
        broker: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// Nobody listens there, or no way leads there.
    #[error("{broker}: cannot connect")]
    Unreachable {
        /// As it was addressed.
        broker: String,
        /// The error of the last address tried.
        source: io::Error,
    },
    /// It took longer than allowed.
    #[error("{broker}: no success within {} s while {during}", after.as_secs_f64())]
    Timeout {
        /// As it was addressed.
        broker: String,
        /// The stage that was waited for.
        during: Stage,
        /// The time waited.
        after: Duration,
    },
    /// The other side ended the connection.
    #[error("{broker}: the peer closed the connection while {during}{}", during.why_closed())]
    Closed {
        /// As it was addressed.
        broker: String,
        /// The stage at that time.
        during: Stage,
    },
    /// We spoke plaintext, the answer is TLS.
    #[error(
        "{broker}: the listener speaks TLS, but the connection is plaintext (security.protocol must be SSL or SASL_SSL)"
    )]
    ListenerSpeaksTls {
        /// As it was addressed.
        broker: String,
    },
    /// TLS could not be agreed on, or broke.
    #[error("{broker}: TLS: {problem}")]
    Tls {
        /// As it was addressed.
        broker: String,
        /// The fault.
        problem: TlsProblem,
    },
    /// The broker refused the user, or we the broker.
    #[error("{broker}: SASL {mechanism}: {problem}")]
    Authentication {
        /// As it was addressed.
        broker: String,
        /// The mechanism's name.
        mechanism: &'static str,
        /// The fault.
        problem: AuthenticationProblem,
    },
    /// No version of an API that both sides speak.
    #[error("{broker}: {api:?}: no common version: ours are {} to {}, the broker's {}",
        ours.start(), ours.end(), BrokerVersions(broker_has))]
    Version {
        /// As it was addressed.
        broker: String,
        /// The API.
        api: ApiKey,
        /// The versions that we speak.
        ours: RangeInclusive<i16>,
        /// The versions that the broker speaks; `None` where it does not know the API.
        broker_has: Option<RangeInclusive<i16>>,
    },
    /// A frame that is shorter than a response or longer than allowed.
    #[error(
        "{broker}: a response of {claimed} bytes was announced, expected 4 to {limit}: it is no Kafka broker, or the limit is too low"
    )]
    FrameLength {
        /// As it was addressed.
        broker: String,
        /// The length that the frame claims.
        claimed: i32,
        /// The most that is allowed.
        limit: usize,
    },
    /// A response to another request than the one that was asked.
    #[error("{broker}: {api:?}: expected the response to request {expected}, got the one to {got}")]
    Correlation {
        /// As it was addressed.
        broker: String,
        /// The request's API.
        api: ApiKey,
        /// The request's number.
        expected: i32,
        /// The response's.
        got: i32,
    },
    /// A response whose bytes are not what the protocol says.
    #[error("{broker}: {api:?} response")]
    Decode {
        /// As it was addressed.
        broker: String,
        /// The request's API.
        api: ApiKey,
        /// The fault in the bytes.
        source: DecodeError,
    },
    /// The broker answered that it will not.
    #[error("{broker}: {api:?} of {subject}: {code}")]
    Refused {
        /// As it was addressed.
        broker: String,
        /// The request's API.
        api: ApiKey,
        /// The topic, partition or directory it was about.
        subject: String,
        /// The broker's answer.
        code: ErrorCode,
    },
    /// The socket failed.
    #[error("{broker}: the connection failed while {during}")]
    Io {
        /// As it was addressed.
        broker: String,
        /// The stage at that time.
        during: Stage,
        /// The system's error.
        source: io::Error,
    },
}

/// The stage of a connection: connecting, opening, or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Asking for the address.
    Resolving,
    /// The TCP handshake.
    Connecting,
    /// The TLS handshake.
    TlsHandshake,
    /// The first request: which versions the broker speaks.
    Versions,
    /// The SASL exchange.
    Authentication,
    /// A control exchange.
    Exchange(ApiKey),
    /// Pipelined requests and their responses.
    Streaming,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolving => f.write_str("resolving the host name"),
            Self::Connecting => f.write_str("connecting"),
            Self::TlsHandshake => f.write_str("shaking hands by TLS"),
            Self::Versions => f.write_str("asking for API versions"),
            Self::Authentication => f.write_str("authenticating"),
            Self::Exchange(api) => write!(f, "asking for {api:?}"),
            Self::Streaming => f.write_str("waiting for responses"),
        }
    }
}

impl Stage {
    /// The usual reason why a broker hangs up at this stage, as words to follow the sentence; else nothing.
    fn why_closed(self) -> &'static str {
        match self {
            Self::TlsHandshake => {
                ": the listener is probably plaintext (security.protocol PLAINTEXT or SASL_PLAINTEXT)"
            }
            Self::Versions => {
                ": it is no Kafka listener, or one of another security.protocol, or it misses a client certificate"
            }
            // A SASL listener answers ApiVersions to anyone, and hangs up on the next request.
            Self::Exchange(ApiKey::Metadata) => {
                ": the listener may require SASL (sasl.mechanism and security.protocol)"
            }
            _ => "",
        }
    }
}

/// The reason why TLS did not work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// Bytes that are no TLS.
    #[error("the listener answered with something that is not TLS: it is probably plaintext")]
    NotTls,
    /// The certificate leads to no authority that we trust.
    #[error("the broker's certificate is not trusted: {0} (ssl.ca.location names the authority to trust)")]
    Untrusted(String),
    /// The certificate is for another host.
    #[error(
        "{0} (connect by a name that it lists; ssl.endpoint.identification.algorithm=none does not check it)"
    )]
    WrongName(String),
    /// The certificate has expired, is not valid yet, or was revoked, or is not made for a server.
    #[error("the broker's certificate is not valid: {0}")]
    Invalid(String),
    /// The broker asks for a client certificate that we do not have.
    #[error("the broker requires a client certificate (ssl.certificate.location and ssl.key.location)")]
    ClientCertificateRequired,
    /// The broker refused: mostly our certificate.
    #[error("the broker refused: it sent the alert {0}")]
    Alert(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The reason why SASL did not work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuthenticationProblem {
    /// The broker does not offer the mechanism here.
    #[error("the broker does not offer it on this listener; it offers {}", .0.join(", "))]
    NotOffered(Vec<String>),
    /// The listener has no SASL.
    #[error("the listener has no SASL (security.protocol must be PLAINTEXT or SSL)")]
    NoSasl,
    /// The user or the password is wrong.
    #[error("the broker refused user and password: {0}")]
    Refused(String),
    /// The broker does not know the password either: somebody else answers in its name.
    #[error("the broker could not prove that it knows the password: its signature is wrong")]
    ServerSignature,
    /// The broker's message is not SCRAM.
    #[error("the broker's message is not what the mechanism says: {0}")]
    Message(&'static str),
}

/// The versions of an API that a broker speaks, in words.
struct BrokerVersions<'a>(&'a Option<RangeInclusive<i16>>);

impl fmt::Display for BrokerVersions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(range) => write!(f, "{} to {}", range.start(), range.end()),
            None => f.write_str("none at all"),
        }
    }
}
