//! What the threads of one class of one process did, as shares of their time. Read next: `case.rs`.

use super::measure::{count, known, ratio, share};
use plumb_model::observed::{ProcessWindow, ThreadClass, ThreadGroup};

/// Shares of the time of all threads of a class, 0 to 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    /// On a processor.
    pub(super) executing: Option<f64>,
    /// Ready to run, without a processor.
    pub(super) runnable: Option<f64>,
    /// In the kernel for a disk.
    pub(super) disk: Option<f64>,
    /// How many they are.
    pub(super) threads: u32,
    /// Waiting in a futex; idle threads of a pool are part of it.
    pub(super) lock: Option<f64>,
    /// The processor time of the busiest, of the window.
    pub(super) busiest: Option<f64>,
}

impl Threads {
    /// The threads of a class; none where the process has none of it, or no time was told.
    pub(super) fn of(process: &ProcessWindow, class: ThreadClass, elapsed_ns: u64) -> Option<Threads> {
        let group = process.groups.iter().find(|group| group.class == class)?;
        let elapsed_ns = if process.usage.elapsed_ns > 0 { process.usage.elapsed_ns } else { elapsed_ns };
        let time_ns = Some(f64::from(group.threads) * elapsed_ns as f64);
        let of_time = |state_ns: Option<u64>| share(ratio(count(state_ns), time_ns));
        Some(Threads {
            executing: of_time(group.states.executing_ns),
            runnable: of_time(group.states.runnable_ns),
            disk: of_time(group.states.disk_ns),
            threads: group.threads,
            lock: of_time(group.states.lock_ns),
            busiest: share(group.busiest_share),
        })
    }

    /// How many of them wait for a disk at any moment, on average.
    pub(super) fn in_disk(&self) -> Option<f64> {
        Some(self.disk? * f64::from(self.threads))
    }

    /// The time without a processor over the time in which one was wanted.
    pub(super) fn delayed(&self) -> Option<f64> {
        let (executing, runnable) = (self.executing?, self.runnable?);
        ratio(Some(runnable), Some(executing + runnable))
    }
}

/// Share of a group's readings in which a thread slept in one of these functions of the kernel, 0 to 1.
pub(super) fn waits_in(group: &ThreadGroup, functions: &[&str]) -> f64 {
    let named =
        group.waits.iter().filter(|(name, _)| functions.iter().any(|function| name.contains(function)));
    named.filter_map(|(_, share)| known(Some(*share))).sum::<f64>().min(1.0)
}
