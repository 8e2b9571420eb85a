//! `plumb tune confirm`, `revert`, `status`, `history`: what was changed on this host, kept, put back, or listed.

use crate::args::result::ResultOutput;
use crate::args::tune::{JournalArgs, RevertArgs};
use crate::commands::End;
use crate::errors::UsageError;
use crate::printer;
use crate::result_dir::json;
use anyhow::Result;
use plumb_model::figure::counted;
use plumb_model::setting_name::ClusterName;
use plumb_tune::host::Host;
use plumb_tune::journal::{
    self, Cause, Journal, JournalError, JournalOwner, JournalState, PendingCommand, Places, Record, Restored,
    StepState,
};
use plumb_tune::revert::Reverted;
use plumb_tune::setting::Setting;
use serde::Serialize;
use std::path::PathBuf;

pub(super) fn confirm(arguments: &JournalArgs) -> Result<End> {
    let places = Places::here();
    let waits = |state: &JournalState| is_unconfirmed(state);
    let id = chosen(&places, arguments.id.as_deref(), waits, "no changes wait to be confirmed")?;
    let mut journal = Journal::reopen(&places, &id)?;
    let state = journal.state();
    if !is_unconfirmed(state) {
        let message = match state.reverting {
            Some(cause) => format!("changes {id} are put back already: {}", cause_words(cause)),
            None if state.confirmed.is_some() => format!("changes {id} are confirmed already"),
            None if state.applied.is_none() => format!("changes {id} were not all made"),
            None => format!("changes {id} need no confirmation"),
        };
        return Err(UsageError::new(message, "plumb tune history shows what became of them").into());
    }
    journal.append(Record::Confirmed { at: jiff::Timestamp::now() })?;
    printer::out(&match arguments.output {
        ResultOutput::Json => json(&serde_json::json!({"journal_id": id, "confirmed": true}))?,
        ResultOutput::Text => {
            format!(
                "Changes {id} are kept until this host is started anew. Put them back: plumb tune revert {id}\n"
            )
        }
    });
    Ok(End::Done)
}

pub(super) fn revert(arguments: &RevertArgs) -> Result<End> {
    let places = Places::here();
    refuse_unreadable(&places, arguments.journal.id.as_deref())?;
    let is_made = |state: &JournalState| state.outstanding().next().is_some();
    let chosen = chosen(&places, arguments.journal.id.as_deref(), is_made, "");
    let id = match (chosen, &arguments.journal.id) {
        (Ok(id), _) => id,
        (Err(error), Some(_)) => return Err(error),
        (Err(_), None) => {
            printer::out(&match arguments.journal.output {
                ResultOutput::Json => json(&serde_json::json!({"journal_id": null, "steps": []}))?,
                ResultOutput::Text => {
                    "Nothing to put back: this host has no changes of Plumb's.\n".to_owned()
                }
            });
            return Ok(End::Done);
        }
    };
    refuse_changed_later(&places, &id)?;
    let (mut journal, unwritten) = match Journal::reopen(&places, &id) {
        Ok(journal) => (Some(journal), None),
        // The host must not stay changed because its journal cannot be written.
        Err(error @ JournalError::Write { .. }) => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let before = match &journal {
        Some(journal) => journal.state().clone(),
        None => journal::read(&places.file(&id)?)?,
    };
    if before.is_of_another_network(&Host::default()) {
        let network = before.opened.network.clone().unwrap_or_default();
        return Err(JournalError::OtherNetwork { id, network }.into());
    }
    let host = match &before.opened.owner {
        JournalOwner::Plan { bootstrap, .. } | JournalOwner::Trial { bootstrap: bootstrap @ Some(_), .. } => {
            super::host::with_cluster(bootstrap.as_deref(), arguments.config.as_deref())?
        }
        JournalOwner::Trial { bootstrap: None, .. } => {
            Host::default().with_cluster(plumb_session::ended_lab())
        }
    };
    let mut reverted = match &mut journal {
        Some(journal) => plumb_tune::revert::revert(&host, journal, Cause::Asked)?,
        None => plumb_tune::revert::revert_without_journal(&host, &before),
    };
    if reverted.steps.is_empty() {
        // What was left the last time is still not as it was.
        reverted = Reverted::left_before(&before);
    }
    printer::out(&match arguments.journal.output {
        ResultOutput::Json => json(&RevertedDocument::of(&id, &reverted))?,
        ResultOutput::Text => words(&id, &reverted),
    });
    if let Some(error) = unwritten {
        printer::note(&format!(
            "warning: {}, so `plumb tune status` goes on showing these changes",
            plumb_model::fault::chain(&error).join(": ")
        ));
    }
    if let Some(command) = before.command {
        printer::note(&format!(
            "warning: the command after a block of arm {:?} was perhaps not run: plumb trial run --resume runs it",
            command.arm
        ));
    }
    Ok(if reverted.left().next().is_some() { End::Found } else { End::Done })
}

/// A journal that cannot be read may be the one that is meant: nobody may be told that nothing is changed.
fn refuse_unreadable(places: &Places, named: Option<&str>) -> Result<()> {
    if named.is_some() {
        return Ok(());
    }
    match journal::all(places).into_iter().find_map(Result::err) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Changes that later ones were made over are put back after those: what they were made over would be lost.
fn refuse_changed_later(places: &Places, id: &str) -> Result<()> {
    let states: Vec<JournalState> = journal::all(places).into_iter().filter_map(Result::ok).collect();
    let Some(at) = states.iter().position(|state| state.opened.id == id) else { return Ok(()) };
    let own: Vec<&str> = states[at].outstanding().map(|step| step.change.target.key.as_str()).collect();
    for later in states[at + 1..].iter().rev() {
        let both = later.outstanding().find(|step| own.contains(&step.change.target.key.as_str()));
        if let Some(step) = both {
            let message = format!("{} was changed again by {}", step.change.target.key, later.opened.id);
            let hint = format!("put that back first: plumb tune revert {}", later.opened.id);
            return Err(UsageError::new(message, hint).into());
        }
    }
    Ok(())
}

/// What became of changes, for programs.
#[derive(Debug, Serialize)]
struct RevertedDocument<'a> {
    journal_id: &'a str,
    steps: Vec<StepDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct StepDocument<'a> {
    target: &'a str,
    before: Option<&'a str>,
    outcome: &'a Restored,
}

impl<'a> RevertedDocument<'a> {
    fn of(id: &'a str, reverted: &'a Reverted) -> Self {
        let step = |step: &'a plumb_tune::revert::RevertedStep| StepDocument {
            target: &step.setting,
            before: step.before.as_deref(),
            outcome: &step.outcome,
        };
        RevertedDocument { journal_id: id, steps: reverted.steps.iter().map(step).collect() }
    }
}

fn words(id: &str, reverted: &Reverted) -> String {
    if reverted.steps.is_empty() {
        return format!("Changes {id} are put back already.\n");
    }
    let mut text = String::new();
    for step in &reverted.steps {
        let (name, before) = (&step.setting, step.before.as_deref().unwrap_or_default());
        text += &match &step.outcome {
            Restored::Restored => format!("{name} is {before} again\n"),
            Restored::Unchanged => format!("{name} was {before} already\n"),
            Restored::Foreign { .. } | Restored::Gone { .. } | Restored::Failed { .. } => {
                format!(
                    "{name}, before the change {before}: {}\n",
                    left_words(&step.outcome).unwrap_or_default()
                )
            }
        };
    }
    let lost = reverted.steps.iter().filter(|step| takes_addresses_away(&step.setting));
    for step in lost {
        text += &format!(
            "{}: what the kernel took away with it (IPv6 addresses, routes) is not back: set it anew\n",
            step.setting
        );
    }
    let left = reverted.left().count();
    text += &match left {
        0 => format!("Every setting that {id} changed is as it was.\n"),
        1 => format!("One setting that {id} changed is not as it was: see above.\n"),
        left => format!("{left} settings that {id} changed are not as they were: see above.\n"),
    };
    text
}

/// True of an interface's flags: a link that goes down takes its addresses and routes with it.
fn takes_addresses_away(setting: &str) -> bool {
    setting.contains("/net/") && setting.ends_with("/flags")
}

/// Why a setting is not as it was before; none where it is.
fn left_words(outcome: &Restored) -> Option<String> {
    match outcome {
        Restored::Restored | Restored::Unchanged => None,
        Restored::Foreign { reads } => {
            Some(format!("not put back, because somebody else has set it to {reads} since"))
        }
        Restored::Gone { reason } => Some(format!("not there any more: {reason}")),
        Restored::Failed { reason } => Some(format!("could not be put back: {reason}")),
    }
}

pub(super) fn status(output: ResultOutput) -> Result<End> {
    show(
        output,
        |state| state.outstanding().next().is_some() || state.command.is_some(),
        "This host has no changes of Plumb's.\n",
    )
}

pub(super) fn history(output: ResultOutput) -> Result<End> {
    let ended = show(output, |_| true, "No changes are written down here.\n");
    if matches!(output, ResultOutput::Text) {
        printer::out(NOT_LISTED);
    }
    ended
}

/// What a history has not.
const NOT_LISTED: &str = "Trials that put back all that they changed are not listed: the directory of each has the settings of its arms.\n";

/// One set of changes, for programs.
#[derive(Debug, Serialize)]
struct Listed {
    journal_id: String,
    /// The directory in which it is written down, where that is not the user's own.
    place: Option<PathBuf>,
    opened: String,
    owner: JournalOwner,
    state: &'static str,
    guard: Option<u32>,
    guard_is_gone: bool,
    /// True if it was started in another PID namespace, so that it cannot be seen from here.
    guard_is_elsewhere: bool,
    started_anew_since: bool,
    changes: Vec<ListedChange>,
    /// The command of a trial that has to be run after a block.
    command: Option<PendingCommand>,
    /// How what a killed trial left is undone; none of one that goes on or left nothing.
    way_out: Option<String>,
}

#[derive(Debug, Serialize)]
struct ListedChange {
    target: String,
    before: Option<String>,
    after: Option<String>,
    reads_now: Option<String>,
    /// True if it may be in the host now.
    is_made: bool,
    restored: Option<Restored>,
}

impl ListedChange {
    /// True if it was to be put back and is not as before the change.
    fn is_left(&self) -> bool {
        self.restored.as_ref().is_some_and(|outcome| left_words(outcome).is_some())
    }
}

/// What is written down in all places that are looked at, and the last journal of the user's own that cannot be read.
fn gathered(
    places: &Places,
    host: &Host,
    is_shown: impl Fn(&JournalState) -> bool,
) -> (Vec<Listed>, Option<JournalError>) {
    let mut listed = Vec::new();
    let mut unreadable = None;
    for place in places.others.iter().chain([&places.own]) {
        let of_place = Places { own: place.clone(), others: Vec::new() };
        for state in journal::all(&of_place) {
            match state {
                Ok(state) if is_shown(&state) => listed.push(Listed {
                    place: (*place != places.own).then(|| place.clone()),
                    ..list(&state, host, &of_place)
                }),
                Ok(_) => {}
                // Another user's journal may be hidden.
                Err(JournalError::Read { .. }) if *place != places.own => {}
                Err(error) => unreadable = Some(error),
            }
        }
    }
    (listed, unreadable)
}

fn show(output: ResultOutput, is_shown: impl Fn(&JournalState) -> bool, nothing: &str) -> Result<End> {
    let (listed, unreadable) = gathered(&Places::here(), &Host::default(), is_shown);
    if let Some(error) = unreadable {
        // What else there is comes first; that all of it is known is not said.
        printer::out(&match output {
            ResultOutput::Json => json(&listed)?,
            ResultOutput::Text => listed.iter().map(text).collect(),
        });
        return Err(error.into());
    }
    printer::out(&match output {
        ResultOutput::Json => json(&listed)?,
        ResultOutput::Text if listed.is_empty() => nothing.to_owned(),
        ResultOutput::Text => listed.iter().map(text).collect(),
    });
    Ok(End::Done)
}

fn list(state: &JournalState, host: &Host, places: &Places) -> Listed {
    // In another network namespace a setting of that name is another one.
    let is_elsewhere = state.is_of_another_network(host);
    let read = |key: &str| {
        let setting = Setting::new(key).ok()?;
        let of_network = ["net.", "/proc/sys/net/", "/sys/class/net/", "ethtool:"];
        let is_seen = !is_elsewhere || !of_network.iter().any(|start| key.starts_with(start));
        is_seen.then(|| setting.read(host).ok())?
    };
    let now = |step: &StepState| {
        let now = read(&step.change.target.key)?;
        // As the change wrote it, where that reads as the same.
        let after = step.reads.as_ref().or(step.change.after.as_ref());
        let alike = Setting::new(&step.change.target.key)
            .is_ok_and(|setting| after.is_some_and(|after| setting.reads_alike(after, &now)));
        Some(if alike { step.change.after.clone().unwrap_or(now) } else { now })
    };
    Listed {
        journal_id: state.opened.id.clone(),
        place: None,
        opened: state.opened.opened.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        owner: state.opened.owner.clone(),
        state: state_words(state, places),
        guard: state
            .guard
            .filter(|guard| {
                is_unconfirmed(state) && !state.is_guarded_elsewhere(host) && guard.is_there(host)
            })
            .map(|guard| guard.pid),
        guard_is_gone: is_unconfirmed(state)
            && !state.is_guarded_elsewhere(host)
            && state.guard.is_some_and(|guard| !guard.is_there(host)),
        guard_is_elsewhere: is_unconfirmed(state) && state.is_guarded_elsewhere(host),
        started_anew_since: state.started_anew(host),
        changes: state
            .steps
            .iter()
            .map(|step| ListedChange {
                target: step.change.target.key.clone(),
                before: step.change.before.clone(),
                after: step.change.after.clone(),
                reads_now: now(step),
                is_made: step.is_outstanding(),
                restored: step.restored.clone(),
            })
            .collect(),
        command: state.command.clone(),
        way_out: way_out(state, host, places),
    }
}

fn way_out(state: &JournalState, host: &Host, places: &Places) -> Option<String> {
    let is_of_trial = matches!(state.opened.owner, JournalOwner::Trial { .. });
    let is_left = is_of_trial && state.is_left(host) && journal::is_free(places);
    let file = places.file(&state.opened.id).ok().filter(|_| is_left)?;
    Some(state.way_out(&file))
}

fn text(listed: &Listed) -> String {
    let who = match &listed.owner {
        JournalOwner::Plan { .. } => "plumb tune".to_owned(),
        JournalOwner::Trial { run, .. } => format!("the trial {}", run.display()),
    };
    let changes = match listed.changes.len() {
        0 if listed.command.is_some() => "a command".to_owned(),
        n => counted(n, "change"),
    };
    let left = listed.changes.iter().filter(|change| change.is_left()).count();
    let but = match left {
        0 => String::new(),
        left => {
            format!("; {} not as before", if left == 1 { "1 is".to_owned() } else { format!("{left} are") })
        }
    };
    let mut text = format!("{}  {} by {who}: {}{but}\n", listed.journal_id, changes, listed.state);
    if let Some(place) = &listed.place {
        text += &format!("  written down in {}, by another user, who can undo it\n", place.display());
    }
    if listed.guard_is_gone {
        text += "  its guard is gone: nothing puts it back by itself; plumb tune confirm keeps it, plumb tune revert puts it back\n";
    }
    if listed.guard_is_elsewhere {
        text += "  its guard was started in another PID namespace and cannot be seen from here\n";
    }
    if listed.started_anew_since {
        text += "  this host was started anew since: kernel and device settings ended with that\n";
    }
    for change in &listed.changes {
        let [before, after] =
            [&change.before, &change.after].map(|value| value.as_deref().unwrap_or("(unknown)"));
        let since = match &change.reads_now {
            _ if !change.is_made || change.is_left() => {
                let left = change.restored.as_ref().and_then(left_words);
                left.map(|why| format!(": {why}")).unwrap_or_default()
            }
            Some(now) if now == after => String::new(),
            Some(now) => format!(", and now {now}: it was set again since"),
            None if ClusterName::new(&change.target).is_some() => String::new(),
            None => ", and now not seen from here".to_owned(),
        };
        text += &format!("  {}: {before} -> {after}{since}\n", change.target);
    }
    if let Some(way_out) = &listed.way_out {
        if let Some(PendingCommand { arm, pair, command, .. }) = &listed.command {
            text += &format!(
                "  perhaps to be run: the command after a block of {arm:?} (pair {pair}): {command}\n"
            );
        }
        text += &format!("  to undo it: {way_out}\n");
    }
    text
}

fn is_unconfirmed(state: &JournalState) -> bool {
    let asks = matches!(state.opened.owner, JournalOwner::Plan { confirm_within_s: Some(_), .. });
    asks && state.applied.is_some() && state.confirmed.is_none() && state.reverting.is_none()
}

fn state_words(state: &JournalState, places: &Places) -> &'static str {
    match (state.reverted.is_some(), state.reverting) {
        (true, Some(cause)) => cause_words(cause),
        (_, Some(_)) if state.outstanding().any(|step| step.restored.is_some()) => {
            "put back in part: plumb tune revert tries the rest again"
        }
        (_, Some(_)) => {
            "put back, but it is not written down that all of it was: plumb tune revert looks again"
        }
        (_, None) if is_unconfirmed(state) => "made, waits to be confirmed",
        (_, None) if state.confirmed.is_some() => "made and confirmed",
        (_, None) if state.applied.is_some() => "made",
        (_, None) if matches!(state.opened.owner, JournalOwner::Trial { .. }) => {
            match journal::is_free(places) {
                true => "left by a trial that was killed",
                false => "a trial that goes on",
            }
        }
        (_, None) if !journal::is_free(places) => "being made",
        _ => "begun and not finished",
    }
}

fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Asked => "put back, as asked",
        Cause::StepFailed => "put back, because a change failed",
        Cause::Stopped => "put back, because it was stopped",
        Cause::NotConfirmed => "put back, because nobody confirmed in time",
        Cause::ApplierEnded => "put back, because the program ended before it was done",
        Cause::SessionLost => "put back, because the terminal went away",
        Cause::PeerLost => "put back, because the peer could not be reached any more",
        Cause::JournalLost => "put back, because the journal was lost",
        Cause::BlockOver => "put back after a block",
    }
}

/// The journal that was named, or the last that fits.
fn chosen(
    places: &Places,
    named: Option<&str>,
    fits: impl Fn(&JournalState) -> bool,
    none: &str,
) -> Result<String> {
    if let Some(id) = named {
        places.file(id)?;
        return Ok(id.to_owned());
    }
    let last = journal::all(places).into_iter().rev().filter_map(Result::ok).find(|state| fits(state));
    let id = last.map(|state| state.opened.id);
    Ok(id.ok_or_else(|| {
        UsageError::new(none.to_owned(), "plumb tune history shows what became of all changes")
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_user_left_on_this_host_is_listed_with_its_place_and_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let [own, root] = ["own", "root"].map(|name| folder.path().join(name));
        let of_root = Places { own: root.clone(), others: Vec::new() };
        let owner = JournalOwner::Trial { run: folder.path().to_owned(), bootstrap: None };
        let host = Host::default();
        let mut journal = Journal::open(&of_root, &host, owner, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let command =
            PendingCommand { arm: "a".into(), pair: 2, bootstrap: "b:1".into(), command: "undo it".into() };
        journal.append(Record::CommandBegun(command)).unwrap();
        let places = Places { own, others: vec![root.clone()] };
        let is_left = |state: &JournalState| !state.is_settled();
        let going_on = gathered(&places, &host, is_left).0;
        assert_eq!((going_on.len(), going_on[0].way_out.clone()), (1, None), "it goes on");
        drop(journal);
        let (listed, unreadable) = gathered(&places, &host, is_left);
        assert!(unreadable.is_none());
        let told = text(&listed[0]);
        for said in [
            format!("written down in {}, by another user", root.display()),
            "the command after a block of \"a\" (pair 2): undo it\n".to_owned(),
            format!("to undo it: plumb trial run --resume {} ", folder.path().display()),
        ] {
            assert!(told.contains(&said), "{said}: {told}");
        }
    }
}
