//! Comparisons as a forest plot: each ratio with its interval, on one log scale around 1.

use super::scale::percent;
use crate::wording;
use plumb_model::document::RunDocument;
use plumb_model::figure::{self, ABSENT, p_value, ratio, ratio_digits};
use plumb_model::finding::{Comparison, ComparisonVerdict};

/// The plot.
pub(super) struct Forest {
    /// The text that stands where none differs.
    pub(super) none_differs: &'static str,
    /// The pairs that differ by more than the noise.
    pub(super) differing: Vec<ForestRow>,
    /// The pairs that do not, or could not be told.
    pub(super) others: Vec<ForestRow>,
    pub(super) ticks: Vec<(String, String)>,
    /// The place of a ratio of 1.
    pub(super) one: String,
    pub(super) level: String,
    /// The direction that is faster.
    pub(super) reading: &'static str,
    /// Pairs that do not guarantee the same, to be said first.
    pub(super) durability: Vec<String>,
}

/// One comparison.
pub(super) struct ForestRow {
    pub(super) pair: String,
    pub(super) names: String,
    pub(super) metric: String,
    pub(super) mark: Option<Mark>,
    pub(super) ratio: String,
    pub(super) interval: String,
    pub(super) p: String,
    pub(super) verdict: &'static str,
    pub(super) differs: bool,
}

/// Places of a ratio, its interval, and the effects too small to be seen.
pub(super) struct Mark {
    pub(super) at: String,
    pub(super) low: String,
    pub(super) high: String,
    pub(super) unseen: Option<(String, String)>,
}

const TICKS: [f64; 21] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0,
    50.0, 100.0,
];

/// Least distance between two ticks, as a share of the width.
const TICK_GAP: f64 = 0.16;

/// None when nothing was compared.
pub(super) fn view(document: &RunDocument) -> Option<Forest> {
    let comparisons = &document.comparisons;
    let first = comparisons.first()?;
    let axis = Axis::around(comparisons);
    let (differing, others): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|comparison| comparison.verdict == ComparisonVerdict::Differs);
    let rows = |found: Vec<&Comparison>| found.into_iter().map(|c| row(document, c, &axis)).collect();
    Some(Forest {
        none_differs: crate::wording::none_differs(&document.comparisons),
        differing: rows(differing),
        others: rows(others),
        ticks: axis.ticks().into_iter().map(|tick| (axis.place(tick), format!("×{tick}"))).collect(),
        one: axis.place(1.0),
        level: plumb_model::figure::percent(first.level),
        reading: reading(comparisons),
        durability: durability(document),
    })
}

/// Of latencies less is faster, of rates more.
fn reading(comparisons: &[Comparison]) -> &'static str {
    let rates = comparisons.iter().filter(|pair| pair.metric.starts_with("throughput.")).count();
    match rates {
        0 => "a ratio below 1 means that the second setup is faster.",
        all if all == comparisons.len() => "a ratio above 1 means that the second setup is faster.",
        _ => "of a latency, a ratio below 1 means that the second setup is faster; of a rate, one above 1.",
    }
}

fn row(document: &RunDocument, comparison: &Comparison, axis: &Axis) -> ForestRow {
    let short = |name| wording::short_name(document, name);
    let mark = match (comparison.ratio, comparison.ratio_low, comparison.ratio_high) {
        (Some(at), Some(low), Some(high)) => Some(Mark {
            at: axis.place(at),
            low: axis.place(low),
            high: axis.place(high),
            unseen: comparison.smallest_detectable_ratio.filter(|ratio| *ratio > 1.0).map(|ratio| {
                let (left, right) = (axis.share(1.0 / ratio), axis.share(ratio));
                (percent(left), percent(right - left))
            }),
        }),
        _ => None,
    };
    ForestRow {
        pair: format!("{} / {}", short(&comparison.b), short(&comparison.a)),
        names: format!("{} / {}", comparison.b, comparison.a),
        metric: wording::metric(&comparison.metric),
        mark,
        ratio: comparison.ratio.map_or_else(|| ABSENT.to_owned(), ratio),
        interval: match (comparison.ratio_low, comparison.ratio_high) {
            (Some(low), Some(high)) => figure::interval(low, high, ratio_digits),
            _ => String::new(),
        },
        p: comparison.p_adjusted.map(p_value).unwrap_or_default(),
        verdict: wording::comparison(comparison.verdict),
        differs: comparison.verdict == ComparisonVerdict::Differs,
    }
}

fn durability(document: &RunDocument) -> Vec<String> {
    let mut said = Vec::new();
    for comparison in document.comparisons.iter().filter(|c| !c.durability_differences.is_empty()) {
        let pair =
            [&comparison.b, &comparison.a].map(|name| wording::short_name(document, name)).join(" and ");
        let text = format!("{pair}: {}", comparison.durability_differences.join("; "));
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said
}

/// A log axis as far to the left of 1 as to its right, so that no direction looks stronger.
struct Axis {
    reach: f64,
}

impl Axis {
    fn around(comparisons: &[Comparison]) -> Self {
        let ends = comparisons.iter().flat_map(|c| [c.ratio, c.ratio_low, c.ratio_high]).flatten();
        let furthest = ends.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.ln().abs()).fold(0.0, f64::max);
        Axis { reach: (furthest * 1.08).clamp(0.05, 5.0) }
    }

    fn share(&self, ratio: f64) -> f64 {
        let distance = ratio.max(f64::MIN_POSITIVE).ln() / self.reach;
        (0.5 + distance / 2.0).clamp(0.0, 1.0)
    }

    fn place(&self, ratio: f64) -> String {
        percent(self.share(ratio))
    }

    /// Ticks inside the axis with room between them: 1, then the outermost, then what fits between.
    fn ticks(&self) -> Vec<f64> {
        let mut inside: Vec<f64> =
            TICKS.into_iter().filter(|tick| tick.ln().abs() < self.reach * 0.98).collect();
        inside.sort_by(|a, b| b.ln().abs().total_cmp(&a.ln().abs()));
        let mut kept = vec![1.0];
        for tick in inside {
            if kept.iter().all(|other| (self.share(*other) - self.share(tick)).abs() >= TICK_GAP) {
                kept.push(tick);
            }
        }
        kept.sort_by(f64::total_cmp);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_reaches_as_far_down_as_up_and_its_ticks_leave_room() {
        let axis = Axis { reach: 2.5_f64.ln() };
        assert_eq!(axis.place(1.0), "50.00%");
        assert_eq!(axis.place(2.5), "100.00%");
        assert_eq!(axis.place(1.0 / 2.5), "0.00%");
        assert_eq!(axis.ticks(), [0.5, 1.0, 2.0]);
    }
}
