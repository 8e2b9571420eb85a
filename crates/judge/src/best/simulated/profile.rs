//! Where a search loses what there would be to gain: on its presets, in exploring, in the race or in pruning.

use super::surface::{Kind, Machine, Surface};
use super::*;

/// Seeds of its own, so that a search that is changed by what this shows is tried on others.
const FIRST_SEED: u64 = 1000;
const SEEDS: u64 = 24;

/// True values over the best that there is, as logarithms.
struct Losses {
    preset: f64,
    run: f64,
    raced: f64,
    winner: f64,
    unpruned: f64,
    blocks: usize,
    explored: usize,
    broken: bool,
}

fn losses(kind: Kind, seed: u64, budget: usize) -> Losses {
    let surface = Surface::new(kind, seed);
    let mut machine = Machine::new(&surface, seed);
    let searched = search(&surface, &mut machine, budget, seed);
    let optimum = surface.optimum();
    let loss = |point: &Point| surface.truth(point).ln_objective - optimum;
    let meets = |point: &Point| surface.truth(point).ln_goal.is_none_or(|ln| ln <= 0.0);
    let least = |purpose: Option<BestPurpose>| {
        let of = searched.tries.iter().filter(|tried| purpose.is_none_or(|is| is == tried.purpose));
        of.filter(|tried| meets(&tried.point)).map(|tried| loss(&tried.point)).fold(f64::INFINITY, f64::min)
    };
    let winner = searched.point(&surface);
    let unpruned = searched.found.unpruned.clone().unwrap_or(surface.default.clone());
    let explored = searched.tries.iter().filter(|tried| tried.purpose == BestPurpose::Explore).count();
    Losses {
        preset: least(Some(BestPurpose::Preset)),
        run: least(None),
        raced: least(Some(BestPurpose::Race)),
        winner: loss(&winner),
        unpruned: loss(&unpruned),
        blocks: searched.tries.len(),
        explored,
        broken: !meets(&winner),
    }
}

fn ratios(all: &[Losses], of: impl Fn(&Losses) -> f64) -> String {
    let mut sorted: Vec<f64> = all.iter().map(of).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize].exp();
    let middle = mean(sorted.iter().copied()).unwrap().exp();
    format!("{:.3}/{middle:.3}/{:.2}", at(0.5), at(0.9))
}

#[test]
#[ignore = "a simulation"]
fn where_a_search_loses() {
    println!("median / geometric mean / ninth decile");
    for kind in [Kind::A, Kind::B, Kind::C, Kind::N] {
        let all = of_seeds(SEEDS, |seed| losses(kind, FIRST_SEED + seed, 40));
        let blocks = mean(all.iter().map(|one| one.blocks as f64)).unwrap();
        let explored = mean(all.iter().map(|one| one.explored as f64)).unwrap();
        println!(
            "{kind:?}: preset {}, run {}, raced {}, unpruned {}, winner {}; blocks {blocks:.1}, explored {explored:.1}, broken {}",
            ratios(&all, |one| one.preset),
            ratios(&all, |one| one.run),
            ratios(&all, |one| one.raced),
            ratios(&all, |one| one.unpruned),
            ratios(&all, |one| one.winner),
            all.iter().filter(|one| one.broken).count(),
        );
    }
}
