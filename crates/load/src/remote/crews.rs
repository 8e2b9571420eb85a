//! The block's side: a thread for each worker, which copies the block's state to it and the worker's into the block's.

use super::clocks::SenderClockWord;
use super::clocks::{correction_ns, difference};
use super::messages::{BlockJob, FromWorker, Orders, PartDone, Progress, Reader, ToWorker, send};
use super::{LinkLost, LostWorker, WorkerLink, WorkerOutcome};
use crate::block::BlockOutcome;
use crate::block::crew::spawn;
use crate::client_outcome::ClientOutcome;
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::observation::{Measure, SecondPart};
use crate::produce::Outstanding;
use crate::seconds::Parcel;
use crate::segment::Segment;
use crate::shared::Shared;
use plumb_stats::clock_offset::OffsetBand;
use plumb_stats::histogram::{CompactHistogram, Histogram, HistogramError};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::Scope;
use std::time::Duration;

/// Longest time between a change of the block's state and its way to a worker (ours).
const TICK: Duration = Duration::from_millis(10);
/// The same while messages go at their times, and nobody waits for anything (ours): many workers would keep a processor busy.
const CALM_TICK: Duration = Duration::from_millis(50);
/// Time between two words on positions and clocks (ours): they only serve what changes rarely.
const SLOW_NS: u64 = 200_000_000;
/// The least time from the agreement on a start to the start (ours): a message and its answer, however busy the hosts are.
const LEAD_NS: u64 = 500_000_000;
/// The same in round trips.
const LEAD_ROUND_TRIPS: u64 = 10;
/// Starts that are tried before a worker that confirms none is given up.
const STARTS_TRIED: u32 = 5;
/// What two clocks may drift apart before the next word on them, at most: no latency must come below zero by it.
const DRIFT_MARGIN_NS: i64 = 100_000;

/// The clients of a block that are in other processes.
pub(crate) struct RemoteCrews<'a> {
    workers: &'a [Box<dyn WorkerLink>],
    shared: &'a Shared<'a>,
    outstanding: &'a [Outstanding],
    segments: Vec<Segment>,
    heard: Vec<Place>,
}

/// What was heard of one worker.
#[derive(Default)]
struct Place {
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Default)]
struct Heard {
    probes_acknowledged: Vec<bool>,
    /// The start that it confirmed, on this process's clock.
    armed_for_ns: Option<u64>,
    producers: Option<Vec<ClientOutcome>>,
    done: Option<PartDone>,
    /// Nothing more comes from it.
    ended: bool,
    intended: u64,
    sent: u64,
    /// The slip of its measured messages.
    slip: Histogram,
    cpu_ns: Option<u64>,
    /// The widest band of a difference of clocks by which latencies were corrected.
    clock: Option<OffsetBand>,
}

impl Place {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.heard());
        self.changed.notify_all();
    }

    /// Waits until there is something, or nothing more comes.
    fn wait<T>(&self, mut look: impl FnMut(&mut Heard) -> Option<T>) -> Option<T> {
        let mut heard = self.heard();
        loop {
            if let Some(found) = look(&mut heard) {
                return Some(found);
            }
            if heard.ended {
                return None;
            }
            heard = self.changed.wait(heard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

impl<'a> RemoteCrews<'a> {
    pub(crate) fn new(
        workers: &'a [Box<dyn WorkerLink>],
        shared: &'a Shared<'a>,
        outstanding: &'a [Outstanding],
    ) -> Self {
        let load = shared.load;
        let segments = match workers.len() {
            0 => Vec::new(),
            n => Segment::split(load.producers as usize, load.consumers as usize, n),
        };
        let heard = workers.iter().map(|_| Place::default()).collect();
        RemoteCrews { workers, shared, outstanding, segments, heard }
    }

    /// Gives every worker its part of the block, and follows each in a thread of its own.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        job: &BlockJob,
        out: &Sender<Parcel>,
    ) -> Result<(), LoadError> {
        for place in 0..self.workers.len() {
            let job = job.of_worker(&self.segments, place);
            let out = out.clone();
            let follow = move || {
                let ended = Follower::new(self, place, out).follow(job);
                if let Err(lost) = ended {
                    self.lose(place, &lost);
                }
                self.heard[place].change(|heard| heard.ended = true);
            };
            spawn(scope, format!("plumb-work-{place}"), follow)?;
        }
        Ok(())
    }

    /// A worker was lost: before the block's begin that is an error, after it the end of the block.
    fn lose(&self, place: usize, lost: &LinkLost) {
        let (worker, reason) = (self.workers[place].name().to_owned(), lost.reason.clone());
        self.outstanding[place].set(0);
        self.shared.fail(LoadError::WorkerLost { worker: worker.clone(), reason: reason.clone() });
        self.shared.lose_worker(LostWorker { name: worker, reason });
    }

    /// Has the block begin at a time that every worker has confirmed; returns it. `soonest` where there is no worker.
    pub(crate) fn agree_on_start(&self, begin: impl Fn(u64), soonest: u64) -> Result<u64, LoadError> {
        if self.workers.is_empty() {
            begin(soonest);
            return Ok(soonest);
        }
        let round_trip = self.workers.iter().map(|worker| worker.round_trip()).max().unwrap_or_default();
        let lead_ns = LEAD_NS.max(round_trip.as_nanos() as u64 * LEAD_ROUND_TRIPS);
        for _ in 0..STARTS_TRIED {
            let at = now_ns() + lead_ns;
            begin(at);
            let all_armed = || self.heard.iter().all(|place| place.heard().armed_for_ns == Some(at));
            while now_ns() < at - lead_ns / 2 {
                if let Some(error) = self.shared.failure() {
                    return Err(error);
                }
                if self.shared.stopped() {
                    return Err(LoadError::Stopped);
                }
                if all_armed() {
                    return Ok(at);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let late = self.heard.iter().position(|place| place.heard().armed_for_ns.is_none()).unwrap_or(0);
        Err(LoadError::WorkerLost {
            worker: self.workers[late].name().to_owned(),
            reason: format!("it confirmed none of {STARTS_TRIED} starts in time"),
        })
    }

    /// Workers that have producers; none where the producers are in this process.
    pub(crate) fn number_with_producers(&self) -> Option<usize> {
        let with = self.segments.iter().filter(|segment| !segment.producers.is_empty()).count();
        (!self.workers.is_empty()).then_some(with)
    }

    /// The outcomes of the producers, which have been told to end; those of a worker that was lost are missing.
    pub(crate) fn join_producers(&self) -> Vec<ClientOutcome> {
        let of = |place: &Place| place.wait(|heard| heard.producers.take()).unwrap_or_default();
        self.heard.iter().flat_map(of).collect()
    }

    /// The outcomes of the consumers, which have been told to end.
    pub(crate) fn join_consumers(&self) -> Vec<ClientOutcome> {
        let take = |heard: &mut Heard| heard.done.as_mut().map(|done| std::mem::take(&mut done.consumers));
        let of = |place: &Place| place.wait(take).unwrap_or_default();
        self.heard.iter().flat_map(of).collect()
    }

    /// Adds to a block's outcome what is known of its workers.
    pub(crate) fn complete(&self, outcome: &mut BlockOutcome) {
        for ((worker, segment), place) in self.workers.iter().zip(&self.segments).zip(&self.heard) {
            let heard = place.heard();
            if let Some(done) = &heard.done {
                take_properties(&mut outcome.producer_properties, &done.producer_properties);
                take_properties(&mut outcome.consumer_properties, &done.consumer_properties);
            }
            outcome.workers.push(WorkerOutcome {
                name: worker.name().to_owned(),
                segment: segment.clone(),
                intended: heard.intended,
                sent: heard.sent,
                slip_mean_ns: heard.slip.mean_ns(),
                cpu_ns: heard.cpu_ns,
                clock: heard.clock,
                round_trip_ns: worker.round_trip().as_nanos() as u64,
            });
        }
        if outcome.lost_worker.is_some() {
            // What the consumers of a lost worker received, nobody knows: nothing is known to be lost.
            outcome.counts.lost = 0;
            outcome.accounting.agrees = None;
        }
    }

    /// The worker's clock minus this process's, now.
    fn clock_of(&self, place: usize) -> Option<OffsetBand> {
        self.workers[place].clock_at(now_ns())
    }

    /// The clock of one worker minus that of another.
    fn clock_between(&self, place: usize, other: usize) -> Option<OffsetBand> {
        if place == other || self.is_one_clock(place, other) {
            return Some(OffsetBand { low_ns: 0, high_ns: 0 });
        }
        Some(difference(self.clock_of(place)?, self.clock_of(other)?))
    }

    fn is_one_clock(&self, place: usize, other: usize) -> bool {
        self.workers[place].clock_identity() == self.workers[other].clock_identity()
    }

    /// Marks the partitions that the probe of every worker reached.
    fn note_probes(&self, place: usize, acknowledged: Vec<bool>) {
        self.heard[place].change(|heard| heard.probes_acknowledged = acknowledged);
        let producing =
            self.segments.iter().zip(&self.heard).filter(|(segment, _)| !segment.producers.is_empty());
        let flags: Vec<Vec<bool>> =
            producing.map(|(_, place)| place.heard().probes_acknowledged.clone()).collect();
        for partition in 0..self.shared.partitions() {
            if flags.iter().all(|flags| flags.get(partition) == Some(&true)) {
                self.shared.probe_acknowledged(i32::try_from(partition).unwrap_or(i32::MAX));
            }
        }
    }
}

fn take_properties(mine: &mut plumb_model::plan::Properties, theirs: &plumb_model::plan::Properties) {
    if mine.is_empty() {
        mine.clone_from(theirs);
    }
}

/// A start as the block has it and as a worker is told it.
#[derive(Debug, Clone, Copy)]
struct Start {
    here_ns: u64,
    there_ns: u64,
}

/// Follows one worker through a block.
struct Follower<'c, 'a> {
    crews: &'c RemoteCrews<'a>,
    place: usize,
    out: Sender<Parcel>,
    /// Parts that came back empty, and the way back.
    empty: Receiver<SecondPart>,
    back: Sender<SecondPart>,
    last: Progress,
    start: Option<Start>,
    orders: Orders,
    slow_due_ns: u64,
}

impl<'c, 'a> Follower<'c, 'a> {
    fn new(crews: &'c RemoteCrews<'a>, place: usize, out: Sender<Parcel>) -> Self {
        let (back, empty) = channel();
        Follower {
            crews,
            place,
            out,
            empty,
            back,
            last: Progress::default(),
            start: None,
            orders: Orders::default(),
            slow_due_ns: 0,
        }
    }

    fn follow(mut self, job: BlockJob) -> Result<(), LinkLost> {
        let worker = &*self.crews.workers[self.place];
        let mut reader = Reader::default();
        send(worker, &ToWorker::Block(Box::new(job)))?;
        loop {
            self.send_orders(worker)?;
            match reader.receive(worker, self.tick())? {
                None => {}
                Some(FromWorker::Progress(progress)) => self.take_progress(progress),
                Some(FromWorker::Seconds(parts)) => self.take_seconds(&parts)?,
                Some(FromWorker::Producers(outcomes)) => self.take_producers(outcomes),
                Some(FromWorker::Consumers(done)) => {
                    self.take_done(*done);
                    return Ok(());
                }
                Some(FromWorker::Failed(failure)) => {
                    let error = failure.of_worker(worker.name());
                    let reason = error.to_string();
                    self.crews.shared.fail(error);
                    return Err(LinkLost::failed(reason));
                }
            }
        }
    }

    /// How long to wait for a word of the worker before the next look at the block's state.
    fn tick(&self) -> Duration {
        let (shared, orders) = (self.crews.shared, &self.orders);
        let has_begun = known(shared.start_ns()).is_some_and(|start_ns| now_ns() >= start_ns);
        let ends = orders.measured_to_ns.is_some() || orders.finish_producers || orders.stop;
        if has_begun && !ends && !orders.hold && !shared.saturating { CALM_TICK } else { TICK }
    }

    /// Tells the worker the block's state where it has changed.
    fn send_orders(&mut self, worker: &dyn WorkerLink) -> Result<(), LinkLost> {
        let orders = self.orders_now();
        if orders != self.orders {
            send(worker, &ToWorker::Orders(orders.clone()))?;
            self.orders = orders;
        }
        Ok(())
    }

    fn orders_now(&mut self) -> Orders {
        let shared = self.crews.shared;
        let start_ns = known(shared.start_ns());
        if let Some(here_ns) = start_ns
            && self.start.is_none_or(|start| start.here_ns != here_ns)
            && let Some(clock) = self.crews.clock_of(self.place)
        {
            let there_ns = here_ns.saturating_add_signed(clock.middle_ns());
            self.start = Some(Start { here_ns, there_ns });
        }
        // Other times are told from the start on, so that what lies between two of them is the same everywhere.
        let there = |time_ns: u64| {
            let start = self.start?;
            let after_ns = known(time_ns)?.cast_signed() - start.here_ns.cast_signed();
            Some(start.there_ns.saturating_add_signed(after_ns))
        };
        let mut orders = Orders {
            start_ns: there(shared.start_ns()),
            measured_from_ns: there(shared.measured_from_ns()),
            measured_to_ns: there(shared.measured_to_ns()),
            send_until_ns: there(shared.send_until_ns()),
            hold: shared.consumers_must_wait(),
            stop: shared.is_cut_short(),
            finish_producers: shared.producers_finished(),
            finish: shared.finished(),
            positions: std::mem::take(&mut self.orders.positions),
            clocks: std::mem::take(&mut self.orders.clocks),
        };
        (self.orders.positions, self.orders.clocks) = (orders.positions.clone(), orders.clocks.clone());
        let now = now_ns();
        if now >= self.slow_due_ns {
            self.slow_due_ns = now + SLOW_NS;
            orders.positions = shared.positions();
            orders.clocks = self.clock_words();
        }
        orders
    }

    /// What the worker is to take for the difference of its clock from each other worker's. A new word comes only where the last no
    /// longer holds, or one that is much closer is known: each cuts the second that it comes in.
    fn clock_words(&self) -> Vec<SenderClockWord> {
        let word = |other: usize| {
            let before = self.orders.clocks.get(other);
            if self.crews.is_one_clock(self.place, other) {
                return SenderClockWord { ahead_ns: 0, one_clock: true };
            }
            let Some(band) = self.crews.clock_between(self.place, other) else {
                return before.copied().unwrap_or(SenderClockWord { ahead_ns: 0, one_clock: false });
            };
            let wanted = band.low_ns.saturating_sub(DRIFT_MARGIN_NS);
            match before {
                Some(word) if word.ahead_ns <= band.low_ns && wanted - word.ahead_ns <= DRIFT_MARGIN_NS => {
                    *word
                }
                _ => SenderClockWord { ahead_ns: wanted, one_clock: false },
            }
        };
        (0..self.crews.workers.len()).map(word).collect()
    }

    /// Puts what a worker says of itself into the block's state: what has grown since its last word.
    fn take_progress(&mut self, progress: Progress) {
        let (crews, shared, place) = (self.crews, self.crews.shared, self.place);
        let last = &self.last;
        shared.count_acknowledged(progress.acknowledged.saturating_sub(last.acknowledged));
        shared.count_received(progress.received.saturating_sub(last.received));
        (last.holding..progress.holding).for_each(|_| shared.consumer_holds());
        crews.outstanding[place].set(progress.outstanding);
        (last.senders_done..progress.senders_done).for_each(|_| shared.sender_done());
        for (consumer, assigned) in crews.segments[place].consumers.clone().zip(&progress.assigned) {
            shared.set_assigned(consumer, *assigned);
        }
        for (partition, position) in (0..).zip(&progress.positions) {
            shared.reached(partition, *position);
        }
        for (partition, _) in (0..).zip(&progress.probes_received).filter(|(_, received)| **received) {
            shared.probe_received(partition);
        }
        if progress.probes_acknowledged != last.probes_acknowledged {
            crews.note_probes(place, progress.probes_acknowledged.clone());
        }
        if let Some(trouble) = &progress.trouble {
            shared.note_trouble(trouble.clone());
        }
        if let Some(refused) = &progress.probe_error {
            shared.probe_failed(&refused.code, &refused.text);
        }
        if let (Some(armed), Some(start)) = (progress.armed_for_ns, self.start)
            && armed == start.there_ns
        {
            crews.heard[place].change(|heard| heard.armed_for_ns = Some(start.here_ns));
        }
        self.last = progress;
    }

    /// Puts together what is of one second and measure, whatever clock it came by, and passes it on.
    fn take_seconds(&mut self, parts: &[SecondPart<CompactHistogram>]) -> Result<(), LinkLost> {
        let mut whole: Vec<SecondPart> = Vec::new();
        for part in parts {
            let is_it = |sum: &SecondPart| {
                (sum.second, sum.warm_up, sum.measure) == (part.second, part.warm_up, part.measure)
            };
            let at = match whole.iter().position(is_it) {
                Some(at) => at,
                None => {
                    whole.push(self.empty_part(part));
                    whole.len() - 1
                }
            };
            self.take_part(part, &mut whole[at])
                .map_err(|error| LinkLost::failed(format!("a second cannot be read: {error}")))?;
        }
        for part in whole {
            if part.measure == Measure::Slip && !part.warm_up {
                self.crews.heard[self.place].change(|heard| heard.slip.merge(&part.response));
            }
            // When the block's bookkeeping has ended, nobody wants it any more.
            let _ = self.out.send(Parcel::of(part, &self.back));
        }
        Ok(())
    }

    fn empty_part(&self, like: &SecondPart<CompactHistogram>) -> SecondPart {
        let mut part = self.empty.try_recv().unwrap_or_else(|_| SecondPart::new(like.measure));
        (part.second, part.warm_up, part.measure) = (like.second, like.warm_up, like.measure);
        part
    }

    fn take_part(
        &self,
        part: &SecondPart<CompactHistogram>,
        sum: &mut SecondPart,
    ) -> Result<(), HistogramError> {
        let Some(origin) = part.origin else { return sum.absorb_sent(part, 0) };
        let other = usize::from(origin.segment);
        let is_there = other < self.crews.workers.len();
        let Some(band) = is_there.then(|| self.crews.clock_between(self.place, other)).flatten() else {
            // A latency between clocks of which nothing is known is none.
            sum.absorb_counts(part);
            return Ok(());
        };
        sum.absorb_sent(part, correction_ns(origin, band))?;
        let is_wider = |known: &OffsetBand| known.width_ns() >= band.width_ns();
        self.crews.heard[self.place].change(|heard| {
            heard.clock = heard.clock.filter(is_wider).or(Some(band));
        });
        Ok(())
    }

    /// The outcomes of clients with their times on this process's clock.
    fn here(&self, outcomes: Vec<ClientOutcome>) -> Vec<ClientOutcome> {
        let ahead_ns =
            self.start.map_or(0, |start| start.here_ns.cast_signed() - start.there_ns.cast_signed());
        outcomes.into_iter().map(|outcome| outcome.moved(ahead_ns)).collect()
    }

    fn take_producers(&self, outcomes: Vec<ClientOutcome>) {
        let outcomes = self.here(outcomes);
        self.crews.heard[self.place].change(|heard| {
            for outcome in &outcomes {
                if let ClientOutcome::Producer(producer) = outcome {
                    heard.intended += producer.sent.intended;
                    heard.sent += producer.sent.measured;
                }
            }
            heard.producers = Some(outcomes);
        });
    }

    fn take_done(&self, mut done: PartDone) {
        done.consumers = self.here(done.consumers);
        self.crews.heard[self.place].change(|heard| {
            heard.cpu_ns = done.cpu_ns;
            heard.done = Some(done);
        });
    }
}

/// A time that is known; those that are not are far away.
fn known(time_ns: u64) -> Option<u64> {
    (time_ns != u64::MAX).then_some(time_ns)
}
