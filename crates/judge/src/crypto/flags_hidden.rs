//! Instructions that the processor's family has and this host does not show.

use crate::rule::{Complete, ProbeRule, about_run};
use plumb_model::finding::{Finding, Severity};
use plumb_model::probe::crypto::CryptoProbe;

pub(super) const RULE: ProbeRule = ProbeRule {
    id: "crypto-flags-hidden",
    summary: "This host does not show instructions for encryption that its processor's family has.",
    page: include_str!("../../../../docs/findings/crypto-flags-hidden.md"),
};

/// Those without which AES-GCM and SHA-256 are many times slower.
const DECISIVE: [&str; 5] = ["aes", "pclmulqdq", "sha_ni", "pmull", "sha2"];

pub(super) fn check(document: &CryptoProbe) -> Vec<Finding> {
    let cpu = &document.cpu;
    let Some(missing) = cpu.missing.as_ref().filter(|missing| !missing.is_empty()) else { return Vec::new() };
    let decisive = missing.iter().any(|flag| DECISIVE.contains(&flag.as_str()));
    let severity = if decisive { Severity::Suspect } else { Severity::Note };
    let claim = format!("This host hides {}, which its processor's family has", missing.join(", "));
    let finding = about_run(RULE.id, severity, claim)
        .seen("processor", cpu.model.as_deref().unwrap_or("not named"))
        .seen("expected because", cpu.missing_because.as_str())
        .seen("hypervisor", cpu.hypervisor.as_deref().unwrap_or("none that shows itself"));
    let advice = if cpu.virtual_machine == Some(true) {
        "Have the guest's CPU model set to the host's own (libvirt: <cpu mode='host-passthrough'/>; QEMU: -cpu host), restart \
         it, and run plumb probe crypto again."
    } else {
        "Look for a firmware setting that disables them, and for clearcpuid= on the kernel's command line."
    };
    vec![finding.advise(advice)]
}
