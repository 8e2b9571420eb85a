//! How much the result hangs on one server.

use super::design::Effect;
use crate::law::student_two_sided;

/// The effect without each server in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftOut {
    /// The lowest logarithm of the ratio that leaving one server out gives.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// The server that moves it most, by its place.
    pub most: usize,
    /// The logarithm of the ratio without that one.
    pub without_most: f64,
}

/// None without servers, and where without one of them there is no effect.
pub fn left_out(effect: &Effect) -> Option<LeftOut> {
    if effect.without.iter().any(|moves| !moves.is_finite()) {
        return None;
    }
    let moves = effect.without.iter().copied().enumerate();
    let (most, by) = moves.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let extreme = |pick: fn(f64, f64) -> f64| effect.without.iter().copied().fold(0.0, pick);
    Some(LeftOut {
        low: effect.log_ratio + extreme(f64::min),
        high: effect.log_ratio + extreme(f64::max),
        most,
        without_most: effect.log_ratio + by,
    })
}

/// Servers that changed unlike the others of their group, by their places: what is left of each over the spread of the others
/// (studentised residuals; Cook and Weisberg 1982), by Student's t with an allowance for as many servers as there are (Bonferroni).
/// Of each group by itself, as a change may make its servers differ more.
pub fn outliers(test: &[bool], effect: &Effect, alpha: f64) -> Vec<usize> {
    let sums = [false, true].map(|of| {
        let of_group = effect.rest.iter().zip(test).filter(|(_, test)| **test == of);
        of_group.fold((0.0, 0.0), |(sum, n), (rest, _)| (sum + rest * rest, n + 1.0))
    });
    let limit = alpha / effect.rest.len() as f64;
    let apart = |at: &usize| {
        let (squares, n) = sums[usize::from(test[*at])];
        let (rest, freedom) = (effect.rest[*at], n - 2.0);
        // The others' squares about their own mean: without this server the mean moves, too.
        let own = rest * rest * n / (n - 1.0);
        let t = rest * (n / (n - 1.0)).sqrt() / ((squares - own).max(0.0) / freedom).sqrt();
        freedom >= 2.0 && student_two_sided(t, freedom).is_some_and(|p| p <= limit)
    };
    (0..test.len()).filter(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::design::{Design, Groups};

    #[test]
    fn a_server_that_hides_the_effect_by_being_unlike_the_others_is_found() {
        let test: Vec<bool> = (0..20).map(|place| place < 10).collect();
        let noise = |place: usize| 0.1 * ((place * 7 % 10) as f64 - 4.5) / 4.5;
        let mut outcome: Vec<f64> =
            (0..20).map(|place| noise(place) - if place < 10 { 0.3 } else { 0.0 }).collect();
        let groups = Groups { test: &test, stratum: &[0; 20], load: None };
        let of = |outcome: &[f64]| Design::new(&groups).unwrap().effect(outcome).unwrap();
        assert_eq!(outliers(&test, &of(&outcome), 0.01), Vec::<usize>::new());
        outcome[4] += 4.6;
        let hidden = of(&outcome);
        assert!(hidden.p().unwrap() > 0.05);
        assert_eq!(outliers(&test, &hidden, 0.01), [4]);
    }

    #[test]
    fn the_server_that_makes_the_difference_is_named() {
        let test = [true, true, true, false, false, false];
        let outcome = [0.1, -0.1, -6.0, 0.05, -0.05, 0.0];
        let groups = Groups { test: &test, stratum: &[0; 6], load: None };
        let effect = Design::new(&groups).unwrap().effect(&outcome).unwrap();
        let left_out = left_out(&effect).unwrap();
        assert_eq!(left_out.most, 2);
        assert!(left_out.without_most.abs() < 1e-9 && effect.log_ratio < -1.9, "{left_out:?}");
        assert!(left_out.low <= effect.log_ratio && left_out.high >= effect.log_ratio);
    }
}
