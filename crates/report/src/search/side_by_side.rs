//! The answers of two searches side by side, for people.

use super::{interval, known, verdict};
use crate::sheet::{Column, Section, Sheet};
use crate::trials;
use plumb_model::compare::searches::{
    ComparedProof, ComparedSearch, ComparedSetting, SearchDifference, SearchesCompared, SettingStep,
};
use plumb_model::figure::{ABSENT, percent, ratio};
use plumb_model::search_report::SearchOutcome;

/// The whole sheet.
pub fn sheet(compared: &SearchesCompared) -> Sheet {
    let (unlike, others) = match compared.differences.is_empty() {
        true => (Vec::new(), compared.cannot_show.clone()),
        false => (
            compared.cannot_show.iter().take(1).cloned().collect(),
            compared.cannot_show.iter().skip(1).cloned().collect(),
        ),
    };
    Sheet {
        title: format!("two searches: A {}, B {}", compared.a.place, compared.b.place),
        cautions: unlike,
        sections: differences(compared).into_iter().collect(),
        answer: vec![
            settings(compared),
            answers(compared),
            Section::sentences("What this cannot show", "", others),
        ],
        ..Sheet::default()
    }
}

fn sides(first: &'static str) -> [Column; 3] {
    [first, "A", "B"].map(Column::text)
}

fn differences(compared: &SearchesCompared) -> Option<Section> {
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| ABSENT.to_owned());
    let row = |of: &SearchDifference| vec![of.what.clone(), said(&of.a), said(&of.b)];
    let rows: Vec<Vec<String>> = compared.differences.iter().map(row).collect();
    (!rows.is_empty()).then(|| Section::table("What differs in the question", "", sides(""), rows))
}

/// What each would change.
fn settings(compared: &SearchesCompared) -> Section {
    let cell = |step: &Option<SettingStep>| match step {
        None => "left as it is".to_owned(),
        Some(SettingStep { from, to, proven: true }) => format!("{from} -> {to}"),
        Some(SettingStep { from, to, proven: false }) => format!("{from} -> {to} (not proven)"),
    };
    let row = |of: &ComparedSetting| vec![of.setting.clone(), cell(&of.a), cell(&of.b)];
    match compared.settings.is_empty() {
        true => {
            Section::sentences("To change", "", vec!["Neither of them found anything to change.".to_owned()])
        }
        false => {
            Section::table("To change", "", sides("setting"), compared.settings.iter().map(row).collect())
        }
    }
}

/// What came out, and what the proof of it shows.
fn answers(compared: &SearchesCompared) -> Section {
    let row = |what: &str, of: &dyn Fn(&ComparedSearch) -> String| {
        vec![what.to_owned(), of(&compared.a), of(&compared.b)]
    };
    let of_proof = |what: &str, of: fn(&ComparedProof) -> String| {
        row(what, &|search| search.proof.as_ref().map_or_else(|| ABSENT.to_owned(), of))
    };
    let range = |proof: &ComparedProof| {
        let level = percent(proof.level);
        format!("{} ({level})", interval(proof.interval_low, proof.interval_high))
    };
    let rows = vec![
        row("scenario", &|search| search.name.clone()),
        row("answer", &|search| outcome(search.outcome).to_owned()),
        row("metric", &|search| trials::metric(&search.metric)),
        of_proof("proof: with the changes / without", |proof| known(proof.estimate_ratio, ratio)),
        of_proof("its interval", range),
        of_proof("its verdict", |proof| verdict(proof.verdict).to_owned()),
        of_proof("its pairs", |proof| proof.pairs.to_string()),
    ];
    let meaning = "each against the settings that its search began with";
    Section::table("What was found", meaning, sides(""), rows)
}

fn outcome(outcome: SearchOutcome) -> &'static str {
    match outcome {
        SearchOutcome::Better => "proven better",
        SearchOutcome::AsGood => "as good as any found",
        SearchOutcome::NotProven => "not proven",
        SearchOutcome::NothingMeetsGoal => "nothing holds the goal",
        SearchOutcome::TooNoisy => "too noisy to tell",
        SearchOutcome::ToProve => "to be proven",
        SearchOutcome::NothingTried => "nothing else was tried",
        SearchOutcome::Interrupted => "stopped before its end",
        SearchOutcome::Failed => "blocks failed",
    }
}
