//! Searches for the highest rate that holds the plan's goal: the judge's pure search chooses the next rate, this makes blocks of
//! it.
//!
//! A try is a block at a rate, with clients and a topic of its own. The full-length ones at each rate are folded like a step;
//! those of the highest rate that held become the step's figures. `search/rate_try.rs` has the length and the result of a try.

mod rate_try;

use super::block::Job;
use super::checkpoint::CandidateCheckpoint;
use super::document::empty_result;
use super::fold::StepFold;
use super::measured::Measured;
use super::next_block::{Apart, Ended, NextBlock, Outcome, Planned};
use super::slot::Slot;
use crate::context::RunContext;
use crate::error::Result;
use crate::run_dir::{RunDir, step_stem};
use plumb_judge::search::{Next, SearchBounds, next};
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::document::RunDocument;
use plumb_model::figure::per_s;
use plumb_model::plan::{Goal, Plan, StepPlan, TopicPlan};
use plumb_model::search::{SearchResult, TryPurpose};
use rate_try::{RateTry, SPARE, samples_needed};
use std::collections::VecDeque;

/// First rate, where the values are small, and most bytes per second of it: little enough for any path (ours).
const START_PER_S: f64 = 1_000.0;
const START_BYTES_PER_S: f64 = 5e6;
/// Highest rate: that of every plan.
const MOST_PER_S: f64 = 1e7;
/// The lowest rate is the one at which a full-length run, or one of so long, has samples enough (ours).
const LEAST_TRY_S: f64 = 5.0;

/// A step at a rate of its own.
pub(super) fn at_rate(step: &StepPlan, rate_per_s: f64) -> StepPlan {
    let mut step = step.clone();
    step.load.rate_per_s = Some(rate_per_s);
    step
}

/// The full-length runs at one rate.
pub(super) struct Candidate {
    pub(super) rate_per_s: f64,
    pub(super) runs: Apart,
}

impl Candidate {
    fn is_at(&self, rate_per_s: f64) -> bool {
        (self.rate_per_s / rate_per_s - 1.0).abs() < 1e-9
    }

    /// As it is kept.
    fn kept(&self, dir: &RunDir) -> CandidateCheckpoint {
        CandidateCheckpoint {
            rate_per_s: self.rate_per_s,
            result: self.runs.record.document.steps[0].clone(),
            span: self.runs.record.spans[0],
            fold: self.runs.fold.state(dir),
        }
    }
}

/// Start of the names of the files of a rate.
pub(super) fn candidate_stem(index: usize, step: &StepPlan, rate_per_s: f64) -> String {
    format!("{}-at-{}", step_stem(index, step), rate_per_s.round() as u64)
}

/// A search for each step's rate, one step after the other.
pub(super) struct RateSearch {
    goal: Goal,
    /// Steps whose search is not over, in random order.
    left: VecDeque<usize>,
    /// The full-length runs, by step.
    candidates: Vec<Vec<Candidate>>,
    /// The try under way.
    trying: Option<RateTry>,
}

impl RateSearch {
    pub(super) fn new(document: &RunDocument, goal: Goal, candidates: Vec<Vec<Candidate>>) -> Self {
        let is_over = |index: &usize| {
            document.steps[*index].search.as_ref().is_some_and(|search| search.bounded_by.is_some())
        };
        let steps = Random::new(document.plan.seed).order(document.plan.steps.len());
        let left = steps.into_iter().filter(|index| !is_over(index)).collect();
        RateSearch { goal, left, candidates, trying: None }
    }

    /// The block of a try.
    fn planned(&mut self, rate_try: &RateTry, measured: &Measured) -> Planned {
        let (index, rate_per_s) = (rate_try.index, rate_try.rate_per_s);
        let apart = match rate_try.purpose {
            TryPurpose::Confirm => self.take_candidate(rate_try, measured),
            _ => Apart {
                record: measured
                    .record
                    .scratch(at_rate(&measured.record.document.plan.steps[index], rate_per_s)),
                fold: StepFold::unlogged(measured.record.document.plan.level),
            },
        };
        let document = &apart.record.document;
        let (plan, resumed) = (&document.plan, document.run.resumed.len());
        let step = plan.steps[0].clone();
        let round = u32::try_from(document.steps[0].blocks.len()).unwrap_or(u32::MAX);
        let number = u32::try_from(rate_try.number).unwrap_or(u32::MAX);
        let job = Job {
            slot: Slot { index, round, position: number },
            turn: number,
            share: Share::Time(rate_try.length(&step)),
            // A step's tries are apart from every other's.
            seed: Random::for_part(plan.seed, index as u64).bits(),
            shown: false,
            title: format!("{}  try {}: {}", step.name, rate_try.number + 1, per_s(rate_per_s)),
            topic: format!("{}-try-{number}-r{resumed}", index + 1),
            own_topic: matches!(step.topic, TopicPlan::Own { .. }),
            give_up: None,
            needs_answers: false,
            step,
        };
        Planned { job, apart: Some(apart), arm: None }
    }

    /// The full-length runs of a try's rate so far, until they are given back.
    fn take_candidate(&mut self, rate_try: &RateTry, measured: &Measured) -> Apart {
        let (index, rate_per_s) = (rate_try.index, rate_try.rate_per_s);
        let candidates = &mut self.candidates[index];
        if let Some(at) = candidates.iter().position(|candidate| candidate.is_at(rate_per_s)) {
            return candidates.remove(at).runs;
        }
        let plan = &measured.record.document.plan;
        let stem = candidate_stem(index, &plan.steps[index], rate_per_s);
        let record = measured.record.scratch(at_rate(&plan.steps[index], rate_per_s));
        Apart { record, fold: StepFold::new(plan.level, stem) }
    }

    /// A step's search is over: the figures of the highest rate that held are the step's, those of others go.
    fn conclude(&mut self, index: usize, search: SearchResult, measured: &mut Measured) -> Result<()> {
        let held = |candidate: &Candidate| search.rate_low_per_s.is_some_and(|low| candidate.is_at(low));
        let Measured { record, folds, dir } = measured;
        let mut result = empty_result(&record.document.plan.steps[index]);
        for candidate in std::mem::take(&mut self.candidates[index]) {
            let runs = &candidate.runs;
            if held(&candidate) {
                result = runs.record.document.steps[0].clone();
                record.spans[index] = runs.record.spans[0];
                folds[index].take_figures(candidate.runs.fold);
            } else {
                for log in runs.fold.logs().values() {
                    dir.remove_log(log)?;
                }
            }
        }
        result.search = Some(search);
        record.replace(index, result);
        measured.keep(index, Vec::new())?;
        measured.write()
    }
}

impl NextBlock for RateSearch {
    fn next(&mut self, measured: &mut Measured, context: &RunContext) -> Result<Option<Planned>> {
        while let Some(index) = self.left.front().copied() {
            let document = &mut measured.record.document;
            let bounds = bounds(&document.plan, self.goal, index);
            let search = document.steps[index].search.get_or_insert_with(|| nothing_tried(self.goal));
            match next(&search.tries, &bounds) {
                Next::Try { rate_per_s, purpose } => {
                    let number = search.tries.len();
                    let rate_try = RateTry { goal: self.goal, index, number, rate_per_s, purpose };
                    let planned = self.planned(&rate_try, measured);
                    self.trying = Some(rate_try);
                    return Ok(Some(planned));
                }
                Next::Done(found) => {
                    let search = SearchResult {
                        rate_low_per_s: found.rate_low_per_s,
                        rate_high_per_s: found.rate_high_per_s,
                        bounded_by: Some(found.bounded_by),
                        ..search.clone()
                    };
                    self.conclude(index, search, measured)?;
                    self.left.pop_front();
                    if context.is_stopped() {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(None)
    }

    fn ended(&mut self, _: &Job, ended: Ended, measured: &mut Measured) -> Outcome {
        let (Some(rate_try), Some(runs)) = (self.trying.take(), ended.apart) else {
            return Outcome::Nothing;
        };
        let counts = ended.measured && !ended.stopped;
        let outcome = match measured.record.document.steps[rate_try.index].search.as_mut().filter(|_| counts)
        {
            None => Outcome::Nothing,
            Some(search) => {
                let done = rate_try.told(&runs.record.document, &runs.fold);
                let outcome = Outcome::Tried(rate_try::in_a_line(&done, self.goal));
                search.tries.push(done);
                outcome
            }
        };
        if rate_try.purpose == TryPurpose::Confirm {
            let candidate = Candidate { rate_per_s: rate_try.rate_per_s, runs };
            self.candidates[rate_try.index].push(candidate);
        }
        outcome
    }

    fn candidates(&self, step: usize, dir: &RunDir) -> Vec<CandidateCheckpoint> {
        self.candidates[step].iter().map(|candidate| candidate.kept(dir)).collect()
    }
}

fn nothing_tried(goal: Goal) -> SearchResult {
    SearchResult { goal, rate_low_per_s: None, rate_high_per_s: None, bounded_by: None, tries: Vec::new() }
}

fn bounds(plan: &Plan, goal: Goal, index: usize) -> SearchBounds {
    let load = &plan.steps[index].load;
    let longest_s = load.planned_s().unwrap_or(0.0).max(LEAST_TRY_S);
    let least_per_s = SPARE * samples_needed(goal) / longest_s;
    SearchBounds {
        start_per_s: START_PER_S.min(START_BYTES_PER_S / load.size.mean()).max(least_per_s),
        least_per_s,
        most_per_s: MOST_PER_S,
        confirming: plan.blocks,
        limit_ns: goal.limit.0 as f64,
    }
}
