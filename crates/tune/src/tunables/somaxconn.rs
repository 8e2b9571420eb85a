//! `net.core.somaxconn`: connections that wait to be accepted, for each listening socket; the application's own number bounds it too.

use super::{Advice, Context, Look, Tunable};
use crate::losses::ATTEMPTS;
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Status};
use plumb_model::figure;
use plumb_observe::listening_process_at;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "accept-queue",
    title: "connections that wait to be accepted",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; 4096 is the kernel's default since Linux 5.4",
    look,
};

const SETTING: &str = "net.core.somaxconn";
const ENOUGH: u64 = 4096;

/// A program's queue of connections at a port.
struct Queue {
    port: u16,
    /// The fewest and the most that waited when it was looked at.
    least: u64,
    most: u64,
    limit: u64,
}

impl Queue {
    /// True if it was full whenever it was looked at, so that no longer one would do for long.
    fn stays_full(&self) -> bool {
        self.limit > 0 && self.least >= self.limit
    }

    fn evidence(&self) -> Evidence {
        level(&format!("listen.{}.queue of {}", self.port, self.limit), self.most as f64, "connections")
    }
}

fn look(context: &Context<'_>) -> Vec<Look> {
    let lost = context.window.evidence_of(&["TcpExt.ListenOverflows", "TcpExt.TCPReqQFullDrop"], ATTEMPTS);
    let somaxconn = context.number(SETTING);
    if lost.is_empty() {
        let is_enough = somaxconn.is_some_and(|value| value >= ENOUGH);
        let reason = match is_enough {
            true => "no connection found a queue full",
            false => "a connection that finds the queue full is refused or tries again a second later",
        };
        return vec![bound(context, lost, reason)];
    }
    let (Some(queue), Some(most)) = (fullest(context), somaxconn) else {
        return vec![bound(
            context,
            lost,
            "a connection that finds the queue full is refused or tries again a second later; the listening program has to ask for a longer queue too, and to listen anew",
        )];
    };
    let shown = [lost, vec![queue.evidence()]].concat();
    let Queue { port, limit, .. } = queue;
    let value = format!("{} connections at port {port} ({SETTING} is {most})", figure::count(limit));
    let programs =
        |reason: String| vec![Look::found("", Status::Advice, value.clone(), reason).showing(shown.clone())];
    if queue.stays_full() {
        return programs(format!(
            "{} accepts too slowly, or not at all: its queue was full when the window began and when it ended. A longer queue would be full as well",
            program(context, port)
        ));
    }
    if limit < most {
        return programs(format!(
            "{}. {} accepts too slowly for its queue: it asked for {limit}, or has listened since before the kernel's bound was {most}; the program has to accept sooner, or to ask for more and to listen anew",
            told(&queue),
            program(context, port)
        ));
    }
    let reason = format!(
        "{}, which is the kernel's bound: a connection that finds the queue full is refused or tries again a second later; the program has to ask for a longer one too, and to listen anew",
        told(&queue)
    );
    vec![bound(context, shown, &reason)]
}

/// The program that listens at a port, as far as this user may see.
fn program(context: &Context<'_>, port: u16) -> String {
    let root = context.host.root();
    let name = |pid: u32| {
        let comm = root.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("process {pid} ({})", comm.trim())
    };
    match listening_process_at(root, port) {
        Some(pid) => format!("{}, which listens at port {port},", name(pid)),
        None => format!("the program that listens at port {port}"),
    }
}

fn told(queue: &Queue) -> String {
    let Queue { port, most, limit, .. } = queue;
    match most * 2 < *limit {
        true => format!(
            "no queue was full when it was looked at; the one with the least room is that of port {port}, where {limit} may wait"
        ),
        false => {
            format!("the fullest queue is that of port {port}: {most} connections wait, and {limit} may")
        }
    }
}

/// The kernel's bound on all queues.
fn bound(context: &Context<'_>, lost: Vec<Evidence>, reason: &str) -> Look {
    Look::at_number(context, "", SETTING, |value| Advice {
        recommended: ENOUGH.to_string(),
        is_met: value >= ENOUGH,
        evidence: lost,
        reason: reason.to_owned(),
        expected: "no connection lost while a restart or a storm of clients connects".to_owned(),
    })
    .or_where_it_hurts(&format!("{reason}. The kernel's bound is high already: the program accepts too slowly, or asks for a shorter queue than it may have"))
}

/// The queue that is the fullest for its length; of queues that are empty when looked at, the shortest.
fn fullest(context: &Context<'_>) -> Option<Queue> {
    let queue = |name: &str| {
        let port = name.strip_prefix("listen.")?.strip_suffix(".limit")?;
        Some(Queue {
            port: port.parse().ok()?,
            least: context.window.least(&format!("listen.{port}.queue")).unwrap_or(0),
            most: context.window.most(&format!("listen.{port}.queue")).unwrap_or(0),
            limit: context.window.total(name)?,
        })
    };
    let share = |queue: &Queue| queue.most as f64 / queue.limit.max(1) as f64;
    let all = context.window.names("listen.", ".limit").filter_map(queue);
    all.max_by(|one, other| share(one).total_cmp(&share(other)).then(other.limit.cmp(&one.limit)))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    fn host(value: &str) -> Recorded {
        Recorded::new().file("/proc/sys/net/core/somaxconn", value).grew("TcpExt.ListenOverflows", 5)
    }

    #[test]
    fn overflows_make_a_short_queue_a_change_and_a_long_one_is_not_made_longer() {
        assert_eq!(host("128\n").check("accept-queue")[0].status, Status::Change);
        let long = &host("65535\n").check("accept-queue")[0];
        assert_eq!((long.status, long.assignments.len()), (Status::Advice, 0));
        let calm = Recorded::new().file("/proc/sys/net/core/somaxconn", "65535\n");
        assert_eq!(calm.check("accept-queue")[0].status, Status::Ok);
        host("128\n").changes_go_back("accept-queue");
    }

    #[test]
    fn a_programs_own_shorter_queue_is_the_programs_to_mend() {
        let of = |somaxconn: &str, limit: u64| -> SettingCheck {
            host(somaxconn)
                .stands("listen.22.limit", 128)
                .stands("listen.22.queue", 0)
                .stands("listen.8080.limit", limit)
                .went("listen.8080.queue", 0, limit + 1)
                .check("accept-queue")
                .remove(0)
        };
        let own = of("4096\n", 10);
        assert_eq!((own.status, own.assignments.len()), (Status::Advice, 0));
        assert!(own.reason.contains("port 8080: 11 connections wait, and 10 may"), "{}", own.reason);
        assert!(own.reason.contains("asked for 10"), "{}", own.reason);
        assert_eq!(
            own.configured.as_deref(),
            Some("10 connections at port 8080 (net.core.somaxconn is 4096)")
        );
        let bound = of("512\n", 512);
        assert_eq!((bound.status, bound.recommended.as_deref()), (Status::Change, Some("4096")));
        assert!(bound.reason.contains("port 8080"), "{}", bound.reason);
        assert_eq!(of("8192\n", 8192).status, Status::Advice);
    }

    #[test]
    fn a_program_that_does_not_accept_is_the_cause_whatever_the_kernels_bound_is() {
        for limit in [5, 128] {
            let check = &host("128\n")
                .stands("listen.8080.limit", limit)
                .stands("listen.8080.queue", limit + 1)
                .check("accept-queue")[0];
            assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
            assert!(check.reason.contains("accepts too slowly, or not at all"), "{}", check.reason);
            assert_eq!(check.evidence[0].unit, "attempts to connect");
        }
    }
}
