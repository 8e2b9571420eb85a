//! The part of a latency that is the client's own queue: a sink that answers late leaves an idempotent librdkafka with five messages under
//! way, and the rest waits in it.

use super::{Document, Path, TOPIC};
use crate::drivers::Driver;
use crate::program::Program;
use plumb_lab::sink::{ApiKey, Apis, Delay};
use std::time::Duration;

/// Ten messages become due meanwhile.
const ANSWER: Duration = Duration::from_millis(20);

fn run(driver: Driver, idempotence: &str) -> Document {
    let path = Path::new(driver);
    path.control.delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(ANSWER));
    let program = Program::new(["latency", "--bootstrap", &path.sink.bootstrap(), "--topic", TOPIC])
        .args(["--driver", driver, "--rate", "500", "--count", "1500", "--size", "100B"])
        .args(["--warm-up", "0s", "--blocks", "1", "--output", "json", "--out", "run"])
        .args(["-X", "producer.acks=all", "-X", "producer.linger.ms=0"])
        .args(["-X", &format!("producer.enable.idempotence={idempotence}")]);
    Document::of(&program.run())
}

#[test]
fn an_idempotent_librdkafka_that_polls_in_its_queue_is_told_from_the_path() {
    let polls = run("librdkafka", "true");
    assert!(polls.has_reason("client-queue"), "{:?}", polls.reasons());
    for (driver, idempotence) in [("librdkafka", "false"), ("wire", "true")] {
        let document = run(driver, idempotence);
        assert!(!document.has_reason("client-queue"), "{driver} {idempotence}: {:?}", document.reasons());
    }
}
