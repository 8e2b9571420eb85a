//! `${NAME:-15}` in a workload: its default is taken, and said.
//!
//! Scripts around the benchmark fill such places in before it reads the file. The environment is not asked: a scenario has to be
//! the same wherever it is imported.

use super::fate::{Fate, Fates, Place};
use super::file::Entry;
use crate::yaml::Value;

/// The places whose defaults were taken, with what stood there.
#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<(Place, String)>);

/// The entries with defaults in the places that have one.
pub(super) fn filled(entries: &[Entry]) -> (Vec<Entry>, Placeholders) {
    let mut placeholders = Placeholders::default();
    let mut filled = entries.to_vec();
    for entry in &mut filled {
        let Value::Scalar(text) = &entry.value else { continue };
        if let Some(default) = default(text) {
            placeholders.0.push((entry.place.clone(), text.clone()));
            entry.value = Value::Scalar(default.to_owned());
        }
    }
    (filled, placeholders)
}

/// The text behind `:-`, where a whole value is such a placeholder.
fn default(text: &str) -> Option<&str> {
    let (name, default) = text.strip_prefix("${")?.strip_suffix('}')?.split_once(":-")?;
    let plain = |text: &str| !text.is_empty() && !text.contains(['$', '{', '}']);
    (plain(name) && plain(default)).then_some(default)
}

impl Placeholders {
    /// Says of each key whose default was taken that it was.
    pub(super) fn tell(&self, fates: &mut Fates) {
        for key in &mut fates.0 {
            let Some((_, text)) = self.0.iter().find(|(place, _)| *place == key.place) else { continue };
            let said = format!("the default in {text}");
            key.fate = match std::mem::replace(&mut key.fate, Fate::WithoutMeaning { reason: String::new() })
            {
                Fate::Taken { to } => Fate::Translated { to, note: said },
                Fate::Translated { to, note } => Fate::Translated { to, note: format!("{said}; {note}") },
                fate => fate,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_value_with_a_default_is_filled_in() {
        assert_eq!(default("${minutes:-15}"), Some("15"));
        for other in
            ["15", "${minutes}", "${minutes:-}", "${:-15}", "a${m:-15}", "${m:-15}0", "${a:-${b:-1}}"]
        {
            assert_eq!(default(other), None, "{other}");
        }
    }
}
