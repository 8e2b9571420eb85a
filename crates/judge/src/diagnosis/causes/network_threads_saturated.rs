//! The network threads have no time left.

use super::super::case::{Case, IDLE_MIN};
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "network-threads-saturated",
        summary: "The network threads have no time left.",
        page: include_str!("../../../../../docs/findings/network-threads-saturated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the busiest thread's idle time was measured, and the waits before and after the network threads are long",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "double num.network.threads",
            setting: Some(SettingRow { path: "cluster.broker_properties.num.network.threads", value: "6" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "tls-cpu",
        "aes-not-accelerated",
        "connection-storm",
        "cold-reads",
        "request-queue-full",
        "batches-too-small",
        "network-saturated",
        "leader-skew",
        "noisy-neighbour",
        "processors-saturated",
        "cpu-quota",
        "process-stopped",
        "cpu-stolen",
        "gc-pauses",
        "few-partitions",
        "hot-partition",
        "nagle-delayed-ack",
    ],
    rivals: &["handlers-saturated", "packet-loss", "slow-follower"],
    advice: &[
        "Raise num.network.threads, if there are processors left; it can be changed while the broker runs.",
        "Never raise it before the handlers have time, and look first at what the threads do: TLS, connections, reads from disk.",
        "Spread connections: each stays with its thread, so that a few busy clients can fill one thread while others are idle.",
    ],
    check,
};

fn check(case: &Case) -> Option<Claim> {
    let stages = [Stage::ResponseQueue, Stage::Unexplained, Stage::Send];
    let idle = case.network_idle().filter(|idle| *idle < IDLE_MIN)?;
    if !case.any_matters(&stages) {
        return None;
    }
    let busiest = case.threads(ThreadClass::Network, |threads| threads.busiest);
    let runs = busiest.is_some_and(|busiest| busiest >= 0.7);
    let supported = runs || case.matters(Stage::ResponseQueue) || !case.handlers_busy();
    Some(
        Claim::new(supported, case.share(&stages), format!("The busiest network thread has {} idle time: requests wait for it before the broker counts them, and answers after", percent(idle)))
            .seen("idle of the busiest network thread", Some(idle), percent, "above 30 %")
            .seen("idle of request handlers", case.handler_idle(), percent, "")
            .seen("processor time of the busiest network thread", busiest, percent, "below 70 %")
            .seen("time in the response queue", case.stages.mean_ns(Stage::ResponseQueue), time, "")
            .seen("time between client and broker", case.stages.mean_ns(Stage::Unexplained), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    idle(path, 0.05, 0.8);
    states(path, ThreadClass::Network, [0.93, 0.02, 0.0, 0.0]);
    wait(path, |waits| (waits.unexplained, waits.response_queue) = (12.0, 14.0));
}
