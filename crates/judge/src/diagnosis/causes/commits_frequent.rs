//! Consumers spend their time in commits.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, most, ratio, share};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent, ratio_digits, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "commits-frequent",
        summary: "Consumers spend their time in commits.",
        page: include_str!("../../../../../docs/findings/commits-frequent.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "commits a second times their mean time are a good part of the time",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "commit every 5 s without waiting",
            setting: None,
            observe: "messages a second of the consumers",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[],
    rivals: &["consumer-slow", "coordinator-load"],
    advice: &[
        "Commit every 5 s or every some thousand messages, without waiting for the answer (commitAsync).",
    ],
    check,
};

/// Share of the time in commits from which they are worth a look, and from which they are a cause (ours).
const SHARE_SEEN: f64 = 0.1;
const SHARE_MIN: f64 = 0.3;
/// Commits a second, and commits over messages done, from which each message has one (ours): librdkafka does not tell what a commit takes.
const PER_S_MIN: f64 = 10.0;
const EACH_MIN: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let in_commits =
        |client: &ClientWindow| Some(known(client.commits_per_s)? * known(client.commit_mean_ns)? / 1e9);
    let share = share(most(case.consumers().map(in_commits))).filter(|share| *share >= SHARE_SEEN);
    // Where the client does not tell what its application took: what it fetched and is not behind with.
    let done_per_s = |client: &ClientWindow| {
        let not_behind = || known(Some(client.messages_per_s? - client.lag_growth_per_s.unwrap_or(0.0)));
        known(client.taken_per_s).or_else(not_behind)
    };
    let each = most(case.consumers().map(|client| {
        let commits_per_s = known(client.commits_per_s).filter(|per_s| *per_s >= PER_S_MIN)?;
        ratio(Some(commits_per_s), done_per_s(client))
    }));
    let for_each = case.lag_grows() && each.is_some_and(|each| each >= EACH_MIN);
    if share.is_none() && !for_each {
        return None;
    }
    let waits = case.matters(Stage::Fetch) || case.lag_grows();
    let claim = match share {
        Some(share) => format!("A consumer spends {} of its time in commits", percent(share)),
        None => "A consumer commits for nearly each message that its application takes, and falls behind"
            .to_owned(),
    };
    Some(
        Claim::new(for_each || share.is_some_and(|share| share >= SHARE_MIN) && waits, share, claim)
            .seen("commits", case.consumers_most(|client| client.commits_per_s), per_s, "about 0.2/s")
            .seen("mean time of a commit", case.consumers_most(|client| client.commit_mean_ns), time, "")
            .seen("share of the time", share, percent, "below 10 %")
            .seen("commits over messages that the application took", each, ratio_digits, "far below 0.5")
            .seen("lag growth, of the messages", case.lag_growth(), percent, "0 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| {
        (client.commits_per_s, client.commit_mean_ns) = (Some(240.0), Some(3.8e6));
        (client.lag_growth_per_s, client.poll_idle_share) = (Some(6_000.0), Some(0.05));
    });
    wait(path, |waits| waits.fetch = 3_000.0);
}
