//! A worker that does not send its part of the schedule, or sends it late, while the others do.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::{RunDocument, WorkerBlock};
use plumb_model::figure::{count, percent, percents, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "worker-behind",
        summary: "A worker did not send its part of the schedule, or sent it late.",
        page: include_str!("../../../../docs/findings/worker-behind.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Supported,
        because: "what each worker had to send, sent, and how late, is counted; whether its host or the path held it up is not",
        stage: Some(PathStage::Instrument),
        flip: Some(FlipRow {
            change: "give the worker's part to more workers, or to a host with more processors",
            setting: None,
            observe: "what each worker sent of what was due",
            expect: Expect::Rises,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// The share of a worker's messages that may be missing of what was due (ours).
const UNSENT_SHARE_MAX: f64 = 0.01;
/// From this share on, the load is not the one that was asked for (ours).
const UNSENT_SHARE_INVALID: f64 = 0.05;
/// Share of the mean latency that a worker's mean slip may be (as for one program).
const SLIP_SHARE_MAX: f64 = 0.20;
/// A worker that uses this share of its processors is about to be the limit (as for one program of which nobody knows the brokers').
const CPU_SHARE_MAX: f64 = 0.50;

/// A worker's parts of a setup's blocks.
struct Part<'a> {
    name: &'a str,
    blocks: Vec<&'a WorkerBlock>,
}

impl Part<'_> {
    fn sum(&self, of: fn(&WorkerBlock) -> u64) -> u64 {
        self.blocks.iter().map(|block| of(block)).sum()
    }

    /// The share of what was due that it did not send.
    fn unsent(&self) -> f64 {
        let due = self.sum(|block| block.intended);
        if due == 0 { 0.0 } else { 1.0 - self.sum(|block| block.sent) as f64 / due as f64 }
    }

    fn slip_ns(&self) -> Option<f64> {
        self.blocks.iter().filter_map(|block| block.slip_mean_ns).max_by(f64::total_cmp)
    }

    fn cpu_s(&self) -> Option<f64> {
        self.blocks.iter().map(|block| block.cpu_s).sum()
    }
}

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| behind(&setup, case.document)).collect()
}

fn behind(setup: &Setup, document: &RunDocument) -> Option<Finding> {
    let parts = parts(setup);
    let most = parts.iter().map(Part::unsent).fold(0.0, f64::max);
    let severity = if most > UNSENT_SHARE_INVALID { Severity::Invalid } else { Severity::Suspect };
    let mut finding = about_step(RULE.row.id, severity, setup.name(), "");
    let mut behind = Vec::new();
    let waits = setup.load().is_some_and(|load| load.in_flight.is_some()) || setup.saturates();
    for part in &parts {
        let seen = finding.evidence.len();
        if part.unsent() > UNSENT_SHARE_MAX {
            let [unsent, limit] = percents(part.unsent(), UNSENT_SHARE_MAX);
            finding = finding.seen_against(
                format!(
                    "not sent by worker {}, of {} that were due",
                    part.name,
                    count(part.sum(|block| block.intended))
                ),
                unsent,
                format!("at most {limit}"),
            );
        }
        let late = part.slip_ns().zip(setup.mean_ns()).filter(|(slip, mean)| *slip > SLIP_SHARE_MAX * mean);
        if let Some((slip, mean)) = late.filter(|_| !waits) {
            finding = finding.seen_against(
                format!("mean slip of worker {}", part.name),
                time(slip),
                format!("at most {} of the mean latency of {}", percent(SLIP_SHARE_MAX), time(mean)),
            );
        }
        if let Some(share) = cpu_share(setup, part, document).filter(|share| !waits && *share > CPU_SHARE_MAX)
        {
            let [seen, limit] = percents(share, CPU_SHARE_MAX);
            finding = finding.seen_against(
                format!("CPU of worker {}, of its processors", part.name),
                seen,
                format!("at most {limit}"),
            );
        }
        if finding.evidence.len() > seen {
            behind.push(part.name);
        }
    }
    finding.claim = claim(&behind, parts.len());
    let finding = finding
        .advise("Give its part to more workers, or run it on a host of its own with more processors.")
        .advise("Where all workers are behind alike, the path is the limit, or the rate is too high for it.");
    (!finding.evidence.is_empty()).then_some(finding)
}

fn claim(behind: &[&str], all: usize) -> String {
    let (who, its) = match behind {
        [name] => (format!("Worker {name}"), "its part"),
        names if names.len() == all => (format!("Each of the {all} workers"), "its part"),
        names => (format!("{} of {all} workers ({})", names.len(), names.join(", ")), "their parts"),
    };
    format!("{who} did not keep to {its} of the schedule: the load was not the one that was asked for.")
}

fn parts<'a>(setup: &Setup<'a>) -> Vec<Part<'a>> {
    let mut parts: Vec<Part> = Vec::new();
    for block in setup.whole_blocks().flat_map(|block| &block.workers) {
        match parts.iter_mut().find(|part| part.name == block.name) {
            Some(part) => part.blocks.push(block),
            None => parts.push(Part { name: &block.name, blocks: vec![block] }),
        }
    }
    parts
}

/// The CPU time of a worker over that of its host's processors in the measured time.
fn cpu_share(setup: &Setup, part: &Part, document: &RunDocument) -> Option<f64> {
    let facts = document.environment.workers.iter().find(|worker| worker.name == part.name)?;
    let measured_s = setup.measured_s()?;
    Some(part.cpu_s()? / (measured_s * f64::from(facts.cpus))).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, with_workers};

    #[test]
    fn a_worker_that_sends_all_in_time_is_none() {
        assert_eq!(found(&with_workers(), RULE.row.id), []);
    }

    #[test]
    fn a_worker_that_leaves_out_a_part_is_suspect_and_one_that_leaves_out_more_makes_the_run_unfit() {
        let unsent = |sent: u64| {
            move |document: &mut RunDocument| {
                document.clone_from(&with_workers());
                for block in &mut document.steps[0].blocks {
                    block.workers[1].sent = sent;
                }
            }
        };
        let finding = assert_found(RULE.row.id, Severity::Suspect, unsent(980));
        assert!(finding.evidence[0].what.contains("worker two"), "{finding:#?}");
        assert!(finding.claim.starts_with("Worker two did not keep to its part"), "{finding:#?}");
        assert_found(RULE.row.id, Severity::Invalid, unsent(940));
        let mut document = with_workers();
        unsent(991)(&mut document);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_worker_that_sends_late_is_found_beside_one_that_does_not() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.clone_from(&with_workers());
            let mean_ns = document.steps[0].latency.end_to_end.mean_ns.unwrap();
            document.steps[0].blocks[0].workers[0].slip_mean_ns = Some(0.3 * mean_ns);
        });
        assert!(finding.evidence[0].what.contains("slip of worker one"), "{finding:#?}");
        assert_eq!(finding.evidence.len(), 1);
    }
}
