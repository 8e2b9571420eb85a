//! The errors that clients met in a block, counted by where they came up and by code.

use plumb_model::observation::ErrorCount;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Errors by origin (`produce`, `consume`, `client`) and code, each with its first message.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<ErrorCount>", from = "Vec<ErrorCount>")]
pub(crate) struct ErrorCounts {
    counts: BTreeMap<ErrorKey, (String, u64)>,
}

/// Origin and code of an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorKey {
    origin: Cow<'static, str>,
    code: String,
}

impl ErrorCounts {
    /// Notes an error.
    pub(crate) fn note(&mut self, origin: &'static str, code: &str, text: &str) {
        self.note_times(origin, code, text, 1);
    }

    /// Notes the same error of several messages.
    pub(crate) fn note_times(&mut self, origin: &'static str, code: &str, text: &str, times: u64) {
        self.add(
            ErrorKey { origin: Cow::Borrowed(origin), code: code.to_owned() },
            Cow::Borrowed(text),
            times,
        );
    }

    /// Notes what a client library says of itself.
    pub(crate) fn note_client(&mut self, code: &str, text: &str, fatal: bool) {
        let text = if fatal { format!("fatal: {text}") } else { text.to_owned() };
        self.note("client", code, &text);
    }

    /// Adds what another client met.
    pub(crate) fn absorb(&mut self, other: ErrorCounts) {
        for (key, (text, count)) in other.counts {
            self.add(key, Cow::Owned(text), count);
        }
    }

    /// As the document has them.
    pub(crate) fn list(self) -> Vec<ErrorCount> {
        self.into()
    }

    fn add(&mut self, key: ErrorKey, text: Cow<'_, str>, count: u64) {
        match self.counts.entry(key) {
            Entry::Occupied(mut known) => known.get_mut().1 += count,
            Entry::Vacant(new) => {
                new.insert((text.into_owned(), count));
            }
        }
    }
}

impl From<ErrorCounts> for Vec<ErrorCount> {
    fn from(errors: ErrorCounts) -> Self {
        let counts = errors.counts.into_iter();
        let row = |(ErrorKey { origin, code }, (message, count)): (ErrorKey, (String, u64))| ErrorCount {
            origin: origin.into_owned(),
            code,
            message,
            count,
        };
        counts.map(row).collect()
    }
}

impl From<Vec<ErrorCount>> for ErrorCounts {
    fn from(rows: Vec<ErrorCount>) -> Self {
        let mut errors = ErrorCounts::default();
        for ErrorCount { origin, code, message, count } in rows {
            errors.add(ErrorKey { origin: Cow::Owned(origin), code }, Cow::Owned(message), count);
        }
        errors
    }
}
