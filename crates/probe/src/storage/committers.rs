//! Threads that commit in one way, each to a file of its own, block by block.

use super::commit::{renewed, tried, writer};
use super::directory::Directory;
use super::error::StorageError;
use super::pace::{CommitWindow, LENGTHS_MAX, Pace};
use super::recorder::{Account, CommitSample};
use super::writer::Writer;
use plumb_model::probe::storage::CommitCase;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Committers with their files.
pub struct Committers<'a> {
    directory: &'a Directory,
    case: CommitCase,
    limit_bytes: u64,
    writers: Vec<Box<dyn Writer>>,
}

/// The result of preparing committers.
pub enum Prepared<'a> {
    /// They can begin.
    Ready(Committers<'a>),
    /// This file system or kernel does not have that way to commit; the reason in words.
    Refused(String),
    /// The user said stop meanwhile.
    Stopped,
}

impl<'a> Committers<'a> {
    /// Opens the files of a case, and fills them where they are to be overwritten. No file grows beyond `limit_bytes`: one
    /// that reaches them is replaced by a new one, outside the measured time.
    ///
    /// # Errors
    /// When the directory does not take them.
    pub fn prepare(
        directory: &'a Directory,
        case: CommitCase,
        limit_bytes: u64,
    ) -> Result<Prepared<'a>, StorageError> {
        let mut writers = Vec::new();
        for seed in 0..case.committers {
            let writer = writer(directory, &case, limit_bytes, u64::from(seed))?;
            // Its file may not be full.
            if directory.is_stopped() {
                return Ok(Prepared::Stopped);
            }
            match writer {
                Ok(mut writer) => {
                    if let Err(reason) = tried(directory, &case, &mut writer)? {
                        return Ok(Prepared::Refused(reason));
                    }
                    writers.push(writer);
                }
                Err(reason) => return Ok(Prepared::Refused(reason)),
            }
        }
        Ok(Prepared::Ready(Committers { directory, case, limit_bytes, writers }))
    }

    /// Commits for so long, after a warm-up with all of them, or until told to stop; longer where all together have made
    /// fewer than so many commits by then, but for [`LENGTHS_MAX`] times as long at most.
    ///
    /// # Errors
    /// When a commit fails.
    pub fn run(
        &mut self,
        length: Duration,
        least_commits: u64,
        stop: &AtomicBool,
    ) -> Result<CommitSample, StorageError> {
        self.directory.check()?;
        let (directory, case, limit_bytes) = (self.directory, self.case, self.limit_bytes);
        let at_once = u64::from(case.committers) * u64::from(case.queue_depth);
        let window = CommitWindow::new(length, self.writers.len());
        let block = Block {
            directory,
            pace: Pace { length, stop },
            // Committers need not take turns evenly.
            turns_least: (least_commits * at_once.min(2)).div_ceil(at_once),
            window: &window,
            alone: self.writers.len() == 1,
        };
        // Closed until all threads are there; then it says when they were let go, if they were.
        let gate: RwLock<Option<Instant>> = RwLock::new(None);
        let drive = |seed: usize, writer: &mut Box<dyn Writer>| {
            let Some(began) = *gate.read().unwrap_or_else(PoisonError::into_inner) else {
                return Ok(CommitSample::empty());
            };
            let renew = || renewed(directory, &case, limit_bytes, seed as u64);
            window.guarded(|| block.commits(writer, began, seed == 0, &renew))
        };
        let drive = &drive;
        std::thread::scope(|scope| {
            let mut go = gate.write().unwrap_or_else(PoisonError::into_inner);
            let mut threads = Vec::new();
            let mut failed = None;
            for (seed, writer) in self.writers.iter_mut().enumerate() {
                match Builder::new().spawn_scoped(scope, move || drive(seed, writer)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        failed = Some(error.to_string());
                        break;
                    }
                }
            }
            *go = failed.is_none().then(Instant::now);
            drop(go);
            let mut sum = CommitSample::empty();
            for thread in threads {
                let sample = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                sum.add(&sample);
            }
            match failed {
                Some(reason) => Err(StorageError::Thread { committers: case.committers, reason }),
                None => Ok(sum),
            }
        })
    }
}

/// Processor time of this process so far.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

type Renew<'a> = &'a dyn Fn() -> Result<Box<dyn Writer>, StorageError>;

/// The state that the committers of a block share.
struct Block<'a> {
    directory: &'a Directory,
    pace: Pace<'a>,
    /// Fewest commits of the first committer, if there is time for them.
    turns_least: u64,
    window: &'a CommitWindow,
    /// True if there is only one committer: then nobody goes on while its file is replaced, and that time does not count.
    alone: bool,
}

impl Block<'_> {
    /// Commits from a committer's first commit until the block is over.
    fn commits(
        &self,
        writer: &mut Box<dyn Writer>,
        began: Instant,
        leads: bool,
        renew: Renew<'_>,
    ) -> Result<CommitSample, StorageError> {
        let mut account = Account::new();
        let mut lead = leads.then_some(Lead { turns: 0, cpu_begin_ns: 0, cpu_ns: 0 });
        let mut before = Instant::now();
        let mut renewing = Duration::ZERO;
        let mut warm = false;
        while !self.window.is_over() {
            if writer.is_full() {
                *writer = renew()?;
                let now = Instant::now();
                if self.alone {
                    renewing += now - before;
                }
                before = now;
            }
            let started = writer
                .commit(before)
                .map_err(|failure| self.directory.error(failure.doing, failure.errno))?;
            let now = Instant::now();
            let at_ns = (now - began).saturating_sub(renewing).as_nanos() as u64;
            account.commit((now - started).as_nanos() as u64, at_ns, self.window);
            if !warm && now - began >= self.pace.warm_up() {
                warm = true;
                self.window.warmed();
            }
            match &mut lead {
                Some(lead) => lead.after(self, at_ns),
                // The first one is about to say so as well, but may be waiting long for its own commit.
                None if self.pace.is_stopped() => break,
                None => {}
            }
            before = now;
        }
        writer.settle().map_err(|failure| self.directory.error(failure.doing, failure.errno))?;
        let sample = account.end(self.window);
        Ok(CommitSample { cpu_ns: lead.map_or(0, |lead| lead.cpu_ns), ..sample })
    }
}

/// The additional duties of the first committer.
struct Lead {
    turns: u64,
    cpu_begin_ns: u64,
    cpu_ns: u64,
}

impl Lead {
    /// Begins and ends the time that counts, when a commit of this committer has ended.
    fn after(&mut self, block: &Block<'_>, at_ns: u64) {
        let window = block.window;
        let Some((begin_ns, may_end_ns)) = window.began().zip(window.may_end()) else {
            if block.pace.is_stopped() {
                window.give_up();
            } else if window.all_are_warm() {
                self.cpu_begin_ns = cpu_ns();
                window.begin(at_ns);
            }
            return;
        };
        self.turns += 1;
        let longest_ns = (may_end_ns - begin_ns).saturating_mul(u64::from(LENGTHS_MAX));
        let enough = self.turns >= block.turns_least || at_ns - begin_ns >= longest_ns;
        if block.pace.is_stopped() || at_ns >= may_end_ns && enough {
            self.cpu_ns = cpu_ns().saturating_sub(self.cpu_begin_ns);
            window.end(at_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer::Failure;
    use super::*;
    use plumb_model::probe::storage::{CommitMethod, Placement};
    use std::sync::{Arc, Mutex};

    fn case(method: CommitMethod, placement: Placement, committers: u32) -> CommitCase {
        CommitCase { method, placement, block_bytes: 4096, committers, queue_depth: 1 }
    }

    fn sample(case: CommitCase, limit_bytes: u64, length: Duration) -> CommitSample {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let Prepared::Ready(mut committers) = Committers::prepare(&directory, case, limit_bytes).unwrap()
        else {
            panic!("{case:?} is refused");
        };
        let sample = committers.run(length, 0, &AtomicBool::new(false)).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        sample
    }

    #[test]
    fn every_commit_is_counted_once_in_the_histogram_the_seconds_and_the_rate() {
        let sample =
            sample(case(CommitMethod::Fsync, Placement::Append, 2), 1 << 20, Duration::from_millis(60));
        let seconds: u64 = sample.seconds.iter().map(|second| second.commits).sum();
        assert!(sample.commits() >= 2);
        assert_eq!(seconds, sample.commits());
        assert!(sample.made >= sample.commits() + 2, "each warmed up");
        let over = sample.commits() as f64 * 1e9 / sample.elapsed_ns as f64;
        assert!((sample.rate_per_s() / over - 1.0).abs() < 1e-9);
    }

    /// A device that does one commit at a time, in the order in which they come, each in so long: whatever the committers, it
    /// makes as many in a second. `spread` lets each take so long in turn.
    #[derive(Clone)]
    struct OneAtATime {
        spread: &'static [u64],
        done: Arc<Mutex<(usize, Instant)>>,
    }

    impl OneAtATime {
        fn new(spread: &'static [u64]) -> Self {
            OneAtATime { spread, done: Arc::new(Mutex::new((0, Instant::now()))) }
        }
    }

    impl Writer for OneAtATime {
        fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
            let ready = {
                let mut done = self.done.lock().unwrap();
                let took = Duration::from_millis(self.spread[done.0 % self.spread.len()]);
                *done = (done.0 + 1, done.1.max(Instant::now()) + took);
                done.1
            };
            std::thread::sleep(ready.saturating_duration_since(Instant::now()));
            Ok(now)
        }

        fn is_full(&self) -> bool {
            false
        }
    }

    /// Each has a device of its own.
    struct Delay(Duration);

    impl Writer for Delay {
        fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
            std::thread::sleep(self.0);
            Ok(now)
        }

        fn is_full(&self) -> bool {
            false
        }
    }

    /// Blocks of 20 ms of committers with these devices: all commits over all the time.
    fn rate(blocks: usize, writers: Vec<Box<dyn Writer>>, least_commits: u64) -> (f64, u64) {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let case = case(CommitMethod::Fsync, Placement::Append, writers.len() as u32);
        let mut committers = Committers { directory: &directory, case, limit_bytes: 1 << 20, writers };
        let (mut commits, mut elapsed_ns) = (0, 0);
        for _ in 0..blocks {
            let sample =
                committers.run(Duration::from_millis(20), least_commits, &AtomicBool::new(false)).unwrap();
            assert!(sample.elapsed_ns >= 20_000_000);
            commits += sample.commits();
            elapsed_ns += sample.elapsed_ns;
        }
        (commits as f64 * 1e9 / elapsed_ns as f64, commits)
    }

    #[test]
    fn a_device_that_does_one_commit_at_a_time_is_not_made_faster_by_committers() {
        // 4 ms in the mean. Blocks are far shorter than the turns of 16 committers.
        let device = OneAtATime::new(&[1, 2, 4, 9]);
        for committers in [2, 4, 16] {
            let writers = (0..committers).map(|_| Box::new(device.clone()) as Box<dyn Writer>);
            let (rate, _) = rate(4, writers.collect(), 0);
            // A machine with too much to do wakes sleepers late, never early.
            assert!((150.0..=275.0).contains(&rate), "{committers} committers: {rate}/s of 250/s");
        }
    }

    #[test]
    fn devices_of_their_own_add_up_and_none_is_counted_twice() {
        let writers =
            (0..8).map(|number| Box::new(Delay(Duration::from_millis(5 + number))) as Box<dyn Writer>);
        // 1/5 + 1/6 ... 1/12 a millisecond.
        let (rate, _) = rate(4, writers.collect(), 0);
        assert!((600.0..=1_060.0).contains(&rate), "{rate}/s of 1,020/s");
    }

    #[test]
    fn a_slow_device_gets_the_time_for_the_commits_that_are_wanted_and_no_more_than_ten_lengths() {
        let slow = || vec![Box::new(Delay(Duration::from_millis(15))) as Box<dyn Writer>];
        let (rate_of_few, commits) = rate(1, slow(), 6);
        assert_eq!(commits, 6);
        assert!(rate_of_few <= 1_000.0 / 15.0, "{rate_of_few}");
        let (_, commits) = rate(1, slow(), 1_000);
        assert!((2..=14).contains(&commits), "ten times 20 ms: {commits}");
    }

    #[test]
    fn a_user_who_says_stop_ends_a_block_after_the_commit_under_way() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let case = case(CommitMethod::Dsync, Placement::Append, 1);
        let Prepared::Ready(mut committers) = Committers::prepare(&directory, case, 1 << 20).unwrap() else {
            panic!("O_DSYNC is refused");
        };
        let sample = committers.run(Duration::from_secs(3_600), 0, &AtomicBool::new(true)).unwrap();
        assert_eq!(sample.commits(), 0);
    }
}
