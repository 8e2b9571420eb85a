//! `plumb tune plan`.

use crate::args::result::ResultOutput;
use crate::args::tune::PlanArgs;
use crate::commands::{End, check};
use crate::errors::UsageError;
use crate::result_dir::json;
use crate::{printer, whole_file};
use anyhow::{Context, Result};
use plumb_model::change::Assignment;
use plumb_model::check::PROFILE;
use plumb_model::units::Nanos;
use plumb_report::host::plan::{Asked, sheet};
use plumb_report::sheet::text;
use plumb_scenario::yaml_error;
use plumb_tune::plan::Selection;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn plan(arguments: &PlanArgs) -> Result<End> {
    if let Some(file) = arguments.out.as_ref().filter(|file| file.exists()) {
        let message = format!("{} exists already", file.display());
        return Err(UsageError::new(message, "name another file with --out").into());
    }
    let is_profile_alone = arguments.host.only == [PROFILE];
    if is_profile_alone && arguments.profile.is_none() {
        return Err(UsageError::new(
            "--only profile without --profile plans nothing",
            "name the file: --profile FILE",
        )
        .into());
    }
    if arguments.host.window.0 > 0 {
        check::refuse_short(arguments.host.window)?;
    }
    let profile = arguments.profile.as_deref().map(read_profile).transpose()?.unwrap_or_default();
    let mut host = arguments.host.clone();
    if is_profile_alone {
        // No counter is asked for.
        host.window = Nanos(0);
    }
    let found = check::look(&host)?;
    let selection = Selection { without_evidence: arguments.without_evidence, profile };
    let mut plan = plumb_tune::plan::plan(&check::this_host(&arguments.host)?, &found, &selection)?;
    plan.bootstrap = arguments.host.bootstrap.clone();
    let document = json(&plan)?;
    if let Some(file) = &arguments.out {
        whole_file::write(file, &document).context("cannot write the plan")?;
    }
    let file = arguments.out.as_ref().map(|file| file.display().to_string());
    printer::out(&match arguments.output {
        ResultOutput::Json => document,
        ResultOutput::Text => {
            let asked = Asked { file: file.as_deref(), is_watched: host.window.0 > 0 };
            text::render(&sheet(&plan, asked), printer::style())
        }
    });
    Ok(End::Done)
}

/// Settings of the user's own: names and values.
fn read_profile(path: &Path) -> Result<Vec<Assignment>> {
    let text = fs_err::read_to_string(path).context("cannot read the profile")?;
    // As text: 0x10 is a mask and no number, `off` is a word.
    let values: BTreeMap<String, String> = serde_saphyr::from_str(&text).map_err(|error| {
        let fault = yaml_error::fault(&path.display().to_string(), &text, &error);
        let hint = fault.hint.unwrap_or("a profile has one setting a line: net.core.somaxconn: 4096");
        UsageError::new(fault.message, hint)
    })?;
    Ok(values.into_iter().map(|(key, value)| Assignment { key, value }).collect())
}
