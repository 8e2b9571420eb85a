//! Consumers committed their positions so often that the group's coordinator had that to do as well.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, count, plain};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::Driver;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "commit-storm",
        summary: "Consumers committed offsets more than ten times a second each.",
        page: include_str!("../../../../docs/findings/commit-storm.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the commits are counted by the clients that make them",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "commit less often",
            setting: Some(SettingRow { path: "consumer.auto.commit.interval.ms", value: "5000" }),
            observe: "commits per second of each consumer",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Commits per second and consumer (Redpanda's fork of the Open Messaging Benchmark took commits out of its way for the load on the
/// coordinator; the figure is ours: the clients' default is one in five seconds).
const PER_S_MAX: f64 = 10.0;
/// Fewer were no storm, however short the windows (ours).
const COMMITS_MIN: u64 = 20;

fn check(case: &Case) -> Vec<Finding> {
    let look = |setup: Setup| match per_s(&setup) {
        Some((per_s, commits)) => counted(&setup, per_s, commits),
        None => asked_for(&setup),
    };
    case.setups().filter(Setup::consumes).filter_map(look).collect()
}

/// Commits per second and consumer as the clients counted them, and how many they were; absent where they do not tell.
fn per_s(setup: &Setup) -> Option<(f64, u64)> {
    let statistics = &setup.result.consumer_statistics;
    let commits = statistics.offset_commits?;
    let windows_s = statistics.windows_s.filter(|time| *time > 0.0)?;
    Some((commits as f64 / windows_s, commits))
}

fn counted(setup: &Setup, per_s: f64, commits: u64) -> Option<Finding> {
    (per_s > PER_S_MAX && commits >= COMMITS_MIN).then(|| {
        finding(setup, Severity::Suspect)
            .seen_against(
                "commits per second and consumer",
                figure::rate(per_s),
                format!("at most {}", plain(PER_S_MAX)),
            )
            .seen("commits in the windows of the statistics", count(commits))
    })
}

/// The rate that the settings ask for, where nobody counted: only a consumer that receives all the time commits so often.
fn asked_for(setup: &Setup) -> Option<Finding> {
    let consumer = &setup.result.effective.consumer;
    let commits = setup.driver() == Driver::Librdkafka
        && consumer.get("enable.auto.commit").is_some_and(|value| value == "true");
    let interval_ms: f64 = consumer.get("auto.commit.interval.ms")?.parse().ok()?;
    (commits && interval_ms > 0.0 && interval_ms < 1_000.0 / PER_S_MAX).then(|| {
        finding(setup, Severity::Note).seen_against(
            "auto.commit.interval.ms",
            plain(interval_ms),
            format!("at least {}", plain(1_000.0 / PER_S_MAX)),
        )
    })
}

fn finding(setup: &Setup, severity: Severity) -> Finding {
    let claim = "Consumers commit their offsets so often that the group's coordinator has that load as well";
    about_step(RULE.row.id, severity, setup.name(), claim)
        .advise("Raise auto.commit.interval.ms (the default is 5000), or commit for many records at once.")
        .advise("If your application commits so often, keep it, and say so beside the figures.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn fifty_commits_a_second_are_found_and_one_in_five_seconds_is_not() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let statistics = &mut document.steps[0].consumer_statistics;
            (statistics.offset_commits, statistics.windows_s) = (Some(4_500), Some(90.0));
        });
        assert_eq!(finding.evidence[0].value, "50");
        let mut document = healthy();
        let statistics = &mut document.steps[0].consumer_statistics;
        (statistics.offset_commits, statistics.windows_s) = (Some(18), Some(90.0));
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn where_nobody_counted_the_interval_that_was_asked_for_is_noted() {
        let set = |document: &mut plumb_model::document::RunDocument, interval: &str| {
            let consumer = &mut document.steps[0].effective.consumer;
            consumer.insert("enable.auto.commit".to_owned(), "true".to_owned());
            consumer.insert("auto.commit.interval.ms".to_owned(), interval.to_owned());
        };
        assert_found(RULE.row.id, Severity::Note, |document| set(document, "20"));
        let mut document = healthy();
        set(&mut document, "5000");
        assert_eq!(found(&document, RULE.row.id), []);
        set(&mut document, "20");
        document.steps[0].consumer_statistics.offset_commits = Some(3);
        document.steps[0].consumer_statistics.windows_s = Some(90.0);
        assert_eq!(found(&document, RULE.row.id), [], "what was counted is what happened");
    }
}
