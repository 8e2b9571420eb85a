//! Latency second by second, one small chart a setup, all on one scale: the middle and the largest of each second.

use super::Key;
use super::scale::{LogScale, percent, time_tick};
use crate::headline;
use crate::number::{counted, time};
use plumb_model::document::RunDocument;
use plumb_model::observation::{SecondLatency, SecondRow};
use plumb_stats::median::median;
use std::fmt::Write;

/// The charts.
pub(super) struct Timelines {
    pub(super) charts: Vec<Timeline>,
    pub(super) y_ticks: Vec<(String, String)>,
    /// What the thick line is: `p50`, or `mean` where seconds have too few samples for a median.
    pub(super) middle: &'static str,
    /// Seconds behind one point of the longest chart.
    pub(super) seconds_per_point: usize,
}

/// One setup.
pub(super) struct Timeline {
    pub(super) key: Key,
    /// Lines of the middle, one a block, in a square of 1000 by 1000.
    pub(super) middles: Vec<String>,
    /// Lines of the largest.
    pub(super) largest: Vec<String>,
    /// Warm-up: place and width.
    pub(super) warm_ups: Vec<(String, String)>,
    /// Beginnings of blocks after the first.
    pub(super) borders: Vec<String>,
    pub(super) length: String,
    pub(super) description: String,
}

/// Points of a chart beyond which neighbouring seconds are joined.
const POINTS: usize = 400;

/// None when no step has a series. `of` is the latency of a second that the charts show.
pub(super) fn view(document: &RunDocument, of: fn(&SecondRow) -> &SecondLatency) -> Option<Timelines> {
    let steps = headline::timed(document);
    let rows = || steps.iter().flat_map(|(_, step)| &step.series);
    let reading = Reading { of, medians: rows().any(|row| of(row).p50_ns.is_some()) };
    let values = rows().flat_map(|row| [reading.middle(row), reading.largest(row)]).flatten();
    let scale = LogScale::around(values)?;
    let longest = steps.iter().map(|(_, step)| step.series.len()).max().unwrap_or(0);
    let seconds_per_point = longest.div_ceil(POINTS).max(1);
    let charts = steps.iter().copied().filter(|(_, step)| !step.series.is_empty());
    Some(Timelines {
        charts: charts
            .map(|(index, step)| {
                chart(Key::new(index, step), &step.series, reading, scale, seconds_per_point)
            })
            .collect(),
        y_ticks: sparse(scale.ticks())
            .into_iter()
            .map(|ns| (percent(1.0 - scale.share(ns)), time_tick(ns)))
            .collect(),
        middle: if reading.medians { "p50" } else { "mean" },
        seconds_per_point,
    })
}

/// What is read from a second: its median, or its mean where no second of the run has samples enough for a median.
#[derive(Clone, Copy)]
struct Reading {
    of: fn(&SecondRow) -> &SecondLatency,
    medians: bool,
}

impl Reading {
    fn middle(self, row: &SecondRow) -> Option<f64> {
        let latency = (self.of)(row);
        if self.medians { latency.p50_ns.map(|ns| ns as f64) } else { latency.mean_ns }
    }

    fn largest(self, row: &SecondRow) -> Option<f64> {
        (self.of)(row).max_ns.map(|ns| ns as f64)
    }
}

/// Small charts have room for about four ticks.
fn sparse(ticks: Vec<f64>) -> Vec<f64> {
    let every = ticks.len().div_ceil(4);
    ticks.into_iter().step_by(every.max(1)).collect()
}

fn chart(key: Key, rows: &[SecondRow], reading: Reading, scale: LogScale, per_point: usize) -> Timeline {
    let whole = rows.len() as f64;
    let mut timeline = Timeline {
        middles: Vec::new(),
        largest: Vec::new(),
        warm_ups: Vec::new(),
        borders: Vec::new(),
        length: counted(rows.len(), "second"),
        description: description(rows, reading),
        key,
    };
    let mut done = 0;
    for block in rows.chunk_by(|a, b| a.block == b.block) {
        if done > 0 {
            timeline.borders.push(percent(done as f64 / whole));
        }
        let warm = block.iter().take_while(|row| row.warm_up).count();
        if warm > 0 {
            timeline.warm_ups.push((percent(done as f64 / whole), percent(warm as f64 / whole)));
        }
        let (mut middle, mut largest) = (Line::default(), Line::default());
        for (index, rows) in block.chunks(per_point).enumerate() {
            let x = (done as f64 + (index * per_point) as f64 + rows.len() as f64 / 2.0) / whole;
            let usual = median(rows.iter().filter_map(|row| reading.middle(row)));
            middle.point(x, usual.map(|ns| 1.0 - scale.share(ns)));
            let max = rows.iter().filter_map(|row| reading.largest(row)).reduce(f64::max);
            largest.point(x, max.map(|ns| 1.0 - scale.share(ns)));
        }
        timeline.middles.extend(middle.finish());
        timeline.largest.extend(largest.finish());
        done += block.len();
    }
    timeline
}

/// A line that breaks where there is no value.
#[derive(Default)]
struct Line {
    pieces: Vec<String>,
    current: String,
}

impl Line {
    fn point(&mut self, x: f64, y: Option<f64>) {
        match y {
            // Writing to a String cannot fail.
            Some(y) => drop(write!(self.current, "{:.1},{:.1} ", x * 1000.0, y * 1000.0)),
            None => self.pieces.push(std::mem::take(&mut self.current)),
        }
    }

    fn finish(mut self) -> impl Iterator<Item = String> {
        self.pieces.push(self.current);
        self.pieces.into_iter().filter(|piece| !piece.is_empty())
    }
}

fn description(rows: &[SecondRow], reading: Reading) -> String {
    let measured = || rows.iter().filter(|row| !row.warm_up);
    let mut middles: Vec<f64> = measured().filter_map(|row| reading.middle(row)).collect();
    middles.sort_by(f64::total_cmp);
    let largest = measured().filter_map(|row| reading.largest(row)).reduce(f64::max);
    match (middles.first(), middles.last(), largest) {
        (Some(low), Some(high), Some(largest)) => format!(
            "middle of a second between {} and {}, largest {}",
            time(*low),
            time(*high),
            time(largest)
        ),
        _ => "nothing arrived in the measured part".to_owned(),
    }
}
