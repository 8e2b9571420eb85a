//! Growth, steps and swings of latency, or of the rate, within the blocks of a step, blocks on different levels, and figures that
//! rest on a stall.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use crate::stall::{Stall, spoiled};
use crate::steadiness::{Measure, Moment, Unsteadiness, unsteadiness};
use plumb_model::figure::{self, change, per_s, percents, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::list;
use plumb_stats::steady::Shape;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "not-steady",
        summary: "Latency, or the rate, did not hold its level while it was measured.",
        page: include_str!("../../../../docs/findings/not-steady.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "the change of level is shown by a test on the seconds; its cause is not",
        stage: Some(PathStage::Comparison),
        flip: Some(FlipRow {
            change: "run for twice as long",
            setting: None,
            observe: "the change of level",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let seed = case.document.plan.seed;
    let each = |setup: Setup| [finding(&setup, seed), between_blocks(&setup), stalled(&setup)];
    case.setups().flat_map(each).flatten().collect()
}

/// Figures that are the length of one or two stalls.
fn stalled(setup: &Setup) -> Option<Finding> {
    let spoiled = spoiled(setup)?;
    let each = |stall: &Stall| {
        let caught_up = match stall.caught_up_s > stall.until_s {
            true => format!(", and what had gathered came until second {}", stall.caught_up_s),
            false => String::new(),
        };
        format!(
            "for {} in {} (seconds {} to {}{caught_up})",
            time(stall.length_ns as f64),
            setup.block_words(stall.block),
            stall.from_s,
            stall.until_s
        )
    };
    let stalls = list(&spoiled.stalls.iter().map(each).collect::<Vec<_>>());
    let names = list(&spoiled.figures.iter().map(|(what, _)| (*what).to_owned()).collect::<Vec<_>>());
    let rest = if spoiled.figures.len() == 1 { "rests" } else { "rest" };
    let on = if spoiled.stalls.len() == 1 { "that stall" } else { "these stalls" };
    let claim = format!("Messages stood still {stalls}: {names} {rest} on {on} alone");
    let mut finding = about_step(RULE.row.id, Severity::Suspect, setup.name(), claim);
    for (what, ns) in &spoiled.figures {
        let without = format!("at most {} in all other seconds", time(spoiled.slowest_else_ns as f64));
        finding = finding.seen_against(*what, time(*ns as f64), without);
    }
    let [of_mean, _] = percents(spoiled.share_of_mean, 1.0);
    Some(
        finding
            .seen("share of the mean that messages of the stall have", of_mean)
            .advise("Look at what the brokers, the network and this host did in these seconds.")
            .advise("How often the path stalls, one or two stalls cannot tell: run for as long as several would take, or repeat the run."),
    )
}

/// Blocks whose levels are this far apart were not measured on one and the same path (ours).
const BLOCKS_RATIO_MAX: f64 = 2.0;

/// Levels that differ from block to block.
fn between_blocks(setup: &Setup) -> Option<Finding> {
    if setup.shows_queue() {
        return None;
    }
    let BlocksApart { what, spread, shown } =
        if setup.saturates() { rates_apart(setup)? } else { latencies_apart(setup)? };
    let claim = format!(
        "Blocks of the same settings are {} apart in {what}: the path or the host changed",
        figure::ratio(spread.ratio())
    );
    let [low, high] = [spread.low, spread.high].map(shown);
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against(format!("{what} of the highest block"), high, format!("{low} in the lowest"))
            .advise("Look at the blocks in the order in which they ran: one that gets better is a cold start, one that gets worse a load that builds up.")
            .advise("Warm up longer (settle, warm_up), or run on a quieter host."),
    )
}

/// A figure in which blocks are too far apart.
struct BlocksApart {
    what: &'static str,
    spread: Spread,
    /// Writes a value of it.
    shown: fn(f64) -> String,
}

fn rates_apart(setup: &Setup) -> Option<BlocksApart> {
    let rates = setup.whole_blocks().filter_map(|block| setup.rate_of(block)).collect();
    let spread = Spread::of(rates)?;
    (spread.ratio() > BLOCKS_RATIO_MAX).then_some(BlocksApart { what: "rate", spread, shown: per_s })
}

/// Both mean and median must: one stall moves the mean alone, and a median may
/// flip between the two messages of a batch.
fn latencies_apart(setup: &Setup) -> Option<BlocksApart> {
    let blocks = || setup.result.blocks.iter().map(|block| setup.headline_of(block));
    let spread = Spread::of(blocks().filter_map(|figures| figures.mean_ns).collect())?;
    let medians = Spread::of(blocks().filter_map(|figures| figures.p50_ns).map(|p50| p50 as f64).collect())?;
    (spread.ratio().min(medians.ratio()) > BLOCKS_RATIO_MAX).then_some(BlocksApart {
        what: "mean",
        spread,
        shown: time,
    })
}

/// The smallest and the largest of at least two figures above 0.
struct Spread {
    low: f64,
    high: f64,
}

impl Spread {
    fn of(figures: Vec<f64>) -> Option<Spread> {
        let (low, high) = figures.iter().fold((f64::MAX, 0.0), |(low, high), it| (it.min(low), it.max(high)));
        (figures.len() >= 2 && low > 0.0).then_some(Spread { low, high })
    }

    fn ratio(&self) -> f64 {
        self.high / self.low
    }
}

fn finding(setup: &Setup, seed: u64) -> Option<Finding> {
    let found = unsteadiness(setup, seed).filter(|found| found.cold_start_s().is_none())?;
    let place = match found.moment {
        Moment::Block(block) => format!("in {}", setup.block_words(block)),
        Moment::EveryBlock => "in the mean of the blocks".to_owned(),
    };
    let claim = format!(
        "{} {} {place}: one figure for the whole does not describe it",
        found.measure.name(),
        course(&found)
    );
    let (late, early) = match found.change.shape {
        Shape::Drift { .. } => ("level at the end", "at first"),
        Shape::Steps { .. } => ("level after the last change", "before the first"),
        Shape::Swings { .. } => ("highest level of the swings", "the lowest"),
    };
    let [before, after] = [found.change.before, found.change.after].map(|level| found.measure.figure(level));
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against(late, after, format!("{before} {early}"))
            .seen("chance of so clear a change in a steady series", figure::probability(found.change.p))
            .advise("Look at it over time, and at what the brokers and the host did at that moment.")
            .advise("Run longer, or look at the part before and the part after apart."),
    )
}

/// The course of the change, as a verb with its figures.
fn course(found: &Unsteadiness) -> String {
    let figure = |level: f64| found.measure.figure(level);
    let [before, after] = [found.change.before, found.change.after];
    let size = change(found.ratio());
    match &found.change.shape {
        Shape::Drift { .. } => {
            let verb = if after > before { "grew" } else { "fell" };
            let each_s = (after.exp() - before.exp()).abs() / f64::from(found.lasted_s().max(1));
            let each_s = match found.measure {
                Measure::Latency => time(each_s),
                Measure::Rate => per_s(each_s),
            };
            format!(
                "{verb} from {} to {} ({size}, {each_s} each second on average)",
                figure(before),
                figure(after)
            )
        }
        Shape::Steps { starts, .. } if starts.len() == 1 => {
            format!("changed its level ({size}, after {} s)", found.after_s(starts[0]))
        }
        Shape::Steps { starts, levels } => {
            let steps = starts.iter().zip(levels.windows(2)).map(|(start, levels)| {
                format!("{} after {} s", change((levels[1] - levels[0]).exp()), found.after_s(*start))
            });
            format!("changed its level {} times ({})", starts.len(), list(&steps.collect::<Vec<_>>()))
        }
        Shape::Swings { period } => format!(
            "swung between {} and {} ({size}) every {}",
            figure(before),
            figure(after),
            time(*period * 1e9)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy, set_levels};
    use plumb_model::document::RunDocument;
    use plumb_model::plan::Schedule;
    use plumb_model::units::Nanos;

    #[test]
    fn a_step_of_20_percent_in_one_block_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            set_levels(
                document,
                |block, second, level| {
                    if block == 2 && second >= 12 { level * 1.2 } else { level }
                },
            );
        });
        assert!(
            finding.claim.contains("changed its level") && finding.claim.contains("in block 3 of 5"),
            "{}",
            finding.claim
        );
    }

    #[test]
    fn blocks_on_different_levels_are_found_and_one_stalled_block_is_not() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let slow = &mut document.steps[0].blocks[0].end_to_end;
            slow.mean_ns = slow.mean_ns.map(|mean| mean * 5.0);
            slow.p50_ns = slow.p50_ns.map(|p50| p50 * 5);
        });
        assert!(finding.claim.contains("apart in mean"), "{}", finding.claim);
        let mut stalled = healthy();
        let block = &mut stalled.steps[0].blocks[0].end_to_end;
        block.mean_ns = block.mean_ns.map(|mean| mean * 5.0);
        assert_eq!(found(&stalled, RULE.row.id), []);
    }

    #[test]
    fn growth_through_every_block_is_found_with_its_size_and_speed() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            set_levels(document, |_, second, level| level * (1.0 + 0.25 * f64::from(second)));
        });
        // Seconds 2 to 21 of about 0.66 ms: 1.5 times to 6.25 times.
        let claim = &finding.claim;
        assert!(claim.starts_with("Latency grew from ") && claim.contains(" µs each second"), "{claim}");
        assert!(claim.contains("(×4.") || claim.contains("(×3.9"), "{claim}");
    }

    #[test]
    fn latency_that_falls_all_the_time_is_found_too() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            set_levels(document, |_, second, level| level * 50.0 * (-0.2 * f64::from(second)).exp());
        });
        assert!(finding.claim.starts_with("Latency fell from "), "{}", finding.claim);
    }

    #[test]
    fn several_steps_are_found_each_with_its_size() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let steps = |second: u32| {
                if second < 8 {
                    1.0
                } else if second < 15 {
                    3.0
                } else {
                    12.0
                }
            };
            set_levels(document, |_, second, level| level * steps(second));
        });
        let claim = &finding.claim;
        assert!(
            claim.contains("changed its level 2 times (") && claim.contains(" after 6 s and "),
            "{claim}"
        );
    }

    #[test]
    fn swings_are_found_with_their_period() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            set_levels(document, |_, second, level| level * (1.0 + 0.5 * f64::from(second % 5)));
        });
        assert!(finding.claim.contains(" every 5.00 s"), "{}", finding.claim);
    }

    #[test]
    fn one_slow_second_is_not_a_change_of_level() {
        let mut document = healthy();
        set_levels(&mut document, |_, second, level| if second == 9 { level * 20.0 } else { level });
        assert_eq!(found(&document, RULE.row.id), []);
    }

    /// The path stops when `stop_s` of a block have gone, and for `stall_s`: what is due meanwhile comes in the second after.
    fn stall(document: &mut RunDocument, in_block: u32, stop_s: u32, stall_s: u32) {
        let ns = u64::from(stall_s) * 1_000_000_000;
        let step = &mut document.steps[0];
        let held = stop_s..stop_s + stall_s;
        step.series.retain(|row| row.block != in_block || !held.contains(&row.second));
        let after =
            step.series.iter_mut().find(|row| row.block == in_block && row.second == held.end).unwrap();
        let late = &mut after.end_to_end;
        late.samples += 100 * u64::from(stall_s);
        (late.mean_ns, late.max_ns) = (Some(ns as f64 / 2.0), Some(ns));
        let whole = &mut step.latency.end_to_end;
        // 600 of 10,000 messages were due in the stall.
        (whole.p95_ns, whole.p99_ns) = (Some(ns / 6), Some(ns * 5 / 6));
        whole.p999_ns = Some(ns * 59 / 60);
        whole.max_ns = whole.max_ns.max(Some(ns));
    }

    #[test]
    fn a_stall_of_6_s_in_one_block_that_makes_the_quantiles_is_told_with_its_seconds() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| stall(document, 2, 9, 6));
        assert_eq!(
            finding.claim,
            "Messages stood still for 6.00 s in block 3 of 5 (seconds 9 to 15): p95, p99, p99.9 and maximum rest on that stall alone."
        );
        let mean = finding.evidence.last().unwrap();
        assert!(mean.what.starts_with("share of the mean") && mean.value.starts_with("99."), "{mean:?}");
    }

    /// As seen of a broker that was stopped from second 9.64 of a block to second 15.65.
    #[test]
    fn the_time_in_which_what_had_gathered_came_is_told_apart_from_the_stall() {
        let mut document = healthy();
        stall(&mut document, 2, 6, 6);
        for row in document.steps[0].series.iter_mut() {
            if row.block == 2 && (13..15).contains(&row.second) {
                row.end_to_end.max_ns = Some(3_000_000_000);
            }
        }
        let finding = crate::healthy::one(&document, RULE.row.id);
        assert!(
            finding.claim.contains(
                "for 6.00 s in block 3 of 5 (seconds 6 to 12, and what had gathered came until second 14)"
            ),
            "{}",
            finding.claim
        );
    }

    #[test]
    fn a_stall_that_begins_within_a_second_is_told_from_that_second_on() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            stall(document, 2, 10, 5);
            let after =
                document.steps[0].series.iter_mut().find(|row| row.block == 2 && row.second == 15).unwrap();
            after.end_to_end.max_ns = Some(6_007_774_677);
            document.steps[0].latency.end_to_end.max_ns = Some(6_007_774_677);
        });
        assert!(finding.claim.contains("for 6.01 s in block 3 of 5 (seconds 9 to 15)"), "{}", finding.claim);
    }

    /// Others came through meanwhile, so the first of those that waited may have been due in the second before.
    #[test]
    fn a_stall_of_some_messages_is_told_from_the_earliest_second_that_it_can_have_begun_in() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let rows = document.steps[0].series.clone();
            stall(document, 2, 10, 5);
            let held = rows.into_iter().filter(|row| row.block == 2 && (10..15).contains(&row.second));
            document.steps[0].series.extend(held);
            document.steps[0].series.sort_by_key(|row| (row.block, row.second));
            let after =
                document.steps[0].series.iter_mut().find(|row| row.block == 2 && row.second == 15).unwrap();
            after.end_to_end.max_ns = Some(6_007_774_677);
            document.steps[0].latency.end_to_end.max_ns = Some(6_007_774_677);
        });
        assert!(finding.claim.contains("for 6.01 s in block 3 of 5 (seconds 8 to 15)"), "{}", finding.claim);
    }

    #[test]
    fn two_stalls_are_told_each_and_three_are_the_tail_of_the_path() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            stall(document, 1, 5, 4);
            stall(document, 3, 12, 6);
        });
        assert!(
            finding
                .claim
                .contains("for 6.00 s in block 4 of 5 (seconds 12 to 18) and for 4.00 s in block 2 of 5"),
            "{}",
            finding.claim
        );
        let mut document = healthy();
        (0..3).for_each(|block| stall(&mut document, block, 9, 6));
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_pause_that_makes_the_maximum_alone_and_a_stall_of_a_load_without_latency_are_not_told() {
        let mut document = healthy();
        let row = document.steps[0].series.iter_mut().find(|row| row.second == 9).unwrap();
        row.end_to_end.max_ns = Some(300_000_000);
        let whole = &mut document.steps[0].latency.end_to_end;
        (whole.p999_ns, whole.max_ns) = (Some(1_200_000), Some(300_000_000));
        assert_eq!(found(&document, RULE.row.id), []);
        let mut document = healthy();
        stall(&mut document, 2, 9, 6);
        document.plan.steps[0].load.schedule =
            Schedule::Ramp { from_per_s: 50.0, to_per_s: 150.0, over: Nanos::from_secs(20) };
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn latency_that_follows_a_ramp_is_not_called_unsteady() {
        let mut document = healthy();
        document.plan.steps[0].load.schedule =
            Schedule::Ramp { from_per_s: 50.0, to_per_s: 150.0, over: Nanos::from_secs(20) };
        set_levels(&mut document, |_, second, level| level * (1.0 + 0.03 * f64::from(second)));
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
