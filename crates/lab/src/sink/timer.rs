//! A timer for delays that must be right to some ten microseconds.
//!
//! The runtime's own timer counts in milliseconds, so a constant 3 ms could be anything up to 4. This one is a thread of
//! its own that sleeps until shortly before the next deadline and spins for the rest. It costs that spin per deadline,
//! so it serves faults only: fetch waits and group deadlines use the runtime's timer.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    io,
    num::NonZeroU64,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

/// The time before a deadline at which the thread stops to sleep. Waking from a sleep takes 50 us and a little more on an idle
/// machine (ours, by looking at it).
const SPIN: Duration = Duration::from_micros(80);

/// The timer thread; it ends with this value.
#[derive(Debug)]
pub(super) struct Timer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    alarms: BinaryHeap<Alarm>,
    taken: u64,
    stopped: bool,
}

#[derive(Debug)]
struct Alarm {
    at: Instant,
    /// Alarms of the same instant ring in the order in which they were set.
    number: u64,
    bell: oneshot::Sender<()>,
}

impl Timer {
    pub(super) fn start() -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let thread = thread::Builder::new().name("sink-timer".into()).spawn(move || shared.run())?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Completes at `at`, at once when that is past.
    pub(super) async fn until(&self, at: Instant) {
        if at <= Instant::now() {
            return;
        }
        let (bell, rung) = oneshot::channel();
        {
            let mut waiting = self.queue.lock();
            let number = waiting.taken;
            waiting.taken += 1;
            waiting.alarms.push(Alarm { at, number, bell });
        }
        self.queue.changed.notify_one();
        // An error means that the timer has stopped, and with it the broker: nobody is left to be early for.
        let _ = rung.await;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.queue.lock().stopped = true;
        self.queue.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread has no way to panic; if it did, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Default slack lets the kernel wake us 50 us late. Where it cannot be changed the spin still covers most of it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut waiting = self.lock();
        while !waiting.stopped {
            let Some(at) = waiting.alarms.peek().map(|alarm| alarm.at) else {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.saturating_duration_since(Instant::now());
            if left > SPIN {
                let nap = left - SPIN;
                waiting = self.changed.wait_timeout(waiting, nap).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let alarm = waiting.alarms.pop();
            drop(waiting);
            while Instant::now() < at {
                std::hint::spin_loop();
            }
            if let Some(alarm) = alarm {
                // Nobody listens any more when the connection went away meanwhile.
                let _ = alarm.bell.send(());
            }
            waiting = self.lock();
        }
    }
}

impl Ord for Alarm {
    /// The earliest alarm is the greatest, so that the heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Alarm {}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    #[test]
    fn an_alarm_never_rings_before_its_time() {
        let timer = Timer::start().unwrap();
        for delay_us in [0, 10, 200, 3_000] {
            let at = Instant::now() + Duration::from_micros(delay_us);
            runtime().block_on(timer.until(at));
            assert!(Instant::now() >= at);
        }
    }

    #[test]
    fn alarms_ring_in_the_order_of_their_times_whatever_the_order_of_setting() {
        let timer = Timer::start().unwrap();
        let start = Instant::now();
        let rung = Mutex::new(Vec::new());
        let alarm = |after_ms: u64| {
            let (timer, rung) = (&timer, &rung);
            async move {
                timer.until(start + Duration::from_millis(after_ms)).await;
                rung.lock().unwrap().push(after_ms);
            }
        };
        runtime().block_on(async { tokio::join!(alarm(30), alarm(10), alarm(20)) });
        assert_eq!(*rung.lock().unwrap(), [10, 20, 30]);
    }
}
