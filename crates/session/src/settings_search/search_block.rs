//! One block of a search for settings: when it is given up, and its line in the search's document.

use crate::error::SessionError;
use crate::fold::StepFold;
use crate::next_block::Apart;
use crate::utc::timestamp;
use jiff::Timestamp;
use plumb_judge::settings_search::{About, NextBlock, objective, path_facts, refusal, refuses_messages};
use plumb_judge::trial::metric_value;
use plumb_load::LoadError;
use plumb_model::document::BlockResult;
use plumb_model::fault::chain;
use plumb_model::figure::{count, counted, significant, time};
use plumb_model::finding::Finding;
use plumb_model::metric::{LatencyQuantile, goal_of};
use plumb_model::observation::{ErrorCount, Spoilt};
use plumb_model::plan::{Goal, GoalLatency};
use plumb_model::settings_search::{Objective, PathFacts, Refusal, RefusedBy, SearchBlock, SettingsSearch};
use plumb_stats::distribution::samples_needed;
use plumb_tune::setting::SettingError;

/// How a refusal to make the block's topic begins to say what was wanted.
const CREATE: &str = "create topic";

/// A block is not given up before this share of it.
const GIVE_UP_AFTER: f64 = 0.25;
/// The goal is broken beyond doubt where the latency is so many times its limit.
const FAR_BEYOND_GOAL: f64 = 2.0;
/// Standard errors by which a quantile's lower end lies below it (ours: neighbours among messages are alike, so that there are fewer than it
/// seems).
const STANDARD_ERRORS: f64 = 6.0;

/// The latency at which a block is hopeless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GiveUp {
    latency: GoalLatency,
    quantile: f64,
    above_ns: f64,
    /// Seconds of the measured part before which no block is given up.
    pub(crate) after_s: f64,
}

impl GiveUp {
    /// Of an objective that is too high, or of a goal that is broken by far; none where a block has to end to tell.
    pub(super) fn of(search: &SettingsSearch, objective_above: f64) -> Option<Self> {
        let after_s = GIVE_UP_AFTER * search.block.0 as f64 / 1e9;
        match (search.objective, search.goal) {
            (Objective::Latency, _) => {
                let LatencyQuantile { latency, quantile } = goal_of(&search.metric)?;
                Some(GiveUp { latency, quantile, above_ns: objective_above, after_s })
            }
            (_, Some(Goal { latency, quantile, limit })) => {
                Some(GiveUp { latency, quantile, above_ns: FAR_BEYOND_GOAL * limit.0 as f64, after_s })
            }
            (_, None) => None,
        }
    }

    /// True if the block under way is hopeless for certain.
    pub(crate) fn is_hopeless(&self, fold: &StepFold) -> bool {
        let histogram = fold.block_latency(self.latency);
        if histogram.samples() < samples_needed(self.quantile) {
            return false;
        }
        let samples = histogram.samples() as f64;
        let error = (self.quantile * (1.0 - self.quantile) / samples).sqrt();
        let low = (self.quantile - STANDARD_ERRORS * error).max(0.0);
        histogram.at_quantile(low).is_some_and(|ns| ns as f64 > self.above_ns)
    }
}

/// A block under way.
#[derive(Debug)]
pub(super) struct Trying {
    pub(super) next: NextBlock,
}

/// A block that is over, with what its document tells beside.
pub(super) struct Told {
    pub(super) block: SearchBlock,
    pub(super) path: Option<PathFacts>,
    pub(super) findings: Vec<Finding>,
}

impl Trying {
    /// The block of a document that has no other.
    pub(super) fn told(self, search: &SettingsSearch, apart: &Apart) -> Told {
        let document = &apart.record.document;
        let step = &document.steps[0];
        let Some(block) = step.blocks.last() else {
            return self.nothing("nothing was measured".to_owned(), None);
        };
        let objective = objective(search, block);
        let goal_ratio = search.goal.and_then(|goal| goal_ratio(goal, &apart.fold));
        let failed = self.why_not(search, block, objective, goal_ratio);
        let reason = || step.errors.first().map(|error| format!(": {} ({})", error.message, error.code));
        let failed = failed.map(|why| match block.counts.failed {
            0 => why,
            _ => why + &reason().unwrap_or_default(),
        });
        let refused = failed.as_ref().and_then(|_| self.refused_messages(block, &step.errors));
        let failed = refused.as_ref().map(Refusal::sentence).or(failed);
        let latency = if block.end_to_end.samples > 0 { &block.end_to_end } else { &block.acknowledge };
        let line = SearchBlock {
            settings: self.next.settings,
            purpose: self.next.purpose,
            started_at: block.started_at.clone(),
            objective: objective.filter(|_| failed.is_none()),
            goal_ratio: goal_ratio.filter(|_| failed.is_none()),
            feasible: goal_ratio.filter(|_| failed.is_none()).map(|ratio| ratio <= 1.0),
            aborted: block.cut_short,
            measured_s: apart.record.spans[0].measured_ns as f64 / 1e9,
            achieved_per_s: block.achieved_per_s,
            p50_ns: latency.p50_ns.map(|ns| ns as f64),
            p99_ns: latency.p99_ns.map(|ns| ns as f64),
            cpu_per_message_us: metric_value("cpu.per_message", block),
            failed,
            refused,
        };
        Told { block: line, path: Some(path_facts(search, block)), findings: document.findings.clone() }
    }

    /// A block that the client, the broker or the host refused; none where the error is no refusal of its settings.
    pub(super) fn refused(self, error: &SessionError) -> Option<Told> {
        if self.next.settings.is_empty() {
            return None;
        }
        let refusal = self.refusal(error)?;
        Some(self.nothing(refusal.sentence(), Some(refusal)))
    }

    fn refusal(&self, error: &SessionError) -> Option<Refusal> {
        let (by, about, words) = match error {
            SessionError::Load(error) if !error.is_refusal() => return None,
            SessionError::Load(LoadError::Property { key, value, reason, .. }) => {
                (RefusedBy::Client, About::Property { key, value }, reason.clone())
            }
            SessionError::Load(LoadError::Properties { reason, .. }) => {
                (RefusedBy::Client, About::Clients, reason.clone())
            }
            SessionError::Load(error @ LoadError::TooLargeForProducer { .. }) => {
                (RefusedBy::Client, About::Clients, error.to_string())
            }
            SessionError::Load(LoadError::Refused { operation, reason }) => {
                let about = if operation.starts_with(CREATE) { About::Topic } else { About::Anything };
                (RefusedBy::Broker, about, reason.clone())
            }
            SessionError::Load(error) => (RefusedBy::Broker, About::Anything, error.to_string()),
            SessionError::Setting(
                setting @ (SettingError::Refused { name, .. }
                | SettingError::NotInEffect { name, .. }
                | SettingError::NotTaken { name, .. }),
            ) => (RefusedBy::Host, About::Host(name), chain(setting).join(": ")),
            _ => return None,
        };
        Some(refusal(&self.next.settings, by, about, &words))
    }

    /// The refusal of messages by the broker, in a block of which some failed; none where it gave no such reason.
    fn refused_messages(&self, block: &BlockResult, errors: &[ErrorCount]) -> Option<Refusal> {
        if block.counts.failed == 0 || self.next.settings.is_empty() {
            return None;
        }
        let error = errors.iter().find(|error| refuses_messages(&error.code))?;
        let words = format!(
            "{} of {}: {} ({})",
            count(block.counts.failed),
            counted(block.counts.sent as usize, "message"),
            error.message,
            error.code
        );
        Some(refusal(&self.next.settings, RefusedBy::Broker, About::Messages(&error.code), &words))
    }

    /// The reason why a block's figures are of no use; none where they are.
    fn why_not(
        &self,
        search: &SettingsSearch,
        block: &BlockResult,
        objective: Option<f64>,
        goal_ratio: Option<f64>,
    ) -> Option<String> {
        if let Some(Spoilt { what, number }) = block.counts.spoilt().next() {
            return Some(format!("{} {what}", counted(number, "message")));
        }
        if objective.is_none() {
            return Some(format!(
                "{} samples are too few for {}",
                count(block.end_to_end.samples.max(block.acknowledge.samples)),
                search.metric
            ));
        }
        (search.goal.is_some() && goal_ratio.is_none()).then(|| "too few samples for the goal".to_owned())
    }

    fn nothing(self, reason: String, refused: Option<Refusal>) -> Told {
        let block = SearchBlock {
            settings: self.next.settings,
            purpose: self.next.purpose,
            started_at: timestamp(Timestamp::now()),
            objective: None,
            goal_ratio: None,
            feasible: None,
            aborted: false,
            failed: Some(reason),
            refused,
            measured_s: 0.0,
            achieved_per_s: None,
            p50_ns: None,
            p99_ns: None,
            cpu_per_message_us: None,
        };
        Told { block, path: None, findings: Vec::new() }
    }
}

/// The goal's latency over its limit; none with too few samples.
fn goal_ratio(goal: Goal, fold: &StepFold) -> Option<f64> {
    let histogram = fold.block_latency(goal.latency);
    let enough = histogram.samples() >= samples_needed(goal.quantile);
    let quantile_ns = histogram.at_quantile(goal.quantile).filter(|_| enough)?;
    Some(quantile_ns as f64 / goal.limit.0 as f64)
}

/// A block in a line.
pub(super) fn in_a_line(block: &SearchBlock, search: &SettingsSearch) -> String {
    if let Some(refusal) = &block.refused {
        return refusal.sentence();
    }
    if let Some(reason) = &block.failed {
        return format!("not used: {reason}");
    }
    let bound = if block.aborted { "given up: at least " } else { "" };
    let objective = block.objective.map(|value| match search.objective {
        Objective::Latency => format!("{} {}", search.metric, time(value)),
        Objective::Rate if search.goal.is_none() => format!("{} messages/s", significant(1.0 / value, 4)),
        Objective::Cpu | Objective::Rate => format!("{} us of CPU per message", significant(value, 3)),
    });
    let goal = match block.feasible {
        Some(true) => ", the goal holds",
        Some(false) => ", the goal does not hold",
        None => "",
    };
    format!("{bound}{}{goal}", objective.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::RunDir;
    use plumb_load::observation::{Measure, SecondPart};

    const HOPELESS: GiveUp =
        GiveUp { latency: GoalLatency::EndToEnd, quantile: 0.99, above_ns: 20e6, after_s: 0.0 };

    /// Whether a block is given up of which so many seconds have 500 messages each, all of this latency but one in a hundred.
    fn is_hopeless(seconds: u32, usual_ns: u64, one_in_a_hundred_ns: u64) -> bool {
        let place = tempfile::tempdir().unwrap();
        let mut dir = RunDir::create(Some(&place.path().join("run")), Timestamp::UNIX_EPOCH, "x").unwrap();
        let mut fold = StepFold::unlogged(0.95);
        fold.begin_block(0);
        for second in 0..seconds {
            let mut part = SecondPart::new(Measure::EndToEnd);
            part.second = second;
            for message in 0..500 {
                let ns = if message % 100 == 0 { one_in_a_hundred_ns } else { usual_ns };
                part.response.record_span(0, ns);
            }
            fold.take(&part, &mut dir).unwrap();
        }
        HOPELESS.is_hopeless(&fold)
    }

    #[test]
    fn a_block_is_given_up_only_where_its_quantile_is_beyond_doubt() {
        assert!(is_hopeless(20, 50_000_000, 50_000_000));
        assert!(!is_hopeless(20, 5_000_000, 5_000_000));
        // The p99 itself is at 50 ms, and hardly more than one in a hundred is.
        assert!(!is_hopeless(20, 5_000_000, 50_000_000));
        // Too few messages to tell a p99.
        assert!(!is_hopeless(4, 50_000_000, 50_000_000));
    }
}
