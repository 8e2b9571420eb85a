//! The brokers compress batches anew, because the topic's codec is not the producers'.

use super::super::case::{CPU_BUSY, Case};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::{CpuClass, ThreadClass};

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "broker-recompression",
        summary: "The brokers compress batches anew, because the topic's codec is not the producers'.",
        page: include_str!("../../../../../docs/findings/broker-recompression.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "a profile of the broker shows compression, which a broker otherwise does not do",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "keep the producers' codec in the topic",
            setting: Some(SettingRow { path: "topic.configs.compression.type", value: "producer" }),
            observe: "the brokers' processor time",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["handlers-saturated", "device-saturated", "client-compression-cpu"],
    advice: &["Set compression.type=producer on topic and broker, and choose the codec at the producers."],
    check,
};

/// Share of the broker's work from which compression is a cause (ours: with the producers' codec a broker compresses nothing).
const CODEC_MIN: f64 = 0.1;

fn check(case: &Case) -> Option<Claim> {
    let of_handlers = case.profile(&[CpuClass::Compress], Some(ThreadClass::Handler));
    let share = most([of_handlers, case.profile(&[CpuClass::Compress], None)].into_iter());
    let own = |codec: &&str| !["producer", "uncompressed"].contains(codec);
    let codec = case
        .topic_settings("compression.type")
        .find(own)
        .or_else(|| case.broker_setting("compression.type").filter(own));
    let profiled = share.is_some_and(|share| share >= CODEC_MIN);
    let waits = case.any_matters(&[Stage::Local, Stage::RequestQueue]);
    let busy = case.handlers_busy() || case.cpu_busy().is_some_and(|busy| busy >= CPU_BUSY);
    if !waits || !(profiled || codec.is_some() && share.is_none() && busy) {
        return None;
    }
    let name =
        codec.map_or_else(|| "the topic's codec".to_owned(), |codec| format!("compression.type={codec}"));
    Some(
        Claim::new(
            profiled,
            case.share(&[Stage::Local, Stage::RequestQueue]),
            format!("The brokers compress every batch anew ({name})"),
        )
        .seen("share of compression in the broker's work", share, percent, "below 10 %")
        .told("compression.type of topic or broker", codec.unwrap_or("not read"), "producer")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, "")
        .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    topic_setting(path, "compression.type", "gzip");
    profile(path, &[(CpuClass::Compress, 0.55), (CpuClass::Decompress, 0.1)]);
    idle(path, 0.8, 0.12);
    cpu_busy(path, 0.75);
    states(path, ThreadClass::Handler, [0.85, 0.03, 0.0, 0.1]);
    wait(path, |waits| (waits.local, waits.request_queue) = (25.0, 12.0));
}
