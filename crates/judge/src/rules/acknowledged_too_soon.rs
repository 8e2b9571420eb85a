//! A client that is a program of its own reported acknowledgements sooner than any answer can come.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::ClusterFacts;
use plumb_model::figure::time;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "acknowledged-too-soon",
        summary: "A producer reported acknowledgements sooner than an answer of the brokers can come.",
        page: include_str!("../../../../docs/findings/acknowledged-too-soon.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "no answer comes sooner than the network's round trip, which was measured before the run, or than the system calls of both sides take",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Share of the shortest time to open a connection below which no answer can come (ours: the way may be quicker at another moment, and opening a
/// connection has some work of the host in it).
const OF_A_ROUND_TRIP: f64 = 0.5;

/// On one host: a request and its answer are two system calls and a wake-up on each side, which take several times as long (ours).
const ON_ONE_HOST_NS: f64 = 5_000.0;

fn check(case: &Case) -> Vec<Finding> {
    let least = Least::of(&case.document.environment.cluster);
    case.setups().filter_map(|setup| too_soon(&setup, &least)).collect()
}

/// The least time in which an answer can come.
struct Least {
    ns: f64,
    because: String,
}

impl Least {
    fn of(cluster: &ClusterFacts) -> Self {
        let nearest = cluster.connect_ns.iter().flatten().min().map(|ns| *ns as f64);
        let away =
            nearest.filter(|ns| cluster.on_this_host == Some(false) && ns * OF_A_ROUND_TRIP > ON_ONE_HOST_NS);
        match away {
            Some(ns) => Least {
                ns: ns * OF_A_ROUND_TRIP,
                because: format!("half of the shortest time to open a connection, {}", time(ns)),
            },
            None => Least {
                ns: ON_ONE_HOST_NS,
                because: "the system calls of a request and its answer".to_owned(),
            },
        }
    }
}

fn too_soon(setup: &Setup, least: &Least) -> Option<Finding> {
    if !setup.has_program("producer") || setup.unconfirmed() {
        return None;
    }
    let soonest = setup.result.latency.acknowledge_service.min_ns? as f64;
    if soonest >= least.ns {
        return None;
    }
    let claim = "The producer reported acknowledgements sooner than any answer can come: its acknowledge latencies are not to be used";
    Some(
        about_step(RULE.row.id, Severity::Invalid, setup.name(), claim)
            .seen_against(
                "shortest time from a send to its acknowledgement, as it reported",
                time(soonest),
                format!("at least {}: {}", time(least.ns), least.because),
            )
            .advise("`plumb driver check` names the records (`acknowledgement`); the time is read when the client tells of the acknowledgement."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::document::RunDocument;
    use plumb_model::observation::ProgramAccount;

    /// A healthy run of a program that reported its soonest acknowledgement after so long, with brokers so far away; 0: on this host.
    fn soonest(ns: u64, connect_ns: u64) -> impl Fn(&mut RunDocument) {
        move |document: &mut RunDocument| {
            let cluster = &mut document.environment.cluster;
            cluster.on_this_host = Some(connect_ns == 0);
            cluster.connect_ns = if connect_ns == 0 { Vec::new() } else { vec![None, Some(connect_ns)] };
            let step = &mut document.steps[0];
            step.blocks[0].programs =
                vec![ProgramAccount { role: "producer".to_owned(), ..ProgramAccount::default() }];
            step.latency.acknowledge_service.min_ns = Some(ns);
        }
    }

    fn is_found(ns: u64, connect_ns: u64) -> bool {
        let mut document = healthy();
        soonest(ns, connect_ns)(&mut document);
        !found(&document, RULE.row.id).is_empty()
    }

    #[test]
    fn an_acknowledgement_within_a_microsecond_is_none_wherever_the_brokers_are() {
        let here = assert_found(RULE.row.id, Severity::Invalid, soonest(1_000, 0));
        assert_eq!(here.evidence[0].value, "1.00 µs");
        assert!(!is_found(5_000, 0));
        // Half of 800 us.
        assert!(is_found(399_999, 800_000) && !is_found(400_000, 800_000));
        // A connection that is opened sooner than that has no round trip in it.
        assert!(!is_found(5_000, 6_000) && is_found(4_999, 6_000));
    }

    #[test]
    fn where_no_answer_is_awaited_or_the_client_is_plumbs_own_nothing_is_said() {
        let mut unconfirmed = healthy();
        soonest(1_000, 0)(&mut unconfirmed);
        unconfirmed.steps[0].durability.acks = Some("0".to_owned());
        assert_eq!(found(&unconfirmed, RULE.row.id), []);
        let mut own = healthy();
        soonest(1_000, 0)(&mut own);
        own.steps[0].blocks[0].programs.clear();
        assert_eq!(found(&own, RULE.row.id), []);
    }
}
