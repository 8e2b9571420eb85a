//! The setting that came out ahead, by the experiment's own verdicts, and the guarantees that it weakens.
//!
//! The lowest figure alone says nothing: another run may order the same settings otherwise. So a step of a run has won only where
//! it was compared with each other step of its load and each comparison differs in its favour, and an arm of a trial only with
//! the trial's verdict. Nothing has won in a run that is invalid.

mod weaker;

use crate::comparison::{is_of_means, is_of_rates};
use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, ComparisonVerdict, ValidityVerdict};
use plumb_model::trial::{Good, MetricResult, MetricRole, TrialResult};
use plumb_model::verdict::Verdict;
use plumb_model::winner::Winner;

/// One held against the other, beyond the noise in the first one's favour.
#[derive(Debug, Clone, Copy)]
struct Win<'d> {
    step: &'d str,
    against: &'d str,
    metric: &'d str,
    good: Good,
    ratio: f64,
    interval: (Option<f64>, Option<f64>),
    level: f64,
}

/// Two steps, or arms, that were compared.
#[derive(Debug, Clone, Copy)]
struct ComparedSteps<'d> {
    a: &'d str,
    b: &'d str,
}

/// The winners, one for each load at most.
pub(crate) fn winners(
    document: &RunDocument,
    verdict: ValidityVerdict,
    comparisons: &[Comparison],
    trial: Option<&TrialResult>,
) -> Vec<Winner> {
    if verdict == ValidityVerdict::Invalid {
        return Vec::new();
    }
    let held: Vec<ComparedSteps> = match trial {
        Some(trial) => trial.verdicts.iter().map(|it| ComparedSteps { a: &it.against, b: &it.arm }).collect(),
        None => main(comparisons).map(|pair| ComparedSteps { a: &pair.a, b: &pair.b }).collect(),
    };
    let wins: Vec<Win> = match trial {
        Some(trial) => wins_of_trial(trial),
        None => main(comparisons).filter_map(win).collect(),
    };
    let ahead: Vec<&Win> = wins.iter().filter(|win| is_ahead(win.step, &held, &wins)).collect();
    let mut winners: Vec<Winner> = Vec::new();
    for win in &ahead {
        // Arms that are all better than the reference, and were not held against each other: the one with the largest effect.
        let rivals = ahead.iter().filter(|other| other.against == win.against && other.step != win.step);
        let rivals: Vec<&&Win> = rivals.collect();
        let is_known = winners.iter().any(|known| known.step == win.step);
        if is_known || rivals.iter().any(|other| effect(other) > effect(win)) {
            continue;
        }
        let also_better = rivals.iter().map(|other| other.step.to_owned()).collect();
        winners.push(Winner { beats_all: is_whole(win.step, &held), also_better, ..told(document, win) });
    }
    winners
}

/// The arm of a trial that is shown to be better than this one, whatever it is to others; none where that is not shown.
pub(crate) fn of_arm(document: &RunDocument, arm: &str, against: &str) -> Option<Winner> {
    let wins = wins_of_trial(document.trial.as_ref()?);
    let win = wins.into_iter().find(|win| win.step == arm && win.against == against)?;
    Some(told(document, &win))
}

fn told(document: &RunDocument, win: &Win) -> Winner {
    Winner {
        step: win.step.to_owned(),
        against: win.against.to_owned(),
        metric: win.metric.to_owned(),
        good: win.good,
        ratio: win.ratio,
        ratio_low: win.interval.0,
        ratio_high: win.interval.1,
        level: win.level,
        beats_all: false,
        also_better: Vec::new(),
        weaker: weaker::than(document, win.step, win.against),
    }
}

/// The size of an effect, whatever its direction.
fn effect(win: &Win) -> f64 {
    win.ratio.ln().abs()
}

/// Comparisons of means, or of rates.
fn main(comparisons: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    comparisons.iter().filter(|pair| is_of_means(pair))
}

/// True if a step beats every step with which it was compared. Those have to be all others of its load, unless all were compared
/// with one reference.
fn is_ahead(step: &str, held: &[ComparedSteps], wins: &[Win]) -> bool {
    let others = held_against(step, held);
    let star = held.iter().all(|pair| held.first().is_some_and(|first| pair.a == first.a));
    let beaten = |other: &&str| wins.iter().any(|win| win.step == step && win.against == *other);
    !others.is_empty() && (star || is_whole(step, held)) && others.iter().all(beaten)
}

/// True if a step was compared with every other step of its load.
fn is_whole(step: &str, held: &[ComparedSteps]) -> bool {
    held_against(step, held).len() + 1 == of_equal_load(step, held).len()
}

fn held_against<'d>(step: &str, held: &[ComparedSteps<'d>]) -> Vec<&'d str> {
    held.iter().filter_map(|pair| pair.other_than(step)).collect()
}

impl<'d> ComparedSteps<'d> {
    /// The one that a step was compared with; none where it is not of the two.
    fn other_than(&self, step: &str) -> Option<&'d str> {
        match (self.a == step, self.b == step) {
            (true, _) => Some(self.b),
            (_, true) => Some(self.a),
            _ => None,
        }
    }
}

/// The step and every step that a chain of comparisons leads to: only steps of equal load are compared.
fn of_equal_load<'d>(step: &'d str, held: &[ComparedSteps<'d>]) -> Vec<&'d str> {
    let mut found = vec![step];
    let mut next = 0;
    while let Some(&from) = found.get(next) {
        for other in held_against(from, held) {
            if !found.contains(&other) {
                found.push(other);
            }
        }
        next += 1;
    }
    found
}

/// The winner of a comparison; none where none is known.
fn win(pair: &Comparison) -> Option<Win<'_>> {
    let ratio = pair.ratio.filter(|_| pair.verdict == ComparisonVerdict::Differs)?;
    let good = if is_of_rates(pair) { Good::Higher } else { Good::Lower };
    let second = (ratio < 1.0) == (good == Good::Lower);
    let (step, against) = if second { (&pair.b, &pair.a) } else { (&pair.a, &pair.b) };
    let (ratio, interval) = match second {
        true => (ratio, (pair.ratio_low, pair.ratio_high)),
        false => (1.0 / ratio, (pair.ratio_high.map(f64::recip), pair.ratio_low.map(f64::recip))),
    };
    Some(Win { step, against, metric: &pair.metric, good, ratio, interval, level: pair.level })
}

/// Verdicts that say which arm is better, each with the primary metric's figures.
fn wins_of_trial(trial: &TrialResult) -> Vec<Win<'_>> {
    let decided = trial.verdicts.iter().filter_map(|verdict| {
        let primary = trial.metrics.iter().find(|metric| {
            metric.role == MetricRole::Primary
                && metric.arm == verdict.arm
                && metric.against == verdict.against
        })?;
        match verdict.verdict {
            Verdict::Better => win_of_arm(primary, true),
            Verdict::Worse => win_of_arm(primary, false),
            Verdict::Equivalent | Verdict::Undecided => None,
        }
    });
    decided.collect()
}

fn win_of_arm(primary: &MetricResult, arm: bool) -> Option<Win<'_>> {
    let ratio = primary.estimate_ratio.filter(|ratio| *ratio > 0.0)?;
    let (step, against) = match arm {
        true => (&primary.arm, &primary.against),
        false => (&primary.against, &primary.arm),
    };
    let (ratio, interval) = match arm {
        true => (ratio, (primary.interval_low, primary.interval_high)),
        false => (1.0 / ratio, (primary.interval_high.map(f64::recip), primary.interval_low.map(f64::recip))),
    };
    let (metric, good, level) = (primary.name.as_str(), primary.good, primary.level);
    Some(Win { step, against, metric, good, ratio, interval, level })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::healthy;

    fn compared(a: &str, b: &str, ratio: f64, verdict: ComparisonVerdict) -> Comparison {
        Comparison {
            a: a.to_owned(),
            b: b.to_owned(),
            metric: "end_to_end.mean".to_owned(),
            ratio: Some(ratio),
            ratio_low: Some(ratio * 0.9),
            ratio_high: Some(ratio * 1.1),
            level: 0.95,
            p_adjusted: None,
            smallest_detectable_ratio: None,
            blocks: 5,
            verdict,
            durability_differences: Vec::new(),
            durability_not_known: Vec::new(),
        }
    }

    fn won(comparisons: &[Comparison]) -> Vec<String> {
        let winners = winners(&healthy(), ValidityVerdict::Valid, comparisons, None);
        winners.into_iter().map(|winner| winner.step).collect()
    }

    #[test]
    fn a_setup_wins_only_where_it_beats_each_other_one_by_more_than_the_noise() {
        use ComparisonVerdict::{Differs, WithinNoise};
        let b_against_c = |verdict| {
            [
                compared("a", "b", 0.5, Differs),
                compared("a", "c", 0.9, Differs),
                compared("b", "c", 1.1, verdict),
            ]
        };
        assert_eq!(won(&b_against_c(Differs)), ["b"]);
        assert_eq!(won(&b_against_c(WithinNoise)), [""; 0]);
        assert_eq!(won(&[]), [""; 0]);
    }

    #[test]
    fn of_setups_that_were_held_against_one_alone_the_largest_effect_is_told_with_the_others() {
        use ComparisonVerdict::Differs;
        let star = [compared("a", "b", 0.5, Differs), compared("a", "c", 0.8, Differs)];
        let winners = winners(&healthy(), ValidityVerdict::Valid, &star, None);
        assert_eq!(winners.len(), 1);
        assert!(!winners[0].beats_all, "b and c were only held against a");
        assert_eq!(
            (winners[0].step.as_str(), winners[0].also_better.as_slice()),
            ("b", &["c".to_owned()][..])
        );
    }

    #[test]
    fn where_the_reference_is_ahead_its_figures_are_turned_around() {
        let pair = [compared("a", "b", 2.0, ComparisonVerdict::Differs)];
        let winners = winners(&healthy(), ValidityVerdict::Valid, &pair, None);
        let winner = &winners[0];
        assert_eq!((winner.step.as_str(), winner.ratio), ("a", 0.5));
        let (low, high) = (winner.ratio_low.unwrap(), winner.ratio_high.unwrap());
        assert!((low - 1.0 / 2.2).abs() < 1e-9 && (high - 1.0 / 1.8).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn more_is_better_of_rates() {
        let mut pair = compared("a", "b", 2.0, ComparisonVerdict::Differs);
        pair.metric = crate::comparison::PRODUCED_PER_S.to_owned();
        assert_eq!(won(&[pair]), ["b"]);
    }

    #[test]
    fn nothing_wins_in_an_invalid_run() {
        let pair = [compared("a", "b", 0.5, ComparisonVerdict::Differs)];
        assert_eq!(winners(&healthy(), ValidityVerdict::Invalid, &pair, None), []);
    }
}
