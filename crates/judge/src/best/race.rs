//! The race: finalists and the settings that there are in rounds, each round in a random order, so that what the machine does
//! between rounds falls on all of them. What is clearly worse is dropped; the settings that there are stay to the end.

use super::explore::Seen;
use super::model::Model;
use super::*;

/// The fewest blocks of a race: two rounds of one candidate and the settings that there are.
pub(super) const BLOCKS_LEAST: usize = 4;

/// Candidates that run. Of these one is the best preset, or with a goal one that surely meets it; and one was not run before: what the
/// model expects to be best.
const CANDIDATES: usize = 3;

/// With a goal, one candidate meets it with this probability, where there is any, as those that are best are close to the limit.
const SURELY_MEETS_GOAL: f64 = 0.95;

/// Rounds before anything is dropped or won.
pub(super) const ROUNDS_LEAST: usize = 2;

/// What is worse than the leader by so many standard errors of their paired differences is dropped.
const DROP_ERRORS: f64 = 1.3;

/// A winner is better than the settings that there are by so many standard errors.
const WIN_ERRORS: f64 = 1.0;

/// A winner meets the goal, with room, with this probability.
const WIN_MEETS_GOAL: f64 = 0.6;

/// Standard deviation of a paired difference, and the degrees of freedom with which it is believed beforehand: that of two
/// or three rounds alone may be anything.
const PRIOR_SD: f64 = 0.14;
const PRIOR_FREEDOM: f64 = 3.0;

/// The part of the random choices; each round has one of its own.
const ORDER: u64 = 1 << 32;

/// By how much, in logarithms, a race's mean has to be better at that standard error.
pub(super) fn gain_needed(error: f64) -> f64 {
    -(1.0 - NO_GAIN).ln().min(-WIN_ERRORS * error)
}

/// The next block of the race, or what follows it.
pub(super) fn step(state: &State) -> Next {
    let finalists = finalists(&state.before(BestPurpose::Race));
    if finalists.is_empty() || !state.has_reference() {
        return state.ended(ending_without_race(state));
    }
    match Race::run(state, finalists) {
        Err(next) => next,
        Ok(race) => race.end(state),
    }
}

fn ending_without_race(state: &State) -> BestEnding {
    let others = state.tries.iter().filter(|tried| tried.point != state.plan.default);
    let ran = |tried: &Tried| tried.outcome.ran();
    match (state.has_reference(), others.clone().any(ran)) {
        (false, false) => BestEnding::NothingRan,
        (false, true) => BestEnding::DefaultFailed,
        (true, false) if others.count() > 0 => BestEnding::NothingElseRan,
        (true, _) if state.default_breaks_goal() => BestEnding::NothingMeetsGoal,
        (true, _) => BestEnding::AsGood,
    }
}

/// What runs beside the settings that there are, see [`CANDIDATES`].
fn finalists(state: &State) -> Vec<Point> {
    let Some(model) = Model::fit(state) else { return Vec::new() };
    let seen = Seen::new(state, &model);
    // Where nothing is likely to meet the goal, neither what there is, what may do so has its chance.
    let meeting =
        if seen.meeting == 0 && state.default_breaks_goal() { seen.points.len() } else { seen.meeting };
    let mut candidates: Vec<&Point> =
        seen.points[..meeting].iter().copied().filter(|point| **point != state.plan.default).collect();
    let most = (state.plan.race_blocks() / ROUNDS_LEAST).saturating_sub(1).min(CANDIDATES);
    let presets = state.allowed().presets();
    let kept = match state.plan.has_goal {
        true => candidates.iter().position(|point| model.meets_goal(point) > SURELY_MEETS_GOAL),
        false => candidates.iter().position(|point| presets.contains(point)),
    };
    // The place of the one that is kept is the last of those that run.
    if let Some(place) = kept.filter(|place| *place >= most && most > 1) {
        let kept = candidates.remove(place);
        candidates.insert(most - 1, kept);
    }
    let mut chosen: Vec<Point> = candidates.into_iter().take(most).cloned().collect();
    // Changes that gain in blocks of different settings may never have been run together.
    if let Some(pick) =
        explore::pick(state, &model, &seen).filter(|_| most > 2 && state.plan.budget >= EXPLORING_LEAST)
    {
        // Before the last, whose place is that of the preset or of what surely meets the goal.
        chosen.truncate(most);
        if chosen.len() == most {
            chosen.remove(most - 2);
        }
        chosen.insert(chosen.len().saturating_sub(1), pick);
    }
    chosen
}

/// The rounds of a race.
struct Race {
    /// The candidates, and at last the settings that there are.
    points: Vec<Point>,
    /// Outcomes of each round, in the order of the points.
    rounds: Vec<Vec<Option<Outcome>>>,
    /// Whether each is still in.
    stays: Vec<bool>,
    /// Whether the settings that there are break the goal, as far as was known before: what later blocks say of it must not
    /// change which rounds were run.
    default_breaks: bool,
}

impl Race {
    /// Follows the rounds that were run; the next block where the race is not over.
    fn run(state: &State, finalists: Vec<Point>) -> Result<Race, Next> {
        let mut points = finalists;
        points.push(state.plan.default.clone());
        let stays = vec![true; points.len()];
        let default_breaks = state.before(BestPurpose::Race).default_breaks_goal();
        let mut race = Race { points, rounds: Vec::new(), stays, default_breaks };
        let mut blocks = state.of(BestPurpose::Race);
        let mut left = state.plan.race_blocks();
        loop {
            let mut order: Vec<usize> = (0..race.points.len()).filter(|at| race.stays[*at]).collect();
            if order.len() < 2 || race.rounds.len() >= ROUNDS_LEAST && order.len() > left {
                return Ok(race);
            }
            state.random(ORDER + race.rounds.len() as u64).shuffle(&mut order);
            let mut round = vec![None; race.points.len()];
            for at in order {
                match blocks.next() {
                    Some(tried) => round[at] = Some(tried.outcome.clone()),
                    None => return Err(state.attempt(&race.points[at], BestPurpose::Race)),
                }
                left = left.saturating_sub(1);
                if at != race.default() && round[at].as_ref().is_some_and(|outcome| !outcome.ran()) {
                    race.stays[at] = false;
                }
            }
            race.rounds.push(round);
            if race.rounds.len() >= ROUNDS_LEAST {
                race.drop_worse(state);
            }
        }
    }

    /// The place of the settings that there are.
    fn default(&self) -> usize {
        self.points.len() - 1
    }

    /// Drops what breaks the goal, and what is clearly worse than the leader.
    fn drop_worse(&mut self, state: &State) {
        let default = self.default();
        let breaks: Vec<usize> = (0..default).filter(|at| !self.meets_goal(*at, state)).collect();
        for at in breaks {
            self.stays[at] = false;
        }
        let Some(leader) = self.leader(state) else { return };
        for at in (0..default).filter(|at| *at != leader) {
            let worse = self.difference(at, leader);
            self.stays[at] &= worse.is_some_and(|(mean, error)| mean <= DROP_ERRORS * error);
        }
    }

    /// The best of those that are in and meet the goal; the settings that there are among them unless they break it.
    fn leader(&self, state: &State) -> Option<usize> {
        let default = self.default();
        let meets = |at: usize| match at == default {
            true => !self.default_breaks,
            false => self.meets_goal(at, state),
        };
        let level = |at: usize| self.level(at);
        (0..=default)
            .filter(|at| self.stays[*at] && meets(*at))
            .filter_map(|at| Some((level(at)?, at)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, at)| at)
    }

    /// Mean logarithm of the objective over the rounds that it was in; all that are in were in all of them.
    fn level(&self, at: usize) -> Option<f64> {
        mean(self.rounds.iter().filter_map(|round| round[at].as_ref()?.ln_objective()))
    }

    /// True if the goal's ratio is on average below 1.
    fn meets_goal(&self, at: usize, state: &State) -> bool {
        let ratios = self.rounds.iter().filter_map(|round| round[at].as_ref()?.ln_goal());
        !state.plan.has_goal || mean(ratios).is_some_and(|ln| ln <= 0.0)
    }

    /// Mean of the paired differences of logarithms, one less other, and its standard error.
    fn difference(&self, one: usize, other: usize) -> Option<(f64, f64)> {
        let ln = |round: &[Option<Outcome>], at: usize| round[at].as_ref()?.ln_objective();
        let pairs = self.rounds.iter().filter_map(|round| Some(ln(round, one)? - ln(round, other)?));
        estimate(&pairs.collect::<Vec<f64>>())
    }

    /// Crowns the winner and has it pruned.
    fn end(&self, state: &State) -> Next {
        let raced = state.before(BestPurpose::Prune);
        let default = self.default();
        let breaks = raced.default_breaks_goal();
        // All blocks speak, those before the race and those of like settings, and what drifts is told apart.
        let model = Model::fit(&raced);
        let meets =
            |point: &Point| model.as_ref().is_some_and(|model| model.meets_goal(point) >= WIN_MEETS_GOAL);
        let winner = (0..default)
            .filter(|at| self.stays[*at] && meets(&self.points[*at]))
            .filter_map(|at| Some((model.as_ref()?.level(&self.points[at]), at)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, at)| at);
        let error = winner.and_then(|at| self.difference(at, default)).map(|(_, error)| error);
        let spread = noise::spread(&raced);
        let of_race = error.map(|error| (-(gain_needed(error) + noise::POWER_Z * error)).exp());
        let of_noise = spread.map(|sd| noise::smallest_gain(sd, state.plan));
        // A race whose pairs agree by luck promises no more than the noise allows.
        let smallest_gain = of_race.into_iter().chain(of_noise).reduce(f64::min);
        let found = |ending| Found { ending, winner: None, unpruned: None, smallest_gain, spread };
        let better = |at: usize| {
            breaks || self.difference(at, default).is_some_and(|(mean, error)| mean <= -gain_needed(error))
        };
        // Nothing was held against settings that failed in each round.
        if !breaks && self.level(default).is_none() {
            return Next::Done(found(BestEnding::DefaultFailed));
        }
        match winner.filter(|at| better(*at)) {
            Some(at) => prune::step(state, &self.points[at], found(BestEnding::Better)),
            None if breaks => Next::Done(found(BestEnding::NothingMeetsGoal)),
            None => Next::Done(found(BestEnding::AsGood)),
        }
    }
}

/// Mean of paired differences and its standard error.
pub(super) fn estimate(differences: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(differences.iter().copied())?;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let n = differences.len() as f64;
    let variance = (PRIOR_FREEDOM * PRIOR_SD * PRIOR_SD + squares) / (PRIOR_FREEDOM + n - 1.0);
    Some((mean, (variance / n).sqrt()))
}
