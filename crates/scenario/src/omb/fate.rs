//! The fate of each key of a foreign file.

use serde::Serialize;
use std::fmt;

/// The place of a key in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As the user named the file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl Place {
    /// The file without its directories, and the line: `workload.yaml:3`.
    pub(crate) fn short(&self) -> String {
        let name = std::path::Path::new(&self.file).file_name().map(|name| name.to_string_lossy());
        format!("{}:{}", name.unwrap_or_else(|| (&*self.file).into()), self.line)
    }
}

/// A key with its fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyFate {
    /// The place of the key.
    #[serde(flatten)]
    pub place: Place,
    /// The key, with the block that it stood in before it: `producerConfig linger.ms`.
    pub key: String,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// The fate of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// It means the same here.
    Taken {
        /// Key of the scenario with its value.
        to: String,
    },
    /// It is expressed in other words, or not quite the same.
    Translated {
        /// Key of the scenario with its value.
        to: String,
        /// The difference, as a sentence.
        note: String,
    },
    /// It can be left out.
    WithoutMeaning {
        /// The reason, as a sentence.
        reason: String,
    },
    /// It would change what is measured, and cannot be honoured.
    Refused {
        /// The reason and the remedy, as a sentence.
        reason: String,
    },
}

/// The fates of all keys, in the files' order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fates(pub Vec<KeyFate>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Fates {
    pub(crate) fn taken(&mut self, place: &Place, key: &str, to: impl Into<String>) {
        self.note(place, key, Fate::Taken { to: to.into() });
    }

    pub(crate) fn translated(
        &mut self,
        place: &Place,
        key: &str,
        to: impl Into<String>,
        note: impl Into<String>,
    ) {
        self.note(place, key, Fate::Translated { to: to.into(), note: note.into() });
    }

    pub(crate) fn without_meaning(&mut self, place: &Place, key: &str, reason: impl Into<String>) {
        self.note(place, key, Fate::WithoutMeaning { reason: reason.into() });
    }

    pub(crate) fn refused(&mut self, place: &Place, key: &str, reason: impl Into<String>) {
        self.note(place, key, Fate::Refused { reason: reason.into() });
    }

    pub(crate) fn note(&mut self, place: &Place, key: &str, fate: Fate) {
        self.0.push(KeyFate { place: place.clone(), key: key.to_owned(), fate });
    }

    /// Keys that were refused, each in a line.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let refusal = |key: &KeyFate| match &key.fate {
            Fate::Refused { reason } => Some(format!("{}: {}: {reason}", key.place, key.key)),
            _ => None,
        };
        self.0.iter().filter_map(refusal).collect()
    }

    /// A line for each key.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for KeyFate { place, key, fate } in &self.0 {
            let what = match fate {
                Fate::Taken { to } => format!("taken as {to}"),
                Fate::Translated { to, note } => format!("translated to {to}: {note}"),
                Fate::WithoutMeaning { reason } => format!("without meaning here: {reason}"),
                Fate::Refused { reason } => format!("refused: {reason}"),
            };
            out += &format!("{place}: {key}: {what}\n");
        }
        out
    }
}
