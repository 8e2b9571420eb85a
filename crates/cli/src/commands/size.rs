//! `plumb size`: how many brokers a target load needs, by physics and by plan.

mod machine;
pub(crate) mod sheet;
mod target;

use super::End;
use crate::args::size::{SizeArgs, SizeOutput};
use crate::errors::UsageError;
use crate::result_dir::{ResultKind, Shown};
use crate::{printer, result_dir};
use anyhow::Result;
use plumb_judge::capacity::{self, Assumptions, CapacityError};
use plumb_model::finding::ValidityVerdict;

/// The word that `--machine` and `--assume` take instead of a name, to list the names.
const LIST: &str = "list";

pub(super) fn size(arguments: &SizeArgs) -> Result<End> {
    if arguments.machine.as_deref() == Some(LIST) {
        printer::out(&machine::list(arguments.output)?);
        return Ok(End::Done);
    }
    if arguments.assume.iter().any(|word| word == LIST) {
        printer::out(&sheet::assumptions(arguments.output)?);
        return Ok(End::Done);
    }
    if let Some(directory) = &arguments.out {
        result_dir::refuse_taken(directory, &[])?;
    }
    let assumptions = assumptions(arguments)?;
    let machine::Known { machine, cautions, verdict } = machine::known(arguments)?;
    let target = target::target(arguments);
    let mut sizing = capacity::size(&target, &machine, &assumptions).map_err(|error| usage(&error))?;
    sizing.cautions.extend(cautions);
    let shown = Shown::sheet(&sizing, &sheet::sheet(&sizing), "size")?;
    printer::out(match arguments.output {
        SizeOutput::Text => &shown.text,
        SizeOutput::Json => &shown.json,
    });
    if let Some(directory) = &arguments.out {
        result_dir::write(directory, ResultKind::Size, &shown)?;
    }
    let found = !sizing.contradictions.is_empty() || verdict == Some(ValidityVerdict::Invalid);
    Ok(if found { End::Found } else { End::Done })
}

fn assumptions(arguments: &SizeArgs) -> Result<Assumptions, UsageError> {
    let mut assumptions = Assumptions::default();
    for word in &arguments.assume {
        let replaced = word
            .split_once('=')
            .and_then(|(name, value)| Some((name, value.parse().ok()?)))
            .is_some_and(|(name, value)| assumptions.set(name, value));
        if !replaced {
            let names: Vec<&str> = Assumptions::rows().iter().map(|row| row.name).collect();
            let message = format!("--assume {word:?} is no assumption with a value above 0");
            return Err(UsageError::new(message, format!("NAME=VALUE, with one of: {}", names.join(", "))));
        }
    }
    Ok(assumptions)
}

fn usage(error: &CapacityError) -> UsageError {
    let hint = match error {
        CapacityError::NoLoad { .. } => {
            "give --messages and --size, or --bytes: --messages 1.6M/s --size 240KB"
        }
        CapacityError::OutOfRange { .. } => "see plumb size --help for what each figure is",
        CapacityError::OneZone => "--reserve broker or --reserve nothing, or more --zones",
    };
    UsageError::new(error.to_string(), hint)
}
