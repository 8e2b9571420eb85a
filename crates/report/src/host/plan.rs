//! A plan of changes for people: each with its way back, what it may interrupt, and why; and what is left out.

use super::{cpu_rows, evidence_list, sentence, told};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::check::{PROFILE, PlannedChange, Risk, SettingCheck, Status, TunePlan};
use plumb_model::figure::ABSENT;

/// How a plan was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Where the plan was written, for the command that makes its changes.
    pub file: Option<&'a str>,
    /// True if the counters of this host were watched for it.
    pub is_watched: bool,
}

/// The whole sheet.
pub fn sheet(plan: &TunePlan, asked: Asked<'_>) -> Sheet {
    let title = format!("Changes for a host as {}", plan.role.word());
    let mut sections = Vec::new();
    if !plan.changes.is_empty() {
        let columns = [
            Column::text("change"),
            Column::text("setting"),
            Column::text("from"),
            Column::text("to"),
            Column::text("risk"),
        ];
        let rows = plan.changes.iter().map(row).collect();
        sections.push(Section::table("Changes", "in this order; put back in the reverse one", columns, rows));
        sections.push(Section::sentences(
            "Why",
            "",
            plan.changes.iter().map(|planned| why(planned, asked)).collect(),
        ));
    }
    let is_shown = |check: &&SettingCheck| check.status != Status::NoEvidence || check.recommended.is_some();
    let words = |check: &SettingCheck| format!("{} ({})", told(check), check.status.words());
    let left_out: Vec<String> = plan.left_out.iter().filter(is_shown).map(words).collect();
    if !left_out.is_empty() {
        sections.push(Section::sentences(
            "Left out",
            "--without-evidence plans those without evidence, too",
            left_out,
        ));
    }
    if plan.cpus.len() > 1 {
        let columns = [
            Column::text("processors"),
            Column::text("node"),
            Column::text("interrupts of"),
            Column::text("planned for"),
        ];
        sections.push(Section::table("Processors", "", columns, cpu_rows(&plan.cpus)));
    }
    let answer = vec![Section::sentences("In short", "", answer(plan, asked))];
    Sheet { title, sections, answer, ..Sheet::default() }
}

fn row(planned: &PlannedChange) -> Vec<String> {
    let or_absent = |value: &Option<String>| value.clone().unwrap_or_else(|| ABSENT.to_owned());
    let risk = match planned.interrupts.is_empty() {
        true => planned.risk.words().to_owned(),
        false => format!("{}: {}", planned.risk.words(), planned.interrupts),
    };
    vec![
        planned.order.to_string(),
        planned.change.target.key.clone(),
        or_absent(&planned.change.before),
        or_absent(&planned.change.after),
        risk,
    ]
}

fn why(planned: &PlannedChange, asked: Asked<'_>) -> String {
    let shown = match planned.evidence.is_empty() {
        true if planned.id == PROFILE => String::new(),
        true if !asked.is_watched => " No counter was watched for it.".to_owned(),
        true => " Nothing that was watched shows that it matters here.".to_owned(),
        false => format!(" {}.", sentence(&evidence_list(&planned.evidence)).trim_end_matches('.')),
    };
    let expected = match planned.expected.is_empty() {
        true => String::new(),
        false => format!(" Expected: {}", sentence(&planned.expected)),
    };
    format!(
        "{} ({}): {}{shown}{expected} Source: {}.",
        planned.order,
        planned.id,
        sentence(&planned.reason),
        planned.source
    )
}

fn answer(plan: &TunePlan, asked: Asked<'_>) -> Vec<String> {
    if plan.changes.is_empty() {
        let why = match asked.is_watched {
            true => "no setting is shown to hurt here and now",
            false => "no setting that was asked for is otherwise, and no counter was watched",
        };
        return vec![format!("Nothing is to be changed: {why}.")];
    }
    let mut words = Vec::new();
    let Some(file) = asked.file else {
        return vec![
            "plumb tune plan --out FILE writes this plan; plumb tune apply FILE makes its changes."
                .to_owned(),
        ];
    };
    let cuts_off = plan.changes.iter().any(|planned| planned.risk == Risk::LockOut);
    let force = if cuts_off { " --force" } else { "" };
    words.push(format!("plumb tune apply {file} --confirm-within 60s{force} makes these changes and puts them back unless they are confirmed."));
    words.push(format!("plumb tune export {file} --out DIR writes files that make them last."));
    if plan.changes.iter().any(|planned| planned.risk == Risk::LinkFlap) {
        words.push("A link may go down for a moment: see the risks above.".to_owned());
    }
    if cuts_off {
        words.push(
            "Some of them can make this host unreachable or lose data: without --force they are refused."
                .to_owned(),
        );
    }
    words
}
