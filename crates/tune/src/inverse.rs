//! The values that put a kernel setting of this host back: mostly its own former value, but some settings are halves of one, and
//! changing some resets others.

use crate::devices;
use crate::host::Host;
use crate::setting::{Setting, SettingError};
use std::path::Path;

/// Two names for one limit, an amount and a share: the kernel sets one to 0 when the other is written, and does not take the 0
/// back (kernel documentation, admin-guide/sysctl/vm.rst). While the amount is 0 the share is in force.
const HALVES: [[&str; 2]; 3] = [
    ["vm.dirty_bytes", "vm.dirty_ratio"],
    ["vm.dirty_background_bytes", "vm.dirty_background_ratio"],
    ["vm.overcommit_kbytes", "vm.overcommit_ratio"],
];

/// A disk's scheduler: the next one begins with its own queue length and tunables.
const SCHEDULER: &str = "queue/scheduler";
/// A governor of frequency: `performance` sets the preference of energy, and refuses another one while it is in force (kernel
/// documentation, admin-guide/pm/intel_pstate.rst). Put back after the governor, it is taken.
const GOVERNOR: &str = "scaling_governor";
const PREFERENCE: &str = "energy_performance_preference";

/// The settings and values that put a setting back to its present value, in this order.
pub(super) fn inverse(setting: &Setting, files: &Host) -> Result<Vec<(Setting, String)>, SettingError> {
    if let Some([amount, share]) = halves(setting)? {
        let in_force = if amount.read(files)? == "0" { share } else { amount };
        let value = in_force.read(files)?;
        return Ok(vec![(in_force, value)]);
    }
    let mut back = vec![(setting.clone(), setting.read(files)?)];
    for other in reset_by(setting, files)? {
        let value = other.read(files)?;
        back.push((other, value));
    }
    Ok(back)
}

/// Refuses a change that cannot be made or put back. Writes what the setting is now, and nothing else.
pub(super) fn check_change(setting: &Setting, files: &Host, value: &str) -> Result<(), SettingError> {
    setting.check_written(files, value)?;
    check(setting, files)
}

/// Refuses a setting that could not be put back: what is to be written then is written now, where it changes nothing.
fn check(setting: &Setting, files: &Host) -> Result<(), SettingError> {
    // A driver's settings are not tried: writing one may take the link down.
    if setting.path().is_none() {
        return Ok(());
    }
    for (part, value) in inverse(setting, files)? {
        // A share of 0 that is in force is no way back: the kernel takes it for no change and leaves the amount.
        let stays = halves(setting)?.is_some() && value == "0";
        if stays || part.write(files, &value).is_err() {
            return Err(SettingError::NoInverse {
                name: setting.name().to_owned(),
                part: part.name().to_owned(),
                value,
            });
        }
    }
    Ok(())
}

/// Refuses two settings of which one undoes the other.
pub(super) fn check_together(settings: &[Setting]) -> Result<(), SettingError> {
    for (at, setting) in settings.iter().enumerate() {
        let pair = halves(setting)?;
        let other = settings[..at].iter().find(|other| match &pair {
            Some(pair) => pair.iter().any(|half| half.path() == other.path()),
            None => setting.is_same(other),
        });
        if let Some(other) = other {
            return Err(SettingError::Twice {
                name: other.name().to_owned(),
                other: setting.name().to_owned(),
            });
        }
    }
    Ok(())
}

/// True if a change of it changes others, so that it has to be changed before them.
pub(super) fn resets_others(setting: &Setting) -> bool {
    let is_file = |path: &Path| path.ends_with(SCHEDULER) || path.ends_with(GOVERNOR);
    setting.path().is_some_and(is_file) || setting.interface_of_channels().is_some()
}

/// The two halves, the amount first; none of a setting that stands alone.
fn halves(setting: &Setting) -> Result<Option<[Setting; 2]>, SettingError> {
    for [amount, share] in HALVES {
        let pair = [Setting::new(amount)?, Setting::new(share)?];
        if pair.iter().any(|half| half.path() == setting.path()) {
            return Ok(Some(pair));
        }
    }
    Ok(None)
}

/// The settings that a change of the setting resets, as far as this host has them.
fn reset_by(setting: &Setting, host: &Host) -> Result<Vec<Setting>, SettingError> {
    let names = match (setting.interface_of_channels(), setting.path()) {
        (Some(interface), _) => reset_by_channels(interface, host),
        (None, Some(path)) if path.ends_with(SCHEDULER) => reset_by_scheduler(path, host),
        (None, Some(path)) if path.ends_with(GOVERNOR) => {
            let preference = path.with_file_name(PREFERENCE).display().to_string();
            Some(preference).filter(|preference| host.root().exists(preference)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    names.iter().map(|name| Setting::new(name)).collect()
}

/// The queue length and the scheduler's own tunables.
fn reset_by_scheduler(path: &Path, host: &Host) -> Vec<String> {
    let Some(queue) = path.parent().map(|queue| queue.display().to_string()) else { return Vec::new() };
    let length = format!("{queue}/nr_requests");
    // A disk without a scheduler has no tunables.
    let tunables = host.root().list(&format!("{queue}/iosched")).unwrap_or_default();
    let tunables = tunables.iter().map(|name| format!("{queue}/iosched/{name}"));
    Some(length).filter(|length| host.root().exists(length)).into_iter().chain(tunables).collect()
}

/// What a driver that makes its queues anew forgets: how packets are spread over them and which processors serve them. Only what can be
/// read can be put back.
fn reset_by_channels(interface: &str, host: &Host) -> Vec<String> {
    let queues = format!("/sys/class/net/{interface}/queues");
    let mut names = vec![format!("ethtool:{interface}:rss"), format!("ethtool:{interface}:coalesce")];
    for queue in host.root().list(&queues).unwrap_or_default() {
        for file in ["rps_cpus", "rps_flow_cnt", "xps_cpus"] {
            names.push(format!("{queues}/{queue}/{file}"));
        }
    }
    names.extend(devices::interrupts(host, interface).into_iter().map(|interrupt| interrupt.setting));
    let is_readable = |name: &String| Setting::new(name).is_ok_and(|setting| setting.read(host).is_ok());
    names.retain(is_readable);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::fault::{Fault, HasFault};
    use plumb_observe::HostRoot;

    /// A host with these files.
    fn host(content: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in content {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let files = Host::below(HostRoot::new(root.path()));
        (root, files)
    }

    fn back(name: &str, files: &Host) -> Vec<(String, String)> {
        let back = inverse(&Setting::new(name).unwrap(), files).unwrap();
        back.into_iter().map(|(setting, value)| (setting.name().to_owned(), value)).collect()
    }

    fn entry(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn of_two_halves_the_one_in_force_is_put_back_whichever_is_changed() {
        let (_root, files) = host(&[("proc/sys/vm/dirty_bytes", "0\n"), ("proc/sys/vm/dirty_ratio", "20\n")]);
        for name in ["vm.dirty_bytes", "vm.dirty_ratio", "/proc/sys/vm/dirty_bytes"] {
            assert_eq!(back(name, &files), [entry("vm.dirty_ratio", "20")]);
        }
        let (_root, files) = host(&[
            ("proc/sys/vm/dirty_background_bytes", "1048576\n"),
            ("proc/sys/vm/dirty_background_ratio", "0\n"),
        ]);
        for name in ["vm.dirty_background_bytes", "vm.dirty_background_ratio"] {
            assert_eq!(back(name, &files), [entry("vm.dirty_background_bytes", "1048576")]);
        }
    }

    #[test]
    fn checking_a_half_writes_to_the_one_in_force_alone() {
        let (root, files) = host(&[("proc/sys/vm/dirty_bytes", "0\n"), ("proc/sys/vm/dirty_ratio", "20\n")]);
        let place = |name: &str| root.path().join("proc/sys/vm").join(name);
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        for name in ["dirty_bytes", "dirty_ratio"] {
            std::fs::File::options().write(true).open(place(name)).unwrap().set_modified(long_ago).unwrap();
        }
        check(&Setting::new("vm.dirty_bytes").unwrap(), &files).unwrap();
        let is_written = |name| std::fs::metadata(place(name)).unwrap().modified().unwrap() != long_ago;
        assert_eq!((is_written("dirty_bytes"), is_written("dirty_ratio")), (false, true));
    }

    #[test]
    fn a_share_of_0_that_is_in_force_cannot_be_put_back_and_is_refused() {
        let (_root, files) = host(&[("proc/sys/vm/dirty_bytes", "0\n"), ("proc/sys/vm/dirty_ratio", "0\n")]);
        let error = check(&Setting::new("vm.dirty_bytes").unwrap(), &files).unwrap_err();
        assert!(error.to_string().contains("could not be put back"), "{error}");
        assert_eq!(error.fault(), Fault::Environment);
    }

    #[test]
    fn a_setting_that_the_kernel_does_not_take_back_as_it_reads_is_refused() {
        // This process's own filter of core dumps: it reads as hexadecimal digits, which the kernel takes for octal ones.
        let (root, files) = host(&[("proc/sys/vm/other", "1\n")]);
        std::os::unix::fs::symlink("/proc/self/coredump_filter", root.path().join("proc/sys/vm/odd"))
            .unwrap();
        check(&Setting::new("vm.other").unwrap(), &files).unwrap();
        let error = check(&Setting::new("vm.odd").unwrap(), &files).unwrap_err();
        assert!(matches!(error, SettingError::NoInverse { .. }), "{error}");
    }

    #[test]
    fn with_a_disks_scheduler_its_queue_length_and_tunables_are_put_back_after_it() {
        let (_root, files) = host(&[
            ("sys/block/vda/queue/scheduler", "none [mq-deadline] kyber\n"),
            ("sys/block/vda/queue/nr_requests", "512\n"),
            ("sys/block/vda/queue/iosched/read_expire", "500\n"),
            ("sys/block/vda/queue/iosched/fifo_batch", "16\n"),
            ("sys/block/vdb/queue/scheduler", "[none]\n"),
        ]);
        let queue = "/sys/block/vda/queue";
        assert_eq!(
            back("/sys/block/vda/queue/scheduler", &files),
            [
                entry(&format!("{queue}/scheduler"), "mq-deadline"),
                entry(&format!("{queue}/nr_requests"), "512"),
                entry(&format!("{queue}/iosched/fifo_batch"), "16"),
                entry(&format!("{queue}/iosched/read_expire"), "500"),
            ]
        );
        assert_eq!(
            back("/sys/block/vdb/queue/scheduler", &files),
            [entry("/sys/block/vdb/queue/scheduler", "none")]
        );
    }

    #[test]
    fn with_a_governor_the_preference_of_energy_is_put_back_after_it() {
        let (_root, files) = host(&[
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_power\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "ondemand\n"),
        ]);
        let policy = "/sys/devices/system/cpu/cpufreq/policy";
        assert_eq!(
            back(&format!("{policy}0/scaling_governor"), &files),
            [
                entry(&format!("{policy}0/scaling_governor"), "powersave"),
                entry(&format!("{policy}0/energy_performance_preference"), "balance_power"),
            ]
        );
        assert_eq!(
            back(&format!("{policy}1/scaling_governor"), &files),
            [entry(&format!("{policy}1/scaling_governor"), "ondemand")]
        );
    }

    #[test]
    fn one_arm_cannot_set_both_halves_nor_one_setting_by_two_names() {
        let settings = |names: [&str; 2]| names.map(|name| Setting::new(name).unwrap());
        for names in [["vm.dirty_bytes", "vm.dirty_ratio"], ["vm.swappiness", "/proc/sys/vm/swappiness"]] {
            let error = check_together(&settings(names)).unwrap_err();
            assert_eq!(error.fault(), Fault::User, "{error}");
            assert!(error.to_string().contains(names[0]), "{error}");
        }
        check_together(&settings(["vm.dirty_bytes", "vm.dirty_background_ratio"])).unwrap();
    }
}
