//! The units that were drawn into the groups: the servers, or whole sites where no site has both groups.
//!
//! Servers of a site share its customers, its peers and its faults. Where whole sites are in one group or the other, an event at
//! a site at the time of the change came to all of its servers, so that they are one observation of the change and not many
//! (cluster-randomised trials: Donner and Klar 2000). Then the mean of a site's servers is its value, and sites are compared with
//! sites.

use super::question::Stratum;
use super::strata::{label, numbers};
use plumb_model::figure::counted;
use plumb_model::fleet::{FleetGroup, FleetServer, FleetUnit};
use std::collections::{BTreeMap, BTreeSet};

/// The units of a comparison, in the order of their names where they are not the servers.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// The kind of one of them.
    pub(super) kind: FleetUnit,
    pub(super) names: Vec<String>,
    /// The unit of each server that is compared.
    of: Vec<usize>,
    /// True for each in the test group.
    pub(super) test: Vec<bool>,
    pub(super) stratum: Vec<u32>,
}

/// The servers that are compared, each with its group and its stratum, in one order.
pub(super) struct Drawn<'a> {
    pub(super) servers: &'a [&'a FleetServer],
    /// True for each in the test group.
    pub(super) test: &'a [bool],
    /// The number of each server's stratum.
    pub(super) stratum: &'a [u32],
}

impl Drawn<'_> {
    /// The units; `parting` is the label that parts the groups, none where the servers themselves are the units.
    pub(super) fn units(&self, parting: Option<Stratum>) -> Units {
        let Some(parting) = parting else {
            return Units {
                kind: FleetUnit::Server,
                names: self.servers.iter().map(|server| server.name.clone()).collect(),
                of: (0..self.servers.len()).collect(),
                test: self.test.to_vec(),
                stratum: self.stratum.to_vec(),
            };
        };
        let of: Vec<usize> = numbers(self.servers, &[parting]).iter().map(|unit| *unit as usize).collect();
        let mut first = BTreeMap::<usize, usize>::new();
        let mut strata = BTreeMap::<usize, BTreeSet<u32>>::new();
        for (at, unit) in of.iter().enumerate() {
            first.entry(*unit).or_insert(at);
            strata.entry(*unit).or_default().insert(self.stratum[at]);
        }
        // A site with servers of several strata is in none of them.
        let nested = strata.values().all(|strata| strata.len() == 1);
        let name = |at: &usize| label(self.servers[*at], parting).to_owned();
        Units {
            kind: match parting {
                Stratum::Site => FleetUnit::Site,
                Stratum::Hardware => FleetUnit::Hardware,
            },
            names: first.values().map(name).collect(),
            test: first.values().map(|at| self.test[*at]).collect(),
            stratum: first.values().map(|at| if nested { self.stratum[*at] } else { 0 }).collect(),
            of,
        }
    }
}

impl Units {
    /// The unit of each server that is compared.
    pub(super) fn of_servers(&self) -> &[usize] {
        &self.of
    }

    /// True if they are the servers.
    pub(super) fn are_servers(&self) -> bool {
        self.kind == FleetUnit::Server
    }

    /// `server`, `site`, `kind of hardware`.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            FleetUnit::Server => "server",
            FleetUnit::Site => "site",
            FleetUnit::Hardware => "kind of hardware",
        }
    }

    /// `servers`, `sites`, `kinds of hardware`.
    pub(super) fn words(&self) -> &'static str {
        match self.kind {
            FleetUnit::Server => "servers",
            FleetUnit::Site => "sites",
            FleetUnit::Hardware => "kinds of hardware",
        }
    }

    /// `1 server`, `12 sites`.
    pub(super) fn counted(&self, n: u64) -> String {
        match self.kind {
            FleetUnit::Hardware if n == 1 => "1 kind of hardware".to_owned(),
            FleetUnit::Hardware => counted(n, "kind").replace("kinds", self.words()),
            FleetUnit::Server | FleetUnit::Site => counted(n, self.word()),
        }
    }

    /// The number of units in each group.
    pub(super) fn by_group(&self) -> BTreeMap<FleetGroup, u32> {
        let [control, test] = self.counts();
        BTreeMap::from([(FleetGroup::Control, control as u32), (FleetGroup::Test, test as u32)])
    }

    /// In each group: control, test.
    pub(super) fn counts(&self) -> [usize; 2] {
        let test = self.test.iter().filter(|test| **test).count();
        [self.test.len() - test, test]
    }

    /// The mean of each unit's servers, of a value of every server.
    pub(super) fn mean(&self, values: &[f64]) -> Vec<f64> {
        let known: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        self.mean_of_known(&known).into_iter().map(|mean| mean.unwrap_or(f64::NAN)).collect()
    }

    /// The mean of those of each unit's servers that have a value; none where none has.
    pub(super) fn mean_of_known(&self, values: &[Option<f64>]) -> Vec<Option<f64>> {
        if self.are_servers() {
            return values.to_vec();
        }
        let mut sums = vec![(0.0, 0u32); self.test.len()];
        for (unit, value) in self.of.iter().zip(values) {
            if let Some(value) = value {
                sums[*unit].0 += value;
                sums[*unit].1 += 1;
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    }

    /// The values of each unit's servers added up, of a value of every server.
    pub(super) fn together<T: Copy>(&self, values: &[T], add: impl Fn(T, T) -> T) -> Vec<T> {
        let mut all: Vec<Option<T>> = vec![None; self.test.len()];
        for (unit, value) in self.of.iter().zip(values) {
            all[*unit] = Some(all[*unit].map_or(*value, |sum| add(sum, *value)));
        }
        all.into_iter().flatten().collect()
    }
}
