//! Several clusters by name, of which each setup or arm has one.

use super::trail::Trail;
use super::{ResolveError, cluster};
use crate::plan::{ClusterPlan, Origin};
use crate::scenario::{ArmClusterWords, Scenario};
use std::collections::BTreeMap;

/// The clusters of a scenario, and whose each is.
pub(super) struct Clusters {
    by_name: BTreeMap<String, Resolved>,
    /// The name of each setup's or arm's, in their order.
    chosen: Vec<String>,
}

struct Resolved {
    plan: ClusterPlan,
    /// By the paths that the plan's one cluster has.
    origins: BTreeMap<String, Origin>,
}

impl Clusters {
    /// None where the scenario has one cluster for all.
    pub(super) fn of(scenario: &Scenario, trail: &Trail) -> Result<Option<Self>, ResolveError> {
        let asked = asked(scenario);
        if scenario.clusters.is_empty() {
            return match asked.into_iter().find_map(|(path, name)| Some((path, name?))) {
                None => Ok(None),
                Some((path, name)) => {
                    Err(unknown(trail, path, name, "names of `clusters`, of which there are none"))
                }
            };
        }
        if scenario.cluster.is_some() {
            return Err(ResolveError::Conflict {
                place: trail.source_place("clusters"),
                first: "cluster".into(),
                second: "clusters".into(),
                reason: "setups have one cluster for all, or each its own by name",
            });
        }
        let names = scenario.clusters.keys().cloned().collect::<Vec<_>>().join(", ");
        let mut chosen = Vec::new();
        for (path, name) in asked {
            let given = name.clone().unwrap_or_else(|| "none".to_owned());
            match name.filter(|name| scenario.clusters.contains_key(name)) {
                Some(name) => chosen.push(name),
                None => return Err(unknown(trail, path, given, &format!("one of `clusters`: {names}"))),
            }
        }
        let mut by_name = BTreeMap::new();
        for (name, words) in &scenario.clusters {
            let start = format!("clusters.{name}");
            // As if it were the scenario's only one.
            let sources = trail.sources.iter().filter_map(|(path, origin)| {
                let rest = path.strip_prefix(&start)?;
                (rest.is_empty() || rest.starts_with('.')).then(|| (format!("cluster{rest}"), origin.clone()))
            });
            let sources = sources.collect();
            let mut own = Trail { sources: &sources, origins: BTreeMap::new() };
            let plan = cluster::cluster(Some(words), &mut own)?;
            by_name.insert(name.clone(), Resolved { plan, origins: own.origins });
        }
        Ok(Some(Clusters { by_name, chosen }))
    }

    /// The cluster of the first setup, which the run's document describes as that of all.
    pub(super) fn base(&self, trail: &mut Trail) -> ClusterPlan {
        let first = &self.by_name[&self.chosen[0]];
        trail.origins.extend(first.origins.clone());
        first.plan.clone()
    }

    /// Of each setup its cluster, where that is not the first one's. The reference of a trial once more has brokers of its own where they are
    /// started for it.
    pub(super) fn own(&self, scenario: &Scenario) -> Vec<Option<ClusterPlan>> {
        let first = &self.chosen[0];
        let mut own: Vec<Option<ClusterPlan>> =
            self.chosen.iter().map(|name| (name != first).then(|| self.by_name[name].plan.clone())).collect();
        if !scenario.arms.0.is_empty() {
            let differ = own.iter().any(Option::is_some);
            let base = &self.by_name[first].plan;
            own.push((differ && matches!(base, ClusterPlan::Lab { .. })).then(|| base.clone()));
        }
        own
    }

    /// Notes where the values of a step's own cluster come from.
    pub(super) fn note(&self, setup: usize, step: usize, trail: &mut Trail) {
        let name = self.chosen.get(setup).unwrap_or(&self.chosen[0]);
        let own = self.by_name[name].origins.iter().filter_map(|(path, origin)| {
            let rest = path.strip_prefix("cluster.")?;
            let rest = rest.strip_prefix("lab.").unwrap_or(rest);
            Some((format!("steps.{step}.cluster.{rest}"), origin.clone()))
        });
        trail.origins.extend(own);
    }
}

/// The cluster that each setup or arm names, with the path of that. Those of which an arm has a lab are not named.
fn asked(scenario: &Scenario) -> Vec<(String, Option<String>)> {
    if !scenario.arms.0.is_empty() {
        let of = |(arm, words): &(String, crate::scenario::ArmWords)| {
            let name = match &words.cluster {
                Some(ArmClusterWords::Named(name)) => Some(name.clone()),
                Some(ArmClusterWords::Lab(_)) | None => None,
            };
            (format!("arms.{arm}.cluster"), name)
        };
        return scenario.arms.0.iter().map(of).collect();
    }
    if scenario.setups.is_empty() {
        return vec![("setups".to_owned(), None)];
    }
    let of = |(at, setup): (usize, &crate::scenario::SetupWords)| {
        (format!("setups.{at}.cluster"), setup.cluster.clone())
    };
    scenario.setups.iter().enumerate().map(of).collect()
}

fn unknown(trail: &Trail, path: String, got: String, expected: &str) -> ResolveError {
    ResolveError::OutOfBounds {
        place: trail.source_place(&path),
        path,
        got,
        expected: expected.to_owned(),
        reason: "where a scenario has `clusters`, each setup or arm says which is its own: {name: west, cluster: west}",
    }
}
