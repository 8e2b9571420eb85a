//! A process that nobody waits for without end: it has a deadline, a stop is looked for, and it ends with the value that holds it,
//! together with whatever it has started.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The interval at which a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Most of what one says that is kept: a stranger may say the same for ever.
const SAID_MAX: usize = 4 << 20;

/// A process with pipes.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    stop: Arc<AtomicBool>,
    /// Its input; none once it is told that no more comes.
    pub(super) input: Option<ChildStdin>,
    output: Pipe<ChildStdout>,
    complaints: Pipe<ChildStderr>,
}

/// A child that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) output: String,
    /// The text on its standard error.
    pub(super) complaints: String,
    pub(super) status: ExitStatus,
}

/// An end of a pipe, and what came through it that nobody has taken.
#[derive(Debug)]
struct Pipe<R> {
    end: R,
    said: Vec<u8>,
    over: bool,
}

impl ChildProcess {
    pub(super) fn spawn(command: &mut Command, stop: &Arc<AtomicBool>) -> Result<Self> {
        let mut child = command
            // Ctrl-C is for the program that asks, which then ends this one; and what it starts ends with its group.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(output), Some(complaints)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::other("no pipes"));
        };
        Ok(ChildProcess {
            input: child.stdin.take(),
            output: Pipe::new(output),
            complaints: Pipe::new(complaints),
            stop: Arc::clone(stop),
            child,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its next line, without its end; none when there will be no more.
    pub(super) fn line(&mut self, within: Duration) -> Result<Option<String>> {
        let until = Instant::now() + within;
        loop {
            if let Some(end) = self.output.said.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.output.said.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if self.output.over {
                return Ok(None);
            }
            self.hear(until, within)?;
        }
    }

    /// Waits for its end.
    pub(super) fn finish(&mut self, within: Duration) -> Result<Finished> {
        let until = Instant::now() + within;
        while !self.output.over || !self.complaints.over {
            self.hear(until, within)?;
        }
        loop {
            if let Some(status) = self.child.try_wait()? {
                let (output, complaints) = (self.output.text(), self.complaints.text());
                return Ok(Finished { output, complaints, status });
            }
            self.go_on(until, within)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends it, and tells what it has complained of.
    pub(super) fn complaints(&mut self) -> String {
        self.kill();
        // Its end of the pipe is closed, unless somebody who left its group has it too.
        while !self.complaints.over && self.complaints.ready(Duration::ZERO) {
            let _ = self.complaints.hear();
        }
        self.complaints.text()
    }

    /// Ends its input, waits for it so long, and then ends it.
    pub(super) fn end(&mut self, within: Duration) {
        self.input = None;
        let until = Instant::now() + within;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    fn kill(&mut self) {
        // While it is not waited for, its number is nobody else's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Waits a while for whatever it says. What it complains of is taken meanwhile, so that it never waits for room.
    fn hear(&mut self, until: Instant, within: Duration) -> Result<()> {
        self.go_on(until, within)?;
        let (said, complained) = match (self.output.over, self.complaints.over) {
            (false, false) => ready(&[self.output.end.as_fd(), self.complaints.end.as_fd()], LOOK),
            (false, true) => (self.output.ready(LOOK), false),
            (true, _) => (false, self.complaints.ready(LOOK)),
        };
        if said {
            self.output.hear()?;
        }
        if complained {
            self.complaints.hear()?;
        }
        Ok(())
    }

    fn go_on(&self, until: Instant, within: Duration) -> Result<()> {
        match () {
            () if self.stop.load(Relaxed) => Err(Error::new(ErrorKind::Interrupted, "stopped")),
            () if Instant::now() >= until => {
                let why = format!("no answer within {} s", within.as_secs_f64());
                Err(Error::new(ErrorKind::TimedOut, why))
            }
            () => Ok(()),
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

impl<R: Read + AsFd> Pipe<R> {
    fn new(end: R) -> Self {
        Pipe { end, said: Vec::new(), over: false }
    }

    fn ready(&self, wait: Duration) -> bool {
        ready(&[self.end.as_fd()], wait).0
    }

    /// Takes what is there, once it is ready.
    fn hear(&mut self) -> Result<()> {
        let mut bytes = [0; 1 << 14];
        let heard = self.end.read(&mut bytes)?;
        if self.said.len() + heard > SAID_MAX {
            return Err(Error::new(ErrorKind::InvalidData, "it says more than a Java would"));
        }
        self.said.extend_from_slice(&bytes[..heard]);
        self.over = heard == 0;
        Ok(())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.said).into_owned()
    }
}

/// True for each of the first and the second that can be read without waiting; a signal ends the wait too.
fn ready(ends: &[BorrowedFd], wait: Duration) -> (bool, bool) {
    let mut fds: Vec<PollFd> = ends.iter().map(|end| PollFd::new(end, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    let _ = poll(&mut fds, Some(&timeout));
    let is_ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
    (is_ready(0), is_ready(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Far more than a machine needs that has other things to do.
    const SOON: Duration = Duration::from_secs(30);

    fn shell(commands: &str, stop: bool) -> ChildProcess {
        ChildProcess::spawn(Command::new("/bin/sh").args(["-c", commands]), &Arc::new(AtomicBool::new(stop)))
            .unwrap()
    }

    /// True if the process still runs: a zombie has only its number left.
    fn lives(process: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    }

    fn ends(process: &str) -> bool {
        let until = Instant::now() + SOON;
        while lives(process) && Instant::now() < until {
            std::thread::yield_now();
        }
        !lives(process)
    }

    #[test]
    fn lines_are_asked_and_answered_and_the_last_one_is_none() {
        let mut cat = shell("cat", false);
        cat.input.as_mut().unwrap().write_all(b"ready\nmore\n").unwrap();
        assert_eq!(cat.line(SOON).unwrap().as_deref(), Some("ready"));
        assert_eq!(cat.line(SOON).unwrap().as_deref(), Some("more"));
        cat.input = None;
        assert_eq!(cat.line(SOON).unwrap(), None);
    }

    #[test]
    fn one_that_says_half_a_line_is_waited_for_no_longer_than_told_and_ends_with_what_it_started() {
        let mut silent = shell("sleep 600 & echo $!; printf half; wait", false);
        let started = silent.line(SOON).unwrap().unwrap();
        let error = silent.line(Duration::from_millis(50)).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::TimedOut, "no answer within 0.05 s")
        );
        assert!(lives(&started));
        let process = silent.id().to_string();
        drop(silent);
        assert!(!lives(&process) && ends(&started));
    }

    #[test]
    fn a_stop_ends_the_wait_for_one_that_says_nothing() {
        let began = Instant::now();
        assert_eq!(shell("sleep 600", true).finish(10 * SOON).unwrap_err().kind(), ErrorKind::Interrupted);
        assert!(began.elapsed() < SOON);
    }

    #[test]
    fn what_it_says_and_complains_of_is_told_apart_and_neither_waits_for_room() {
        let both = "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; exit 3";
        let Finished { output, complaints, status } = shell(both, false).finish(SOON).unwrap();
        assert_eq!((output.len(), complaints.len(), status.code()), (200_000, 300_000, Some(3)));
    }
}
