//! Brokers at unequal distances from the generator.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::figure::time;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::list;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "far-broker",
        summary: "The network's round trip to one broker is longer than to another.",
        page: include_str!("../../../../docs/findings/far-broker.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the round trips are measured; that the network makes the difference, and not the broker, is taken from idle exchanges",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "give the far broker's partitions to a near one",
            setting: None,
            observe: "end_to_end.mean",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Two racks of one site differ by less, two zones of a region by more (ours).
const FARTHER_NS: f64 = 200_000.0;
/// Least ratio of two distances that are not the same at another moment (ours).
const FARTHER_TIMES: f64 = 1.5;

fn check(case: &Case) -> Vec<Finding> {
    let cluster = &case.document.environment.cluster;
    let known = cluster.brokers.iter().zip(&cluster.connect_ns);
    let away: Vec<(&str, f64)> =
        known.filter_map(|(broker, time)| Some((broker.as_str(), (*time)? as f64))).collect();
    let Some(nearest) = away.iter().map(|(_, ns)| *ns).min_by(f64::total_cmp) else { return Vec::new() };
    let is_far = |ns: f64| ns - nearest >= FARTHER_NS && ns >= nearest * FARTHER_TIMES;
    let far: Vec<String> = away
        .iter()
        .filter(|(_, ns)| is_far(*ns))
        .map(|(broker, ns)| format!("{broker} {}", time(*ns)))
        .collect();
    if far.is_empty() || case.setups().next().is_none() {
        return Vec::new();
    }
    let claim = format!(
        "Brokers are at unequal distances, {} to the nearest and {}: latencies are a mixture, by which broker leads the partition",
        time(nearest),
        list(&far),
    );
    let each = away.iter().map(|(broker, ns)| format!("{broker} {}", time(*ns)));
    vec![
        about_run(RULE.row.id, Severity::Note, claim)
            .seen("shortest time to open a connection", each.collect::<Vec<_>>().join(", "))
            .advise("Compare setups with the same leaders; run from each zone that has producers, to know what they see.")
            .advise("Consumers can read from the nearest replica (client.rack, replica.selector.class)."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};

    fn away(connect_us: [Option<u64>; 3]) -> plumb_model::document::RunDocument {
        let mut document = healthy();
        let cluster = &mut document.environment.cluster;
        cluster.brokers = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
        cluster.connect_ns = connect_us.iter().map(|us| us.map(|us| us * 1_000)).collect();
        document
    }

    #[test]
    fn a_broker_in_another_zone_is_named_with_its_distance() {
        let finding = one(&away([Some(150), Some(160), Some(900)]), RULE.row.id);
        assert!(finding.claim.contains("150 µs to the nearest and c:1 900 µs:"), "{}", finding.claim);
        assert_eq!(finding.evidence[0].value, "a:1 150 µs, b:1 160 µs, c:1 900 µs");
    }

    #[test]
    fn equal_distances_unknown_ones_and_small_differences_of_far_brokers_are_not_said() {
        for connect_us in [
            [Some(150), Some(160), Some(300)],
            [Some(40_000), Some(41_000), Some(45_000)],
            [None, Some(900), None],
            [None, None, None],
        ] {
            assert_eq!(found(&away(connect_us), RULE.row.id), []);
        }
    }
}
