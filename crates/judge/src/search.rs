//! The highest rate at which a goal holds: the tries so far in, the next rate to try out.
//!
//! Pure: no clock, no path. A search goes up from below, each rate a multiple of the one before, until one does not hold. It
//! halves the gap. It comes down from above, because a path that was just overloaded may need less load to recover than to hold
//! (hysteresis). Then it runs the highest rate that held, and the one just above it, at full length with clients of their own, in
//! turns, so that a change of the machine between them falls on both.
//!
//! The first tries are not believed: a search that keeps the highest rate that ever looked good keeps the luckiest one. So the
//! result rests on the full-length runs alone, and a rate whose runs do not agree counts as neither.

use plumb_model::search::{SearchBound, Try, TryOutcome, TryPurpose};
use plumb_stats::law::student_quantile;

/// The bounds and the fineness of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchBounds {
    /// First rate tried, messages per second.
    pub start_per_s: f64,
    /// Lowest rate worth trying.
    pub least_per_s: f64,
    /// Highest rate that may be asked for.
    pub most_per_s: f64,
    /// Full-length runs at each of the two rates that are reported.
    pub confirming: u32,
    /// The highest latency that holds the goal, in nanoseconds.
    pub limit_ns: f64,
}

/// The next action of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Try this rate.
    Try {
        /// Messages per second.
        rate_per_s: f64,
        /// The purpose, on which the length of the try depends.
        purpose: TryPurpose,
    },
    /// The search is over.
    Done(Found),
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Highest rate that was confirmed to hold.
    pub rate_low_per_s: Option<f64>,
    /// Lowest rate above it that was confirmed not to.
    pub rate_high_per_s: Option<f64>,
    /// The reason why no higher rate holds.
    pub bounded_by: SearchBound,
}

/// Growth on the way up.
const GROWTH: f64 = 2.0;
/// The halving ends when the two rates are so close (ours: repeated runs of one rate differ by a few percent).
const CLOSE: f64 = 1.06;
/// Steps by which candidates go down and up while they are confirmed.
const STEP: f64 = 1.05;
/// So many times above the limit, a latency is no freak (ours).
const FAR: f64 = 4.0;
/// Level of the one-sided intervals of what the runs of a rate say.
const SURE: f64 = 0.95;
/// A search ends after so many tries, whatever it knows.
const TRIES_MOST: usize = 80;

/// The next try of a search, or what it found.
pub fn next(tries: &[Try], bounds: &SearchBounds) -> Next {
    let state = State { tries, bounds };
    if tries.len() >= TRIES_MOST {
        return Next::Done(state.found(SearchBound::Unsettled));
    }
    state
        .retry()
        .or_else(|| state.climb())
        .or_else(|| state.narrow())
        .or_else(|| state.descend())
        .unwrap_or_else(|| state.confirm())
}

/// The tries so far, as one looks at them.
struct State<'a> {
    tries: &'a [Try],
    bounds: &'a SearchBounds,
}

/// The joint result of the full-length runs at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RateOutcome {
    /// Not run often enough to tell.
    Open,
    /// All of them held.
    Holds,
    /// None of them did.
    Fails,
    /// They do not agree, or do not tell: the rate is within the interval.
    Mixed,
    /// None of them held, and the generator could not carry them all: nothing is known of the path.
    Generator,
}

impl State<'_> {
    fn of(&self, purpose: TryPurpose) -> impl DoubleEndedIterator<Item = &Try> {
        self.tries.iter().filter(move |tried| tried.purpose == purpose)
    }

    /// Up from below until a rate does not hold; down from the start when not even that does.
    fn climb(&self) -> Option<Next> {
        let attempt = |rate_per_s| Some(Next::Try { rate_per_s, purpose: TryPurpose::Climb });
        let Some(last) = self.of(TryPurpose::Climb).next_back() else {
            return attempt(self.bounds.start_per_s);
        };
        let (lowest_failed, highest_held) = (self.lowest_failed(), self.highest_held());
        match (highest_held, lowest_failed) {
            (None, _) => {
                let lower = last.rate_per_s / (GROWTH * GROWTH);
                // Full-length runs say whether not even the least holds.
                if last.rate_per_s <= self.bounds.least_per_s {
                    return None;
                }
                attempt(lower.max(self.bounds.least_per_s))
            }
            (Some(held), None) if held < self.bounds.most_per_s => {
                attempt((held * GROWTH).min(self.bounds.most_per_s))
            }
            _ => None,
        }
    }

    /// Halving, by ratio.
    fn narrow(&self) -> Option<Next> {
        // Once a rate was tried from above, the interval is no longer halved: what that try says counts.
        if self.of(TryPurpose::Descend).next().is_some() || self.of(TryPurpose::Confirm).next().is_some() {
            return None;
        }
        let (held, failed) = (self.highest_held()?, self.lowest_failed()?);
        (failed / held > CLOSE)
            .then(|| Next::Try { rate_per_s: (held * failed).sqrt(), purpose: TryPurpose::Narrow })
    }

    /// Down from the rate that failed: each step has to hold right after the one above it did not.
    fn descend(&self) -> Option<Next> {
        if self.of(TryPurpose::Confirm).next().is_some() {
            return None;
        }
        let attempt = |rate_per_s| Some(Next::Try { rate_per_s, purpose: TryPurpose::Descend });
        let Some(last) = self.of(TryPurpose::Descend).next_back() else {
            // With nothing that failed there is no above to come from, with nothing that held no below to go to.
            return self.highest_held().and_then(|_| self.lowest_failed()).and_then(attempt);
        };
        let lower = last.rate_per_s / STEP;
        match last.outcome {
            TryOutcome::Holds => None,
            _ if lower < self.bounds.least_per_s => None,
            _ => attempt(lower),
        }
    }

    /// Full-length runs of the candidate and of the rate just above it, in turns. Rates lie on a grid around the candidate;
    /// from one that does not settle it the strides grow, so that a candidate that was luck is soon left behind.
    fn confirm(&self) -> Next {
        let base = self.candidate();
        let rate = |at: i32| base * STEP.powi(at);
        let (mut low, mut stride) = (0, 1);
        loop {
            match self.rate_outcome(rate(low)) {
                RateOutcome::Holds => break,
                RateOutcome::Open => return self.in_turns(rate(low), rate(low + 1)),
                outcome => {
                    low -= stride;
                    stride += 1;
                    if rate(low) < self.bounds.least_per_s {
                        return Next::Done(self.found(match outcome {
                            RateOutcome::Generator => SearchBound::Generator,
                            _ => SearchBound::NothingHolds,
                        }));
                    }
                }
            }
        }
        let (mut above, mut stride) = (low + 1, 1);
        loop {
            if rate(above) > self.bounds.most_per_s * (1.0 + f64::EPSILON) {
                return Next::Done(self.found(SearchBound::RateMost));
            }
            match self.rate_outcome(rate(above)) {
                RateOutcome::Open => return confirming(rate(above)),
                RateOutcome::Generator => return Next::Done(self.found(SearchBound::Generator)),
                RateOutcome::Fails => break,
                RateOutcome::Holds => low = above,
                RateOutcome::Mixed => {}
            }
            stride += 1;
            above += stride;
        }
        // What was stridden over.
        while above - low > 2 {
            let middle = low + (above - low) / 2;
            match self.rate_outcome(rate(middle)) {
                RateOutcome::Open => return confirming(rate(middle)),
                RateOutcome::Holds => low = middle,
                RateOutcome::Fails | RateOutcome::Generator => above = middle,
                RateOutcome::Mixed => break,
            }
        }
        // It has to hold right after a rate that was too high, too.
        match self.ran_after(rate(low), rate(above)) {
            true => Next::Done(self.found(SearchBound::Path)),
            false => confirming(rate(low)),
        }
    }

    /// True if a full-length run of the one rate came after one of the other.
    fn ran_after(&self, rate_per_s: f64, other_per_s: f64) -> bool {
        let of = |rate: f64| {
            move |tried: &Try| tried.purpose == TryPurpose::Confirm && same(tried.rate_per_s, rate)
        };
        let last = self.tries.iter().rposition(of(rate_per_s));
        last > self.tries.iter().position(of(other_per_s))
    }

    /// The candidate, and the rate above it in its turn, as long as neither is settled.
    fn in_turns(&self, candidate: f64, above: f64) -> Next {
        let waits = self.runs(above).count() < self.runs(candidate).count();
        let possible = above <= self.bounds.most_per_s && self.rate_outcome(above) == RateOutcome::Open;
        confirming(if waits && possible { above } else { candidate })
    }

    /// The highest rate that held both ways: on the way up and, where it was tried, from above.
    fn candidate(&self) -> f64 {
        let up = self.highest_held().unwrap_or(self.bounds.least_per_s);
        match self.of(TryPurpose::Descend).next_back() {
            Some(last) => last.rate_per_s.min(up),
            None => up,
        }
    }

    /// The joint result of the full-length runs of a rate, as soon as it is certain.
    fn rate_outcome(&self, rate_per_s: f64) -> RateOutcome {
        let runs: Vec<TryOutcome> = self.runs(rate_per_s).map(|tried| tried.outcome).collect();
        let count = |verdict| runs.iter().filter(|run| **run == verdict).count();
        let (held, generator) = (count(TryOutcome::Holds), count(TryOutcome::GeneratorBound));
        let too_few = count(TryOutcome::TooFew);
        match runs.len() {
            all if held > 0 && held < all => RateOutcome::Mixed,
            all if all < self.bounds.confirming.max(1) as usize => RateOutcome::Open,
            all if generator == all => RateOutcome::Generator,
            // What was not measured did not fail, and one hindered generator says nothing of a path that failed beside it.
            _ if too_few + generator > 0 => RateOutcome::Mixed,
            _ if !self.is_clear(rate_per_s) => RateOutcome::Mixed,
            all if held == all => RateOutcome::Holds,
            _ => RateOutcome::Fails,
        }
    }

    /// True if the runs' latencies lie on their side of the limit by more than they scatter: Student's t on their logarithms, as
    /// latencies scatter by factors. The outcomes of runs without a latency, and of a single run, count as they are.
    fn is_clear(&self, rate_per_s: f64) -> bool {
        let logs: Option<Vec<f64>> = self
            .runs(rate_per_s)
            .map(|tried| tried.quantile_ns.map(|ns| (ns.max(1) as f64 / self.bounds.limit_ns).ln()))
            .collect();
        let Some(logs) = logs.filter(|logs| logs.len() > 1) else { return true };
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        // A run that failed although its latency was low failed for another reason: the latency does not speak then.
        let fails = self.runs(rate_per_s).any(|tried| tried.outcome == TryOutcome::Fails);
        if fails && logs.iter().any(|log| *log <= 0.0) {
            return true;
        }
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let reach = student_quantile(SURE, n - 1.0).unwrap_or(f64::INFINITY) * (variance / n).sqrt();
        mean.abs() >= reach
    }

    fn runs(&self, rate_per_s: f64) -> impl Iterator<Item = &Try> {
        self.of(TryPurpose::Confirm).filter(move |tried| same(tried.rate_per_s, rate_per_s))
    }

    fn highest_held(&self) -> Option<f64> {
        let failed = self.lowest_failed().unwrap_or(f64::INFINITY);
        let on_the_way = self.exploring().filter(|tried| tried.outcome == TryOutcome::Holds);
        on_the_way.map(|tried| tried.rate_per_s).filter(|rate| *rate < failed).max_by(f64::total_cmp)
    }

    /// The lowest rate of which no try on the way held.
    fn lowest_failed(&self) -> Option<f64> {
        let held = |rate: f64| {
            self.exploring().any(|tried| tried.outcome == TryOutcome::Holds && same(tried.rate_per_s, rate))
        };
        let on_the_way = self.exploring().filter(|tried| tried.outcome != TryOutcome::Holds);
        on_the_way.map(|tried| tried.rate_per_s).filter(|rate| !held(*rate)).min_by(f64::total_cmp)
    }

    /// The last try on the way, once more, if it failed by little and for the first time: one freak would send the
    /// search astray by more than it costs to look again.
    fn retry(&self) -> Option<Next> {
        let last = self.tries.last().filter(|last| explores(last))?;
        let times = self.exploring().filter(|tried| same(tried.rate_per_s, last.rate_per_s)).count();
        let little = |ns: u64| (ns as f64) < FAR * self.bounds.limit_ns;
        let unclear = match last.outcome {
            TryOutcome::Fails => last.quantile_ns.is_some_and(little),
            // What held the generator up once may not be there again.
            TryOutcome::GeneratorBound => true,
            TryOutcome::Holds | TryOutcome::TooFew => false,
        };
        (unclear && times == 1).then_some(Next::Try { rate_per_s: last.rate_per_s, purpose: last.purpose })
    }

    fn exploring(&self) -> impl Iterator<Item = &Try> {
        self.tries.iter().filter(|tried| explores(tried))
    }

    /// The confirmed interval so far.
    fn found(&self, bounded_by: SearchBound) -> Found {
        let mut rates: Vec<f64> = self.of(TryPurpose::Confirm).map(|tried| tried.rate_per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup_by(|a, b| same(*a, *b));
        let low = rates.iter().rev().copied().find(|rate| self.rate_outcome(*rate) == RateOutcome::Holds);
        let above = |rate: &f64| low.is_none_or(|low| *rate > low);
        let high =
            rates.into_iter().filter(above).find(|rate| self.rate_outcome(*rate) == RateOutcome::Fails);
        Found { rate_low_per_s: low, rate_high_per_s: high, bounded_by }
    }
}

/// True if a try is on the way up, or halves.
fn explores(tried: &Try) -> bool {
    matches!(tried.purpose, TryPurpose::Climb | TryPurpose::Narrow)
}

fn confirming(rate_per_s: f64) -> Next {
    Next::Try { rate_per_s, purpose: TryPurpose::Confirm }
}

/// Rates are made by multiplying and dividing, so equal ones may differ in their last digits.
fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[cfg(test)]
mod simulated;
