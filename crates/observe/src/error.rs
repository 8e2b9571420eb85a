//! The errors of asking a host or a broker about itself.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;

use thiserror::Error;

use crate::prometheus::{KEPT_BYTES_LIMIT, KEPT_LIMIT};
use crate::{HttpError, PageError};

/// A question that got no answer. Paths are those of the host, without the [`HostRoot`](crate::HostRoot)'s prefix.
#[derive(Debug, Error)]
pub enum ObserveError {
    /// Environment: a file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// Environment: a file is larger than anything that the kernel is known to print there.
    #[error("{path} is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The file.
        path: String,
        /// The most that would have been read.
        limit_bytes: u64,
    },
    /// Environment: a file does not look as the kernel's documentation says.
    #[error("{path}: expected {expected}, got {got:?}")]
    Format {
        /// The file.
        path: String,
        /// The content that it should hold.
        expected: &'static str,
        /// Its first characters.
        got: String,
    },
    /// Environment: there is no such process, or it ended.
    #[error("no process {pid}")]
    NoProcess {
        /// The process that was asked for.
        pid: u32,
    },
    /// Environment: the kernel lets this process trace nothing.
    #[error("cannot trace the kernel: {reason}")]
    KernelTrace {
        /// What the kernel lacks or refused.
        reason: String,
        /// What would help.
        hint: &'static str,
    },
    /// Target: the metrics page could not be fetched.
    #[error("cannot fetch {url}")]
    Fetch {
        /// The page's address.
        url: String,
        /// The reason.
        #[source]
        source: HttpError,
    },
    /// Target: the page is no Prometheus text.
    #[error("{url} is not a page of Prometheus metrics")]
    Page {
        /// The page's address.
        url: String,
        /// The fault in the page.
        #[source]
        source: PageError,
    },
}

impl ObserveError {
    /// A file that does not hold what it should.
    pub(crate) fn format(path: &str, expected: &'static str, text: &str) -> Self {
        ObserveError::Format { path: path.to_owned(), expected, got: text.trim().chars().take(80).collect() }
    }

    /// The error and its causes in one line, as the reason of an unknown fact.
    pub(crate) fn reason(&self) -> String {
        match self {
            ObserveError::Read { path, source } => format!("cannot read {path}: {source}"),
            other => other.to_string(),
        }
    }
}

impl HasFault for ObserveError {
    fn fault(&self) -> Fault {
        match self {
            ObserveError::Read { .. }
            | ObserveError::TooLarge { .. }
            | ObserveError::Format { .. }
            | ObserveError::NoProcess { .. }
            | ObserveError::KernelTrace { .. } => Fault::Environment,
            ObserveError::Fetch { source: HttpError::Url { .. }, .. } => Fault::User,
            ObserveError::Fetch { source: HttpError::Authorities { .. }, .. } => Fault::Environment,
            ObserveError::Fetch { .. } | ObserveError::Page { .. } => Fault::Target,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            ObserveError::KernelTrace { hint, .. } => hint,
            ObserveError::Fetch { source: HttpError::Status { status: 401 | 403 }, .. } => {
                "that page is not for everybody: PLUMB_METRICS_USER and PLUMB_METRICS_PASSWORD in the environment are the login"
            }
            ObserveError::Fetch { source: HttpError::Authorities { .. }, .. } => {
                "name a file of authorities, PEM, in the environment's SSL_CERT_FILE"
            }
            ObserveError::Fetch { source: HttpError::Tls { .. }, .. } => {
                "is it https there, by the name in its certificate? The environment's SSL_CERT_FILE names the authority of \
                 one of your own"
            }
            ObserveError::Fetch { source: HttpError::TooLarge { .. }, .. }
            | ObserveError::Page {
                source: PageError { expected: KEPT_LIMIT | KEPT_BYTES_LIMIT, .. }, ..
            } => "have the exporter serve less: rules without partitions and clients are enough",
            ObserveError::Fetch { .. } | ObserveError::Page { .. } => {
                "--metrics takes the address of a broker's JMX exporter, such as http://host:9404/metrics"
            }
            _ => return None,
        };
        Some(hint.into())
    }
}
