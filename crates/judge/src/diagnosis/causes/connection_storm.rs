//! Clients connect again and again, and each connection costs the network threads a handshake.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::share;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "connection-storm",
        summary: "Clients connect again and again, and each connection costs the network threads a handshake.",
        page: include_str!("../../../../../docs/findings/connection-storm.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the brokers counted the connections, and their network threads or acceptors are short of time",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "keep one client open instead of one for each call",
            setting: None,
            observe: "new connections a second",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["tls-cpu", "network-threads-saturated"],
    advice: &[
        "Reuse clients: a producer for each call is the usual reason.",
        "Start clients spread over time, and raise reconnect.backoff.max.ms.",
        "Raise socket.listen.backlog.size if accept queues overflowed.",
    ],
    check,
};

/// New connections a second and broker from which they are a load (ours; Amazon MSK limits brokers with IAM to 100).
const PER_S_MIN: f64 = 50.0;
/// Share of the time in which an acceptor was held back (ours).
const BLOCKED_MIN: f64 = 0.05;

fn check(case: &Case) -> Option<Claim> {
    let made = case.broker_most(|broker| broker.connections_per_s).filter(|made| *made >= PER_S_MIN)?;
    let blocked = share(case.broker_most(|broker| broker.acceptor_blocked_share));
    let overflows = case.host().and_then(|host| host.tcp.listen_overflows).unwrap_or(0);
    let is_blocked = blocked.is_some_and(|blocked| blocked >= BLOCKED_MIN);
    let stages = [Stage::Unexplained, Stage::ResponseQueue];
    let waits = case.any_matters(&stages);
    if !waits && !is_blocked && overflows == 0 {
        return None;
    }
    let supported = is_blocked || overflows > 0 || case.network_busy() && waits;
    Some(
        Claim::new(
            supported,
            case.share(&stages),
            format!("Clients make {} new connections to a broker, and each costs a handshake", per_s(made)),
        )
        .seen("new connections of a broker", Some(made), per_s, "below 50/s")
        .seen("TLS handshakes and logins", case.broker_most(|broker| broker.authentications_per_s), per_s, "")
        .seen("time for which an acceptor was held back", blocked, percent, "0 %")
        .told("attempts to connect that found a full queue", overflows.to_string(), "0")
        .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    tls(path);
    brokers(path, |broker| {
        broker.connections_per_s = Some(220.0);
        broker.authentications_per_s = Some(215.0);
        broker.acceptor_blocked_share = Some(0.2);
    });
    profile(path, &[(CpuClass::Tls, 0.5)]);
    idle(path, 0.12, 0.8);
    states(path, ThreadClass::Network, [0.85, 0.05, 0.0, 0.0]);
    wait(path, |waits| waits.unexplained = 25.0);
}
