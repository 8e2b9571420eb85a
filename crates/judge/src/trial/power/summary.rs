//! The differences that a trial could show, in at most three sentences.

use super::{Question, Unit};
use plumb_model::figure::{counted, estimate, percent};
use plumb_model::power::MetricPower;
use plumb_stats::paired::POWER;

/// The input of the sentences.
pub(super) struct Summary<'p> {
    /// The metric that decides.
    pub(super) first: &'p MetricPower,
    /// Its name within a sentence.
    pub(super) words: &'static str,
    /// The pairs that ranks need, where the spread is that of a few pairs far from all others.
    pub(super) pairs_by_ranks: Option<usize>,
    pub(super) question: Question,
}

impl Summary<'_> {
    pub(super) fn sentences(&self) -> Vec<String> {
        let Summary { first, words, pairs_by_ranks, question } = *self;
        let differ = percent(first.sd_log.exp() - 1.0);
        let spread = match first.starts {
            None => format!(
                "Neighbouring blocks of the same setting differ by {differ} here in the {words} (standard deviation over {})",
                counted(first.pairs, "pair")
            ),
            Some(starts) => format!(
                "Starts of brokers of the same setting differ by {differ} here in the {words} (standard deviation over the means of \
             {}, {})",
                counted(starts, "start"),
                counted(first.pairs, "pair")
            ),
        };
        let unit = match question.unit {
            Unit::Start { pairs } => Some(format!(
                "{} share a start of the brokers in this trial, so the start is the unit of its verdict and more pairs on the same \
             starts are no more samples",
                counted(pairs, "pair")
            )),
            Unit::Pair | Unit::PairLookedAt => None,
        };
        let far = pairs_by_ranks.map(|pairs| {
        format!(
            "A few pairs are far from all others, as when a host stalls now and then: they make the spread, and hardly move the ranks by \
             which the trial decides, so that about {} may do if they stay as rare",
            counted(pairs as u64, "pair")
        )
    });
        let all = [Some(spread), unit, Some(design(first, question)), far];
        all.into_iter().flatten().map(|sentence| format!("{sentence}.")).collect()
    }
}

/// The design that shows the difference that is asked for, as a sentence.
fn design(first: &MetricPower, question: Question) -> String {
    let (wanted, pairs, starts) = match question.detect {
        Some(detect) => (detect, first.pairs_for_detect, first.starts_for_detect),
        None => (question.margin, first.pairs_for_margin, first.starts_for_margin),
    };
    let wanted = percent(wanted);
    let Some(pairs) = pairs else {
        let noun = if first.starts.is_some() { "starts" } else { "pairs" };
        return format!("No number of {noun} shows a difference of {wanted} here");
    };
    let (design, flags) = match (question.unit, starts) {
        (Unit::Start { pairs: each }, Some(starts)) => (
            format!("{} of {}", counted(starts, "start"), counted(each, "pair")),
            format!(" (--pairs {pairs} --restart-every {each})"),
        ),
        (Unit::PairLookedAt, _) => (counted(pairs, "pair"), format!(" (--max-pairs {pairs})")),
        _ => (counted(pairs, "pair"), String::new()),
    };
    let allowed = match question.comparisons {
        0 | 1 => String::new(),
        comparisons => format!(" with all {comparisons} comparisons allowed for"),
    };
    format!(
        "{design}{flags} show a difference of {wanted} in {} of 100 trials at {} confidence{allowed}{}",
        (POWER * 100.0).round(),
        percent(question.level),
        question.pair_s.map_or(String::new(), |pair_s| lasting(pair_s * pairs as f64))
    )
}

fn lasting(seconds: f64) -> String {
    format!(", about {}", estimate(seconds))
}
