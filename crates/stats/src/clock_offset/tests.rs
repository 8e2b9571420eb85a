use super::simulated::{BEGIN_NS, Trace};
use super::*;
use crate::random::Random;
use proptest::prelude::*;

/// Without wander, and with bounds in whole nanoseconds as they are: the arithmetic by hand.
fn exact(rate_max_ppm: f64) -> ClockModel {
    ClockModel { rate_max_ppm, wander_max_ppm: 0.0, window_ns: i64::MAX / 4 }
}

/// An exchange that was sent at a time, took so long each way, and whose remote clock was ahead by `offset_ns` throughout.
fn exchange(sent_ns: i64, out_ns: i64, back_ns: i64, offset_ns: i64) -> Exchange {
    let arrived_ns = sent_ns + out_ns + offset_ns;
    Exchange { sent_ns, arrived_ns, answered_ns: arrived_ns, returned_ns: sent_ns + out_ns + back_ns }
}

fn band(low_ns: i64, high_ns: i64) -> Option<OffsetBand> {
    Some(OffsetBand { low_ns, high_ns })
}

#[test]
fn one_exchange_bounds_the_offset_by_its_two_ways_and_a_nanosecond_of_reading() {
    let lines = OffsetLines::through(&[exchange(1_000, 30, 70, 500)], &exact(0.001)).unwrap();
    // Ahead by at most 530 and at least 430, however unequal the ways, and a nanosecond more. The lower bound is of a moment 100 ns
    // later, before which a slope takes it down by less than another.
    assert_eq!(lines.band_at(1_000), band(428, 531));
    assert_eq!(lines.band_at(999), None, "nothing is known of the time before");
    assert_eq!(lines.band_at(1_101), None);
}

#[test]
fn of_several_exchanges_the_quickest_of_each_way_counts_whatever_the_other_way_took() {
    let seen = [exchange(0, 20, 900, -7), exchange(2_000, 800, 10, -7), exchange(4_000, 500, 500, -7)];
    let lines = OffsetLines::through(&seen, &exact(0.001)).unwrap();
    assert_eq!(lines.band_at(2_000), band(-7 - 10 - 2, -7 + 20 + 2));
}

/// Bounds of 101 either way at 0 and at 1,000,000, the lower ones 200 later: the steepest line goes from the corner below on the left to
/// the one above on the right.
#[test]
fn two_exchanges_leave_the_slopes_from_corner_to_corner() {
    let seen = [exchange(0, 100, 100, 0), exchange(1_000_000, 100, 100, 0)];
    let rate = OffsetLines::through(&seen, &exact(1_000.0)).unwrap().rate();
    assert!((rate.high_ppm - 202e6 / (1_000_000.0 - 200.0)).abs() < 1e-6, "{rate:?}");
    assert!((rate.low_ppm + 202e6 / (1_000_000.0 + 200.0)).abs() < 1e-6, "{rate:?}");
    let held = OffsetLines::through(&seen, &exact(50.0)).unwrap().rate();
    assert_eq!((held.low_ppm, held.high_ppm), (-50.0, 50.0));
}

#[test]
fn a_clock_that_drifts_faster_than_it_can_has_no_line_and_one_that_drifts_as_fast_has() {
    // 300 in a million over a millisecond, with 10 either way.
    let seen: Vec<Exchange> = (0..=10).map(|k| exchange(k * 100_000, 10, 10, k * 30)).collect();
    assert!(OffsetLines::through(&seen, &exact(200.0)).is_none());
    let lines = OffsetLines::through(&seen, &exact(300.0)).unwrap();
    assert!(lines.rate().high_ppm <= 300.0 && lines.rate().low_ppm < 300.0);
    assert!(lines.band_at(500_000).unwrap().holds(150));
}

#[test]
fn without_exchanges_there_is_neither_band_nor_step() {
    let nothing = ClockOffset::estimate(&[], &ClockModel::default());
    assert_eq!((nothing.band_at(0), nothing.rate_at(0), nothing.steps()), (None, None, &[][..]));
    assert_eq!((nothing.least_round_trip_ns(), nothing.since_last_step()), (None, None));
}

#[test]
fn an_exchange_whose_answer_came_before_its_question_is_counted_and_left_out() {
    let lie = Exchange { sent_ns: 0, arrived_ns: 0, answered_ns: 500, returned_ns: 100 };
    let seen = [lie, exchange(1_000, 10, 10, 5)];
    let offset = ClockOffset::estimate(&seen, &ClockModel::default());
    assert_eq!((offset.contradictory(), offset.steps().len()), (1, 0));
    assert!(offset.band_at(1_000).unwrap().holds(5));
}

#[test]
fn a_step_splits_the_band_and_slow_exchanges_around_it_are_of_neither_side() {
    let mut seen: Vec<Exchange> = (0..10).map(|k| exchange(k * 1_000_000, 10_000, 10_000, 0)).collect();
    // After a step of 1 ms: two that took so long that they fit both sides, then quick ones.
    seen.extend((10..12).map(|k| exchange(k * 1_000_000, 5_000_000, 5_000_000, 1_000_000)));
    seen.extend((30..40).map(|k| exchange(k * 1_000_000, 10_000, 10_000, 1_000_000)));
    let offset = ClockOffset::estimate(&seen, &ClockModel::default());
    let [step] = offset.steps() else { panic!("{:?}", offset.steps()) };
    assert_eq!((step.after_ns, step.before_ns), (9_000_000, 30_020_000));
    assert!(step.change.unwrap().holds(1_000_000), "{step:?}");
    assert!(offset.band_at(9_000_000).unwrap().holds(0));
    assert_eq!(offset.band_at(12_000_000), None);
    assert!(offset.band_at(39_000_000).unwrap().holds(1_000_000));
    assert_eq!(offset.since_last_step(), Some((30_020_000, 39_020_000)));
}

#[test]
fn a_long_measurement_is_a_line_only_over_a_window() {
    // The rate changes from -10 to +10 ppm over ten minutes: no line, but within each half minute nearly one.
    let rate = |s: f64| (s - 300.0) / 30.0;
    let offset_ns = |s: f64| (s * s / 2.0 - 300.0 * s) / 30.0 * 1e3;
    let model = ClockModel { wander_max_ppm: 1.0, ..ClockModel::default() };
    let seen: Vec<Exchange> = (0..1_200)
        .map(|k| exchange(k * 500_000_000, 2_000, 2_000, offset_ns(k as f64 / 2.0) as i64))
        .collect();
    let offset = ClockOffset::estimate(&seen, &model);
    assert_eq!(offset.steps(), []);
    for k in (0..1_200).step_by(7) {
        let s = f64::from(k) / 2.0;
        let band = offset.band_at(i64::from(k) * 500_000_000).unwrap();
        assert!(band.holds(offset_ns(s) as i64) && band.width_ns() < 40_000, "{s}: {band:?}");
        let range = offset.rate_at(i64::from(k) * 500_000_000).unwrap();
        let middle = rate(s.clamp(15.0, 584.0));
        assert!(range.low_ppm <= middle + 0.1 && middle - 0.1 <= range.high_ppm, "{s}: {range:?}");
    }
}

/// Ways of 4 ns hide nothing of an oscillator that runs fast and slow as far as it may, by turns of any length.
#[test]
fn a_rate_that_wanders_as_far_as_it_may_is_no_step_and_the_truth_is_in_band_and_range() {
    let model = ClockModel::default();
    for turns in [1.0, 2.0, 3.0, 7.5] {
        let offset_ns = |s: f64| {
            let turn = (s * turns / 30.0).fract();
            50_000.0 * s + 200.0 * 30.0 / turns * turn.min(1.0 - turn)
        };
        let at = |k: i64| offset_ns(k as f64 / 10.0).floor() as i64;
        let seen: Vec<Exchange> = (0..300).map(|k| exchange(k * 100_000_000, 4, 4, at(k))).collect();
        let offset = ClockOffset::estimate(&seen, &model);
        assert_eq!(offset.steps(), [], "{turns}");
        (0..300).for_each(|k| assert!(offset.band_at(k * 100_000_000).unwrap().holds(at(k)), "{turns}: {k}"));
        let (rate, truth) = (offset.rate_at(0).unwrap(), (at(299) - at(0)) as f64 / 29_900.0);
        assert!(rate.low_ppm <= truth && truth <= rate.high_ppm, "{turns}: {rate:?} {truth}");
        assert!(rate.high_ppm - rate.low_ppm < 0.41, "{turns}: {rate:?}");
    }
}

/// What the estimator said of a trace.
struct Seen {
    /// Width of the band at the end over the least round trip, and in the middle.
    width_at_end: f64,
    width_in_the_middle: f64,
    /// Distance of the estimate at the end from the truth, over the least round trip.
    error: f64,
    /// The band at the end is wider than promised; of a trace with a step too little is known of the time since.
    too_wide: bool,
}

/// The width of a band over the least round trip after ten seconds (ours).
const WIDTH_MAX: f64 = 1.5;

/// What is allowed for wander beyond that of ten seconds: at each end of the band twice, for the bounds and for the line.
fn wander_ns(duration_ns: f64) -> f64 {
    let allowed_ns = |span_ns: f64| 4.0 * ClockModel::default().off_line_ns(span_ns as i64);
    allowed_ns(duration_ns) - allowed_ns(10e9)
}

/// Every claim about a made-up trace holds, and its figures.
fn check(seed: u64, duration_ns: f64) -> Seen {
    let trace = Trace::new(seed, duration_ns, seed.is_multiple_of(4));
    let offset = ClockOffset::estimate(&trace.exchanges, &ClockModel::default());
    assert_eq!(
        offset.steps().len(),
        usize::from(trace.step.is_some()),
        "{seed}: {trace:?} {:?}",
        offset.steps()
    );
    for (step, (at_ns, size_ns)) in offset.steps().iter().zip(trace.step) {
        let at = BEGIN_NS + at_ns as i64;
        assert!(step.after_ns <= at && at <= step.before_ns, "{seed}: {step:?} {at}");
        assert!(step.change.is_none_or(|change| change.holds(size_ns as i64)), "{seed}: {step:?} {size_ns}");
    }
    let band = |after_ns: f64| {
        let band = offset.band_at(BEGIN_NS + after_ns as i64)?;
        let truth = trace.offset_ns(after_ns.floor());
        let low = (band.low_ns - trace.base_ns) as f64;
        let high = (band.high_ns - trace.base_ns) as f64;
        assert!(low <= truth && truth <= high, "{seed} at {after_ns}: {low} {truth} {high} {trace:?}");
        Some((high - low, f64::midpoint(low, high) - truth))
    };
    let mut random = Random::new(seed);
    let end_ns = trace.end_ns();
    for _ in 0..40 {
        let _ = band(end_ns * random.unit());
    }
    let (begin_ns, last_ns) = offset.since_last_step().unwrap();
    if trace.step.is_none() && end_ns as i64 <= ClockModel::default().window_ns {
        let (rate, truth) = (offset.rate_at(last_ns).unwrap(), trace.rate_ppm(0.0, end_ns));
        assert!(rate.low_ppm <= truth + 1e-9 && truth - 1e-9 <= rate.high_ppm, "{seed}: {rate:?} {truth}");
    }
    let least = offset.least_round_trip_ns().unwrap() as f64;
    let (width, error) = band(end_ns).unwrap();
    let middle = band(((begin_ns + last_ns) / 2 - BEGIN_NS) as f64).unwrap().0;
    let too_wide = trace.step.is_none() && width > WIDTH_MAX * least + wander_ns(duration_ns);
    Seen {
        width_at_end: width / least,
        width_in_the_middle: middle / least,
        error: error.abs() / least,
        too_wide,
    }
}

/// The truth lies within the band at every moment of every trace, and the band is narrow once it was measured for long enough; prints
/// how wide it is.
fn check_all(traces: std::ops::Range<u64>, duration_ns: f64) {
    let seen: Vec<Seen> = traces.map(|seed| check(seed, duration_ns)).collect();
    let wide = seen.iter().filter(|seen| seen.too_wide).count();
    assert_eq!(wide, 0, "traces of {} whose band is too wide", seen.len());
    let print = |what: &str, of: fn(&Seen) -> f64| {
        let mut values: Vec<f64> = seen.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let at = |quantile: f64| values[((values.len() - 1) as f64 * quantile) as usize];
        println!("{what}: p50 {:.3}, p90 {:.3}, p99 {:.3}, max {:.3}", at(0.5), at(0.9), at(0.99), at(1.0));
    };
    println!("{} traces of {:.0} s, over the least round trip", seen.len(), duration_ns / 1e9);
    print("width of the band at the end", |seen| seen.width_at_end);
    print("width of the band in the middle", |seen| seen.width_in_the_middle);
    print("error of the middle at the end", |seen| seen.error);
}

#[test]
fn the_truth_is_inside_the_narrow_band_of_a_thousand_made_up_traces() {
    check_all(0..1_000, 10e9);
}

#[test]
#[ignore = "slow: make simulations"]
fn the_truth_is_inside_the_band_of_every_made_up_trace_in_long_simulations() {
    check_all(1_000..21_000, 10e9);
    check_all(30_000..31_000, 120e9);
}

/// How long a question takes; no assertion.
#[test]
#[ignore = "prints a time: make simulations"]
fn a_question_about_thousands_of_exchanges_takes_microseconds() {
    let trace = Trace::new(1, 500e9, false);
    let model = ClockModel { window_ns: 1_000_000_000_000, ..ClockModel::default() };
    let (begin, mut sum) = (std::time::Instant::now(), 0);
    for _ in 0..100 {
        let lines = OffsetLines::through(&trace.exchanges, &model).unwrap();
        sum += lines.band_at(BEGIN_NS + 250_000_000_000).unwrap().width_ns();
    }
    println!("{} exchanges: {:?} a question ({sum})", trace.exchanges.len(), begin.elapsed() / 100);
}

/// The highest and the lowest value at `x`, and the outermost slopes, of the lines that touch two bounds each: the corners of what a
/// linear program may choose from, all tried.
fn by_trying_all(seen: &[Exchange], slope_max: f64, x: f64) -> Option<(f64, f64, f64, f64)> {
    let highs: Vec<(f64, f64)> =
        seen.iter().map(|e| (e.sent_ns as f64, (e.arrived_ns - e.sent_ns) as f64 + 1.0)).collect();
    let lows: Vec<(f64, f64)> =
        seen.iter().map(|e| (e.returned_ns as f64, (e.answered_ns - e.returned_ns) as f64 - 1.0)).collect();
    let points: Vec<(f64, f64)> = highs.iter().chain(&lows).copied().collect();
    let through = |(px, py): (f64, f64), slope: f64| (py - slope * px, slope);
    let pairs = points.iter().flat_map(|p| points.iter().map(move |q| (*p, *q)));
    let lines = pairs
        .filter(|(p, q)| p.0 < q.0)
        .map(|(p, q)| through(p, (q.1 - p.1) / (q.0 - p.0)))
        .chain(points.iter().flat_map(|p| [through(*p, slope_max), through(*p, -slope_max)]));
    let fits = |(at_0, slope): &(f64, f64)| {
        slope.abs() <= slope_max * (1.0 + 1e-9)
            && highs.iter().all(|(px, py)| at_0 + slope * px <= py + 1e-3)
            && lows.iter().all(|(px, py)| at_0 + slope * px >= py - 1e-3)
    };
    let fitting: Vec<(f64, f64)> = lines.filter(fits).collect();
    let most = |of: &dyn Fn(&(f64, f64)) -> f64| fitting.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    (!fitting.is_empty()).then(|| {
        (
            -most(&|(at_0, slope)| -(at_0 + slope * x)),
            most(&|(at_0, slope)| at_0 + slope * x),
            -most(&|(_, slope)| -slope),
            most(&|(_, slope)| *slope),
        )
    })
}

/// Exchanges one after the other on a line of a rate, with any delays.
fn on_a_line() -> impl Strategy<Value = Vec<Exchange>> {
    let one = (1_000i64..3_000_000, 0i64..60_000, 0i64..60_000);
    (proptest::collection::vec(one, 1..14), -190i64..190).prop_map(|(steps, ppm)| {
        let mut now_ns = 0;
        let offset = |local_ns: i64| (local_ns * ppm).div_euclid(1_000_000);
        let mut seen = Vec::new();
        for (pause_ns, out_ns, back_ns) in steps {
            let (sent_ns, arrived) = (now_ns, now_ns + out_ns);
            let returned_ns = arrived + back_ns;
            let arrived_ns = arrived + offset(arrived);
            seen.push(Exchange { sent_ns, arrived_ns, answered_ns: arrived_ns, returned_ns });
            now_ns = returned_ns + pause_ns;
        }
        seen
    })
}

proptest! {
    #[test]
    fn band_and_rate_are_those_of_all_lines_tried_one_by_one(seen in on_a_line(), at in 0.0..1.0f64) {
        let end = seen.last().unwrap().returned_ns;
        let x = (end as f64 * at) as i64;
        let lines = OffsetLines::through(&seen, &exact(200.0)).unwrap();
        let (low, high, least, most) = by_trying_all(&seen, 200e-6, x as f64).unwrap();
        let band = lines.band_at(x).unwrap();
        prop_assert!((band.low_ns as f64 - low.floor()).abs() <= 1.0, "{band:?} {low} {high}");
        prop_assert!((band.high_ns as f64 - high.ceil()).abs() <= 1.0, "{band:?} {low} {high}");
        let rate = lines.rate();
        prop_assert!((rate.low_ppm - 1e6 * least).abs() < 0.01, "{rate:?} {least} {most}");
        prop_assert!((rate.high_ppm - 1e6 * most).abs() < 0.01, "{rate:?} {least} {most}");
    }

    #[test]
    fn more_exchanges_of_one_line_only_make_the_band_narrower(seen in on_a_line(), few in 1usize..14, at in 0.0..1.0f64) {
        let fewer = &seen[..few.min(seen.len())];
        let x = (fewer.last().unwrap().returned_ns as f64 * at) as i64;
        let [some, all] = [fewer, &seen[..]].map(|seen| OffsetLines::through(seen, &exact(200.0)).unwrap());
        let (wide, narrow) = (some.band_at(x).unwrap(), all.band_at(x).unwrap());
        prop_assert!(wide.low_ns <= narrow.low_ns && narrow.high_ns <= wide.high_ns, "{wide:?} {narrow:?}");
        let (wide, narrow) = (some.rate(), all.rate());
        prop_assert!(wide.low_ppm <= narrow.low_ppm + 1e-6 && narrow.high_ppm <= wide.high_ppm + 1e-6);
    }

    #[test]
    fn a_constant_added_to_the_remote_clock_moves_the_band_by_just_that(
        seen in on_a_line(),
        more_ns in -(1i64 << 61)..(1i64 << 61),
        at in 0.0..1.0f64,
    ) {
        let moved: Vec<Exchange> = seen
            .iter()
            .map(|e| Exchange { arrived_ns: e.arrived_ns + more_ns, answered_ns: e.answered_ns + more_ns, ..*e })
            .collect();
        let x = (seen.last().unwrap().returned_ns as f64 * at) as i64;
        let [before, after] = [&seen, &moved].map(|seen| ClockOffset::estimate(seen, &exact(200.0)).band_at(x).unwrap());
        prop_assert_eq!(after.low_ns - before.low_ns, more_ns);
        prop_assert_eq!(after.high_ns - before.high_ns, more_ns);
    }

    #[test]
    fn no_readings_whatever_make_it_panic(readings in proptest::collection::vec((0i64..1 << 62, 0i64..1 << 62, 0i64..1 << 62, 0i64..1 << 62), 0..20)) {
        let seen: Vec<Exchange> = readings
            .into_iter()
            .map(|(sent_ns, arrived_ns, answered_ns, returned_ns)| Exchange { sent_ns, arrived_ns, answered_ns, returned_ns })
            .collect();
        let offset = ClockOffset::estimate(&seen, &ClockModel::default());
        for exchange in &seen {
            let _ = (offset.band_at(exchange.sent_ns), offset.rate_at(exchange.returned_ns));
        }
    }
}

/// A wall clock so far ahead of the oscillator's, read between two readings of that 20 ns apart.
fn reading(oscillator_ns: i64, ahead_ns: i64) -> WallReading {
    WallReading {
        before_ns: oscillator_ns,
        wall_ns: oscillator_ns + 10 + ahead_ns,
        after_ns: oscillator_ns + 20,
    }
}

/// The remote oscillator is ahead by `offset_ns`, the wall clocks of their oscillators by `there_ns` and `here_ns`.
fn wall_exchange(sent_ns: i64, offset_ns: i64, there_ns: i64, here_ns: i64) -> WallExchange {
    WallExchange {
        sent: reading(sent_ns - 20, here_ns),
        there: reading(sent_ns + 1_000 + offset_ns, there_ns),
        returned: reading(sent_ns + 2_020, here_ns),
    }
}

#[test]
fn wall_clocks_differ_by_the_oscillators_and_by_what_each_is_ahead_of_its_own() {
    // Oscillators 100 s apart, as uptimes are; wall clocks 1 ms apart.
    let (here_ns, offset_ns) = (1_700_000_000_000_000_000, 100_000_000_000);
    let there_ns = here_ns - offset_ns + 1_000_000;
    let seen: Vec<WallExchange> =
        (0..20).map(|k| wall_exchange(k * 1_000_000, offset_ns, there_ns, here_ns)).collect();
    let exchanges: Vec<Exchange> = seen.iter().map(Exchange::from).collect();
    let oscillators = ClockOffset::estimate(&exchanges, &ClockModel::default());
    let band = wall_difference(&seen[19], &oscillators).unwrap();
    // A microsecond each way, the brackets of the readings and a nanosecond here and there.
    assert!(band.holds(1_000_000) && band.width_ns() <= 2_100, "{band:?}");
    let rate = wall_rate(&seen[0], &seen[19], oscillators.rate_at(19_000_000).unwrap()).unwrap();
    assert!(rate.low_ppm < 0.0 && 0.0 < rate.high_ppm, "{rate:?}");
    assert_eq!(wall_rate(&seen[3], &seen[3], RateRange { low_ppm: 0.0, high_ppm: 0.0 }), None);
}

#[test]
fn what_a_time_service_slews_is_in_the_rate_of_the_wall_clocks_and_in_no_step() {
    // Over a second the remote wall clock gains 50 us on its oscillator, as 50 ppm of slewing do.
    let (first, last) = (wall_exchange(0, 0, 0, 0), wall_exchange(1_000_000_000, 0, 50_000, 0));
    let rate = wall_rate(&first, &last, RateRange { low_ppm: -1.0, high_ppm: 1.0 }).unwrap();
    assert!((rate.middle_ppm() - 50.0).abs() < 0.01 && rate.high_ppm - rate.low_ppm < 2.2, "{rate:?}");
    assert_eq!(wall_steps(&[first.there, last.there]), []);
}

#[test]
fn a_wall_clock_that_was_set_stepped_by_just_that_and_its_oscillator_did_not() {
    let readings: Vec<WallReading> =
        (0..10).map(|k| reading(k * 100_000_000, if k < 7 { 5 } else { -2_000_000_000 })).collect();
    let [step] = wall_steps(&readings)[..] else { panic!() };
    assert_eq!(step.reading, 7);
    assert!(step.change.holds(-2_000_000_005) && step.change.width_ns() < 100, "{step:?}");
}
