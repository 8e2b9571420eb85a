//! `plumb tune export`: a plan as files that make it last. What the files hold is `plumb_report::install::plan`.

mod surroundings;

use crate::args::tune::ExportArgs;
use crate::commands::End;
use crate::errors::UsageError;
use crate::{install_dir, printer};
use anyhow::{Context, Result};
use plumb_model::check::TunePlan;
use plumb_model::figure::counted;
use plumb_report::install::plan::{ForMany, Member, Surroundings, dangerous, exported};
use plumb_session::run_dir::RunDirError;
use std::io::BufReader;
use std::path::Path;

pub(super) fn export(arguments: &ExportArgs) -> Result<End> {
    let plan = super::read_plan(&arguments.plan)?;
    refuse_taken(&arguments.out)?;
    if plan.changes.is_empty() {
        return Err(UsageError::new(
            "the plan has no changes",
            "plumb tune plan --profile FILE plans settings of your own",
        )
        .into());
    }
    let groups = arguments.groups.as_deref().map(read_groups).transpose()?.unwrap_or_default();
    let around = match super::is_made_elsewhere(&plan) {
        true => {
            printer::note(
                "warning: the plan was made on another host, so that nothing is known of its devices and units: export it there for .link files",
            );
            Surroundings::default()
        }
        false => surroundings::look(&plan),
    };
    let many = ForMany { groups: &groups, force: arguments.force };
    let files = exported(&plan, &around, many).map_err(|error| {
        UsageError::new(error.to_string(), "give the groups as plumb trial fleet --assign wrote them")
    })?;
    install_dir::write_files(&arguments.out, &files).map_err(RunDirError::Write)?;
    warn_of_danger(&plan, arguments.force);
    printer::out(&format!(
        "{} written below {}. Read README.md there first: it says which of them to choose, and how to undo each.\n",
        counted(files.len(), "file"),
        arguments.out.display()
    ));
    Ok(End::Done)
}

/// Says which changes the hosts of the Ansible role refuse.
fn warn_of_danger(plan: &TunePlan, is_forced: bool) {
    let names = dangerous(plan);
    if !names.is_empty() && !is_forced {
        printer::note(&format!(
            "warning: {} can take down the only way to a host or lose data: the Ansible role fails there before anything is changed, unless the plan is exported with --force",
            names.join(", ")
        ));
    }
}

fn refuse_taken(directory: &Path) -> Result<(), UsageError> {
    let is_free = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    match is_free {
        true => Ok(()),
        false => Err(UsageError::new(
            format!("{} is there already", directory.display()),
            "name a directory that is not there, or is empty, with --out",
        )),
    }
}

/// The groups of a trial: a CSV with `server` and `group`.
fn read_groups(path: &Path) -> Result<Vec<Member>> {
    let mut file = BufReader::new(fs_err::File::open(path).context("cannot read the groups")?.into_parts().0);
    let delimiter = plumb_fleet::delimiter(path, &mut file)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(file);
    let unreadable = |what: String| {
        UsageError::new(
            format!("{} is no file of groups: {what}", path.display()),
            "expected a CSV with the columns server and group, as plumb trial fleet --assign draws them",
        )
    };
    let header = reader.headers().map_err(|error| unreadable(error.to_string()))?.clone();
    let place = |name: &str| {
        let found =
            header.iter().position(|head| head.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name));
        found.ok_or_else(|| unreadable(format!("it has no column {name:?}")))
    };
    let (server, group) = (place("server")?, place("group")?);
    let mut members = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| unreadable(error.to_string()))?;
        let cell = |place: usize| record.get(place).unwrap_or_default().to_owned();
        members.push(Member { name: cell(server), group: cell(group) });
    }
    match members.is_empty() {
        true => Err(unreadable("it names no server".to_owned()).into()),
        false => Ok(members),
    }
}
