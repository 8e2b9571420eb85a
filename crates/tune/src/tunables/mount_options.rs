//! Whether a file system writes down when a file was read (`noatime`). Told, not changed: mounts belong to the operator's own table, and a
//! mount anew has to carry all their options.

use super::data_mounts::{Mount, data_mounts};
use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "mount-options",
    title: "times of reads written down",
    risk: Risk::Low,
    interrupts: "",
    source: "Apache Kafka documentation, operations; mount(8)",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    let mounts = data_mounts(context);
    if mounts.is_empty() {
        return vec![context.absent(
            "",
            "/proc/self",
            "no file system on a disk is mounted where this process is; what is mounted elsewhere is not to be seen from here",
        )];
    }
    mounts.iter().map(|mount| of_mount(context, mount)).collect()
}

fn of_mount(context: &Context<'_>, mount: &Mount) -> Look {
    let options = mount.options.join(",");
    if mount.has("noatime") || mount.has("ro") {
        return Look::found(&mount.point, Status::Ok, options, "reads write no times");
    }
    if mount.has("relatime") {
        let reason = "relatime writes at most one time a day for a file";
        return Look::found(&mount.point, Status::Ok, options, reason);
    }
    // Neither: every read writes.
    let disk = mount.source.trim_start_matches("/dev/");
    let read = context.window.evidence(&format!("disk.{disk}.reads"), "reads");
    let (status, reason) = match read {
        Some(_) => (Status::Advice, "every read of a file writes its time"),
        None => (
            Status::NoEvidence,
            "every read of a file writes its time, and none was seen to reach its disk in the window",
        ),
    };
    Look::found(&mount.point, status, options, reason)
        .showing(read.into_iter().collect())
        .recommending("noatime")
        .by_hand(format!("`mount -o remount,noatime {}`, and noatime in its line of /etc/fstab", mount.point))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn line(point: &str, options: &str, source: &str) -> String {
        format!("36 35 8:1 / {point} {options} shared:1 - xfs {source} rw\n")
    }

    #[test]
    fn times_of_every_read_are_told_with_the_command_and_the_usual_ones_are_right() {
        let host = |options: &str| {
            Recorded::new()
                .file("/proc/self/mountinfo", &line("/data", options, "/dev/sdb1"))
                .grew("disk.sdb1.reads", 50)
                .check("mount-options")[0]
                .clone()
        };
        let strict = host("rw");
        assert_eq!((strict.status, strict.assignments.len()), (Status::Advice, 0));
        assert!(strict.by_hand.contains("mount -o remount,noatime /data"), "{}", strict.by_hand);
        let quiet = Recorded::new().file("/proc/self/mountinfo", &line("/data", "rw", "/dev/mapper/data"));
        assert_eq!(quiet.check("mount-options")[0].status, Status::NoEvidence);
        assert_eq!(host("rw,relatime").status, Status::Ok);
        assert_eq!(host("rw,noatime").status, Status::Ok);
    }

    #[test]
    fn of_a_known_broker_only_the_file_system_of_its_logs_counts() {
        let mounts = line("/", "rw,relatime", "/dev/sda1") + &line("/data", "rw,noatime", "/dev/sdb1");
        let broker = Recorded::new()
            .process(77)
            .file("/proc/77/mountinfo", &mounts)
            .descriptor(77, 4, "/usr/lib/a.jar")
            .descriptor(77, 5, "/data/kafka/.lock");
        let checks = broker.check("mount-options");
        assert_eq!((checks.len(), checks[0].target.as_str()), (1, "/data"));
        assert_eq!(Recorded::new().check("mount-options")[0].status, Status::Unknown);
    }
}
