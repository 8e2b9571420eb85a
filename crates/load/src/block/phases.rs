//! The phases of a block, run by its own thread while the clients are at work: it waits until they are ready, releases consumers
//! that had to wait, feeds the sink, sets the begin and the end of the measured part, and waits for what is still under way.

use super::BlockSpec;
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::librdkafka::connect::Cluster;
use crate::observation::{Observation, Sink};
use crate::patience::Awaited;
use crate::produce::Outstanding;
use crate::schedule::{Share, last_due_ns};
use crate::seconds::Parcel;
use crate::shared::Shared;
use crate::wire::{LeaderEnds, Logs};
use plumb_model::plan::Mode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Longest wait until a record went round every partition.
const READY_S: u64 = 30;
/// Time after which it is asked whether the record of a partition was deleted before it was read, again and again.
const DELETED_LOOK_NS: u64 = 1_000_000_000;
/// Longest wait for what is under way once the user asked to stop.
const STOP_DRAIN_NS: u64 = 2_000_000_000;
/// Messages may be sent so late at least, however short the plan's drain is (ours): a stall of the sender is no overload.
const LATE_NS_LEAST: u64 = 1_000_000_000;
const TICK: Duration = Duration::from_millis(20);
/// Ticks of a part whose end is itself a figure.
const SHORT_TICK: Duration = Duration::from_millis(2);
const SECOND_NS: u64 = 1_000_000_000;
/// The most by which a second's begin may be told late: what is read then belongs to the second before (ours: a hundredth of what
/// is left of a block after its warm-up, in the shortest in which one is found).
const SECOND_LATE_NS_MOST: u64 = 50_000_000;
/// Consumers have caught up when they lack no more than this much of the load: what is under way at any moment.
const CAUGHT_UP_S: f64 = 0.1;

/// The senders of a block, wherever they are.
#[derive(Clone, Copy)]
pub(super) struct SendersAtWork<'a> {
    pub(super) producers: usize,
    /// True if one of this process has panicked.
    pub(super) a_sender_is_lost: &'a dyn Fn() -> bool,
}

/// The bookkeeping of a running block.
pub(super) struct Phases<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) spec: &'a BlockSpec<'a>,
    pub(super) shared: &'a Shared<'a>,
    pub(super) outstanding: &'a [Outstanding],
    pub(super) starts: &'a [i64],
    /// The time at which consumers that had to wait were released.
    pub(super) released_ns: Option<u64>,
    /// The time at which they had caught up.
    pub(super) caught_up_ns: Option<u64>,
    /// The ends of a topic that is read as it is, when the reading began.
    pub(super) fixed_ends: Option<Vec<i64>>,
    /// The second that the block is in, as far as the sink has been told.
    pub(super) second: u32,
    /// Messages that were acknowledged when one was last, or when none was under way, and that time.
    pub(super) heard: (u64, u64),
}

impl Phases<'_> {
    /// Waits until every partition was tried and the consumers are in place.
    pub(super) fn wait_until_ready(&self, started_ns: u64) -> Result<(), LoadError> {
        let mut looked_ns = started_ns;
        let until_ns = started_ns + READY_S * SECOND_NS;
        let patience = &self.cluster.patience;
        loop {
            patience.waits(Awaited::FirstRecords, started_ns, until_ns);
            if let Some((code, text)) = self.shared.probe_error() {
                return Err(self.probe_error(&code, &text));
            }
            if let Some(error) = self.shared.failure().or_else(|| self.shared.ended_by()) {
                return Err(error);
            }
            let probed = !self.shared.takes_any_run();
            let with_consumers = self.shared.load.consumers > 0;
            let unready = probed.then(|| self.shared.first_unready(with_consumers)).flatten();
            let unready = unready.or_else(|| (!self.shared.group_is_complete()).then_some(0));
            match unready {
                None => {
                    patience.heard();
                    return Ok(());
                }
                Some(_) if self.shared.stopped() => {
                    return Err(self.shared.ended_by().unwrap_or(LoadError::Stopped));
                }
                Some(partition) if now_ns() > until_ns => {
                    return Err(LoadError::NotReady {
                        topic: self.spec.topic.to_owned(),
                        partition,
                        waited_s: READY_S,
                        reason: self.why_not_ready(),
                    });
                }
                Some(partition) if now_ns() - looked_ns > DELETED_LOOK_NS => {
                    looked_ns = now_ns();
                    // It went into the log and was deleted there: the partition works.
                    if self.is_deleted(partition) {
                        self.shared.probe_received(partition);
                    }
                }
                Some(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// The clients' or the logs' reason for a record that did not come, with a colon before it.
    fn why_not_ready(&self) -> String {
        if let Some(words) = self.shared.trouble() {
            return format!(": {words}");
        }
        let BlockSpec { topic, partitions, .. } = *self.spec;
        let ends = LeaderEnds::ask(Logs { cluster: self.cluster, topic, partitions });
        match ends.as_ref().and_then(LeaderEnds::held_back) {
            None | Some(0) => String::new(),
            Some(records) => format!(
                ": an open transaction of another producer holds {records} records back from consumers that read committed \
                 records alone (isolation.level)"
            ),
        }
    }

    /// True where the log's beginning moved beyond the place at which the record was written, by retention or on request, and the consumers
    /// are in place.
    fn is_deleted(&self, partition: i32) -> bool {
        let begins = || self.cluster.begin_offsets(self.spec.topic, self.spec.partitions).ok();
        let moved = |at: usize| Some(*begins()?.get(at)? > *self.starts.get(at)?);
        self.shared.group_is_complete() && usize::try_from(partition).ok().and_then(moved) == Some(true)
    }

    fn probe_error(&self, code: &str, text: &str) -> LoadError {
        let bytes = self.spec.step.load.size.largest().0;
        match code {
            // As librdkafka calls it, and as the protocol does.
            "MSG_SIZE_TOO_LARGE" | "MESSAGE_TOO_LARGE" | "RECORD_LIST_TOO_LARGE" => LoadError::TooLarge {
                bytes,
                reason: format!("{text} (topic max.message.bytes, or the broker's message.max.bytes)"),
            },
            _ => LoadError::Refused {
                operation: format!("send to {}", self.spec.topic),
                reason: format!("{text} ({code})"),
            },
        }
    }

    /// Stops consumers before anything is sent, in the modes in which they come later.
    pub(super) fn hold_consumers(&self) {
        if !matches!(self.shared.load.mode, Mode::Consume | Mode::Backlog(_)) {
            return;
        }
        self.shared.hold_consumers();
        while !self.shared.all_consumers_hold() && !self.shared.stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The block starts at this time; so may its measured part, where the clock alone says when.
    pub(super) fn begin(&self, at: u64) {
        let load = self.shared.load;
        self.shared.begin(at);
        let by_clock = match load.mode {
            Mode::Mixed | Mode::Produce => true,
            Mode::Backlog(_) => !load.saturating(),
            Mode::Consume => false,
        };
        if by_clock {
            self.shared.measure_from(at + load.warm_up.0);
        }
        let last_due_ns = match self.spec.share {
            // It begins when the backlog is built.
            _ if load.saturating() && matches!(load.mode, Mode::Backlog(_)) => None,
            Share::Time(time) if load.saturating() => Some(load.warm_up.0.saturating_add(time.0)),
            share => last_due_ns(load, share, self.spec.seed),
        };
        if let Some(last_due_ns) = last_due_ns {
            self.send_until(at.saturating_add(last_due_ns));
        }
    }

    /// A load that the path does not take is not sent for longer than the user was ready to wait for its end.
    fn send_until(&self, last_due_ns: u64) {
        let late_ns = self.shared.load.drain.0.max(LATE_NS_LEAST);
        self.shared.send_until(last_due_ns.saturating_add(late_ns));
    }

    /// Feeds the sink until the measured part is over.
    pub(super) fn follow(
        &mut self,
        senders: SendersAtWork<'_>,
        parcels: &Receiver<Parcel>,
        sink: &mut dyn Sink,
    ) {
        let begun = match self.shared.load.mode {
            Mode::Consume => {
                self.follow_filling(senders, parcels, sink);
                self.follow_receiving(parcels, sink)
            }
            Mode::Mixed | Mode::Produce | Mode::Backlog(_) => self.follow_sending(senders, parcels, sink),
        };
        // A measured part too short to be seen to begin has no readings at its ends.
        if begun {
            sink.observe(Observation::MeasuredPartEnds);
        }
        self.shared.measured_part_ends(now_ns());
    }

    /// Feeds the sink until every sender is done; whether the measured part was seen to begin.
    fn follow_sending(
        &mut self,
        senders: SendersAtWork<'_>,
        parcels: &Receiver<Parcel>,
        sink: &mut dyn Sink,
    ) -> bool {
        let mut begun = false;
        while self.is_sending(senders) {
            self.release_at_backlog();
            if !begun && self.shared.in_measured_part(now_ns()) {
                begun = true;
                sink.observe(Observation::MeasuredPartBegins);
            }
            self.feed(parcels, sink, self.until_measured(begun));
            self.look_at_backlog();
        }
        // What is under way belongs to a load that is not paced: its work is not done before.
        let drain_until = self.drain_until_ns();
        while self.shared.saturating
            && self.is_under_way()
            && !self.shared.stopped()
            && now_ns() < drain_until
        {
            self.feed(parcels, sink, SHORT_TICK);
            self.look_at_backlog();
        }
        begun
    }

    /// Feeds the sink for a while, no longer than until the next second of the block, whose begin it is told.
    fn feed(&mut self, parcels: &Receiver<Parcel>, sink: &mut dyn Sink, wait: Duration) {
        let start_ns = self.shared.start_ns();
        let due_ns = start_ns.saturating_add((u64::from(self.second) + 1) * SECOND_NS);
        feed(parcels, sink, wait.min(Duration::from_nanos(due_ns.saturating_sub(now_ns()))));
        self.listen(self.shared.send_until_ns());
        let elapsed_ns = now_ns().saturating_sub(start_ns);
        let second = u32::try_from(elapsed_ns / SECOND_NS).unwrap_or(u32::MAX);
        if second > self.second {
            self.second = second;
            if elapsed_ns % SECOND_NS <= SECOND_LATE_NS_MOST {
                sink.observe(Observation::SecondBegins(second));
            }
        }
    }

    /// Notes whether messages are acknowledged; those under way are waited for until a time.
    fn listen(&mut self, until_ns: u64) {
        let acknowledged = self.shared.acknowledged();
        if acknowledged != self.heard.0 || !self.is_under_way() {
            self.heard = (acknowledged, now_ns());
            self.cluster.patience.heard();
        } else {
            self.cluster.patience.waits(Awaited::Acknowledgement, self.heard.1, until_ns);
        }
    }

    /// A tick, or less when the measured part begins before it is over.
    fn until_measured(&self, begun: bool) -> Duration {
        let left_ns = self.shared.measured_from_ns().saturating_sub(now_ns());
        if begun { TICK } else { TICK.min(Duration::from_nanos(left_ns)) }
    }

    /// A sender that is done stays until its CPU time was read; one that panicked is finished without being done.
    fn is_sending(&self, senders: SendersAtWork<'_>) -> bool {
        self.shared.senders_done() < senders.producers
            && !(senders.a_sender_is_lost)()
            && self.shared.lost_worker().is_none()
    }

    /// Feeds the sink until the topic is filled.
    fn follow_filling(&self, senders: SendersAtWork<'_>, parcels: &Receiver<Parcel>, sink: &mut dyn Sink) {
        while self.is_sending(senders) {
            feed(parcels, sink, TICK);
        }
        let drain_until = self.drain_until_ns();
        while self.is_under_way() && !self.shared.stopped() && now_ns() < drain_until {
            feed(parcels, sink, SHORT_TICK);
        }
    }

    /// Releases the consumers and feeds the sink until they have all, or get nothing more.
    fn follow_receiving(&mut self, parcels: &Receiver<Parcel>, sink: &mut dyn Sink) -> bool {
        let Ok(ends) = self.cluster.end_offsets(self.spec.topic, self.spec.partitions) else { return false };
        if self.shared.takes_any_run() {
            self.shared.ends_at(&ends);
            self.fixed_ends = Some(ends.clone());
        }
        sink.observe(Observation::MeasuredPartBegins);
        let begun = now_ns();
        self.shared.measure_from(begun);
        self.shared.release_consumers();
        let (mut received, mut progress_ns) = (self.shared.received(), begun);
        while !self.shared.has_reached(&ends) && !self.shared.stopped() {
            self.feed(parcels, sink, SHORT_TICK);
            let (now, so_far) = (now_ns(), self.shared.received());
            if so_far > received {
                (received, progress_ns) = (so_far, now);
            } else if now - progress_ns > self.shared.load.drain.0 {
                break;
            }
        }
        true
    }

    /// Releases consumers once the backlog is as large as asked for.
    fn release_at_backlog(&mut self) {
        let Mode::Backlog(bytes) = self.shared.load.mode else { return };
        if self.released_ns.is_some() {
            return;
        }
        let (now, load) = (now_ns(), self.shared.load);
        let built = self.shared.acknowledged() as f64 * load.size.mean() >= bytes.0 as f64;
        let due = match load.saturating() {
            true => built && now >= self.shared.start_ns().saturating_add(load.warm_up.0),
            false => self.shared.measured_part_has_begun(now),
        };
        if due {
            if load.saturating() {
                self.shared.measure_from(now);
                if let Share::Time(time) = self.spec.share {
                    self.send_until(now.saturating_add(time.0));
                }
            }
            self.shared.release_consumers();
            self.released_ns = Some(now);
        }
    }

    /// The time from which on no reports are waited for, if sending has just ended: late sends have used up some of the plan's
    /// drain.
    fn drain_until_ns(&self) -> u64 {
        let now = now_ns();
        now.saturating_add(self.shared.load.drain.0).min(self.shared.send_until_ns().max(now))
    }

    /// Notes when consumers that were released have caught up.
    fn look_at_backlog(&mut self) {
        let (Some(released), None) = (self.released_ns, self.caught_up_ns) else { return };
        let now = now_ns();
        let acknowledged = self.shared.acknowledged();
        let elapsed_s = now.saturating_sub(self.shared.start_ns()) as f64 / 1e9;
        // By offsets: what the logs no longer have is behind the consumers, too.
        let behind = acknowledged.saturating_sub(self.shared.passed(self.starts));
        if now > released && behind as f64 <= acknowledged as f64 / elapsed_s * CAUGHT_UP_S {
            self.caught_up_ns = Some(now);
        }
    }

    /// The ends of the logs: now, or when the reading of a topic began that is read as it is.
    fn log_ends(&self) -> Option<Vec<i64>> {
        match &self.fixed_ends {
            Some(ends) => Some(ends.clone()),
            None => self.cluster.end_offsets(self.spec.topic, self.spec.partitions).ok(),
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.outstanding.iter().any(|producer| producer.count() > 0)
    }

    /// Waits for reports, then for the consumers to reach the log's end, no longer than the plan allows, and than
    /// somebody who asked to stop would. Returns the end offsets.
    pub(super) fn drain(&mut self, parcels: &Receiver<Parcel>, sink: &mut dyn Sink) -> Option<Vec<i64>> {
        let deadline = now_ns().saturating_add(self.spec.step.load.drain.0);
        let reports_until = self.drain_until_ns();
        let mut hurried_until = u64::MAX;
        let mut over = |until: u64| {
            if hurried_until == u64::MAX && self.shared.is_cut_short() {
                hurried_until = now_ns() + STOP_DRAIN_NS;
            }
            now_ns() >= until.min(hurried_until)
        };
        while self.is_under_way() && !over(reports_until) {
            feed(parcels, sink, SHORT_TICK);
            self.listen(reports_until);
        }
        if self.is_under_way() {
            // The producers end first: see `catch_up`.
            return self.log_ends();
        }
        loop {
            let ends = self.log_ends();
            let reached = match &ends {
                Some(ends) => self.everything_received(ends),
                None => false,
            };
            self.look_at_backlog();
            if reached || over(deadline) {
                return ends;
            }
            feed(parcels, sink, TICK);
        }
    }

    /// Lets the consumers reach the log's end once the producers have ended, no longer than the plan allows, and than somebody who
    /// asked to stop would wait. Returns the end offsets.
    pub(super) fn catch_up(&self, parcels: &Receiver<Parcel>, sink: &mut dyn Sink) -> Option<Vec<i64>> {
        let ends = self.log_ends()?;
        let begun = now_ns();
        let patience_ns = || match self.shared.is_cut_short() {
            true => STOP_DRAIN_NS,
            false => self.shared.load.drain.0,
        };
        while self.shared.load.consumers > 0
            && !self.shared.has_reached(&ends)
            && now_ns() < begun.saturating_add(patience_ns())
        {
            feed(parcels, sink, TICK);
        }
        Some(ends)
    }

    /// True if everything was received. With acks=0 the log may still grow after the last report, so its growth is compared with
    /// what was sent.
    fn everything_received(&self, ends: &[i64]) -> bool {
        let growth: i64 = ends.iter().zip(self.starts).map(|(end, start)| end - start).sum();
        let appended = growth.unsigned_abs() >= self.shared.acknowledged();
        appended && (self.shared.load.consumers == 0 || self.shared.has_reached(ends))
    }

    /// The time that consumers that had to wait took to catch up.
    pub(super) fn drain_ns(&self) -> Option<u64> {
        self.caught_up_ns.zip(self.released_ns).map(|(caught_up, released)| caught_up - released)
    }
}

/// Passes on what the threads recorded, and gives them the emptied parts back.
fn feed(parcels: &Receiver<Parcel>, sink: &mut dyn Sink, wait: Duration) {
    match parcels.recv_timeout(wait) {
        Ok(parcel) => {
            pass_on(parcel, sink);
            while let Ok(parcel) = parcels.try_recv() {
                pass_on(parcel, sink);
            }
        }
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        Err(RecvTimeoutError::Timeout) => {}
    }
}

pub(super) fn pass_on(parcel: Parcel, sink: &mut dyn Sink) {
    sink.observe(Observation::Second(&parcel.part));
    parcel.give_back();
}
