//! Files that a process may have open: each segment of each partition takes several, and each connection one. The limit is the running
//! process's own, so that only a restart, or `prlimit`, changes it.

use super::near_limit::NEAR;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "file-descriptors",
    title: "files that a process may have open",
    risk: Risk::Reboot,
    interrupts: "",
    source: "Apache Kafka documentation, operations (at least 100000); the share of 70 % is ours",
    look,
};

const ENOUGH: u64 = 100_000;

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.processes.is_empty() {
        return vec![Look::not_applicable("", "no process was named, and no broker was found")];
    }
    context.processes.iter().map(|process| of_process(context, *process)).collect()
}

fn of_process(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let root = context.host.root();
    let text = match root.read(&format!("/proc/{process}/limits")) {
        Ok(text) => text,
        Err(error) => return Look::unknown(&target, error.to_string()),
    };
    let soft =
        text.lines().find_map(|line| line.strip_prefix("Max open files")?.split_ascii_whitespace().next());
    let limit = match soft {
        Some("unlimited") => u64::MAX,
        Some(number) => number.parse().unwrap_or(0),
        None => return Look::unknown(&target, "its limits do not name open files"),
    };
    let value = soft.unwrap_or_default();
    let by_hand = |files: u64| {
        format!(
            "`LimitNOFILE={files}` in its unit and a restart, or `prlimit --pid {process} --nofile={files}` now"
        )
    };
    match root.list(&format!("/proc/{process}/fd")).map(|names| names.len() as u64) {
        Err(error) => Look::unknown(&target, format!("{error}: whoever runs Plumb may not see its files")),
        Ok(open) if open as f64 >= NEAR * limit as f64 => {
            let more = ENOUGH.max(limit.saturating_mul(2));
            let reason = format!(
                "it has nearly as many files open as it may, and a broker that finds none stops: {}",
                by_hand(more)
            );
            Look::found(&target, Status::Advice, value, reason)
                .showing(vec![level(&format!("open files of process {process}"), open as f64, "files")])
                .recommending(more.to_string())
        }
        Ok(open) if limit < ENOUGH => {
            let reason = format!(
                "it has {open} files open, so that the limit is far; it may not be when partitions and clients are more: {}",
                by_hand(ENOUGH)
            );
            Look::found(&target, Status::NoEvidence, value, reason).recommending(ENOUGH.to_string())
        }
        Ok(open) => Look::found(&target, Status::Ok, value, format!("it has {open} files open")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(limit: u64, open: u32) -> Recorded {
        let limits = format!(
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            {limit}   524288  files\n"
        );
        let host = Recorded::new().process(77).file("/proc/77/limits", &limits);
        (0..open).fold(host, |host, descriptor| host.descriptor(77, descriptor, "/data/a.log"))
    }

    #[test]
    fn a_process_near_its_limit_is_told_with_the_line_of_its_unit() {
        let check = &host(10, 8).check("file-descriptors")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("LimitNOFILE=100000"), "{}", check.reason);
        assert_eq!(host(1024, 8).check("file-descriptors")[0].status, Status::NoEvidence);
        assert_eq!(host(200_000, 8).check("file-descriptors")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("file-descriptors")[0].status, Status::NotApplicable);
        assert_eq!(Recorded::new().process(9).check("file-descriptors")[0].status, Status::Unknown);
    }
}
