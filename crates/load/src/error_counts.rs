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

/// An error as the document names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorWords {
    pub(crate) code: &'static str,
    pub(crate) text: &'static str,
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

    /// Tells so many times of an error under another code, of which more is known than was when it was noted.
    pub(crate) fn retell(&mut self, origin: &'static str, from: &str, to: ErrorWords, times: u64) {
        let key = ErrorKey { origin: Cow::Borrowed(origin), code: from.to_owned() };
        let times = match self.counts.entry(key) {
            Entry::Vacant(_) => 0,
            Entry::Occupied(mut known) => {
                let times = times.min(known.get().1);
                known.get_mut().1 -= times;
                if known.get().1 == 0 {
                    known.remove();
                }
                times
            }
        };
        if times > 0 {
            self.note_times(origin, to.code, to.text, times);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_is_known_of_is_told_once_under_its_own_code() {
        const MORE: ErrorWords = ErrorWords { code: "MORE", text: "more" };
        let told = |times: u64| {
            let mut errors = ErrorCounts::default();
            errors.note_times("produce", "LESS", "less", 5);
            errors.retell("produce", "LESS", MORE, times);
            errors.list().into_iter().map(|error| (error.code, error.count)).collect::<Vec<_>>()
        };
        let of = |code: &str, count: u64| (code.to_owned(), count);
        assert_eq!(told(0), [of("LESS", 5)]);
        assert_eq!(told(2), [of("LESS", 3), of("MORE", 2)]);
        assert_eq!(told(9), [of("MORE", 5)], "no more than there were");
    }
}
