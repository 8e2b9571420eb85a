//! The answers of two searches side by side: what each would change and what that was proven to do.
//!
//! Each ratio is of a search's own proof, against the settings that it began with. Two of them answer one question only where load, path and
//! objective are the same; and which of two proposals is better even then takes a trial of both.

use plumb_model::compare::searches::{
    ComparedProof, ComparedSearch, ComparedSetting, SEARCHES_COMPARED_SCHEMA_VERSION, SearchDifference,
    SearchesCompared, SettingStep,
};
use plumb_model::figure::{quantile, time};
use plumb_model::plan::Goal;
use plumb_model::search_report::{ProposedChange, SearchProof, SearchReport};
use std::collections::BTreeSet;
use thiserror::Error;

/// One search of two.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its directory, as it was named.
    pub place: &'a str,
    /// Its answer.
    pub report: &'a SearchReport,
}

/// Both are one search.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("both are the search {name:?} of {started_at} itself, which differs from itself in nothing")]
pub struct SameSearch {
    name: String,
    started_at: String,
}

/// Two searches side by side.
///
/// # Errors
/// [`SameSearch`] where both are one.
pub fn compare(a: Side<'_>, b: Side<'_>) -> Result<SearchesCompared, SameSearch> {
    let of = |report: &SearchReport| (report.name.clone(), report.started_at.clone(), report.seed);
    if of(a.report) == of(b.report) {
        let (name, started_at, _) = of(a.report);
        return Err(SameSearch { name, started_at });
    }
    let differences = differences(a.report, b.report);
    Ok(SearchesCompared {
        schema_version: SEARCHES_COMPARED_SCHEMA_VERSION,
        a: searched(a),
        b: searched(b),
        cannot_show: cannot_show(&differences),
        differences,
        settings: settings(a.report, b.report),
    })
}

fn searched(Side { place, report }: Side<'_>) -> ComparedSearch {
    ComparedSearch {
        place: place.to_owned(),
        name: report.name.clone(),
        started_at: report.started_at.clone(),
        metric: report.metric.clone(),
        outcome: report.outcome,
        summary: report.summary.first().cloned().unwrap_or_default(),
        blocks: report.blocks.len(),
        proof: report.proof.as_ref().map(proof),
    }
}

fn proof(proof: &SearchProof) -> ComparedProof {
    let SearchProof { estimate_ratio, interval_low, interval_high, level, verdict, pairs, .. } = *proof;
    ComparedProof { estimate_ratio, interval_low, interval_high, level, verdict, pairs }
}

/// What differs in the question, and in what the answer holds for.
fn differences(a: &SearchReport, b: &SearchReport) -> Vec<SearchDifference> {
    let mut all = Vec::new();
    let mut hold = |what: &str, a: Option<String>, b: Option<String>| {
        if a != b {
            all.push(SearchDifference { what: what.to_owned(), a, b });
        }
    };
    let objective = |report: &SearchReport| Some(report.objective.name().to_owned());
    hold("objective", objective(a), objective(b));
    hold("metric", Some(a.metric.clone()), Some(b.metric.clone()));
    hold("goal", a.goal.map(goal), b.goal.map(goal));
    hold("promise", Some(a.promise.clone()), Some(b.promise.clone()));
    let facts = a.envelope.iter().chain(&b.envelope).map(|fact| fact.what.as_str());
    for what in facts.collect::<BTreeSet<_>>() {
        let of = |report: &SearchReport| {
            let fact = report.envelope.iter().find(|fact| fact.what == what);
            fact.map(|fact| fact.value.clone())
        };
        hold(what, of(a), of(b));
    }
    let began = |report: &SearchReport, setting: &str| {
        let dimension = report.space.iter().find(|dimension| dimension.setting == setting)?;
        dimension.values.get(dimension.current).cloned()
    };
    for dimension in &a.space {
        let setting = dimension.setting.as_str();
        // A setting that only one of them may change is no other question; what it begins with in the other is not known.
        if let (Some(from_a), Some(from_b)) = (began(a, setting), began(b, setting)) {
            hold(&format!("{setting} before"), Some(from_a), Some(from_b));
        }
    }
    all
}

fn goal(goal: Goal) -> String {
    format!("{} of at most {}", quantile(goal.quantile), time(goal.limit.0 as f64))
}

/// What either of them would change.
fn settings(a: &SearchReport, b: &SearchReport) -> Vec<ComparedSetting> {
    let names = [a, b].into_iter().flat_map(|report| report.proposed.iter().chain(&report.candidates));
    let names: BTreeSet<&str> = names.map(|change| change.setting.as_str()).collect();
    let step = |report: &SearchReport, setting: &str| {
        let of = |changes: &[ProposedChange], proven| {
            let change = changes.iter().find(|change| change.setting == setting)?;
            Some(SettingStep { from: change.from.clone(), to: change.to.clone(), proven })
        };
        of(&report.proposed, true).or_else(|| of(&report.candidates, false))
    };
    let row = |setting: &str| ComparedSetting {
        setting: setting.to_owned(),
        a: step(a, setting),
        b: step(b, setting),
    };
    names.into_iter().map(row).collect()
}

fn cannot_show(differences: &[SearchDifference]) -> Vec<String> {
    let unlike = (!differences.is_empty()).then(|| {
        let what: Vec<&str> = differences.iter().map(|difference| difference.what.as_str()).collect();
        format!(
            "The searches differ in {}: their ratios are no answers to the same question.",
            what.join(", ")
        )
    });
    let trial = "Each ratio is against the search's own settings, in blocks of its own: which proposal is better is told by a trial that \
                 has both as arms.";
    unlike.into_iter().chain([trial.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::healthy;
    use crate::settings_search::{Runs, report};
    use plumb_model::best::BestEnding;
    use plumb_model::resolve::{Sources, resolve};
    use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, RateWords, Scenario, SearchWords};
    use plumb_model::search_report::PartVerdict;
    use plumb_model::settings_search::SettingsSearchResult;

    fn search() -> SearchReport {
        let rate = Some(OneOrMany::One(RateWords::PerSecond(300.0)));
        let scenario = Scenario {
            cluster: Some(ClusterWords { bootstrap: Some("b:1".to_owned()), ..ClusterWords::default() }),
            load: LoadWords { rate, ..LoadWords::default() },
            search: Some(SearchWords::default()),
            ..Scenario::default()
        };
        let mut document = healthy();
        document.plan = resolve(&scenario, &Sources::new()).unwrap();
        document.steps.clear();
        let ending = Some(BestEnding::AsGood);
        document.settings_search = Some(SettingsSearchResult { ending, ..SettingsSearchResult::default() });
        report(Runs::of(&document)).unwrap()
    }

    fn change(setting: &str, from: &str, to: &str) -> ProposedChange {
        ProposedChange {
            setting: setting.to_owned(),
            from: from.to_owned(),
            from_is_written: true,
            to: to.to_owned(),
            effect: None,
            interval_low: None,
            interval_high: None,
            verdict: PartVerdict::NotMeasured,
        }
    }

    fn compared(a: &SearchReport, b: &SearchReport) -> SearchesCompared {
        compare(Side { place: "a", report: a }, Side { place: "b", report: b }).unwrap()
    }

    #[test]
    fn what_two_searches_would_change_stands_side_by_side_and_candidates_are_no_proposals() {
        let (mut a, mut b) = (search(), search());
        b.started_at = "2026-02-03T04:05:06Z".to_owned();
        a.proposed = vec![change("producer.linger.ms", "5", "0")];
        a.candidates = Vec::new();
        b.proposed = Vec::new();
        b.candidates =
            vec![change("producer.linger.ms", "5", "1"), change("consumer.fetch.min.bytes", "1", "9")];
        let compared = compared(&a, &b);
        let step = |from: &str, to: &str, proven| {
            Some(SettingStep { from: from.to_owned(), to: to.to_owned(), proven })
        };
        let rows: Vec<_> = compared
            .settings
            .iter()
            .map(|row| (row.setting.as_str(), row.a.clone(), row.b.clone()))
            .collect();
        assert_eq!(
            rows,
            [
                ("consumer.fetch.min.bytes", None, step("1", "9", false)),
                ("producer.linger.ms", step("5", "0", true), step("5", "1", false)),
            ]
        );
        assert_eq!(compared.differences, []);
        assert_eq!(compared.cannot_show.len(), 1, "{:?}", compared.cannot_show);
    }

    #[test]
    fn another_load_or_objective_is_another_question() {
        let (a, mut b) = (search(), search());
        b.seed += 1;
        b.metric = "cpu.per_message".to_owned();
        b.envelope[0].value = "7 messages/s".to_owned();
        b.space[0].current = (b.space[0].current + 1) % b.space[0].values.len();
        let compared = compared(&a, &b);
        let what: Vec<&str> =
            compared.differences.iter().map(|difference| difference.what.as_str()).collect();
        let before = format!("{} before", a.space[0].setting);
        assert_eq!(what, ["metric", a.envelope[0].what.as_str(), &before]);
        assert!(compared.cannot_show[0].contains("no answers to the same question"));
    }

    #[test]
    fn a_search_is_not_compared_with_itself() {
        let one = search();
        let side = |place| Side { place, report: &one };
        assert!(compare(side("a"), side("b/search")).unwrap_err().to_string().contains("itself"));
    }
}
