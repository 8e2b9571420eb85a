//! Strata: servers of one site or hardware, compared only with each other. A stratum of one group only is left out.

use super::question::Stratum;
use plumb_model::fleet::FleetServer;
use std::collections::{BTreeMap, BTreeSet};

/// Servers that are in no comparison, as nothing of the other group is in their stratum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) control: u64,
    pub(super) test: u64,
}

/// The number of each server's stratum.
pub(super) fn numbers(servers: &[&FleetServer], by: &[Stratum]) -> Vec<u32> {
    let key = |server: &FleetServer| -> Vec<String> {
        by.iter().map(|stratum| label(server, *stratum).to_owned()).collect()
    };
    let keys: Vec<Vec<String>> = servers.iter().map(|server| key(server)).collect();
    let distinct: Vec<&Vec<String>> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
    // Each key is one of them.
    keys.iter().map(|key| distinct.partition_point(|other| *other < key) as u32).collect()
}

/// `site`, or `site and hardware`.
pub(super) fn words(by: &[Stratum]) -> String {
    let word = |stratum: &Stratum| match stratum {
        Stratum::Site => "site",
        Stratum::Hardware => "hardware",
    };
    by.iter().map(word).collect::<Vec<_>>().join(" and ")
}

/// The label that parts the groups and was not asked for: each site, or each kind of hardware, has one group only. Where both do,
/// the one of which there are fewer.
pub(super) fn parting(servers: &[&FleetServer], test: &[bool], asked: &[Stratum]) -> Option<Stratum> {
    let parts = |stratum: Stratum| {
        let mut groups = BTreeMap::<&str, BTreeSet<bool>>::new();
        for (server, test) in servers.iter().zip(test) {
            groups.entry(label(server, stratum)).or_default().insert(*test);
        }
        let parts = groups.values().all(|groups| groups.len() == 1);
        // One that is not known says nothing, and where each server has its own, the server is the unit anyway.
        let told = (2..servers.len()).contains(&groups.len()) && !groups.contains_key("");
        (parts && told && !asked.contains(&stratum)).then_some((groups.len(), stratum))
    };
    let found = [Stratum::Site, Stratum::Hardware].into_iter().filter_map(parts);
    found.min_by_key(|(kinds, _)| *kinds).map(|(_, stratum)| stratum)
}

/// The server's site or hardware; empty when unknown.
pub(super) fn label(server: &FleetServer, stratum: Stratum) -> &str {
    match stratum {
        Stratum::Site => &server.site,
        Stratum::Hardware => &server.hardware,
    }
}
