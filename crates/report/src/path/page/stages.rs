//! The stages of the mean time: one divided bar, and a row for each stage with its meaning and the source of the figure.

use super::stacked::{Part, Stacked};
use crate::paint::printable;
use crate::path::words;
use plumb_model::diagnosis::{Diagnosis, PathStageTime};
use plumb_model::figure::{rough_share, time};

/// The bar and its rows.
pub(super) struct StagesView {
    /// None where no stage is known.
    pub(super) bar: Option<Stacked>,
    pub(super) rows: Vec<StageRow>,
    /// True if some stage is unknown.
    pub(super) has_unknown: bool,
}

/// One stage.
pub(super) struct StageRow {
    pub(super) style: &'static str,
    pub(super) name: String,
    pub(super) meaning: &'static str,
    pub(super) mean: String,
    pub(super) share: String,
    pub(super) source: String,
    pub(super) is_known: bool,
}

/// Width of a stage that is not known: enough for its mark, and no figure.
const UNKNOWN: f64 = 0.035;

/// None where the diagnosis has no stages.
pub(super) fn view(diagnosis: &Diagnosis) -> Option<StagesView> {
    let stages = &diagnosis.stages;
    if stages.is_empty() {
        return None;
    }
    let unknown = stages.iter().filter(|stage| stage.mean_ns.is_none()).count();
    let sum_ns: f64 = stages.iter().filter_map(known_ns).sum();
    let room = 1.0 - UNKNOWN * unknown as f64;
    let part = |stage: &PathStageTime| {
        let name = printable(&words::plain(&stage.name));
        match stage.mean_ns {
            None => Part {
                style: "s-unknown",
                share: UNKNOWN,
                label: "?".to_owned(),
                title: format!("{name}: not known"),
            },
            Some(mean_ns) => Part {
                style: style(&stage.name),
                share: known_ns(stage).unwrap_or(0.0) / sum_ns * room,
                label: words::stage_mean(mean_ns),
                title: format!("{name}: {}", words::stage_mean(mean_ns)),
            },
        }
    };
    let parts: Vec<Part> = stages.iter().map(part).collect();
    let bar = (sum_ns > 0.0 && room > 0.0).then(|| {
        let mut bar = Stacked::new("mean of a request".to_owned(), time(sum_ns), &parts);
        // The mark of an unknown stage is drawn, however narrow it is.
        for segment in bar.segments.iter_mut().filter(|segment| segment.style == "s-unknown") {
            segment.label = "?".to_owned();
            segment.is_tight = false;
        }
        bar
    });
    Some(StagesView { bar, rows: stages.iter().map(row).collect(), has_unknown: unknown > 0 })
}

/// The mean where it takes a part of the bar: a consumer that has a message before its producer has the answer has a time below zero.
fn known_ns(stage: &PathStageTime) -> Option<f64> {
    stage.mean_ns.filter(|mean| mean.is_finite() && *mean > 0.0)
}

fn row(stage: &PathStageTime) -> StageRow {
    StageRow {
        style: if stage.mean_ns.is_some() { style(&stage.name) } else { "s-unknown" },
        name: printable(&words::plain(&stage.name)),
        meaning: words::stage_meaning(&stage.name),
        mean: stage.mean_ns.map_or_else(|| "not known".to_owned(), words::stage_mean),
        share: stage.share.filter(|share| *share > 0.0).map_or_else(String::new, rough_share),
        source: printable(&stage.source),
        is_known: stage.mean_ns.is_some(),
    }
}

/// The style class that carries a stage's colour.
pub(super) fn style(name: &str) -> &'static str {
    match name {
        "client_queue" => "s-client-queue",
        "client_send" => "s-client-send",
        "unexplained" => "st-unexplained",
        "request_queue" => "s-request-queue",
        "local" => "s-local",
        "remote" => "s-remote",
        "response_queue" => "s-response-queue",
        "send" => "s-send",
        "fetch" => "s-fetch",
        _ => "s-other",
    }
}
