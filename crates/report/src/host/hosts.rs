//! Several hosts held against each other: settings in which some differ from most, and the hosts that do.

use crate::sheet::{Column, Section, Sheet};
use plumb_model::check::HostsCompared;
use plumb_model::figure::counted;

/// The whole sheet.
pub fn sheet(compared: &HostsCompared) -> Sheet {
    let title = format!("{} held against each other", counted(compared.hosts.len(), "host"));
    let mut sections = Vec::new();
    if !compared.differences.is_empty() {
        let row = |difference: &plumb_model::check::HostDifference| {
            vec![
                super::name(&difference.id, &difference.target),
                match difference.hosts_usual {
                    0 => "(none)".to_owned(),
                    hosts => format!("{} on {hosts}", difference.usual),
                },
                difference
                    .others
                    .iter()
                    .map(|other| format!("{}: {}", other.host, other.value))
                    .collect::<Vec<_>>()
                    .join(", "),
            ]
        };
        let columns = [Column::text(""), Column::text("most"), Column::text("others")];
        let rows = compared.differences.iter().map(row).collect();
        sections.push(Section::table(
            "Differences",
            "settings and facts in which hosts differ",
            columns,
            rows,
        ));
    }
    let row = |host: &plumb_model::check::HostOfMany| {
        vec![host.name.clone(), host.changes.to_string(), host.unlike.to_string(), host.losses.join(", ")]
    };
    let columns = [
        Column::text("host"),
        Column::number("things that hurt"),
        Column::number("unlike most"),
        Column::text("loses at"),
    ];
    sections.push(Section::table("Hosts", "", columns, compared.hosts.iter().map(row).collect()));
    let findings = compared.outliers.iter().map(|host| format!("{host} is unlike the others.")).collect();
    let mut answer = vec![match compared.differences.len() {
        0 => "All hosts have the same settings.".to_owned(),
        1 => "The hosts differ in one setting.".to_owned(),
        n => format!("The hosts differ in {n} settings."),
    }];
    if compared.hosts.len() < 3 && !compared.differences.is_empty() {
        answer.push("Of two hosts nobody can say which is the unusual one.".to_owned());
    }
    let hurt: Vec<&str> = compared
        .hosts
        .iter()
        .filter(|host| host.changes > 0 || !host.losses.is_empty())
        .map(|host| host.name.as_str())
        .collect();
    if !hurt.is_empty() {
        answer
            .push(format!("Something hurts or is lost on {}: its own document says what.", hurt.join(", ")));
    }
    answer.extend(compared.remarks.iter().cloned());
    Sheet {
        title,
        findings,
        sections,
        answer: vec![Section::sentences("In short", "", answer)],
        ..Sheet::default()
    }
}
