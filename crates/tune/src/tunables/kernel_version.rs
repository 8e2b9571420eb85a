//! What a newer kernel would bring to ingestion. A report: kernels of distributions carry parts of newer ones, so that what can be seen is
//! looked for, and only the rest goes by the number.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};
use plumb_model::facts::Fact;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "kernel-version",
    title: "what a newer kernel would bring",
    risk: Risk::Reboot,
    interrupts: "",
    source: "release notes of the kernels named",
    look,
};

/// Something that a kernel brought.
struct Gain {
    since: (u32, u32),
    what: &'static str,
    /// A file that is there where the kernel has it, whatever its number.
    seen_at: Option<&'static str>,
}

const GAINS: [Gain; 4] = [
    Gain {
        since: (5, 18),
        what: "large pages of XFS files in memory: less processor time for each write and read",
        seen_at: None,
    },
    Gain {
        since: (6, 1),
        what: "better choice of the pages that are dropped (MGLRU), for page caches under pressure",
        seen_at: Some("/sys/kernel/mm/lru_gen/enabled"),
    },
    Gain {
        since: (6, 4),
        what: "threads of one process that touch new memory no longer wait for one lock",
        seen_at: None,
    },
    Gain {
        since: (6, 6),
        what: "a scheduler that bounds how long a thread waits for its turn (EEVDF)",
        seen_at: Some("/sys/kernel/debug/sched/base_slice_ns"),
    },
];

fn look(context: &Context<'_>) -> Vec<Look> {
    let release = match &context.facts.kernel_release {
        Fact::Known { value, .. } => value.clone(),
        Fact::Unknown { reason } => return vec![Look::unknown("", reason.clone())],
    };
    let Some(version) = version(&release) else {
        return vec![Look::unknown(
            "",
            format!("the kernel's release {release:?} does not begin with two numbers"),
        )];
    };
    let is_there = |gain: &Gain| {
        version >= gain.since || gain.seen_at.is_some_and(|file| context.host.root().exists(file))
    };
    let missing: Vec<&Gain> = GAINS.iter().filter(|gain| !is_there(gain)).collect();
    let look = match missing.last() {
        None => Look::found("", Status::Ok, release, "it has what is known to bring much to ingestion"),
        Some(last) => {
            let list: Vec<String> = missing
                .iter()
                .map(|gain| format!("{} (Linux {}.{})", gain.what, gain.since.0, gain.since.1))
                .collect();
            let reason = format!(
                "a newer kernel has: {}. A distribution may have brought it into this one; only a trial tells what it is worth here",
                list.join("; ")
            );
            Look::found("", Status::NoEvidence, release, reason)
                .recommending(format!("{}.{} or newer", last.since.0, last.since.1))
        }
    };
    vec![look]
}

/// `6.18.44-generic`: 6 and 18.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(release: &str) -> Recorded {
        Recorded::new().file("/proc/sys/kernel/osrelease", release)
    }

    #[test]
    fn an_old_kernel_is_told_what_it_lacks_and_a_new_one_lacks_nothing() {
        let old = &host("5.14.0-427.el9.x86_64\n").check("kernel-version")[0];
        assert_eq!((old.status, old.recommended.as_deref()), (Status::NoEvidence, Some("6.6 or newer")));
        assert!(old.reason.contains("XFS"), "{}", old.reason);
        assert_eq!(host("6.18.44\n").check("kernel-version")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("kernel-version")[0].status, Status::Unknown);
    }

    #[test]
    fn what_a_distribution_brought_into_an_old_kernel_is_not_missing() {
        let vendors = host("5.14.0-570.el9.x86_64\n").file("/sys/kernel/mm/lru_gen/enabled", "0x0007\n");
        assert!(!vendors.check("kernel-version")[0].reason.contains("MGLRU"));
    }
}
