//! What a try of an external driver showed: a claim about each thing that a driver owes, held or not.

use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriverCheck {
    /// The program and its arguments.
    pub program: String,
    /// Its roles that were tried.
    pub roles: Vec<RoleCheck>,
}

/// One role of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleCheck {
    /// `producer` or `consumer`.
    pub role: String,
    /// What it said of itself.
    pub about: BTreeMap<String, String>,
    /// What it owes, and whether it kept it.
    pub owed: Vec<Owed>,
    /// What is worth knowing and no fault.
    pub remarks: Vec<String>,
}

/// One thing that a driver owes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owed {
    /// Its name, the same in every version.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// True if it was kept.
    pub kept: bool,
    /// The first cases in which it was not, or why it could not be told.
    pub cases: Vec<String>,
    /// The number of all of them.
    pub broken: u64,
}

impl DriverCheck {
    /// True if everything that was owed was kept.
    pub fn passes(&self) -> bool {
        self.roles.iter().flat_map(|role| &role.owed).all(|owed| owed.kept)
    }
}
