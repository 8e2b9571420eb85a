//! The interval of each moment: days of the calendar in a zone, or a fixed number of seconds counted from the change.
//!
//! Days are found with the zone's rules and have 23 or 25 hours where daylight time begins or ends.

use crate::request::{FleetInterval, FleetWindow};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Times that are believed: before and after, a number is of another unit or no time at all. 1971 and 2200, UTC.
const BELIEVED_MS: std::ops::Range<i64> = 31_536_000_000..7_258_118_400_000;

/// The part of an interval within which a moment counts as at its begin or end: scrapes are not punctual. Ours.
const EDGE_PART: i64 = 100;

const EPOCH: Date = date(1970, 1, 1);

/// A piece of time, its end not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Days since 1970, or multiples of the length since the anchor.
    pub(crate) index: i32,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

impl Interval {
    pub(crate) fn contains(&self, time_ms: i64) -> bool {
        (self.start_ms..self.end_ms).contains(&time_ms)
    }

    /// True if a moment of it is neither at its begin nor at its end, as the stamp of a whole interval's value would be.
    fn has_inside(&self, time_ms: i64) -> bool {
        let apart_ms = (time_ms - self.start_ms).min(self.end_ms - time_ms);
        apart_ms > self.length_ms() / EDGE_PART
    }

    pub(crate) fn length_ms(&self) -> i64 {
        self.end_ms - self.start_ms
    }
}

#[derive(Debug)]
enum Division {
    Days(TimeZone),
    Fixed { length_ms: i64, anchor_ms: i64 },
}

/// The division of time, with what was worked out already.
#[derive(Debug)]
pub(crate) struct Intervals {
    division: Division,
    from_ms: i64,
    until_ms: i64,
    /// Days met so far, ascending: the rules of a zone are asked once for each.
    known: Vec<Interval>,
    /// The one that was asked for last: most samples are of the same.
    last: Interval,
    /// The moment that was asked for last: rows are often of one moment for all servers.
    moment: Moment,
}

/// A moment with what is known of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) time_ms: i64,
    /// Number of its interval.
    pub(crate) interval: i32,
    /// True if it is neither at that one's begin nor at its end: see [`Interval::has_inside`].
    pub(crate) inside: bool,
}

impl Intervals {
    pub(crate) fn new(window: &FleetWindow) -> Self {
        let bound = |moment: Option<Timestamp>, open| moment.map_or(open, |moment| moment.as_millisecond());
        let division = match window.interval {
            FleetInterval::Days => Division::Days(window.zone.clone()),
            FleetInterval::Seconds(length) => Division::Fixed {
                length_ms: i64::from(length.max(1)) * 1000,
                anchor_ms: bound(window.changed_at, 0),
            },
        };
        let (from_ms, until_ms) = (bound(window.from, i64::MIN), bound(window.until, i64::MAX));
        Intervals {
            division,
            from_ms,
            until_ms,
            known: Vec::new(),
            last: Interval::default(),
            moment: Moment::default(),
        }
    }

    /// True if a time can be one.
    pub(crate) fn believes(time_ms: i64) -> bool {
        BELIEVED_MS.contains(&time_ms)
    }

    /// True if the samples of this moment were asked for.
    pub(crate) fn wants(&self, time_ms: i64) -> bool {
        (self.from_ms..self.until_ms).contains(&time_ms)
    }

    /// True if all of an interval was asked for.
    pub(crate) fn wants_all(&self, interval: &Interval) -> bool {
        interval.start_ms >= self.from_ms && interval.end_ms <= self.until_ms
    }

    /// The interval of a moment that is believed, and its place in it.
    #[inline]
    pub(crate) fn moment(&mut self, time_ms: i64) -> Moment {
        // Nobody believes the moment 0, which is what there is before the first.
        if self.moment.time_ms != time_ms {
            let interval = self.interval_at(time_ms);
            self.moment = Moment { time_ms, interval: interval.index, inside: interval.has_inside(time_ms) };
        }
        self.moment
    }

    /// The interval of a moment that is believed.
    fn interval_at(&mut self, time_ms: i64) -> Interval {
        if !self.last.contains(time_ms) {
            self.last = self.find(time_ms);
        }
        self.last
    }

    /// The same, of a moment that the next ones are not near to.
    pub(crate) fn find(&mut self, time_ms: i64) -> Interval {
        match &self.division {
            Division::Fixed { length_ms, anchor_ms } => {
                fixed(*length_ms, *anchor_ms, (time_ms - anchor_ms).div_euclid(*length_ms))
            }
            Division::Days(zone) => {
                let place = self.known.partition_point(|known| known.end_ms <= time_ms);
                if let Some(known) = self.known.get(place).filter(|known| known.contains(time_ms)) {
                    return *known;
                }
                let found = day_of(zone, time_ms);
                self.known.insert(place, found);
                found
            }
        }
    }

    /// The interval of a number.
    pub(crate) fn at(&self, index: i32) -> Interval {
        match &self.division {
            Division::Fixed { length_ms, anchor_ms } => fixed(*length_ms, *anchor_ms, i64::from(index)),
            Division::Days(zone) => {
                let day = EPOCH.checked_add(Span::new().days(index)).unwrap_or(EPOCH);
                day_at(zone, day)
            }
        }
    }
}

fn fixed(length_ms: i64, anchor_ms: i64, index: i64) -> Interval {
    let start_ms = anchor_ms + index * length_ms;
    // Times are within 230 years and lengths at least a second: the number fits.
    let index = i32::try_from(index).unwrap_or(i32::MAX);
    Interval { index, start_ms, end_ms: start_ms + length_ms }
}

fn day_of(zone: &TimeZone, time_ms: i64) -> Interval {
    let moment = Timestamp::from_millisecond(time_ms).unwrap_or_default();
    day_at(zone, zone.to_datetime(moment).date())
}

fn day_at(zone: &TimeZone, day: Date) -> Interval {
    let start_ms = |day: Date| match day.to_zoned(zone.clone()) {
        // A day may begin at 01:00, where midnight is skipped: jiff's choice for a time in a gap is the moment after it.
        Ok(start) => start.timestamp().as_millisecond(),
        Err(_) => 0,
    };
    let index = day.duration_since(EPOCH).as_hours() / 24;
    Interval {
        index: i32::try_from(index).unwrap_or_default(),
        start_ms: start_ms(day),
        end_ms: day.tomorrow().map_or(0, start_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(interval: FleetInterval, zone: &str, changed_at: Option<&str>) -> FleetWindow {
        FleetWindow {
            changed_at: changed_at.map(|text| text.parse().unwrap()),
            interval,
            zone: TimeZone::get(zone).unwrap(),
            from: None,
            until: None,
        }
    }

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn days_have_23_and_25_hours_where_daylight_time_begins_and_ends() {
        let mut days = Intervals::new(&window(FleetInterval::Days, "Europe/Berlin", None));
        let spring = days.interval_at(ms("2026-03-29T12:00:00Z"));
        assert_eq!(spring.start_ms, ms("2026-03-28T23:00:00Z"));
        assert_eq!(spring.length_ms(), 23 * 3_600_000);
        assert_eq!(days.interval_at(ms("2026-10-25T00:30:00Z")).length_ms(), 25 * 3_600_000);
        assert_eq!(days.interval_at(ms("2026-10-26T00:30:00Z")).length_ms(), 24 * 3_600_000);
    }

    #[test]
    fn a_moment_is_in_the_interval_that_its_number_gives_again() {
        let zones = ["UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"];
        for zone in zones {
            let mut days = Intervals::new(&window(FleetInterval::Days, zone, None));
            for hour in 0..24 * 366 * 3 {
                let moment = ms("2011-01-01T00:30:00Z") + hour * 3_600_000;
                let day = days.interval_at(moment);
                assert!(day.contains(moment), "{zone} {moment}");
                assert_eq!(days.at(day.index), day, "{zone}");
            }
        }
    }

    #[test]
    fn fixed_intervals_are_counted_from_the_change_so_that_none_is_cut_by_it() {
        let mut hours =
            Intervals::new(&window(FleetInterval::Seconds(3600), "UTC", Some("2026-03-01T10:17:00Z")));
        let change = ms("2026-03-01T10:17:00Z");
        assert_eq!(
            hours.interval_at(change),
            Interval { index: 0, start_ms: change, end_ms: change + 3_600_000 }
        );
        assert_eq!(hours.interval_at(change - 1).index, -1);
        assert_eq!(hours.at(-1).end_ms, change);
    }

    #[test]
    fn times_are_believed_from_1971_until_2200() {
        let believed = |text| Intervals::believes(ms(text));
        assert!(!believed("1970-12-31T23:59:59.999Z") && believed("1971-01-01T00:00:00Z"));
        assert!(believed("2199-12-31T23:59:59.999Z") && !believed("2200-01-01T00:00:00Z"));
    }

    #[test]
    fn what_was_asked_for_begins_at_its_begin_and_ends_before_its_end() {
        let (from, until) = ("2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z");
        let mut days = Intervals::new(&FleetWindow {
            from: Some(from.parse().unwrap()),
            until: Some(until.parse().unwrap()),
            ..window(FleetInterval::Days, "UTC", None)
        });
        assert!(!days.wants(ms(from) - 1) && days.wants(ms(from)));
        assert!(days.wants(ms(until) - 1) && !days.wants(ms(until)));
        let whole = |time_ms| {
            let day = days.interval_at(time_ms);
            days.wants_all(&day)
        };
        let days_of = [ms(from) - 1, ms(from), ms(until) - 1, ms(until)].map(whole);
        assert_eq!(days_of, [false, true, true, false]);
    }

    #[test]
    fn a_hundredth_of_an_interval_from_its_ends_is_at_them() {
        let hundred = Interval { index: 0, start_ms: 1_000, end_ms: 11_000 };
        let inside = [1_000, 1_100, 1_101, 6_000, 10_899, 10_900, 11_000].map(|at| hundred.has_inside(at));
        assert_eq!(inside, [false, false, true, true, true, false, false]);
    }

    #[test]
    fn a_moment_is_known_with_its_interval_and_where_in_it_it_is() {
        let mut hours = Intervals::new(&window(FleetInterval::Seconds(10), "UTC", None));
        for (time_ms, interval, inside) in [
            (1_000_000_000_000, 100_000_000, false),
            (1_000_000_005_000, 100_000_000, true),
            (999_999_999_999, 99_999_999, false),
        ] {
            assert_eq!(hours.moment(time_ms), Moment { time_ms, interval, inside });
            assert_eq!(hours.moment(time_ms), Moment { time_ms, interval, inside }, "and once more");
        }
        assert_eq!(
            hours.at(99_999_999),
            Interval { index: 99_999_999, start_ms: 999_999_990_000, end_ms: 1_000_000_000_000 }
        );
    }
}
