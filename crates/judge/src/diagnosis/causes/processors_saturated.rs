//! The path's own programs use all processors of the brokers' host.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, most, ratio, sum};
use super::super::processors::{OTHERS_MIN, ProcessorWait, SHARE_MIN};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "processors-saturated",
        summary: "The path's own programs use all processors of the brokers' host.",
        page: include_str!("../../../../../docs/findings/processors-saturated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the broker's threads wait for processors for as long as they use them, and nobody but the path uses them",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "give the host more processors, or move a part of the load to another host",
            setting: None,
            observe: "time that the broker's threads wait for a processor",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "aes-not-accelerated",
        "batches-too-small",
        "broker-recompression",
        "client-compression-cpu",
        "connection-storm",
        "coordinator-load",
        "format-conversion",
        "gc-pauses",
        "many-partitions",
        "tls-cpu",
        "cpu-stolen",
    ],
    rivals: &["noisy-neighbour", "cpu-quota", "network-threads-saturated"],
    advice: &[
        "Add processors or brokers, or let clients run on hosts of their own.",
        "Look at what the processors do (the thread table and the profile): compilers of a JVM that has just started end by themselves, TLS and compression do not.",
        "Send fewer, larger requests (linger.ms, batch.size, fetch.min.bytes): most of a broker's work is for requests.",
    ],
    check,
};

/// Share of the host's processors in use from which there is none left (ours).
const BUSY_MIN: f64 = 0.9;
/// Processor time of one thread from which that thread is the limit, and not the number of processors (customary).
const THREAD_BUSY: f64 = 0.9;

fn check(case: &Case) -> Option<Claim> {
    let wait = ProcessorWait::of(case).filter(|wait| wait.busy >= BUSY_MIN && wait.others < OTHERS_MIN)?;
    let classes = [ThreadClass::Handler, ThreadClass::Network, ThreadClass::Reactor];
    let busiest = most(classes.into_iter().map(|class| case.threads(class, |threads| threads.busiest)));
    let one_thread = busiest.is_some_and(|busiest| busiest >= THREAD_BUSY);
    Some(
        Claim::new(wait.explained >= SHARE_MIN && !one_thread && case.slow(), Some(wait.explained), format!("The path's own programs use all processors of the broker's host, and the broker's threads wait for one for {} of the time in which they want one", percent(wait.delayed)))
            .seen("all processors busy", Some(wait.busy), percent, "below 90 %")
            .seen("processors used by the processes that were watched", Some(wait.watched), percent, "")
            .seen("of the brokers' processor time, compilers of the JVM", of_brokers(case, ThreadClass::Jit), percent, "")
            .seen("processors used by other clients on this host", Some(wait.clients), percent, "")
            .seen("processors used by programs that are no part of the path", Some(wait.others), percent, "below 30 %")
            .seen("wait for a processor, of the time in which one is wanted", Some(wait.delayed), percent, "below 50 %")
            .seen("the broker's wait for a processor, for each request that it took", Some(wait.of_request_ns), time, "")
            .seen("processor time of the broker's busiest thread", busiest, percent, "below 90 % of one processor"),
    )
}

/// Share of a class of threads in the processor time of the brokers of this host.
fn of_brokers(case: &Case, class: ThreadClass) -> Option<f64> {
    let groups = || case.broker_processes().flat_map(|process| &process.groups);
    let used_ns = |class: Option<ThreadClass>| {
        let groups = groups().filter(|group| class.is_none_or(|class| group.class == class));
        sum(groups.map(|group| count(group.states.executing_ns)))
    };
    ratio(used_ns(Some(class)), used_ns(None))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    cpu_busy(path, 0.99);
    process(path).usage.cpu_ns = Some((0.9 * 8.0 * WINDOW_NS as f64) as u64);
    states(path, ThreadClass::Handler, [0.25, 0.55, 0.0, 0.15]);
    states(path, ThreadClass::Network, [0.2, 0.5, 0.0, 0.0]);
    // Eleven milliseconds of waiting for a processor for each request.
    brokers(path, |broker| broker.requests.values_mut().for_each(|kind| kind.per_s = Some(100.0)));
    idle(path, 0.4, 0.4);
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.local) = (15.0, 22.0, 8.0));
}
