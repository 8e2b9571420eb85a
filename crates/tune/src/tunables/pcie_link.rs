//! The link of an interface or disk to the processor: slower or narrower than it could be, and too slow for what goes over it.

use super::disk_load::load;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "pcie-link",
    title: "link of a device to the processor",
    risk: Risk::Reboot,
    interrupts: "",
    source: "kernel documentation, ABI/testing/sysfs-bus-pci; the shares are ours",
    look,
};

/// Of what the link carries, some goes to its own protocol. Ours.
const PAYLOAD: f64 = 0.85;
/// A disk that fills this part of its link may want more. Ours.
const FULL: f64 = 0.5;

/// The speed and width of a link, as they are and as they could be.
struct Link {
    present: (f64, f64),
    most: (f64, f64),
}

impl Link {
    fn bytes_per_s((gigatransfers, lanes): (f64, f64)) -> f64 {
        // Two in ten bits are the encoding's up to 5 GT/s, two in 130 from 8 GT/s on.
        let encoding = if gigatransfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
        gigatransfers * 1e9 / 8.0 * encoding * lanes * PAYLOAD
    }

    fn is_slow(&self) -> bool {
        self.present.0 < self.most.0 || self.present.1 < self.most.1
    }

    fn words((gigatransfers, lanes): (f64, f64)) -> String {
        format!("{gigatransfers} GT/s x{lanes}")
    }
}

fn look(context: &Context<'_>) -> Vec<Look> {
    let mut looks: Vec<Look> = Vec::new();
    for interface in context.interfaces.iter().filter(|interface| interface.is_up) {
        let Some(pci) = &interface.pci else { continue };
        let mbit = context.number(&format!("/sys/class/net/{}/speed", interface.name)).unwrap_or(0);
        let wanted = mbit as f64 * 1e6 / 8.0;
        looks.extend(
            link(context, &format!("/sys/bus/pci/devices/{pci}"))
                .map(|link| judge(&interface.name, &link, wanted)),
        );
    }
    for disk in context.disks.iter().filter(|disk| disk.starts_with("nvme")) {
        let moved = load(context, disk)
            .map_or(0.0, |load| 512.0 * (load.per_s("read_sectors") + load.per_s("written_sectors")));
        looks.extend(
            link(context, &format!("/sys/block/{disk}/device/device"))
                .map(|link| judge(disk, &link, moved / FULL)),
        );
    }
    match looks.is_empty() {
        true => vec![Look::not_applicable(
            "",
            "no interface or NVMe disk here shows a PCI Express link: a hypervisor hides it, or there is none",
        )],
        false => looks,
    }
}

fn judge(target: &str, link: &Link, wanted_bytes_per_s: f64) -> Look {
    let value = Link::words(link.present);
    let bytes_per_s = Link::bytes_per_s(link.present);
    let carries = vec![
        level("link carries", (bytes_per_s / 1e6).round(), "MB/s"),
        level("device may want", (wanted_bytes_per_s / 1e6).round(), "MB/s"),
    ];
    match (link.is_slow(), wanted_bytes_per_s > bytes_per_s) {
        (false, _) => Look::found(target, Status::Ok, value, "the link is as fast as the device"),
        (true, true) => Look::found(target, Status::Advice, value, "the link is slower than the device, and too slow for it: another slot, the card seated anew, or the firmware's setting of the slot")
            .showing(carries)
            .recommending(Link::words(link.most)),
        (true, false) => Look::found(target, Status::NoEvidence, value, "the link is slower than the device could have it, and carries what there is").recommending(Link::words(link.most)),
    }
}

/// `8.0 GT/s PCIe` and `8`.
fn link(context: &Context<'_>, folder: &str) -> Option<Link> {
    let number = |file: &str| -> Option<f64> {
        let text = context.host.root().read(&format!("{folder}/{file}")).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok().filter(|number| *number > 0.0)
    };
    Some(Link {
        present: (number("current_link_speed")?, number("current_link_width")?),
        most: (number("max_link_speed")?, number("max_link_width")?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(width: &str, speed_mbit: &str) -> Recorded {
        let pci = "/sys/devices/pci0000:00/0000:3b:00.0";
        Recorded::new()
            .file(&format!("{pci}/current_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("{pci}/max_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("{pci}/current_link_width"), width)
            .file(&format!("{pci}/max_link_width"), "8\n")
            .file(&format!("{pci}/net/eth0/queues/rx-0/rps_cpus"), "0\n")
            .file(&format!("{pci}/net/eth0/operstate"), "up\n")
            .file(&format!("{pci}/net/eth0/speed"), speed_mbit)
            .file("/sys/class/net/.keep", "")
            .file("/sys/bus/pci/devices/.keep", "")
            .link(&format!("{pci}/net/eth0/device"), pci)
            .link("/sys/class/net/eth0", &format!("{pci}/net/eth0"))
            .link("/sys/bus/pci/devices/0000:3b:00.0", pci)
    }

    #[test]
    fn a_narrow_link_matters_where_the_interface_is_faster() {
        let check = &host("2\n", "25000\n").check("pcie-link")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Advice, Some("8 GT/s x8")));
        assert!(check.evidence[0].amount < check.evidence[1].amount);
        assert_eq!(host("4\n", "10000\n").check("pcie-link")[0].status, Status::NoEvidence);
        assert_eq!(host("8\n", "100000\n").check("pcie-link")[0].status, Status::Ok);
    }

    #[test]
    fn a_disk_that_fills_a_slow_link_is_told() {
        let folder = "/sys/block/nvme0n1/device/device";
        let disk = Recorded::new()
            .file("/sys/block/nvme0n1/queue/scheduler", "[none]\n")
            .file(&format!("{folder}/current_link_speed"), "2.5 GT/s PCIe\n")
            .file(&format!("{folder}/max_link_speed"), "16.0 GT/s PCIe\n")
            .file(&format!("{folder}/current_link_width"), "4\n")
            .file(&format!("{folder}/max_link_width"), "4\n");
        let busy = disk.grew("disk.nvme0n1.written_sectors", 15_000_000);
        assert_eq!(busy.check("pcie-link")[0].status, Status::Advice);
        let calm = busy.grew("disk.nvme0n1.written_sectors", 1000);
        assert_eq!(calm.check("pcie-link")[0].status, Status::NoEvidence);
        assert_eq!(Recorded::new().check("pcie-link")[0].status, Status::NotApplicable);
    }
}
