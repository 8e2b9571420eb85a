//! The search for the best settings of a step: the judge chooses the settings, this makes blocks of them.
//!
//! Each block has clients and a topic of its own. Its figures go into a document apart, of which the search's own document keeps a line:
//! blocks that choose prove nothing, and their figures are no result.

mod search_block;

use super::block::Job;
use super::checkpoint::CandidateCheckpoint;
use super::fold::StepFold;
use super::measured::Measured;
use super::next_block::{Apart, Ended, NextBlock, Outcome, Planned};
use super::slot::Slot;
use crate::context::RunContext;
use crate::error::{Result, SessionError};
use crate::run_dir::RunDir;
use plumb_judge::settings_search::{self as judged, Course, Found, Next};
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::document::RunDocument;
use plumb_model::plan::{Length, Properties, TopicPlan};
use plumb_model::settings_search::{Refusal, SearchBlock, SettingsSearchResult, of_owner, step_with};
use plumb_model::trial::ArmPlan;
use plumb_model::tunable::Owner;
pub(super) use search_block::GiveUp;
use search_block::Trying;

/// The blocks of a search for settings.
#[derive(Debug, Default)]
pub(super) struct SearchBlocks {
    /// The block under way.
    trying: Option<Trying>,
}

/// The course of a document's search.
fn course(document: &RunDocument) -> Option<Course<'_>> {
    Course::of(&document.plan, document.settings_search.as_ref()?)
}

impl SearchBlocks {
    fn planned(&mut self, next: judged::NextBlock, measured: &Measured) -> Option<Planned> {
        let document = &measured.record.document;
        let (plan, result) = (&document.plan, document.settings_search.as_ref()?);
        let search = plan.settings_search.as_ref()?;
        let mut step = step_with(plan.steps.first()?, &next.settings);
        step.load.length = Length::Duration(search.block);
        let record = measured.record.scratch(step.clone());
        let fold = StepFold::unlogged(plan.level);
        let number = u32::try_from(result.blocks.len()).unwrap_or(u32::MAX);
        let resumed = document.run.resumed.len();
        let job = Job {
            slot: Slot { index: 0, round: 0, position: number },
            turn: number,
            share: Share::Time(search.block),
            seed: Random::for_part(plan.seed, u64::from(number)).bits(),
            shown: false,
            title: format!(
                "block {} of at most {}: {}",
                number + 1,
                course(document)?.blocks_most(),
                in_words(&next.settings)
            ),
            topic: format!("search-{number}-r{resumed}"),
            own_topic: matches!(step.topic, TopicPlan::Own { .. }),
            give_up: next.give_up_above.and_then(|above| GiveUp::of(search, above)),
            needs_answers: true,
            step,
        };
        let host = of_owner(&next.settings, Owner::Host);
        let arm = (!host.is_empty()).then(|| ArmPlan {
            name: job.title.clone(),
            step: 0,
            differences: Properties::new(),
            before: None,
            after: None,
            host,
        });
        self.trying = Some(Trying { next });
        Some(Planned { job, apart: Some(Apart { record, fold }), arm })
    }

    /// Writes down a block that is over, and what the first one tells of the path.
    fn note(&self, mut block: search_block::Told, measured: &mut Measured) -> Outcome {
        let document = &mut measured.record.document;
        let (Some(search), Some(result)) = (&document.plan.settings_search, &mut document.settings_search)
        else {
            return Outcome::Nothing;
        };
        no_refusal_of_what_fails_as_ones_own(&mut result.blocks, &mut block.block);
        if result.path.is_none() && block.block.settings.is_empty() {
            result.path = block.path;
            result.advised = judged::advised(search, &block.findings);
            result.advised_restart = judged::advised_restart(&document.plan, &block.findings);
        }
        let line = search_block::in_a_line(&block.block, search);
        result.blocks.push(block.block);
        Outcome::Tried(line)
    }
}

impl NextBlock for SearchBlocks {
    fn next(&mut self, measured: &mut Measured, context: &RunContext) -> Result<Option<Planned>> {
        let document = &mut measured.record.document;
        document.settings_search.get_or_insert_with(SettingsSearchResult::default);
        if context.is_stopped() {
            return Ok(None);
        }
        let next = match course(document) {
            Some(course) if course.result.ending.is_none() => course.next(),
            _ => return Ok(None),
        };
        match next {
            Next::Try(next) => Ok(self.planned(next, measured)),
            Next::Done(found) => {
                conclude(&mut measured.record.document, found);
                measured.write()?;
                Ok(None)
            }
        }
    }

    fn ended(&mut self, _: &Job, ended: Ended, measured: &mut Measured) -> Outcome {
        let (Some(trying), Some(apart)) = (self.trying.take(), ended.apart) else { return Outcome::Nothing };
        if !ended.measured || ended.stopped {
            return Outcome::Nothing;
        }
        match measured.record.document.plan.settings_search.clone() {
            Some(search) => self.note(trying.told(&search, &apart), measured),
            None => Outcome::Nothing,
        }
    }

    /// Settings that client, broker or host refuse are no error of the search, as long as they are not the user's own.
    fn failed(&mut self, _: &Job, error: SessionError, measured: &mut Measured) -> Result<Outcome> {
        match self.trying.take().and_then(|trying| trying.refused(&error)) {
            Some(told) => Ok(self.note(told, measured)),
            None => Err(error),
        }
    }

    fn candidates(&self, _: usize, _: &RunDir) -> Vec<CandidateCheckpoint> {
        Vec::new()
    }
}

/// What the broker does not take of the user's own settings, before or after, is no refusal of others.
fn no_refusal_of_what_fails_as_ones_own(blocks: &mut [SearchBlock], last: &mut SearchBlock) {
    let own = |block: &SearchBlock| block.failed.clone().filter(|_| block.settings.is_empty());
    let failures: Vec<String> = blocks.iter().chain([&*last]).filter_map(own).collect();
    let is_own = |refusal: &Refusal| {
        let reason = refusal.words.split_once(": ").map_or(refusal.words.as_str(), |(_, reason)| reason);
        failures.iter().any(|failed| failed.contains(reason))
    };
    for block in blocks.iter_mut().chain([last]) {
        block.refused.take_if(|refusal| is_own(refusal));
    }
}

/// Puts the end of a search into its document.
fn conclude(document: &mut RunDocument, found: Found) {
    let importance = course(document).map(|course| course.importance()).unwrap_or_default();
    let Some(result) = &mut document.settings_search else { return };
    result.importance = importance;
    result.ending = Some(found.ending);
    result.winner = found.winner;
    result.unpruned = found.unpruned;
    result.smallest_gain_ratio = found.smallest_gain;
    result.spread_log = found.spread;
}

/// Settings for a title.
fn in_words(settings: &Properties) -> String {
    if settings.is_empty() {
        return "the settings as they are".to_owned();
    }
    let pairs = settings.iter().map(|(setting, value)| format!("{setting} {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::best::BestPurpose;
    use plumb_model::settings_search::RefusedBy;

    fn failed(settings: &[&str], words: &str) -> SearchBlock {
        let settings: Properties = settings.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
        let refusal = |suspects: &Properties| Refusal {
            by: RefusedBy::Broker,
            words: words.to_owned(),
            suspects: suspects.keys().cloned().collect(),
        };
        SearchBlock {
            purpose: BestPurpose::Preset,
            started_at: String::new(),
            objective: None,
            goal_ratio: None,
            feasible: None,
            aborted: false,
            failed: Some(words.to_owned()),
            refused: (!settings.is_empty()).then(|| refusal(&settings)),
            measured_s: 0.0,
            achieved_per_s: None,
            p50_ns: None,
            p99_ns: None,
            cpu_per_message_us: None,
            settings,
        }
    }

    #[test]
    fn what_fails_as_ones_own_settings_do_is_no_refusal_whichever_came_first() {
        let too_large = |number: u32| format!("{number} of 60 messages: too large (MSG_SIZE_TOO_LARGE)");
        let mut blocks = vec![failed(&["producer.batch.size"], &too_large(3)), failed(&["topic.x"], "x: no")];
        let mut own = failed(&[], &too_large(1));
        no_refusal_of_what_fails_as_ones_own(&mut blocks, &mut own);
        assert!(blocks[0].refused.is_none() && blocks[1].refused.is_some());
        blocks.push(own);
        let mut later = failed(&["producer.linger.ms"], &too_large(9));
        no_refusal_of_what_fails_as_ones_own(&mut blocks, &mut later);
        assert!(later.refused.is_none() && later.failed.is_some());
    }
}
