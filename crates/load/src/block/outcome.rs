//! The outcome of a block, once its threads have ended.

use crate::acknowledged::Acknowledged;
use crate::client_outcome::Merged;
use crate::consume::Appends;
use crate::produce::{NEVER_SENT, UNDER_WAY};
use crate::remote::{LostWorker, WorkerOutcome};
use crate::shared::Shared;
use crate::unread::{LogRead, Unread, unread};
use crate::wire::LeaderEnds;
use plumb_model::observation::{
    Accounting, AppendTimes, ClientStatistics, Counts, ErrorCount, ProgramAccount, ReplicationLag,
};
use plumb_model::plan::{LoadPlan, Mode, Properties, Schedule};

/// The outcome of a block. Latencies went to the sink while it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockOutcome {
    /// The user stopped it early.
    pub stopped: bool,
    /// The measured messages by their fate.
    pub counts: Counts,
    /// The broker's word, over the whole block.
    pub accounting: Accounting,
    /// The growth of each partition's log over the whole block; none when it could not be asked.
    pub partition_records: Option<Vec<u64>>,
    /// The begin of its seconds, with the first intended send: nanoseconds since the epoch.
    pub seconds_from_epoch_ns: i64,
    /// The time from there to its measured part; none where that never began.
    pub measured_after_ns: Option<u64>,
    /// The time from the first measured due time to the last measured acknowledgement; no shorter than the schedule.
    pub measured_ns: u64,
    /// From the first measured due time to the last measured acknowledgement; none where nothing was acknowledged, and where what
    /// is sent is not what is measured.
    pub acknowledged_within_ns: Option<u64>,
    /// The schedule's own length.
    pub planned_ns: u64,
    /// The producers' statistics.
    pub producer_statistics: ClientStatistics,
    /// The consumers' statistics.
    pub consumer_statistics: ClientStatistics,
    /// Bytes of the values of the measured messages acknowledged.
    pub acked_bytes: u64,
    /// Messages received within `receiving_ns`, repeats included; with those of a backlog that was drained.
    pub received_messages: u64,
    /// Bytes of their values.
    pub received_bytes: u64,
    /// The time from the first intended send to the last measured reception, and at least as long as the schedule; from their release where
    /// consumers had to wait.
    pub receiving_ns: Option<u64>,
    /// The time from the consumers' release until they had caught up with a backlog.
    pub drain_ns: Option<u64>,
    /// The broker's append times, where the topic keeps them.
    pub append_times: Option<AppendTimes>,
    /// The lag of the followers in the measured part; none with one replica, and where it could not be asked.
    pub replication_lag: Option<ReplicationLag>,
    /// Mean over the received messages of the longest time for which the consumer may have been busy with older ones.
    pub catch_up_at_most_ns: Option<f64>,
    /// Times that a send waited for room in the client's queue.
    pub queue_full_waits: u64,
    /// Errors by code.
    pub errors: Vec<ErrorCount>,
    /// The producers' resolved properties.
    pub producer_properties: Properties,
    /// The consumers' resolved properties.
    pub consumer_properties: Properties,
    /// The programs that were clients; empty where all were in this process.
    pub programs: Vec<ProgramAccount>,
    /// The workers whose clients they were; empty where they were in this process.
    pub workers: Vec<WorkerOutcome>,
    /// The worker that was lost: the block ended with it, and what became of its messages is not known.
    pub lost_worker: Option<LostWorker>,
}

/// The ends of the partitions' logs, before and after a block.
#[derive(Debug, Clone, Default)]
pub(super) struct LogEnds {
    /// The offsets that consumers could read from: the high watermarks, or the begin of the log of a topic that is read as it is.
    pub(super) readable_from: Vec<i64>,
    /// The same at the end; none when it could not be asked.
    pub(super) readable_to: Option<Vec<i64>>,
    /// The leaders' own word before the block; none when they could not be asked.
    pub(super) leaders_from: Option<LeaderEnds>,
    /// The same at the end.
    pub(super) leaders_to: Option<LeaderEnds>,
    /// The first offsets that were there before the block; none when they could not be asked.
    pub(super) starts_from: Option<Vec<i64>>,
    /// The same at the end.
    pub(super) starts_to: Option<Vec<i64>>,
    /// Older records of a key may be removed.
    pub(super) compacted: bool,
}

/// The ends of the logs before and after a block.
struct Growth<'e> {
    from: &'e [i64],
    to: &'e [i64],
    /// The leaders' own word; else it is the high watermarks.
    of_leaders: bool,
}

impl LogEnds {
    /// The growth of the logs: by the leaders' own ends, or else by the high watermarks.
    fn grew(&self) -> Option<Growth<'_>> {
        match self.leaders_from.as_ref().zip(self.leaders_to.as_ref()) {
            Some((from, to)) => Some(Growth { from: &from.appended, to: &to.appended, of_leaders: true }),
            None => {
                let to = self.readable_to.as_ref()?;
                Some(Growth { from: &self.readable_from, to, of_leaders: false })
            }
        }
    }

    /// The logs as consumers read them, which came up to these positions; none where their ends or starts could not be asked.
    fn read_to(&self, position: impl Fn(usize) -> i64) -> Option<Vec<LogRead>> {
        let Growth { from, to, .. } = self.grew()?;
        let bounds = from.iter().zip(to).zip(self.starts_to.as_ref()?).enumerate();
        let log = |(at, ((from, to), start)): (usize, ((&i64, &i64), &i64))| {
            let compacted = self.compacted;
            LogRead { from: *from, to: *to, start: *start, position: position(at), compacted }
        };
        Some(bounds.map(log).collect())
    }

    /// Offsets by which the logs' beginnings moved.
    fn deleted(&self) -> Option<u64> {
        let moved = between(self.starts_from.as_ref()?, self.starts_to.as_ref()?);
        Some(moved.max(0).unsigned_abs())
    }

    /// Records appended to each partition within the block.
    fn by_partition(&self) -> Option<Vec<u64>> {
        let Growth { from, to, .. } = self.grew()?;
        Some(from.iter().zip(to).map(|(from, to)| (to - from).max(0).unsigned_abs()).collect())
    }

    /// Records that no consumer could read yet at the end, and at the beginning.
    fn unreplicated(&self) -> Option<(u64, u64)> {
        let now = self.leaders_to.as_ref()?.unreplicated();
        Some((now, self.leaders_from.as_ref()?.unreplicated()))
    }
}

fn between(from: &[i64], to: &[i64]) -> i64 {
    to.iter().zip(from).map(|(to, from)| to - from).sum()
}

/// Of messages that a program told nothing of, how many at least are in no log: what a log has beyond the acknowledged may be of them. None
/// where none is known of.
fn never_sent(untold: u64, accounting: &Accounting) -> Option<u64> {
    let beyond = accounting.offset_delta?.saturating_sub(accounting.acked);
    Some(untold.saturating_sub(beyond)).filter(|messages| *messages > 0)
}

/// The outcome of a block: the clients' outcomes beside the growth of the logs and the block's own clock.
/// Each partition was tried by so many `probes` in all.
pub(super) fn outcome(
    shared: &Shared<'_>,
    ends: &LogEnds,
    mut merged: Merged,
    probes: usize,
) -> BlockOutcome {
    let mut counts = std::mem::take(&mut merged.counts);
    let mut accounting = Accounting {
        acked: merged.acked_all,
        unknown: merged.unknown_all(probes as u64),
        foreign: merged.foreign,
        corrupt: merged.corrupt,
        duplicated_in_warm_up: merged.warm_up_arrivals.duplicated(),
        ..Accounting::default()
    };
    let logs = ends.read_to(|at| merged.position(at)).filter(|_| shared.load.consumers > 0);
    let unread = logs.map(|logs| unread(&mut merged.acknowledged, &mut merged.read, &logs));
    take_unread(&mut counts, &mut accounting, unread, TakenFrom::of_block(shared));
    if shared.takes_any_run() {
        // Nothing was sent: the log's own length is what must come out of it.
        (counts.received, accounting.unknown) = (merged.records, 0);
        accounting.acked = merged.records.saturating_sub(accounting.foreign);
        settle(&mut accounting, ends, OfBlock::Read { removed: counts.removed.unwrap_or(0) });
        accounting.acked = 0;
    } else {
        settle(&mut accounting, ends, OfBlock::Sent);
        hold(&mut accounting, ends, &mut merged.acknowledged);
        // Acknowledged, in the leader's log and not to be read yet: that is no loss, also where followers copied it after the
        // consumers had been told how far to read. Which messages wait is not known one by one, so as many of the missing as
        // wait are taken to be those.
        let ends = ends.readable_to.as_ref().zip(ends.leaders_to.as_ref());
        let not_readable = |(readable, leaders): (&Vec<i64>, &LeaderEnds)| {
            merged.acknowledged.not_readable(readable, &leaders.appended)
        };
        let waited = ends.map_or(0, not_readable);
        counts.lost -= counts.lost.min(accounting.unreplicated.unwrap_or(0).max(waited));
        counts.never_sent = never_sent(merged.untold, &accounting);
        merged.errors.retell("produce", UNDER_WAY.code, NEVER_SENT, counts.never_sent.unwrap_or(0));
    }
    let planned_ns = planned_ns(shared.load, merged.first_due_ns, merged.last_due_ns, counts.intended);
    // From the first intended send: what a stall held back and then arrives at once has not come in no time.
    let (receiving_from, receiving_at_least) = match shared.load.mode {
        Mode::Consume | Mode::Backlog(_) => (Some(shared.measured_from_ns()), 0),
        Mode::Mixed | Mode::Produce => (merged.first_due_ns, planned_ns),
    };
    let receiving = merged.last_received_ns.zip(receiving_from);
    let receiving_ns = receiving.map(|(last, from)| last.saturating_sub(from).max(receiving_at_least));
    let sending_counts = shared.sending_is_measured();
    let acking = merged.last_ack_ns.zip(merged.first_due_ns).filter(|_| sending_counts);
    let acknowledged_within_ns = acking.map(|(ack, due)| ack.saturating_sub(due));
    let consumer_statistics =
        ClientStatistics { rebalances: merged.rebalances, ..merged.consumer_statistics.summary() };
    BlockOutcome {
        stopped: shared.is_cut_short(),
        counts,
        accounting,
        partition_records: ends.by_partition(),
        seconds_from_epoch_ns: shared.epoch_ns(shared.start_ns()),
        measured_after_ns: shared.measured_after_ns(),
        // What fills a topic to be read is no throughput.
        measured_ns: if sending_counts { planned_ns.max(acknowledged_within_ns.unwrap_or(0)) } else { 0 },
        acknowledged_within_ns,
        planned_ns,
        producer_statistics: merged.producer_statistics.summary(),
        consumer_statistics,
        acked_bytes: merged.acked_bytes,
        received_messages: merged.records,
        received_bytes: merged.received_bytes,
        receiving_ns,
        drain_ns: None,
        append_times: append_times(&merged.appends),
        replication_lag: None,
        catch_up_at_most_ns: (counts.received > 0)
            .then(|| merged.catch_up_at_most_sum_ns / counts.received as f64),
        queue_full_waits: merged.queue_full_waits,
        errors: merged.errors.list(),
        producer_properties: Properties::new(),
        consumer_properties: Properties::new(),
        programs: Vec::new(),
        workers: Vec::new(),
        lost_worker: shared.lost_worker(),
    }
}

/// The records that consumers were to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakenFrom {
    /// The records of a topic that is read as it is.
    TopicAsItIs,
    /// The records of the backlog and those sent while it was drained.
    Backlog,
    /// The measured records.
    Measured,
}

impl TakenFrom {
    fn of_block(shared: &Shared<'_>) -> Self {
        match shared.load.mode {
            _ if shared.takes_any_run() => TakenFrom::TopicAsItIs,
            Mode::Backlog(_) => TakenFrom::Backlog,
            Mode::Mixed | Mode::Produce | Mode::Consume => TakenFrom::Measured,
        }
    }
}

/// Takes from what seems lost what was deleted or compacted away before it was read. Of a topic that is read as it is nobody knows
/// what is lost, and all that was deleted meanwhile was removed; of a backlog, which a warm-up builds, all that was sent counts.
fn take_unread(counts: &mut Counts, accounting: &mut Accounting, unread: Option<Unread>, from: TakenFrom) {
    let Some(unread) = unread else { return };
    let removed_and_measured = unread.removed.min(counts.lost);
    let removed = match from {
        TakenFrom::TopicAsItIs => unread.deleted,
        TakenFrom::Backlog => unread.removed_of_all,
        TakenFrom::Measured => removed_and_measured,
    };
    counts.removed = Some(removed);
    counts.lost -= removed_and_measured;
    accounting.gaps =
        Some(if from == TakenFrom::TopicAsItIs { unread.gaps.saturating_sub(removed) } else { unread.gaps });
}

/// The records that the log's growth is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfBlock {
    /// The records that the block sent.
    Sent,
    /// All that was in the log before, less what was removed before it was read.
    Read { removed: u64 },
}

/// Holds the log's growth against what was acknowledged. A high watermark that grew by too little says nothing: followers may be
/// behind.
fn settle(accounting: &mut Accounting, ends: &LogEnds, of_block: OfBlock) {
    accounting.held_back = ends.leaders_to.as_ref().and_then(LeaderEnds::held_back);
    let grew = ends.grew();
    let of_leaders = grew.as_ref().is_some_and(|grew| grew.of_leaders);
    let growth = grew.map(|grew| between(grew.from, grew.to));
    accounting.offset_delta = growth.and_then(|growth| u64::try_from(growth).ok());
    accounting.agrees = accounting.offset_delta.and_then(|delta| {
        // Where others write to the topic meanwhile, their records that consumers were given are not quite those between the two
        // moments at which the logs were asked: then only too little is told by the sum.
        let others = accounting.foreign > 0 && of_block == OfBlock::Sent;
        let ours = if others { delta } else { delta.saturating_sub(accounting.foreign) };
        let enough = accounting.acked <= ours;
        let removed = match of_block {
            OfBlock::Sent => 0,
            OfBlock::Read { removed } => removed,
        };
        // At a gap there is no record that anybody could have sent or been given.
        // Nor is what an open transaction holds back.
        let held_back = accounting.held_back.unwrap_or(0);
        let most = accounting.acked + accounting.unknown + accounting.gaps.unwrap_or(0) + removed + held_back;
        (enough || of_leaders).then_some(enough && (others || ours <= most))
    });
    let unreplicated = ends.unreplicated();
    accounting.deleted = ends.deleted();
    accounting.unreplicated = unreplicated.map(|(now, _)| now);
    accounting.unreplicated_growth =
        unreplicated.map(|(now, before)| now.cast_signed() - before.cast_signed());
}

/// Holds each partition's log against the offsets that were acknowledged in it: what is missing in one and too much in another
/// does not cancel out. Where the high watermarks alone are known, only an offset that two records have proves a loss.
fn hold(accounting: &mut Accounting, ends: &LogEnds, acknowledged: &mut Acknowledged) {
    let Some(Growth { from, to, of_leaders }) = ends.grew() else { return };
    let held = acknowledged.held_against(from, to);
    let certain = if of_leaders { held.missing } else { held.repeated };
    // What followers have not copied yet may be among what seems to be missing.
    let known = of_leaders || held.missing == held.repeated;
    accounting.missing = (known || certain > 0).then_some(certain);
    accounting.surplus = known.then_some(held.surplus);
    let others = accounting.foreign > 0;
    let explained = accounting.unknown + accounting.gaps.unwrap_or(0) + accounting.held_back.unwrap_or(0);
    if certain > 0 || (known && !others && held.surplus > explained) {
        accounting.agrees = Some(false);
    }
}

/// Length of the schedule. An even one has the length that its rate says; of any other, the last gap is taken to be as
/// long as the mean of those before.
fn planned_ns(load: &LoadPlan, first_due: Option<u64>, last_due: Option<u64>, intended: u64) -> u64 {
    let gap_ns = load.rate_per_s.map_or(0.0, |rate| 1e9 / rate);
    if matches!(load.schedule, Schedule::Constant | Schedule::Burst { .. }) {
        return (intended as f64 * gap_ns).round() as u64;
    }
    let Some(span) = first_due.zip(last_due).map(|(first, last)| last.saturating_sub(first)) else {
        return 0;
    };
    match intended {
        _ if load.saturating() => span,
        0 => 0,
        1 => gap_ns.round() as u64,
        n => (span as f64 * n as f64 / (n - 1) as f64).round() as u64,
    }
}

fn append_times(appends: &Appends) -> Option<AppendTimes> {
    Some(AppendTimes {
        samples: appends.samples,
        floor_minus_sent_mean_ns: (appends.samples > 0).then(|| appends.sum_ns / appends.samples as f64)?,
        clock_offset_low_ns: appends.offset_low_ns?,
        clock_offset_high_ns: appends.offset_high_ns?,
    })
}

#[cfg(test)]
mod tests;
