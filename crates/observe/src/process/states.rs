//! Readings of what a process' threads wait in, taken in turn: a few threads at each call, so that many threads cost no more than few.
//!
//! A thread that sleeps is told by the kernel's function that it sleeps in (`wchan`); its state (`stat`) is read where that does not say enough. Files stay
//! open and are read anew, and nothing is allocated for a thread that is known. Which threads are read has nothing to do with
//! what they do, so shares of readings are shares of time; when they are read is the caller's, who must not keep step with what is watched.

use crate::HostRoot;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

/// Threads whose files stay open, at most (ours): descriptors are few, 1,024 by default.
const KEPT_OPEN_MAX: usize = 300;
/// Time between two looks for new threads (ours).
const LISTED_EVERY: Duration = Duration::from_secs(1);
/// Functions by name, at most: the kernel has a few dozen in which threads sleep.
const CHANNELS_MAX: usize = 512;
/// Functions in which no thread sleeps uninterruptibly (state D), so that its state need not be read.
const INTERRUPTIBLE: [&str; 4] = ["futex_", "ep_poll", "do_epoll_wait", "hrtimer_nanosleep"];

/// What was read of one process.
#[derive(Debug)]
pub struct StateReadings {
    pid: u32,
    threads: Vec<Thread>,
    /// The next in turn.
    next: usize,
    listed_at: Option<Instant>,
    /// Names of the functions that threads slept in.
    channels: Vec<String>,
    buffer: Vec<u8>,
    path: String,
}

/// How often one thread was seen in which state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// Readings, of a running thread too.
    pub(super) readings: u32,
    pub(super) disk: u32,
    pub(super) lock: u32,
    pub(super) asleep: u32,
    /// Times by function: its place in `StateReadings::channels`.
    pub(super) channels: Vec<(u16, u32)>,
}

#[derive(Debug)]
struct Thread {
    tid: u32,
    waits: Waits,
    channel: Option<File>,
    state: Option<File>,
    /// Not there any more at the last look.
    is_gone: bool,
}

impl StateReadings {
    /// None yet.
    pub fn new(pid: u32) -> Self {
        StateReadings {
            pid,
            threads: Vec::new(),
            next: 0,
            listed_at: None,
            channels: Vec::new(),
            buffer: Vec::with_capacity(4096),
            path: String::new(),
        }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Threads that are known to be there.
    pub fn threads(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.is_gone).count()
    }

    /// Whether the kernel has told what any thread sleeps in: it tells who may trace the process. Absent before anything was read.
    pub fn tells_channels(&self) -> Option<bool> {
        let is_read = self.threads.iter().any(|thread| thread.waits.readings > 0);
        is_read.then_some(!self.channels.is_empty())
    }

    /// Reads the next so many threads in turn. A process that ended has none.
    pub fn read(&mut self, root: &HostRoot, threads: usize) {
        if self.listed_at.is_none_or(|at| at.elapsed() >= LISTED_EVERY) {
            self.list(root);
        }
        for _ in 0..threads.min(self.threads.len()) {
            let at = self.next % self.threads.len();
            self.next = (at + 1) % self.threads.len();
            if !self.threads[at].is_gone {
                self.read_one(root, at);
            }
        }
    }

    /// Looks for threads that have come and gone.
    fn list(&mut self, root: &HostRoot) {
        self.listed_at = Some(Instant::now());
        let names = root.list(&format!("/proc/{}/task", self.pid)).unwrap_or_default();
        let mut tids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        tids.sort_unstable();
        for thread in &mut self.threads {
            if tids.binary_search(&thread.tid).is_err() {
                (thread.channel, thread.state, thread.is_gone) = (None, None, true);
            }
        }
        let mut known: Vec<u32> = self.threads.iter().filter(|t| !t.is_gone).map(|t| t.tid).collect();
        known.sort_unstable();
        tids.retain(|tid| known.binary_search(tid).is_err());
        // A number that another thread had before counts for the one that has it at the end.
        self.threads.retain(|thread| tids.binary_search(&thread.tid).is_err());
        let new = |tid| Thread { tid, waits: Waits::default(), channel: None, state: None, is_gone: false };
        self.threads.extend(tids.into_iter().map(new));
    }

    fn read_one(&mut self, root: &HostRoot, at: usize) {
        let keep = at < KEPT_OPEN_MAX;
        let (pid, tid) = (self.pid, self.threads[at].tid);
        self.named("wchan", pid, tid);
        let channel = &mut self.threads[at].channel;
        if read(root, &self.path, channel, keep, &mut self.buffer).is_err() {
            self.buffer.clear();
        }
        let channel = self.channel();
        let is_interruptible = channel.is_some_and(|channel| {
            let name = &self.channels[usize::from(channel)];
            INTERRUPTIBLE.iter().any(|function| name.starts_with(function))
        });
        let state = if is_interruptible { Some('S') } else { self.state(root, at, keep) };
        let Some(state) = state else { return };
        let is_lock = channel.is_some_and(|channel| self.channels[usize::from(channel)].starts_with("futex"));
        let waits = &mut self.threads[at].waits;
        waits.readings += 1;
        match state {
            'R' => return,
            'D' => waits.disk += 1,
            _ if is_lock => waits.lock += 1,
            _ => waits.asleep += 1,
        }
        let Some(channel) = channel else { return };
        match waits.channels.iter_mut().find(|(known, _)| *known == channel) {
            Some((_, times)) => *times += 1,
            None => waits.channels.push((channel, 1)),
        }
    }

    fn state(&mut self, root: &HostRoot, at: usize, keep: bool) -> Option<char> {
        let (pid, tid) = (self.pid, self.threads[at].tid);
        self.named("stat", pid, tid);
        let file = &mut self.threads[at].state;
        read(root, &self.path, file, keep, &mut self.buffer).ok()?;
        state(&self.buffer)
    }

    fn named(&mut self, file: &str, pid: u32, tid: u32) {
        use std::fmt::Write as _;
        self.path.clear();
        // A string takes whatever is written to it.
        let _ = write!(self.path, "/proc/{pid}/task/{tid}/{file}");
    }

    /// The place of the function in the buffer; none for a thread that runs, or of which the kernel does not tell.
    fn channel(&mut self) -> Option<u16> {
        let text = std::str::from_utf8(&self.buffer).ok()?.trim();
        if text.is_empty() || text == "0" {
            return None;
        }
        let known = self.channels.iter().position(|channel| channel == text);
        let at = match known {
            Some(at) => at,
            None if self.channels.len() < CHANNELS_MAX => {
                self.channels.push(text.to_owned());
                self.channels.len() - 1
            }
            None => return None,
        };
        u16::try_from(at).ok()
    }

    /// What was read of each thread.
    pub(super) fn by_thread(&self) -> BTreeMap<u32, &Waits> {
        self.threads.iter().map(|thread| (thread.tid, &thread.waits)).collect()
    }

    /// The functions that a thread was seen in, with how often.
    pub(super) fn channels_of<'a>(&'a self, waits: &'a Waits) -> impl Iterator<Item = (&'a str, u32)> {
        waits
            .channels
            .iter()
            .filter_map(|(at, times)| Some((self.channels.get(usize::from(*at))?.as_str(), *times)))
    }
}

/// Reads a small file into the buffer: again, where it is open, and leaves it open where told.
fn read(
    root: &HostRoot,
    path: &str,
    kept: &mut Option<File>,
    keep: bool,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    /// No line of a thread is longer.
    const BYTES_MAX: u64 = 4096;
    buffer.clear();
    if let Some(file) = kept {
        file.seek(SeekFrom::Start(0))?;
        return file.take(BYTES_MAX).read_to_end(buffer).map(|_| ());
    }
    let mut file = root.open(path)?;
    (&mut file).take(BYTES_MAX).read_to_end(buffer)?;
    if keep {
        *kept = Some(file);
    }
    Ok(())
}

/// `1234 (name) S ...`: the name may hold any bytes.
fn state(stat: &[u8]) -> Option<char> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat[end + 1..].iter().find(|byte| !byte.is_ascii_whitespace()).map(|byte| char::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Threads of process 7: their states and what they sleep in.
    fn host(folder: &Path, threads: &[(u32, &str, &str)]) -> HostRoot {
        let _ = fs::remove_dir_all(folder.join("proc/7/task"));
        for (tid, stat, wchan) in threads {
            let thread = folder.join(format!("proc/7/task/{tid}"));
            fs::create_dir_all(&thread).unwrap();
            fs::write(thread.join("stat"), stat).unwrap();
            fs::write(thread.join("wchan"), wchan).unwrap();
        }
        HostRoot::new(folder)
    }

    fn counts(waits: &Waits) -> [u32; 4] {
        [waits.readings, waits.disk, waits.lock, waits.asleep]
    }

    #[test]
    fn threads_are_read_in_turn_and_each_as_often_as_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let threads = [
            (1, "1 (a) S 1", "ep_poll"),
            (2, "2 (b) S 1", "futex_wait_queue"),
            (3, "3 (c) D 1", "io_schedule"),
        ];
        let root = host(folder.path(), &threads);
        let mut readings = StateReadings::new(7);
        for _ in 0..6 {
            readings.read(&root, 2);
        }
        let of = |tid| counts(readings.by_thread()[&tid]);
        assert_eq!([of(1), of(2), of(3)], [[4, 0, 0, 4], [4, 0, 4, 0], [4, 4, 0, 0]]);
        let waits = readings.by_thread()[&3];
        assert_eq!(readings.channels_of(waits).collect::<Vec<_>>(), [("io_schedule", 4)]);
        assert_eq!((readings.threads(), readings.tells_channels()), (3, Some(true)));
    }

    #[test]
    fn a_thread_that_runs_is_read_and_in_no_state_and_one_that_ended_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = host(folder.path(), &[(1, "1 (a) R 1", "0"), (2, "2 (b) S 1", "0")]);
        let mut readings = StateReadings::new(7);
        readings.read(&root, 2);
        assert_eq!(counts(readings.by_thread()[&1]), [1, 0, 0, 0]);
        // Who may not trace the process is told no function.
        assert_eq!(readings.tells_channels(), Some(false));
        fs::remove_dir_all(folder.path().join("proc/7")).unwrap();
        readings.listed_at = None;
        readings.read(&root, 2);
        assert_eq!((counts(readings.by_thread()[&2]), readings.threads()), ([1, 0, 0, 1], 0));
    }

    #[test]
    fn names_of_any_bytes_leave_the_state_where_it_is() {
        for stat in [&b"7 (a) D b) S 1 2"[..], b"7 (\xff\n\x1b[2J) S 1", b"7 ()) S"] {
            assert_eq!(state(stat), Some('S'), "{stat:?}");
        }
        assert_eq!((state(b""), state(b"7 (a)")), (None, None));
    }

    #[test]
    fn a_file_that_stays_open_is_read_anew() {
        let root = HostRoot::default();
        let mut readings = StateReadings::new(std::process::id());
        let sleeper = std::thread::Builder::new().name("sleeper".to_owned());
        let (told, tid) = std::sync::mpsc::channel();
        let (wake, asleep) = std::sync::mpsc::channel::<()>();
        let sleeper = sleeper
            .spawn(move || {
                told.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
                let _ = asleep.recv();
            })
            .unwrap();
        let tid = tid.recv().unwrap();
        for _ in 0..3 {
            let threads = readings.threads().max(64);
            readings.read(&root, threads);
        }
        drop(wake);
        sleeper.join().unwrap();
        let waits = readings.by_thread()[&tid];
        assert_eq!(waits.readings, 3, "{waits:?}");
    }
}
