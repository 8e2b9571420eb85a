//! Settings of brokers that need a restart, as the words of a search name them.

use super::super::ResolveError;
use super::super::trail::Trail;
use crate::plan::ClusterPlan;
use crate::property::same_value;
use crate::scenario::SearchWords;
use crate::start_setting::{START_SETTINGS, StartChange, find};

/// Each is a lab of its own beside the others (ours: more of them share the memory and the processors of one host).
const MOST: usize = 3;

/// What brokers are started with in the last trial.
pub(super) fn restart(
    words: &SearchWords,
    cluster: &ClusterPlan,
    is_for_highest_rate: bool,
    trail: &Trail,
) -> Result<Vec<StartChange>, ResolveError> {
    let place = || trail.source_place("search.restart");
    if is_for_highest_rate && !words.restart.is_empty() {
        return Err(ResolveError::Conflict {
            place: place(),
            first: "search.restart".into(),
            second: "search.objective: rate".into(),
            reason: "a search for the highest rate under a goal ends with no trial of starts; search for the latency at that rate, or hold \
                     setups with labs of their own against each other",
        });
    }
    let out_of_bounds = |path: String, got: String, expected: String, reason| {
        Err(ResolveError::OutOfBounds { place: place(), path, got, expected, reason })
    };
    if words.restart.len() > MOST {
        let reason = "each has brokers of its own, which run beside those of the others";
        let got = format!("{} settings", words.restart.len());
        return out_of_bounds("search.restart".to_owned(), got, format!("at most {MOST}"), reason);
    }
    let mut changes = Vec::new();
    for (name, value) in &words.restart {
        let Some(setting) = find(name) else {
            let names: Vec<&str> = START_SETTINGS.iter().map(|setting| setting.name).collect();
            let reason =
                "brokers are started with nothing else: what changes a promise of the path is never proposed";
            let expected = format!("one of {}", names.join(", "));
            return out_of_bounds("search.restart".to_owned(), format!("{name:?}"), expected, reason);
        };
        let Some(from) = setting.of_lab(cluster) else {
            return Err(ResolveError::Conflict {
                place: place(),
                first: "search.restart".into(),
                second: "cluster.bootstrap".into(),
                reason: "only the brokers of a lab are Plumb's to start differently",
            });
        };
        if same_value(&from, &value.0) {
            let reason = "a trial of two starts alike shows nothing";
            let expected = format!("another value than {from}, which the brokers have");
            return out_of_bounds(format!("search.restart.{name}"), value.0.clone(), expected, reason);
        }
        changes.push(StartChange { setting: name.clone(), from, to: value.0.clone(), advised_by: None });
    }
    Ok(changes)
}
