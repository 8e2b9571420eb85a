//! The rounds as a table: medians, and the ratio by ranks with its interval and what that decides.

use plumb_model::probe::crypto::Algorithm;
use plumb_stats::figure::figure;
use plumb_stats::paired::{Pair, RankRatio, rank_ratio};

/// Within this the two count as one (the goal of this bench).
const GOAL: f64 = 0.02;
const LEVEL: f64 = 0.95;

pub(crate) fn header() -> String {
    format!(
        "{:<18} {:>6} {:>12} {:>12} {:>7}  {:<14} within 2 %",
        "", "bytes", "plumb MB/s", "openssl", "ratio", "95 %"
    )
}

/// All rounds of one size of one algorithm: what Plumb and openssl came to in bytes per second.
pub(crate) fn row(algorithm: Algorithm, block_bytes: u32, plumb: &[f64], openssl: &[f64]) -> String {
    let paired = ratio(plumb, openssl);
    format!(
        "{:<18} {block_bytes:>6} {:>12} {:>12} {:>7}  {:<14} {}",
        algorithm.title(),
        megabytes(plumb),
        megabytes(openssl),
        paired.map_or("-".to_owned(), |paired| format!("{:.3}", paired.ratio)),
        paired.map_or("-".to_owned(), |paired| span(&paired)),
        paired.map_or("", |paired| verdict(&paired)),
    )
}

/// Only what the whole interval says is decided.
fn verdict(paired: &RankRatio) -> &'static str {
    match paired {
        _ if paired.low >= 1.0 - GOAL && paired.high <= 1.0 + GOAL => "yes",
        _ if paired.high < 1.0 - GOAL || paired.low > 1.0 + GOAL => "NO",
        _ => "undecided",
    }
}

/// The ratio of the first to the second over rounds; none with fewer than 6.
fn ratio(of: &[f64], over: &[f64]) -> Option<RankRatio> {
    let rounds: Vec<Pair> = over.iter().zip(of).map(|(a, b)| Pair { a: *a, b: *b }).collect();
    rank_ratio(&rounds, LEVEL)
}

/// The factor by which it is slower, over rounds.
pub(crate) fn slowdown(what: &str, with: &[f64], without: &[f64]) -> String {
    let times = ratio(with, without);
    format!(
        "{what}: {} / {} MB/s = {} times ({})",
        megabytes(with),
        megabytes(without),
        times.map_or("-".to_owned(), |times| format!("{:.1}", times.ratio)),
        times.map_or("-".to_owned(), |times| span(&times))
    )
}

fn megabytes(rates: &[f64]) -> String {
    figure(rates, LEVEL).map_or_else(|| "-".to_owned(), |figure| format!("{:.1}", figure.median / 1e6))
}

fn span(found: &RankRatio) -> String {
    format!("{:.3}..{:.3}", found.low, found.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_interval_decides() {
        let of = |ratios: &[f64]| ratio(ratios, &vec![1.0; ratios.len()]).map(|found| verdict(&found));
        assert_eq!(of(&[0.99, 1.0, 1.01, 1.0, 1.0, 1.005]), Some("yes"));
        assert_eq!(of(&[0.9, 0.91, 0.92, 0.9, 0.9, 0.95]), Some("NO"));
        assert_eq!(of(&[0.9, 1.1, 1.0, 1.0, 1.0, 1.0]), Some("undecided"));
        assert_eq!(of(&[1.0; 5]), None, "too few for an interval");
    }
}
