//! The stages of the mean time: one stacked bar a setup, with the error band of each stage under it.

use super::Key;
use super::grid::Grid;
use super::scale::{linear_ticks, percent, time_tick};
use crate::wording;
use plumb_model::document::StepResult;
use plumb_model::figure::{ABSENT, interval, milliseconds, time};
use plumb_model::observation::{Stage, StageName};

/// The chart.
pub(super) struct StageChart {
    pub(super) bars: Vec<Bar>,
    pub(super) ticks: Vec<(String, String)>,
    /// Class and name of each stage.
    pub(super) legend: Vec<(String, &'static str)>,
    /// The figures with band, fidelity and source.
    pub(super) grid: Grid,
}

/// One setup.
pub(super) struct Bar {
    pub(super) key: Key,
    pub(super) segments: Vec<Segment>,
    pub(super) description: String,
}

/// One stage of it.
pub(super) struct Segment {
    pub(super) class: String,
    pub(super) x: String,
    pub(super) width: String,
    /// Its figure, where it has room.
    pub(super) label: String,
    pub(super) label_x: String,
    pub(super) title: String,
    /// The band in which its end may truly lie.
    pub(super) band: Option<(String, String)>,
}

/// Share of the chart's width from which a figure fits into a segment, also on a phone.
const LABEL_ROOM: f64 = 0.09;

/// None when no step has stages.
pub(super) fn view(steps: &[StepResult]) -> Option<StageChart> {
    let longest = steps.iter().map(|step| extent(&step.stages)).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let bars = steps.iter().enumerate().filter(|(_, step)| !step.stages.is_empty());
    Some(StageChart {
        bars: bars.map(|(index, step)| bar(Key::new(index, step), step, longest)).collect(),
        ticks: linear_ticks(longest, 6.0)
            .into_iter()
            .map(|ns| (percent(ns / longest), tick_label(ns)))
            .collect(),
        legend: wording::STAGES.iter().map(|stage| (class(*stage), wording::stage(*stage))).collect(),
        grid: grid(steps),
    })
}

fn tick_label(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { time_tick(ns) }
}

/// The farthest end of a bar or one of its bands.
fn extent(stages: &[Stage]) -> f64 {
    let mut start = 0.0;
    let mut furthest: f64 = 0.0;
    for stage in stages {
        let Some(mean) = stage.mean_ns else { continue };
        furthest = furthest.max(start + mean).max(start + stage.high_ns.unwrap_or(mean));
        start += mean.max(0.0);
    }
    furthest
}

fn bar(key: Key, step: &StepResult, longest: f64) -> Bar {
    let mut start = 0.0;
    let mut segments = Vec::new();
    for stage in &step.stages {
        let Some(mean) = stage.mean_ns else { continue };
        let width = mean.max(0.0);
        let name = wording::stage(stage.stage);
        segments.push(Segment {
            class: class(stage.stage),
            x: percent(start / longest),
            width: percent(width / longest),
            label: if width / longest >= LABEL_ROOM { milliseconds(mean) } else { String::new() },
            label_x: percent((start + width / 2.0) / longest),
            title: format!("{name}: {}{}", time(mean), band_words(stage)),
            band: match (stage.low_ns, stage.high_ns) {
                (Some(low), Some(high)) if high > low => {
                    Some((percent((start + low.max(0.0)) / longest), percent((start + high) / longest)))
                }
                _ => None,
            },
        });
        start += width;
    }
    let description = segments.iter().map(|segment| segment.title.clone()).collect::<Vec<_>>().join("; ");
    Bar { key, segments, description }
}

fn band_words(stage: &Stage) -> String {
    match (stage.low_ns, stage.high_ns) {
        (Some(low), Some(high)) if high > low => format!(", between {} and {}", time(low), time(high)),
        _ => String::new(),
    }
}

fn class(stage: StageName) -> String {
    format!("st-{}", wording::stage(stage))
}

fn grid(steps: &[StepResult]) -> Grid {
    let mut rows = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for stage in &step.stages {
            let span = match (stage.low_ns, stage.high_ns) {
                (Some(low), Some(high)) => interval(low, high, milliseconds),
                _ => ABSENT.to_owned(),
            };
            rows.push(vec![
                format!("#{}", index + 1),
                wording::stage(stage.stage).to_owned(),
                stage.mean_ns.map_or_else(|| ABSENT.to_owned(), milliseconds),
                span,
                stage.fidelity.map_or(ABSENT, wording::fidelity).to_owned(),
                stage.source.clone(),
            ]);
        }
    }
    Grid {
        caption: "Stages in milliseconds, with where each figure comes from".to_owned(),
        heads: ["setup", "stage", "mean", "band", "fidelity", "source"].map(str::to_owned).into(),
        rows,
        notes: Vec::new(),
        numeric: false,
    }
}
