//! Promises of the whole: a healthy run is valid, every rule has its page, no document makes it panic.

mod rates;

use crate::comparison::{END_TO_END_MEAN, END_TO_END_P99};
use crate::healthy::{DEFAULT, LOW, healthy, with_identical_step};
use crate::rules::REGISTRY;
use crate::{About, judge, row, rows};
use plumb_model::document::{RunDocument, RunState, StepResult};
use plumb_model::finding::{ComparisonVerdict, Confidence, Expect, PathStage, Severity, ValidityVerdict};
use plumb_model::observation::Distribution;
use plumb_model::plan::Mode;
use plumb_model::units::Bytes;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn a_healthy_run_on_one_host_is_valid_and_its_reasons_are_notes() {
    let judgement = judge(&healthy());
    assert_eq!(judgement.validity.verdict, ValidityVerdict::Valid, "{:#?}", judgement.validity);
    assert!(judgement.validity.reasons.iter().all(|reason| reason.severity == Severity::Note));
    let ids: Vec<&str> = judgement.validity.reasons.iter().map(|reason| reason.id.as_str()).collect();
    assert_eq!(ids, ["same-host", "durability"]);
}

#[test]
fn the_gravest_reason_comes_first_and_makes_the_verdict() {
    let mut document = healthy();
    document.steps[0].counts.reordered = 3;
    let suspect = judge(&document).validity;
    assert_eq!(suspect.verdict, ValidityVerdict::Suspect);
    assert_eq!(suspect.reasons[0].id, "duplicates-or-reorder");
    document.steps[1].latency.end_to_end.negative = 1;
    document.steps[1].latency.end_to_end.samples -= 1;
    let invalid = judge(&document).validity;
    assert_eq!(invalid.verdict, ValidityVerdict::Invalid);
    assert_eq!(invalid.reasons[0].id, "negative-latency");
    assert!(invalid.reasons.windows(2).all(|pair| pair[0].severity >= pair[1].severity));
}

#[test]
fn judging_a_judged_document_again_changes_nothing() {
    let mut document = healthy();
    let first = judge(&document);
    document.validity = first.validity.clone();
    document.findings = first.findings.clone();
    document.comparisons = first.comparisons.clone();
    document.summary = first.summary.clone();
    assert_eq!(judge(&document), first);
}

#[test]
fn every_row_has_a_page_and_every_page_a_row() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings");
    let files = std::fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path());
    let pages: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let ids: BTreeSet<String> = rows().map(|row| row.id.to_owned()).collect();
    assert_eq!(pages, ids);
    assert_eq!(ids.len(), rows().count(), "an id is used twice");
}

#[test]
fn every_page_says_what_it_means_how_it_is_found_and_what_to_do() {
    for row in rows() {
        assert!(row.page.starts_with("# "), "the page of {} has no heading", row.id);
        for heading in ["## What it means", "## How it is found", "## What to do", "## Example"] {
            assert!(row.page.contains(heading), "the page of {} lacks {heading:?}", row.id);
        }
        let id = format!("\n`{}`\n", row.id);
        assert!(row.page.contains(&id), "the page of {} does not name its id", row.id);
    }
    assert!(row("no-such-finding").is_none());
}

#[test]
fn ids_are_lower_case_words_with_hyphens_between_them() {
    let plain = |id: &str| {
        id.split('-').all(|word| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        })
    };
    assert_eq!(rows().map(|row| row.id).filter(|id| !plain(id)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn a_finding_says_how_sure_it_is_what_it_concerns_and_what_would_prove_it() {
    let judgement = judge(&healthy());
    let linger = judgement.findings.iter().find(|finding| finding.id == "linger-bound").unwrap();
    assert_eq!(
        (linger.confidence, linger.stage),
        (Some(Confidence::Supported), Some(PathStage::ClientQueue))
    );
    let flip = linger.flip.as_ref().unwrap();
    let setting = flip.setting.as_ref().unwrap();
    assert_eq!((setting.path.as_str(), setting.value.as_str()), ("producer.linger.ms", "0"));
    assert_eq!((flip.observe.as_str(), flip.expect), ("end_to_end.mean", Expect::Falls));
    let explained = row("linger-bound").unwrap().explanation();
    assert!(explained.ends_with(
        "## What would prove it\n\nSend without lingering (`producer.linger.ms: 0`): if the finding is right, \
         `end_to_end.mean` falls.\n"
    ), "{explained}");
}

#[test]
fn no_finding_is_graver_than_its_rule_says() {
    let mut broken = with_identical_step();
    broken.run.state = RunState::Failed { error: "broker gone".to_owned() };
    for step in &mut broken.steps {
        step.counts.acked -= 5;
        step.counts.lost = 500;
        step.counts.failed = 900;
        step.latency.end_to_end =
            Distribution { samples: 3, negative: 1, overflow: 1, ..Distribution::default() };
        step.achieved_per_s = Some(10.0);
        step.consumer_statistics.rebalances = 1;
    }
    let judgement = judge(&broken);
    let all = judgement.validity.reasons.iter().chain(&judgement.findings);
    for finding in all {
        let rule = REGISTRY.iter().find(|rule| rule.row.id == finding.id).unwrap();
        assert!(finding.severity <= rule.row.severity, "{finding:#?}");
        let about_run = judgement.validity.reasons.contains(finding);
        assert_eq!(about_run, rule.about == About::Run, "{finding:#?}");
    }
    assert!(judgement.validity.reasons.len() >= 8, "{:#?}", judgement.validity.reasons);
}

#[test]
fn setups_that_differ_are_told_from_setups_that_do_not() {
    let judgement = judge(&with_identical_step());
    let verdict = |a: &str, b: &str, metric: &str| {
        let mut found = judgement.comparisons.iter();
        found.find(|pair| pair.a == a && pair.b == b && pair.metric == metric).unwrap().verdict
    };
    for metric in [END_TO_END_MEAN, END_TO_END_P99] {
        assert_eq!(verdict(LOW, DEFAULT, metric), ComparisonVerdict::Differs);
        assert_eq!(verdict(LOW, "low latency again", metric), ComparisonVerdict::WithinNoise);
    }
}

#[test]
fn steps_of_unequal_load_are_not_held_against_each_other() {
    let mut document = healthy();
    document.plan.steps[1].load.rate_per_s = Some(300.0);
    assert!(judge(&document).comparisons.is_empty());
}

#[test]
fn a_comparison_with_two_common_rounds_has_no_ratio() {
    let mut document = healthy();
    document.steps[1].blocks.truncate(2);
    let comparisons = judge(&document).comparisons;
    assert!(
        comparisons.iter().all(|pair| pair.verdict == ComparisonVerdict::TooFewBlocks && pair.blocks == 2)
    );
    assert!(comparisons.iter().all(|pair| pair.ratio.is_none() && pair.p_adjusted.is_none()));
}

#[test]
fn a_long_sweep_is_held_against_its_first_step_only() {
    let mut document = healthy();
    for index in 0..10 {
        let name = format!("sweep {index}");
        let (mut result, mut plan) = (document.steps[0].clone(), document.plan.steps[0].clone());
        (result.name, plan.name) = (name.clone(), name);
        document.steps.push(result);
        document.plan.steps.push(plan);
    }
    let comparisons = judge(&document).comparisons;
    assert_eq!(comparisons.len(), 11 * 3);
    assert!(comparisons.iter().all(|pair| pair.a == LOW));
}

#[test]
fn the_summary_tells_figures_differences_and_what_bounds_them() {
    let summary = judge(&healthy()).summary;
    assert_eq!(summary.len(), 3, "{summary:#?}");
    assert!(
        summary[0].contains("\"low latency\" was fastest") && summary[0].contains("\"default\" slowest"),
        "{summary:#?}"
    );
    assert!(summary[1].contains("by more than the noise"), "{summary:#?}");
    assert!(summary[2].contains("come from linger.ms"), "{summary:#?}");
}

#[test]
fn the_summary_names_no_fastest_setup_where_the_blocks_cannot_tell() {
    let mut document = healthy();
    for step in &mut document.steps {
        step.blocks.truncate(1);
    }
    let summary = judge(&document).summary.join(" ");
    assert!(
        summary.contains("had the lowest mean") && summary.contains("too few blocks to tell them apart"),
        "{summary}"
    );
    assert!(!summary.contains("fastest"), "{summary}");
}

#[test]
fn the_summary_says_first_that_nothing_was_confirmed() {
    let mut document = healthy();
    for step in &mut document.steps {
        step.durability.acks = Some("0".to_owned());
    }
    let summary = judge(&document).summary;
    assert_eq!(summary.len(), 3, "{summary:#?}");
    assert!(summary[0].contains("acks=0"), "{summary:#?}");
    assert!(summary[2].contains("noise") && summary[2].contains("linger.ms"), "{summary:#?}");
}

#[test]
fn the_summary_of_an_invalid_run_begins_with_that() {
    let mut document = healthy();
    document.steps[0].counts.lost = 700;
    let summary = judge(&document).summary;
    assert!(summary[0].starts_with("The run is invalid (\"low latency\"): 700 messages"), "{summary:#?}");
}

#[test]
fn the_summary_gives_no_latency_of_a_setup_that_the_path_did_not_keep_up_with() {
    let mut document = healthy();
    let step = &mut document.steps[1];
    step.achieved_per_s = step.achieved_per_s.map(|rate| rate * 0.5);
    for block in &mut step.blocks {
        block.achieved_per_s = block.achieved_per_s.map(|rate| rate * 0.5);
    }
    let judged = judge(&document);
    let saturated = judged.validity.reasons.iter().find(|reason| reason.id == "saturated");
    assert_eq!(saturated.map(|reason| reason.severity), Some(Severity::Invalid), "{:?}", judged.validity);
    let summary = judged.summary.join(" ");
    assert!(!summary.contains("slowest") && !summary.contains("the highest with"), "{summary}");
}

#[test]
fn the_summary_goes_on_with_no_figure_of_setups_whose_counts_do_not_add_up() {
    let mut document = healthy();
    for step in &mut document.steps {
        step.accounting.corrupt = 1;
    }
    let summary = judge(&document).summary;
    assert_eq!(summary.len(), 1, "{summary:#?}");
    assert!(summary[0].contains("no figure of this step can be trusted"), "{summary:#?}");
}

#[test]
fn the_summary_says_that_a_latency_is_of_draining_a_backlog_and_how_long_that_took() {
    let mut document = healthy();
    document.plan.steps[0].load.mode = Mode::Backlog(Bytes(1_000_000));
    document.steps[0].throughput.drain_s = Some(0.5);
    let summary = judge(&document).summary.join(" ");
    assert!(summary.contains("with the wait in a backlog that was drained"), "{summary}");
    assert!(summary.contains("the backlog of \"low latency\" was drained in 500 ms"), "{summary}");
}

#[test]
fn a_suspect_run_without_confirmation_still_says_what_differs_and_why() {
    let mut document = healthy();
    for step in &mut document.steps {
        step.durability.acks = Some("0".to_owned());
        step.counts.duplicated = 1;
    }
    let summary = judge(&document).summary;
    assert_eq!(summary.len(), 3, "{summary:#?}");
    assert!(
        summary[0].starts_with("With acks=0") && summary[0].contains("; the run is suspect"),
        "{summary:#?}"
    );
    assert!(summary[2].contains("noise") && summary[2].contains("linger.ms"), "{summary:#?}");
}

#[test]
fn the_summary_of_one_setup_names_its_latency() {
    let mut document = healthy();
    document.steps.truncate(1);
    document.plan.steps.truncate(1);
    let summary = judge(&document).summary;
    assert_eq!(summary.len(), 1, "{summary:#?}");
    assert!(summary[0].starts_with("End to end, \"low latency\" took 6"), "{summary:#?}");
}

#[test]
fn a_run_without_consumers_is_judged_by_its_acknowledge_latency() {
    let mut document = healthy();
    document.plan.steps.iter_mut().for_each(|step| step.load.consumers = 0);
    for step in &mut document.steps {
        step.counts.received = 0;
        step.latency.end_to_end = Distribution::default();
        step.latency.end_to_end_service = Distribution::default();
        step.series.iter_mut().for_each(|row| row.received = 0);
        step.blocks.iter_mut().for_each(|block| block.end_to_end = Distribution::default());
    }
    let judgement = judge(&document);
    assert_eq!(judgement.validity.verdict, ValidityVerdict::Valid, "{:#?}", judgement.validity);
    assert!(judgement.comparisons.iter().all(|pair| pair.metric.starts_with("acknowledge.")));
    assert_eq!(judgement.comparisons[0].verdict, ComparisonVerdict::Differs);
    assert!(
        judgement.summary[0].starts_with("To the acknowledgement, of 2 setups"),
        "{:#?}",
        judgement.summary
    );
    assert!(judgement.summary[2].contains("come from linger.ms"), "{:#?}", judgement.summary);
}

#[test]
fn a_run_that_was_killed_before_its_first_message_is_invalid_and_has_a_sentence() {
    let mut document = healthy();
    document.steps.clear();
    document.run.state = RunState::Running;
    let judgement = judge(&document);
    assert_eq!(judgement.validity.verdict, ValidityVerdict::Invalid);
    assert_eq!(judgement.summary.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_document_however_partial_makes_it_panic(
        holes in proptest::collection::vec(any::<u16>(), 1..24),
        numbers in proptest::collection::vec(extreme(), 8),
        counts in proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()], 12),
    ) {
        let mut document = with_identical_step();
        for hole in holes {
            let index = usize::from(hole >> 8) % document.steps.len().max(1);
            tear(&mut document, usize::from(hole & 0xff), index, &numbers, &counts);
        }
        let judgement = judge(&document);
        prop_assert!(judgement.summary.len() <= 3);
        for comparison in &judgement.comparisons {
            let figures = [comparison.ratio, comparison.ratio_low, comparison.ratio_high, comparison.p_adjusted];
            prop_assert!(figures.iter().flatten().all(|figure| figure.is_finite()), "{comparison:?}");
        }
    }
}

fn extreme() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(1e-300),
        Just(1e300),
        0.0..1e10
    ]
}

/// Takes something out of a document or puts something absurd in.
fn tear(document: &mut RunDocument, kind: usize, index: usize, numbers: &[f64], counts: &[u64]) {
    document.plan.level = if kind == 0 { numbers[0] } else { document.plan.level };
    if kind == 1 {
        document.plan.steps.clear();
    }
    let Some(step) = document.steps.get_mut(index) else { return };
    match kind % 20 {
        0 => *step = StepResult::default(),
        1 => step.blocks.clear(),
        2 => step.series.clear(),
        3 => step.asked_per_s = Some(numbers[1]),
        4 => step.achieved_per_s = Some(numbers[2]),
        5 => step.achieved_per_s = None,
        6 => step.latency.end_to_end = Distribution::default(),
        7 => step.latency.end_to_end.mean_ns = Some(numbers[3]),
        8 => step.latency.end_to_end.p99_ns = Some(counts[0]),
        9 => (step.counts.sent, step.counts.acked) = (counts[1], counts[2]),
        10 => (step.counts.failed, step.counts.unknown, step.counts.lost) = (counts[3], counts[4], counts[5]),
        11 => step.producer_statistics.queue_mean_ns = Some(numbers[4]),
        12 => step.series.iter_mut().for_each(|row| (row.sent, row.acked) = (counts[6], counts[7])),
        13 => step.series.iter_mut().for_each(|row| row.end_to_end.p50_ns = Some(counts[8])),
        14 => step.series.iter_mut().for_each(|row| row.end_to_end.mean_ns = Some(numbers[5])),
        15 => step.blocks.iter_mut().for_each(|block| block.end_to_end.mean_ns = Some(numbers[6])),
        16 => step.series.iter_mut().for_each(|row| row.second = u32::MAX),
        17 => {
            step.effective.producer = [("queue.buffering.max.ms".to_owned(), numbers[7].to_string())].into()
        }
        18 => step.slip.mean_ns = Some(numbers[7]),
        _ => step.latency.end_to_end.samples = counts[9],
    }
}
