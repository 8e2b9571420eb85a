//! What a disk did over the window.

use super::Context;
use std::collections::BTreeMap;

/// Counters of a disk by their growth.
pub(super) struct DiskLoad<'w> {
    grown: BTreeMap<&'w str, u64>,
    seconds: f64,
}

/// What a disk did; none where it was not read.
pub(super) fn load<'c>(context: &Context<'c>, disk: &str) -> Option<DiskLoad<'c>> {
    let start = format!("disk.{disk}.");
    let window = context.window;
    let grown: BTreeMap<&str, u64> = window
        .matching("disk.", "")
        .filter_map(|(name, growth)| Some((name.strip_prefix(start.as_str())?, growth)))
        .collect();
    (!grown.is_empty() && window.seconds() > 0.0).then(|| DiskLoad { grown, seconds: window.seconds() })
}

impl DiskLoad<'_> {
    /// Growth of a column of `/proc/diskstats`; 0 where it is not there.
    pub(super) fn grown(&self, column: &str) -> u64 {
        self.grown.get(column).copied().unwrap_or(0)
    }

    /// Growth in a second.
    pub(super) fn per_s(&self, column: &str) -> f64 {
        self.grown(column) as f64 / self.seconds
    }

    /// Requests that it had at once, on the average.
    pub(super) fn queue_mean(&self) -> f64 {
        self.grown("queue_ms") as f64 / 1000.0 / self.seconds
    }

    /// The mean of one column over another; none where the other did not grow.
    pub(super) fn mean(&self, of: &str, over: &str) -> Option<f64> {
        let over = self.grown(over);
        (over > 0).then(|| self.grown(of) as f64 / over as f64)
    }
}
