//! The chance that servers are lost as unevenly between the groups without a cause: Fisher's exact test, within strata.
//!
//! Given how many servers of each stratum were lost, and how large its groups are, those lost in the test group are
//! hypergeometric; over strata their sum is the convolution. p is the chance of all sums that are no likelier than the one seen
//! (Fisher 1934; for strata, the exact form of Cochran, Mantel and Haenszel's test).

use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::function::gamma::ln_gamma;

/// Chances that differ by less than this share are equal: logarithms round differently.
const EQUAL: f64 = 1e-7;

/// Servers of one stratum, and how many of them were lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// Servers of the test group.
    pub test: u64,
    /// Those of them that were lost.
    pub test_lost: u64,
    /// Servers of the control group.
    pub control: u64,
    /// Those of them that were lost.
    pub control_lost: u64,
}

/// Two-sided p; 1 where nothing was lost, or no stratum has both groups.
pub fn chance_of_losses(strata: &[Losses]) -> f64 {
    let (mut sums, mut fewest) = (vec![1.0], 0);
    for stratum in strata {
        let (first, chances) = hypergeometric(stratum);
        fewest += first;
        sums = convolved(&sums, &chances);
    }
    let seen: u64 = strata.iter().map(|stratum| stratum.test_lost).sum();
    let Some(seen) = sums.get((seen - fewest) as usize).copied() else { return 1.0 };
    sums.iter().filter(|chance| **chance <= seen * (1.0 + EQUAL)).sum::<f64>().min(1.0)
}

/// The number of so many servers that are silent together by chance with less than `alpha` to be more, where each is with the chance
/// `share` (binomial).
pub fn most_by_chance(servers: u64, share: f64, alpha: f64) -> u64 {
    let Ok(law) = Binomial::new(share.clamp(0.0, 1.0), servers) else { return servers };
    let (mut low, mut high) = (0, servers);
    while low < high {
        let middle = low + (high - low) / 2;
        if law.sf(middle) <= alpha { high = middle } else { low = middle + 1 }
    }
    low
}

/// The fewest servers that the test group can have lost of all that were, and the chance of each number from there on.
fn hypergeometric(stratum: &Losses) -> (u64, Vec<f64>) {
    let lost = stratum.test_lost + stratum.control_lost;
    let fewest = lost.saturating_sub(stratum.control);
    let most = lost.min(stratum.test);
    let all = ln_choose(stratum.test + stratum.control, lost);
    let chance =
        |of_test| (ln_choose(stratum.test, of_test) + ln_choose(stratum.control, lost - of_test) - all).exp();
    (fewest, (fewest..=most).map(chance).collect())
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (at, a) in a.iter().enumerate() {
        sums[at..].iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
    }
    sums
}

fn ln_choose(n: u64, k: u64) -> f64 {
    let ln_factorial = |n: u64| ln_gamma(n as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(test: u64, test_lost: u64, control: u64, control_lost: u64) -> Losses {
        Losses { test, test_lost, control, control_lost }
    }

    fn close(ours: f64, reference: f64) {
        assert!((ours / reference - 1.0).abs() < 1e-6, "{ours}, reference {reference}");
    }

    /// Fisher's tea (Agresti 1990, page 61; R's fisher.test(matrix(c(3, 1, 1, 3), 2)) gives 0.4857) and his convicted twins
    /// (R's fisher.test(matrix(c(2, 10, 15, 3), 2)) gives 0.0005367): both by their fractions.
    #[test]
    fn one_stratum_is_fishers_exact_test() {
        close(chance_of_losses(&[losses(4, 3, 4, 1)]), 34.0 / 70.0);
        // 12 of 30 twins, 17 of 30 not convicted; tables as rare or rarer have 0, 1, 2 or 12 of them.
        close(chance_of_losses(&[losses(12, 2, 18, 15)]), 0.000_536_724_119_143_543_6);
        // 11 choose 9 and the like: nine of twenty against none is 2 x C(20, 9) / C(40, 9).
        close(chance_of_losses(&[losses(20, 9, 20, 0)]), 2.0 * 167_960.0 / 273_438_880.0);
    }

    /// Two strata of 2 + 2 with one lost test server each: 1/2 x 1/2 for both in the test group, and as much for both in the other.
    #[test]
    fn strata_are_convolved_and_one_that_was_lost_whole_says_nothing() {
        close(chance_of_losses(&[losses(2, 1, 2, 0), losses(2, 1, 2, 0)]), 0.5);
        // A site that went down, where most of the test group was.
        close(chance_of_losses(&[losses(16, 16, 4, 4), losses(4, 0, 16, 0)]), 1.0);
        close(chance_of_losses(&[losses(5, 5, 0, 0), losses(0, 0, 5, 0)]), 1.0);
        close(chance_of_losses(&[]), 1.0);
    }

    /// R's qbinom(1 - alpha, servers, share).
    #[test]
    fn so_many_are_silent_by_chance() {
        assert_eq!(most_by_chance(10, 0.5, 0.05), 8);
        assert_eq!(most_by_chance(1, 0.001, 0.01), 0);
        assert_eq!(most_by_chance(100, 0.01, 0.05), 3);
        assert_eq!((most_by_chance(5, 0.0, 0.01), most_by_chance(5, 1.0, 0.01)), (0, 5));
    }

    #[test]
    fn thousands_of_servers_neither_overflow_nor_vanish() {
        let p = chance_of_losses(&[losses(10_000, 60, 10_000, 30)]);
        assert!((0.001..0.003).contains(&p), "{p}");
        assert!(chance_of_losses(&[losses(10_000, 5_000, 10_000, 0)]) < 1e-300);
    }
}
