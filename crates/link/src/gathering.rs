//! The coordinator's side: a listener that workers find, and the workers that came.
//!
//! Strangers disturb nobody: each connection is a thread of its own until it has greeted, which takes two seconds and one frame at most;
//! as many as [`GREETERS_MAX`] at once, the others wait in the kernel's queue. Who is taken and why not: `gathering/roll.rs`. What a
//! connection goes through: `gathering/gate.rs`.

mod gate;
mod refusals;
mod roll;

pub use roll::{Arrival, Seen};

use crate::certificate::Certificate;
use crate::digest::CertificateDigest;
use crate::error::LinkError;
use crate::goodbye::Goodbye;
use crate::greeting::Introduction;
use crate::peer::Peer;
use crate::token::Token;
use gate::Gate;
use roll::Roll;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections that greet at the same time. Ours: each is a thread.
const GREETERS_MAX: usize = 256;

/// The workers that a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workers {
    /// So many, whatever their names; the first has index 0.
    Any(usize),
    /// These, in the order of their indices.
    Named(Vec<String>),
}

impl Workers {
    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Workers::Any(count) => *count,
            Workers::Named(names) => names.len(),
        }
    }
}

/// The settings of a gathering.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Who is waited for.
    pub workers: Workers,
    /// The certificate that it shows.
    pub certificate: Certificate,
    /// What a worker has to know.
    pub token: Token,
    /// What the coordinator says of itself.
    pub introduction: Introduction,
}

impl ListenOptions {
    /// On loopback, at a free port, with a certificate that is made for this.
    ///
    /// # Errors
    /// When no certificate can be made.
    pub fn on_loopback(
        workers: Workers,
        token: Token,
        introduction: Introduction,
    ) -> Result<Self, LinkError> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(ListenOptions { address, workers, certificate: Certificate::make()?, token, introduction })
    }
}

/// A run's door. It stays open as long as this lives, so that workers can come back; links that were handed out live on without it.
pub struct Gathering {
    roll: Arc<Roll>,
    address: SocketAddr,
    digest: CertificateDigest,
    closing: Arc<AtomicBool>,
    /// What workers are told at its end that were not handed out.
    farewell: Mutex<Goodbye>,
}

impl Gathering {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn listen(options: ListenOptions) -> Result<Gathering, LinkError> {
        let failed = |source| LinkError::Listen { address: options.address, source: Arc::new(source) };
        let listener = TcpListener::bind(options.address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let Certificate { config, digest } = options.certificate;
        let roll = Arc::new(Roll::new(options.workers, options.token, options.introduction));
        let closing = Arc::new(AtomicBool::new(false));
        let gate = Gate { listener, config, roll: Arc::clone(&roll), closing: Arc::clone(&closing) };
        let thread = std::thread::Builder::new().name("plumb-link-gate".to_owned());
        thread.spawn(|| gate.run()).map_err(failed)?;
        Ok(Gathering { roll, address, digest, closing, farewell: Mutex::new(Goodbye::RunOver) })
    }

    /// The address that workers join.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The digest by which workers know the run's certificate.
    #[must_use]
    pub fn certificate_sha256(&self) -> CertificateDigest {
        self.digest
    }

    /// Waits until all workers are there and a first estimate of each one's clock is, and returns them in the order of their indices.
    /// `told` hears of everybody who comes meanwhile.
    ///
    /// # Errors
    /// When they are not there by the deadline, with the names of those who are and those who are not; at a stop. Those who are there,
    /// or come later, are told that the run does not begin.
    pub fn gather(
        &self,
        deadline: Instant,
        stop: &AtomicBool,
        told: &mut dyn FnMut(Arrival),
    ) -> Result<Vec<Peer>, LinkError> {
        let gathered = self.roll.gather(deadline, stop, told);
        if let Err(error) = &gathered {
            self.roll.dismiss(&Goodbye::NotBegun { why: error.in_short() });
        }
        gathered
    }

    /// Waits until the worker of this name is there again, after its link broke.
    ///
    /// # Errors
    /// When it is not in time; when there never was one; at a stop.
    pub fn rejoin(&self, name: &str, within: Duration, stop: &AtomicBool) -> Result<Peer, LinkError> {
        self.roll.rejoin(name, within, stop)
    }

    /// What workers are told at the end that were not handed out; that the run is over where nothing else was said.
    pub fn say_at_end(&self, goodbye: Goodbye) {
        *self.farewell.lock().unwrap_or_else(PoisonError::into_inner) = goodbye;
    }

    /// Who came so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.roll.seen()
    }
}

impl Drop for Gathering {
    /// Workers that were not handed out are told how the run ended.
    fn drop(&mut self) {
        self.closing.store(true, Relaxed);
        self.roll.dismiss(self.farewell.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}
