//! The summary of a trial in at most three sentences: unequal guarantees and the verdict, the noise, other metrics that got
//! worse.

use super::Trial;
use super::metric::{Metric, find, shown};
use super::pairs::Compared;
use super::verdicts::Judged;
use plumb_model::figure::{self, counted, percent};
use plumb_model::prose::{list, quoted, sentence};
use plumb_model::trial::{ArmVerdict, MetricRole};
use plumb_model::verdict::Verdict;
use std::collections::BTreeMap;

/// Up to so many verdicts are told one by one.
const ONE_BY_ONE: usize = 2;

/// The input of the sentences.
pub(super) struct Summary<'t> {
    pub(super) trial: &'t Trial<'t>,
    pub(super) judged: &'t Judged,
    /// Differences of durability or security between arms, each as a sentence.
    pub(super) unequal_guarantees: &'t [String],
    /// How much equal arms differ, as a sentence.
    pub(super) noise: String,
    /// The number of findings of the result.
    pub(super) findings: usize,
}

impl Summary<'_> {
    pub(super) fn sentences(&self) -> Vec<String> {
        let verdicts = verdicts(self.trial, self.judged);
        let first = match self.unequal_guarantees {
            [] => verdicts,
            unequal => format!("{}; {verdicts}", unequal.join("; ")),
        };
        let others = others(self.judged);
        let last = match self.findings {
            0 => others,
            n => format!("{others}; {} below", counted(n as u64, "finding")),
        };
        [first, self.noise.clone(), last].iter().map(|text| sentence(text)).collect()
    }
}

/// The verdicts one by one, or counted where they are many.
fn verdicts(trial: &Trial, judged: &Judged) -> String {
    match judged.verdicts.len() {
        0 => "There is nothing to hold against the reference".to_owned(),
        n if n <= ONE_BY_ONE => {
            let each = judged.verdicts.iter().map(|verdict| one(trial, judged, verdict));
            each.collect::<Vec<_>>().join("; ")
        }
        _ => pairs_counted(judged),
    }
}

/// The verdict on one arm with its figures.
fn one(trial: &Trial, judged: &Judged, verdict: &ArmVerdict) -> String {
    let (arm, against) = (quoted(&verdict.arm), quoted(&verdict.against));
    let figures = primary(judged, verdict).map(figures).unwrap_or_default();
    match verdict.verdict {
        Verdict::Better => format!("{arm} is better than {against}: {figures}"),
        Verdict::Worse => format!("{arm} is worse than {against}: {figures}"),
        Verdict::Equivalent => {
            format!("{arm} and {against} are equivalent within {}: {figures}", percent(trial.plan.margin))
        }
        Verdict::Undecided => {
            let reason = verdict.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
            let figures = if figures.is_empty() { figures } else { format!(": {figures}") };
            format!("Between {arm} and {against} nothing is decided{figures}{reason}")
        }
    }
}

fn primary<'j>(judged: &'j Judged, verdict: &ArmVerdict) -> Option<&'j Compared> {
    judged.metrics.iter().find(|compared| {
        let result = &compared.result;
        result.role == MetricRole::Primary && result.arm == verdict.arm && result.against == verdict.against
    })
}

/// `p99 of end-to-end latency 4.90 ms -> 1.20 ms (medians of blocks), ratio of typical pairs ×0.250 (95 % 0.220 to 0.290), 12 pairs`: it is not
/// the quotient of the two medians before it.
fn figures(compared: &Compared) -> String {
    let result = &compared.result;
    let (Some(against), Some(arm)) = (result.against_median, result.arm_median) else { return String::new() };
    let [against, arm] = [against, arm].map(|value| shown(&result.unit, value));
    let ratio = result.estimate_ratio.map(|ratio| {
        let interval = result.interval_low.zip(result.interval_high);
        let interval = interval.map(|(low, high)| {
            format!(" ({} {})", percent(result.level), figure::interval(low, high, figure::ratio_digits))
        });
        let of = if result.starts.is_some() { "starts" } else { "pairs" };
        format!(", ratio of typical {of} {}{}", figure::ratio(ratio), interval.unwrap_or_default())
    });
    let starts = result.starts.map(|starts| format!(" on {}", counted(starts, "start")));
    format!(
        "{} {against} -> {arm} (medians of blocks){}, {}{}",
        compared.words,
        ratio.unwrap_or_default(),
        counted(result.pairs, "pair"),
        starts.unwrap_or_default()
    )
}

/// Many arms: how many of each, and the one that is farthest away.
fn pairs_counted(judged: &Judged) -> String {
    let mut by_verdict: BTreeMap<Verdict, u64> = BTreeMap::new();
    for verdict in &judged.verdicts {
        *by_verdict.entry(verdict.verdict).or_default() += 1;
    }
    let counts: Vec<String> =
        by_verdict.iter().map(|(verdict, n)| format!("{n} {}", verdict.word())).collect();
    let told =
        judged.verdicts.iter().filter(|verdict| matches!(verdict.verdict, Verdict::Better | Verdict::Worse));
    let far = |compared: &Compared| compared.result.estimate_ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let most = told
        .filter_map(|verdict| Some((verdict, primary(judged, verdict)?)))
        .max_by(|a, b| far(a.1).total_cmp(&far(b.1)));
    let most = most.map(|(verdict, compared)| {
        let verb = verdict.verdict.word();
        format!(
            "; most of all {} is {verb} than {}: {}",
            quoted(&verdict.arm),
            quoted(&verdict.against),
            figures(compared)
        )
    });
    format!(
        "Of {} of arms, {}{}",
        counted(judged.verdicts.len() as u64, "pair"),
        list(&counts),
        most.unwrap_or_default()
    )
}

/// The metrics that got worse besides the one that decides, and those of another kind that got better, as a sentence.
fn others(judged: &Judged) -> String {
    let told = |verdict: Verdict| {
        let others = judged.metrics.iter().filter(|compared| compared.result.role != MetricRole::Primary);
        others.filter(move |compared| compared.result.verdict == verdict)
    };
    let several = judged.verdicts.len() > 1;
    let of_arm = |compared: &Compared| match several {
        true => format!("{} ({})", compared.words, quoted(&compared.result.arm)),
        false => compared.words.to_owned(),
    };
    let mut worse: Vec<String> = told(Verdict::Worse).map(of_arm).collect();
    worse.dedup();
    let worse = match worse.len() {
        0 => "Nothing else is shown to be worse".to_owned(),
        n if n <= 3 => format!("Worse: {}", list(&worse)),
        n => format!("Worse: {} and {}", list(&worse[..2]), counted(n as u64 - 2, "other figure")),
    };
    // That a faster arm is faster in the other latencies too says little; that it costs less is another advantage.
    let kind = |compared: &Compared| find(&compared.result.name).map(Metric::is_latency);
    let decides =
        judged.metrics.iter().find(|compared| compared.result.role == MetricRole::Primary).map(kind);
    let better: Vec<String> = told(Verdict::Better)
        .filter(|compared| decides.is_some_and(|decides| decides != kind(compared)))
        .map(|compared| {
            let ratio =
                compared.result.estimate_ratio.map(|ratio| format!(", ratio {}", figure::ratio(ratio)));
            format!("{}{}", of_arm(compared), ratio.unwrap_or_default())
        })
        .collect();
    match better.len() {
        0 => worse,
        n if n <= 3 => format!("{worse}; better: {}", better.join("; ")),
        n => {
            format!(
                "{worse}; better: {} and {}",
                better[..2].join("; "),
                counted(n as u64 - 2, "other figure")
            )
        }
    }
}
