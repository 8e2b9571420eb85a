//! The plan of processors as a whole: whether those that it keeps for interrupts alone are worth it. A report; the changes are those of
//! `interrupts` and `process-affinity`, together.

use super::cpu_time::share;
use super::{Context, Look, Tunable};
use crate::cpus;
use crate::devices;
use crate::window::level;
use plumb_model::check::{Risk, Status};
use plumb_model::figure;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "cpu-placement",
    title: "processors for interrupts and for the application",
    risk: Risk::Performance,
    interrupts: "",
    source: "ours: half of a processor as worth one of its own, and 80 % as too few; at a tenth of one peers found a loss",
    look,
};

/// The part of one processor that interrupts take from which on processors of their own may pay. Ours.
const WORTH_ONE: f64 = 0.5;
/// Of fewer processors the plan keeps none for interrupts.
const CPUS_MIN: usize = 4;
/// The part of the processors kept for interrupts from which on they are too few. Ours.
const TOO_FEW: f64 = 0.8;

fn look(context: &Context<'_>) -> Vec<Look> {
    let plan = context.placement;
    if plan.online.is_empty() {
        return vec![Look::unknown("", "the kernel does not say which processors are on line")];
    }
    let places = places(context);
    let few = match plan.online.len() {
        online if online < CPUS_MIN => {
            format!(": of {online} processors none can be spared, whether they were to be dedicated or not")
        }
        _ => String::new(),
    };
    if !plan.is_dedicated() {
        let value = format!(
            "interrupts may go to processors {}, none of them kept for interrupts",
            cpus::list(&plan.interrupts)
        );
        return vec![Look::found(
            "",
            Status::Ok,
            value,
            format!("the plan keeps no processor for interrupts alone{few}{places}"),
        )];
    }
    let value =
        format!("interrupts {}, application {}", cpus::list(&plan.interrupts), cpus::list(&plan.application));
    let Some(taken) = taken(context) else {
        return vec![Look::unknown("", format!("the time that interrupts take was not seen{places}"))];
    };
    let kept = plan.interrupts.len() as f64;
    let (status, reason) = if taken < WORTH_ONE {
        (
            Status::NoEvidence,
            format!(
                "interrupts take {} of one processor, and the plan keeps {kept} for them alone: dedicating them would be a loss; share the processors instead",
                figure::percent(taken)
            ),
        )
    } else if is_too_small(context) {
        (
            Status::Advice,
            format!(
                "interrupts take {} processors, and the plan keeps {kept} for them: they are too few; share the processors instead",
                figure::short(taken)
            ),
        )
    } else {
        (
            Status::Ok,
            format!(
                "interrupts take {} processors of the {kept} that the plan keeps for them",
                figure::short(taken)
            ),
        )
    };
    let evidence = level("irq and softirq of all processors", (100.0 * taken).round() / 100.0, "processors");
    vec![Look::found("", status, value, format!("{reason}{places}")).showing(vec![evidence])]
}

/// Why nothing is moved onto processors that are too few.
pub(super) const TOO_SMALL: &str = "interrupts take more than the processors that the plan keeps for them have: moving all of them there would be a loss; share the processors instead";

/// True if the plan keeps processors for interrupts, and too few for what those take.
pub(super) fn is_too_small(context: &Context<'_>) -> bool {
    let kept = context.placement.interrupts.len() as f64;
    context.placement.is_dedicated() && taken(context).is_some_and(|taken| taken >= TOO_FEW * kept)
}

/// What interrupts take of all processors' time, in processors; none where it was not seen.
fn taken(context: &Context<'_>) -> Option<f64> {
    let of = |cpu: &u32| share(context, &format!("cpu{cpu}"), &["irq", "softirq"]);
    let shares: Vec<f64> = context.placement.online.iter().filter_map(of).collect();
    (!shares.is_empty()).then(|| shares.iter().sum())
}

/// The nodes of disks, where they are not those of the interfaces: data crosses between them.
fn places(context: &Context<'_>) -> String {
    let near: Vec<u32> = context.interfaces.iter().filter(|of| of.is_up).filter_map(|of| of.node).collect();
    let far =
        |disk: &&String| devices::disk_node(context.host, disk).is_some_and(|node| !near.contains(&node));
    let far: Vec<&str> = context.disks.iter().filter(far).map(String::as_str).collect();
    match near.is_empty() || far.is_empty() {
        true => String::new(),
        false => format!(
            "; disks {} hang on another memory node than the network, so that data crosses between them wherever the application runs",
            far.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(softirq: u64) -> Recorded {
        Recorded::new()
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .grew("cpu0.softirq_ticks", softirq)
            .grew("cpu0.user_ticks", 1000 - softirq)
    }

    #[test]
    fn little_time_for_interrupts_is_told_to_be_a_loss_and_too_much_to_be_too_much() {
        let check = &host(100).check("cpu-placement")[0];
        assert_eq!(check.status, Status::NoEvidence);
        assert!(
            check.reason.contains("10 % of one processor") && check.reason.contains("would be a loss"),
            "{}",
            check.reason
        );
        assert_eq!(host(600).check("cpu-placement")[0].status, Status::Ok);
        let check = &host(950).check("cpu-placement")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        let shared = &host(100).shared().check("cpu-placement")[0];
        assert_eq!(shared.status, Status::Ok);
        assert!(shared.configured.as_ref().is_some_and(|value| !value.contains("share")), "{shared:?}");
        let small = host(100).file("/sys/devices/system/cpu/online", "0-1\n");
        let reason = &small.check("cpu-placement")[0].reason;
        assert!(reason.contains("of 2 processors none can be spared"), "{reason}");
    }

    #[test]
    fn disks_of_another_node_are_told() {
        let controller = "/sys/devices/pci0000:80/0000:81:00.0";
        let far = host(600)
            .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n")
            .file("/sys/class/net/eth0/operstate", "up\n")
            .file("/sys/class/net/eth0/device/numa_node", "0\n")
            .file(&format!("{controller}/numa_node"), "1\n")
            .file(&format!("{controller}/nvme/nvme0/nvme0n1/queue/scheduler"), "[none]\n")
            .link("/sys/block/nvme0n1", &format!("{controller}/nvme/nvme0/nvme0n1"));
        let check = &far.check("cpu-placement")[0];
        assert!(check.reason.contains("disks nvme0n1 hang on another memory node"), "{}", check.reason);
    }
}
