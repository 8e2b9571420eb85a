//! irqbalance, which moves interrupts by itself. A report: which way to keep it off interrupts that are placed by hand. No file is edited.

use super::network::interfaces;
use super::{Context, Look, Tunable};
use crate::other_owners;
use crate::queues;
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "irqbalance",
    title: "the program that moves interrupts",
    risk: Risk::Performance,
    interrupts: "",
    source: "irqbalance(1)",
    look,
};

const NAME: &str = "irqbalance";

fn look(context: &Context<'_>) -> Vec<Look> {
    if !other_owners::runs(context.host, NAME) {
        if !other_owners::sees_the_hosts_programs(context.host) {
            return vec![Look::unknown(
                "",
                "not to be seen from here: the host's own programs are not among those of /proc",
            )];
        }
        return vec![Look::plain(
            "",
            Status::Ok,
            "irqbalance does not run: interrupts stay where they are put",
        )];
    }
    let moved = moved(context);
    let status = if moved.is_empty() { Status::NoEvidence } else { Status::Advice };
    let reason = "irqbalance runs and moves interrupts that are placed by hand away again. To keep it off them, best first: a script for --policyscript that says ban=true for these devices, as it outlives new numbers; IRQBALANCE_BANNED_CPULIST with the processors that are not for it, in the file that its unit reads (set and empty bans none, unset leaves isolated ones alone); or no irqbalance at all. --banirq names numbers, which the next start of the machine or change of queues gives to others";
    vec![Look::found("", status, "running", reason).showing(moved)]
}

/// Interrupts of queues that more than one processor served in the window.
fn moved(context: &Context<'_>) -> Vec<Evidence> {
    let names = interfaces(context).flat_map(|interface| queues::interrupts(context.host, &interface.name));
    let of = |name: String| {
        let served = queues::served(context.window, &name);
        (served.len() > 1).then(|| Evidence {
            counter: format!("{name} on several processors"),
            amount: served.len() as f64,
            unit: "processors".to_owned(),
            over_s: Some(context.window.seconds()),
        })
    };
    names.filter_map(|interrupt| of(interrupt.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn interrupts_that_moved_in_the_window_are_told_and_nothing_is_changed() {
        let host = || Recorded::interface("eth0", "ixgbe", 2).file("/proc/812/comm", "irqbalance\n");
        assert_eq!(host().check("irqbalance")[0].status, Status::NoEvidence);
        let moved = host().grew("irq.eth0-TxRx-1.cpu0", 5).grew("irq.eth0-TxRx-1.cpu3", 7);
        let check = &moved.check("irqbalance")[0];
        assert_eq!((check.status, check.assignments.len(), check.evidence.len()), (Status::Advice, 0, 1));
        assert_eq!(Recorded::new().check("irqbalance")[0].status, Status::Unknown);
        let sees = Recorded::new().file("/proc/2/comm", "kthreadd\n");
        assert_eq!(sees.check("irqbalance")[0].status, Status::Ok);
    }
}
