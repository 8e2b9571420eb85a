//! The names of the arms of the trials that follow a search.

use plumb_model::start_setting::StartChange;

/// The name of the arm that is the scenario as it is.
pub const AS_IS: &str = "as it is";
/// The name of the arm with what is proposed.
pub const PROPOSED: &str = "proposed";
/// The name of the arm with all changes that were found, where fewer are proposed.
pub const ALL: &str = "all changes";

/// The name of the arm with those of the proposed changes that are shown to matter, where those are fewer.
pub const SHOWN: &str = "shown changes";

/// The name of the arm with fewer of the changes than all, before the proof.
pub const FEWER: &str = "fewer changes";

/// The name of the arm whose brokers are started with another value of a setting.
pub fn started_with(change: &StartChange) -> String {
    format!("started with {} {}", change.setting, change.to)
}

/// The name of the arm that has all changes but one.
pub fn without(setting: &str) -> String {
    format!("without {setting}")
}
