//! A step that is to show whether the producers' queue grows is valid when it does, and tells by how much.

use super::{Document, Path, TOPIC};
use crate::program::Program;
use plumb_lab::sink::{ApiKey, Apis, Delay};
use std::time::Duration;

/// One request of so many messages in every tenth of a second: no more than 180 messages a second are served.
const BATCH: u32 = 18;
const ANSWERED_AFTER: Duration = Duration::from_millis(100);
const RATE_PER_S: f64 = 200.0;
const SERVED_PER_S_MAX: f64 = 180.0;

#[test]
fn a_queue_that_grows_is_valid_as_that_and_is_told_beside_one_that_does_not_grow() {
    let path = Path::new("librdkafka");
    path.control.delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(ANSWERED_AFTER));
    let program = Program::new(["run", "s.yaml", "--bootstrap", &path.sink.bootstrap()]);
    let scenario = format!(
        "blocks: 1\ntopic: {{name: {TOPIC}}}\n\
         load: {{purpose: queue, rate: {RATE_PER_S}, duration: 8s, warm_up: 1s, drain: 30s, size: 100B}}\n\
         setups:\n\
         - {{name: one request, producer: {{acks: all, max.in.flight: 1, batch.num.messages: {BATCH}}}}}\n\
         - {{name: many requests, producer: {{acks: all}}}}\n"
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let ended = program.args(["--output", "json", "--out", "run"]).run();
    let document = Document::of(&ended);
    for reason in document.reasons() {
        assert!(
            !["saturated", "not-steady", "queue-unclear", "messages-failed"].contains(&reason),
            "{reason}"
        );
    }
    assert_eq!(
        (document.at("/queues/0/course"), document.at("/queues/1/course")),
        (&"grows".into(), &"keeps_up".into())
    );
    // A machine that is slow may serve less than the sink allows, and never more. A second's end may cut one batch off.
    let growth = document.at("/queues/0/growth_per_s").as_f64().unwrap();
    let end = f64::from(BATCH) / 7.0;
    assert!(growth >= RATE_PER_S - SERVED_PER_S_MAX - end && growth < RATE_PER_S, "{growth}");
    assert_eq!(document.count("lost"), 0);
    let sentence = document.at("/summary").to_string();
    assert!(sentence.contains("it does not grow"), "{sentence}");
}
