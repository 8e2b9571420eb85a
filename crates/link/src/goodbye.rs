//! The last frame of a link: why it is closed, so that the other side knows what to do next.

use crate::frame::Frame;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest reason that is shown.
const REASON_CHARACTERS_MAX: usize = 500;

/// The reason for which a side closes a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goodbye {
    /// The run is over: no block comes any more.
    RunOver,
    /// The run did not begin: no block comes.
    NotBegun {
        /// The reason.
        why: String,
    },
    /// The run ended with an error: no block comes any more.
    RunFailed {
        /// The error.
        why: String,
    },
    /// The link failed, the run goes on: another link of the same name is waited for.
    JoinAgain {
        /// What failed.
        why: String,
    },
    /// The side that says so leaves.
    Leaves {
        /// The reason.
        why: String,
    },
}

impl Goodbye {
    /// What the other side said: the words of whatever it is, without what a terminal would obey.
    pub(crate) fn read(frame: &Frame) -> Goodbye {
        match serde_json::from_slice(&frame.bytes) {
            Ok(Goodbye::RunOver) => Goodbye::RunOver,
            Ok(Goodbye::NotBegun { why }) => Goodbye::NotBegun { why: shown(&why) },
            Ok(Goodbye::RunFailed { why }) => Goodbye::RunFailed { why: shown(&why) },
            Ok(Goodbye::JoinAgain { why }) => Goodbye::JoinAgain { why: shown(&why) },
            Ok(Goodbye::Leaves { why }) => Goodbye::Leaves { why: shown(&why) },
            Err(_) => Goodbye::Leaves { why: shown(&String::from_utf8_lossy(&frame.bytes)) },
        }
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Goodbye::RunOver => "nothing is left to do here; start workers anew for the next run",
            Goodbye::NotBegun { .. } => {
                "the run's own output says more; start workers anew with the next one"
            }
            Goodbye::RunFailed { .. } => {
                "the run's own output says more, and how it goes on; start workers anew when it does"
            }
            Goodbye::JoinAgain { .. } => "join again under the same name: the run waits a minute for it",
            Goodbye::Leaves { .. } => "was that process told to stop (Ctrl-C, the end of its pod)?",
        }
    }
}

fn shown(why: &str) -> String {
    why.chars().filter(|character| !character.is_control()).take(REASON_CHARACTERS_MAX).collect()
}

impl fmt::Display for Goodbye {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goodbye::RunOver => f.write_str("the run is over"),
            Goodbye::NotBegun { why } => write!(f, "the run did not begin: {why}"),
            Goodbye::RunFailed { why } => write!(f, "the run failed: {why}"),
            Goodbye::JoinAgain { why } | Goodbye::Leaves { why } => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{json_bytes, own};
    use proptest::prelude::*;

    fn said(bytes: &[u8]) -> Goodbye {
        Goodbye::read(&Frame { kind: own::BYE, bytes: bytes.to_vec() })
    }

    #[test]
    fn a_goodbye_is_read_as_it_was_said() {
        let why = "a message cannot be read".to_owned();
        let all = [
            Goodbye::RunOver,
            Goodbye::NotBegun { why: why.clone() },
            Goodbye::RunFailed { why: why.clone() },
            Goodbye::JoinAgain { why: why.clone() },
            Goodbye::Leaves { why },
        ];
        for goodbye in all {
            assert_eq!(said(&json_bytes("a goodbye", &goodbye).unwrap()), goodbye);
        }
    }

    proptest! {
        #[test]
        fn whatever_the_last_frame_holds_what_is_shown_of_it_is_short_and_plain(bytes in prop::collection::vec(any::<u8>(), 0..4_000)) {
            let text = said(&bytes).to_string();
            prop_assert!(text.chars().count() <= REASON_CHARACTERS_MAX);
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
