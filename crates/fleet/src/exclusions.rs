//! The data that were left out or mended, each kind counted with an example. One row of [`EXCLUSIONS`] for each kind.

use plumb_model::fleet::Exclusion;

/// A kind of thing that is left out or mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    BrokenRow,
    NoServer,
    NoTime,
    OutsideWindow,
    MetricNoNumber,
    LoadNoNumber,
    MetricNegative,
    LoadNegative,
    Repeated,
    Contradicting,
    MetricReset,
    LoadReset,
    MetricGap,
    LoadGap,
    OtherStep,
    NoGroup,
    NotInGroupsFile,
    NotInData,
    ListedTwice,
    OtherSite,
    NoLoad,
    PartInterval,
    ChangeInterval,
    StampInside,
    NearChange,
    TooFewSamples,
    PartMissing,
    Scaled,
    Warning,
}

/// The name of intervals that have too few samples for a value: so are all of them where the time between two samples is wrong.
pub const TOO_FEW_SAMPLES: &str = "intervals of a server with less than half of their samples";

/// Each kind with the user's words: its name, and its treatment.
const EXCLUSIONS: &[(Left, &str, &str)] = &[
    (Left::BrokenRow, "rows that cannot be read", "left out"),
    (Left::NoServer, "rows without a server", "left out"),
    (Left::NoTime, "rows whose time cannot be read or is not between 1971 and 2200", "left out"),
    (Left::OutsideWindow, "samples outside the window asked for", "left out"),
    (Left::MetricNoNumber, "samples of the metric that are empty or no number", "taken as missing"),
    (Left::LoadNoNumber, "samples of the load that are empty or no number", "taken as missing"),
    (Left::MetricNegative, "negative samples of the metric, which counts", "taken as missing"),
    (Left::LoadNegative, "negative samples of the load, which counts", "taken as missing"),
    (Left::Repeated, "samples that are there twice, alike", "counted once"),
    (Left::Contradicting, "samples of one server and time that differ", "the first is used"),
    (Left::MetricReset, "resets of the metric's counters", "the count goes on from 0"),
    (Left::LoadReset, "resets of the load's counters", "the count goes on from 0"),
    (
        Left::MetricGap,
        "rises of the metric's counters over a gap between two intervals",
        "left out: nobody knows in which",
    ),
    (
        Left::LoadGap,
        "rises of the load's counters over a gap between two intervals",
        "left out: nobody knows in which",
    ),
    (
        Left::OtherStep,
        "servers whose samples are further apart or closer than most servers'",
        "judged by their own spacing",
    ),
    (Left::NoGroup, "servers of neither group", "left out"),
    (Left::NotInGroupsFile, "servers that the groups file does not name", "left out"),
    (Left::NotInData, "servers of the groups file without a sample", "left out"),
    (Left::ListedTwice, "servers that the groups file names twice, alike", "counted once"),
    (Left::OtherSite, "servers that change their site or hardware", "the first is used"),
    (Left::NoLoad, "servers with a metric and no load", "they have no load here"),
    (
        Left::PartInterval,
        "intervals that the samples cover only in part, at the begin or the end",
        "left out",
    ),
    (Left::ChangeInterval, "intervals in which the change came", "left out"),
    (
        Left::StampInside,
        "samples that come once an interval and at another time than its begin or end",
        "each counts in the interval of its time: is --time-zone the right one?",
    ),
    (
        Left::NearChange,
        "intervals next to the change, of samples that come once an interval and not at its begin",
        "left out: nobody knows on which side of the change they belong",
    ),
    (Left::TooFewSamples, TOO_FEW_SAMPLES, "they have no value"),
    (
        Left::PartMissing,
        "intervals of a server in which one of its parts or series has no sample at all",
        "they have the sum of the others",
    ),
    (
        Left::Scaled,
        "intervals of a server with gaps, whose counts are of the rest",
        "scaled up to the whole interval",
    ),
    (Left::Warning, "warnings of the metrics server", "believed all the same, as asked"),
];

/// The number of cases, and the first example.
#[derive(Debug, Clone, Default)]
struct Count {
    count: u64,
    example: String,
}

/// Counts of every kind.
#[derive(Debug, Clone)]
pub(crate) struct Exclusions {
    counts: Vec<Count>,
}

impl Exclusions {
    pub(crate) fn new() -> Self {
        Exclusions { counts: vec![Count::default(); EXCLUSIONS.len()] }
    }

    /// Counts one more; the example is made of the first only.
    pub(crate) fn add(&mut self, kind: Left, example: impl FnOnce() -> String) {
        self.add_many(kind, 1, example);
    }

    pub(crate) fn add_many(&mut self, kind: Left, count: u64, example: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        // The variants stand in the order of the table; a test holds that.
        let entry = &mut self.counts[kind as usize];
        if entry.count == 0 {
            entry.example = example();
        }
        entry.count += count;
    }

    pub(crate) fn count(&self, kind: Left) -> u64 {
        self.counts[kind as usize].count
    }

    pub(crate) fn example(&self, kind: Left) -> &str {
        &self.counts[kind as usize].example
    }

    /// Adds the counts of another part of the work.
    pub(crate) fn merge(&mut self, other: Exclusions) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            if mine.count == 0 {
                mine.example = theirs.example;
            }
            mine.count += theirs.count;
        }
    }

    /// The kinds that were counted, in the order of the table.
    pub(crate) fn into_rows(self) -> Vec<Exclusion> {
        let rows = EXCLUSIONS.iter().zip(self.counts).filter(|(_, count)| count.count > 0);
        rows.map(|((_, what, done), Count { count, example })| Exclusion {
            what: (*what).to_owned(),
            count,
            example,
            done: (*done).to_owned(),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row_at_its_own_place() {
        for (place, (kind, ..)) in EXCLUSIONS.iter().enumerate() {
            assert_eq!(*kind as usize, place, "{kind:?}");
        }
        assert_eq!(EXCLUSIONS.len(), Left::Warning as usize + 1);
    }

    #[test]
    fn each_kind_is_counted_with_the_example_of_its_first() {
        let mut left = Exclusions::new();
        left.add(Left::MetricReset, || "first".to_owned());
        left.add(Left::MetricReset, || panic!("an example is made once"));
        left.add_many(Left::MetricGap, 5, || "gap".to_owned());
        left.add_many(Left::NoServer, 0, || panic!("there is none"));
        assert_eq!((left.count(Left::MetricReset), left.example(Left::MetricReset)), (2, "first"));
        let mut other = Exclusions::new();
        other.add(Left::MetricReset, || "other".to_owned());
        other.add(Left::BrokenRow, || "broken".to_owned());
        left.merge(other);
        let rows: Vec<(String, u64, String)> =
            left.into_rows().into_iter().map(|row| (row.what, row.count, row.example)).collect();
        let row = |what: &str, count, example: &str| (what.to_owned(), count, example.to_owned());
        assert_eq!(
            rows,
            [
                row("rows that cannot be read", 1, "broken"),
                row("resets of the metric's counters", 3, "first"),
                row("rises of the metric's counters over a gap between two intervals", 5, "gap"),
            ]
        );
    }
}
