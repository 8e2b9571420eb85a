//! The powers of the load by which metrics usually grow.

use plumb_stats::ends::Ends;
use std::ops::Range;

/// Powers of the load that are usual: outside of them the load is hardly what drives a metric (ours).
pub(super) const USUAL: Range<f64> = 0.5..2.5;

/// True if an interval of that power tells anything: it does not hold all that is usual.
pub(super) fn tells(interval: Ends) -> bool {
    interval.low > USUAL.start || interval.high < USUAL.end
}
