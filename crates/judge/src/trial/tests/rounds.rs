//! Rounds that are left out, and that no arm chooses which.

use super::trials::{caveat, primary, result, trial_of, verdict};
use plumb_model::document::RunDocument;
use plumb_model::facts::{CpuTime, HostDelta};
use plumb_model::observation::ProgramAccount;
use plumb_model::verdict::Verdict;

/// A host on which the hypervisor took so much of 10,000 ns.
fn host(steal_ns: u64) -> Option<HostDelta> {
    let cpu = CpuTime { steal_ns: Some(steal_ns), total_ns: Some(10_000), ..CpuTime::default() };
    Some(HostDelta { cpu, ..HostDelta::default() })
}

fn steal(document: &mut RunDocument, steal_ns: u64) {
    document.steps.iter_mut().flat_map(|step| &mut step.blocks).for_each(|block| block.host = host(steal_ns));
}

#[test]
fn a_host_that_is_never_quiet_is_what_the_verdict_is_about() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    steal(&mut document, 3_000);
    document.steps[1].blocks[5].host = host(5_000);
    let result = result(&document);
    assert_eq!(result.excluded.iter().map(|pair| pair.round).collect::<Vec<_>>(), [5]);
    assert_eq!((result.pairs, verdict(&result)), (11, Verdict::Better));
    assert!(
        caveat(&result, "the hypervisor took 30 % of the processors' time").is_some(),
        "{:?}",
        result.findings
    );
}

#[test]
fn noisy_rounds_are_left_out_whole_and_counted() {
    let mut document = trial_of(&[("low", 0.25)], 12, 1);
    steal(&mut document, 200);
    document.steps[2].blocks[4].host = host(3_000);
    document.steps[1].blocks[7].slip_mean_ns = Some(4e9);
    document.steps[0].blocks[9].cut_short = true;
    let result = result(&document);
    assert_eq!(result.pairs, 9);
    let rounds: Vec<u32> = result.excluded.iter().map(|pair| pair.round).collect();
    assert_eq!(rounds, [4, 7]);
    assert!(result.excluded[0].reason.contains("30 %"), "{:?}", result.excluded);
    assert!(primary(&result).values.iter().all(|pair| ![4, 7, 9].contains(&pair.round)));
    assert!(caveat(&result, "2 of 11 pairs are left out").is_some(), "{:?}", result.findings);
}

/// The reference's usual mean is about 5 ms: 2 ms late is within half of it for every arm, 4 ms is not.
#[test]
fn a_late_generator_is_held_against_the_reference_so_that_no_arms_speed_decides_what_is_left_out() {
    for factor in [0.05, 1.0, 4.0] {
        let mut document = trial_of(&[("low", factor)], 12, 1);
        document.steps[1].blocks[3].slip_mean_ns = Some(1.5e6);
        document.steps[1].blocks[7].slip_mean_ns = Some(4e6);
        let left_out: Vec<u32> = result(&document).excluded.iter().map(|pair| pair.round).collect();
        assert_eq!(left_out, [7], "{factor}");
        document.steps[1].instrument.queue_full_waits = 1;
        assert_eq!(result(&document).excluded.len(), 1, "another block's wait excuses none");
        document.steps[1].blocks[7].queue_full_waits = Some(1);
        assert_eq!(result(&document).excluded, [], "the path's doing, so the arm's own");
    }
}

/// A client that is a program of its own is what is compared: its late blocks are its own.
#[test]
fn the_lateness_of_a_program_leaves_nothing_out() {
    let mut document = trial_of(&[("low", 1.0)], 12, 1);
    document.steps[1].blocks[7].slip_mean_ns = Some(4e6);
    assert_eq!(result(&document).excluded.len(), 1);
    for block in &mut document.steps[1].blocks {
        block.programs = vec![ProgramAccount { role: "producer".to_owned(), ..ProgramAccount::default() }];
    }
    assert_eq!(result(&document).excluded, []);
}

#[test]
fn what_would_be_decided_with_the_rounds_that_are_left_out_is_allowed_for_like_every_verdict() {
    let mut document = trial_of(&[("low", 0.25), ("same", 1.0)], 7, 1);
    document.steps[1].blocks[3].slip_mean_ns = Some(4e9);
    let found = result(&document);
    // Seven pairs of seven are rare enough for two comparisons, six of six are not.
    assert_eq!((found.pairs, verdict(&found)), (6, Verdict::Undecided));
    let caveat = caveat(&found, "1 of 7 pairs is left out").unwrap();
    assert!(caveat.contains("with them the verdicts would be others: \"low\" better"), "{caveat}");
}
