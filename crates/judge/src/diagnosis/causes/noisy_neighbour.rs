//! Other programs on this host take the processors from the broker.

use super::super::case::{Case, all_requests_per_s};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, known, most, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;
use plumb_model::prose::{list, quoted};

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "noisy-neighbour",
        summary: "Other programs on this host take the processors from the broker.",
        page: include_str!("../../../../../docs/findings/noisy-neighbour.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the broker's threads wait for processors for as long as they use them, and others use them",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "stop the other programs, or give the broker processors of its own",
            setting: None,
            observe: "time that its threads wait for a processor",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["cpu-stolen", "cpu-quota", "handlers-saturated"],
    advice: &[
        "Move the other programs, or give the broker processors of its own (cpusets).",
        "Give the broker's control group a higher weight (cpu.weight).",
    ],
    check,
};

/// Wait for a processor over the time in which one is wanted from which it is more than sharing: on a small machine some wait is
/// normal at a high load (ours).
const DELAYED_MIN: f64 = 0.5;
/// Share of the host's processors that others use from which they are the reason (ours).
const OTHERS_MIN: f64 = 0.3;

/// Share of what a message waits for that these waits must explain (ours).
const SHARE_MIN: f64 = 0.25;

fn check(case: &Case) -> Option<Claim> {
    let classes = [ThreadClass::Handler, ThreadClass::Network, ThreadClass::Reactor];
    let delayed = most(classes.into_iter().map(|class| case.threads(class, |threads| threads.delayed())))
        .filter(|delayed| *delayed >= DELAYED_MIN)?;
    // A control group that used up its quota waits too, with processors to spare.
    let quota = case.broker_processes().filter_map(|process| process.cgroup.as_ref()).any(|group| {
        ratio(count(group.throttled_periods), count(group.periods)).is_some_and(|share| share >= 0.05)
    });
    let seconds = case.host_seconds()?;
    let watched_ns =
        sum(case.path.processes.iter().map(|process| count(process.usage.cpu_ns))).unwrap_or(0.0);
    let own_ns = count(case.path.cost.own_cpu_ns).unwrap_or(0.0);
    let busy = case.cpu_busy()?;
    // A client on the broker's own host is part of the path.
    let programs = || case.host().into_iter().flat_map(|host| &host.programs);
    let clients = programs().filter(|program| program.is_client == Some(true));
    let clients_ns = sum(clients.map(|program| count(Some(program.cpu_ns)))).unwrap_or(0.0);
    let of_host = |cpu_ns: f64| Some(cpu_ns / (case.cpus()? * seconds * 1e9));
    let others = known(Some(busy - of_host(watched_ns + own_ns + clients_ns)?)).unwrap_or(0.0);
    let largest =
        programs().filter(|program| program.is_client != Some(true)).take(3).filter_map(|program| {
            let used = percent(of_host(program.cpu_ns as f64)?);
            Some(format!("{} ({}) {used}", quoted(&program.command), program.pid))
        });
    let largest: Vec<String> = largest.collect();
    let stages = [Stage::RequestQueue, Stage::ResponseQueue, Stage::Unexplained, Stage::Local, Stage::Remote];
    if quota || busy < 0.8 || !case.any_matters(&stages) {
        return None;
    }
    let delay_ns = delay_of_request_ns(case)?;
    let share = explained(case, delay_ns)?;
    let supported = others >= OTHERS_MIN && share >= SHARE_MIN;
    Some(
        Claim::new(supported, Some(share), format!("The broker's threads wait for a processor for {} of the time in which they want one, and other programs use {} of the host", percent(delayed), percent(others)))
            .seen("wait for a processor, of the time in which one is wanted", Some(delayed), percent, "below 50 %")
            .seen("the broker's wait for a processor, for each request that it took", Some(delay_ns), time, "")
            .seen("processors used by programs that were not watched", Some(others), percent, "below 30 %")
            .told("those that use most", if largest.is_empty() { "not told".to_owned() } else { list(&largest) }, "")
            .seen("processors used by clients on this host", of_host(clients_ns), percent, "")
            .seen("all processors busy", Some(busy), percent, ""),
    )
}

/// What the brokers' threads of this host waited for a processor, for each request that the brokers took: of threads that are idle nearly always
/// even a large part of the little that they want is nothing.
fn delay_of_request_ns(case: &Case) -> Option<f64> {
    let classes =
        [ThreadClass::Handler, ThreadClass::Network, ThreadClass::Reactor, ThreadClass::ReplicaFetcher];
    let groups = case.broker_processes().flat_map(|process| &process.groups);
    let waited =
        groups.filter(|group| classes.contains(&group.class)).map(|group| count(group.states.runnable_ns));
    let here = case.brokers().iter().filter(|broker| broker.pid.is_some() || case.brokers().len() == 1);
    let requests = sum(here.map(all_requests_per_s)).zip(case.seconds());
    ratio(sum(waited), requests.map(|(per_s, seconds)| per_s * seconds))
}

/// The share of what a message waits for that such a delay explains: of the broker's stages no more than it, before them once more, and all that
/// waits for its turn on a full connection by the same part as the broker's stages.
fn explained(case: &Case, delay_ns: f64) -> Option<f64> {
    let of = |stage| case.stages.mean_ns(stage).unwrap_or(0.0);
    let broker_ns = case.stages.broker_ns?;
    let part = (delay_ns / broker_ns.max(1.0)).min(1.0);
    let before_ns = match case.connection_is_full() {
        true => (of(Stage::Unexplained) + of(Stage::ClientQueue)) * part,
        false => of(Stage::Unexplained).min(delay_ns),
    };
    share(ratio(Some(part * broker_ns + before_ns), case.stages.sum_ns()))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    cpu_busy(path, 0.99);
    states(path, ThreadClass::Handler, [0.25, 0.55, 0.0, 0.15]);
    states(path, ThreadClass::Network, [0.2, 0.5, 0.0, 0.0]);
    // Eleven milliseconds of waiting for a processor for each request.
    brokers(path, |broker| broker.requests.values_mut().for_each(|kind| kind.per_s = Some(100.0)));
    idle(path, 0.3, 0.18);
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.local) = (15.0, 22.0, 8.0));
}
