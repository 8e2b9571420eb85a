//! Findings and checks in documents of earlier versions, which had shapes of their own: a warning of a storage probe (id and text), a
//! caveat of a trial (a sentence), ids with underscores.

use super::{Finding, Severity};
use serde::{Deserialize, Deserializer};

/// The id of a sentence that had none.
const NAMELESS: &str = "caveat";

#[derive(Deserialize)]
#[serde(untagged)]
enum Earlier {
    Finding(Finding),
    Warning { id: String, text: String },
    Sentence(String),
}

/// Findings of any version. Those of earlier ones did not say how grave they are: the figures may mislead.
pub(crate) fn findings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Finding>, D::Error> {
    let findings = Vec::<Earlier>::deserialize(from)?.into_iter().map(|earlier| match earlier {
        Earlier::Finding(finding) => finding,
        Earlier::Warning { id, text } => Finding::new(&id.replace('_', "-"), Severity::Suspect, text),
        Earlier::Sentence(claim) => Finding::new(NAMELESS, Severity::Suspect, claim),
    });
    Ok(findings.collect())
}

/// An id of any version: earlier ones had underscores.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(String::deserialize(from)?.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::super::Check;
    use super::*;

    #[test]
    fn a_check_of_an_earlier_version_keeps_its_name_as_its_id() {
        let old = r#"{"name": "pre_trend", "outcome": "passed", "statement": "It holds.", "p": null}"#;
        let check: Check = serde_json::from_str(old).unwrap();
        assert_eq!((check.id.as_str(), check.p), ("pre-trend", None));
    }

    #[test]
    fn warnings_and_caveats_of_earlier_versions_are_read_as_findings() {
        let new = Finding::new("no-barrier", Severity::Invalid, "It is so.".to_owned());
        let text = format!(
            "[{}, {}, {}]",
            serde_json::to_string(&new).unwrap(),
            r#"{"id": "no_barrier", "text": "It is so."}"#,
            r#""It is so.""#
        );
        let read = findings(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        let old = |id| Finding::new(id, Severity::Suspect, "It is so.".to_owned());
        assert_eq!(read, [new, old("no-barrier"), old("caveat")]);
        assert!(findings(&mut serde_json::Deserializer::from_str("[3]")).is_err());
    }
}
