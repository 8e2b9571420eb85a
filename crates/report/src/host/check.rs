//! What a check of a host found, for people: what hurts first, then what is merely unusual.

use super::{cpu_rows, evidence, evidence_list, name, now, sentence, told};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::check::{HostCheck, LayerLoss, SettingCheck, Status};
use plumb_model::figure::{counted, time};

/// The whole sheet; with `all` also what is as recommended, and what does not apply.
pub fn sheet(check: &HostCheck, all: bool) -> Sheet {
    let label = check.label.as_ref().map(|label| format!("{label} ")).unwrap_or_default();
    let title = format!(
        "{label}as {}, watched for {} on {}",
        check.role.word(),
        time(check.window_s * 1e9),
        check.started_at.replace('T', " ").replace('Z', " UTC")
    );
    let mut sections: Vec<Section> = losses(&check.losses).into_iter().collect();
    let is_unusual =
        |check: &&SettingCheck| check.status == Status::NoEvidence && check.recommended.is_some();
    sections.extend(settings(check, "Unusual, without evidence", UNUSUAL, is_unusual));
    sections.extend(reasons(check, Status::Unknown, "Not known", ""));
    sections.extend(reasons(check, Status::Unchangeable, "Cannot be changed here", ""));
    if all {
        let is_told =
            |check: &&SettingCheck| check.status == Status::NoEvidence && check.recommended.is_none();
        sections.extend(settings(check, "To know", "there is no usual value", is_told));
        sections.extend(as_recommended(check));
        sections.extend(reasons(check, Status::NotApplicable, "Does not apply", ""));
    }
    sections.extend(processors(check));
    if !check.also_changed_by.is_empty() {
        let meaning = "they may set these settings again";
        sections.push(Section::sentences("Also changed by", meaning, check.also_changed_by.clone()));
    }
    if !check.unseen.is_empty() {
        sections.push(Section::sentences("Not seen", "", check.unseen.clone()));
    }
    let findings =
        [Status::Change, Status::Advice].into_iter().flat_map(|status| check.of(status).map(finding));
    Sheet {
        title: sentence(&title).trim_end_matches('.').to_owned(),
        findings: findings.collect(),
        sections,
        answer: vec![Section::sentences("In short", "", answer(check, all))],
        ..Sheet::default()
    }
}

const UNUSUAL: &str = "no counter shows that it hurts here and now";

fn finding(check: &SettingCheck) -> String {
    let wanted = match (&check.recommended, check.status) {
        (Some(wanted), Status::Change) => format!(", should be {wanted}"),
        (Some(wanted), _) => format!(", recommended {wanted}"),
        (None, _) => String::new(),
    };
    let shown = match check.evidence.is_empty() {
        true => String::new(),
        false => format!(" {}.", evidence_list(&check.evidence)),
    };
    let who = match check.status {
        Status::Change => String::new(),
        _ => " Plumb cannot change it.".to_owned(),
    };
    format!(
        "{}: {}{wanted}.{shown} {}{who}",
        name(&check.id, &check.target),
        now(check),
        sentence(&check.reason)
    )
}

fn losses(losses: &[LayerLoss]) -> Option<Section> {
    let row = |loss: &LayerLoss| {
        let mut words: Vec<String> = loss.counters.iter().map(evidence).collect();
        words.extend(loss.reasons.iter().cloned());
        vec![loss.layer.words().to_owned(), words.join("; ")]
    };
    let columns = [Column::text("layer"), Column::text("counters")];
    let rows: Vec<Vec<String>> = losses.iter().map(row).collect();
    let meaning = "in the order in which a packet meets the layers; of packets and of connections the first is the one to mend";
    (!rows.is_empty()).then(|| Section::table("Lost", meaning, columns, rows))
}

/// A setting a sentence: what it is, what is usual, why.
fn settings(
    check: &HostCheck,
    heading: &'static str,
    meaning: &str,
    is_shown: impl Fn(&&SettingCheck) -> bool,
) -> Option<Section> {
    let sentences: Vec<String> = check.checks.iter().filter(is_shown).map(told).collect();
    (!sentences.is_empty()).then(|| Section::sentences(heading, meaning, sentences))
}

/// Settings as recommended: names and values alone.
fn as_recommended(check: &HostCheck) -> Option<Section> {
    let row = |check: &SettingCheck| vec![name(&check.id, &check.target), now(check)];
    let rows: Vec<Vec<String>> = check.of(Status::Ok).map(row).collect();
    (!rows.is_empty())
        .then(|| Section::table("As recommended", "", [Column::text(""), Column::text("")], rows))
}

fn reasons(check: &HostCheck, status: Status, heading: &str, meaning: &str) -> Option<Section> {
    let row = |check: &SettingCheck| vec![name(&check.id, &check.target), sentence(&check.reason)];
    let rows: Vec<Vec<String>> = check.of(status).map(row).collect();
    let columns = [Column::text(""), Column::text("")];
    (!rows.is_empty()).then(|| Section::table(heading, meaning, columns, rows))
}

fn processors(check: &HostCheck) -> Option<Section> {
    let columns = [
        Column::text("processors"),
        Column::text("node"),
        Column::text("interrupts of"),
        Column::text("planned for"),
    ];
    (check.cpus.len() > 1).then(|| Section::table("Processors", "", columns, cpu_rows(&check.cpus)))
}

fn answer(check: &HostCheck, all: bool) -> Vec<String> {
    let count = |status| check.of(status).count();
    let mut words = Vec::new();
    match count(Status::Change) {
        0 => words.push("No setting that can be changed here is shown to hurt.".to_owned()),
        n => words.push(format!(
            "{} shown to hurt and can be changed: plumb tune plan --role {}",
            if n == 1 { "One setting is".to_owned() } else { format!("{n} settings are") },
            check.role.word()
        )),
    }
    match count(Status::Advice) {
        0 => {}
        1 => words.push("One thing hurts that somebody else has to change.".to_owned()),
        n => words.push(format!("{n} things hurt that somebody else has to change.")),
    }
    // Packets and connections are lost by themselves: of each kind the first layer is the one to mend.
    for (kind, what) in [(false, "Packets"), (true, "Connections")] {
        if let Some(first) = check.losses.iter().find(|loss| loss.layer.is_of_connections() == kind) {
            words.push(format!("{what} are lost first at the {}.", first.layer.words()));
        }
    }
    if !check.unseen.is_empty() {
        words.push("Not everything could be seen: what was not is above.".to_owned());
    }
    let told = check.of(Status::NoEvidence).filter(|check| check.recommended.is_none()).count();
    let unusual = count(Status::NoEvidence) - told;
    if unusual > 0 {
        words.push(format!(
            "{} unusual; nothing shows that it matters. A window under load shows more: --window 1m",
            if unusual == 1 { "One setting is".to_owned() } else { format!("{unusual} settings are") },
        ));
    }
    if !all {
        let hidden = count(Status::Ok) + count(Status::NotApplicable) + told;
        if hidden > 0 {
            words.push(format!(
                "{} as recommended, without a usual value or without a place here: --all shows them.",
                counted(hidden, "setting")
            ));
        }
    }
    words
}
