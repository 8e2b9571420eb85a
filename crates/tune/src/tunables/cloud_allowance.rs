//! Limits that a cloud puts on an instance's network. Packets lost there are lost outside of the host, and no setting here helps.

use super::{Context, Look, Tunable};
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "cloud-allowance",
    title: "the cloud's limits of the network",
    risk: Risk::Low,
    interrupts: "",
    source: "Amazon EC2 documentation, metrics of the ENA driver; kernel source, drivers/net/ethernet/amazon/ena",
    look,
};

/// Each of the driver's counters, and what the cloud limits by it.
const LIMITS: [(&str, &str); 5] = [
    ("bw_in_allowance_exceeded", "bandwidth in"),
    ("bw_out_allowance_exceeded", "bandwidth out"),
    ("pps_allowance_exceeded", "packets in a second"),
    ("conntrack_allowance_exceeded", "connections followed by its firewall"),
    ("linklocal_allowance_exceeded", "packets to its own services (names, time, metadata)"),
];

fn look(context: &Context<'_>) -> Vec<Look> {
    let of = |interface: &str| {
        let counter = |name: &str| format!("nic.{interface}.{name}");
        let there = LIMITS.iter().filter(|(name, _)| context.window.total(&counter(name)).is_some()).count();
        let grown: Vec<(Evidence, &str)> = LIMITS
            .iter()
            .filter_map(|(name, what)| Some((context.window.evidence(&counter(name), "packets")?, *what)))
            .collect();
        (there > 0).then(|| match grown.is_empty() {
            true => Look::plain(interface, Status::Ok, "within the cloud's limits over the window"),
            false => {
                let what = grown.iter().map(|(_, what)| *what).collect::<Vec<_>>().join(", ");
                let reason = format!("this is the cloud's limit, not the host's: {what}. Packets wait or are lost before they reach this host, or after they left it; a larger instance, or fewer bytes, packets or connections helps, and no setting here");
                Look::plain(interface, Status::Advice, reason).showing(grown.into_iter().map(|(evidence, _)| evidence).collect())
            }
        })
    };
    let looks: Vec<Look> = names(context).iter().filter_map(|name| of(name)).collect();
    match looks.is_empty() {
        true => vec![Look::not_applicable("", "no driver here tells of a cloud's limits")],
        false => looks,
    }
}

/// Interfaces that have such counters.
fn names(context: &Context<'_>) -> Vec<String> {
    let mut names: Vec<String> = context
        .window
        .matching("nic.", "_allowance_exceeded")
        .filter_map(|(name, _)| Some(name.strip_prefix("nic.")?.rsplit_once('.')?.0.to_owned()))
        .collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn what_the_cloud_holds_back_is_told_as_the_clouds() {
        let host = Recorded::new()
            .grew("nic.ens5.pps_allowance_exceeded", 12)
            .grew("nic.ens5.bw_in_allowance_exceeded", 0)
            .grew("nic.ens6.bw_in_allowance_exceeded", 0);
        let checks = host.check("cloud-allowance");
        assert_eq!(
            (checks[0].status, checks[0].target.as_str(), checks[0].evidence.len()),
            (Status::Advice, "ens5", 1)
        );
        assert!(checks[0].reason.contains("the cloud's limit, not the host's: packets in a second"));
        assert_eq!((checks[1].status, checks[1].target.as_str()), (Status::Ok, "ens6"));
    }

    #[test]
    fn another_driver_has_no_such_limits() {
        let host = Recorded::new().grew("nic.eth0.rx_dropped", 12);
        assert_eq!(host.check("cloud-allowance")[0].status, Status::NotApplicable);
    }
}
