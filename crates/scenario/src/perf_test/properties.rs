//! Properties that Kafka's tools take as flags and as a file.

use crate::java_client::{Role, Translation, is_connection, is_secret, translate};
use plumb_load::librdkafka::java;
use plumb_model::fault::UsageError;
use std::collections::BTreeMap;

/// The properties of flags and file together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolProperties {
    pub(super) bootstrap: Option<String>,
    /// The file, where it says how to connect.
    pub(super) config: Option<String>,
    /// By librdkafka's names.
    pub(super) client: BTreeMap<String, String>,
    /// Notes on single properties.
    pub(super) notes: Vec<String>,
}

/// A properties file that was read.
pub(super) struct PropertiesFile<'a> {
    pub(super) path: &'a str,
    pub(super) content: &'a str,
}

impl<'a> PropertiesFile<'a> {
    /// The file of these, where there is one.
    pub(super) fn of(path: Option<&'a str>, content: Option<&'a str>) -> Option<Self> {
        Some(PropertiesFile { path: path?, content: content? })
    }
}

/// Puts together flags (`KEY=VALUE`) and a file; as in the tools, flags go before the file.
pub(super) fn read(
    role: Role,
    flags: &[String],
    file: Option<PropertiesFile<'_>>,
) -> Result<ToolProperties, UsageError> {
    let mut found = ToolProperties::default();
    if let Some(PropertiesFile { path, content }) = file {
        found.file(role, path, content)?;
    }
    for flag in flags {
        let Some((key, value)) = flag.split_once('=') else {
            return Err(UsageError::new(
                format!("{flag:?} has no value"),
                "write each property as KEY=VALUE",
            ));
        };
        if key == "security.protocol" && value == "PLAINTEXT" {
            continue;
        }
        if is_connection(key) || is_secret(key) {
            let hint = "put it into a properties file and name that with --command-config: other users of this machine see \
                        flags, and a run's document keeps properties";
            return Err(UsageError::new(format!("{key} cannot be a flag, because it may be a secret"), hint));
        }
        found.property(role, key, value, "the flags")?;
    }
    Ok(found)
}

impl ToolProperties {
    fn file(&mut self, role: Role, path: &str, content: &str) -> Result<(), UsageError> {
        let entries = java::entries(content);
        let connects = entries.iter().any(|entry| is_connection(&entry.key) || is_secret(&entry.key));
        if !connects {
            for entry in &entries {
                self.property(role, &entry.key, &entry.value, &format!("{path}:{}", entry.line))?;
            }
            return Ok(());
        }
        let other = entries.iter().find(|entry| {
            !is_connection(&entry.key) && translate(role, &entry.key, &entry.value) == Translation::Same
                || entry.key == "bootstrap.servers"
        });
        if let Some(other) = other {
            let message =
                format!("{path}:{}: {} stands in a file that says how to connect", other.line, other.key);
            let hint = "give it as a flag (--bootstrap-server, --command-property KEY=VALUE): the file's content is kept out \
                        of the run's document, and what is measured with must be in it";
            return Err(UsageError::new(message, hint));
        }
        self.config = Some(path.to_owned());
        Ok(())
    }

    fn property(&mut self, role: Role, key: &str, value: &str, place: &str) -> Result<(), UsageError> {
        if key == "bootstrap.servers" {
            self.bootstrap = Some(value.to_owned());
            return Ok(());
        }
        match translate(role, key, value) {
            Translation::Same => {
                self.client.insert(key.to_owned(), value.to_owned());
            }
            Translation::Renamed { name, value, note } => {
                self.notes.push(format!("{key} is {name}={value} ({note})"));
                self.client.insert(name.to_owned(), value);
            }
            Translation::WithoutMeaning(reason) => {
                self.notes.push(format!("{key} is without meaning here: {reason}"));
            }
            Translation::Refused(reason) => {
                return Err(UsageError::new(format!("{place}: {key} cannot be honoured"), reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(flags: &[&str]) -> Vec<String> {
        flags.iter().map(|flag| (*flag).to_owned()).collect()
    }

    #[test]
    fn flags_go_before_the_file_and_an_address_may_stand_in_either() {
        let given = flags(&["linger.ms=1", "bootstrap.servers=b:2"]);
        let file = "linger.ms=9\nacks=1\nbootstrap.servers=a:1\nkey.serializer=x\n";
        let found = read(Role::Producer, &given, PropertiesFile::of(Some("p"), Some(file))).unwrap();
        assert_eq!((found.client["linger.ms"].as_str(), found.client["acks"].as_str()), ("1", "1"));
        assert_eq!((found.bootstrap.as_deref(), found.config), (Some("b:2"), None));
        assert!(found.notes[0].starts_with("key.serializer is without meaning"), "{:?}", found.notes);
    }

    #[test]
    fn a_secret_is_no_flag_and_a_file_with_one_says_only_how_to_connect() {
        let error = read(Role::Producer, &flags(&["sasl.jaas.config=x y=\"hunter2\""]), None).unwrap_err();
        assert!(!error.message.contains("hunter2") && error.hint.unwrap().contains("--command-config"));
        let secured = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n";
        let found = read(Role::Consumer, &[], PropertiesFile::of(Some("c"), Some(secured))).unwrap();
        assert_eq!((found.config.as_deref(), found.client.len()), (Some("c"), 0));
        let more = format!("{secured}linger.ms=3\n");
        let file = PropertiesFile::of(Some("c"), Some(&more));
        let error = read(Role::Producer, &[], file).unwrap_err();
        assert!(error.message.starts_with("c:3: linger.ms"), "{}", error.message);
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_its_name() {
        let error = read(Role::Producer, &flags(&["transactional.id=t"]), None).unwrap_err();
        assert!(error.message.contains("transactional.id"), "{}", error.message);
        assert!(read(Role::Producer, &flags(&["linger.ms"]), None).is_err());
    }
}
