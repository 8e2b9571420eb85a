//! Limits of the whole host: asynchronous requests (`fs.aio-max-nr`), open files (`fs.file-max`), processes and threads
//! (`kernel.pid_max`, `kernel.threads-max`). One that is far is right, however low.

use super::near_limit::Use;
use super::{Context, Look, Tunable};
use plumb_model::check::Risk;

pub(super) const AIO: Tunable = Tunable {
    id: "aio-max",
    title: "asynchronous disk requests of the host",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/fs.rst; the share of 70 % is ours",
    look: aio,
};

pub(super) const FILES: Tunable = Tunable {
    id: "file-max",
    title: "files open on the host",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/fs.rst; the share of 70 % is ours",
    look: files,
};

pub(super) const THREADS: Tunable = Tunable {
    id: "pid-max",
    title: "processes and threads of the host",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/kernel.rst; the share of 70 % is ours",
    look: threads,
};

/// The kernel takes no more of processes on 64 bits (PID_MAX_LIMIT, include/linux/threads.h).
const PID_MOST: u64 = 4 << 20;

fn aio(context: &Context<'_>) -> Vec<Look> {
    let Some(used) = context.number("fs.aio-nr") else {
        return vec![Look::unknown("", "the number of asynchronous requests cannot be read")];
    };
    let near = Use {
        setting: "fs.aio-max-nr",
        counter: "fs.aio-nr",
        unit: "requests",
        used,
        at_least: 1 << 20,
        at_most: u64::from(u32::MAX / 2),
        reason: "a program that finds none falls back to slower reads and writes, or does not start",
        expected: "room for more programs that read and write without waiting",
    };
    vec![near.look(context, "")]
}

fn files(context: &Context<'_>) -> Vec<Look> {
    // Allocated, free (always 0 since Linux 2.6), most.
    let used = context.read("fs.file-nr").ok();
    let Some(used) = used.and_then(|text| text.split(' ').next()?.parse().ok()) else {
        return vec![Look::unknown("", "the number of open files cannot be read")];
    };
    let near = Use {
        setting: "fs.file-max",
        counter: "fs.file-nr",
        unit: "files",
        used,
        at_least: 0,
        at_most: i64::MAX as u64,
        reason: "at the limit no program can open a file or take a connection",
        expected: "room for more files and connections",
    };
    vec![near.look(context, "")]
}

fn threads(context: &Context<'_>) -> Vec<Look> {
    // `0.20 0.18 0.12 1/80 11206`: of 80 threads one runs.
    let text = context.host.root().read("/proc/loadavg").unwrap_or_default();
    let used = text.split(' ').nth(3).and_then(|word| word.split_once('/')?.1.parse().ok());
    let Some(used) = used else {
        return vec![Look::unknown("", "the number of threads cannot be read")];
    };
    let of = |setting: &str| {
        let near = Use {
            setting,
            counter: "loadavg threads",
            unit: "threads",
            used,
            at_least: 0,
            at_most: PID_MOST,
            reason: "at the limit no program starts a thread, and a Java program ends",
            expected: "room for more threads",
        };
        near.look(context, setting)
    };
    vec![of("kernel.pid_max"), of("kernel.threads-max")]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn asynchronous_requests_near_their_limit_are_a_change_that_goes_back() {
        let host = |used| {
            Recorded::new().file("/proc/sys/fs/aio-max-nr", "65536\n").file("/proc/sys/fs/aio-nr", used)
        };
        assert_eq!(host("100\n").check("aio-max")[0].status, Status::Ok);
        let near = host("60000\n");
        let check = &near.check("aio-max")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("1048576")));
        near.changes_go_back("aio-max");
        assert_eq!(Recorded::new().check("aio-max")[0].status, Status::Unknown);
    }

    #[test]
    fn open_files_near_their_limit_are_a_change_that_goes_back() {
        let host = |used: &str| {
            Recorded::new()
                .file("/proc/sys/fs/file-nr", &format!("{used}\t0\t10000\n"))
                .file("/proc/sys/fs/file-max", "10000\n")
        };
        assert_eq!(host("500").check("file-max")[0].status, Status::Ok);
        assert_eq!(host("9000").check("file-max")[0].recommended.as_deref(), Some("20000"));
        host("9000").changes_go_back("file-max");
        assert_eq!(Recorded::new().check("file-max")[0].status, Status::Unknown);
    }

    #[test]
    fn threads_near_a_limit_are_a_change_of_that_limit_alone() {
        let host = |used: u64| {
            Recorded::new()
                .file("/proc/sys/kernel/pid_max", "32768\n")
                .file("/proc/sys/kernel/threads-max", "500000\n")
                .file("/proc/loadavg", &format!("0.20 0.18 0.12 1/{used} 11206\n"))
        };
        assert!(host(500).check("pid-max").iter().all(|check| check.status == Status::Ok));
        let near = host(30_000);
        let changed: Vec<_> =
            near.check("pid-max").into_iter().filter(|check| check.status == Status::Change).collect();
        assert_eq!((changed.len(), changed[0].target.as_str()), (1, "kernel.pid_max"));
        near.changes_go_back("pid-max");
    }

    #[test]
    fn a_limit_that_is_as_high_as_it_goes_is_told() {
        let full = Recorded::new()
            .file("/proc/sys/kernel/pid_max", "4194304\n")
            .file("/proc/sys/kernel/threads-max", "9000000\n")
            .file("/proc/loadavg", "0.20 0.18 0.12 1/4000000 11206\n");
        let check = &full.check("pid-max")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }
}
