//! The properties of a run for which the benchmark's format has no place.

use super::SecondHistograms;
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::observation::Distribution;
use serde_json::{Value, json};

/// The object `plumb` of a result file.
pub(super) fn of(document: &RunDocument, index: usize, seconds: SecondHistograms<'_>) -> Value {
    let (step, planned) = (&document.steps[index], &document.plan.steps[index]);
    json!({
        "version": document.run.plumb_version,
        "run_id": document.run.id,
        "started_at": document.run.started_at,
        "finished_at": document.run.finished_at,
        "state": document.run.state,
        "validity": document.validity.verdict.word(),
        "reasons": document.validity.reasons,
        "driver": planned.driver,
        "client": document.environment.client,
        "cluster_version": document.environment.cluster.version,
        "durability": step.durability,
        "asked_per_s": step.asked_per_s,
        "achieved_per_s": step.achieved_per_s,
        "throughput": step.throughput,
        "counts": step.counts,
        "accounting": step.accounting,
        "from_intended_send_ms": {
            "publish": milliseconds(&step.latency.acknowledge),
            "end_to_end": milliseconds(&step.latency.end_to_end),
        },
        "queue_mean_ms": step.producer_statistics.queue_mean_ns.map(|ns| ns / 1e6),
        "notes": notes(step, planned.load.saturating(), seconds),
    })
}

fn milliseconds(distribution: &Distribution) -> Value {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    json!({
        "samples": distribution.samples,
        "mean": distribution.mean_ns.map(|ns| ns / 1e6),
        "mean_low": distribution.mean_interval.map(|interval| interval.low / 1e6),
        "mean_high": distribution.mean_interval.map(|interval| interval.high / 1e6),
        "p50": ms(distribution.p50_ns),
        "p95": ms(distribution.p95_ns),
        "p99": ms(distribution.p99_ns),
        "p999": ms(distribution.p999_ns),
        "max": ms(distribution.max_ns),
    })
}

/// The notes that a reader of the arrays must know.
fn notes(step: &StepResult, saturating: bool, seconds: SecondHistograms<'_>) -> Vec<String> {
    let mut notes = vec![
        "latencies count from the actual send, as the benchmark's do; from_intended_send_ms has those that count waiting too"
            .to_owned(),
        "all messages are in the end-to-end latency, also those below a millisecond, which the benchmark leaves out".to_owned(),
    ];
    if saturating {
        let reason = "messages went out as fast as possible: publishLatency is that at full load: the time in the client's own \
                      queue, of which queue_mean_ms has the mean, and that of as many requests under way as the client allows";
        notes.push(reason.to_owned());
        return notes;
    }
    let absent = |name: &str| {
        format!(
            "{name}*: empty, because the run's interval logs are not beside its document, or do not have it"
        )
    };
    if seconds.acknowledge_service.is_empty() && step.latency.acknowledge_service.samples > 0 {
        notes.push(absent("publishLatency"));
    }
    if seconds.end_to_end_service.is_empty() && step.latency.end_to_end_service.samples > 0 {
        notes.push(absent("endToEndLatency"));
    }
    if seconds.slip.is_empty() && step.slip.samples > 0 {
        notes.push(absent("publishDelayLatency"));
    }
    if step.counts.failed + step.counts.unknown > 0 {
        notes.push(
            "publishErrorRate: empty, because failures are counted for the whole step (counts)".to_owned(),
        );
    }
    if step.blocks.len() > 1 {
        notes.push(format!("the windows are those of {} blocks, one after the other", step.blocks.len()));
    }
    notes
}
