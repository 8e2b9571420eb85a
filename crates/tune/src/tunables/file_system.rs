//! XFS or ext4 for logs. Only whoever formats the disk anew can change it, so it is advice at most.
//!
//! ext4 tells how long its journal made programs wait, since it was mounted.

use super::data_mounts::data_mounts;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "file-system",
    title: "kind of file system for logs",
    risk: Risk::LockOut,
    interrupts: "",
    source: "Apache Kafka documentation, operations; kernel source, fs/jbd2/journal.c; the bound of 10 ms is ours",
    look,
};

/// Programs that wait this long for the journal, on the average. Ours.
const WAIT_MS: u64 = 10;

fn look(context: &Context<'_>) -> Vec<Look> {
    let mounts = data_mounts(context);
    if mounts.is_empty() {
        return vec![context.absent(
            "",
            "/proc/self",
            "no file system on a disk is mounted where this process is; what is mounted elsewhere is not to be seen from here",
        )];
    }
    let of = |mount: &super::data_mounts::Mount| {
        let (point, kind) = (mount.point.as_str(), mount.kind.as_str());
        if kind == "xfs" {
            return Look::found(point, Status::Ok, kind, "Kafka's own tests have the shortest waits on XFS");
        }
        if !kind.starts_with("ext") {
            return Look::found(
                point,
                Status::NoEvidence,
                kind,
                "Kafka's documentation compares XFS and ext4 only; what this one costs is seen in a trial",
            );
        }
        match journal_wait_ms(context, &mount.source) {
            Some(ms) if ms >= WAIT_MS => Look::found(point, Status::Advice, kind, "programs have waited for ext4's journal since it was mounted; XFS has no such lock. It takes a disk formatted anew: one broker after another, its data copied back by its replicas")
                .showing(vec![level(&format!("jbd2 wait for a transaction of {point}"), ms as f64, "ms")])
                .recommending("xfs"),
            // Without a wait that is seen nobody should format a disk anew.
            _ => Look::found(point, Status::NoEvidence, kind, "Kafka's own tests have shorter waits on XFS; nothing shows that this one's journal makes programs wait"),
        }
    };
    mounts.iter().map(of).collect()
}

/// `  12ms waiting for transaction` and `  3ms transaction was being locked` of `/proc/fs/jbd2/sda1-8/info`: means since it was mounted.
fn journal_wait_ms(context: &Context<'_>, source: &str) -> Option<u64> {
    let root = context.host.root();
    let device = source.rsplit('/').next()?;
    let journals = root.list("/proc/fs/jbd2").ok()?;
    let journal = journals.iter().find(|name| name.rsplit_once('-').is_some_and(|(of, _)| of == device))?;
    let text = root.read(&format!("/proc/fs/jbd2/{journal}/info")).ok()?;
    let ms = |what: &str| -> Option<u64> {
        text.lines().find_map(|line| line.trim().strip_suffix(what)?.strip_suffix("ms ")?.parse().ok())
    };
    Some(ms("waiting for transaction")?.max(ms("transaction was being locked").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(kind: &str, wait: u64) -> Recorded {
        Recorded::new()
            .file("/proc/self/mountinfo", &format!("36 35 8:1 / /data rw - {kind} /dev/sdb1 rw\n"))
            .file(
                "/proc/fs/jbd2/sdb1-8/info",
                &format!("25 transactions (25 requested), each up to 8192 blocks\naverage:\n  {wait}ms waiting for transaction\n  0ms request delay\n  0ms transaction was being locked\n"),
            )
    }

    #[test]
    fn a_journal_that_makes_programs_wait_is_told_and_an_idle_one_is_not() {
        let check = &host("ext4", 40).check("file-system")[0];
        assert_eq!(
            (check.status, check.evidence[0].amount, check.assignments.len()),
            (Status::Advice, 40.0, 0)
        );
        let idle = &host("ext4", 0).check("file-system")[0];
        assert_eq!((idle.status, idle.recommended.as_deref()), (Status::NoEvidence, None));
        assert_eq!(host("xfs", 40).check("file-system")[0].status, Status::Ok);
    }
}
