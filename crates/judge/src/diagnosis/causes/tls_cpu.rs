//! TLS takes the network threads' processor time.

use super::super::bounds;
use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{bytes_per_s, percent};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::{CpuClass, ThreadClass};

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "tls-cpu",
        summary: "TLS takes the network threads' processor time.",
        page: include_str!("../../../../../docs/findings/tls-cpu.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "a profile of the broker shows TLS, or it is suspected from busy network threads of a TLS listener",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "send the same load to a listener without TLS",
            setting: Some(SettingRow { path: "cluster.tls", value: "false" }),
            observe: "cpu.broker_per_message",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["aes-not-accelerated", "connection-storm", "batches-too-small"],
    rivals: &["aes-not-accelerated", "handlers-saturated", "packet-loss"],
    advice: &[
        "Raise num.network.threads, if there are processors left.",
        "Use Java 17 or later and AES-128-GCM or AES-256-GCM; compress, so that fewer bytes are encrypted.",
    ],
    check,
};

/// Share of TLS and AES in the broker's work from which it is the main work of its network threads (ours).
const TLS_MIN: f64 = 0.3;

fn check(case: &Case) -> Option<Claim> {
    let stages = [Stage::Unexplained, Stage::ResponseQueue, Stage::Send];
    if !case.uses_tls() || !case.network_busy() || !case.any_matters(&stages) {
        return None;
    }
    let of_network = case.profile(&[CpuClass::Tls, CpuClass::Aes], Some(ThreadClass::Network));
    let all = case.profile(&[CpuClass::Tls, CpuClass::Aes], None);
    let tls = most([of_network, all].into_iter());
    if tls.is_some_and(|tls| tls < TLS_MIN) || tls.is_none() && case.handlers_busy() {
        return None;
    }
    Some(
        Claim::new(tls.is_some(), case.share(&stages), "The network threads are busy with TLS")
            .seen("share of TLS and AES in the broker's work", tls, percent, "below 30 %")
            .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %")
            .seen("idle of request handlers", case.handler_idle(), percent, "")
            .seen(bounds::encrypted_for(case), bounds::encrypted_per_s(case), bytes_per_s, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    tls(path);
    profile(path, &[(CpuClass::Aes, 0.2), (CpuClass::Tls, 0.3)]);
    idle(path, 0.1, 0.75);
    cpu_busy(path, 0.8);
    states(path, ThreadClass::Network, [0.88, 0.03, 0.0, 0.0]);
    wait(path, |waits| (waits.unexplained, waits.response_queue) = (20.0, 6.0));
}
