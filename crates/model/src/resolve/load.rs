//! The load of a step: what is sent, how fast, for how long, by whom.

use super::length::LENGTH_DEFAULT;
use super::trail::Trail;
use super::{ResolveError, pace, sweep};
use crate::plan::{Keys, Length, LoadPlan, Mode, Payload, Purpose, STAMP_HEADER, Schedule, SizePlan};
use crate::scenario::LoadWords;
use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// The load of a step. `searched`: its rate is what the run looks for.
pub(super) fn load(
    words: &LoadWords,
    searched: bool,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<LoadPlan, ResolveError> {
    let path = |name: &str| format!("{at}.load.{name}");
    let mode = trail.step(path("mode"), "load.mode", variant, words.mode, Mode::default);
    let count = words.count.as_ref().map(|count| count.values()[0]);
    let duration = words.duration.as_ref().map(|duration| duration.values()[0]);
    let (length_source, length) = match (count, duration) {
        (Some(_), Some(_)) => {
            return Err(ResolveError::Conflict {
                place: trail.place(variant, "load.duration"),
                first: "load.count".into(),
                second: "load.duration".into(),
                reason: "each says when the measured part ends",
            });
        }
        (Some(count), None) => ("load.count", Some(Length::Count(count))),
        (None, Some(duration)) => ("load.duration", Some(Length::Duration(duration))),
        (None, None) => ("load.duration", None),
    };
    let length = trail.step(path("length"), length_source, variant, length, || LENGTH_DEFAULT);
    let (rate, schedule) = pace::pace(words, mode, searched, at, trail, variant)?;
    if mode == Mode::Consume && words.until_device == Some(true) {
        return Err(ResolveError::Conflict {
            place: trail.place(variant, "load.until_device"),
            first: "load.until_device".into(),
            second: "load.mode".into(),
            reason: "in mode consume nothing is written in the measured part",
        });
    }
    let in_flight = words.in_flight.as_ref().map(|limit| limit.values()[0]);
    let size = words.size.as_ref().map(|size| size.values()[0].0.clone());
    let producers = words.producers.as_ref().map(|n| n.values()[0]);
    let consumers = words.consumers.as_ref().map(|n| n.values()[0]);
    let workers = words.workers.as_ref().map(|n| n.values()[0]);
    let consuming = mode != Mode::Produce;
    if consumers.is_some_and(|consumers| (consumers > 0) != consuming && mode != Mode::Mixed) {
        return Err(ResolveError::Conflict {
            place: trail.place(variant, "load.consumers"),
            first: "load.consumers".into(),
            second: "load.mode".into(),
            reason: "nobody consumes in mode produce, and somebody must in consume and backlog",
        });
    }
    let purpose = trail.step(path("purpose"), "load.purpose", variant, words.purpose, Purpose::default);
    check_purpose(purpose, mode, &schedule, searched, trail.place(variant, "load.purpose"))?;
    Ok(LoadPlan {
        purpose,
        rate_per_s: rate,
        mode,
        schedule,
        length,
        warm_up: trail.step(path("warm_up"), "load.warm_up", variant, words.warm_up, || Nanos::from_secs(2)),
        drain: trail.step(path("drain"), "load.drain", variant, words.drain, || Nanos::from_secs(10)),
        producers: trail.step(path("producers"), "load.producers", variant, producers, || 1),
        consumers: trail
            .step(path("consumers"), "load.consumers", variant, consumers, || u32::from(consuming)),
        workers: trail.step(path("workers"), "load.workers", variant, workers, || 0),
        size: trail.step(path("size"), "load.size", variant, size, || SizePlan::Fixed(Bytes(1024))),
        keys: trail.step(path("keys"), "load.keys", variant, words.keys, || Keys::None),
        headers: headers(words, at, trail, variant)?,
        payload: trail
            .step(path("payload"), "load.payload", variant, words.payload.clone(), || Payload::Entropy(1.0)),
        in_flight: trail.step(path("in_flight"), "load.in_flight", variant, in_flight.map(Some), || None),
        until_device: trail.step(
            path("until_device"),
            "load.until_device",
            variant,
            words.until_device,
            || false,
        ),
    })
}

/// A queue is what is due and not acknowledged: there has to be a rate, held, and somebody who sends.
fn check_purpose(
    purpose: Purpose,
    mode: Mode,
    schedule: &Schedule,
    searched: bool,
    place: String,
) -> Result<(), ResolveError> {
    if purpose == Purpose::Path {
        return Ok(());
    }
    let (second, reason) = match (searched, mode, schedule) {
        (true, ..) => ("goal", "a goal is a latency, and a queue that grows has none"),
        (_, Mode::Consume | Mode::Backlog(_), _) => ("load.mode", "the queue is that of producers at a rate"),
        (_, _, Schedule::Constant) => return Ok(()),
        (_, _, Schedule::Saturating) => {
            ("load.rate", "as fast as possible nothing is due, so nothing can be late")
        }
        _ => ("load.schedule", "the queue is held against a constant schedule, second by second"),
    };
    Err(ResolveError::Conflict { place, first: "load.purpose".into(), second: second.into(), reason })
}

/// Most headers beside the one that may carry the stamp of each record.
const HEADERS_MAX: usize = 10;

fn headers(
    words: &LoadWords,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<BTreeMap<String, String>, ResolveError> {
    let path = format!("{at}.load.headers");
    let headers = trail.step(path, "load.headers", variant, words.headers.clone(), BTreeMap::new);
    let place = trail.place(variant, "load.headers");
    if headers.contains_key(STAMP_HEADER) {
        let reason = "that header carries Plumb's own stamp";
        return Err(ResolveError::Reserved { place, path: format!("load.headers.{STAMP_HEADER}"), reason });
    }
    if headers.len() > HEADERS_MAX {
        return Err(ResolveError::OutOfBounds {
            place,
            path: "load.headers".into(),
            got: format!("{} headers", headers.len()),
            expected: format!("at most {HEADERS_MAX}"),
            reason: "each message is handed over with room for so many",
        });
    }
    Ok(headers)
}
