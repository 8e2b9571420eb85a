//! Strata: servers of one site or hardware, held against each other only. What has one group only is left out.

use super::compared::Compared;
use super::error::name;
use super::question::Stratum;
use plumb_model::fleet::{FleetGroup, FleetServer};
use std::collections::{BTreeMap, BTreeSet};

/// Servers that are in no comparison, as nothing of the other group is in their stratum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Alone {
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

/// What is known of the servers, was not asked for and parts the groups: no site, or no hardware, has both of them. Where both do, the
/// one of which there are fewer.
pub(super) fn parting(compared: &Compared, asked: &[Stratum]) -> Option<Stratum> {
    let parts = |stratum: Stratum| {
        let mut groups = BTreeMap::<&str, BTreeSet<bool>>::new();
        for (server, test) in compared.servers.iter().zip(&compared.test) {
            groups.entry(label(server, stratum)).or_default().insert(*test);
        }
        let parts = groups.values().all(|groups| groups.len() == 1);
        // One that is not known says nothing, and where each server has its own, the server is the unit anyway.
        let told = (2..compared.servers.len()).contains(&groups.len()) && !groups.contains_key("");
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

impl Compared<'_> {
    /// Numbers the strata, and leaves out those that have one group only. Where all do, they stay, and nothing can be compared.
    pub(super) fn number_strata(&mut self, by: &[Stratum]) {
        let stratum = numbers(&self.servers, by);
        let mut groups = BTreeMap::<u32, BTreeSet<bool>>::new();
        for (stratum, test) in stratum.iter().zip(&self.test) {
            groups.entry(*stratum).or_default().insert(*test);
        }
        let mixed = |stratum: u32| groups[&stratum].len() == 2;
        self.mixed = stratum.iter().any(|stratum| mixed(*stratum));
        let kept: Vec<usize> = (0..stratum.len()).filter(|at| !self.mixed || mixed(stratum[*at])).collect();
        for group in [FleetGroup::Control, FleetGroup::Test] {
            let of_group = (0..stratum.len()).filter(|at| self.test[*at] == (group == FleetGroup::Test));
            let out: Vec<usize> = of_group.filter(|at| self.mixed && !mixed(stratum[*at])).collect();
            let example = out.first().map_or_else(String::new, |at| self.servers[*at].name.clone());
            let what = format!("{} servers of strata that have one group only", name(group));
            self.exclude(&what, out.len(), example, "left out");
            match group {
                FleetGroup::Control => self.alone.control = out.len() as u64,
                FleetGroup::Test => self.alone.test = out.len() as u64,
            }
        }
        self.servers = kept.iter().map(|at| self.servers[*at]).collect();
        self.test = kept.iter().map(|at| self.test[*at]).collect();
        self.stratum = kept.iter().map(|at| stratum[*at]).collect();
        self.strata = self.stratum.iter().collect::<BTreeSet<_>>().len() as u32;
    }
}
