//! Messages second by second of steps that went as fast as possible, one small chart a setup, each on a scale of its own
//! from nothing; and the backlog over time, where one was built up and drained.

use super::Key;
use super::scale::{linear_ticks, percent};
use crate::number::{counted, plain, rate, significant};
use crate::rates;
use plumb_model::document::RunDocument;
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

/// The value of each second of a block.
type PerSecond<'f> = &'f dyn Fn(&[SecondRow]) -> Vec<f64>;

/// Charts beyond which they are folded away.
const CHARTS_OPEN: usize = 8;

/// None where no step went as fast as possible.
pub(super) fn view(document: &RunDocument) -> Option<Flows> {
    let rows = rates::rows(document);
    let with_series = || rows.iter().filter(|row| !row.step.series.is_empty());
    let charts: Vec<Flow> = with_series()
        .filter_map(|row| {
            let acked: fn(&SecondRow) -> f64 = |second| second.acked as f64;
            let received: fn(&SecondRow) -> f64 = |second| second.received as f64;
            let (main, beside) = match (row.produces(), row.receives()) {
                (true, true) => (acked, Some(received)),
                (true, false) => (acked, None),
                _ => (received, None),
            };
            let beside =
                beside.map(|of| move |block: &[SecondRow]| block.iter().map(of).collect::<Vec<f64>>());
            chart(
                Key::new(row.index, row.step),
                &row.step.series,
                &|block| block.iter().map(main).collect(),
                beside.as_ref().map(|values| values as PerSecond),
                String::new(),
            )
        })
        .collect();
    let backlogs = with_series().filter(|row| matches!(row.mode(), Mode::Backlog(_))).filter_map(|row| {
        let drain = row.step.throughput.drain_s;
        let note = drain.map(|s| format!("drained in {} s", significant(s, 3))).unwrap_or_default();
        chart(Key::new(row.index, row.step), &row.step.series, &backlog, None, note)
    });
    let backlogs: Vec<Flow> = backlogs.collect();
    (!charts.is_empty()).then_some(Flows { folded: charts.len() > CHARTS_OPEN, charts, backlogs })
}

/// Messages acknowledged and not yet received at the end of each second.
fn backlog(block: &[SecondRow]) -> Vec<f64> {
    let mut level = 0.0_f64;
    let levels = block.iter().map(|second| {
        level = (level + second.acked as f64 - second.received as f64).max(0.0);
        level
    });
    levels.collect()
}

fn chart(
    key: Key,
    rows: &[SecondRow],
    main: PerSecond,
    beside: Option<PerSecond>,
    note: String,
) -> Option<Flow> {
    let blocks: Vec<&[SecondRow]> = rows.chunk_by(|a, b| a.block == b.block).collect();
    let mains: Vec<Vec<f64>> = blocks.iter().map(|block| main(block)).collect();
    let besides: Vec<Vec<f64>> =
        beside.map(|beside| blocks.iter().map(|block| beside(block)).collect()).unwrap_or_default();
    let most = mains.iter().chain(&besides).flatten().copied().fold(0.0, f64::max) * 1.05;
    if most <= 0.0 {
        return None;
    }
    let whole = rows.len() as f64;
    let mut flow = Flow {
        description: description(rows, &mains),
        key,
        main: Vec::new(),
        beside: Vec::new(),
        y_ticks: linear_ticks(most, 3.0)
            .into_iter()
            .map(|tick| (percent(1.0 - tick / most), short(tick)))
            .collect(),
        warm_ups: Vec::new(),
        borders: Vec::new(),
        length: counted(rows.len(), "second"),
        note,
    };
    let mut done = 0;
    for (index, block) in blocks.iter().enumerate() {
        if done > 0 {
            flow.borders.push(percent(done as f64 / whole));
        }
        let warm = block.iter().take_while(|row| row.warm_up).count();
        if warm > 0 {
            flow.warm_ups.push((percent(done as f64 / whole), percent(warm as f64 / whole)));
        }
        let line = |values: &[f64]| {
            let mut points = String::new();
            for (second, value) in values.iter().enumerate() {
                let x = (done as f64 + second as f64 + 0.5) / whole;
                // Writing to a String cannot fail.
                let _ = write!(points, "{:.1},{:.1} ", x * 1000.0, (1.0 - value / most) * 1000.0);
            }
            points.trim_end().to_owned()
        };
        flow.main.push(line(&mains[index]));
        flow.beside.extend(besides.get(index).map(|values| line(values)));
        done += block.len();
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

fn description(rows: &[SecondRow], values: &[Vec<f64>]) -> String {
    let measured = rows.iter().zip(values.iter().flatten()).filter(|(row, _)| !row.warm_up);
    let (low, high) = measured
        .fold((f64::INFINITY, 0.0_f64), |(low, high), (_, value)| (low.min(*value), high.max(*value)));
    if low.is_finite() {
        format!("between {} and {} in a second", rate(low), rate(high))
    } else {
        "nothing in the measured part".to_owned()
    }
}
