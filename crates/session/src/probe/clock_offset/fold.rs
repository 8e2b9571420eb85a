//! From exchanges to the document: the band in the middle of which the estimate is, what it means for the wall clocks, and whether
//! what both hosts say of their clocks can be. No clock is read here.

use crate::probe::distribution;
use plumb_model::probe::{
    ClockAccount, ClockDifference, ClockOffsetPlan, ClockOffsetProbe, ClockRates, ClockRelation, Conditions,
    RateBand, SteppedClock, SteppedWhich,
};
use plumb_stats::clock_offset::{
    ClockModel, ClockOffset, Exchange, OffsetBand, OffsetLines, RateRange, WallExchange, WallReading,
    wall_difference, wall_rate, wall_steps,
};

/// Rows of the course.
const COURSE: usize = 11;
/// The difference at the end is that of the most exact exchange in so long before it: a program may be held up between the readings of
/// its two clocks.
const AT_THE_END_NS: i64 = 1_000_000_000;

/// What both hosts say of their clocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) here: ClockAccount,
    pub(super) there: ClockAccount,
}

/// The whole document.
pub(super) fn document(
    conditions: Conditions,
    plan: ClockOffsetPlan,
    peer: &str,
    seen: &[WallExchange],
    told: &Told,
) -> ClockOffsetProbe {
    let view = View::new(seen);
    let relation = view.relation(told);
    let measured = view.at_the_end();
    let difference = match relation {
        ClockRelation::OneClock => {
            measured.map(|measured| ClockDifference { ahead_ns: 0, low_ns: 0, high_ns: 0, ..measured })
        }
        _ => measured,
    };
    let round_trips = view.exchanges.iter().map(Exchange::round_trip_ns).collect();
    ClockOffsetProbe {
        conditions,
        plan,
        peer: peer.to_owned(),
        relation,
        difference,
        latency_error_ns: difference.map(|difference| difference.half_ns()),
        measured,
        rates: view.rates(),
        exchanges: seen.len() as u64,
        least_round_trip_ns: view.oscillators.least_round_trip_ns().and_then(|ns| u64::try_from(ns).ok()),
        round_trip: distribution(&[round_trips]),
        course: view.course(),
        steps: view.steps(),
        claim_here: told.here.claim,
        claim_there: told.there.claim,
        claims_hold: claims_hold(told, difference),
    }
}

/// Both claims are of the distance from true time, so that of the two clocks is their sum at most. Absent where there is nothing to hold
/// against each other.
fn claims_hold(told: &Told, difference: Option<ClockDifference>) -> Option<bool> {
    let (here, there) = (told.here.claim?, told.there.claim?);
    let most_ns = i64::try_from(here.error_ns.saturating_add(there.error_ns)).unwrap_or(i64::MAX);
    let ClockDifference { low_ns, high_ns, .. } = difference?;
    Some(low_ns <= most_ns && high_ns >= -most_ns)
}

/// The exchanges as bounds.
struct View<'a> {
    seen: &'a [WallExchange],
    exchanges: Vec<Exchange>,
    oscillators: ClockOffset,
    model: ClockModel,
}

impl<'a> View<'a> {
    fn new(seen: &'a [WallExchange]) -> Self {
        let model = ClockModel::default();
        let exchanges: Vec<Exchange> = seen.iter().map(Exchange::from).collect();
        View { seen, oscillators: ClockOffset::estimate(&exchanges, &model), exchanges, model }
    }

    /// Whether the two clocks are one, as both hosts say and the exchanges allow.
    fn relation(&self, told: &Told) -> ClockRelation {
        let (Some(boot), Some(other)) = (told.here.boot_id, told.there.boot_id) else {
            return ClockRelation::Unknown;
        };
        if boot != other {
            return ClockRelation::TwoMachines;
        }
        let (Some(here_ns), Some(there_ns)) = (told.here.namespace_offset_ns, told.there.namespace_offset_ns)
        else {
            return ClockRelation::Unknown;
        };
        let expected_ns = there_ns.saturating_sub(here_ns);
        let band = self.exchanges.last().and_then(|last| self.oscillators.band_at(last.sent_ns));
        match () {
            () if !self.oscillators.steps().is_empty()
                || band.is_some_and(|band| !band.holds(expected_ns)) =>
            {
                ClockRelation::Contradicted
            }
            () if expected_ns == 0 => ClockRelation::OneClock,
            () => ClockRelation::OneMachine,
        }
    }

    fn after_ns(&self, local_ns: i64) -> u64 {
        let begin_ns = self.exchanges.first().map_or(local_ns, |first| first.sent_ns);
        u64::try_from(local_ns.saturating_sub(begin_ns)).unwrap_or(0)
    }

    fn difference(&self, number: usize) -> Option<ClockDifference> {
        let band = wall_difference(&self.seen[number], &self.oscillators)?;
        Some(ClockDifference {
            at_ns: self.after_ns(self.exchanges[number].sent_ns),
            ahead_ns: band.middle_ns(),
            low_ns: band.low_ns,
            high_ns: band.high_ns,
        })
    }

    fn at_the_end(&self) -> Option<ClockDifference> {
        let since_ns =
            self.exchanges.last()?.sent_ns.saturating_sub(AT_THE_END_NS).max(self.since_wall_step_ns());
        let first = self.exchanges.partition_point(|exchange| exchange.sent_ns < since_ns);
        let near = (first..self.seen.len()).filter_map(|number| self.difference(number));
        near.min_by_key(ClockDifference::half_ns)
    }

    fn course(&self) -> Vec<ClockDifference> {
        let last = self.seen.len().saturating_sub(1);
        let mut numbers: Vec<usize> = (0..COURSE).map(|row| self.near(row as u64, last)).collect();
        numbers.dedup();
        numbers.into_iter().filter_map(|number| self.difference(number)).collect()
    }

    /// The exchange at a tenth of the time.
    fn near(&self, tenth: u64, last: usize) -> usize {
        let Some(end) = self.exchanges.last() else { return 0 };
        let then_ns = self.after_ns(end.sent_ns) / (COURSE as u64 - 1) * tenth;
        self.exchanges.partition_point(|exchange| self.after_ns(exchange.sent_ns) < then_ns).min(last)
    }

    fn wall_readings(&self, of: fn(&WallExchange) -> WallReading) -> Vec<WallReading> {
        self.seen.iter().map(of).collect()
    }

    /// Those at a step of the oscillators are left out: a wall clock is seen to step against its oscillator alone.
    fn wall_steps(&self) -> Vec<(SteppedWhich, usize, OffsetBand)> {
        let here = wall_steps(&self.wall_readings(|exchange| exchange.sent));
        let there = wall_steps(&self.wall_readings(|exchange| exchange.there));
        let named =
            |which| move |step: plumb_stats::clock_offset::WallStep| (which, step.reading, step.change);
        let here = here.into_iter().map(named(SteppedWhich::WallHere));
        let all = here.chain(there.into_iter().map(named(SteppedWhich::WallThere)));
        let (exchanges, steps) = (&self.exchanges, self.oscillators.steps());
        let apart = |reading: usize| {
            let (from_ns, to_ns) = (exchanges[reading - 1].sent_ns, exchanges[reading].returned_ns);
            steps.iter().all(|step| step.before_ns < from_ns || to_ns < step.after_ns)
        };
        all.filter(|(_, reading, _)| apart(*reading)).collect()
    }

    /// The first exchange after the last time that a wall clock was set.
    fn since_wall_step_ns(&self) -> i64 {
        let after = self.wall_steps().into_iter().map(|(_, reading, _)| self.exchanges[reading].sent_ns);
        after.max().unwrap_or(i64::MIN)
    }

    fn steps(&self) -> Vec<SteppedClock> {
        let oscillators = self.oscillators.steps().iter().map(|step| SteppedClock {
            clock: SteppedWhich::Oscillators,
            after_ns: self.after_ns(step.after_ns),
            before_ns: self.after_ns(step.before_ns),
            low_ns: step.change.map(|change| change.low_ns),
            high_ns: step.change.map(|change| change.high_ns),
        });
        let walls = self.wall_steps().into_iter().map(|(clock, reading, change)| SteppedClock {
            clock,
            after_ns: self.after_ns(self.exchanges[reading - 1].sent_ns),
            before_ns: self.after_ns(self.exchanges[reading].returned_ns),
            low_ns: Some(change.low_ns),
            high_ns: Some(change.high_ns),
        });
        let mut all: Vec<SteppedClock> = oscillators.chain(walls).collect();
        all.sort_by_key(|step| step.after_ns);
        all
    }

    /// Over the last window, or since a clock stepped.
    fn rates(&self) -> Option<ClockRates> {
        let last = self.exchanges.last()?;
        let (since_step_ns, _) = self.oscillators.since_last_step()?;
        let window_ns = last.sent_ns.saturating_sub(self.model.window_ns);
        let since_ns = since_step_ns.max(self.since_wall_step_ns()).max(window_ns);
        let first = self.exchanges.partition_point(|exchange| exchange.sent_ns < since_ns);
        let oscillators = OffsetLines::through(&self.exchanges[first..], &self.model)?.rate();
        let wall_clocks = wall_rate(self.seen.get(first)?, self.seen.last()?, oscillators)?;
        let band = |rate: RateRange| RateBand {
            estimate_ppm: rate.middle_ppm(),
            low_ppm: rate.low_ppm,
            high_ppm: rate.high_ppm,
        };
        Some(ClockRates { oscillators: band(oscillators), wall_clocks: band(wall_clocks) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::probe::{ClaimSource, ClockClaim};

    /// Wall clocks of hosts that began at 0, in nanoseconds since 1970.
    const BORN_NS: i64 = 1_700_000_000_000_000_000;

    fn reading(oscillator_ns: i64, wall_ns: i64) -> WallReading {
        WallReading { before_ns: oscillator_ns, wall_ns: wall_ns + 10, after_ns: oscillator_ns + 20 }
    }

    /// Ten exchanges a second over `seconds` of a peer whose oscillator and wall clock are so far ahead; 20 us there, 30 us back.
    fn seen(seconds: i64, ahead: impl Fn(i64) -> (i64, i64)) -> Vec<WallExchange> {
        let one = |k: i64| {
            let sent_ns = k * 100_000_000;
            let here = |ns: i64| reading(ns, BORN_NS + ns);
            let there = |ns: i64| {
                let (oscillator_ns, wall_ns) = ahead(ns);
                reading(ns + oscillator_ns, BORN_NS + ns + wall_ns)
            };
            WallExchange {
                sent: here(sent_ns - 20),
                there: there(sent_ns + 20_000),
                returned: here(sent_ns + 50_020),
            }
        };
        (0..seconds * 10).map(one).collect()
    }

    fn account(boot: u8, namespace_offset_ns: i64, error_ns: Option<u64>) -> ClockAccount {
        ClockAccount {
            boot_id: Some([boot; 16]),
            namespace_offset_ns: Some(namespace_offset_ns),
            claim: error_ns.map(|error_ns| ClockClaim { error_ns, source: ClaimSource::Kernel }),
        }
    }

    fn folded(seen: &[WallExchange], here: ClockAccount, there: ClockAccount) -> ClockOffsetProbe {
        let settings = super::super::ClockOffsetSettings {
            peer: Vec::new(),
            duration: std::time::Duration::from_secs(10),
        };
        let conditions = super::super::Window::open().close(plumb_model::probe::ProbeKind::ClockOffset, true);
        document(conditions, super::super::plan(&settings), "192.0.2.7:7586", seen, &Told { here, there })
    }

    #[test]
    fn wall_clocks_differ_by_what_they_differ_whatever_the_uptimes() {
        let seen = seen(10, |_| (-77_000_000_000, 3_000_000));
        let told = folded(&seen, account(1, 0, None), account(2, 0, None));
        assert_eq!(told.relation, ClockRelation::TwoMachines);
        let difference = told.difference.unwrap();
        assert!(difference.low_ns <= 3_000_000 && 3_000_000 <= difference.high_ns, "{difference:?}");
        // 50 us there and back, the brackets, and what oscillators may wander in ten seconds.
        assert!(difference.half_ns() < 27_000, "{difference:?}");
        assert_eq!((told.latency_error_ns, told.difference), (Some(difference.half_ns()), told.measured));
        assert_eq!(
            (told.least_round_trip_ns, told.exchanges, told.course.len()),
            (Some(50_000), 100, COURSE)
        );
        assert!(told.course.iter().all(|at| at.low_ns <= 3_000_000 && 3_000_000 <= at.high_ns));
        assert_eq!((told.claims_hold, told.finds()), (None, false));
    }

    #[test]
    fn one_boot_and_one_namespace_are_one_clock_unless_the_exchanges_contradict() {
        let (here, moved) = (account(1, 0, None), account(1, 100_000_000_000, None));
        let same = folded(&seen(1, |_| (0, 0)), here, here);
        let difference = same.difference.unwrap();
        assert_eq!((same.relation, difference.half_ns(), same.finds()), (ClockRelation::OneClock, 0, false));
        assert!(same.measured.unwrap().half_ns() > 0);
        let shifted = folded(&seen(1, |_| (100_000_000_000, 0)), here, moved);
        assert_eq!((shifted.relation, shifted.finds()), (ClockRelation::OneMachine, false));
        assert_eq!(shifted.difference, shifted.measured);
        for (ahead_ns, there) in [(1_000_000, here), (0, moved)] {
            let copy = folded(&seen(1, |_| (ahead_ns, 0)), here, there);
            assert_eq!((copy.relation, copy.finds()), (ClockRelation::Contradicted, true));
            assert!(copy.difference.unwrap().half_ns() > 0);
        }
        let silent = folded(&seen(1, |_| (0, 0)), here, ClockAccount::default());
        assert_eq!(silent.relation, ClockRelation::Unknown);
    }

    #[test]
    fn claims_that_leave_no_room_for_the_difference_do_not_hold() {
        let seen = seen(5, |_| (0, -10_000_000));
        let hold = |here_ns, there_ns| {
            let told = folded(&seen, account(1, 0, Some(here_ns)), account(2, 0, Some(there_ns)));
            assert_eq!(told.finds(), told.claims_hold == Some(false));
            told.claims_hold
        };
        assert_eq!(hold(1_000_000, 9_100_000), Some(true));
        assert_eq!(hold(1_000_000, 8_900_000), Some(false));
        assert_eq!(hold(u64::MAX, u64::MAX), Some(true));
    }

    #[test]
    fn a_wall_clock_that_is_set_is_told_and_the_end_is_of_the_time_after_it() {
        let set = seen(10, |ns| (0, if ns < 6_050_000_000 { 0 } else { -2_000_000_000 }));
        let told = folded(&set, account(1, 0, None), account(2, 0, None));
        let [step] = told.steps[..] else { panic!("{:?}", told.steps) };
        assert_eq!(step.clock, SteppedWhich::WallThere);
        assert!(step.after_ns <= 6_050_000_000 && 6_050_000_000 <= step.before_ns, "{step:?}");
        assert!(step.low_ns.unwrap() <= -2_000_000_000 && -2_000_000_000 <= step.high_ns.unwrap());
        let difference = told.difference.unwrap();
        assert!(difference.low_ns <= -2_000_000_000 && -2_000_000_000 <= difference.high_ns);
        let walls = told.rates.unwrap().wall_clocks;
        assert!(walls.low_ppm < 0.0 && 0.0 < walls.high_ppm, "the step is in no rate: {walls:?}");
        assert!(told.finds());
    }

    #[test]
    fn oscillators_that_step_are_told_and_the_end_is_of_the_time_after_it() {
        let moved = seen(10, |ns| (if ns < 4_000_000_000 { 0 } else { 5_000_000 }, 0));
        let told = folded(&moved, account(1, 0, None), account(2, 0, None));
        let [step] = told.steps[..] else { panic!("{:?}", told.steps) };
        assert_eq!((step.clock, told.finds()), (SteppedWhich::Oscillators, true));
        assert!(step.low_ns.unwrap() <= 5_000_000 && 5_000_000 <= step.high_ns.unwrap(), "{step:?}");
        // Its wall clock is no other for it, however far the oscillator stepped.
        let far = seen(10, |ns| (if ns < 4_000_000_000 { 0 } else { 5_000_000_000 }, 0));
        let told = folded(&far, account(1, 0, None), account(2, 0, None));
        assert_eq!(told.steps.len(), 1, "{:?}", told.steps);
        assert!(told.difference.unwrap().low_ns <= 0 && 0 <= told.difference.unwrap().high_ns);
    }

    #[test]
    fn rates_are_those_of_oscillators_and_of_what_is_steered_over_them() {
        // The oscillator is 40 ppm fast, and the wall clock is steered to be 1 ppm slow.
        let seen = seen(20, |ns| (ns / 25_000, -ns / 1_000_000));
        let rates = folded(&seen, account(1, 0, None), account(2, 0, None)).rates.unwrap();
        for (rate, truth) in [(rates.oscillators, 40.0), (rates.wall_clocks, -1.0)] {
            assert!(rate.low_ppm <= truth && truth <= rate.high_ppm, "{rate:?}");
            assert!(rate.high_ppm - rate.low_ppm < 6.0, "{rate:?}");
        }
    }

    #[test]
    fn a_single_exchange_has_a_difference_and_no_rate_of_wall_clocks() {
        let told = folded(&seen(1, |_| (0, 0))[..1], account(1, 0, None), account(2, 0, None));
        assert!(told.difference.is_some() && told.rates.is_none());
        assert_eq!(told.course.len(), 1);
    }
}
