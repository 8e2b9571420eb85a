//! Whether a disk is told now and then what is free on it. A report: it is the work of a timer that the distribution has.

use super::data_mounts::data_mounts;
use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "fstrim",
    title: "disks told what is free",
    risk: Risk::Performance,
    interrupts: "",
    source: "fstrim(8)",
    look,
};

/// Where systemd has what is started with the timers.
const TIMERS: [&str; 2] = [
    "/etc/systemd/system/timers.target.wants/fstrim.timer",
    "/usr/lib/systemd/system/timers.target.wants/fstrim.timer",
];

fn look(context: &Context<'_>) -> Vec<Look> {
    context.disks.iter().map(|disk| of_disk(context, disk)).collect()
}

fn of_disk(context: &Context<'_>, disk: &str) -> Look {
    let queue = format!("/sys/block/{disk}/queue");
    match context.number(&format!("{queue}/discard_max_bytes")) {
        None => return Look::unknown(disk, "the kernel does not say whether the disk wants to be told"),
        Some(0) => return Look::not_applicable(disk, "the disk does not want to be told what is free"),
        Some(_) => {}
    }
    let root = context.host.root();
    // A link to a unit: the unit need not be seen from here.
    // Without systemd its timers are files and no more.
    let has_systemd = root.exists("/run/systemd/system")
        || root.read("/proc/1/comm").is_ok_and(|name| name.trim() == "systemd");
    let has_timer = has_systemd && TIMERS.iter().any(|path| root.link(path).is_some() || root.exists(path));
    let is_told = data_mounts(context).iter().any(|mount| mount.is_on(disk) && mount.discards());
    // What the disk was told in the window says nothing about the next one.
    match (has_timer, is_told) {
        (_, true) => {
            Look::found(disk, Status::Ok, "at once", "files that are deleted are told to the disk at once")
        }
        (true, false) => Look::found(
            disk,
            Status::Ok,
            "by a timer",
            "a timer tells the disk what is free, once a week as distributions have it",
        ),
        (false, false) => Look::found(
            disk,
            Status::NoEvidence,
            "never seen",
            "nothing seems to tell the disk what is free, and a full flash disk writes more slowly; `systemctl enable --now fstrim.timer` does, and a timer of another name may",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(discard: &str) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/discard_max_bytes", discard)
    }

    #[test]
    fn a_disk_that_nobody_tells_is_told_of_and_nothing_is_planned() {
        let check = &host("2147450880\n").check("fstrim")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::NoEvidence, 0));
        let timer = || host("2147450880\n").file("/etc/systemd/system/timers.target.wants/fstrim.timer", "");
        assert_eq!(timer().check("fstrim")[0].status, Status::NoEvidence);
        assert_eq!(timer().file("/proc/1/comm", "systemd\n").check("fstrim")[0].status, Status::Ok);
        assert_eq!(
            host("2147450880\n").grew("disk.sda.discards", 9).check("fstrim")[0].status,
            Status::NoEvidence
        );
        for (source, options, status) in [
            ("/dev/sda1", "rw,discard", Status::Ok),
            ("/dev/sda", "rw,discard=async", Status::Ok),
            ("/dev/sda1", "rw,nodiscard", Status::NoEvidence),
            ("/dev/sdaa1", "rw,discard", Status::NoEvidence),
        ] {
            let mounts = format!("36 35 8:1 / /data rw shared:1 - ext4 {source} {options}\n");
            let mounted = host("2147450880\n").file("/proc/self/mountinfo", &mounts);
            assert_eq!(mounted.check("fstrim")[0].status, status, "{source} {options}");
        }
        assert_eq!(host("0\n").check("fstrim")[0].status, Status::NotApplicable);
    }
}
