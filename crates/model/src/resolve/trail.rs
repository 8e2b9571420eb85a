//! The origin of each value of a plan: followed from the scenario's paths to the plan's.

use super::{Sources, sweep};
use crate::plan::Origin;
use std::collections::BTreeMap;

/// Follows values from the scenario's paths to the plan's, noting origins.
pub(super) struct Trail<'a> {
    pub(super) sources: &'a Sources,
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Trail<'_> {
    /// A top-level value with the same path in scenario and plan.
    pub(super) fn scenario<T>(&mut self, path: &str, written: Option<T>, default: impl FnOnce() -> T) -> T {
        let origin = match &written {
            Some(_) => self.sources.get(path).cloned().unwrap_or(Origin::Default),
            None => Origin::Default,
        };
        self.origins.insert(path.to_owned(), origin);
        written.unwrap_or_else(default)
    }

    /// The origin of a value that is written: its own place, else that of the first of `around` that is known.
    pub(super) fn note_written(&mut self, path: &str, around: &[&str]) {
        let found = [path].iter().chain(around).find_map(|path| self.sources.get(*path));
        self.origins.insert(path.to_owned(), found.cloned().unwrap_or(Origin::Default));
    }

    /// A value of a step: written in the setup, or for all setups, or a default. `plan_path` is its path in the plan, `words_path` in
    /// the scenario.
    pub(super) fn step<T>(
        &mut self,
        plan_path: String,
        words_path: &str,
        variant: &sweep::Variant,
        written: Option<T>,
        default: impl FnOnce() -> T,
    ) -> T {
        let origin = match &written {
            Some(_) => self.written(variant, words_path).unwrap_or(Origin::Default),
            None => Origin::Default,
        };
        self.origins.insert(plan_path, origin);
        written.unwrap_or_else(default)
    }

    pub(super) fn written(&self, variant: &sweep::Variant, path: &str) -> Option<Origin> {
        let own = format!("{}.{path}", variant.place);
        self.sources.get(&own).or_else(|| self.sources.get(path)).cloned()
    }

    pub(super) fn place(&self, variant: &sweep::Variant, path: &str) -> String {
        self.written(variant, path).map(|origin| format!("{origin}: ")).unwrap_or_default()
    }

    /// Records the origins of the values of an arm's own lab: those that it states, from there; all others from the scenario's
    /// lab.
    pub(super) fn arm_lab_origins(&mut self, step: usize, arm: &str) {
        let said = format!("arms.{arm}.cluster.");
        let said = self.sources.iter().filter_map(|(path, origin)| Some((path.strip_prefix(&said)?, origin)));
        let said = said.map(|(path, origin)| (path.to_owned(), origin.clone())).collect();
        self.own_lab_origins(step, said);
    }

    /// The same of a step's own lab: by their paths within it, where those values come from in which it differs from the
    /// scenario's.
    pub(super) fn own_lab_origins(&mut self, step: usize, said: BTreeMap<String, Origin>) {
        let of_all = self
            .origins
            .iter()
            .filter_map(|(path, origin)| Some((path.strip_prefix("cluster.lab.")?, origin)));
        let said = said.iter().map(|(path, origin)| (path.as_str(), origin));
        let kind = self.origins.get("cluster.kind").map(|origin| ("kind", origin));
        let place =
            |(path, origin): (&str, &Origin)| (format!("steps.{step}.cluster.{path}"), origin.clone());
        let unwritten = ["broker_properties", "jvm_flags", "log_dirs"].map(|path| (path, &Origin::Default));
        let found: Vec<_> = unwritten.into_iter().chain(kind).chain(of_all).chain(said).map(place).collect();
        self.origins.extend(found);
    }

    /// A value of a step that only an arm has, where it is written.
    pub(super) fn arm_origin(&mut self, step: usize, arm: &str, path: &str) {
        if let Some(origin) = self.sources.get(&format!("arms.{arm}.{path}")) {
            self.origins.insert(format!("steps.{step}.{path}"), origin.clone());
        }
    }

    /// A value of the plan that comes from another.
    pub(super) fn same_origin(&mut self, path: &str, of: &str) {
        if let Some(origin) = self.origins.get(of).cloned() {
            self.origins.insert(path.to_owned(), origin);
        }
    }

    /// The place of a setup's name, or of an arm, which is its key, for the front of a message.
    pub(super) fn place_of_setup(&self, setup: &str) -> String {
        let name = format!("{setup}.name");
        let origin = self.sources.get(&name).or_else(|| self.sources.get(setup));
        origin.map(|origin| format!("{origin}: ")).unwrap_or_default()
    }

    /// The place of a path of the scenario, for the front of a message.
    pub(super) fn source_place(&self, path: &str) -> String {
        self.sources.get(path).map(|origin| format!("{origin}: ")).unwrap_or_default()
    }
}
