//! Memory modules and error correction: from the kernel's error counters (EDAC), else from the firmware's tables (SMBIOS).
//!
//! In a guest both are what the hypervisor made up, so they are not asked there.

use std::collections::BTreeSet;

use plumb_model::facts::{ErrorCorrection, Fact, MemoryModules, Virtualisation};

use super::smbios;
use crate::HostRoot;

const EDAC: &str = "/sys/devices/system/edac/mc";

const IN_A_GUEST: &str =
    "in a guest, where the firmware's tables are the hypervisor's and say nothing of the real memory";

pub(super) fn correction(root: &HostRoot, below: &Fact<Virtualisation>) -> Fact<ErrorCorrection> {
    if is_guest(below) {
        return Fact::unknown(IN_A_GUEST);
    }
    if let Some(correction) = from_counters(root) {
        return Fact::known(correction, EDAC);
    }
    match smbios::read(root) {
        Ok(table) if !table.corrections.is_empty() => {
            let corrects = table.corrections.iter().any(|mode| mode.ends_with("ECC"));
            let correction =
                ErrorCorrection { corrects, modes: table.corrections, ..ErrorCorrection::default() };
            Fact::known(correction, smbios::TABLE)
        }
        Ok(_) => Fact::unknown(format!("no driver in {EDAC}, and {} does not say", smbios::TABLE)),
        Err(error) => Fact::unknown(format!("no driver in {EDAC}; {}", error.reason())),
    }
}

pub(super) fn modules(root: &HostRoot, below: &Fact<Virtualisation>) -> Fact<Vec<MemoryModules>> {
    if is_guest(below) {
        return Fact::unknown(IN_A_GUEST);
    }
    match smbios::read(root) {
        Ok(table) if !table.modules.is_empty() => Fact::known(table.modules, smbios::TABLE),
        Ok(_) => Fact::unknown(format!("{} lists no memory modules", smbios::TABLE)),
        Err(error) => Fact::unknown(error.reason()),
    }
}

fn is_guest(below: &Fact<Virtualisation>) -> bool {
    below.value().is_some_and(|below| below.virtual_machine)
}

/// `mcN` is a memory controller, `dimmN` or `rankN` what it drives.
fn from_counters(root: &HostRoot) -> Option<ErrorCorrection> {
    let mut modes = BTreeSet::new();
    let (mut corrected, mut uncorrected) = (None, None);
    for controller in root.list(EDAC).ok()?.iter().filter(|name| name.starts_with("mc")) {
        let folder = format!("{EDAC}/{controller}");
        let count = |name: &str| root.read(&format!("{folder}/{name}")).ok()?.trim().parse::<u64>().ok();
        for (sum, name) in [(&mut corrected, "ce_count"), (&mut uncorrected, "ue_count")] {
            if let Some(count) = count(name) {
                *sum = Some(sum.unwrap_or(0) + count);
            }
        }
        for module in root.list(&folder).unwrap_or_default() {
            let mode = root.read(&format!("{folder}/{module}/dimm_edac_mode"));
            modes.extend(mode.ok().map(|mode| mode.trim().to_owned()).filter(|mode| mode != "Unknown"));
        }
    }
    // The words of the kernel's edac_caps: those that end so correct single bits at least.
    let corrects = modes.iter().any(|mode| mode.ends_with("ED") && mode.contains("EC"));
    let modes: Vec<String> = modes.into_iter().collect();
    (!modes.is_empty()).then_some(ErrorCorrection { corrects, modes, corrected, uncorrected })
}
