//! The text that people read in a terminal, as snapshots.

#![allow(missing_docs)]

#[allow(dead_code)]
mod sample;

use plumb_model::document::{LostBlock, Resumption, RunDocument};
use plumb_model::finding::ValidityVerdict;
use plumb_model::observation::{Counts, StageName};
use plumb_model::verdict::Verdict;
use plumb_report::rejudged::changes;
use plumb_report::text::{Figures, TextStyle};

fn render(document: &RunDocument, style: TextStyle) -> String {
    plumb_report::text::render(document, style, Figures::Headline)
}

const PLAIN: TextStyle = TextStyle { color: false, width: 140 };

#[test]
fn a_wide_terminal_shows_each_setup_on_one_line() {
    insta::assert_snapshot!(render(&sample::full(), PLAIN));
}

#[test]
fn a_terminal_of_80_columns_gives_each_name_a_line_and_nothing_runs_over() {
    let text = render(&sample::full(), TextStyle { width: 80, ..PLAIN });
    let over: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(over, Vec::<&str>::new());
    insta::assert_snapshot!(text);
}

#[test]
fn a_killed_run_says_that_nothing_was_measured() {
    insta::assert_snapshot!(render(&sample::killed(), PLAIN));
}

#[test]
fn unequal_durability_is_said_before_any_difference() {
    let mut document = sample::full();
    document.comparisons[3].durability_differences = vec!["acks 0 and all".to_owned()];
    let text = render(&document, PLAIN);
    let said = text.find("!! #3 / #1 differ in durability").expect("said");
    let first_row = text.find("#2 / #1").expect("the comparisons");
    assert!(said < first_row, "{text}");
}

#[test]
fn what_does_not_add_up_is_marked_whatever_the_verdict() {
    let text = render(&sample::full(), PLAIN);
    assert!(text.contains("!! #6: 12 acknowledged and never received"), "{text}");
}

#[test]
fn what_is_known_of_a_large_remainder_is_told_below_the_stages() {
    let mut document = sample::full();
    let rest =
        document.steps[0].stages.iter_mut().find(|stage| stage.stage == StageName::Unexplained).unwrap();
    rest.source = "the mean minus the stages above; all of it was after the acknowledgement".to_owned();
    let text = render(&document, PLAIN);
    assert!(text.contains("- unexplained of #1: all of it was after the acknowledgement"), "{text}");
}

#[test]
fn colour_changes_no_letter() {
    let coloured = render(&sample::full(), TextStyle { color: true, ..PLAIN });
    assert_ne!(coloured, render(&sample::full(), PLAIN));
    assert_eq!(without_escapes(&coloured), render(&sample::full(), PLAIN));
}

#[test]
fn names_and_messages_cannot_steer_the_terminal() {
    let text = render(&sample::hostile(), PLAIN);
    assert!(text.contains("<script>alert('x')</script>"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_run_without_consumers_shows_its_acknowledge_latency_and_claims_no_reception() {
    let text = render(&sample::producers_only(), PLAIN);
    assert!(
        text.contains("Acknowledge latency in ms  from the intended send time to the delivery report"),
        "{text}"
    );
    assert!(text.contains("10,000 intended = sent = acknowledged; nobody receives;"), "{text}");
    assert!(!text.contains("published"), "{text}");
}

#[test]
fn a_sweep_shows_rates_and_lines_and_not_one_latency() {
    let text = render(&sample::throughput::swept(), PLAIN);
    for latency in ["latency in ms", "Other latencies", "p99", "Stages"] {
        assert!(!text.contains(latency), "{latency}: {text}");
    }
    assert!(
        text.contains("Throughput  as fast as possible: no latency is given; MB are 10^6 bytes of values")
    );
    let lines = text.split("Rate against producers").nth(1).expect("the lines");
    insta::assert_snapshot!(lines.split("Messages").next().expect("a part"));
}

#[test]
fn every_mode_has_the_columns_that_it_has_figures_for() {
    let text = render(&sample::throughput::modes(), PLAIN);
    let part = text.split("Messages\n").next().expect("a part");
    insta::assert_snapshot!(part);
}

#[test]
fn a_search_says_what_holds_and_lists_its_trials() {
    let text = render(&sample::throughput::searched(), PLAIN);
    assert!(
        text.contains("12,700 messages/s were confirmed to hold it, 13,400 not to; the path is the bound.")
    );
    assert!(text.contains("fails: p99 was 41.0 ms (80,000 samples)"), "{text}");
}

#[test]
fn a_table_of_rates_runs_over_no_terminal_of_100_columns() {
    for document in [sample::throughput::swept(), sample::throughput::searched()] {
        let text = render(&document, TextStyle { width: 100, ..PLAIN });
        let over: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
        assert_eq!(over, Vec::<&str>::new());
    }
}

#[test]
fn a_trial_says_what_is_not_promised_alike_first_then_the_verdict_then_its_pairs() {
    let text = render(&sample::trial::one_arm(), TextStyle { width: 100, ..PLAIN });
    let part = text.split("\nTrial").nth(1).and_then(|rest| rest.split("End-to-end latency").next());
    insta::assert_snapshot!(part.expect("the trial"));
}

#[test]
fn a_trial_of_many_arms_has_a_line_for_each_and_runs_over_no_terminal() {
    let document = sample::trial::several_arms();
    for width in [80, 100] {
        let text = render(&document, TextStyle { width, ..PLAIN });
        let part = text.split("\nTrial").nth(1).and_then(|rest| rest.split("End-to-end latency").next());
        let over: Vec<&str> =
            part.expect("the trial").lines().filter(|line| line.chars().count() > width).collect();
        assert_eq!(over, Vec::<&str>::new());
    }
    let text = render(&document, TextStyle { width: 100, ..PLAIN });
    let part = text.split("\nTrial").nth(1).and_then(|rest| rest.split("End-to-end latency").next());
    insta::assert_snapshot!(part.expect("the trial"));
}

#[test]
fn beside_a_verdict_stands_what_it_rests_on_and_what_so_many_could_have_shown() {
    let mut document = sample::trial::one_arm();
    let trial = document.trial.as_mut().unwrap();
    for metric in trial.metrics.iter_mut().chain(&mut trial.noise_floor) {
        metric.starts = Some(6);
    }
    let text = render(&document, TextStyle { width: 200, ..PLAIN });
    let page = plumb_report::html::render(&document).unwrap();
    let beside = "11 pairs on 6 starts of the brokers, which show ×1.041 or more in 4 of 5 trials";
    for shown in [&text, &page] {
        assert!(shown.contains(beside), "{shown}");
        let floor = "Equal arms may differ by up to ×1.040 here by chance (end-to-end p99, 11 pairs on 6 starts of the brokers)";
        assert!(shown.contains(floor), "{shown}");
    }
    document.trial.as_mut().unwrap().noise_floor_ratio = None;
    let text = render(&document, TextStyle { width: 200, ..PLAIN });
    assert!(
        text.contains("How much equal arms differ here is not known") && !text.contains("too few pairs"),
        "{text}"
    );
}

#[test]
fn verdicts_that_another_judgement_would_not_give_are_told_and_nothing_else() {
    let before = sample::trial::one_arm();
    let mut now = before.clone();
    assert_eq!(changes(&before, &now), Vec::<String>::new());
    now.validity.verdict = ValidityVerdict::Invalid;
    let trial = now.trial.as_mut().unwrap();
    (trial.verdicts[0].verdict, trial.noise_floor_ratio) = (Verdict::Undecided, None);
    let was = render(&before, PLAIN).contains("SUSPECT");
    let run = if was { "the run is invalid, not suspect" } else { "the run is invalid, not valid" };
    assert_eq!(changes(&before, &now), [run, "\"low\" against \"default\" is undecided, not better"]);
}

#[test]
fn p_is_said_to_allow_for_other_comparisons_only_where_it_does() {
    let wide = |document: &RunDocument| render(document, TextStyle { width: 500, ..PLAIN });
    let (one, several) = (wide(&sample::trial::one_arm()), wide(&sample::trial::several_arms()));
    for text in [&one, &several] {
        assert!(text.contains("* may veto; p of those that may veto is each one's own"), "{text}");
        assert!(!text.contains("p, adjusted"), "{text}");
    }
    assert!(several.contains("p allows for all these pairs of arms (Holm)"), "{several}");
    assert!(!one.contains("Holm"), "{one}");
}

#[test]
fn every_pair_of_a_trial_is_a_row() {
    let csv = plumb_report::csv::pairs::render(&sample::trial::one_arm());
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "run_id,metric,unit,role,arm,against,pair,against_value,arm_value");
    assert!(rows[1].starts_with("5d1c0b7fa9e3428e,end_to_end.p99,ns,primary,low,default,1,"), "{}", rows[1]);
    // Eleven pairs of five metrics that have values, and of the reference against itself.
    assert_eq!(rows.len(), 1 + 11 * 6);
    assert!(rows[66].contains(",\"default, again\",default,12,"), "{}", rows[66]);
}

#[test]
fn the_csv_of_a_trial_has_its_steps_and_after_an_empty_line_its_pairs() {
    let trial = sample::trial::one_arm();
    let csv = plumb_report::csv::render(&trial);
    let (steps, pairs) = csv.split_once("\n\n").unwrap();
    assert_eq!(steps.lines().count(), 1 + trial.steps.len());
    assert_eq!(pairs, plumb_report::csv::pairs::render(&trial));
    assert!(
        !plumb_report::csv::render(&sample::full()).contains("\n\n"),
        "a run that is no trial has no pairs"
    );
}

fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('\u{1b}').enumerate() {
        out += if index == 0 { piece } else { &piece[piece.find('m').expect("the end of a colour") + 1..] };
    }
    out
}

/// A run that went on after the loss of a worker in a block, and after a stop.
#[test]
fn a_run_that_went_on_says_when_and_what_was_lost() {
    let mut document = sample::full();
    let counts = Some(Counts { sent: 1_312, acked: 1_300, ..Counts::default() });
    let lost_block = Some(LostBlock {
        worker: "two".into(),
        reason: "the link to two broke off".into(),
        step: Some(document.steps[1].name.clone()),
        block: Some(1),
        counts,
    });
    let at = "2026-01-02T03:04:05Z".to_owned();
    let went_on = |lost_block, changes| Resumption { at: at.clone(), blocks_kept: 3, changes, lost_block };
    document.run.resumed =
        vec![went_on(lost_block.clone(), vec![]), went_on(None, vec!["a broker was restarted".into()])];
    document.run.lost_block = lost_block;
    let text = render(&document, TextStyle { width: 400, ..PLAIN });
    for sentence in [
        "Worker two was lost in block 2 of #2 (the link to two broke off). The run went on at 2026-01-02 03:04:05 UTC: that \
         block is measured anew and counts nowhere; of it at least 1,312 messages were sent: the 1,300 that were acknowledged are in its \
         topic with those of its warm-up, and of the others that is not known.",
        "Worker two was lost in block 2 of #2 (the link to two broke off), and the run ended: that block counts nowhere; of it at least 1,312 \
         messages were sent",
        "It went on at 2026-01-02 03:04:05 UTC after it had been stopped or killed, with 3 blocks done by then. Changed since before: a \
         broker was restarted.",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}
