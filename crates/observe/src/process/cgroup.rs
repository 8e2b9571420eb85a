//! The control group of any process, in versions 1 and 2: the quota of processor time with what it held back, and the limits of writing
//! (kernel documentation, admin-guide/cgroup-v2, scheduler/sched-bwc, admin-guide/cgroup-v1/blkio-controller).
//!
//! A group is held by every group above it too. Of quotas the one counts that held back most; of limits the smallest. The path that the kernel tells is
//! followed only where this process sees that very group: a container's view of others' groups is none.

use crate::facts::{device_limits, parse_quota};
use crate::{HostRoot, growth};
use plumb_model::facts::Limit;
use plumb_model::observed::CgroupWindow;

/// One reading of a process' group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CgroupSample {
    path: String,
    /// The group and those above it that have a quota.
    quotas: Vec<Quota>,
    write_limit_bytes_per_s: Option<u64>,
    write_limit_per_s: Option<u64>,
    written: Written,
}

/// A level with a quota.
#[derive(Debug, Clone, PartialEq)]
struct Quota {
    path: String,
    cpus: f64,
    periods: Option<u64>,
    throttled_periods: Option<u64>,
    throttled_ns: Option<u64>,
}

/// What was written to the devices of the logs so far by the group that the limit is of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Written {
    bytes: Option<u64>,
    writes: Option<u64>,
}

/// A controller's folders for a process, the process' own first, then those above.
#[derive(Debug, PartialEq)]
struct Folders {
    version: u8,
    path: String,
    levels: Vec<String>,
}

/// Reads the group of a process; `devices` are the numbers (`8:16`) of those that its logs lie on. None where it cannot be seen.
pub(super) fn sample_cgroup(root: &HostRoot, pid: u32, devices: &[String]) -> Option<CgroupSample> {
    let membership = root.read(&format!("/proc/{pid}/cgroup")).ok()?;
    let mounts = root.read("/proc/self/mountinfo").ok()?;
    let seen = |controller: &str| {
        folders(&membership, &mounts, controller).filter(|folders| root.exists(&folders.levels[0]))
    };
    let (cpu, io) = (seen("cpu"), seen("blkio"));
    let path = cpu.as_ref().or(io.as_ref())?.path.clone();
    let quotas =
        cpu.iter().flat_map(|cpu| cpu.levels.iter().filter_map(|level| quota(root, cpu.version, level)));
    let mut sample = CgroupSample {
        path,
        quotas: quotas.collect(),
        write_limit_bytes_per_s: None,
        write_limit_per_s: None,
        written: Written::default(),
    };
    if let Some(io) = io {
        sample.add_writes(root, &io, devices);
    }
    Some(sample)
}

fn quota(root: &HostRoot, version: u8, level: &str) -> Option<Quota> {
    let text = |file: &str| root.read(&format!("{level}/{file}")).ok();
    let limit = match version {
        1 => {
            let quota = text("cpu.cfs_quota_us")?;
            parse_quota(&format!(
                "{} {}",
                quota.trim().replace("-1", "max"),
                text("cpu.cfs_period_us")?.trim()
            ))
        }
        _ => parse_quota(&text("cpu.max")?),
    };
    let Some(Limit::At(cpus)) = limit else { return None };
    let stat = text("cpu.stat").unwrap_or_default();
    let count = |key: &str| -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?.trim().parse().ok()
    };
    // Version 2 counts in microseconds, version 1 in nanoseconds.
    let throttled_us = count("throttled_usec").and_then(|us| us.checked_mul(1_000));
    Some(Quota {
        path: level.to_owned(),
        cpus,
        periods: count("nr_periods"),
        throttled_periods: count("nr_throttled"),
        throttled_ns: throttled_us.or_else(|| count("throttled_time")),
    })
}

impl CgroupSample {
    fn add_writes(&mut self, root: &HostRoot, io: &Folders, devices: &[String]) {
        let mut limiting = None;
        for level in &io.levels {
            for limit in device_limits(root, io.version, level).unwrap_or_default() {
                if !devices.contains(&limit.device) {
                    continue;
                }
                let place = match limit.key.as_str() {
                    "wbps" => &mut self.write_limit_bytes_per_s,
                    "wiops" => &mut self.write_limit_per_s,
                    _ => continue,
                };
                if place.is_none_or(|known| limit.value < known) {
                    *place = Some(limit.value);
                    limiting = Some(level);
                }
            }
        }
        self.written = written(root, io.version, limiting.unwrap_or(&io.levels[0]), devices);
    }
}

/// What a group and those below it wrote to these devices.
fn written(root: &HostRoot, version: u8, level: &str, devices: &[String]) -> Written {
    let text = |file: &str| root.read(&format!("{level}/{file}")).ok();
    if version == 2 {
        let text = text("io.stat");
        let sum = |key: &str| sum_of(text.as_deref()?, devices, |rest| value_of(rest, key));
        return Written { bytes: sum("wbytes="), writes: sum("wios=") };
    }
    let of = |file: &str| {
        let text = text(&format!("{file}_recursive")).or_else(|| text(file))?;
        sum_of(&text, devices, |rest| rest.strip_prefix("Write ")?.trim().parse().ok())
    };
    Written { bytes: of("blkio.throttle.io_service_bytes"), writes: of("blkio.throttle.io_serviced") }
}

/// Sum over the lines of these devices: `8:16 rbytes=1 wbytes=2`, `8:16 Write 2`. A device without a line had no traffic.
fn sum_of(text: &str, devices: &[String], value: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let values = lines.filter(|(device, _)| devices.iter().any(|known| known == device));
    values.filter_map(|(_, rest)| value(rest)).try_fold(0u64, u64::checked_add)
}

fn value_of(rest: &str, key: &str) -> Option<u64> {
    rest.split_ascii_whitespace().find_map(|word| word.strip_prefix(key))?.parse().ok()
}

/// What happened between two readings. A group that the process left meanwhile tells nothing of the window.
pub(super) fn cgroup_window(before: &CgroupSample, after: &CgroupSample) -> CgroupWindow {
    let same = before.path == after.path;
    let grown = |before: Option<u64>, after: Option<u64>| growth(before, after).filter(|_| same);
    let level = |later: &Quota| {
        let earlier = before.quotas.iter().find(|quota| quota.path == later.path);
        let grown = |of: fn(&Quota) -> Option<u64>| grown(earlier.and_then(of), of(later));
        Quota {
            path: later.path.clone(),
            cpus: later.cpus,
            periods: grown(|quota| quota.periods),
            throttled_periods: grown(|quota| quota.throttled_periods),
            throttled_ns: grown(|quota| quota.throttled_ns),
        }
    };
    // The level that held back in most of its periods; where none did, the smallest quota.
    let held = |quota: &Quota| match (quota.throttled_periods, quota.periods) {
        (Some(throttled), Some(periods)) if periods > 0 => throttled as f64 / periods as f64,
        _ => 0.0,
    };
    let levels = after.quotas.iter().map(level);
    let worst = levels.min_by(|a, b| held(b).total_cmp(&held(a)).then_with(|| a.cpus.total_cmp(&b.cpus)));
    CgroupWindow {
        path: after.path.clone(),
        quota_cpus: worst.as_ref().map(|quota| quota.cpus),
        periods: worst.as_ref().and_then(|quota| quota.periods),
        throttled_periods: worst.as_ref().and_then(|quota| quota.throttled_periods),
        throttled_ns: worst.and_then(|quota| quota.throttled_ns),
        write_limit_bytes_per_s: after.write_limit_bytes_per_s,
        write_limit_per_s: after.write_limit_per_s,
        written_bytes: grown(before.written.bytes, after.written.bytes),
        writes: grown(before.written.writes, after.written.writes),
    }
}

/// The folders of a controller: in version 1 where the membership names it, else in version 2. None where they lie outside of what is mounted here.
fn folders(membership: &str, mounts: &str, controller: &str) -> Option<Folders> {
    let in_list = |list: &str| list.split(',').any(|name| name == controller);
    let groups = || membership.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let first = groups().find(|(controllers, _)| in_list(controllers)).map(|(_, path)| (1, path));
    let (version, path) =
        first.or_else(|| Some((2, groups().find(|(controllers, _)| controllers.is_empty())?.1)))?;
    let mount = mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(3);
        let (group, point) = (words.next()?, words.next()?);
        let mut words = file_system.split(' ');
        let (kind, options) = (words.next()?, words.nth(1)?);
        let fits = if version == 1 { kind == "cgroup" && in_list(options) } else { kind == "cgroup2" };
        fits.then_some((group.trim_end_matches('/'), point))
    })?;
    let (group, point) = mount;
    // Above what this name space or mount shows begins a path with `/..`.
    let below = path.strip_prefix(group).filter(|below| below.is_empty() || below.starts_with('/'))?;
    if below.split('/').any(|part| part == "..") {
        return None;
    }
    let mut levels = vec![format!("{point}{}", below.trim_end_matches('/'))];
    while let Some(end) = levels[levels.len() - 1].rfind('/').filter(|end| *end >= point.len()) {
        levels.push(levels[levels.len() - 1][..end].to_owned());
    }
    Some(Folders { version, path: path.to_owned(), levels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;

    const VERSION_1: &str = "30 20 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n31 20 0:27 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
    const VERSION_2: &str = "30 20 0:26 / /cg rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn write(folder: &Path, files: &[(&str, &str)]) -> HostRoot {
        for (path, text) in files {
            let path = folder.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        HostRoot::new(folder)
    }

    fn device() -> Vec<String> {
        vec!["8:16".to_owned()]
    }

    #[test]
    fn in_version_two_the_level_that_held_back_counts_and_the_smallest_limit_with_what_its_group_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let sample = |throttled: u64, written: u64| {
            let root = write(
                folder.path(),
                &[
                    ("/proc/7/cgroup", "0::/a/b\n"),
                    ("/proc/self/mountinfo", VERSION_2),
                    ("/cg/a/b/cpu.max", "50000 100000\n"),
                    ("/cg/a/b/cpu.stat", "usage_usec 1\nnr_periods 100\nnr_throttled 0\nthrottled_usec 0\n"),
                    ("/cg/a/cpu.max", "200000 100000\n"),
                    (
                        "/cg/a/cpu.stat",
                        &format!(
                            "nr_periods {}\nnr_throttled {throttled}\nthrottled_usec {throttled}\n",
                            100 + throttled
                        ),
                    ),
                    (
                        "/cg/a/b/io.max",
                        "8:16 rbps=max wbps=20000000 riops=max wiops=max\n8:0 wbps=1 wiops=1\n",
                    ),
                    ("/cg/a/io.max", "8:16 rbps=max wbps=10000000 riops=max wiops=500\n"),
                    (
                        "/cg/a/io.stat",
                        &format!("8:16 rbytes=1 wbytes={written} rios=2 wios=70\n8:0 wbytes=999 wios=1\n"),
                    ),
                ],
            );
            sample_cgroup(&root, 7, &device()).unwrap()
        };
        let (before, after) = (sample(10, 1_000), sample(50, 5_000));
        let expected = CgroupWindow {
            path: "/a/b".to_owned(),
            quota_cpus: Some(2.0),
            periods: Some(40),
            throttled_periods: Some(40),
            throttled_ns: Some(40_000),
            write_limit_bytes_per_s: Some(10_000_000),
            write_limit_per_s: Some(500),
            written_bytes: Some(4_000),
            writes: Some(0),
        };
        assert_eq!(cgroup_window(&before, &after), expected);
    }

    #[test]
    fn in_version_one_each_controller_has_a_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = write(
            folder.path(),
            &[
                ("/proc/7/cgroup", "3:blkio:/io\n2:cpu,cpuacct:/work\n0::/\n"),
                ("/proc/self/mountinfo", VERSION_1),
                ("/cg/cpu/work/cpu.cfs_quota_us", "150000\n"),
                ("/cg/cpu/work/cpu.cfs_period_us", "100000\n"),
                ("/cg/cpu/work/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 77\n"),
                ("/cg/cpu/cpu.cfs_quota_us", "-1\n"),
                ("/cg/cpu/cpu.cfs_period_us", "100000\n"),
                ("/cg/blkio/io/blkio.throttle.write_bps_device", "8:16 31000000\n"),
                (
                    "/cg/blkio/io/blkio.throttle.io_service_bytes_recursive",
                    "8:16 Read 1\n8:16 Write 900\nTotal 901\n",
                ),
                ("/cg/blkio/io/blkio.throttle.io_serviced", "8:16 Read 1\n8:16 Write 9\n"),
            ],
        );
        let sample = sample_cgroup(&root, 7, &device()).unwrap();
        assert_eq!(sample.quotas.len(), 1);
        assert_eq!((sample.quotas[0].cpus, sample.quotas[0].throttled_ns), (1.5, Some(77)));
        assert_eq!(sample.write_limit_bytes_per_s, Some(31_000_000));
        assert_eq!(sample.written, Written { bytes: Some(900), writes: Some(9) });
    }

    #[test]
    fn a_process_that_changed_its_group_and_counters_that_went_back_have_no_growth() {
        let quota = |periods| Quota {
            path: "/a".to_owned(),
            cpus: 1.0,
            periods: Some(periods),
            throttled_periods: Some(1),
            throttled_ns: Some(1),
        };
        let sample = |path: &str, periods, bytes| CgroupSample {
            path: path.to_owned(),
            quotas: vec![quota(periods)],
            write_limit_bytes_per_s: None,
            write_limit_per_s: None,
            written: Written { bytes: Some(bytes), writes: None },
        };
        let moved = cgroup_window(&sample("/a", 1, 1), &sample("/b", 9, 9));
        assert_eq!((moved.periods, moved.throttled_ns, moved.written_bytes), (None, None, None));
        let back = cgroup_window(&sample("/a", 9, 9), &sample("/a", 1, 1));
        assert_eq!((back.periods, back.throttled_periods, back.written_bytes), (None, Some(0), None));
    }

    #[test]
    fn a_group_that_is_not_mounted_here_is_not_seen() {
        let mounted = "30 20 0:26 /docker/a /cg rw - cgroup2 cgroup2 rw\n";
        let of = |membership, mounts| folders(membership, mounts, "cpu").map(|folders| folders.levels);
        assert_eq!(of("0::/docker/a/b\n", mounted).unwrap(), ["/cg/b", "/cg"]);
        assert_eq!(of("0::/docker/a\n", mounted).unwrap(), ["/cg"]);
        assert_eq!(of("0::/docker/ab\n", mounted), None);
        assert_eq!(of("0::/../other\n", VERSION_2), None);
        assert_eq!(of("0::/\n", ""), None);
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)[0-9:/ ,a-z.=]{0,60}.{0,20}", mounts in "(?s)(1 2 0:1 /[a-z/.]{0,4} /[a-z/]{0,4} rw - cgroup2? x rw,[a-z,]{0,8}\n){0,3}") {
            let _ = folders(&text, &mounts, "cpu");
            let _ = sum_of(&text, &device(), |rest| value_of(rest, "wbytes="));
        }
    }
}
