//! Instructions for encryption and checksums that a hypervisor hides, or that the firmware has switched off.
//!
//! Without them TLS and the checksum of each batch take several times the processor's time. What speed it has is measured elsewhere.

use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Status};
use plumb_model::facts::Fact;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "cpu-crypto-flags",
    title: "instructions for encryption and checksums",
    risk: Risk::Reboot,
    interrupts: "",
    source: "CPUID of Intel and AMD; the table of generations is ours",
    look,
};

/// What every server's processor of some ten years has, by architecture, and what it is for.
const EXPECTED: [(&str, &str); 6] = [
    ("aes", "AES of TLS"),
    ("pclmulqdq", "AES-GCM of TLS and checksums"),
    ("sse4_2", "CRC-32C of each batch"),
    ("pmull", "AES-GCM of TLS"),
    ("sha2", "SHA-256 of TLS and passwords"),
    ("crc32", "CRC-32C of each batch"),
];

fn look(context: &Context<'_>) -> Vec<Look> {
    let flags = match &context.facts.cpu_flags {
        Fact::Unknown { reason } => return vec![Look::unknown("", reason.clone())],
        Fact::Known { value, .. } => value,
    };
    // The facts list, of the flags that are looked for, those of this architecture.
    let mut missing: Vec<(&str, &str)> =
        EXPECTED.into_iter().filter(|(flag, _)| flags.get(*flag) == Some(&false)).collect();
    if flags.get("vaes") == Some(&false) && has_wide_aes(context) {
        missing.push(("vaes", "AES of TLS, several blocks at once"));
    }
    let value = flags
        .iter()
        .filter(|(_, is_there)| **is_there)
        .map(|(flag, _)| flag.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    if missing.is_empty() {
        return vec![Look::found(
            "",
            Status::Ok,
            value,
            "programs have the instructions that TLS and checksums are fast with",
        )];
    }
    let list = missing.iter().map(|(flag, what)| format!("{flag} ({what})")).collect::<Vec<_>>().join(", ");
    let by = match context.facts.virtualisation.value().map(|found| found.virtual_machine) {
        Some(true) => {
            "a hypervisor hides them, as it does when it shows a generic or an older processor: let the machine have its host's own model (host-passthrough, or a newer named one)"
        }
        Some(false) => "the firmware has switched them off, or the processor has none",
        None => "a hypervisor hides them, the firmware has switched them off, or the processor has none",
    };
    let evidence: Vec<Evidence> =
        missing.iter().map(|(flag, _)| level(&format!("cpuinfo {flag}"), 0.0, "processors")).collect();
    let model = context.facts.cpu_model.value().map_or("this processor", String::as_str);
    vec![Look::found("", Status::Advice, value, format!("{model} shows no {list}: {by}")).showing(evidence)]
}

/// Generations that have AES for several blocks at once: Intel's from Ice Lake, AMD's from Zen 3 on.
fn has_wide_aes(context: &Context<'_>) -> bool {
    const INTEL: [u32; 7] = [106, 108, 143, 173, 174, 175, 207];
    let Some(cpu) = context.facts.cpu_identity.value() else { return false };
    match (cpu.vendor.as_str(), cpu.family, cpu.model) {
        ("GenuineIntel", Some(6), Some(model)) => INTEL.contains(&model),
        ("AuthenticAMD", Some(family), _) => family >= 25,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    fn check(model: u32, flags: &str) -> SettingCheck {
        let text = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: Some processor\nstepping\t: 1\nflags\t\t: {flags}\n"
        );
        Recorded::new().file("/proc/cpuinfo", &text).check("cpu-crypto-flags")[0].clone()
    }

    #[test]
    fn a_virtual_machine_without_aes_is_told_that_its_hypervisor_hides_it() {
        let masked = check(85, "fpu sse4_2 hypervisor");
        assert_eq!((masked.status, masked.evidence.len(), masked.assignments.len()), (Status::Advice, 2, 0));
        assert!(masked.reason.contains("host-passthrough"), "{}", masked.reason);
    }

    #[test]
    fn wide_aes_is_missed_only_on_a_generation_that_has_it() {
        assert_eq!(check(85, "fpu sse4_2 aes pclmulqdq").status, Status::Ok);
        assert!(check(143, "fpu sse4_2 aes pclmulqdq hypervisor").reason.contains("vaes"));
        assert_eq!(check(143, "fpu sse4_2 aes pclmulqdq vaes hypervisor").status, Status::Ok);
    }

    #[test]
    fn a_host_that_shows_no_flags_is_unknown() {
        assert_eq!(Recorded::new().check("cpu-crypto-flags")[0].status, Status::Unknown);
    }
}
