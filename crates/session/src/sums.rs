//! Sums over blocks: counts, the broker's count, statistics, rates, the instrument's cost.

use super::checkpoint::Span;
use super::fold::per_s;
use super::readings::BlockReadings;
use plumb_load::BlockOutcome;
use plumb_model::document::StepResult;
use plumb_model::facts::ThreadUsage;
use plumb_model::observation::{
    ClientStatistics, Counts, ErrorCount, IntervalMethod, ThreadCpu, Throughput, measured_cpu_ns,
};
use plumb_stats::interval::{Spread, mean_interval};
use std::collections::{BTreeMap, BTreeSet};

/// Threads listed in the document for each step.
const THREADS_MOST: usize = 12;

pub(super) fn add_span(span: &mut Span, outcome: &BlockOutcome) {
    span.planned_ns += outcome.planned_ns;
    span.measured_ns += outcome.measured_ns;
    span.receiving_ns += outcome.receiving_ns.unwrap_or(0);
    span.received_bytes += outcome.received_bytes;
    span.received_messages += outcome.received_messages;
    span.acked_bytes += outcome.acked_bytes;
}

/// The rates of sending and receiving, with intervals over whole blocks.
pub(super) fn throughput(step: &StepResult, span: Span, level: f64) -> Throughput {
    let blocks = || step.blocks.iter().filter(|block| !block.cut_short);
    let interval = |rates: Vec<f64>| {
        mean_interval(&Spread { level, block_means_ns: &rates, batches: &[] })
            .filter(|interval| interval.method == IntervalMethod::Blocks)
    };
    let drains: Vec<f64> = blocks().filter_map(|block| block.drain_s).collect();
    Throughput {
        produced_per_s: step.achieved_per_s,
        produced_bytes_per_s: step.achieved_per_s.and_then(|_| per_s(span.acked_bytes, span.measured_ns)),
        produced_wire_bytes_per_s: step
            .achieved_per_s
            .zip(step.producer_statistics.wire_bytes_per_message())
            .map(|(per_s, bytes)| per_s * bytes),
        produced_interval: interval(blocks().filter_map(|block| block.achieved_per_s).collect()),
        received_per_s: per_s(span.received_messages, span.receiving_ns),
        received_bytes_per_s: per_s(span.received_bytes, span.receiving_ns),
        received_interval: interval(blocks().filter_map(|block| block.received_per_s).collect()),
        drain_s: (!drains.is_empty()).then(|| drains.iter().sum::<f64>() / drains.len() as f64),
    }
}

/// Adds what became of a block's messages; `first`: of the step's first block.
pub(super) fn add_counts(sum: &mut Counts, counts: &Counts, first: bool) {
    sum.intended += counts.intended;
    sum.sent += counts.sent;
    sum.acked += counts.acked;
    sum.failed += counts.failed;
    sum.unknown += counts.unknown;
    if let Some(messages) = counts.never_sent {
        sum.never_sent = Some(sum.never_sent.unwrap_or(0) + messages);
    }
    sum.received += counts.received;
    sum.lost += counts.lost;
    sum.removed = add(first, sum.removed, counts.removed);
    sum.duplicated += counts.duplicated;
    sum.reordered += counts.reordered;
}

pub(super) fn add_accounting(step: &mut StepResult, outcome: &BlockOutcome) {
    let first = step.blocks.is_empty();
    let (sum, block) = (&mut step.accounting, &outcome.accounting);
    sum.acked += block.acked;
    sum.unknown += block.unknown;
    sum.foreign += block.foreign;
    sum.corrupt += block.corrupt;
    sum.duplicated_in_warm_up += block.duplicated_in_warm_up;
    sum.offset_delta = add(first, sum.offset_delta, block.offset_delta);
    sum.missing = add(first, sum.missing, block.missing);
    sum.surplus = add(first, sum.surplus, block.surplus);
    sum.gaps = add(first, sum.gaps, block.gaps);
    sum.deleted = add(first, sum.deleted, block.deleted);
    // How much waits is a state, so the last block's counts; how much it grew by adds up.
    sum.unreplicated = block.unreplicated;
    sum.held_back = block.held_back;
    sum.unreplicated_growth = match (first, sum.unreplicated_growth, block.unreplicated_growth) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far + now),
        (false, ..) => None,
    };
    // One that disagrees is not outweighed.
    sum.agrees = match (first, sum.agrees, block.agrees) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far && now),
        (false, so_far, now) => so_far.filter(|agrees| !agrees).or(now.filter(|agrees| !agrees)),
    };
}

/// One block that could not be asked leaves the sum unknown.
fn add(first: bool, so_far: Option<u64>, now: Option<u64>) -> Option<u64> {
    match (first, so_far, now) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far + now),
        (false, ..) => None,
    }
}

/// Adds where a block's records went; `leaders` are those of its topic when it began.
pub(super) fn add_spread(step: &mut StepResult, outcome: &BlockOutcome, leaders: &[i32]) {
    let first = step.blocks.is_empty();
    let (sum, block) = (&mut step.spread, outcome.partition_records.as_ref());
    let before = if first { Some(Vec::new()) } else { sum.partition_records.take() };
    sum.partition_records = before.zip(block).map(|(mut sum, block)| {
        sum.resize(sum.len().max(block.len()), 0);
        sum.iter_mut().zip(block).for_each(|(sum, grown)| *sum += grown);
        sum
    });
    let before = if first { Some(BTreeMap::new()) } else { sum.leader_records.take() };
    let block = block.filter(|block| block.len() == leaders.len() && leaders.iter().all(|id| *id >= 0));
    let mut led: BTreeMap<i32, u32> = BTreeMap::new();
    sum.leader_records = before.zip(block).map(|(mut sum, block)| {
        for (leader, grown) in leaders.iter().zip(block) {
            *sum.entry(*leader).or_default() += grown;
            *led.entry(*leader).or_default() += 1;
        }
        sum
    });
    sum.led_most = sum.led_most.max(led.into_values().max());
}

pub(super) fn merge_statistics(sum: &mut ClientStatistics, block: &ClientStatistics) {
    sum.measured |= block.measured;
    let mean = |a: Option<f64>, n: u64, b: Option<f64>, m: u64| match (a, b) {
        (Some(a), Some(b)) => Some(weighted(a, n, b, m)),
        (a, b) => a.or(b),
    };
    let (n, m) = (sum.queue_samples, block.queue_samples);
    sum.queue_mean_ns = mean(sum.queue_mean_ns, n, block.queue_mean_ns, m);
    let (n, m) = (sum.outbuf_samples, block.outbuf_samples);
    sum.outbuf_mean_ns = mean(sum.outbuf_mean_ns, n, block.outbuf_mean_ns, m);
    let (n, m) = (sum.batches, block.batches);
    sum.batch_messages_mean = mean(sum.batch_messages_mean, n, block.batch_messages_mean, m);
    sum.batch_bytes_mean = mean(sum.batch_bytes_mean, n, block.batch_bytes_mean, m);
    sum.outbuf_samples += block.outbuf_samples;
    sum.batches += block.batches;
    sum.rtt_mean_ns = mean(sum.rtt_mean_ns, sum.rtt_samples, block.rtt_mean_ns, block.rtt_samples);
    sum.rtt_min_ns = [sum.rtt_min_ns, block.rtt_min_ns].into_iter().flatten().min();
    sum.queue_samples += block.queue_samples;
    sum.rtt_samples += block.rtt_samples;
    sum.throttle_max_ns = sum.throttle_max_ns.max(block.throttle_max_ns);
    sum.throttled_responses += block.throttled_responses;
    sum.reconnects += block.reconnects;
    sum.wakeups = [sum.wakeups, block.wakeups].into_iter().flatten().reduce(|all, more| all + more);
    sum.disconnects += block.disconnects;
    sum.timeouts += block.timeouts;
    sum.retries += block.retries;
    sum.rebalances += block.rebalances;
    sum.offset_commits =
        [sum.offset_commits, block.offset_commits].into_iter().flatten().reduce(|a, b| a + b);
    sum.windows_s = [sum.windows_s, block.windows_s].into_iter().flatten().reduce(|a, b| a + b);
    sum.out_of_range += block.out_of_range;
}

pub(super) fn add_errors(sum: &mut Vec<ErrorCount>, errors: &[ErrorCount]) {
    for error in errors {
        match sum.iter_mut().find(|known| known.origin == error.origin && known.code == error.code) {
            Some(known) => known.count += error.count,
            None => sum.push(error.clone()),
        }
    }
}

pub(super) fn add_instrument(
    step: &mut StepResult,
    watched: &BlockReadings,
    outcome: &BlockOutcome,
    span: Span,
) {
    let first = step.blocks.is_empty();
    let add = |so_far: Option<f64>, now: Option<f64>| match (first, so_far, now) {
        (true, _, now) => now,
        (false, Some(so_far), Some(now)) => Some(so_far + now),
        (false, ..) => None,
    };
    // Where nobody sends in the measured part, the work is what was received.
    let (messages, bytes) = match span.measured_ns {
        0 => (span.received_messages, span.received_bytes as f64),
        _ => (step.counts.acked, span.acked_bytes as f64),
    };
    let instrument = &mut step.instrument;
    let programs_ns = measured_cpu_ns(&outcome.programs);
    let cpu_ns = watched.own.as_ref().and_then(|own| own.cpu_ns).zip(programs_ns);
    let cpu_s = cpu_ns.map(|(own_ns, programs_ns)| (own_ns + programs_ns) as f64 / 1e9);
    instrument.cpu_s = add(instrument.cpu_s, cpu_s);
    instrument.broker_cpu_s = add(instrument.broker_cpu_s, watched.broker_cpu_s);
    let cpu_s = instrument.cpu_s.filter(|_| messages > 0);
    instrument.cpu_s_per_million_messages = cpu_s.map(|cpu_s| cpu_s * 1e6 / messages as f64);
    instrument.cpu_s_per_gb = cpu_s.map(|cpu_s| cpu_s * 1e9 / bytes);
    instrument.queue_full_waits += outcome.queue_full_waits;
    if let Some(own) = &watched.own {
        // The busiest of any block: an average would hide the block in which a thread was the limit.
        let mut threads: Vec<ThreadCpu> =
            own.threads.iter().filter_map(|t| thread(t, own.elapsed_ns)).collect();
        threads.append(&mut instrument.threads);
        threads.sort_by(|a, b| b.share.total_cmp(&a.share));
        let mut seen = BTreeSet::new();
        threads.retain(|thread| seen.insert(thread.thread.clone()));
        threads.truncate(THREADS_MOST);
        instrument.threads = threads;
    }
}

/// Mean of two figures by their weights; the second alone when the first stands for nothing yet.
fn weighted(a: f64, weight_a: u64, b: f64, weight_b: u64) -> f64 {
    let (weight_a, weight_b) = (weight_a as f64, weight_b as f64);
    if weight_a + weight_b == 0.0 { b } else { (a * weight_a + b * weight_b) / (weight_a + weight_b) }
}

fn thread(usage: &ThreadUsage, elapsed_ns: u64) -> Option<ThreadCpu> {
    let ticks = usage.user_ns.zip(usage.system_ns).map(|(user, system)| user + system);
    let cpu_ns = usage.on_cpu_ns.or(ticks)?;
    (cpu_ns > 0 && elapsed_ns > 0).then(|| ThreadCpu {
        thread: usage.name.clone(),
        cpu_s: cpu_ns as f64 / 1e9,
        share: cpu_ns as f64 / elapsed_ns as f64,
        run_delay_s: usage.run_delay_ns.map(|ns| ns as f64 / 1e9),
    })
}
