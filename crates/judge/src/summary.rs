//! The summary for a reader in a hurry, in at most three sentences.
//!
//! Latencies are told here, rates in `summary/rates.rs`. In order: the durability caveat and the reason why the run is suspect or
//! invalid, in one sentence; the figures, best and worst; the differences beyond the noise, and the bound.

mod rates;
mod searches;

use crate::comparison::{is_of_means, is_of_p99s, is_of_rates};
use crate::queue;
use crate::rule::Case;
use crate::setup::Setup;
use plumb_model::figure::{self, counted, messages_per_s, time, time_interval};
use plumb_model::finding::{Comparison, ComparisonVerdict, Finding, Severity, Validity, ValidityVerdict};
use plumb_model::observation::Interval;
use plumb_model::prose::quoted;
use plumb_model::verdict::DETECTABLE_MAX;

const SENTENCES_MAX: usize = 3;

/// Reasons that qualify every figure and so come first.
const CAVEATS: [&str; 2] = ["unequal-durability", "unconfirmed"];

/// Claims that say what bounds the latency, the most telling first.
const BOUNDS: [&str; 2] = ["linger-explains-difference", "linger-bound"];

/// Reasons for which no latency of their setup is told: it depends on the run's length, or is of messages that are not all there, or of
/// times that are wrong.
const VOID_LATENCIES: [&str; 4] =
    ["saturated", "counts-do-not-add-up", "negative-latency", "histogram-overflow"];

/// Reasons for which no rate of their setup is told.
const VOID_RATES: [&str; 1] = ["counts-do-not-add-up"];

pub(crate) fn summary(case: &Case, validity: &Validity, findings: &[Finding]) -> Vec<String> {
    if let Some(search) = &case.document.settings_search {
        let blocks = counted(search.blocks.len(), "block");
        return vec![format!(
            "A search for settings in {blocks}, which choose and prove nothing: its answer is in the directory above."
        )];
    }
    let bound = BOUNDS.iter().find_map(|id| {
        let is_void = |step: &str| voided(validity, &VOID_LATENCIES, step);
        // One that is of several setups holds while any of them does.
        let void = |finding: &&Finding| match finding.step.as_deref() {
            Some(step) => is_void(step),
            None => case.setups().all(|setup| is_void(setup.name())),
        };
        findings.iter().filter(|finding| !void(finding)).find(|finding| finding.id == *id)
    });
    let any_rate = case.setups().any(|setup| !voided(validity, &VOID_RATES, setup.name()));
    let rate_bound = rates::bound(case, validity, findings).filter(|_| any_rate);
    let bound = joined([bound.map(|finding| finding.claim.clone()), rate_bound]);
    let queue = queue::sentence(case.document, case.queues);
    let latencies = joined([figures(case, validity), backlog(case, validity)]);
    let figures = searches::sentence(case)
        .or_else(|| joined([queue, joined([latencies, rates::figures(case, validity)])]));
    let differences = joined([differences(case, validity), rates::differences(case.sweeps)]);
    let opening = opening(validity);
    // The bound explains the difference: without room for a sentence of its own, it joins that one.
    let room = opening.is_none() || figures.is_none() || differences.is_none();
    let endings = if room { vec![differences, bound] } else { vec![joined([differences, bound])] };
    [opening, figures].into_iter().chain(endings).flatten().take(SENTENCES_MAX).collect()
}

/// The sentence that a reader must know before the figures.
fn opening(validity: &Validity) -> Option<String> {
    let (problem, caveat) = (problem(validity), caveat(validity));
    match validity.verdict {
        ValidityVerdict::Invalid => joined([problem, caveat]),
        ValidityVerdict::Suspect | ValidityVerdict::Valid => joined([caveat, problem]),
    }
}

/// Two sentences as one.
fn joined(sentences: [Option<String>; 2]) -> Option<String> {
    match sentences {
        [Some(first), Some(second)] => Some(format!("{}; {}", first.trim_end_matches('.'), lower(&second))),
        [first, second] => first.or(second),
    }
}

/// The reason why the run is suspect or invalid.
fn problem(validity: &Validity) -> Option<String> {
    if validity.verdict == ValidityVerdict::Valid {
        return None;
    }
    let word = validity.verdict.word();
    let first = validity.reasons.first()?;
    let others = validity.reasons.iter().filter(|reason| reason.severity > Severity::Note).count() - 1;
    let step = first.step.as_ref().map(|step| format!(" ({})", quoted(step))).unwrap_or_default();
    let more =
        if others > 0 { format!(", and {}", counted(others as u64, "more reason")) } else { String::new() };
    Some(format!("The run is {word}{step}: {}{more}.", lower(first.claim.trim_end_matches('.'))))
}

fn caveat(validity: &Validity) -> Option<String> {
    let caveat = CAVEATS.iter().find_map(|id| validity.reasons.iter().find(|reason| reason.id == *id));
    caveat.map(|finding| finding.claim.clone())
}

/// Mean and p99 of the best and the worst setup, or of the only one.
fn figures(case: &Case, validity: &Validity) -> Option<String> {
    let mut setups: Vec<(Setup, f64)> = case
        .setups()
        .filter(|setup| setup.has_latency() && !voided(validity, &VOID_LATENCIES, setup.name()))
        .filter_map(|setup| Some((setup, setup.mean_ns()?)))
        .collect();
    setups.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (best, worst) = (&setups.first()?.0, &setups.last()?.0);
    if setups.len() == 1 {
        return Some(format!("{}, {} took {}.", way(best), quoted(best.name()), latency(best)?));
    }
    let verdict = case.comparisons.iter().find(|pair| is_of_means(pair) && is_between(pair, best, worst));
    let (low, high, rest) = match verdict.map(|pair| pair.verdict) {
        Some(ComparisonVerdict::Differs) => ("was fastest with", "slowest with", ""),
        Some(ComparisonVerdict::TooFewBlocks) => {
            ("had the lowest mean with", "the highest with", ": too few blocks to tell them apart")
        }
        Some(ComparisonVerdict::WithinNoise | ComparisonVerdict::Ceiling) => {
            ("had the lowest mean with", "the highest with", ": not by more than the noise")
        }
        None => ("had the lowest mean with", "the highest with", ""),
    };
    Some(format!(
        "{}, of {}, {} {low} {}, {} {high} {}{rest}.",
        way(best),
        counted(setups.len() as u64, "setup"),
        quoted(best.name()),
        latency(best)?,
        quoted(worst.name()),
        latency(worst)?
    ))
}

/// The time in which the only setup that drained a backlog at a rate did so.
fn backlog(case: &Case, validity: &Validity) -> Option<String> {
    let drains = |setup: &Setup| {
        setup.drains_a_backlog() && setup.has_latency() && !voided(validity, &VOID_RATES, setup.name())
    };
    let mut drained = case.setups().filter(drains);
    let (Some(setup), None) = (drained.next(), drained.next()) else { return None };
    let throughput = &setup.result.throughput;
    let drain = time(throughput.drain_s? * 1e9);
    let rate = throughput.received_per_s.map(|rate| format!(", {} received", messages_per_s(rate)));
    Some(format!(
        "The backlog of {} was drained in {drain}{}.",
        quoted(setup.name()),
        rate.unwrap_or_default()
    ))
}

/// True if one of these reasons makes the step invalid.
fn voided(validity: &Validity, by: &[&str], step: &str) -> bool {
    validity.reasons.iter().any(|reason| {
        reason.severity == Severity::Invalid
            && by.contains(&reason.id.as_str())
            && reason.step.as_deref() == Some(step)
    })
}

fn is_between(pair: &Comparison, one: &Setup, other: &Setup) -> bool {
    let names = [one.name(), other.name()];
    names.contains(&pair.a.as_str()) && names.contains(&pair.b.as_str())
}

fn way(setup: &Setup) -> &'static str {
    if setup.drains_a_backlog() {
        "End to end, with the wait in a backlog that was drained"
    } else if setup.consumes() {
        "End to end"
    } else {
        "To the acknowledgement"
    }
}

/// `0.70 ms in the mean (0.68-0.72 ms), p99 1.20 ms`.
fn latency(setup: &Setup) -> Option<String> {
    let distribution = setup.headline();
    let interval = |interval: Option<Interval>| {
        interval.map(|it| format!(" ({})", time_interval(it.low, it.high))).unwrap_or_default()
    };
    let mean = format!("{} in the mean{}", time(distribution.mean_ns?), interval(distribution.mean_interval));
    let p99 = distribution
        .p99_ns
        .map(|p99| format!(", p99 {}{}", time(p99 as f64), interval(distribution.p99_interval)));
    let error_ns = distribution.clock_error();
    let clock = (error_ns > 0.0).then(|| format!(", each ±{} by the workers' clocks", time(error_ns)));
    Some(mean + &p99.unwrap_or_default() + &clock.unwrap_or_default())
}

/// The numbers of pairs that differ by more than the noise, and that do not, as a sentence.
fn differences(case: &Case, validity: &Validity) -> Option<String> {
    let void = |pair: &Comparison| {
        let by: &[&str] = if is_of_rates(pair) { &VOID_RATES } else { &VOID_LATENCIES };
        voided(validity, by, &pair.a) || voided(validity, by, &pair.b)
    };
    let of = |verdict: ComparisonVerdict, metric: fn(&Comparison) -> bool| -> Vec<&Comparison> {
        let all = case.comparisons.iter().filter(|comparison| !void(comparison));
        all.filter(|comparison| comparison.verdict == verdict && metric(comparison)).collect()
    };
    let differ = of(ComparisonVerdict::Differs, is_of_means);
    let equal = of(ComparisonVerdict::WithinNoise, is_of_means);
    let ceiling = of(ComparisonVerdict::Ceiling, is_of_means).len();
    let pairs = differ.len() + equal.len();
    if pairs == 0 && ceiling > 0 {
        return Some(at_a_ceiling(ceiling));
    }
    if pairs == 0 {
        return None;
    }
    let what = match differ.iter().chain(&equal).filter(|pair| is_of_rates(pair)).count() {
        0 => "the mean",
        rates if rates == pairs => "rate",
        _ => "mean or rate",
    };
    let limit =
        equal.iter().filter_map(|comparison| comparison.smallest_detectable_ratio).fold(1.0, f64::max);
    let limit = match limit {
        l if l >= DETECTABLE_MAX => {
            " (with so few blocks that differ so much, a difference of any size could have hidden)".to_owned()
        }
        l if l >= 2.0 => format!(" (a ratio of {} could have hidden)", figure::ratio(l)),
        l if l > 1.0 => format!(" (a difference of {} could have hidden)", figure::percent(l - 1.0)),
        _ => String::new(),
    };
    let tails_told = of(ComparisonVerdict::Differs, is_of_p99s).len()
        + of(ComparisonVerdict::WithinNoise, is_of_p99s).len();
    let tails = match (differ.len(), of(ComparisonVerdict::Differs, is_of_p99s).len()) {
        _ if tails_told == 0 => String::new(),
        (means, tails) if means == tails => String::new(),
        (_, tails) => format!("; in p99 {tails} do"),
    };
    let said = match (differ.len(), equal.len()) {
        (0, _) => {
            format!("No two setups of equal load differ in {what} by more than the noise{limit}{tails}.")
        }
        (_, 0) => format!(
            "{} of equal load differs in {what} by more than the noise: {}{tails}.",
            if pairs == 1 { "The one pair" } else { "Every pair" },
            clearest(&differ)
        ),
        (some, others) => format!(
            "Of {} of equal load, {} in {what} by more than the noise ({}), {others} {} not{limit}{tails}.",
            counted(pairs as u64, "pair"),
            if some == 1 { "1 differs".to_owned() } else { format!("{some} differ") },
            clearest(&differ),
            if others == 1 { "does" } else { "do" },
        ),
    };
    Some(if ceiling > 0 { format!("{said} {}", at_a_ceiling(ceiling)) } else { said })
}

/// Setups whose rates are too near each other for what they differ in.
fn at_a_ceiling(pairs: usize) -> String {
    format!(
        "{} at a common ceiling, within 0.5 % of each other: what they differ in is hidden by what they share.",
        if pairs == 1 { "1 pair is".to_owned() } else { format!("{pairs} pairs are") }
    )
}

/// The pair that is farthest apart: `"default" took ×8.67 the time of "low latency"`; of rates, which moved more.
fn clearest(pairs: &[&Comparison]) -> String {
    let size = |pair: &Comparison| pair.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let Some(pair) = pairs.iter().max_by(|a, b| size(a).total_cmp(&size(b))) else { return String::new() };
    let ratio = pair.ratio.unwrap_or(1.0);
    let (large, small, times) =
        if ratio >= 1.0 { (&pair.b, &pair.a, ratio) } else { (&pair.a, &pair.b, 1.0 / ratio) };
    let most = if pairs.len() > 1 { "most of all " } else { "" };
    let verb = if is_of_rates(pair) { "moved" } else { "took" };
    let what = if is_of_rates(pair) { "rate" } else { "time" };
    format!("{most}{} {verb} {} the {what} of {}", quoted(large), figure::ratio(times), quoted(small))
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}
