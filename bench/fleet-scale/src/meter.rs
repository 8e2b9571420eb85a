//! Runs a program to its end and says what it cost: time, CPU time, and the most memory that it held.

use crate::BenchError;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The cost of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) wall_s: f64,
    /// User and system time of the program and of those that it waited for.
    pub(crate) cpu_s: f64,
    /// Most memory resident at a time.
    pub(crate) rss_mib: f64,
}

/// Runs a program; gives what it printed and what it took.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<(String, Spent), BenchError> {
    let failed = |reason: String| BenchError::Contestant { name: name.to_owned(), reason };
    let mut errors = tempfile::tempfile()?;
    let started = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.try_clone()?).spawn();
    let mut child = child.map_err(|error| failed(format!("cannot be started: {error}")))?;
    let mut said = String::new();
    if let Some(mut output) = child.stdout.take() {
        // It ends when the program does: what is printed is the last thing that it does.
        output.read_to_string(&mut said)?;
    }
    let (status, mut spent) = wait4(i32::try_from(child.id()).unwrap_or_default())?;
    spent.wall_s = started.elapsed().as_secs_f64();
    if status != 0 {
        use std::io::Seek as _;
        errors.rewind()?;
        let mut text = String::new();
        errors.read_to_string(&mut text)?;
        return Err(failed(format!("ended with {status:#x}: {}", text.trim())));
    }
    Ok((said, spent))
}

#[expect(unsafe_code, reason = "no safe library gives a child's resource usage")]
fn wait4(pid: i32) -> Result<(i32, Spent), BenchError> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid one: it holds integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals of the types that wait4(2) writes, alive for the whole call.
    if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    // ru_maxrss is in KiB on Linux.
    Ok((status, Spent { wall_s: 0.0, cpu_s, rss_mib: usage.ru_maxrss as f64 / 1024.0 }))
}
