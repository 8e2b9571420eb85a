//! What was drawn into the groups: the server, or the whole site where no site has both groups.
//!
//! Servers of a site share its customers, its peers and its faults. Where whole sites are in one group or the other, what came to a site at the
//! time of the change came to all of its servers, so that they are one observation of the change and not many (cluster-randomised
//! trials: Donner and Klar 2000). Then the mean of a site's servers is its value, and sites are held against sites.

use super::compared::Compared;
use super::question::Stratum;
use super::strata::{self, numbers};
use super::words::count;
use plumb_model::fleet::{FleetGroup, FleetUnit};
use std::collections::{BTreeMap, BTreeSet};

/// The units of a comparison, in the order of their names where they are not the servers.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// What one of them is.
    pub(super) kind: FleetUnit,
    pub(super) names: Vec<String>,
    /// The unit of each server that is compared.
    of: Vec<usize>,
    /// Whether each is in the test group.
    pub(super) test: Vec<bool>,
    pub(super) stratum: Vec<u32>,
}

impl Units {
    /// Of the servers that are compared, once their strata are numbered.
    pub(super) fn of(compared: &Compared, asked: &[Stratum]) -> Units {
        let Some(parting) = strata::parting(compared, asked) else {
            return Units {
                kind: FleetUnit::Server,
                names: compared.servers.iter().map(|server| server.name.clone()).collect(),
                of: (0..compared.servers.len()).collect(),
                test: compared.test.clone(),
                stratum: compared.stratum.clone(),
            };
        };
        let of: Vec<usize> =
            numbers(&compared.servers, &[parting]).iter().map(|unit| *unit as usize).collect();
        let mut first = BTreeMap::<usize, usize>::new();
        let mut strata = BTreeMap::<usize, BTreeSet<u32>>::new();
        for (at, unit) in of.iter().enumerate() {
            first.entry(*unit).or_insert(at);
            strata.entry(*unit).or_default().insert(compared.stratum[at]);
        }
        // A site with servers of several strata is in none of them.
        let nested = strata.values().all(|strata| strata.len() == 1);
        let name = |at: &usize| strata::label(compared.servers[*at], parting).to_owned();
        Units {
            kind: match parting {
                Stratum::Site => FleetUnit::Site,
                Stratum::Hardware => FleetUnit::Hardware,
            },
            names: first.values().map(name).collect(),
            test: first.values().map(|at| compared.test[*at]).collect(),
            stratum: first.values().map(|at| if nested { compared.stratum[*at] } else { 0 }).collect(),
            of,
        }
    }

    /// The unit of each server that is compared.
    pub(super) fn of_servers(&self) -> &[usize] {
        &self.of
    }

    /// Whether they are the servers.
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
            FleetUnit::Hardware => count(n, "kind").replace("kinds", self.words()),
            FleetUnit::Server | FleetUnit::Site => count(n, self.word()),
        }
    }

    /// How many are in each group.
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

    /// What each unit's servers are together, of something of every server.
    pub(super) fn together<T: Copy>(&self, values: &[T], add: impl Fn(T, T) -> T) -> Vec<T> {
        let mut all: Vec<Option<T>> = vec![None; self.test.len()];
        for (unit, value) in self.of.iter().zip(values) {
            all[*unit] = Some(all[*unit].map_or(*value, |sum| add(sum, *value)));
        }
        all.into_iter().flatten().collect()
    }
}
