//! The governor of processors' frequency, for each policy: a group of processors that have one frequency.
//!
//! With Intel's and AMD's drivers the governor `performance` sets the preference of energy, too, and the other one comes back with it: see
//! `inverse.rs`.

use super::cpu_time::share;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "governor",
    title: "governor of processors' frequency",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/pm/cpufreq.rst and intel_pstate.rst; the bounds are ours",
    look,
};

const FOLDER: &str = "/sys/devices/system/cpu/cpufreq";
/// Processors that work for this part of the time and are slower than this part of their nominal, or of their highest frequency where
/// the nominal one is not told. Ours.
const BUSY: f64 = 0.2;
const OF_NOMINAL: f64 = 0.9;
const OF_HIGHEST: f64 = 0.7;

fn look(context: &Context<'_>) -> Vec<Look> {
    let policies = policies(context);
    if policies.is_empty() {
        let by = match context.facts.virtualisation.value().map(|found| found.virtual_machine) {
            Some(true) => "the hypervisor sets the frequency of this virtual machine's processors",
            _ => "the firmware sets the processors' frequency, or the kernel has no driver for it",
        };
        return vec![Look::not_applicable("", by)];
    }
    policies.iter().map(|policy| of_policy(context, policy)).collect()
}

fn policies(context: &Context<'_>) -> Vec<String> {
    let names = context.host.root().list(FOLDER).unwrap_or_default();
    names.into_iter().filter(|name| name.starts_with("policy")).collect()
}

/// The frequency and load of the first group of processors that are busy and slow; empty where none are.
pub(super) fn slow_and_busy_anywhere(context: &Context<'_>) -> Vec<Evidence> {
    let of = |policy: String| slow_and_busy(context, &format!("{FOLDER}/{policy}"));
    policies(context).into_iter().map(of).find(|evidence| !evidence.is_empty()).unwrap_or_default()
}

fn of_policy(context: &Context<'_>, policy: &str) -> Look {
    let folder = format!("{FOLDER}/{policy}");
    let offered = context.read(&format!("{folder}/scaling_available_governors")).unwrap_or_default();
    if !offered.split(' ').any(|word| word == "performance") {
        return Look::not_applicable(policy, "its driver offers no governor `performance`");
    }
    Look::at(context, policy, &format!("{folder}/scaling_governor"), |value| {
        Advice {
        recommended: "performance".to_owned(),
        is_met: value == "performance",
        evidence: slow_and_busy(context, &folder),
        reason: "processors that work in short bursts are slow when a burst comes, where the governor follows the work".to_owned(),
        expected: "shorter waits after a pause; more power and heat".to_owned(),
    }
    })
}

fn slow_and_busy(context: &Context<'_>, folder: &str) -> Vec<Evidence> {
    let khz = |file: &str| context.number(&format!("{folder}/{file}")).map(|khz| khz as f64);
    let cpus = context.read(&format!("{folder}/affected_cpus")).unwrap_or_default();
    let of = |cpu: &str| Some(1.0 - share(context, &format!("cpu{cpu}"), &["idle", "iowait"])?);
    let busiest = cpus.split(' ').filter_map(of).max_by(f64::total_cmp);
    let bound = khz("base_frequency")
        .map(|khz| khz * OF_NOMINAL)
        .or_else(|| Some(khz("cpuinfo_max_freq")? * OF_HIGHEST));
    match (busiest, khz("scaling_cur_freq"), bound) {
        (Some(busy), Some(present), Some(bound)) if busy >= BUSY && present < bound => vec![
            level("scaling_cur_freq", present / 1000.0, "MHz"),
            level("busiest processor", (1000.0 * busy).round() / 10.0, "%"),
        ],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(present_khz: &str, busy: u64) -> Recorded {
        let policy = "/sys/devices/system/cpu/cpufreq/policy0";
        Recorded::new()
            .file(&format!("{policy}/scaling_available_governors"), "performance powersave\n")
            .file(&format!("{policy}/scaling_governor"), "powersave\n")
            .file(&format!("{policy}/energy_performance_preference"), "balance_performance\n")
            .file(&format!("{policy}/affected_cpus"), "0 1\n")
            .file(&format!("{policy}/cpuinfo_max_freq"), "4000000\n")
            .file(&format!("{policy}/base_frequency"), "2500000\n")
            .file(&format!("{policy}/scaling_cur_freq"), present_khz)
            .grew("cpu1.user_ticks", busy)
            .grew("cpu1.idle_ticks", 1000 - busy)
    }

    #[test]
    fn busy_processors_that_are_slow_are_a_change_that_goes_back() {
        let slow = host("1200000\n", 400);
        let check = &slow.check("governor")[0];
        assert_eq!((check.status, check.target.as_str()), (Status::Change, "policy0"));
        slow.changes_go_back("governor");
    }

    #[test]
    fn idle_processors_are_slow_by_right_and_fast_ones_need_nothing() {
        assert_eq!(host("1200000\n", 50).check("governor")[0].status, Status::NoEvidence);
        assert_eq!(host("3000000\n", 900).check("governor")[0].status, Status::NoEvidence);
    }

    #[test]
    fn a_virtual_machine_without_frequencies_has_nothing_to_set() {
        let guest = Recorded::new()
            .file("/sys/devices/system/cpu/cpufreq/.keep", "")
            .file("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
        let check = &guest.check("governor")[0];
        assert_eq!(check.status, Status::NotApplicable);
        assert!(check.reason.contains("hypervisor"), "{}", check.reason);
    }
}
