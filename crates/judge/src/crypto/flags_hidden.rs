//! Instructions that the processor's family has and this host does not show.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{Complete, about_run};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::probe::crypto::CryptoProbe;

pub(super) static RULE: Row = Row {
    id: "crypto-flags-hidden",
    summary: "This host does not show instructions for encryption that its processor's family has.",
    page: include_str!("../../../../docs/findings/crypto-flags-hidden.md"),
    family: Family::Crypto,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "processors of this family have the instructions by the table of families; this one may be an exception",
    stage: Some(PathStage::Host),
    flip: Some(FlipRow {
        change: "let the hypervisor pass the processor's own instructions through",
        setting: None,
        observe: "the rate of AES-GCM",
        expect: Expect::Rises,
    }),
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
