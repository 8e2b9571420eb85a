//! The values of a table that can be used.

use plumb_model::fleet::{FleetServer, SampleKind};

/// Least share of the intervals before, and after, in which a server has values (ours: with fewer, which days they are decides).
pub(super) const ENOUGH_SHARE: f64 = 0.5;

/// Nothing that is counted or timed is larger; sums of larger values may overflow (ours).
const MOST: f64 = 1e30;

/// True if a value can be one: a number, not negative, and not beyond reason.
pub(super) fn believed(value: &f64) -> bool {
    (0.0..=MOST).contains(value)
}

/// A usable value: one that can be, and above 0 where only its logarithm is of use.
pub(super) fn usable(value: Option<f64>, kind: SampleKind) -> Option<f64> {
    value.filter(|value| believed(value) && (*value > 0.0 || kind != SampleKind::Level))
}

/// The values that a server needs in an interval to be compared there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usable {
    /// The kind of the metric's values.
    pub(super) kind: SampleKind,
    /// True if a value of the load is needed, too.
    pub(super) adjusted: bool,
}

impl Usable {
    /// True if a server has them in an interval.
    pub(super) fn at(self, server: &FleetServer, interval: usize) -> bool {
        let of = |values: &[Option<f64>]| values.get(interval).copied().flatten();
        let load = !self.adjusted || usable(of(&server.load), SampleKind::Increments).is_some();
        load && usable(of(&server.metric), self.kind).is_some()
    }
}
