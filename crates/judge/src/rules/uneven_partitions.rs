//! Partitions of one topic got unequal shares of its records.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, count, percent, significant};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::{Driver, Keys};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "uneven-partitions",
        summary: "Some partitions got far more records than others.",
        page: include_str!("../../../../docs/findings/uneven-partitions.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the records of each partition are counted",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "send without keys, or with keys that spread",
            setting: None,
            observe: "the largest share of a partition",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// The fullest partition may have so much more than the mean (ours, on the 10 % at which rpk calls leaders imbalanced).
const ABOVE_MEAN_MAX: f64 = 0.10;
/// So many standard deviations are left to chance: the fullest of a hundred partitions is seldom beyond.
const DEVIATIONS: f64 = 4.0;
/// librdkafka stays with one partition for so long where messages have no key (`sticky.partitioning.linger.ms`).
const STICKY_MS: f64 = 10.0;

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter(Setup::produces).filter_map(|setup| finding(&setup)).collect()
}

fn finding(setup: &Setup) -> Option<Finding> {
    let spread = &setup.result.spread;
    let ratio = spread.partitions_max_to_mean()?;
    let records = spread.partition_records.as_ref()?;
    let keyed = setup.load().is_some_and(|load| load.keys != Keys::None);
    let most = most(setup, records, keyed);
    if ratio <= most {
        return None;
    }
    let empty = records.iter().filter(|records| **records <= setup.result.blocks.len() as u64).count();
    let (severity, claim) = if keyed {
        (
            Severity::Note,
            "The keys put far more records on some partitions than on others: the fullest one is the path's limit",
        )
    } else {
        (
            Severity::Suspect,
            "Records without keys lie unevenly on the partitions: the figures are those of the fullest ones",
        )
    };
    let (least, fullest) = (records.iter().min()?, records.iter().max()?);
    Some(
        about_step(RULE.row.id, severity, setup.name(), claim)
            .seen_against("fullest partition to the mean", figure::ratio(ratio), format!("at most {}", figure::ratio(most)))
            .seen("records of the fullest and the emptiest", format!("{} and {}", count(*fullest), count(*least)))
            .seen("partitions that got nothing", format!("{empty} of {}", records.len()))
            .seen("messages per batch", setup.result.producer_statistics.batch_messages_mean.map_or("not known".to_owned(), |it| significant(it, 3)))
            .advise("Read it beside production's spread; with keys, give as many and as skewed ones as there are.")
            .advise("More partitions do not help where few keys carry most of the records."),
    )
}

/// The largest ratio that chance explains: of records with a key each one is drawn, else runs of them.
fn most(setup: &Setup, records: &[u64], keyed: bool) -> f64 {
    let all: u64 = records.iter().sum();
    let draws = if keyed { all as f64 } else { runs(setup, all as f64) };
    let deviation = ((records.len() as f64 - 1.0) / draws.max(1.0)).sqrt();
    1.0 + ABOVE_MEAN_MAX + DEVIATIONS * deviation
}

/// The number of times that a partition was chosen for messages without keys.
fn runs(setup: &Setup, records: f64) -> f64 {
    let batch = setup.result.producer_statistics.batch_messages_mean.filter(|messages| *messages >= 1.0);
    let batches = records / batch.unwrap_or(1.0);
    let sticky_ms = setup.producer_number(&["sticky.partitioning.linger.ms"]).unwrap_or(STICKY_MS);
    match (setup.driver(), setup.load()) {
        (Driver::Librdkafka, Some(load)) if sticky_ms > 0.0 => {
            let per_s = setup.result.achieved_per_s.filter(|rate| *rate > 0.0);
            let time_s = per_s.map_or(0.0, |rate| records / rate);
            batches.min(f64::from(load.producers) * time_s * 1_000.0 / sticky_ms)
        }
        _ => batches,
    }
}

/// The unevenness, for a sentence about a step.
pub(super) fn told(setup: &Setup) -> String {
    match setup.result.spread.partitions_max_to_mean() {
        Some(ratio) => format!("fullest partition {} above the mean", percent(ratio - 1.0)),
        None => "one partition, or not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn records_without_keys_on_two_of_four_partitions_are_suspect() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].spread.partition_records = Some(vec![5_000, 5_000, 0, 1]);
        });
        assert_eq!(finding.evidence[2].value, "2 of 4");
    }

    #[test]
    fn what_the_keys_of_the_load_do_is_a_note() {
        assert_found(RULE.row.id, Severity::Note, |document| {
            document.plan.steps[0].load.keys = Keys::Zipf { count: 100, exponent: 1.1 };
            document.steps[0].spread.partition_records = Some(vec![7_000, 1_000, 1_000, 1_000]);
        });
    }

    #[test]
    fn what_chance_does_is_not_said() {
        let mut document = healthy();
        document.steps[0].spread.partition_records = Some(vec![2_560, 2_440, 2_520, 2_480]);
        assert_eq!(found(&document, RULE.row.id), []);
        // Few batches lie less evenly than as many records would.
        document.steps[0].producer_statistics.batch_messages_mean = Some(500.0);
        document.steps[0].spread.partition_records = Some(vec![3_500, 2_500, 2_000, 2_000]);
        assert_eq!(found(&document, RULE.row.id), []);
        document.steps[0].spread.partition_records = Some(vec![10_000]);
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
