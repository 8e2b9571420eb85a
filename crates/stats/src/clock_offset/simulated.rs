//! Exchanges of two clocks whose offset is known, made up: heavy tails, ways of unequal length, drift up to the bound, wander, steps.

use super::{ClockModel, Exchange};
use crate::random::Random;

/// Local times are counted from here: an uptime of three years.
pub(super) const BEGIN_NS: i64 = 94_608_000_000_000_000;
const TAIL_NS_MAX: f64 = 1e9;
/// As the workers of a run exchange: so many at once, then the quickest of a few each tick.
const FIRST_EXCHANGES: usize = 50;
const TICK_NS: f64 = 1e8;
const LATER_TICK_NS: f64 = 2e8;
const LATER_NS: f64 = 10e9;
const TRIES: u32 = 3;
/// No more where one took no longer than so many times the least, later.
const QUICK: f64 = 1.25;

/// Two clocks, the way between them, and what was exchanged.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) exchanges: Vec<Exchange>,
    /// Offset at the beginning.
    pub(super) base_ns: i64,
    rate: f64,
    wander: f64,
    /// Time after which it runs fast again.
    period_ns: f64,
    sudden: bool,
    /// When a clock steps, and how far.
    pub(super) step: Option<(f64, f64)>,
}

/// One direction of the way.
struct Way {
    least_ns: f64,
    scale_ns: f64,
    /// Exponent of the tail: below 2 without a variance, below 1 without a mean.
    exponent: f64,
}

/// Both directions.
struct Ways<'a> {
    out: &'a Way,
    back: &'a Way,
}

impl Way {
    fn delay_ns(&self, random: &mut Random) -> f64 {
        let tail = (1.0 - random.unit()).powf(-1.0 / self.exponent) - 1.0;
        self.least_ns + (self.scale_ns * tail).min(TAIL_NS_MAX)
    }
}

impl Trace {
    /// A trace of so long: 50 exchanges at once, then ten times a second, after ten seconds five times, the quickest of at most
    /// three.
    pub(super) fn new(seed: u64, duration_ns: f64, stepping: bool) -> Self {
        let mut random = Random::new(seed);
        let ClockModel { rate_max_ppm, wander_max_ppm, .. } = ClockModel::default();
        let mut between = |low: f64, high: f64| low + (high - low) * random.unit();
        let out_ns = 10f64.powf(between(3.7, 6.7));
        let back_ns = out_ns * 10f64.powf(between(-1.0, 1.0));
        let (scale, exponent) = (between(0.05, 2.0), between(1.1, 3.0));
        let way = |least_ns: f64| Way { least_ns, scale_ns: least_ns * scale, exponent };
        let (out, back) = (way(out_ns), way(back_ns));
        // A quarter of them at the bound itself.
        let rate_ppm = (between(-4.0 / 3.0, 4.0 / 3.0).clamp(-1.0, 1.0)) * (rate_max_ppm - wander_max_ppm);
        let size_ns = (20.0 * (out_ns + back_ns) * (1.0 + scale) + 1e6) * between(1.0, 10.0);
        let step =
            (between(0.2, 0.8) * duration_ns, if between(-1.0, 1.0) < 0.0 { -size_ns } else { size_ns });
        let base_ns = between(-9e16, 9e16) as i64;
        let mut trace = Trace {
            exchanges: Vec::new(),
            base_ns,
            rate: rate_ppm / 1e6,
            wander: wander_max_ppm / 1e6,
            period_ns: between(0.5e9, 40e9),
            sudden: between(0.0, 1.0) < 0.5,
            step: stepping.then_some(step),
        };
        let (mut now_ns, mut least_ns) = (0.0_f64, i64::MAX);
        while now_ns < duration_ns {
            let is_first = trace.exchanges.len() < FIRST_EXCHANGES;
            let tries = if is_first { 1 } else { TRIES };
            let tick_ns = if now_ns < LATER_NS { TICK_NS } else { LATER_TICK_NS };
            let until_ns = now_ns + tick_ns / 2.0;
            let mut quickest: Option<Exchange> = None;
            for number in 0..tries {
                let enough = |quickest: &Exchange| quickest.round_trip_ns() as f64 <= least_ns as f64 * QUICK;
                let is_quick = now_ns >= LATER_NS && quickest.as_ref().is_some_and(enough);
                if is_quick || number > 0 && now_ns >= until_ns {
                    break;
                }
                let next = trace.exchange(&Ways { out: &out, back: &back }, now_ns.round(), &mut random);
                now_ns = (next.returned_ns - BEGIN_NS) as f64 + 5e3;
                let is_quicker = |quickest: &Exchange| next.round_trip_ns() < quickest.round_trip_ns();
                if quickest.as_ref().is_none_or(is_quicker) {
                    quickest = Some(next);
                }
            }
            least_ns = quickest.iter().map(Exchange::round_trip_ns).fold(least_ns, i64::min);
            trace.exchanges.extend(quickest);
            if !is_first {
                now_ns = (now_ns / tick_ns).ceil() * tick_ns;
            }
        }
        trace
    }

    /// One exchange that begins so long after the beginning.
    fn exchange(&self, ways: &Ways<'_>, sent: f64, random: &mut Random) -> Exchange {
        let arrived = (sent + ways.out.delay_ns(random)).round();
        let answered = (arrived + 1e3 + 5e4 * random.unit()).round();
        let returned = (answered + ways.back.delay_ns(random)).round();
        Exchange {
            sent_ns: BEGIN_NS + sent as i64,
            arrived_ns: self.remote_ns(arrived),
            answered_ns: self.remote_ns(answered),
            returned_ns: BEGIN_NS + returned as i64,
        }
    }

    /// Remote reading so long after the beginning, in whole nanoseconds of local time.
    fn remote_ns(&self, after_ns: f64) -> i64 {
        BEGIN_NS + self.base_ns + after_ns as i64 + self.offset_ns(after_ns).floor() as i64
    }

    /// The offset so long after the beginning, less that at the beginning.
    pub(super) fn offset_ns(&self, after_ns: f64) -> f64 {
        let turn = (after_ns / self.period_ns).fract();
        let wandered = match self.sudden {
            // Fast for half the period, slow for the other.
            true => self.wander * self.period_ns * turn.min(1.0 - turn),
            false => {
                let round = std::f64::consts::TAU;
                self.wander * self.period_ns / round * (round * turn).sin()
            }
        };
        let stepped = self.step.filter(|(at_ns, _)| after_ns >= *at_ns).map_or(0.0, |(_, size_ns)| size_ns);
        self.rate * after_ns + wandered + stepped
    }

    /// The mean rate between two times.
    pub(super) fn rate_ppm(&self, from_ns: f64, to_ns: f64) -> f64 {
        (self.offset_ns(to_ns) - self.offset_ns(from_ns)) / (to_ns - from_ns) * 1e6
    }

    /// The end of the last exchange, after the beginning.
    pub(super) fn end_ns(&self) -> f64 {
        self.exchanges.last().map_or(0.0, |last| (last.returned_ns - BEGIN_NS) as f64)
    }
}
