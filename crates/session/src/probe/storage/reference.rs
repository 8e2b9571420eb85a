//! Published rates of commits, to be shown beside measured ones.

use plumb_model::probe::storage::{ReferenceDevice, ReferenceDevices};

const SOURCE: &str = "a database company's blog on fsync: a small script that writes and syncs in a loop; machine, kernel \
                      and block size not stated";

/// Name, commits per second, latency in microseconds where it was published.
const DEVICES: &[(&str, f64, Option<u64>)] = &[
    ("RAID controller with write cache", 23_000.0, None),
    ("Optane P4800X, ext4 with O_DIRECT", 21_200.0, Some(47)),
    ("Optane P4800X, ext4", 20_000.0, Some(50)),
    ("Optane P4800X, ext4 data=journal", 9_600.0, Some(100)),
    ("ZFS with its log on Optane (logbias=latency)", 7_400.0, Some(135)),
    ("NAND NVMe (PC-3700)", 7_300.0, None),
    ("slow USB SATA disk behind dm-cache, write-back", 3_100.0, Some(320)),
    ("slow USB SATA disk behind bcache, write-back", 2_500.0, Some(400)),
    ("ZFS without a log device", 28.0, Some(36_000)),
    ("slow USB SATA disk", 13.0, Some(75_000)),
];

pub(super) fn devices() -> ReferenceDevices {
    let device = |(name, rate_per_s, latency_us): &(&str, f64, Option<u64>)| ReferenceDevice {
        name: (*name).to_owned(),
        rate_per_s: *rate_per_s,
        latency_ns: latency_us.map(|us| us * 1_000),
    };
    ReferenceDevices { source: SOURCE.to_owned(), rows: DEVICES.iter().map(device).collect() }
}
