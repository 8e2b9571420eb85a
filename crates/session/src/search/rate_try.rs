//! One try of a search for a rate: its length, and its result.

use crate::fold::StepFold;
use plumb_judge::judge;
use plumb_model::document::RunDocument;
use plumb_model::facts::HostDelta;
use plumb_model::figure::{count, counted, quantile, time, whole};
use plumb_model::finding::Severity;
use plumb_model::observation::Spoilt;
use plumb_model::plan::{Goal, GoalLatency, StepPlan};
use plumb_model::search::{Try, TryOutcome, TryPurpose};
use plumb_model::units::Nanos;

/// A try on the way lasts so much of a full one, and no less than this (ours: long enough for a garbage collection).
const ON_THE_WAY: f64 = 0.25;
const ON_THE_WAY_LEAST_S: f64 = 2.0;
/// Samples that a quantile needs are so many over 1-q.
const SAMPLES: f64 = 10.0;
/// So many times as many are sent: a message or two that are lost leave enough.
pub(super) const SPARE: f64 = 1.1;
/// Share of a processor beyond which a sending thread has none left (ours: the rest is what the kernel keeps).
const THREAD_FULL: f64 = 0.95;

/// Samples without which the goal's quantile is not told.
pub(super) fn samples_needed(goal: Goal) -> f64 {
    SAMPLES / (1.0 - goal.quantile)
}

/// One rate to try.
pub(super) struct RateTry {
    pub(super) goal: Goal,
    /// The step.
    pub(super) index: usize,
    /// From 0.
    pub(super) number: usize,
    pub(super) rate_per_s: f64,
    pub(super) purpose: TryPurpose,
}

impl RateTry {
    /// Long enough for the goal's quantile; on the way up and down no longer than that needs.
    pub(super) fn length(&self, step: &StepPlan) -> Nanos {
        let full_s = step.load.planned_s().unwrap_or(0.0);
        let planned_s = match self.purpose {
            TryPurpose::Confirm => full_s,
            _ => (full_s * ON_THE_WAY).max(ON_THE_WAY_LEAST_S).min(full_s),
        };
        let needed_s = SPARE * samples_needed(self.goal) / self.rate_per_s;
        Nanos((planned_s.max(needed_s) * 1e9) as u64)
    }

    /// The result of the block that was run last.
    pub(super) fn told(&self, document: &RunDocument, fold: &StepFold) -> Try {
        let view = last_block(document);
        let (step, block) = (&view.steps[0], &view.steps[0].blocks[0]);
        let histogram = fold.block_latency(self.goal.latency);
        let enough = histogram.samples() as f64 >= samples_needed(self.goal) * (1.0 - 1e-9);
        let quantile_ns = histogram.at_quantile(self.goal.quantile).filter(|_| enough);
        let mut reasons = Vec::new();
        if let Some(quantile_ns) = quantile_ns.filter(|ns| *ns > self.goal.limit.0) {
            reasons.push(format!("{} is {}", quantile_name(self.goal), time(quantile_ns as f64)));
        }
        reasons.extend(
            block
                .counts
                .spoilt()
                .map(|Spoilt { what, number }| format!("{} {what}", counted(number, "message"))),
        );
        let judgement = judge(&view);
        let spoilt = |id: &str, severity: Severity| id == "saturated" && severity == Severity::Invalid;
        let findings = judgement.validity.reasons.iter();
        reasons.extend(
            findings
                .filter(|finding| spoilt(&finding.id, finding.severity))
                .flat_map(|finding| &finding.evidence)
                .map(|evidence| format!("{} {}", evidence.what, evidence.value)),
        );
        let busy = step
            .instrument
            .threads
            .iter()
            .any(|thread| thread.thread.starts_with("plumb-send") && thread.share > THREAD_FULL);
        // From the actual sends on the path was fast enough: what was late was the sender, and no full queue held it up.
        let sent_late = fold
            .block_service(self.goal.latency)
            .at_quantile(self.goal.quantile)
            .is_some_and(|service_ns| service_ns <= self.goal.limit.0);
        let queue_was_full = block.queue_full_waits.is_some_and(|waits| waits > 0);
        let generator = !queue_was_full && (busy || sent_late);
        let outcome = match () {
            () if reasons.is_empty() && quantile_ns.is_some() => TryOutcome::Holds,
            () if generator => TryOutcome::GeneratorBound,
            () if reasons.is_empty() => TryOutcome::TooFew,
            () => TryOutcome::Fails,
        };
        if outcome == TryOutcome::GeneratorBound {
            reasons.push("the generator could not keep its times".to_owned());
        }
        if outcome == TryOutcome::TooFew {
            let needed = whole(samples_needed(self.goal).ceil());
            reasons.push(format!("{} samples; the quantile needs {needed}", count(histogram.samples())));
        }
        Try {
            rate_per_s: self.rate_per_s,
            purpose: self.purpose,
            outcome,
            started_at: block.started_at.clone(),
            measured_s: match self.length(&view.plan.steps[0]) {
                Nanos(ns) => ns as f64 / 1e9,
            },
            achieved_per_s: block.achieved_per_s,
            quantile_ns,
            samples: histogram.samples(),
            processor_wait_share: block.host.as_ref().and_then(HostDelta::processor_wait_share),
            steal_share: block.host.as_ref().and_then(|host| host.cpu.steal_share()),
            reasons,
        }
    }
}

/// The document with the block that was run last and nothing of those before it, so that it is judged by itself.
fn last_block(document: &RunDocument) -> RunDocument {
    let mut view = document.clone();
    let step = &mut view.steps[0];
    let Some(block) = step.blocks.pop() else { return view };
    step.series.retain(|row| row.block == block.block);
    step.counts = block.counts;
    step.achieved_per_s = block.achieved_per_s;
    step.latency.acknowledge = block.acknowledge.clone();
    step.latency.end_to_end = block.end_to_end.clone();
    step.blocks = vec![block];
    view.plan.blocks = 1;
    view
}

fn quantile_name(goal: Goal) -> String {
    let of = match goal.latency {
        GoalLatency::Acknowledge => "acknowledge",
        GoalLatency::EndToEnd => "end-to-end",
    };
    format!("{of} {}", quantile(goal.quantile))
}

/// The result of a try, in a line.
pub(super) fn in_a_line(tried: &Try, goal: Goal) -> String {
    let latency = tried.quantile_ns.map(|ns| format!("{} {}", quantile_name(goal), time(ns as f64)));
    let latency = latency.unwrap_or_else(|| "too few samples".to_owned());
    match tried.outcome {
        TryOutcome::Holds => format!("holds, {latency}"),
        _ => format!("does not hold: {}", tried.reasons.join("; ")),
    }
}
