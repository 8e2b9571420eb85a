//! A stall of known length has a known effect on mean and quantiles, if latency counts from the intended time.
//!
//! Message 0 is under way when the stall begins and is answered `stall` later than it would have been. Message i is due
//! `i gap` after it. The client has one request under way at a time, so all messages that became due meanwhile wait in
//! its queue and leave together, in one request, when the stall is over: message i waits `stall - i gap`, and the one
//! more request, which takes a base latency. Where the sender itself keeps to one message in flight, message i leaves
//! after i cycles of send and answer, so it waits `stall - i (gap - cycle)`. The waits come on top of the base latency:
//!
//!     mean     = base mean + sum of the waits / messages
//!     quantile = base + the wait of the message that has (1 - q) messages above it
//!
//! The base latency is the same run's own, by its seconds: what else went on in the other seconds is in the expected mean
//! as it was, and the stalled second is taken for a typical one. A generator that counts from the actual send, or skips
//! what it could not send in time, misses the waits.

use super::proof::{Verdict, at_most, holds, within};
use crate::drivers::{Driver, on_both_drivers};
use crate::instrument::{Document, Path, TOPIC, record};
use plumb_lab::sink::Apis;
use serde_json::Value;
use std::time::Duration;

on_both_drivers!(
    a_stall_of_half_a_second_gives_the_analytic_mean_p99_and_maximum,
    with_one_message_in_flight_the_service_time_hides_the_stall_and_the_response_time_does_not,
);

const STALL_MS: f64 = 500.0;
/// The begin of the stall. All answers that it delays come in the same second.
const STALL_AT_S: u32 = 5;
const STALL_AT_MS: u32 = 5_200;
const ONE_PERCENT: f64 = 0.01;
const ONE_REQUEST: [&str; 2] = ["-X", "max.in.flight.requests.per.connection=1"];
const ONE_MESSAGE: [&str; 2] = ["--in-flight", "1"];

/// The load: the longer the gaps, the less the exact length of a cycle matters.
#[derive(Debug, Clone, Copy)]
struct Load {
    rate_per_s: u32,
    messages: u32,
}

const FAST: Load = Load { rate_per_s: 1_000, messages: 10_000 };
const SLOW: Load = Load { rate_per_s: 50, messages: 1_000 };

/// The way in which the messages that the stall delays leave after it.
#[derive(Debug, Clone, Copy)]
enum Leave {
    /// In one request.
    Together,
    /// Each so many milliseconds after the one before it.
    OneByOne(f64),
}

/// Messages of a run, and the waits of those that the stall delays, longest first.
struct Analytic {
    messages: u32,
    waits_ms: Vec<f64>,
}

impl Analytic {
    fn new(load: Load, leave: Leave, base_ms: f64) -> Self {
        let gap_ms = 1e3 / f64::from(load.rate_per_s);
        let late_ms = |i: u32| match leave {
            Leave::Together => base_ms * f64::from(i.min(1)),
            Leave::OneByOne(cycle_ms) => f64::from(i) * cycle_ms,
        };
        let waits = (0..).map(|i| STALL_MS - f64::from(i) * gap_ms + late_ms(i));
        Analytic { messages: load.messages, waits_ms: waits.take_while(|wait| *wait > 0.0).collect() }
    }

    fn mean_ms(&self) -> f64 {
        self.waits_ms.iter().sum::<f64>() / f64::from(self.messages)
    }

    /// The wait with as many messages above it as a 99th percentile has.
    fn p99_ms(&self) -> f64 {
        self.waits_ms[self.messages as usize / 100]
    }

    /// The same of the slip, with one message in flight: message i + 1 leaves when message i is answered, and message 0
    /// leaves in time.
    fn slip_p99_ms(&self) -> f64 {
        self.waits_ms[self.messages as usize / 100 + 1]
    }
}

/// The latency without the stall, from the seconds of a run in which no answer was late.
struct Base {
    /// Mean of a typical second.
    typical_ms: f64,
    /// Mean of the whole run, the stalled second taken for a typical one.
    mean_ms: f64,
}

impl Base {
    fn of(stalled: &Document, latency: &str) -> Self {
        let rows = stalled.at("/steps/0/series").as_array().unwrap().iter();
        let second =
            |row: &Value| Some((row[latency]["mean_ns"].as_f64()? / 1e6, row[latency]["samples"].as_f64()?));
        let (delayed, others): (Vec<&Value>, Vec<&Value>) = rows.partition(|row| row["second"] == STALL_AT_S);
        let mut others: Vec<(f64, f64)> = others.into_iter().filter_map(second).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let typical_ms = others[others.len() / 2].0;
        let delayed: f64 = delayed.into_iter().filter_map(second).map(|(_, samples)| samples).sum();
        let samples: f64 = others.iter().map(|(_, samples)| samples).sum();
        let sum_ms: f64 = others.iter().map(|(mean_ms, samples)| mean_ms * samples).sum();
        Base { typical_ms, mean_ms: (sum_ms + typical_ms * delayed) / (samples + delayed) }
    }
}

/// Mean, 99th percentile and maximum of a latency are the analytic ones within 1 %.
fn is_analytic(stalled: &Document, latency: &str, load: Load, leave: Leave) -> Verdict {
    let Base { typical_ms, mean_ms } = Base::of(stalled, latency);
    let analytic = Analytic::new(load, leave, typical_ms);
    let expected = [
        ("mean", mean_ms + analytic.mean_ms()),
        ("p99", typical_ms + analytic.p99_ms()),
        ("max", typical_ms + STALL_MS),
    ];
    expected.into_iter().try_for_each(|(figure, expected)| {
        let what = format!("{latency} {figure} (typical {typical_ms:.3} ms, {leave:?})");
        within(&what, stalled.latency_ms(latency, figure), expected, ONE_PERCENT * expected)
    })
}

/// The stall is told, with its length and what rests on it, and not only in the figures.
fn is_told(stalled: &Document) -> Verdict {
    let reasons = stalled.at("/validity/reasons").as_array().unwrap();
    let claims = reasons.iter().filter(|reason| reason["id"] == "not-steady");
    let mut claims = claims.filter_map(|reason| reason["claim"].as_str());
    match claims.any(|claim| claim.starts_with("Messages stood still for 50") && claim.contains("p99")) {
        true => Ok(()),
        false => Err(format!("not told: {reasons:#?}")),
    }
}

/// A run with a stall of produce and fetch answers.
fn stalled(driver: Driver, load: Load, arguments: &[&str]) -> Document {
    let path = Path::new(driver);
    let Load { rate_per_s, messages } = load;
    let first = u64::from(STALL_AT_MS * rate_per_s / 1_000);
    let length = Duration::from_millis(STALL_MS as u64);
    path.control.stall_at_record(TOPIC, record(first), Apis::data(), length);
    let document = Document::of(&path.latency(rate_per_s, messages).args(arguments).alone().run());
    assert_eq!(document.count("acked"), u64::from(messages));
    assert_eq!(document.count("received"), u64::from(messages));
    document
}

/// Time from send to send of a sender that is always late, as it is after a stall: asked for far more than one message in
/// flight can carry. The middle one of three runs.
fn cycle_ms(driver: Driver) -> f64 {
    let mut cycles_ms = [(); 3].map(|()| {
        let path = Path::new(driver);
        let late = Document::of(&path.latency(100_000, 2_000).args(ONE_MESSAGE).alone().run());
        1e3 / late.at("/steps/0/achieved_per_s").as_f64().unwrap()
    });
    cycles_ms.sort_by(f64::total_cmp);
    cycles_ms[1]
}

fn a_stall_of_half_a_second_gives_the_analytic_mean_p99_and_maximum(driver: Driver) {
    holds(|| {
        let stalled = stalled(driver, FAST, &ONE_REQUEST);
        is_told(&stalled)?;
        is_analytic(&stalled, "acknowledge", FAST, Leave::Together)?;
        is_analytic(&stalled, "end_to_end", FAST, Leave::Together)?;
        // The sender did not wait: counted from the actual send, the stall is the same.
        let p99_ms = |latency| stalled.latency_ms(latency, "p99");
        let (response_ms, service_ms) = (p99_ms("acknowledge"), p99_ms("acknowledge_service"));
        within("acknowledge_service p99", service_ms, response_ms, ONE_PERCENT * STALL_MS)?;
        at_most("slip p99", stalled.slip_ms("p99"), ONE_PERCENT * STALL_MS)
    });
}

fn with_one_message_in_flight_the_service_time_hides_the_stall_and_the_response_time_does_not(
    driver: Driver,
) {
    holds(|| {
        let leave = Leave::OneByOne(cycle_ms(driver));
        let stalled = stalled(driver, SLOW, &ONE_MESSAGE);
        let analytic = Analytic::new(SLOW, leave, 0.0);
        for (response, service) in
            [("acknowledge", "acknowledge_service"), ("end_to_end", "end_to_end_service")]
        {
            is_analytic(&stalled, response, SLOW, leave)?;
            // One message of a thousand met the stall; the response time knows all that waited behind it.
            let of_one_ms = STALL_MS / f64::from(analytic.messages);
            let mean_ms = Base::of(&stalled, response).mean_ms + of_one_ms;
            at_most(service, stalled.latency_ms(service, "mean"), mean_ms + of_one_ms)?;
            at_most(service, stalled.latency_ms(service, "p99"), 0.1 * analytic.p99_ms())?;
            // What the service time hides is the slip, message by message.
            let hidden_ms = stalled.latency_ms(response, "mean") - stalled.latency_ms(service, "mean");
            within("mean slip", stalled.slip_ms("mean"), hidden_ms, 1e-3)?;
        }
        let slip_ms = stalled.slip_ms("p99");
        within("slip p99", slip_ms, analytic.slip_p99_ms(), ONE_PERCENT * STALL_MS)
    });
}
