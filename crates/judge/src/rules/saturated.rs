//! Whether the path kept up: the rate reached, and backlogs that grow.

use crate::figure::{percent, rate, time};
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::{Setup, by_block};
use plumb_model::finding::{Finding, Severity};
use plumb_model::observation::SecondRow;
use plumb_stats::trend::trend;

pub(super) const RULE: Rule = Rule {
    id: "saturated",
    title: "Saturated",
    summary: "The path could not keep up with the load: latency then measures the length of the run.",
    page: include_str!("../../../../docs/findings/saturated.md"),
    severity: Severity::Invalid,
    about: About::Run,
    check,
};

/// Least share of the asked rate that counts as reached (from the literature on benchmarks that mislead; the rate of a
/// constant schedule is exact, so half a percent is not chance).
const ACHIEVED_MIN: f64 = 0.995;

/// Fewest blocks of which the majority can speak (ours).
const BLOCKS_MIN: usize = 3;

/// The last messages end one latency after the schedule does; so many mean latencies per block are allowed for (ours).
/// A path that cannot keep up ends about two of its mean latencies late, because latency then grows evenly from 0.
const END_LATENCIES: f64 = 1.5;

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
    let mut finding = about_step(
        RULE.id,
        Severity::Invalid,
        setup.name(),
        "The path did not keep up with the load: its latency depends on how long the run lasts and means nothing",
    );
    // A load without a rate means to saturate.
    let asked = setup.result.asked_per_s?;
    if let Some(achieved) = shortfall(setup, asked) {
        let share = achieved / asked;
        finding = finding.seen_against(
            "achieved / asked",
            format!("{} of {} ({})", rate(achieved), rate(asked), percent(share)),
            format!("at least {}", percent(ACHIEVED_MIN)),
        );
    }
    let counts = &setup.result.counts;
    let backlogs = [
        Backlog {
            what: "sent and not yet acknowledged",
            flows: |row| (row.sent, row.acked),
            never: counts.failed.saturating_add(counts.unknown),
        },
        Backlog {
            what: "acknowledged and not yet received",
            flows: |row| (row.acked, row.received),
            never: counts.lost,
        },
    ];
    let received = if setup.consumes() { backlogs.len() } else { 1 };
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
    // Failed messages are another rule's: here only whether their time was kept.
    let achieved = acked * counts.sent as f64 / counts.acked as f64;
    let sent = counts.sent as f64;
    let late_s = sent / achieved - sent / asked;
    let latency_s = result.latency.acknowledge.mean_ns.unwrap_or(0.0) / 1e9;
    let stray_s = if setup.is_random() { RANDOM_SIGMAS * sent.sqrt() / asked } else { 0.0 };
    let allowed_s = END_LATENCIES * latency_s * setup.blocks() + stray_s;
    (achieved < ACHIEVED_MIN * asked && late_s > allowed_s).then_some(acked)
}

/// A path that cannot keep up falls short in every block; a stall at the end of one short block is no shortfall.
fn most_blocks_kept_up(setup: &Setup, asked: f64) -> bool {
    let blocks = &setup.result.blocks;
    let kept_up = |achieved: f64| achieved >= ACHIEVED_MIN * asked;
    let good =
        blocks.iter().filter_map(|block| block.achieved_per_s).filter(|achieved| kept_up(*achieved)).count();
    blocks.len() >= BLOCKS_MIN && 2 * good > blocks.len()
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
    let median = |part: &[f64]| {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let (early, late) = (median(&levels[..third]), median(&levels[levels.len() - third..]));
    let rising = trend(levels).is_some_and(|trend| trend.s > 0 && trend.p < TREND_P);
    (rising && late - early >= least).then_some((early, late))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn a_rate_that_was_not_reached_is_found() {
        let finding = assert_found(RULE.id, Severity::Invalid, |document| {
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
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn the_last_latency_of_each_block_is_no_shortfall() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        // Five blocks of 20 messages: 0.2 s each, and 20 ms until the last report.
        (step.counts.sent, step.counts.acked) = (100, 100);
        step.latency.acknowledge.mean_ns = Some(20e6);
        step.achieved_per_s = Some(100.0 / 1.1);
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn a_path_half_as_fast_as_asked_is_found_though_its_latency_grew() {
        assert_found(RULE.id, Severity::Invalid, |document| {
            let step = &mut document.steps[0];
            // 100 s of load served in 200 s: latency grows from 0 to 100 s.
            step.blocks.truncate(1);
            step.latency.acknowledge.mean_ns = Some(50e9);
            step.achieved_per_s = Some(50.0);
        });
    }

    #[test]
    fn a_random_schedule_may_be_a_little_longer_by_chance() {
        let mut document = healthy();
        document.plan.steps[0].load.schedule = plumb_model::plan::Schedule::Poisson;
        reach(&mut document.steps[0], 98.0);
        assert_eq!(found(&document, RULE.id), []);
        reach(&mut document.steps[0], 95.0);
        assert_eq!(found(&document, RULE.id).len(), 1);
    }

    #[test]
    fn failed_messages_do_not_pass_for_a_slow_path() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.counts.failed = 1_000;
        step.counts.acked = 9_000;
        step.achieved_per_s = Some(90.0);
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn acknowledgements_that_fall_behind_are_found() {
        let finding = assert_found(RULE.id, Severity::Invalid, |document| {
            for row in document.steps[0].series.iter_mut().filter(|row| row.block == 3) {
                row.acked = row.acked.saturating_sub(4);
            }
        });
        assert_eq!(finding.evidence[0].what, "sent and not yet acknowledged");
    }

    #[test]
    fn a_consumer_that_falls_behind_is_found() {
        let finding = assert_found(RULE.id, Severity::Invalid, |document| {
            for row in document.steps[0].series.iter_mut().filter(|row| row.block == 0) {
                row.received = row.received.saturating_sub(3);
            }
        });
        assert_eq!(finding.evidence[0].what, "acknowledged and not yet received");
    }

    #[test]
    fn a_slip_that_grows_is_found() {
        let finding = assert_found(RULE.id, Severity::Invalid, |document| {
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
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn messages_that_are_lost_evenly_are_no_backlog() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        step.counts.lost = 2_200;
        step.series.iter_mut().for_each(|row| row.received -= row.received / 5);
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn nobody_receiving_is_no_backlog() {
        let mut document = healthy();
        document.plan.steps[0].load.consumers = 0;
        document.steps[0].series.iter_mut().for_each(|row| row.received = 0);
        assert_eq!(found(&document, RULE.id), []);
    }
}
