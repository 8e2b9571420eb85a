//! What a model of the blocks so far expects to be better than anything seen.

use super::model::Model;
use super::*;
use plumb_stats::law::normal_at_most;

/// Of so many blocks in a row one is of the settings that there are.
const DEFAULT_EVERY: usize = 6;

/// Exploring ends early after so many candidates in a row that promise less than this gain.
const HOPELESS_ROW: usize = 8;
const PROMISE_LEAST: f64 = 0.01;

/// Candidates that are thought of for each block.
const CANDIDATES: usize = 800;

/// Of those, this share comes from the best that were seen, so many of them; the others from presets.
const FROM_BEST: f64 = 0.7;
const BEST: usize = 4;

/// The most promising of the candidates are changed along one dimension after the other as long as that promises more, in so many
/// sweeps over all dimensions at most.
const CLIMBS: usize = 2;
const SWEEPS_MOST: usize = 2;

/// A candidate differs from what it comes from in up to the first so many dimensions, or for a share of them in up to the second:
/// these tell of many settings at once. A share of the changes go back to the settings that there are.
const CHANGES_MOST: (usize, usize) = (5, 14);
const CHANGES_MANY: f64 = 0.4;
const CHANGES_BACK: f64 = 0.2;

/// So many changes of an ordered dimension go to a level that is within a quarter of its range.
const NEAR: f64 = 0.25;

/// Settings meet the goal as far as the model goes, where they do so with this probability.
const GOAL_LIKELY: f64 = 0.6;

/// What goes into the race without having been run meets it with this probability.
const PICK_GOAL_LIKELY: f64 = 0.75;

/// The part of the random choices; each block has one of its own.
const CANDIDATE: u64 = 2 << 32;

/// The part of the random choices of what goes into the race without having been run.
const PICK: u64 = 5 << 32;

/// The next candidate; `None` from the race on.
pub(super) fn step(state: &State) -> Option<Next> {
    let plan = state.plan;
    if plan.budget < EXPLORING_LEAST || state.tries.len() >= plan.race_from() || state.has(BestPurpose::Race)
    {
        return None;
    }
    if !state.has_reference() {
        return None;
    }
    let last = state.tries.len().saturating_sub(DEFAULT_EVERY - 1);
    if state.tries[last..].iter().all(|tried| tried.point != plan.default) {
        return Some(state.attempt(&plan.default, BestPurpose::Default));
    }
    let candidate = promising(state)?;
    match candidate.promise < PROMISE_LEAST && was_hopeless(state) {
        true => None,
        false => Some(state.attempt(&candidate.point, BestPurpose::Explore)),
    }
}

/// True if the candidates before promised nothing, either: what was thought of them then is thought again.
fn was_hopeless(state: &State) -> bool {
    let explored = (0..state.tries.len()).rev().filter(|at| state.tries[*at].purpose == BestPurpose::Explore);
    let mut before = explored.take(HOPELESS_ROW - 1).peekable();
    let promise =
        |at: usize| promising(&State { tries: &state.tries[..at], ..*state }).map(|best| best.promise);
    state.of(BestPurpose::Explore).count() >= HOPELESS_ROW - 1
        && before.all(|at| promise(at).is_some_and(|promise| promise < PROMISE_LEAST))
}

struct Candidate {
    point: Point,
    /// Expected gain in the logarithm of the objective, times the probability that the goal is met.
    promise: f64,
}

/// The candidate of the greatest expected improvement (Jones, Schonlau and Welch 1998) over the best that the model believes to
/// have been seen, not the luckiest (Letham et al. 2019), times the probability that it meets the goal (Gelbart et al. 2014).
fn promising(state: &State) -> Option<Candidate> {
    let model = Model::fit(state)?;
    let seen = Seen::new(state, &model);
    let best = seen.best_level();
    let mut random = state.random(CANDIDATE + state.tries.len() as u64);
    let promise = |point: &Point| {
        let meets = model.meets_goal(point);
        match best {
            Some(best) => improvement(best + (1.0 - NO_GAIN).ln(), &model, point) * meets,
            // As long as nothing meets the goal, what may do so is all that counts.
            None => meets,
        }
    };
    let allowed = state.allowed();
    let may = |point: &Point| !seen.points.contains(&point) && allowed.may_try(point);
    let mut found: Vec<Candidate> = Vec::new();
    for _ in 0..CANDIDATES {
        let point = seen.variation(state, &mut random);
        if may(&point) {
            found.push(Candidate { promise: promise(&point), point });
        }
    }
    found.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    let climbed = found.into_iter().take(CLIMBS).map(|one| climb(state, one, &promise, &may, &mut random));
    climbed.reduce(|a, b| if b.promise > a.promise { b } else { a })
}

/// From a candidate along one dimension after the other, in a random order, to where what is wanted is greatest.
fn climb(
    state: &State,
    from: Candidate,
    wanted: &dyn Fn(&Point) -> f64,
    may: &dyn Fn(&Point) -> bool,
    random: &mut Random,
) -> Candidate {
    let mut best = from;
    for _ in 0..SWEEPS_MOST {
        let before = best.promise;
        for at in random.order(state.plan.dimensions.len()) {
            let was = best.point.clone();
            for level in (0..state.plan.dimensions[at].levels()).filter(|level| *level != was.0[at]) {
                let mut point = was.clone();
                point.0[at] = level;
                let promise = wanted(&point);
                if promise > best.promise && may(&point) {
                    best = Candidate { point, promise };
                }
            }
        }
        if best.promise <= before {
            break;
        }
    }
    best
}

/// What was not run and the model expects to be best, while it meets the goal: near the best that was run.
pub(super) fn pick(state: &State, model: &Model, seen: &Seen) -> Option<Point> {
    let mut random = state.random(PICK);
    let wanted = |point: &Point| match model.meets_goal(point) > PICK_GOAL_LIKELY {
        true => -model.level(point),
        false => f64::NEG_INFINITY,
    };
    let allowed = state.allowed();
    let may = |point: &Point| !seen.points.contains(&point) && allowed.may_try(point);
    let start = *seen.points.first().filter(|_| seen.meeting > 0)?;
    let from = Candidate { point: start.clone(), promise: wanted(start) };
    let pick = climb(state, from, &wanted, &may, &mut random).point;
    may(&pick).then_some(pick)
}

/// Any level, or for half of the changes of an ordered dimension one that is near.
fn other_level(dimension: Dimension, level: usize, random: &mut Random) -> usize {
    match dimension {
        Dimension::Ordered { places } if random.unit() < NEAR => {
            let step = 1 + random.below((places / 4).max(1));
            match random.below(2) {
                0 => level.saturating_sub(step),
                _ => (level + step).min(places - 1),
            }
        }
        _ => random.below(dimension.levels()),
    }
}

fn improvement(best: f64, model: &Model, point: &Point) -> f64 {
    let belief = model.objective(point);
    let sd = belief.sd.max(1e-9);
    let z = (best - belief.mean) / sd;
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    sd * (z * normal_at_most(z) + density)
}

/// Settings that were run and not refused, the best first as the model sees them.
pub(super) struct Seen<'a> {
    pub(super) points: Vec<&'a Point>,
    /// The first so many meet the goal as far as the model goes.
    pub(super) meeting: usize,
    first_level: Option<f64>,
    presets: Vec<Point>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(state: &State<'a>, model: &Model) -> Seen<'a> {
        let mut points: Vec<&Point> = state.tries.iter().map(|tried| &tried.point).collect();
        points.sort_unstable();
        points.dedup();
        let allowed = state.allowed();
        points.retain(|point| !state.has_failed(point));
        let mut ranked: Vec<(f64, f64, &Point)> =
            points.into_iter().map(|point| (model.meets_goal(point), model.level(point), point)).collect();
        let meets = |meets: f64| meets > GOAL_LIKELY;
        ranked.sort_by(|a, b| match (meets(a.0), meets(b.0)) {
            (true, true) => a.1.total_cmp(&b.1),
            (false, false) => b.0.total_cmp(&a.0),
            (one, other) => other.cmp(&one),
        });
        let meeting = ranked.iter().filter(|one| meets(one.0)).count();
        let first_level = ranked.first().filter(|_| meeting > 0).map(|first| first.1);
        let mut presets = allowed.presets();
        presets.retain(|preset| allowed.is_free(preset));
        Seen { points: ranked.into_iter().map(|one| one.2).collect(), meeting, first_level, presets }
    }

    fn best_level(&self) -> Option<f64> {
        self.first_level
    }

    /// One of the best, or a preset, with a few changes.
    fn variation(&self, state: &State, random: &mut Random) -> Point {
        let of_best = random.unit() < FROM_BEST || self.presets.is_empty();
        let from = match of_best && !self.points.is_empty() {
            true => self.points[random.below(self.points.len().min(BEST))],
            false if self.presets.is_empty() => &state.plan.default,
            false => &self.presets[random.below(self.presets.len())],
        };
        let mut point = from.clone();
        let dimensions = &state.plan.dimensions;
        let most = if random.unit() < CHANGES_MANY { CHANGES_MOST.1 } else { CHANGES_MOST.0 };
        for _ in 0..1 + random.below(most) {
            let at = random.below(dimensions.len());
            point.0[at] = match random.unit() < CHANGES_BACK {
                true => state.plan.default.0[at],
                false => other_level(dimensions[at], point.0[at], random),
            };
        }
        point
    }
}
