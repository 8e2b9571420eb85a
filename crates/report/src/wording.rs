//! The words for a run, its end, its stages and its verdicts, the same in every renderer.

use crate::absence;
use plumb_model::document::{RunDocument, RunState};
use plumb_model::figure::{count, counted};
use plumb_model::finding::{Comparison, ComparisonVerdict, Finding, Severity, ValidityVerdict};
use plumb_model::observation::{Fidelity, StageName};

/// The meaning of the verdict for a reader.
pub(crate) fn verdict_meaning(verdict: ValidityVerdict) -> &'static str {
    match verdict {
        ValidityVerdict::Valid => "Nothing was found that makes the figures mislead.",
        ValidityVerdict::Suspect => "Some figures may mislead; the reasons say which and why.",
        ValidityVerdict::Invalid => "The run does not show what it was made to show.",
    }
}

/// The sentence where no pair of setups differs.
pub(crate) fn none_differs(comparisons: &[Comparison]) -> &'static str {
    if comparisons.iter().all(|pair| pair.verdict == ComparisonVerdict::TooFewBlocks) {
        "Nothing can be told: too few blocks to compare any two setups."
    } else {
        "None: no setup differs from another by more than the noise."
    }
}

/// The severity's word.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Suspect => "suspect",
        Severity::Invalid => "invalid",
    }
}

/// The stage's name.
pub(crate) fn stage(stage: StageName) -> &'static str {
    match stage {
        StageName::Slip => "slip",
        StageName::Produce => "produce",
        StageName::Publish => "publish",
        StageName::Commit => "commit",
        StageName::CatchUp => "catch-up",
        StageName::Fetch => "fetch",
        StageName::Unexplained => "unexplained",
    }
}

/// All stages, in the order of the path.
pub(crate) const STAGES: [StageName; 7] = [
    StageName::Slip,
    StageName::Produce,
    StageName::Publish,
    StageName::Commit,
    StageName::CatchUp,
    StageName::Fetch,
    StageName::Unexplained,
];

/// The source of a stage's figure.
pub(crate) fn fidelity(fidelity: Fidelity) -> &'static str {
    match fidelity {
        Fidelity::Metrics => "statistics",
        Fidelity::Probe => "probe",
        Fidelity::Measured => "measured",
        Fidelity::Derived => "derived",
    }
}

/// The comparison's verdict.
pub(crate) fn comparison(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Differs => "differs",
        ComparisonVerdict::WithinNoise => "within noise",
        ComparisonVerdict::Ceiling => "ceiling",
        ComparisonVerdict::TooFewBlocks => "too few blocks",
    }
}

/// A metric's path as words: `end_to_end.mean` -> `end-to-end mean`.
pub(crate) fn metric(path: &str) -> String {
    let path = path.replace("throughput.produced_per_s", "messages acknowledged/s");
    let path = path.replace("throughput.received_per_s", "messages received/s");
    path.replace("end_to_end", "end-to-end").replace(['.', '_'], " ")
}

/// The reason why the run is not a whole one; none when it is.
pub(crate) fn incomplete(document: &RunDocument) -> Option<String> {
    let (done, planned) = (document.steps.len(), document.plan.steps.len());
    let end = match &document.run.state {
        RunState::Complete if done == planned => return None,
        RunState::Complete => "The run says that it is complete".to_owned(),
        RunState::Running => "The run did not say that it ended: it still runs, or was killed".to_owned(),
        RunState::Interrupted => "The run was stopped by its user".to_owned(),
        RunState::Failed { error } => format!("The run failed: {error}"),
    };
    Some(format!("{end}; {} measured.", done_of_planned(document)))
}

/// `12 of 64 blocks`. Only blocks that are whole count. A search plans no blocks: there it is setups.
fn done_of_planned(document: &RunDocument) -> String {
    let plan = &document.plan;
    if plan.goal.is_some() {
        return format!("{} of {}", count(document.steps.len() as u64), counted(plan.steps.len(), "setup"));
    }
    let done: usize = document.steps.iter().map(|step| step.blocks.len()).sum();
    format!("{} of {}", count(done as u64), counted(plan.steps.len() * plan.blocks as usize, "block"))
}

/// An RFC 3339 time as people write it: `2026-11-20 15:04:05 UTC`. Any other text stays as it is.
pub(crate) fn instant(rfc_3339: &str) -> String {
    match rfc_3339.strip_suffix('Z').and_then(|time| time.split_once('T')) {
        Some((day, time)) => format!("{day} {time} UTC"),
        None => rfc_3339.to_owned(),
    }
}

/// One line on the size of the run: setups, blocks, messages.
pub(crate) fn extent(document: &RunDocument) -> String {
    let plan = &document.plan;
    let messages: Vec<u64> = plan.steps.iter().filter_map(|step| step.load.messages()).collect();
    let each = match messages.as_slice() {
        [] => String::new(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            format!(", {} messages each", count(*first))
        }
        all => format!(", {} messages", count(all.iter().sum())),
    };
    format!("{}{each}, {}", counted(plan.steps.len(), "setup"), counted(plan.blocks as usize, "block"))
}

/// The place of the brokers.
pub(crate) fn cluster_place(on_this_host: Option<bool>) -> &'static str {
    match on_this_host {
        Some(true) => "on the host that generates the load",
        Some(false) => "on other hosts",
        None => "place not known",
    }
}

/// The step's number in tables, from 1; None when no step has the name.
pub(crate) fn setup_number(document: &RunDocument, name: &str) -> Option<usize> {
    document.steps.iter().position(|step| step.name == name).map(|index| index + 1)
}

/// `#2`, or the name where the document has no such step.
pub(crate) fn short_name(document: &RunDocument, name: &str) -> String {
    setup_number(document, name).map_or_else(|| name.to_owned(), |number| format!("#{number}"))
}

/// `#2, #4 to #6` of the setups that these findings are about.
pub(crate) fn setups(document: &RunDocument, findings: &[&Finding]) -> String {
    let steps: Vec<&str> = findings.iter().filter_map(|finding| finding.step.as_deref()).collect();
    let numbers: Option<Vec<usize>> = steps.iter().map(|step| setup_number(document, step)).collect();
    match numbers {
        Some(mut numbers) if !numbers.is_empty() => {
            numbers.sort_unstable();
            absence::setup_list(&numbers)
        }
        _ => steps.join(", "),
    }
}

/// The findings in groups: those of one kind and gravity about several setups, the first of them apart from the others.
/// A group has one finding a setup.
pub(crate) fn grouped(findings: &[Finding]) -> Vec<(&Finding, Vec<&Finding>)> {
    let mut groups: Vec<(&Finding, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let known = groups.iter_mut().find(|(first, others)| {
            let of_its_kind = first.id == finding.id && first.severity == finding.severity;
            let of_setups = first.step.is_some() && finding.step.is_some();
            let new = first.step != finding.step && others.iter().all(|other| other.step != finding.step);
            of_its_kind && of_setups && new
        });
        match known {
            Some((_, others)) => others.push(finding),
            None => groups.push((finding, Vec::new())),
        }
    }
    groups
}
