//! Whose clock a process reads: the boot of its machine, and what its time namespace adds to the clocks that begin with the boot.
//!
//! Two processes with the same of both read one clock. Not here: how well the clock is kept (`facts/clock.rs`).

use crate::HostRoot;

/// The boot and the time namespace of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockIdentity {
    /// The kernel's number of this boot, which is random.
    pub boot_id: Option<[u8; 16]>,
    /// What the time namespace adds to `CLOCK_MONOTONIC` and `CLOCK_MONOTONIC_RAW` (`time_namespaces(7)`); 0 where the kernel has none.
    pub namespace_offset_ns: Option<i64>,
}

/// Reads both; each is absent where it cannot be known.
pub fn clock_identity(root: &HostRoot) -> ClockIdentity {
    let boot_id = root.read("/proc/sys/kernel/random/boot_id").ok();
    ClockIdentity {
        boot_id: boot_id.and_then(|text| uuid(text.trim())),
        namespace_offset_ns: namespace_offset_ns(root),
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let mut id = [0; 16];
    if digits.len() != 2 * id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(id)
}

/// The file is of the namespace that children will have, which is this process' own only where it has not asked for another one.
fn namespace_offset_ns(root: &HostRoot) -> Option<i64> {
    let own = root.link("/proc/self/ns/time");
    if own.is_none() && !root.exists("/proc/self/timens_offsets") {
        return Some(0);
    }
    if own? != root.link("/proc/self/ns/time_for_children")? {
        return None;
    }
    let offsets = root.read("/proc/self/timens_offsets").ok()?;
    let line = offsets.lines().find(|line| line.split_whitespace().next() == Some("monotonic"))?;
    let mut numbers = line.split_whitespace().skip(1).map(str::parse::<i64>);
    let (seconds, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A host with this boot, these offsets and these names of its time namespace and of its children's.
    fn host(boot: &str, offsets: Option<&str>, namespaces: Option<[&str; 2]>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("proc/sys/kernel/random")).unwrap();
        fs::create_dir_all(path("proc/self/ns")).unwrap();
        fs::write(path("proc/sys/kernel/random/boot_id"), boot).unwrap();
        if let Some(text) = offsets {
            fs::write(path("proc/self/timens_offsets"), text).unwrap();
        }
        for (name, target) in ["time", "time_for_children"].iter().zip(namespaces.iter().flatten()) {
            symlink(target, path("proc/self/ns").join(name)).unwrap();
        }
        root
    }

    fn identity(host: &tempfile::TempDir) -> ClockIdentity {
        clock_identity(&HostRoot::new(host.path()))
    }

    const BOOT: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n";
    const SHIFTED: &str = "monotonic         100   5\nboottime            0         0\n";

    #[test]
    fn boot_and_offset_are_read_and_a_kernel_without_time_namespaces_adds_nothing() {
        let shifted = identity(&host(BOOT, Some(SHIFTED), Some(["time:[7]"; 2])));
        assert_eq!(shifted.boot_id.map(|id| (id[0], id[15])), Some((0x0f, 0xf0)));
        assert_eq!(shifted.namespace_offset_ns, Some(100_000_000_005));
        assert_eq!(identity(&host(BOOT, None, None)).namespace_offset_ns, Some(0));
        let behind = "monotonic        -100   0\n";
        let behind = identity(&host(BOOT, Some(behind), Some(["time:[7]"; 2])));
        assert_eq!(behind.namespace_offset_ns, Some(-100_000_000_000));
    }

    #[test]
    fn offsets_that_only_children_will_have_and_what_is_no_boot_are_unknown() {
        let asked = identity(&host("soon", Some(SHIFTED), Some(["time:[7]", "time:[8]"])));
        assert_eq!(asked, ClockIdentity::default());
        let damaged = identity(&host(BOOT, Some("monotonic x y\n"), Some(["time:[7]"; 2])));
        assert_eq!(damaged.namespace_offset_ns, None);
    }
}
