//! `plumb tune trial`: a plan proven under a load, and the least of it that keeps the gain.
//!
//! All changes are tried together first. Where they help and are several, each is left out in turn, and only those without which the rest is
//! worse stay. They are proven once more, against the host as it is and against all changes. Each part is a trial of its own with a directory of its own; the host is as
//! before after every block.

use crate::args::trial::JudgedArgs;
use crate::args::tune::TuneTrialArgs;
use crate::commands::End;
use crate::commands::run::use_brokers;
use crate::commands::trial::{planned, show};
use crate::errors::UsageError;
use crate::progress::{self, Estimate};
use crate::{printer, result_dir, stop, whole_file};
use anyhow::{Context, Result};
use plumb_model::change::Change;
use plumb_model::check::{PlannedChange, TunePlan};
use plumb_model::document::{RunDocument, RunState};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::Plan;
use plumb_model::resolve::Sources;
use plumb_model::scenario::{ArmWords, ArmsWords, Scalar, Scenario};
use plumb_model::trial::{Against, ArmVerdict};
use plumb_model::verdict::Verdict;
use std::path::{Path, PathBuf};

/// The host as it is, all changes, and those that are proposed.
const PROOF_ARMS: usize = 3;

/// The arms' names.
const AS_IS: &str = "as it is";
const ALL: &str = "all changes";
const PROPOSED: &str = "proposed";

pub(super) fn trial(arguments: &TuneTrialArgs) -> Result<End> {
    let plan = super::read_plan(&arguments.plan)?;
    if plan.changes.is_empty() {
        let hint = "make one: plumb tune plan --out plan.json";
        return Err(UsageError::new("the plan has no changes to prove", hint).into());
    }
    let host = super::host::with_cluster(plan.bootstrap.as_deref(), None)?;
    plumb_tune::danger::check(&host, &plan, arguments.force)?;
    let wanted: Vec<Change> = plan.changes.iter().map(|planned| planned.change.clone()).collect();
    if plumb_tune::apply::are_made(&host, &wanted)? {
        let hint = "take them back first (plumb tune revert), then try them";
        return Err(UsageError::new(
            "every setting of the plan is as it asks already: there is nothing to try",
            hint,
        )
        .into());
    }
    let mut load = plumb_scenario::file::read(&arguments.load)?;
    use_brokers(&arguments.cluster, &mut load.0, &mut load.1)?;
    if !load.0.arms.0.is_empty() {
        let message = format!("{} has arms of its own", arguments.load.display());
        return Err(
            UsageError::new(message, "give a load without arms: the plan's changes are the arms").into()
        );
    }
    let directory = arguments.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        PathBuf::from(format!("runs/{now}-tune-trial"))
    });
    if directory.exists() {
        let message = format!("{} exists already", directory.display());
        return Err(UsageError::new(message, "name another directory with --out").into());
    }
    Parts { plan: &plan, load: &load, judged: &arguments.judged, directory: &directory }.run()
}

/// The trials of a plan.
struct Parts<'a> {
    plan: &'a TunePlan,
    load: &'a (Scenario, Sources),
    judged: &'a JudgedArgs,
    directory: &'a Path,
}

impl Parts<'_> {
    fn run(&self) -> Result<End> {
        let changes: Vec<&PlannedChange> = self.plan.changes.iter().collect();
        self.announce(&changes)?;
        let together = self.trial("together", &[arm(AS_IS, &[]), arm(ALL, &changes)])?;
        let verdict = of(&together, ALL);
        if let Some(end) = interrupted(&together) {
            return Ok(end);
        }
        if is_invalid(&together) {
            printer::out(
                "\nThe figures are not fit for use, so nothing is proposed. The host is as before. Where the path does not keep up as it is, lower the load until it does.\n",
            );
            return Ok(End::Found);
        }
        if verdict.is_none_or(|found| found.verdict != Verdict::Better) {
            let words = verdict.map_or("undecided", |found| words(found.verdict));
            printer::out(&format!(
                "\nTogether the {} {words} against the host as it is: nothing is proposed. The host is as before.\n",
                match changes.len() {
                    1 => "one change is".to_owned(),
                    several => format!("{several} changes are"),
                }
            ));
            return Ok(End::Found);
        }
        if changes.len() == 1 {
            return self.propose(&changes);
        }
        let each = self.trial("each", &each_left_out(&changes))?;
        if let Some(end) = interrupted(&each) {
            return Ok(end);
        }
        self.say_parts(&each, &changes);
        let matters = |change: &&PlannedChange| {
            of(&each, &without(change)).is_some_and(|found| found.verdict == Verdict::Worse)
        };
        let kept: Vec<&PlannedChange> = changes.iter().copied().filter(matters).collect();
        if kept.is_empty() {
            printer::out(
                "No single change is shown to matter by itself, though all together do: all are kept.\n",
            );
        }
        if kept.is_empty() || kept.len() == changes.len() {
            return self.propose(&changes);
        }
        // The rest has to hold its own, against the host as it is and against all changes.
        let arms = [arm(AS_IS, &[]), arm(ALL, &changes), arm(PROPOSED, &kept)];
        let proof = self.trial("proof", &arms)?;
        if let Some(end) = interrupted(&proof) {
            return Ok(end);
        }
        let against = |other: &str| {
            let verdicts = proof.trial.iter().flat_map(|trial| &trial.verdicts);
            let found = verdicts.into_iter().find(|found| found.arm == PROPOSED && found.against == other);
            found.map_or(Verdict::Undecided, |found| found.verdict)
        };
        let (gain, loss) = (against(AS_IS), against(ALL));
        if !is_invalid(&proof) && gain == Verdict::Better && loss != Verdict::Worse {
            return self.propose(&kept);
        }
        printer::out(&format!(
            "\nThe changes that matter are by themselves {} against the host as it is and {} against all changes: all are kept.\n",
            words(gain),
            words(loss)
        ));
        self.propose(&changes)
    }

    /// Says how long it takes. What a later part would be refused for is refused before the first has run.
    fn announce(&self, changes: &[&PlannedChange]) -> Result<()> {
        let lasts = |arms: &[(String, ArmWords)]| Ok::<_, anyhow::Error>(Estimate::of(&self.planned(arms)?));
        let together = [arm(AS_IS, &[]), arm(ALL, changes)];
        if changes.len() == 1 {
            lasts(&together)?;
            return Ok(());
        }
        // The part that asks for most pairs first: what it is refused with holds for all.
        let mut later =
            [each_left_out(changes), vec![arm(AS_IS, &[]), arm(ALL, changes), arm(PROPOSED, &changes[..1])]];
        if changes.len() < PROOF_ARMS {
            later.reverse();
        }
        for arms in &later {
            lasts(arms)?;
        }
        if changes.len() < PROOF_ARMS {
            later.reverse();
        }
        let (first, each, proof) = (lasts(&together)?, lasts(&later[0])?, lasts(&later[1])?);
        printer::remark(&format!(
            "plumb: all changes together: {first}. Where they help, each one's own part: {each}; and the proof of those that matter: {proof}"
        ));
        Ok(())
    }

    /// The plan of a trial of the arms, the first being the reference.
    fn planned(&self, arms: &[(String, ArmWords)]) -> Result<Plan> {
        let (mut scenario, sources) = self.load.clone();
        scenario.arms = ArmsWords(arms.to_vec());
        if arms.len() == PROOF_ARMS && arms[0].0 == AS_IS {
            scenario.trial.get_or_insert_default().against = Some(Against::EachOther);
        }
        planned(scenario, sources, self.judged, false)
    }

    /// Runs the arms.
    fn trial(&self, name: &str, arms: &[(String, ArmWords)]) -> Result<RunDocument> {
        let plan = self.planned(arms)?;
        let place = self.directory.join(name);
        let finished = plumb_session::run(plan, Some(&place), &stop::flag()?, &progress::watcher())?;
        crate::handed_over::write(&finished)?.say();
        show(&finished.document, crate::args::OutputFormat::Text)?;
        Ok(finished.document)
    }

    /// Says what each change does for itself.
    fn say_parts(&self, each: &RunDocument, changes: &[&PlannedChange]) {
        let mut text = "\nEach change's own part\n".to_owned();
        for change in changes {
            let part = match of(each, &without(change)).map(|found| found.verdict) {
                Some(Verdict::Worse) => "matters: without it the rest is worse",
                Some(Verdict::Equivalent) => "idle: without it the rest is as good",
                Some(Verdict::Better) => "harmful: without it the rest is better",
                Some(Verdict::Undecided) | None => "not shown either way",
            };
            text += &format!("- {}: {part}\n", change.change.target.key);
        }
        printer::out(&text);
    }

    /// Writes the plan of what is proven.
    fn propose(&self, changes: &[&PlannedChange]) -> Result<End> {
        let mut plan = self.plan.clone();
        plan.changes = changes.iter().map(|change| (*change).clone()).collect();
        for (at, change) in plan.changes.iter_mut().enumerate() {
            change.order = at as u32 + 1;
        }
        let file = self.directory.join("proposed.json");
        whole_file::write(&file, &result_dir::json(&plan)?).context("cannot write the proposed plan")?;
        let names: Vec<&str> = changes.iter().map(|change| change.change.target.key.as_str()).collect();
        printer::out(&format!(
            "\nProven and proposed: {}. The host is as before; make it so: plumb tune apply {}\n",
            names.join(", "),
            file.display()
        ));
        Ok(End::Done)
    }
}

fn arm(name: &str, changes: &[&PlannedChange]) -> (String, ArmWords) {
    let value = |planned: &&PlannedChange| {
        let Some(after) = &planned.change.after else { return None };
        Some((planned.change.target.key.clone(), Scalar(after.clone())))
    };
    (name.to_owned(), ArmWords { host: changes.iter().filter_map(value).collect(), ..ArmWords::default() })
}

/// All changes, and all but one.
fn each_left_out(changes: &[&PlannedChange]) -> Vec<(String, ArmWords)> {
    let but = |left_out: &&PlannedChange| {
        let others: Vec<&PlannedChange> =
            changes.iter().copied().filter(|change| !is_same(change, left_out)).collect();
        arm(&without(left_out), &others)
    };
    std::iter::once(arm(ALL, changes)).chain(changes.iter().map(but)).collect()
}

fn without(change: &PlannedChange) -> String {
    format!("without {}", change.change.target.key)
}

fn is_same(one: &PlannedChange, other: &PlannedChange) -> bool {
    one.change.target.key == other.change.target.key
}

fn of<'d>(document: &'d RunDocument, arm: &str) -> Option<&'d ArmVerdict> {
    document.trial.as_ref()?.verdicts.iter().find(|found| found.arm == arm)
}

/// True if a trial's figures mean nothing.
fn is_invalid(document: &RunDocument) -> bool {
    document.validity.verdict == ValidityVerdict::Invalid
}

fn interrupted(document: &RunDocument) -> Option<End> {
    matches!(document.run.state, RunState::Interrupted).then_some(End::Interrupted)
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "no different",
        Verdict::Undecided => "undecided",
    }
}
