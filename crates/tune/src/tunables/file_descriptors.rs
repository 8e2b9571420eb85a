//! Files that a process may have open: each segment of each partition takes several, and each connection one. The limit is the running
//! process's own, so that only a restart, or `prlimit`, changes it. Plumb leaves it to whoever runs the process.

use super::near_limit::NEAR;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};
use plumb_model::figure;

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
    context.each_process(of_process)
}

fn of_process(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let root = context.host.root();
    let text = match root.read(&format!("/proc/{process}/limits")) {
        Ok(text) => text,
        Err(error) => return Look::unknown(&target, error.to_string()),
    };
    let mut limits = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap_or_default()
        .split_ascii_whitespace();
    let (Some(soft), Some(hard)) = (limits.next(), limits.next()) else {
        return Look::unknown(&target, "its limits do not name open files");
    };
    let (Some(limit), Some(most)) = (number(soft), number(hard)) else {
        return Look::unknown(
            &target,
            format!("its limit of open files is no number: it reads {soft:?} and {hard:?}"),
        );
    };
    // One number alone would set the hard limit too, and lower it.
    let by_hand = |files: u64| {
        let hard = if most == u64::MAX { "infinity".to_owned() } else { most.max(files).to_string() };
        let now = hard.replace("infinity", "unlimited");
        format!(
            "`prlimit --pid {process} --nofile={files}:{now}` while it runs, and `LimitNOFILE={files}:{hard}` in its unit for its next start"
        )
    };
    match root.list(&format!("/proc/{process}/fd")).map(|names| names.len() as u64) {
        Err(error) => Look::unknown(&target, format!("{error}: whoever runs Plumb may not see its files")),
        Ok(open) if open as f64 >= NEAR * limit as f64 => {
            let more = ENOUGH.max(limit.saturating_mul(2));
            let reason = "it has nearly as many files and connections open as it may; at the limit it gets none more, and a broker stops";
            Look::found(&target, Status::Advice, soft, reason)
                .by_hand(by_hand(more))
                .showing(vec![level(&format!("open files of process {process}"), open as f64, "files")])
                .recommending(more.to_string())
        }
        Ok(open) if limit < ENOUGH => {
            let reason = format!(
                "it has {} files open, so that the limit is far; it may not be when files and connections are more",
                figure::count(open)
            );
            Look::found(&target, Status::NoEvidence, soft, reason)
                .by_hand(by_hand(ENOUGH))
                .recommending(ENOUGH.to_string())
        }
        Ok(open) => {
            Look::found(&target, Status::Ok, soft, format!("it has {} files open", figure::count(open)))
        }
    }
}

fn number(text: &str) -> Option<u64> {
    if text == "unlimited" { Some(u64::MAX) } else { text.parse().ok() }
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
        assert!(check.by_hand.contains("LimitNOFILE=100000:524288"), "{}", check.by_hand);
        assert!(check.by_hand.contains("--nofile=100000:524288"), "{}", check.by_hand);
        assert_eq!(host(1024, 8).check("file-descriptors")[0].status, Status::NoEvidence);
        assert_eq!(host(200_000, 8).check("file-descriptors")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("file-descriptors")[0].status, Status::NotApplicable);
        assert_eq!(Recorded::new().process(9).check("file-descriptors")[0].status, Status::Unknown);
    }

    #[test]
    fn what_is_advised_never_lowers_the_hard_limit() {
        let reason = |hard: &str| {
            let limits = format!("Max open files            1024   {hard}   files\n");
            host(1024, 8).file("/proc/77/limits", &limits).check("file-descriptors")[0].by_hand.clone()
        };
        assert!(reason("1073741816").contains("LimitNOFILE=100000:1073741816"));
        assert!(reason("unlimited").contains("LimitNOFILE=100000:infinity"));
        assert!(reason("unlimited").contains("--nofile=100000:unlimited"));
        assert!(reason("4096").contains("LimitNOFILE=100000:100000"));
    }
}
