//! The influence of single servers on the result: the effect with each one left out.

use super::design::Effect;

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

/// The effect with each server left out; none without servers, and where without one of them there is no effect.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::design::{Design, Groups};

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
