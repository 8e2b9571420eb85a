//! What known laws say of the objective: a sum of parts that follow from settings and load, each with a weight that is not negative.
//!
//! Waits add to a latency as they are. What requests cost is not known beforehand, but how many there are is. A queue's delay is a
//! power series of the load with coefficients that are not negative (`share / (1 - share)` is the sum of all powers of the share), so
//! that a few of its terms stand for it whatever the capacity. The weights are those of the highest posterior, beginning from what is
//! expected; what laws do not explain is left to the model.

/// One part of what an objective is the sum of, at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// So much, in the objective's own unit: a wait. Its weight is about 1.
    Known(f64),
    /// In proportion to this number: requests of a message. Its weight is anything.
    Proportional(f64),
    /// With a queue that rises with this load: requests a second. Its weights are anything.
    Queue(f64),
}

/// Powers of the load that stand for a queue.
const POWERS: [i32; 3] = [1, 2, 4];

/// Standard deviation of the logarithm of what laws do not explain, noise included.
const STRAY: f64 = 0.25;

/// Steps of the climb to the highest posterior.
const CLIMB_STEPS: usize = 80;

/// Logarithms of weights beforehand: of the share that a part is expected to have of the best that was seen, with its standard deviation.
const CONSTANT: Expected = Expected { mean: -0.4, sd: 1.0 };
const KNOWN: Expected = Expected { mean: 0.0, sd: 0.3 };
const OTHER: Expected = Expected { mean: -1.5, sd: 1.5 };

#[derive(Debug, Clone, Copy)]
struct Expected {
    mean: f64,
    sd: f64,
}

/// A sum of parts with the weights that fit the blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Law {
    /// Amounts of each term at the settings that there are; those of others are in units of them.
    units: Vec<f64>,
    ln_weights: Vec<f64>,
}

/// What was seen at a place.
pub(super) struct Seen {
    pub(super) parts: Vec<Part>,
    /// Logarithm, pressed.
    pub(super) ln: f64,
}

impl Law {
    /// Fits weights; `None` where there are no parts. The logarithm that a sum has is pressed before it is compared.
    pub(super) fn fit(default: &[Part], seen: &[Seen], pressed: &dyn Fn(f64) -> f64) -> Option<Law> {
        if default.is_empty() || seen.is_empty() {
            return None;
        }
        let least = seen.iter().map(|one| one.ln).fold(f64::INFINITY, f64::min);
        let units: Vec<f64> = units(default);
        let expected: Vec<Expected> = expected(default, least);
        let terms: Vec<Vec<f64>> = seen.iter().map(|one| terms(&one.parts, &units)).collect();
        let mut law = Law { units, ln_weights: expected.iter().map(|one| one.mean).collect() };
        let (mut step, mut before) = (vec![0.3; expected.len()], vec![0.0; expected.len()]);
        let mut best = (f64::INFINITY, law.ln_weights.clone());
        for _ in 0..CLIMB_STEPS {
            let (cost, slopes) = law.cost(&terms, seen, &expected, pressed);
            if cost < best.0 {
                best = (cost, law.ln_weights.clone());
            }
            for at in 0..slopes.len() {
                let turned: f64 = slopes[at] * before[at];
                if turned != 0.0 {
                    step[at] = f64::clamp(step[at] * if turned > 0.0 { 1.2 } else { 0.5 }, 1e-4, 0.8);
                }
                before[at] = if turned < 0.0 { 0.0 } else { slopes[at] };
                if before[at] != 0.0 {
                    law.ln_weights[at] -= step[at] * before[at].signum();
                }
            }
        }
        law.ln_weights = best.1;
        Some(law)
    }

    /// The logarithm of the sum at a place.
    pub(super) fn ln(&self, parts: &[Part]) -> f64 {
        self.sum(&terms(parts, &self.units)).max(f64::MIN_POSITIVE).ln()
    }

    fn sum(&self, terms: &[f64]) -> f64 {
        self.ln_weights.iter().zip(terms).map(|(ln, term)| ln.exp() * term).sum()
    }

    fn cost(
        &self,
        terms: &[Vec<f64>],
        seen: &[Seen],
        expected: &[Expected],
        pressed: &dyn Fn(f64) -> f64,
    ) -> (f64, Vec<f64>) {
        let (mut cost, mut slopes) = (0.0, vec![0.0; expected.len()]);
        for (terms, one) in terms.iter().zip(seen) {
            let sum = self.sum(terms).max(f64::MIN_POSITIVE);
            let ln = sum.ln();
            let gap = (pressed(ln) - one.ln) / STRAY;
            cost += 2.0 * (gap * gap / 4.0).ln_1p();
            let pull = gap / (1.0 + gap * gap / 4.0) / STRAY * (pressed(ln + 1e-4) - pressed(ln)) / 1e-4;
            for ((slope, ln_weight), term) in slopes.iter_mut().zip(&self.ln_weights).zip(terms) {
                *slope += pull * ln_weight.exp() * term / sum;
            }
        }
        for ((slope, ln), expected) in slopes.iter_mut().zip(&self.ln_weights).zip(expected) {
            let gap = (ln - expected.mean) / expected.sd;
            cost += 0.5 * gap * gap;
            *slope += gap / expected.sd;
        }
        (cost, slopes)
    }
}

/// What the amounts are divided by: what is known is in the objective's unit already.
fn units(default: &[Part]) -> Vec<f64> {
    let of = |part: &Part| match *part {
        Part::Known(_) => 1.0,
        Part::Proportional(amount) | Part::Queue(amount) => amount.max(f64::MIN_POSITIVE),
    };
    default.iter().map(of).collect()
}

fn expected(default: &[Part], least: f64) -> Vec<Expected> {
    let of_best = |one: Expected| Expected { mean: one.mean + least, ..one };
    let of = |part: &Part| match part {
        Part::Known(_) => vec![KNOWN],
        Part::Proportional(_) => vec![of_best(OTHER)],
        Part::Queue(_) => vec![of_best(OTHER); POWERS.len()],
    };
    std::iter::once(of_best(CONSTANT)).chain(default.iter().flat_map(of)).collect()
}

/// A constant, and the terms of each part.
fn terms(parts: &[Part], units: &[f64]) -> Vec<f64> {
    let of = |(part, unit): (&Part, &f64)| match *part {
        Part::Known(amount) => vec![amount],
        Part::Proportional(amount) => vec![amount / unit],
        Part::Queue(amount) => POWERS.map(|power| (amount / unit).powi(power)).to_vec(),
    };
    std::iter::once(1.0).chain(parts.iter().zip(units).flat_map(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of which each is the sum of these, seen without noise.
    fn seen(truth: impl Fn(f64, f64) -> f64) -> Vec<Seen> {
        let places = [(0.5, 8.0), (1.0, 4.0), (2.0, 2.0), (4.0, 1.0), (8.0, 0.5), (16.0, 0.25)];
        let one = |(wait, requests): (f64, f64)| Seen {
            parts: vec![Part::Known(wait), Part::Queue(requests)],
            ln: truth(wait, requests).ln(),
        };
        places.into_iter().map(one).collect()
    }

    /// With so many requests at the settings that there are.
    fn fitted(seen: &[Seen], requests: f64) -> Law {
        Law::fit(&[Part::Known(4.0), Part::Queue(requests)], seen, &|ln| ln).unwrap()
    }

    #[test]
    fn what_requests_cost_is_learned_and_waits_are_known() {
        let truth = |wait: f64, requests: f64| wait + 1.0 + 0.5 * requests;
        let law = fitted(&seen(truth), 1.0);
        // Between the places that were seen.
        for (wait, requests) in [(1.5, 3.0), (3.0, 1.5), (12.0, 0.3)] {
            let off = law.ln(&[Part::Known(wait), Part::Queue(requests)]) - truth(wait, requests).ln();
            assert!(off.abs() < 0.1, "{wait} {requests}: {off}");
        }
    }

    #[test]
    fn a_queue_near_its_capacity_is_followed_by_powers_of_the_load() {
        let truth = |wait: f64, requests: f64| wait + 1.0 / (1.0 - requests / 10.0);
        let law = fitted(&seen(truth), 8.0);
        let at = |requests: f64| law.ln(&[Part::Known(0.5), Part::Queue(requests)]).exp();
        assert!((at(8.0) / truth(0.5, 8.0)).ln().abs() < 0.25, "{}", at(8.0));
        assert!(at(9.5) > at(8.0) && at(8.0) > 2.0 * at(1.0));
    }

    #[test]
    fn without_parts_there_is_no_law() {
        assert_eq!(Law::fit(&[], &[], &|ln| ln), None);
    }
}
