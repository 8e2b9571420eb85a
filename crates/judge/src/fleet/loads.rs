//! The changes of the groups' loads against each other.

use super::compared::Compared;
use plumb_stats::fleet::overlap::overlap;

/// Least share of servers whose load changed by an amount that both groups have (ours).
pub(super) const OVERLAP_MIN: f64 = 0.7;

/// Difference between the groups' loads from which it matters, as a ratio (ours).
pub(super) const APART: f64 = 1.05;

/// The changes of the groups' loads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loads {
    /// Share of the units whose load changed by an amount that both groups have, 0..1.
    pub(super) shared: f64,
    /// The difference between the groups' mean changes, as a logarithm without a sign.
    pub(super) apart: f64,
}

impl Loads {
    /// The changes by unit, as logarithms; none without a load.
    pub(super) fn of(compared: &Compared, load_change: &[f64]) -> Option<Loads> {
        let shared = overlap(&compared.units.test, load_change).filter(|_| compared.adjusted)?;
        let mean = |group: bool| {
            let of_group = load_change.iter().zip(&compared.units.test).filter(|(_, test)| **test == group);
            let (sum, n) = of_group.fold((0.0, 0.0), |(sum, n), (load, _)| (sum + load, n + 1.0));
            sum / n
        };
        Some(Loads { shared, apart: (mean(true) - mean(false)).abs() })
    }

    /// True if the groups' loads changed so unlike that the growth of the metric with the load matters.
    pub(super) fn are_apart(self) -> bool {
        self.apart > APART.ln()
    }
}
