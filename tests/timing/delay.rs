//! A constant delay is measured as what it is, at the place where it is.
//!
//! The sink counts a delay from a record's arrival, so its own work is within the delay and not on top of it. Two delays
//! that are 3 ms apart hide the same work: their medians are 3 ms apart, and what is left over the delay itself is the
//! path's own.

use super::proof::{Verdict, at_most, holds, within};
use crate::drivers::{Driver, on_both_drivers};
use crate::instrument::{Document, Path, TOPIC};
use plumb_lab::sink::{ApiKey, Apis, Delay};
use std::time::Duration;

on_both_drivers!(
    an_answer_3_ms_later_is_3_ms_of_acknowledge_latency_and_nothing_of_end_to_end_latency,
    a_record_visible_3_ms_later_is_3_ms_of_end_to_end_latency_and_nothing_of_acknowledge_latency,
);

const SHORT_MS: u64 = 1;
const LONG_MS: u64 = 4;
const APART_MS: f64 = 3.0;
/// Far enough apart that no message is under way when the next one is due.
const RATE_PER_S: u32 = 100;
const MESSAGES: u32 = 300;
const TOLERANCE_MS: f64 = 0.1;
/// Two runs of the same path may differ so much.
const NOTHING_MS: f64 = 0.1 * APART_MS;
/// Longest time that the path may take by itself.
const REST_MS_MAX: f64 = 0.75;

/// A run with a constant delay, put where `set` puts it.
fn run(driver: Driver, set: impl Fn(&Path, Delay), delay_ms: u64) -> Document {
    let path = Path::new(driver);
    set(&path, Delay::Constant(Duration::from_millis(delay_ms)));
    Document::of(&path.latency(RATE_PER_S, MESSAGES).alone().run())
}

/// The delay is in the median of one latency, and not in that of the other.
fn is_seen(driver: Driver, set: impl Fn(&Path, Delay), latency: &str, other: &str) -> Verdict {
    let (short, long) = (run(driver, &set, SHORT_MS), run(driver, &set, LONG_MS));
    let median = |document: &Document, latency| document.latency_ms(latency, "p50");
    within(latency, median(&long, latency) - median(&short, latency), APART_MS, TOLERANCE_MS)?;
    within(other, median(&long, other) - median(&short, other), 0.0, NOTHING_MS)?;
    for (document, delay_ms) in [(&short, SHORT_MS), (&long, LONG_MS)] {
        let rest_ms = median(document, latency) - delay_ms as f64;
        assert!(rest_ms > 0.0, "{latency}: answered {:.3} ms early", -rest_ms);
        at_most(&format!("{latency} beside the delay"), rest_ms, REST_MS_MAX)?;
        at_most(other, median(document, other), REST_MS_MAX)?;
    }
    Ok(())
}

fn an_answer_3_ms_later_is_3_ms_of_acknowledge_latency_and_nothing_of_end_to_end_latency(driver: Driver) {
    let set = |path: &Path, delay| path.control.delay_answers(Apis::one(ApiKey::Produce), delay);
    holds(|| is_seen(driver, set, "acknowledge", "end_to_end"));
}

fn a_record_visible_3_ms_later_is_3_ms_of_end_to_end_latency_and_nothing_of_acknowledge_latency(
    driver: Driver,
) {
    let set = |path: &Path, delay| path.control.delay_visibility(TOPIC, delay);
    holds(|| is_seen(driver, set, "end_to_end", "acknowledge"));
}
