//! The workers of a run: gathered before its first block, named in its document, waited for again where one is lost.
//!
//! How they are reached is `plumb_link`'s, what they do in a block `plumb_load::remote`'s. `workers/work.rs` is the worker's side.

mod peer_link;
mod work;

pub use work::{WorkerOptions, work};

use crate::context::RunContext;
use crate::error::Result;
use crate::probe::clock_account::clock_account;
use peer_link::PeerLink;
use plumb_link::{
    Arrival, Certificate, CertificateDigest, CertificateFiles, Gathering, Goodbye, Hello, Introduction,
    LinkError, ListenOptions, Peer, SecretError, Token, Workers, program_digest,
};
use plumb_load::remote::{LostWorker, WorkerLink};
use plumb_model::document::WorkerFacts;
use plumb_model::facts::HostFacts;
use plumb_model::fault::{UsageError, chain};
use plumb_model::plan::{Plan, Properties};
use plumb_model::units::Nanos;
use rustix::system::uname;
use std::cmp::Ordering;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for a worker that was lost to come back (ours).
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Longest wait until all workers know that the run is over (ours): a second link is no slower than the first.
const GOODBYE_MAX: Duration = Duration::from_secs(2);

/// The door of a run through which its workers come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The file with the run's token; one that is not there is written. None: a file of this process alone, removed at its end.
    pub token_file: Option<PathBuf>,
    /// The files of a certificate that was made before. None: one for this run alone.
    pub certificate: Option<CertificateFiles>,
    /// Longest wait for all workers.
    pub wait: Duration,
    /// Longest wait for a worker that was lost to come back.
    pub back: Duration,
}

/// The workers of a run.
pub(crate) struct WorkerCrew {
    links: Mutex<Vec<Box<dyn WorkerLink>>>,
    /// The same links, to be closed with a reason.
    peers: Mutex<Vec<Peer>>,
    gathering: Gathering,
    /// What they are told at the end of the run.
    farewell: Mutex<Goodbye>,
    facts: Vec<WorkerFacts>,
    /// Removed with the crew.
    _token_place: Option<tempfile::TempDir>,
}

impl fmt::Debug for WorkerCrew {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WorkerCrew").field("workers", &self.facts.len()).finish_non_exhaustive()
    }
}

/// The workers that a plan needs; none where its clients run in this process.
#[must_use]
pub fn needed(plan: &Plan) -> usize {
    plan.steps.iter().map(|step| step.load.workers as usize).max().unwrap_or(0)
}

impl Default for WorkersOptions {
    /// On loopback, at a free port.
    fn default() -> Self {
        WorkersOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token_file: None,
            certificate: None,
            wait: Duration::from_secs(120),
            back: BACK_WITHIN,
        }
    }
}

impl WorkersOptions {
    /// The flags that say so, each after a space.
    pub(crate) fn flags(&self) -> String {
        let usual = WorkersOptions::default();
        let mut flags = String::new();
        let mut add = |flag: &str, value: String| flags.push_str(&format!(" {flag} {value}"));
        if self.listen != usual.listen {
            add("--listen", self.listen.to_string());
        }
        if let Some(file) = &self.token_file {
            add("--token-file", file.display().to_string());
        }
        if let Some(files) = &self.certificate {
            add("--cert-file", files.certificate.display().to_string());
            add("--key-file", files.key.display().to_string());
        }
        if self.wait != usual.wait {
            add("--wait-for-workers", Nanos(self.wait.as_nanos() as u64).to_string());
        }
        flags
    }
}

impl WorkerCrew {
    /// Listens, says how to join, and waits until all workers are there.
    pub(crate) fn gather(options: &WorkersOptions, number: usize, context: &RunContext) -> Result<Self> {
        let TokenFile { token, path, place } = TokenFile::of(options.token_file.as_deref())?;
        let gathering = Gathering::listen(ListenOptions {
            address: options.listen,
            workers: Workers::Any(number),
            certificate: match &options.certificate {
                Some(files) => Certificate::read(files)?,
                None => Certificate::make()?,
            },
            token,
            introduction: introduction(None)?,
        })?;
        let workers = if number == 1 { "a worker".to_owned() } else { format!("{number} workers") };
        context.phase(&format!("waiting for {workers} to join"));
        let (address, digest) = (reachable(gathering.address()), gathering.certificate_sha256());
        context.note(&format!(
            "{workers} can join now, each with: plumb worker --join {address} --cert-sha256 {digest} --token-file {}",
            path.display()
        ));
        let mut tell = |arrival: Arrival| context.note(&arrival_words(&arrival, number));
        let mut peers = gathering.gather(Instant::now() + options.wait, &context.stop, &mut tell)?;
        // The same workers have the same parts of the load whenever they come, also when the run is resumed.
        peers.sort_by(|one, other| in_order(one.name(), other.name()));
        let links = peers.iter().map(|peer| Box::new(PeerLink::of(peer.clone())) as Box<dyn WorkerLink>);
        Ok(WorkerCrew {
            links: Mutex::new(links.collect()),
            facts: (0..peers.len()).map(|place| worker_facts(&peers, place)).collect(),
            peers: Mutex::new(peers),
            gathering,
            farewell: Mutex::new(Goodbye::RunFailed { why: "it came to no end of its own".to_owned() }),
            _token_place: place,
        })
    }

    /// The links, for the time of a block.
    pub(crate) fn links(&self) -> MutexGuard<'_, Vec<Box<dyn WorkerLink>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workers, as they described themselves.
    pub(crate) fn facts(&self) -> &[WorkerFacts] {
        &self.facts
    }

    /// Waits for a worker that was lost, and takes it back. A worker that stayed is in the middle of a block that is over: it has
    /// been told so, and takes the next one.
    pub(crate) fn take_back(&self, lost: &LostWorker, within: Duration, context: &RunContext) -> Result<()> {
        context.phase(&format!("waiting for worker {} to join again", lost.name));
        let mut links = self.links();
        let Some(place) = links.iter().position(|link| link.name() == lost.name) else { return Ok(()) };
        let mut peers = self.peers();
        // One whose part failed is still there, and is told to join again.
        peers[place].close_and_wait(Goodbye::JoinAgain { why: lost.reason.clone() });
        let peer = self.gathering.rejoin(&lost.name, within, &context.stop)?;
        links[place] = Box::new(PeerLink::of(peer.clone()));
        peers[place] = peer;
        Ok(())
    }

    /// Takes down how the run ended: what its workers are told when nobody needs them any more.
    pub(crate) fn ended<T>(&self, ended: &Result<T>) {
        let goodbye = match ended {
            Ok(_) => Goodbye::RunOver,
            Err(error) => Goodbye::RunFailed { why: chain(error).join(": ") },
        };
        *self.farewell.lock().unwrap_or_else(PoisonError::into_inner) = goodbye;
    }

    fn peers(&self) -> MutexGuard<'_, Vec<Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkerCrew {
    /// Workers that do not hear how the run ended would try to join it again.
    fn drop(&mut self) {
        let farewell = self.farewell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.gathering.say_at_end(farewell.clone());
        let peers = self.peers();
        peers.iter().for_each(|peer| peer.close(farewell.clone()));
        let until = Instant::now() + GOODBYE_MAX;
        peers.iter().for_each(|peer| peer.await_end(until.saturating_duration_since(Instant::now())));
    }
}

/// The token of a run and where it lies.
struct TokenFile {
    token: Token,
    path: PathBuf,
    /// Removed with the crew, where nobody named a file.
    place: Option<tempfile::TempDir>,
}

impl TokenFile {
    /// The token of a file, which is written where it is not there.
    fn of(path: Option<&Path>) -> Result<Self> {
        let (path, place) = match path {
            Some(path) => (path.to_owned(), None),
            None => {
                let place = tempfile::Builder::new().prefix("plumb-token-").tempdir();
                let place = place.map_err(|source| {
                    SecretError::file("write", "token file below", &std::env::temp_dir(), source)
                })?;
                (place.path().join("token"), Some(place))
            }
        };
        let token = if path.exists() { Token::read(&path)? } else { Token::create(&path)? };
        Ok(TokenFile { token, path, place })
    }
}

fn arrival_words(arrival: &Arrival, wanted: usize) -> String {
    match arrival {
        Arrival::Joined { name, present } => format!("worker {name} joined, {present} of {wanted}"),
        Arrival::TurnedAway(who) => format!("warning: turned away: {who}"),
    }
}

/// The address as another host would name it: one that means all addresses of this host by the host's name.
fn reachable(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("{}:{}", uname().nodename().to_string_lossy(), address.port()),
        false => address.to_string(),
    }
}

/// The order of names in which worker-2 is before worker-10.
fn in_order(one: &str, other: &str) -> Ordering {
    (one.len(), one).cmp(&(other.len(), other))
}

/// What this process says of itself.
fn introduction(host: Option<&HostFacts>) -> Result<Introduction, LinkError> {
    let facts = host.and_then(|host| serde_json::to_value(host).ok()).unwrap_or_default();
    Ok(Introduction {
        build: program_digest()?,
        host: uname().nodename().to_string_lossy().into_owned(),
        clock: clock_account(),
        cpus: std::thread::available_parallelism().map_or(1, |number| number.get() as u32),
        facts,
    })
}

fn worker_facts(peers: &[Peer], place: usize) -> WorkerFacts {
    let peer = &peers[place];
    let boot = |peer: &Peer| peer.hello().boot.clone();
    let on_its_host = |other: &&Peer| boot(other).is_some() && boot(other) == boot(peer);
    let Hello { claim, cpus, facts, .. } = peer.hello();
    WorkerFacts {
        name: peer.name().to_owned(),
        cpus: *cpus,
        one_clock: peer.clock().is_some_and(plumb_link::PeerClock::one_clock),
        same_host_as: peers[..place].iter().find(on_its_host).map(|other| other.name().to_owned()),
        clock_claim: *claim,
        host: serde_json::from_value(facts.clone()).ok(),
    }
}
/// Refuses what no run may have its workers do, whatever their number.
///
/// # Errors
/// With the first thing that is refused.
pub fn check_sent(plan: &Plan) -> Result<()> {
    let mut steps = plan.steps.iter();
    Ok(steps.try_for_each(|step| plumb_load::remote::check_sent(&Properties::new(), step))?)
}

/// The digest of a run's certificate, as a user writes it.
///
/// # Errors
/// When it is none.
pub fn certificate_digest(text: &str) -> Result<CertificateDigest> {
    text.parse()
        .map_err(|reason| UsageError::new(reason, "the run prints it where it says how to join").into())
}

/// The digest of the certificate of a file.
///
/// # Errors
/// When the file cannot be read or has none.
pub fn certificate_digest_of_file(path: &Path) -> Result<CertificateDigest> {
    Ok(plumb_link::digest_of_file(path)?)
}

/// The secrets of a run's link, made before the run: what an unattended start of its workers needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSecrets {
    /// The token, which the run and its workers have.
    pub token: PathBuf,
    /// The certificate, which the run shows and its workers know; with the key, which the run alone has.
    pub certificate: CertificateFiles,
}

impl LinkSecrets {
    /// The files of a directory.
    pub fn in_directory(directory: &Path) -> Self {
        LinkSecrets {
            token: directory.join("token"),
            certificate: CertificateFiles {
                certificate: directory.join("certificate.pem"),
                key: directory.join("key.pem"),
            },
        }
    }

    /// Makes them, each readable by its owner alone. The digest of the certificate.
    ///
    /// # Errors
    /// When one of the files is there already or cannot be written.
    pub fn create(&self) -> Result<CertificateDigest> {
        Token::create(&self.token)?;
        Ok(self.certificate.create()?)
    }
}

#[cfg(test)]
mod tests;
