//! Exchanges of the last window, and what is left of those before.

use plumb_stats::clock_offset::{
    ClockModel, ClockStep, Exchange, OffsetBand, RateRange, SteeredOffset, TimedBand, WallExchange,
};
use std::collections::VecDeque;

const SECOND_NS: i64 = 1_000_000_000;
/// Times are settled in pieces of so long: half of a window.
const PIECE_NS: i64 = 15 * SECOND_NS;
/// One clock read by two processes: a reading is a whole number of nanoseconds, rounded down.
const READING_NS: i64 = 1;

/// Whether two hosts read one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// They do, but for what their time namespaces add.
    OneClock {
        /// The worker's is ahead by exactly this.
        ahead_ns: i64,
    },
    /// They say that they do, and exchanges say that they do not: two copies of a virtual machine have one boot's number.
    Contradicted {
        /// Exchanges that cannot be of one clock.
        exchanges: u64,
    },
    /// They do not, or do not know.
    TwoClocks,
}

/// Everything about one clock as seen from another.
pub(crate) struct History {
    /// The distance if both are one clock, as they say.
    claimed_ns: Option<i64>,
    contradicting: u64,
    exchanges: u64,
    least_round_trip_ns: Option<i64>,
    /// In the order of their times; those that matter to a time that is not settled.
    recent: VecDeque<WallExchange>,
    /// The end of what is settled, by the local clock.
    settled_ns: Option<i64>,
    settled: Vec<Settled>,
    settled_steps: Vec<ClockStep>,
    /// The estimate of what is recent, until the next exchange.
    estimate: Option<SteeredOffset>,
}

/// A stretch of time whose band changes no more.
struct Settled {
    begin: TimedBand,
    end: TimedBand,
}

impl History {
    pub(crate) fn new(claimed_ns: Option<i64>) -> Self {
        History {
            claimed_ns,
            contradicting: 0,
            exchanges: 0,
            least_round_trip_ns: None,
            recent: VecDeque::new(),
            settled_ns: None,
            settled: Vec::new(),
            settled_steps: Vec::new(),
            estimate: None,
        }
    }

    /// The next exchange.
    pub(crate) fn push(&mut self, exchange: &WallExchange) {
        let times = Exchange::from(exchange);
        self.exchanges += 1;
        let round_trip_ns = times.round_trip_ns();
        self.least_round_trip_ns =
            Some(self.least_round_trip_ns.map_or(round_trip_ns, |least| least.min(round_trip_ns)));
        self.contradicting += u64::from(self.claimed_ns.is_some_and(|ahead_ns| !fits(&times, ahead_ns)));
        self.recent.push_back(*exchange);
        self.estimate = None;
        let settled_ns = *self.settled_ns.get_or_insert(exchange.sent.wall_ns);
        if exchange.returned.wall_ns.saturating_sub(settled_ns) >= 2 * PIECE_NS {
            self.settle(settled_ns);
        }
    }

    /// Settles the next piece: half a window after it was seen.
    fn settle(&mut self, begin_ns: i64) {
        let end_ns = begin_ns + PIECE_NS;
        let estimate = self.take_estimate();
        let bands: Vec<Option<TimedBand>> = (0..=PIECE_NS / SECOND_NS)
            .map(|second| begin_ns + second * SECOND_NS)
            .map(|local_ns| estimate.band_at(local_ns).map(|band| TimedBand { local_ns, band }))
            .collect();
        let steps = estimate.steps();
        let stepped = |begin: &TimedBand, end: &TimedBand| {
            steps.iter().any(|step| step.after_ns < end.local_ns && step.before_ns > begin.local_ns)
        };
        for pair in bands.windows(2) {
            if let [Some(begin), Some(end)] = pair
                && !stepped(begin, end)
            {
                self.settled.push(Settled { begin: *begin, end: *end });
            }
        }
        self.settled_steps.extend(steps.iter().filter(|step| step.after_ns < end_ns));
        self.settled_ns = Some(end_ns);
        // Half a window before the first time that is not settled.
        while self.recent.front().is_some_and(|first| first.returned.wall_ns < end_ns - PIECE_NS) {
            self.recent.pop_front();
        }
        self.estimate = None;
    }

    fn take_estimate(&mut self) -> SteeredOffset {
        let estimate = self.estimate.take();
        estimate
            .unwrap_or_else(|| SteeredOffset::estimate(self.recent.make_contiguous(), &ClockModel::default()))
    }

    fn estimate(&mut self) -> &SteeredOffset {
        let estimate = self.take_estimate();
        self.estimate.insert(estimate)
    }

    pub(crate) fn identity(&self) -> Identity {
        match (self.claimed_ns, self.contradicting) {
            (None, _) => Identity::TwoClocks,
            (Some(ahead_ns), 0) => Identity::OneClock { ahead_ns },
            (Some(_), exchanges) => Identity::Contradicted { exchanges },
        }
    }

    pub(crate) fn band_at(&mut self, local_ns: i64) -> Option<OffsetBand> {
        match self.identity() {
            Identity::OneClock { ahead_ns } => Some(OffsetBand { low_ns: ahead_ns, high_ns: ahead_ns }),
            _ => self.measured_at(local_ns),
        }
    }

    pub(crate) fn latest(&mut self) -> Option<TimedBand> {
        let measured = self.estimate().latest();
        match self.identity() {
            Identity::OneClock { ahead_ns } => {
                let local_ns = self.recent.back()?.returned.wall_ns;
                Some(TimedBand { local_ns, band: OffsetBand { low_ns: ahead_ns, high_ns: ahead_ns } })
            }
            _ => measured,
        }
    }

    pub(crate) fn measured_at(&mut self, local_ns: i64) -> Option<OffsetBand> {
        if self.settled_ns.is_some_and(|settled_ns| local_ns < settled_ns) {
            let number = self.settled.partition_point(|piece| piece.end.local_ns < local_ns);
            let within = |piece: &&Settled| piece.begin.local_ns <= local_ns;
            if let Some(piece) = self.settled.get(number).filter(within) {
                return Some(piece.band_at(local_ns));
            }
            if !self.settled.is_empty() {
                return None;
            }
        }
        self.estimate().band_at(local_ns)
    }

    pub(crate) fn steps(&mut self) -> Vec<ClockStep> {
        let settled_ns = self.settled_ns.filter(|_| self.is_settled());
        let recent = self.estimate().steps();
        let new = recent.into_iter().filter(|step| settled_ns.is_none_or(|ns| step.after_ns >= ns));
        self.settled_steps.iter().copied().chain(new).collect()
    }

    fn is_settled(&self) -> bool {
        let first_ns = self.recent.front().map(|first| first.sent.wall_ns);
        self.settled_ns.is_some() && self.settled_ns != first_ns
    }

    pub(crate) fn least_round_trip_ns(&self) -> Option<i64> {
        self.least_round_trip_ns
    }

    pub(crate) fn rate(&mut self) -> Option<RateRange> {
        self.estimate().rate()
    }

    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges
    }
}

impl Settled {
    /// The upper end of a band of lines is convex and the lower one concave, so a line between two of their values holds them.
    fn band_at(&self, local_ns: i64) -> OffsetBand {
        let span_ns = self.end.local_ns - self.begin.local_ns;
        let part = (local_ns - self.begin.local_ns) as f64 / span_ns as f64;
        let (begin, end) = (self.begin.band, self.end.band);
        let between = |from: i64, to: i64| part * (to - from) as f64;
        OffsetBand {
            low_ns: begin.low_ns + between(begin.low_ns, end.low_ns).floor() as i64,
            high_ns: begin.high_ns + between(begin.high_ns, end.high_ns).ceil() as i64,
        }
    }
}

/// True if an exchange can be of clocks of which the remote one is ahead by this.
fn fits(exchange: &Exchange, ahead_ns: i64) -> bool {
    let high_ns = exchange.arrived_ns.saturating_sub(exchange.sent_ns);
    let low_ns = exchange.answered_ns.saturating_sub(exchange.returned_ns);
    (low_ns - READING_NS..=high_ns + READING_NS).contains(&ahead_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_stats::clock_offset::WallReading;

    const TICK_NS: i64 = SECOND_NS / 10;
    const WAY_NS: i64 = 40_000;

    /// A remote clock that is some way ahead, runs fast, is slewed by its time service, and may step.
    struct Remote {
        ahead_ns: i64,
        step: Option<(i64, i64)>,
    }

    impl Remote {
        /// Its raw clock while the local one reads this: 50 ppm faster.
        fn raw_ns(&self, local_ns: i64) -> i64 {
            let stepped = self.step.filter(|(at_ns, _)| local_ns >= *at_ns).map_or(0, |(_, size_ns)| size_ns);
            local_ns + self.ahead_ns + local_ns / 20_000 + stepped
        }

        /// The clock that is slewed: 300 ppm faster than its own raw one.
        fn slewed_ns(&self, local_ns: i64) -> i64 {
            self.raw_ns(local_ns) + local_ns / 3_333
        }

        /// Ways of 40 us there and back, every fifth one with a delay in either direction.
        fn exchange(&self, number: i64) -> WallExchange {
            let sent_ns = number * TICK_NS;
            let slow_ns = if number % 5 == 0 { 900_000 } else { 0 };
            let arrived_ns = sent_ns + WAY_NS + slow_ns * (number % 2);
            let there = WallReading {
                before_ns: self.raw_ns(arrived_ns),
                wall_ns: self.slewed_ns(arrived_ns),
                after_ns: self.raw_ns(arrived_ns),
            };
            let here = |ns: i64| WallReading { before_ns: ns, wall_ns: ns, after_ns: ns };
            let returned_ns = arrived_ns + WAY_NS + slow_ns * (1 - number % 2);
            WallExchange { sent: here(sent_ns), there, returned: here(returned_ns) }
        }
    }

    fn history(remote: &Remote, seconds: i64) -> History {
        let mut history = History::new(None);
        (0..seconds * 10).for_each(|number| history.push(&remote.exchange(number)));
        history
    }

    #[test]
    fn the_truth_is_in_the_band_at_every_time_of_a_minute_settled_or_not() {
        let remote = Remote { ahead_ns: 100_000_000_000, step: None };
        let mut history = history(&remote, 70);
        assert!(history.is_settled() && history.recent.len() < 500, "what is settled is forgotten");
        for local_ns in (0..69 * SECOND_NS).step_by(333_000_000) {
            let truth_ns = remote.slewed_ns(local_ns) - local_ns;
            let band = history.measured_at(local_ns).unwrap();
            assert!(band.holds(truth_ns), "{local_ns}: {band:?} {truth_ns}");
            // A round trip, and the tenth of a second within which a slewed clock may be anywhere between two readings.
            assert!(band.width_ns() < 2 * WAY_NS + 100_000, "{local_ns}: {band:?}");
        }
        assert_eq!((history.steps(), history.exchanges()), (vec![], 700));
        assert_eq!(history.least_round_trip_ns().unwrap() / 1_000, 2 * WAY_NS / 1_000);
        assert_eq!(history.measured_at(71 * SECOND_NS), None, "after the last exchange nothing is known");
    }

    #[test]
    fn a_step_is_told_once_and_around_it_there_is_no_band() {
        let (at_ns, size_ns) = (30 * SECOND_NS + TICK_NS / 2, 5_000_000);
        let remote = Remote { ahead_ns: -7, step: Some((at_ns, size_ns)) };
        // While it is recent, and after it was settled.
        for seconds in [35, 70] {
            let mut history = history(&remote, seconds);
            let steps = history.steps();
            let [step] = &steps[..] else { panic!("{seconds}: {steps:?}") };
            assert!(step.after_ns <= at_ns && at_ns <= step.before_ns, "{step:?}");
            assert!(step.change.unwrap().holds(size_ns), "{step:?}");
            assert_eq!(history.measured_at(at_ns), None);
            for local_ns in [28 * SECOND_NS, 32 * SECOND_NS] {
                let band = history.measured_at(local_ns).unwrap();
                assert!(band.holds(remote.slewed_ns(local_ns) - local_ns), "{local_ns}: {band:?}");
            }
        }
    }

    #[test]
    fn one_clock_has_a_band_without_width_until_an_exchange_contradicts() {
        let near = |ahead_ns: i64| {
            let here = |ns: i64| WallReading { before_ns: ns, wall_ns: ns, after_ns: ns };
            WallExchange { sent: here(1_000), there: here(1_500 + ahead_ns), returned: here(2_000) }
        };
        let mut history = History::new(Some(0));
        history.push(&near(0));
        assert_eq!(history.band_at(1_500), Some(OffsetBand { low_ns: 0, high_ns: 0 }));
        assert_eq!(history.latest().unwrap().band.width_ns(), 0);
        history.push(&near(5_000_000));
        assert_eq!(history.identity(), Identity::Contradicted { exchanges: 1 });
        assert!(history.band_at(1_500).is_none_or(|band| band.width_ns() > 0));
    }
}
