//! Taking back the changes that do nothing: the winner without them, in pairs with the winner.
//!
//! The model says which changes seem idle. To believe it is unsafe, so all of them are taken back at once and that is run
//! against the winner; where it is worse, half of them are kept. What is plainly worse is not run to its last pair. The winner's
//! blocks of the race are not counted here: it won with them, so they flatter it, and no pruned one ran beside them.

use super::model::Model;
use super::*;

/// Blocks that pruning takes at most.
pub(super) const BLOCKS_MOST: usize = GROUPS_MOST * PAIRS * 2;

/// Pairs of each group of changes that is taken back.
const PAIRS: usize = 4;

/// Pairs after which a group may be given up.
const PAIRS_LEAST: usize = 2;

/// Groups that are tried, each half of the one before.
const GROUPS_MOST: usize = 3;

/// What costs more than this share is not taken back.
const LOSS_MOST: f64 = 0.03;

/// The part of the random choices; each pair has one of its own.
const ORDER: u64 = 3 << 32;

/// The next block of the pairs, or the winner without what is idle.
pub(super) fn step(state: &State, winner: &Point, found: Found) -> Next {
    let raced = state.before(BestPurpose::Prune);
    let idle = idle(&raced, winner);
    // Of the blocks before: what later ones say of it must not change which pairs were run.
    let spread = noise::spread(&raced);
    let mut blocks = state.of(BestPurpose::Prune);
    let done = |pruned: &Point| {
        Next::Done(Found { winner: Some(pruned.clone()), unpruned: Some(winner.clone()), ..found.clone() })
    };
    let allowed = raced.allowed();
    let mut taken_back = idle.len();
    for group in 0..GROUPS_MOST {
        let mut pruned = winner.clone();
        for at in &idle[..taken_back] {
            pruned.0[*at] = state.plan.default.0[*at];
        }
        taken_back /= 2;
        if pruned == *winner {
            break;
        }
        // By the blocks before: a pruned one that is refused in its pairs has had them.
        if !allowed.may_try(&pruned) {
            continue;
        }
        let mut pairs = Pairs::default();
        for pair in 0..PAIRS {
            let first = state.random(ORDER + (group * PAIRS + pair) as u64).below(2);
            for half in [first, 1 - first] {
                let point = if half == 0 { winner } else { &pruned };
                match blocks.next() {
                    Some(tried) => pairs.add(half, &tried.outcome),
                    None => return state.attempt(point, BestPurpose::Prune),
                }
            }
            if pairs.failed || spread.is_some_and(|sd| pairs.surely_lose(sd)) {
                break;
            }
        }
        if pairs.hold(state) {
            // Without any of its changes it is what there was: nothing beats that.
            return match pruned == state.plan.default {
                true => Next::Done(Found { ending: BestEnding::AsGood, ..found }),
                false => done(&pruned),
            };
        }
    }
    done(winner)
}

/// The pairs of one group.
#[derive(Default)]
struct Pairs {
    /// Logarithms of the winner's objective, and of the pruned one's.
    logs: [Vec<Option<f64>>; 2],
    /// Of the pruned one.
    goals: Vec<f64>,
    failed: bool,
}

impl Pairs {
    fn add(&mut self, half: usize, outcome: &Outcome) {
        self.logs[half].push(outcome.ln_objective());
        if half == 1 {
            self.goals.extend(outcome.ln_goal());
            self.failed |= !outcome.ran();
        }
    }

    /// By how much the pruned one is worse, in logarithms.
    fn losses(&self) -> impl Iterator<Item = f64> {
        let pairs = self.logs[0].iter().zip(&self.logs[1]);
        pairs.filter_map(|(winner, pruned)| Some((*pruned)? - (*winner)?))
    }

    /// True if after enough pairs so much is lost that the others are not likely to make up for it: more than may be, by more than
    /// equal blocks differ.
    fn surely_lose(&self, spread: f64) -> bool {
        self.losses().count() >= PAIRS_LEAST
            && mean(self.losses()).is_some_and(|loss| loss > LOSS_MOST.ln_1p() + spread)
    }

    /// True if nothing is lost without the changes.
    fn hold(&self, state: &State) -> bool {
        let holds_goal = || {
            !state.plan.has_goal
                || mean(self.goals.iter().copied()).is_some_and(|ln| ln + GOAL_ROOM.ln() <= 0.0)
        };
        !self.failed && mean(self.losses()).is_some_and(|loss| loss <= LOSS_MOST.ln_1p()) && holds_goal()
    }
}

/// The changes of the winner that hardly matter as far as the model goes, the least first.
fn idle(state: &State, winner: &Point) -> Vec<usize> {
    let Some(model) = Model::fit(state) else { return Vec::new() };
    let level = model.level(winner);
    let mut effects: Vec<(f64, usize)> = (0..winner.0.len())
        .filter(|at| winner.0[*at] != state.plan.default.0[*at])
        .map(|at| {
            let mut without = winner.clone();
            without.0[at] = state.plan.default.0[at];
            ((model.level(&without) - level).abs(), at)
        })
        .filter(|(effect, _)| *effect < NO_GAIN)
        .collect();
    effects.sort_by(|a, b| a.0.total_cmp(&b.0));
    effects.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_given_up_once_two_pairs_lose_more_than_equal_blocks_differ() {
        let pairs = |losses: &[f64]| {
            let pruned = losses.iter().copied().map(Some).collect();
            Pairs { logs: [vec![Some(0.0); losses.len()], pruned], ..Pairs::default() }
        };
        assert!(!pairs(&[0.5]).surely_lose(0.1));
        assert!(pairs(&[0.5, 0.2]).surely_lose(0.1));
        assert!(!pairs(&[0.3, -0.1]).surely_lose(0.1));
    }
}
