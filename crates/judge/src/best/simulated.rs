//! Searches on surfaces whose truth is known.

mod others;
mod surface;

use super::*;
use surface::{Kind, Machine, Surface};

struct Anything;

impl Physics for Anything {
    fn is_possible(&self, _: &Point) -> bool {
        true
    }

    fn inputs(&self, _: &Point) -> Vec<f64> {
        Vec::new()
    }
}

#[test]
fn a_preset_that_is_better_without_noise_is_found() {
    let dimensions = vec![Dimension::Ordered { places: 5 }; 3];
    let presets = vec![Point(vec![1, 2, 3]), Point(vec![4, 0, 0])];
    let plan =
        BestPlan { dimensions, default: Point(vec![0; 3]), presets, budget: 16, has_goal: false, seed: 1 };
    let mut tries = Vec::new();
    let found = loop {
        match next(&tries, &plan, &Anything) {
            Next::Done(found) => break found,
            Next::Try { point, purpose, .. } => {
                let objective = 10.0 - point.0[0] as f64;
                tries.push(Tried {
                    point,
                    purpose,
                    outcome: Outcome::Measured { objective, goal_ratio: None },
                });
            }
        }
    };
    assert_eq!((found.ending, found.unpruned), (BestEnding::Better, Some(Point(vec![4, 0, 0]))));
}

/// A search and what it found.
struct Searched {
    tries: Vec<Tried>,
    found: Found,
}

impl Searched {
    /// What a user has after it.
    fn point(&self, surface: &Surface) -> Point {
        self.found.winner.clone().unwrap_or(surface.default.clone())
    }
}

fn plan(surface: &Surface, budget: usize, seed: u64) -> BestPlan {
    BestPlan {
        dimensions: surface.dimensions.clone(),
        default: surface.default.clone(),
        presets: surface.presets.clone(),
        budget,
        has_goal: surface.kind.has_goal(),
        seed,
    }
}

fn search(surface: &Surface, machine: &mut Machine, budget: usize, seed: u64) -> Searched {
    let plan = plan(surface, budget, seed);
    let mut tries = Vec::new();
    loop {
        match next(&tries, &plan, surface) {
            Next::Done(found) => return Searched { tries, found },
            Next::Try { point, purpose, give_up_above } => {
                assert!(tries.len() < plan.blocks_most());
                let outcome = match (machine.run(&point), give_up_above) {
                    (Outcome::Measured { objective, goal_ratio }, Some(above)) if objective > above => {
                        Outcome::AtLeast { objective: above, goal_ratio }
                    }
                    (outcome, _) => outcome,
                };
                tries.push(Tried { point, purpose, outcome });
            }
        }
    }
}

/// Of each of these seeds, on all processors.
fn of_seeds<T: Send>(seeds: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let of_worker = |worker: u64| -> Vec<(u64, T)> {
        (worker..seeds).step_by(workers as usize).map(|seed| (seed, one(seed))).collect()
    };
    let mut all = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || of_worker(worker))).collect::<Vec<_>>();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect::<Vec<(u64, T)>>()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, result)| result).collect()
}

/// What a procedure came to over many surfaces: true values over the best that there is, and goals broken.
struct Row {
    ratios: Vec<f64>,
    infeasible: f64,
}

impl Row {
    fn of(results: &[(Surface, Point)]) -> Row {
        let mut ratios: Vec<f64> = results
            .iter()
            .map(|(surface, point)| (surface.truth(point).ln_objective - surface.optimum()).exp())
            .collect();
        ratios.sort_by(f64::total_cmp);
        let broken =
            |(surface, point): &&(Surface, Point)| surface.truth(point).ln_goal.is_some_and(|ln| ln > 0.0);
        let infeasible = results.iter().filter(broken).count() as f64 / results.len() as f64;
        Row { ratios, infeasible }
    }

    fn quantile(&self, share: f64) -> f64 {
        self.ratios[((self.ratios.len() - 1) as f64 * share).round() as usize]
    }

    fn print(&self, kind: Kind, name: &str) {
        let (median, ninth) = (self.quantile(0.5), self.quantile(0.9));
        println!("{kind:?} {name:<22} {median:.2} / {ninth:.2}  infeasible {:.1} %", 100.0 * self.infeasible);
    }
}

type Procedure = fn(&Surface, &mut Machine, usize, u64) -> Point;

const OURS: Procedure =
    |surface, machine, budget, seed| search(surface, machine, budget, seed).point(surface);

const PROCEDURES: [(&str, Procedure); 5] = [
    ("the default", |surface, _, _, _| surface.default.clone()),
    ("random", others::random),
    ("one at a time", others::one_at_a_time),
    ("raced presets", others::raced_presets),
    ("this search", OURS),
];

fn row(kind: Kind, procedure: Procedure, budget: usize, seeds: u64) -> Row {
    Row::of(&of_seeds(seeds, |seed| {
        let surface = Surface::new(kind, seed);
        let mut machine = Machine::new(&surface, seed);
        let point = procedure(&surface, &mut machine, budget, seed);
        (surface, point)
    }))
}

/// Seeds of each long simulation.
const SEEDS: u64 = 200;

#[test]
#[ignore = "a simulation"]
fn a_look_at_all() {
    let seeds = std::env::var("SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for kind in [Kind::A, Kind::B, Kind::C, Kind::N] {
        for (name, procedure) in
            PROCEDURES.into_iter().skip(std::env::var("SKIP").map_or(0, |s| s.parse().unwrap()))
        {
            row(kind, procedure, 40, seeds).print(kind, name);
        }
        let at = std::time::Instant::now();
        let searches = of_seeds(seeds, |seed| {
            let surface = Surface::new(kind, seed);
            let mut machine = Machine::new(&surface, seed);
            let searched = search(&surface, &mut machine, 40, seed);
            let unpruned = searched.found.unpruned.clone().unwrap_or(surface.default.clone());
            let changes =
                |point: &Point| point.0.iter().zip(&surface.default.0).filter(|(a, b)| a != b).count();
            let (all, left) = (changes(&unpruned), changes(&searched.point(&surface)));
            ((surface, unpruned), searched, all, left)
        });
        let seconds = at.elapsed().as_secs_f64();
        let mean =
            |of: &dyn Fn(usize) -> f64| (0..searches.len()).map(of).sum::<f64>() / searches.len() as f64;
        println!(
            "  {:.1} s, blocks {:.1}, changes {:.1} -> {:.1}, better {:.2}, gain {:.2}, spread {:.2}",
            seconds,
            mean(&|at| searches[at].1.tries.len() as f64),
            mean(&|at| searches[at].2 as f64),
            mean(&|at| searches[at].3 as f64),
            mean(&|at| f64::from(u8::from(searches[at].1.found.ending == BestEnding::Better))),
            mean(&|at| searches[at].1.found.smallest_gain.unwrap_or(1.0)),
            mean(&|at| searches[at].1.found.spread.unwrap_or(0.0)),
        );
        for ending in
            [BestEnding::Better, BestEnding::AsGood, BestEnding::NothingMeetsGoal, BestEnding::TooNoisy]
        {
            println!(
                "    {ending:?} {:.3}",
                mean(&|at| f64::from(u8::from(searches[at].1.found.ending == ending)))
            );
        }
        let unpruned: Vec<(Surface, Point)> = searches.into_iter().map(|one| one.0).collect();
        Row::of(&unpruned).print(kind, "this search, unpruned");
    }
}

#[test]
#[ignore = "diag"]
fn diag() {
    for kind in [Kind::A, Kind::B, Kind::C] {
        for seed in 0..4 {
            let surface = Surface::new(kind, seed);
            let best = surface.best();
            let mut machine = Machine::new(&surface, seed);
            let searched = search(&surface, &mut machine, 40, seed);
            let point = searched.point(&surface);
            let t = |p: &Point| surface.truth(p).ln_objective - surface.optimum();
            println!(
                "{kind:?} {seed} default {:.2} found {:.2} unstable {} presets {:?}",
                t(&surface.default),
                t(&point),
                surface.is_unstable(&point),
                surface.presets.iter().map(|p| format!("{:.2}", t(p))).collect::<Vec<_>>()
            );
            println!("  best {:?}\n  found {:?}", best.0, point.0);
            let eff: Vec<String> = (0..24)
                .filter_map(|at| {
                    let mut p = best.clone();
                    p.0[at] = point.0[at];
                    let e = surface.stable(&p).ln_objective - surface.optimum();
                    let g = surface.stable(&p).ln_goal.unwrap_or(0.0);
                    (e.abs() > 0.01 || g > 0.01).then(|| format!("{at}:{e:.2}/{g:.2}"))
                })
                .collect();
            println!("  missing {eff:?}");
            let eff: Vec<String> = (0..24)
                .filter_map(|at| {
                    let mut p = best.clone();
                    p.0[at] = surface.default.0[at];
                    let e = surface.stable(&p).ln_objective - surface.optimum();
                    (e.abs() > 0.01).then(|| format!("{at}:{e:.2}"))
                })
                .collect();
            println!("  default-missing {eff:?}");
            let explored: Vec<String> =
                searched.tries.iter().map(|x| format!("{:?}{:.2}", x.purpose, t(&x.point))).collect();
            println!("  {}", explored.join(" "));
        }
    }
}
