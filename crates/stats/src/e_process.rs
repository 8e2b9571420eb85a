//! Looking after every pair: a test that stays valid however often one looks and whenever one stops.
//!
//! A gambler bets on the sign of each difference, never more than he has. Between equal settings in random order every sign
//! is a fair coin whatever the size of the difference, so no way of betting makes him rich: the chance that he ever
//! multiplies his stake by 1/alpha is at most alpha (Ville 1939; Ramdas, Gruenwald, Vovk and Shafer 2023, Statistical Science
//! 38). Stopping when an interval made for a fixed number of pairs leaves 0 out has no such promise: the more one looks, the
//! surer it happens. What it costs is pairs: about 1.7 times as many as a fixed number would take (our simulations).

use crate::median::median_of_sorted;

/// Largest share of the stake that is bet. Any share is valid; with this one differences of 10 to 20 % in blocks that vary by
/// 10 % are decided after the fewest pairs (our simulations of shares from 0.3 to 0.9).
const BET: f64 = 0.75;

/// A difference so many times the usual one is bet on in full.
const FULL_AT: f64 = 1.5;

/// The sign of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Above 0.
    Up,
    /// Below 0.
    Down,
}

/// The bets on the signs of differences so far.
#[derive(Debug, Clone)]
pub struct SignEProcess {
    /// The present value of a stake of 1 on each direction; a direction that is not asked for has no stake.
    up: Stake,
    down: Stake,
    /// Sizes of the differences so far, ascending.
    sizes: Vec<f64>,
    highest: f64,
}

#[derive(Debug, Clone, Copy)]
struct Stake {
    share: f64,
    factor: f64,
}

impl Stake {
    fn new(share: f64) -> Stake {
        Stake { share, factor: 1.0 }
    }

    fn bet(&mut self, win: f64) {
        self.factor *= 1.0 + win;
    }

    fn value(&self) -> f64 {
        self.share * self.factor
    }
}

impl Default for SignEProcess {
    fn default() -> Self {
        SignEProcess::new()
    }
}

impl SignEProcess {
    /// A test for a difference in either direction: half of the stake on each.
    pub fn new() -> Self {
        SignEProcess { up: Stake::new(0.5), down: Stake::new(0.5), sizes: Vec::new(), highest: 1.0 }
    }

    /// A test for a difference in one direction, such as harm by a guardrail: all of the stake on it.
    pub fn towards(direction: Direction) -> Self {
        let share = |side| if side == direction { 1.0 } else { 0.0 };
        SignEProcess {
            up: Stake::new(share(Direction::Up)),
            down: Stake::new(share(Direction::Down)),
            ..SignEProcess::new()
        }
    }

    /// Takes the next difference and says what the stake of 1 is worth now: the e value. The share that is bet grows with the
    /// difference's size, up to three quarters of the stake at 1.5 times the median size of those before (the first is its
    /// own median). Differences of 0, and what is no number, win and lose nothing.
    pub fn push(&mut self, difference: f64) -> f64 {
        let size = difference.abs();
        if size > 0.0 && size.is_finite() {
            let usual = median_of_sorted(&self.sizes).unwrap_or(size);
            let win = BET * difference.signum() * (size / (FULL_AT * usual)).min(1.0);
            self.up.bet(win);
            self.down.bet(-win);
            let place = self.sizes.partition_point(|&before| before < size);
            self.sizes.insert(place, size);
        }
        self.highest = self.highest.max(self.value());
        self.value()
    }

    /// The present value of the stake of 1.
    pub(crate) fn value(&self) -> f64 {
        self.up.value() + self.down.value()
    }

    /// A p that is valid at every moment: 1 / the highest value so far, at most 1. Once at or below alpha it stays there.
    pub fn anytime_p(&self) -> f64 {
        1.0 / self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// By hand: the first is its own median, so a half is bet; 2 is twice the median of {1}: all three quarters; 1 against the
    /// median 1.5: a third. 1.5 * 1.75 * (1 - 1/3) = 1.75 up, 0.5 * 0.25 * (1 + 1/3) = 1/6 down.
    #[test]
    fn three_bets_come_to_what_they_come_to_by_hand() {
        let mut process = SignEProcess::new();
        assert!((process.push(1.0) - 1.0).abs() < 1e-12);
        assert!((process.push(2.0) - (2.625 + 0.125) / 2.0).abs() < 1e-12);
        assert!((process.push(-1.0) - (1.75 + 1.0 / 6.0) / 2.0).abs() < 1e-12);
        assert!(process.up.value() > process.down.value());
        assert!((process.anytime_p() - 1.0 / 1.375).abs() < 1e-12);
    }

    /// With sizes given and signs fair, the mean over all signs stays 1: nothing can be won.
    #[test]
    fn over_all_signs_the_stake_keeps_its_worth() {
        let sizes = [0.3, 5.0, 0.01, 1.0, 0.3, 2.0, 0.7, 0.1];
        let processes: [fn() -> SignEProcess; 2] =
            [SignEProcess::new, || SignEProcess::towards(Direction::Down)];
        for process in processes {
            let worth = (0..1u32 << sizes.len()).map(|signs| {
                let mut process = process();
                for (i, size) in sizes.iter().enumerate() {
                    process.push(if signs >> i & 1 == 1 { *size } else { -size });
                }
                process.value()
            });
            let mean = worth.sum::<f64>() / f64::from(1u32 << sizes.len());
            assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        }
    }

    #[test]
    fn a_guardrail_sees_only_harm() {
        let (mut harm, mut gain) =
            (SignEProcess::towards(Direction::Up), SignEProcess::towards(Direction::Up));
        for _ in 0..20 {
            harm.push(0.1);
            gain.push(-0.1);
        }
        assert!(harm.anytime_p() < 0.05, "{}", harm.anytime_p());
        assert_eq!(gain.anytime_p(), 1.0);
        assert!(harm.up.value() > harm.down.value());
    }

    #[test]
    fn nothing_is_won_on_equal_blocks() {
        let mut process = SignEProcess::new();
        for difference in [0.0, -0.0, f64::NAN] {
            assert_eq!(process.push(difference), 1.0);
        }
        assert_eq!(process.anytime_p(), 1.0);
    }

    /// Log ratios as paired blocks on a disturbed host give them: normal noise and now and then a burst, shifted by an effect.
    fn difference(effect: f64, random: &mut Random) -> f64 {
        let burst = if random.unit() < 0.05 { 0.4 * (random.unit() - 0.5) } else { 0.0 };
        effect + 0.1 * random.normal() + burst
    }

    /// Share of trials of at most `pairs` pairs that are ever decided at 5 %.
    fn decided(trials: u32, pairs: u32, effect: f64, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let ever = (0..trials).filter(|_| {
            let mut process = SignEProcess::new();
            (0..pairs).any(|_| process.push(difference(effect, &mut random)) >= 20.0)
        });
        ever.count() as f64 / f64::from(trials)
    }

    #[test]
    fn looking_after_every_pair_does_not_make_equal_settings_differ() {
        let share = decided(2_000, 40, 0.0, 3);
        assert!(share <= 0.05, "{share}");
        let share = decided(200, 40, 0.10, 4);
        assert!(share >= 0.9, "{share}");
    }
}
