//! A row of the registry: the page of a finding or a check, and the properties that every finding of it has in common.
//!
//! A row stands beside the code that makes its findings; `registry.rs` puts all of them together. Not here: making findings.

use plumb_model::finding::{Confidence, Expect, Finding, Flip, FlipSetting, PathStage, Severity};
use plumb_model::prose::sentence;

/// A claim that Plumb can make, before it makes it.
#[derive(Debug)]
pub struct Row {
    /// Stable identifier, as in documents; also the name of its page.
    pub id: &'static str,
    /// One line: what it claims, or of a check what it looks for.
    pub summary: &'static str,
    /// The page, Markdown.
    pub page: &'static str,
    /// The output that shows it.
    pub family: Family,
    /// The gravest that its findings can be.
    pub severity: Severity,
    /// The confidence of its findings.
    pub confidence: Confidence,
    /// The reason for that confidence, as a clause.
    pub because: &'static str,
    /// The stage of the path that it concerns; none where it has none, or where each finding has another.
    pub stage: Option<PathStage>,
    /// The change that would prove its findings; none where nothing is left to prove, or nothing can be tried.
    pub flip: Option<FlipRow>,
}

/// The output that shows a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// A run: its validity and its findings.
    Run,
    /// `plumb probe storage`.
    Storage,
    /// `plumb probe crypto`.
    Crypto,
    /// `plumb trial run` and its siblings.
    Trial,
    /// `plumb trial fleet`.
    Fleet,
    /// `plumb diagnose`.
    Diagnosis,
}

impl Family {
    /// The heading of its findings in a list.
    pub fn title(self) -> &'static str {
        match self {
            Family::Run => "Of a run",
            Family::Storage => "Of a storage probe",
            Family::Crypto => "Of a crypto probe",
            Family::Trial => "Of a trial",
            Family::Fleet => "Of a trial on a fleet",
            Family::Diagnosis => "Causes, of a path that was watched",
        }
    }
}

/// A counterfactual that is the same for all findings of a row.
#[derive(Debug)]
pub struct FlipRow {
    /// The change, as an order: `send without lingering`.
    pub change: &'static str,
    /// The setting that this is; none where it is none of a scenario.
    pub setting: Option<SettingRow>,
    /// The figure to look at.
    pub observe: &'static str,
    /// The expected course of that figure.
    pub expect: Expect,
}

/// A setting of an arm.
#[derive(Debug)]
pub struct SettingRow {
    /// Its key, with dots between the words of a scenario.
    pub path: &'static str,
    /// Its value.
    pub value: &'static str,
}

impl Row {
    /// The page with how sure the finding is and what would prove it, Markdown.
    pub fn explanation(&self) -> String {
        let mut text = format!(
            "{}\n## How sure it is\n\n{}: {}.\n",
            self.page,
            confidence(self.confidence),
            self.because
        );
        if let Some(flip) = &self.flip {
            let setting = flip.setting.as_ref().map(|row| format!(" (`{}: {}`)", row.path, row.value));
            let observe = match flip.observe.contains([' ', ',']) {
                true => flip.observe.to_owned(),
                false => format!("`{}`", flip.observe),
            };
            text += &format!(
                "\n## What would prove it\n\n{}{}: if the finding is right, {observe} {}.\n",
                sentence(flip.change).trim_end_matches('.'),
                setting.unwrap_or_default(),
                expected(flip.expect)
            );
        }
        text
    }

    /// A finding of this row by one whole sentence, to be completed with evidence and advice.
    pub(crate) fn finding(&self, severity: Severity, claim: impl Into<String>) -> Finding {
        self.complete(Finding::new(self.id, severity, claim.into()))
    }

    /// Adds to a finding of this row what all of them have in common; what the finding says itself stays.
    pub(crate) fn complete(&self, finding: Finding) -> Finding {
        debug_assert_eq!(finding.id, self.id, "a finding has the id of its row");
        Finding {
            confidence: Some(self.confidence),
            stage: finding.stage.or(self.stage),
            flip: finding.flip.or_else(|| self.flip.as_ref().map(FlipRow::flip)),
            ..finding
        }
    }
}

impl FlipRow {
    /// As a finding has it.
    #[must_use]
    pub fn flip(&self) -> Flip {
        let setting =
            |row: &SettingRow| FlipSetting { path: row.path.to_owned(), value: row.value.to_owned() };
        Flip {
            change: self.change.to_owned(),
            setting: self.setting.as_ref().map(setting),
            observe: self.observe.to_owned(),
            expect: self.expect,
        }
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Suspected => "Suspected",
        Confidence::Supported => "Supported",
        Confidence::Confirmed => "Confirmed",
    }
}

fn expected(expect: Expect) -> &'static str {
    match expect {
        Expect::Falls => "falls",
        Expect::Rises => "rises",
        Expect::Gone => "is gone",
        Expect::Stays => "stays as it is",
    }
}
