//! Requests carry almost nothing: batches are too small, and the brokers' threads work for requests instead of bytes.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{per_s, percent, short, significant};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "batches-too-small",
        summary: "Requests carry almost nothing: batches are too small, and the brokers' threads work for requests instead of bytes.",
        page: include_str!("../../../../../docs/findings/batches-too-small.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the producers' batches and the brokers' idle time were both measured; it is suspected where the producers tell nothing",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "let batches fill for 25 ms",
            setting: Some(SettingRow { path: "producer.linger.ms", value: "25" }),
            observe: "requests a second of the brokers",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["handlers-saturated", "large-messages", "linger-too-long"],
    advice: &[
        "Set linger.ms to 5 to 25 ms and batch.size to 64 KiB or more, and compress with lz4 or zstd; do that before adding brokers or threads.",
        "Send messages of one topic through few producers, so that they share batches; a key for each message spreads them over all partitions.",
        "Look at the latency as well: with fewer requests its tail often falls although each message waits a little.",
    ],
    check,
};

/// Batches of this many messages or fewer hardly share a request (ours).
const MESSAGES_MAX: f64 = 2.0;
/// Requests below this many bytes are small: messages of less than 1 KB at a high per_s, with idle below 30 %, are what Amazon MSK's
/// guide calls small batches.
const BYTES_SMALL: f64 = 1024.0;
/// Requests a second from which they are the work, and not what they carry (ours).
const REQUESTS_MANY: f64 = 1_000.0;
/// Share of all requests from which they are the work (ours).
const WORK_MIN: f64 = 0.3;
/// A batch from here up is not small however few its messages (ours).
const BYTES_LARGE: f64 = 16_384.0;

fn check(case: &Case) -> Option<Claim> {
    let messages = case.producers_mean(|client| client.batch_messages_mean);
    let bytes = case.producers_mean(|client| client.batch_bytes_mean).or_else(|| case.produce_bytes());
    let few_messages = messages.is_some_and(|messages| messages <= MESSAGES_MAX);
    let small =
        bytes.is_some_and(|bytes| bytes < BYTES_SMALL) && messages.is_none_or(|messages| messages <= 4.0);
    if !(few_messages || small) || bytes.is_some_and(|bytes| bytes >= BYTES_LARGE) {
        return None;
    }
    // A batch of one is no harm in itself: somebody must wait for the requests.
    let waits = case.matters(Stage::RequestQueue) || case.matters(Stage::ResponseQueue);
    // As many requests as that are work for a client, too: it may be bound by them before the brokers are.
    let per_second = case.requests_per_s("Produce");
    let many = per_second.is_some_and(|requests| requests >= REQUESTS_MANY);
    let overrun = case.slow() && case.queue_matters() && many;
    // A few requests beside many of other kinds are not what the threads are busy with.
    if per_second.is_some()
        && !(many && case.share_of_requests("Produce").is_none_or(|share| share >= WORK_MIN))
    {
        return None;
    }
    if !case.threads_busy() && !overrun {
        return None;
    }
    let supported = messages.is_some()
        && (overrun || case.threads_busy())
        && (waits || case.matters(Stage::ClientQueue) || case.matters(Stage::Unexplained));
    let stages = [Stage::ClientQueue, Stage::Unexplained, Stage::RequestQueue, Stage::ResponseQueue];
    let who = if case.threads_busy() { "the brokers' threads are" } else { "clients and connections are" };
    let each =
        bytes.map_or_else(String::new, |bytes| format!(" of {} bytes", plumb_model::figure::whole(bytes)));
    Some(
        Claim::new(
            supported,
            case.share(&stages),
            format!(
                "The producers send {} batches{each}: {who} busy with requests, not with bytes",
                messages.map_or_else(
                    || "small".to_owned(),
                    |messages| format!("{}-message", significant(messages, 3))
                )
            ),
        )
        .seen("messages of a batch", messages, short, "more than 2")
        .seen("bytes of a batch", bytes, short, "16 KiB and more")
        .seen("Produce requests", case.requests_per_s("Produce"), per_s, "")
        .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %")
        .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.messages_per_s = Some(20_000.0);
        client.bytes_per_s = Some(4e6);
        client.batch_messages_mean = Some(1.1);
        client.batch_bytes_mean = Some(220.0);
        client.record_bytes_mean = Some(200.0);
        client.settings.insert("linger.ms".into(), "0".into());
    });
    brokers(path, |broker| broker.requests.get_mut("Produce").unwrap().per_s = Some(24_000.0));
    idle(path, 0.4, 0.08);
    cpu_busy(path, 0.85);
    states(path, ThreadClass::Handler, [0.85, 0.05, 0.0, 0.1]);
    wait(path, |waits| (waits.client_queue, waits.request_queue) = (1.0, 14.0));
}
