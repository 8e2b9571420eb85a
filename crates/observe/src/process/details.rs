//! What is known of a process beside its threads: its control group, the queues of its sockets, its log directories, the nodes of its memory.

use super::cgroup::{CgroupSample, cgroup_window, sample_cgroup};
use super::log_devices::{LogDevice, log_devices};
use super::memory_nodes::remote_memory_share;
use super::sockets::SocketQueues;
use crate::{HostRoot, StateReadings, ThreadsSample};
use plumb_model::observed::{ProcessWindow, Unseen};

/// Readings of one process.
#[derive(Debug)]
pub struct ProcessDetails {
    pid: u32,
    logs: Vec<LogDevice>,
    sockets: SocketQueues,
    begin: Option<CgroupSample>,
    end: Option<CgroupSample>,
}

impl ProcessDetails {
    /// Looks where its logs are.
    pub fn open(root: &HostRoot, pid: u32) -> Self {
        let logs = log_devices(root, pid);
        ProcessDetails { pid, logs, sockets: SocketQueues::new(pid), begin: None, end: None }
    }

    fn cgroup(&self, root: &HostRoot) -> Option<CgroupSample> {
        let devices: Vec<String> = self.logs.iter().flat_map(|log| log.numbers.clone()).collect();
        sample_cgroup(root, self.pid, &devices)
    }

    /// The window begins.
    pub fn begin(&mut self, root: &HostRoot) {
        self.begin = self.cgroup(root);
    }

    /// Within the window; may be called often, and reads where it is time.
    pub fn read(&mut self, root: &HostRoot) {
        self.sockets.read(root);
    }

    /// The window ends.
    pub fn end(&mut self, root: &HostRoot) {
        self.end = self.cgroup(root);
    }

    /// Adds what was seen, and says what was not.
    pub fn add_to(&self, window: &mut ProcessWindow) -> Vec<Unseen> {
        let mut missing = Vec::new();
        let mut unseen = |what: String, reason: &str, hint: Option<&str>| {
            missing.push(Unseen { what, reason: reason.to_owned(), hint: hint.map(str::to_owned) });
        };
        let both = self.begin.as_ref().zip(self.end.as_ref());
        window.cgroup = both.map(|(before, after)| cgroup_window(before, after));
        if both.is_none() && !window.ended {
            let reason = "its control group is not among those that are mounted here";
            unseen(format!("limits of processor time and writing of process {}", self.pid), reason, None);
        }
        window.log_directories = self.logs.iter().map(|log| log.directory.clone()).collect();
        let largest = self.sockets.largest();
        window.receive_queue_bytes_max = largest.map(|queues| queues.receive);
        window.send_queue_bytes_max = largest.map(|queues| queues.send);
        if self.sockets.is_refused() {
            let reason = "its open files may not be looked at";
            let hint = "run as its user, or as root";
            unseen(format!("socket queues and log directories of process {}", self.pid), reason, Some(hint));
        }
        missing
    }
}

/// What the kernel does not tell of the states of a process' threads, in words; none where it tells all.
pub fn untold_states(readings: &StateReadings) -> Option<Unseen> {
    (readings.tells_channels() == Some(false)).then(|| Unseen {
        what: format!("locks of the threads of process {}", readings.pid()),
        reason: "the kernel does not tell this user what they sleep in (wchan)".to_owned(),
        hint: Some("run as the process' user, or as root".to_owned()),
    })
}

/// The part of a process' memory that is on other nodes than its threads, at the end of a window; see `memory_nodes.rs`.
pub fn remote_memory(
    root: &HostRoot,
    pid: u32,
    before: &ThreadsSample,
    after: &ThreadsSample,
) -> Option<f64> {
    remote_memory_share(root, pid, &after.busy_by_processor(before))
}
