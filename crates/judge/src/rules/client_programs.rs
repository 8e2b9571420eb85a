//! Clients that are programs of their own: what they are, and how they paused.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{count, counted, time};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::observation::{ProgramAccount, ProgramPause};
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "client-programs",
        summary: "Clients were programs of their own, which tell nothing of what happens in them but their pauses.",
        page: include_str!("../../../../docs/findings/client-programs.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "they said what they are, and told the time every 10 ms",
        stage: Some(PathStage::ClientQueue),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| of_setup(&setup)).collect()
}

fn of_setup(setup: &Setup) -> Option<Finding> {
    setup.programs().next()?;
    let mut claim =
        "Clients were programs of their own: their lateness and pauses are in the latencies, and are theirs"
            .to_owned();
    let notes = notes(setup);
    if let [first, rest @ ..] = &notes[..] {
        claim.push_str(&format!("; noted of {first}"));
        if !rest.is_empty() {
            claim.push_str(&format!(", and {} more", count(rest.len() as u64)));
        }
    }
    let roles = || ["producer", "consumer"].into_iter().filter(|role| setup.has_program(role));
    for role in roles().filter(|role| of_role(setup, role).any(paused)) {
        claim.push_str(&format!("; the {role} made {}", pauses(of_role(setup, role))));
    }
    let mut finding = about_step(RULE.row.id, Severity::Note, setup.name(), claim);
    for role in roles() {
        let names: BTreeSet<String> = of_role(setup, role).map(name).collect();
        finding = finding.seen(role, names.into_iter().collect::<Vec<_>>().join("; "));
        finding =
            finding.seen(format!("pauses of the {role}, warm-up included"), pauses(of_role(setup, role)));
    }
    for note in notes {
        finding = finding.seen("note", note);
    }
    Some(finding.advise(
        "A pause that a JVM's safepoint names is a matter of its heap and collector, not of the brokers.",
    ))
}

fn of_role<'s>(setup: &'s Setup, role: &'s str) -> impl Iterator<Item = &'s ProgramAccount> {
    setup.programs().filter(move |program| program.role == role)
}

/// What was noted of the programs, each once: a setting that the client does not know is among them.
fn notes(setup: &Setup) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for program in setup.programs() {
        for note in &program.notes {
            let note = format!("the {}: {note}", program.role);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn name(program: &ProgramAccount) -> String {
    let words: Vec<&str> = ["client", "version", "runtime"]
        .iter()
        .filter_map(|name| Some(program.about.get(*name)?.as_str()))
        .collect();
    if words.is_empty() { "it does not say".to_owned() } else { words.join(" ") }
}

fn paused(program: &ProgramAccount) -> bool {
    program.pauses.as_ref().is_some_and(|pauses| pauses.pauses > 0)
}

fn pauses<'p>(programs: impl Iterator<Item = &'p ProgramAccount>) -> String {
    let known: Vec<_> = programs.filter_map(|program| program.pauses.as_ref()).collect();
    let number: u64 = known.iter().map(|pauses| pauses.pauses).sum();
    let longest = known.iter().flat_map(|pauses| &pauses.listed).max_by_key(|pause| pause.length_ns);
    match (known.is_empty(), longest) {
        (true, _) => "not to be told: it never told the time".to_owned(),
        (_, None) => "none of 50 ms or more".to_owned(),
        (_, Some(ProgramPause { length_ns, cause, .. })) => {
            // Without a safepoint in its log it is no JVM, or one that logs none.
            let logged = known.iter().any(|pauses| pauses.safepoints > 0);
            let cause = match cause {
                Some(cause) => format!(": safepoint {cause}"),
                None if logged => ": no safepoint explains it".to_owned(),
                None => String::new(),
            };
            let longest = time(*length_ns as f64);
            format!("{} of 50 ms or more, the longest {longest}{cause}", counted(number, "pause"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};
    use plumb_model::observation::ProgramPauses;

    #[test]
    fn a_program_is_named_with_its_longest_pause() {
        let mut document = healthy();
        assert_eq!(found(&document, RULE.row.id), []);
        let pause = ProgramPause {
            length_ns: 290_000_000,
            cause: Some("G1CollectFull".to_owned()),
            ..ProgramPause::default()
        };
        let about = [("client", "kafka-clients"), ("version", "4.3.0")];
        document.steps[0].blocks[0].programs = vec![ProgramAccount {
            role: "producer".to_owned(),
            about: about.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            pauses: Some(ProgramPauses {
                beats: 9,
                pauses: 1,
                listed: vec![pause],
                ..ProgramPauses::default()
            }),
            notes: vec!["linger.mss is unknown".to_owned(), "it exited".to_owned()],
            ..ProgramAccount::default()
        }];
        let finding = one(&document, RULE.row.id);
        let seen: Vec<&str> = finding.evidence.iter().map(|seen| seen.value.as_str()).collect();
        assert_eq!(
            seen,
            [
                "kafka-clients 4.3.0",
                "1 pause of 50 ms or more, the longest 290 ms: safepoint G1CollectFull",
                "the producer: linger.mss is unknown",
                "the producer: it exited"
            ]
        );
        assert!(
            finding.claim.contains("; noted of the producer: linger.mss is unknown, and 1 more"),
            "{}",
            finding.claim
        );
        let ends =
            "; the producer made 1 pause of 50 ms or more, the longest 290 ms: safepoint G1CollectFull.";
        assert!(finding.claim.ends_with(ends), "{}", finding.claim);
    }
}
