//! The network interfaces and disks of a host, and what belongs to each: queues, interrupts, memory node.

use crate::cpus;
use crate::host::Host;
use crate::setting::lines;
use std::collections::BTreeSet;
use std::path::Path;

/// A network interface other than loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// The driver's name; none of an interface that is no device (a bridge, a tunnel).
    pub(crate) driver: Option<String>,
    /// Its device's address on PCI.
    pub(crate) pci: Option<String>,
    /// The memory node that its device hangs on; none where there is one node only or the firmware does not say.
    pub(crate) node: Option<u32>,
    pub(crate) receive_queues: u32,
    pub(crate) transmit_queues: u32,
    pub(crate) is_up: bool,
}

/// An interrupt of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceInterrupt {
    /// The name of the setting that places it.
    pub(crate) setting: String,
    pub(crate) number: u32,
    pub(crate) name: String,
}

/// The interfaces of a host, by name.
pub(crate) fn interfaces(host: &Host) -> Vec<Interface> {
    let names = host.root().list("/sys/class/net").unwrap_or_default();
    // A bonding's list of masters is a file among the directories.
    let is_interface =
        |name: &String| name != "lo" && host.root().exists(&format!("/sys/class/net/{name}/queues"));
    names.into_iter().filter(is_interface).map(|name| interface(host, name)).collect()
}

fn interface(host: &Host, name: String) -> Interface {
    let folder = format!("/sys/class/net/{name}");
    let queues = host.root().list(&format!("{folder}/queues")).unwrap_or_default();
    let count = |kind: &str| queues.iter().filter(|queue| queue.starts_with(kind)).count() as u32;
    let driver = host.root().link(&format!("{folder}/device/driver"));
    let text = |file: &str| Some(host.root().read(&format!("{folder}/{file}")).ok()?.trim().to_owned());
    Interface {
        driver: driver.and_then(|path| last_part(&path)),
        pci: pci_of(host, &format!("{folder}/device")),
        // -1 where the firmware does not say.
        node: text("device/numa_node").and_then(|node| node.parse().ok()),
        receive_queues: count("rx-"),
        transmit_queues: count("tx-"),
        is_up: text("operstate").is_some_and(|state| state == "up" || state == "unknown"),
        name,
    }
}

/// The address of the device, or of the one that it is a part of, that has interrupts on PCI.
fn pci_of(host: &Host, device: &str) -> Option<String> {
    let real = host.root().real(device).ok()?;
    let is_address = |name: &&str| name.len() >= 12 && name.matches(':').count() == 2 && name.contains('.');
    let parts: Vec<&str> = real.iter().filter_map(|part| part.to_str()).collect();
    parts.into_iter().rev().find(is_address).map(str::to_owned)
}

fn last_part(path: &str) -> Option<String> {
    Some(Path::new(path).file_name()?.to_str()?.to_owned())
}

/// The interrupts of an interface's device, by number. Some kernels leave the list of a device's interrupts empty; then those are its
/// whose name has the interface's, or its device's, in it.
pub(crate) fn interrupts(host: &Host, interface: &str) -> Vec<DeviceInterrupt> {
    let device = format!("/sys/class/net/{interface}/device");
    let Some(own) = host.root().real(&device).ok().and_then(|real| last_part(&real.to_string_lossy())) else {
        return Vec::new();
    };
    let pci = pci_of(host, &device);
    let listed = |pci: &String| host.root().list(&format!("/sys/bus/pci/devices/{pci}/msi_irqs")).ok();
    let numbers: BTreeSet<u32> = pci
        .as_ref()
        .and_then(listed)
        .unwrap_or_default()
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    // `mlx5_comp3@pci:0000:5e:00.0` and `i40e-0000:5e:00.0:misc` have the address itself.
    let is_address = own.contains(':');
    let is_its = |name: &str| {
        name.split(['-', '.', '@', ':']).any(|part| part == interface || part == own)
            || (is_address && name.contains(&own))
    };
    let address = pci.unwrap_or_else(|| own.clone());
    let mut found: Vec<DeviceInterrupt> = lines(host)
        .into_iter()
        .filter(|line| if numbers.is_empty() { is_its(&line.name) } else { numbers.contains(&line.number) })
        .map(|line| DeviceInterrupt {
            setting: format!("irq:{address}:{}", line.name),
            number: line.number,
            name: line.name,
        })
        .collect();
    // A device of several functions behind one address has names of its own for each: keep those of this function, where they tell.
    if found.iter().any(|interrupt| interrupt.name.starts_with(&format!("{own}-"))) {
        found.retain(|interrupt| interrupt.name.starts_with(&format!("{own}-")));
    }
    found.sort_by_key(|interrupt| interrupt.number);
    found
}

/// The memory node that a disk's device hangs on; none where there is one node only or nothing says.
pub(crate) fn disk_node(host: &Host, disk: &str) -> Option<u32> {
    let real = host.root().real(&format!("/sys/block/{disk}")).ok()?;
    let top = host.root().real("/").ok()?;
    let place = Path::new("/").join(real.strip_prefix(top).ok()?);
    // The disk is a part of a controller, which is a part of a device on a bus.
    let node =
        |part: &Path| host.root().read(&part.join("numa_node").to_string_lossy()).ok()?.trim().parse().ok();
    place.ancestors().find_map(node)
}

/// Whole disks that data can be on, by name: not those of memory, loops or optical drives.
pub(crate) fn disks(host: &Host) -> Vec<String> {
    let names = host.root().list("/sys/block").unwrap_or_default();
    let is_disk = |name: &String| {
        !["loop", "ram", "zram", "sr", "fd", "dm-", "md"].iter().any(|kind| name.starts_with(kind))
            && host.root().exists(&format!("/sys/block/{name}/queue/scheduler"))
    };
    names.into_iter().filter(is_disk).collect()
}

/// Processors that are on line.
pub(crate) fn online_cpus(host: &Host) -> BTreeSet<u32> {
    let text = host.root().read("/sys/devices/system/cpu/online").unwrap_or_default();
    cpus::parse_list(&text).unwrap_or_default()
}

/// Processors of a memory node; all that are on line where the host tells of no nodes.
pub(crate) fn node_cpus(host: &Host, node: Option<u32>) -> BTreeSet<u32> {
    let of = |node: u32| {
        let text = host.root().read(&format!("/sys/devices/system/node/node{node}/cpulist")).ok()?;
        cpus::parse_list(&text).filter(|cpus| !cpus.is_empty())
    };
    node.and_then(of).unwrap_or_else(|| online_cpus(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_observe::HostRoot;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_virtio_interfaces_interrupts_are_those_of_its_function_alone() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        let pci = "sys/devices/pci0000:00/0000:00:05.0";
        write(&format!("{pci}/virtio1/net/eth0/queues/rx-0/rps_cpus"), "0\n");
        write(&format!("{pci}/virtio1/net/eth0/queues/tx-0/xps_cpus"), "0\n");
        write(&format!("{pci}/virtio1/net/eth0/operstate"), "up\n");
        write(&format!("{pci}/msi_irqs/25"), "msix\n");
        write(&format!("{pci}/msi_irqs/26"), "msix\n");
        write("sys/class/.keep", "");
        write("sys/bus/pci/devices/.keep", "");
        std::fs::create_dir_all(root.path().join("sys/class/net")).unwrap();
        symlink(root.path().join(format!("{pci}/virtio1/net/eth0")), root.path().join("sys/class/net/eth0"))
            .unwrap();
        symlink(
            root.path().join(format!("{pci}/virtio1")),
            root.path().join(format!("{pci}/virtio1/net/eth0/device")),
        )
        .unwrap();
        symlink(root.path().join(pci), root.path().join("sys/bus/pci/devices/0000:00:05.0")).unwrap();
        write(
            "proc/interrupts",
            "  CPU0\n 25: 1 PCI-MSI virtio1-config\n 26: 5 PCI-MSI virtio1-input.0\n 27: 5 PCI-MSI virtio2-input.0\n",
        );
        let host = Host::below(HostRoot::new(root.path()));
        let found = interfaces(&host);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pci.as_deref(), Some("0000:00:05.0"));
        assert_eq!((found[0].receive_queues, found[0].is_up), (1, true));
        let settings: Vec<String> =
            interrupts(&host, "eth0").into_iter().map(|found| found.setting).collect();
        assert_eq!(settings, ["irq:0000:00:05.0:virtio1-config", "irq:0000:00:05.0:virtio1-input.0"]);
    }
}
