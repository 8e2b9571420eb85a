//! The times at which messages are due: a pure iterator of offsets from the start, tested without a clock.
//!
//! Times are computed from the message's index, never by adding rounded gaps, so that a schedule does not drift: a
//! million messages at 3,000,000/s take a third of a second, not more.

use plumb_model::plan::{LoadPlan, RateStep, Schedule};
use plumb_model::units::Nanos;
use serde::{Deserialize, Serialize};

/// One intended send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Position in the block's schedule, warm-up included.
    pub index: u64,
    /// Nanoseconds after the block's start.
    pub offset_ns: u64,
    /// True if it belongs to the measured part.
    pub measured: bool,
}

/// The measured part of one block: its own share of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// So many messages.
    Count(u64),
    /// Messages due within so long a time.
    Time(Nanos),
}

/// The whole schedule of a block: an even warm-up, then the measured part.
pub(crate) fn due_times(
    load: &LoadPlan,
    share: Share,
    seed: u64,
) -> impl Iterator<Item = Due> + Send + use<> {
    // Without a rate everything is due at once; who sends then goes by the clock.
    let rate_per_s = load.rate_per_s.unwrap_or(f64::INFINITY);
    let first_rate = match &load.schedule {
        Schedule::Ramp { from_per_s, .. } => *from_per_s,
        Schedule::Steps(steps) => steps.first().map_or(rate_per_s, |step| step.rate_per_s),
        _ => rate_per_s,
    };
    let warm_up_ns = load.warm_up.0;
    let warm_up_count = warm_up_messages(load.warm_up, first_rate);
    let warm_up = (0..warm_up_count).map(move |index| Due {
        index,
        offset_ns: even_offset(index, first_rate),
        measured: false,
    });
    let limit = match share {
        Share::Count(count) => (count, u64::MAX),
        Share::Time(time) => (u64::MAX, time.0),
    };
    let offsets = offsets(&load.schedule, rate_per_s, seed);
    let measured =
        offsets.take_while(move |offset| *offset < limit.1).zip(0..limit.0).map(move |(offset, n)| Due {
            index: warm_up_count + n,
            offset_ns: warm_up_ns + offset,
            measured: true,
        });
    warm_up.chain(measured)
}

/// The latest time at which the last measured message of a block is due, from its start. None without a rate: then the clock
/// alone, or the path, says when it ends.
pub(crate) fn last_due_ns(load: &LoadPlan, share: Share, seed: u64) -> Option<u64> {
    let rate_per_s = load.rate_per_s?;
    let measured_ns = match (share, &load.schedule) {
        (Share::Time(time), _) => time.0,
        (Share::Count(0), _) => 0,
        (Share::Count(count), Schedule::Constant | Schedule::Burst { .. }) => {
            even_offset(count - 1, rate_per_s)
        }
        (Share::Count(count), schedule) => {
            let nth = usize::try_from(count - 1).unwrap_or(usize::MAX);
            offsets(schedule, rate_per_s, seed).nth(nth)?
        }
    };
    Some(load.warm_up.0.saturating_add(measured_ns))
}

/// Messages of an even warm-up.
fn warm_up_messages(warm_up: Nanos, rate_per_s: f64) -> u64 {
    (warm_up.as_secs_f64() * rate_per_s).floor() as u64
}

/// Offset of message `index` at an even rate.
fn even_offset(index: u64, rate_per_s: f64) -> u64 {
    (index as f64 * 1e9 / rate_per_s).round() as u64
}

/// Endless offsets of the measured part.
fn offsets(schedule: &Schedule, rate_per_s: f64, seed: u64) -> Box<dyn Iterator<Item = u64> + Send> {
    match schedule {
        Schedule::Constant | Schedule::Saturating => {
            Box::new((0..).map(move |index| even_offset(index, rate_per_s)))
        }
        Schedule::Poisson => Box::new(poisson(rate_per_s, seed)),
        Schedule::Burst { messages } => {
            let messages = u64::from(*messages);
            Box::new((0..).map(move |index| even_offset(index / messages * messages, rate_per_s)))
        }
        Schedule::Steps(steps) => Box::new(step_offsets(steps.clone())),
        Schedule::Ramp { from_per_s, to_per_s, over } => {
            let ramp = Ramp { from_per_s: *from_per_s, to_per_s: *to_per_s, over_s: over.as_secs_f64() };
            Box::new((0..).map(move |index| (ramp.time_of(index as f64) * 1e9).round() as u64))
        }
    }
}

fn poisson(rate_per_s: f64, seed: u64) -> impl Iterator<Item = u64> {
    let mut random = crate::random::Random::new(seed);
    let mut at_s = 0.0;
    std::iter::from_fn(move || {
        let offset = (at_s * 1e9_f64).round() as u64;
        at_s += -(1.0 - random.unit()).ln() / rate_per_s;
        Some(offset)
    })
}

fn step_offsets(steps: Vec<RateStep>) -> impl Iterator<Item = u64> {
    let mut base_ns = 0;
    let mut current = 0;
    let mut index = 0;
    std::iter::from_fn(move || {
        loop {
            let step = steps[current % steps.len()];
            let offset = even_offset(index, step.rate_per_s);
            if offset < step.hold.0 {
                index += 1;
                return Some(base_ns + offset);
            }
            base_ns += step.hold.0;
            current += 1;
            index = 0;
        }
    })
}

/// A rate that changes evenly and then stays.
#[derive(Clone, Copy)]
struct Ramp {
    from_per_s: f64,
    to_per_s: f64,
    over_s: f64,
}

impl Ramp {
    /// Inverse of the number of messages due until t: n(t) = from t + (to - from) t^2 / (2 over).
    fn time_of(self, n: f64) -> f64 {
        let during = (self.from_per_s + self.to_per_s) / 2.0 * self.over_s;
        if n >= during {
            return self.over_s + (n - during) / self.to_per_s;
        }
        let slope = (self.to_per_s - self.from_per_s) / self.over_s;
        // The form that keeps its precision when the slope is small or zero.
        2.0 * n / (self.from_per_s + (self.from_per_s * self.from_per_s + 2.0 * slope * n).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::plan::{Keys, Length, Mode, Payload, Purpose, SizePlan};
    use plumb_model::units::Bytes;
    use std::collections::BTreeMap;

    fn load(rate_per_s: f64, schedule: Schedule, warm_up: Nanos) -> LoadPlan {
        LoadPlan {
            rate_per_s: Some(rate_per_s),
            schedule,
            length: Length::Count(1),
            warm_up,
            drain: Nanos(0),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(100)),
            keys: Keys::None,
            headers: BTreeMap::new(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
            mode: Mode::Mixed,
        }
    }

    fn measured(load: &LoadPlan, share: Share) -> Vec<u64> {
        due_times(load, share, 1).filter(|due| due.measured).map(|due| due.offset_ns).collect()
    }

    #[test]
    fn an_even_schedule_does_not_drift() {
        let times = measured(&load(3e6, Schedule::Constant, Nanos(0)), Share::Count(3_000_001));
        assert_eq!(times[3_000_000], 1_000_000_000);
    }

    #[test]
    fn the_warm_up_comes_first_and_is_not_measured() {
        let plan = load(100.0, Schedule::Constant, Nanos::from_secs(2));
        let all: Vec<Due> = due_times(&plan, Share::Count(3), 1).collect();
        assert_eq!(all.len(), 203);
        assert!(all[..200].iter().all(|due| !due.measured));
        assert_eq!(all[200], Due { index: 200, offset_ns: 2_000_000_000, measured: true });
    }

    #[test]
    fn a_time_share_holds_the_messages_due_within_it() {
        let plan = load(100.0, Schedule::Constant, Nanos(0));
        assert_eq!(measured(&plan, Share::Time(Nanos::from_secs(2))).len(), 200);
    }

    #[test]
    fn poisson_gaps_have_the_rate_as_mean_and_an_exponential_spread() {
        let times = measured(&load(1_000.0, Schedule::Poisson, Nanos(0)), Share::Count(100_000));
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn a_burst_is_due_at_one_instant_and_the_mean_rate_holds() {
        let times = measured(&load(100.0, Schedule::Burst { messages: 10 }, Nanos(0)), Share::Count(20));
        assert_eq!(times[..10], [0; 10]);
        assert_eq!(times[10..], [100_000_000; 10]);
    }

    #[test]
    fn steps_are_held_one_after_the_other_and_repeat() {
        let steps = vec![
            RateStep { rate_per_s: 10.0, hold: Nanos::from_secs(1) },
            RateStep { rate_per_s: 2.0, hold: Nanos::from_secs(1) },
        ];
        let times = measured(&load(10.0, Schedule::Steps(steps), Nanos(0)), Share::Time(Nanos::from_secs(3)));
        assert_eq!(times.len(), 22);
        assert_eq!(times[10], 1_000_000_000);
        assert_eq!(times[12], 2_000_000_000);
    }

    #[test]
    fn a_ramp_sends_what_the_area_under_it_says() {
        let ramp = Schedule::Ramp { from_per_s: 0.01, to_per_s: 200.0, over: Nanos::from_secs(10) };
        let times = measured(&load(100.0, ramp, Nanos(0)), Share::Time(Nanos::from_secs(11)));
        let within = times.iter().filter(|time| **time < 10_000_000_000).count();
        assert!((999..=1_002).contains(&within), "{within}");
        assert!((1_199..=1_202).contains(&times.len()), "{}", times.len());
    }
}
