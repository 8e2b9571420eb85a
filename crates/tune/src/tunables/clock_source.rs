//! The clock that the kernel reads. Fast ones are read without a call into the kernel; a broker reads one several times for each request.
//!
//! Which is best under a hypervisor peers do not agree on, so that the time of a reading decides, not the name.

use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};
use std::time::Instant;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "clock-source",
    title: "clock that the kernel reads",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, timers/timekeeping.rst; the bound of 200 ns is ours",
    look,
};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
/// Clocks that programs read by themselves wherever they are.
const FAST: [&str; 2] = ["tsc", "arch_sys_counter"];
/// A reading that takes longer goes through the kernel. Ours.
const SLOW_NS: f64 = 200.0;

fn look(context: &Context<'_>) -> Vec<Look> {
    let read_ns = context.host.root().is_host().then(read_ns);
    let (current, available) = match (context.read(CURRENT), context.read(AVAILABLE)) {
        (Ok(current), Ok(available)) => (current, available),
        (Err(reason), _) | (_, Err(reason)) => return vec![Look::unknown("", reason)],
    };
    let (status, reason) = judge(&current, &available, read_ns);
    let evidence: Vec<_> =
        read_ns.map(|ns| level("time of one reading", ns.round(), "ns")).into_iter().collect();
    let look = match status {
        Status::Change | Status::NoEvidence if offers_tsc(&available) => {
            Look::at(context, "", CURRENT, |_| Advice {
                recommended: "tsc".to_owned(),
                is_met: false,
                evidence: if status == Status::Change { evidence } else { Vec::new() },
                reason: reason.to_owned(),
                expected: "less time for each reading of the clock".to_owned(),
            })
        }
        _ => Look::found("", status, current, reason).showing(if status == Status::Advice {
            evidence
        } else {
            Vec::new()
        }),
    };
    vec![look]
}

fn offers_tsc(available: &str) -> bool {
    available.split(' ').any(|word| word == "tsc")
}

/// What to make of a clock, and why.
fn judge(current: &str, available: &str, read_ns: Option<f64>) -> (Status, &'static str) {
    let is_slow = read_ns.map(|ns| ns >= SLOW_NS);
    match (FAST.contains(&current), is_slow, offers_tsc(available)) {
        (true, _, _) => (Status::Ok, "programs read it without a call into the kernel"),
        (false, Some(false), _) => (Status::Ok, "a reading is fast, whatever the clock's name"),
        (false, Some(true), true) => (
            Status::Change,
            "a reading goes through the kernel, and the kernel trusts a faster clock; a change can let time jump by a little, so let it be watched",
        ),
        (false, Some(true), false) => (
            Status::Advice,
            "a reading goes through the kernel, which trusts no faster clock here: the hypervisor, or the firmware, has to offer a steady one; the kernel's log says why it does not trust tsc",
        ),
        (false, None, _) => {
            (Status::NoEvidence, "how long a reading takes is not known, as it was not tried here")
        }
    }
}

/// The mean time of a reading, in nanoseconds.
fn read_ns() -> f64 {
    const READINGS: u32 = 2000;
    let began = Instant::now();
    let mut last = began;
    for _ in 0..READINGS {
        last = std::hint::black_box(Instant::now());
    }
    last.duration_since(began).as_nanos() as f64 / f64::from(READINGS)
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use super::*;

    #[test]
    fn the_time_of_a_reading_decides_and_not_the_name() {
        assert_eq!(judge("tsc", "tsc hpet", Some(900.0)).0, Status::Ok);
        assert_eq!(judge("kvm-clock", "kvm-clock tsc", Some(30.0)).0, Status::Ok);
        assert_eq!(judge("hpet", "tsc hpet acpi_pm", Some(900.0)).0, Status::Change);
        assert_eq!(judge("hpet", "hpet acpi_pm", Some(900.0)).0, Status::Advice);
        assert_eq!(judge("hpet", "tsc hpet", None).0, Status::NoEvidence);
        assert!(read_ns() > 0.0);
    }

    #[test]
    fn a_recorded_clock_is_not_timed_and_its_change_goes_back() {
        let host = Recorded::new().file(CURRENT, "hpet\n").file(AVAILABLE, "tsc hpet acpi_pm \n");
        assert_eq!(host.check("clock-source")[0].status, Status::NoEvidence);
        host.changes_without_evidence_go_back("clock-source");
        let fast = Recorded::new().file(CURRENT, "tsc\n").file(AVAILABLE, "tsc hpet\n");
        assert_eq!(fast.check("clock-source")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("clock-source")[0].status, Status::Unknown);
    }
}
