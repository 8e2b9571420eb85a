//! Looks at what is told and not changed: a value with its meaning, counters, and what it should rather be.

use super::Look;
use plumb_model::check::{Evidence, Status};

impl Look {
    /// A value that was found, with what it means. Nothing is to be changed.
    pub(super) fn found(
        target: &str,
        status: Status,
        value: impl Into<String>,
        reason: impl Into<String>,
    ) -> Look {
        let value = value.into();
        Look {
            configured: Some(value.clone()),
            effective: Some(value),
            ..Look::plain(target, status, reason)
        }
    }

    /// The same look with the counters that show it.
    pub(super) fn showing(self, evidence: Vec<Evidence>) -> Look {
        Look { evidence, ..self }
    }

    /// The same look; advice with another reason where it is as recommended and counters show that it hurts nevertheless. Then the value is
    /// not what to change, and none is recommended.
    pub(super) fn or_where_it_hurts(self, reason: &str) -> Look {
        match (self.status, self.evidence.is_empty()) {
            (Status::Ok, false) => {
                Look { status: Status::Advice, reason: reason.to_owned(), recommended: None, ..self }
            }
            _ => self,
        }
    }

    /// The same look with the commands that change it by hand.
    pub(super) fn by_hand(self, commands: impl Into<String>) -> Look {
        Look { by_hand: commands.into(), ..self }
    }

    /// The same look with the value that it should rather have.
    pub(super) fn recommending(self, value: impl Into<String>) -> Look {
        Look { recommended: Some(value.into()), ..self }
    }
}
