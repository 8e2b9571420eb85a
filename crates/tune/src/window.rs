//! What the counters of a host did over a window, and what of it shows that a setting matters.

use plumb_model::check::Evidence;
use plumb_observe::NamedCounters;
use std::ops::Bound;

/// Two readings of a host's counters and the time between them.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    before: NamedCounters,
    after: NamedCounters,
    seconds: f64,
}

impl Window {
    /// Two readings, and the seconds between them.
    pub(crate) fn new(before: NamedCounters, after: NamedCounters, seconds: f64) -> Self {
        Window { before, after, seconds }
    }

    /// The time between the readings.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Growth of a counter; none where a reading lacks it, or it went back.
    pub(crate) fn growth(&self, counter: &str) -> Option<u64> {
        self.after.get(counter)?.checked_sub(*self.before.get(counter)?)
    }

    /// Growth in a second.
    pub(crate) fn per_s(&self, counter: &str) -> Option<f64> {
        (self.seconds > 0.0).then(|| Some(self.growth(counter)? as f64 / self.seconds))?
    }

    /// A counter's value at the end, since the kernel's start.
    pub(crate) fn total(&self, counter: &str) -> Option<u64> {
        self.after.get(counter).copied()
    }

    /// The larger of a level's values at both ends.
    pub(crate) fn most(&self, level: &str) -> Option<u64> {
        self.before.get(level).copied().max(self.after.get(level).copied())
    }

    /// The smaller of a level's values at both ends; none where one of them lacks it.
    pub(crate) fn least(&self, level: &str) -> Option<u64> {
        Some(*self.before.get(level)?.min(self.after.get(level)?))
    }

    /// The names at the end that begin and end so, of counters and of levels.
    pub(crate) fn names<'w>(&'w self, start: &'w str, end: &'w str) -> impl Iterator<Item = &'w str> + 'w {
        self.after
            .range::<str, _>((Bound::Included(start), Bound::Unbounded))
            .map(|(name, _)| name.as_str())
            .take_while(move |name| name.starts_with(start))
            .filter(move |name| name.ends_with(end))
    }

    /// The counters whose names begin and end so, by their growth.
    pub(crate) fn matching<'w>(
        &'w self,
        start: &'w str,
        end: &'w str,
    ) -> impl Iterator<Item = (&'w str, u64)> + 'w {
        self.names(start, end).filter_map(|name| Some((name, self.growth(name)?)))
    }

    /// Growth over all counters whose names begin and end so.
    pub(crate) fn sum(&self, start: &str, end: &str) -> u64 {
        self.matching(start, end).map(|(_, growth)| growth).sum()
    }

    /// The counter as evidence, if it grew.
    pub(crate) fn evidence(&self, counter: &str, unit: &str) -> Option<Evidence> {
        let growth = self.growth(counter).filter(|growth| *growth > 0)?;
        Some(self.grown(counter, growth, unit))
    }

    /// Those counters that grew, as evidence.
    pub(crate) fn evidence_of(&self, counters: &[&str], unit: &str) -> Vec<Evidence> {
        counters.iter().filter_map(|counter| self.evidence(counter, unit)).collect()
    }

    /// The sum over counters whose names begin and end so, as one piece of evidence, if it grew. It goes by the name with a star.
    pub(crate) fn evidence_of_sum(&self, start: &str, end: &str, unit: &str) -> Option<Evidence> {
        let growth = Some(self.sum(start, end)).filter(|growth| *growth > 0)?;
        Some(self.grown(&format!("{start}*{end}"), growth, unit))
    }

    fn grown(&self, counter: &str, growth: u64, unit: &str) -> Evidence {
        Evidence {
            counter: counter.to_owned(),
            amount: growth as f64,
            unit: unit.to_owned(),
            over_s: Some(self.seconds),
        }
    }
}

/// A value at one moment as evidence.
pub(crate) fn level(name: &str, amount: f64, unit: &str) -> Evidence {
    Evidence { counter: name.to_owned(), amount, unit: unit.to_owned(), over_s: None }
}
