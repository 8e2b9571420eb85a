//! Round trips of 40 ms: one side waits to send small packets, the other waits to acknowledge them.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::setting;
use super::super::measure::count;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "nagle-delayed-ack",
        summary: "Round trips of 40 ms: one side waits to send small packets, the other waits to acknowledge them.",
        page: include_str!("../../../../../docs/findings/nagle-delayed-ack.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "single round trips lie at 40 ms while the broker's own times are short",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "switch Nagle's algorithm off in the client",
            setting: Some(SettingRow { path: "producer.socket.nagle.disable", value: "true" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["packet-loss", "journal-commits", "socket-buffers-small"],
    advice: &[
        "Set socket.nagle.disable=true (librdkafka; its default since 2.10), or upgrade the client.",
        "Proxies and load balancers between client and broker need TCP_NODELAY as well: each one without adds 40 ms.",
    ],
    check,
};

/// Share of round trips between 35 and 50 ms from which they are a mode of their own (ours).
const SHARE_MIN: f64 = 0.2;

fn check(case: &Case) -> Option<Claim> {
    let share =
        case.producers_most(|client| client.rtt_near_40_ms_share).filter(|share| *share >= SHARE_MIN)?;
    if !case.matters(Stage::Unexplained) && case.stages.broker_ns.is_some() {
        return None;
    }
    let rtt_ns = case.stages.rtt_ns.filter(|rtt_ns| *rtt_ns >= 5e6)?;
    let broker_is_fast = case.stages.broker_ns.is_some_and(|broker_ns| broker_ns < 0.5 * rtt_ns);
    let told = case.producers().find_map(|client| setting(client, &["socket.nagle.disable"]));
    // On a path whose shortest round trip is that long, 40 ms may be the way and not a timer: unless packets are known to be held back.
    let way_is_short = case.producers_most(|client| client.rtt_min_ns).is_none_or(|min_ns| min_ns < 20e6);
    let is_on = told == Some("false");
    if !way_is_short && !is_on {
        return None;
    }
    let delayed = case.host().and_then(|host| count(host.tcp.delayed_acks));
    let small = case.producers_mean(|client| client.batch_bytes_mean);
    Some(
        Claim::new(broker_is_fast && told != Some("true") && !case.network_busy(), case.share(&[Stage::Unexplained]), format!("{} of the round trips take about 40 ms, the delay of TCP acknowledgements, while the broker's time is short", percent(share)))
            .seen("round trips between 35 and 50 ms", Some(share), percent, "below 20 %")
            .seen("mean round trip", Some(rtt_ns), time, "")
            .seen("broker's time of a Produce request", case.stages.broker_ns, time, "")
            .seen("bytes of a batch", small, short, "")
            .seen("acknowledgements that TCP delayed on this host", delayed, short, "")
            .told("socket.nagle.disable", told.unwrap_or("not told"), "true"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.rtt_near_40_ms_share = Some(0.7);
        client.rtt_min_ns = Some(1.5e6);
        client.batch_bytes_mean = Some(400.0);
        client.batch_messages_mean = Some(1.0);
        client.messages_per_s = Some(20.0);
        client.bytes_per_s = Some(8_000.0);
    });
    wait(path, |waits| waits.unexplained = 28.0);
}
