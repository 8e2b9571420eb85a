//! Threads that commit in one way, each to a file of its own, block by block.

use super::commit::{Writer, renewed, tried, writer};
use super::directory::Directory;
use super::error::StorageError;
use super::pace::Pace;
use super::recorder::CommitSample;
use plumb_model::probe::storage::CommitCase;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
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

/// What came of preparing committers.
pub enum Prepared<'a> {
    /// They can begin.
    Ready(Committers<'a>),
    /// This file system or kernel does not have that way to commit; the reason in words.
    Refused(String),
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
            match writer(directory, &case, limit_bytes, u64::from(seed))? {
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

    /// Commits for so long, after a short warm-up, or until told to stop.
    ///
    /// # Errors
    /// When a commit fails.
    pub fn run(&mut self, length: Duration, stop: &AtomicBool) -> Result<CommitSample, StorageError> {
        self.directory.check()?;
        let pace = Pace { length, stop };
        let (directory, case, limit_bytes) = (self.directory, self.case, self.limit_bytes);
        // Closed while they warm up; then it says whether to go on.
        let gate = RwLock::new(false);
        let drive = |seed: usize, writer: &mut Box<dyn Writer>, warm: Sender<()>| {
            let renew = || renewed(directory, &case, limit_bytes, seed as u64);
            let warmed = warm_up(directory, writer, &pace, &renew);
            // Also after an error, so that nobody waits for it; nobody listens any more only when all is lost.
            let _ = warm.send(());
            drop(warm);
            let go = *gate.read().unwrap_or_else(PoisonError::into_inner);
            warmed?;
            if go { measure(directory, writer, &pace, &renew) } else { Ok(CommitSample::empty()) }
        };
        let drive = &drive;
        std::thread::scope(|scope| {
            let mut go = gate.write().unwrap_or_else(PoisonError::into_inner);
            let (warm, told) = channel();
            let mut threads = Vec::new();
            let mut failed = None;
            for (seed, writer) in self.writers.iter_mut().enumerate() {
                let warm = warm.clone();
                match Builder::new().spawn_scoped(scope, move || drive(seed, writer, warm)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        failed = Some(error.to_string());
                        break;
                    }
                }
            }
            drop(warm);
            told.iter().take(threads.len()).for_each(drop);
            *go = failed.is_none();
            let cpu_before_ns = cpu_ns();
            drop(go);
            let mut sum = CommitSample::empty();
            for thread in threads {
                let sample = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                sum.add(&sample);
            }
            sum.cpu_ns = cpu_ns().saturating_sub(cpu_before_ns);
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

fn warm_up(
    directory: &Directory,
    writer: &mut Box<dyn Writer>,
    pace: &Pace<'_>,
    renew: Renew<'_>,
) -> Result<(), StorageError> {
    let began = Instant::now();
    loop {
        if writer.is_full() {
            *writer = renew()?;
        }
        let now = Instant::now();
        writer.commit(now).map_err(|(doing, errno)| directory.error(doing, errno))?;
        if pace.is_over(began, Instant::now(), pace.warm_up()) {
            // What is still under way would count its wait for the others as time of a commit.
            return writer.settle().map_err(|(doing, errno)| directory.error(doing, errno));
        }
    }
}

fn measure(
    directory: &Directory,
    writer: &mut Box<dyn Writer>,
    pace: &Pace<'_>,
    renew: Renew<'_>,
) -> Result<CommitSample, StorageError> {
    let mut sample = CommitSample::empty();
    let began = Instant::now();
    let mut before = began;
    let mut renewing = Duration::ZERO;
    while !pace.is_over(began, before, pace.length + renewing) {
        if writer.is_full() {
            *writer = renew()?;
            let now = Instant::now();
            renewing += now - before;
            before = now;
        }
        let started = writer.commit(before).map_err(|(doing, errno)| directory.error(doing, errno))?;
        let now = Instant::now();
        sample.commit((now - started).as_nanos() as u64, (now - began - renewing).as_nanos() as u64);
        before = now;
    }
    sample.end((before - began - renewing).as_nanos() as u64);
    writer.settle().map_err(|(doing, errno)| directory.error(doing, errno))?;
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::super::commit::Failure;
    use super::*;
    use plumb_model::probe::storage::{CommitMethod, Placement};

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
        let sample = committers.run(length, &AtomicBool::new(false)).unwrap();
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
        // Each committer is busy with nothing else, so the times add up to what both were given.
        assert!(sample.sum_ns <= 2 * u128::from(sample.elapsed_ns));
        assert!(sample.rate_per_s * sample.elapsed_ns as f64 / 1e9 >= sample.commits() as f64 * 0.999);
    }

    /// Leaves a commit under way whenever it tells of one.
    struct Behind(std::sync::Arc<AtomicBool>);

    impl Writer for Behind {
        fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(now)
        }

        fn is_full(&self) -> bool {
            false
        }

        fn settle(&mut self) -> Result<(), Failure> {
            self.0.store(false, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn nothing_is_under_way_when_the_warm_up_waits_for_the_others() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let under_way = std::sync::Arc::new(AtomicBool::new(false));
        let mut writer: Box<dyn Writer> = Box::new(Behind(under_way.clone()));
        let stop = AtomicBool::new(false);
        let pace = Pace { length: Duration::from_millis(1), stop: &stop };
        warm_up(&directory, &mut writer, &pace, &|| panic!("it never gets full")).unwrap();
        assert!(!under_way.load(std::sync::atomic::Ordering::Relaxed));
    }

    #[test]
    fn a_user_who_says_stop_ends_a_block_after_the_commit_under_way() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let case = case(CommitMethod::Dsync, Placement::Append, 1);
        let Prepared::Ready(mut committers) = Committers::prepare(&directory, case, 1 << 20).unwrap() else {
            panic!("O_DSYNC is refused");
        };
        let sample = committers.run(Duration::from_secs(3_600), &AtomicBool::new(true)).unwrap();
        assert_eq!(sample.commits(), 0);
    }
}
