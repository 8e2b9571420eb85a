//! Reads a scenario file: strict, and with the place of every value for the plan's origins.

use crate::yaml::Value;
use crate::yaml_error::{self, YamlFault};
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::Origin;
use plumb_model::resolve::Sources;
use plumb_model::scenario::Scenario;
use std::borrow::Cow;
use std::path::Path;
use thiserror::Error;

/// A scenario file that cannot be used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum ScenarioFileError {
    #[error("cannot read the scenario")]
    Read(#[from] std::io::Error),
    #[error("{message}")]
    Content { message: String, hint: Option<&'static str> },
}

impl HasFault for ScenarioFileError {
    fn fault(&self) -> Fault {
        Fault::User
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            ScenarioFileError::Read(_) => "ready ones are in scenarios/",
            ScenarioFileError::Content { hint: Some(hint), .. } => hint,
            ScenarioFileError::Content { hint: None, .. } => {
                "docs/reference/scenario.schema.json lists every key; scenarios/ has examples"
            }
        };
        Some(hint.into())
    }
}

/// Reads a scenario file, with the place of each value in it.
///
/// # Errors
/// A file that cannot be read, or whose content is no scenario.
pub fn read(path: &Path) -> Result<(Scenario, Sources), ScenarioFileError> {
    let text = fs_err::read_to_string(path)?;
    parse(&path.display().to_string(), &text)
}

/// Reads a scenario from its text; `path` is for messages and origins.
///
/// # Errors
/// A text that is no scenario.
pub fn parse(path: &str, text: &str) -> Result<(Scenario, Sources), ScenarioFileError> {
    let content = |error: serde_saphyr::Error| {
        let YamlFault { message, hint } = yaml_error::fault(path, text, &error);
        ScenarioFileError::Content { message, hint }
    };
    let scenario: Scenario = serde_saphyr::from_str(text).map_err(content)?;
    let tree: Value = serde_saphyr::from_str(text).map_err(content)?;
    let mut sources = Sources::new();
    note(&tree, "", path, &mut sources);
    Ok((scenario, sources))
}

/// Notes the places of the keys below `at`.
fn note(tree: &Value, at: &str, file: &str, sources: &mut Sources) {
    match tree {
        Value::Nothing | Value::Scalar(_) => {}
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                note(item, &join(at, &index.to_string()), file, sources);
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                let path = join(at, &key.name);
                sources.insert(path.clone(), Origin::File { path: file.to_owned(), line: key.line });
                note(value, &path, file, sources);
            }
        }
    }
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::resolve::resolve;

    const TEXT: &str = "\
name: x
cluster: lab
load:
  rate: [100, 300]
  count: 50
setups:
  - name: low
    producer: {linger.ms: 0, acks: all}
    load:
      schedule: {burst: {messages: 5}}
";

    #[test]
    fn every_value_keeps_its_place() {
        let (scenario, sources) = parse("a.yaml", TEXT).unwrap();
        let plan = resolve(&scenario, &sources).unwrap();
        let line = |line| Origin::File { path: "a.yaml".into(), line };
        assert_eq!(plan.steps.len(), 2);
        assert_eq!(plan.origins["steps.1.load.rate_per_s"], line(4));
        assert_eq!(plan.origins["steps.0.producer.linger.ms"], line(8));
        assert_eq!(plan.origins["steps.0.load.schedule"], line(10));
    }

    #[test]
    fn a_key_that_is_written_twice_is_said_so_in_plain_words() {
        let message = parse("a.yaml", "name: a\nname: b\n").unwrap_err().to_string();
        assert!(message.starts_with("a.yaml:2:1: `name` is written twice\n"), "{message}");
        assert!(!message.contains("Options") && !message.contains("duplicate"), "{message}");
    }

    #[test]
    fn a_number_that_is_not_finite_is_said_so_in_plain_words() {
        let message = parse("a.yaml", "name: x\nload:\n  rate: .nan\n").unwrap_err().to_string();
        assert!(message.contains("`.nan` is no finite number"), "{message}");
        assert!(!message.contains("policy") && !message.contains("float"), "{message}");
    }

    #[test]
    fn a_typing_error_is_shown_with_its_place_and_the_choices() {
        let wrong = TEXT.replace("rate:", "rte:");
        let message = parse("a.yaml", &wrong).unwrap_err().to_string();
        assert!(
            message.starts_with("a.yaml:4:3: unknown field `rte`, expected one of purpose, rate,"),
            "{message}"
        );
    }
}
