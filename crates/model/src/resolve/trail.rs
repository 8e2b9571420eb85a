//! Where each value of a plan comes from: followed from the scenario's paths to the plan's.

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

    /// A value of a step: written in the setup, or for all setups, or a default.
    pub(super) fn step<T>(
        &mut self,
        (plan_path, words_path): (String, &str),
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

    /// Where a path of the scenario is written, for the front of a message.
    pub(super) fn source_place(&self, path: &str) -> String {
        self.sources.get(path).map(|origin| format!("{origin}: ")).unwrap_or_default()
    }
}
