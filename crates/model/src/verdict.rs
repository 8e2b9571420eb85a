//! A verdict: what a trial, on one path or on a fleet, says of a difference.
//!
//! Not here: how a whole run came out ([`crate::outcome`]), and what came of a rate that a search tried ([`crate::search`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A smallest detectable ratio of this size or more detects nothing: nobody looks for differences that are so large (ours).
pub const DETECTABLE_MAX: f64 = 10.0;

/// The verdict of a trial on a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The arm is better than what it is held against, beyond the noise.
    Better,
    /// It is worse.
    Worse,
    /// Any difference is smaller than the margin.
    Equivalent,
    /// Neither a difference nor its absence is shown.
    Undecided,
}

impl Verdict {
    /// The verdict in one word, as documents, flags and reports have it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided => "undecided",
        }
    }
}
