//! The description of this machine, and CPU times as the kernel counts them, in ticks of usually 10 ms.

use crate::error::BenchError;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The description of this machine.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cpus: usize,
    /// Their name.
    pub model: String,
    /// The kernel's release.
    pub kernel: String,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Machine {
    /// This one. What the system does not say is empty.
    pub fn here() -> Machine {
        let text = |path: &str| fs_err::read_to_string(path).unwrap_or_default();
        let value = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory = value(&text("/proc/meminfo"), "MemTotal");
        let kib = memory.and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
        Machine {
            cpus: cpus(),
            model: value(&text("/proc/cpuinfo"), "model name").unwrap_or_default(),
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_bytes: kib.map(|kib| kib * 1024),
        }
    }
}

/// Processors that this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CPU time of all processors so far: user, nice, system, interrupts and stolen (proc_stat(5)).
///
/// # Errors
/// When /proc has none.
pub fn busy_s() -> Result<f64, BenchError> {
    let path = Path::new("/proc/stat");
    let text = fs_err::read_to_string(path)?;
    let columns = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let columns: Vec<f64> = columns.map(numbers).unwrap_or_default();
    if columns.len() < 8 {
        return Err(BenchError::Absent { path: path.to_owned(), expected: "CPU times" });
    }
    // user nice system idle iowait irq softirq steal.
    Ok([0, 1, 2, 5, 6, 7].iter().map(|column| columns[*column]).sum::<f64>() / ticks_per_s())
}

/// CPU time of a process so far, user and system, all its threads.
///
/// # Errors
/// When there is no such process.
pub(crate) fn process_cpu_s(pid: i32) -> Result<f64, BenchError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let text = fs_err::read_to_string(&path)?;
    // proc_pid_stat(5): the name in brackets may hold anything; utime and stime are the 12th and 13th behind it.
    let columns: Vec<f64> = text.rsplit_once(") ").map(|(_, rest)| numbers(rest)).unwrap_or_default();
    match columns.get(11..13) {
        Some(times) => Ok(times.iter().sum::<f64>() / ticks_per_s()),
        None => Err(BenchError::Absent { path, expected: "CPU times" }),
    }
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.parse().unwrap_or(0.0)).collect()
}

fn ticks_per_s() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_in_the_cpu_time_of_this_process_and_of_the_machine() {
        let me = i32::try_from(std::process::id()).unwrap();
        let (own, all) = (process_cpu_s(me).unwrap(), busy_s().unwrap());
        while process_cpu_s(me).unwrap() < own + 0.05 {
            std::hint::black_box((0..10_000).sum::<u64>());
        }
        assert!(busy_s().unwrap() > all);
    }
}
