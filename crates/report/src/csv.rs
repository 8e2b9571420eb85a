//! One row a step, for spreadsheets and scripts. Units stand in the column names; an absent figure is an empty cell. Of a trial the pairs
//! follow, a table of their own after an empty line.

pub mod pairs;

use crate::{ledger, queues, wording};
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::observation::{Distribution, Interval, StageName};
use plumb_model::plan::StepPlan;

/// The document's steps as CSV (RFC 4180, `\n` at line ends, header first), then a trial's pairs.
pub fn render(document: &RunDocument) -> String {
    let document = queues::without_their_times(document);
    let document = document.as_ref();
    let mut out = line(columns(document, &StepResult::default()).into_iter().map(|(name, _)| name));
    for step in &document.steps {
        out += &line(columns(document, step).into_iter().map(|(_, cell)| cell));
    }
    if document.trial.is_some() {
        out += &format!("\n{}", pairs::render(document));
    }
    out
}

/// Every column's name and the step's cell in it: one list, so that header and rows cannot disagree.
fn columns(document: &RunDocument, step: &StepResult) -> Vec<(String, String)> {
    let mut row = Row(Vec::new());
    row.put("run_id", Some(&document.run.id));
    row.put("run_verdict", Some(document.validity.verdict.word()));
    row.put("step", Some(&step.name));
    row.put("asked_per_s", step.asked_per_s);
    row.put("achieved_per_s", step.achieved_per_s);
    row.put("value_bytes_mean", Some(step.value_bytes_mean));
    row.put("blocks", Some(step.blocks.len()));
    let counts = ledger::counted(step);
    for (name, value) in [
        ("intended", counts.map(|it| it.intended)),
        ("sent", counts.map(|it| it.sent)),
        ("acked", counts.map(|it| it.acked)),
        ("failed", counts.map(|it| it.failed)),
        ("unknown", counts.map(|it| it.unknown)),
        ("received", counts.map(|it| it.received)),
        ("lost", counts.map(|it| it.lost)),
        ("removed", counts.and_then(|it| it.removed)),
        ("duplicated", counts.map(|it| it.duplicated)),
        ("reordered", counts.map(|it| it.reordered)),
    ] {
        row.put(name, value);
    }
    row.put("offset_delta", step.accounting.offset_delta);
    row.put("offsets_agree", step.accounting.agrees);
    row.put("acks", step.durability.acks.as_ref());
    row.put("min_insync_replicas", step.durability.min_insync_replicas);
    row.put("replication", step.durability.replication);
    for (name, times) in step.latency.named() {
        row.distribution(name, times);
    }
    row.distribution("slip", &step.slip);
    for name in wording::STAGES {
        row.stage(name, step);
    }
    row.rates(document, step);
    row.0
}

struct Row(Vec<(String, String)>);

impl Row {
    fn put(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        self.0.push((name.into(), value.map(|value| value.to_string()).unwrap_or_default()));
    }

    fn distribution(&mut self, name: &str, distribution: &Distribution) {
        let low = |interval: Option<Interval>| tenth(interval.map(|interval| interval.low));
        let high = |interval: Option<Interval>| tenth(interval.map(|interval| interval.high));
        self.put(format!("{name}_samples"), Some(distribution.samples));
        self.put(format!("{name}_min_ns"), distribution.min_ns);
        self.put(format!("{name}_mean_ns"), tenth(distribution.mean_ns));
        self.put(format!("{name}_mean_low_ns"), low(distribution.mean_interval));
        self.put(format!("{name}_mean_high_ns"), high(distribution.mean_interval));
        self.put(format!("{name}_p50_ns"), distribution.p50_ns);
        self.put(format!("{name}_p75_ns"), distribution.p75_ns);
        self.put(format!("{name}_p95_ns"), distribution.p95_ns);
        self.put(format!("{name}_p99_ns"), distribution.p99_ns);
        self.put(format!("{name}_p99_low_ns"), low(distribution.p99_interval));
        self.put(format!("{name}_p99_high_ns"), high(distribution.p99_interval));
        self.put(format!("{name}_p999_ns"), distribution.p999_ns);
        self.put(format!("{name}_max_ns"), distribution.max_ns);
        self.put(format!("{name}_negative"), Some(distribution.negative));
        self.put(format!("{name}_overflow"), Some(distribution.overflow));
        self.put(format!("{name}_clock_error_ns"), distribution.clock_error_ns);
    }

    fn rates(&mut self, document: &RunDocument, step: &StepResult) {
        let plan = document.plan.steps.iter().find(|plan| plan.name == step.name);
        self.put("driver", plan.map(StepPlan::driver_name));
        self.put("producers", plan.map(|plan| plan.load.producers));
        self.put("consumers", plan.map(|plan| plan.load.consumers));
        let throughput = &step.throughput;
        self.put("produced_per_s", throughput.produced_per_s);
        self.put("produced_low_per_s", throughput.produced_interval.map(|interval| interval.low));
        self.put("produced_high_per_s", throughput.produced_interval.map(|interval| interval.high));
        self.put("produced_bytes_per_s", throughput.produced_bytes_per_s);
        self.put("produced_wire_bytes_per_s", throughput.produced_wire_bytes_per_s);
        self.put("received_per_s", throughput.received_per_s);
        self.put("received_low_per_s", throughput.received_interval.map(|interval| interval.low));
        self.put("received_high_per_s", throughput.received_interval.map(|interval| interval.high));
        self.put("received_bytes_per_s", throughput.received_bytes_per_s);
        self.put("drain_s", throughput.drain_s);
        self.put("queue_mean_ns", tenth(step.producer_statistics.queue_mean_ns));
        self.put("cpu_s", step.instrument.cpu_s);
        self.put("cpu_s_per_million_messages", step.instrument.cpu_s_per_million_messages);
        self.put("cpu_s_per_gb", step.instrument.cpu_s_per_gb);
        self.put("broker_cpu_s", step.instrument.broker_cpu_s);
        let search = step.search.as_ref();
        self.put("goal_rate_low_per_s", search.and_then(|search| search.rate_low_per_s));
        self.put("goal_rate_high_per_s", search.and_then(|search| search.rate_high_per_s));
    }

    fn stage(&mut self, name: StageName, step: &StepResult) {
        let stage = step.stages.iter().find(|stage| stage.stage == name);
        let word = wording::stage(name).replace('-', "_");
        self.put(format!("stage_{word}_mean_ns"), tenth(stage.and_then(|stage| stage.mean_ns)));
        self.put(format!("stage_{word}_low_ns"), tenth(stage.and_then(|stage| stage.low_ns)));
        self.put(format!("stage_{word}_high_ns"), tenth(stage.and_then(|stage| stage.high_ns)));
    }
}

/// To a tenth of a nanosecond: digits beyond are the arithmetic's.
fn tenth(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| (ns * 10.0).round() / 10.0)
}

pub(crate) fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(cell: String) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}
