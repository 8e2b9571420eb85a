//! Bytes through devices and networks (AWS's Equation 1: the sustained rate of each, never the burst), and published rates of a
//! vendor's broker.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Limit, Need};
use super::super::flows::sent_share;
use super::super::headroom::{self, Headroom};
use super::super::input::Figure;
use super::{Gap, Outcome, brokers, not_asked};

pub(super) fn disk(case: &Case) -> Outcome {
    written(case, &case.machine.disk_bytes_per_s, "disk", "--disk")
}

pub(super) fn storage_network(case: &Case) -> Outcome {
    written(case, &case.machine.storage_network_bytes_per_s, "storage network", "--storage-network")
}

fn written(case: &Case, figure: &Option<Figure>, name: &'static str, flag: &str) -> Outcome {
    let figure = known(case, figure, flag)?;
    let physics = through(case, f64::from(case.target.replication), figure.value);
    let Headroom { plan, share } =
        headroom::by_terms(case, headroom::written_share(case.target), figure.value);
    brokers(
        Limit::of(figure.value, "bytes/s written by a broker"),
        Some(physics),
        Some(plan),
        vec![figure.input(name), share],
    )
}

pub(super) fn nic_in(case: &Case) -> Outcome {
    let figure = known(case, &case.machine.nic_bytes_per_s, "--nic")?;
    let physics = through(case, f64::from(case.target.replication), figure.value);
    // AWS has no term for what is received. What it writes beside the load is received too, but for what consumers read.
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::Utilisation);
    brokers(
        Limit::of(figure.value, "bytes/s received by a broker"),
        Some(physics),
        Some(plan),
        vec![figure.input("NIC"), share],
    )
}

pub(super) fn nic_out(case: &Case) -> Outcome {
    let figure = known(case, &case.machine.nic_bytes_per_s, "--nic")?;
    let sent = sent_share(case.target);
    let physics = (sent > 0.0).then(|| through(case, sent, figure.value));
    let Headroom { plan, share } = headroom::by_terms(case, headroom::sent_share(case.target), figure.value);
    brokers(
        Limit::of(figure.value, "bytes/s sent by a broker"),
        physics,
        Some(plan),
        vec![figure.input("NIC"), share],
    )
}

pub(super) fn vendor_ingress(case: &Case) -> Outcome {
    let Some(figure) = &case.machine.ingress_bytes_per_s else { return Err(not_published("--ingress")) };
    let physics = through(case, 1.0, figure.value);
    let Headroom { plan, share } = headroom::of_vendor_limit(case, physics);
    brokers(
        Limit::of(figure.value, "bytes/s from producers to a broker"),
        Some(physics),
        Some(plan),
        vec![figure.input("ingress"), share],
    )
}

pub(super) fn vendor_egress(case: &Case) -> Outcome {
    let Some(figure) = &case.machine.egress_bytes_per_s else { return Err(not_published("--egress")) };
    if case.target.groups <= 0.0 {
        return Err(not_asked("nobody reads"));
    }
    let physics = through(case, case.target.groups, figure.value);
    let Headroom { plan, share } = headroom::of_vendor_limit(case, physics);
    brokers(
        Limit::of(figure.value, "bytes/s from a broker to consumers"),
        Some(physics),
        Some(plan),
        vec![figure.input("egress"), share],
    )
}

/// Brokers through each of which `share` bytes pass for each byte from producers.
fn through(case: &Case, share: f64, limit: f64) -> Need {
    Need::of(case.ingress.peak_bytes_per_s * share / limit, Growth::Load)
}

/// A device's figure, unless the vendor hides devices.
fn known<'a>(case: &Case, figure: &'a Option<Figure>, flag: &str) -> Result<&'a Figure, Gap> {
    match (figure, &case.machine.hidden) {
        (Some(figure), _) => Ok(figure),
        (None, Some(why)) => Err(not_asked(why)),
        (None, None) => Err(Gap::Unknown { missing: vec![flag.to_owned()] }),
    }
}

fn not_published(flag: &str) -> Gap {
    not_asked(&format!("no vendor's limit of a broker is given ({flag})"))
}
