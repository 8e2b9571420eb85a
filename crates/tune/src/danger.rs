//! Changes that can make a host unreachable or lose data: refused unless the user insists.

use crate::host::Host;
use crate::setting::Setting;
use crate::tunables::find;
use plumb_model::check::{PlannedChange, Risk, TunePlan};
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use thiserror::Error;

/// A change that is not made without `--force`.
#[derive(Debug, Error)]
#[error("{name} {why}")]
pub struct Danger {
    /// The setting.
    pub name: String,
    /// What it can do.
    pub why: String,
}

impl HasFault for Danger {
    fn fault(&self) -> Fault {
        Fault::User
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        Some("leave it out of the plan, or add --force, with --confirm-within and --keep-reachable to get back in".into())
    }
}

/// Refuses a plan with a change that is too dangerous.
///
/// # Errors
/// With the first such change.
pub fn check(host: &Host, plan: &TunePlan, force: bool) -> Result<(), Danger> {
    if force {
        return Ok(());
    }
    let ways = default_routes(host);
    for planned in &plan.changes {
        let danger = |why: String| Danger { name: planned.change.target.key.clone(), why };
        let risk = risk(planned);
        if risk == Risk::LockOut {
            return Err(danger("can make this host unreachable or lose data".to_owned()));
        }
        if risk == Risk::LinkFlap
            && let Some(interface) = interface(&planned.change.target.key)
            && ways == [interface.clone()]
        {
            return Err(danger(format!("may take {interface} down, which is the only way to this host")));
        }
    }
    Ok(())
}

/// The worst that a change can do, whatever the plan says of it: a plan is a file, and somebody may have edited it.
fn risk(planned: &PlannedChange) -> Risk {
    let of_setting = Setting::new(&planned.change.target.key).map_or(Risk::Low, |setting| setting.risk());
    let of_tunable = find(&planned.id).map_or(Risk::Low, |tunable| tunable.risk);
    planned.risk.max(of_setting).max(of_tunable)
}

/// The interface that a setting is of.
fn interface(key: &str) -> Option<String> {
    Setting::new(key).ok()?.interface()
}

/// Interfaces with a default route, each once.
fn default_routes(host: &Host) -> Vec<String> {
    let mut ways: Vec<String> = Vec::new();
    let table = host.root().read("/proc/net/route").unwrap_or_default();
    for line in table.lines().skip(1) {
        let mut columns = line.split_ascii_whitespace();
        if let (Some(interface), Some("00000000")) = (columns.next(), columns.next()) {
            ways.push(interface.to_owned());
        }
    }
    let table = host.root().read("/proc/net/ipv6_route").unwrap_or_default();
    for line in table.lines() {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [destination, "00", .., interface] = columns[..]
            && destination.bytes().all(|byte| byte == b'0')
            && interface != "lo"
        {
            ways.push(interface.to_owned());
        }
    }
    ways.sort();
    ways.dedup();
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::change::{Change, Owner, Target};
    use plumb_model::check::Role;
    use plumb_observe::HostRoot;

    fn plan(key: &str, risk: Risk) -> TunePlan {
        let target = Target { owner: Owner::Host, key: key.to_owned() };
        let change = Change::plain(target, Some("rx 512".to_owned()), Some("rx 4096".to_owned()));
        let planned = plumb_model::check::PlannedChange {
            id: "rings".to_owned(),
            order: 1,
            change,
            risk,
            interrupts: String::new(),
            reason: String::new(),
            evidence: Vec::new(),
            expected: String::new(),
            source: String::new(),
        };
        TunePlan {
            schema_version: 1,
            plumb_version: String::new(),
            made_at: String::new(),
            role: Role::KafkaBroker,
            host_digest: None,
            bootstrap: None,
            changes: vec![planned],
            left_out: Vec::new(),
            cpus: Vec::new(),
        }
    }

    fn host(routes: &str) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        std::fs::write(root.path().join("proc/net/route"), format!("Iface Destination Gateway\n{routes}"))
            .unwrap();
        let host = Host::below(HostRoot::new(root.path()));
        (root, host)
    }

    #[test]
    fn a_link_that_is_the_only_way_to_the_host_is_not_taken_down_unless_the_user_insists() {
        let rings = plan("ethtool:eth0:rings", Risk::LinkFlap);
        let (_root, only) = host("eth0 00000000 0102A8C0\neth1 0002A8C0 00000000\n");
        let error = check(&only, &rings, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ethtool:eth0:rings may take eth0 down, which is the only way to this host"
        );
        check(&only, &rings, true).unwrap();
        let (_root, two) = host("eth0 00000000 0102A8C0\neth1 00000000 0102A8C1\n");
        check(&two, &rings, false).unwrap();
        check(&only, &plan("ethtool:eth1:rings", Risk::LinkFlap), false).unwrap();
    }

    #[test]
    fn what_can_lose_data_is_refused_wherever_it_is() {
        let (_root, host) = host("");
        check(&host, &plan("/sys/block/sda/queue/write_cache", Risk::LockOut), false).unwrap_err();
    }

    #[test]
    fn a_plan_whose_risks_were_edited_is_believed_no_more_than_its_settings() {
        let (_root, only) = host("eth0 00000000 0102A8C0\n");
        for key in ["/sys/block/sda/queue/write_cache", "/sys/class/net/eth0/mtu", "ethtool:eth0:rings"] {
            check(&only, &plan(key, Risk::Low), false).unwrap_err();
            check(&only, &plan(key, Risk::Low), true).unwrap();
        }
        // By the tunable's row, where the setting alone does not tell.
        let mut smt = plan("/sys/devices/system/cpu/smt/control", Risk::Low);
        check(&only, &smt, false).unwrap();
        smt.changes[0].id = "smt".to_owned();
        check(&only, &smt, false).unwrap_err();
    }
}
