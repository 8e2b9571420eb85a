//! A user's conditions on the figures of a run (`p99>20ms`), compared with each setup.
//!
//! A figure that is absent answers nothing, so the answer is "not known" with the reason, never "not met".

use crate::setup::Setup;
use plumb_model::condition::{Answer, Condition, ConditionFigure, ConditionResult, LatencyFigure};
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::figure::{self, count, rates, time, time_interval, whole};
use plumb_model::observation::{Distribution, Interval};
use plumb_model::plan::{GoalLatency, StepPlan};

/// A figure, and how it is shown.
struct Seen {
    value: f64,
    shown: String,
    /// The most by which it may be off.
    error: f64,
}

impl Seen {
    fn exact(value: f64, shown: String) -> Self {
        Seen { value, shown, error: 0.0 }
    }

    /// The answer to a condition: none where its error leaves open on which side of the limit it is.
    fn answer(&self, condition: &Condition) -> Answer {
        let holds = |value: f64| condition.side.holds(value, condition.limit);
        match (holds(self.value - self.error), holds(self.value + self.error)) {
            (true, true) => Answer::Met,
            (false, false) => Answer::NotMet,
            _ => Answer::NotKnown(format!(
                "the workers' clocks are known to within {} of each other, which leaves open on which side of the limit it is",
                time(self.error)
            )),
        }
    }
}

/// Every condition on every setup of the plan, setup by setup.
pub fn check(document: &RunDocument, conditions: &[Condition]) -> Vec<ConditionResult> {
    let of_step = |plan: &StepPlan| {
        let result = document.steps.iter().find(|step| step.name == plan.name);
        let setup = result.map(|result| Setup { result, plan: Some(plan) });
        let checked = |condition: &Condition| {
            let seen = setup.map_or_else(|| Err("it was not measured".to_owned()), |s| figure(&s, condition));
            let answer = match &seen {
                Err(reason) => Answer::NotKnown(reason.clone()),
                Ok(seen) => seen.answer(condition),
            };
            ConditionResult {
                condition: condition.text.clone(),
                setup: plan.name.clone(),
                value: seen.ok().map(|seen| seen.shown),
                answer,
            }
        };
        conditions.iter().map(checked).collect::<Vec<_>>()
    };
    document.plan.steps.iter().flat_map(of_step).collect()
}

fn figure(setup: &Setup, condition: &Condition) -> Result<Seen, String> {
    let result = setup.result;
    let of_receiving = || match setup.consumes() {
        true => Ok(()),
        false => Err("nobody receives in this setup".to_owned()),
    };
    let of_sending = || match setup.produces() {
        true => Ok(()),
        false => Err("nobody sends in this setup".to_owned()),
    };
    match condition.figure {
        ConditionFigure::Latency(latency, figure) => latency_figure(setup, latency, figure),
        ConditionFigure::Achieved => {
            of_sending()?;
            let interval = result.throughput.produced_interval;
            rate(result.achieved_per_s, interval, condition.limit)
                .ok_or("nothing was acknowledged".to_owned())
        }
        ConditionFigure::Received => {
            of_receiving()?;
            let (per_s, interval) = (result.throughput.received_per_s, result.throughput.received_interval);
            rate(per_s, interval, condition.limit).ok_or("nothing was received".to_owned())
        }
        ConditionFigure::Lost => of_receiving().map(|()| messages(result.counts.lost)),
        ConditionFigure::Duplicated => of_receiving().map(|()| messages(result.counts.duplicated)),
        ConditionFigure::Failed => Ok(messages(result.counts.failed)),
    }
}

fn latency_figure(
    setup: &Setup,
    latency: Option<GoalLatency>,
    figure: LatencyFigure,
) -> Result<Seen, String> {
    if setup.shows_queue() {
        return Err("a step that shows whether a queue grows has no latency".to_owned());
    }
    if setup.saturates() {
        return Err("as fast as possible has no latency".to_owned());
    }
    let distribution = match latency {
        None => setup.headline(),
        Some(GoalLatency::EndToEnd) if !setup.consumes() => {
            return Err("end-to-end latency ends at a consumer, and this setup has none".to_owned());
        }
        Some(latency) => of(setup.result, latency),
    };
    let whole = |value: Option<u64>| value.map(|ns| ns as f64);
    let (value, interval) = match figure {
        LatencyFigure::Min => (whole(distribution.min_ns), None),
        LatencyFigure::Max => (whole(distribution.max_ns), None),
        LatencyFigure::Mean => (distribution.mean_ns, distribution.mean_interval),
        LatencyFigure::Quantile(q) => quantile(distribution, q),
    };
    let value = value.ok_or_else(|| why_absent(distribution, figure))?;
    let interval: Option<Interval> = interval;
    let interval = interval.map(|it| format!(" ({})", time_interval(it.low, it.high))).unwrap_or_default();
    let error = distribution.clock_error();
    Ok(Seen { value, shown: time(value) + &interval, error })
}

fn of(result: &StepResult, latency: GoalLatency) -> &Distribution {
    match latency {
        GoalLatency::EndToEnd => &result.latency.end_to_end,
        GoalLatency::Acknowledge => &result.latency.acknowledge,
    }
}

/// The quantiles that a run keeps.
fn quantile(distribution: &Distribution, q: f64) -> (Option<f64>, Option<Interval>) {
    let (value, interval) = match q {
        0.5 => (distribution.p50_ns, distribution.p50_interval),
        0.75 => (distribution.p75_ns, None),
        0.95 => (distribution.p95_ns, None),
        0.99 => (distribution.p99_ns, distribution.p99_interval),
        0.999 => (distribution.p999_ns, None),
        _ => (None, None),
    };
    (value.map(|ns| ns as f64), interval)
}

fn why_absent(distribution: &Distribution, figure: LatencyFigure) -> String {
    match figure {
        LatencyFigure::Quantile(q) if distribution.samples > 0 => {
            format!("it needs {} samples, and has {}", whole(10.0 / (1.0 - q)), count(distribution.samples))
        }
        _ => "nothing was recorded".to_owned(),
    }
}

/// A rate, with as many digits as tell it from the limit.
fn rate(per_s: Option<f64>, interval: Option<Interval>, limit: f64) -> Option<Seen> {
    let value = per_s?;
    let interval = interval.map(|it| format!(" ({}/s)", figure::interval(it.low, it.high, figure::rate)));
    let [shown, _] = rates(value, limit);
    Some(Seen::exact(value, shown + &interval.unwrap_or_default()))
}

fn messages(count: u64) -> Seen {
    Seen::exact(count as f64, plumb_model::figure::counted(count, "message"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::healthy;
    use crate::healthy::rates::saturating;
    use plumb_model::observation::IntervalMethod;
    use plumb_model::plan::Mode;

    fn answers(document: &RunDocument, condition: &str) -> Vec<Answer> {
        let condition: Condition = condition.parse().unwrap();
        check(document, &[condition]).into_iter().map(|checked| checked.answer).collect()
    }

    #[test]
    fn a_condition_is_met_on_its_side_of_the_limit_only() {
        let mut document = healthy();
        let steps = document.plan.steps.len();
        for step in &mut document.steps {
            step.latency.end_to_end.p99_ns = Some(20_000_000);
            step.counts.lost = 0;
        }
        assert_eq!(answers(&document, "end_to_end p99>20ms"), vec![Answer::NotMet; steps]);
        assert_eq!(answers(&document, "end_to_end p99>19.9ms"), vec![Answer::Met; steps]);
        assert_eq!(answers(&document, "lost>0"), vec![Answer::NotMet; steps]);
        document.steps[0].counts.lost = 1;
        assert_eq!(answers(&document, "lost>0")[0], Answer::Met);
    }

    fn seen(document: &RunDocument, condition: &str) -> (Option<String>, Answer) {
        let checked = check(document, &[condition.parse().unwrap()]).remove(0);
        (checked.value, checked.answer)
    }

    #[test]
    fn a_rate_is_shown_with_its_interval_and_told_from_a_limit_that_is_near() {
        let mut document = saturating(Mode::Mixed);
        let step = &mut document.steps[0];
        let interval = |low, high| Interval { low, high, level: 0.95, method: IntervalMethod::Blocks };
        (step.achieved_per_s, step.throughput.received_per_s) = (Some(999.8), Some(641_587.3));
        step.throughput.produced_interval = None;
        step.throughput.received_interval = Some(interval(640_000.0, 643_000.0));
        assert_eq!(seen(&document, "achieved/s<1000"), (Some("999.8/s".to_owned()), Answer::Met));
        assert_eq!(seen(&document, "achieved/s<999"), (Some("999.8/s".to_owned()), Answer::NotMet));
        let received = Some("641,587/s (640,000 to 643,000/s)".to_owned());
        assert_eq!(seen(&document, "received/s<1M"), (received, Answer::Met));
    }

    #[test]
    fn a_rate_that_a_setup_does_not_have_answers_nothing_and_says_why() {
        let why = |mode, condition: &str| match seen(&saturating(mode), condition) {
            (None, Answer::NotKnown(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(Mode::Consume, "achieved/s<1"), "nobody sends in this setup");
        assert_eq!(why(Mode::Produce, "received/s<1"), "nobody receives in this setup");
        assert_eq!(why(Mode::Produce, "p99>1ms"), "as fast as possible has no latency");
    }

    #[test]
    fn a_figure_that_is_absent_or_a_setup_that_was_not_measured_answers_nothing() {
        let mut document = healthy();
        document.steps[0].latency.end_to_end.p999_ns = None;
        document.steps[0].latency.end_to_end.samples = 800;
        let answer = &answers(&document, "end_to_end p99.9>20ms")[0];
        assert_eq!(*answer, Answer::NotKnown("it needs 10,000 samples, and has 800".to_owned()));
        document.steps.clear();
        let not_measured = Answer::NotKnown("it was not measured".to_owned());
        assert!(answers(&document, "lost>0").iter().all(|answer| *answer == not_measured));
    }
}
