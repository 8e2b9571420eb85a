//! Waits until a send is due: sleeps until shortly before, then spins.
//!
//! A sleeping thread of Linux wakes tens of microseconds late; latency counts from the intended time, so that lateness
//! would be in every figure. The spin is bounded ([`MAX_SPIN_NS`], and a fifth of the gap between sends), because the
//! broker under test may share this machine's CPUs.

use crate::clock::now_ns;
use std::time::Duration;

/// Spinning starts at most this long before a send.
pub(crate) const MAX_SPIN_NS: u64 = 100_000;

/// Longest uninterrupted sleep, so that a stop is noticed.
const MAX_SLEEP_NS: u64 = 50_000_000;

/// The time before a send at which sleeping stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    spin_ns: u64,
}

impl Pace {
    /// A pace that spins `spin_ns`, less when the sends are close together.
    pub(crate) fn new(spin_ns: u64, rate_per_s: f64) -> Self {
        let gap_ns = 1e9 / rate_per_s;
        Pace { spin_ns: spin_ns.min(MAX_SPIN_NS).min((gap_ns / 5.0) as u64) }
    }

    /// The time before a send at which sleeping stops.
    pub(crate) fn spin_ns(self) -> u64 {
        self.spin_ns
    }

    /// Waits until `due_ns`; false when `stop`, which is told the time, says so: also for a sender that is behind.
    pub(crate) fn wait(self, due_ns: u64, mut stop: impl FnMut(u64) -> bool) -> bool {
        loop {
            let now = now_ns();
            if stop(now) {
                return false;
            }
            if now >= due_ns {
                return true;
            }
            let left = due_ns - now;
            if left <= self.spin_ns {
                std::hint::spin_loop();
            } else {
                std::thread::sleep(Duration::from_nanos((left - self.spin_ns).min(MAX_SLEEP_NS)));
            }
        }
    }
}

/// Makes this thread's timers as sharp as the kernel allows (its default lets them slip by 50 us).
pub(crate) fn sharpen_timers() {
    // Without the permission the slack stays as it is; the measured slip then shows it.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_is_bounded_by_its_most_and_by_a_fifth_of_the_gap_between_sends() {
        assert_eq!(Pace::new(60_000, 100.0).spin_ns(), 60_000);
        assert_eq!(Pace::new(5_000_000, 100.0).spin_ns(), MAX_SPIN_NS);
        assert_eq!(Pace::new(60_000, 10_000.0).spin_ns(), 20_000);
        assert_eq!(Pace::new(60_000, f64::INFINITY).spin_ns(), 0);
    }

    #[test]
    fn a_send_is_never_early_whether_it_is_slept_or_spun_for() {
        for spin_ns in [0, MAX_SPIN_NS] {
            let due_ns = now_ns() + 300_000;
            assert!(Pace::new(spin_ns, 10.0).wait(due_ns, |_| false));
            assert!(now_ns() >= due_ns, "{spin_ns}");
        }
    }

    #[test]
    fn a_stop_ends_the_wait_also_of_a_sender_that_is_behind() {
        let pace = Pace::new(0, 10.0);
        let far_ns = now_ns() + 3_600_000_000_000;
        assert!(!pace.wait(far_ns, |_| true));
        assert!(!pace.wait(0, |_| true));
        assert!(pace.wait(0, |_| false));
        // The first look says go on, the second stop: the sleep between them ends long before the send is due.
        let mut looks = 0;
        assert!(!pace.wait(far_ns, |_| {
            looks += 1;
            looks == 2
        }));
    }
}
