//! Tests: changes are found, and noise is left alone.

use super::*;

/// The law of a second's noise: normal, or with the heavy tails of Student's t with 3 degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tails {
    Normal,
    Heavy,
}

/// Latency of each second in logarithms: AR(1) noise of 10 %, times a level at each part 0..1 and second.
fn seconds(
    n: usize,
    (phi, tails): (f64, Tails),
    level: &dyn Fn(f64, usize) -> f64,
    random: &mut Random,
) -> Vec<f64> {
    let mut draw = || {
        let z = random.normal();
        match tails {
            Tails::Normal => z,
            Tails::Heavy => z / (0..3).map(|_| random.normal().powi(2)).sum::<f64>().sqrt(),
        }
    };
    let mut noise = 0.0;
    for _ in 0..50 {
        noise = phi * noise + (1.0 - phi * phi).sqrt() * draw();
    }
    let series = (0..n).map(|second| {
        noise = phi * noise + (1.0 - phi * phi).sqrt() * draw();
        0.1 * noise + level(second as f64 / (n - 1) as f64, second).ln()
    });
    series.collect()
}

/// Share of series in which a change is found at the level alpha.
fn found(trials: u64, n: usize, noise: (f64, Tails), alpha: f64, level: &dyn Fn(f64, usize) -> f64) -> f64 {
    let mut random = Random::new(99);
    let hits = (0..trials).filter(|&trial| {
        let series = seconds(n, noise, level, &mut random);
        largest_change(&series, trial).is_some_and(|change| change.p <= alpha)
    });
    hits.count() as f64 / trials as f64
}

const WHITE: (f64, Tails) = (0.0, Tails::Normal);

fn step(at: usize, factor: f64) -> impl Fn(f64, usize) -> f64 {
    move |_, second| if second >= at { factor } else { 1.0 }
}

fn evenly(factor: f64) -> impl Fn(f64, usize) -> f64 {
    move |part, _| 1.0 + (factor - 1.0) * part
}

fn two_steps(factor: f64) -> impl Fn(f64, usize) -> f64 {
    move |part, _| {
        if part < 0.33 {
            1.0
        } else if part < 0.66 {
            factor.sqrt()
        } else {
            factor
        }
    }
}

fn saw_tooth(period: usize, factor: f64) -> impl Fn(f64, usize) -> f64 {
    move |_, second| 1.0 + (factor - 1.0) * (second % period) as f64 / (period - 1) as f64
}

fn one(series: &[f64]) -> Change {
    let change = largest_change(series, 1).unwrap();
    assert!(change.p < 0.01, "{change:?}");
    change
}

#[test]
fn lingering_noise_does_not_pass_for_a_change() {
    let share = found(100, 30, (0.5, Tails::Normal), 0.05, &|_, _| 1.0);
    assert!(share <= 0.13, "{share}");
}

/// Among noise of 10 %, a step of 20 % may look like a rise: its size is found, and its place may not be.
#[test]
fn a_step_is_found_where_it_is_and_a_small_one_at_least_with_its_size() {
    for seed in 0..8 {
        let change = one(&seconds(100, WHITE, &step(40, 1.5), &mut Random::new(seed)));
        let Shape::Steps { starts, levels } = &change.shape else { panic!("{change:?}") };
        assert!(starts.len() == 1 && (38..=42).contains(&starts[0]) && levels.len() == 2, "{change:?}");
        assert!(((change.after - change.before).exp() - 1.5).abs() < 0.12, "{change:?}");
        let small = one(&seconds(100, WHITE, &step(40, 1.2), &mut Random::new(seed)));
        assert!(!matches!(small.shape, Shape::Swings { .. }), "{small:?}");
        assert!(((small.after - small.before).exp() - 1.2).abs() < 0.12, "{small:?}");
    }
}

#[test]
fn growth_by_any_factor_is_a_drift_up_and_a_falling_level_one_down() {
    for factor in [1.5, 2.0, 5.0, 50.0] {
        let up = one(&seconds(60, WHITE, &evenly(factor), &mut Random::new(6)));
        assert!(matches!(up.shape, Shape::Drift { .. }), "{up:?}");
        let ratio = (up.after - up.before).exp() / factor;
        assert!((0.7..=1.4).contains(&ratio), "x{factor}: {up:?}");
        let down = one(&seconds(60, WHITE, &evenly(1.0 / factor), &mut Random::new(7)));
        assert!(down.after < down.before, "{down:?}");
    }
}

#[test]
fn growth_without_any_noise_is_found() {
    let series: Vec<f64> = (0..30).map(|i| f64::from(i).mul_add(0.1, 1.0).ln()).collect();
    assert!(matches!(one(&series).shape, Shape::Drift { .. }));
}

#[test]
fn two_steps_are_two_steps() {
    for factor in [2.0, 5.0, 50.0] {
        let change = one(&seconds(60, WHITE, &two_steps(factor), &mut Random::new(8)));
        let Shape::Steps { starts, .. } = &change.shape else { panic!("{change:?}") };
        assert_eq!(starts.len(), 2, "{change:?}");
        assert!(starts[0].abs_diff(20) <= 2 && starts[1].abs_diff(39) <= 2, "{change:?}");
    }
}

#[test]
fn swings_are_found_with_their_period_in_short_series_and_in_long_ones() {
    for (n, period, factor) in [(60, 10, 1.5), (60, 10, 3.0), (60, 5, 3.0), (1_200, 8, 2.0)] {
        let change = one(&seconds(n, WHITE, &saw_tooth(period, factor), &mut Random::new(9)));
        let Shape::Swings { period: seen } = change.shape else { panic!("{change:?}") };
        assert!((seen / period as f64 - 1.0).abs() < 0.05, "{change:?}");
    }
}

#[test]
fn one_spike_is_no_change() {
    let mut series = seconds(60, WHITE, &|_, _| 1.0, &mut Random::new(8));
    series[30] += 3.0;
    assert!(largest_change(&series, 1).unwrap().p > 0.05);
}

#[test]
fn the_answer_follows_from_the_seed() {
    let series = seconds(50, (0.5, Tails::Normal), &step(25, 1.15), &mut Random::new(2));
    assert_eq!(largest_change(&series, 4), largest_change(&series, 4));
}

#[test]
fn a_series_too_short_or_constant_gives_nothing() {
    assert_eq!(largest_change(&[1.0; 11], 0), None);
    assert_eq!(largest_change(&[1.0; 40], 0), None);
    assert_eq!(largest_change(&[f64::NAN; 40], 0), None);
}

#[test]
#[ignore = "slow: make simulations"]
fn false_alarms_stay_near_their_level_in_long_simulations() {
    for n in [15, 30, 60] {
        for (phi, at_most) in [(0.0, 0.05), (0.3, 0.05), (0.5, 0.05), (0.7, 0.065), (0.8, 0.085)] {
            for tails in [Tails::Normal, Tails::Heavy] {
                let share = found(1_000, n, (phi, tails), 0.02, &|_, _| 1.0);
                assert!(share <= at_most, "n {n}, phi {phi}, {tails:?}: {share}");
            }
        }
    }
}

#[test]
#[ignore = "slow: make simulations"]
fn growth_steps_and_swings_are_found_as_stated_in_long_simulations() {
    // Of 100 series each, at 2 %: growth and two steps by these factors.
    let stated = [
        (15, 5.0, 0.80, 0.90),
        (15, 50.0, 0.95, 0.95),
        (30, 1.5, 0.55, 0.45),
        (30, 5.0, 0.95, 0.95),
        (30, 50.0, 0.95, 0.95),
        (60, 1.5, 0.95, 0.95),
        (60, 50.0, 0.95, 0.95),
    ];
    for (n, factor, growth, steps) in stated {
        let (grown, stepped) =
            (found(100, n, WHITE, 0.02, &evenly(factor)), found(100, n, WHITE, 0.02, &two_steps(factor)));
        assert!(grown >= growth && stepped >= steps, "n {n}, x{factor}: {grown}, {stepped}");
    }
    for (n, factor, least) in [(30, 1.5, 0.4), (30, 3.0, 0.95), (60, 1.5, 0.95), (60, 3.0, 0.95)] {
        let share = found(100, n, WHITE, 0.02, &saw_tooth(10, factor));
        assert!(share >= least, "n {n}, x{factor}: {share}");
    }
}
