//! What others do with as many blocks.

use super::super::race::estimate;
use super::super::*;
use super::surface::{Machine, Surface};

/// Logarithms of objective and goal's ratio of a block.
fn block(machine: &mut Machine, point: &Point) -> (f64, f64) {
    let outcome = machine.run(point);
    (outcome.ln_objective().unwrap(), outcome.ln_goal().unwrap_or(f64::NEG_INFINITY))
}

/// Settings at random; the best block that meets the goal wins.
pub(super) fn random(surface: &Surface, machine: &mut Machine, budget: usize, seed: u64) -> Point {
    let mut random = Random::for_part(seed, 90);
    let mut best = (block(machine, &surface.default).0, surface.default.clone());
    for _ in 1..budget {
        let point = surface.anywhere(&mut random);
        let (objective, goal) = block(machine, &point);
        if objective < best.0 && goal + GOAL_ROOM.ln() <= 0.0 {
            best = (objective, point);
        }
    }
    best.1
}

/// One setting after the other in random order, each at a random other level in a pair with what there is by now; it stays changed
/// where it is better by 3 %.
pub(super) fn one_at_a_time(surface: &Surface, machine: &mut Machine, budget: usize, seed: u64) -> Point {
    let mut random = Random::for_part(seed, 91);
    let mut now = surface.default.clone();
    let order = random.order(surface.dimensions.len());
    for at in order.iter().cycle().take(budget / 2) {
        let mut other = now.clone();
        while other.0[*at] == now.0[*at] {
            other.0[*at] = random.below(surface.dimensions[*at].levels());
        }
        let (mine, (objective, goal)) = match random.below(2) {
            0 => (block(machine, &now), block(machine, &other)),
            _ => {
                let others = block(machine, &other);
                (block(machine, &now), others)
            }
        };
        if objective < mine.0 - 0.03 && goal + GOAL_ROOM.ln() <= 0.0 {
            now = other;
        }
    }
    now
}

/// The presets and what there is in rounds of random order; from the second on what is clearly worse than the best is dropped.
pub(super) fn raced_presets(surface: &Surface, machine: &mut Machine, budget: usize, seed: u64) -> Point {
    let mut random = Random::for_part(seed, 92);
    let mut points = surface.presets.clone();
    points.push(surface.default.clone());
    let default = points.len() - 1;
    let mut stays: Vec<usize> = (0..points.len()).collect();
    let mut seen: Vec<Vec<(f64, f64)>> = vec![Vec::new(); points.len()];
    let mut left = budget;
    while stays.len() > 1 && stays.len() <= left {
        left -= stays.len();
        random.shuffle(&mut stays);
        for at in &stays {
            seen[*at].push(block(machine, &points[*at]));
        }
        if seen[default].len() < 2 {
            continue;
        }
        let goal = |at: usize| mean(seen[at].iter().map(|block| block.1)).unwrap();
        let level = |at: usize| mean(seen[at].iter().map(|block| block.0)).unwrap();
        stays.retain(|at| *at == default || goal(*at) + GOAL_ROOM.ln() <= 0.0);
        let best = stays.iter().copied().min_by(|a, b| level(*a).total_cmp(&level(*b))).unwrap();
        stays.retain(|at| {
            let pairs: Vec<f64> = seen[*at].iter().zip(&seen[best]).map(|(a, b)| a.0 - b.0).collect();
            let (mean, error) = estimate(&pairs).unwrap();
            *at == default || *at == best || mean <= 1.3 * error
        });
    }
    let level = |at: usize| mean(seen[at].iter().map(|block| block.0)).unwrap();
    let best = stays.iter().copied().min_by(|a, b| level(*a).total_cmp(&level(*b))).unwrap();
    let beats = level(best) - mean(seen[default].iter().take(seen[best].len()).map(|b| b.0)).unwrap() < -0.02;
    points[if beats { best } else { default }].clone()
}
