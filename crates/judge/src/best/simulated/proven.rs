//! What is handed over after the trials that follow a search: how many of its changes do nothing, and what is lost by taking changes back.

use super::surface::{Kind, Machine, Surface};
use super::*;
use crate::settings_search::{Part, Taken, TakingBack, shown_to_matter, taking_back};
use plumb_model::plan::Properties;
use plumb_model::search_report::PartVerdict;
use plumb_stats::multiple::holm;
use plumb_stats::signed_rank::{hodges_lehmann, pairs_min, signed_rank};

/// Seeds of their own.
const FIRST_SEED: u64 = 2000;
const SEEDS: u64 = 60;

/// As the trials of a search have them.
const PARTS_PAIRS: usize = 8;
const PARTS_SPARE: usize = 2;
const PROOF_PAIRS: usize = 12;
const MARGIN: f64 = 1.03;

/// A change that does less than this to the logarithm of the objective does nothing.
const IDLE: f64 = 0.01;

struct Trials<'a> {
    surface: &'a Surface,
    machine: Machine<'a>,
    random: Random,
    blocks: usize,
}

impl Trials<'_> {
    /// Logarithms of the objective by pair and arm, each pair in a random order.
    fn run(&mut self, arms: &[Point], pairs: usize) -> Vec<Vec<f64>> {
        self.blocks += arms.len() * pairs;
        (0..pairs)
            .map(|_| {
                let mut logs = vec![0.0; arms.len()];
                for at in self.random.order(arms.len()) {
                    logs[at] = self.machine.run(&arms[at]).ln_objective().unwrap();
                }
                logs
            })
            .collect()
    }

    fn point(&self, changes: &Properties) -> Point {
        let mut point = self.surface.default.clone();
        for (dimension, level) in changes {
            point.0[dimension.parse::<usize>().unwrap()] = level.parse().unwrap();
        }
        point
    }

    fn parts(&mut self, all: &Properties) -> Taken {
        let mut arms = vec![self.point(all)];
        for setting in all.keys() {
            let mut others = all.clone();
            others.remove(setting);
            arms.push(self.point(&others));
        }
        let fewest = pairs_min(1.0 - 0.05 / all.len() as f64).unwrap();
        let logs = self.run(&arms, (fewest + PARTS_SPARE).max(PARTS_PAIRS));
        let parts = compared(&logs, &(1..arms.len()).map(|arm| (arm, 0)).collect::<Vec<_>>());
        Taken::Parts(all.keys().cloned().zip(parts).collect())
    }

    fn race(&mut self, all: &Properties, fewer: &Properties) -> Taken {
        let logs = self.run(&[self.point(all), self.point(fewer)], PARTS_PAIRS);
        Taken::Race(compared(&logs, &[(1, 0)]).pop())
    }

    /// What is proposed after the proof: of what is proven the fewest, unless more are shown to be better; or nothing.
    fn proof(&mut self, by_size: &[&Properties]) -> Option<Properties> {
        let mut sets: Vec<&Properties> = Vec::new();
        for set in by_size {
            if !sets.contains(set) {
                sets.push(set);
            }
        }
        let arms: Vec<Point> = std::iter::once(self.surface.default.clone())
            .chain(sets.iter().map(|set| self.point(set)))
            .collect();
        let of: Vec<(usize, usize)> =
            (1..arms.len()).flat_map(|arm| (0..arm).map(move |against| (arm, against))).collect();
        let logs = self.run(&arms, PROOF_PAIRS);
        let found = compared(&logs, &of);
        let is = |arm: usize, against: usize, wanted: PartVerdict| {
            of.iter().zip(&found).any(|(of, part)| *of == (arm, against) && part.verdict == wanted)
        };
        // "Harmful" to leave out is better to have.
        let is_enough = |arm: &usize| {
            is(*arm, 0, PartVerdict::Harmful)
                && !(*arm + 1..arms.len()).any(|more| is(more, *arm, PartVerdict::Harmful))
        };
        (1..arms.len()).find(is_enough).map(|arm| sets[arm - 1].clone())
    }
}

/// Arms against others, with verdicts as a trial gives them: "matters" is worse, "harmful" better.
fn compared(logs: &[Vec<f64>], of: &[(usize, usize)]) -> Vec<Part> {
    let differences: Vec<Vec<f64>> = of
        .iter()
        .map(|(arm, against)| logs.iter().map(|pair| pair[*arm] - pair[*against]).collect())
        .collect();
    let raw: Vec<f64> = differences.iter().map(|of| signed_rank(of).unwrap().p_two_sided).collect();
    let adjusted = holm(&raw);
    let part = |(of, p): (&Vec<f64>, &f64)| {
        let loss = hodges_lehmann(of, 0.95).unwrap().estimate;
        let within = hodges_lehmann(of, 0.9).unwrap();
        let verdict = match () {
            () if within.low >= -MARGIN.ln() && within.high <= MARGIN.ln() => PartVerdict::Idle,
            () if *p > 0.05 => PartVerdict::NotShown,
            () if loss > 0.0 => PartVerdict::Matters,
            () => PartVerdict::Harmful,
        };
        Part { verdict, loss: Some(loss) }
    };
    differences.iter().zip(&adjusted).map(part).collect()
}

/// As it was: what matters by the parts alone, and everything where nothing does.
fn once(trials: &mut Trials, winner: &Properties) -> (Properties, Vec<Taken>) {
    if winner.len() < 2 {
        return (winner.clone(), Vec::new());
    }
    let taken = trials.parts(winner);
    let Taken::Parts(parts) = &taken else { panic!() };
    let mut kept = winner.clone();
    kept.retain(|setting, _| parts[setting].verdict == PartVerdict::Matters);
    (if kept.is_empty() { winner.clone() } else { kept }, vec![taken])
}

fn taken_back(trials: &mut Trials, winner: &Properties) -> (Properties, Vec<Taken>) {
    let mut taken = Vec::new();
    loop {
        taken.push(match taking_back(winner, &taken) {
            TakingBack::Prove(changes) => return (changes, taken),
            TakingBack::Parts(all) => trials.parts(&all),
            TakingBack::Race { all, fewer } => trials.race(&all, &fewer),
        });
    }
}

/// What is to be proven of a winner, and the trials before.
type Reduce = fn(&mut Trials, &Properties) -> (Properties, Vec<Taken>);

/// True if a change is shown to matter, or is the only one: as the answer says it.
fn is_shown(setting: &String, proposed: &Properties, winner: &Properties, taken: &[Taken]) -> bool {
    let mut parts = taken.iter().filter_map(|taken| match taken {
        Taken::Parts(parts) => parts.get(setting),
        Taken::Race(_) => None,
    });
    let part = if proposed == winner { parts.next() } else { parts.next_back() };
    proposed.len() == 1 || part.is_some_and(|part| part.verdict == PartVerdict::Matters)
}

/// What one search handed over.
struct HandedOver {
    changes: usize,
    idle: usize,
    not_shown: usize,
    /// True objective over the best that there is, as a logarithm.
    loss: f64,
    blocks: usize,
    /// True if fewer were not proven.
    is_all: bool,
}

fn handed_over(surface: &Surface, seed: u64, winner: &Properties, reduce: Reduce) -> Option<HandedOver> {
    let machine = Machine::new(surface, seed ^ 0x9e37);
    let mut trials = Trials { surface, machine, random: Random::for_part(seed, 94), blocks: 0 };
    let (smallest, taken) = reduce(&mut trials, winner);
    let fewest = if taken.len() > 1 { shown_to_matter(&smallest, &taken) } else { smallest.clone() };
    let proposed = trials.proof(&[&fewest, &smallest, winner])?;
    let level = |changes: &Properties| surface.truth(&trials.point(changes)).ln_objective;
    let without = |setting: &String| {
        let mut others = proposed.clone();
        others.remove(setting);
        level(&others)
    };
    let own = level(&proposed);
    Some(HandedOver {
        changes: proposed.len(),
        idle: proposed.keys().filter(|setting| without(setting) - own < IDLE).count(),
        not_shown: proposed.keys().filter(|one| !is_shown(one, &proposed, winner, &taken)).count(),
        loss: own - surface.optimum(),
        is_all: proposed == *winner && smallest != *winner,
        blocks: trials.blocks,
    })
}

#[test]
#[ignore = "a simulation"]
fn fewer_of_the_changes_that_are_handed_over_do_nothing() {
    for kind in [Kind::A, Kind::B, Kind::C, Kind::Pairs, Kind::Steps] {
        let both = of_seeds(SEEDS, |seed| {
            let seed = FIRST_SEED + seed;
            let surface = Surface::new(kind, seed);
            let mut machine = Machine::new(&surface, seed);
            let winner = search(&surface, &mut machine, 40, seed).found.winner?;
            let changed = (0..winner.0.len()).filter(|at| winner.0[*at] != surface.default.0[*at]);
            let winner: Properties = changed.map(|at| (at.to_string(), winner.0[at].to_string())).collect();
            Some([once as Reduce, taken_back].map(|reduce| handed_over(&surface, seed, &winner, reduce)))
        });
        let found: Vec<_> = both.into_iter().flatten().collect();
        let mut shares = Vec::new();
        for (at, name) in ["once", "taken back"].into_iter().enumerate() {
            let all: Vec<&HandedOver> = found.iter().filter_map(|both| both[at].as_ref()).collect();
            let sum = |of: fn(&HandedOver) -> usize| all.iter().map(|one| of(one)).sum::<usize>() as f64;
            let mut losses: Vec<f64> = all.iter().map(|one| one.loss).collect();
            losses.sort_by(f64::total_cmp);
            let at = |share: f64| losses[((losses.len() - 1) as f64 * share).round() as usize].exp();
            shares.push(sum(|one| one.idle) / sum(|one| one.changes));
            println!(
                "{kind:?} {name}: {} of {} proven, {:.1} changes each, {:.3} of them without effect, {:.3} not shown, {:.2} / {:.2} of the best, \
                 {:.0} blocks, {} of all as fewer were not proven",
                all.len(),
                found.len(),
                sum(|one| one.changes) / all.len() as f64,
                shares.last().unwrap(),
                sum(|one| one.not_shown) / sum(|one| one.changes),
                at(0.5),
                at(0.9),
                sum(|one| one.blocks) / all.len() as f64,
                sum(|one| usize::from(one.is_all)),
            );
        }
        assert!(shares[1] <= shares[0], "{kind:?}");
    }
}
