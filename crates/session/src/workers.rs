//! The workers of a run: gathered before its first block, named in its document, waited for again where one is lost.
//!
//! How they are reached is `plumb_link`'s, what they do in a block `plumb_load::remote`'s.

use crate::context::RunContext;
use crate::error::Result;
use crate::probe::clock_account::clock_account;
use crate::watcher::Event;
use plumb_link::{
    Arrival, Certificate, CertificateDigest, CertificateFiles, FIRST_KIND, FRAME_BYTES_MAX, Gathering,
    Goodbye, Hello, Introduction, JoinOptions, LinkError, ListenOptions, OffsetBand, Peer, SecretError,
    Token, Workers, join, program_digest,
};
use plumb_load::calibrate::calibrate;
use plumb_load::remote::{Carrier, LinkLost, LostWorker, WorkerLink, WorkerSettings, WorkerTold, serve};
use plumb_model::document::WorkerFacts;
use plumb_model::facts::HostFacts;
use plumb_model::fault::UsageError;
use plumb_model::figure;
use plumb_model::plan::{Plan, Properties};
use plumb_model::units::Nanos;
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use rustix::system::uname;
use std::cmp::Ordering;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for a worker that was lost to come back (ours).
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Longest wait until all workers know that the run is over (ours): a second link is no slower than the first.
const GOODBYE_MAX: Duration = Duration::from_secs(2);
/// The longest time after the last exchange for which its band, widened, still counts.
const STALE_NS: i64 = 3_000_000_000;
/// A clock that a time service steers runs off its last band by no more than this part of the time: 1,000 ppm (ours: the kernel's own limit of
/// steering is 500 ppm, and two clocks are steered).
const STEERED_APART: i64 = 1_000;
/// A frame of ours.
const MESSAGE: u8 = FIRST_KIND;

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
}

/// The workers of a run.
pub(crate) struct WorkerCrew {
    links: Mutex<Vec<Box<dyn WorkerLink>>>,
    /// The same links, to be closed with a reason.
    peers: Mutex<Vec<Peer>>,
    gathering: Gathering,
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
    pub(crate) fn take_back(&self, lost: &LostWorker, context: &RunContext) -> Result<()> {
        context.phase(&format!("waiting for worker {} to join again", lost.name));
        let mut links = self.links();
        let Some(place) = links.iter().position(|link| link.name() == lost.name) else { return Ok(()) };
        let mut peers = self.peers();
        // One whose part failed is still there, and is told to join again.
        peers[place].close_and_wait(Goodbye::JoinAgain { why: lost.reason.clone() });
        let peer = self.gathering.rejoin(&lost.name, BACK_WITHIN, &context.stop)?;
        links[place] = Box::new(PeerLink::of(peer.clone()));
        peers[place] = peer;
        Ok(())
    }

    fn peers(&self) -> MutexGuard<'_, Vec<Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkerCrew {
    /// Workers that do not hear that the run is over would try to join it again.
    fn drop(&mut self) {
        let peers = self.peers();
        peers.iter().for_each(|peer| peer.close(Goodbye::RunOver));
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

/// A worker as a block sees it.
struct PeerLink {
    peer: Peer,
    clock_identity: String,
}

impl PeerLink {
    fn of(peer: Peer) -> Self {
        let hello = peer.hello();
        let clock_identity = match (&hello.boot, hello.namespace_offset_ns) {
            (Some(boot), Some(offset_ns)) => format!("{boot} {offset_ns}"),
            // Nobody else's.
            _ => format!("of worker {}", peer.name()),
        };
        PeerLink { peer, clock_identity }
    }
}

fn lost(error: &LinkError) -> LinkLost {
    let goodbye = matches!(error, LinkError::Closed { goodbye: Goodbye::RunOver, .. });
    LinkLost { reason: error.to_string(), goodbye }
}

fn send(peer: &Peer, message: &[u8]) -> Result<(), LinkLost> {
    peer.send(MESSAGE, message).map_err(|error| lost(&error))
}

fn receive(peer: &Peer, wait: Duration) -> Result<Option<Vec<u8>>, LinkLost> {
    match peer.receive(wait).map_err(|error| lost(&error))? {
        None => Ok(None),
        Some(frame) if frame.kind == MESSAGE => Ok(Some(frame.bytes)),
        Some(frame) => Err(LinkLost::failed(format!("it sent a frame of the unknown kind {}", frame.kind))),
    }
}

impl Carrier for PeerLink {
    fn largest(&self) -> usize {
        FRAME_BYTES_MAX / 2
    }

    fn send(&self, message: &[u8]) -> Result<(), LinkLost> {
        send(&self.peer, message)
    }

    fn receive(&self, wait: Duration) -> Result<Option<Vec<u8>>, LinkLost> {
        receive(&self.peer, wait)
    }
}

impl WorkerLink for PeerLink {
    fn name(&self) -> &str {
        self.peer.name()
    }

    fn clock_identity(&self) -> &str {
        &self.clock_identity
    }

    fn clock_at(&self, at_ns: u64) -> Option<OffsetBand> {
        let (clock, at_ns) = (self.peer.clock()?, i64::try_from(at_ns).ok()?);
        clock.offset_at(at_ns).or_else(|| {
            let latest = clock.latest()?;
            let age_ns = at_ns.saturating_sub(latest.local_ns).max(0);
            let apart_ns = age_ns / 1_000_000 * STEERED_APART + 1;
            let OffsetBand { low_ns, high_ns } = latest.band;
            (age_ns <= STALE_NS)
                .then_some(OffsetBand { low_ns: low_ns - apart_ns, high_ns: high_ns + apart_ns })
        })
    }

    fn round_trip(&self) -> Duration {
        let least_ns = self.peer.clock().and_then(plumb_link::PeerClock::least_round_trip_ns);
        Duration::from_nanos(least_ns.unwrap_or(0).max(0).unsigned_abs())
    }
}

/// The settings of a worker that joins a run.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// HOST:PORT of the run.
    pub join: String,
    /// The digest of the run's certificate.
    pub certificate_sha256: CertificateDigest,
    /// The file with the run's token.
    pub token_file: PathBuf,
    /// The worker's name, of its own in the run.
    pub name: String,
    /// Client properties of this host: they come before those that the run sends.
    pub properties: Properties,
    /// Attempts to join are made for so long.
    pub within: Duration,
}

/// Joins a run and takes part in its blocks until it is over. Where the connection breaks it joins again, as long as the run lets it.
///
/// # Errors
/// When the run cannot be joined, or is lost for good; at a stop.
pub fn work(
    options: &WorkerOptions,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn crate::Watcher>,
) -> Result<()> {
    let host = host_facts(&HostRoot::default(), &SystemCommands::default());
    let settings = WorkerSettings { properties: options.properties.clone(), spin_ns: calibrate().spin_ns };
    let joining = JoinOptions {
        address: options.join.clone(),
        certificate_sha256: options.certificate_sha256,
        token_file: options.token_file.clone(),
        name: options.name.clone(),
        introduction: introduction(Some(&host))?,
        within: options.within,
    };
    loop {
        let mut tell = |error: &LinkError| watcher.event(&Event::Note(&attempt_words(error, &joining)));
        let peer = join(&joining, stop, &mut tell)?;
        watcher.event(&Event::Note(&format!("joined {} as {}", options.join, options.name)));
        let carrier = PeerLink::of(peer.clone());
        let mut told = |told: WorkerTold| watcher.event(&Event::Note(&words(&told)));
        match serve(&carrier, &settings, stop, &mut told) {
            Ok(()) => {
                watcher.event(&Event::Note("the run is over"));
                return Ok(());
            }
            Err(_) if stop.load(std::sync::atomic::Ordering::Relaxed) => {
                peer.close_and_wait(Goodbye::Leaves { why: "it was told to stop".to_owned() });
                return Err(LinkError::Stopped.into());
            }
            Err(lost) => {
                if let Err(error @ LinkError::Closed { goodbye: Goodbye::NotBegun { .. }, .. }) =
                    peer.receive(Duration::ZERO)
                {
                    return Err(error.into());
                }
                watcher.event(&Event::Note(&format!("lost the run: {}; joining again", lost.reason)));
            }
        }
    }
}

/// Why a worker is not there yet.
fn attempt_words(error: &LinkError, joining: &JoinOptions) -> String {
    let reason = match error {
        LinkError::NoCoordinator { address, source, .. } => {
            format!("no coordinator at {address} yet ({source})")
        }
        error => error.to_string(),
    };
    format!("{reason}; trying for {}", figure::estimate(joining.within.as_secs_f64()))
}

fn words(told: &WorkerTold) -> String {
    match told {
        WorkerTold::BlockBegins { topic, producers, consumers } => {
            format!("a block begins: producers {producers}, consumers {consumers}, topic {topic}")
        }
        WorkerTold::BlockEnds => "the block is over".to_owned(),
        WorkerTold::Failed(reason) => format!("the block failed here: {reason}"),
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
mod tests {
    use super::*;

    #[test]
    fn workers_are_in_the_order_of_their_numbers() {
        let mut names = ["worker-10", "worker-2", "worker-0", "a"];
        names.sort_by(|one, other| in_order(one, other));
        assert_eq!(names, ["a", "worker-0", "worker-2", "worker-10"]);
    }

    #[test]
    fn an_address_that_means_all_of_this_host_is_shown_by_a_name_that_others_can_reach() {
        let port = |text: &str| reachable(text.parse().unwrap());
        assert_eq!(port("10.0.0.5:7587"), "10.0.0.5:7587");
        let shown = port("0.0.0.0:7587");
        assert!(shown.ends_with(":7587") && !shown.starts_with("0.0.0.0"), "{shown}");
    }
}
