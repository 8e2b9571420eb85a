//! The rules by which a plan is more careful than physics, and whose they are.
//!
//! AWS publishes the terms of its sizing of MSK Standard brokers (agent-toolkit-for-aws, `msk_sizing.py`) for three copies
//! in three zones. Per byte from producers, written: 1.5 from producers + 1.5 of copies (a zone is lost, two of three
//! remain) + 0.5 for consumers that lag + 3.0 for moving partitions = 6.5. Sent: 1.5 for each group + 2.2 of copies + 0.5 +
//! 3.0. And 1.5 more each with tiered storage. Of the device and the NIC half is used.
//!
//! For other numbers of copies and zones there is no published rule. The same terms are then carried over: what is written of the
//! load is r with a zone lost or not (1.5 + 1.5 = 3: the copies that are lost make up for the leaders that move), what is sent to
//! followers goes with r-1, and consumers' share with the survivors'. The rule's text says when that was done.

use super::assumptions::Assumed;
use super::bound::{Growth, Input, Need, Planned};
use super::target::{Reserve, Target};
use super::{Case, words};

/// Terms of AWS's rule.
const LAGGING: f64 = 0.5;
const REBALANCING: f64 = 3.0;
const TIERED: f64 = 1.5;
const REPLICATION_OUT: f64 = 2.2;
/// For so many copies, in so many zones.
const PUBLISHED: u32 = 3;

/// What a plan writes per byte from producers.
pub(super) fn written_share(target: &Target) -> f64 {
    f64::from(target.replication) + LAGGING + REBALANCING + tiered(target)
}

/// What a plan sends per byte from producers.
pub(super) fn sent_share(target: &Target) -> f64 {
    let replication = REPLICATION_OUT * target.follower_copies() / f64::from(PUBLISHED - 1);
    target.zone_factor() * target.groups + replication + LAGGING + REBALANCING + tiered(target)
}

fn tiered(target: &Target) -> f64 {
    if target.tiered.is_some() { TIERED } else { 0.0 }
}

/// A plan by AWS's terms: `share` bytes for each from producers through `limit`.
pub(super) fn by_terms(case: &Case, share: f64, limit: f64) -> (Planned, Input) {
    let (utilisation, input) = utilisation(case);
    let target = case.target;
    let published =
        target.replication == PUBLISHED && target.zones == PUBLISHED && target.reserve == Reserve::Zone;
    let carried = if published { "" } else { ", its terms carried over by us to these copies and zones" };
    let rule = format!(
        "AWS MSK sizing: {} bytes for each from producers, {} % used{carried}",
        words::three(share),
        words::three(utilisation * 100.0)
    );
    let need = Need::of(case.ingress.peak_bytes_per_s * share / (limit * utilisation), Growth::Load);
    (Planned { need, rule }, input)
}

/// A plan that uses the planned share of a limit that already allows for the rest (a vendor's own).
pub(super) fn of_vendor_limit(case: &Case, physics: Need) -> (Planned, Input) {
    let (utilisation, input) = utilisation(case);
    let need = Need::of(physics.exact / utilisation, physics.growth);
    (
        Planned { need, rule: format!("{} % of the vendor's limit used", words::three(utilisation * 100.0)) },
        input,
    )
}

/// A plan that uses a share of the hard bound, with the reserve on top.
pub(super) fn of_physics(case: &Case, physics: Need, share: Assumed) -> (Planned, Input) {
    let (share, input) = match share {
        Assumed::Utilisation => utilisation(case),
        other => (case.assumptions.get(other), case.assumptions.input(other)),
    };
    let exact = physics.exact / share * case.target.zone_factor();
    let (exact, reserve) = match case.target.reserve {
        Reserve::Nothing => (exact, ""),
        Reserve::Broker => (exact + 1.0, ", one broker in reserve"),
        Reserve::Zone => (exact, ", one zone in reserve"),
    };
    let rule = format!("{} % of the hard bound used{reserve}", words::three(share * 100.0));
    (Planned { need: Need::of(exact, physics.growth), rule }, input)
}

/// The share of disk and NIC that a plan uses: the machine's own where its vendor has one.
pub(super) fn utilisation(case: &Case) -> (f64, Input) {
    match &case.machine.planned_utilisation {
        Some(figure) => (figure.value, figure.input("planned utilisation")),
        None => (case.assumptions.get(Assumed::Utilisation), case.assumptions.input(Assumed::Utilisation)),
    }
}
