//! The metrics of a block that a trial compares: their names, and the loads of which each says nothing.

use crate::plan::{GoalLatency, LoadPlan, Mode};

/// Every metric of a block that a trial can hold against another block's, by name.
pub const METRIC_NAMES: &[&str] = &[
    "end_to_end.mean",
    "end_to_end.p50",
    "end_to_end.p95",
    "end_to_end.p99",
    "end_to_end.p999",
    "acknowledge.mean",
    "acknowledge.p50",
    "acknowledge.p95",
    "acknowledge.p99",
    "acknowledge.p999",
    "throughput.produced_per_s",
    "throughput.received_per_s",
    "cpu.client_per_message",
    "cpu.broker_per_message",
    "cpu.per_message",
    "drain_s",
];

/// Packets that this host lost in the measured part of a block, a second.
pub const PACKETS_LOST: &str = "host.packets_lost";

/// Counts of a block that may decide a trial in place of a metric. They are mostly 0 and have no ratio.
pub const COUNT_NAMES: &[&str] = &["loss.lost", "errors.failed", "loss.duplicated", PACKETS_LOST];

/// True if this is the name of a count.
pub fn is_count(name: &str) -> bool {
    COUNT_NAMES.contains(&name)
}

/// The quantile that a metric is, 0..1; none of one that is no quantile.
pub(crate) fn metric_quantile(name: &str) -> Option<f64> {
    let (_, figure) = name.split_once('.')?;
    match figure {
        "p50" => Some(0.5),
        "p95" => Some(0.95),
        "p99" => Some(0.99),
        "p999" => Some(0.999),
        _ => None,
    }
}

/// The metric of a block that is this quantile of a latency; none where a block has no such quantile.
pub fn of_latency(latency: GoalLatency, quantile: f64) -> Option<&'static str> {
    let is_it = |name: &&&str| {
        name.starts_with(family(latency))
            && metric_quantile(name).is_some_and(|known| (known - quantile).abs() < 1e-9)
    };
    METRIC_NAMES.iter().find(is_it).copied()
}

/// The latency and quantile that a metric is; none of one that is no quantile of a latency.
pub fn goal_of(name: &str) -> Option<LatencyQuantile> {
    let quantile = metric_quantile(name)?;
    let of = |latency: &GoalLatency| name.starts_with(family(*latency));
    let latency = [GoalLatency::Acknowledge, GoalLatency::EndToEnd].into_iter().find(of)?;
    Some(LatencyQuantile { latency, quantile })
}

/// A quantile of a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyQuantile {
    /// The latency.
    pub latency: GoalLatency,
    /// 0..1.
    pub quantile: f64,
}

/// The beginning of the names of a latency's metrics.
fn family(latency: GoalLatency) -> &'static str {
    match latency {
        GoalLatency::Acknowledge => "acknowledge.",
        GoalLatency::EndToEnd => "end_to_end.",
    }
}

/// The reason why a metric says nothing of a step with this load; none where it says something, and of a name that is no
/// metric's.
///
/// A rate that was asked for is no result: a path that keeps up has it whatever its setting, and what a block then lacks of it
/// is the latency of its last messages. One that does not keep up, fails or loses messages is told by findings and counts.
pub fn metric_silent(name: &str, load: &LoadPlan) -> Option<&'static str> {
    let (produces, consumes) = (load.mode != Mode::Consume, load.mode != Mode::Produce && load.consumers > 0);
    let (family, figure) = name.split_once('.').unwrap_or((name, ""));
    match (family, figure) {
        ("end_to_end" | "acknowledge", _) if load.saturating() => Some("as fast as possible has no latency"),
        ("end_to_end", _) if !consumes => Some("end-to-end latency ends at a consumer"),
        ("acknowledge" | "throughput", figure) if !produces && figure != "received_per_s" => {
            Some("nobody sends in the measured part")
        }
        ("throughput", "received_per_s") if !consumes => Some("nobody receives"),
        ("throughput", _) if !load.saturating() => Some(
            "at a fixed rate the throughput is the one asked for, and what a block lacks of it is its last messages' latency",
        ),
        ("errors", _) if !produces => Some("nobody sends in the measured part"),
        ("loss", "lost") if !produces => Some("nobody sends in the measured part"),
        ("loss", _) if !consumes => Some("nobody receives"),
        ("drain_s", _) if !matches!(load.mode, Mode::Backlog(_)) => {
            Some("only load.mode backlog has a backlog to drain")
        }
        _ => None,
    }
}
