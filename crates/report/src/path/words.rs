//! The words for the parts of a watched path: the same in text, on the page and in comparisons.

use plumb_model::diagnosis::{ConfirmationOutcome, DiagnosisVerdict};
use plumb_model::figure::{bytes_per_s, short, time};
use plumb_model::finding::PathStage;
use plumb_model::observed::{CpuClass, OffCpuStack, ThreadClass};

/// The verdict in a word or three.
pub(crate) fn verdict(verdict: DiagnosisVerdict) -> &'static str {
    match verdict {
        DiagnosisVerdict::Bound => "bound",
        DiagnosisVerdict::Healthy => "healthy",
        DiagnosisVerdict::NotEnoughEvidence => "not enough evidence",
    }
}

/// The meaning of the verdict for a reader.
pub(crate) fn verdict_meaning(verdict: DiagnosisVerdict) -> &'static str {
    match verdict {
        DiagnosisVerdict::Bound => "What holds the path back is named below.",
        DiagnosisVerdict::Healthy => "Nothing that was seen holds it back at this load.",
        DiagnosisVerdict::NotEnoughEvidence => "What was seen does not tell what bounds it.",
    }
}

/// The result of a flip.
pub(crate) fn outcome(outcome: ConfirmationOutcome) -> &'static str {
    match outcome {
        ConfirmationOutcome::Holds => "it holds",
        ConfirmationOutcome::DoesNotHold => "it does not hold",
        ConfirmationOutcome::Undecided => "undecided",
    }
}

/// A name of the document in words: `client_queue` -> `client queue`.
pub(crate) fn plain(name: &str) -> String {
    name.replace('_', " ")
}

/// The mean of a stage: brokers round to whole milliseconds, so that 0 says no more than that it is less than can be told.
pub(crate) fn stage_mean(mean_ns: f64) -> String {
    if mean_ns == 0.0 { "within the error".to_owned() } else { time(mean_ns) }
}

/// What a mean below 0 is: only a consumer that is served before its producer has the answer makes one.
pub(crate) const BEFORE_ACKNOWLEDGEMENT: &str = "consumers were served before the acknowledgement";

/// The meaning of a stage of the path.
pub(crate) fn stage_meaning(name: &str) -> &'static str {
    match name {
        "client_queue" => "from send() until the request is made: linger, batch, buffer",
        "client_send" => "from the request to its last byte written",
        "unexplained" => {
            "round trip less the brokers' own time: network, TLS, a busy network thread, the wait behind an earlier request"
        }
        "request_queue" => "read by the broker, waiting for a request handler",
        "local" => "the leader appends to its log",
        "remote" => "followers fetch it (acks=all)",
        "response_queue" => "waiting for a network thread to take the answer",
        "send" => "the answer is written to the socket",
        "fetch" => "from the acknowledgement to the consumer",
        _ => "",
    }
}

/// The place in the path that a finding concerns.
pub(crate) fn place(stage: PathStage) -> &'static str {
    match stage {
        PathStage::ClientQueue => "client queue",
        PathStage::Network => "network and encryption",
        PathStage::Broker => "broker",
        PathStage::Log => "log and device",
        PathStage::Replication => "replication",
        PathStage::Fetch => "consumers",
        PathStage::Instrument => "Plumb itself",
        PathStage::Host => "host",
        PathStage::Comparison => "comparison",
    }
}

/// A limit of the path.
pub(crate) fn bound(name: &str) -> String {
    match name {
        "aes" => "encryption (AES)".to_owned(),
        "cpu" => "processors".to_owned(),
        "cpu_per_byte" => "processors by cost of a byte".to_owned(),
        "device_write" => "writes to the device".to_owned(),
        "fsync" => "commits (fsync)".to_owned(),
        "handlers" => "request handlers".to_owned(),
        other => plain(other),
    }
}

/// `6.26 MB/s of 154 MB/s`; of a share of the time there is no more to say than the share.
pub(crate) fn measured_of_limit(measured: f64, limit: f64, unit: &str) -> String {
    match unit {
        "share of the time" => "busy".to_owned(),
        "bytes/s" => format!("{} of {}", bytes_per_s(measured), bytes_per_s(limit)),
        unit => format!("{} of {} {unit}", short(measured), short(limit)),
    }
}

/// The work of the threads of a class.
pub(crate) fn threads(class: ThreadClass) -> &'static str {
    match class {
        ThreadClass::Network => "network",
        ThreadClass::Handler => "request handlers",
        ThreadClass::ReplicaFetcher => "replica fetchers",
        ThreadClass::Cleaner => "log cleaner",
        ThreadClass::Gc => "garbage collection",
        ThreadClass::Jit => "JIT compilers",
        ThreadClass::ClientSender => "client sender",
        ThreadClass::Reactor => "reactors",
        ThreadClass::Other => "others",
    }
}

/// The function of the kernel in which a thread left the processor: the innermost that is not the scheduler's own.
pub(crate) fn off_cpu(stack: &OffCpuStack) -> Option<&str> {
    const SCHEDULER: [&str; 4] = ["schedule", "__schedule", "io_schedule", "preempt_schedule"];
    let is_scheduler = |frame: &str| SCHEDULER.iter().any(|start| frame.starts_with(start));
    let outside = stack.frames.iter().rfind(|frame| !is_scheduler(frame));
    outside.or(stack.frames.last()).map(String::as_str)
}

/// The work that processor time is spent on.
pub(crate) fn cpu(class: CpuClass) -> &'static str {
    match class {
        CpuClass::Aes => "AES and GHASH",
        CpuClass::Tls => "the rest of TLS",
        CpuClass::Compress => "compression",
        CpuClass::Decompress => "decompression",
        CpuClass::Checksum => "checksums",
        CpuClass::Copy => "copies",
        CpuClass::NetworkStack => "network stack",
        CpuClass::LogAppend => "log append",
        CpuClass::Fsync => "fsync",
        CpuClass::Lock => "locks",
        CpuClass::Gc => "garbage collection",
        CpuClass::Jit => "JIT compilers",
        CpuClass::Authorize => "authorisation",
        CpuClass::Serialize => "serialisation",
        CpuClass::Other => "others",
    }
}

/// All classes of processor time, in the order of legends.
pub(crate) const CPU_CLASSES: [CpuClass; 15] = [
    CpuClass::Aes,
    CpuClass::Tls,
    CpuClass::Compress,
    CpuClass::Decompress,
    CpuClass::Checksum,
    CpuClass::Copy,
    CpuClass::NetworkStack,
    CpuClass::LogAppend,
    CpuClass::Fsync,
    CpuClass::Lock,
    CpuClass::Authorize,
    CpuClass::Serialize,
    CpuClass::Other,
    CpuClass::Gc,
    CpuClass::Jit,
];

/// The style class that carries the colour of a class of processor time.
pub(crate) fn cpu_style(class: CpuClass) -> &'static str {
    match class {
        CpuClass::Aes => "k-aes",
        CpuClass::Tls => "k-tls",
        CpuClass::Compress => "k-compress",
        CpuClass::Decompress => "k-decompress",
        CpuClass::Checksum => "k-checksum",
        CpuClass::Copy => "k-copy",
        CpuClass::NetworkStack => "k-network",
        CpuClass::LogAppend => "k-log",
        CpuClass::Fsync => "k-fsync",
        CpuClass::Lock => "k-lock",
        CpuClass::Gc => "k-gc",
        CpuClass::Jit => "k-jit",
        CpuClass::Authorize => "k-authorize",
        CpuClass::Serialize => "k-serialize",
        CpuClass::Other => "k-other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_time_is_not_told_twice() {
        assert_eq!(measured_of_limit(0.18, 1.0, "share of the time"), "busy");
        assert_eq!(measured_of_limit(6_263_273.0, 154_456_561.0, "bytes/s"), "6.26 MB/s of 154 MB/s");
        assert_eq!(measured_of_limit(50.0, 1_200.0, "commits/s"), "50 of 1,200 commits/s");
    }

    #[test]
    fn a_mean_of_nothing_is_no_time() {
        assert_eq!(stage_mean(0.0), "within the error");
        assert_eq!(stage_mean(4.2e6), "4.20 ms");
        assert_eq!(stage_mean(-4.2e6), "-4.20 ms");
    }

    #[test]
    fn a_thread_waits_where_it_called_the_scheduler() {
        let stack = |frames: &[&str]| OffCpuStack {
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
            ..OffCpuStack::default()
        };
        let waits =
            stack(&["do_syscall_64", "do_epoll_wait", "schedule_hrtimeout_range", "schedule", "__schedule"]);
        assert_eq!(off_cpu(&waits), Some("do_epoll_wait"));
        assert_eq!(off_cpu(&stack(&["schedule", "__schedule"])), Some("__schedule"));
        assert_eq!(off_cpu(&stack(&[])), None);
    }

    #[test]
    fn every_class_of_processor_time_has_a_colour_of_its_own() {
        let mut styles = CPU_CLASSES.map(cpu_style).to_vec();
        styles.sort_unstable();
        styles.dedup();
        assert_eq!(styles.len(), CPU_CLASSES.len());
    }
}
