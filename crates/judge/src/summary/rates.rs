//! The sentences of a run in which messages went as fast as possible: the rates with their uncertainty, the differences between
//! setups or lines, and the bound.

use super::{VOID_RATES, voided};
use crate::rule::Case;
use crate::setup::Setup;
use crate::sweep::clients_of;
use plumb_model::figure::{self, counted, messages_per_s, percent, ratio_digits};
use plumb_model::finding::{Finding, Validity};
use plumb_model::observation::Interval;
use plumb_model::prose::{list, quoted};
use plumb_model::sweep::{LineRatio, SweepResult};

/// The rule that says what bounds a rate.
const BOUND: &str = "throughput-bound";
/// Id of the finding that other work took processors.
const NOISY: &str = "noisy-host";

/// The rates that were reached: by the only setup, by the fastest and the slowest, or by the best and the worst line.
pub(super) fn figures(case: &Case, validity: &Validity) -> Option<String> {
    let told = |setup: &Setup| setup.saturates() && !voided(validity, &VOID_RATES, setup.name());
    let saturating: Vec<Setup> = case.setups().filter(told).collect();
    if saturating.is_empty() {
        return None;
    }
    if !case.sweeps.is_empty() {
        return lines(case.sweeps);
    }
    let mut rates: Vec<(&Setup, f64)> =
        saturating.iter().filter_map(|setup| Some((setup, bytes_per_s(setup)?))).collect();
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (best, worst) = (rates.first()?.0, rates.last()?.0);
    if rates.len() == 1 {
        return Some(format!(
            "As fast as possible (so without a latency), {} moved {}.",
            quoted(best.name()),
            moved(best)?
        ));
    }
    Some(format!(
        "As fast as possible (so without a latency), of {}, {} moved most with {}, {} least with {}.",
        counted(rates.len() as u64, "setup"),
        quoted(best.name()),
        moved(best)?,
        quoted(worst.name()),
        moved(worst)?
    ))
}

fn bytes_per_s(setup: &Setup) -> Option<f64> {
    Some(setup.rate_per_s()? * setup.result.value_bytes_mean.max(1.0))
}

/// `412,345 messages/s (±1.2 %), 422 MB/s`.
fn moved(setup: &Setup) -> Option<String> {
    let rate = setup.rate_per_s()?;
    let throughput = &setup.result.throughput;
    let interval =
        if setup.is_for_receiving() { throughput.received_interval } else { throughput.produced_interval };
    Some(figure(rate, interval, setup.result.value_bytes_mean))
}

fn figure(rate: f64, interval: Option<Interval>, value_bytes: f64) -> String {
    let sure = match interval {
        Some(interval) if interval.high - interval.low >= 2.0 * rate => {
            " (no usable interval: blocks differ by as much as the rate itself)".to_owned()
        }
        Some(interval) if interval.low <= interval.high => {
            format!(" (±{})", percent((interval.high - interval.low) / 2.0 / rate))
        }
        _ => " (no interval: too few blocks)".to_owned(),
    };
    format!("{}{sure}, {}", messages_per_s(rate), figure::bytes_per_s(rate * value_bytes))
}

/// The best point of the best line and of the worst.
fn lines(sweeps: &[SweepResult]) -> Option<String> {
    let mut tops: Vec<(&SweepResult, f64, String)> = sweeps
        .iter()
        .filter_map(|line| {
            let top = line.points.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
            let at = clients_of(line, top.clients);
            let text = format!("{} with {at}", figure(top.per_s, top.interval, top.value_bytes_mean));
            Some((line, top.per_s * top.value_bytes_mean, text))
        })
        .collect();
    tops.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (best, worst) = (tops.first()?, tops.last()?);
    Some(match tops.len() {
        1 => format!("As fast as possible (so without a latency), at most {} were moved.", best.2),
        several => format!(
            "As fast as possible (so without a latency), of {}, {} moved most, {}; {} least, {}.",
            counted(several as u64, "line"),
            quoted(&best.0.line),
            best.2,
            quoted(&worst.0.line),
            worst.2
        ),
    })
}

/// The differences of lines from the first, and the numbers of clients from which more stop helping.
pub(super) fn differences(sweeps: &[SweepResult]) -> Option<String> {
    let mut ratios: Vec<(&SweepResult, &LineRatio)> =
        sweeps.iter().filter_map(|line| Some((line, line.against_first.as_ref()?))).collect();
    let size = |ratio: &LineRatio| ratio.ratio.ln().abs();
    ratios.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
    let said: Vec<String> = ratios.iter().take(2).map(|(line, ratio)| against(line, ratio)).collect();
    let knees: Vec<String> = sweeps.iter().filter_map(knee).take(3).collect();
    let knees = (!knees.is_empty()).then(|| format!("more clients stop helping at {}", list(&knees)));
    let parts: Vec<String> = said.into_iter().chain(knees).collect();
    (!parts.is_empty()).then(|| plumb_model::prose::sentence(&parts.join("; ")))
}

/// `"nvme" moves ×5.10 (4.92 to 5.31) of what "sata" does`.
fn against(line: &SweepResult, ratio: &LineRatio) -> String {
    let span = format!("({})", figure::interval(ratio.ratio_low, ratio.ratio_high, ratio_digits));
    let all = if ratio.points > 1 { ", over all points" } else { "" };
    if ratio.ratio_low <= 1.0 && ratio.ratio_high >= 1.0 {
        return format!(
            "{} cannot be told from {}{all}: {} {span}",
            quoted(&line.line),
            quoted(&ratio.first),
            figure::ratio(ratio.ratio)
        );
    }
    format!(
        "{} moves {} {span} what {} does{all}",
        quoted(&line.line),
        figure::ratio(ratio.ratio),
        quoted(&ratio.first)
    )
}

/// `8 producers (7 to 9)`, with the line where there are several.
fn knee(line: &SweepResult) -> Option<String> {
    let knee = line.knee?;
    let high = knee.clients_high.map_or_else(|| "or more".to_owned(), |high| format!("to {high}"));
    let of = if line.line.is_empty() { String::new() } else { format!(" for {}", quoted(&line.line)) };
    Some(format!("{} ({} {high}){of}", clients_of(line, knee.clients), knee.clients_low))
}

/// The bound of the rate, or the statement that none was seen.
pub(super) fn bound(case: &Case, validity: &Validity, findings: &[Finding]) -> Option<String> {
    let asked = case.setups().any(|setup| setup.saturates());
    if !asked {
        return None;
    }
    let Some(first) = findings.iter().find(|finding| finding.id == BOUND) else {
        // Nothing had room left where others took it.
        let others = validity.reasons.iter().any(|reason| reason.id == NOISY);
        let why = match others {
            true => "other work took the processors of this host",
            false => "generator, processors and disks, as far as they were read, had room left",
        };
        return Some(format!("What bounds the rate was not seen: {why}."));
    };
    let step = first.step.as_ref().filter(|_| case.setups().count() > 1);
    let of = step.map(|step| format!(" ({})", quoted(step))).unwrap_or_default();
    Some(format!("{}{of}.", first.claim.trim_end_matches('.')))
}
