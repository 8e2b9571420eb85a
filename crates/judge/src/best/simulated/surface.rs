//! Made-up surfaces of 24 settings, shaped by batching, queueing, in-flight limits, fetch waits and host factors, whose truth is
//! known. How strong each shape is differs from seed to seed, and about half of the lesser settings do nothing.

use super::super::*;

pub(super) const LINGER: usize = 0;
pub(super) const BATCH: usize = 1;
pub(super) const COMPRESSION: usize = 2;
pub(super) const IN_FLIGHT: usize = 3;
const BACKPRESSURE: usize = 4;
const STICKY: usize = 5;
const NAGLE: usize = 6;
const SEND_BUFFER: usize = 7;
const RECEIVE_BUFFER: usize = 8;
pub(super) const FETCH_MIN: usize = 9;
pub(super) const FETCH_WAIT: usize = 10;
const PARTITION_FETCH: usize = 11;
const QUEUED_MIN: usize = 12;
const BACKOFF: usize = 13;
const MAX_POLL: usize = 14;
const IO_THREADS: usize = 15;
const NETWORK_THREADS: usize = 16;
const REPLICA_FETCHERS: usize = 17;
const C_STATES: usize = 18;
const GOVERNOR: usize = 19;
const HUGE_PAGES: usize = 20;
const COALESCING: usize = 21;
const SEGMENT: usize = 22;
const INDEX_INTERVAL: usize = 23;

/// Settings of lesser effect; each does nothing in half of the seeds.
const LESSER: [usize; 10] = [
    BACKPRESSURE,
    STICKY,
    SEND_BUFFER,
    RECEIVE_BUFFER,
    PARTITION_FETCH,
    QUEUED_MIN,
    MAX_POLL,
    REPLICA_FETCHERS,
    HUGE_PAGES,
    COALESCING,
];

const PARTITIONS: f64 = 12.0;
const MESSAGE_BYTES: f64 = 1000.0;

/// What is searched, and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Least p99 at 300 messages a second.
    A,
    /// Least p99 at 400,000 messages a second.
    B,
    /// Least CPU a message at 60,000 messages a second while p99 stays within 10 ms.
    C,
    /// What there is is the best.
    N,
    /// Nothing does anything.
    Flat,
    /// Six settings of unknown place, each with a best level of its own that depends on those of others.
    Pairs,
    /// Steps: special values that gain, thresholds beyond which all is three times worse, and choices with one good value.
    Steps,
}

impl Kind {
    pub(super) fn rate_per_s(self) -> f64 {
        match self {
            Kind::A => 300.0,
            Kind::B => 400_000.0,
            Kind::C | Kind::N | Kind::Flat | Kind::Pairs | Kind::Steps => 60_000.0,
        }
    }

    pub(super) fn has_goal(self) -> bool {
        self == Kind::C
    }
}

pub(super) struct Surface {
    pub(super) kind: Kind,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) default: Point,
    pub(super) presets: Vec<Point>,
    /// Strength of each setting's own part; 0 where it does nothing.
    strength: Vec<f64>,
    /// Level at which each ordered setting of lesser effect is best, 0 to 1.
    best_at: Vec<f64>,
    round_trip_s: f64,
    request_s: f64,
    byte_s: f64,
    stability_seed: u64,
}

/// The truth at a point: logarithms of the objective and of the goal's ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Truth {
    pub(super) ln_objective: f64,
    pub(super) ln_goal: Option<f64>,
}

impl Surface {
    pub(super) fn new(kind: Kind, seed: u64) -> Surface {
        let mut random = Random::for_part(seed, 77);
        let ordered = |places| Dimension::Ordered { places };
        let choice = |values| Dimension::Choice { values };
        let mut dimensions = vec![ordered(9); 24];
        for at in [LINGER, BATCH, STICKY, FETCH_MIN, FETCH_WAIT] {
            dimensions[at] = ordered(17);
        }
        dimensions[COMPRESSION] = choice(4);
        dimensions[IN_FLIGHT] = ordered(5);
        dimensions[REPLICA_FETCHERS] = ordered(4);
        dimensions[HUGE_PAGES] = choice(3);
        for at in [NAGLE, C_STATES, GOVERNOR] {
            dimensions[at] = choice(2);
        }
        for at in [SEGMENT, INDEX_INTERVAL] {
            dimensions[at] = ordered(5);
        }
        let mut default = vec![4; 24];
        for (at, level) in [
            (LINGER, 10),
            (BATCH, 4),
            (COMPRESSION, 0),
            (IN_FLIGHT, 4),
            (BACKPRESSURE, 0),
            (STICKY, 9),
            (NAGLE, 0),
            (FETCH_MIN, 0),
            (FETCH_WAIT, 16),
            (BACKOFF, 8),
            (REPLICA_FETCHERS, 0),
            (C_STATES, 0),
            (GOVERNOR, 0),
            (HUGE_PAGES, 0),
            (SEGMENT, 2),
            (INDEX_INTERVAL, 0),
        ] {
            default[at] = level;
        }
        let default = Point(default);
        let with = |changes: &[(usize, usize)]| {
            let mut point = default.clone();
            for (at, level) in changes {
                point.0[*at] = *level;
            }
            point
        };
        let presets = vec![
            with(&[(LINGER, 0), (FETCH_WAIT, 8), (STICKY, 0), (BACKOFF, 0)]),
            with(&[(LINGER, 0), (BACKOFF, 0), (C_STATES, 1), (GOVERNOR, 1)]),
            with(&[(LINGER, 8), (BATCH, 7), (BACKOFF, 0)]),
            with(&[(LINGER, 14), (BATCH, 14), (COMPRESSION, 1), (FETCH_MIN, 10)]),
            with(&[(LINGER, 12), (BATCH, 11), (COMPRESSION, 1)]),
            with(&[(C_STATES, 1), (GOVERNOR, 1), (HUGE_PAGES, 1)]),
            with(&[(IO_THREADS, 6), (NETWORK_THREADS, 6), (REPLICA_FETCHERS, 2)]),
            with(&[(LINGER, 16), (BATCH, 16), (COMPRESSION, 3), (FETCH_MIN, 14)]),
        ];
        let mut strength: Vec<f64> = (0..24).map(|_| (0.4 * random.normal()).exp()).collect();
        for at in LESSER {
            if random.unit() < 0.5 {
                strength[at] = 0.0;
            }
        }
        strength[SEGMENT] = 0.0;
        strength[INDEX_INTERVAL] = 0.0;
        if kind == Kind::Flat {
            strength.fill(0.0);
        }
        let best_at = (0..24).map(|_| random.unit()).collect();
        let mut times = |middle: f64| middle * (0.3 * random.normal()).exp();
        Surface {
            kind,
            dimensions,
            default,
            presets,
            strength,
            best_at,
            round_trip_s: times(0.35e-3),
            request_s: times(80e-6),
            byte_s: times(1.1e-9),
            stability_seed: seed,
        }
    }

    /// Settings that do nothing.
    pub(super) fn idle(&self) -> Vec<usize> {
        (0..24).filter(|at| self.strength[*at] == 0.0).collect()
    }

    fn scaled(&self, point: &Point, at: usize) -> f64 {
        point.0[at] as f64 / (self.dimensions[at].levels() - 1) as f64
    }

    fn linger_s(&self, point: &Point) -> f64 {
        match point.0[LINGER] {
            0 => 0.0,
            level => 1e-4 * 1000f64.powf((level - 1) as f64 / 15.0),
        }
    }

    fn batch_bytes(&self, point: &Point) -> f64 {
        4096.0 * 2f64.powf(point.0[BATCH] as f64 / 2.0)
    }

    fn fetch_min_bytes(&self, point: &Point) -> f64 {
        match point.0[FETCH_MIN] {
            0 => 1.0,
            level => 1024.0 * 1024f64.powf((level - 1) as f64 / 15.0),
        }
    }

    fn fetch_wait_s(&self, point: &Point) -> f64 {
        1e-3 * 500f64.powf(point.0[FETCH_WAIT] as f64 / 16.0)
    }

    /// How long a message waits for its batch, from the load alone.
    fn batch_wait_s(&self, point: &Point) -> f64 {
        let rate = self.kind.rate_per_s() / PARTITIONS;
        self.linger_s(point).min(self.batch_bytes(point) / (rate * MESSAGE_BYTES))
    }

    /// How long a fetch waits for its bytes, from the load alone.
    fn fetch_delay_s(&self, point: &Point) -> f64 {
        let bytes_per_s = self.kind.rate_per_s() * MESSAGE_BYTES / 3.0;
        match point.0[FETCH_MIN] {
            0 => 0.0,
            _ => self.fetch_wait_s(point).min(self.fetch_min_bytes(point) / bytes_per_s),
        }
    }

    /// Produce requests a second, from the load alone.
    fn requests_per_s(&self, point: &Point) -> f64 {
        let rate = self.kind.rate_per_s();
        let gathered = 1.0 + rate / PARTITIONS * self.batch_wait_s(point);
        rate / gathered.min((self.batch_bytes(point) / MESSAGE_BYTES).max(1.0))
    }

    /// Fetches a second, from the load alone: one takes half a millisecond beside its wait, by guess.
    fn fetches_per_s(&self, point: &Point) -> f64 {
        (3.0 / (self.fetch_delay_s(point) + 0.5e-3)).min(3.0 * self.requests_per_s(point))
    }

    /// What a latency is the sum of by the load alone, in units of so many seconds.
    fn latency_parts(&self, point: &Point, unit_s: f64) -> Vec<Part> {
        let wait_s = self.batch_wait_s(point) + self.fetch_delay_s(point);
        vec![
            Part::Known(wait_s / unit_s),
            Part::Queue(self.requests_per_s(point) + self.fetches_per_s(point)),
        ]
    }

    /// The truth without what unstable settings add.
    pub(super) fn stable(&self, point: &Point) -> Truth {
        match self.kind {
            Kind::Flat => Truth { ln_objective: 0.0, ln_goal: None },
            Kind::N => Truth { ln_objective: self.worse_than_default(point), ln_goal: None },
            Kind::Pairs => Truth { ln_objective: self.pairs(point), ln_goal: None },
            Kind::Steps => Truth { ln_objective: self.steps(point), ln_goal: None },
            Kind::A | Kind::B => Truth { ln_objective: self.work(point).0.ln(), ln_goal: None },
            Kind::C => {
                let (p99_s, cpu_s) = self.work(point);
                Truth { ln_objective: cpu_s.ln(), ln_goal: Some((p99_s / 10e-3).ln()) }
            }
        }
    }

    fn worse_than_default(&self, point: &Point) -> f64 {
        let one = |at: usize| match self.dimensions[at] {
            Dimension::Choice { .. } => 0.08 * f64::from(u8::from(point.0[at] != self.default.0[at])),
            Dimension::Ordered { places } => {
                let steps = point.0[at] as f64 - self.default.0[at] as f64;
                0.35 * (steps / (places - 1) as f64).powi(2)
            }
        };
        (0..24).map(|at| self.strength[at] * one(at)).sum()
    }

    /// The settings of which a surface of its own order is made.
    fn order(&self) -> Vec<usize> {
        Random::for_part(self.stability_seed, 80).order(24)
    }

    fn pairs(&self, point: &Point) -> f64 {
        let off = |at: usize| self.scaled(point, at) - self.best_at[at];
        let order = self.order();
        let alone: f64 = order[..6].iter().map(|at| 0.8 * off(*at).powi(2)).sum();
        let together: f64 = order[..6].windows(2).map(|pair| 0.7 * off(pair[0]) * off(pair[1])).sum();
        alone + together
    }

    fn steps(&self, point: &Point) -> f64 {
        let order = self.order();
        let special: f64 = order[..3].iter().map(|at| if point.0[*at] == 0 { 0.0 } else { 0.3 }).sum();
        let beyond = |at: &&usize| self.scaled(point, **at) > 0.6 + 0.4 * self.best_at[**at];
        let cliffs = order[3..6].iter().filter(beyond).count() as f64 * 3f64.ln();
        let slopes: f64 = order[6..9].iter().map(|at| 0.25 * (1.0 - self.scaled(point, *at))).sum();
        special + cliffs + slopes
    }

    /// p99 and CPU a message, in seconds.
    fn work(&self, point: &Point) -> (f64, f64) {
        let on = |at: usize| self.strength[at] * f64::from(u8::from(point.0[at] > 0));
        // Away from its best level a lesser setting costs a few percent.
        let off = |at: usize| self.strength[at] * (self.scaled(point, at) - self.best_at[at]).powi(2);
        let rate = self.kind.rate_per_s();
        let sticky = 1.0 + 0.6 * self.strength[STICKY] * self.scaled(point, STICKY);
        let wait =
            self.linger_s(point).min(self.batch_bytes(point) * PARTITIONS / (rate * sticky * MESSAGE_BYTES));
        let in_batch =
            (1.0 + rate * sticky / PARTITIONS * wait).min((self.batch_bytes(point) / MESSAGE_BYTES).max(1.0));
        let kind = point.0[COMPRESSION];
        let (left, squeeze_s) = ([1.0, 0.6, 0.62, 0.5][kind], [0.0, 1.2e-9, 1.6e-9, 4.0e-9][kind]);
        // A small batch compresses badly.
        let left: f64 = 1.0 - (1.0 - left) * (in_batch / (in_batch + 8.0));
        let speed = 1.0 + 0.12 * on(GOVERNOR);
        let threads = 1.0 + 0.3 * (off(IO_THREADS) + off(NETWORK_THREADS) + off(REPLICA_FETCHERS));
        let request_s = self.request_s * threads * (1.0 + 0.1 * on(NAGLE) * f64::from(u8::from(rate < 1e3)));
        let fetch_delay = self.fetch_delay_s(point);
        let fetches_per_s = (3.0 / (fetch_delay + 1e-3)).min(rate / in_batch * 3.0);
        let requests_per_s =
            rate / in_batch / (1.0 + 0.3 * self.scaled(point, BACKPRESSURE) * self.strength[BACKPRESSURE]);
        let busy = (requests_per_s * request_s
            + fetches_per_s * self.request_s
            + rate * MESSAGE_BYTES * left * self.byte_s)
            / speed;
        let share = busy / 3.0;
        // A queue whose delay goes on rising steeply, but not to infinity, past its capacity.
        let queue = if share < 0.95 { share / (1.0 - share) } else { 19.0 + 400.0 * (share - 0.95) };
        let in_flight = (point.0[IN_FLIGHT] + 1) as f64;
        let pressed = requests_per_s / PARTITIONS * self.round_trip_s / in_flight;
        let buffers = 1.0 + 0.25 * (off(SEND_BUFFER) + off(RECEIVE_BUFFER) + off(PARTITION_FETCH));
        let wake_s = (0.25e-3 * self.strength[C_STATES] * f64::from(u8::from(point.0[C_STATES] == 0)))
            / (1.0 + rate / 20_000.0);
        let coalesced_s = 0.08e-3 * self.strength[COALESCING] * self.scaled(point, COALESCING);
        let pages = 1.0 + 0.06 * self.strength[HUGE_PAGES] * point.0[HUGE_PAGES] as f64;
        let stall_s = 0.4e-3
            * self.scaled(point, BACKOFF)
            * self.strength[BACKOFF]
            * (1.0 - 0.5 * self.strength[QUEUED_MIN].min(1.0) * self.scaled(point, QUEUED_MIN));
        let nagle_s = 0.3e-3 * on(NAGLE);
        let poll = 1.0 + 0.15 * off(MAX_POLL);
        let path_s = self.round_trip_s * buffers * (1.0 + queue + 3.0 * (pressed - 0.7).max(0.0));
        let p99_s =
            (wait + fetch_delay + path_s * 1.5 + wake_s + coalesced_s + stall_s + nagle_s) * pages * poll;
        let cpu_s = (busy / rate
            + MESSAGE_BYTES * squeeze_s
            + (1.8e-6 + 0.4e-6 * self.strength[COALESCING] * (1.0 - self.scaled(point, COALESCING))))
            * poll
            * (1.0 + 0.1 * off(QUEUED_MIN))
            * (1.0 + 0.05 * on(C_STATES));
        (p99_s, cpu_s)
    }

    /// One in ten settings is unstable: now and then a block of it is much worse.
    pub(super) fn is_unstable(&self, point: &Point) -> bool {
        if *point == self.default {
            return false;
        }
        let mixed = point.0.iter().fold(self.stability_seed ^ 0x5bd1, |seed, level| {
            Random::new(seed.wrapping_mul(31).wrapping_add(*level as u64)).bits()
        });
        Random::new(mixed).unit() < 0.1
    }

    /// What a user of these settings gets.
    pub(super) fn truth(&self, point: &Point) -> Truth {
        let stable = self.stable(point);
        let more = match self.is_unstable(point) && self.kind != Kind::Flat {
            true => UNSTABLE.0 * UNSTABLE.1.ln(),
            false => 0.0,
        };
        match self.kind {
            Kind::C => Truth { ln_goal: stable.ln_goal.map(|ln| ln + more), ..stable },
            _ => Truth { ln_objective: stable.ln_objective + more, ..stable },
        }
    }

    /// The least logarithm of the objective of anything that meets the goal: descents along one setting at a time from many
    /// places.
    pub(super) fn optimum(&self) -> f64 {
        self.stable(&self.best()).ln_objective
    }

    pub(super) fn best(&self) -> Point {
        if matches!(self.kind, Kind::N | Kind::Flat) {
            return self.default.clone();
        }
        let mut random = Random::for_part(self.stability_seed, 78);
        let cost = |point: &Point| {
            let truth = self.stable(point);
            truth.ln_objective + 20.0 * truth.ln_goal.unwrap_or(0.0).max(0.0)
        };
        let mut starts = self.presets.clone();
        starts.push(self.default.clone());
        starts.extend((0..8).map(|_| self.anywhere(&mut random)));
        let descend = |mut point: Point| {
            let mut best = cost(&point);
            loop {
                let before = best;
                for at in 0..24 {
                    let was = point.0[at];
                    let (mut level_best, mut cost_best) = (was, best);
                    for level in 0..self.dimensions[at].levels() {
                        point.0[at] = level;
                        let cost = cost(&point);
                        if cost < cost_best {
                            (level_best, cost_best) = (level, cost);
                        }
                    }
                    point.0[at] = level_best;
                    best = cost_best;
                }
                if best > before - 1e-6 {
                    return (best, point);
                }
            }
        };
        let found = starts.into_iter().map(descend).min_by(|a, b| a.0.total_cmp(&b.0));
        found.unwrap().1
    }

    pub(super) fn anywhere(&self, random: &mut Random) -> Point {
        Point(self.dimensions.iter().map(|dimension| random.below(dimension.levels())).collect())
    }
}

/// What the load alone says.
impl Physics for Surface {
    fn is_possible(&self, point: &Point) -> bool {
        !self.kind.has_goal() || self.batch_wait_s(point) + self.fetch_delay_s(point) <= 10e-3
    }

    fn inputs(&self, point: &Point) -> Vec<f64> {
        let rate = self.kind.rate_per_s() / PARTITIONS;
        let of_batch = rate * self.linger_s(point).max(1e-4) * MESSAGE_BYTES / self.batch_bytes(point);
        vec![(of_batch.ln() / 10.0 + 0.5).clamp(-0.5, 1.5)]
    }

    fn objective(&self, point: &Point) -> Vec<Part> {
        match self.kind.has_goal() {
            true => {
                let messages = |per_s: f64| Part::Proportional(per_s / self.kind.rate_per_s());
                vec![messages(self.requests_per_s(point)), messages(self.fetches_per_s(point))]
            }
            false => self.latency_parts(point, 1.0),
        }
    }

    fn goal(&self, point: &Point) -> Vec<Part> {
        self.latency_parts(point, 10e-3)
    }
}

/// Chance that a block of unstable settings is worse, and by what factor.
const UNSTABLE: (f64, f64) = (1.0 / 3.0, 1.8);

/// A machine on which blocks run one after the other.
pub(super) struct Machine<'a> {
    surface: &'a Surface,
    random: Random,
    drift: f64,
    burst: f64,
    /// Blocks run.
    pub(super) blocks: usize,
}

/// Standard deviations of a block's own noise and of what drifts; what is left of a drift and of a burst in the next block;
/// chance and mean size of a burst.
const NOISE_SD: f64 = 0.08;
const DRIFT_SD: f64 = 0.11;
const DRIFT_LEFT: f64 = 0.85;
const BURST: (f64, f64, f64) = (0.03, 0.4, 0.5);

impl<'a> Machine<'a> {
    pub(super) fn new(surface: &'a Surface, seed: u64) -> Machine<'a> {
        let mut random = Random::for_part(seed, 79);
        let drift = DRIFT_SD * random.normal();
        Machine { surface, random, drift, burst: 0.0, blocks: 0 }
    }

    pub(super) fn run(&mut self, point: &Point) -> Outcome {
        self.blocks += 1;
        let fresh = DRIFT_SD * (1.0 - DRIFT_LEFT * DRIFT_LEFT).sqrt();
        self.drift = DRIFT_LEFT * self.drift + fresh * self.random.normal();
        self.burst *= BURST.2;
        if self.random.unit() < BURST.0 {
            self.burst -= BURST.1 * (1.0 - self.random.unit()).ln();
        }
        let unlucky = self.random.unit() < UNSTABLE.0 && self.surface.is_unstable(point);
        let own = NOISE_SD * self.random.normal();
        let level = self.drift + self.burst + own + if unlucky { UNSTABLE.1.ln() } else { 0.0 };
        let other = NOISE_SD * self.random.normal() + 0.5 * self.drift;
        let truth = self.surface.stable(point);
        match truth.ln_goal {
            Some(ln) => Outcome::Measured {
                objective: (truth.ln_objective + other).exp(),
                goal_ratio: Some((ln + level).exp()),
            },
            None => Outcome::Measured { objective: (truth.ln_objective + level).exp(), goal_ratio: None },
        }
    }
}
