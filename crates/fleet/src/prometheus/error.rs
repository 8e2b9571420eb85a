//! The errors of a metrics server, whose fault each is, and what to do next.

use super::tls_fault::TlsFault;
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::path::PathBuf;
use thiserror::Error;

/// A server that cannot be asked, or whose answer cannot be used.
#[derive(Debug, Error)]
pub enum PrometheusError {
    /// Not an address of ours. What may be a password is not repeated.
    #[error("the address of the metrics server {problem}; expected such as http://prometheus:9090")]
    Address {
        /// The fault.
        problem: &'static str,
    },
    /// The configuration of the connection.
    #[error("{path}: {reason}")]
    Config {
        /// The file.
        path: PathBuf,
        /// The fault, without the content.
        reason: String,
    },
    /// Certificates of authorities.
    #[error("{path} for the certificates of authorities: {reason}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Begin and end of the time were not given.
    #[error("a metrics server needs a window of time: from when until when")]
    NoWindow,
    /// A window that ends before it begins.
    #[error("the window from {from} until {until} has nothing in it")]
    EmptyWindow {
        /// Its begin.
        from: String,
        /// Its end.
        until: String,
    },
    /// Resets cannot be seen in it.
    #[error("a counter has to be a selector such as drops_total{{job=\"edge\"}}, not {query:?}")]
    CounterExpression {
        /// As given.
        query: String,
    },
    /// An expression has no samples of its own.
    #[error("{query:?} is an expression and needs a step: how far apart its values are to be")]
    StepNeeded {
        /// As given.
        query: String,
    },
    /// Nothing is called so.
    #[error("the metrics server has no series of {query:?} in the window")]
    NoSeries {
        /// As given.
        query: String,
    },
    /// Levels of one server do not add up.
    #[error(
        "{query:?} has several series for the server {server:?}, such as {one} and {other}; expected one"
    )]
    SeveralSeries {
        /// As given.
        query: String,
        /// The server.
        server: String,
        /// One of them.
        one: String,
        /// Another.
        other: String,
    },
    /// It is not who it should be, or does not encrypt.
    #[error("the metrics server at {address} is not trusted: {fault}")]
    Tls {
        /// Without user and password.
        address: String,
        /// The reason.
        fault: TlsFault,
    },
    /// It, or what is between, ends the connection while it answers.
    #[error("the metrics server at {address} broke off in the middle of its answer: {reason}")]
    BrokeOff {
        /// Without user and password.
        address: String,
        /// The reason.
        reason: String,
    },
    /// It cannot be reached.
    #[error("cannot reach the metrics server at {address}: {reason}")]
    Connect {
        /// Without user and password.
        address: String,
        /// The reason.
        reason: String,
    },
    /// It is too slow.
    #[error("the metrics server at {address} did not answer in {timeout_s} s")]
    TimedOut {
        /// Without user and password.
        address: String,
        /// The time that was allowed.
        timeout_s: u64,
    },
    /// An answer that is no document.
    #[error("the metrics server at {address} answers with status {status}: {reason}")]
    Status {
        /// Without user and password.
        address: String,
        /// Of HTTP.
        status: u16,
        /// The begin of what it says.
        reason: String,
    },
    /// It says why not.
    #[error("the metrics server refuses ({kind}): {reason}")]
    Refused {
        /// Its own word, such as `bad_data`.
        kind: String,
        /// Its own words.
        reason: String,
    },
    /// The answer is not of the form that the interface promises.
    #[error("expected {expected}, got {got}")]
    Answer {
        /// The expected form.
        expected: &'static str,
        /// The form that was there.
        got: String,
    },
    /// The connection ended in the middle of the answer.
    #[error("the answer ends after {bytes} bytes, in the middle")]
    Truncated {
        /// The number of bytes that came.
        bytes: usize,
    },
    /// More than is read at a time.
    #[error("the answer is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The most that is read.
        limit_bytes: u64,
    },
    /// It may not be everything.
    #[error("the metrics server warns that its answer may not be whole: {first}")]
    Warnings {
        /// The first warning.
        first: String,
    },
}

impl PrometheusError {
    /// True if a shorter piece may go through.
    pub(super) fn is_too_much(&self) -> bool {
        match self {
            PrometheusError::TooLarge { .. } => true,
            // "query processing would load too many samples", Mimir's "the query exceeded the maximum number of ...",
            // VictoriaMetrics' "cannot select more than ... samples".
            PrometheusError::Refused { kind, reason } => {
                let reason = reason.to_lowercase();
                kind == "timeout"
                    || ["too many samples", "maximum number", "cannot select more than", "exceeds the limit"]
                        .iter()
                        .any(|words| reason.contains(words))
            }
            _ => false,
        }
    }

    /// True if the same question may be answered a moment later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(
            self,
            PrometheusError::Connect { .. }
                | PrometheusError::BrokeOff { .. }
                | PrometheusError::Truncated { .. }
                | PrometheusError::Status { status: 429 | 502..=504, .. }
        )
    }
}

impl HasFault for PrometheusError {
    fn fault(&self) -> Fault {
        match self {
            PrometheusError::Connect { .. }
            | PrometheusError::Tls { .. }
            | PrometheusError::BrokeOff { .. }
            | PrometheusError::TimedOut { .. }
            | PrometheusError::Status { .. }
            | PrometheusError::Refused { .. }
            | PrometheusError::Answer { .. }
            | PrometheusError::Truncated { .. }
            | PrometheusError::TooLarge { .. }
            | PrometheusError::Warnings { .. } => Fault::Target,
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            PrometheusError::Authorities { .. } => {
                "give a PEM file with --prometheus-ca FILE, tls_config.ca_file or the environment's SSL_CERT_FILE"
            }
            PrometheusError::Tls { fault, .. } => match fault {
                TlsFault::Authority => {
                    "if it is one of your own, give its certificate: --prometheus-ca FILE, or tls_config.ca_file"
                }
                TlsFault::Time => "have the certificate renewed; or is this machine's clock wrong?",
                TlsFault::Name => "give the address by the name that the certificate is for",
                TlsFault::Other(_) => {
                    "is it https there, on this port? And does it ask for a client's certificate?"
                }
            },
            PrometheusError::Address { .. } => {
                "user and password belong into the file of --prometheus-config, not into an address"
            }
            PrometheusError::Config { .. } => {
                "the file has Prometheus' own form (basic_auth, authorization, http_headers, tls_config): see docs/guide/fleet-input.md"
            }
            PrometheusError::NoWindow | PrometheusError::EmptyWindow { .. } => {
                "say from when until when, with the change in the middle: --from TIME --until TIME"
            }
            PrometheusError::CounterExpression { .. } => {
                "name the raw counter: its series are added up for each server after restarts are taken care of; or ask for \
                 increase(...[STEP]) as increments, with --step STEP"
            }
            PrometheusError::StepNeeded { .. } => {
                "give --step; the range of rate() and increase() in it should be as long"
            }
            PrometheusError::NoSeries { .. } => {
                "try the selector in the server's own page, with the window's time; is its retention long enough?"
            }
            PrometheusError::SeveralSeries { .. } => {
                "narrow the selector, or make one of them: max by (instance) (...) with --step"
            }
            PrometheusError::Connect { .. } => {
                "check the address, the port and the firewall between here and there"
            }
            PrometheusError::TimedOut { .. } => {
                "is it busy? Ask for a shorter window, or allow more time: --prometheus-timeout"
            }
            PrometheusError::Refused { kind, .. } if kind == "timeout" => {
                "is it busy? Narrow the selector, or ask another hour"
            }
            PrometheusError::Status { status: 401 | 403, .. } => {
                "give the token, password or tenant in a file with --prometheus-config"
            }
            PrometheusError::Status { status: 300..=399, .. } => "give the address that it redirects to",
            PrometheusError::Status { status: 404, .. } => {
                "the address ends before /api/v1; Mimir has a prefix such as /prometheus, VictoriaMetrics' cluster /select/0/prometheus"
            }
            PrometheusError::Status { .. } => "is it up and ready?",
            PrometheusError::Refused { .. } => "try the query in the server's own page",
            PrometheusError::Answer { .. } => "is it the address of a Prometheus-compatible server's API?",
            PrometheusError::Truncated { .. } | PrometheusError::BrokeOff { .. } => {
                "is there a proxy between that cuts long answers?"
            }
            PrometheusError::TooLarge { .. } => "narrow the selector: it has very many series",
            PrometheusError::Warnings { .. } => {
                "have all stores answer, or accept it: what is missing then looks like gaps"
            }
        };
        Some(hint.into())
    }
}
