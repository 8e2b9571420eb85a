//! The state that the threads of a block share: the stop, the phases, the readiness and position of each partition.

use crate::error::LoadError;
use crate::remote::clocks::SenderClocks;
use crate::remote::lost_worker::LostWorker;
use plumb_model::plan::{LoadPlan, Mode};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The state that the threads of a block share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) run: u64,
    pub(crate) load: &'a LoadPlan,
    /// True if messages go out as fast as possible.
    pub(crate) saturating: bool,
    stop: &'a AtomicBool,
    finish: AtomicBool,
    finish_producers: AtomicBool,
    start_ns: AtomicU64,
    measured_from_ns: AtomicU64,
    measured_to_ns: AtomicU64,
    /// The time from which on nothing more is sent, whatever is still due.
    send_until_ns: AtomicU64,
    /// Offset of the next record that the consumers have not seen, by partition.
    positions: Vec<AtomicI64>,
    probes_acknowledged: Vec<AtomicBool>,
    probes_received: Vec<AtomicBool>,
    probe_error: Mutex<Option<(String, String)>>,
    /// The fault that is being tried again, in words.
    trouble: Mutex<Option<String>>,
    /// The reason why a producer cannot begin.
    failure: Mutex<Option<LoadError>>,
    acknowledged: AtomicU64,
    received: AtomicU64,
    /// Measured messages that saturating producers have taken on.
    claimed: AtomicU64,
    /// Consumers must wait, and those that do.
    hold: AtomicBool,
    holding: AtomicUsize,
    /// A topic that is read as it is: records of any run count.
    any_run: bool,
    /// The run whose stamps are verified then; 0 before one is met.
    verified_run: AtomicU64,
    /// The end of each partition: records behind it are not counted.
    ends: Vec<AtomicI64>,
    senders_done: AtomicUsize,
    /// True for each consumer that holds partitions.
    assigned: Vec<AtomicBool>,
    /// The epoch minus the run's clock.
    epoch_minus_clock_ns: i64,
    /// The clocks of producers in other processes.
    clocks: SenderClocks,
    /// The worker that was lost, and how.
    lost_worker: Mutex<Option<LostWorker>>,
    has_lost_a_worker: AtomicBool,
    /// A client's program did what it must not: the block ends with this error.
    ended_by: Mutex<Option<LoadError>>,
    is_ended_by_error: AtomicBool,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(
        run: u64,
        load: &'a LoadPlan,
        stop: &'a AtomicBool,
        starts: &[i64],
        any_run: bool,
    ) -> Self {
        let flags = || starts.iter().map(|_| AtomicBool::new(false)).collect();
        Shared {
            run,
            load,
            saturating: load.saturating(),
            stop,
            finish: AtomicBool::new(false),
            finish_producers: AtomicBool::new(false),
            start_ns: AtomicU64::new(u64::MAX),
            measured_from_ns: AtomicU64::new(u64::MAX),
            measured_to_ns: AtomicU64::new(u64::MAX),
            send_until_ns: AtomicU64::new(u64::MAX),
            positions: starts.iter().map(|offset| AtomicI64::new(*offset)).collect(),
            probes_acknowledged: flags(),
            probes_received: flags(),
            probe_error: Mutex::new(None),
            trouble: Mutex::new(None),
            verified_run: AtomicU64::new(0),
            ends: starts.iter().map(|_| AtomicI64::new(i64::MAX)).collect(),
            failure: Mutex::new(None),
            acknowledged: AtomicU64::new(0),
            received: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            // What is there already must not be read before it is measured.
            hold: AtomicBool::new(any_run),
            holding: AtomicUsize::new(0),
            any_run,
            senders_done: AtomicUsize::new(0),
            assigned: (0..load.consumers).map(|_| AtomicBool::new(false)).collect(),
            epoch_minus_clock_ns: epoch_minus_clock_ns(),
            clocks: SenderClocks::default(),
            lost_worker: Mutex::new(None),
            has_lost_a_worker: AtomicBool::new(false),
            ended_by: Mutex::new(None),
            is_ended_by_error: AtomicBool::new(false),
        }
    }

    /// The same, where producers run in other processes too.
    pub(crate) fn with_sender_clocks(self, clocks: SenderClocks) -> Self {
        Shared { clocks, ..self }
    }

    /// The clocks of producers in other processes.
    pub(crate) fn sender_clocks(&self) -> &SenderClocks {
        &self.clocks
    }

    /// The user asked to stop, or the block ends.
    pub(crate) fn stopped(&self) -> bool {
        self.is_cut_short() || self.finished()
    }

    /// The block ends before its time: the user asked to stop, or a worker was lost.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.has_lost_a_worker.load(Ordering::Acquire)
            || self.is_ended_by_error.load(Ordering::Acquire)
    }

    /// A client cannot go on: the block ends with this error. The first one counts.
    pub(crate) fn end_by(&self, error: LoadError) {
        if let Ok(mut place) = self.ended_by.lock() {
            place.get_or_insert(error);
        }
        self.is_ended_by_error.store(true, Ordering::Release);
    }

    /// The error that ended the block.
    pub(crate) fn ended_by(&self) -> Option<LoadError> {
        match self.is_ended_by_error.load(Ordering::Acquire) {
            true => self.ended_by.lock().ok()?.clone(),
            false => None,
        }
    }

    /// A worker was lost: the others end. The first one counts.
    pub(crate) fn lose_worker(&self, lost: LostWorker) {
        if let Ok(mut place) = self.lost_worker.lock() {
            place.get_or_insert(lost);
        }
        self.has_lost_a_worker.store(true, Ordering::Release);
    }

    /// The worker that was lost.
    pub(crate) fn lost_worker(&self) -> Option<LostWorker> {
        match self.has_lost_a_worker.load(Ordering::Acquire) {
            true => self.lost_worker.lock().ok()?.clone(),
            false => None,
        }
    }

    /// The threads must end.
    pub(crate) fn finished(&self) -> bool {
        self.finish.load(Ordering::Acquire)
    }

    /// The producers must end; what has no report by then stays without one.
    pub(crate) fn producers_finished(&self) -> bool {
        self.finish_producers.load(Ordering::Acquire) || self.finished()
    }

    pub(crate) fn finish_producers(&self) {
        self.finish_producers.store(true, Ordering::Release);
    }

    pub(crate) fn finish(&self) {
        self.finish.store(true, Ordering::Release);
    }

    /// Sets the time after which nothing more is sent, whatever is still due.
    pub(crate) fn send_until(&self, until_ns: u64) {
        self.send_until_ns.store(until_ns, Ordering::Release);
    }

    /// That time; far away while it is not known.
    pub(crate) fn send_until_ns(&self) -> u64 {
        self.send_until_ns.load(Ordering::Acquire)
    }

    /// True if the block's time is over though messages may still be due.
    fn is_overdue(&self, now_ns: u64) -> bool {
        now_ns > self.send_until_ns()
    }

    /// True if nothing more is to be sent.
    pub(crate) fn sends_no_more(&self, now_ns: u64) -> bool {
        self.stopped() || self.is_overdue(now_ns)
    }

    /// True for each of these consumers that holds partitions.
    pub(crate) fn assigned(&self, consumers: Range<usize>) -> Vec<bool> {
        self.assigned[consumers].iter().map(|flag| flag.load(Ordering::Acquire)).collect()
    }

    /// Partitions that a probe was acknowledged by.
    pub(crate) fn acknowledged_probes(&self) -> Vec<bool> {
        self.probes_acknowledged.iter().map(|flag| flag.load(Ordering::Acquire)).collect()
    }

    /// Partitions that a probe was received from.
    pub(crate) fn received_probes(&self) -> Vec<bool> {
        self.probes_received.iter().map(|flag| flag.load(Ordering::Acquire)).collect()
    }

    /// Consumers that have stopped receiving, so far.
    pub(crate) fn holding(&self) -> usize {
        self.holding.load(Ordering::Acquire)
    }

    /// The end of the measured part; far away while it is not known.
    pub(crate) fn measured_to_ns(&self) -> u64 {
        self.measured_to_ns.load(Ordering::Acquire)
    }

    /// Tells the threads to end when the guard goes, however that happens.
    pub(crate) fn end_on_drop(&self) -> impl Drop + use<'_, 'a> {
        struct End<'b, 'a>(&'b Shared<'a>);
        impl Drop for End<'_, '_> {
            fn drop(&mut self) {
                self.0.finish();
            }
        }
        End(self)
    }

    pub(crate) fn begin(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// The measured part begins at this time.
    pub(crate) fn measure_from(&self, from_ns: u64) {
        self.measured_from_ns.store(from_ns, Ordering::Release);
    }

    /// The begin of the measured part; far away while that is not known.
    pub(crate) fn measured_from_ns(&self) -> u64 {
        self.measured_from_ns.load(Ordering::Acquire)
    }

    /// The time from the block's start to its measured part; none where that has not begun.
    pub(crate) fn measured_after_ns(&self) -> Option<u64> {
        let from_ns = Some(self.measured_from_ns()).filter(|from_ns| *from_ns != u64::MAX)?;
        Some(from_ns.saturating_sub(self.start_ns()))
    }

    /// Takes on up to `wanted` of the block's `total` measured messages; returns how many.
    pub(crate) fn claim(&self, wanted: u64, total: u64) -> u64 {
        let before = self.claimed.fetch_add(wanted, Ordering::Relaxed);
        total.saturating_sub(before).min(wanted)
    }

    /// True if producers still build the backlog: as fast as possible, until the block's bookkeeping has seen enough.
    pub(crate) fn backlog_is_growing(&self) -> bool {
        matches!(self.load.mode, Mode::Backlog(_)) && self.consumers_must_wait()
    }

    /// True if the messages sent are those measured; those that fill a topic to be read are not.
    pub(crate) fn sending_is_measured(&self) -> bool {
        self.load.mode != Mode::Consume
    }

    /// True if the messages that built a backlog count as received at a rate: once it is drained.
    pub(crate) fn counts_backlog(&self) -> bool {
        matches!(self.load.mode, Mode::Backlog(_)) && !self.consumers_must_wait()
    }

    /// True if records of any run count: the topic is read as it is.
    pub(crate) fn takes_any_run(&self) -> bool {
        self.any_run
    }

    /// True if the stamps of this run are to be verified: the first run that any consumer meets is.
    pub(crate) fn verifies(&self, run: u64) -> bool {
        match self.verified_run.compare_exchange(0, run, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(first) => first == run,
        }
    }

    /// Sets the ends for this block of a topic that is read as it is.
    pub(crate) fn ends_at(&self, ends: &[i64]) {
        for (place, end) in self.ends.iter().zip(ends) {
            place.store(*end, Ordering::Release);
        }
    }

    /// True if a record is behind that end.
    pub(crate) fn is_behind_end(&self, partition: i32, offset: i64) -> bool {
        let end = usize::try_from(partition).ok().and_then(|at| self.ends.get(at));
        end.is_some_and(|end| offset >= end.load(Ordering::Acquire))
    }

    pub(crate) fn note_trouble(&self, words: String) {
        if let Ok(mut trouble) = self.trouble.lock() {
            *trouble = Some(words);
        }
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().ok()?.clone()
    }

    /// Consumers must stop receiving until they are released.
    pub(crate) fn hold_consumers(&self) {
        self.hold.store(true, Ordering::Release);
    }

    pub(crate) fn release_consumers(&self) {
        self.hold.store(false, Ordering::Release);
    }

    pub(crate) fn consumers_must_wait(&self) -> bool {
        self.hold.load(Ordering::Acquire)
    }

    /// A consumer has stopped receiving.
    pub(crate) fn consumer_holds(&self) {
        self.holding.fetch_add(1, Ordering::AcqRel);
    }

    /// True if every consumer has stopped receiving.
    pub(crate) fn all_consumers_hold(&self) -> bool {
        self.holding.load(Ordering::Acquire) >= self.assigned.len()
    }

    pub(crate) fn count_received(&self, messages: u64) {
        self.received.fetch_add(messages, Ordering::Relaxed);
    }

    /// Records received so far, whoever sent them.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// The start of the block.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Acquire)
    }

    pub(crate) fn clock_start(&self) -> &AtomicU64 {
        &self.start_ns
    }

    pub(crate) fn measured_part_ends(&self, now_ns: u64) {
        self.measured_to_ns.store(now_ns, Ordering::Release);
    }

    pub(crate) fn in_measured_part(&self, now_ns: u64) -> bool {
        self.measured_from_ns.load(Ordering::Acquire) <= now_ns
            && now_ns <= self.measured_to_ns.load(Ordering::Acquire)
    }

    pub(crate) fn measured_part_is_over(&self) -> bool {
        self.measured_to_ns.load(Ordering::Acquire) != u64::MAX
    }

    /// Measured messages are or were under way: from the first one's due time until the block ends.
    pub(crate) fn measured_part_has_begun(&self, now_ns: u64) -> bool {
        self.measured_from_ns.load(Ordering::Acquire) <= now_ns
    }

    pub(crate) fn sender_done(&self) {
        self.senders_done.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn senders_done(&self) -> usize {
        self.senders_done.load(Ordering::Acquire)
    }

    pub(crate) fn set_assigned(&self, consumer: usize, assigned: bool) {
        if let Some(flag) = self.assigned.get(consumer) {
            flag.store(assigned, Ordering::Release);
        }
    }

    /// True if as many consumers hold partitions as can.
    pub(crate) fn group_is_complete(&self) -> bool {
        let holding = self.assigned.iter().filter(|flag| flag.load(Ordering::Acquire)).count();
        holding >= self.assigned.len().min(self.positions.len())
    }

    /// Follows the windows of a consumer's statistics: those of the measured part.
    pub(crate) fn windows_of_consumer(&self) -> Windows<'_, 'a> {
        Windows { shared: self, last_ns: 0, with_drain: false }
    }

    /// Follows the windows of a producer's statistics: those in which it sends measured messages, and these may wait in its queue
    /// beyond the measured part.
    pub(crate) fn windows_of_producer(&self) -> Windows<'_, 'a> {
        Windows { shared: self, last_ns: 0, with_drain: true }
    }

    pub(crate) fn partitions(&self) -> usize {
        self.positions.len()
    }

    /// The offset at which the consumers go on in a partition.
    pub(crate) fn position(&self, partition: i32) -> Option<i64> {
        let position = self.positions.get(usize::try_from(partition).ok()?)?;
        Some(position.load(Ordering::Acquire))
    }

    /// The offsets at which the consumers go on, by partition.
    pub(crate) fn positions(&self) -> Vec<i64> {
        self.positions.iter().map(|position| position.load(Ordering::Acquire)).collect()
    }

    pub(crate) fn reached(&self, partition: i32, next_offset: i64) {
        if let Some(position) = usize::try_from(partition).ok().and_then(|at| self.positions.get(at)) {
            position.fetch_max(next_offset, Ordering::AcqRel);
        }
    }

    /// Offsets that consumers have behind them, from these on: of records that they were given, and of those that were gone.
    pub(crate) fn passed(&self, starts: &[i64]) -> u64 {
        let passed = self.positions.iter().zip(starts);
        passed.map(|(at, start)| (at.load(Ordering::Acquire) - start).max(0).unsigned_abs()).sum()
    }

    pub(crate) fn has_reached(&self, ends: &[i64]) -> bool {
        self.positions.iter().zip(ends).all(|(position, end)| position.load(Ordering::Acquire) >= *end)
    }

    pub(crate) fn probe_acknowledged(&self, partition: i32) {
        mark(&self.probes_acknowledged, partition);
    }

    pub(crate) fn probe_received(&self, partition: i32) {
        mark(&self.probes_received, partition);
    }

    pub(crate) fn probe_failed(&self, code: &str, text: &str) {
        if let Ok(mut error) = self.probe_error.lock() {
            error.get_or_insert((code.to_owned(), text.to_owned()));
        }
    }

    pub(crate) fn probe_error(&self) -> Option<(String, String)> {
        self.probe_error.lock().ok()?.clone()
    }

    /// A client cannot do what the block needs.
    pub(crate) fn fail(&self, error: LoadError) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    pub(crate) fn failure(&self) -> Option<LoadError> {
        self.failure.lock().ok()?.take()
    }

    /// The first partition around which no record has gone yet.
    pub(crate) fn first_unready(&self, with_consumers: bool) -> Option<i32> {
        let ready = |at: usize| {
            self.probes_acknowledged[at].load(Ordering::Acquire)
                && (!with_consumers || self.probes_received[at].load(Ordering::Acquire))
        };
        (0..self.positions.len()).find(|at| !ready(*at)).and_then(|at| i32::try_from(at).ok())
    }

    pub(crate) fn count_acknowledged(&self, messages: u64) {
        self.acknowledged.fetch_add(messages, Ordering::Relaxed);
    }

    /// Acknowledged so far, probes and warm-up included.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// A time of the run's clock as a time of the epoch.
    pub(crate) fn epoch_ns(&self, clock_ns: u64) -> i64 {
        i64::try_from(clock_ns).unwrap_or(i64::MAX).saturating_add(self.epoch_minus_clock_ns)
    }
}

/// The epoch minus the run's clock: of several readings, the one whose two readings of the clock lie closest together, so
/// that a thread that lost its processor between them does not shift every append time of the block.
fn epoch_minus_clock_ns() -> i64 {
    let reading = || {
        let before = crate::clock::now_ns();
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let after = crate::clock::now_ns();
        let middle = i64::try_from(before + (after - before) / 2).unwrap_or(i64::MAX);
        (after - before, i64::try_from(epoch.as_nanos()).unwrap_or(i64::MAX) - middle)
    };
    (0..20).map(|_| reading()).min().map_or(0, |(_, difference)| difference)
}

fn mark(flags: &[AtomicBool], partition: i32) {
    if let Some(flag) = usize::try_from(partition).ok().and_then(|at| flags.get(at)) {
        flag.store(true, Ordering::Release);
    }
}

/// Tells which windows of a client's statistics are measured.
#[derive(Debug)]
pub(crate) struct Windows<'b, 'a> {
    shared: &'b Shared<'a>,
    last_ns: u64,
    with_drain: bool,
}

impl Windows<'_, '_> {
    /// True if the window from the last emission to this one is measured as a whole.
    pub(crate) fn next(&mut self, now_ns: u64) -> bool {
        let begun = self.shared.measured_part_has_begun(self.last_ns);
        let inside = begun && (self.with_drain || self.shared.in_measured_part(now_ns));
        self.last_ns = now_ns;
        inside
    }
}
