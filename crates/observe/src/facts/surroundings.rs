//! The surroundings of the kernel and of the process: machine, hypervisor, container.
//!
//! The evidence follows systemd-detect-virt(1), for what can be read without privileges.

use plumb_model::facts::{Container, Fact, Virtualisation};

use super::cpu;
use crate::HostRoot;

const DMI: &str = "/sys/class/dmi/id";
const HYPERVISOR_TYPE: &str = "/sys/hypervisor/type";
const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Vendors and products that firmware tables name in virtual machines, with the name to show.
const VIRTUAL_MACHINES: [(&str, &str); 12] = [
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Microsoft Corporation Virtual Machine", "Microsoft Hyper-V"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("OpenStack", "OpenStack"),
    ("DigitalOcean", "DigitalOcean"),
    ("Hetzner vServer", "Hetzner"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("QEMU", "QEMU"),
    ("Xen", "Xen"),
    ("KVM", "KVM"),
];

/// The asset tag that Azure's firmware has in every guest; other guests of Hyper-V have other tags.
const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

/// Clock sources that only a guest of that hypervisor has.
const GUEST_CLOCKS: [(&str, &str); 3] =
    [("kvm-clock", "KVM"), ("hyperv", "Microsoft Hyper-V"), ("xen", "Xen")];

pub(super) fn machine(root: &HostRoot) -> Fact<String> {
    let words: Vec<String> = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| root.read(&format!("{DMI}/{name}")).ok())
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    if !words.is_empty() {
        return Fact::known(words.join(" "), format!("{DMI}/sys_vendor, product_name"));
    }
    // Arm boards without firmware tables describe themselves here, with a zero byte at the end.
    match root.read("/proc/device-tree/model") {
        Ok(text) => Fact::known(text.trim_matches('\0').trim().to_owned(), "/proc/device-tree/model"),
        Err(_) => Fact::unknown(format!("neither {DMI} nor /proc/device-tree/model")),
    }
}

pub(super) fn virtualisation(root: &HostRoot) -> Fact<Virtualisation> {
    let (vendor, sign) = match hypervisor_name(root) {
        Some((vendor, sign)) => (Some(vendor), Some(sign)),
        None => (None, None),
    };
    match (cpu::hypervisor_flag(root), sign) {
        (Some(false), None) => Fact::known(
            Virtualisation { virtual_machine: false, vendor: None },
            "no hypervisor flag in /proc/cpuinfo, no other sign",
        ),
        (Some(true), None) => {
            Fact::known(Virtualisation { virtual_machine: true, vendor }, "hypervisor flag in /proc/cpuinfo")
        }
        (Some(true), Some(sign)) => Fact::known(
            Virtualisation { virtual_machine: true, vendor },
            format!("hypervisor flag in /proc/cpuinfo; {sign}"),
        ),
        (_, Some(sign)) => Fact::known(Virtualisation { virtual_machine: true, vendor }, sign),
        (None, None) => Fact::unknown("this processor has no hypervisor flag, and nothing else shows one"),
    }
}

/// Name of the hypervisor or cloud, and where it shows.
fn hypervisor_name(root: &HostRoot) -> Option<(String, String)> {
    let tag = format!("{DMI}/chassis_asset_tag");
    if root.read(&tag).is_ok_and(|text| text.trim() == AZURE_TAG) {
        return Some(("Microsoft Azure".to_owned(), tag));
    }
    if let Some(machine) = machine(root).value() {
        // EC2's bare-metal instances carry the same vendor as its virtual machines.
        let bare = machine.ends_with(".metal") || machine.contains(".metal-");
        let known = VIRTUAL_MACHINES.iter().find(|(sign, _)| machine.contains(sign));
        if let Some((_, name)) = known.filter(|_| !bare) {
            return Some(((*name).to_owned(), DMI.to_owned()));
        }
    }
    if let Ok(text) = root.read(HYPERVISOR_TYPE) {
        return Some((text.trim().to_owned(), HYPERVISOR_TYPE.to_owned()));
    }
    let clocks = root.read(CLOCK_SOURCES).ok()?;
    let (_, name) = GUEST_CLOCKS.iter().find(|(clock, _)| clocks.contains(clock))?;
    Some(((*name).to_owned(), CLOCK_SOURCES.to_owned()))
}

/// Signs of a container, the most telling first: path, text in it, runtime.
const CONTAINER_SIGNS: [(&str, &str, Option<&str>); 11] = [
    ("/proc/self/cgroup", "kubepods", Some("kubernetes")),
    ("/proc/self/mountinfo", "/etc-hosts /etc/hosts ", Some("kubernetes")),
    ("/run/.containerenv", "", Some("podman")),
    ("/proc/self/cgroup", "/docker", Some("docker")),
    ("/.dockerenv", "", Some("docker")),
    ("/proc/self/cgroup", "libpod", Some("podman")),
    ("/proc/self/cgroup", "/lxc", Some("lxc")),
    ("/run/systemd/container", "nspawn", Some("systemd-nspawn")),
    ("/run/systemd/container", "lxc", Some("lxc")),
    ("/run/systemd/container", "", None),
    ("/proc/self/mounts", "overlay / overlay", None),
];

pub(super) fn container(root: &HostRoot) -> Fact<Container> {
    for (path, sign, runtime) in CONTAINER_SIGNS {
        if root.read(path).is_ok_and(|text| text.contains(sign)) {
            let runtime = runtime.map(str::to_owned);
            return Fact::known(Container { contained: true, runtime }, path);
        }
    }
    match root.exists("/proc/self/cgroup") {
        true => Fact::known(
            Container { contained: false, runtime: None },
            "no sign in /proc/self/cgroup, /proc/self/mounts, /run",
        ),
        false => Fact::unknown("no /proc/self/cgroup"),
    }
}
