//! The parts: which programs each has, what they attach to, and how its maps are read. A part more is a source in `programs`
//! and a row here.

use aya::maps::{Map, MapError, PerCpuArray, PerCpuHashMap, PerCpuValues};
use aya::util::nr_cpus;
use aya::{Ebpf, Pod, include_bytes_aligned};
use plumb_model::observed::{DeviceTimes, DropReason};

use super::KernelCounts;
use super::histogram::{HISTOGRAM_WORDS, histogram, histograms};
use super::source::Source;
use super::stacks::off_cpu;
use crate::HostRoot;

/// Programs that are loaded, attached and read together.
pub(super) struct Part {
    /// The field of [`KernelCounts`] that it fills.
    pub(super) name: &'static str,
    /// The compiled programs.
    pub(super) object: &'static [u8],
    /// Where its programs find whom they watch; absent if they look at the whole host.
    pub(super) watched: Option<Watched>,
    /// What to attach to; the first of these that the kernel has.
    pub(super) ways: &'static [&'static [Hook]],
    /// Reads the maps.
    pub(super) read: fn(Source<'_>, &mut KernelCounts) -> Result<(), MapError>,
}

/// A map with an entry for each process that a part watches, by its values; whoever is not in it is not watched.
pub(super) enum Watched {
    Histograms(&'static str),
    Counts(&'static str),
}

impl Watched {
    /// Its name in the object.
    pub(super) fn map(&self) -> &'static str {
        match self {
            Watched::Histograms(map) | Watched::Counts(map) => map,
        }
    }

    /// Enters the processes, of each of which nothing was seen yet.
    pub(super) fn enter(&self, programs: &mut Ebpf, pids: &[u32]) -> Result<(), MapError> {
        let name = self.map();
        let map = programs.map_mut(name).ok_or(MapError::InvalidName { name: name.to_owned() })?;
        match self {
            Watched::Histograms(_) => enter(map, pids, [0u64; HISTOGRAM_WORDS]),
            Watched::Counts(_) => enter(map, pids, 0u64),
        }
    }
}

fn enter<V: Pod>(map: &mut Map, pids: &[u32], nothing: V) -> Result<(), MapError> {
    let mut map = PerCpuHashMap::<_, u32, V>::try_from(map)?;
    let cpus = nr_cpus().map_err(|(_file, error)| error)?;
    for pid in pids {
        map.insert(pid, PerCpuValues::try_from(vec![nothing; cpus])?, 0)?;
    }
    Ok(())
}

/// A program and its trace point.
pub(super) enum Hook {
    /// With arguments whose types the kernel checks; only for what is built into the kernel.
    Typed { program: &'static str, point: &'static str },
    /// With arguments that are plain numbers; for modules too.
    Raw { program: &'static str, point: &'static str },
    /// Of tracefs, which has to be mounted.
    Event { program: &'static str, category: &'static str, point: &'static str },
}

impl Hook {
    /// The function in the object.
    pub(super) fn program(&self) -> &'static str {
        match self {
            Hook::Typed { program, .. } | Hook::Raw { program, .. } | Hook::Event { program, .. } => program,
        }
    }

    /// The trace point.
    pub(super) fn point(&self) -> &'static str {
        match self {
            Hook::Typed { point, .. } | Hook::Raw { point, .. } | Hook::Event { point, .. } => point,
        }
    }
}

macro_rules! object {
    ($name:literal) => {
        include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel/programs/", $name, ".bpf.o"))
    };
}

/// All parts, in the order in which they are attached.
pub(super) static PARTS: &[Part] = &[
    Part {
        name: "run_delay",
        object: object!("run_queue"),
        watched: Some(Watched::Histograms("run_delay")),
        ways: &[&[
            Hook::Typed { program: "run_queue_switch", point: "sched_switch" },
            Hook::Typed { program: "run_queue_wakeup", point: "sched_wakeup" },
            Hook::Typed { program: "run_queue_new", point: "sched_wakeup_new" },
        ]],
        read: |mut source, counts| {
            for (pid, times) in histograms(source.take("run_delay")?)? {
                counts.of_process(pid).run_delay = Some(times);
            }
            Ok(())
        },
    },
    Part {
        name: "off_cpu",
        object: object!("off_cpu"),
        watched: Some(Watched::Counts("lost")),
        ways: &[&[Hook::Typed { program: "off_cpu_switch", point: "sched_switch" }]],
        read: off_cpu,
    },
    Part {
        name: "fsync",
        object: object!("fsync"),
        watched: Some(Watched::Histograms("fsync")),
        ways: &[
            &[
                Hook::Event { program: "fsync_exit", category: "syscalls", point: "sys_exit_fsync" },
                Hook::Event { program: "fdatasync_exit", category: "syscalls", point: "sys_exit_fdatasync" },
                Hook::Event { program: "fsync_enter", category: "syscalls", point: "sys_enter_fsync" },
                Hook::Event {
                    program: "fdatasync_enter",
                    category: "syscalls",
                    point: "sys_enter_fdatasync",
                },
            ],
            &[
                Hook::Raw { program: "any_call_exit", point: "sys_exit" },
                Hook::Raw { program: "any_call_enter", point: "sys_enter" },
            ],
        ],
        read: |mut source, counts| {
            for (pid, times) in histograms(source.take("fsync")?)? {
                counts.of_process(pid).fsync = Some(times);
            }
            Ok(())
        },
    },
    Part {
        name: "journal_commit",
        object: object!("journal"),
        watched: None,
        ways: &[&[
            Hook::Raw { program: "journal_end", point: "jbd2_end_commit" },
            Hook::Raw { program: "journal_start", point: "jbd2_start_commit" },
        ]],
        read: |mut source, counts| {
            counts.host.journal_commit = Some(histogram(source.take("journal_commit")?)?);
            Ok(())
        },
    },
    Part {
        name: "devices",
        object: object!("block"),
        watched: None,
        ways: &[&[
            Hook::Typed { program: "block_complete", point: "block_rq_complete" },
            Hook::Typed { program: "block_issue", point: "block_rq_issue" },
        ]],
        read: devices,
    },
    Part {
        name: "tcp_retransmits",
        object: object!("retransmit"),
        watched: None,
        ways: &[&[Hook::Raw { program: "retransmit", point: "tcp_retransmit_skb" }]],
        read: |mut source, counts| {
            let cpus = PerCpuArray::<_, u64>::try_from(source.take("retransmits")?)?;
            counts.host.tcp_retransmits = Some(cpus.get(&0, 0)?.iter().sum());
            Ok(())
        },
    },
    Part {
        name: "drops",
        object: object!("drops"),
        watched: None,
        ways: &[&[Hook::Typed { program: "drop", point: "kfree_skb" }]],
        read: drops,
    },
    Part {
        name: "softirq_ns",
        object: object!("softirq"),
        watched: None,
        ways: &[&[
            Hook::Raw { program: "softirq_exit", point: "softirq_exit" },
            Hook::Raw { program: "softirq_entry", point: "softirq_entry" },
        ]],
        read: softirqs,
    },
];

/// Block devices by name, the longest time first.
fn devices(mut source: Source<'_>, counts: &mut KernelCounts) -> Result<(), MapError> {
    let map = PerCpuHashMap::<_, u32, [u64; HISTOGRAM_WORDS]>::try_from(source.take("devices")?)?;
    for entry in map.iter() {
        let (number, cpus) = entry?;
        let device = device_name(source.root, number);
        counts.host.devices.push(DeviceTimes { device, times: super::histogram::merged(&cpus) });
    }
    counts
        .host
        .devices
        .sort_by(|a, b| b.times.sum_ns.cmp(&a.times.sum_ns).then_with(|| a.device.cmp(&b.device)));
    Ok(())
}

/// The name of a block device from the kernel's number, which has the minor in its lower 20 bits (`MINORBITS`,
/// include/linux/kdev_t.h). A device that has gone has none; then the number.
fn device_name(root: &HostRoot, number: u32) -> String {
    let number = format!("{}:{}", number >> 20, number & 0xf_ffff);
    let link = root.link(&format!("/sys/dev/block/{number}"));
    link.and_then(|path| path.rsplit('/').next().map(str::to_owned)).unwrap_or(number)
}

/// Reasons that say nothing of a loss: nobody gave one, or the packet was used.
const NO_LOSS: [&str; 3] = ["NOT_SPECIFIED", "CONSUMED", "NOT_DROPPED_YET"];

/// Drops by name, most first.
fn drops(mut source: Source<'_>, counts: &mut KernelCounts) -> Result<(), MapError> {
    let map = PerCpuHashMap::<_, u32, u64>::try_from(source.take("drops")?)?;
    for entry in map.iter() {
        let (number, cpus) = entry?;
        let reason = source.reasons.get(&number).cloned().unwrap_or_else(|| format!("{number:#x}"));
        if !NO_LOSS.contains(&reason.as_str()) {
            counts.host.drops.push(DropReason { reason, packets: cpus.iter().sum() });
        }
    }
    counts.host.drops.sort_by(|a, b| b.packets.cmp(&a.packets).then_with(|| a.reason.cmp(&b.reason)));
    Ok(())
}

/// Soft interrupts by their number (include/linux/interrupt.h), named as in `/proc/softirqs`.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Soft interrupts that took time, as `cpu0 NET_RX`.
fn softirqs(mut source: Source<'_>, counts: &mut KernelCounts) -> Result<(), MapError> {
    let map = PerCpuArray::<_, [u64; 2]>::try_from(source.take("softirqs")?)?;
    for (number, kind) in (0..).zip(SOFTIRQS) {
        for (cpu, [_since, time_ns]) in map.get(&number, 0)?.iter().enumerate() {
            if *time_ns > 0 {
                counts.host.softirq_ns.insert(format!("cpu{cpu} {kind}"), *time_ns);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::fs;
    use std::path::Path;

    #[test]
    fn committed_objects_are_of_the_sources_beside_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernel/programs");
        let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
        let mut named: Vec<&str> = Vec::new();
        for line in sums.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let got: String = Sha256::digest(fs::read(folder.join(name)).unwrap())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(got, sum, "{name} is not what was compiled: run scripts/build-bpf");
            named.push(name);
        }
        let mut there: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "SHA256SUMS")
            .collect();
        there.sort();
        named.sort_unstable();
        assert_eq!(named, there, "run scripts/build-bpf");
    }

    #[test]
    fn a_device_is_named_as_sysfs_does_and_by_its_number_when_it_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let block = folder.path().join("sys/dev/block");
        fs::create_dir_all(&block).unwrap();
        std::os::unix::fs::symlink("../../devices/virtual/block/loop3", block.join("7:3")).unwrap();
        let root = HostRoot::new(folder.path());
        assert_eq!(device_name(&root, 7 << 20 | 3), "loop3");
        assert_eq!(device_name(&root, 259 << 20 | 0xf_ffff), "259:1048575");
    }
}
