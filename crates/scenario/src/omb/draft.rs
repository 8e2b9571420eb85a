//! A scenario that is being written, value by value, each with the place that it comes from.

use super::fate::Place;
use plumb_model::plan::Origin;
use plumb_model::resolve::Sources;
use std::fmt::Write;

/// A scenario in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The lines above it, without the comment signs.
    pub(super) heading: Vec<String>,
    /// Keys of the scenario itself.
    pub(super) top: Vec<Setting>,
    pub(super) cluster: Vec<Setting>,
    pub(super) topic: Vec<Setting>,
    pub(super) topic_configs: Vec<Setting>,
    pub(super) load: Vec<Setting>,
    /// Name of the only setup.
    pub(super) setup: String,
    pub(super) producer: Vec<Setting>,
    pub(super) consumer: Vec<Setting>,
}

/// One value of a scenario.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) key: String,
    /// As YAML.
    pub(super) value: String,
    /// Its place in the foreign file; none: it is the import's own.
    pub(super) place: Option<Place>,
    /// Stands behind it.
    pub(super) comment: String,
}

impl Setting {
    /// A value that a key of the foreign files asks for.
    pub(super) fn from_key(key: &str, value: impl Into<String>, place: &Place, comment: &str) -> Self {
        let place = Some(place.clone());
        Setting { key: key.to_owned(), value: value.into(), place, comment: comment.to_owned() }
    }

    /// A value that the import adds.
    pub(super) fn added(key: &str, value: impl Into<String>, comment: &str) -> Self {
        Setting { key: key.to_owned(), value: value.into(), place: None, comment: comment.to_owned() }
    }
}

impl Draft {
    /// The scenario's text.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.heading {
            let _ = writeln!(out, "# {line}");
        }
        settings(&mut out, "", &self.top);
        section(&mut out, "cluster", &self.cluster);
        section(&mut out, "topic", &self.topic);
        if !self.topic_configs.is_empty() {
            if self.topic.is_empty() {
                out += "topic:\n";
            }
            out += "  configs:\n";
            settings(&mut out, "    ", &self.topic_configs);
        }
        section(&mut out, "load", &self.load);
        let _ = writeln!(out, "setups:\n  - name: {}", quoted(&self.setup));
        for (role, properties) in [("producer", &self.producer), ("consumer", &self.consumer)] {
            if !properties.is_empty() {
                let _ = writeln!(out, "    {role}:");
                settings(&mut out, "      ", properties);
            }
        }
        out
    }

    /// The place of each value in the foreign files, by its path in the scenario.
    pub(super) fn sources(&self) -> Sources {
        let sections = [
            ("", &self.top),
            ("cluster.", &self.cluster),
            ("topic.", &self.topic),
            ("topic.configs.", &self.topic_configs),
            ("load.", &self.load),
            ("setups.0.producer.", &self.producer),
            ("setups.0.consumer.", &self.consumer),
        ];
        let origins = sections.into_iter().flat_map(|(prefix, settings)| {
            settings.iter().filter_map(move |setting| {
                let place = setting.place.as_ref()?;
                let origin = Origin::File { path: place.file.clone(), line: place.line };
                Some((format!("{prefix}{}", setting.key), origin))
            })
        });
        origins.collect()
    }
}

fn section(out: &mut String, name: &str, content: &[Setting]) {
    if !content.is_empty() {
        let _ = writeln!(out, "{name}:");
        settings(out, "  ", content);
    }
}

fn settings(out: &mut String, indent: &str, settings: &[Setting]) {
    for Setting { key, value, comment, .. } in settings {
        let comment = if comment.is_empty() { String::new() } else { format!("  # {comment}") };
        let _ = writeln!(out, "{indent}{key}: {value}{comment}");
    }
}

/// A text as YAML: in quotes unless it is surely read as the same text, or as the same number, without.
pub(super) fn quoted(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let number = text.parse::<u64>().is_ok_and(|number| number.to_string() == text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let text_like =
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && text.chars().all(plain);
    // A property's true or false is read as the same word.
    let word = WORDS[2..].iter().any(|word| text.eq_ignore_ascii_case(word));
    if number || (text_like && !word) {
        return text.to_owned();
    }
    // YAML's double quotes take every escape that JSON writes.
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::scenario::Scalar;

    #[test]
    fn a_quoted_text_is_read_back_as_it_was() {
        for text in [
            "a b", "1.0", "007", "-1", "yes", "True", "16384", "#x", "a: b", "{x}", "\"", "", "é\t", "~",
            "true",
        ] {
            let yaml = quoted(text);
            let Scalar(back) = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(back.to_lowercase(), text.to_lowercase(), "{yaml}");
        }
    }
}
