//! Conditions that a user sets on the figures of a run, such as `p99>20ms`: where one is met, the run has failed for them.
//!
//! Here are the words and what came of them; whether a condition is met is worked out by the judge.

use crate::plan::GoalLatency;
use crate::units::{Nanos, per_second};
use std::str::FromStr;

/// A condition as written: a figure, above or below, a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The condition as its user wrote it, without blanks around it.
    pub text: String,
    /// The figure to look at.
    pub figure: ConditionFigure,
    /// The side of the limit that fails.
    pub side: Side,
    /// The limit: nanoseconds for latencies, messages per second for rates, messages for counts.
    pub limit: f64,
}

/// A figure of a setup that a condition can look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConditionFigure {
    /// A figure of a latency; no latency named: end to end where there are consumers, else acknowledge.
    Latency(Option<GoalLatency>, LatencyFigure),
    /// Messages acknowledged per second.
    Achieved,
    /// Messages received per second.
    Received,
    /// Messages acknowledged and gone.
    Lost,
    /// Messages that were not sent or not acknowledged.
    Failed,
    /// Messages received more than once.
    Duplicated,
}

/// A figure of a latency's distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatencyFigure {
    /// The smallest sample.
    Min,
    /// The arithmetic mean.
    Mean,
    /// The largest sample.
    Max,
    /// One of the quantiles that a run keeps, 0..1.
    Quantile(f64),
}

/// The side of a limit that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `>`
    Above,
    /// `>=`
    AtOrAbove,
    /// `<`
    Below,
    /// `<=`
    AtOrBelow,
}

/// A condition held against one setup.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionResult {
    /// The condition as written.
    pub condition: String,
    /// The setup's name.
    pub setup: String,
    /// The figure as it is shown, with its interval where it has one; None where it is absent.
    pub value: Option<String>,
    /// The result.
    pub answer: Answer,
}

/// The answer to a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is met: the run fails.
    Met,
    /// It is not met.
    NotMet,
    /// The figure is absent, with the reason: nobody knows, and the run fails too.
    NotKnown(String),
}

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

impl Side {
    /// True if the value is on this side of the limit.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Side::Above => value > limit,
            Side::AtOrAbove => value >= limit,
            Side::Below => value < limit,
            Side::AtOrBelow => value <= limit,
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let error = |what: &str| {
            format!(
                "{text:?} is no condition: {what}; write it as 'p99>20ms', 'acknowledge mean>=5ms', 'achieved/s<1000' or 'lost>0'"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(|| error("it has neither < nor >"))?;
        let (figure_words, rest) = text.split_at(at);
        let figure_words = figure_words.trim();
        let (side, limit) = match rest.as_bytes() {
            [b'>', b'=', ..] => (Side::AtOrAbove, &rest[2..]),
            [b'>', ..] => (Side::Above, &rest[1..]),
            [b'<', b'=', ..] => (Side::AtOrBelow, &rest[2..]),
            _ => (Side::Below, &rest[1..]),
        };
        let figure = figure_of(figure_words).ok_or_else(|| {
            error("its figure is none of min, p50, p75, p95, p99, p99.9, max, mean (of end_to_end or acknowledge), achieved/s, received/s, lost, failed, duplicated")
        })?;
        let limit = limit.trim();
        // The table has a count of that name: a bare number may mean it.
        if figure_words == "received" && !limit.ends_with("/s") {
            return Err(error(
                "received is compared as a rate, 'received/s'; of messages that did not arrive there is 'lost'",
            ));
        }
        let limit = match figure {
            ConditionFigure::Latency(..) => {
                let time: Nanos = limit.parse().map_err(|_| error("its limit is no time such as 20ms"))?;
                time.0 as f64
            }
            ConditionFigure::Achieved | ConditionFigure::Received => not_negative(per_second(limit).ok())
                .ok_or_else(|| error("its limit is no rate such as 1000 or 10k/s"))?,
            _ => {
                not_negative(limit.parse().ok()).ok_or_else(|| error("its limit is no number of messages"))?
            }
        };
        Ok(Condition { text: text.to_owned(), figure, side, limit })
    }
}

fn not_negative(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

fn figure_of(words: &str) -> Option<ConditionFigure> {
    let parts: Vec<&str> = words.split_whitespace().collect();
    let (latency, figure) = match parts.as_slice() {
        ["achieved" | "achieved/s"] => return Some(ConditionFigure::Achieved),
        ["received" | "received/s"] => return Some(ConditionFigure::Received),
        ["lost"] => return Some(ConditionFigure::Lost),
        ["failed"] => return Some(ConditionFigure::Failed),
        ["duplicated"] => return Some(ConditionFigure::Duplicated),
        [figure] => (None, *figure),
        ["end_to_end", figure] => (Some(GoalLatency::EndToEnd), *figure),
        ["acknowledge", figure] => (Some(GoalLatency::Acknowledge), *figure),
        _ => return None,
    };
    let figure = match figure {
        "min" => LatencyFigure::Min,
        "mean" => LatencyFigure::Mean,
        "max" => LatencyFigure::Max,
        name => LatencyFigure::Quantile(QUANTILES.iter().find(|(known, _)| *known == name)?.1),
    };
    Some(ConditionFigure::Latency(latency, figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_a_figure_a_side_and_a_limit_in_the_figure_s_unit() {
        let parsed: Condition = " acknowledge p99.9 >= 2.5ms ".parse().unwrap();
        let figure = ConditionFigure::Latency(Some(GoalLatency::Acknowledge), LatencyFigure::Quantile(0.999));
        assert_eq!((parsed.figure, parsed.side, parsed.limit), (figure, Side::AtOrAbove, 2_500_000.0));
        assert_eq!(parsed.text, "acknowledge p99.9 >= 2.5ms");
        let parsed: Condition = "achieved<1000/s".parse().unwrap();
        assert_eq!(
            (parsed.figure, parsed.side, parsed.limit),
            (ConditionFigure::Achieved, Side::Below, 1000.0)
        );
        assert_eq!("received/s<1.6M".parse::<Condition>().unwrap().figure, ConditionFigure::Received);
        assert_eq!("received<1.6M/s".parse::<Condition>().unwrap().limit, 1.6e6);
    }

    #[test]
    fn what_is_no_condition_is_refused_with_the_choices() {
        for text in [
            "p99",
            "p98>3ms",
            "p99>3",
            "lost>many",
            "lost>NaN",
            "lost>5/s",
            "achieved<10m/s",
            "end to end p99>3ms",
            ">3ms",
            "achieved<-1",
            "received<1000",
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains("write it as 'p99>20ms'"), "{text}: {error}");
        }
    }

    #[test]
    fn the_limit_itself_fails_only_where_the_condition_says_so() {
        assert!(!Side::Above.holds(5.0, 5.0) && Side::AtOrAbove.holds(5.0, 5.0));
        assert!(!Side::Below.holds(5.0, 5.0) && Side::AtOrBelow.holds(5.0, 5.0));
    }
}
