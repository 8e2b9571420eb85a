//! Rate against the number of clients: one line a device, size or driver, every block as a dot, and under the plot, on the
//! same axis, where more clients stop helping, where the rate falls and where it begins to vary, with their intervals.

use super::Key;
use super::curves::{End, Place, apart};
use super::rates::messages;
use super::scale::{linear_ticks, percent};
use crate::rates;
use plumb_model::figure::plain;
use plumb_model::sweep::{SweepPoint, SweepResult};
use std::fmt::Write;

/// The chart.
pub(super) struct SweepChart {
    /// `producers` or `consumers`.
    pub(super) clients: &'static str,
    /// The unit of the y axis.
    pub(super) unit: &'static str,
    /// The name of the rate.
    pub(super) rate_name: &'static str,
    pub(super) x_ticks: Vec<(String, String)>,
    pub(super) y_ticks: Vec<(String, String)>,
    pub(super) lines: Vec<Line>,
    pub(super) description: String,
}

/// One line.
pub(super) struct Line {
    pub(super) key: Key,
    /// Means, in a square of 1000 by 1000.
    pub(super) points: String,
    pub(super) means: Vec<Mean>,
    /// Blocks, as x and y.
    pub(super) blocks: Vec<(String, String)>,
    pub(super) label_x: String,
    pub(super) label_y: String,
    /// The marks under the plot, each in a row of its own.
    pub(super) marks: Vec<Mark>,
    pub(super) marks_height: usize,
    /// The same in words.
    pub(super) words: String,
}

/// The mean of a point, with its interval.
pub(super) struct Mean {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) band: Option<(String, String)>,
    pub(super) title: String,
    pub(super) knee: bool,
}

/// A place with its interval.
pub(super) struct Mark {
    /// `knee`, `fall` or `onset`.
    pub(super) kind: &'static str,
    /// The middle of its row.
    pub(super) y: usize,
    pub(super) at: String,
    pub(super) low: String,
    pub(super) high: String,
    /// Its label, and whether that stands on the left.
    pub(super) label: String,
    pub(super) left: bool,
}

/// Height of a row of marks.
const ROW: usize = 22;

/// None when nothing was swept over clients. A run has one kind of clients in all its lines, or the first kind is shown.
pub(super) fn view(sweeps: &[SweepResult]) -> Option<SweepChart> {
    let first = sweeps.first()?;
    let shown: Vec<(usize, &SweepResult)> =
        sweeps.iter().enumerate().filter(|(_, line)| line.over == first.over).collect();
    let points = || shown.iter().flat_map(|(_, line)| &line.points);
    let one_size = points().all(|point| point.value_bytes_mean == first.points[0].value_bytes_mean);
    let scale =
        Scale { clients: f64::from(points().map(|point| point.clients).max()?), most: 1.0, bytes: !one_size };
    let blocks = points().flat_map(|point| point.blocks_per_s.iter().map(|rate| scale.value(point, *rate)));
    let most = blocks.chain(points().map(|point| scale.value(point, point.per_s))).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let scale = Scale { most: most * 1.04, ..scale };
    let mut lines: Vec<Line> = shown.iter().map(|(index, line)| view_line(*index, line, scale)).collect();
    let ends = shown.iter().enumerate().filter_map(|(index, (_, line))| {
        let last = line.points.last()?;
        Some(End { line: index, at: Place { x: scale.x(last.clients), y: scale.y(last, last.per_s) } })
    });
    for End { line, at } in apart(ends.collect()) {
        (lines[line].label_x, lines[line].label_y) = (percent(at.x), percent(at.y));
    }
    let y_unit = if one_size { 1.0 } else { 1e6 };
    Some(SweepChart {
        clients: rates::clients(first),
        unit: if one_size { "messages/s" } else { "MB/s (10^6 bytes)" },
        rate_name: rates::rate_name(first),
        x_ticks: linear_ticks(scale.clients, 8.0)
            .into_iter()
            .filter(|tick| tick.fract() == 0.0)
            .map(|tick| (percent(tick / scale.clients), plain(tick)))
            .collect(),
        y_ticks: linear_ticks(scale.most / y_unit, 6.0)
            .into_iter()
            .map(|tick| (percent(1.0 - tick * y_unit / scale.most), plain(tick)))
            .collect(),
        description: lines.iter().map(|line| line.words.clone()).collect::<Vec<_>>().join("; "),
        lines,
    })
}

#[derive(Clone, Copy)]
struct Scale {
    clients: f64,
    most: f64,
    bytes: bool,
}

impl Scale {
    fn value(self, point: &SweepPoint, per_s: f64) -> f64 {
        if self.bytes { per_s * point.value_bytes_mean } else { per_s }
    }

    fn x(self, clients: u32) -> f64 {
        f64::from(clients) / self.clients
    }

    fn y(self, point: &SweepPoint, per_s: f64) -> f64 {
        (1.0 - self.value(point, per_s) / self.most).clamp(0.0, 1.0)
    }
}

fn view_line(index: usize, line: &SweepResult, scale: Scale) -> Line {
    let key = Key::named(index, &rates::line_name(line));
    let mut points = String::new();
    for point in &line.points {
        // Writing to a String cannot fail.
        let _ = write!(
            points,
            "{:.1},{:.1} ",
            scale.x(point.clients) * 1000.0,
            scale.y(point, point.per_s) * 1000.0
        );
    }
    let marks = marks(line, scale);
    let knee = line.knee.map(|knee| knee.clients);
    let means = line.points.iter().map(|point| Mean {
        x: percent(scale.x(point.clients)),
        y: percent(scale.y(point, point.per_s)),
        band: point.interval.map(|it| (percent(scale.y(point, it.low)), percent(scale.y(point, it.high)))),
        title: format!(
            "{} {} {}: {}",
            key.letter(),
            point.clients,
            rates::clients(line),
            messages(point.per_s)
        ),
        knee: knee == Some(point.clients),
    });
    let blocks = line.points.iter().flat_map(|point| {
        point
            .blocks_per_s
            .iter()
            .map(|rate| (percent(scale.x(point.clients)), percent(scale.y(point, *rate))))
    });
    Line {
        points: points.trim_end().to_owned(),
        means: means.collect(),
        blocks: blocks.collect(),
        label_x: String::new(),
        label_y: String::new(),
        marks_height: ROW * marks.len().max(1),
        marks,
        words: words(line),
        key,
    }
}

fn marks(line: &SweepResult, scale: Scale) -> Vec<Mark> {
    let mark = |kind, word: &str, (clients, low, high): (u32, u32, Option<u32>)| Mark {
        kind,
        y: 0,
        at: percent(scale.x(clients)),
        low: percent(scale.x(low)),
        high: percent(high.map_or(1.0, |high| scale.x(high))),
        label: format!("{word} {}", rates::place(clients, low, high)),
        left: scale.x(high.unwrap_or(u32::MAX).min(scale.clients as u32)) > 0.6,
    };
    let knee = line.knee.map(|it| mark("knee", "knee", (it.clients, it.clients_low, it.clients_high)));
    let fall = line.fall.map(|it| mark("fall", "falls from", (it.clients, it.clients_low, it.clients_high)));
    let onset = line
        .variability
        .map(|it| mark("onset", "varies from", (it.clients, it.clients_low, Some(it.clients_high))));
    let seen = [knee, fall, onset].into_iter().flatten().enumerate();
    seen.map(|(row, mark)| Mark { y: row * ROW + ROW / 2, ..mark }).collect()
}

fn words(line: &SweepResult) -> String {
    let clients = rates::clients(line);
    let knee = match &line.knee {
        Some(knee) => format!("more {clients} stop helping at {}", rates::sweep_place(knee)),
        None => rates::no_knee(line).to_owned(),
    };
    let fall = line
        .fall
        .map(|fall| format!(", the rate falls from {}", rates::sweep_place(&fall)))
        .unwrap_or_default();
    let onset = line.variability.map(|it| {
        let place = rates::place(it.clients, it.clients_low, Some(it.clients_high));
        let [before, after] = [it.variation_before, it.variation_after].map(plumb_model::figure::percent);
        format!(", blocks vary by {after} instead of {before} from {place}")
    });
    format!("{}: {knee}{fall}{}", rates::line_name(line), onset.unwrap_or_default())
}
