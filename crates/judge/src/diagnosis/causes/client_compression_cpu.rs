//! Compression takes the producers' processor time.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::setting;
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::CpuClass;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "client-compression-cpu",
        summary: "Compression takes the producers' processor time.",
        page: include_str!("../../../../../docs/findings/client-compression-cpu.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "a profile of the client shows the codec, or it is suspected from the codec and a busy thread",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "compress with lz4",
            setting: Some(SettingRow { path: "producer.compression.type", value: "lz4" }),
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[],
    rivals: &["client-cpu-bound", "broker-recompression"],
    advice: &[
        "Use lz4, or a lower level of zstd or gzip, and look at the bytes that it costs.",
        "Call send() from more threads or producers: the Java client compresses in the thread that sends, librdkafka in the broker's thread.",
    ],
    check,
};

/// Share of the client's processor time from which the codec is its main work (ours).
const CODEC_MIN: f64 = 0.4;
/// Processor time of a thread from which it is the limit (ours).
const BUSY_MIN: f64 = 0.9;

fn check(case: &Case) -> Option<Claim> {
    let codec =
        case.producers().find_map(|client| setting(client, &["compression.type", "compression.codec"]));
    let share = case.client_profile(&[CpuClass::Compress]);
    let profiled = share.is_some_and(|share| share >= CODEC_MIN);
    let busiest = most(
        case.other_processes().flat_map(|process| process.groups.iter().map(|group| group.busiest_share)),
    );
    let busy = busiest.is_some_and(|busiest| busiest >= BUSY_MIN);
    let costly = codec.is_some_and(|codec| ["gzip", "zstd"].contains(&codec));
    let waits = case.matters(Stage::ClientSend) || case.queue_matters();
    if !(profiled || share.is_none() && costly) || !busy || !waits {
        return None;
    }
    let name = codec.unwrap_or("the codec");
    Some(
        Claim::new(
            profiled,
            case.share(&[Stage::ClientQueue, Stage::ClientSend]),
            format!("The producers' processor time goes into compression ({name})"),
        )
        .seen("share of compression in the client's processor time", share, percent, "below 40 %")
        .seen(
            "processor time of the client's busiest thread",
            busiest,
            percent,
            "below 90 % of one processor",
        )
        .told("codec", name, "")
        .seen(
            "bytes after compression, of those before",
            case.producers_mean(|client| client.compression_ratio),
            percent,
            "",
        ),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.settings.insert("compression.type".into(), "zstd".into());
        client.compression_ratio = Some(0.3);
    });
    client_states(path, ThreadClass::ClientSender, [0.97, 0.02, 0.0, 0.0]);
    client_profile(path, &[(CpuClass::Compress, 0.8)]);
    wait(path, |waits| waits.client_queue = 50.0);
}
