//! From the arms of a trial to steps, and from its words to the plan of what is held against what.
//!
//! Each arm becomes one step, and the reference becomes a second one at the end: how far apart the two come out is what
//! this setup makes of no difference at all. What is written as a load's length is that of one block.

mod differences;
mod primary;

use super::sweep::{Variant, Written};
use super::{ResolveError, Trail};
use crate::plan::{ClusterPlan, Length, LoadPlan, Origin, Plan, StepPlan};
use crate::scenario::{ArmClusterWords, ArmLabWords, ArmWords, Scenario, TrialWords};
use crate::trial::{Against, ArmPlan, TrialPlan};
use crate::units::Nanos;
use crate::verdict::Verdict;
use differences::Arm;

/// Pairs where nobody says how many: with a spread of 5 % between neighbouring blocks they show a difference of 4.8 % with
/// a chance of 80 % (signed-rank test at 95 %).
const PAIRS: u32 = 12;
/// Most pairs of a trial that stops when it is decided, where nobody says: looking after every pair costs up to about
/// 1.7 times as many as a number fixed before (our simulations of the sign-flip e-process).
const MAX_PAIRS: u32 = 40;
/// Starts of the brokers over a trial whose arms differ in them. The start is the unit there, and Student's t asks of 6 for 2.6
/// standard errors at 95 %; of 3 it asks for 4.3.
const STARTS: u32 = 6;
/// Largest margin: beyond it "equivalent" says nothing (ours).
const MARGIN_MAX: f64 = 0.5;

/// The arms as setups, the reference once more at the end; none where the scenario has no arms.
pub(super) fn setups(scenario: &Scenario, trail: &Trail) -> Result<Option<Vec<Written>>, ResolveError> {
    let arms = &scenario.arms.0;
    let Some((reference, words)) = arms.first() else {
        return match &scenario.trial {
            Some(_) => Err(ResolveError::Missing {
                place: trail.source_place("trial"),
                path: "arms",
                reason: "a trial holds arms against each other: {default: {}, low: {producer: {linger.ms: 0}}}",
            }),
            None => Ok(None),
        };
    };
    for (first, given, reason) in [
        (
            "setups",
            !scenario.setups.is_empty(),
            "a scenario has setups to measure or arms to hold against each other",
        ),
        (
            "goal",
            scenario.goal.is_some(),
            "a trial holds arms against each other at one rate, and a goal searches for rates",
        ),
        (
            "blocks",
            scenario.blocks.is_some(),
            "in a trial every pair is a block of each arm: say trial.pairs",
        ),
    ] {
        if given {
            let place = trail.source_place(first);
            return Err(ResolveError::Conflict { place, first: first.into(), second: "arms".into(), reason });
        }
    }
    if arms.len() < 2 {
        return Err(out_of_bounds(
            trail,
            "arms",
            "1 arm".into(),
            "at least 2",
            "the first is the reference of the others",
        ));
    }
    let written = |(name, words): &(String, ArmWords), called: &str| Written {
        place: format!("arms.{name}"),
        setup: words.setup(called),
    };
    let mut setups: Vec<Written> = arms.iter().map(|arm| written(arm, &arm.0)).collect();
    setups.push(written(&(reference.clone(), words.clone()), &format!("{reference}, again")));
    Ok(Some(setups))
}

/// The single setting that an arm is; an error where its words stand for several.
pub(super) fn single(variants: Vec<Variant>, trail: &Trail) -> Result<Variant, ResolveError> {
    let names: Vec<&str> = variants.iter().filter_map(|variant| variant.name.as_deref()).collect();
    let got = match names[..] {
        [first, second, ..] => format!("several settings ({first}; {second}; ...)"),
        _ => return Ok(variants.into_iter().next().expect("a setup stands for at least one setting")),
    };
    let path = variants[0].place.clone();
    let reason = "a trial holds single settings against each other: give each value an arm of its own";
    Err(out_of_bounds(trail, &path, got, "a single setting", reason))
}

/// The lab of each step that has brokers of its own. The reference has them twice, where any arm has them: how far two
/// starts of the same brokers differ is part of the noise.
pub(super) fn clusters(
    scenario: &Scenario,
    base: &ClusterPlan,
    trail: &mut Trail,
) -> Result<Vec<Option<ClusterPlan>>, ResolveError> {
    let mut own = Vec::new();
    for (name, words) in &scenario.arms.0 {
        let Some(ArmClusterWords::Lab(lab)) = &words.cluster else {
            own.push(None);
            continue;
        };
        let path = format!("arms.{name}.cluster");
        let Some(plan) = own_lab(base, lab) else {
            return Err(ResolveError::Conflict {
                place: trail.source_place(&path),
                first: path,
                second: "cluster.bootstrap".into(),
                reason: "only the brokers of a lab are Plumb's to start differently; for others, change them in `before`",
            });
        };
        own.push((plan != *base).then_some(plan));
    }
    let differ = own.iter().any(|lab| lab != &own[0]);
    let again = own.len();
    if own.is_empty() {
        return Ok(own);
    }
    own.push(match &own[0] {
        Some(lab) => Some(lab.clone()),
        None => differ.then(|| base.clone()),
    });
    for (index, (name, _)) in scenario.arms.0.iter().enumerate() {
        trail.arm_origin(index, name, "cluster");
        if own[index].is_some() {
            trail.arm_lab_origins(index, name);
        }
    }
    let reason = "the reference once more, on brokers started for it".to_owned();
    let origin = if own[again].is_some() { Origin::Derived { reason } } else { Origin::Default };
    trail.origins.insert(format!("steps.{again}.cluster"), origin);
    Ok(own)
}

fn own_lab(base: &ClusterPlan, words: &ArmLabWords) -> Option<ClusterPlan> {
    let mut plan = base.clone();
    let ClusterPlan::Lab { tls, inter_broker, broker_properties, jvm_flags, heap, .. } = &mut plan else {
        return None;
    };
    *tls = words.tls.unwrap_or(*tls);
    *inter_broker = words.inter_broker.unwrap_or(*inter_broker);
    broker_properties
        .extend(words.broker_properties.iter().map(|(key, value)| (key.clone(), value.0.clone())));
    jvm_flags.extend(words.jvm_flags.iter().cloned());
    if let Some(own) = &words.heap {
        heap.clone_from(own);
    }
    Some(plan)
}

/// The rounds of a trial.
#[derive(Clone, Copy)]
struct Rounds {
    /// The most of them.
    pairs: u32,
    /// True if fewer may do.
    until_decided: bool,
}

/// Pairs, and what is held against what. Lengths, written for one block, become those of whole steps.
pub(super) fn plan(
    scenario: &Scenario,
    cluster: &ClusterPlan,
    steps: &mut [StepPlan],
    trail: &mut Trail,
) -> Result<(u32, TrialPlan), ResolveError> {
    let words = scenario.trial.clone().unwrap_or_default();
    let Rounds { pairs, until_decided } = pairs(&words, trail)?;
    let primary = primary::primary(&words, steps, trail)?;
    let margin = trail.scenario("trial.margin", words.margin.map(|margin| margin.0), || 0.03);
    if !(margin > 0.0 && margin <= MARGIN_MAX) {
        let expected = format!("above 0 and at most {MARGIN_MAX} (50%)");
        let reason = "it is the largest difference that counts as none";
        return Err(out_of_bounds(trail, "trial.margin", margin.to_string(), &expected, reason));
    }
    let restart_every = restart_every(&words, cluster, steps, Rounds { pairs, until_decided }, trail)?;
    let accept =
        trail.scenario("trial.accept", words.accept.clone(), || vec![Verdict::Better, Verdict::Equivalent]);
    if accept.is_empty() {
        let reason = "with none the command could only fail";
        return Err(out_of_bounds(trail, "trial.accept", "empty".into(), "at least one verdict", reason));
    }
    let against = against(&words, &steps[..scenario.arms.0.len()], trail)?;
    // An arm is held against the reference with all that they were resolved to, before lengths are those of steps.
    let arms = arms(scenario, cluster, steps, trail);
    for (index, step) in steps.iter_mut().enumerate() {
        lengthen(&mut step.load, pairs);
        if let Some(origin) = trail.origins.get_mut(&format!("steps.{index}.load.length")) {
            *origin = Origin::Derived { reason: format!("{pairs} blocks of the length written ({origin})") };
        }
    }
    let trial =
        TrialPlan { again: arms.len(), arms, against, primary, margin, until_decided, restart_every, accept };
    Ok((pairs, trial))
}

/// The most rounds, and true if fewer may do.
fn pairs(words: &TrialWords, trail: &mut Trail) -> Result<Rounds, ResolveError> {
    let until_decided = trail.scenario("trial.until_decided", words.until_decided, || false);
    let conflict = |first: &str, second: &str, reason| {
        Err(ResolveError::Conflict {
            place: trail.source_place(first),
            first: first.into(),
            second: second.into(),
            reason,
        })
    };
    match (until_decided, words.pairs, words.max_pairs) {
        (true, Some(_), _) => conflict(
            "trial.pairs",
            "trial.until_decided",
            "a trial has so many pairs, or as many as it takes: bound it with max_pairs",
        ),
        (false, _, Some(_)) => conflict(
            "trial.max_pairs",
            "trial.pairs",
            "max_pairs bounds a trial that stops when it is decided: add until_decided, or say pairs",
        ),
        (true, None, most) => {
            let pairs = trail.scenario("trial.max_pairs", most, || MAX_PAIRS);
            trail.same_origin("blocks", "trial.max_pairs");
            Ok(Rounds { pairs, until_decided: true })
        }
        (false, pairs, None) => {
            let pairs = trail.scenario("trial.pairs", pairs, || PAIRS);
            trail.same_origin("blocks", "trial.pairs");
            Ok(Rounds { pairs, until_decided: false })
        }
    }
}

/// The arms that are compared with each other: at least two.
fn against(words: &TrialWords, arms: &[StepPlan], trail: &mut Trail) -> Result<Against, ResolveError> {
    let against = trail.scenario("trial.against", words.against, Against::default);
    let alike = |(at, arm): (usize, &StepPlan)| {
        arms[..at].iter().any(|earlier| earlier.load.same_but_length(&arm.load))
    };
    if against == Against::EachOther && !arms.iter().enumerate().any(alike) {
        return Err(out_of_bounds(
            trail,
            "trial.against",
            "each_other".into(),
            "reference, or two of the arms of equal load (all of it but its length)",
            "each_other holds arms of equal load against each other, and here no two are",
        ));
    }
    Ok(against)
}

fn restart_every(
    words: &TrialWords,
    cluster: &ClusterPlan,
    steps: &[StepPlan],
    rounds: Rounds,
    trail: &mut Trail,
) -> Result<u32, ResolveError> {
    let Rounds { pairs, until_decided } = rounds;
    let is_lab = |cluster: &ClusterPlan| matches!(cluster, ClusterPlan::Lab { .. });
    let own = || steps.iter().filter_map(|step| step.cluster.as_ref());
    let lab = is_lab(cluster) && own().all(is_lab);
    let differ = lab && own().next().is_some();
    if words.restart_every.is_some_and(|every| every > 0) && !lab {
        return Err(ResolveError::Conflict {
            place: trail.source_place("trial.restart_every"),
            first: "trial.restart_every".into(),
            second: "cluster.bootstrap".into(),
            reason: "only the brokers of a lab are Plumb's to restart",
        });
    }
    if until_decided && words.restart_every.is_some_and(|every| every > 1) {
        return Err(ResolveError::Conflict {
            place: trail.source_place("trial.restart_every"),
            first: "trial.restart_every".into(),
            second: "trial.until_decided".into(),
            reason: "where pairs share a start of the brokers the start is the unit, by a test of a number fixed before: \
                     restart after every pair (1), or say pairs instead of until_decided",
        });
    }
    let every = trail.scenario("trial.restart_every", words.restart_every, || match differ {
        true if until_decided => 1,
        true => pairs.div_ceil(STARTS),
        false => 0,
    });
    if differ && words.restart_every.is_none() {
        let reason = match until_decided {
            true => "arms differ in their brokers, and looking after every pair asks for a start of its own for each".into(),
            false => format!("arms differ in their brokers: {} starts of each", pairs.div_ceil(every.max(1))),
        };
        trail.origins.insert("trial.restart_every".to_owned(), Origin::Derived { reason });
    }
    Ok(every)
}

fn arms(scenario: &Scenario, cluster: &ClusterPlan, steps: &[StepPlan], trail: &mut Trail) -> Vec<ArmPlan> {
    for (index, (name, words)) in scenario.arms.0.iter().enumerate() {
        let host = words.host.keys().map(|setting| format!("host.{setting}"));
        let all = ["before".to_owned(), "after".to_owned()].into_iter().chain(host);
        all.for_each(|path| trail.arm_origin(index, name, &path));
    }
    let arm = |(index, (name, words)): (usize, &(String, ArmWords))| ArmPlan {
        name: name.clone(),
        step: index,
        differences: differences::between(
            Arm { step: &steps[0], words: &scenario.arms.0[0].1 },
            Arm { step: &steps[index], words },
            cluster,
        ),
        before: words.before.clone(),
        after: words.after.clone(),
        host: words.host.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect(),
    };
    scenario.arms.0.iter().enumerate().map(arm).collect()
}

fn lengthen(load: &mut LoadPlan, blocks: u32) {
    let blocks = u64::from(blocks);
    load.length = match load.length {
        Length::Count(count) => Length::Count(count.saturating_mul(blocks)),
        Length::Duration(time) => Length::Duration(Nanos(time.0.saturating_mul(blocks))),
    };
}

/// Checks that every block of a plan with arms is fit to stand beside its pair.
pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    let changes = |step: &&StepPlan| step.load.schedule.has_own_rate();
    match plan.steps.iter().position(|step| changes(&step)).filter(|_| plan.trial.is_some()) {
        Some(step) => Err(ResolveError::Conflict {
            place: plan
                .place_of(&format!("steps.{step}.load.schedule"))
                .map(|origin| format!("{origin}: "))
                .unwrap_or_default(),
            first: "arms".into(),
            second: "load.schedule".into(),
            reason: "a rate that changes would be cut into the blocks of the pairs: use constant, poisson or burst",
        }),
        None => Ok(()),
    }
}

fn out_of_bounds(
    trail: &Trail,
    path: &str,
    got: String,
    expected: &str,
    reason: &'static str,
) -> ResolveError {
    ResolveError::OutOfBounds {
        place: trail.source_place(path),
        path: path.to_owned(),
        got,
        expected: expected.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests;
