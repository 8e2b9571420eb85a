//! The process of a program: started so that it ends with this one, its words kept, ended with all that it has started.
//!
//! Its standard input is a socket, on which it also answers: no path, no environment, and nothing that another process inherits. What it
//! prints is no part of the protocol: the last lines are kept for whoever reads an error, and safepoints that a JVM logs are taken out.

use super::command::{DriverCommand, Role};
use super::pauses::{Safepoints, safepoint};
use crate::clock::now_ns;
use crate::error::LoadError;
use plumb_model::secret::METRICS_PASSWORD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines that are kept of what a program prints (ours: an exception's beginning and its cause).
const LINES_KEPT: usize = 12;
/// The longest line that is kept, in bytes.
const LINE_MAX: u64 = 4_096;
/// Most lines that a program may print in a block: beyond it, printing is what is measured (ours).
pub(super) const LINES_MOST: u64 = 100_000;
/// The variable in the environment by which all that a program starts is known. It is no secret.
const MARK: &str = "PLUMB_DRIVER";
/// Most bytes that are read of an output once its program is over (a pipe holds 64 KiB unless told): whoever kept it open may print for ever.
const OUTPUT_LEFT: usize = 1 << 20;
/// Between two looks at whether an output is wanted no more.
const OUTPUT_LOOK_NS: i64 = 50_000_000;
/// Longest wait until a program that was stopped has stopped.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

/// A running program, and its end of the socket that is ours.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    pub(super) role: Role,
    pub(super) socket: UnixStream,
    said: Arc<Mutex<Said>>,
    readers: Vec<JoinHandle<()>>,
    /// What it printed is read no more once it is over, whoever else still has its output open.
    over: Arc<AtomicBool>,
    /// The value of [`MARK`] that it and all that it starts have in their environment.
    mark: String,
}

/// What a program printed.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The last lines.
    pub(super) lines: VecDeque<String>,
    /// All of them.
    pub(super) count: u64,
    /// The pauses that its JVM logged.
    pub(super) safepoints: Safepoints,
}

impl Program {
    pub(super) fn start(command: &DriverCommand, role: Role) -> Result<Self, LoadError> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        // Of this process at this time alone: a Plumb in a container may have the same number.
        let mark = format!("{}-{}-{}", std::process::id(), now_ns(), STARTED.fetch_add(1, Ordering::Relaxed));
        let cannot = |error: std::io::Error| LoadError::DriverStart {
            program: command
                .words
                .first()
                .map(|word| word.to_string_lossy().into_owned())
                .unwrap_or_default(),
            reason: error.to_string(),
        };
        let (ours, theirs) = UnixStream::pair().map_err(cannot)?;
        ours.set_nonblocking(true).map_err(cannot)?;
        let mut words = command.words.iter();
        let mut process = Command::new(words.next().map(OsString::as_os_str).unwrap_or_default());
        process
            .args(words)
            .env(MARK, &mark)
            .env_remove(METRICS_PASSWORD)
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        end_with_this_thread(&mut process);
        let mut child = process.spawn().map_err(cannot)?;
        let said = Arc::<Mutex<Said>>::default();
        let outputs = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let over = Arc::<AtomicBool>::default();
        let mut program = Program {
            child,
            role,
            socket: ours,
            said: Arc::clone(&said),
            readers: Vec::new(),
            over: Arc::clone(&over),
            mark,
        };
        for output in outputs.into_iter().flatten() {
            let (said, over) = (Arc::clone(&said), Arc::clone(&over));
            let output = Output { output: File::from(output), over, left: OUTPUT_LEFT };
            let reader = std::thread::Builder::new().name(format!("plumb-said-{}", role.word()));
            program.readers.push(reader.spawn(move || listen(output, &said)).map_err(cannot)?);
        }
        Ok(program)
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// True once it has ended.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.pid().is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    /// How it ended and what it printed last, for an error. It is ended, if it had not.
    pub(super) fn last_words(&mut self) -> String {
        let status = self.status().as_ref().map(words_of).unwrap_or_default();
        self.end();
        let said = self.said(|said| said.lines.iter().cloned().collect::<Vec<_>>().join(" | "));
        match (status.is_empty(), said.is_empty()) {
            (true, true) => "it printed nothing".to_owned(),
            (true, false) => format!("it printed: {said}"),
            (false, true) => format!("{status}, and printed nothing"),
            (false, false) => format!("{status}, and printed: {said}"),
        }
    }

    /// Looks at what it printed.
    pub(super) fn said<T>(&self, look: impl FnOnce(&Said) -> T) -> T {
        look(&self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits so long for its end; true if it came.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.has_ended() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// How it ended by itself, where that is not as a program ends that has done its part.
    pub(super) fn wrong_end(&self) -> Option<String> {
        self.status().filter(|status| status.exit_status() != Some(0)).as_ref().map(words_of)
    }

    /// How it ended, if it has. It is not waited for yet: until then its number and its group's are its own.
    fn status(&self) -> Option<WaitIdStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()?), options).ok().flatten()
    }

    /// Ends it and what it has started, wherever that went.
    pub(super) fn end(&mut self) {
        // Before it is waited for, so that the group's number is still its own.
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        kill_marked(&self.mark);
        let _ = self.child.wait();
        self.over.store(true, Ordering::Relaxed);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }

    /// Stops it and what it has started; true once none of them runs.
    pub(super) fn stop(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        if kill_process_group(pid, Signal::STOP).is_err() {
            return false;
        }
        let until = Instant::now() + STOPPED_WITHIN;
        while Instant::now() < until {
            if is_stopped(self.id()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::CONT);
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.readers.is_empty() {
            self.end();
        }
    }
}

/// True if every thread of a process group is stopped, or has ended (proc(5), fields 3 and 5 of stat).
fn is_stopped(group: u32) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stat = |path: std::path::PathBuf| -> Option<(String, String)> {
        let text = std::fs::read_to_string(path.join("stat")).ok()?;
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        Some((fields.next()?.to_owned(), fields.nth(1)?.to_owned()))
    };
    let of_group = processes.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
            && stat(path.clone()).is_some_and(|(_, its)| its == group.to_string())
    });
    let threads =
        of_group.flat_map(|path| std::fs::read_dir(path.join("task")).into_iter().flatten().flatten());
    threads.map(|entry| entry.path()).all(|path| stat(path).is_none_or(|(state, _)| "TtZX".contains(&state)))
}

fn words_of(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// An output of a program, until the program is over: what it has started may keep the other end open for ever.
struct Output {
    output: File,
    over: Arc<AtomicBool>,
    /// Bytes that are still read once it is over.
    left: usize,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Before the look, so that what was printed before the end is read.
            let is_over = self.over.load(Ordering::Relaxed);
            let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: if is_over { 0 } else { OUTPUT_LOOK_NS } };
            match poll(&mut fds, Some(&wait)) {
                Ok(0) if is_over => return Ok(0),
                Ok(_) if is_over => {
                    let most = self.left.min(buffer.len());
                    let read = self.output.read(&mut buffer[..most])?;
                    self.left -= read;
                    return Ok(read);
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.output.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Ends every process that has this mark in its environment: what a program has started, in whatever session it is.
fn kill_marked(mark: &str) {
    let entry = format!("{MARK}={mark}");
    // One that is started while they are looked for is found the second time.
    for _ in 0..2 {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            let number = process.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if let Some(pid) = number
                && environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Takes everything that it prints, so that it never waits for room.
fn listen(output: impl Read, said: &Mutex<Said>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        match safepoint(text) {
            Some(Some(safepoint)) => said.safepoints.note(safepoint),
            Some(None) => {}
            None if text.is_empty() => {}
            None => {
                said.count += 1;
                if said.lines.len() == LINES_KEPT {
                    said.lines.pop_front();
                }
                said.lines.push_back(text.to_owned());
            }
        }
    }
}

/// Lets the kernel end the program when the thread that starts it ends, in whatever way (prctl(2), `PR_SET_PDEATHSIG`).
#[expect(
    unsafe_code,
    reason = "only code between fork and exec can make the kernel end a program with its parent"
)]
fn end_with_this_thread(command: &mut Command) {
    let owner = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The owner may have died before the line above.
        if getppid() != Some(owner) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are allowed. It makes two system calls
    // through rustix, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}
