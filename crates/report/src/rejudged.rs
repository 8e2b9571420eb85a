//! The verdicts of a run that differ from those of the time when it was measured, each as a clause.

use plumb_model::document::RunDocument;
use plumb_model::trial::ArmVerdict;
use plumb_model::verdict::Verdict;

/// Verdicts of a document that are not those of the same document judged before; empty where all are.
pub fn changes(before: &RunDocument, now: &RunDocument) -> Vec<String> {
    let [of_run, of_run_now] = [before, now].map(|document| document.validity.verdict);
    let run =
        (of_run != of_run_now).then(|| format!("the run is {}, not {}", of_run_now.word(), of_run.word()));
    let arms = arms(now).iter().filter_map(|arm| {
        let before = verdict_of(before, arm)?;
        let [was, is] = [before, arm.verdict].map(Verdict::word);
        (was != is).then(|| format!("\"{}\" against \"{}\" is {is}, not {was}", arm.arm, arm.against))
    });
    run.into_iter().chain(arms).collect()
}

fn arms(document: &RunDocument) -> &[ArmVerdict] {
    document.trial.as_ref().map(|trial| &trial.verdicts[..]).unwrap_or_default()
}

fn verdict_of(document: &RunDocument, of: &ArmVerdict) -> Option<Verdict> {
    let found = arms(document).iter().find(|arm| arm.arm == of.arm && arm.against == of.against)?;
    Some(found.verdict)
}
