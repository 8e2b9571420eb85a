//! The worker's way into a run.

use crate::carrier::{self, Shared};
use crate::certificate::Pinned;
use crate::channel::{Channel, LOOK, Over, Wait};
use crate::clock::answer_questions;
use crate::digest::CertificateDigest;
use crate::error::LinkError;
use crate::frame::{Frame, json_bytes, own};
use crate::greeting::{FirstFrame, GREETING_BYTES_MAX, Introduction, PROTOCOL, Purpose, Refusal, Welcome};
use crate::peer::{Inner, Peer, Place};
use crate::token::Token;
use plumb_model::fault::chain;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The coordinator's name on a worker.
const COORDINATOR: &str = "coordinator";
/// Longest wait for a connection to one address.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Longest wait for the answer to a greeting.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Between two attempts.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// One end of a link is seen on both connections, a little apart.
const OTHER_CONNECTION: Duration = Duration::from_secs(1);

/// The settings of a worker that joins.
#[derive(Debug, Clone)]
pub struct JoinOptions {
    /// The coordinator's HOST:PORT. A name is looked up at each attempt.
    pub address: String,
    /// The digest of the run's certificate.
    pub certificate_sha256: CertificateDigest,
    /// The file with the run's token.
    pub token_file: PathBuf,
    /// The worker's name, of its own in the run.
    pub name: String,
    /// What it says of itself.
    pub introduction: Introduction,
    /// Attempts are made for so long, while the coordinator is not there yet or still waits for the former link of this name to end.
    pub within: Duration,
}

/// Joins a run. `told` hears why an attempt failed after which another one is made, each reason once.
///
/// # Errors
/// When nobody answers in time; at once, when the certificate is another one or the coordinator turns this worker away for good;
/// and at a stop.
pub fn join(
    options: &JoinOptions,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&LinkError),
) -> Result<Peer, LinkError> {
    let mut last = String::new();
    let token = Token::read(&options.token_file)?;
    let until = Instant::now() + options.within;
    loop {
        let error = match (Attempt { options, token: &token, until, stop }).make() {
            Ok(peer) => return Ok(peer),
            Err(error) => error,
        };
        if !may_pass(&error) || Instant::now() >= until {
            return Err(error);
        }
        let reason = chain(&error).join(": ");
        if reason != last {
            told(&error);
            last = reason;
        }
        pause(stop, until)?;
    }
}

/// True if another attempt may succeed.
fn may_pass(error: &LinkError) -> bool {
    match error {
        LinkError::NoCoordinator { .. } | LinkError::Cut { .. } | LinkError::Torn { .. } => true,
        LinkError::Refused { refusal } => refusal.may_pass(),
        _ => false,
    }
}

fn pause(stop: &AtomicBool, until: Instant) -> Result<(), LinkError> {
    let end = (Instant::now() + AGAIN_AFTER).min(until);
    loop {
        if stop.load(Relaxed) {
            return Err(LinkError::Stopped);
        }
        match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return Ok(()),
            left => std::thread::sleep(left.min(LOOK)),
        }
    }
}

/// One attempt to join.
struct Attempt<'a> {
    options: &'a JoinOptions,
    token: &'a Token,
    until: Instant,
    stop: &'a AtomicBool,
}

/// A connection that was taken.
struct Taken {
    channel: Channel,
    welcome: Welcome,
}

impl Attempt<'_> {
    fn make(&self) -> Result<Peer, LinkError> {
        let hello = self.options.introduction.hello();
        let Taken { channel, welcome } = self.greet(Purpose::Frames(hello))?;
        let ticket = welcome.ticket.clone();
        let clock = self.greet(Purpose::Clock { epoch: welcome.epoch, ticket })?.channel;
        let shared = Shared::new(COORDINATOR)?;
        carrier::start(&shared, channel)?;
        start_answering(&shared, clock)?;
        let place = Place { index: welcome.index, workers: welcome.workers, epoch: welcome.epoch };
        let hello = welcome.hello;
        Ok(Peer::new(Inner { name: COORDINATOR.to_owned(), place, hello, clock: None, shared }))
    }

    /// A connection, and the coordinator's answer to its first frame.
    fn greet(&self, purpose: Purpose) -> Result<Taken, LinkError> {
        let address = &self.options.address;
        let socket = self.connect()?;
        let pinned = Pinned::new(self.options.certificate_sha256)?;
        let broken = |over: Over| match (pinned.wrong(), over) {
            (Some(got), _) => LinkError::WrongCertificate {
                address: address.clone(),
                expected: self.options.certificate_sha256,
                got,
            },
            (None, over) => over.error(COORDINATOR),
        };
        let mut channel = Channel::new(pinned.session()?, socket).map_err(broken)?;
        let wait = Wait { until: Instant::now() + ANSWER_MAX, stop: self.stop };
        let first = FirstFrame {
            protocol: PROTOCOL,
            token: self.token.hex(),
            name: self.options.name.clone(),
            purpose,
        };
        channel.send(own::HELLO, &json_bytes("a greeting", &first)?, wait).map_err(broken)?;
        let answer = channel.receive(GREETING_BYTES_MAX, wait).map_err(broken)?;
        Ok(Taken { channel, welcome: read_answer(&answer)? })
    }

    /// The first of the name's addresses that answers.
    fn connect(&self) -> Result<TcpStream, LinkError> {
        let mut last = io::Error::from(ErrorKind::NotFound);
        let addresses: Vec<SocketAddr> = match self.options.address.to_socket_addrs() {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                last = error;
                Vec::new()
            }
        };
        for address in addresses {
            if self.stop.load(Relaxed) {
                return Err(LinkError::Stopped);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            match TcpStream::connect_timeout(&address, left.clamp(LOOK, CONNECT_MAX)) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        let (address, within) = (self.options.address.clone(), self.options.within);
        Err(LinkError::NoCoordinator { address, within, source: Arc::new(last) })
    }
}

fn read_answer(answer: &Frame) -> Result<Welcome, LinkError> {
    match answer.kind {
        own::WELCOME => Ok(answer.json("the coordinator's welcome")?),
        own::REFUSED => {
            // A later coordinator may have reasons that this worker does not know.
            let refusal = answer.json("the coordinator's refusal").unwrap_or(Refusal::Unreadable);
            Err(LinkError::Refused { refusal })
        }
        kind => Err(LinkError::UnexpectedKind { name: COORDINATOR.to_owned(), kind }),
    }
}

fn start_answering(shared: &Arc<Shared>, mut channel: Channel) -> Result<(), LinkError> {
    let link = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("plumb-link-clock".to_owned());
    let answering = move || {
        let error = answer_questions(&mut channel, COORDINATOR, link.over());
        link.await_end(OTHER_CONNECTION);
        link.fail(error);
    };
    thread.spawn(answering).map(drop).map_err(|error| Over::Failed(error).error(COORDINATOR))
}
