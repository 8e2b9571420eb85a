//! At which rate messages are due: as written, as the schedule says, as fast as possible, or found by a search.

use super::length::written_length;
use super::{ResolveError, Trail, sweep};
use crate::plan::{Mode, Origin, Schedule};
use crate::scenario::{LoadWords, RateWords};

/// Rate and schedule of a load, as if it had one block. `searched`: a goal takes the place of the rate.
pub(super) fn pace(
    words: &LoadWords,
    mode: Mode,
    searched: bool,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<(Option<f64>, Schedule), ResolveError> {
    let rate_path = format!("{at}.load.rate_per_s");
    let schedule_path = format!("{at}.load.schedule");
    let conflict = |trail: &Trail, second: &str, reason| {
        Err(ResolveError::Conflict {
            place: trail.place(variant, "load.rate"),
            first: "load.rate".into(),
            second: second.to_owned(),
            reason,
        })
    };
    let written = words.rate.as_ref().map(|rate| rate.values()[0]);
    let own_rate =
        words.schedule.as_ref().and_then(|schedule| schedule.own_rate_per_s(written_length(words)));
    let saturating = words.schedule == Some(Schedule::Saturating);
    let mut derived = |path: &str, reason: &str| {
        trail.origins.insert(path.to_owned(), Origin::Derived { reason: reason.to_owned() });
    };
    match (written, own_rate) {
        (Some(_), _) if searched => conflict(trail, "goal", "a goal is searched for over rates of its own"),
        (Some(RateWords::PerSecond(_)), _) if saturating => {
            conflict(trail, "load.schedule", "saturating means as fast as possible")
        }
        (Some(RateWords::PerSecond(_)), _) if mode == Mode::Consume => {
            conflict(trail, "load.mode", "consumers take what is there as fast as they can")
        }
        (Some(RateWords::Max), Some(_)) => {
            conflict(trail, "load.schedule", "a schedule lays out times, and max has none")
        }
        (Some(_), Some(_)) => conflict(trail, "load.schedule", "steps and ramp have rates of their own"),
        (Some(RateWords::Max), None)
            if words.schedule.as_ref().is_some_and(|schedule| *schedule != Schedule::Saturating) =>
        {
            conflict(trail, "load.schedule", "a schedule lays out times, and max has none")
        }
        (Some(RateWords::Max), None) => {
            derived(&schedule_path, "load.rate is max");
            Ok((trail.step(rate_path, "load.rate", variant, Some(None), || None), Schedule::Saturating))
        }
        (None, None) if saturating || mode == Mode::Consume => {
            let reason = if saturating { "load.schedule is saturating" } else { "load.mode is consume" };
            derived(&rate_path, reason);
            derived(&schedule_path, reason);
            Ok((None, Schedule::Saturating))
        }
        (None, own) => {
            let schedule = || Schedule::Constant;
            let rate = match own {
                Some(mean) => {
                    derived(&rate_path, "mean of load.schedule");
                    Some(mean)
                }
                None if searched => {
                    derived(&rate_path, "searched for, to hold the goal");
                    None
                }
                None => {
                    return Err(ResolveError::Missing {
                        place: trail.place(variant, "load"),
                        path: "load.rate",
                        reason: "latency has a meaning only at a rate; say how many messages per second, or max to measure throughput",
                    });
                }
            };
            let schedule =
                trail.step(schedule_path, "load.schedule", variant, words.schedule.clone(), schedule);
            Ok((rate, schedule))
        }
        (Some(RateWords::PerSecond(rate)), None) => {
            let rate = trail.step(rate_path, "load.rate", variant, Some(Some(rate)), || None);
            let constant = || Schedule::Constant;
            let schedule =
                trail.step(schedule_path, "load.schedule", variant, words.schedule.clone(), constant);
            Ok((rate, schedule))
        }
    }
}
