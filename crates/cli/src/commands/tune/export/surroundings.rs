//! What a plan does not say of this host, and its files need: what devices are known by, units, TuneD's profile.

use plumb_model::check::TunePlan;
use plumb_observe::HostRoot;
use plumb_report::install::plan::{InterfaceIdentity, Surroundings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// `addr_assign_type` of an address that the hardware has (`NET_ADDR_PERM`).
const PERMANENT: &str = "0";

/// The profile that this program writes: it cannot be on top of itself.
const OWN_PROFILE: &str = "plumb";

pub(super) fn look(plan: &TunePlan) -> Surroundings {
    below(&HostRoot::default(), plan)
}

fn below(root: &HostRoot, plan: &TunePlan) -> Surroundings {
    let keys = || plan.changes.iter().map(|planned| planned.change.target.key.as_str());
    let part = |top: &str| -> BTreeSet<String> {
        keys().filter_map(|key| Some(key.strip_prefix(top)?.split('/').next()?.to_owned())).collect()
    };
    let of_driver = |key: &str| Some(key.strip_prefix("ethtool:")?.rsplit_once(':')?.0.to_owned());
    let interfaces: BTreeSet<String> = part("/sys/class/net/")
        .into_iter()
        .chain(keys().filter_map(of_driver))
        .filter(|it| is_name(it))
        .collect();
    let disks: BTreeSet<String> =
        part("/sys/block/").into_iter().chain(part("/sys/class/block/")).filter(|it| is_name(it)).collect();
    let pids = keys().filter_map(|key| key.strip_prefix("affinity:"));
    let advised = plan.left_out.iter().filter_map(|check| check.target.strip_prefix("process "));
    let pids: BTreeSet<u32> = pids.chain(advised).filter_map(|pid| pid.parse().ok()).collect();
    Surroundings {
        interfaces: interfaces.into_iter().map(|name| (name.clone(), interface(root, &name))).collect(),
        disks: disks.into_iter().filter_map(|disk| Some((disk.clone(), disk_path(root, &disk)?))).collect(),
        units: pids.into_iter().filter_map(|pid| Some((pid, unit(root, pid)?))).collect::<BTreeMap<_, _>>(),
        tuned_profile: text(root, "/etc/tuned/active_profile").filter(|profile| profile != OWN_PROFILE),
    }
}

/// A name that is one part of a path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

fn interface(root: &HostRoot, name: &str) -> InterfaceIdentity {
    let folder = format!("/sys/class/net/{name}");
    let last = |link: &str| {
        let target = root.link(&format!("{folder}/{link}"))?;
        Some(Path::new(&target).file_name()?.to_str()?.to_owned())
    };
    let index = text(root, &format!("{folder}/ifindex"));
    let is_permanent = text(root, &format!("{folder}/addr_assign_type")).as_deref() == Some(PERMANENT);
    InterfaceIdentity {
        device: last("device"),
        driver: last("device/driver"),
        path: index.and_then(|index| udev_path(root, &format!("n{index}"))),
        address: text(root, &format!("{folder}/address"))
            .filter(|_| is_permanent && last("device").is_some()),
    }
}

fn disk_path(root: &HostRoot, disk: &str) -> Option<String> {
    udev_path(root, &format!("b{}", text(root, &format!("/sys/class/block/{disk}/dev"))?))
}

/// `ID_PATH` of a device, as udev keeps it.
fn udev_path(root: &HostRoot, device: &str) -> Option<String> {
    let known = root.read(&format!("/run/udev/data/{device}")).ok()?;
    known.lines().find_map(|line| line.strip_prefix("E:ID_PATH=")).map(str::to_owned)
}

/// The service that a process is of.
fn unit(root: &HostRoot, pid: u32) -> Option<String> {
    let groups = root.read(&format!("/proc/{pid}/cgroup")).ok()?;
    let units = groups.lines().filter_map(|line| line.rsplit('/').find(|part| part.ends_with(".service")));
    units.map(str::to_owned).next()
}

fn text(root: &HostRoot, path: &str) -> Option<String> {
    let text = root.read(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::change::{Change, Owner, Target};
    use plumb_model::check::{PlannedChange, Risk, Role, SCHEMA_VERSION};

    fn plan(keys: &[&str]) -> TunePlan {
        let change = |key: &&str| PlannedChange {
            id: "profile".to_owned(),
            order: 1,
            change: Change::plain(
                Target { owner: Owner::Host, key: (*key).to_owned() },
                Some("1".to_owned()),
                Some("2".to_owned()),
            ),
            risk: Risk::Low,
            interrupts: String::new(),
            reason: String::new(),
            evidence: Vec::new(),
            expected: String::new(),
            source: String::new(),
        };
        TunePlan {
            schema_version: SCHEMA_VERSION,
            plumb_version: String::new(),
            made_at: String::new(),
            role: Role::KafkaBroker,
            host_digest: None,
            bootstrap: None,
            changes: keys.iter().map(change).collect(),
            left_out: Vec::new(),
            cpus: Vec::new(),
        }
    }

    #[test]
    fn a_device_is_known_by_its_place_and_a_process_by_its_unit() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/class/net/eth0/ifindex", "2\n");
        write("sys/class/net/eth0/addr_assign_type", "0\n");
        write("sys/class/net/eth0/address", "52:54:00:12:34:56\n");
        write("sys/devices/pci0000:00/0000:00:03.0/vendor", "x");
        write("sys/bus/pci/drivers/ice/bind", "");
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, place.path().join(at)).unwrap();
        link("../../../devices/pci0000:00/0000:00:03.0", "sys/class/net/eth0/device");
        link("../../../bus/pci/drivers/ice", "sys/devices/pci0000:00/0000:00:03.0/driver");
        write("run/udev/data/n2", "I:1\nE:ID_PATH=pci-0000:00:03.0\n");
        write("sys/class/block/sda/dev", "8:0\n");
        write("run/udev/data/b8:0", "E:ID_PATH=pci-0000:00:1f.2-ata-1\n");
        write("proc/77/cgroup", "0::/system.slice/kafka.service\n");
        write("etc/tuned/active_profile", "throughput-performance\n");
        let around = below(
            &HostRoot::new(place.path()),
            &plan(&[
                "ethtool:eth0:rings",
                "/sys/block/sda/queue/scheduler",
                "affinity:77",
                "ethtool:../x:rings",
            ]),
        );
        let identity = InterfaceIdentity {
            device: Some("0000:00:03.0".to_owned()),
            driver: Some("ice".to_owned()),
            path: Some("pci-0000:00:03.0".to_owned()),
            address: Some("52:54:00:12:34:56".to_owned()),
        };
        assert_eq!(around.interfaces, BTreeMap::from([("eth0".to_owned(), identity)]));
        assert_eq!(around.disks, BTreeMap::from([("sda".to_owned(), "pci-0000:00:1f.2-ata-1".to_owned())]));
        assert_eq!(around.units, BTreeMap::from([(77, "kafka.service".to_owned())]));
        assert_eq!(around.tuned_profile.as_deref(), Some("throughput-performance"));
    }
}
