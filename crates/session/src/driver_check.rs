//! Tries an external driver against the sink broker, which knows what it was sent and when.
//!
//! Two things make the claims exact, with no threshold in them. The sink shares the host's clock, holds its answers back for times of every
//! size, and knows of each when it was sent: a report of an acknowledgement before the answer, or of a send after the request was there, is impossible. And the program is stopped for a while: a
//! time within it, nothing of the program can have read.

mod consumer;
mod producer;

use crate::error::Result;
use plumb_lab::sink::{ApiKey, Apis, Control, Delay, ResponseError, SinkBroker, SinkOptions};
use plumb_load::LoadError;
use plumb_load::external::DriverCommand;
use plumb_load::external::examine::{self, Examination, Stopped};
use plumb_model::driver_check::{DriverCheck, Owed, RoleCheck};
use plumb_model::figure::{self, counted};
use plumb_model::observation::ProgramAccount;
use plumb_model::plan::ClientProgram;
use std::collections::HashMap;
use std::time::Duration;

/// So long the sink holds answers to produce requests back, and records from readers: times of every size, so that a program that is right
/// about long ones alone is not right.
const HELD_BACK: Delay =
    Delay::LogUniform { min: Duration::from_micros(200), max: Duration::from_millis(40), seed: 1 };
const PARTITIONS: i32 = 3;
/// Cases that are told of each thing that is owed.
const CASES_TOLD: usize = 5;
/// The error of two readings of one clock through different types (`sink/witness.rs`).
const READING_NS: u64 = 2_000;

/// The roles to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverRoles {
    /// One that sends, and then one that receives.
    Both,
    /// The first alone.
    Producer,
    /// The second alone.
    Consumer,
}

/// Tries a program in its roles.
///
/// # Errors
/// When it cannot be started, or there is no sink. What it does wrong is in the result.
pub fn check_driver(program: &ClientProgram, roles: DriverRoles) -> Result<DriverCheck> {
    let Some(command) = crate::external::command(program)? else {
        return Ok(DriverCheck { program: program.name(), roles: Vec::new() });
    };
    let sink = SinkBroker::start(SinkOptions { auto_create: false, ..SinkOptions::default() })?;
    let mut tried = Vec::new();
    if roles != DriverRoles::Consumer {
        tried.push(of_producer(&sink, &command)?);
    }
    if roles != DriverRoles::Producer {
        tried.push(of_consumer(&sink, &command)?);
    }
    Ok(DriverCheck { program: program.name(), roles: tried })
}

fn of_producer(sink: &SinkBroker, command: &DriverCommand) -> Result<RoleCheck> {
    let topic = "plumb-driver-check-produce";
    let control = sink.control();
    prepare(&control, topic)?;
    control.delay_answers(Apis::one(ApiKey::Produce), HELD_BACK);
    let refuse = || control.fail_partition(ApiKey::Produce, topic, 0, 1, ResponseError::InvalidRecord);
    let bootstrap = sink.bootstrap();
    let heard = examine::producer(&examination(command, &bootstrap, topic), refuse);
    control.clear();
    role("producer", heard, |evidence| {
        let owed = producer::owed_of(evidence, &control.witnessed(topic));
        (owed, &evidence.account)
    })
}

fn of_consumer(sink: &SinkBroker, command: &DriverCommand) -> Result<RoleCheck> {
    let topic = "plumb-driver-check-consume";
    let control = sink.control();
    prepare(&control, topic)?;
    control.delay_visibility(topic, HELD_BACK);
    let bootstrap = sink.bootstrap();
    let heard = examine::consumer(&examination(command, &bootstrap, topic));
    control.clear();
    role("consumer", heard, |evidence| {
        let owed = consumer::owed_of(evidence, &control.witnessed(topic));
        (owed, &evidence.account)
    })
}

fn prepare(control: &Control, topic: &str) -> Result<()> {
    control.create_topic(topic, PARTITIONS, &HashMap::new())?;
    control.witness(topic);
    Ok(())
}

fn examination<'e>(command: &'e DriverCommand, bootstrap: &'e str, topic: &'e str) -> Examination<'e> {
    Examination { command, bootstrap, topic, partitions: PARTITIONS, group: "plumb-driver-check" }
}

/// A role with what was heard of it; one that left the protocol owes nothing else any more.
fn role<E>(
    role: &str,
    heard: std::result::Result<E, LoadError>,
    judge: impl FnOnce(&E) -> (Vec<Owed>, &ProgramAccount),
) -> Result<RoleCheck> {
    let protocol = |cases: Vec<String>| owed("protocol", "It speaks the protocol to the end.", cases);
    let mut check =
        RoleCheck { role: role.to_owned(), about: Default::default(), owed: Vec::new(), remarks: Vec::new() };
    match heard {
        Ok(evidence) => {
            check.owed.push(protocol(Vec::new()));
            let (rest, account) = judge(&evidence);
            check.owed.extend(rest);
            check.about = account.about.clone();
            check.remarks = remarks(account);
        }
        Err(LoadError::Driver { reason, last_words, .. }) => {
            check.owed.push(protocol(vec![format!("{reason}; {last_words}")]));
        }
        Err(other) => return Err(other.into()),
    }
    Ok(check)
}

fn remarks(account: &ProgramAccount) -> Vec<String> {
    let mut remarks = Vec::new();
    if account.pauses.is_none() {
        remarks
            .push("It never tells the time (frame T): pauses of it cannot be told from waiting.".to_owned());
    }
    for name in ["client", "version"] {
        if !account.about.contains_key(name) {
            remarks
                .push(format!("It does not tell its {name} (frame R): a run's document will not have it."));
        }
    }
    if account.printed_lines > 0 {
        let lines = counted(account.printed_lines, "line");
        remarks.push(format!(
            "It printed {lines}, no part of the protocol; the last: {}",
            account.printed.join(" | ")
        ));
    }
    remarks.extend(account.notes.iter().map(|note| format!("It notes: {note}")));
    remarks
}

/// What is owed, with the cases in which it was not kept.
fn owed(name: &'static str, what: &'static str, mut cases: Vec<String>) -> Owed {
    let broken = cases.len() as u64;
    cases.truncate(CASES_TOLD);
    Owed { name, what, kept: broken == 0, cases, broken }
}

/// The times that nothing of a stopped program can have read.
fn of_a_stop(stopped: Option<Stopped>, times: impl Iterator<Item = (&'static str, u64, u64)>) -> Owed {
    let what = "No time that it reports lies in the while in which it was stopped: stalls are not hidden.";
    let Some(Stopped { from_ns, to_ns }) = stopped else {
        return owed("stall", what, vec!["it could not be stopped, so this cannot be told".to_owned()]);
    };
    let within = times.filter(|(_, _, at_ns)| (from_ns + 1..to_ns).contains(at_ns));
    let cases = within.map(|(word, number, at_ns)| {
        let (after, before) = (milliseconds(at_ns - from_ns), milliseconds(to_ns - at_ns));
        format!("{word} of record {number} is {after} after nothing of it ran any more, and {before} before it went on")
    });
    owed("stall", what, cases.collect())
}

fn milliseconds(ns: u64) -> String {
    figure::time(ns as f64)
}
