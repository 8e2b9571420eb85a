//! `plumb compat`: another tool's flags in, its lines out, and what those leave out on standard error.

use super::{End, end_of};
use crate::args::{CompatArgs, Tool};
use crate::errors::UsageError;
use crate::{handed_over, printer, progress, stop};
use anyhow::{Result, anyhow};
use plumb_model::document::RunDocument;
use plumb_model::finding::{Finding, Severity};
use plumb_model::plan::{Driver, Origin};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::Scenario;
use plumb_scenario::perf_test::producer::Files;
use plumb_scenario::perf_test::{consumer, producer};
use plumb_session::Finished;
use plumb_session::run_dir::Seconds;

pub(super) fn compat(arguments: &CompatArgs) -> Result<End> {
    match &arguments.tool {
        Tool::KafkaProducerPerfTest(tool) => {
            let config = config(tool.command_config.as_deref())?;
            let payload = payload(tool.payload_file.as_deref())?;
            let files = Files { config: config.as_deref(), payload: payload.as_deref() };
            let (scenario, notes) = producer::scenario(tool, arguments.driver, files)?;
            let finished = run(&scenario, &notes, arguments)?;
            let handed_over = handed_over::write(&finished)?;
            let Finished { document, dir, .. } = &finished;
            let step = &document.steps[0];
            let seconds = Seconds::read(dir.path(), step);
            printer::out(&producer::output(step, &seconds.acknowledge_service, tool.reporting_interval));
            say(&producer::corrections(step), document);
            handed_over.say();
            Ok(end_of(document))
        }
        Tool::KafkaConsumerPerfTest(tool) => {
            let config = config(tool.command_config.as_deref())?;
            let (scenario, notes) = consumer::scenario(tool, arguments.driver, config.as_deref())?;
            let finished = run(&scenario, &notes, arguments)?;
            let handed_over = handed_over::write(&finished)?;
            let document = &finished.document;
            let step = &document.steps[0];
            let Some((row, corrections)) = consumer::output(step, tool) else {
                return Err(consumer::without_rate(step.counts.received, tool).into());
            };
            printer::out(&row);
            say(&corrections, document);
            handed_over.say();
            Ok(end_of(document))
        }
    }
}

/// The content of a properties file.
fn config(path: Option<&str>) -> Result<Option<String>> {
    let Some(path) = path else { return Ok(None) };
    let read = fs_err::read_to_string(path);
    read.map(Some).map_err(|error| {
        anyhow!(UsageError::new(error.to_string(), "--command-config names a client properties file"))
    })
}

/// The content of a file of records.
fn payload(path: Option<&str>) -> Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    let read = fs_err::read(path);
    read.map(Some).map_err(|error| {
        anyhow!(UsageError::new(error.to_string(), "--payload-file names a file of records, a line each"))
    })
}

fn run(scenario: &Scenario, notes: &[String], arguments: &CompatArgs) -> Result<Finished> {
    let mut sources = Sources::new();
    let tool = Origin::Derived { reason: "plumb compat".to_owned() };
    for path in ["blocks", "settle", "twin", "name", "driver", "cluster", "cluster.bootstrap", "topic.name"] {
        sources.insert(path.to_owned(), tool.clone());
    }
    for path in ["rate", "mode", "count", "warm_up", "drain", "producers", "consumers", "size", "payload"] {
        sources.insert(format!("load.{path}"), tool.clone());
    }
    let plan = resolve(scenario, &sources)?;
    for note in notes {
        printer::note(&format!("plumb: {note}"));
    }
    if arguments.driver == Driver::Wire {
        let note =
            "plumb: the load is driven by Plumb's own client, wire; --driver librdkafka uses that library";
        printer::note(note);
    }
    Ok(plumb_session::run(plan, arguments.out.as_deref(), &stop::flag()?, &progress::watcher())?)
}

/// Notes what the tool's lines leave out, and what makes their figures doubtful.
fn say(corrections: &[String], document: &RunDocument) {
    for correction in corrections {
        printer::note(&format!("plumb: {correction}"));
    }
    let findings = document.validity.reasons.iter().chain(&document.findings);
    for finding in findings.filter(|finding| finding.severity != Severity::Note) {
        printer::note(&format!("plumb: {}", sentence(finding)));
    }
}

/// A finding in one line, with what it rests on.
fn sentence(finding: &Finding) -> String {
    let evidence = finding.evidence.iter().map(|seen| match &seen.expected {
        Some(expected) => format!("{} {}, expected {expected}", seen.what, seen.value),
        None => format!("{} {}", seen.what, seen.value),
    });
    let evidence: Vec<String> = evidence.collect();
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Suspect => "suspect",
        Severity::Invalid => "invalid",
    };
    let rests_on = if evidence.is_empty() { String::new() } else { format!(" ({})", evidence.join("; ")) };
    let claim = finding.claim.trim_end_matches('.');
    format!("{severity}: {claim}{rests_on} (plumb explain {})", finding.id)
}
