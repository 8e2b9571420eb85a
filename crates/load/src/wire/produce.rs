//! A producer of the wire driver: an event loop that enqueues messages when they are due, puts batches into requests, and takes
//! the answers.
//!
//! One thread, no lock: sockets and the schedule are waited for together. Messages gather in the open batch of their
//! partition and leave when the batch is full or its linger is over, and a connection has room for another request. Without
//! a schedule and keys a batch is filled only when a connection can take it, so that nothing waits in a queue of ours.

mod answers;
mod dispatch;
mod enqueue;
mod hash;
mod partition;

use super::cluster::{ClusterView, Leaders};
use super::link::{Link, Piece, Progress};
use super::settings::ProducerSettings;
use super::slot::{Content, Slot};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::job::ProducerJob;
use crate::pace::{Pace, sharpen_timers};
use crate::produce::{Course, Outstanding, Reported, Sent};
use crate::schedule::Due;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::Part;
use enqueue::Enqueued;
use partition::Partition;
use plumb_wire::compression::Compressor;
use plumb_wire::control::ProducerId;
use plumb_wire::error::{ErrorCode, WireError};
use plumb_wire::produce::PARTITION_HEAD_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Longest sleep, so that a stop is noticed.
const MAX_WAIT_NS: u64 = 20_000_000;
/// The same while the block has not begun, or a connection is being opened.
const EAGER_WAIT_NS: u64 = 1_000_000;
/// Time between two looks for batches that are too old.
const AGE_CHECK_NS: u64 = 100_000_000;

/// A batch in a request.
#[derive(Debug)]
pub(super) struct Batch {
    head: [u8; PARTITION_HEAD_BYTES],
    slot: Slot,
}

impl Piece for Batch {
    fn bytes(&self) -> [&[u8]; 2] {
        [&self.head, self.slot.bytes()]
    }
}

type Schedule = Peekable<Box<dyn Iterator<Item = Due> + Send>>;

/// A producer and all that it holds.
pub(super) struct Producer<'b, 'a> {
    shared: &'b Shared<'a>,
    settings: &'b ProducerSettings,
    view: &'b ClusterView,
    topic: &'b str,
    index: u16,
    content: Content,
    compressor: Option<Compressor>,
    producer_id: Option<ProducerId>,
    partitions: Vec<Partition>,
    links: Vec<Link<Batch>>,
    leaders: Arc<Leaders>,
    /// Batches that are free, and how many there may be in all.
    spare: Vec<Slot>,
    slots_left: usize,
    /// A message found no batch to go into: nothing is enqueued until one is free.
    all_slots_used: bool,
    /// Batches that wait to be sent.
    waiting: usize,
    /// The partition of messages without a key now.
    sticky: usize,
    /// The place at which the next request begins to look for batches.
    cursor: usize,
    /// Key drawn, message not enqueued yet.
    key_waits: bool,
    /// Messages taken on from the block's count and not enqueued yet.
    claimed: u64,
    /// Messages that a batch takes, as far as is known.
    batch_messages: u64,
    sequences: [u64; 2],
    at_ns: Option<u64>,
    over: bool,
    outstanding: &'b Outstanding,
    pace: Pace,
    slips: Seconds<'b>,
    acks: Seconds<'b>,
    sent: Sent,
    reported: Reported,
    /// The answers of the response at hand: partitions, codes, and the offset of the first record.
    answers: Vec<(i32, ErrorCode, i64)>,
    age_check_ns: u64,
}

/// The parts of a producer that it gets from its block.
struct ProducerParts<'b, 'a> {
    shared: &'b Shared<'a>,
    settings: &'b ProducerSettings,
    view: &'b ClusterView,
    topic: &'b str,
    index: usize,
    outstanding: &'b Outstanding,
    pace: Pace,
}

/// Produces until the block ends.
pub(super) fn produce(
    job: ProducerJob<'_, '_>,
    settings: &ProducerSettings,
    view: &ClusterView,
) -> (Sent, Reported) {
    sharpen_timers();
    let ProducerJob { shared, course, begun, probes, .. } = job;
    let parts = ProducerParts {
        shared,
        settings,
        view,
        topic: job.topic,
        index: job.index,
        outstanding: job.outstanding,
        pace: job.pace,
    };
    let content = Content::new(shared.load, job.contents, settings.batch_records);
    let mut producer = match Producer::new(parts, content, job.slips, job.acks) {
        Ok(producer) => producer,
        Err(error) => {
            shared.fail(error);
            return (Sent::default(), Reported::default());
        }
    };
    for partition in probes {
        if let Err(error) = producer.enqueue_probe(partition) {
            shared.fail(error);
            return (Sent::default(), Reported::default());
        }
    }
    producer.run(course, &begun);
    producer.end()
}

impl<'b, 'a> Producer<'b, 'a> {
    fn new(
        parts: ProducerParts<'b, 'a>,
        content: Content,
        slips: Seconds<'b>,
        acks: Seconds<'b>,
    ) -> Result<Self, LoadError> {
        let ProducerParts { shared, settings, view, topic, index, outstanding, pace } = parts;
        let wire = |error: WireError| super::load_error(error, "the cluster");
        let producer_id = settings.idempotent.then(|| view.producer_id()).transpose().map_err(wire)?;
        let compressor = match settings.codec {
            plumb_wire::compression::Codec::None => None,
            codec => Some(
                Compressor::new(codec, settings.compression_level)
                    .map_err(|error| LoadError::properties(error.to_string()))?,
            ),
        };
        let partitions = shared.partitions();
        let mut producer = Producer {
            shared,
            settings,
            view,
            topic,
            index: u16::try_from(index).unwrap_or(u16::MAX),
            content,
            compressor,
            producer_id,
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            links: Vec::new(),
            leaders: Arc::default(),
            spare: Vec::new(),
            // A batch for each partition can always be open.
            slots_left: (settings.buffer_bytes / settings.batch_bytes)
                .max(partitions + 2 * settings.in_flight.min(8)),
            all_slots_used: false,
            waiting: 0,
            // Producers begin at different partitions.
            sticky: index % partitions.max(1),
            cursor: index % partitions.max(1),
            key_waits: false,
            claimed: 0,
            batch_messages: settings.batch_records as u64,
            sequences: [0; 2],
            at_ns: None,
            over: false,
            outstanding,
            pace,
            slips,
            acks,
            sent: Sent::default(),
            reported: Reported::default(),
            answers: Vec::new(),
            age_check_ns: 0,
        };
        producer.follow_leaders();
        Ok(producer)
    }

    fn run(&mut self, course: Course<Box<dyn Iterator<Item = Due> + Send>>, begun: &Receiver<u64>) {
        let mut course = match course {
            Course::Scheduled(schedule) => Course::Scheduled(schedule.peekable()),
            Course::Saturating(saturating) => Course::Saturating(saturating),
        };
        while !self.shared.producers_finished() {
            let now = now_ns();
            if self.view.version() != self.leaders.version {
                self.follow_leaders();
            }
            self.open_links(now);
            if self.at_ns.is_none() {
                self.at_ns = match begun.try_recv() {
                    Ok(at) => Some(at),
                    Err(TryRecvError::Empty) => None,
                    // The block cannot begin.
                    Err(TryRecvError::Disconnected) => return,
                };
            }
            let progress = match self.at_ns.filter(|_| !self.over) {
                Some(at) if self.shared.sends_no_more(now) => {
                    self.leave_out_the_rest(&mut course, at);
                    Enqueued::Over
                }
                Some(at) => self.enqueue(&mut course, at, now),
                None => Enqueued::Nothing,
            };
            if progress == Enqueued::Over {
                self.course_is_over();
            }
            let dispatched = self.dispatch(&course);
            self.give_up_the_old(now);
            self.slips.pass(now);
            self.acks.pass(now);
            let wait_ns =
                if dispatched || progress == Enqueued::More { 0 } else { self.wait_ns(&mut course) };
            self.wait_for_sockets(wait_ns);
        }
    }

    fn end(self) -> (Sent, Reported) {
        let Producer { slips, acks, sent, mut reported, mut links, .. } = self;
        for link in &mut links {
            reported.statistics.grown.connects += link.opened.saturating_sub(1);
        }
        reported.acked.end_run();
        reported.statistics.measured = true;
        slips.finish();
        acks.finish();
        (sent, reported)
    }

    /// The block's time is over with messages still due. Of a run that was stopped nobody knows what would have become of them.
    fn leave_out_the_rest(&mut self, course: &mut Course<Schedule>, at: u64) {
        if let Course::Scheduled(schedule) = course
            && !self.shared.stopped()
        {
            self.sent.leave_out(schedule, at);
        }
    }

    /// Notes that nothing more will be enqueued.
    fn course_is_over(&mut self) {
        self.over = true;
        self.shared.sender_done();
    }

    /// Takes over who leads what.
    fn follow_leaders(&mut self) {
        self.leaders = self.view.leaders();
        for (at, leader) in self.leaders.of_partition.iter().enumerate() {
            let link = leader.map(|broker| {
                let known = self.links.iter().position(|link| link.broker == broker);
                known.unwrap_or_else(|| {
                    self.links.push(Link::new(broker));
                    self.links.len() - 1
                })
            });
            if let Some(partition) = self.partitions.get_mut(at) {
                partition.lead_by(link);
            }
        }
    }

    fn open_links(&mut self, now: u64) {
        for at in 0..self.links.len() {
            if self.links[at].is_open() {
                continue;
            }
            let leads = self.partitions.iter().any(|partition| partition.link == Some(at));
            if !leads {
                continue;
            }
            match self.links[at].open(self.view, now) {
                Progress::Nothing | Progress::Opened => {}
                Progress::Failed(error) => {
                    if let Some(error) = error {
                        let words = super::chain(&error);
                        self.reported.errors.note("client", "CONNECT", &words);
                        self.shared.note_trouble(words);
                    }
                    self.view.ask_again();
                }
            }
        }
    }

    /// The time for which nothing will happen unless a socket says so.
    fn wait_ns(&mut self, course: &mut Course<Schedule>) -> u64 {
        let now = now_ns();
        let mut wait = MAX_WAIT_NS;
        if self.at_ns.is_none() || self.links.iter().any(|link| !link.is_open()) {
            wait = EAGER_WAIT_NS;
        }
        if self.waiting > 0 {
            let linger_ns = if self.over { 0 } else { self.settings.linger_ns };
            let takes: Vec<bool> =
                self.links.iter().map(|link| link.takes(self.settings.in_flight, u64::MAX)).collect();
            for partition in &self.partitions {
                if let Some(ready_ns) = partition.ready_at_ns(linger_ns)
                    && let Some(link) = partition.link.filter(|link| takes[*link])
                {
                    let ready_ns = ready_ns.max(self.links[link].quiet_until_ns);
                    wait = wait.min(ready_ns.saturating_sub(now).max(1));
                }
            }
        }
        match (course, self.at_ns.filter(|_| !self.over)) {
            (Course::Scheduled(schedule), Some(at)) => {
                if let Some(due) = schedule.peek()
                    && self.has_room()
                {
                    wait = wait.min((at + due.offset_ns).saturating_sub(now + self.pace.spin_ns()));
                }
            }
            (Course::Saturating(_), Some(at)) if now < at => wait = wait.min(at - now),
            _ => {}
        }
        wait
    }

    /// Waits for sockets, and does what they have.
    fn wait_for_sockets(&mut self, wait_ns: u64) {
        let mut places = Vec::with_capacity(self.links.len());
        let mut fds = Vec::with_capacity(self.links.len());
        for (at, link) in self.links.iter().enumerate() {
            if let Some(fd) = link.fd() {
                let write = if link.wants_to_write() { PollFlags::OUT } else { PollFlags::empty() };
                places.push(at);
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN | write));
            }
        }
        let timeout =
            Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as _ };
        if fds.is_empty() {
            if wait_ns > 0 {
                std::thread::sleep(std::time::Duration::from_nanos(wait_ns));
            }
            return;
        }
        // Interrupted or not: the next round looks again.
        let _ = poll(&mut fds, Some(&timeout));
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        for (at, event) in places.into_iter().zip(events) {
            if event.contains(PollFlags::OUT) {
                match self.links[at].write(now_ns) {
                    Ok(true) => self.written(at),
                    Ok(false) => {}
                    Err(error) => {
                        self.link_failed(at, &error);
                        continue;
                    }
                }
            }
            if event.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                self.read(at);
            }
        }
    }

    /// True if one more message may be under way.
    fn has_room(&self) -> bool {
        let most = self.shared.load.in_flight.map_or(u64::MAX, u64::from);
        self.outstanding.count() < most && !self.all_slots_used
    }

    /// An empty batch, unless too many are in use.
    fn take_slot(&mut self, partition: usize, part: Part) -> Option<Slot> {
        let mut slot = match self.spare.pop() {
            Some(slot) => slot,
            None if self.slots_left == 0 => {
                self.all_slots_used = true;
                return None;
            }
            None => {
                self.slots_left -= 1;
                Slot::new(self.settings.batch_bytes, &self.content)
            }
        };
        slot.begin(&self.content, partition, part);
        Some(slot)
    }

    /// Frees a batch that nobody needs any more.
    fn free(&mut self, slot: Slot) {
        self.spare.push(slot);
        self.all_slots_used = false;
    }

    fn count_outstanding(&self, messages: u64) {
        self.outstanding.hand_over(messages);
    }
}
