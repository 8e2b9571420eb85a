//! One consumer: an event loop that fetches its partitions from their leaders, checks every batch's checksum and reads
//! every record's stamp where it lies in the response.
//!
//! There is no group: the partitions are dealt out to the block's consumers once. A broker works on one request of a
//! connection at a time, so that each broker has two connections, with half of the partitions each: while one response is
//! read, the next is made.

mod reading;

use super::cluster::{ClusterView, Leaders};
use super::link::{Link, Piece, Progress};
use super::settings::ConsumerSettings;
use crate::clock::now_ns;
use crate::consume::Received;
use crate::payload::stamp_place;
use crate::seconds::Seconds;
use crate::shared::Shared;
use plumb_wire::compression::Decompressor;
use plumb_wire::error::{Stage, WireError};
use plumb_wire::fetch::{FetchHead, FetchPartition, FetchedPartition, VERSIONS, read_response, request};
use plumb_wire::versions::ApiKey;
use reading::{ReadPosition, Reading};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Connections to one broker.
const LINKS_OF_BROKER: usize = 2;
/// Longest sleep, so that the block's end is noticed.
const MAX_WAIT_NS: i64 = 20_000_000;
/// The same while connections are opened, or a release is waited for.
const EAGER_WAIT_NS: i64 = 1_000_000;
/// Most that a compressed batch may take when it is not.
const PLAIN_BYTES_MOST: usize = 256 << 20;
/// The time that a broker may take to answer beyond what it was asked to wait: then the connection is given up. As the Java
/// client's `request.timeout.ms`.
const PATIENCE_NS: u64 = 30_000_000_000;
/// A fetch is its head only.
#[derive(Debug)]
struct NoPiece;

impl Piece for NoPiece {
    fn bytes(&self) -> [&[u8]; 2] {
        [&[], &[]]
    }
}

/// A connection with the partitions that are fetched over it.
struct Fetching {
    link: Link<NoPiece>,
    partitions: Vec<usize>,
}

/// A consumer and all that it holds.
struct Consumer<'b, 'a> {
    shared: &'b Shared<'a>,
    settings: &'b ConsumerSettings,
    view: &'b ClusterView,
    topic: &'b str,
    index: usize,
    leaders: Arc<Leaders>,
    fetching: Vec<Fetching>,
    reading: Reading<'b, 'a>,
}

/// The job of a consumer.
pub(super) struct ConsumerJob<'b, 'a> {
    pub(super) index: usize,
    pub(super) topic: &'b str,
    pub(super) shared: &'b Shared<'a>,
    pub(super) settings: &'b ConsumerSettings,
    pub(super) view: &'b ClusterView,
}

/// Consumes until the block ends.
pub(super) fn receive(job: ConsumerJob<'_, '_>, seconds: Seconds<'_>) -> Received {
    let ConsumerJob { index, topic, shared, settings, view } = job;
    let places = (0..shared.partitions()).map(|at| {
        let offset = i32::try_from(at).ok().and_then(|partition| shared.position(partition)).unwrap_or(0);
        ReadPosition::at(offset)
    });
    let reading = Reading {
        shared,
        view,
        // A topic that is read as it is may carry its stamps anywhere.
        stamp_place: (!shared.takes_any_run()).then(|| stamp_place(shared.load)),
        places: places.collect(),
        scratch: Decompressor::new(PLAIN_BYTES_MOST),
        received: Received::new(shared.partitions()),
        starts_asked: 0,
        seconds,
    };
    let mut consumer = Consumer {
        shared,
        settings,
        view,
        topic,
        index,
        leaders: Arc::default(),
        fetching: Vec::new(),
        reading,
    };
    consumer.follow_leaders();
    consumer.run();
    let Reading { mut received, seconds, .. } = consumer.reading;
    for fetching in &consumer.fetching {
        received.statistics.grown.connects += fetching.link.opened.saturating_sub(1);
    }
    received.arrivals.end_run();
    received.warm_up_arrivals.end_run();
    seconds.finish();
    received
}

impl Consumer<'_, '_> {
    fn run(&mut self) {
        let (mut holds, mut connected) = (false, false);
        while !self.shared.finished() {
            let now = now_ns();
            if self.view.version() != self.leaders.version {
                self.follow_leaders();
            }
            self.reading.go_on_at_log_starts();
            let must_wait = self.shared.consumers_must_wait();
            if must_wait && !holds && self.fetching.iter().all(|fetching| fetching.link.in_flight() == 0) {
                holds = true;
                self.shared.consumer_holds();
            }
            holds &= must_wait;
            for at in 0..self.fetching.len() {
                self.open(at, now);
                self.give_up_the_silent(at, now);
                if !must_wait && let Err(error) = self.fetch(at, now) {
                    self.link_failed(at, &error);
                }
            }
            if !connected && self.fetching.iter().all(|fetching| fetching.link.is_open()) {
                connected = true;
                self.shared.set_assigned(self.index, true);
            }
            self.reading.seconds.pass(now);
            // The release must be noticed at once.
            self.wait_for_sockets(if must_wait { EAGER_WAIT_NS } else { MAX_WAIT_NS });
        }
    }

    /// Deals out the partitions to connections by their leaders.
    fn follow_leaders(&mut self) {
        self.leaders = self.view.leaders();
        let mut of_broker: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        let consumers = self.shared.load.consumers.max(1) as usize;
        for (at, leader) in self.leaders.of_partition.iter().enumerate() {
            if let Some(broker) = leader.filter(|_| at % consumers == self.index) {
                of_broker.entry(broker).or_default().push(at);
            }
        }
        let mut fetching = Vec::new();
        for (broker, partitions) in of_broker {
            let links = LINKS_OF_BROKER.min(partitions.len());
            for first in 0..links {
                let partitions: Vec<usize> = partitions.iter().copied().skip(first).step_by(links).collect();
                let same = |known: &Fetching| known.link.broker == broker && known.partitions == partitions;
                fetching.push(match self.fetching.iter().position(same) {
                    Some(known) => self.fetching.swap_remove(known),
                    None => Fetching { link: Link::new(broker), partitions },
                });
            }
        }
        self.fetching = fetching;
    }

    fn open(&mut self, at: usize, now: u64) {
        let link = &mut self.fetching[at].link;
        if link.is_open() {
            return;
        }
        if let Progress::Failed(error) = link.open(self.view, now) {
            if let Some(error) = error {
                let words = super::chain(&error);
                self.reading.received.errors.note("client", "CONNECT", &words);
                self.shared.note_trouble(words);
            }
            self.view.ask_again();
        }
    }

    fn give_up_the_silent(&mut self, at: usize, now: u64) {
        let link = &self.fetching[at].link;
        let Some(waiting_since_ns) = link.waiting_since_ns() else { return };
        let patience_ns = u64::from(self.settings.wait_ms.unsigned_abs()) * 1_000_000 + PATIENCE_NS;
        if now.saturating_sub(waiting_since_ns) > patience_ns {
            let error = WireError::Timeout {
                broker: format!("broker {}", link.broker),
                during: Stage::Streaming,
                after: Duration::from_nanos(patience_ns),
            };
            self.link_failed(at, &error);
        }
    }

    /// Asks for the next records, unless an answer is awaited.
    fn fetch(&mut self, at: usize, now: u64) -> Result<(), WireError> {
        let Fetching { link, partitions } = &mut self.fetching[at];
        if !link.takes(1, now) {
            return Ok(());
        }
        let places = &self.reading.places;
        let wanted: Vec<FetchPartition> = partitions
            .iter()
            .filter(|partition| places[**partition].is_wanted(now))
            .map(|partition| FetchPartition {
                index: i32::try_from(*partition).unwrap_or(i32::MAX),
                leader_epoch: -1,
                offset: places[*partition].offset,
                max_bytes: self.settings.partition_max_bytes,
            })
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut fetch = link.spare();
        let Some(connection) = link.connection() else { return Ok(()) };
        fetch.correlation = connection.next_correlation_id();
        let head = FetchHead {
            version: connection.version(ApiKey::Fetch, VERSIONS)?,
            correlation_id: fetch.correlation,
            client_id: connection.client_id(),
            max_wait_ms: self.settings.wait_ms,
            min_bytes: self.settings.min_bytes,
            max_bytes: self.settings.max_bytes,
            topic: self.topic,
        };
        fetch.head.clear();
        request(&mut fetch.head, &head, wanted.into_iter());
        link.send(fetch, now_ns).map(drop)
    }

    fn wait_for_sockets(&mut self, most_ns: i64) {
        let mut places = Vec::with_capacity(self.fetching.len());
        let mut fds = Vec::with_capacity(self.fetching.len());
        let mut wait_ns = most_ns;
        for (at, Fetching { link, .. }) in self.fetching.iter().enumerate() {
            match link.fd() {
                Some(fd) => {
                    let write = if link.wants_to_write() { PollFlags::OUT } else { PollFlags::empty() };
                    places.push(at);
                    fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN | write));
                }
                None => wait_ns = EAGER_WAIT_NS,
            }
        }
        // Interrupted or not: the next round looks again.
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: wait_ns as _ }));
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        for (at, event) in places.into_iter().zip(events) {
            let mut done = Ok(());
            if event.contains(PollFlags::OUT) {
                done = self.fetching[at].link.write(now_ns).map(drop);
            }
            if done.is_ok() && event.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                done = self.read(at);
            }
            if let Err(error) = done {
                self.link_failed(at, &error);
            }
        }
    }

    fn read(&mut self, at: usize) -> Result<(), WireError> {
        let link = &mut self.fetching[at].link;
        let expected = link.oldest_correlation();
        let broker = link.broker;
        let Some(connection) = link.connection() else { return Ok(()) };
        let version = connection.version(ApiKey::Fetch, VERSIONS)?;
        let Some(frame) = connection.read_frame()? else { return Ok(()) };
        let now = now_ns();
        if expected != Some(frame.correlation_id) {
            return Err(WireError::Correlation {
                broker: format!("broker {broker}"),
                api: ApiKey::Fetch,
                expected: expected.unwrap_or_default(),
                got: frame.correlation_id,
            });
        }
        let mut fetched: Vec<FetchedPartition<'_>> = Vec::new();
        let answer = read_response(version, frame.body, &mut |partition| fetched.push(partition));
        let answer = match answer {
            Ok(answer) => {
                for partition in &fetched {
                    self.reading.partition(partition, now);
                }
                answer
            }
            Err(source) => return Err(connection.undecodable(ApiKey::Fetch, source)),
        };
        self.reading.answered(answer.error_code);
        if answer.throttle_ms > 0 {
            link.quiet_until_ns = now + u64::from(answer.throttle_ms.unsigned_abs()) * 1_000_000;
            if self.shared.in_measured_part(now) {
                let milliseconds = u64::from(answer.throttle_ms.unsigned_abs());
                self.reading.received.statistics.take_throttle(milliseconds);
            }
        }
        if let Some(request) = link.take_oldest() {
            link.keep(request);
        }
        // The next is asked for at once: it is made while others are read.
        if self.shared.consumers_must_wait() { Ok(()) } else { self.fetch(at, now) }
    }

    /// A connection broke: its partitions are asked for again from where they are.
    fn link_failed(&mut self, at: usize, error: &WireError) {
        let now = now_ns();
        self.fetching[at].link.close(now);
        let received = &mut self.reading.received;
        received.statistics.grown.disconnects += u64::from(self.shared.in_measured_part(now));
        received.errors.note("client", "DISCONNECTED", &super::chain(error));
        self.view.ask_again();
    }
}
