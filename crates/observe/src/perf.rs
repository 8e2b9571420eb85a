//! perf on a native process: which functions its threads run, as collapsed stacks.
//!
//! `perf record` writes its samples into a pipe, so that no file is made and perf ends by itself when Plumb is killed; `perf script` names
//! their functions after the window. The event is the processor clock, which every kernel has, also in virtual machines.

use crate::profile::Sampled;
use plumb_model::fault::{Fault, HasFault};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use thiserror::Error;

/// Samples a second of each thread that runs; no round number, so that it keeps step with nothing.
const FREQUENCY_HZ: &str = "997";
/// Samples that are kept (ours): some minutes of a few busy threads.
const SAMPLES_BYTES_MAX: u64 = 256 << 20;
/// Text of one error that is shown.
const ERROR_BYTES_MAX: u64 = 4096;

/// A process that perf could not profile.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum PerfError {
    #[error("cannot start perf")]
    Start(#[source] io::Error),
    #[error("cannot read what perf writes")]
    Read(#[source] io::Error),
    #[error("perf took no sample: {0}")]
    Refused(String),
    #[error("the samples are more than {SAMPLES_BYTES_MAX} bytes")]
    TooMany,
}

impl HasFault for PerfError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            PerfError::Start(_) => "install perf (Debian: linux-perf, Ubuntu: linux-tools-generic)",
            PerfError::Refused(_) => {
                "run Plumb as root or as the process' user, and set kernel.perf_event_paranoid to 2 or less"
            }
            PerfError::TooMany => "watch for a shorter time",
            PerfError::Read(_) => return None,
        };
        Some(hint.into())
    }
}

/// A profile under way.
#[derive(Debug)]
pub struct PerfProfiler {
    record: Child,
    samples: JoinHandle<io::Result<Vec<u8>>>,
    error: JoinHandle<String>,
}

impl PerfProfiler {
    /// The event and its rate.
    pub const SOURCE: &str = "perf, cpu-clock, 997 Hz";
    /// What [`Sampled::cpu_ns`] is of.
    pub const COST_IS_OF: &str =
        "perf's own process, without the kernel's interrupts in which it takes the samples";

    /// Starts one of all threads of a process.
    ///
    /// # Errors
    /// Where there is no perf.
    pub fn start(pid: u32) -> Result<Self, PerfError> {
        let mut record = Command::new("perf")
            .args(["record", "--output=-", "--event=cpu-clock", "--call-graph=fp"])
            .arg(format!("--freq={FREQUENCY_HZ}"))
            .arg(format!("--pid={pid}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(PerfError::Start)?;
        let (output, error) = (record.stdout.take(), record.stderr.take());
        let samples = std::thread::spawn(move || {
            let mut samples = Vec::new();
            // One byte more tells that there were more.
            output.map_or(Ok(0), |output| output.take(SAMPLES_BYTES_MAX + 1).read_to_end(&mut samples))?;
            Ok(samples)
        });
        Ok(PerfProfiler { record, samples, error: text_of(error) })
    }

    /// Ends it.
    ///
    /// # Errors
    /// Where perf was refused, or took more samples than are kept.
    pub fn stop(mut self) -> Result<Sampled, PerfError> {
        // It writes what it has and ends, as after Ctrl-C; one that has ended already is no fault.
        if let Some(pid) = Pid::from_raw(self.record.id() as i32) {
            let _ = kill_process(pid, Signal::INT);
        }
        let samples = self.samples.join().unwrap_or_else(|_| Ok(Vec::new())).map_err(PerfError::Read)?;
        let cpu_ns = ended_cpu_ns(self.record.id());
        let status = self.record.wait().map_err(PerfError::Read)?;
        let error = self.error.join().unwrap_or_default();
        if samples.len() as u64 > SAMPLES_BYTES_MAX {
            return Err(PerfError::TooMany);
        }
        // After the signal it ends by that; one that ended by itself while the process lived was refused.
        match status.code() {
            Some(code) if code != 0 && samples.is_empty() => {
                let reason = if error.is_empty() { format!("it ended with exit code {code}") } else { error };
                Err(PerfError::Refused(reason))
            }
            _ => Ok(Sampled { stacks: collapsed(&named(samples)?), cpu_ns }),
        }
    }
}

/// Processor time of a child, when it has ended and before anybody has taken note of that: until then the kernel keeps it.
fn ended_cpu_ns(pid: u32) -> Option<u64> {
    let child = Pid::from_raw(i32::try_from(pid).ok()?)?;
    waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()??;
    // Documentation/scheduler/sched-stats.rst: time on a processor, of its first thread; perf has no other that works.
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The samples with the names of their functions.
fn named(samples: Vec<u8>) -> Result<String, PerfError> {
    let mut script = Command::new("perf")
        .args(["script", "--input=-", "--fields=comm,tid,ip,sym"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(PerfError::Start)?;
    let mut input = script.stdin.take();
    // It may write before it has read all.
    let writer = std::thread::spawn(move || input.as_mut().map_or(Ok(()), |input| input.write_all(&samples)));
    let output = script.wait_with_output().map_err(PerfError::Read)?;
    // What it did not read it did not want.
    let _ = writer.join();
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn text_of(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(ERROR_BYTES_MAX).read_to_end(&mut text);
            // The rest is read and not kept, so that perf does not wait for room in the pipe.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// Samples (`name tid`, then a frame a line from the innermost on, then an empty line) as `[name tid=7];outermost;innermost 12`.
fn collapsed(script: &str) -> String {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for sample in script.split("\n\n") {
        let mut lines = sample.lines().filter(|line| !line.is_empty());
        let Some((name, tid)) = lines.next().and_then(|line| line.trim().rsplit_once(' ')) else { continue };
        let frames: Vec<&str> =
            lines.filter_map(|line| line.trim().split_once(' ')).map(|(_, name)| name).collect();
        let thread = format!("[{} tid={}]", name.trim().replace(';', ":"), tid.trim());
        let frames = frames.iter().rev().map(|frame| frame.replace(';', ":"));
        let stack = std::iter::once(thread).chain(frames).collect::<Vec<_>>().join(";");
        *stacks.entry(stack).or_default() += 1;
    }
    stacks.iter().map(|(stack, samples)| format!("{stack} {samples}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn samples_are_put_together_by_thread_and_stack() {
        let script = "rdk:broker1  7 \n\t    1aff34 inner\n\t    2000 outer(int; char)\n\nrdk:broker1  7 \n\t  1 inner\n\t  2 outer(int; char)\n\n\
                      my app 8 \n\t 3 [unknown]\n\n";
        assert_eq!(
            collapsed(script),
            "[my app tid=8];[unknown] 1\n[rdk:broker1 tid=7];outer(int: char);inner 2\n"
        );
        assert_eq!(collapsed("\n\n"), "");
    }

    /// Collapsed stacks of a shell that works, over so long.
    fn of_busy_shell(window: Duration) -> Result<Sampled, PerfError> {
        let mut shell = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let profiler = PerfProfiler::start(shell.id());
        std::thread::sleep(window);
        let stacks = profiler.and_then(PerfProfiler::stop);
        shell.kill().unwrap();
        shell.wait().unwrap();
        stacks
    }

    #[test]
    fn a_process_that_works_shows_its_threads_and_none_is_refused() {
        // perf takes its time to begin on a busy machine: longer each time, until there are samples.
        for seconds in [1, 2, 4, 8, 16] {
            match of_busy_shell(Duration::from_secs(seconds)) {
                Ok(sampled) if sampled.stacks.is_empty() => assert!(seconds < 16, "no sample in 16 s"),
                Ok(Sampled { stacks, cpu_ns }) => {
                    assert!(stacks.lines().all(|line| line.starts_with("[sh tid=")), "{stacks}");
                    // It runs for some milliseconds at least, and never for longer than it was there.
                    let most_ns = 1_000_000_000 * (seconds + 10);
                    assert!(cpu_ns.is_some_and(|ns| (100_000..most_ns).contains(&ns)), "{cpu_ns:?}");
                    break;
                }
                // A machine without perf says so, and one that does not allow it.
                Err(error @ (PerfError::Start(_) | PerfError::Refused(_))) => {
                    return assert!(error.hint().is_some(), "{error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        let mut gone = PerfProfiler::start(4_194_305).unwrap();
        gone.record.wait().unwrap();
        let gone = gone.stop();
        assert!(matches!(gone, Err(PerfError::Refused(_))), "{gone:?}");
    }
}
