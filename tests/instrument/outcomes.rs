//! A message whose fate nobody knows is unknown, one that was refused is failed, and the broker's offsets have the word.

use super::{Document, Path};
use crate::drivers::{Driver, on_both_drivers};
use plumb_lab::sink::{ApiKey, Effect, Refusal, ResponseError};

on_both_drivers!(
    a_connection_closed_after_the_effect_leaves_messages_unknown_that_the_log_has,
    requests_that_are_never_answered_leave_their_messages_unknown,
    messages_refused_for_good_are_failed_exactly,
    repeats_after_cut_connections_are_counted_exactly,
    an_idempotent_producer_repeats_nothing_when_connections_are_cut,
);

const MESSAGES: u64 = 200;
/// The first produce request is the probe's.
const BEFORE: u64 = 1 + 50;
const NO_RETRY: [&str; 2] = ["-X", "producer.retries=0"];

/// Every message is accounted for: by the client's own count and by the log's growth.
fn assert_accounted(path: &Path, document: &Document) {
    let [sent, acked, failed, unknown] =
        ["sent", "acked", "failed", "unknown"].map(|name| document.count(name));
    assert_eq!(sent, MESSAGES);
    assert_eq!(sent, acked + failed + unknown);
    let stored = path.stored();
    assert_eq!(document.at("/steps/0/accounting/offset_delta"), stored);
    assert_eq!(document.at("/steps/0/accounting/acked"), 1 + acked, "with the probe");
    assert_eq!(document.at("/steps/0/accounting/unknown"), unknown);
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    assert_eq!(document.count("lost"), 0);
}

fn a_connection_closed_after_the_effect_leaves_messages_unknown_that_the_log_has(driver: Driver) {
    let path = Path::new(driver);
    path.refuse(ApiKey::Produce, BEFORE, 1, Refusal::Close(Effect::Applied));
    let ended = path.latency(200, 200).args(NO_RETRY).run();
    let document = Document::of(&ended);
    assert_accounted(&path, &document);
    assert!(document.count("unknown") >= 1);
    assert_eq!(document.count("failed"), 0);
    // The consumer shows that it was stored all the same.
    assert!(document.count("received") > document.count("acked"));
    assert!(document.has_reason("messages-failed"), "{:?}", document.reasons());
    assert!(document.has_reason("reconnect-in-window"), "{:?}", document.reasons());
}

fn requests_that_are_never_answered_leave_their_messages_unknown(driver: Driver) {
    let path = Path::new(driver);
    path.refuse(ApiKey::Produce, BEFORE, 3, Refusal::Silence(Effect::Skipped));
    let timeouts = ["-X", "message.timeout.ms=1500", "-X", "request.timeout.ms=1000"];
    let ended = path.latency(200, 200).args(NO_RETRY).args(timeouts).run();
    let document = Document::of(&ended);
    assert_accounted(&path, &document);
    let (unknown, stored) = (document.count("unknown"), document.count("received") - document.count("acked"));
    // No broker's answers overtake each other: the wire driver closes a connection on which they do, and what was sent
    // behind the silent requests is unknown too, though it was stored.
    let stored_most = if driver == "wire" { unknown - 3 } else { 0 };
    assert!(unknown >= 3 && stored <= stored_most, "{unknown} unknown, {stored} of them stored");
    assert_eq!((document.verdict(), ended.code()), ("invalid", Some(1)));
}

fn messages_refused_for_good_are_failed_exactly(driver: Driver) {
    let path = Path::new(driver);
    let refusal = Refusal::Error(ResponseError::PolicyViolation, Effect::Skipped);
    path.refuse(ApiKey::Produce, BEFORE, 7, refusal);
    // One message a request: the next leaves when the last is answered.
    let ended = path.latency(200, 200).args(["--in-flight", "1"]).run();
    let document = Document::of(&ended);
    assert_accounted(&path, &document);
    assert_eq!((document.count("failed"), document.count("unknown")), (7, 0));
    assert_eq!(document.at("/steps/0/errors/0/code"), "POLICY_VIOLATION");
    assert_eq!(document.at("/steps/0/errors/0/count"), 7);
    // 7 of 200 are more than the 1 % that a p99 can bear.
    assert_eq!((document.verdict(), ended.code()), ("invalid", Some(1)));
    assert!(document.has_reason("messages-failed"), "{:?}", document.reasons());
}

/// A run whose connections are cut again and again, after the broker has stored what it was sent. How often that was.
fn through_cuts(path: &Path, idempotent: bool) -> (Document, u64) {
    const MESSAGES: u64 = 600;
    for cut in 0..5 {
        path.refuse(ApiKey::Produce, BEFORE + 20 * cut, 1, Refusal::Close(Effect::Applied));
    }
    let properties = format!("producer.enable.idempotence={idempotent}");
    let arguments = ["-X", &properties, "-X", "producer.retry.backoff.ms=10"];
    let ended = path.latency_with(200, 600, "all").args(arguments).run();
    let document = Document::of(&ended);
    for name in ["intended", "sent", "acked", "received"] {
        assert_eq!(document.count(name), MESSAGES, "{name}");
    }
    assert_eq!((document.count("failed"), document.count("unknown"), document.count("lost")), (0, 0, 0));
    assert_eq!(document.at("/steps/0/accounting/offset_delta"), path.stored());
    assert_eq!(path.stored(), 1 + MESSAGES + document.count("duplicated"), "each repeat is counted");
    assert!(document.has_reason("reconnect-in-window"), "{:?}", document.reasons());
    (document, path.control.stats().refusals.closes)
}

fn repeats_after_cut_connections_are_counted_exactly(driver: Driver) {
    let (document, cuts) = through_cuts(&Path::new(driver), false);
    assert!(cuts >= 1 && document.count("duplicated") >= cuts, "{cuts} cuts");
    assert!(document.has_reason("duplicates-or-reorder"), "{:?}", document.reasons());
}

fn an_idempotent_producer_repeats_nothing_when_connections_are_cut(driver: Driver) {
    let (document, cuts) = through_cuts(&Path::new(driver), true);
    assert!(cuts >= 1);
    assert_eq!((document.count("duplicated"), document.count("reordered")), (0, 0));
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
}
