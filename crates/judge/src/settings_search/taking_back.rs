//! Which changes of a winner are taken back before the proof: those whose own part is not shown.
//!
//! A trial of the parts leaves each change out in turn. Those without which the rest is not shown to be worse go back together, and what
//! is left is raced against all: two changes may do the same, so that neither is missed by itself and both are missed together. Where
//! it is worse, half of them are kept, those first that looked like mattering most, and so on; and what was kept without being shown to
//! matter has its parts measured once more, in its own company. Where no change is shown to matter, the one that looked like it most is
//! raced alone. Pure: the trials so far in, the next one out.

use super::arms::{ALL, FEWER, without};
use plumb_model::document::RunDocument;
use plumb_model::plan::Properties;
use plumb_model::search_report::PartVerdict;
use plumb_model::trial::{Good, MetricResult, MetricRole};
use plumb_model::verdict::Verdict;
use std::collections::BTreeMap;

/// Trials before the proof, at most.
pub const TRIALS_MOST: usize = 6;

/// What is estimated to cost more than this share is not taken back, shown or not (ours: in simulations 15 % are no better, because the proof
/// then brings all changes back more often).
const LOSS_MOST: f64 = 0.05;

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakingBack {
    /// A trial of all these changes against all but each in turn.
    Parts(Properties),
    /// A trial of all changes against fewer.
    Race {
        /// All.
        all: Properties,
        /// Those that stay.
        fewer: Properties,
    },
    /// These changes are to be proven.
    Prove(Properties),
}

/// What a trial came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// Each change's own part, as far as there are figures.
    Parts(BTreeMap<String, Part>),
    /// Fewer changes against all; absent without figures.
    Race(Option<Part>),
}

/// What changes do that are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// What is shown.
    pub verdict: PartVerdict,
    /// Logarithm of the metric without them over the metric with them; above 0 is worse.
    pub loss: Option<f64>,
}

/// What comes after these trials of a winner.
pub fn taking_back(winner: &Properties, trials: &[Taken]) -> TakingBack {
    let mut all = winner.clone();
    let mut left = trials.iter();
    while all.len() > 1 {
        if trials.len() >= TRIALS_MOST && left.len() == 0 {
            break;
        }
        let parts = match left.next() {
            None => return TakingBack::Parts(all),
            Some(Taken::Parts(parts)) => parts,
            Some(Taken::Race(_)) => break,
        };
        let order = in_order(&all, parts);
        let shown = order.iter().filter(|(_, part)| part.verdict == PartVerdict::Matters).count();
        if shown == all.len() || parts.is_empty() {
            break;
        }
        let Some(kept) = kept(&all, &order, shown.max(1), &mut left) else { break };
        match kept {
            Err(race) if trials.len() < TRIALS_MOST => return race,
            Err(_) => break,
            Ok(fewer) => {
                let are_shown = fewer.len() <= shown;
                all = fewer;
                if are_shown {
                    break;
                }
            }
        }
    }
    TakingBack::Prove(all)
}

/// Those of the changes to prove that are shown to matter, or the one that looked like it most: less is proven beside them where it is better
/// by itself. All of them where nothing was measured.
pub fn shown_to_matter(changes: &Properties, trials: &[Taken]) -> Properties {
    let covers = |taken: &&Taken| match taken {
        Taken::Parts(parts) => changes.keys().all(|name| parts.contains_key(name)),
        Taken::Race(_) => false,
    };
    let Some(Taken::Parts(parts)) = trials.iter().rev().find(covers) else { return changes.clone() };
    let order = in_order(changes, parts);
    let matters = order.iter().filter(|(_, part)| part.verdict == PartVerdict::Matters).count();
    let kept: Vec<&String> = order[..matters.max(1).min(order.len())].iter().map(|(name, _)| *name).collect();
    changes
        .iter()
        .filter(|(name, _)| kept.contains(name))
        .map(|(name, to)| (name.clone(), to.clone()))
        .collect()
}

/// The fewest of the changes that hold against all, or the race that tells; none where all of them stay.
fn kept<'t>(
    all: &Properties,
    order: &[(&String, Part)],
    fewest: usize,
    races: &mut impl Iterator<Item = &'t Taken>,
) -> Option<Result<Properties, TakingBack>> {
    let mut kept = fewest;
    while kept < order.len() {
        let names: Vec<&String> = order[..kept].iter().map(|(name, _)| *name).collect();
        let mut fewer = all.clone();
        fewer.retain(|name, _| names.contains(&name));
        match races.next() {
            None => return Some(Err(TakingBack::Race { all: all.clone(), fewer })),
            Some(Taken::Race(race)) if race.is_some_and(Part::is_no_loss) => return Some(Ok(fewer)),
            Some(_) => kept += (order.len() - kept).div_ceil(2),
        }
    }
    None
}

/// The changes, those first without which the rest is worst: what is shown before what is not.
fn in_order<'c>(all: &'c Properties, parts: &BTreeMap<String, Part>) -> Vec<(&'c String, Part)> {
    let unknown = Part { verdict: PartVerdict::NotMeasured, loss: None };
    let mut order: Vec<(&String, Part)> =
        all.keys().map(|name| (name, parts.get(name).copied().unwrap_or(unknown))).collect();
    let rank = |part: &Part| {
        let is_shown = part.verdict == PartVerdict::Matters;
        (is_shown, part.loss.unwrap_or(f64::NEG_INFINITY))
    };
    order.sort_by(|(_, a), (_, b)| {
        let (a, b) = (rank(a), rank(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    order
}

impl Part {
    /// True if nothing shows that something is lost.
    fn is_no_loss(self) -> bool {
        self.verdict != PartVerdict::Matters && self.loss.is_some_and(|loss| loss <= LOSS_MOST.ln_1p())
    }

    fn of(result: &MetricResult) -> Part {
        let loss = result.estimate_ratio.map(f64::ln);
        let sign = if result.good == Good::Lower { 1.0 } else { -1.0 };
        Part { verdict: part_verdict(result), loss: loss.map(|loss| sign * loss) }
    }
}

/// What a trial says of changes that it leaves out, which allows for how many comparisons there are.
pub(super) fn part_verdict(part: &MetricResult) -> PartVerdict {
    match part.verdict {
        Verdict::Equivalent => PartVerdict::Idle,
        Verdict::Worse => PartVerdict::Matters,
        Verdict::Better => PartVerdict::Harmful,
        Verdict::Undecided => PartVerdict::NotShown,
    }
}

impl Taken {
    /// The figures of a trial's document.
    pub fn of(document: &RunDocument) -> Taken {
        let metrics = document.trial.iter().flat_map(|trial| &trial.metrics);
        let of_all =
            || metrics.clone().filter(|metric| metric.role == MetricRole::Primary && metric.against == ALL);
        let figure = |metric: &MetricResult| metric.estimate_ratio.map(|_| Part::of(metric));
        if let Some(race) = of_all().find(|metric| metric.arm == FEWER) {
            return Taken::Race(figure(race));
        }
        let part = |metric: &MetricResult| {
            let setting = metric.arm.strip_prefix(&without(""))?;
            Some((setting.to_owned(), figure(metric)?))
        };
        Taken::Parts(of_all().filter_map(part).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(names: &[&str]) -> Properties {
        names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect()
    }

    fn part(verdict: PartVerdict, loss: f64) -> Part {
        Part { verdict, loss: Some(loss) }
    }

    fn parts(of: &[(&str, PartVerdict, f64)]) -> Taken {
        Taken::Parts(
            of.iter().map(|(name, verdict, loss)| ((*name).to_owned(), part(*verdict, *loss))).collect(),
        )
    }

    const SHOWN: PartVerdict = PartVerdict::Matters;
    const NOT_SHOWN: PartVerdict = PartVerdict::NotShown;

    fn race(verdict: PartVerdict, loss: f64) -> Taken {
        Taken::Race(Some(part(verdict, loss)))
    }

    fn raced(all: &[&str], fewer: &[&str]) -> TakingBack {
        TakingBack::Race { all: changes(all), fewer: changes(fewer) }
    }

    #[test]
    fn a_single_change_and_changes_that_are_all_shown_are_proven_as_they_are() {
        assert_eq!(taking_back(&changes(&["a"]), &[]), TakingBack::Prove(changes(&["a"])));
        let both = changes(&["a", "b"]);
        assert_eq!(taking_back(&both, &[]), TakingBack::Parts(both.clone()));
        let shown = [parts(&[("a", SHOWN, 1.0), ("b", SHOWN, 0.1)])];
        assert_eq!(taking_back(&both, &shown), TakingBack::Prove(both));
    }

    #[test]
    fn what_is_not_shown_goes_back_and_the_rest_is_raced_and_proven() {
        let all = ["a", "b", "c", "d"];
        let mut trials = vec![parts(&[
            ("a", NOT_SHOWN, 0.02),
            ("b", SHOWN, 1.0),
            ("c", PartVerdict::Idle, 0.0),
            ("d", PartVerdict::Harmful, -0.2),
        ])];
        assert_eq!(taking_back(&changes(&all), &trials), raced(&all, &["b"]));
        trials.push(race(NOT_SHOWN, 0.01));
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Prove(changes(&["b"])));
    }

    #[test]
    fn of_two_that_do_the_same_one_is_kept() {
        let all = ["a", "b", "c"];
        let mut trials = vec![parts(&[("a", NOT_SHOWN, 0.01), ("b", NOT_SHOWN, 0.03), ("c", SHOWN, 0.5)])];
        assert_eq!(taking_back(&changes(&all), &trials), raced(&all, &["c"]));
        trials.push(race(SHOWN, 2.0));
        assert_eq!(taking_back(&changes(&all), &trials), raced(&all, &["b", "c"]));
        trials.push(race(NOT_SHOWN, 0.0));
        // Its part is another one without the other.
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Parts(changes(&["b", "c"])));
        trials.push(parts(&[("b", SHOWN, 2.0), ("c", SHOWN, 0.5)]));
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Prove(changes(&["b", "c"])));
    }

    #[test]
    fn where_none_is_shown_the_one_that_looks_most_like_it_is_raced_alone() {
        let all = ["a", "b", "c"];
        let mut trials =
            vec![parts(&[("a", NOT_SHOWN, 0.01), ("b", NOT_SHOWN, 0.2), ("c", NOT_SHOWN, -0.1)])];
        assert_eq!(taking_back(&changes(&all), &trials), raced(&all, &["b"]));
        trials.push(race(NOT_SHOWN, -0.02));
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Prove(changes(&["b"])));
    }

    #[test]
    fn what_is_estimated_to_cost_much_stays_and_so_does_all_where_nothing_less_holds_or_nothing_was_measured()
    {
        let all = ["a", "b"];
        let mut trials = vec![parts(&[("a", SHOWN, 1.0), ("b", NOT_SHOWN, 0.2)])];
        trials.push(race(NOT_SHOWN, 0.3));
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Prove(changes(&all)));
        trials[1] = Taken::Race(None);
        assert_eq!(taking_back(&changes(&all), &trials), TakingBack::Prove(changes(&all)));
        let unmeasured = [Taken::Parts(BTreeMap::new())];
        assert_eq!(taking_back(&changes(&all), &unmeasured), TakingBack::Prove(changes(&all)));
    }

    #[test]
    fn what_is_shown_is_by_the_last_trial_of_these_changes_and_at_least_one() {
        let trials = [
            parts(&[("a", SHOWN, 1.0), ("b", NOT_SHOWN, 0.3), ("c", NOT_SHOWN, 0.0)]),
            race(NOT_SHOWN, 0.0),
            parts(&[("a", NOT_SHOWN, 0.1), ("b", SHOWN, 0.5)]),
        ];
        assert_eq!(shown_to_matter(&changes(&["a", "b"]), &trials), changes(&["b"]));
        assert_eq!(shown_to_matter(&changes(&["a", "b", "c"]), &trials), changes(&["a"]));
        let none = [parts(&[("a", NOT_SHOWN, 0.1), ("b", NOT_SHOWN, 0.2)])];
        assert_eq!(shown_to_matter(&changes(&["a", "b"]), &none), changes(&["b"]));
        assert_eq!(shown_to_matter(&changes(&["a", "b"]), &[]), changes(&["a", "b"]));
    }

    #[test]
    fn it_ends_whatever_the_trials_say() {
        let names: Vec<String> = (0..14).map(|at| format!("{at:02}")).collect();
        let all: Properties = names.iter().map(|name| (name.clone(), "1".to_owned())).collect();
        for verdicts in 0..64_u32 {
            let mut trials = Vec::new();
            for at in 0..=TRIALS_MOST {
                let lost = verdicts >> at & 1 == 1;
                match taking_back(&all, &trials) {
                    TakingBack::Prove(proven) => {
                        assert!(!proven.is_empty());
                        break;
                    }
                    TakingBack::Race { all, fewer } => {
                        assert!(!fewer.is_empty() && fewer.len() < all.len());
                        trials.push(race(if lost { SHOWN } else { NOT_SHOWN }, 0.0));
                    }
                    TakingBack::Parts(all) => trials.push(Taken::Parts(
                        all.keys().map(|name| (name.clone(), part(NOT_SHOWN, 0.0))).collect(),
                    )),
                }
                assert!(at < TRIALS_MOST, "{verdicts}");
            }
        }
    }
}
