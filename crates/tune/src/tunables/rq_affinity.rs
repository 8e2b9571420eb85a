//! `queue/rq_affinity`: which processor ends a request: any near (1), or the very one that asked for it (2).

use super::cpu_time::{percent, share};
use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "rq-affinity",
    title: "which processor ends a request",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, ABI/stable/sysfs-block; the bounds are ours",
    look,
};

/// One processor that ends this part of all requests, so many in a second, and is busy with interrupts for this part of its time. Ours.
const OF_ALL: f64 = 0.5;
const PER_S: f64 = 1000.0;
const BUSY: f64 = 0.3;
/// Fewer processors are all near. Ours.
const CPUS_MIN: usize = 4;

fn look(context: &Context<'_>) -> Vec<Look> {
    let evidence = one_ends_most(context);
    let of = |disk: &String| {
        Look::at(context, disk, &format!("/sys/block/{disk}/queue/rq_affinity"), |value| {
            // 1 is the kernel's default, and as good where no processor is overloaded.
            let is_met = value == "2" || (value == "1" && evidence.is_empty());
            Advice {
                recommended: if evidence.is_empty() { "1" } else { "2" }.to_owned(),
                is_met,
                evidence: evidence.clone(),
                reason: match (is_met, evidence.is_empty()) {
                    (true, _) => "a request ends on a processor near its program, or on the very one",
                    (false, true) => "a request that ends far from its program takes its data out of the cache",
                    (false, false) => "one processor ends most requests, and does little else",
                }
                .to_owned(),
                expected: "the work of ending requests on all processors that ask for them".to_owned(),
            }
        })
        .or_where_it_hurts("one processor ends most requests although each is to end where it was asked for: most are asked for there")
    };
    context.disks.iter().map(of).collect()
}

fn one_ends_most(context: &Context<'_>) -> Vec<Evidence> {
    let window = context.window;
    let all = window.sum("softirq.BLOCK.", "");
    let Some((name, most)) = window.matching("softirq.BLOCK.", "").max_by_key(|(_, growth)| *growth) else {
        return Vec::new();
    };
    let cpu = name.rsplit('.').next().unwrap_or_default();
    let busy = share(context, cpu, &["irq", "softirq"]).unwrap_or(0.0);
    let is_one = context.placement.online.len() >= CPUS_MIN
        && most as f64 >= OF_ALL * all as f64
        && window.per_s(name).is_some_and(|rate| rate >= PER_S)
        && busy >= BUSY;
    match is_one {
        true => window
            .evidence(name, "rounds")
            .into_iter()
            .chain([percent(context, &format!("{cpu} interrupts"), busy)])
            .collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(value: &str) -> Recorded {
        Recorded::new()
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/rq_affinity", value)
            .grew("softirq.BLOCK.cpu0", 50_000)
            .grew("softirq.BLOCK.cpu1", 100)
            .grew("cpu0.softirq_ticks", 400)
    }

    #[test]
    fn one_busy_processor_that_ends_most_requests_is_a_change_that_goes_back() {
        let busy = host("1\n").grew("cpu0.idle_ticks", 600);
        let check = &busy.check("rq-affinity")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("2")));
        busy.changes_go_back("rq-affinity");
    }

    #[test]
    fn one_idle_processor_that_ends_most_requests_is_no_evidence() {
        let idle = host("1\n").grew("cpu0.idle_ticks", 60_000);
        assert_eq!(idle.check("rq-affinity")[0].status, Status::Ok);
        assert_eq!(
            host("0\n").grew("cpu0.idle_ticks", 60_000).check("rq-affinity")[0].status,
            Status::NoEvidence
        );
    }
}
