//! Searches on paths whose truth is known.

use super::*;
use plumb_stats::random::Random;

/// Seeds of each simulation.
const SEEDS: u64 = 300;

const BOUNDS: SearchBounds =
    SearchBounds { start_per_s: 1_000.0, least_per_s: 1.0, most_per_s: 1e7, confirming: 3, limit_ns: 20e6 };

/// The result of a run: its outcome, and its latency as a share of the limit, where there is one.
type Shown = (TryOutcome, Option<f64>);

/// A path: what a run at a rate shows.
trait Path {
    fn run(&mut self, rate_per_s: f64, purpose: TryPurpose) -> Shown;
}

impl<F: FnMut(f64, TryPurpose) -> TryOutcome> Path for F {
    fn run(&mut self, rate_per_s: f64, purpose: TryPurpose) -> Shown {
        (self(rate_per_s, purpose), None)
    }
}

fn search(mut path: impl Path) -> (Found, Vec<Try>) {
    let mut tries = Vec::new();
    loop {
        match next(&tries, &BOUNDS) {
            Next::Done(found) => return (found, tries),
            Next::Try { rate_per_s, purpose } => {
                assert!((BOUNDS.least_per_s..=BOUNDS.most_per_s * 1.000_001).contains(&rate_per_s));
                let (outcome, latency) = path.run(rate_per_s, purpose);
                tries.push(Try {
                    rate_per_s,
                    purpose,
                    outcome,
                    started_at: String::new(),
                    measured_s: 0.0,
                    achieved_per_s: None,
                    quantile_ns: latency.map(|share| (share * BOUNDS.limit_ns) as u64),
                    samples: 0,
                    processor_wait_share: None,
                    steal_share: None,
                    reasons: Vec::new(),
                });
            }
        }
    }
}

/// A queue with one server (M/M/1): the quantile q of the time in it is -ln(1-q) / (capacity - rate). What a run sees
/// strays around that, a short one twice as far as a full one.
struct Queue {
    capacity_per_s: f64,
    limit_s: f64,
    stray: f64,
    random: Random,
}

impl Queue {
    fn new(capacity_per_s: f64, limit_s: f64, stray: f64, seed: u64) -> Self {
        Queue { capacity_per_s, limit_s, stray, random: Random::new(seed) }
    }

    /// The rate at which the 99th percentile is just the limit.
    fn truth(&self) -> f64 {
        self.capacity_per_s - 100f64.ln() / self.limit_s
    }
}

impl Path for Queue {
    fn run(&mut self, rate_per_s: f64, purpose: TryPurpose) -> Shown {
        let short = if purpose == TryPurpose::Confirm { 1.0 } else { 2.0 };
        let stray = (self.stray * short * self.random.normal()).exp();
        let room = self.capacity_per_s - rate_per_s;
        if room <= 0.0 {
            return (TryOutcome::Fails, None);
        }
        let share = 100f64.ln() / room * stray / self.limit_s;
        (if share <= 1.0 { TryOutcome::Holds } else { TryOutcome::Fails }, Some(share))
    }
}

/// The searches of all seeds together.
struct Coverage {
    /// The share whose interval holds the truth.
    covered: f64,
    /// The share that the path bounds.
    settled: f64,
    /// The mean ratio of the ends of their intervals.
    width: f64,
}

fn coverage(capacity_per_s: f64, limit_s: f64, stray: f64) -> Coverage {
    let (mut covered, mut settled, mut width) = (0.0, 0.0, 0.0);
    for seed in 0..SEEDS {
        let path = Queue::new(capacity_per_s, limit_s, stray, seed);
        let truth = path.truth();
        let (found, _) = search(path);
        let (low, high) =
            (found.rate_low_per_s.unwrap_or(0.0), found.rate_high_per_s.unwrap_or(f64::INFINITY));
        covered += f64::from(u8::from(low <= truth && truth <= high));
        if found.bounded_by == SearchBound::Path {
            settled += 1.0;
            width += high / low;
        }
    }
    Coverage { covered: covered / SEEDS as f64, settled: settled / SEEDS as f64, width: width / settled }
}

#[test]
fn the_interval_holds_the_truth_of_a_noisy_queue_in_nearly_all_seeds() {
    // A slow path whose latency rises gently, and a fast one whose latency rises like a cliff; little noise and much.
    for (capacity, limit, stray, widest) in [
        (1_000.0, 0.02, 0.05, 1.2),
        (1_000.0, 0.02, 0.2, 1.4),
        (1_000.0, 0.01, 0.15, 1.8),
        (200_000.0, 0.02, 0.2, 1.1),
        (500.0, 0.5, 0.5, 1.4),
    ] {
        let Coverage { covered, settled, width } = coverage(capacity, limit, stray);
        let what =
            format!("{covered} covered, {settled} settled, {width} wide at {capacity}, {limit}, {stray}");
        assert!(covered >= 0.96 && settled >= 0.95 && width < widest, "{what}");
    }
}

#[test]
fn without_noise_the_interval_is_one_step_wide() {
    let path = Queue::new(50_000.0, 0.02, 0.0, 1);
    let truth = path.truth();
    let (found, tries) = search(path);
    let (low, high) = (found.rate_low_per_s.unwrap(), found.rate_high_per_s.unwrap());
    assert!(low <= truth && truth <= high && high / low < 1.06, "{low}..{high} around {truth}");
    let confirming = tries.iter().filter(|tried| tried.purpose == TryPurpose::Confirm).count();
    assert!(confirming <= 9, "{confirming}");
    assert!(tries.len() < 25, "{}", tries.len());
}

#[test]
fn the_two_rates_that_are_reported_are_run_in_turns() {
    let (_, tries) = search(Queue::new(50_000.0, 0.02, 0.0, 1));
    let rates: Vec<f64> = tries
        .iter()
        .filter(|tried| tried.purpose == TryPurpose::Confirm)
        .map(|tried| tried.rate_per_s)
        .collect();
    assert!(rates.windows(2).filter(|pair| pair[0] == pair[1]).count() <= 2, "{rates:?}");
}

#[test]
fn a_cliff_is_found_between_the_two_rates() {
    let (found, _) =
        search(|rate: f64, _| if rate < 76_543.0 { TryOutcome::Holds } else { TryOutcome::Fails });
    let (low, high) = (found.rate_low_per_s.unwrap(), found.rate_high_per_s.unwrap());
    assert!(low < 76_543.0 && high >= 76_543.0 && high / low < 1.06, "{low}..{high}");
}

#[test]
fn a_path_that_never_holds_is_said_to_hold_nothing() {
    let (found, tries) = search(|_: f64, _| TryOutcome::Fails);
    assert_eq!((found.rate_low_per_s, found.bounded_by), (None, SearchBound::NothingHolds));
    // That the least does not hold was seen at full length.
    assert_eq!(found.rate_high_per_s, Some(BOUNDS.least_per_s));
    let full = tries
        .iter()
        .filter(|tried| tried.purpose == TryPurpose::Confirm && same(tried.rate_per_s, BOUNDS.least_per_s));
    assert_eq!(full.count(), BOUNDS.confirming as usize);
    assert!(tries.len() < 15);
}

#[test]
fn what_has_too_few_samples_is_not_said_to_fail() {
    let (found, _) = search(|_: f64, _| TryOutcome::TooFew);
    assert_eq!((found.rate_low_per_s, found.rate_high_per_s), (None, None));
}

#[test]
fn a_rate_that_only_looked_bad_on_the_way_is_no_upper_end() {
    let (found, _) = search(|_: f64, purpose| match purpose {
        TryPurpose::Confirm => TryOutcome::Holds,
        TryPurpose::Climb | TryPurpose::Narrow | TryPurpose::Descend => TryOutcome::Fails,
    });
    assert_eq!(found.rate_high_per_s, None);
    assert!(found.rate_low_per_s.is_some());
}

#[test]
fn a_path_that_holds_all_that_the_generator_sends_is_bounded_by_the_generator() {
    let (found, _) =
        search(|rate: f64, _| if rate < 900_000.0 { TryOutcome::Holds } else { TryOutcome::GeneratorBound });
    assert_eq!((found.rate_high_per_s, found.bounded_by), (None, SearchBound::Generator));
    assert!(found.rate_low_per_s.unwrap() > 800_000.0);
}

#[test]
fn a_generator_that_was_hindered_once_is_not_the_bound_of_a_path_that_fails() {
    let mut runs = 0;
    let (found, _) = search(|rate: f64, purpose| {
        runs += u32::from(purpose == TryPurpose::Confirm);
        match rate < 50_000.0 {
            true => TryOutcome::Holds,
            false if purpose == TryPurpose::Confirm && runs == 2 => TryOutcome::GeneratorBound,
            false => TryOutcome::Fails,
        }
    });
    assert_eq!(found.bounded_by, SearchBound::Path);
    assert!(found.rate_high_per_s.is_some());
}

#[test]
fn a_path_that_holds_the_highest_rate_there_is_says_so() {
    let (found, _) = search(|_: f64, _| TryOutcome::Holds);
    assert_eq!(found.bounded_by, SearchBound::RateMost);
    assert!((found.rate_low_per_s.unwrap() / BOUNDS.most_per_s - 1.0).abs() < 1e-9);
}

#[test]
fn a_path_that_recovers_only_at_a_lower_rate_is_given_that_rate() {
    // Up to 50,000/s it holds; after a rate that was too high it holds only below 40,000/s, until it was seen to.
    let mut overloaded = false;
    let (found, tries) = search(|rate: f64, _| {
        overloaded = rate > if overloaded { 40_000.0 } else { 50_000.0 };
        if overloaded { TryOutcome::Fails } else { TryOutcome::Holds }
    });
    assert!(tries.iter().any(|tried| tried.purpose == TryPurpose::Descend));
    let (low, high) = (found.rate_low_per_s.unwrap(), found.rate_high_per_s.unwrap());
    assert!(low <= 40_000.0 * 1.06 && high >= 40_000.0, "{low}..{high}");
}

#[test]
fn a_path_that_changes_its_mind_ends_all_the_same() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let (_, tries) =
            search(|_: f64, _| if random.unit() < 0.5 { TryOutcome::Holds } else { TryOutcome::Fails });
        assert!(tries.len() <= TRIES_MOST);
    }
}
