//! Paths that did not keep up: the rate reached, and backlogs that grow.

use super::{broker_unreachable, noisy_host};
use crate::queue::{SECONDS_MIN, TREND_P};
use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::{Setup, by_block};
use plumb_model::document::BlockResult;
use plumb_model::figure::{percent, percents, rates, time, whole};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::observation::SecondRow;
use plumb_stats::median::median;
use plumb_stats::trend::trend;
use std::cmp::Ordering;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "saturated",
        summary: "The path could not keep up with the load: latency then measures the length of the run.",
        page: include_str!("../../../../docs/findings/saturated.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Supported,
        because: "the rate fell short or a backlog grew, by a test on the seconds; which part of the path is too slow is not told",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "ask for half of the rate that was reached",
            setting: None,
            observe: "the growth of the backlog",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(saturation),
};

/// Least share of the asked rate that counts as reached (from the literature on benchmarks that mislead; the rate of a
/// constant schedule is exact, so half a percent is not chance).
const ACHIEVED_MIN: f64 = 0.995;

/// Fewest blocks of which the majority can speak (ours).
const BLOCKS_MIN: usize = 3;

/// The last messages end one latency after the schedule does; so many of the least latencies seen are allowed for in each block
/// (ours). The least, because the mean of a path that cannot keep up is as long as its queue: allowing for it would excuse the
/// slower path more.
const END_LATENCIES: f64 = 1.5;

/// Last part of a block in which one stall is the end's and not the load's (ours), and fewest seconds of it.
const END_PART: f64 = 0.1;
const END_SECONDS_MIN: usize = 2;

/// A block whose end is so many times later than three quarters of its messages ended late at once (ours): where a queue grows, that many
/// are up to three quarters as late as the end, in a queue that grows from the middle on half as late.
const LATE_AT_ONCE: f64 = 4.0;

/// A block that ended no later than this was in time (ours, as long as the least growth of a backlog): in a block of a second or two one message at
/// its end makes more of its rate.
const LATE_MIN_S: f64 = BACKLOG_GROWTH_MIN_S;

/// Share of the rate below which no stall at its end is a block's excuse where every block has it (ours).
const CLEARLY_SHORT: f64 = 0.9;

/// Share by which the length of a random schedule of n messages may stray: so many times 1/sqrt(n) (three sigma).
const RANDOM_SIGMAS: f64 = 3.0;

/// A backlog that grew by this much load has outgrown what a second's boundary can hold (ours), in seconds of load.
const BACKLOG_GROWTH_MIN_S: f64 = 0.05;

/// Fewest messages of growth (ours): below it, one batch more or less at a second's boundary.
const BACKLOG_GROWTH_MIN: f64 = 10.0;

fn saturation(setup: &Setup) -> Option<Finding> {
    // There, a path that does not keep up is an answer.
    if setup.shows_queue() {
        return None;
    }
    // A client that is a program of its own is a part of the path of which nobody tells how far it came.
    let who = if setup.programs().next().is_some() { "the path, or a client program," } else { "the path" };
    let slow = format!(
        "{who} did not keep up with the load: its latency depends on how long the run lasts and means nothing"
    );
    // Who waits for a processor is late whatever the path: that comes first, and the rest may be its consequence. A block that
    // served its load is not asked: its processors are not why another one fell short.
    let waits = noisy_host::waits(setup, |block| {
        setup.result.asked_per_s.is_none_or(|asked| !block_kept_up(setup, block, asked))
    });
    let unreachable = broker_unreachable::unreachable(setup);
    let claim = match (unreachable, waits.last()) {
        (Some(broker), _) => format!("broker {broker} took no connections any more, and {slow}"),
        (None, None) => slow,
        (None, Some(longest)) => format!(
            "threads of this host waited for a processor in {} of the time of {}, and {slow}",
            percent(longest.share),
            setup.block_words(longest.block)
        ),
    };
    let mut finding = about_step(RULE.row.id, Severity::Invalid, setup.name(), claim);
    if unreachable.is_none() && !waits.is_empty() {
        finding = finding
            .advise("Stop other work on this host first (see noisy-host): the path may be fast enough.");
    }
    // A load without a rate means to saturate.
    let asked = setup.result.asked_per_s?;
    if let Some(achieved) = shortfall(setup, asked) {
        let [share, least] = percents(achieved / asked, ACHIEVED_MIN);
        let [achieved, asked] = rates(achieved, asked);
        finding = finding.seen_against(
            "achieved / asked",
            format!("{achieved} of {asked} ({share})"),
            format!("at least {least}"),
        );
    }
    let counts = &setup.result.counts;
    // Messages whose outcome nobody knows are no excuse but for the few that a broken connection leaves.
    let few_unknown = counts.unknown.min(((1.0 - ACHIEVED_MIN) * counts.sent as f64) as u64);
    let backlogs = [
        Backlog {
            what: "sent and not yet acknowledged",
            net: |row| row.sent as f64 - row.acked as f64,
            never: counts.failed.saturating_add(few_unknown),
        },
        Backlog {
            what: "acknowledged and not yet received",
            net: |row| row.acked as f64 - row.received as f64,
            // What an open transaction holds back is another rule's, and no slowness.
            never: counts
                .lost
                .saturating_add(counts.removed.unwrap_or(0))
                .saturating_add(setup.result.accounting.held_back.unwrap_or(0)),
        },
    ];
    // Where the plan has a backlog built, what is acknowledged waits to be received by plan.
    let received = if setup.consumes() && !setup.drains_a_backlog() { backlogs.len() } else { 1 };
    for backlog in &backlogs[..received] {
        if let Some(Growth { early, late }) = growing_backlog(setup, backlog, asked) {
            finding = finding.seen_against(
                backlog.what,
                format!("{} messages in the last third of a block", whole(late)),
                format!("{}, as in the first third", whole(early)),
            );
        }
    }
    if let Some(Growth { early, late }) = growing_slip(setup) {
        finding = finding.seen_against(
            "schedule slip",
            format!("{} in the last third of a block", time(late)),
            format!("{}, as in the first third", time(early)),
        );
    }
    if finding.evidence.is_empty() {
        return None;
    }
    if setup.result.instrument.queue_full_waits > 0 {
        finding = finding.seen_against(
            "sends that waited for a full queue",
            setup.result.instrument.queue_full_waits.to_string(),
            "0",
        );
    }
    Some(
        finding
            .advise("Use the achieved rate as a throughput figure, and ask for less to measure latency.")
            .advise(
                "Raise what bounds it (partitions, in-flight requests, batch size, clients) and run again.",
            ),
    )
}

/// The rate reached, if it is short of what was asked by more than the end of the blocks explains.
fn shortfall(setup: &Setup, asked: f64) -> Option<f64> {
    let (result, counts) = (setup.result, &setup.result.counts);
    let acked = result.achieved_per_s?;
    if most_blocks_kept_up(setup, asked) {
        return None;
    }
    if !(asked > 0.0 && acked > 0.0) || counts.acked == 0 {
        return None;
    }
    // Messages that were refused in time are another rule's; those that waited until their time was up, and those of which
    // nobody knows, were not served.
    let handled = counts.acked as f64 + counts.failed.saturating_sub(timed_out(setup)) as f64;
    let achieved = acked * handled / counts.acked as f64;
    let late_s = handled / achieved - handled / asked;
    let allowed_s = (END_LATENCIES * least_latency_s(setup)) * setup.blocks() + stray_s(setup, asked);
    let short = achieved < ACHIEVED_MIN * asked && late_s > allowed_s;
    (short && !kept_up_until_the_end(setup, asked)).then_some(acked)
}

/// Failed messages that waited in the client until their time was up.
fn timed_out(setup: &Setup) -> u64 {
    let errors = setup.result.errors.iter().filter(|error| error.origin == "produce");
    let letters = |code: &str| code.chars().filter(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    let waited = errors.filter(|error| letters(&error.code).contains("timedout"));
    waited.fold(0, |sum, error| sum.saturating_add(error.count))
}

/// The time by which a random schedule may be longer by chance, in seconds.
fn stray_s(setup: &Setup, asked: f64) -> f64 {
    if setup.is_random() { RANDOM_SIGMAS * (setup.result.counts.sent as f64).sqrt() / asked } else { 0.0 }
}

/// The acknowledge latency of the fastest second, or else the least of all.
fn least_latency_s(setup: &Setup) -> f64 {
    let measured = setup.result.series.iter().filter(|row| !row.warm_up && row.sent > 0);
    let levels = measured.filter_map(|row| {
        let second = &row.acknowledge;
        second.p50_ns.map(|p50| p50 as f64).or(second.mean_ns)
    });
    let least = levels.min_by(f64::total_cmp).or(setup.result.latency.acknowledge.min_ns.map(|ns| ns as f64));
    least.unwrap_or(0.0) / 1e9
}

/// Messages of one second.
struct Sends {
    sent: u64,
    acked: u64,
}

/// True if the blocks, too few to outvote one of them, served their load up to their last seconds: one stall there is no path
/// that cannot keep up. Of a block of a few seconds its latencies tell.
fn kept_up_until_the_end(setup: &Setup, asked: f64) -> bool {
    if !setup.holds_its_rate() || setup.result.blocks.len() >= BLOCKS_MIN {
        return false;
    }
    let under_way = asked * (END_LATENCIES * least_latency_s(setup) + stray_s(setup, asked)) + 1.0;
    let blocks =
        by_block(setup.result, |row| (!row.warm_up).then_some(Sends { sent: row.sent, acked: row.acked }));
    let ended_late_at_once = |number: u32| {
        let mut of_it = setup.result.blocks.iter().filter(|block| block.block == number);
        of_it.any(|block| ended_late_at_once(block, asked))
    };
    !blocks.is_empty()
        && blocks.into_iter().all(|(number, rows)| {
            let last = rows.iter().rfind(|row| row.value.sent > 0).map(|row| row.second);
            // The first second may begin in the warm-up, and the last is cut short.
            let first = rows.first().map(|row| row.second.saturating_add(1));
            let (Some(first), Some(last)) = (first, last) else { return false };
            let seconds = last.saturating_sub(first) as usize;
            let end = END_SECONDS_MIN.max((END_PART * seconds as f64).ceil() as usize);
            if seconds < SECONDS_MIN + end {
                return ended_late_at_once(number);
            }
            let before = first..last - end as u32;
            let in_time = rows.iter().filter(|row| before.contains(&row.second));
            let acked: f64 = in_time.map(|row| row.value.acked as f64).sum();
            acked + under_way >= ACHIEVED_MIN * asked * before.len() as f64
        })
}

/// A path that cannot keep up falls short in every block; a stall at the end of one short block is no shortfall.
fn most_blocks_kept_up(setup: &Setup, asked: f64) -> bool {
    let blocks = &setup.result.blocks;
    let clearly_short = |block: &BlockResult| {
        late_end(block, asked).is_some_and(|(achieved, _)| achieved < CLEARLY_SHORT * asked)
    };
    if blocks.iter().all(clearly_short) {
        return false;
    }
    let good = blocks.iter().filter(|block| block_kept_up(setup, block, asked)).count();
    blocks.len() >= BLOCKS_MIN && 2 * good > blocks.len()
}

/// True for a block that reached its rate, or ended no later than messages of its first half had been late already: where a queue
/// grows, the last messages are later than all before them. Or one of a few seconds that ended late at once.
fn block_kept_up(setup: &Setup, block: &BlockResult, asked: f64) -> bool {
    let Some((achieved, late_s)) = late_end(block, asked) else { return false };
    achieved >= ACHIEVED_MIN * asked
        || late_s <= END_LATENCIES * early_latency_s(setup, block)
        || is_of_a_few_seconds(setup, block) && ended_late_at_once(block, asked)
}

/// The rate that a block reached, and how much later than its schedule the last message was acknowledged, in seconds.
fn late_end(block: &BlockResult, asked: f64) -> Option<(f64, f64)> {
    let achieved = block.achieved_per_s.filter(|achieved| *achieved > 0.0)?;
    let acked = block.counts.acked as f64;
    Some((achieved, acked / achieved - acked / asked))
}

/// True if the end of a block was hardly late, or late and three quarters of its messages were not: a last message that came late, or a stall at the end,
/// makes a short block's rate small though the path served its load. All messages have to have been served, and the end is at most as late as
/// a long block's last part is long.
fn ended_late_at_once(block: &BlockResult, asked: f64) -> bool {
    let Some((_, late_s)) = late_end(block, asked) else { return false };
    let most_ns = block.acknowledge.p75_ns.or(block.acknowledge.p50_ns);
    let at_once = most_ns.is_some_and(|ns| late_s > LATE_AT_ONCE * ns as f64 / 1e9);
    let served = block.counts.acked as f64 >= ACHIEVED_MIN * block.counts.sent as f64;
    let is_short = late_s <= END_PART * block.counts.acked as f64 / asked;
    served && is_short && (at_once || late_s <= LATE_MIN_S)
}

/// True if too few seconds of a block were measured for its backlog to be seen to grow.
fn is_of_a_few_seconds(setup: &Setup, block: &BlockResult) -> bool {
    let of_it = |row: &&SecondRow| row.block == block.block && !row.warm_up && row.sent > 0;
    setup.result.series.iter().filter(of_it).count() < SECONDS_MIN + END_SECONDS_MIN
}

/// The longest acknowledge latency in the first half of a block's measured seconds, the last of them left out where there is another.
fn early_latency_s(setup: &Setup, block: &BlockResult) -> f64 {
    let rows =
        setup.result.series.iter().filter(|row| row.block == block.block && !row.warm_up && row.sent > 0);
    let latencies: Vec<Option<u64>> = rows.map(|row| row.acknowledge.max_ns).collect();
    let early = &latencies[..latencies.len() / 2];
    early.iter().flatten().max().map_or(0.0, |ns| *ns as f64 / 1e9)
}

/// The messages of one second that change a backlog.
struct Flow {
    sent: u64,
    /// Messages that came in less those that went out.
    net: f64,
}

/// Messages between two places.
struct Backlog {
    what: &'static str,
    /// In a second: messages that came in less those that went out.
    net: fn(&SecondRow) -> f64,
    /// Messages of the step that never go out, so that they are no sign of slowness.
    never: u64,
}

/// Medians of a series that grows.
#[derive(Debug, PartialEq)]
struct Growth {
    /// Of its first third.
    early: f64,
    /// Of its last third.
    late: f64,
}

/// The larger of two growths.
fn by_size(a: &Growth, b: &Growth) -> Ordering {
    (a.late - a.early).total_cmp(&(b.late - b.early))
}

/// The backlog of the block where it grew most, in messages.
fn growing_backlog(setup: &Setup, backlog: &Backlog, asked: f64) -> Option<Growth> {
    if !setup.holds_its_rate() {
        return None;
    }
    let least = BACKLOG_GROWTH_MIN.max(BACKLOG_GROWTH_MIN_S * asked) + backlog.never as f64;
    let blocks = by_block(setup.result, |row| Some(Flow { sent: row.sent, net: (backlog.net)(row) }));
    let grown = blocks.into_values().filter_map(|rows| {
        // Seconds after the last send only drain, and the one with the last send is cut short.
        let last = rows.iter().rfind(|row| row.value.sent > 0)?.second;
        let mut level = 0.0;
        let seconds = rows.chunk_by(|a, b| a.second == b.second).take_while(|rows| rows[0].second < last);
        let levels = seconds.map(|rows| {
            level += rows.iter().map(|row| row.value.net).sum::<f64>();
            level
        });
        growing(&levels.collect::<Vec<f64>>(), least)
    });
    grown.max_by(by_size)
}

/// The slip of the block where it grew most, in nanoseconds.
fn growing_slip(setup: &Setup) -> Option<Growth> {
    let measured = by_block(setup.result, |row| row.slip_max_ns.filter(|_| !row.warm_up && row.sent > 0));
    let grown = measured.into_values().filter_map(|rows| {
        let slips: Vec<f64> = rows.iter().map(|row| row.value as f64).collect();
        growing(&slips, BACKLOG_GROWTH_MIN_S * 1e9)
    });
    grown.max_by(by_size)
}

/// Medians of the first and of the last third, if the series rises by at least `least` and not by chance.
fn growing(levels: &[f64], least: f64) -> Option<Growth> {
    if levels.len() < SECONDS_MIN {
        return None;
    }
    let third = levels.len() / 3;
    let early = median(levels[..third].iter().copied())?;
    let late = median(levels[levels.len() - third..].iter().copied())?;
    let rising = trend(levels).is_some_and(|trend| trend.s > 0 && trend.p < TREND_P);
    (rising && late - early >= least).then_some(Growth { early, late })
}

#[cfg(test)]
mod tests;
