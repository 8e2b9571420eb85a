//! Runs the search for the highest rate that holds the plan's goal: the judge's pure search says what to try, this tries it.
//!
//! A trial is a block at a rate, with clients and a topic of its own. The full-length ones at each rate are folded like a
//! step; those of the highest rate that held become the step's figures.

use super::block::{self, Job, Place};
use super::checkpoint::CandidateCheckpoint;
use super::document::{Record, empty_result};
use super::fold::StepFold;
use super::order::Slot;
use super::run::{Run, stem};
use super::target::Target;
use crate::error::Result;
use crate::run_dir::RunDir;
use crate::watcher::Event;
use plumb_judge::judge;
use plumb_judge::search::{Next, SearchBounds, next};
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::document::RunDocument;
use plumb_model::finding::Severity;
use plumb_model::plan::{Goal, GoalLatency, Plan, StepPlan};
use plumb_model::search::{SearchResult, SearchTrial, TrialPurpose, TrialVerdict};
use plumb_model::units::Nanos;

/// First rate, where the values are small, and most bytes per second of it: little enough for any path (ours).
const START_PER_S: f64 = 1_000.0;
const START_BYTES_PER_S: f64 = 5e6;
/// Highest rate: that of every plan.
const MOST_PER_S: f64 = 1e7;
/// The lowest rate is the one at which a full-length run, or one of so long, has samples enough (ours).
const LEAST_TRIAL_S: f64 = 5.0;
/// A trial on the way lasts so much of a full one, and no less than this (ours: long enough for a garbage collection).
const ON_THE_WAY: f64 = 0.25;
const ON_THE_WAY_LEAST_S: f64 = 2.0;
/// Samples that a quantile needs are so many over 1-q.
const SAMPLES: f64 = 10.0;
/// So many times as many are sent: a message or two that are lost leave enough.
const SPARE: f64 = 1.1;
/// Share of a processor beyond which a sending thread has none left (ours: the rest is what the kernel keeps).
const THREAD_FULL: f64 = 0.95;

/// The full-length runs at one rate.
pub(super) struct Candidate {
    pub(super) rate_per_s: f64,
    pub(super) record: Record,
    pub(super) fold: StepFold,
}

impl Candidate {
    /// As it is kept.
    pub(super) fn kept(&self, dir: &RunDir) -> CandidateCheckpoint {
        CandidateCheckpoint {
            rate_per_s: self.rate_per_s,
            result: self.record.document.steps[0].clone(),
            span: self.record.spans[0],
            fold: self.fold.state(dir),
        }
    }
}

/// Start of the names of the files of a rate.
pub(super) fn candidate_stem(index: usize, step: &StepPlan, rate_per_s: f64) -> String {
    format!("{}-at-{rate_per_s:.0}", stem(index, step))
}

impl Run {
    /// Searches for each step's rate, the steps in random order.
    pub(super) fn search_all(&mut self, plan: &Plan, spin_ns: u64, target: &mut Target) -> Result<()> {
        for index in Random::new(plan.seed).order(plan.steps.len()) {
            let done = self.record.document.steps[index].search.as_ref();
            if done.is_none_or(|search| search.bounded_by.is_none()) {
                self.search(plan, index, spin_ns, target)?;
            }
            if self.context.is_stopped() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn search(&mut self, plan: &Plan, index: usize, spin_ns: u64, target: &mut Target) -> Result<()> {
        let Some(goal) = plan.goal else { return Ok(()) };
        let bounds = bounds(plan, goal, index);
        loop {
            let search = self.record.document.steps[index].search.take();
            let mut search = search.unwrap_or(SearchResult {
                goal,
                rate_low_per_s: None,
                rate_high_per_s: None,
                bounded_by: None,
                trials: Vec::new(),
            });
            match next(&search.trials, &bounds) {
                Next::Done(found) => {
                    search.rate_low_per_s = found.rate_low_per_s;
                    search.rate_high_per_s = found.rate_high_per_s;
                    search.bounded_by = Some(found.bounded_by);
                    return self.conclude(plan, index, search);
                }
                Next::Try { rate_per_s, purpose } => {
                    let trial = Trial { plan, goal, index, number: search.trials.len(), rate_per_s, purpose };
                    let done = self.trial(&trial, spin_ns, target);
                    let over = !matches!(done, Ok(Some(_)));
                    if let Ok(Some(done)) = &done {
                        search.trials.push(done.clone());
                    }
                    self.record.document.steps[index].search = Some(search);
                    target.check_lab()?;
                    done?;
                    if over {
                        return Ok(());
                    }
                    self.keep(index)?;
                    self.dir.write_document(&self.record.document)?;
                }
            }
        }
    }

    /// Runs one trial. None when the user stopped it.
    fn trial(&mut self, trial: &Trial<'_>, spin_ns: u64, target: &mut Target) -> Result<Option<SearchTrial>> {
        let (index, rate_per_s) = (trial.index, trial.rate_per_s);
        let at = (trial.purpose == TrialPurpose::Confirm).then(|| self.candidate(trial));
        let mut passing = (self.record.scratch(index, rate_per_s), StepFold::unlogged(trial.plan.level));
        let (record, fold) = match at {
            Some(at) => {
                let candidate = &mut self.candidates[index][at];
                (&mut candidate.record, &mut candidate.fold)
            }
            None => (&mut passing.0, &mut passing.1),
        };
        let step = record.document.plan.steps[0].clone();
        let round = u32::try_from(record.document.steps[0].blocks.len()).unwrap_or(u32::MAX);
        let resumed = record.document.run.resumed.len();
        let number = u32::try_from(trial.number).unwrap_or(u32::MAX);
        let title = format!("{}  trial {}: {:.0}/s", step.name, trial.number + 1, rate_per_s);
        let job = Job {
            step: &step,
            slot: Slot { index, round, position: number },
            share: Share::Time(trial.length(&step)),
            // A step's trials are apart from every other's.
            seed: Random::for_part(trial.plan.seed, index as u64).bits(),
            spin_ns,
            shown: false,
            title,
            topic: format!("{}-trial-{number}-r{resumed}", index + 1),
            own_topic: matches!(step.topic, plumb_model::plan::TopicPlan::Own { .. }),
            broker_start: 0,
            resumed,
        };
        let waits_before = record.document.steps[0].instrument.queue_full_waits;
        let mut place = Place {
            record: &mut *record,
            fold: &mut *fold,
            dir: &mut self.dir,
            target,
            space: &mut self.space,
            context: &self.context,
        };
        if !block::run(&job, &mut place)? || self.context.is_stopped() {
            return Ok(None);
        }
        let waits = record.document.steps[0].instrument.queue_full_waits - waits_before;
        let done = trial.told(&record.document, fold, waits > 0);
        let outcome = told(&done, trial.goal);
        self.context.tell(&Event::Tried { title: &job.title, outcome: &outcome });
        Ok(Some(done))
    }

    /// Where the full-length runs of the trial's rate are.
    fn candidate(&mut self, trial: &Trial<'_>) -> usize {
        let rate_per_s = trial.rate_per_s;
        let same = |candidate: &Candidate| (candidate.rate_per_s / rate_per_s - 1.0).abs() < 1e-9;
        if let Some(at) = self.candidates[trial.index].iter().position(same) {
            return at;
        }
        let stem = candidate_stem(trial.index, &trial.plan.steps[trial.index], rate_per_s);
        let record = self.record.scratch(trial.index, rate_per_s);
        let fold = StepFold::new(trial.plan.level, stem);
        self.candidates[trial.index].push(Candidate { rate_per_s, record, fold });
        self.candidates[trial.index].len() - 1
    }

    /// The search is over: the figures of the highest rate that held are the step's, those of others go.
    fn conclude(&mut self, plan: &Plan, index: usize, search: SearchResult) -> Result<()> {
        let held = |candidate: &Candidate| {
            search.rate_low_per_s.is_some_and(|low| (candidate.rate_per_s / low - 1.0).abs() < 1e-9)
        };
        let mut result = empty_result(&plan.steps[index]);
        for candidate in std::mem::take(&mut self.candidates[index]) {
            if held(&candidate) {
                result = candidate.record.document.steps[0].clone();
                self.record.spans[index] = candidate.record.spans[0];
                self.folds[index].take_figures(candidate.fold);
            } else {
                for log in candidate.fold.logs().values() {
                    self.dir.remove_log(log)?;
                }
            }
        }
        result.search = Some(search);
        self.record.replace(index, result);
        self.keep(index)?;
        self.dir.write_document(&self.record.document)?;
        Ok(())
    }
}

fn bounds(plan: &Plan, goal: Goal, index: usize) -> SearchBounds {
    let load = &plan.steps[index].load;
    let longest_s = load.planned_s().unwrap_or(0.0).max(LEAST_TRIAL_S);
    let least_per_s = SPARE * samples_needed(goal) / longest_s;
    SearchBounds {
        start_per_s: START_PER_S.min(START_BYTES_PER_S / load.size.mean()).max(least_per_s),
        least_per_s,
        most_per_s: MOST_PER_S,
        confirming: plan.blocks,
        limit_ns: goal.limit.0 as f64,
    }
}

/// Samples without which the goal's quantile is not told.
fn samples_needed(goal: Goal) -> f64 {
    SAMPLES / (1.0 - goal.quantile)
}

/// One rate to try.
struct Trial<'a> {
    plan: &'a Plan,
    goal: Goal,
    index: usize,
    /// From 0.
    number: usize,
    rate_per_s: f64,
    purpose: TrialPurpose,
}

impl Trial<'_> {
    /// Long enough for the goal's quantile; on the way up and down no longer than that needs.
    fn length(&self, step: &StepPlan) -> Nanos {
        let full_s = step.load.planned_s().unwrap_or(0.0);
        let planned_s = match self.purpose {
            TrialPurpose::Confirm => full_s,
            _ => (full_s * ON_THE_WAY).max(ON_THE_WAY_LEAST_S).min(full_s),
        };
        let needed_s = SPARE * samples_needed(self.goal) / self.rate_per_s;
        Nanos((planned_s.max(needed_s) * 1e9) as u64)
    }

    /// What came of the block that was run last.
    fn told(&self, document: &RunDocument, fold: &StepFold, queue_was_full: bool) -> SearchTrial {
        let view = last_block(document);
        let (step, block) = (&view.steps[0], &view.steps[0].blocks[0]);
        let histogram = fold.block_latency(self.goal.latency);
        let enough = histogram.samples() as f64 >= samples_needed(self.goal) * (1.0 - 1e-9);
        let quantile_ns = histogram.at_quantile(self.goal.quantile).filter(|_| enough);
        let mut reasons = Vec::new();
        if let Some(quantile_ns) = quantile_ns.filter(|ns| *ns > self.goal.limit.0) {
            reasons.push(format!("{} is {:.2} ms", quantile_name(self.goal), quantile_ns as f64 / 1e6));
        }
        let counts = &block.counts;
        for (what, number) in [
            ("failed", counts.failed),
            ("of unknown outcome", counts.unknown),
            ("lost", counts.lost),
            ("removed from the logs before they were read", counts.removed.unwrap_or(0)),
        ] {
            if number > 0 {
                reasons.push(format!("{number} messages {what}"));
            }
        }
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
        let generator = !queue_was_full && (busy || sent_late);
        let verdict = match () {
            () if reasons.is_empty() && quantile_ns.is_some() => TrialVerdict::Holds,
            () if generator => TrialVerdict::GeneratorBound,
            () if reasons.is_empty() => TrialVerdict::TooFew,
            () => TrialVerdict::Fails,
        };
        if verdict == TrialVerdict::GeneratorBound {
            reasons.push("the generator could not keep its times".to_owned());
        }
        if verdict == TrialVerdict::TooFew {
            let needed = samples_needed(self.goal).ceil();
            reasons.push(format!("{} samples; the quantile needs {needed:.0}", histogram.samples()));
        }
        SearchTrial {
            rate_per_s: self.rate_per_s,
            purpose: self.purpose,
            verdict,
            started_at: block.started_at.clone(),
            measured_s: match self.length(&view.plan.steps[0]) {
                Nanos(ns) => ns as f64 / 1e9,
            },
            achieved_per_s: block.achieved_per_s,
            quantile_ns,
            samples: histogram.samples(),
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
    // 0.999 * 100 is not 99.9 in binary.
    format!("{of} p{}", (goal.quantile * 1e8).round() / 1e6)
}

/// A trial in a line.
fn told(trial: &SearchTrial, goal: Goal) -> String {
    let latency = trial.quantile_ns.map(|ns| format!("{} {:.2} ms", quantile_name(goal), ns as f64 / 1e6));
    let latency = latency.unwrap_or_else(|| "too few samples".to_owned());
    match trial.verdict {
        TrialVerdict::Holds => format!("holds, {latency}"),
        _ => format!("does not hold: {}", trial.reasons.join("; ")),
    }
}
