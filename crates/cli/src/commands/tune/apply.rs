//! `plumb tune apply`: a plan's changes, with a guard over them where they have to be confirmed.

use crate::args::result::ResultOutput;
use crate::args::tune::ApplyArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::result_dir::json;
use crate::{printer, stop};
use anyhow::{Context, Result};
use plumb_model::change::Change;
use plumb_model::check::TunePlan;
use plumb_model::figure::time;
use plumb_model::setting_name::ClusterName;
use plumb_tune::apply::{self, ApplyError, Progress};
use plumb_tune::guard::{ProcessStart, reaches};
use plumb_tune::host::Host;
use plumb_tune::journal::{self, Journal, JournalOwner, JournalState, Places, Record};
use rustix::process::getppid;
use serde::Serialize;
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn apply(arguments: &ApplyArgs) -> Result<End> {
    let plan = super::read_plan(&arguments.plan)?;
    let host = super::host::with_cluster(plan.bootstrap.as_deref(), arguments.config.as_deref())?;
    if plan.changes.is_empty() {
        printer::out(&match arguments.output {
            ResultOutput::Json => json(&Applied::nothing())?,
            ResultOutput::Text => "Nothing to change: the plan is empty.\n".to_owned(),
        });
        return Ok(End::Done);
    }
    if arguments.confirm_within.is_some_and(|within| within.0 == 0) {
        let hint = "give a time in which you can look and type, such as 60s; without the option nothing is put back by itself";
        return Err(UsageError::new("--confirm-within 0 leaves no time to confirm", hint).into());
    }
    refuse_another_host(&plan)?;
    plumb_tune::danger::check(&host, &plan, arguments.force)?;
    if let Some(peer) = arguments.keep_reachable.as_ref().filter(|peer| !reaches(peer)) {
        let (message, hint) = match peer.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        {
            true => (
                format!("{peer} takes no connection now, before anything is changed"),
                "name a peer that does",
            ),
            false => {
                (format!("{peer:?} names no port"), "write HOST:PORT, of a service that takes connections")
            }
        };
        return Err(UsageError::new(message, hint).into());
    }
    let places = Places::here();
    journal::check(&places, &host)?;
    let changes: Vec<Change> = plan.changes.iter().map(|planned| planned.change.clone()).collect();
    if apply::are_made(&host, &changes)? {
        printer::out(&match arguments.output {
            ResultOutput::Json => json(&Applied::nothing())?,
            ResultOutput::Text => {
                "Nothing to change: every setting of the plan is as it asks already.\n".to_owned()
            }
        });
        return Ok(End::Done);
    }
    apply::check(&host, &changes)?;
    let changes = apply::with_ways_back(&host, &changes)?;
    let owner = JournalOwner::Plan {
        confirm_within_s: arguments.confirm_within.map(|within| within.0.div_ceil(1_000_000_000)),
        changes: changes.len() as u32,
        bootstrap: plan.bootstrap.clone(),
    };
    let mut journal = Journal::open(&places, &host, owner, jiff::Timestamp::now())?;
    let mut guard = None;
    if arguments.confirm_within.is_some() {
        let started = start_guard(journal.id(), &host, &plan, arguments)
            .context("cannot start the guard; nothing was changed");
        let started = started.inspect_err(|_| journal.forget())?;
        let ProcessStart { pid, start } = started.process;
        journal.append(Record::Guarded { pid, start })?;
        guard = Some(started);
    }
    let mut progress = Steps { stop: stop::flag()? };
    let applied = apply::apply(&host, &mut journal, &changes, &mut progress);
    match applied {
        Ok(()) => {}
        Err(stopped @ ApplyError::Stopped { .. }) => {
            printer::note(&stopped.to_string());
            return Ok(End::Interrupted);
        }
        Err(error) => return Err(error.into()),
    }
    let state = journal.state().clone();
    // It looks into the journal, which is this program's until now.
    drop(journal);
    let is_unguarded = guard.is_some_and(|guard| !guard.holds());
    show(&state, arguments, is_unguarded)?;
    let skipped = state.steps.iter().any(|step| step.skipped.is_some());
    Ok(if skipped || is_unguarded { End::Found } else { End::Done })
}

/// A plan's ways back are this host's alone.
fn refuse_another_host(plan: &TunePlan) -> Result<(), UsageError> {
    match super::is_made_elsewhere(plan) {
        true => Err(UsageError::new(
            "the plan was made on another host: its ways back are not this one's",
            "make it here: plumb tune plan; or roll it out with plumb tune export",
        )),
        false => Ok(()),
    }
}

/// Says each step on standard error.
struct Steps {
    stop: Arc<AtomicBool>,
}

impl Progress for Steps {
    fn begins(&mut self, step: usize, of: usize, change: &Change) {
        let after = change.after.as_deref().unwrap_or_default();
        let before = change.before.as_deref().unwrap_or_default();
        printer::remark(&format!("{step}/{of} {}: {before} -> {after}", change.target.key));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The process that watches over the changes, and what it says.
struct StartedGuard {
    process: ProcessStart,
    said: BufReader<ChildStdout>,
}

impl StartedGuard {
    /// Waits until it knows all changes; false if it ended before.
    fn holds(mut self) -> bool {
        let mut line = String::new();
        self.said.read_line(&mut line).is_ok() && line.trim() == super::guard::HOLDS
    }
}

/// Starts the guard and waits until it watches.
fn start_guard(id: &str, host: &Host, plan: &TunePlan, arguments: &ApplyArgs) -> Result<StartedGuard> {
    let within = arguments.confirm_within.map_or(0, |within| within.0);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["tune", "guard", id, "--within", &format!("{within}ns")]);
    if let Some(own) = ProcessStart::of(host, std::process::id()) {
        command.args(["--applier", &own.pid.to_string(), &own.start.to_string()]);
    }
    if let Some(session) = session(host) {
        command.args(["--session", &session.pid.to_string(), &session.start.to_string()]);
    }
    for (flag, value) in [
        ("--peer", arguments.keep_reachable.as_deref()),
        ("--bootstrap", plan.bootstrap.as_deref()),
        ("--config", arguments.config.as_deref()),
    ] {
        command.args(value.map(|value| [flag, value]).into_iter().flatten());
    }
    let mut guard: Child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    let mut said = BufReader::new(guard.stdout.take().context("it has no output")?);
    said.read_line(&mut line)?;
    match line.trim() == super::guard::WATCHING {
        true => {
            let process = ProcessStart::of(host, guard.id()).context("it ended at once")?;
            Ok(StartedGuard { process, said })
        }
        false => {
            let status = guard.wait()?;
            anyhow::bail!("it ended with {status}")
        }
    }
}

/// The process whose end is the end of the terminal's session; none where this was not started from a terminal, or is the session itself.
fn session(host: &Host) -> Option<ProcessStart> {
    let is_terminal = std::io::stdin().is_terminal() && getppid().is_some();
    let leader = ProcessStart::of_session_leader(host, std::process::id()).filter(|_| is_terminal)?;
    (leader.pid != std::process::id()).then_some(leader)
}

/// What was made, for programs.
#[derive(Debug, Serialize)]
struct Applied<'a> {
    journal_id: Option<&'a str>,
    confirm_within_s: Option<u64>,
    /// True if the guard ended, so that nothing comes back by itself.
    guard_is_gone: bool,
    changes: Vec<Made<'a>>,
}

#[derive(Debug, Serialize)]
struct Made<'a> {
    target: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    reads: Option<&'a str>,
    effective: Option<&'a str>,
    skipped: Option<&'a str>,
}

impl Applied<'_> {
    fn nothing() -> Self {
        Applied { journal_id: None, confirm_within_s: None, guard_is_gone: false, changes: Vec::new() }
    }
}

/// How long the changes last.
fn lasting(changes: &[Made<'_>]) -> &'static str {
    let of_cluster = |change: &Made<'_>| ClusterName::new(change.target).is_some();
    match (changes.iter().all(of_cluster), changes.iter().any(of_cluster)) {
        (true, _) => "The cluster keeps them, also when its brokers start anew.\n",
        (false, true) => {
            "The cluster keeps its own; those of this host end when it is started anew: plumb tune export writes files that last.\n"
        }
        (false, false) => {
            "They end when this host is started anew; plumb tune export writes files that last.\n"
        }
    }
}

fn show(state: &JournalState, arguments: &ApplyArgs, is_unguarded: bool) -> Result<()> {
    let id = state.opened.id.as_str();
    let confirm_within_s = match &state.opened.owner {
        JournalOwner::Plan { confirm_within_s, .. } => *confirm_within_s,
        JournalOwner::Trial { .. } => None,
    };
    let changes: Vec<Made<'_>> = state
        .steps
        .iter()
        .map(|step| Made {
            target: &step.change.target.key,
            before: step.change.before.as_deref(),
            after: step.change.after.as_deref(),
            reads: step.reads.as_deref(),
            effective: step.effective.as_deref(),
            skipped: step.skipped.as_deref(),
        })
        .collect();
    if arguments.output == ResultOutput::Json {
        printer::out(&json(&Applied {
            journal_id: Some(id),
            confirm_within_s,
            guard_is_gone: is_unguarded,
            changes,
        })?);
        return Ok(());
    }
    let made = changes.iter().filter(|change| change.skipped.is_none()).count();
    let mut text = match (made, changes.len()) {
        (1, 1) => format!("The change is made: {id}\n"),
        (made, all) if made == all => format!("All {all} changes are made: {id}\n"),
        (made, all) => format!("{made} of {all} changes are made: {id}\n"),
    };
    for change in &changes {
        let target = change.target;
        if let Some(reason) = change.skipped {
            text += &format!("- {target} was not changed: {reason}\n");
        } else if change.after != change.reads {
            let reads = change.reads.unwrap_or_default();
            text +=
                &format!("- {target}: asked for {}, it reads {reads}\n", change.after.unwrap_or_default());
        }
        if let Some(effective) = change.effective {
            text += &format!("- {target}: in effect is {effective}\n");
        }
    }
    text += &match arguments.confirm_within {
        Some(_) if is_unguarded => {
            format!(
                "The guard has ended, so nothing comes back by itself. Put all back: plumb tune revert {id}\n"
            )
        }
        Some(within) => format!(
            "All is put back in {} unless you keep it: plumb tune confirm {id}\n",
            time(within.0 as f64)
        ),
        None => format!("Put all back: plumb tune revert {id}\n"),
    };
    text += lasting(&changes);
    printer::out(&text);
    Ok(())
}
