//! The figures of the latency table and their intervals: which columns there are and how a cell reads.

use crate::{absence, workers};
use plumb_model::document::{ReferenceRow, StepResult};
use plumb_model::figure::{interval, milliseconds, percent, plain, plus_minus};
use plumb_model::observation::{Distribution, Interval, IntervalMethod};

/// A part of a step that all steps have, such as one of its latencies.
pub(crate) type Pick<T> = fn(&StepResult) -> &T;

/// One column of the latency table.
pub(crate) struct Figure {
    /// Its heading, without unit.
    pub(crate) heading: &'static str,
    /// True if it stands in every table; else only where all figures are asked for.
    pub(crate) always: bool,
    /// The quantile, where it is one.
    quantile: Option<f64>,
    value: fn(&Distribution) -> Option<f64>,
    interval: Option<fn(&Distribution) -> Option<&Interval>>,
    /// The same figure of a published row, in milliseconds; None where published tables of this experiment have none.
    pub(crate) published_ms: Option<fn(&ReferenceRow) -> f64>,
}

/// A figure without quantile, interval or published twin, to be completed.
const PLAIN: Figure =
    Figure { heading: "", always: true, quantile: None, value: |_| None, interval: None, published_ms: None };

const MIN: Figure = Figure {
    heading: "min",
    always: false,
    value: |d| d.min_ns.map(|ns| ns as f64),
    published_ms: Some(|row| row.min_ms),
    ..PLAIN
};

const P50: Figure =
    Figure { heading: "p50", quantile: Some(0.5), value: |d| d.p50_ns.map(|ns| ns as f64), ..PLAIN };

const P75: Figure = Figure {
    heading: "p75",
    always: false,
    quantile: Some(0.75),
    value: |d| d.p75_ns.map(|ns| ns as f64),
    published_ms: Some(|row| row.p75_ms),
    ..PLAIN
};

const P95: Figure = Figure {
    heading: "p95",
    quantile: Some(0.95),
    value: |d| d.p95_ns.map(|ns| ns as f64),
    published_ms: Some(|row| row.p95_ms),
    ..PLAIN
};

/// The 99th percentile.
pub(crate) const P99: Figure = Figure {
    heading: "p99",
    quantile: Some(0.99),
    value: |d| d.p99_ns.map(|ns| ns as f64),
    interval: Some(|d| d.p99_interval.as_ref()),
    published_ms: Some(|row| row.p99_ms),
    ..PLAIN
};

const P999: Figure =
    Figure { heading: "p99.9", quantile: Some(0.999), value: |d| d.p999_ns.map(|ns| ns as f64), ..PLAIN };

/// The largest sample.
pub(crate) const MAX: Figure = Figure {
    heading: "max",
    value: |d| d.max_ns.map(|ns| ns as f64),
    published_ms: Some(|row| row.max_ms),
    ..PLAIN
};

/// The arithmetic mean.
pub(crate) const MEAN: Figure = Figure {
    heading: "mean",
    value: |d| d.mean_ns,
    interval: Some(|d| d.mean_interval.as_ref()),
    published_ms: Some(|row| row.mean_ms),
    ..PLAIN
};

/// The columns in their order: by size, and the mean last.
pub(crate) const COLUMNS: [Figure; 8] = [MIN, P50, P75, P95, P99, P999, MAX, MEAN];

impl Figure {
    /// The figure in nanoseconds, or why it is absent.
    pub(crate) fn of(&self, distribution: &Distribution) -> Result<f64, String> {
        (self.value)(distribution).ok_or_else(|| match self.quantile {
            Some(q) => absence::quantile(distribution, q),
            None => absence::moment(distribution),
        })
    }

    /// The interval that the table shows beside this figure: only mean and p99 have one.
    pub(crate) fn interval<'d>(&self, distribution: &'d Distribution) -> Option<&'d Interval> {
        self.interval.and_then(|interval| interval(distribution))
    }

    /// True if the table has a column for this figure's interval.
    pub(crate) fn has_interval(&self) -> bool {
        self.interval.is_some()
    }
}

/// The rate that was asked for, or what took its place.
pub(crate) fn asked(step: &StepResult) -> String {
    match step.asked_per_s {
        Some(rate) => plain(rate),
        None if step.search.is_some() => "searched".to_owned(),
        None => "max".to_owned(),
    }
}

/// An interval beside its figure: `±0.31` when it is even on both sides, `41.2 to 50.1` otherwise.
pub(crate) fn interval_ms(centre_ns: f64, around: &Interval) -> String {
    let (below, above) = (centre_ns - around.low, around.high - centre_ns);
    let even = below > 0.0 && above > 0.0 && (below - above).abs() <= 0.02 * below.max(above);
    if even { plus_minus(below.max(above) / 1e6) } else { interval(around.low, around.high, milliseconds) }
}

/// The meaning of the intervals of these steps, each with its index: one sentence for each way in which they were made, and one
/// for each step between whose clocks there is an error.
pub(crate) fn interval_notes<'s>(
    steps: impl Iterator<Item = (usize, &'s StepResult)>,
    of: Pick<Distribution>,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (index, step) in steps {
        let latency = of(step);
        notes.extend(workers::clock_note(index + 1, latency));
        let shown = [("mean", latency.mean_interval), ("p99", latency.p99_interval)];
        for (figure, interval) in shown.iter().filter_map(|(figure, i)| i.map(|i| (figure, i))) {
            let note = format!(
                "{} interval of the {figure}: {}",
                percent(interval.level),
                method(interval.method, step.blocks.len())
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes.sort();
    notes
}

fn method(method: IntervalMethod, blocks: usize) -> String {
    match method {
        IntervalMethod::Blocks => format!("Student's t over {blocks} blocks, each with fresh clients"),
        IntervalMethod::Batches => {
            "Student's t over batches of one block: it holds variation inside this run only".to_owned()
        }
        IntervalMethod::OrderStatistics => {
            "order statistics, with the samples' autocorrelation and what blocks differ by allowed for"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high, level: 0.95, method: IntervalMethod::Blocks }
    }

    #[test]
    fn an_even_interval_is_plus_minus_and_an_uneven_one_a_span() {
        assert_eq!(interval_ms(19.62e6, &interval(19.31e6, 19.93e6)), "±0.31");
        assert_eq!(interval_ms(45.31e6, &interval(44.0e6, 48.2e6)), "44.0 to 48.2");
    }

    #[test]
    fn an_absent_figure_comes_with_its_reason() {
        let few = Distribution { samples: 500, min_ns: Some(1), ..Default::default() };
        assert_eq!(MIN.of(&few), Ok(1.0));
        assert_eq!(P99.of(&few), Err("needs 1,000 samples, has 500".to_owned()));
    }
}
