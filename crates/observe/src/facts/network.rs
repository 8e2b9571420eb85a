//! Network interfaces: driver, speed, queues, and whether packets go around the hypervisor.
//!
//! From `/sys/class/net` (kernel documentation, ABI/testing/sysfs-class-net). Addresses are never read.

mod bypass;

use plumb_model::facts::{Fact, NetworkInterface, Virtualisation};

use crate::HostRoot;

const NET: &str = "/sys/class/net";

/// More than any host has of real ones; a host of containers has thousands of virtual ones.
const INTERFACES_MAX: usize = 64;

pub(super) fn interfaces(root: &HostRoot, below: &Fact<Virtualisation>) -> Fact<Vec<NetworkInterface>> {
    let names = match root.list(NET) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let has_device = |name: &String| root.exists(&format!("{NET}/{name}/device"));
    // A few files such as `bonding_masters` lie between the folders.
    let is_one = |name: &String| name != "lo" && root.exists(&format!("{NET}/{name}/mtu"));
    let (real, virtual_ones): (Vec<String>, Vec<String>) =
        names.into_iter().filter(is_one).partition(has_device);
    let count = real.len() + virtual_ones.len();
    let guest = below.value().map(|below| below.virtual_machine);
    let found: Vec<NetworkInterface> = real
        .into_iter()
        .chain(virtual_ones)
        .take(INTERFACES_MAX)
        .map(|name| interface(root, name, guest))
        .collect();
    let source = match count - found.len() {
        0 => NET.to_owned(),
        left_out => format!("{NET} ({left_out} more are left out)"),
    };
    Fact::known(found, source)
}

fn interface(root: &HostRoot, name: String, guest: Option<bool>) -> NetworkInterface {
    let folder = format!("{NET}/{name}");
    let text = |path: &str| {
        let text = root.read(&format!("{folder}/{path}")).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    // -1 is how drivers write that they do not know.
    let number = |path: &str| text(path)?.parse::<u64>().ok();
    let queues = root.list(&format!("{folder}/queues")).unwrap_or_default();
    let queues = |stem: &str| queues.iter().filter(|name| name.starts_with(stem)).count() as u32;
    let device = root.exists(&format!("{folder}/device"));
    let over: Vec<String> = root
        .list(&folder)
        .unwrap_or_default()
        .iter()
        .filter_map(|file| Some(file.strip_prefix("lower_")?.to_owned()))
        .collect();
    let driver = if device { driver(root, &folder) } else { kind(&text("uevent").unwrap_or_default()) };
    let attached = over.iter().find(|lower| root.exists(&format!("{NET}/{lower}/device")));
    let verdict = bypass::judge(&bypass::Signs {
        guest,
        device,
        driver: driver.as_deref(),
        pci_id: pci_id(root, &folder),
        has_physical_function: root.exists(&format!("{folder}/device/physfn")),
        attached: attached.map(|lower| (lower.as_str(), self::driver(root, &format!("{NET}/{lower}")))),
    });
    let functions = number("device/sriov_totalvfs").filter(|total| *total > 0);
    NetworkInterface {
        driver,
        device,
        state: text("operstate"),
        speed_mbit_per_s: number("speed").filter(|speed| *speed > 0),
        mtu_bytes: number("mtu"),
        receive_queues: queues("rx-"),
        transmit_queues: queues("tx-"),
        numa_node: text("device/numa_node").and_then(|node| node.parse().ok()),
        virtual_functions: functions.map(|total| {
            [number("device/sriov_numvfs").unwrap_or(0), total].map(|n| n.min(u64::from(u32::MAX)) as u32)
        }),
        over,
        bypasses_hypervisor: verdict.0,
        bypass_reason: verdict.1,
        name,
    }
}

fn driver(root: &HostRoot, folder: &str) -> Option<String> {
    Some(root.link(&format!("{folder}/device/driver"))?.rsplit('/').next()?.to_owned())
}

/// `DEVTYPE=bond`
fn kind(uevent: &str) -> Option<String> {
    uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).map(str::to_owned)
}

/// Vendor and device: `0x15b3`, `0x101a`.
fn pci_id(root: &HostRoot, folder: &str) -> Option<(u16, u16)> {
    let id = |name: &str| {
        let text = root.read(&format!("{folder}/device/{name}")).ok()?;
        u16::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
    };
    Some((id("vendor")?, id("device")?))
}
