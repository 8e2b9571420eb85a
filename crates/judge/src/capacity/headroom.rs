//! The rules by which a plan is more careful than physics, with their authors.
//!
//! AWS publishes the terms of its sizing of MSK Standard brokers (agent-toolkit-for-aws, `msk_sizing.py`) for three copies
//! in three zones. Per byte from producers, written: 1.5 from producers + 1.5 of copies (a zone is lost, two of three
//! remain) + 0.5 for consumers that lag + 3.0 for moving partitions = 6.5. Sent: 1.5 for each group + 2.2 of copies + 0.5 +
//! 3.0. And 1.5 more each with tiered storage. Of the device and the NIC half is used.
//!
//! For other numbers of copies and zones there is no published rule. The same terms are then carried over: what is written of the
//! load is r with a zone lost or not (1.5 + 1.5 = 3: the copies that are lost make up for the leaders that move), what is sent to
//! followers goes with r-1, and consumers' share with the survivors'. The rule's text says when that was done.

use super::Case;
use super::assumptions::Assumed;
use super::bound::{Growth, Need, Planned};
use super::input::Input;
use super::target::{Reserve, Target};
use plumb_model::figure;

/// Terms of AWS's rule.
const LAGGING: f64 = 0.5;
const REBALANCING: f64 = 3.0;
const TIERED: f64 = 1.5;
const REPLICATION_OUT: f64 = 2.2;
/// For so many copies, in so many zones.
const PUBLISHED: u32 = 3;

/// Bytes that a plan writes per byte from producers.
pub(super) fn written_share(target: &Target) -> f64 {
    f64::from(target.replication) + LAGGING + REBALANCING + tiered(target)
}

/// Bytes that a plan sends per byte from producers.
pub(super) fn sent_share(target: &Target) -> f64 {
    let replication = REPLICATION_OUT * target.follower_copies() / f64::from(PUBLISHED - 1);
    target.zone_factor() * target.groups + replication + LAGGING + REBALANCING + tiered(target)
}

fn tiered(target: &Target) -> f64 {
    if target.tiered.is_some() { TIERED } else { 0.0 }
}

/// A plan, with the share of the resource that it uses.
pub(super) struct Headroom {
    pub(super) plan: Planned,
    /// The share, as an input of the bound.
    pub(super) share: Input,
}

/// The share of disk and NIC that a plan uses.
pub(super) struct Utilisation {
    /// More than 0, at most 1.
    pub(super) share: f64,
    /// The same as an input of a bound.
    pub(super) input: Input,
}

/// A plan by AWS's terms: `share` bytes for each from producers through `limit`.
pub(super) fn by_terms(case: &Case, share: f64, limit: f64) -> Headroom {
    let Utilisation { share: utilisation, input } = utilisation(case);
    let target = case.target;
    let published =
        target.replication == PUBLISHED && target.zones == PUBLISHED && target.reserve == Reserve::Zone;
    let carried = if published { "" } else { ", its terms carried over by us to these copies and zones" };
    let rule = format!(
        "AWS MSK sizing: {} bytes for each from producers, {} used{carried}",
        figure::short(share),
        figure::percent(utilisation)
    );
    let need = Need::of(case.ingress.peak_bytes_per_s * share / (limit * utilisation), Growth::Load);
    Headroom { plan: Planned { need, rule }, share: input }
}

/// A plan that uses the planned share of a limit that already allows for the rest (a vendor's own).
pub(super) fn of_vendor_limit(case: &Case, physics: Need) -> Headroom {
    let Utilisation { share, input } = utilisation(case);
    let need = Need::of(physics.exact / share, physics.growth);
    let rule = format!("{} of the vendor's limit used", figure::percent(share));
    Headroom { plan: Planned { need, rule }, share: input }
}

/// A plan that uses a share of the hard bound, with the reserve on top.
pub(super) fn of_physics(case: &Case, physics: Need, share: Assumed) -> Headroom {
    let Utilisation { share, input } = match share {
        Assumed::Utilisation => utilisation(case),
        other => Utilisation::assumed(case, other),
    };
    let exact = physics.exact / share * case.target.zone_factor();
    let (exact, reserve) = match case.target.reserve {
        Reserve::Nothing => (exact, ""),
        Reserve::Broker => (exact + 1.0, ", one broker in reserve"),
        Reserve::Zone => (exact, ", one zone in reserve"),
    };
    let rule = format!("{} of the hard bound used{reserve}", figure::percent(share));
    Headroom { plan: Planned { need: Need::of(exact, physics.growth), rule }, share: input }
}

/// The share of disk and NIC that a plan uses: the machine's own where its vendor has one.
pub(super) fn utilisation(case: &Case) -> Utilisation {
    match &case.machine.planned_utilisation {
        Some(figure) => Utilisation { share: figure.value, input: figure.input("planned utilisation") },
        None => Utilisation::assumed(case, Assumed::Utilisation),
    }
}

impl Utilisation {
    fn assumed(case: &Case, assumed: Assumed) -> Self {
        Utilisation { share: case.assumptions.get(assumed), input: case.assumptions.input(assumed) }
    }
}
