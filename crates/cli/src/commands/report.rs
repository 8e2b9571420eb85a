//! `plumb report`: a finished run again, from its document alone, judged by the rules of this version.

use super::{End, end_of_figures, show};
use crate::args::{OutputFormat, ReportArgs, ReportFormat};
use crate::conditions::Conditions;
use crate::errors::UsageError;
use crate::result_dir::{self, Shown};
use crate::{install_dir, judged, printer, whole_file};
use anyhow::{Context, Result};
use plumb_model::document::RunDocument;
use plumb_report::omb::{self, SecondHistograms};
use plumb_report::text::Figures;
use plumb_session::run_dir::Seconds;
use std::path::Path;

pub(super) fn report(arguments: &ReportArgs) -> Result<End> {
    if arguments.out.is_some() && arguments.output != ReportFormat::Omb {
        let hint = "--html FILE writes the page; --output json > FILE the document";
        return Err(UsageError::new("--out is for --output omb", hint).into());
    }
    if let Some(shown) = result_dir::read(&arguments.run)? {
        return show_result(&shown, arguments);
    }
    let document = judged::read(&arguments.run)?;
    if let Some(path) = &arguments.html {
        let page = plumb_report::html::render(&document)?;
        whole_file::write(path, &page).context("cannot write the page")?;
        printer::remark(&format!("report: {}", path.display()));
    }
    if let Some(directory) = &arguments.install {
        let written = install_dir::write(directory, &document)?;
        if written.is_empty() {
            printer::note(
                "nothing to install: no setting came out ahead that promises no less than what it was held against",
            );
        }
        for place in written {
            printer::note(&format!("to install: {}", place.join("README.md").display()));
        }
    }
    match arguments.output {
        ReportFormat::Text => {
            let figures = if arguments.all_figures { Figures::All } else { Figures::Headline };
            printer::out(&plumb_report::text::render(&document, printer::style(), figures));
        }
        ReportFormat::Json => show(&document, OutputFormat::Json)?,
        ReportFormat::Csv => show(&document, OutputFormat::Csv)?,
        ReportFormat::Omb => show_omb(&document, arguments)?,
    }
    let passes = Conditions::new(&arguments.conditions)?.hold(&document, &[])?;
    // Looking at a run that was stopped is no interruption.
    Ok(end_of_figures(&document).unless(passes))
}

/// Shows a result that is no run.
fn show_result(shown: &Shown, arguments: &ReportArgs) -> Result<End> {
    let of_a_run = [
        (arguments.install.is_some(), "--install"),
        (arguments.all_figures, "--all-figures"),
        (!arguments.conditions.fail_if.is_empty(), "--fail-if"),
        (arguments.conditions.junit.is_some(), "--junit"),
        (arguments.output == ReportFormat::Csv, "--output csv"),
        (arguments.output == ReportFormat::Omb, "--output omb"),
    ];
    if let Some((_, flag)) = of_a_run.into_iter().find(|(given, _)| *given) {
        let message = format!("{flag} is for a run, and {} is none", arguments.run.display());
        return Err(
            UsageError::new(message, "--output text or json, and --html FILE, show any result").into()
        );
    }
    if let Some(path) = &arguments.html {
        result_dir::write_page(path, shown)?;
    }
    printer::out(if arguments.output == ReportFormat::Json { &shown.json } else { &shown.text });
    Ok(if shown.found { End::Found } else { End::Done })
}

/// A result file of the Open Messaging Benchmark for each step.
fn show_omb(document: &RunDocument, arguments: &ReportArgs) -> Result<()> {
    if arguments.out.is_none() && document.steps.len() > 1 {
        let message =
            format!("the run has {} steps, and the benchmark has a file for each", document.steps.len());
        return Err(UsageError::new(message, "name a directory for them with --out DIR").into());
    }
    let run = match arguments.run.is_dir() {
        true => &arguments.run,
        false => arguments.run.parent().unwrap_or(Path::new(".")),
    };
    if let Some(directory) = &arguments.out {
        fs_err::create_dir_all(directory).context("cannot make the directory for the result files")?;
    }
    for (index, step) in document.steps.iter().enumerate() {
        let seconds = Seconds::read(run, step);
        let histograms = SecondHistograms {
            acknowledge_service: &seconds.acknowledge_service,
            end_to_end_service: &seconds.end_to_end_service,
            slip: &seconds.slip,
        };
        let rendered = omb::render(document, index, histograms)?.zip(omb::file_name(document, index));
        let Some((text, name)) = rendered else { continue };
        match &arguments.out {
            None => printer::out(&text),
            Some(directory) => {
                let path = directory.join(name);
                whole_file::write(&path, &text).context("cannot write a result file")?;
                printer::remark(&format!("written: {}", path.display()));
            }
        }
    }
    Ok(())
}
