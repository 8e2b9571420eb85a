//! The procedures for trials on simulated trials whose truth is known, beside the naive answers on the same data. A few hundred
//! trials in the usual tests; the thousands behind docs/guide/trust-a-trial.md in `make simulations`.

use crate::e_process::SignEProcess;
use crate::law::binomial_at_most;
use crate::paired::paired_t;
use crate::power::{detectable_ratio, detectable_ratio_of_mean};
use crate::random::Random;
use crate::rank_sum::rank_sum;
use crate::signed_rank::{hodges_lehmann, pairs_min, rank_of_interval, signed_rank};
use crate::simulated::{Order, Trial, blocks};

const LEVEL: f64 = 0.95;
const ALPHA: f64 = 0.05;

/// Share of trials of which `holds`.
fn share(trials: u64, seed: u64, mut holds: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(seed);
    (0..trials).filter(|_| holds(&mut random)).count() as f64 / trials as f64
}

/// Trials of equal settings in which each way of looking finds a difference; all ways look at the same blocks.
#[derive(Debug, PartialEq)]
struct FalseAlarms {
    /// First all of A, then all of B, every message a sample.
    before_after_messages: f64,
    /// The same, every block a sample.
    before_after_blocks: f64,
    /// Pairs in random order, every message a sample.
    pairs_messages: f64,
    /// Pairs in random order, every pair a sample: what Plumb does.
    pairs_ranks: f64,
}

fn false_alarms(trials: u64, pairs: usize, seed: u64) -> FalseAlarms {
    let differ = |(a, b): (Vec<f64>, Vec<f64>)| rank_sum(&a, &b).unwrap().p_two_sided <= ALPHA;
    let mut alarms = FalseAlarms {
        before_after_messages: 0.0,
        before_after_blocks: 0.0,
        pairs_messages: 0.0,
        pairs_ranks: 0.0,
    };
    let mut random = Random::new(seed);
    let one = 1.0 / trials as f64;
    let count = |share: &mut f64, found: bool| *share += if found { one } else { 0.0 };
    for _ in 0..trials {
        let host = blocks(2 * pairs, &mut random);
        let before_after = Trial::on(host.clone(), Order::BeforeAfter, 0.0, &mut random);
        count(&mut alarms.before_after_messages, differ(before_after.pooled()));
        count(&mut alarms.before_after_blocks, differ(before_after.block_p99s()));
        let in_pairs = Trial::on(host, Order::RandomPairs, 0.0, &mut random);
        count(&mut alarms.pairs_messages, differ(in_pairs.pooled()));
        let interval = hodges_lehmann(&in_pairs.differences(), LEVEL).unwrap();
        count(&mut alarms.pairs_ranks, interval.low > 0.0 || interval.high < 0.0);
    }
    alarms
}

/// The share of trials of equal settings that the exact test of so many pairs can tell apart at 5 %: ranks come in steps.
fn attainable(pairs: usize) -> f64 {
    2.0 * rank_of_interval(pairs, ALPHA / 2.0).unwrap().1
}

/// Three standard errors of a share of so many trials.
fn three_errors(truth: f64, trials: u64) -> f64 {
    3.0 * (truth * (1.0 - truth) / trials as f64).sqrt()
}

/// Trials of equal settings, 12 pairs on 6 starts of the brokers, with so much of the variance between starts: share that is told
/// apart over the starts' means, and over pairs.
fn false_alarms_on_shared_starts(trials: u64, between: f64, seed: u64) -> (f64, f64) {
    let logs = |random: &mut Random| -> Vec<f64> {
        let starts: Vec<f64> = (0..6).map(|_| between.sqrt() * random.normal()).collect();
        (0..12).map(|pair| starts[pair / 2] + (1.0 - between).sqrt() * random.normal()).collect()
    };
    let by_start = share(trials, seed, |random| {
        let means: Vec<f64> = logs(random).chunks(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        paired_t(&means, LEVEL).unwrap().p <= ALPHA
    });
    let by_pair = share(trials, seed, |random| signed_rank(&logs(random)).unwrap().p_two_sided <= ALPHA);
    (by_start, by_pair)
}

/// Trials of equal settings in which messages fail in bursts, one in a third of the blocks: share that is told apart by the ranks
/// of 12 pairs, and by totals under a Poisson's law.
fn false_alarms_of_bursts(trials: u64, seed: u64) -> (f64, f64) {
    let failures = |random: &mut Random| -> Vec<(f64, f64)> {
        let mut block = || {
            let bursts = random.unit() < 1.0 / 3.0;
            if bursts { (-100.0 * (1.0 - random.unit()).ln()).floor() } else { 0.0 }
        };
        (0..12).map(|_| (block(), block())).collect()
    };
    let by_pair = share(trials, seed, |random| {
        let differences: Vec<f64> = failures(random).iter().map(|(a, b)| b - a).collect();
        signed_rank(&differences).unwrap().p_two_sided <= ALPHA
    });
    let by_total = share(trials, seed, |random| {
        let blocks = failures(random);
        let total = |of: fn(&(f64, f64)) -> f64| blocks.iter().map(of).sum::<f64>() as u64;
        let totals = [total(|block| block.0), total(|block| block.1)];
        // Given all events of two equal exposures, each is as likely to be of either.
        let [fewer, all] = [totals[0].min(totals[1]), totals[0] + totals[1]];
        2.0 * binomial_at_most(fewer, all, 0.5).unwrap() <= ALPHA
    });
    (by_pair, by_total)
}

/// Trials of up to 40 pairs of equal settings, looked at after every pair: share that is ever decided by the e-process, and
/// by an interval made for a fixed number of pairs.
fn false_alarms_when_looking(trials: u64, seed: u64) -> (f64, f64) {
    let by_bets = share(trials, seed, |random| {
        let mut process = SignEProcess::new();
        let differences = Trial::new(Order::RandomPairs, 40, 0.0, random).differences();
        differences.into_iter().any(|difference| process.push(difference) >= 1.0 / ALPHA)
    });
    let by_interval = share(trials, seed, |random| {
        let differences = Trial::new(Order::RandomPairs, 40, 0.0, random).differences();
        let least = pairs_min(LEVEL).unwrap();
        (least..=40).any(|pairs| signed_rank(&differences[..pairs]).unwrap().p_two_sided <= ALPHA)
    });
    (by_bets, by_interval)
}

/// Share of trials whose interval holds the true effect.
fn coverage(trials: u64, pairs: usize, effect: f64, seed: u64) -> f64 {
    share(trials, seed, |random| {
        let differences = Trial::new(Order::RandomPairs, pairs, effect, random).differences();
        let interval = hodges_lehmann(&differences, LEVEL).unwrap();
        interval.low <= effect && effect <= interval.high
    })
}

/// Standard deviation of a pair's difference, over so many trials of 12.
fn sd_of_pairs(trials: u64, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let all: Vec<f64> = (0..trials)
        .flat_map(|_| Trial::new(Order::RandomPairs, 12, 0.0, &mut random).differences())
        .collect();
    (all.iter().map(|d| d * d).sum::<f64>() / all.len() as f64).sqrt()
}

/// Share of trials that show the effect.
fn power(trials: u64, pairs: usize, effect: f64, seed: u64) -> f64 {
    share(trials, seed, |random| {
        let differences = Trial::new(Order::RandomPairs, pairs, effect, random).differences();
        signed_rank(&differences).unwrap().p_two_sided <= ALPHA
    })
}

/// Checks the promises of the procedures, within the resolution of so many trials.
fn check(trials: u64) {
    let alarms = false_alarms(trials, 12, 1);
    let reached = attainable(12);
    assert!((alarms.pairs_ranks - reached).abs() <= three_errors(reached, trials), "{alarms:?}");
    assert!(alarms.before_after_messages > 0.85, "{alarms:?}");
    assert!(alarms.before_after_blocks > 0.35, "{alarms:?}");
    assert!((0.45..=0.65).contains(&alarms.pairs_messages), "{alarms:?}");

    for (between, over_pairs) in [(0.0, 0.045), (0.3, 0.075), (0.7, 0.12)] {
        let (by_start, by_pair) = false_alarms_on_shared_starts(trials, between, 7);
        assert!((by_start - ALPHA).abs() <= three_errors(ALPHA, trials), "{between}: {by_start}");
        assert!((by_pair - over_pairs).abs() <= three_errors(over_pairs, trials), "{between}: {by_pair}");
    }
    // Most pairs have no burst, or one: few have ranks, and these come in coarse steps.
    let (by_pair, by_total) = false_alarms_of_bursts(trials, 8);
    assert!(by_pair <= ALPHA + three_errors(ALPHA, trials), "{by_pair}");
    assert!(by_total >= 0.88 - three_errors(0.88, trials), "{by_total}");

    let (by_bets, by_interval) = false_alarms_when_looking(trials, 2);
    let chance = 0.4 / (trials as f64).sqrt();
    assert!(by_bets <= 0.05 + chance && by_interval >= 0.15, "{by_bets} {by_interval}");

    for pairs in [6, 12, 24] {
        let held = coverage(trials, pairs, 0.2, 3);
        assert!((0.94 - 1.0 / (trials as f64).sqrt() / 2.0..=0.985).contains(&held), "{pairs} pairs: {held}");
    }

    // Where noise has a heavy tail, as here, more is seen than is promised.
    let sd = sd_of_pairs(trials, 4);
    for pairs in [6, 12, 24] {
        let effect = detectable_ratio(sd, pairs, LEVEL, 0.8).unwrap().ln();
        let shown = power(trials, pairs, effect, 5);
        assert!((0.77..=0.97).contains(&shown), "{pairs} pairs: {shown}");
    }
}

#[test]
fn equal_settings_are_told_apart_as_seldom_as_promised_and_the_naive_ways_tell_them_apart() {
    check(150);
}

/// The promise of a level of 95 %: of 2,000 trials of equal settings, 3.5 to 6.5 % are told apart. Twelve pairs can reach 4.25 %
/// only, as ranks come in steps, so their band is around that; fourteen reach 4.94 %.
#[test]
fn of_two_thousand_trials_of_equal_settings_one_in_twenty_is_told_apart_and_naively_nearly_all() {
    let of = |pairs: usize| (attainable(pairs), false_alarms(2_000, pairs, 1));
    let (reached, twelve) = of(12);
    assert!((reached - 0.042_48).abs() < 1e-5, "{reached}");
    assert!((twelve.pairs_ranks - reached).abs() <= three_errors(reached, 2_000), "{twelve:?}");
    let (reached, fourteen) = of(14);
    assert!((reached - 0.049_44).abs() < 1e-5, "{reached}");
    assert!((0.035..=0.065).contains(&fourteen.pairs_ranks), "{fourteen:?}");
    let rows = [(12, twelve), (14, fourteen)].map(|(pairs, alarms)| {
        assert!(alarms.before_after_messages > 0.85 && alarms.pairs_messages > 0.45, "{alarms:?}");
        [attainable(pairs), alarms.pairs_ranks, alarms.before_after_messages, alarms.pairs_messages]
            .map(|share| format!("{:.2} %", 100.0 * share))
    });
    assert_eq!(["12 pairs", "14 pairs"].map(published_row), rows, "printed, measured");
}

#[test]
#[ignore = "slow: make simulations"]
fn procedures_keep_their_promises_in_long_simulations() {
    check(10_000);
}

/// The cells of the row of docs/guide/trust-a-trial.md that begins with these words, without the words.
fn published_row(row: &str) -> Vec<&'static str> {
    let page = include_str!("../../../docs/guide/trust-a-trial.md");
    let begin = format!("| {row} |");
    let line = page.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("no row {row}"));
    line[begin.len()..].trim_end_matches('|').split('|').map(str::trim).collect()
}

/// The last share of that row, in percent.
fn published(row: &str) -> f64 {
    let cell = published_row(row).pop().unwrap();
    cell.trim_end_matches(" %").parse().unwrap_or_else(|_| panic!("{cell} is no share"))
}

#[test]
fn the_guide_prints_the_smallest_differences_that_pairs_show() {
    for pairs in [6, 8, 12, 20, 30] {
        let ours = 100.0 * (detectable_ratio(0.1, pairs, LEVEL, 0.8).unwrap() - 1.0);
        let printed = published(&pairs.to_string());
        assert!((ours - printed).abs() <= if printed < 10.0 { 0.05 } else { 0.5 }, "{pairs} pairs: {ours}");
    }
    let starts = 100.0 * (detectable_ratio_of_mean(0.1, 6, LEVEL, 0.8).unwrap() - 1.0);
    assert!((starts - published("6 starts")).abs() <= 0.5, "{starts}");
}

#[test]
#[ignore = "slow: make simulations"]
fn the_guide_prints_the_shares_that_the_simulation_measures() {
    let alarms = false_alarms(10_000, 12, 1);
    let (by_bets, by_interval) = false_alarms_when_looking(10_000, 2);
    let measured = [
        ("all of A, then all of B; every message a sample", alarms.before_after_messages),
        ("all of A, then all of B; every block a sample", alarms.before_after_blocks),
        ("pairs in random order; every message a sample", alarms.pairs_messages),
        ("pairs in random order; every pair a sample", alarms.pairs_ranks),
        ("the same, stopped as soon as the interval leaves 1 out", by_interval),
        ("the same, stopped by the bets (`--until-decided`)", by_bets),
    ];
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut rows: Vec<(&str, Vec<String>)> =
        measured.iter().map(|(row, share)| (*row, vec![percent(*share)])).collect();
    for (row, between) in [("none", 0.0), ("30 %", 0.3), ("70 %", 0.7)] {
        let (by_start, by_pair) = false_alarms_on_shared_starts(10_000, between, 7);
        rows.push((row, vec![percent(by_pair), percent(by_start)]));
    }
    let (by_pair, by_total) = false_alarms_of_bursts(10_000, 8);
    rows.push(("totals, under a Poisson's law", vec![percent(by_total)]));
    rows.push(("shares of each pair, by ranks", vec![percent(by_pair)]));
    let printed: Vec<_> = rows.iter().map(|(row, _)| (*row, published_row(row))).collect();
    assert_eq!(format!("{printed:#?}"), format!("{rows:#?}"), "printed, measured");
}
