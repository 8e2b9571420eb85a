//! The length of the measured part of a step.

use crate::plan::Length;
use crate::scenario::LoadWords;
use crate::units::Nanos;

/// The length where nobody says one.
pub(super) const LENGTH_DEFAULT: Length = Length::Duration(Nanos::from_secs(30));

/// The length as it is written, or the default.
pub(super) fn written_length(words: &LoadWords) -> Length {
    let count = words.count.as_ref().map(|count| Length::Count(count.values()[0]));
    let duration = words.duration.as_ref().map(|duration| Length::Duration(duration.values()[0]));
    count.or(duration).unwrap_or(LENGTH_DEFAULT)
}
