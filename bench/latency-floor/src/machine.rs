//! CPU time of a contestant, and how much of the machine others used meanwhile.
//!
//! From /proc, in ticks of usually 10 ms: enough for runs of seconds.

use crate::error::BenchError;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Runs contestants and takes their CPU time.
#[derive(Debug)]
pub(crate) struct Meter {
    broker_pids: Vec<i32>,
    wakers: Vec<Child>,
    ticks_per_s: f64,
    cpus: f64,
}

/// The cost of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    /// The contestant's own CPU time.
    pub(crate) child_cpu_s: f64,
    /// Share of the machine's CPU time that neither the contestant, nor the brokers, nor this process used.
    pub(crate) foreign_share: f64,
}

/// Ticks so far.
struct Reading {
    busy: u64,
    ours: u64,
    children: u64,
}

impl Meter {
    pub(crate) fn new(broker_pids: Vec<i32>) -> Meter {
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        Meter { broker_pids, wakers: Vec::new(), ticks_per_s, cpus: cpus() as f64 }
    }

    /// From now on this process, the programs that it starts, and the brokers run before every ordinary program. And each
    /// CPU has something to do that gives way to everything: one that falls asleep wakes tens of microseconds late, a
    /// virtual one more, and how often that happens differs from run to run.
    pub(crate) fn make_realtime(&mut self) -> Result<(), BenchError> {
        for pid in self.broker_pids.iter().chain([&pid_of(std::process::id())]) {
            let mut command = Command::new("chrt");
            command.args(["--all-tasks", "--rr", "--pid", "1", &pid.to_string()]);
            self.run(command)?;
        }
        for _ in 0..cpus() {
            let mut command = Command::new("chrt");
            command.args(["--idle", "0"]).arg(std::env::current_exe()?).arg("awake");
            self.wakers.push(command.stdin(Stdio::null()).spawn()?);
        }
        Ok(())
    }

    /// Runs a program to its end; what it wrote to standard output.
    pub(crate) fn run(&self, mut command: Command) -> Result<(String, Spent), BenchError> {
        let (before, started) = (self.read()?, Instant::now());
        let output = command.stdin(Stdio::null()).output()?;
        let machine_ticks = started.elapsed().as_secs_f64() * self.ticks_per_s * self.cpus;
        let after = self.read()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let program = command.get_program().to_string_lossy().into_owned();
            return Err(BenchError::Program { program, status: output.status, said });
        }
        let children = (after.children - before.children) as f64;
        let foreign = (after.busy - before.busy) as f64 - (after.ours - before.ours) as f64 - children;
        let foreign_share = (foreign / machine_ticks).clamp(0.0, 1.0);
        Ok((text, Spent { child_cpu_s: children / self.ticks_per_s, foreign_share }))
    }

    fn read(&self) -> Result<Reading, BenchError> {
        // proc_stat(5): user nice system idle iowait irq softirq steal.
        let machine = numbers(Path::new("/proc/stat"), "cpu ")?;
        let busy = [0, 1, 2, 5, 6, 7].iter().map(|column| machine.get(*column).unwrap_or(&0)).sum();
        // proc_pid_stat(5): utime, stime, cutime, cstime are fields 14 to 17, the 11th to 14th after the state.
        let times = |pid: &str| numbers(&PathBuf::from(format!("/proc/{pid}/stat")), ") ");
        let own = times("self")?;
        let mut ours = own[10] + own[11];
        let wakers = self.wakers.iter().map(|waker| pid_of(waker.id()));
        for pid in self.broker_pids.iter().copied().chain(wakers) {
            let process = times(&pid.to_string())?;
            ours += process[10] + process[11];
        }
        Ok(Reading { busy, ours, children: own[12] + own[13] })
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        for waker in &mut self.wakers {
            // One that is gone already is what is wanted.
            let _ = waker.kill().and_then(|()| waker.wait());
        }
    }
}

/// Keeps one CPU busy for as long as the process that started this one lives.
pub(crate) fn stay_awake() {
    let parent = rustix::process::getppid();
    // Where the scheduler shares CPUs among sessions first, an idle task has its session's whole share (sched(7), the
    // autogroup feature). In a session of its own, of the lowest rank, it has next to none; elsewhere there is no such file.
    let _ = rustix::process::setsid();
    let _ = fs_err::write("/proc/self/autogroup", "19");
    while rustix::process::getppid() == parent {
        for _ in 0..1_000_000 {
            std::hint::spin_loop();
        }
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn pid_of(id: u32) -> i32 {
    i32::try_from(id).unwrap_or_default()
}

/// The numbers of the first line behind `mark`; what is no unsigned number is left out or counts as 0.
fn numbers(path: &Path, mark: &str) -> Result<Vec<u64>, BenchError> {
    let text = fs_err::read_to_string(path)?;
    let missing = || BenchError::Proc { path: path.to_owned(), expected: "CPU times" };
    let line = text.lines().next().and_then(|line| line.rsplit_once(mark)).ok_or_else(missing)?.1;
    let mut words = line.split_whitespace().peekable();
    // The state is a letter.
    let _ = words.next_if(|word| word.chars().all(char::is_alphabetic));
    let numbers: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
    if numbers.len() < 14 && mark == ") " { Err(missing()) } else { Ok(numbers) }
}
