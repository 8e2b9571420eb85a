//! The sentences of a search's answer, the main one first.

use super::{AS_IS, Runs};
use crate::trial::metric::shown;
use plumb_model::best::BestEnding;
use plumb_model::document::RunDocument;
use plumb_model::figure::{count, counted, percent, ratio, significant};
use plumb_model::finding::{Finding, Severity, ValidityVerdict};
use plumb_model::search_report::{
    PartVerdict, ProposedChange, RefusedTrial, Restarted, SearchOutcome, SearchReport, TrialStage,
};
use plumb_model::settings_search::SearchBlock;
use plumb_model::verdict::Verdict;

pub(super) fn summary(report: &SearchReport, runs: Runs<'_>) -> Vec<String> {
    let blocks = counted(report.blocks.len(), "block");
    let would_have_shown = report
        .smallest_gain_ratio
        .map(|gain| format!("A gain of {} or more would have shown.", percent(1.0 - gain)));
    let mut sentences = match report.outcome {
        SearchOutcome::Better => better(report, runs),
        SearchOutcome::AsGood => {
            let first = format!("Your settings are as good as any of those found in {blocks}.");
            [Some(first), would_have_shown].into_iter().flatten().collect()
        }
        SearchOutcome::NotProven => not_proven(report, runs),
        SearchOutcome::NothingMeetsGoal => {
            vec![format!("Nothing that was tried in {blocks} holds the goal, and neither do your settings.")]
        }
        SearchOutcome::TooNoisy => too_noisy(report, runs),
        SearchOutcome::ToProve => vec![format!(
            "{} looked better in {blocks}. That is a candidate and no result: the best of many blocks is partly luck. A trial proves it.",
            counted(report.candidates.len(), "change")
        )],
        SearchOutcome::NothingTried => vec![
            format!(
                "Nothing else was tried in {blocks}: {} ruled out by the load and by what the first block showed.",
                match report.ruled_out.len() {
                    0 => "no preset is among the settings that may change, and none is".to_owned(),
                    1 => "the one preset is".to_owned(),
                    presets => format!("all {presets} presets are"),
                }
            ),
            "With 20 blocks or more (--budget) a model chooses what else to try.".to_owned(),
        ],
        SearchOutcome::Interrupted if report.ending.is_some() => vec![format!(
            "The search is over after {blocks}, and was stopped before what it found was proven: candidates are no result."
        )],
        SearchOutcome::Interrupted => {
            vec![format!("The search was stopped after {blocks}: what it saw so far is no result.")]
        }
        SearchOutcome::Failed => vec![failed(report)],
    };
    if report.outcome == SearchOutcome::NotProven {
        sentences.push("No change is proposed.".to_owned());
    }
    sentences.extend(own_failures(report));
    sentences.extend(report.refused_trials.iter().map(|trial| refused(trial, report)));
    sentences
        .extend(report.restart.iter().filter(|start| start.verdict == Verdict::Better).map(better_start));
    sentences
}

fn better(report: &SearchReport, runs: Runs<'_>) -> Vec<String> {
    if !report.highest_rates.is_empty() {
        return higher(report);
    }
    let Some(proof) = &report.proof else { return Vec::new() };
    let changes = counted(report.proposed.len(), "change");
    let interval = match (proof.interval_low, proof.interval_high) {
        (Some(low), Some(high)) => format!(" ({} to {})", ratio(low), ratio(high)),
        _ => String::new(),
    };
    let gain = proof.estimate_ratio.map(ratio).unwrap_or_default();
    let values = match (proof.before, proof.after) {
        (Some(before), Some(after)) => {
            format!(", {} instead of {}", shown(&proof.unit, after), shown(&proof.unit, before))
        }
        _ => String::new(),
    };
    let mut sentences = vec![format!(
        "{changes} proven better: {} {gain}{interval}{values}, in {} of blocks that did not choose them{}.",
        report.metric,
        counted(proof.pairs as usize, "pair"),
        match proof.starts {
            0 | 1 => String::new(),
            starts => format!(", on {} of the brokers", counted(starts as usize, "start")),
        }
    )];
    let doubtful = |change: &&ProposedChange| {
        matches!(change.verdict, PartVerdict::NotShown | PartVerdict::Idle | PartVerdict::Harmful)
    };
    match report.proposed.iter().filter(doubtful).count() {
        0 => {}
        doubtful => sentences.push(format!(
            "{doubtful} of them not shown to matter alone; fewer changes did not do as well in a trial."
        )),
    }
    if let Some(goal) = proof.goal_held {
        sentences.push(format!("The goal held in {} of {} blocks.", goal.held, goal.blocks));
    }
    sentences.extend(runs.proof.and_then(suspect));
    sentences
}

/// That the figures of a proof may mislead, and why; none where nothing says so.
fn suspect(proof: &RunDocument) -> Option<String> {
    let suspect = || proof.validity.reasons.iter().filter(|reason| reason.severity == Severity::Suspect);
    let mut claims: Vec<&str> = Vec::new();
    for reason in suspect() {
        if !claims.contains(&reason.claim.as_str()) {
            claims.push(&reason.claim);
        }
    }
    let (first, rest) = claims.split_first()?;
    let first = first.trim_end_matches('.');
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" ({} more)", count(more as u64)),
    };
    Some(format!(
        "The figures of the proof may mislead: {first}{more}; plumb report of its directory says all of it."
    ))
}

fn refused(trial: &RefusedTrial, report: &SearchReport) -> String {
    let RefusedTrial { stage, run, reason } = trial;
    let then = match stage {
        TrialStage::TakingBack => ": all changes went to the proof together",
        TrialStage::Proof if report.proof.is_some() => ": all changes were proven together",
        TrialStage::Proof | TrialStage::OtherRate => "",
    };
    format!("The trial in {run} was refused ({reason}){then}.")
}

fn better_start(start: &Restarted) -> String {
    let interval = match (start.interval_low, start.interval_high) {
        (Some(low), Some(high)) => format!(" ({} to {})", ratio(low), ratio(high)),
        _ => String::new(),
    };
    format!(
        "Worth a restart: brokers started with {} {} do better than {}, {}{interval} in {} of {}.",
        start.change.setting,
        start.change.to,
        if start.against == AS_IS { "yours" } else { "yours with what is proposed" },
        start.estimate_ratio.map(ratio).unwrap_or_default(),
        counted(start.pairs as usize, "pair"),
        counted(start.starts as usize, "start")
    )
}

fn higher(report: &SearchReport) -> Vec<String> {
    let rates = report.highest_rates.iter().map(|rate| match rate.rate_low_per_s {
        Some(low) => format!("{} holds {} messages/s", rate.arm, significant(low, 4)),
        None => format!("{} holds no rate", rate.arm),
    });
    vec![format!(
        "{} proven: under the goal {}, each rate confirmed by runs of its own.",
        counted(report.proposed.len(), "change"),
        rates.collect::<Vec<_>>().join(", ")
    )]
}

fn not_proven(report: &SearchReport, runs: Runs<'_>) -> Vec<String> {
    if !report.highest_rates.is_empty() {
        let text = "What looked better holds no rate that your settings are shown not to hold.";
        return vec![text.to_owned()];
    }
    let Some(proof) = &report.proof else {
        let refused = runs.refused.iter().any(|trial| trial.stage == TrialStage::Proof);
        let first = match refused {
            true => "What looked better could not be held against your settings.",
            false => "The trial of what looked better has no figures.",
        };
        return vec![first.to_owned()];
    };
    let invalid = runs.proof.is_some_and(|document| document.validity.verdict == ValidityVerdict::Invalid);
    let first = match proof.verdict {
        _ if invalid => "The figures of the trial are not fit for use".to_owned(),
        _ if !proof.unequal_guarantees.is_empty() => {
            format!("What looked better promises something else: {}", proof.unequal_guarantees.join("; "))
        }
        Verdict::Better => "What looked better did not hold the goal in the trial".to_owned(),
        Verdict::Worse => "What looked better is worse in the trial".to_owned(),
        Verdict::Equivalent => "What looked better is no different in the trial".to_owned(),
        Verdict::Undecided => "The trial does not decide whether what looked better is better".to_owned(),
    };
    let estimate = proof.estimate_ratio.map(|estimate| format!(" ({} {})", report.metric, ratio(estimate)));
    let mut sentences = vec![format!("{first}{}.", estimate.unwrap_or_default())];
    let ended = |text: &String| if text.ends_with('.') { text.clone() } else { format!("{text}.") };
    sentences.extend(proof.reason.iter().map(ended));
    sentences.extend(proof.vetoes.iter().map(ended));
    if let Some(document) = runs.proof {
        let invalid = document.validity.reasons.iter().filter(|reason| reason.severity == Severity::Invalid);
        let of_arm = |reason: &Finding| match &reason.step {
            Some(step) => ended(&format!("{step:?}: {}", reason.claim)),
            None => ended(&reason.claim),
        };
        sentences.extend(invalid.map(of_arm));
        let left_out = document.trial.as_ref().map_or(0, |trial| trial.excluded.len());
        if left_out > 0 {
            sentences.push(format!(
                "{} left out as disturbed: plumb report of its directory, proof, says why.",
                counted(left_out, "pair")
            ));
        }
    }
    sentences
}

fn too_noisy(report: &SearchReport, runs: Runs<'_>) -> Vec<String> {
    let budget = runs.search.plan.settings_search.as_ref().map_or(0, |search| search.budget);
    let spread = report
        .spread_log
        .map(|spread| format!("equal blocks differ by a factor of {}", significant(spread.exp(), 2)));
    let gain = report.smallest_gain_ratio.map(|gain| {
        format!(
            "with a budget of {} only a gain of {} or more would show",
            counted(budget as usize, "block"),
            percent(1.0 - gain)
        )
    });
    let reasons: Vec<String> = [spread, gain].into_iter().flatten().collect();
    vec![
        format!("The search cannot show anything here: {}.", reasons.join(", and ")),
        "Make the path quieter (a machine of its own, longer blocks, a longer warm-up), or give it more blocks.".to_owned(),
    ]
}

/// That blocks of the user's own settings failed, where others of them were measured.
fn own_failures(report: &SearchReport) -> Option<String> {
    let own: Vec<&SearchBlock> = report.blocks.iter().filter(|block| block.settings.is_empty()).collect();
    let failures: Vec<&String> = own.iter().filter_map(|block| block.failed.as_ref()).collect();
    let first = failures.first().filter(|_| report.outcome != SearchOutcome::Failed)?;
    Some(format!(
        "{} of the {} of your own settings failed: {first}. That may be the path's doing, as where a broker gave no answer.",
        failures.len(),
        counted(own.len(), "block")
    ))
}

fn failed(report: &SearchReport) -> String {
    let of_own = matches!(report.ending, Some(BestEnding::DefaultFailed | BestEnding::NothingRan));
    let mut blocks = report.blocks.iter().rev().filter(|block| !of_own || block.settings.is_empty());
    let reason = blocks.find_map(|block| block.failed.clone()).unwrap_or_default();
    if !of_own {
        return format!("No other settings could be measured: {reason}.");
    }
    let was_measured = report.blocks.iter().any(|block| block.settings.is_empty() && block.failed.is_none());
    match was_measured {
        true => format!(
            "Your own settings failed in each round of the race, so there is nothing to hold others against: {reason}."
        ),
        false => format!(
            "Your own settings could not be measured, so there is nothing to hold others against: {reason}."
        ),
    }
}
