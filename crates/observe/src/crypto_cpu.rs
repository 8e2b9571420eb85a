//! The processor, as far as it matters to encryption and checksums. What it hides is for the `judge` crate to say.

use crate::HostRoot;
use crate::cpuinfo::{ARM_FLAGS, CPUINFO, X86_FLAGS, values};
use plumb_model::facts::HostFacts;
use plumb_model::probe::crypto::CryptoCpu;

/// The processor of a host; `host` is what [`crate::host_facts`] said of it.
pub fn crypto_cpu(root: &HostRoot, host: &HostFacts) -> CryptoCpu {
    let text = root.read(CPUINFO).unwrap_or_default();
    let value = |key: &str| values(&text, key).next().map(str::to_owned);
    let on_arm = value("CPU implementer").is_some();
    let (key, wanted) = if on_arm { ("Features", ARM_FLAGS) } else { ("flags", X86_FLAGS) };
    let wanted = wanted.iter().filter(|flag| flag.is_for_crypto).map(|flag| flag.name);
    let lists: Vec<&str> = values(&text, key).collect();
    let everywhere = |flag: &&str| {
        !lists.is_empty() && lists.iter().all(|list| list.split_ascii_whitespace().any(|had| had == *flag))
    };
    let (flags, absent): (Vec<&str>, Vec<&str>) = wanted.partition(|flag| everywhere(flag));
    let virtualisation = host.virtualisation.value();
    let virtual_machine = virtualisation.map(|found| found.virtual_machine);
    CryptoCpu {
        model: host.cpu_model.value().cloned(),
        vendor: value("vendor_id").or_else(|| value("CPU implementer")),
        family: value("cpu family").and_then(|text| text.parse().ok()),
        model_number: value("model")
            .and_then(|text| text.parse().ok())
            .or_else(|| u32::from_str_radix(value("CPU part")?.trim_start_matches("0x"), 16).ok()),
        flags: owned(&flags),
        // Without a list nothing is known to be absent.
        absent: if lists.is_empty() { Vec::new() } else { owned(&absent) },
        hypervisor: virtualisation.and_then(|found| match (found.virtual_machine, &found.vendor) {
            (true, Some(vendor)) => Some(vendor.clone()),
            (true, None) => Some("a hypervisor that does not say its name".to_owned()),
            (false, _) => None,
        }),
        virtual_machine,
        ..CryptoCpu::default()
    }
}

fn owned(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedCommands, host_facts};
    use std::fs;

    fn cpu(cpuinfo: &str) -> CryptoCpu {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/cpuinfo"), cpuinfo).unwrap();
        let root = HostRoot::new(folder.path());
        crypto_cpu(&root, &host_facts(&root, &RecordedCommands::default()))
    }

    #[test]
    fn a_guest_with_the_default_model_of_kvm_shows_a_hypervisor_and_no_aes() {
        let cpu = cpu("vendor_id\t: GenuineIntel\ncpu family\t: 15\nmodel\t\t: 6\n\
                       model name\t: Common KVM processor\nflags\t\t: fpu sse2 pni cx16 hypervisor\n");
        assert_eq!(cpu.model.as_deref(), Some("Common KVM processor"));
        assert_eq!((cpu.family, cpu.model_number), (Some(15), Some(6)));
        assert_eq!(cpu.flags, Vec::<String>::new());
        assert!(cpu.absent.iter().any(|flag| flag == "aes"));
        assert_eq!(cpu.virtual_machine, Some(true));
        assert!(cpu.hypervisor.is_some());
    }

    #[test]
    fn a_flag_counts_only_when_every_processor_has_it() {
        let cpu = cpu("flags\t: aes avx2\n\nflags\t: aes\n");
        assert_eq!(cpu.flags, ["aes"]);
        assert!(cpu.absent.iter().any(|flag| flag == "avx2"));
    }

    #[test]
    fn an_arm_core_is_named_by_implementer_and_part() {
        let cpu =
            cpu("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nFeatures\t: asimd aes pmull sha1 sha2 crc32\n");
        assert_eq!((cpu.vendor.as_deref(), cpu.model_number), (Some("0x41"), Some(0xd0c)));
        assert_eq!(cpu.flags, ["aes", "pmull", "sha1", "sha2", "crc32", "asimd"]);
        assert_eq!(cpu.absent, ["sha512", "sve2"]);
    }

    #[test]
    fn a_host_that_shows_nothing_lacks_nothing() {
        let cpu = cpu("");
        assert_eq!((cpu.flags.len(), cpu.absent.len(), cpu.virtual_machine), (0, 0, None));
    }
}
