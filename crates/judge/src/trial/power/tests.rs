//! Designs of known spreads.

use super::*;
use crate::trial::tests::trials::{equal, started};

fn question(unit: Unit) -> Question {
    Question { unit, comparisons: 1, level: 0.95, margin: 0.03, detect: None, pairs_max: 100, pair_s: None }
}

fn spread(sd_log: f64, units: usize, unit: Unit) -> Spread {
    Spread { metric: "end_to_end.p99", sd_log, units, unit }
}

const OF_TWO: Unit = Unit::Start { pairs: 2 };

/// By hand: 8 pairs, so 7 degrees of freedom, qchisq(0.2, 7) = 3.8223: sqrt(7 / 3.8223) = 1.3533.
#[test]
fn a_spread_that_few_pairs_know_badly_may_be_a_third_larger() {
    assert!((spread_high(0.1, 8).unwrap() - 0.135_33).abs() < 1e-4);
    assert_eq!(spread_high(0.1, 1), None);
    assert!(spread_low(0.1, 8).unwrap() < 0.1);
}

#[test]
fn pairs_that_share_starts_are_counted_as_starts() {
    let document = started(&[("same", 1.0)], 2);
    let of = |unit| power(&document, Question { detect: Some(0.10), ..question(unit) }).unwrap();
    let by_starts = of(OF_TWO);
    let first = &by_starts.metrics[0];
    assert_eq!(
        (by_starts.pairs_per_start, by_starts.pilot_pairs, by_starts.pilot_starts),
        (Some(2), 12, Some(6))
    );
    assert_eq!((first.starts, first.pairs), (Some(6), 12));
    let trial = crate::judge(&document).trial.unwrap();
    let shown = trial.noise_floor[0].smallest_detectable_ratio.unwrap();
    let design = first.designs.iter().find(|design| design.starts == Some(6)).unwrap();
    assert_eq!(design.pairs, 12);
    assert!(
        (design.detectable_ratio - shown).abs() < 1e-12,
        "before and after say the same: {design:?} {shown}"
    );
    let (starts, pairs) = (first.starts_for_detect.unwrap(), first.pairs_for_detect.unwrap());
    assert_eq!(pairs, 2 * starts);
    let said = by_starts.summary.join(" ");
    for part in [
        &format!("{starts} starts of 2 pairs (--pairs {pairs} --restart-every 2) show a difference of 10 %"),
        "the start is the unit",
        "6 starts, 12 pairs",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn every_arm_more_and_every_look_take_more_pairs() {
    let document = equal(12);
    let pairs = |question| power(&document, question).unwrap().metrics[0].pairs_for_margin.unwrap();
    let one = pairs(question(Unit::Pair));
    let twelve = Question { comparisons: 12, ..question(Unit::Pair) };
    assert!(pairs(twelve) > one && pairs(question(Unit::PairLookedAt)) > one);
    let said = power(&document, twelve).unwrap().summary.join(" ");
    assert!(said.contains("with all 12 comparisons allowed for"), "{said}");
    let said = power(&document, question(Unit::PairLookedAt)).unwrap().summary.join(" ");
    assert!(said.contains("--max-pairs"), "{said}");
}

#[test]
fn what_speaks_against_the_pilot_is_said_before_its_numbers() {
    let cautions = |document: &RunDocument| power(document, question(Unit::Pair)).unwrap().cautions;
    let judged = |harm: &dyn Fn(&mut RunDocument)| {
        let mut document = equal(12);
        harm(&mut document);
        document.validity = crate::judge(&document).validity;
        document
    };
    let suspect = judged(&|_| ());
    let invalid = judged(&|document| document.steps[2].slip.mean_ns = Some(9e8));
    let said = cautions(&invalid);
    assert!(
        said.iter().any(|said| {
            said.starts_with("The pilot's figures are not fit for use") && said.contains("\"default, again\"")
        }),
        "{said:?}"
    );
    assert!(cautions(&suspect).len() < said.len());
    let of_another_arm = judged(&|document| document.steps[1].slip.mean_ns = Some(9e8));
    assert_eq!(cautions(&of_another_arm), cautions(&suspect), "an arm that is not the reference is no pilot");
}

/// The pilot's equal arms, in one pair of which the second one's p99 is sixfold.
fn with_a_stall(pairs: u32) -> RunDocument {
    let mut document = equal(pairs);
    let block = &mut document.steps[2].blocks[3];
    block.end_to_end.p99_ns = block.end_to_end.p99_ns.map(|p99| 6 * p99);
    document
}

#[test]
fn one_stalled_pair_is_told_with_the_fewer_pairs_that_ranks_take() {
    let of = |document: &RunDocument| power(document, question(Unit::Pair)).unwrap();
    let (quiet, stalled) = (of(&equal(12)), of(&with_a_stall(12)));
    assert!(!quiet.summary.join(" ").contains("far from all others"), "{:?}", quiet.summary);
    assert!(stalled.metrics[0].sd_log > 4.0 * quiet.metrics[0].sd_log, "{:?}", stalled.metrics[0]);
    let said = stalled.summary.last().unwrap();
    let words: Vec<&str> = said.split("about ").collect();
    let fewer: u64 = words[1].split(' ').next().unwrap().replace(',', "").parse().unwrap();
    let (plain, usual) =
        (stalled.metrics[0].pairs_for_margin.unwrap(), quiet.metrics[0].pairs_for_margin.unwrap());
    assert!(fewer < plain / 4 && fewer < 4 * usual, "{fewer} {plain} {usual}");
    // Starts are judged by Student's t, which stalls move.
    let by_starts = power(&with_a_stall(12), question(OF_TWO)).unwrap();
    assert!(!by_starts.summary.join(" ").contains("far from all others"), "{:?}", by_starts.summary);
}

#[test]
fn one_stalled_pair_of_the_pilot_refuses_no_trial() {
    let of = |document: &RunDocument| spreads(document).remove(0);
    let (quiet, stalled) = (of(&equal(12)), of(&with_a_stall(12)));
    assert!(stalled.sd_log < 2.0 * quiet.sd_log, "{stalled:?} {quiet:?}");
}

#[test]
fn fewer_than_two_samples_of_the_metric_that_decides_are_refused_in_its_unit() {
    let mut document = started(&[("same", 1.0)], 2);
    document.steps.iter_mut().for_each(|step| step.blocks.truncate(2));
    let error = power(&document, question(OF_TWO)).unwrap_err();
    assert!(error.to_string().contains("have 1 start of end_to_end.p99"), "{error}");
    document.plan.trial = None;
    assert_eq!(power(&document, question(OF_TWO)), Err(PowerError::NoTrial));
}

#[test]
fn a_trial_that_leaves_a_third_unseen_is_hopeless_and_one_that_does_not_is_none() {
    for (unit, pairs) in [(Unit::Pair, 8), (OF_TWO, 12)] {
        let (quiet, noisy) = (spread(0.05, 12, unit), spread(1.2, 12, unit));
        assert_eq!(hopeless(&quiet, pairs, question(unit)), None);
        let found = hopeless(&noisy, pairs, question(unit)).unwrap();
        assert!(found.detectable_ratio > 1.35 && found.limit_ratio < 1.35, "{found:?}");
        let enough = unit.pairs_in(found.units_needed.unwrap()) as u32;
        assert_eq!(hopeless(&noisy, enough, question(unit)), None);
        assert!(hopeless(&noisy, enough - unit.pairs_each(), question(unit)).is_some());
    }
}

/// 0.31 over 12 starts: six starts do not show a third by it, and the 12 pairs on them would, were they samples.
#[test]
fn a_trial_that_is_hopeless_by_its_starts_is_not_saved_by_their_pairs() {
    let seen = spread(0.27, 12, OF_TWO);
    assert!(hopeless(&seen, 12, question(OF_TWO)).is_none(), "the least that it may be is 0.20");
    let seen = spread(0.31, 12, OF_TWO);
    assert!(hopeless(&seen, 12, question(OF_TWO)).is_some());
    assert!(hopeless(&spread(0.31, 12, Unit::Pair), 12, question(Unit::Pair)).is_none());
    // Four pairs on a start may average out all of what two do not share.
    assert!(hopeless(&seen, 24, question(Unit::Start { pairs: 4 })).is_none());
}
