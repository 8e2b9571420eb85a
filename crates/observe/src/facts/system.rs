//! The identity of the host: digest, operating system, kernel, load.

use plumb_model::facts::Fact;
use sha2::{Digest, Sha256};

use crate::{HostRoot, ObserveError};

/// Keeps the digest apart from every other use of the machine id, as machine-id(5) asks.
const DIGEST_SALT: &str = "plumb host digest 1\n";

const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

pub(super) fn host_digest(root: &HostRoot) -> Fact<String> {
    let mut reasons = Vec::new();
    for path in MACHINE_ID {
        match root.parsed(path, "a machine id of 32 hexadecimal digits", digest_of_machine_id) {
            Ok(digest) => return Fact::known(digest, path),
            // The id is not repeated in a reason, as it would be in the document then.
            Err(ObserveError::Format { path, expected, .. }) => {
                reasons.push(format!("{path} is not {expected}"))
            }
            Err(error) => reasons.push(error.reason()),
        }
    }
    Fact::unknown(reasons.join("; "))
}

fn digest_of_machine_id(text: &str) -> Option<String> {
    let id = text.trim();
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digest = Sha256::new().chain_update(DIGEST_SALT).chain_update(id).finalize();
    is_id.then(|| digest[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn os_name(root: &HostRoot) -> Fact<String> {
    root.fact("/etc/os-release", "a PRETTY_NAME", |text| {
        let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        let name = name.trim().trim_matches(['"', '\'']);
        (!name.is_empty()).then(|| name.to_owned())
    })
}

pub(super) fn kernel_release(root: &HostRoot) -> Fact<String> {
    root.fact("/proc/sys/kernel/osrelease", "a kernel release", |text| {
        (!text.trim().is_empty()).then(|| text.trim().to_owned())
    })
}

pub(super) fn boot_time(root: &HostRoot) -> Fact<u64> {
    root.fact("/proc/stat", "a btime line", |text| {
        text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
    })
}

pub(super) fn load_average(root: &HostRoot) -> Fact<[f64; 3]> {
    root.fact("/proc/loadavg", "three load averages", |text| {
        let mut words = text.split_ascii_whitespace().map(|word| word.parse::<f64>().ok());
        let averages = [words.next()??, words.next()??, words.next()??];
        averages.iter().all(|average| average.is_finite()).then_some(averages)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_stable_and_does_not_hold_the_id() {
        let id = "0123456789abcdef0123456789abcdef";
        let digest = digest_of_machine_id(&format!("{id}\n")).unwrap();
        assert_eq!(digest.len(), 32);
        assert_eq!(digest, digest_of_machine_id(id).unwrap());
        assert_ne!(digest, id);
        assert_ne!(digest, digest_of_machine_id("1123456789abcdef0123456789abcdef").unwrap());
    }

    #[test]
    fn a_machine_id_of_another_form_is_not_repeated_in_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("etc")).unwrap();
        std::fs::write(folder.path().join("etc/machine-id"), "host-of-somebody").unwrap();
        let Fact::Unknown { reason } = host_digest(&HostRoot::new(folder.path())) else {
            panic!("a digest of no machine id");
        };
        assert!(reason.starts_with("/etc/machine-id is not a machine id"), "{reason}");
        assert!(!reason.contains("somebody"), "{reason}");
    }
}
