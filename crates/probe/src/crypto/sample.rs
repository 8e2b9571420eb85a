//! One sample: operations in a loop for a while, on one thread or on several at once.

use super::CryptoError;
use plumb_model::probe::crypto::EngineName;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// The result of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Operations per second, of all threads together.
    pub per_s: f64,
    /// Share of the time in which the threads had a processor, 0..1; absent where it is not read.
    pub on_cpu_share: Option<f64>,
}

/// Does so many operations one after the other, and returns the time among them that does not count: the other end of a
/// handshake. In batches, so that neither the clock nor the call of this function is in the figure.
pub(super) type Batch<'a> = Box<dyn FnMut(u64) -> Result<Duration, CryptoError> + 'a>;

/// Time between two looks at the clock.
const LOOK: Duration = Duration::from_micros(50);
/// Share of a sample that goes before it: caches and the frequency of the previous work are not its own.
const LEAD: u32 = 8;

/// The time from the first thread's leaving the barrier until all begin: the others wake meanwhile, and none begins before
/// another.
const WAKE: Duration = Duration::from_micros(100);

/// Takes a sample on so many threads; `prepare` makes each thread's own state.
pub(super) fn sample<'a>(
    engine: EngineName,
    threads: u32,
    time: Duration,
    prepare: &(impl Fn() -> Result<Batch<'a>, CryptoError> + Sync),
) -> Result<Sample, CryptoError> {
    if threads == 1 {
        return alone(prepare()?, time);
    }
    let gate = Gate::new(threads);
    let parts = std::thread::scope(|scope| {
        let one = || {
            let led = prepare().and_then(|mut batch| {
                let size = lead(&mut batch, time / LEAD)?;
                Ok((batch, size))
            });
            // The others wait for this one, also when it failed.
            let from = gate.pass();
            let (batch, size) = led?;
            within(batch, size, from, time)
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(CryptoError::refused(engine, "a thread panicked")))
            })
            .collect::<Result<Vec<Sample>, CryptoError>>()
    })?;
    Ok(together(&parts))
}

/// The gate at which threads wait for each other, to begin at the same moment.
struct Gate {
    all: Barrier,
    opens: OnceLock<Instant>,
}

impl Gate {
    fn new(threads: u32) -> Self {
        Gate { all: Barrier::new(threads as usize), opens: OnceLock::new() }
    }

    /// Waits, and returns when the window of all begins.
    fn pass(&self) -> Instant {
        self.all.wait();
        let opens = *self.opens.get_or_init(|| Instant::now() + WAKE);
        while Instant::now() < opens {
            std::hint::spin_loop();
        }
        opens
    }
}

/// Threads over one window: rates add up.
fn together(parts: &[Sample]) -> Sample {
    let shares: Option<Vec<f64>> = parts.iter().map(|part| part.on_cpu_share).collect();
    Sample {
        per_s: parts.iter().map(|part| part.per_s).sum(),
        on_cpu_share: shares.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64),
    }
}

/// A sample on one thread, until a batch ends after the time.
fn alone(mut batch: Batch, time: Duration) -> Result<Sample, CryptoError> {
    let size = lead(&mut batch, time / LEAD)?;
    let (from, cpu_from) = (Instant::now(), thread_cpu());
    let (mut operations, mut beside) = (0_u64, Duration::ZERO);
    let elapsed = loop {
        beside += batch(size)?;
        operations += size;
        let elapsed = from.elapsed();
        if elapsed >= time {
            break elapsed;
        }
    };
    Ok(Sample {
        per_s: rate(operations as f64, elapsed, beside),
        on_cpu_share: Some(share(thread_cpu().saturating_sub(cpu_from), elapsed)),
    })
}

/// The sample of one of several threads, over the window of all: one that got its processor late, or for a part of it, did so
/// much less. Were each thread's rate of a time of its own, threads that take turns on one processor would add up to several.
fn within(mut batch: Batch, size: u64, from: Instant, time: Duration) -> Result<Sample, CryptoError> {
    let (until, cpu_from) = (from + time, thread_cpu());
    let (mut operations, mut beside) = (0.0, Duration::ZERO);
    let mut begun = Instant::now();
    while begun < until {
        let off = batch(size)?;
        let ended = Instant::now();
        // Of the last batch what lies in the window.
        let inside = share(until.duration_since(begun), ended.duration_since(begun));
        operations += size as f64 * inside;
        beside += off.mul_f64(inside);
        begun = ended;
    }
    let elapsed = begun.duration_since(from);
    Ok(Sample {
        per_s: rate(operations, time, beside),
        on_cpu_share: Some(share(thread_cpu().saturating_sub(cpu_from), elapsed)),
    })
}

fn rate(operations: f64, elapsed: Duration, beside: Duration) -> f64 {
    // A clock tick at least: an operation that took no time at all would have no finite rate.
    operations / elapsed.saturating_sub(beside).max(Duration::from_nanos(1)).as_secs_f64()
}

/// A part of a time, 0 to 1.
fn share(part: Duration, all: Duration) -> f64 {
    (part.as_secs_f64() / all.max(Duration::from_nanos(1)).as_secs_f64()).min(1.0)
}

/// Warms up, and returns how many operations fit between two looks at the clock.
fn lead(batch: &mut Batch, time: Duration) -> Result<u64, CryptoError> {
    let from = Instant::now();
    let mut size = 1;
    loop {
        let begun = Instant::now();
        batch(size)?;
        if begun.elapsed() * 2 < LOOK {
            size *= 2;
        }
        if from.elapsed() >= time {
            return Ok(size);
        }
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::{allowed, stay_on};

    /// Operations of a known length: the truth is a million nanoseconds a piece.
    fn a_millisecond_each() -> Result<Batch<'static>, CryptoError> {
        Ok(Box::new(|count| {
            let until = Instant::now() + Duration::from_millis(count);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            Ok(Duration::ZERO)
        }))
    }

    #[test]
    fn operations_are_never_counted_faster_than_they_are() {
        let one = sample(EngineName::Own, 1, Duration::from_millis(5), &a_millisecond_each).unwrap();
        assert!(one.per_s > 0.0 && one.per_s <= 1000.0, "{one:?}");
    }

    /// Time that each operation of the next test needs on a processor.
    const OPERATION: Duration = Duration::from_micros(50);

    fn on_one_processor() -> Result<Batch<'static>, CryptoError> {
        stay_on(allowed().unwrap()[0]).unwrap();
        Ok(Box::new(|count| {
            let until = thread_cpu() + OPERATION * count as u32;
            while thread_cpu() < until {
                std::hint::spin_loop();
            }
            Ok(Duration::ZERO)
        }))
    }

    #[test]
    fn threads_that_share_one_processor_are_together_no_faster_than_it() {
        for _ in 0..20 {
            let three = sample(EngineName::Own, 3, Duration::from_millis(2), &on_one_processor).unwrap();
            // A batch of each may reach beyond the window: what lies in it is an estimate.
            assert!(three.per_s * OPERATION.as_secs_f64() <= 1.15, "{three:?}");
            assert!(three.on_cpu_share.unwrap() <= 0.6, "{three:?}");
        }
    }

    #[test]
    fn a_thread_that_comes_late_to_the_window_did_so_much_less() {
        let late = |by: Duration| {
            let window = Duration::from_millis(400);
            within(a_millisecond_each().unwrap(), 1, Instant::now() - by, window).unwrap().per_s
        };
        assert!(late(Duration::from_millis(300)) <= 250.0);
        assert_eq!(late(Duration::from_millis(400)), 0.0);
    }

    #[test]
    fn rates_of_threads_add_up_and_their_shares_are_averaged() {
        let part = |per_s, share| Sample { per_s, on_cpu_share: Some(share) };
        let sum = together(&[part(100.0, 1.0), part(50.0, 0.5)]);
        assert_eq!((sum.per_s, sum.on_cpu_share), (150.0, Some(0.75)));
        let blind = together(&[part(1.0, 1.0), Sample { per_s: 2.0, on_cpu_share: None }]);
        assert_eq!((blind.per_s, blind.on_cpu_share), (3.0, None));
    }

    #[test]
    fn time_that_does_not_count_is_taken_off() {
        assert_eq!(rate(500.0, Duration::from_secs(2), Duration::from_secs(1)), 500.0);
        assert_eq!(rate(500.0, Duration::from_secs(2), Duration::ZERO), 250.0);
        assert!(rate(1.0, Duration::from_secs(1), Duration::from_secs(1)).is_finite());
    }

    #[test]
    fn a_thread_that_fails_fails_the_sample_and_holds_no_other_back() {
        let turn = std::sync::atomic::AtomicU32::new(0);
        let prepare = || match turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Err(CryptoError::refused(EngineName::Own, "a test")),
            _ => a_millisecond_each(),
        };
        let failed = sample(EngineName::Own, 2, Duration::from_millis(2), &prepare);
        assert_eq!(failed.unwrap_err().to_string(), "own refused a test");
    }
}
