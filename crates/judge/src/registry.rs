//! The registry: a row for every finding and every check that any output shows.
//!
//! [`rows`] puts the families together. `plumb explain` and the list of findings come from it.

use crate::row::Row;
use crate::{crypto, diagnosis, fleet, rules, storage, trial};

/// Every row, family by family.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let probes = storage::rows::ROWS.iter().chain(&crypto::ROWS).copied();
    let trials = trial::rows::ROWS.iter().chain(&fleet::rows::ROWS).copied();
    let causes = diagnosis::REGISTRY.iter().map(|cause| &cause.row);
    rules::REGISTRY.iter().map(|rule| &rule.row).chain(probes).chain(trials).chain(causes)
}

/// The row of an id; none where no output shows it.
pub fn row(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id == id)
}
