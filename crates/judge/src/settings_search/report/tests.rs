//! Verdicts and intervals that are known go in; what is proposed, and what is said of it, comes out.

use super::super::arms::FEWER;
use super::*;
use crate::healthy::healthy;
use plumb_model::best::{BestPurpose, Importance};
use plumb_model::finding::{Finding, Severity};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, RateWords, Scenario, SearchWords};
use plumb_model::search::SearchResult;
use plumb_model::settings_search::SearchBlock;
use plumb_model::trial::TrialMethod;

const LINGER: &str = "producer.linger.ms";
const FETCH: &str = "consumer.fetch.min.bytes";

fn settings(pairs: &[(&str, &str)]) -> Properties {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn winner() -> Properties {
    settings(&[(LINGER, "0"), (FETCH, "1024")])
}

fn block(settings: Properties) -> SearchBlock {
    SearchBlock {
        settings,
        purpose: BestPurpose::Race,
        started_at: String::new(),
        objective: Some(1e7),
        goal_ratio: None,
        feasible: None,
        aborted: false,
        failed: None,
        refused: None,
        measured_s: 20.0,
        achieved_per_s: Some(300.0),
        p50_ns: Some(5e6),
        p99_ns: Some(1e7),
        cpu_per_message_us: Some(100.0),
    }
}

/// A search that ended so, with blocks of the settings that there are and of the winner.
fn search(ending: BestEnding) -> RunDocument {
    let cluster = ClusterWords { bootstrap: Some("127.0.0.1:9092".to_owned()), ..ClusterWords::default() };
    let load = LoadWords { rate: Some(OneOrMany::One(RateWords::PerSecond(300.0))), ..LoadWords::default() };
    let scenario = Scenario {
        cluster: Some(cluster),
        load,
        search: Some(SearchWords::default()),
        ..Scenario::default()
    };
    let mut document = healthy();
    document.plan = resolve(&scenario, &Sources::new()).unwrap();
    document.steps.clear();
    document.settings_search = Some(SettingsSearchResult {
        blocks: vec![block(Properties::new()), block(winner())],
        ending: Some(ending),
        winner: (ending == BestEnding::Better).then(winner),
        ..SettingsSearchResult::default()
    });
    document
}

/// A comparison of one arm with another.
struct Compared {
    arm: String,
    against: &'static str,
    low: f64,
    high: f64,
    verdict: Verdict,
}

fn compared(arm: &str, against: &'static str, low: f64, high: f64, verdict: Verdict) -> Compared {
    Compared { arm: arm.to_owned(), against, low, high, verdict }
}

/// A trial that came to this.
fn trial(all: &[Compared]) -> RunDocument {
    let mut document = healthy();
    let metric = |of: &Compared| MetricResult {
        name: "end_to_end.p99".to_owned(),
        unit: "ns".to_owned(),
        role: MetricRole::Primary,
        good: Good::Lower,
        arm: of.arm.clone(),
        against: of.against.to_owned(),
        estimate_ratio: Some((of.low * of.high).sqrt()),
        interval_low: Some(of.low),
        interval_high: Some(of.high),
        level: 0.95,
        verdict: of.verdict,
        smallest_detectable_ratio: None,
        p: None,
        p_adjusted: None,
        method: TrialMethod::SignedRank,
        pairs: 12,
        starts: None,
        against_median: Some(1e8),
        arm_median: Some(1e7),
        values: Vec::new(),
        absent: None,
        clock_error: None,
    };
    let verdict = |of: &Compared| ArmVerdict {
        arm: of.arm.clone(),
        against: of.against.to_owned(),
        verdict: of.verdict,
        vetoes: Vec::new(),
        reason: None,
    };
    document.trial = Some(TrialResult {
        schema_version: 1,
        run_id: String::new(),
        outcome: None,
        name: String::new(),
        seed: 1,
        arms: Vec::new(),
        pairs: 12,
        pairs_planned: 12,
        excluded: Vec::new(),
        metrics: all.iter().map(metric).collect(),
        noise_floor_ratio: None,
        noise_floor: Vec::new(),
        unequal_guarantees: Vec::new(),
        verdicts: all.iter().map(verdict).collect(),
        summary: Vec::new(),
        findings: Vec::new(),
    });
    document
}

/// Without the linger's change the rest takes 10 times as long; the fetch's does nothing.
fn parts() -> RunDocument {
    trial(&[
        compared(&without(LINGER), ALL, 8.0, 12.5, Verdict::Worse),
        compared(&without(FETCH), ALL, 0.99, 1.01, Verdict::Equivalent),
    ])
}

/// Fewer changes against all.
fn race(verdict: Verdict) -> RunDocument {
    let (low, high) = if verdict == Verdict::Worse { (1.5, 2.0) } else { (0.98, 1.03) };
    trial(&[compared(FEWER, ALL, low, high, verdict)])
}

fn answer(search: &RunDocument, proof: Option<&RunDocument>, before_proof: &[RunDocument]) -> SearchReport {
    report(Runs {
        search,
        proof,
        before_proof,
        highest_rates: None,
        other_rates: &[],
        restart: None,
        refused: &[],
    })
    .unwrap()
}

fn smallest(winner: &Properties, before: &[RunDocument]) -> Properties {
    to_prove(winner, before, &[]).smallest
}

fn refused(stage: TrialStage, run: &str) -> RefusedTrial {
    RefusedTrial { stage, run: run.to_owned(), reason: "no such topics here".to_owned() }
}

fn names(changes: &[ProposedChange]) -> Vec<&str> {
    changes.iter().map(|change| change.setting.as_str()).collect()
}

#[test]
fn only_changes_without_which_the_rest_is_worse_are_proven_once_the_rest_is_raced() {
    let linger = settings(&[(LINGER, "0")]);
    assert_eq!(smallest(&winner(), &[]), winner());
    assert_eq!(smallest(&winner(), &[parts()]), winner(), "the race is not over");
    assert_eq!(smallest(&winner(), &[parts(), race(Verdict::Undecided)]), linger);
    assert_eq!(smallest(&winner(), &[parts(), race(Verdict::Worse)]), winner());
}

#[test]
fn where_a_trial_is_refused_all_changes_go_to_the_proof_and_it_is_said() {
    let before = [parts(), race(Verdict::Undecided)];
    let search = search(BestEnding::Better);
    let told = |proof: Option<&RunDocument>, refused: &[RefusedTrial]| {
        let runs = Runs {
            search: &search,
            proof,
            before_proof: &before,
            highest_rates: None,
            other_rates: &[],
            restart: None,
            refused,
        };
        report(runs).unwrap()
    };
    for stage in [TrialStage::TakingBack, TrialStage::Proof] {
        assert_eq!(to_prove(&winner(), &before, &[refused(stage, "x")]).smallest, winner());
    }
    let looked = [refused(TrialStage::OtherRate, "at-0.7-of-the-rate")];
    assert_eq!(to_prove(&winner(), &before, &looked).smallest, settings(&[(LINGER, "0")]));
    let proof = trial(&[compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better)]);
    let of_all = told(Some(&proof), &[refused(TrialStage::Proof, "proof")]);
    assert_eq!((of_all.outcome, names(&of_all.proposed)), (SearchOutcome::Better, vec![FETCH, LINGER]));
    let last = of_all.summary.last().unwrap();
    assert_eq!(
        last,
        "The trial in proof was refused (no such topics here): all changes were proven together."
    );
    let none = told(None, &[refused(TrialStage::Proof, "proof")]);
    assert_eq!((none.outcome, names(&none.candidates)), (SearchOutcome::NotProven, vec![FETCH, LINGER]));
    assert_eq!(none.summary[0], "What looked better could not be held against your settings.");
    assert_eq!(none.refused_trials.len(), 1);
}

#[test]
fn a_single_change_that_no_part_shows_is_the_whole_of_what_is_proven() {
    let neither = trial(&[
        compared(&without(LINGER), ALL, 0.9, 1.2, Verdict::Undecided),
        compared(&without(FETCH), ALL, 0.8, 1.1, Verdict::Undecided),
    ]);
    let before = [neither, race(Verdict::Undecided)];
    let search = search(BestEnding::Better);
    let proof = trial(&[compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better)]);
    let answer = answer(&search, Some(&proof), &before);
    assert_eq!(names(&answer.proposed), [LINGER]);
    assert_eq!((answer.proposed[0].verdict, answer.proposed[0].effect), (PartVerdict::Whole, None));
}

#[test]
fn changes_that_are_not_shown_and_could_not_be_taken_back_are_said_to_be_so() {
    let search = search(BestEnding::Better);
    let proof = trial(&[compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better)]);
    let answer = answer(&search, Some(&proof), &[parts(), race(Verdict::Worse)]);
    assert_eq!(names(&answer.proposed), [FETCH, LINGER]);
    assert!(answer.summary[1].starts_with("1 of them not shown to matter alone"), "{:?}", answer.summary);
}

#[test]
fn a_part_is_what_the_change_does_and_not_what_its_absence_does() {
    let search = search(BestEnding::Better);
    let proof = trial(&[compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better)]);
    let alone = answer(&search, Some(&proof), &[parts(), race(Verdict::Equivalent)]);
    assert_eq!((alone.outcome, names(&alone.proposed)), (SearchOutcome::Better, vec![LINGER]));
    // Its part was measured in the company of a change that went back.
    assert_eq!((alone.proposed[0].verdict, alone.proposed[0].effect), (PartVerdict::Whole, None));
    let answer = answer(&search, Some(&proof), &[parts(), race(Verdict::Worse)]);
    assert_eq!(names(&answer.proposed), [FETCH, LINGER]);
    let change = &answer.proposed[1];
    assert_eq!((change.interval_low, change.interval_high), (Some(1.0 / 12.5), Some(1.0 / 8.0)));
    assert_eq!((change.from.as_str(), change.to.as_str(), change.verdict), ("5", "0", PartVerdict::Matters));
    assert!(
        answer.summary[0].contains("×0.100 (×0.0800 to ×0.125), 10.0 ms instead of 100 ms"),
        "{:?}",
        answer.summary
    );
}

#[test]
fn a_proof_whose_figures_may_mislead_says_so_and_its_arm_is_what_is_installed() {
    let search = search(BestEnding::Better);
    let mut proof = trial(&[
        compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better),
        compared(PROPOSED, ALL, 0.95, 1.05, Verdict::Equivalent),
        compared(ALL, AS_IS, 0.08, 0.125, Verdict::Better),
    ]);
    let reason = Finding::new("noisy-host", Severity::Suspect, "Threads waited for a processor".to_owned());
    proof.validity.reasons = vec![reason.clone(), reason];
    let answer = answer(&search, Some(&proof), &[parts(), race(Verdict::Equivalent)]);
    assert_eq!(answer.outcome, SearchOutcome::Better);
    let last = answer.summary.last().unwrap();
    let words = "The figures of the proof may mislead: Threads waited for a processor; plumb report";
    assert!(last.starts_with(words), "{last}");
    let installed = proven(&proof).unwrap();
    assert_eq!((installed.step.as_str(), installed.against.as_str()), (PROPOSED, AS_IS));
}

#[test]
fn where_the_fewest_changes_are_not_enough_all_of_them_are_proposed_with_their_own_figures() {
    let search = search(BestEnding::Better);
    let proof = trial(&[
        compared(PROPOSED, AS_IS, 0.4, 0.6, Verdict::Better),
        compared(ALL, AS_IS, 0.08, 0.125, Verdict::Better),
        compared(ALL, PROPOSED, 0.1, 0.3, Verdict::Better),
    ]);
    let answer = answer(&search, Some(&proof), &[parts(), race(Verdict::Equivalent)]);
    assert_eq!(names(&answer.proposed), [FETCH, LINGER]);
    assert_eq!(answer.proof.unwrap().interval_high, Some(0.125));
}

#[test]
fn of_what_is_proven_the_fewest_changes_are_proposed_unless_more_are_shown_to_do_better() {
    let search = search(BestEnding::Better);
    let neither = trial(&[
        compared(&without(LINGER), ALL, 1.01, 1.5, Verdict::Undecided),
        compared(&without(FETCH), ALL, 0.9, 1.1, Verdict::Undecided),
    ]);
    // Nothing less held against both of them before the proof.
    let before = [neither, race(Verdict::Worse)];
    let proposed = |more: Verdict| {
        let proof = trial(&[
            compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better),
            compared(SHOWN, AS_IS, 0.1, 0.2, Verdict::Better),
            compared(SHOWN, PROPOSED, 1.0, 1.4, more),
        ]);
        let answer = answer(&search, Some(&proof), &before);
        (answer.proof.unwrap().interval_high, names(&answer.proposed).len())
    };
    assert_eq!(proposed(Verdict::Undecided), (Some(0.2), 1));
    assert_eq!(proposed(Verdict::Worse), (Some(0.125), 2));
}

#[test]
fn what_is_not_proven_is_a_candidate_and_nothing_is_proposed() {
    let search = search(BestEnding::Better);
    let better = || trial(&[compared(PROPOSED, AS_IS, 0.08, 0.125, Verdict::Better)]);
    let mut unlike = better();
    unlike.trial.as_mut().unwrap().unequal_guarantees = vec!["acks: all / 0".to_owned()];
    let mut unfit = better();
    unfit.validity.verdict = ValidityVerdict::Invalid;
    let undecided = trial(&[compared(PROPOSED, AS_IS, 0.4, 1.2, Verdict::Undecided)]);
    for proof in [unlike, unfit, undecided] {
        let answer = answer(&search, Some(&proof), &[]);
        assert_eq!(answer.outcome, SearchOutcome::NotProven);
        assert_eq!((answer.proposed.len(), answer.candidates.len()), (0, 2));
    }
    let to_prove = answer(&search, None, &[]);
    assert_eq!((to_prove.outcome, to_prove.proposed.len()), (SearchOutcome::ToProve, 0));
}

#[test]
fn nothing_tried_is_not_as_good_as_any() {
    let mut document = search(BestEnding::AsGood);
    assert_eq!(answer(&document, None, &[]).outcome, SearchOutcome::AsGood);
    document.settings_search.as_mut().unwrap().blocks.truncate(1);
    let answer = answer(&document, None, &[]);
    assert_eq!(answer.outcome, SearchOutcome::NothingTried);
    assert!(answer.summary[0].starts_with("Nothing else was tried in 1 block"), "{:?}", answer.summary);
}

#[test]
fn a_rate_is_higher_only_where_the_other_one_is_confirmed_not_to_hold_it() {
    let rates = |before: (Option<f64>, Option<f64>), after: Option<f64>| {
        let mut document = healthy();
        let found = [(AS_IS, before.0, before.1), (PROPOSED, after, None)];
        for (step, (name, low, high)) in document.steps.iter_mut().zip(found) {
            step.name = name.to_owned();
            step.durability = Durability::default();
            step.search = Some(SearchResult {
                goal: Goal {
                    latency: plumb_model::plan::GoalLatency::EndToEnd,
                    quantile: 0.99,
                    limit: plumb_model::units::Nanos(1),
                },
                rate_low_per_s: low,
                rate_high_per_s: high,
                bounded_by: Some(SearchBound::Path),
                tries: Vec::new(),
            });
        }
        document
    };
    let outcome = |rates: &RunDocument| {
        let search = search(BestEnding::Better);
        let runs = Runs {
            search: &search,
            proof: None,
            before_proof: &[],
            highest_rates: Some(rates),
            other_rates: &[],
            restart: None,
            refused: &[],
        };
        report(runs).unwrap().outcome
    };
    assert_eq!(outcome(&rates((Some(1_000.0), Some(1_100.0)), Some(1_500.0))), SearchOutcome::Better);
    assert_eq!(outcome(&rates((Some(1_000.0), Some(1_600.0)), Some(1_500.0))), SearchOutcome::NotProven);
    assert_eq!(outcome(&rates((Some(1_000.0), None), Some(1_500.0))), SearchOutcome::NotProven);
    let mut unlike = rates((Some(1_000.0), Some(1_100.0)), Some(1_500.0));
    unlike.steps[1].durability.acks = Some("0".to_owned());
    assert_eq!(outcome(&unlike), SearchOutcome::NotProven);
}

#[test]
fn a_start_that_does_better_is_worth_a_restart_and_no_part_of_what_is_proposed() {
    let change = |setting: &str| StartChange {
        setting: setting.to_owned(),
        from: "1".to_owned(),
        to: "2".to_owned(),
        advised_by: None,
    };
    let (better, not) = (change("queued.max.requests"), change("heap"));
    let mut document = search(BestEnding::AsGood);
    document.plan.settings_search.as_mut().unwrap().restart = vec![better.clone(), not.clone()];
    let restart = trial(&[
        compared(&started_with(&better), AS_IS, 0.5, 0.7, Verdict::Better),
        compared(&started_with(&not), AS_IS, 0.9, 1.2, Verdict::Undecided),
    ]);
    let answered = |restart: &RunDocument| {
        let runs = Runs {
            search: &document,
            proof: None,
            before_proof: &[],
            highest_rates: None,
            other_rates: &[],
            restart: Some(restart),
            refused: &[],
        };
        report(runs).unwrap()
    };
    let answer = answered(&restart);
    assert_eq!((answer.outcome, answer.proposed.len()), (SearchOutcome::AsGood, 0));
    let verdicts: Vec<Verdict> = answer.restart.iter().map(|start| start.verdict).collect();
    assert_eq!(verdicts, [Verdict::Better, Verdict::Undecided]);
    let worth: Vec<&String> = answer.summary.iter().filter(|text| text.contains("Worth a restart")).collect();
    assert!(matches!(worth[..], [one] if one.contains("queued.max.requests 2")), "{:?}", answer.summary);
    // What promises something else, or is unfit, is no better.
    let mut unlike = trial(&[compared(&started_with(&better), AS_IS, 0.5, 0.7, Verdict::Better)]);
    unlike.trial.as_mut().unwrap().unequal_guarantees = vec!["acks: all / 0".to_owned()];
    let mut unfit = restart;
    unfit.validity.verdict = ValidityVerdict::Invalid;
    for doubtful in [unlike, unfit] {
        let answer = answered(&doubtful);
        assert_eq!(answer.restart[0].verdict, Verdict::Undecided);
        assert!(!answer.restart[0].reasons.is_empty());
        assert!(answer.summary.iter().all(|text| !text.contains("restart")), "{:?}", answer.summary);
    }
}

#[test]
fn settings_that_changed_together_in_every_block_are_not_told_apart_whatever_the_model_makes_of_them() {
    let mut document = search(BestEnding::AsGood);
    let dimensions = document.plan.settings_search.as_ref().unwrap().dimensions.len();
    let result = document.settings_search.as_mut().unwrap();
    result.importance = vec![Importance { share: 0.5, low: 0.2, high: 0.8 }; dimensions];
    let of = |document: &RunDocument, setting: &str| {
        let report = answer(document, None, &[]);
        report.importance.into_iter().find(|row| row.setting == setting).unwrap()
    };
    let linger = of(&document, LINGER);
    assert!(!linger.is_told);
    assert_eq!(linger.together.unwrap().sentence(), format!("changed together with {FETCH} in every block"));
    assert_eq!(of(&document, FETCH).together.unwrap().with, [LINGER]);
    let result = document.settings_search.as_mut().unwrap();
    result.blocks.push(SearchBlock { failed: Some("no".to_owned()), ..block(settings(&[(LINGER, "0")])) });
    assert!(!of(&document, LINGER).is_told, "a block without figures tells nothing");
    let result = document.settings_search.as_mut().unwrap();
    result.blocks.push(block(settings(&[(LINGER, "0")])));
    assert!(of(&document, LINGER).is_told && of(&document, FETCH).is_told);
}

#[test]
fn blocks_of_ones_own_settings_that_fail_are_told_with_their_own_reason() {
    let failed = |settings: Properties, why: &str| SearchBlock {
        objective: None,
        failed: Some(why.to_owned()),
        ..block(settings)
    };
    let own = || failed(Properties::new(), "3 messages lost");
    let mut document = search(BestEnding::AsGood);
    document.settings_search.as_mut().unwrap().blocks.extend([own(), own()]);
    let last = answer(&document, None, &[]).summary.pop().unwrap();
    assert_eq!(
        last,
        "2 of the 3 blocks of your own settings failed: 3 messages lost. That may be the path's doing, as where a broker gave no answer."
    );
    let result = document.settings_search.as_mut().unwrap();
    result.blocks.push(failed(winner(), "2 messages doubled"));
    result.ending = Some(BestEnding::DefaultFailed);
    let summary = answer(&document, None, &[]).summary;
    let words = "Your own settings failed in each round of the race, so there is nothing to hold others against: 3 messages lost.";
    assert_eq!(summary, [words]);
    document.settings_search.as_mut().unwrap().blocks.remove(0);
    let summary = answer(&document, None, &[]).summary;
    assert!(summary[0].starts_with("Your own settings could not be measured"), "{summary:?}");
    assert!(summary[0].ends_with(": 3 messages lost."), "{summary:?}");
}

#[test]
fn a_search_that_ended_with_an_error_says_which_and_how_it_goes_on() {
    let mut document = search(BestEnding::Better);
    let silent = "the brokers of b:1 have given no answer for 47 s";
    let told = |document: &RunDocument| {
        ended_with_error(report(Runs::of(document)).unwrap(), silent, "plumb search --resume found")
    };
    let after = told(&document);
    assert_eq!(after.outcome, SearchOutcome::ToProve);
    let said = |report: &SearchReport| report.summary[report.summary.len() - 2..].join(" ");
    let way_on = "It goes on with: plumb search --resume found";
    assert_eq!(said(&after), format!("It ended with an error then: {silent}. {way_on}"));
    document.settings_search.as_mut().unwrap().ending = None;
    let amid = told(&document);
    assert_eq!((amid.outcome, amid.error.as_deref()), (SearchOutcome::Interrupted, Some(silent)));
    let blocks = counted(amid.blocks.len(), "block");
    assert_eq!(
        said(&amid),
        format!(
            "The search ended with an error after {blocks}: {silent}. What it saw so far is no result. {way_on}"
        )
    );
}
