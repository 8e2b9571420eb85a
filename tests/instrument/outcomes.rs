//! A message whose fate nobody knows is unknown, one that was refused is failed, and the broker's offsets have the word.

use super::{Document, Path, TOPIC};
use plumb_lab::sink::{ApiKey, Effect, Refusal, ResponseError};

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
    let stored = path.control.stats().topic(TOPIC).log_end;
    assert_eq!(document.at("/steps/0/accounting/offset_delta"), stored);
    assert_eq!(document.at("/steps/0/accounting/acked"), 1 + acked, "with the probe");
    assert_eq!(document.at("/steps/0/accounting/unknown"), unknown);
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    assert_eq!(document.count("lost"), 0);
}

#[test]
fn a_connection_closed_after_the_effect_leaves_messages_unknown_that_the_log_has() {
    let path = Path::new();
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

#[test]
fn requests_that_are_never_answered_leave_their_messages_unknown() {
    let path = Path::new();
    path.refuse(ApiKey::Produce, BEFORE, 3, Refusal::Silence(Effect::Skipped));
    let timeouts = ["-X", "message.timeout.ms=1500", "-X", "request.timeout.ms=1000"];
    let ended = path.latency(200, 200).args(NO_RETRY).args(timeouts).run();
    let document = Document::of(&ended);
    assert_accounted(&path, &document);
    assert!(document.count("unknown") >= 3);
    assert_eq!(document.count("received"), document.count("acked"));
    assert_eq!((document.verdict(), ended.code()), ("invalid", Some(1)));
}

#[test]
fn messages_refused_for_good_are_failed_exactly() {
    let path = Path::new();
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
