//! What the blocks so far say of settings that were not run: a Gaussian process of the objective, and one of the goal.

use super::law::{self, Law};
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
    objective: Learned,
    goal: Option<Learned>,
}

/// What is learned of one quantity: a law where one is known, and a process of what it leaves.
struct Learned {
    law: Option<Law>,
    press: Press,
    rest: GaussianProcess,
}

/// How far logarithms are taken as they are.
#[derive(Debug, Clone, Copy)]
enum Press {
    /// Those above this are pressed together.
    Above(f64),
    Within(f64, f64),
}

impl Press {
    fn of(self, ln: f64) -> f64 {
        match self {
            Press::Above(knee) if ln > knee => {
                knee + OBJECTIVE_ABOVE * (1.0 - (-(ln - knee) / OBJECTIVE_ABOVE).exp())
            }
            Press::Above(_) => ln,
            Press::Within(low, high) => ln.clamp(low, high),
        }
    }
}

impl Learned {
    fn mean(&self, parts: &[Part]) -> f64 {
        self.law.as_ref().map_or(0.0, |law| self.press.of(law.ln(parts)))
    }

    fn fit(
        state: &State,
        press: Press,
        parts: &dyn Fn(&Point) -> Vec<Part>,
        value: impl Fn(&Tried) -> Option<f64>,
    ) -> Option<Learned> {
        let measured = state.tries.iter().filter(|tried| tried.outcome.ran());
        let seen: Vec<law::Seen> = measured
            .filter_map(|tried| Some(law::Seen { parts: parts(&tried.point), ln: value(tried)? }))
            .collect();
        let pressed = |ln| press.of(ln);
        let law = Law::fit(&parts(&state.plan.default), &seen, &pressed);
        let of_law = |point: &Point| law.as_ref().map_or(0.0, |law| press.of(law.ln(&parts(point))));
        let rest = process(state, |tried| Some(value(tried)? - of_law(&tried.point)))?;
        Some(Learned { law, press, rest })
    }
}

impl<'a> Model<'a> {
    /// Learns from all blocks. `None` as long as nothing was measured.
    pub(super) fn fit(state: &State<'a>) -> Option<Model<'a>> {
        Self::of(state, true)
    }

    /// The same of the blocks alone: what a law says beforehand is no evidence.
    pub(super) fn without_laws(state: &State<'a>) -> Option<Model<'a>> {
        Self::of(state, false)
    }

    fn of(state: &State<'a>, laws: bool) -> Option<Model<'a>> {
        let logs = || state.tries.iter().filter_map(|tried| tried.outcome.ln_objective());
        let mut sorted: Vec<f64> = logs().collect();
        sorted.sort_by(f64::total_cmp);
        let press = Press::Above(sorted.get(sorted.len() / 4)? + OBJECTIVE_ABOVE);
        let worst = press.of(*sorted.last()?);
        // What gave no figures enters as the worst that was seen, so that the model keeps away from what is like it. Where it is known
        // what was refused, that is not tried anyway, and its other settings are not to blame.
        let allowed = state.allowed();
        let failed = |tried: &Tried| {
            let is_explained =
                matches!(tried.outcome, Outcome::Refused { .. }) && allowed.is_explained(&tried.point);
            (tried.point != state.plan.default && !is_explained).then_some(worst)
        };
        let parts = |point: &Point| if laws { state.physics.objective(point) } else { Vec::new() };
        let objective = Learned::fit(state, press, &parts, |tried| match tried.outcome.ln_objective() {
            Some(ln) => Some(press.of(ln)),
            None => failed(tried),
        })?;
        let parts = |point: &Point| if laws { state.physics.goal(point) } else { Vec::new() };
        let press = Press::Within(GOAL_REACH.0, GOAL_REACH.1);
        let goal = match state.plan.has_goal {
            true => Learned::fit(state, press, &parts, |tried| Some(press.of(tried.outcome.ln_goal()?))),
            false => None,
        };
        Some(Model { state: *state, objective, goal })
    }

    /// The logarithm of the objective.
    pub(super) fn objective(&self, point: &Point) -> Belief {
        let rest = self.objective.rest.at(&inputs(&self.state, point));
        Belief { mean: rest.mean + self.law(point), ..rest }
    }

    /// The logarithm of the objective, without how certain it is.
    pub(super) fn level(&self, point: &Point) -> f64 {
        self.objective.rest.mean_at(&inputs(&self.state, point)) + self.law(point)
    }

    fn law(&self, point: &Point) -> f64 {
        match self.objective.law {
            Some(_) => self.objective.mean(&self.state.physics.objective(point)),
            None => 0.0,
        }
    }

    /// The probability that the goal is met with room; 1 without a goal, and as long as nothing is known of it.
    pub(super) fn meets_goal(&self, point: &Point) -> f64 {
        let Some(goal) = &self.goal else { return 1.0 };
        let rest = goal.rest.at(&inputs(&self.state, point));
        let of_law = match goal.law {
            Some(_) => goal.mean(&self.state.physics.goal(point)),
            None => 0.0,
        };
        normal_at_most(-(rest.mean + of_law + GOAL_ROOM.ln()) / rest.sd.max(1e-9))
    }

    /// Joint draws of the logarithm of the objective.
    pub(super) fn draws(&self, points: &[Point], count: usize, random: &mut Random) -> Option<Vec<Vec<f64>>> {
        let places: Vec<Vec<f64>> = points.iter().map(|point| inputs(&self.state, point)).collect();
        let laws: Vec<f64> = points.iter().map(|point| self.law(point)).collect();
        let mut draws = self.objective.rest.draws(&places, count, random)?;
        for draw in &mut draws {
            draw.iter_mut().zip(&laws).for_each(|(value, law)| *value += law);
        }
        Some(draws)
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
