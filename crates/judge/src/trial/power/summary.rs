//! What a trial could show, in at most three sentences.

use super::{Question, Unit};
use crate::figure::{count, percent, round_percent};
use plumb_model::power::MetricPower;
use plumb_stats::paired::POWER;

/// `fewer`: the pairs that it takes by ranks, where the spread is that of a few pairs far from all others.
pub(super) fn summary(
    first: &MetricPower,
    (words, fewer): (&str, Option<usize>),
    question: Question,
) -> Vec<String> {
    let differ = round_percent(first.sd_log.exp() - 1.0);
    let spread = match first.starts {
        None => format!(
            "Neighbouring blocks of the same setting differ by {differ} here in the {words} (standard deviation over {})",
            count(first.pairs.into(), "pair")
        ),
        Some(starts) => format!(
            "Starts of brokers of the same setting differ by {differ} here in the {words} (standard deviation over the means of \
             {}, {})",
            count(starts.into(), "start"),
            count(first.pairs.into(), "pair")
        ),
    };
    let unit = match question.unit {
        Unit::Start { pairs } => Some(format!(
            "{} share a start of the brokers in this trial, so the start is the unit of its verdict and more pairs on the same \
             starts are no more samples",
            count(pairs.into(), "pair")
        )),
        Unit::Pair | Unit::PairLookedAt => None,
    };
    let far = fewer.map(|pairs| {
        format!(
            "A few pairs are far from all others, as when a host stalls now and then: they make the spread, and hardly move the ranks by \
             which the trial decides, so that about {} may do if they stay as rare",
            count(pairs as u64, "pair")
        )
    });
    let all = [Some(spread), unit, Some(design(first, question)), far];
    all.into_iter().flatten().map(|sentence| format!("{sentence}.")).collect()
}

/// What it takes to show what is asked for.
fn design(first: &MetricPower, question: Question) -> String {
    let (wanted, pairs, starts) = match question.detect {
        Some(detect) => (detect, first.pairs_for_detect, first.starts_for_detect),
        None => (question.margin, first.pairs_for_margin, first.starts_for_margin),
    };
    let wanted = round_percent(wanted);
    let Some(pairs) = pairs else {
        let noun = if first.starts.is_some() { "starts" } else { "pairs" };
        return format!("No number of {noun} shows a difference of {wanted} here");
    };
    let (design, flags) = match (question.unit, starts) {
        (Unit::Start { pairs: each }, Some(starts)) => (
            format!("{} of {}", count(starts, "start"), count(each.into(), "pair")),
            format!(" (--pairs {pairs} --restart-every {each})"),
        ),
        (Unit::PairLookedAt, _) => (count(pairs, "pair"), format!(" (--max-pairs {pairs})")),
        _ => (count(pairs, "pair"), String::new()),
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
    match seconds {
        s if s < 100.0 => format!(", about {s:.0} s"),
        s if s < 6_000.0 => format!(", about {:.0} min", s / 60.0),
        s => format!(", about {:.1} h", s / 3_600.0),
    }
}
