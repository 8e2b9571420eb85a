//! What the blocks so far say of settings that were not run: a Gaussian process of the objective, and one of the goal.

use super::*;
use plumb_stats::gaussian_process::{Axis, Belief, GaussianProcess, Observation};
use plumb_stats::law::normal_at_most;

/// Logarithms of the objective that lie more than this above their lower quartile are pressed together, so that all lie within
/// twice as much: how bad the bad are does not matter, and a cliff would hide all lesser effects.
const OBJECTIVE_ABOVE: f64 = 0.6;

/// Noise that a model expects lies between these, whatever few blocks say of it.
const NOISE: (f64, f64) = (0.05, 0.5);

/// Logarithms of the goal's ratio are cut to this.
const GOAL_REACH: (f64, f64) = (-2.0, 1.5);

/// Beliefs from the blocks so far.
pub(super) struct Model<'a> {
    state: State<'a>,
    objective: GaussianProcess,
    goal: Option<GaussianProcess>,
}

impl<'a> Model<'a> {
    /// Learns from all blocks. `None` as long as nothing was measured.
    pub(super) fn fit(state: &State<'a>) -> Option<Model<'a>> {
        let logs = || state.tries.iter().filter_map(|tried| tried.outcome.ln_objective());
        let mut sorted: Vec<f64> = logs().collect();
        sorted.sort_by(f64::total_cmp);
        let knee = sorted.get(sorted.len() / 4)? + OBJECTIVE_ABOVE;
        let pressed = |ln: f64| match ln - knee {
            beyond if beyond > 0.0 => knee + OBJECTIVE_ABOVE * (1.0 - (-beyond / OBJECTIVE_ABOVE).exp()),
            _ => ln,
        };
        let worst = pressed(*sorted.last()?);
        // What was refused enters as the worst that was seen, so that the model keeps away from what is like it.
        let failed = |tried: &Tried| (tried.point != state.plan.default).then_some(worst);
        let objective = process(state, |tried| match tried.outcome.ln_objective() {
            Some(ln) => Some(pressed(ln)),
            None => failed(tried),
        })?;
        let goal = match state.plan.has_goal {
            true => process(state, |tried| {
                Some(tried.outcome.ln_goal()?.clamp(GOAL_REACH.0, GOAL_REACH.1) + GOAL_ROOM.ln())
            }),
            false => None,
        };
        Some(Model { state: *state, objective, goal })
    }

    /// The logarithm of the objective.
    pub(super) fn objective(&self, point: &Point) -> Belief {
        self.objective.at(&inputs(&self.state, point))
    }

    /// The logarithm of the objective, without how certain it is.
    pub(super) fn level(&self, point: &Point) -> f64 {
        self.objective.mean_at(&inputs(&self.state, point))
    }

    /// The probability that the goal is met with room; 1 without a goal, and as long as nothing is known of it.
    pub(super) fn meets_goal(&self, point: &Point) -> f64 {
        let Some(goal) = &self.goal else { return 1.0 };
        let belief = goal.at(&inputs(&self.state, point));
        normal_at_most(-belief.mean / belief.sd.max(1e-9))
    }

    /// Joint draws of the logarithm of the objective.
    pub(super) fn draws(&self, points: &[Point], count: usize, random: &mut Random) -> Option<Vec<Vec<f64>>> {
        let places: Vec<Vec<f64>> = points.iter().map(|point| inputs(&self.state, point)).collect();
        self.objective.draws(&places, count, random)
    }
}

fn process(state: &State, value: impl Fn(&Tried) -> Option<f64>) -> Option<GaussianProcess> {
    let seen = state.tries.iter().enumerate().filter_map(|(at, tried)| {
        Some(Observation { inputs: inputs(state, &tried.point), at: at as f64, value: value(tried)? })
    });
    let noise_sd = noise::spread(state).unwrap_or(0.0).clamp(NOISE.0, NOISE.1);
    GaussianProcess::fit(&axes(state), &seen.collect::<Vec<_>>(), noise_sd)
}

fn axes(state: &State) -> Vec<Axis> {
    let own = state.plan.dimensions.iter().map(|dimension| match dimension {
        Dimension::Ordered { .. } => Axis::Line,
        Dimension::Choice { .. } => Axis::Choice,
    });
    let further = state.physics.inputs(&state.plan.default).len();
    own.chain(std::iter::repeat_n(Axis::Line, further)).collect()
}

fn inputs(state: &State, point: &Point) -> Vec<f64> {
    let own = state.plan.dimensions.iter().zip(&point.0).map(|(dimension, level)| match *dimension {
        Dimension::Ordered { places } => *level as f64 / (places.max(2) - 1) as f64,
        Dimension::Choice { .. } => *level as f64,
    });
    own.chain(state.physics.inputs(point)).collect()
}
