//! Every pair of a trial: one row a pair and metric, the reference against itself at the end.

use super::line;
use plumb_model::document::RunDocument;
use plumb_model::trial::{MetricResult, MetricRole};

const HEADS: [&str; 9] =
    ["run_id", "metric", "unit", "role", "arm", "against", "pair", "against_value", "arm_value"];

/// The trial's pairs as CSV; only the header where the run is no trial.
pub fn render(document: &RunDocument) -> String {
    let mut out = line(HEADS.into_iter().map(str::to_owned));
    let Some(trial) = &document.trial else { return out };
    for metric in trial.metrics.iter().chain(&trial.noise_floor) {
        for pair in &metric.values {
            let start: [&str; 6] =
                [&trial.run_id, &metric.name, &metric.unit, role(metric), &metric.arm, &metric.against];
            let cells = start.into_iter().map(str::to_owned);
            let values = [(pair.round + 1).to_string(), pair.against.to_string(), pair.arm.to_string()];
            out += &line(cells.chain(values));
        }
    }
    out
}

fn role(metric: &MetricResult) -> &'static str {
    match metric.role {
        MetricRole::Primary => "primary",
        MetricRole::Guardrail => "guardrail",
        MetricRole::Secondary => "secondary",
    }
}
