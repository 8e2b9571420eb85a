//! The places in files where a plan's values are written.

use super::{Origin, Plan};
use crate::property::usual_name;

impl Plan {
    /// The place of a client's property, by whichever of its names it is written; none where no file has it. `role`: `producer` or
    /// `consumer`.
    #[must_use]
    pub fn place_of_property(&self, step: usize, role: &str, name: &str) -> Option<&Origin> {
        let of_client = format!("steps.{step}.{role}.");
        let is_it = |path: &str| {
            path.strip_prefix(&of_client).is_some_and(|written| usual_name(written) == usual_name(name))
        };
        self.origins.iter().find(|(path, _)| is_it(path)).and_then(|(path, _)| self.place_of(path))
    }

    /// The place of a value by its path in the plan; none where no file has it.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Option<&Origin> {
        self.origins.get(path).filter(|origin| matches!(origin, Origin::File { .. }))
    }
}
