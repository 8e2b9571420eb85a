//! The processors that this process may use, and threads that stay on one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Numbers of the processors that this process may use, ascending.
pub(crate) fn allowed() -> std::io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Keeps the calling thread on one processor.
pub(crate) fn stay_on(cpu: u32) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}
