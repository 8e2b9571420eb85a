//! How late a thread wakes that asked for absolute times, one period after the other.

use super::system::read_ns;
use plumb_model::random::Random;
use rustix::thread::{ClockId, clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Each case is measured in so many parts, in random order.
const ROUNDS: u32 = 4;

/// One way to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerCase {
    /// Time between two wake-ups.
    pub period_ns: u64,
    /// Whether the kernel is asked to be as sharp as it can; else its default slack holds, 50 us.
    pub sharp: bool,
}

/// What was seen of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerTimes {
    /// Which.
    pub case: TimerCase,
    /// Slack in force, read back.
    pub slack_ns: Option<u64>,
    /// Lateness of each wake-up.
    pub late_ns: Vec<i64>,
    /// Periods that were over before they could be asked for.
    pub missed: u64,
}

/// Measures each case for `each` in all.
pub fn wake_ups(cases: &[TimerCase], each: Duration, stop: &AtomicBool) -> Vec<TimerTimes> {
    let empty = |case: &TimerCase| TimerTimes { case: *case, slack_ns: None, late_ns: Vec::new(), missed: 0 };
    let mut times: Vec<TimerTimes> = cases.iter().map(empty).collect();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let mut random = Random::new(2);
    let part_ns = each.as_nanos() as u64 / u64::from(ROUNDS);
    for _ in 0..ROUNDS {
        random.shuffle(&mut order);
        for index in &order {
            // The slack is the thread's, so the thread is the part's.
            let part = || part(&mut times[*index], part_ns, stop);
            std::thread::scope(|scope| scope.spawn(part).join()).unwrap_or(());
        }
    }
    times
}

fn part(times: &mut TimerTimes, part_ns: u64, stop: &AtomicBool) {
    // Without the permission the slack stays as it is, and what is read back says so.
    let _ = set_current_timer_slack(if times.case.sharp { NonZeroU64::new(1) } else { None });
    times.slack_ns = current_timer_slack().ok();
    let period_ns = times.case.period_ns;
    let start = read_ns(libc::CLOCK_MONOTONIC);
    let mut due_ns = start + period_ns;
    while due_ns <= start + part_ns && !stop.load(Relaxed) {
        sleep_until(due_ns);
        let now_ns = read_ns(libc::CLOCK_MONOTONIC);
        times.late_ns.push(now_ns.wrapping_sub(due_ns) as i64);
        let (next_ns, missed) = next(due_ns, now_ns, period_ns);
        times.missed += missed;
        due_ns = next_ns;
    }
}

/// The next time that can still be asked for, and how many were over before.
fn next(due_ns: u64, now_ns: u64, period_ns: u64) -> (u64, u64) {
    let missed = now_ns.saturating_sub(due_ns) / period_ns;
    (due_ns + (missed + 1) * period_ns, missed)
}

fn sleep_until(due_ns: u64) {
    let time = rustix::thread::Timespec {
        tv_sec: (due_ns / 1_000_000_000) as i64,
        tv_nsec: (due_ns % 1_000_000_000) as _,
    };
    // A signal wakes the thread early; it then waits on.
    while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(rustix::io::Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_later_than_the_next_one_was_due_counts_that_as_missed() {
        assert_eq!(next(1_000, 1_090, 100), (1_100, 0));
        assert_eq!(next(1_000, 1_100, 100), (1_200, 1));
        assert_eq!(next(1_000, 1_350, 100), (1_400, 3));
        assert_eq!(next(1_000, 990, 100), (1_100, 0));
    }

    #[test]
    fn every_period_is_either_woken_for_or_missed_and_nobody_wakes_early() {
        let case = TimerCase { period_ns: 200_000, sharp: true };
        let times = wake_ups(&[case], Duration::from_millis(40), &AtomicBool::new(false));
        let TimerTimes { late_ns, missed, slack_ns, .. } = &times[0];
        assert!(late_ns.iter().all(|late| *late >= 0), "{late_ns:?}");
        // 50 in each of four parts; the last wake-up of a part may be late beyond its end.
        let periods = late_ns.len() as u64 + missed;
        assert!((200..).contains(&periods), "{periods}");
        assert_eq!(*slack_ns, Some(1));
    }
}
