//! The reasons why a link is not there, or no more.

use crate::digest::CertificateDigest;
use crate::frame::{FrameError, Unreadable};
use crate::goodbye::Goodbye;
use crate::greeting::Refusal;
use crate::secret_error::SecretError;
use plumb_model::fault::{Fault, HasFault};
use plumb_model::figure;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// An error of a link. It is kept and told to everybody who asks later, so it can be copied.
#[derive(Debug, Clone, Error)]
pub enum LinkError {
    /// No listening on that address of this host.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's word.
        source: Arc<io::Error>,
    },
    /// The running program's own file cannot be read.
    #[error("cannot read the running program's own file")]
    Program {
        /// The kernel's word.
        source: Arc<io::Error>,
    },
    /// Token, certificate or key cannot be made, read or used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Workers did not come in time.
    #[error("{} of {expected} workers joined within {} s{}{}{}", present.len(), figure::short(waited.as_secs_f64()), listed("; there: ", present), listed("; missing: ", missing), listed("; turned away: ", refused))]
    TooFew {
        /// How many were waited for.
        expected: usize,
        /// The time that they had.
        waited: Duration,
        /// Those who came, in the order of their indices.
        present: Vec<String>,
        /// Those who did not: names, or indices where any name is taken.
        missing: Vec<String>,
        /// Those who came and were refused, with the reason.
        refused: Vec<String>,
    },
    /// A worker whose link broke did not come back.
    #[error("worker {name} did not come back within {} s", figure::short(within.as_secs_f64()))]
    NotBack {
        /// Its name.
        name: String,
        /// The time that it had.
        within: Duration,
    },
    /// Nobody was ever admitted under that name.
    #[error("no worker is called {name}")]
    NoSuchWorker {
        /// The name.
        name: String,
    },
    /// Nobody listens there.
    #[error("no coordinator at {address} within {} s", figure::short(within.as_secs_f64()))]
    NoCoordinator {
        /// The address.
        address: String,
        /// The time that it had.
        within: Duration,
        /// The last attempt's.
        source: Arc<io::Error>,
    },
    /// Somebody else listens there, or the run is another one.
    #[error("the certificate at {address} has the digest {got}, expected {expected}")]
    WrongCertificate {
        /// The address.
        address: String,
        /// The digest that was given.
        expected: CertificateDigest,
        /// The digest of the certificate that was shown.
        got: CertificateDigest,
    },
    /// The coordinator does not take this worker.
    #[error("the coordinator turned this worker away: {refusal}")]
    Refused {
        /// Its reason.
        refusal: Refusal,
    },
    /// Nothing was heard of the other side, although it should say each second that it lives.
    #[error("nothing was heard of {name} for {} s", figure::short(silence.as_secs_f64()))]
    Silent {
        /// The other side.
        name: String,
        /// The time without a byte.
        silence: Duration,
    },
    /// The connection ended, without a word: the other side was killed, or something between both cut it.
    #[error("the link to {name} broke off")]
    Cut {
        /// The other side.
        name: String,
        /// The kernel's word, if it has one.
        source: Option<Arc<io::Error>>,
    },
    /// The connection ended within a frame.
    #[error("the link to {name} broke off within a frame, after {bytes} bytes of it")]
    Torn {
        /// The other side.
        name: String,
        /// The bytes that came.
        bytes: usize,
    },
    /// The other side closed the link.
    #[error("{name} closed the link: {goodbye}")]
    Closed {
        /// The other side.
        name: String,
        /// Its reason.
        goodbye: Goodbye,
    },
    /// We closed the link.
    #[error("the link to {name} was closed here: {goodbye}")]
    ClosedHere {
        /// The other side.
        name: String,
        /// Our reason.
        goodbye: Goodbye,
    },
    /// The other side sent what is no frame.
    #[error("{name} sent what no Plumb sends: {source}")]
    NoFrame {
        /// The other side.
        name: String,
        /// The reason.
        source: FrameError,
    },
    /// The other side sent a frame that has no meaning here.
    #[error("{name} sent a frame of kind {kind}, which is not expected here")]
    UnexpectedKind {
        /// The other side.
        name: String,
        /// The kind.
        kind: u8,
    },
    /// TLS failed.
    #[error("TLS with {name}: {why}")]
    Tls {
        /// The other side.
        name: String,
        /// The reason.
        why: String,
    },
    /// The content of a frame is not what it should be.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Clock readings that cannot be.
    #[error("{name} sent clock readings that cannot be")]
    ImpossibleReadings {
        /// The other side.
        name: String,
    },
    /// A frame to be sent is too long, or its kind is the link's own.
    #[error("a frame of kind {kind} with {bytes} bytes cannot be sent")]
    CannotSend {
        /// Its kind.
        kind: u8,
        /// Its length.
        bytes: usize,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

impl LinkError {
    /// In a few words, for the other side.
    pub(crate) fn in_short(&self) -> String {
        match self {
            LinkError::TooFew { expected, present, .. } => {
                format!("{} of {expected} workers joined in time", present.len())
            }
            LinkError::Stopped => "it was told to stop".to_owned(),
            error => error.to_string(),
        }
    }

    /// True if the other side may come back, so that waiting for it makes sense.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        matches!(self, LinkError::Silent { .. } | LinkError::Cut { .. } | LinkError::Torn { .. })
    }
}

fn listed(before: &str, names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("{before}{}", names.join(", ")),
    }
}

impl HasFault for LinkError {
    fn fault(&self) -> Fault {
        match self {
            LinkError::Secret(error) => error.fault(),
            LinkError::WrongCertificate { .. }
            | LinkError::NoSuchWorker { .. }
            | LinkError::Refused { .. } => Fault::User,
            LinkError::CannotSend { .. } => Fault::Program,
            // Other hosts are this run's environment: what is measured is behind them.
            _ => Fault::Environment,
        }
    }

    fn is_stop(&self) -> bool {
        matches!(self, LinkError::Stopped)
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            LinkError::Listen { .. } => {
                "--listen takes a free port on an address of this host, such as 0.0.0.0:7587; port 0 takes any free one"
            }
            LinkError::Secret(error) => return error.hint(),
            LinkError::TooFew { .. } => {
                "start `plumb worker --join` on each host, as the coordinator printed it"
            }
            LinkError::NoCoordinator { .. } => {
                "does `plumb run --workers N --listen ADDR` run there, on an address that can be reached from here? A run that is over listens no more"
            }
            LinkError::WrongCertificate { .. } => {
                "each run makes a certificate of its own: take --cert-sha256 from what this run's coordinator printed"
            }
            LinkError::Refused { refusal } => refusal.hint(),
            LinkError::Closed { goodbye, .. } => goodbye.hint(),
            LinkError::Silent { .. }
            | LinkError::Cut { .. }
            | LinkError::Torn { .. }
            | LinkError::NotBack { .. } => {
                "is that host up, and was its process killed (out of memory, eviction)?"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }
}
