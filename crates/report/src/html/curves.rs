//! The percentile curves of all setups on one chart: x is 1/(1-q) on a log scale, y latency on a log scale.

use super::Key;
use super::scale::{LogScale, percent, time_tick};
use crate::figures::Pick;
use plumb_model::document::StepResult;
use plumb_model::figure::time;
use plumb_model::observation::Distribution;
use std::fmt::Write;

/// The chart.
pub(super) struct Curves {
    pub(super) x_ticks: Vec<QuantileTick>,
    pub(super) y_ticks: Vec<(String, String)>,
    pub(super) lines: Vec<Curve>,
    /// The text behind the picture.
    pub(super) description: String,
    /// Ends of the scales, from which the read-out works values back.
    pub(super) low_ns: f64,
    pub(super) high_ns: f64,
    pub(super) nines: f64,
}

/// A round quantile on the x axis.
pub(super) struct QuantileTick {
    pub(super) x: String,
    pub(super) label: &'static str,
    /// True if it gives way where the chart is narrow.
    pub(super) minor: bool,
}

/// One setup's curve.
pub(super) struct Curve {
    pub(super) key: Key,
    /// Points in a square of 1000 by 1000.
    pub(super) points: String,
    pub(super) markers: Vec<Marker>,
    /// The place of its number: at its end, apart from the other numbers.
    pub(super) label_x: String,
    pub(super) label_y: String,
}

/// A quantile that the table shows.
pub(super) struct Marker {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) title: String,
}

/// Round quantiles, their names, and whether each gives way on a narrow chart.
const QUANTILES: [(f64, &str, bool); 8] = [
    (0.0, "0 %", false),
    (0.5, "50 %", true),
    (0.75, "75 %", false),
    (0.9, "90 %", true),
    (0.95, "95 %", false),
    (0.99, "99 %", false),
    (0.999, "99.9 %", false),
    (0.9999, "99.99 %", false),
];

/// Least distance of two numbers at the curves' ends, as a share of the plot's height.
const LABEL_GAP: f64 = 0.045;

/// None when no step has a curve.
pub(super) fn view(steps: &[StepResult], of: Pick<Distribution>) -> Option<Curves> {
    let curves = || steps.iter().map(|step| &of(step).curve);
    let scale = LogScale::around(curves().flatten().map(|(_, ns)| *ns as f64))?;
    let nines = curves().flatten().map(|(q, _)| nines_of(*q)).fold(1.0, f64::max);
    let place = |q: f64, ns: f64| Place { x: nines_of(q) / nines, y: 1.0 - scale.share(ns) };
    let mut lines: Vec<Curve> = Vec::new();
    let mut ends: Vec<End> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let latency = of(step);
        let Some((q, ns)) = latency.curve.last() else { continue };
        ends.push(End { line: lines.len(), at: place(*q, *ns as f64) });
        let key = Key::new(index, step);
        let shown = [
            (0.5, "p50", latency.p50_ns),
            (0.75, "p75", latency.p75_ns),
            (0.95, "p95", latency.p95_ns),
            (0.99, "p99", latency.p99_ns),
        ];
        let markers = shown.into_iter().filter_map(|(q, name, ns)| {
            let ns = ns? as f64;
            let Place { x, y } = place(q, ns);
            Some(Marker {
                x: percent(x),
                y: percent(y),
                title: format!("#{} {name}: {}", key.number, time(ns)),
            })
        });
        lines.push(Curve {
            markers: markers.collect(),
            points: points(latency.curve.iter().map(|(q, ns)| place(*q, *ns as f64))),
            label_x: String::new(),
            label_y: String::new(),
            key,
        });
    }
    for End { line, at } in apart(ends) {
        lines[line].label_x = percent(at.x);
        lines[line].label_y = percent(at.y);
    }
    Some(Curves {
        x_ticks: QUANTILES
            .into_iter()
            .filter(|(q, ..)| nines_of(*q) <= nines * 1.000_001)
            .map(|(q, label, minor)| QuantileTick { x: percent(nines_of(q) / nines), label, minor })
            .collect(),
        y_ticks: scale
            .ticks()
            .into_iter()
            .map(|ns| (percent(1.0 - scale.share(ns)), time_tick(ns)))
            .collect(),
        description: description(steps, of),
        lines,
        low_ns: scale.low,
        high_ns: scale.high,
        nines,
    })
}

/// Nines of a quantile: 0.9 -> 1, 0.99 -> 2. No curve goes beyond nine of them.
fn nines_of(q: f64) -> f64 {
    -(1.0 - q).max(1e-9).log10()
}

fn points(places: impl Iterator<Item = Place>) -> String {
    let mut out = String::new();
    for Place { x, y } in places {
        // Writing to a String cannot fail.
        let _ = write!(out, "{:.1},{:.1} ", x * 1000.0, y * 1000.0);
    }
    out.trim_end().to_owned()
}

/// A place in a plot: shares of its width from the left and of its height from the top.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// The end of a line, with the place of its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The line's index.
    pub(super) line: usize,
    pub(super) at: Place,
}

/// Moves numbers of curves that end near each other apart, each group around where it belongs.
pub(super) fn apart(mut ends: Vec<End>) -> Vec<End> {
    ends.sort_by(|a, b| a.at.x.total_cmp(&b.at.x));
    for neighbours in ends.chunk_by_mut(|a, b| (a.at.x - b.at.x).abs() < 0.06) {
        neighbours.sort_by(|a, b| a.at.y.total_cmp(&b.at.y));
        let wanted: Vec<f64> = neighbours.iter().map(|end| end.at.y).collect();
        for (end, y) in neighbours.iter_mut().zip(spread(&wanted)) {
            end.at.y = y;
        }
    }
    ends
}

/// Ascending places at least [`LABEL_GAP`] apart, inside 0..1 and as near to the wanted ones as groups of them can be.
fn spread(wanted: &[f64]) -> Vec<f64> {
    // Each group: how many, and where its middle should be.
    let mut groups: Vec<(usize, f64)> = Vec::new();
    let first = |(n, middle): (usize, f64)| {
        let height = (n - 1) as f64 * LABEL_GAP;
        (middle - height / 2.0).clamp(0.0, (1.0 - height).max(0.0))
    };
    for y in wanted {
        groups.push((1, *y));
        while let [.., above, below] = groups[..] {
            if first(above) + above.0 as f64 * LABEL_GAP <= first(below) {
                break;
            }
            let n = above.0 + below.0;
            let middle = (above.0 as f64 * above.1 + below.0 as f64 * below.1) / n as f64;
            groups.truncate(groups.len() - 2);
            groups.push((n, middle));
        }
    }
    groups
        .into_iter()
        .flat_map(|group| (0..group.0).map(move |place| first(group) + place as f64 * LABEL_GAP))
        .collect()
}

fn description(steps: &[StepResult], of: Pick<Distribution>) -> String {
    let each = steps.iter().enumerate().filter_map(|(index, step)| {
        let latency = of(step);
        let p50 = latency.p50_ns.map(|ns| format!("p50 {}", time(ns as f64)))?;
        let p99 = latency.p99_ns.map(|ns| format!(", p99 {}", time(ns as f64))).unwrap_or_default();
        Some(format!("#{} {}: {p50}{p99}", index + 1, step.name))
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_curves_that_end_together_do_not_cover_each_other() {
        let ends = (0..).zip([(1.0, 0.99), (1.0, 0.98), (1.0, 0.985), (0.5, 0.98)]);
        let moved = apart(ends.map(|(line, (x, y))| End { line, at: Place { x, y } }).collect());
        let mut ys: Vec<f64> = moved.iter().filter(|end| end.at.x == 1.0).map(|end| end.at.y).collect();
        ys.sort_by(f64::total_cmp);
        assert!(ys.windows(2).all(|pair| pair[1] - pair[0] > LABEL_GAP * 0.99), "{ys:?}");
        assert!(ys.iter().all(|y| *y <= 1.0), "{ys:?}");
    }

    #[test]
    fn each_nine_takes_the_same_room() {
        assert!((nines_of(0.99) - 2.0 * nines_of(0.9)).abs() < 1e-9);
        assert_eq!(nines_of(0.0), 0.0);
    }
}
