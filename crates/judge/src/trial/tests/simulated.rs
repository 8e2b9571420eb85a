//! Trials of arms that harm some of their blocks, by the hundred: how often each is called better or equivalent by the ranks of its
//! pairs alone, and how often by the verdict. Thousands in `make simulations`.

use super::trials::{primary, result, trial_on, verdict};
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::facts::{CpuTime, HostDelta};
use plumb_model::verdict::Verdict;
use plumb_stats::random::Random;

/// Spread of a block on a quiet host, and on a usual one.
const QUIET: f64 = 0.03;
const USUAL: f64 = 0.16;

/// Place of the arm that does harm; the reference is 0 and its repetition the last.
const ARM: usize = 1;

/// The shares of trials by their outcome.
#[derive(Debug, Default, PartialEq)]
struct Shares {
    /// Called so by the ranks of the pairs that are not left out, nothing else.
    by_ranks: f64,
    /// Called so.
    by_verdict: f64,
}

/// Trials of one size on hosts of one spread.
struct Trials {
    trials: u64,
    pairs: u32,
    own_sd: f64,
}

/// Trials in which the arm is called something that `wrong` holds of.
fn shares(
    Trials { trials, pairs, own_sd }: Trials,
    harm: impl Fn(&mut RunDocument, &mut Random),
    wrong: fn(Verdict) -> bool,
) -> Shares {
    let mut shares = Shares::default();
    for seed in 0..trials {
        let mut document = trial_on(&[("arm", 1.0)], pairs, seed, own_sd);
        document.plan.trial.as_mut().unwrap().margin = 0.05;
        harm(&mut document, &mut Random::for_part(seed, u64::MAX));
        let result = result(&document);
        let one = |called: Verdict| if wrong(called) { 1.0 / trials as f64 } else { 0.0 };
        shares.by_ranks += one(primary(&result).verdict);
        shares.by_verdict += one(verdict(&result));
    }
    shares
}

fn slower(block: &mut BlockResult, times: f64) {
    for latency in [&mut block.end_to_end, &mut block.acknowledge] {
        latency.mean_ns = latency.mean_ns.map(|ns| ns * times);
        for ns in [&mut latency.p50_ns, &mut latency.p95_ns, &mut latency.p99_ns] {
            *ns = ns.map(|ns| (ns as f64 * times) as u64);
        }
    }
}

/// Each of the arm's blocks with this chance.
fn some(document: &mut RunDocument, random: &mut Random, chance: f64, harm: impl Fn(&mut BlockResult)) {
    document.steps[ARM].blocks.iter_mut().filter(|_| random.unit() < chance).for_each(harm);
}

/// Three times slower in 35 % of its blocks, and the generator starves in these.
fn starving(document: &mut RunDocument, random: &mut Random) {
    some(document, random, 0.35, |block| {
        slower(block, 3.0);
        block.slip_mean_ns = Some(4e6);
    });
}

/// A host of four processors of which other programs use so much over ten seconds.
fn used(block: &mut BlockResult, share: f64) {
    let total_s = 40.0;
    let busy_s = share * total_s + block.client_cpu_s.unwrap() + 0.1;
    let ns = |s: f64| Some((s * 1e9) as u64);
    block.broker_cpu_s = Some(0.1);
    let cpu = CpuTime { busy_ns: ns(busy_s), total_ns: ns(total_s), steal_ns: Some(0), ..CpuTime::default() };
    block.host = Some(HostDelta { cpu, ..HostDelta::default() });
}

/// Three times slower in 35 % of its blocks, in which something else uses 55 % of the processors' time.
fn crowded(document: &mut RunDocument, random: &mut Random) {
    document.steps.iter_mut().flat_map(|step| &mut step.blocks).for_each(|block| used(block, 0.02));
    some(document, random, 0.35, |block| {
        slower(block, 3.0);
        used(block, 0.55);
    });
}

/// Five times slower in 10 % of its blocks.
fn stalling(document: &mut RunDocument, random: &mut Random) {
    some(document, random, 0.10, |block| slower(block, 5.0));
}

/// The host stalls, whoever runs.
fn stalling_host(document: &mut RunDocument, random: &mut Random) {
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        if random.unit() < 0.05 {
            slower(block, 2.0 - 2.0 * (1.0 - random.unit()).ln());
        }
    }
}

/// Other programs crowd 5 % of all blocks, whoever runs.
fn crowded_host(document: &mut RunDocument, random: &mut Random) {
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        let crowded = random.unit() < 0.05;
        used(block, if crowded { 0.55 } else { 0.02 });
        slower(block, if crowded { 1.5 } else { 1.0 });
    }
}

/// The arm slows the block after it by 22 %.
fn carrying_over(document: &mut RunDocument, _: &mut Random) {
    let after: Vec<u32> = document.steps[ARM].blocks.iter().map(|block| block.position + 1).collect();
    for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
        if after.contains(&block.position) {
            slower(block, 1.22);
        }
    }
}

fn quiet(_: &mut RunDocument, _: &mut Random) {}

fn equivalent(verdict: Verdict) -> bool {
    verdict == Verdict::Equivalent
}

fn better(verdict: Verdict) -> bool {
    verdict == Verdict::Better
}

fn told_apart(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// An arm two fifths faster than the reference.
fn faster(document: &mut RunDocument, _: &mut Random) {
    document.steps[ARM].blocks.iter_mut().for_each(|block| slower(block, 0.6));
}

/// Within what so many trials can tell.
fn check(trials: u64) {
    let chance = 1.0 / (trials as f64).sqrt();
    for (pairs, stalls_missed) in [(14, 0.23), (30, 0.05)] {
        for harm in [starving, crowded] {
            let shares = shares(Trials { trials, pairs, own_sd: QUIET }, harm, equivalent);
            assert!(
                shares.by_ranks >= 0.65 && shares.by_verdict <= 0.02 + chance / 2.0,
                "{pairs}: {shares:?}"
            );
        }
        // Where not one of the arm's blocks stalled nobody can know: that is 0.9^14, 0.9^30 of the trials.
        let shares = shares(Trials { trials, pairs, own_sd: QUIET }, stalling, equivalent);
        assert!(
            shares.by_ranks >= 0.45 && shares.by_verdict <= stalls_missed + chance,
            "{pairs}: {shares:?}"
        );
    }
    let carried = shares(Trials { trials, pairs: 14, own_sd: USUAL }, carrying_over, better);
    assert!(carried.by_ranks >= 0.12 && carried.by_verdict <= 0.05 + chance / 2.0, "{carried:?}");
}

/// The price of the checks for a verdict that is right.
fn check_price(trials: u64) {
    let chance = 1.0 / (trials as f64).sqrt();
    let told = shares(Trials { trials, pairs: 14, own_sd: USUAL }, quiet, told_apart);
    assert!(told.by_verdict <= told.by_ranks && told.by_ranks <= 0.05 + chance / 2.0, "{told:?}");
    for (host, least) in
        [(quiet as fn(&mut RunDocument, &mut Random), 0.85), (stalling_host, 0.40), (crowded_host, 0.50)]
    {
        let equal = shares(Trials { trials, pairs: 14, own_sd: QUIET }, host, equivalent);
        assert!(equal.by_verdict >= least - chance, "{least}: {equal:?}");
    }
    let found = shares(Trials { trials, pairs: 14, own_sd: USUAL }, faster, better);
    assert!(found.by_verdict >= 0.91 - chance, "{found:?}");
}

#[test]
fn an_arm_that_harms_some_of_its_blocks_is_hardly_ever_called_equivalent_or_better() {
    check(60);
}

#[test]
fn doubts_leave_most_true_verdicts_as_they_are() {
    check_price(60);
}

#[test]
#[ignore = "slow: make simulations"]
fn verdicts_on_arms_that_harm_some_of_their_blocks_hold_in_long_simulations() {
    check(2_000);
    check_price(2_000);
}

/// The rows of docs/guide/trust-a-trial.md.
#[test]
#[ignore = "slow: make simulations"]
fn the_guide_prints_how_often_harm_is_passed_over() {
    type Harm = fn(&mut RunDocument, &mut Random);
    type Row = (&'static str, f64, Harm, fn(Verdict) -> bool);
    let rows: [Row; 8] = [
        (
            "three times slower in 35 % of its blocks, in which the generator starves",
            QUIET,
            starving,
            equivalent,
        ),
        (
            "three times slower in 35 % of its blocks, in which other programs use 55 % of the processors",
            QUIET,
            crowded,
            equivalent,
        ),
        ("five times slower in 10 % of its blocks", QUIET, stalling, equivalent),
        ("slows the block after it by 22 %", USUAL, carrying_over, better),
        ("equal, on a quiet host", QUIET, quiet, equivalent),
        ("equal, on a host that stalls 5 % of all blocks", QUIET, stalling_host, equivalent),
        ("equal, on a host where other programs crowd 5 % of all blocks", QUIET, crowded_host, equivalent),
        ("40 % faster", USUAL, faster, better),
    ];
    let page = include_str!("../../../../../docs/guide/trust-a-trial.md");
    let measured = rows.map(|(what, own_sd, harm, called)| {
        let cells = [14, 30].map(|pairs| {
            let found = shares(Trials { trials: 2_000, pairs, own_sd }, harm, called);
            [found.by_ranks, found.by_verdict].map(|share| format!("{:.1} %", 100.0 * share)).join(" | ")
        });
        let word = if called(Verdict::Better) { "better" } else { "equivalent" };
        format!("| {what} | {word} | {} |", cells.join(" | "))
    });
    let missing: Vec<&String> = measured.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "measured: {missing:#?}");
}
