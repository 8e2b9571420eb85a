//! One sample: operations in a loop for a while, on one thread or on several at once.

use super::CryptoError;
use plumb_model::probe::crypto::EngineName;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What a sample came to.
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

/// Takes a sample on so many threads; `prepare` makes each thread's own state.
pub(super) fn sample<'a>(
    engine: EngineName,
    threads: u32,
    time: Duration,
    prepare: &(impl Fn() -> Result<Batch<'a>, CryptoError> + Sync),
) -> Result<Sample, CryptoError> {
    if threads == 1 {
        return timed(prepare()?, time, &Barrier::new(1));
    }
    let start = Barrier::new(threads as usize);
    let parts = std::thread::scope(|scope| {
        let one = || match prepare() {
            Ok(batch) => timed(batch, time, &start),
            // The others wait for this one.
            Err(error) => {
                start.wait();
                Err(error)
            }
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

/// Threads that ran at the same time: rates add up.
fn together(parts: &[Sample]) -> Sample {
    let shares: Option<Vec<f64>> = parts.iter().map(|part| part.on_cpu_share).collect();
    Sample {
        per_s: parts.iter().map(|part| part.per_s).sum(),
        on_cpu_share: shares.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64),
    }
}

fn timed(mut batch: Batch, time: Duration, start: &Barrier) -> Result<Sample, CryptoError> {
    let led = lead(&mut batch, time / LEAD);
    start.wait();
    let size = led?;
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
    let cpu = thread_cpu().saturating_sub(cpu_from);
    Ok(Sample {
        per_s: rate(operations, elapsed, beside),
        on_cpu_share: Some((cpu.as_secs_f64() / elapsed.as_secs_f64()).min(1.0)),
    })
}

fn rate(operations: u64, elapsed: Duration, beside: Duration) -> f64 {
    // A clock tick at least: an operation that took no time at all would have no finite rate.
    operations as f64 / elapsed.saturating_sub(beside).max(Duration::from_nanos(1)).as_secs_f64()
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
        assert_eq!(rate(500, Duration::from_secs(2), Duration::from_secs(1)), 500.0);
        assert_eq!(rate(500, Duration::from_secs(2), Duration::ZERO), 250.0);
        assert!(rate(1, Duration::from_secs(1), Duration::from_secs(1)).is_finite());
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
