//! Messages second by second of steps that went as fast as possible, one small chart a setup, each on a scale of its own
//! from nothing; and the backlog over time, where one was built up and drained.

use super::Key;
use super::scale::{linear_ticks, percent};
use super::seconds::{self, BlockCourse, Second};
use crate::rates::{self, Row};
use plumb_model::document::RunDocument;
use plumb_model::figure::{self, counted, plain, rate};
use plumb_model::observation::SecondRow;
use plumb_model::plan::Mode;
use std::fmt::Write;

/// The charts.
pub(super) struct Flows {
    pub(super) charts: Vec<Flow>,
    /// Backlogs over time.
    pub(super) backlogs: Vec<Flow>,
    /// So many charts that they are folded away.
    pub(super) folded: bool,
}

/// One setup.
pub(super) struct Flow {
    pub(super) key: Key,
    /// Lines, one a block, in a square of 1000 by 1000: what the chart is for, and beside it what was received.
    pub(super) main: Vec<String>,
    pub(super) beside: Vec<String>,
    pub(super) y_ticks: Vec<(String, String)>,
    /// Warm-up: place and width.
    pub(super) warm_ups: Vec<(String, String)>,
    /// Beginnings of blocks after the first.
    pub(super) borders: Vec<String>,
    pub(super) length: String,
    pub(super) note: String,
    pub(super) description: String,
}

/// Blocks of values, one for each second that the line has.
type Line = Vec<Vec<f64>>;

/// Charts beyond which they are folded away.
const CHARTS_OPEN: usize = 8;

/// None where no step went as fast as possible.
pub(super) fn view(document: &RunDocument) -> Option<Flows> {
    let rows = rates::rows(document);
    let with_series = || rows.iter().filter(|row| !row.step.series.is_empty());
    let charts: Vec<Flow> = with_series().filter_map(|row| rates_chart(row, document.plan.blocks)).collect();
    let backlogs =
        with_series().filter(|row| matches!(row.mode(), Mode::Backlog(_))).filter_map(backlog_chart);
    let backlogs: Vec<Flow> = backlogs.collect();
    (!charts.is_empty()).then_some(Flows { folded: charts.len() > CHARTS_OPEN, charts, backlogs })
}

/// Messages per second.
fn rates_chart(row: &Row, planned_blocks: u32) -> Option<Flow> {
    let acked: fn(&SecondRow) -> u64 = |second| second.acked;
    let received: fn(&SecondRow) -> u64 = |second| second.received;
    let (main, beside) = match (row.produces(), row.receives()) {
        (true, true) => (acked, Some(received)),
        (true, false) => (acked, None),
        _ => (received, None),
    };
    let blocks = sending(&row.step.series, |block| row.planned_end_s(block, planned_blocks));
    let line = |of: fn(&SecondRow) -> u64| -> Line {
        let counts = blocks.iter().map(|block| {
            let whole = block.course.seconds.iter().take(block.whole_seconds);
            whole.map(|second| second.count(of) as f64).collect()
        });
        counts.collect()
    };
    let (main, beside) = (line(main), beside.map(line));
    let blocks: Vec<BlockCourse> = blocks.into_iter().map(|block| block.course).collect();
    chart(Key::new(row.index, row.step), &blocks, main, beside, String::new())
}

/// A block while messages were sent or received.
struct Sending<'d> {
    course: BlockCourse<'d>,
    /// Seconds over which a rate can be drawn: what is counted in a part of a second is none.
    whole_seconds: usize,
}

/// The blocks without the seconds after their end, in which only the last acknowledgements came. Where `end_s` does not know a
/// block's end, that is in its last second with a message sent or received.
fn sending(series: &[SecondRow], end_s: impl Fn(u32) -> Option<f64>) -> Vec<Sending<'_>> {
    let each = seconds::blocks(series).into_iter().map(|mut course| {
        let moved = |second: &Second| second.count(|row| row.sent + row.received) > 0;
        let seen = course.seconds.iter().rposition(moved).map_or(0, |last| last + 1);
        let (length, whole_seconds) = match end_s(course.block) {
            Some(end_s) => ((end_s - ROUNDING_S).ceil() as usize, (end_s + ROUNDING_S).floor() as usize),
            None => (seen, seen.saturating_sub(1)),
        };
        course.seconds.resize_with(length, Second::default);
        Sending { course, whole_seconds }
    });
    each.collect()
}

/// Largest rounding error of the sum of two lengths, in seconds.
const ROUNDING_S: f64 = 1e-6;

/// Messages acknowledged and not yet received at the end of each second.
fn backlog_chart(row: &Row) -> Option<Flow> {
    let blocks = seconds::blocks(&row.step.series);
    let levels = blocks.iter().map(|block| {
        let mut level = 0.0_f64;
        let levels = block.seconds.iter().map(|second| {
            let grown = second.count(|row| row.acked) as f64 - second.count(|row| row.received) as f64;
            level = (level + grown).max(0.0);
            level
        });
        levels.collect()
    });
    let levels = levels.collect();
    let drain = row.step.throughput.drain_s;
    let note = drain.map(|s| format!("drained in {}", figure::time(s * 1e9))).unwrap_or_default();
    chart(Key::new(row.index, row.step), &blocks, levels, None, note)
}

fn chart(key: Key, blocks: &[BlockCourse], main: Line, beside: Option<Line>, note: String) -> Option<Flow> {
    let beside = beside.unwrap_or_default();
    let most = main.iter().chain(&beside).flatten().copied().fold(0.0, f64::max) * 1.05;
    if most <= 0.0 {
        return None;
    }
    let seconds: usize = blocks.iter().map(|block| block.seconds.len()).sum();
    let whole = seconds as f64;
    let place = |second: usize| percent(second as f64 / whole);
    let mut flow = Flow {
        description: description(blocks, &main),
        key,
        main: Vec::new(),
        beside: Vec::new(),
        y_ticks: linear_ticks(most, 3.0)
            .into_iter()
            .map(|tick| (percent(1.0 - tick / most), short(tick)))
            .collect(),
        warm_ups: Vec::new(),
        borders: Vec::new(),
        length: counted(seconds, "second"),
        note,
    };
    let mut done = 0;
    for (index, block) in blocks.iter().enumerate() {
        if done > 0 {
            flow.borders.push(place(done));
        }
        let shaded = seconds::warm_ups(&block.seconds).into_iter();
        flow.warm_ups.extend(shaded.map(|it| (place(done + it.from), place(it.seconds))));
        let line = |values: &[f64]| {
            let mut points = String::new();
            for (second, value) in values.iter().enumerate() {
                let x = (done as f64 + second as f64 + 0.5) / whole;
                // Writing to a String cannot fail.
                let _ = write!(points, "{:.1},{:.1} ", x * 1000.0, (1.0 - value / most) * 1000.0);
            }
            points.trim_end().to_owned()
        };
        flow.main.push(line(&main[index]));
        flow.beside.extend(beside.get(index).map(|values| line(values)));
        done += block.seconds.len();
    }
    Some(flow)
}

/// A tick's number, short: `0`, `500`, `20k`, `1.5M`.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", plain(v / 1e6)),
        v if v >= 1e4 => format!("{}k", plain(v / 1e3)),
        v => plain(v),
    }
}

fn description(blocks: &[BlockCourse], values: &[Vec<f64>]) -> String {
    let each = blocks.iter().zip(values).flat_map(|(block, values)| block.seconds.iter().zip(values));
    let measured = each.filter(|(second, _)| !second.is_warm_up());
    let (low, high) = measured
        .fold((f64::INFINITY, 0.0_f64), |(low, high), (_, value)| (low.min(*value), high.max(*value)));
    if low.is_finite() {
        format!("between {} and {} in a second", rate(low), rate(high))
    } else {
        "no whole second in the measured part".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32, warm_up: bool, sent: u64, acked: u64) -> SecondRow {
        SecondRow { second, warm_up, sent, acked, ..SecondRow::default() }
    }

    #[test]
    fn a_path_that_never_stopped_is_drawn_without_a_drop() {
        // One batch of each second is acknowledged in the next one, so that the first second has one less; the last one after the last send.
        let series = [
            row(0, true, 100, 90),
            row(1, false, 100, 90),
            row(1, true, 0, 10),
            row(2, false, 100, 100),
            row(3, false, 0, 10),
        ];
        let blocks = sending(&series, |_| Some(3.0));
        assert_eq!(acked(&blocks[0]), [90, 100, 100]);
        assert_eq!(blocks[0].course.seconds.len(), 3);
    }

    #[test]
    fn a_stop_of_seconds_is_as_long_as_it_was_until_the_end_of_the_block() {
        let series = [row(0, true, 100, 100), row(1, false, 100, 100), row(4, false, 100, 100)];
        let blocks = sending(&series, |_| Some(7.0));
        assert_eq!(acked(&blocks[0]), [100, 100, 0, 0, 100, 0, 0]);
    }

    #[test]
    fn a_second_that_is_cut_short_is_on_the_axis_and_has_no_rate() {
        let series = [row(0, false, 100, 100), row(1, false, 100, 100), row(2, false, 40, 40)];
        for end_s in [None, Some(2.4)] {
            let blocks = sending(&series, |_| end_s);
            assert_eq!(acked(&blocks[0]), [100, 100]);
            assert_eq!(blocks[0].course.seconds.len(), 3);
        }
    }

    fn acked(block: &Sending) -> Vec<u64> {
        let whole = block.course.seconds.iter().take(block.whole_seconds);
        whole.map(|second| second.count(|row| row.acked)).collect()
    }
}
