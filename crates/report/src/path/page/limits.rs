//! The distance to each limit: a bar of what was measured, on a scale that ends at the limit.

use crate::html::scale;
use crate::paint::printable;
use crate::path::words;
use plumb_model::diagnosis::PathBound;
use plumb_model::figure::rough_share;

/// One limit.
pub(super) struct LimitBar {
    pub(super) name: String,
    pub(super) width: String,
    /// `40.6 %`.
    pub(super) used: String,
    /// `6.26 MB/s of 154 MB/s`.
    pub(super) figures: String,
    pub(super) source: String,
    /// True if more was measured than the limit is.
    pub(super) is_beyond: bool,
}

/// The bars, in the order of the document: nearest first. A limit that is none has no bar.
pub(super) fn view(bounds: &[PathBound]) -> Vec<LimitBar> {
    let real = bounds.iter().filter(|bound| bound.limit > 0.0 && bound.measured.is_finite());
    real.map(|bound| {
        let used = bound.measured / bound.limit;
        LimitBar {
            name: printable(&words::bound(&bound.name)),
            width: scale::percent(used.clamp(0.0, 1.0)),
            used: rough_share(used),
            figures: printable(&words::measured_of_limit(bound.measured, bound.limit, &bound.unit)),
            source: printable(&bound.source),
            is_beyond: used > 1.0,
        }
    })
    .collect()
}
