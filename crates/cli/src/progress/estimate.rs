//! The time that a plan takes, as far as it is known before it runs.

use plumb_model::figure;
use plumb_model::plan::{ClusterPlan, LoadPlan, Mode, Plan, StepPlan};
use plumb_model::units::Nanos;
use std::fmt;

/// Clients, groups and readings around each block, measured on two cores with one broker here.
const BLOCK_OVERHEAD_S: f64 = 0.8;
/// Starting a lab whose jars are there.
const LAB_START_S: f64 = 4.0;
/// Trials of a search before the full-length ones: up to about a million messages a second, and down again.
const TRIALS_ON_THE_WAY: f64 = 16.0;

/// The time that a plan takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// Seconds of what has a known length.
    pub(crate) s: f64,
    /// Some of its messages have no schedule and no time: how long they take is what the run finds out.
    pub(crate) depends_on_path: bool,
    /// Seconds at most of waiting for what is still under way at the end of a block, where the plan expects it: in steps that are to
    /// show a queue, and in those whose drain is longer than usual.
    drain_s: f64,
}

/// A drain that nobody lengthened.
const DRAIN_USUAL: Nanos = Nanos::from_secs(10);

impl Estimate {
    pub(crate) fn of(plan: &Plan) -> Self {
        let lab = matches!(plan.cluster, ClusterPlan::Lab { .. });
        let own = plan.steps.iter().filter(|step| step.cluster.is_some()).count();
        let paths = (own + usize::from(own < plan.steps.len())) as f64;
        let every = plan.trial.as_ref().map_or(0, |trial| trial.restart_every);
        let starts = if every > 0 { f64::from(plan.blocks.div_ceil(every)) } else { 1.0 };
        let before = plan.settle.as_secs_f64() + if lab { LAB_START_S } else { 0.0 };
        let steps_s: f64 = plan.steps.iter().map(|step| step_s(plan, step)).sum();
        Estimate {
            s: starts * paths * before + steps_s,
            depends_on_path: plan.steps.iter().any(|step| known_s(step).is_none()),
            drain_s: f64::from(plan.blocks) * plan.steps.iter().map(|step| drain_s(&step.load)).sum::<f64>(),
        }
    }

    /// Of a part of the plan.
    pub(crate) fn times(self, share: f64) -> Self {
        Estimate { s: self.s * share, drain_s: self.drain_s * share, ..self }
    }

    /// Of one plan after another.
    pub(crate) fn plus(self, other: Estimate) -> Self {
        Estimate {
            s: self.s + other.s,
            depends_on_path: self.depends_on_path || other.depends_on_path,
            drain_s: self.drain_s + other.drain_s,
        }
    }

    /// Seconds at most of what has a known length.
    pub(crate) fn most_s(self) -> f64 {
        self.s + self.drain_s
    }

    /// Seconds, where all of it is known.
    pub(crate) fn known_s(self) -> Option<f64> {
        (!self.depends_on_path).then_some(self.s)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_s() {
            Some(s) if self.drain_s > 0.0 => {
                let most = figure::estimate(s + self.drain_s);
                write!(
                    f,
                    "about {}, up to {most} where blocks end with messages under way",
                    figure::estimate(s)
                )
            }
            Some(s) => write!(f, "about {}", figure::estimate(s)),
            None => f.write_str("as long as the path takes for its messages"),
        }
    }
}

/// Seconds of a step's load; none where only the path tells, as when a number of messages goes out as fast as possible, or a
/// topic is read to its end.
fn known_s(step: &StepPlan) -> Option<f64> {
    step.load.planned_s().filter(|_| step.load.mode != Mode::Consume)
}

fn drain_s(load: &LoadPlan) -> f64 {
    if load.shows_queue() || load.drain > DRAIN_USUAL { load.drain.as_secs_f64() } else { 0.0 }
}

fn step_s(plan: &Plan, step: &StepPlan) -> f64 {
    let blocks = f64::from(plan.blocks);
    let load_s = known_s(step).unwrap_or(0.0);
    let around_s = step.load.warm_up.as_secs_f64() + BLOCK_OVERHEAD_S;
    if plan.goal.is_some() {
        let trial_s = (load_s / 4.0).max(2.0).min(load_s);
        return TRIALS_ON_THE_WAY * (trial_s + around_s) + 2.0 * blocks * (load_s + around_s);
    }
    let twin_s = |rate: f64| 1.0 + (plan.twin as f64 / rate).min(10.0);
    let twin = step.load.rate_per_s.filter(|_| plan.twin > 0).map_or(0.0, twin_s);
    load_s + twin + blocks * around_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::resolve::resolve;

    fn estimate(load: &str) -> Estimate {
        let text = format!("name: t\nsettle: 0s\ntwin: 0\nblocks: 2\ncluster: {{bootstrap: b:1}}\n{load}");
        let (scenario, sources) = plumb_scenario::file::parse("t.yaml", &text).unwrap();
        Estimate::of(&resolve(&scenario, &sources).unwrap())
    }

    #[test]
    fn messages_at_a_rate_take_their_time_and_as_fast_as_possible_nobody_knows() {
        let paced = estimate("load: {rate: 100, count: 1000, warm_up: 1s}");
        assert_eq!(paced.to_string(), "about 14 s");
        assert_eq!(paced.times(0.5).to_string(), "about 7 s");
        let timed = estimate("load: {rate: max, duration: 20s, warm_up: 0s, mode: produce}");
        assert_eq!(timed.to_string(), "about 22 s");
        for open in [
            "load: {rate: max, count: 1000, mode: produce}",
            "load: {mode: consume, count: 1000}\ntopic: {name: orders}",
        ] {
            let estimate = estimate(open);
            assert_eq!(
                (estimate.to_string().as_str(), estimate.known_s()),
                ("as long as the path takes for its messages", None),
                "{open}"
            );
        }
    }

    #[test]
    fn a_plan_that_expects_to_wait_for_what_is_under_way_says_up_to_when() {
        let queue = estimate(
            "load: {rate: 100, duration: 10s, warm_up: 1s, drain: 60s, purpose: queue, mode: produce}",
        );
        let said = queue.to_string();
        assert_eq!(said, "about 14 s, up to 2m 14s where blocks end with messages under way");
    }

    #[test]
    fn long_times_are_said_in_minutes_hours_and_days() {
        let said = [59.0, 64.0, 149.0, 3_600.0, 7_260.0, 440_012.0].map(figure::estimate);
        assert_eq!(said, ["59 s", "64 s", "2m 29s", "1h 00m", "2h 01m", "5d 02h"]);
    }
}
