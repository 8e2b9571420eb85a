//! The clocks of producer and consumer disagree.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, known, most, ratio, share};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::facts::ClockSync;
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::prose::quoted;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "clock-offset",
        summary: "The clocks of producer and consumer disagree.",
        page: include_str!("../../../../../docs/findings/clock-offset.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "messages were received before they were sent",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "run producer and consumer on one host",
            setting: None,
            observe: "times below zero",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["fetch-wait"],
    advice: &[
        "Synchronise the clocks (chrony, PTP), and look at the offset that it tells.",
        "Until then only the acknowledgement can be trusted: it is measured by one clock.",
    ],
    check,
};

/// Messages received before they were sent, of all, from which clocks disagree (ours).
const SHARE_MIN: f64 = 0.01;

/// A newest record that lies this far in the future proves that clocks disagree (ours: its time is in whole milliseconds, and told after it was
/// written).
const AHEAD_NS_MIN: f64 = 50e6;
/// Beyond this it is rather a time that the application gave than a clock (ours).
const AHEAD_NS_MAX: f64 = 600e9;

fn check(case: &Case) -> Option<Claim> {
    from_the_future(case).or_else(|| by_latencies(case))
}

/// Records whose time, as a producer gave it, has not come yet on this host.
fn from_the_future(case: &Case) -> Option<Claim> {
    let topics = case.path.settings.topics.iter();
    let ahead = topics.filter_map(|(name, topic)| Some((name, topic.newest_record_ahead_ns? as f64)));
    let (name, ahead_ns) =
        ahead.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ahead_ns)| *ahead_ns >= AHEAD_NS_MIN)?;
    let claim = format!(
        "The newest record of topic {} carries a time that is {} ahead of this host's clock: clocks disagree, unless the application gives its records times of its own",
        quoted(name),
        time(ahead_ns)
    );
    let sync = case.path.host.as_ref().and_then(|host| host.clock_sync.value());
    Some(
        Claim::new(ahead_ns <= AHEAD_NS_MAX, None, claim)
            .seen(
                "time of the newest record, ahead of this host's clock",
                Some(ahead_ns),
                time,
                "below 50 ms",
            )
            .told("this host's clock is synchronised", synchronised(sync), "yes"),
    )
}

fn synchronised(sync: Option<&ClockSync>) -> &'static str {
    match sync {
        None => "not told",
        Some(sync) if sync.synchronised => "yes",
        Some(_) => "no",
    }
}

/// Messages that came before they were sent, and a clock that is not synchronised.
fn by_latencies(case: &Case) -> Option<Claim> {
    let messages =
        |client: &ClientWindow| Some(known(client.messages_per_s)? * client.window_ns as f64 / 1e9);
    let share = share(most(
        case.path.clients.iter().map(|client| ratio(count(client.negative_latencies), messages(client))),
    ));
    let sync = case.path.host.as_ref().and_then(|host| host.clock_sync.value());
    let unsynchronised = sync.is_some_and(|sync| !sync.synchronised);
    let offset_ns = sync.and_then(|sync| count(sync.offset_ns));
    // An offset of a tenth of the time that it is part of (ours).
    let fetch_ns = case.stages.mean_ns(Stage::Fetch);
    let large = ratio(offset_ns, fetch_ns).is_some_and(|part| part >= 0.1);
    let negative = share.is_some_and(|share| share >= SHARE_MIN);
    if !negative && !((unsynchronised || large) && case.matters(Stage::Fetch)) {
        return None;
    }
    Some(
        Claim::new(negative, None, "The clocks of producer and consumer disagree: times from send to reception are wrong by their offset")
            .seen("messages received before they were sent", share, percent, "0 %")
            .seen("offset of this host's clock", offset_ns, time, "")
            .told("this host's clock is synchronised", synchronised(sync), "yes")
            .seen("time from acknowledgement to consumer", fetch_ns, time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| client.negative_latencies = Some(700_000));
}
