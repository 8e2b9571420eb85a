//! The conditions under which a user wants a run to fail, and the file that tells continuous integration of it.

use crate::args::ConditionArgs;
use crate::errors::UsageError;
use crate::printer;
use crate::whole_file::WholeFile;
use anyhow::{Context, Result};
use plumb_model::condition::{Answer, ConditionResult};
use plumb_model::document::RunDocument;
use plumb_report::junit::ArmCase;
use std::path::Path;

/// The conditions on a run, with the file of their results open before anything runs: hours of measuring must not end in a
/// directory that is not there.
pub(crate) struct Conditions<'a> {
    arguments: &'a ConditionArgs,
    junit: Option<WholeFile>,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(arguments: &'a ConditionArgs) -> Result<Self> {
        let create = |path| -> std::io::Result<WholeFile> {
            let file = WholeFile::create(path)?;
            file.remove_earlier()?;
            Ok(file)
        };
        let create = |path| create(path).context("cannot write the JUnit file");
        Ok(Conditions { arguments, junit: arguments.junit.as_deref().map(create).transpose()? })
    }

    /// Refuses a file that could not be written, without making it.
    pub(crate) fn check(arguments: &ConditionArgs) -> Result<()> {
        let Some(path) = &arguments.junit else { return Ok(()) };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let metadata = fs_err::metadata(parent).context("cannot write the JUnit file")?;
        if path.is_dir() || !metadata.is_dir() {
            let hint = "--junit names a file in a directory that is there";
            return Err(
                UsageError::new(format!("{} is no place for the JUnit file", path.display()), hint).into()
            );
        }
        Ok(())
    }

    /// Says which conditions are met, and writes the file, with the verdicts on a trial's arms. Whether the conditions pass.
    pub(crate) fn hold(self, document: &RunDocument, arms: &[ArmCase]) -> Result<bool> {
        let results = plumb_judge::condition::check(document, &self.arguments.fail_if);
        for result in &results {
            printer::note(&sentence(result));
        }
        if let Some(file) = self.junit {
            let text = plumb_report::junit::render(document, &results, arms)?;
            file.finish(&text).context("cannot write the JUnit file")?;
        }
        Ok(results.iter().all(|result| result.answer == Answer::NotMet))
    }
}

fn sentence(result: &ConditionResult) -> String {
    let value = result.value.as_deref().unwrap_or("absent");
    let (word, seen) = match &result.answer {
        Answer::Met => ("FAILED", value.to_owned()),
        Answer::NotMet => ("passed", value.to_owned()),
        Answer::NotKnown(reason) => ("NOT KNOWN, which fails", reason.clone()),
    };
    format!("fail-if {}: {word}: {}: {seen}", result.condition, result.setup)
}
