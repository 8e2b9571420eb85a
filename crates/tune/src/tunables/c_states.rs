//! How deep processors sleep. A report: whoever wants them awake holds `/dev/cpu_dma_latency` open with the longest wake that it bears, and
//! the kernel goes back to its own rule when the file is closed, or its holder ends.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "c-states",
    title: "how deep processors sleep",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/pm/cpuidle.rst and power/pm_qos_interface.rst; the bound of 10 microseconds is ours",
    look,
};

/// Waking from this takes no longer than a packet's way through the kernel. Ours.
const SHORT_US: u64 = 10;

fn look(context: &Context<'_>) -> Vec<Look> {
    let folder = "/sys/devices/system/cpu/cpu0/cpuidle";
    let states = context.host.root().list(folder).unwrap_or_default();
    let of = |state: &String| {
        let text = |file: &str| {
            Some(context.host.root().read(&format!("{folder}/{state}/{file}")).ok()?.trim().to_owned())
        };
        let is_on = text("disable").as_deref() != Some("1");
        let latency: u64 = text("latency")?.parse().ok()?;
        is_on.then(|| Some((latency, text("name")?)))?
    };
    let Some((latency, name)) = states.iter().filter_map(of).max() else {
        return vec![context.absent(
            "",
            "/sys/devices/system/cpu/cpu0",
            "the kernel has no sleep states to choose from here: a hypervisor or the firmware decides",
        )];
    };
    let value = format!("{name}, {latency} us to wake");
    let look = match latency <= SHORT_US {
        true => Look::found("", Status::Ok, value, "processors wake fast from their deepest sleep"),
        false => Look::found(
            "",
            Status::NoEvidence,
            value,
            "a packet that comes to a sleeping processor waits until it wakes; no counter shows how often. Try it: a program that holds /dev/cpu_dma_latency open, with a number of microseconds written to it, keeps all processors above that until it ends; nothing is left to put back. Awake processors take power from those that work",
        ),
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(disabled: &str) -> Recorded {
        let folder = "/sys/devices/system/cpu/cpu0/cpuidle";
        let state = |host: Recorded, number: u32, name: &str, latency: &str, disable: &str| {
            let at = |file: &str| format!("{folder}/state{number}/{file}");
            host.file(&at("name"), name).file(&at("latency"), latency).file(&at("disable"), disable)
        };
        let host = state(Recorded::new(), 0, "POLL\n", "0\n", "0\n");
        let host = state(host, 1, "C1\n", "2\n", "0\n");
        state(host, 2, "C6\n", "133\n", disabled)
    }

    #[test]
    fn a_deep_sleep_is_told_with_the_way_to_try_without_it() {
        let check = &host("0\n").check("c-states")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::NoEvidence, 0));
        assert!(check.configured.as_deref().unwrap().starts_with("C6, 133 us"));
        assert!(check.reason.contains("/dev/cpu_dma_latency"));
    }

    #[test]
    fn a_sleep_that_is_off_is_not_the_deepest() {
        assert_eq!(host("1\n").check("c-states")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("c-states")[0].status, Status::Unknown);
    }
}
