//! The processors that the application may use, without those that serve interrupts.
//!
//! It pays where interrupts take much of a processor, and costs processors where they do not. It belongs together with the placement of
//! interrupts: one without the other is worse than neither.

use super::cpu_time::{percent, pressure, share};
use super::{Advice, Context, Look, Tunable, cpu_placement};
use crate::cpus;
use plumb_model::check::{Evidence, Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "process-affinity",
    title: "processors of the application",
    risk: Risk::Performance,
    interrupts: "",
    source: "sched_setaffinity(2); the bounds of 30 % and 5 % are ours: at a tenth of a processor peers found a loss",
    look,
};

/// The part of a processor that interrupts take. Ours.
const INTERRUPTS: f64 = 0.3;
/// The part of time in which threads wait for that processor, or, where the kernel does not count each, for any. Ours.
const WAITED: f64 = 0.05;

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.processes.is_empty() {
        return vec![Look::not_applicable("", "no process was named, and no broker was found")];
    }
    if !context.placement.is_dedicated() {
        return context.processes.iter().map(|process| shared(context, *process)).collect();
    }
    context.processes.iter().map(|process| of_process(context, *process)).collect()
}

/// Where nobody has processors of its own, a process that was given some is told.
fn shared(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let value = match context.read(&format!("affinity:{process}")) {
        Ok(value) => value,
        Err(reason) => return Look::unknown(&target, reason),
    };
    let present = cpus::parse_list(&value);
    if present.as_ref().is_some_and(|present| context.placement.online.is_subset(present)) {
        let reason = "interrupts and the application share the processors of this host";
        return Look::not_applicable(&target, reason);
    }
    let evidence = present.map(|present| evidence(context, &present)).unwrap_or_default();
    match evidence.is_empty() {
        true => Look::found(&target, Status::Ok, value, "somebody gave it these processors, and its threads do not wait behind interrupts there"),
        false => Look::found(&target, Status::Advice, value, "somebody gave it these processors, and its threads wait there behind interrupts: one of both has to move")
            .showing(evidence),
    }
}

fn of_process(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let setting = format!("affinity:{process}");
    let value = match context.read(&setting) {
        Ok(value) => value,
        Err(reason) => return Look::unknown(&target, reason),
    };
    // Where its threads differ, somebody has placed them one by one.
    let Some(present) = cpus::parse_list(&value) else {
        return Look::found(
            &target,
            Status::Ok,
            value,
            "its threads have processors of their own, which somebody gave them",
        );
    };
    if cpu_placement::is_too_small(context) {
        return Look::found(&target, Status::NoEvidence, value, cpu_placement::TOO_SMALL);
    }
    let evidence = evidence(context, &present);
    // What an operator has taken from it is not given back.
    let wanted: BTreeSet<u32> = present.intersection(&context.placement.application).copied().collect();
    if wanted.is_empty() {
        let status = if evidence.is_empty() { Status::NoEvidence } else { Status::Advice };
        let reason = "somebody has placed it on the processors that the plan has for interrupts: one of both has to move";
        return Look::found(&target, status, value, reason).showing(evidence);
    }
    Look::at(context, &target, &setting, |_| {
        Advice {
        recommended: cpus::list(&wanted),
        is_met: wanted == present,
        evidence,
        reason: "its threads wait for processors that serve interrupts; change it together with the placement of interrupts, as one alone is worse than neither".to_owned(),
        expected: "no thread waits behind interrupts; fewer processors for the application".to_owned(),
    }
    })
}

/// A processor that it may use and that interrupts take much of, while threads wait for that processor.
pub(super) fn evidence(context: &Context<'_>, present: &BTreeSet<u32>) -> Vec<Evidence> {
    let interrupts = |cpu: &u32| Some((*cpu, share(context, &format!("cpu{cpu}"), &["irq", "softirq"])?));
    let busiest = present.iter().filter_map(interrupts).max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((cpu, busy)) = busiest.filter(|(_, busy)| *busy >= INTERRUPTS) else { return Vec::new() };
    match waited(context, cpu) {
        Some((name, waited)) if waited >= WAITED => {
            vec![percent(context, &format!("cpu{cpu} interrupts"), busy), percent(context, &name, waited)]
        }
        _ => Vec::new(),
    }
}

/// The part of time in which threads waited for a processor; for any one, where the kernel does not count each.
fn waited(context: &Context<'_>, cpu: u32) -> Option<(String, f64)> {
    let counter = format!("cpu{cpu}.run_delay_ns");
    let of_it = context.window.per_s(&counter).map(|ns_per_s| (counter, ns_per_s / 1e9));
    of_it.or_else(|| Some(("pressure.cpu.some".to_owned(), pressure(context, "cpu")?)))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(cpus: &str, softirq: u64) -> Recorded {
        let status = format!("Name:\tjava\nCpus_allowed_list:\t{cpus}\n");
        Recorded::new()
            .process(77)
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .file("/proc/77/task/77/status", &status)
            .file("/proc/77/task/78/status", &status)
            .grew("cpu0.softirq_ticks", softirq)
            .grew("cpu0.user_ticks", 1000 - softirq)
            .grew("pressure.cpu.some_us", 2_000_000)
    }

    #[test]
    fn threads_that_wait_behind_interrupts_are_a_change_that_goes_back() {
        let busy = host("0-7", 500);
        let check = &busy.check("process-affinity")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("1-7")));
        busy.changes_go_back("process-affinity");
    }

    #[test]
    fn a_tenth_of_a_processor_for_interrupts_and_interrupts_that_nobody_waits_for_are_no_evidence() {
        assert_eq!(host("0-7", 100).check("process-affinity")[0].status, Status::NoEvidence);
        let idle = host("0-7", 500).grew("pressure.cpu.some_us", 10);
        assert_eq!(idle.check("process-affinity")[0].status, Status::NoEvidence);
    }

    #[test]
    fn where_the_kernel_counts_waits_for_each_processor_those_of_others_are_no_evidence() {
        let elsewhere = host("0-7", 500).grew("cpu0.run_delay_ns", 1000);
        assert_eq!(elsewhere.check("process-affinity")[0].status, Status::NoEvidence);
        let shown = host("0-7", 500).file("/proc/schedstat", "version 15\ncpu1 0 0 3 4 5 6 70 80 9\n");
        let counters = plumb_observe::named_counters(shown.host().root());
        assert_eq!(counters.get("cpu1.run_delay_ns"), Some(&80));
        let here = host("0-7", 500).grew("cpu0.run_delay_ns", 3_000_000_000);
        let check = &here.check("process-affinity")[0];
        assert_eq!((check.status, check.evidence[1].amount), (Status::Change, 30.0));
    }

    #[test]
    fn what_an_operator_placed_is_not_widened() {
        assert_eq!(host("0-3", 500).check("process-affinity")[0].recommended.as_deref(), Some("1-3"));
        assert_eq!(host("4-7", 500).check("process-affinity")[0].status, Status::Ok);
        let own = host("0-7", 500).file("/proc/77/task/78/status", "Cpus_allowed_list:\t3\n");
        assert_eq!(own.check("process-affinity")[0].status, Status::Ok);
        let check = &host("0", 500).check("process-affinity")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }

    #[test]
    fn processors_that_are_too_few_for_interrupts_are_not_taken_from_the_application() {
        let check = &host("0-7", 900).check("process-affinity")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::NoEvidence, 0));
    }

    #[test]
    fn few_processors_are_shared() {
        let small = host("0-1", 500).file("/sys/devices/system/cpu/online", "0-1\n");
        assert_eq!(small.check("process-affinity")[0].status, Status::NotApplicable);
        let pinned = host("0", 5).file("/sys/devices/system/cpu/online", "0-1\n");
        let check = &pinned.check("process-affinity")[0];
        assert_eq!((check.status, check.configured.as_deref()), (Status::Ok, Some("0")));
        let behind = host("0", 500).file("/sys/devices/system/cpu/online", "0-1\n");
        assert_eq!(behind.check("process-affinity")[0].status, Status::Advice);
        assert_eq!(Recorded::new().check("process-affinity")[0].status, Status::NotApplicable);
    }
}
