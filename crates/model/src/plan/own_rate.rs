//! The mean rate of a schedule that has rates of its own: it depends on how long the schedule goes on.

use super::{Length, RateStep, Schedule};

impl Schedule {
    /// True if the schedule has rates of its own and does not take the load's.
    pub fn has_own_rate(&self) -> bool {
        matches!(self, Schedule::Steps(_) | Schedule::Ramp { .. })
    }

    /// Mean messages per second of a schedule that has rates of its own, over a part of this length from its beginning; none for
    /// one that takes the load's rate.
    pub(crate) fn own_rate_per_s(&self, part: Length) -> Option<f64> {
        if !self.has_own_rate() {
            return None;
        }
        Some(match part {
            Length::Duration(time) => {
                // A length of nothing is refused by its own bound.
                let time_s = time.as_secs_f64().max(1e-9);
                self.messages_in(time_s) / time_s
            }
            Length::Count(count) => count as f64 / self.time_of(count as f64),
        })
    }

    /// Messages that are due within so many seconds.
    fn messages_in(&self, time_s: f64) -> f64 {
        match self {
            Schedule::Ramp { from_per_s, to_per_s, over } => {
                let (over_s, mean) = (over.as_secs_f64(), (from_per_s + to_per_s) / 2.0);
                match time_s < over_s {
                    true => from_per_s * time_s + (to_per_s - from_per_s) * time_s * time_s / (2.0 * over_s),
                    false => mean * over_s + to_per_s * (time_s - over_s),
                }
            }
            Schedule::Steps(steps) => {
                let (cycle_s, cycle) = whole(steps);
                let cycles = (time_s / cycle_s).floor();
                let mut left_s = time_s - cycles * cycle_s;
                let mut messages = cycles * cycle;
                for step in steps {
                    let held_s = left_s.min(step.hold.as_secs_f64());
                    messages += step.rate_per_s * held_s;
                    left_s -= held_s;
                }
                messages
            }
            Schedule::Constant | Schedule::Saturating | Schedule::Poisson | Schedule::Burst { .. } => 0.0,
        }
    }

    /// Seconds until so many messages are due: the inverse of [`Schedule::messages_in`].
    fn time_of(&self, messages: f64) -> f64 {
        match self {
            Schedule::Ramp { from_per_s, to_per_s, over } => {
                let over_s = over.as_secs_f64();
                let during = (from_per_s + to_per_s) / 2.0 * over_s;
                if messages >= during {
                    return over_s + (messages - during) / to_per_s;
                }
                let slope = (to_per_s - from_per_s) / over_s;
                // The form that keeps its precision when the slope is small or zero.
                2.0 * messages / (from_per_s + (from_per_s * from_per_s + 2.0 * slope * messages).sqrt())
            }
            Schedule::Steps(steps) => {
                let (cycle_s, cycle) = whole(steps);
                let cycles = (messages / cycle).floor();
                let mut left = messages - cycles * cycle;
                let mut time_s = cycles * cycle_s;
                for step in steps {
                    let held = left.min(step.rate_per_s * step.hold.as_secs_f64());
                    time_s += held / step.rate_per_s;
                    left -= held;
                }
                time_s
            }
            Schedule::Constant | Schedule::Saturating | Schedule::Poisson | Schedule::Burst { .. } => 0.0,
        }
    }
}

impl Length {
    /// One of so many equal parts.
    pub fn part_of(self, parts: u32) -> Self {
        let parts = u64::from(parts.max(1));
        match self {
            Length::Count(count) => Length::Count(count / parts),
            Length::Duration(time) => Length::Duration(crate::units::Nanos(time.0 / parts)),
        }
    }
}

/// Seconds and messages of all steps once.
fn whole(steps: &[RateStep]) -> (f64, f64) {
    let seconds = steps.iter().map(|step| step.hold.as_secs_f64()).sum();
    (seconds, steps.iter().map(|step| step.rate_per_s * step.hold.as_secs_f64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    fn over(seconds: u64) -> Length {
        Length::Duration(Nanos::from_secs(seconds))
    }

    #[test]
    fn a_schedules_own_rate_is_its_mean_over_the_time_that_it_is_followed() {
        let hold = |rate_per_s, seconds| RateStep { rate_per_s, hold: Nanos::from_secs(seconds) };
        let steps = Schedule::Steps(vec![hold(200.0, 10), hold(800.0, 5)]);
        assert_eq!(steps.own_rate_per_s(over(15)), Some(400.0));
        assert_eq!(steps.own_rate_per_s(over(12)), Some(300.0));
        assert_eq!(steps.own_rate_per_s(over(25)), Some(320.0));
        let ramp = Schedule::Ramp { from_per_s: 50.0, to_per_s: 500.0, over: Nanos::from_secs(6) };
        assert_eq!(ramp.own_rate_per_s(over(6)), Some(275.0));
        assert_eq!(ramp.own_rate_per_s(over(12)), Some(387.5));
        assert_eq!(ramp.own_rate_per_s(over(2)), Some(125.0));
        for constant in
            [Schedule::Constant, Schedule::Saturating, Schedule::Poisson, Schedule::Burst { messages: 3 }]
        {
            assert_eq!(constant.own_rate_per_s(over(1)), None, "{constant:?}");
        }
    }

    #[test]
    fn of_a_count_the_mean_rate_is_that_until_the_last_message_is_due() {
        let hold = |rate_per_s, seconds| RateStep { rate_per_s, hold: Nanos::from_secs(seconds) };
        let steps = Schedule::Steps(vec![hold(200.0, 10), hold(800.0, 5)]);
        let ramp = Schedule::Ramp { from_per_s: 50.0, to_per_s: 500.0, over: Nanos::from_secs(6) };
        for (schedule, seconds, messages) in
            [(&steps, 12, 3_600), (&steps, 25, 8_000), (&ramp, 12, 4_650), (&ramp, 2, 250)]
        {
            let of_count = schedule.own_rate_per_s(Length::Count(messages)).unwrap();
            let of_time = schedule.own_rate_per_s(over(seconds)).unwrap();
            assert!((of_count / of_time - 1.0).abs() < 1e-12, "{schedule:?} {of_count} {of_time}");
        }
    }

    #[test]
    fn a_part_is_its_share_of_the_whole() {
        assert_eq!(Length::Count(9).part_of(3), Length::Count(3));
        assert_eq!(over(9).part_of(3), over(3));
    }
}
