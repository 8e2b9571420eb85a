//! The lateness of wake-ups: a thread asks for absolute times, one period after the other.
//!
//! Every period of the schedule counts: those that were over while the thread still slept are as late as it was for them.
//! Left out, a stall of a hundred periods would be one late wake-up among many punctual ones (coordinated omission).

use super::system::read_ns;
use plumb_model::random::Random;
use rustix::thread::{ClockId, clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Each case is measured in so many parts, in random order.
const ROUNDS: u32 = 4;

/// One way to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerCase {
    /// Time between two wake-ups.
    pub period_ns: u64,
    /// True if the kernel is asked to be as exact as it can; else its default slack holds, 50 us.
    pub sharp: bool,
}

/// The measurements of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerTimes {
    /// The case.
    pub case: TimerCase,
    /// Slack in force, read back.
    pub slack_ns: Option<u64>,
    /// Lateness of each period of the schedule, the missed ones with it.
    pub late_ns: Vec<i64>,
    /// Periods that were over before they could be asked for: each as late as the wake-up that came in their stead.
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
    let begin_ns = read_ns(libc::CLOCK_MONOTONIC);
    keep_schedule(times, begin_ns..begin_ns + part_ns, stop, |due_ns| {
        sleep_until(due_ns);
        read_ns(libc::CLOCK_MONOTONIC)
    });
}

/// Keeps a schedule over a span, its end included. `wake` sleeps until a time, and returns when it woke.
fn keep_schedule(
    times: &mut TimerTimes,
    span_ns: Range<u64>,
    stop: &AtomicBool,
    mut wake: impl FnMut(u64) -> u64,
) {
    let period_ns = times.case.period_ns;
    let Range { start: begin_ns, end: end_ns } = span_ns;
    let mut due_ns = begin_ns + period_ns;
    while due_ns <= end_ns && !stop.load(Relaxed) {
        let now_ns = wake(due_ns);
        times.late_ns.push(now_ns.wrapping_sub(due_ns) as i64);
        due_ns += period_ns;
        // What cannot be asked for any more. The schedule ends with the part, however long the stall.
        while due_ns <= now_ns.min(end_ns) {
            times.late_ns.push((now_ns - due_ns) as i64);
            times.missed += 1;
            due_ns += period_ns;
        }
    }
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

    /// The measurements of a sleeper over a schedule of 1,000 periods of 100 ns.
    fn seen(wake: impl FnMut(u64) -> u64) -> TimerTimes {
        let case = TimerCase { period_ns: 100, sharp: true };
        let mut times = TimerTimes { case, slack_ns: None, late_ns: Vec::new(), missed: 0 };
        keep_schedule(&mut times, 5_000..105_000, &AtomicBool::new(false), wake);
        times
    }

    #[test]
    fn a_stall_makes_every_period_in_it_as_late_as_it_was() {
        // 20 ns late each time, and once asleep for 200 periods: a fifth of the schedule.
        let stalled = seen(|due_ns| if due_ns == 50_000 { 70_050 } else { due_ns + 20 });
        assert_eq!((stalled.late_ns.len(), stalled.missed), (1_000, 200));
        let mut late_ns = stalled.late_ns;
        late_ns.sort_unstable();
        let stall: Vec<i64> = (0..=200).map(|period| 50 + 100 * period).collect();
        assert_eq!((&late_ns[..799], &late_ns[799..]), (&[20; 799][..], &stall[..]));
        // The p95 of it is that of the stall.
        assert_eq!(late_ns[949], 15_050);
    }

    #[test]
    fn a_wake_up_when_the_next_is_due_counts_that_as_missed_and_one_before_does_not() {
        let missed = |late_ns| seen(|due_ns| if due_ns == 50_000 { due_ns + late_ns } else { due_ns }).missed;
        assert_eq!([0, 90, 100, 350].map(missed), [0, 0, 1, 3]);
    }

    #[test]
    fn a_stall_beyond_the_end_counts_no_more_periods_than_the_schedule_has() {
        let TimerTimes { late_ns, missed, .. } = seen(|_| 5_000 + (1 << 60));
        assert_eq!((late_ns.len(), missed), (1_000, 999));
    }

    #[test]
    fn every_period_has_its_lateness_and_nobody_wakes_early() {
        let case = TimerCase { period_ns: 200_000, sharp: true };
        let times = wake_ups(&[case], Duration::from_millis(40), &AtomicBool::new(false));
        let TimerTimes { late_ns, missed, slack_ns, .. } = &times[0];
        assert!(late_ns.iter().all(|late| *late >= 0), "{late_ns:?}");
        // 50 in each of four parts.
        assert_eq!(late_ns.len(), 200);
        assert!(*missed < 200, "{missed}");
        assert_eq!(*slack_ns, Some(1));
    }
}
