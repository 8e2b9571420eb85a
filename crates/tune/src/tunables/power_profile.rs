//! The firmware's own choice between power and speed. Where it keeps that choice to itself, the kernel's governor has no say.

use super::firmware::{Attribute, Decides, attributes, is_off, untold};
use super::governor::slow_and_busy_anywhere;
use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "power-profile",
    title: "the firmware's choice between power and speed",
    risk: Risk::Reboot,
    interrupts: "",
    source: "the makers' guides to their firmware's profiles; the bounds are the governor's",
    look,
};

/// Values that give every processor its speed, whatever attribute has them.
const FULL: [&str; 5] =
    ["PerfOptimized", "PerfWorkStationOptimized", "StaticHighPerf", "MaxPerf", "MaximumPerformance"];

/// Parts of the names of profiles that save power, in lower case.
const SAVING: [&str; 9] = [
    "dapc",
    "densecfg",
    "powersaving",
    "lowpower",
    "efficien",
    "minpower",
    "minimalpower",
    "balanced",
    "energy",
];

/// What a profile does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Full,
    /// The kernel decides, by its governor.
    Kernel,
    /// The firmware holds processors back.
    Saves,
    /// Of single settings, or not known.
    Own,
}

fn look(context: &Context<'_>) -> Vec<Look> {
    let found = attributes(context, Decides::Power);
    let untold = untold(context, !found.is_empty());
    let mut looks: Vec<Look> = found.iter().map(|attribute| of(context, attribute)).collect();
    looks.extend(untold);
    match looks.is_empty() {
        true => vec![Look::not_applicable(
            "",
            "no management controller was named: --bmc has the firmware's own choice read",
        )],
        false => looks,
    }
}

fn of(context: &Context<'_>, attribute: &Attribute<'_>) -> Look {
    match profile(attribute.name, attribute.value) {
        Profile::Full => attribute.look(Status::Ok, "the firmware holds no processor back"),
        Profile::Kernel => attribute.look(Status::Ok, "the firmware leaves it to the kernel's governor"),
        Profile::Own => attribute.look(
            Status::Ok,
            "a profile of single settings, or one whose effect is not known here: it is told and not judged",
        ),
        Profile::Saves => {
            let evidence = slow_and_busy_anywhere(context);
            let status = if evidence.is_empty() { Status::NoEvidence } else { Status::Advice };
            let reason = "the firmware holds processors back to save power, whatever the kernel's governor says: work in short bursts is slow when a burst comes";
            let look = attribute.look(status, reason).showing(evidence);
            attribute.rather(look, attribute.spelled(full_of(attribute.name)))
        }
    }
}

/// The value of an attribute that holds nothing back; none where several settings make it up.
fn full_of(name: &str) -> &'static [&'static str] {
    match name {
        "SysProfile" => &["PerfOptimized"],
        "PowerRegulator" => &["StaticHighPerf"],
        "PowerProfile" => &["MaxPerf"],
        "OperatingModes_ChooseOperatingMode" => &["MaximumPerformance"],
        "PowerTechnology" => &["Disable", "Disabled"],
        // A profile of HPE's sets a dozen others with it.
        _ => &[],
    }
}

fn profile(name: &str, value: &str) -> Profile {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    if is(&["PerfPerWattOptimizedOs", "OsControl"]) {
        return Profile::Kernel;
    }
    // Of Supermicro's: with it off, processors run at their speed.
    if is(&FULL) || (name == "PowerTechnology" && is_off(value)) {
        return Profile::Full;
    }
    let value = value.to_lowercase();
    match SAVING.iter().any(|part| value.contains(part)) {
        true => Profile::Saves,
        false => Profile::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Recorded, firmware};
    use super::*;

    fn with(name: &str, value: &str) -> Recorded {
        Recorded::new().firmware(firmware(&[(name, value)]))
    }

    #[test]
    fn a_firmware_that_saves_power_is_advice_where_busy_processors_are_slow() {
        let quiet = with("SysProfile", "PerfPerWattOptimizedDapc");
        let check = &quiet.check("power-profile")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::NoEvidence, Some("PerfOptimized")));
        let policy = "/sys/devices/system/cpu/cpufreq/policy0";
        let slow = with("PowerRegulator", "DynamicPowerSavings")
            .file(&format!("{policy}/affected_cpus"), "0\n")
            .file(&format!("{policy}/base_frequency"), "2500000\n")
            .file(&format!("{policy}/scaling_cur_freq"), "1200000\n")
            .grew("cpu0.user_ticks", 900)
            .grew("cpu0.idle_ticks", 100);
        let check = &slow.check("power-profile")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(
            check.by_hand.contains(r#"{"Attributes":{"PowerRegulator":"StaticHighPerf"}}"#),
            "{}",
            check.by_hand
        );
        assert!(
            check.by_hand.contains(r#"back with {"Attributes":{"PowerRegulator":"DynamicPowerSavings"}}"#)
        );
    }

    #[test]
    fn a_firmware_that_holds_nothing_back_or_leaves_it_to_the_kernel_is_as_it_should_be() {
        for (name, value) in [
            ("SysProfile", "PerfOptimized"),
            ("SysProfile", "PerfPerWattOptimizedOs"),
            ("PowerRegulator", "OsControl"),
            ("OperatingModes_ChooseOperatingMode", "MaximumPerformance"),
            ("OperatingModes_ChooseOperatingMode", "CustomMode"),
            ("PowerTechnology", "Disable"),
            ("WorkloadProfile", "LowLatency"),
        ] {
            assert_eq!(with(name, value).check("power-profile")[0].status, Status::Ok, "{name} {value}");
        }
        for (name, value) in
            [("PowerTechnology", "Energy Efficient"), ("WorkloadProfile", "GeneralPowerEfficientCompute")]
        {
            assert_eq!(
                with(name, value).check("power-profile")[0].status,
                Status::NoEvidence,
                "{name} {value}"
            );
        }
    }

    #[test]
    fn without_a_controller_it_does_not_apply_and_with_one_that_did_not_tell_it_is_unknown() {
        assert_eq!(Recorded::new().check("power-profile")[0].status, Status::NotApplicable);
        let unread = Recorded::new().firmware(super::super::Firmware::Unread("no answer".to_owned()));
        assert_eq!(unread.check("power-profile")[0].status, Status::Unknown);
        let other = with("QuietBoot", "true").check("power-profile")[0].reason.clone();
        assert!(other.contains("no attribute for this that Plumb knows"), "{other}");
    }
}
