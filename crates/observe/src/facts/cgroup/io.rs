//! Devices on which the control group, or one above it, is held back: `io.max`, or `blkio.throttle.*` of version 1
//! (kernel documentation, admin-guide/cgroup-v2 and cgroup-v1/blkio-controller).

use std::collections::BTreeMap;

use plumb_model::facts::{Fact, IoLimit};

use super::folders;
use crate::HostRoot;

/// Files of version 1 with the key that version 2 has for it.
const VERSION_1: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

pub(crate) fn limits(root: &HostRoot) -> Fact<Vec<IoLimit>> {
    // The controller is called `blkio` in version 1.
    let (folder, paths) = match folders(root, "blkio") {
        Ok(found) => found,
        Err(reason) => return Fact::unknown(reason),
    };
    let mut found: BTreeMap<String, IoLimit> = BTreeMap::new();
    let mut readable = folder.version == 2 && folder.path == "/";
    for path in paths {
        let Some(lines) = device_limits(root, folder.version, &path) else { continue };
        readable = true;
        for DeviceLimit { device, key, value } in lines {
            let limit = found.entry(device).or_default();
            let held = match key.as_str() {
                "rbps" => &mut limit.read_bytes_per_s,
                "wbps" => &mut limit.write_bytes_per_s,
                "riops" => &mut limit.reads_per_s,
                "wiops" => &mut limit.writes_per_s,
                _ => continue,
            };
            *held = Some(held.map_or(value, |known| known.min(value)));
        }
    }
    let source = format!("{} (control groups version {})", folder.mount, folder.version);
    if !readable {
        return Fact::unknown(format!("{}: no limits of devices to be read", folder.mount));
    }
    let named = found.into_iter().map(|(number, limit)| IoLimit { device: name(root, &number), ..limit });
    Fact::known(named.collect(), source)
}

/// One limit of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceLimit {
    /// Its number, `8:16`.
    pub(crate) device: String,
    /// What is limited, by version 2's name: `rbps`, `wbps`, `riops`, `wiops`.
    pub(crate) key: String,
    /// Bytes or operations a second.
    pub(crate) value: u64,
}

/// The limits of one group, at its folder; none where it has no such files.
pub(crate) fn device_limits(root: &HostRoot, version: u8, path: &str) -> Option<Vec<DeviceLimit>> {
    if version == 2 {
        return Some(parse(&root.read(&format!("{path}/io.max")).ok()?));
    }
    let mut lines = Vec::new();
    let mut readable = false;
    for (file, key) in VERSION_1 {
        let Ok(text) = root.read(&format!("{path}/{file}")) else { continue };
        readable = true;
        let limit = |line: &str| {
            let (device, value) = line.trim().split_once(' ')?;
            let value = value.parse().ok()?;
            Some(DeviceLimit { device: device.to_owned(), key: key.to_owned(), value })
        };
        lines.extend(text.lines().filter_map(limit));
    }
    readable.then_some(lines)
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
fn parse(text: &str) -> Vec<DeviceLimit> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(device) = words.next() else { continue };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            if let Ok(value) = value.parse() {
                found.push(DeviceLimit { device: device.to_owned(), key: key.to_owned(), value });
            }
        }
    }
    found
}

fn name(root: &HostRoot, number: &str) -> String {
    let events = root.read(&format!("/sys/dev/block/{number}/uevent")).unwrap_or_default();
    let name = events.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    name.unwrap_or(number).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_held_back_is_a_limit() {
        let found = parse("8:16 rbps=2097152 wbps=max riops=max wiops=120\n");
        let expected = [("rbps", 2_097_152), ("wiops", 120)].map(|(key, value)| DeviceLimit {
            device: "8:16".to_owned(),
            key: key.to_owned(),
            value,
        });
        assert_eq!(found, expected);
    }
}
