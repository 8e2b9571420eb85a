//! What a check of a host found, for people: what hurts first, then what is merely unusual.

use super::{cpu_rows, evidence, evidence_list, name, now, sentence, told};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::check::{HostCheck, LayerLoss, LossKind, SettingCheck, Status};
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

const UNUSUAL: &str = "nothing that was watched shows that it hurts here and now";

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
    let who = match (check.status, check.by_hand.as_str()) {
        (Status::Change, _) => String::new(),
        (_, "") => " Plumb cannot change it here.".to_owned(),
        (_, commands) => format!(" Plumb leaves it to you, by hand: {commands}."),
    };
    // A level that is told by its counters alone has no value.
    let value = match check.configured.is_some() || check.effective.is_some() {
        true => format!(" {}{wanted}.", now(check)),
        false => String::new(),
    };
    format!("{}:{value}{shown} {}{who}", name(&check.id, &check.target), sentence(&check.reason))
}

fn losses(losses: &[LayerLoss]) -> Option<Section> {
    let row = |loss: &LayerLoss| {
        let mut words: Vec<String> = loss.counters.iter().map(evidence).collect();
        words.extend(loss.reasons.iter().cloned());
        vec![loss.layer.words().to_owned(), words.join("; ")]
    };
    let columns = [Column::text("layer"), Column::text("counters")];
    let rows: Vec<Vec<String>> = losses.iter().map(row).collect();
    let meaning = "in the order in which a packet meets the layers; of packets that came, of connections and of packets that are sent the first is the one to mend";
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
    let by_hand = check.of(Status::Advice).filter(|check| !check.by_hand.is_empty()).count();
    words.extend(hurting(by_hand, "you have to change by hand, with the commands above"));
    words.extend(hurting(count(Status::Advice) - by_hand, "somebody else has to change"));
    // Each kind is lost by itself: of each the first layer is the one to mend.
    for kind in LossKind::ALL {
        if let Some(first) = check.losses.iter().find(|loss| loss.layer.kind() == kind) {
            words.push(sentence(&format!("{} are lost first at the {}", kind.words(), first.layer.words())));
        }
    }
    if !check.unseen.is_empty() {
        words.push("Not everything could be seen: what was not is above.".to_owned());
    }
    let told = check.of(Status::NoEvidence).filter(|check| check.recommended.is_none()).count();
    let unusual = count(Status::NoEvidence) - told;
    if unusual > 0 {
        words.push(format!(
            "{} unusual; nothing in this window shows that it matters. If this was not the load that counts, watch that: --window 1m",
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

/// Things that hurt and that a plan does not change.
fn hurting(things: usize, who: &str) -> Option<String> {
    match things {
        0 => None,
        1 => Some(format!("One thing hurts that {who}.")),
        n => Some(format!("{n} things hurt that {who}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::check::{Evidence, LossLayer, Risk, Role, SCHEMA_VERSION};
    use plumb_model::facts::HostFacts;

    fn advice(id: &str, value: Option<&str>, by_hand: &str) -> SettingCheck {
        SettingCheck {
            id: id.to_owned(),
            target: String::new(),
            status: Status::Advice,
            configured: value.map(str::to_owned),
            effective: value.map(str::to_owned),
            recommended: None,
            reason: "it hurts".to_owned(),
            evidence: vec![Evidence {
                counter: "c".to_owned(),
                amount: 5.0,
                unit: "files".to_owned(),
                over_s: None,
            }],
            risk: Risk::Low,
            source: String::new(),
            assignments: Vec::new(),
            expected: String::new(),
            by_hand: by_hand.to_owned(),
        }
    }

    fn check(checks: Vec<SettingCheck>, layers: &[LossLayer]) -> HostCheck {
        let loss = |layer: &LossLayer| LayerLoss { layer: *layer, counters: Vec::new(), reasons: Vec::new() };
        HostCheck {
            schema_version: SCHEMA_VERSION,
            plumb_version: String::new(),
            started_at: String::new(),
            window_s: 1.0,
            role: Role::KafkaBroker,
            label: None,
            host: HostFacts::default(),
            losses: layers.iter().map(loss).collect(),
            checks,
            cpus: Vec::new(),
            also_changed_by: Vec::new(),
            unseen: Vec::new(),
        }
    }

    #[test]
    fn what_is_changed_by_hand_has_its_command_and_is_nobody_elses() {
        let by_hand = check(vec![advice("file-descriptors", Some("1024"), "`prlimit --pid 7`")], &[]);
        assert_eq!(
            sheet(&by_hand, false).findings,
            [
                "file-descriptors: 1024. c: 5 files. It hurts. Plumb leaves it to you, by hand: `prlimit --pid 7`."
            ]
        );
        let words = answer(&by_hand, false).join(" ");
        assert!(words.contains("One thing hurts that you have to change by hand"), "{words}");
        assert!(!words.contains("somebody else"), "{words}");
        let others = answer(&check(vec![advice("steal", None, "")], &[]), false).join(" ");
        assert!(others.contains("One thing hurts that somebody else has to change."), "{others}");
    }

    #[test]
    fn a_level_without_a_value_shows_none() {
        let found = sheet(&check(vec![advice("steal", None, "")], &[]), false).findings;
        assert_eq!(found, ["steal: c: 5 files. It hurts. Plumb cannot change it here."]);
    }

    #[test]
    fn of_each_kind_of_loss_the_first_layer_is_told() {
        let layers = [LossLayer::Ring, LossLayer::Socket, LossLayer::AcceptQueue, LossLayer::OwnQueue];
        let words = answer(&check(Vec::new(), &layers), false).join(" ");
        for sentence in [
            "Packets are lost first at the receive ring.",
            "Connections are lost first at the accept queue.",
            "Packets that this host sends are lost first at the own queue on the way out.",
        ] {
            assert!(words.contains(sentence), "{words}");
        }
        assert!(!words.contains("socket buffer"), "{words}");
    }
}
