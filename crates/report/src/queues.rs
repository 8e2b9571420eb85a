//! The growth of producers' queues, as text and page tell it.

use plumb_model::document::{RunDocument, StepResult};
use plumb_model::figure::{ABSENT, count, interval, rate, significant, time};
use plumb_model::observation::{Distribution, Latencies, SecondLatency};
use plumb_model::queue::{QueueCourse, QueueLevel, QueueResult};
use std::borrow::Cow;

/// The heading of the section.
pub(crate) const HEADING: &str = "Producers' queue";
/// Under the heading.
pub(crate) const MEANING: &str = "messages due and not yet acknowledged, wherever they wait";

/// Heads of the table's columns after the setup.
///
/// `served/s` is what was acknowledged while the schedule ran: what the drain adds after it is not in it.
pub(crate) const COLUMNS: [&str; 6] =
    ["asked/s", "served/s", "queue", "growth/s", "in its blocks", "longest"];

/// True if the step is to show a queue: its times are the queue's length, and are shown nowhere as latencies.
pub(crate) fn shows_queue(document: &RunDocument, step: &StepResult) -> bool {
    let plan = document.plan.steps.iter().find(|plan| plan.name == step.name);
    plan.is_some_and(|plan| plan.load.shows_queue())
}

/// The document without the times of steps that show a queue.
pub(crate) fn without_their_times(document: &RunDocument) -> Cow<'_, RunDocument> {
    if !document.steps.iter().any(|step| shows_queue(document, step)) {
        return Cow::Borrowed(document);
    }
    let mut shown = document.clone();
    for step in shown.steps.iter_mut().filter(|step| shows_queue(document, step)) {
        step.latency = Latencies::default();
        step.slip = Distribution::default();
        step.stages.clear();
        for block in &mut step.blocks {
            block.end_to_end = Distribution::default();
            block.acknowledge = Distribution::default();
        }
        for row in &mut step.series {
            row.end_to_end = SecondLatency::default();
            row.acknowledge = SecondLatency::default();
        }
    }
    Cow::Owned(shown)
}

/// A step that shows its queue.
pub(crate) struct StepQueue<'a> {
    /// The step's place in the document.
    pub(crate) index: usize,
    pub(crate) step: &'a StepResult,
    pub(crate) queue: &'a QueueResult,
}

/// The queues.
pub(crate) fn all(document: &RunDocument) -> Vec<StepQueue<'_>> {
    let steps = document.steps.iter().enumerate();
    let own = |step: &StepResult| document.queues.iter().find(|queue| queue.step == step.name);
    steps.filter_map(|(index, step)| Some(StepQueue { index, step, queue: own(step)? })).collect()
}

/// The cells of a queue's row.
pub(crate) fn cells(queue: &QueueResult) -> Vec<String> {
    vec![
        rate(queue.asked_per_s),
        served_per_s(queue).map_or_else(|| ABSENT.to_owned(), rate),
        course(queue.course).to_owned(),
        growth(queue),
        growth_of_blocks(queue),
        count(queue.longest.round() as u64),
    ]
}

/// The rate that was asked for, less the growth of the queue from the first measured second of each block to its last.
fn served_per_s(queue: &QueueResult) -> Option<f64> {
    let measured: Vec<&QueueLevel> = queue.levels.iter().filter(|level| !level.warm_up).collect();
    let grown = measured.chunk_by(|a, b| a.block == b.block).filter_map(|levels| {
        let (first, last) = (levels.first()?, levels.last()?);
        (last.second > first.second)
            .then(|| (last.messages - first.messages) / f64::from(last.second - first.second))
    });
    let grown: Vec<f64> = grown.collect();
    (!grown.is_empty()).then(|| queue.asked_per_s - grown.iter().sum::<f64>() / grown.len() as f64)
}

fn course(course: QueueCourse) -> &'static str {
    match course {
        QueueCourse::Grows => "grows",
        QueueCourse::KeepsUp => "keeps up",
        QueueCourse::Unclear => "unclear",
        QueueCourse::TooShort => "too short to tell",
    }
}

/// The mean over the blocks with its interval: `812 (780 to 845)`, `113 (-45.3 to 271)`.
fn growth(queue: &QueueResult) -> String {
    let Some(growth) = queue.growth_per_s else { return ABSENT.to_owned() };
    let interval = queue.growth_interval.map(|it| format!(" ({})", span(it.low, it.high)));
    significant(growth, 3) + &interval.unwrap_or_default()
}

/// The least and the greatest growth of a block: `45.4 to 172`.
fn growth_of_blocks(queue: &QueueResult) -> String {
    match queue.blocks_span() {
        Some((low, high)) if queue.growth_of_blocks_per_s.len() > 1 => span(low, high),
        _ => ABSENT.to_owned(),
    }
}

fn span(low: f64, high: f64) -> String {
    interval(low, high, |it| significant(it, 3))
}

/// The meaning of the figures in brackets; none where there is none.
pub(crate) fn interval_note(document: &RunDocument) -> Option<String> {
    let level = document.queues.iter().find_map(|queue| queue.growth_interval)?.level;
    Some(format!(
        "growth/s: the mean of the blocks with its {} interval, Student's t over the blocks",
        plumb_model::figure::percent(level)
    ))
}

/// The time after which it would be full: a sentence for a queue that grows.
pub(crate) fn full(queue: &QueueResult) -> Option<String> {
    let limits: Vec<String> = queue
        .limits
        .iter()
        .map(|limit| {
            format!(
                "{} ({}, {} messages)",
                time(limit.full_after_s * 1e9),
                limit.setting,
                count(limit.messages.round() as u64)
            )
        })
        .collect();
    (!limits.is_empty()).then(|| format!("an empty queue would be full after {}", limits.join(", or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::observation::{Interval, IntervalMethod};

    #[test]
    fn growth_has_its_interval_though_that_holds_0_and_the_range_of_the_blocks_beside_it() {
        let interval = Interval { low: -45.3, high: 271.1, level: 0.95, method: IntervalMethod::Blocks };
        let queue = QueueResult {
            step: "s".into(),
            asked_per_s: 500.0,
            course: QueueCourse::Grows,
            growth_per_s: Some(112.9),
            growth_interval: Some(interval),
            growth_of_blocks_per_s: vec![172.0, 45.44, 121.2],
            longest: 3545.0,
            limits: Vec::new(),
            levels: Vec::new(),
        };
        assert_eq!(cells(&queue)[3..5], ["113 (-45.3 to 271)", "45.4 to 172"]);
    }

    #[test]
    fn what_was_served_is_without_what_the_drain_adds() {
        let level = |block, second, messages| QueueLevel { block, second, warm_up: second == 0, messages };
        let block =
            |block, grows: f64| (0..5).map(move |second| level(block, second, f64::from(second) * grows));
        let levels: Vec<QueueLevel> = block(0, 40.0).chain(block(1, 20.0)).collect();
        let queue = QueueResult {
            step: "s".into(),
            asked_per_s: 200.0,
            course: QueueCourse::Grows,
            growth_per_s: None,
            growth_interval: None,
            growth_of_blocks_per_s: Vec::new(),
            longest: 160.0,
            limits: Vec::new(),
            levels,
        };
        assert_eq!(served_per_s(&queue), Some(170.0));
        assert_eq!(served_per_s(&QueueResult { levels: Vec::new(), ..queue }), None);
    }
}
