//! Against what can be worked out by hand, and functions that are known.

use super::*;

fn square(rows: &[&[f64]]) -> Square {
    Square { size: rows.len(), cells: rows.concat() }
}

fn close(a: &[f64], b: &[f64], by: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < by)
}

/// The example of Wikipedia's "Cholesky decomposition".
#[test]
fn a_matrix_is_factored_as_by_hand() {
    let matrix = square(&[&[4.0, 12.0, -16.0], &[12.0, 37.0, -43.0], &[-16.0, -43.0, 98.0]]);
    let factor = matrix.cholesky().unwrap();
    assert!(close(&factor.cells, &[2.0, 0.0, 0.0, 6.0, 1.0, 0.0, -8.0, 5.0, 3.0], 1e-12));
    assert!((factor.half_ln_determinant() - 6f64.ln()).abs() < 1e-12);
    let x = factor.solve(&[-20.0, -43.0, 192.0]);
    assert!(close(&x, &[1.0, 2.0, 3.0], 1e-9), "{x:?}");
    let unit: Vec<f64> = (0..3).map(|column| dot(matrix.row(0), factor.inverse().row(column))).collect();
    assert!(close(&unit, &[1.0, 0.0, 0.0], 1e-9));
}

#[test]
fn a_matrix_with_two_equal_rows_is_factored_all_the_same_and_an_indefinite_one_is_not() {
    assert!(square(&[&[1.0, 1.0], &[1.0, 1.0]]).cholesky().is_some());
    assert!(square(&[&[1.0, 2.0], &[2.0, 1.0]]).cholesky().is_none());
}

/// (1 + sqrt 5 + 5/3) exp(-sqrt 5) = 0.523994 at one length.
#[test]
fn the_covariance_at_one_length_is_that_of_the_printed_formula() {
    assert!((matern(1.0) - 0.523_994).abs() < 1e-6);
    assert_eq!(matern(0.0), 1.0);
}

/// With a prior variance of 1 + signal and one observation at its own mean, what is left is by hand
/// k - k^2 / (k + drift + noise).
#[test]
fn what_one_observation_leaves_open_is_as_by_hand() {
    let seen = [Observation { inputs: vec![0.5], at: 0.0, value: 3.0 }];
    let process = GaussianProcess::fit(&[Axis::Line], &seen, 0.1).unwrap();
    let Hyper { drift, noise, .. } = process.hyper;
    let prior = process.hyper.variance(&process.hyper.inverse_squares());
    assert!(prior > 1.0);
    let left = prior - prior * prior / (prior + (2.0 * drift).exp() + (2.0 * noise).exp());
    let belief = process.at(&[0.5]);
    assert!((belief.mean - 3.0).abs() < 1e-12);
    assert!((belief.sd - SCALE_LEAST * left.sqrt()).abs() < 1e-12);
}

#[test]
fn the_slopes_are_those_of_the_posterior() {
    let mut random = Random::new(3);
    let seen: Vec<Observation> = (0..12)
        .map(|at| Observation {
            inputs: vec![random.unit(), random.below(3) as f64, random.unit()],
            at: at as f64,
            value: random.normal(),
        })
        .collect();
    let values = seen.iter().map(|one| one.value).collect();
    let pairs = Pairs::new(&[Axis::Line, Axis::Choice, Axis::Line], &seen, values);
    let expected = [0.5, 0.5, 0.5, 0.0, 0.1, -1.0, -1.0];
    let at = [0.1, -0.4, 0.9, 0.3, -0.3, -0.8, -0.6];
    let (_, slopes) = pairs.posterior(&at, &expected).unwrap();
    for place in 0..at.len() {
        let height = |by: f64| {
            let mut at = at;
            at[place] += by;
            pairs.posterior(&at, &expected).unwrap().0
        };
        let slope = (height(1e-5) - height(-1e-5)) / 2e-5;
        assert!((slope - slopes[place]).abs() < 1e-5, "{place}: {slope} {}", slopes[place]);
    }
}

/// Of twelve inputs two matter: one bends, one is a choice.
fn known(inputs: &[f64]) -> f64 {
    (3.0 * inputs[0]).sin() + if inputs[1] == 2.0 { 0.5 } else { 0.0 }
}

fn observed(count: usize, noise: f64, drift: f64, seed: u64) -> (Vec<Axis>, Vec<Observation>) {
    let mut random = Random::new(seed);
    let mut axes = vec![Axis::Line; 12];
    axes[1] = Axis::Choice;
    let place = |random: &mut Random| -> Vec<f64> {
        axes.iter()
            .map(|axis| match axis {
                Axis::Line => random.unit(),
                Axis::Choice => random.below(3) as f64,
            })
            .collect()
    };
    let seen = (0..count)
        .map(|at| {
            let inputs = place(&mut random);
            let value = known(&inputs) + noise * random.normal() + drift * (at as f64 / 8.0).sin();
            Observation { inputs, at: at as f64, value }
        })
        .collect();
    (axes, seen)
}

#[test]
fn a_known_function_is_learned_in_spite_of_noise_and_drift_and_idle_inputs() {
    let (axes, seen) = observed(60, 0.05, 0.1, 1);
    let process = GaussianProcess::fit(&axes, &seen, 0.1).unwrap();
    let (_, others) = observed(200, 0.0, 0.0, 2);
    let (mut squares, mut within) = (0.0, 0.0);
    for other in &others {
        let belief = process.at(&other.inputs);
        assert!((belief.mean - process.mean_at(&other.inputs)).abs() < 1e-12);
        let error = belief.mean - known(&other.inputs);
        squares += error * error / 200.0;
        within += f64::from(u8::from(error.abs() < 2.0 * belief.sd)) / 200.0;
    }
    // The function's own standard deviation is 0.4.
    assert!(squares.sqrt() < 0.13, "{}", squares.sqrt());
    assert!(within > 0.9, "{within}");
    // The inputs that matter have the shortest lengths.
    let mut order: Vec<usize> = (0..12).collect();
    order.sort_by(|a, b| process.hyper.lengths[*a].total_cmp(&process.hyper.lengths[*b]));
    order.truncate(2);
    order.sort_unstable();
    assert_eq!(order, [0, 1]);
}

#[test]
fn draws_have_the_mean_and_the_spread_that_the_belief_has() {
    let (axes, seen) = observed(30, 0.1, 0.0, 5);
    let process = GaussianProcess::fit(&axes, &seen, 0.1).unwrap();
    let (_, places) = observed(3, 0.0, 0.0, 6);
    let places: Vec<Vec<f64>> = places.into_iter().map(|place| place.inputs).collect();
    let draws = process.draws(&places, 4_000, &mut Random::new(1)).unwrap();
    for (at, place) in places.iter().enumerate() {
        let belief = process.at(place);
        let mean = draws.iter().map(|draw| draw[at]).sum::<f64>() / 4_000.0;
        let sd = (draws.iter().map(|draw| (draw[at] - mean).powi(2)).sum::<f64>() / 3_999.0).sqrt();
        assert!((mean - belief.mean).abs() < 5.0 * belief.sd / 4_000f64.sqrt());
        assert!((sd / belief.sd - 1.0).abs() < 0.05);
    }
}

#[test]
fn what_cannot_be_learned_from_is_refused_and_equal_observations_are_not() {
    let one = |value: f64| Observation { inputs: vec![0.0], at: 0.0, value };
    assert!(GaussianProcess::fit(&[Axis::Line], &[], 0.1).is_none());
    assert!(GaussianProcess::fit(&[Axis::Line], &[one(f64::NAN)], 0.1).is_none());
    assert!(GaussianProcess::fit(&[], &[one(1.0)], 0.1).is_none());
    let process = GaussianProcess::fit(&[Axis::Line], &vec![one(1.0); 5], 0.1).unwrap();
    assert!((process.at(&[0.0]).mean - 1.0).abs() < 1e-9);
}
