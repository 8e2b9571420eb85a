//! The check for an effect of one day: an incident that hit one group for hours makes a ratio of whole weeks.

use super::alarm::check;
use super::compared::Compared;
use super::estimate::{Estimate, effect_of};
use super::question::FleetQuestion;
use super::rows;
use super::words::moment;
use plumb_model::figure::ratio_digits;
use plumb_model::finding::{Check, CheckOutcome};
use plumb_stats::ends::Ends;
use plumb_stats::fleet::design::Effect;
use std::collections::BTreeMap;

const DAY_S: i64 = 86_400;

/// Fewest days on a side of the change for one of them to be unlike the others (ours).
const DAYS_MIN: usize = 3;

/// Least multiple of the other days' shifts of the effect, by their root mean square, at which a day is unlike them (ours).
const UNLIKE: f64 = 4.0;

/// The intervals that are compared, by side and day.
struct Days {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

/// A side of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// A day without which there is no difference.
struct OneDay {
    /// Its first interval.
    first: usize,
    /// The effect without the day, as a logarithm.
    log_ratio: f64,
    /// Its interval.
    interval: Ends,
}

pub(super) fn one_day(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::ONE_DAY;
    let shown = estimate.log_interval(question.level).filter(|ends| ends.excludes(0.0));
    let days = Days::of(compared, question);
    let effect = estimate.effect.as_ref().filter(|_| estimate.log_ratio.is_some());
    let (Some(effect), true) = (effect, days.enough()) else {
        let statement = "There are too few days to look at the effect without each of them.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    };
    if shown.is_none() {
        let statement = "There is no difference that one day could have made.".to_owned();
        return check(row, CheckOutcome::Passed, statement, None);
    }
    let found =
        [Side::After, Side::Before].into_iter().find_map(|side| days.one(compared, effect, side, question));
    let Some(OneDay { first, log_ratio, interval }) = found else {
        let statement = "The difference is there without any one day.".to_owned();
        return check(row, CheckOutcome::Passed, statement, None);
    };
    let statement = format!(
        "One day makes the difference: without that from {} the ratio is {} ({} to {}), which shows none, and the other days move it less than a \
         quarter as far, by their root mean square. \
         What happened then in one of the groups? Leave the day out of the data if it has nothing to do with the change.",
        moment(compared.starts_s[first]),
        ratio_digits(log_ratio.exp()),
        ratio_digits(interval.low.exp()),
        ratio_digits(interval.high.exp()),
    );
    check(row, CheckOutcome::Failed, statement, None)
}

impl Days {
    /// Days begin with the change.
    fn of(compared: &Compared, question: &FleetQuestion) -> Self {
        let by_day = |intervals: &[usize]| {
            let mut days: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
            for at in intervals {
                let day = (compared.starts_s[*at] - question.changed_at_s).div_euclid(DAY_S);
                days.entry(day).or_default().push(*at);
            }
            days.into_values().collect()
        };
        Days { before: by_day(&compared.before), after: by_day(&compared.after) }
    }

    fn enough(&self) -> bool {
        self.before.len() >= DAYS_MIN || self.after.len() >= DAYS_MIN
    }

    fn on(&self, side: Side) -> &[Vec<usize>] {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }

    /// The effect without some days of a side.
    fn without(&self, compared: &Compared, side: Side, left_out: &[usize]) -> Option<Effect> {
        let kept = |of: Side| -> Vec<usize> {
            let days = self.on(of).iter().enumerate();
            days.filter(|(at, _)| of != side || !left_out.contains(at))
                .flat_map(|(_, day)| day)
                .copied()
                .collect()
        };
        effect_of(compared, &kept(Side::Before), &kept(Side::After))
    }

    /// The day of a side without which there is no difference, if it is unlike the others.
    fn one(&self, compared: &Compared, all: &Effect, side: Side, question: &FleetQuestion) -> Option<OneDay> {
        let days = self.on(side);
        if days.len() < DAYS_MIN {
            return None;
        }
        (0..days.len()).find_map(|day| {
            let without = self.without(compared, side, &[day])?;
            let interval = without.interval(question.level)?;
            let gone = interval.contains(0.0) || without.log_ratio * all.log_ratio < 0.0;
            if !gone {
                return None;
            }
            // The others are looked at without it: it is in each of their means otherwise.
            let shift = |other: usize| {
                let both = self.without(compared, side, &[day, other])?;
                Some((both.log_ratio - without.log_ratio).powi(2))
            };
            let others: Vec<f64> = (0..days.len()).filter(|other| *other != day).filter_map(shift).collect();
            let usual = (others.iter().sum::<f64>() / others.len() as f64).sqrt();
            let unlike = (without.log_ratio - all.log_ratio).abs() > UNLIKE * usual;
            unlike.then(|| OneDay { first: days[day][0], log_ratio: without.log_ratio, interval })
        })
    }
}
