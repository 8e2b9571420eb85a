//! Whether the path kept up: the rate reached, and backlogs that grow.

use super::{broker_unreachable, noisy_host};
use crate::figure::{percent, percents, rates, time};
use crate::registry::{Family, FlipRow, Row};
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::{Setup, by_block};
use plumb_model::document::BlockResult;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::observation::SecondRow;
use plumb_stats::median::median;
use plumb_stats::trend::trend;

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
    check,
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

/// Share by which the length of a random schedule of n messages may stray: so many times 1/sqrt(n) (three sigma).
const RANDOM_SIGMAS: f64 = 3.0;

/// A backlog that grew by this much load has outgrown what a second's boundary can hold (ours), in seconds of load.
const BACKLOG_GROWTH_MIN_S: f64 = 0.05;

/// Fewest messages of growth (ours): below it, one batch more or less at a second's boundary.
const BACKLOG_GROWTH_MIN: f64 = 10.0;

/// Fewest seconds of a block to tell a growth from chance (ours).
const SECONDS_MIN: usize = 6;

/// Chance of seeing such a trend in a backlog that does not grow.
const TREND_P: f64 = 0.01;

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| saturation(&setup)).collect()
}

fn saturation(setup: &Setup) -> Option<Finding> {
    // There, a path that does not keep up is an answer.
    if setup.shows_queue() {
        return None;
    }
    const SLOW: &str = "the path did not keep up with the load: its latency depends on how long the run lasts and means nothing";
    // Who waits for a processor is late whatever the path: that comes first, and the rest may be its consequence. A block that
    // served its load is not asked: its processors are not why another one fell short.
    let waits = noisy_host::waits(setup, |block| {
        setup.result.asked_per_s.is_none_or(|asked| !block_kept_up(setup, block, asked))
    });
    let unreachable = broker_unreachable::unreachable(setup);
    let claim = match (unreachable, waits.last()) {
        (Some(broker), _) => format!("broker {broker} took no connections any more, and {SLOW}"),
        (None, None) => SLOW.to_owned(),
        (None, Some(longest)) => format!(
            "threads of this host waited for a processor in {} of the time of {}, and {SLOW}",
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
            flows: |row| (row.sent, row.acked),
            never: counts.failed.saturating_add(few_unknown),
        },
        Backlog {
            what: "acknowledged and not yet received",
            flows: |row| (row.acked, row.received),
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
        if let Some((early, late)) = growing_backlog(setup, backlog, asked) {
            finding = finding.seen_against(
                backlog.what,
                format!("{late:.0} messages in the last third of a block"),
                format!("{early:.0}, as in the first third"),
            );
        }
    }
    if let Some((early, late)) = growing_slip(setup) {
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

/// What a random schedule may be longer by chance.
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

/// Whether the blocks, too few to outvote one of them, served their load up to their last seconds: one stall there is no path that
/// cannot keep up. A block of a few seconds cannot tell.
fn kept_up_until_the_end(setup: &Setup, asked: f64) -> bool {
    if !setup.holds_its_rate() || setup.result.blocks.len() >= BLOCKS_MIN {
        return false;
    }
    let under_way = asked * (END_LATENCIES * least_latency_s(setup) + stray_s(setup, asked)) + 1.0;
    let blocks = by_block(setup.result, |row| (!row.warm_up).then_some((row.sent, row.acked)));
    !blocks.is_empty()
        && blocks.into_values().all(|rows| {
            let last = rows.iter().rfind(|(_, (sent, _))| *sent > 0).map(|(second, _)| *second);
            // The first second may begin in the warm-up, and the last is cut short.
            let first = rows.first().map(|(second, _)| second.saturating_add(1));
            let (Some(first), Some(last)) = (first, last) else { return false };
            let seconds = last.saturating_sub(first) as usize;
            let end = END_SECONDS_MIN.max((END_PART * seconds as f64).ceil() as usize);
            if seconds < SECONDS_MIN + end {
                return false;
            }
            let before = first..last - end as u32;
            let acked: f64 = rows
                .iter()
                .filter(|(second, _)| before.contains(second))
                .map(|(_, (_, acked))| *acked as f64)
                .sum();
            acked + under_way >= ACHIEVED_MIN * asked * before.len() as f64
        })
}

/// A path that cannot keep up falls short in every block; a stall at the end of one short block is no shortfall.
fn most_blocks_kept_up(setup: &Setup, asked: f64) -> bool {
    let blocks = &setup.result.blocks;
    let good = blocks.iter().filter(|block| block_kept_up(setup, block, asked)).count();
    blocks.len() >= BLOCKS_MIN && 2 * good > blocks.len()
}

/// True for a block that reached its rate, or ended no later than messages of its first half had been late already: where a queue
/// grows, the last messages are later than all before them.
fn block_kept_up(setup: &Setup, block: &BlockResult, asked: f64) -> bool {
    let Some(achieved) = block.achieved_per_s.filter(|achieved| *achieved > 0.0) else { return false };
    let acked = block.counts.acked as f64;
    let late_s = acked / achieved - acked / asked;
    achieved >= ACHIEVED_MIN * asked || late_s <= END_LATENCIES * early_latency_s(setup, block)
}

/// The longest acknowledge latency in the first half of a block's measured seconds, the last of them left out where there is another.
fn early_latency_s(setup: &Setup, block: &BlockResult) -> f64 {
    let rows =
        setup.result.series.iter().filter(|row| row.block == block.block && !row.warm_up && row.sent > 0);
    let latencies: Vec<Option<u64>> = rows.map(|row| row.acknowledge.max_ns).collect();
    let early = &latencies[..latencies.len() / 2];
    early.iter().flatten().max().map_or(0.0, |ns| *ns as f64 / 1e9)
}

/// Messages between two places.
struct Backlog {
    what: &'static str,
    /// In a second: messages that came in, and that went out.
    flows: fn(&SecondRow) -> (u64, u64),
    /// Messages of the step that never go out, so that they are no sign of slowness.
    never: u64,
}

/// Backlog in the first and in the last third of the block where it grew most.
fn growing_backlog(setup: &Setup, backlog: &Backlog, asked: f64) -> Option<(f64, f64)> {
    if !setup.holds_its_rate() {
        return None;
    }
    let least = BACKLOG_GROWTH_MIN.max(BACKLOG_GROWTH_MIN_S * asked) + backlog.never as f64;
    let blocks = by_block(setup.result, |row| Some((row.sent, (backlog.flows)(row))));
    let grown = blocks.into_values().filter_map(|rows| {
        // Seconds after the last send only drain, and the one with the last send is cut short.
        let last = rows.iter().rfind(|(_, (sent, _))| *sent > 0)?.0;
        let mut level = 0.0;
        let seconds = rows.chunk_by(|a, b| a.0 == b.0).take_while(|rows| rows[0].0 < last);
        let levels = seconds.map(|rows| {
            level += rows.iter().map(|(_, (_, (entered, left)))| *entered as f64 - *left as f64).sum::<f64>();
            level
        });
        growing(&levels.collect::<Vec<f64>>(), least)
    });
    grown.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}

/// Slip in the first and in the last third of the block where it grew most.
fn growing_slip(setup: &Setup) -> Option<(f64, f64)> {
    let measured = by_block(setup.result, |row| row.slip_max_ns.filter(|_| !row.warm_up && row.sent > 0));
    let grown = measured.into_values().filter_map(|rows| {
        let slips: Vec<f64> = rows.iter().map(|(_, slip)| *slip as f64).collect();
        growing(&slips, BACKLOG_GROWTH_MIN_S * 1e9)
    });
    grown.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}

/// Medians of the first and of the last third, if the series rises by at least `least` and not by chance.
fn growing(levels: &[f64], least: f64) -> Option<(f64, f64)> {
    if levels.len() < SECONDS_MIN {
        return None;
    }
    let third = levels.len() / 3;
    let early = median(levels[..third].iter().copied())?;
    let late = median(levels[levels.len() - third..].iter().copied())?;
    let rising = trend(levels).is_some_and(|trend| trend.s > 0 && trend.p < TREND_P);
    (rising && late - early >= least).then_some((early, late))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn a_rate_that_was_not_reached_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            reach(&mut document.steps[0], 99.0);
        });
        assert_eq!(finding.evidence[0].what, "achieved / asked");
    }

    /// A step of which every block reached this rate.
    fn reach(step: &mut plumb_model::document::StepResult, rate_per_s: f64) {
        step.achieved_per_s = Some(rate_per_s);
        step.blocks.iter_mut().for_each(|block| block.achieved_per_s = Some(rate_per_s));
    }

    #[test]
    fn a_stall_at_the_end_of_one_short_block_is_no_shortfall() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.achieved_per_s = Some(98.6);
        step.blocks[2].achieved_per_s = Some(93.0);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    /// Three blocks at 100/s for 2 s: the second stood still, and the processors of the first were wanted by others.
    fn one_stall_of_three() -> plumb_model::document::RunDocument {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.blocks.truncate(3);
        step.series.retain(|row| row.block < 3);
        step.series.iter_mut().for_each(|row| row.acknowledge.max_ns = Some(25_000_000));
        for block in &mut step.blocks {
            (block.counts.sent, block.counts.acked) = (200, 200);
            // The last acknowledgement came 13 ms after the last message was due.
            block.achieved_per_s = Some(200.0 / 2.013);
        }
        step.blocks[1].achieved_per_s = Some(200.0 / 3.4);
        step.achieved_per_s = Some(600.0 / (2.0 * 2.013 + 3.4));
        let pressure = plumb_model::facts::Pressure { cpu_some_ns: Some(6_500), ..Default::default() };
        step.blocks[0].host =
            Some(plumb_model::facts::HostDelta { elapsed_ns: 10_000, pressure, ..Default::default() });
        document
    }

    #[test]
    fn one_stall_of_three_blocks_is_no_path_that_cannot_keep_up() {
        assert_eq!(found(&one_stall_of_three(), RULE.row.id), []);
    }

    #[test]
    fn the_processors_of_a_block_that_served_its_load_are_not_why_another_fell_short() {
        let mut document = one_stall_of_three();
        document.steps[0].blocks[2].achieved_per_s = Some(200.0 / 3.4);
        document.steps[0].achieved_per_s = Some(600.0 / (2.013 + 2.0 * 3.4));
        let claim = &found(&document, RULE.row.id)[0].claim;
        assert!(!claim.contains("processor"), "{claim}");
    }

    #[test]
    fn a_queue_that_grows_through_every_block_is_not_excused_by_its_own_latency() {
        let mut document = one_stall_of_three();
        let step = &mut document.steps[0];
        for block in &mut step.blocks {
            block.achieved_per_s = Some(95.0);
        }
        step.achieved_per_s = Some(95.0);
        // 5 % short: a block ends 105 ms late, and latency grows up to that in equal steps.
        let seconds = step.series.iter().map(|row| row.second).max().unwrap() + 1;
        for row in &mut step.series {
            row.acknowledge.max_ns = Some(105_000_000 * u64::from(row.second + 1) / u64::from(seconds));
        }
        assert_eq!(found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn the_last_latency_of_each_block_is_no_shortfall() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        // Five blocks of 20 messages: 0.2 s each, and 20 ms until the last report.
        (step.counts.sent, step.counts.acked) = (100, 100);
        step.latency.acknowledge.mean_ns = Some(20e6);
        step.series.retain(|row| row.second == 2);
        step.series.iter_mut().for_each(|row| row.acknowledge.p50_ns = Some(20_000_000));
        step.achieved_per_s = Some(100.0 / 1.1);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_path_half_as_fast_as_asked_is_found_though_its_latency_grew() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            // 100 s of load served in 200 s: latency grows from 0 to 100 s.
            step.blocks.truncate(1);
            step.series.iter_mut().for_each(|row| row.acked = 50);
            step.latency.acknowledge.mean_ns = Some(50e9);
            step.achieved_per_s = Some(50.0);
        });
    }

    /// A run of one block of which the last seconds got so many acknowledgements.
    fn ended_with(acked: &[u64]) -> plumb_model::document::RunDocument {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.blocks.truncate(1);
        step.series.retain(|row| row.block == 0 && row.sent > 0);
        let first = step.series.len() - acked.len();
        for (row, acked) in step.series[first..].iter_mut().zip(acked) {
            row.acked = *acked;
        }
        (step.counts.sent, step.counts.acked) = (2_000, 2_000);
        reach(step, 98.0);
        document
    }

    #[test]
    fn a_stall_at_the_end_of_a_single_block_is_no_shortfall_and_one_from_the_middle_on_is() {
        assert_eq!(found(&ended_with(&[100, 60]), RULE.row.id), []);
        assert_eq!(found(&ended_with(&[90; 10]), RULE.row.id).len(), 1);
    }

    #[test]
    fn a_slower_path_is_not_excused_by_its_own_latency() {
        for mean_ms in [79.0, 1_276.0] {
            let mut document = ended_with(&[98; 16]);
            let step = &mut document.steps[0];
            step.latency.acknowledge.mean_ns = Some(mean_ms * 1e6);
            let finding = crate::healthy::one(&document, RULE.row.id);
            assert_eq!(finding.evidence[0].value, "98/s of 100/s (98.0 %)", "{finding:#?}");
            assert_eq!(finding.evidence[0].expected.as_deref(), Some("at least 99.5 %"));
        }
    }

    #[test]
    fn messages_of_unknown_outcome_are_not_served() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            (step.counts.acked, step.counts.unknown) = (1_000, 9_000);
            reach(step, 10.0);
        });
    }

    #[test]
    fn messages_whose_time_was_up_are_not_served() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            (step.counts.acked, step.counts.failed) = (1_000, 9_000);
            reach(step, 10.0);
            step.errors.push(plumb_model::observation::ErrorCount {
                origin: "produce".to_owned(),
                code: "MESSAGE_TIMED_OUT".to_owned(),
                message: String::new(),
                count: 9_000,
            });
        });
    }

    #[test]
    fn a_backlog_that_grows_by_plan_is_no_saturation() {
        let mut document = healthy();
        for row in document.steps[0].series.iter_mut().filter(|row| row.second > 2) {
            row.received = 0;
        }
        assert_eq!(found(&document, RULE.row.id).len(), 1);
        document.plan.steps[0].load.mode = plumb_model::plan::Mode::Backlog(plumb_model::units::Bytes(1));
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_rise_counts_from_the_least_that_is_asked_on() {
        let levels: Vec<f64> = (0..30).map(f64::from).collect();
        let (early, late) = growing(&levels, 1.0).unwrap();
        assert_eq!(growing(&levels, late - early), Some((early, late)));
        assert_eq!(growing(&levels, late - early + 0.1), None);
        assert_eq!(growing(&levels.into_iter().rev().collect::<Vec<f64>>(), 1.0), None);
    }

    #[test]
    fn a_warm_up_that_was_slow_excuses_no_shortfall() {
        let mut document = ended_with(&[98; 16]);
        let row = document.steps[0].series[0].clone();
        let slow = plumb_model::observation::SecondLatency {
            p50_ns: Some(5_000_000_000),
            ..row.acknowledge.clone()
        };
        let warm_up = SecondRow { warm_up: true, acknowledge: slow, ..row };
        document.steps[0].series.insert(0, warm_up);
        assert_eq!(found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn a_host_whose_threads_wait_is_said_first() {
        use plumb_model::facts::{HostDelta, Pressure};
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            reach(&mut document.steps[0], 90.0);
            let pressure = Pressure { cpu_some_ns: Some(9_900), ..Pressure::default() };
            document.steps[0].blocks[1].host =
                Some(HostDelta { elapsed_ns: 10_000, pressure, ..HostDelta::default() });
        });
        assert!(
            finding.claim.starts_with("Threads of this host waited for a processor in 99 % of the time"),
            "{}",
            finding.claim
        );
        assert!(finding.claim.contains("the path did not keep up"), "{}", finding.claim);
        assert!(finding.advice[0].starts_with("Stop other work on this host first"));
    }

    #[test]
    fn a_random_schedule_may_be_a_little_longer_by_chance() {
        let mut document = healthy();
        document.plan.steps[0].load.schedule = plumb_model::plan::Schedule::Poisson;
        reach(&mut document.steps[0], 98.0);
        assert_eq!(found(&document, RULE.row.id), []);
        reach(&mut document.steps[0], 95.0);
        assert_eq!(found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn failed_messages_do_not_pass_for_a_slow_path() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.counts.failed = 1_000;
        step.counts.acked = 9_000;
        step.achieved_per_s = Some(90.0);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn acknowledgements_that_fall_behind_are_found() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            for row in document.steps[0].series.iter_mut().filter(|row| row.block == 3) {
                row.acked = row.acked.saturating_sub(4);
            }
        });
        assert_eq!(finding.evidence[0].what, "sent and not yet acknowledged");
    }

    #[test]
    fn a_consumer_that_falls_behind_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            for row in document.steps[0].series.iter_mut().filter(|row| row.block == 0) {
                row.received = row.received.saturating_sub(3);
            }
        });
        assert_eq!(finding.evidence[0].what, "acknowledged and not yet received");
    }

    #[test]
    fn a_slip_that_grows_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            for row in &mut document.steps[0].series {
                row.slip_max_ns = row.slip_max_ns.map(|slip| slip + u64::from(row.second) * 10_000_000);
            }
        });
        assert_eq!(finding.evidence[0].what, "schedule slip");
    }

    #[test]
    fn a_backlog_that_comes_and_goes_is_no_growth() {
        let mut document = healthy();
        for row in &mut document.steps[0].series {
            match row.second {
                8 => row.acked -= 50,
                10 => row.acked += 50,
                _ => {}
            }
        }
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn messages_that_are_lost_evenly_are_no_backlog() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.counts.lost = 2_200;
        step.series.iter_mut().for_each(|row| row.received -= row.received / 5);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn nobody_receiving_is_no_backlog() {
        let mut document = healthy();
        document.plan.steps[0].load.consumers = 0;
        document.steps[0].series.iter_mut().for_each(|row| row.received = 0);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    /// A block whose acknowledgements fall behind by three messages a second, and whose outcomes are these.
    fn behind(counts: impl Fn(&mut plumb_model::observation::Counts)) -> bool {
        let mut document = healthy();
        let step = &mut document.steps[0];
        counts(&mut step.counts);
        for row in step.series.iter_mut().filter(|row| row.block == 3) {
            row.acked = row.acked.saturating_sub(3);
        }
        !found(&document, RULE.row.id).is_empty()
    }

    #[test]
    fn a_few_unknown_outcomes_are_no_excuse_for_a_growing_backlog_but_for_so_many_messages() {
        // Of 10,000 that were sent 50 may be what a broken connection leaves; the last third is 39 behind the first.
        assert!(behind(|_| ()));
        assert!(behind(|counts| counts.unknown = 28));
        assert!(!behind(|counts| counts.unknown = 50));
        assert!(!behind(|counts| counts.unknown = 5_000), "and more count as those few");
        assert!(!behind(|counts| counts.failed = 50), "what failed will never be acknowledged");
    }

    #[test]
    fn the_share_of_the_rate_that_counts_as_reached_is_the_limit_itself() {
        let short = |rate| {
            let mut document = healthy();
            reach(&mut document.steps[0], rate);
            found(&document, RULE.row.id).len()
        };
        assert_eq!([short(99.5), short(99.49)], [0, 1]);
    }

    #[test]
    fn a_majority_of_blocks_that_kept_up_outvotes_the_rest_and_half_of_them_do_not() {
        let short = |slow: usize| {
            let mut document = healthy();
            let step = &mut document.steps[0];
            step.achieved_per_s = Some(98.0);
            step.blocks.truncate(4);
            for block in &mut step.blocks[..slow] {
                block.achieved_per_s = Some(90.0);
            }
            found(&document, RULE.row.id).len()
        };
        assert_eq!([short(1), short(2), short(3)], [0, 1, 1]);
    }

    #[test]
    fn a_rise_must_be_large_and_steady_to_be_a_growth() {
        let ramp = |step: f64| (0..9).map(|second| f64::from(second) * step).collect::<Vec<_>>();
        assert_eq!(growing(&ramp(2.0), 12.0), Some((2.0, 14.0)));
        assert_eq!(growing(&ramp(2.0), 12.1), None, "too small");
        assert_eq!(growing(&ramp(-2.0), -100.0), None, "it falls");
        assert_eq!(growing(&ramp(2.0)[..5], 1.0), None, "too short");
        let jagged = [0.0, 9.0, 0.0, 9.0, 0.0, 9.0, 9.0, 0.0, 9.0];
        assert_eq!(growing(&jagged, 1.0), None, "by chance");
    }

    #[test]
    fn sends_that_waited_for_a_queue_are_told_with_what_was_found_and_alone_are_nothing() {
        let mut document = healthy();
        document.steps[0].instrument.queue_full_waits = 7;
        assert_eq!(found(&document, RULE.row.id), []);
        reach(&mut document.steps[0], 90.0);
        let finding = crate::healthy::one(&document, RULE.row.id);
        let told = finding.evidence.last().unwrap();
        assert_eq!((told.what.as_str(), told.value.as_str()), ("sends that waited for a full queue", "7"));
    }
}
