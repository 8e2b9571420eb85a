//! Latency second by second, one small chart a setup, all on one scale: the middle and the largest of each second.

use super::Key;
use super::scale::{LogScale, percent, time_tick};
use super::seconds::{self, BlockCourse, Second};
use crate::headline;
use plumb_model::document::RunDocument;
use plumb_model::figure::{counted, time};
use plumb_model::observation::{SecondLatency, SecondRow};
use plumb_stats::median::median;
use std::fmt::Write;

/// The charts.
pub(super) struct Timelines {
    pub(super) charts: Vec<Timeline>,
    pub(super) y_ticks: Vec<(String, String)>,
    /// The quantity of the thick line: `p50`, or `mean` where seconds have too few samples for a median.
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
    let with_series = steps.iter().filter(|(_, step)| !step.series.is_empty());
    let courses: Vec<(Key, Vec<BlockCourse>)> =
        with_series.map(|(index, step)| (Key::new(*index, step), seconds::blocks(&step.series))).collect();
    let all = || courses.iter().flat_map(|(_, blocks)| blocks).flat_map(|block| &block.seconds);
    let medians = all().any(|second| second.timed().iter().any(|row| of(row).p50_ns.is_some()));
    let reading = Reading { of, medians };
    let values = all().flat_map(|second| [reading.middle(second), reading.largest(second)]).flatten();
    let scale = LogScale::around(values)?;
    let longest = courses.iter().map(|(_, blocks)| length(blocks)).max().unwrap_or(0);
    let seconds_per_point = longest.div_ceil(POINTS).max(1);
    Some(Timelines {
        charts: courses
            .into_iter()
            .map(|(key, blocks)| chart(key, &blocks, reading, scale, seconds_per_point))
            .collect(),
        y_ticks: sparse(scale.ticks())
            .into_iter()
            .map(|ns| (percent(1.0 - scale.share(ns)), time_tick(ns)))
            .collect(),
        middle: if medians { "p50" } else { "mean" },
        seconds_per_point,
    })
}

/// Seconds of all blocks.
fn length(blocks: &[BlockCourse]) -> usize {
    blocks.iter().map(|block| block.seconds.len()).sum()
}

/// The figure that is read from a second: its median, or its mean where no second of the run has samples enough for a median.
#[derive(Clone, Copy)]
struct Reading {
    of: fn(&SecondRow) -> &SecondLatency,
    medians: bool,
}

impl Reading {
    /// Of the row with most samples: where a second has several, the others are what came after it was closed.
    fn middle(self, second: &Second) -> Option<f64> {
        let latencies = second.timed().iter().map(|row| (self.of)(row));
        let latency = latencies.max_by_key(|latency| latency.samples)?;
        if self.medians { latency.p50_ns.map(|ns| ns as f64) } else { latency.mean_ns }
    }

    fn largest(self, second: &Second) -> Option<f64> {
        second.timed().iter().filter_map(|row| (self.of)(row).max_ns).max().map(|ns| ns as f64)
    }
}

/// Small charts have room for about four ticks.
fn sparse(ticks: Vec<f64>) -> Vec<f64> {
    let every = ticks.len().div_ceil(4);
    ticks.into_iter().step_by(every.max(1)).collect()
}

fn chart(key: Key, blocks: &[BlockCourse], reading: Reading, scale: LogScale, per_point: usize) -> Timeline {
    let whole = length(blocks) as f64;
    let place = |second: usize| percent(second as f64 / whole);
    let mut timeline = Timeline {
        middles: Vec::new(),
        largest: Vec::new(),
        warm_ups: Vec::new(),
        borders: Vec::new(),
        length: counted(length(blocks), "second"),
        description: description(blocks, reading),
        key,
    };
    let mut done = 0;
    for BlockCourse { seconds, .. } in blocks {
        if done > 0 {
            timeline.borders.push(place(done));
        }
        let shaded = seconds::warm_ups(seconds).into_iter();
        timeline.warm_ups.extend(shaded.map(|it| (place(done + it.from), place(it.seconds))));
        let (mut middle, mut largest) = (Line::default(), Line::default());
        for (index, seconds) in seconds.chunks(per_point).enumerate() {
            let from = (done + index * per_point) as f64;
            let x = Span { from: from / whole, to: (from + seconds.len() as f64) / whole };
            let usual = median(seconds.iter().filter_map(|second| reading.middle(second)));
            middle.point(x, usual.map(|ns| 1.0 - scale.share(ns)));
            let max = seconds.iter().filter_map(|second| reading.largest(second)).reduce(f64::max);
            largest.point(x, max.map(|ns| 1.0 - scale.share(ns)));
        }
        timeline.middles.extend(middle.finish());
        timeline.largest.extend(largest.finish());
        done += seconds.len();
    }
    timeline
}

/// The part of the axis that a point stands for, 0..1.
#[derive(Clone, Copy)]
struct Span {
    from: f64,
    to: f64,
}

/// A line that breaks where there is no value.
#[derive(Default)]
struct Line {
    pieces: Vec<String>,
    current: Vec<(Span, f64)>,
}

impl Line {
    fn point(&mut self, x: Span, y: Option<f64>) {
        match y {
            Some(y) => self.current.push((x, y)),
            None => self.end_piece(),
        }
    }

    fn end_piece(&mut self) {
        let mut piece = String::new();
        let mut add = |x: f64, y: f64| {
            // Writing to a String cannot fail.
            let _ = write!(piece, "{:.1},{:.1} ", x * 1000.0, y * 1000.0);
        };
        match self.current.as_slice() {
            [] => return,
            // A line of one point would not be seen: it is as long as what it stands for.
            [(x, y)] => [x.from, x.to].into_iter().for_each(|x| add(x, *y)),
            points => points.iter().for_each(|(x, y)| add(f64::midpoint(x.from, x.to), *y)),
        }
        self.pieces.push(piece);
        self.current.clear();
    }

    fn finish(mut self) -> Vec<String> {
        self.end_piece();
        self.pieces
    }
}

fn description(blocks: &[BlockCourse], reading: Reading) -> String {
    let measured = || blocks.iter().flat_map(|block| &block.seconds).filter(|second| !second.is_warm_up());
    let mut middles: Vec<f64> = measured().filter_map(|second| reading.middle(second)).collect();
    middles.sort_by(f64::total_cmp);
    let largest = measured().filter_map(|second| reading.largest(second)).reduce(f64::max);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in which this many messages came, all after `ms`.
    fn row(block: u32, second: u32, warm_up: bool, ms: u64) -> SecondRow {
        let ns = ms * 1_000_000;
        let end_to_end =
            SecondLatency { samples: 300, p50_ns: Some(ns), max_ns: Some(ns), ..SecondLatency::default() };
        SecondRow { block, second, warm_up, end_to_end, ..SecondRow::default() }
    }

    fn drawn(series: &[SecondRow]) -> Timeline {
        let reading = Reading { of: |row| &row.end_to_end, medians: true };
        let scale = LogScale::around([1e6, 1e9].into_iter()).unwrap();
        let key = Key::new(0, &plumb_model::document::StepResult::default());
        chart(key, &seconds::blocks(series), reading, scale, 1)
    }

    #[test]
    fn a_second_with_warm_up_and_measured_messages_is_drawn_once_as_measured() {
        let series = [
            row(0, 0, true, 10),
            row(0, 1, false, 10),
            row(0, 1, true, 900),
            row(1, 0, true, 10),
            row(1, 1, false, 10),
        ];
        let drawn = drawn(&series);
        assert_eq!(drawn.length, "4 seconds");
        assert_eq!(drawn.borders, ["50.00%"]);
        assert_eq!(
            drawn.warm_ups,
            [("0.00%".to_owned(), "25.00%".to_owned()), ("50.00%".to_owned(), "25.00%".to_owned())]
        );
        assert_eq!(drawn.middles, ["125.0,666.7 375.0,666.7 ", "625.0,666.7 875.0,666.7 "]);
    }

    #[test]
    fn a_stall_is_a_gap_as_long_as_it_was_and_what_came_after_it_is_seen() {
        let series = [row(0, 0, true, 10), row(0, 1, false, 10), row(0, 9, false, 1000)];
        let drawn = drawn(&series);
        assert_eq!(drawn.length, "10 seconds");
        assert_eq!(drawn.middles, ["50.0,666.7 150.0,666.7 ", "900.0,0.0 1000.0,0.0 "]);
    }
}
