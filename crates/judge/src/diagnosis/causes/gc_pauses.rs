//! Collections of garbage stop the broker.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, most, ratio, share};
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "gc-pauses",
        summary: "Collections of garbage stop the broker.",
        page: include_str!("../../../../../docs/findings/gc-pauses.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the JVM counted the time of its collections, and the mean wait that follows from them is a good part of all",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "double the broker's heap",
            setting: Some(SettingRow { path: "cluster.heap", value: "1g" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["noisy-neighbour", "cpu-quota", "cpu-stolen"],
    rivals: &["handlers-saturated", "noisy-neighbour"],
    advice: &[
        "Look at the heap after a collection: above 60 % it is too small, or something is kept.",
        "Use G1 or ZGC, and about 6 GiB of heap; the rest of the memory is the page cache's.",
        "Larger batches, fewer partitions and fewer idle transactional ids leave less garbage.",
    ],
    check,
};

/// Share of the window in collections from which they are worth a look (ours; 1 % is the customary alarm).
const SHARE_SEEN: f64 = 0.02;
/// Share of the mean wait that they make from which they are a cause (ours).
const WAIT_MIN: f64 = 0.1;

fn check(case: &Case) -> Option<Claim> {
    let jvms = || case.broker_processes().filter_map(|process| process.jvm.as_ref());
    let by_jvm = most(jvms().map(|jvm| ratio(count(jvm.collection_ns), case.seconds().map(|s| s * 1e9))));
    let stopped = share(most([by_jvm, case.broker_most(|broker| broker.gc_time_share)].into_iter()))?;
    if stopped < SHARE_SEEN {
        return None;
    }
    let pause_ns = most(jvms().map(|jvm| ratio(count(jvm.collection_ns), count(jvm.collections))));
    // A request that comes within a pause waits for half of it on average (renewal theory, pauses of equal length).
    let wait_ns = pause_ns.map(|pause_ns| stopped * pause_ns / 2.0);
    let explained = ratio(wait_ns, case.stages.sum_ns());
    let supported = explained.is_some_and(|explained| explained >= WAIT_MIN) || stopped >= 0.2;
    let heap = share(most(jvms().map(|jvm| jvm.heap_used_share)));
    let longest = most(jvms().map(|jvm| count(jvm.longest_pause_ns)));
    if !supported && !case.slow() {
        return None;
    }
    Some(
        Claim::new(
            supported,
            explained,
            format!("Collections stop the broker for {} of the time", percent(stopped)),
        )
        .seen("time in collections", Some(stopped), percent, "below 2 %")
        .seen("mean pause", pause_ns, time, "")
        .seen("longest pause", longest, time, "below 100 ms")
        .seen("heap in use after a collection", heap, percent, "below 60 %")
        .seen("mean wait that follows from the pauses", wait_ns, time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    let jvm = process(path).jvm.as_mut().unwrap();
    (jvm.collections, jvm.collection_ns) = (Some(40), Some(18_000_000_000));
    (jvm.heap_used_share, jvm.longest_pause_ns) = (Some(0.92), Some(1_400_000_000));
    brokers(path, |broker| broker.gc_time_share = Some(0.3));
    wait(path, |waits| {
        (waits.unexplained, waits.request_queue, waits.local, waits.remote) = (18.0, 14.0, 14.0, 20.0)
    });
}
