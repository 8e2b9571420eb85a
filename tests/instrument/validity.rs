//! Conditions that make figures mislead are named.

use super::{Document, Path, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use plumb_lab::sink::{ApiKey, Apis, Delay, Effect, Refusal};
use rustix::process::Signal;
use std::time::Duration;

on_both_drivers!(
    answers_that_speak_of_a_quota_make_a_run_throttled,
    a_connection_closed_among_the_measured_messages_is_a_reconnect_in_the_window_and_nothing_is_lost,
    a_broker_slower_than_the_schedule_makes_a_run_saturated_and_invalid,
    five_hundred_messages_have_no_p99_and_the_run_says_why,
    a_program_that_was_stopped_for_a_moment_says_that_the_maximum_is_its_own,
    an_undisturbed_run_gives_none_of_these_reasons,
);

fn answers_that_speak_of_a_quota_make_a_run_throttled(driver: Driver) {
    let path = Path::new(driver);
    path.control.throttle(Apis::one(ApiKey::Produce), Duration::from_millis(40));
    let ended = path.latency(200, 500).run();
    let document = Document::of(&ended);
    assert!(document.has_reason("throttled"), "{:?}", document.reasons());
    assert_ne!(document.verdict(), "valid");
    assert_eq!(document.at("/steps/0/producer_statistics/throttle_max_ns"), 40_000_000);
    assert_eq!(document.at("/steps/0/consumer_statistics/throttled_responses"), 0);
}

fn a_connection_closed_among_the_measured_messages_is_a_reconnect_in_the_window_and_nothing_is_lost(
    driver: Driver,
) {
    let path = Path::new(driver);
    path.refuse(ApiKey::Produce, 1 + 150, 1, Refusal::Close(Effect::Skipped));
    let ended = path.latency(200, 500).run();
    let document = Document::of(&ended);
    assert!(document.has_reason("reconnect-in-window"), "{:?}", document.reasons());
    assert_ne!(document.verdict(), "valid");
    assert_eq!((document.count("acked"), document.count("received")), (500, 500));
    assert_eq!((document.count("lost"), document.count("duplicated")), (0, 0));
}

fn a_broker_slower_than_the_schedule_makes_a_run_saturated_and_invalid(driver: Driver) {
    let path = Path::new(driver);
    let slow = Delay::Constant(Duration::from_millis(10));
    path.control.delay_answers(Apis::one(ApiKey::Produce), slow);
    let ended = path.latency(200, 300).args(["--in-flight", "1"]).run();
    let document = Document::of(&ended);
    assert!(document.has_reason("saturated"), "{:?}", document.reasons());
    assert_eq!((document.verdict(), ended.code()), ("invalid", Some(1)));
    // 10 ms a message allow 100 a second at the most.
    assert!(document.at("/steps/0/achieved_per_s").as_f64().unwrap() <= 100.0);
    assert_eq!(document.count("acked"), 300);
}

fn five_hundred_messages_have_no_p99_and_the_run_says_why(driver: Driver) {
    let path = Path::new(driver);
    let ended = path.latency(500, 500).run();
    let document = Document::of(&ended);
    let latency = document.at("/steps/0/latency/end_to_end");
    assert_eq!(latency["samples"], 500);
    assert!(latency["p95_ns"].is_u64());
    assert!(latency["p99_ns"].is_null() && latency["p999_ns"].is_null(), "{latency:#}");
    assert!(document.has_reason("too-few-samples"), "{:?}", document.reasons());
    assert_ne!(document.verdict(), "valid");
}

fn a_program_that_was_stopped_for_a_moment_says_that_the_maximum_is_its_own(driver: Driver) {
    /// The time for which it is stopped: the fault, and not a wait for something.
    const STOPPED: Duration = Duration::from_millis(150);
    let path = Path::new(driver);
    let mut running = path.latency(300, 1_200).start();
    running
        .wait_for("the first messages", |_| (path.control.stats().topic(TOPIC).arrived > 300).then_some(()));
    running.signal(Signal::STOP);
    std::thread::sleep(STOPPED);
    running.signal(Signal::CONT);
    let document = Document::of(&running.wait());
    assert!(document.slip_ms("max") >= 140.0, "{:#}", document.at("/steps/0/slip"));
    assert!(document.has_reason("client-bound"), "{:?}", document.reasons());
    let reasons = document.at("/validity/reasons").to_string();
    assert!(reasons.contains("maximum of the slip"), "{reasons}");
    assert_ne!(document.verdict(), "valid");
}

fn an_undisturbed_run_gives_none_of_these_reasons(driver: Driver) {
    let path = Path::new(driver);
    let ended = path.latency(500, 1_000).run();
    let document = Document::of(&ended);
    for id in ["throttled", "reconnect-in-window", "rebalance-in-window", "saturated", "too-few-samples"] {
        assert!(!document.has_reason(id), "{id}");
    }
    assert!(document.at("/steps/0/latency/end_to_end/p99_ns").is_u64());
}
