//! The bytes that all brokers together keep, by the whole retention, or with tiered storage by the part that stays at the
//! brokers.
//!
//! Kafka deletes whole segments at the brokers, and only those that are closed and copied to tiered storage (KIP-405). So each replica
//! keeps the local retention and its open segment, which is half full on average. Never more than without tiered storage: a segment whose
//! records are past the retention is closed and deleted.

use super::Case;
use super::assumptions::Assumed;
use super::input::{Input, Source};
use super::target::Target;
use plumb_model::figure::short;

/// The records that all brokers together keep.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    /// All copies.
    pub(super) bytes: f64,
    /// The figures that it was worked out from.
    pub(super) inputs: Vec<Input>,
}

/// The records that the brokers keep; absent where no retention is given.
pub(super) fn kept(case: &Case) -> Option<Kept> {
    let target = case.target;
    let copied_per_s = case.ingress.mean_bytes_per_s * f64::from(target.replication);
    let whole = target.retention_s.map(|retention_s| Kept {
        bytes: copied_per_s * retention_s,
        inputs: vec![hours("retention", retention_s, "--retention")],
    });
    let Some(local_s) = target.local_retention_s() else { return whole };
    let mut local = Kept {
        bytes: copied_per_s * local_s,
        inputs: vec![hours("local retention", local_s, "--local-retention")],
    };
    if let Some(partitions) = target.partitions {
        let replicas = partitions as f64 * f64::from(target.replication);
        local.bytes += replicas * case.assumptions.get(Assumed::SegmentBytes) / 2.0;
        local.inputs.push(partitions_given(partitions));
        local.inputs.push(case.assumptions.input(Assumed::SegmentBytes));
    }
    Some(match whole {
        Some(whole) if whole.bytes < local.bytes => whole,
        _ => local,
    })
}

/// Bytes in tiered storage: one copy of all that producers send within the retention.
pub(super) fn tiered_bytes(case: &Case) -> Option<f64> {
    case.target.tiered?;
    case.target.retention_s.map(|retention_s| case.ingress.mean_bytes_per_s * retention_s)
}

/// Cautions about the time for which records stay at the brokers, each as a sentence.
pub(super) fn cautions(target: &Target) -> Vec<String> {
    let Some(tiering) = target.tiered else { return Vec::new() };
    let caution = match (tiering.local_retention_s, target.partitions) {
        (None, _) => {
            "Tiered storage without a local retention leaves every record at the brokers for all of its retention, which is Kafka's \
             default (local.retention.ms -2): the storage bound is as without it. --local-retention says how long they are to stay."
        }
        (Some(_), None) => {
            "The open segment of each replica stays at the brokers beside the local retention. --partitions has them counted; without, the \
             storage bound is too low by half a segment for each."
        }
        (Some(_), Some(_)) => return Vec::new(),
    };
    vec![caution.to_owned()]
}

/// The number of partitions as an input.
pub(super) fn partitions_given(partitions: u64) -> Input {
    let source = Source::Given("--partitions".to_owned());
    Input { name: "partitions".to_owned(), shown: plumb_model::figure::count(partitions), source }
}

fn hours(name: &str, seconds: f64, flag: &str) -> Input {
    Input {
        name: name.to_owned(),
        shown: format!("{} h", short(seconds / 3_600.0)),
        source: Source::Given(flag.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    const DAY_S: f64 = 86_400.0;

    /// 1 GB/s for a week on brokers with room for 10 TB.
    fn week(tiered: Option<Tiering>, partitions: Option<u64>) -> Sizing {
        let load = Load { bytes_per_s: Some(1e9), ..Load::default() };
        let target = Target { load, retention_s: Some(7.0 * DAY_S), tiered, partitions, ..Target::default() };
        let figure = |value| Some(Figure::given(value, "", "test"));
        let machine =
            Machine { storage_bytes: figure(1e13), nic_bytes_per_s: figure(1e9), ..Machine::default() };
        size(&target, &machine, &Assumptions::default()).unwrap()
    }

    fn local(hours: f64) -> Option<Tiering> {
        Some(Tiering { local_retention_s: Some(hours * 3_600.0) })
    }

    fn known(sizing: &Sizing, name: BoundName) -> &Known {
        let bounds = &sizing.readings[0].capacity.bounds;
        bounds.iter().find(|bound| bound.name == name).unwrap().known().unwrap()
    }

    fn brokers(sizing: &Sizing) -> f64 {
        known(sizing, BoundName::Storage).physics.unwrap().exact
    }

    fn inputs(sizing: &Sizing) -> Vec<(&str, &str)> {
        let inputs = &known(sizing, BoundName::Storage).inputs;
        inputs.iter().map(|input| (input.name.as_str(), input.shown.as_str())).collect()
    }

    #[test]
    fn with_a_local_retention_the_brokers_keep_that_and_tiered_storage_one_copy_of_all() {
        let whole = week(None, None);
        // 1e9 x 3 copies x 604,800 s in 1e13.
        assert!((brokers(&whole) - 181.44).abs() < 1e-9);
        assert!(inputs(&whole).contains(&("retention", "168 h")));
        assert_eq!(whole.readings[0].capacity.tiered_bytes, None);
        let tiered = week(local(6.0), None);
        assert!((brokers(&tiered) - 6.48).abs() < 1e-9);
        assert!(inputs(&tiered).contains(&("local retention", "6 h")), "{:?}", inputs(&tiered));
        let capacity = &tiered.readings[0].capacity;
        assert_eq!(capacity.tiered_bytes, Some(604.8e12));
        let stored = capacity.physics.flows.stored_bytes.unwrap() * capacity.physics.brokers as f64;
        assert!((stored / 64.8e12 - 1.0).abs() < 1e-9, "{stored}");
        assert!(tiered.cautions.iter().any(|caution| caution.contains("--partitions has them counted")));
    }

    #[test]
    fn open_segments_stay_at_the_brokers_and_never_make_more_than_there_is() {
        let counted = week(local(6.0), Some(10_000));
        // 30,000 replicas with half a GiB each: 16.1 TB.
        assert!((brokers(&counted) - (6.48 + 1.610_612_736)).abs() < 1e-9, "{}", brokers(&counted));
        assert!(inputs(&counted).contains(&("partitions", "10,000")));
        assert!(inputs(&counted).iter().any(|(name, _)| name.starts_with("segment-bytes")));
        assert_eq!(counted.cautions, [""; 0]);
        let many = week(local(6.0), Some(100_000_000));
        assert_eq!(brokers(&many), brokers(&week(None, None)));
        assert!(inputs(&many).contains(&("retention", "168 h")));
    }

    #[test]
    fn tiered_storage_without_a_local_retention_saves_nothing_and_that_is_said() {
        let all = week(Some(Tiering::default()), None);
        assert_eq!(brokers(&all), brokers(&week(None, None)));
        assert!(all.cautions[0].contains("local.retention.ms -2"), "{:?}", all.cautions);
        let advice = |sizing: &Sizing| sizing.readings[0].capacity.advice.join(" ");
        assert!(advice(&all).contains("A local retention (local.retention.ms"), "{}", advice(&all));
        let none = week(None, None);
        assert!(advice(&none).contains("tiered storage with a local retention"), "{}", advice(&none));
        let short = week(local(100.0), None);
        assert!(advice(&short).contains("a shorter local retention"), "{}", advice(&short));
    }

    #[test]
    fn leaders_send_each_closed_segment_to_tiered_storage_once() {
        let sent = |tiered| known(&week(tiered, None), BoundName::NicOut).physics.unwrap().exact;
        assert_eq!([sent(None), sent(local(6.0))], [3.0, 4.0]);
    }

    #[test]
    fn a_local_retention_beyond_the_retention_is_refused() {
        let load = Load { bytes_per_s: Some(1e9), ..Load::default() };
        let target = Target { load, retention_s: Some(DAY_S), tiered: local(25.0), ..Target::default() };
        let refused = size(&target, &Machine::default(), &Assumptions::default()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the local retention in seconds is 90000; expected no more than the retention, as Kafka has it"
        );
    }
}
