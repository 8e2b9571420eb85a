//! Who uses the processors of the brokers' host, and what the brokers' threads wait for one. Read next: `causes/noisy_neighbour.rs`,
//! `causes/processors_saturated.rs`.

use super::case::{Case, all_requests_per_s};
use super::measure::{count, known, most, ratio, share, sum};
use super::stages::Stage;
use plumb_model::figure::percent;
use plumb_model::observed::{ProgramWindow, ThreadClass};
use plumb_model::prose::quoted;

/// Wait for a processor over the time in which one is wanted from which it is more than sharing: on a small machine some wait is
/// normal at a high load (ours).
const DELAYED_MIN: f64 = 0.5;
/// Share of the host's processors that others use from which they are the reason (ours).
pub(super) const OTHERS_MIN: f64 = 0.3;
/// Share of what a message waits for that these waits must explain (ours).
pub(super) const SHARE_MIN: f64 = 0.25;

/// The brokers' wait for processors, with those who use them. Shares are of all processors of the host, 0 to 1.
#[derive(Debug)]
pub(super) struct ProcessorWait {
    /// Time without a processor over the time in which one was wanted, of the class of the brokers' threads that waits most.
    pub(super) delayed: f64,
    /// What the brokers' threads waited for a processor, for each request that they took, in nanoseconds.
    pub(super) of_request_ns: f64,
    /// The share of what a message waits for that this explains.
    pub(super) explained: f64,
    /// All processors busy.
    pub(super) busy: f64,
    /// Used by the processes that were watched.
    pub(super) watched: f64,
    /// Used by clients on this host that were not watched.
    pub(super) clients: f64,
    /// Used by programs that are no part of the path.
    pub(super) others: f64,
}

impl ProcessorWait {
    /// The wait of a path; none where the brokers' threads get a processor when they want one, where a quota of their control group holds them
    /// back instead, where no stage is long for it, or where any of it is unknown.
    pub(super) fn of(case: &Case) -> Option<ProcessorWait> {
        let classes = [ThreadClass::Handler, ThreadClass::Network, ThreadClass::Reactor];
        let delayed = most(classes.into_iter().map(|class| case.threads(class, |threads| threads.delayed())))
            .filter(|delayed| *delayed >= DELAYED_MIN)?;
        let stages =
            [Stage::RequestQueue, Stage::ResponseQueue, Stage::Unexplained, Stage::Local, Stage::Remote];
        if has_used_up_quota(case) || !case.any_matters(&stages) {
            return None;
        }
        let watched_ns = sum(case.path.processes.iter().map(|process| count(process.usage.cpu_ns)));
        let clients = programs(case).filter(|program| program.is_client == Some(true));
        let clients_ns = sum(clients.map(|program| count(Some(program.cpu_ns))));
        let own_ns = count(case.path.cost.own_cpu_ns).unwrap_or(0.0);
        let busy = case.cpu_busy()?;
        let watched = of_host(case, watched_ns.unwrap_or(0.0))?;
        let clients = of_host(case, clients_ns.unwrap_or(0.0))?;
        let of_request_ns = delay_of_request_ns(case)?;
        Some(ProcessorWait {
            delayed,
            of_request_ns,
            explained: explained(case, of_request_ns)?,
            busy,
            watched,
            clients,
            others: known(Some(busy - watched - clients - of_host(case, own_ns)?)).unwrap_or(0.0),
        })
    }
}

/// The programs that are no part of the path and use most, the first first, with their shares of all processors.
pub(super) fn largest_of_others(case: &Case) -> Vec<String> {
    let others = programs(case).filter(|program| program.is_client != Some(true)).take(3);
    let told = others.filter_map(|program| {
        let used = percent(of_host(case, program.cpu_ns as f64)?);
        Some(format!("{} ({}) {used}", quoted(&program.command), program.pid))
    });
    told.collect()
}

/// A control group that used up its quota waits too, with processors to spare.
fn has_used_up_quota(case: &Case) -> bool {
    case.broker_processes().filter_map(|process| process.cgroup.as_ref()).any(|group| {
        ratio(count(group.throttled_periods), count(group.periods)).is_some_and(|share| share >= 0.05)
    })
}

fn programs<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a ProgramWindow> + use<'a> {
    case.host().into_iter().flat_map(|host| &host.programs)
}

/// Processor time as a share of all processors of the host over its window.
fn of_host(case: &Case, cpu_ns: f64) -> Option<f64> {
    Some(cpu_ns / (case.cpus()? * case.host_seconds()? * 1e9))
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
/// waits for its turn on a connection by the same part as the broker's stages.
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
