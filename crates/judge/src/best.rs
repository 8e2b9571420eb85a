//! The best settings for an objective: the blocks so far in, the next block to run out.
//!
//! Pure and seeded: no clock, no path; the same blocks give the same next one, so that resuming is replaying. A search measures
//! how far equal blocks differ (`noise`), runs settings that are known to suit some loads (`presets`), lets a model of all blocks
//! say what may be better (`explore`, `model`), runs the best of all that in rounds with the settings that there are (`race`),
//! and takes back the changes that do nothing (`prune`). What is refused is not tried again, and neither is what shares with it what
//! it was refused for (`refused`). [`importance`] says how much each setting matters.
//!
//! The model finds, it does not crown: where the settings that there are cannot be improved, what a model thinks best is some
//! 20 % worse than they are. And what wins the race is still a candidate: the luckiest of many looks better than it is. What
//! follows a search is a trial of the winner with blocks of its own.
//!
//! Levels, not values: what a level of a dimension stands for is the caller's. What the procedure does on surfaces whose truth is
//! known is in `docs/search-simulations.md`.

mod explore;
mod importance;
mod law;
mod model;
mod noise;
mod presets;
mod prune;
mod race;
mod refused;
#[cfg(test)]
mod simulated;

pub use importance::importance;
pub use law::Part;
pub use noise::BLOCKS as BLOCKS_LEAST;
pub use refused::{Refused, RefusedValue, refused};

use plumb_model::best::{BestEnding, BestPurpose};
use plumb_stats::random::Random;
use refused::Allowed;

/// Levels of an ordered dimension, at most.
pub const PLACES_MOST: usize = 17;

/// Below so many blocks there is no exploring: presets and a race alone.
pub const EXPLORING_LEAST: usize = 20;

/// Share of the budget after which the race begins; the race has the rest.
const RACE_FROM: f64 = 0.75;

/// Blocks that a race after exploring has at least: two rounds of three candidates and the settings that there are.
const RACE_LEAST: usize = 8;

/// The goal is aimed at with so much room: the best point lies on the limit, so half of what just meets it would fail its proof.
const GOAL_ROOM: f64 = 1.13;

/// What differs less than by this share is no gain.
const NO_GAIN: f64 = 0.02;

/// Blocks of so many times the objective of the best may be given up early.
const HOPELESS: f64 = 2.0;

/// One setting that may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Levels in increasing order, evenly spread on the scale that suits the setting; a special value such as 0 is level 0.
    Ordered {
        /// Number of levels, 2 to [`PLACES_MOST`].
        places: usize,
    },
    /// Values that have no order.
    Choice {
        /// Number of values, at least 2.
        values: usize,
    },
}

impl Dimension {
    /// Number of levels or values.
    pub fn levels(self) -> usize {
        match self {
            Dimension::Ordered { places } => places,
            Dimension::Choice { values } => values,
        }
    }
}

/// A level or value of every dimension, in the plan's order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(pub Vec<usize>);

/// What is searched, and with how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestPlan {
    /// The settings that may be changed.
    pub dimensions: Vec<Dimension>,
    /// The settings that there are.
    pub default: Point,
    /// Settings that are known to suit some loads.
    pub presets: Vec<Point>,
    /// Blocks up to the end of the race; what pruning takes comes on top, see [`BestPlan::blocks_most`].
    pub budget: usize,
    /// True if a goal has to be met, beside the objective.
    pub has_goal: bool,
    /// From which all random choices follow.
    pub seed: u64,
}

impl BestPlan {
    /// Blocks that a search takes at most, with pruning.
    pub fn blocks_most(&self) -> usize {
        self.budget + prune::BLOCKS_MOST
    }

    /// Blocks from which on the race is run; it may begin earlier.
    fn race_from(&self) -> usize {
        match self.budget < EXPLORING_LEAST {
            true => self.budget - self.race_blocks(),
            false => (RACE_FROM * self.budget as f64).round().min((self.budget - RACE_LEAST) as f64) as usize,
        }
    }

    /// Blocks of the race.
    fn race_blocks(&self) -> usize {
        match self.budget < EXPLORING_LEAST {
            true => (self.budget / 2).max(race::BLOCKS_LEAST).min(self.budget),
            false => self.budget - self.race_from(),
        }
    }
}

/// What is known of settings without running them.
pub trait Physics {
    /// False for settings that cannot be good, or cannot be at all: they are not tried.
    fn is_possible(&self, point: &Point) -> bool;

    /// Further inputs of the model, scaled to about 0 to 1: what settings together make, such as the logarithm of messages a
    /// batch. As many for every point.
    fn inputs(&self, point: &Point) -> Vec<f64>;

    /// What the objective is about the sum of, beside a constant. As many of the same kinds for every point; none where no law is
    /// known.
    fn objective(&self, _: &Point) -> Vec<Part> {
        Vec::new()
    }

    /// The same of the goal's ratio.
    fn goal(&self, _: &Point) -> Vec<Part> {
        Vec::new()
    }
}

/// The result of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was measured.
    Measured {
        /// The objective, above 0; lower is better.
        objective: f64,
        /// The goal's metric over its limit; above 1 breaks it. Absent without a goal, and where it could not be told.
        goal_ratio: Option<f64>,
    },
    /// It was given up early: its figures are lower bounds.
    AtLeast {
        /// The objective is at least this.
        objective: f64,
        /// The goal's metric over its limit is at least this.
        goal_ratio: Option<f64>,
    },
    /// Broker or client refused the settings.
    Refused {
        /// What that can be about, by the places of the dimensions; none where nothing is said: any of the changes.
        suspects: Vec<usize>,
    },
    /// The block is invalid.
    Failed,
}

impl Outcome {
    /// True if there are figures.
    fn ran(&self) -> bool {
        matches!(self, Outcome::Measured { .. } | Outcome::AtLeast { .. })
    }

    /// Logarithm of the objective, or of its bound.
    fn ln_objective(&self) -> Option<f64> {
        match *self {
            Outcome::Measured { objective, .. } | Outcome::AtLeast { objective, .. } => {
                Some(objective.max(f64::MIN_POSITIVE).ln())
            }
            Outcome::Refused { .. } | Outcome::Failed => None,
        }
    }

    /// Logarithm of the goal's ratio, or of its bound.
    fn ln_goal(&self) -> Option<f64> {
        match *self {
            Outcome::Measured { goal_ratio, .. } | Outcome::AtLeast { goal_ratio, .. } => {
                goal_ratio.map(|ratio| ratio.max(f64::MIN_POSITIVE).ln())
            }
            Outcome::Refused { .. } | Outcome::Failed => None,
        }
    }
}

/// A block that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its settings.
    pub point: Point,
    /// Its purpose, as [`next`] gave it.
    pub purpose: BestPurpose,
    /// Its result.
    pub outcome: Outcome,
}

/// The next action of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run a block.
    Try {
        /// With these settings.
        point: Point,
        /// For this.
        purpose: BestPurpose,
        /// A block whose objective is certainly above this after a quarter of its time may be given up; never where absent.
        give_up_above: Option<f64>,
    },
    /// The search is over.
    Done(Found),
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The reason why it ended.
    pub ending: BestEnding,
    /// The candidate to prove: what won the race, without the changes that do nothing. Only with [`BestEnding::Better`].
    pub winner: Option<Point>,
    /// What won the race, with all its changes.
    pub unpruned: Option<Point>,
    /// The smallest gain that the race would have shown in four of five searches, as a ratio below 1 to the settings that there
    /// are: 0.9 is a tenth less. Of the budget where no race was run.
    pub smallest_gain: Option<f64>,
    /// Standard deviation of the logarithm of the objective between equal blocks: 0.1 is about 10 %.
    pub spread: Option<f64>,
}

/// The next block of a search, or what it found.
pub fn next(tries: &[Tried], plan: &BestPlan, physics: &dyn Physics) -> Next {
    let state = State { tries, plan, physics };
    noise::step(&state)
        .or_else(|| presets::step(&state))
        .or_else(|| explore::step(&state))
        .unwrap_or_else(|| race::step(&state))
}

/// The blocks so far, as one looks at them.
#[derive(Clone, Copy)]
struct State<'a> {
    tries: &'a [Tried],
    plan: &'a BestPlan,
    physics: &'a dyn Physics,
}

impl<'a> State<'a> {
    fn of(&self, purpose: BestPurpose) -> impl Iterator<Item = &'a Tried> + use<'a> {
        self.tries.iter().filter(move |tried| tried.purpose == purpose)
    }

    fn has(&self, purpose: BestPurpose) -> bool {
        self.of(purpose).next().is_some()
    }

    /// The state before the first block of a purpose.
    fn before(&self, purpose: BestPurpose) -> State<'a> {
        let end = self.tries.iter().position(|tried| tried.purpose == purpose);
        State { tries: &self.tries[..end.unwrap_or(self.tries.len())], ..*self }
    }

    /// Random choices of their own for each part of a search.
    fn random(&self, part: u64) -> Random {
        Random::for_part(self.plan.seed, part)
    }

    fn blocks_of(&self, point: &'a Point) -> impl Iterator<Item = &'a Tried> + use<'a> {
        self.tries.iter().filter(move |tried| tried.point == *point)
    }

    /// True for settings that gave no figures. The settings that there are go on being tried: a block of theirs may be invalid for
    /// a reason of its own.
    fn has_failed(&self, point: &Point) -> bool {
        *point != self.plan.default
            && self.tries.iter().any(|tried| !tried.outcome.ran() && tried.point == *point)
    }

    /// What may be tried, as far as is known.
    fn allowed(&self) -> Allowed<'a> {
        Allowed::of(self)
    }

    /// Logarithms of the objective in all blocks of these settings.
    fn ln_objectives(&self, point: &'a Point) -> Vec<f64> {
        self.blocks_of(point).filter_map(|tried| tried.outcome.ln_objective()).collect()
    }

    /// Mean logarithm of the goal's ratio in all blocks of these settings.
    fn mean_ln_goal(&self, point: &'a Point) -> Option<f64> {
        mean(self.blocks_of(point).filter_map(|tried| tried.outcome.ln_goal()))
    }

    /// True if a block of the settings that there are was measured: without, there is nothing to explore and race against.
    fn has_reference(&self) -> bool {
        self.blocks_of(&self.plan.default).any(|tried| tried.outcome.ran())
    }

    /// True if the settings that there are break the goal, as far as is known.
    fn default_breaks_goal(&self) -> bool {
        self.plan.has_goal && self.mean_ln_goal(&self.plan.default).is_some_and(|ln| ln > 0.0)
    }

    /// What is known of the settings that there are, when nothing else is.
    fn ended(&self, ending: BestEnding) -> Next {
        let spread = noise::spread(self);
        let smallest_gain = spread.map(|sd| noise::smallest_gain(sd, self.plan));
        Next::Done(Found { ending, winner: None, unpruned: None, smallest_gain, spread })
    }

    /// The objective above which a block may be given up: a multiple of the least mean of any settings that meet the goal.
    fn give_up_above(&self) -> Option<f64> {
        let mut seen: Vec<&Point> = self.tries.iter().map(|tried| &tried.point).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter()
            .filter(|point| !self.plan.has_goal || self.mean_ln_goal(point).is_some_and(|ln| ln <= 0.0))
            .filter_map(|point| mean(self.ln_objectives(point).into_iter()))
            .min_by(f64::total_cmp)
            .map(|ln| HOPELESS * ln.exp())
    }

    /// True for settings whose waits alone, by what is known without running them, are longer than what a block is given up above.
    fn waits_too_long(&self, point: &Point) -> bool {
        let known = |part: Part| if let Part::Known(amount) = part { amount } else { 0.0 };
        let waits: f64 = self.physics.objective(point).into_iter().map(known).sum();
        self.give_up_above().is_some_and(|above| waits > above)
    }

    fn attempt(&self, point: &Point, purpose: BestPurpose) -> Next {
        let give_up_above = match purpose {
            BestPurpose::Preset | BestPurpose::Explore => self.give_up_above(),
            BestPurpose::Noise | BestPurpose::Default | BestPurpose::Race | BestPurpose::Prune => None,
        };
        Next::Try { point: point.clone(), purpose, give_up_above }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
