//! The metric that decides a trial: as written, where it says something of every arm, else the best that there is.

use super::{Trail, out_of_bounds};
use crate::metric::{COUNT_NAMES, METRIC_NAMES, is_count, metric_quantile, metric_silent};
use crate::plan::{LoadPlan, Mode, Origin, StepPlan};
use crate::resolve::ResolveError;
use crate::scenario::TrialWords;

/// A quantile needs so many samples over 1-q, and up to half of a block may be cut as warm-up.
const SAMPLES: f64 = 10.0;
const CUT_FACTOR: f64 = 2.0;

/// The metric's name.
pub(super) fn primary(
    words: &TrialWords,
    steps: &[StepPlan],
    trail: &mut Trail,
) -> Result<String, ResolveError> {
    let fewest = steps.iter().filter_map(|step| step.load.messages()).min();
    let name = match &words.primary {
        Some(written) => {
            trail.scenario("trial.primary", Some(()), || ());
            written.clone()
        }
        None => {
            let (name, reason) = best(steps, fewest);
            trail.origins.insert("trial.primary".to_owned(), Origin::Derived { reason: reason.to_owned() });
            name.to_owned()
        }
    };
    let refuse = |got: String, expected: &str, reason| {
        Err(out_of_bounds(trail, "trial.primary", got, expected, reason))
    };
    if !METRIC_NAMES.contains(&name.as_str()) && !is_count(&name) {
        let all = [METRIC_NAMES, COUNT_NAMES].concat();
        return refuse(
            name,
            &format!("one of {}", all.join(", ")),
            "it is a metric or a count of each block",
        );
    }
    if is_count(&name) && words.until_decided == Some(true) {
        let reason = "a trial that stops when it is decided goes by ratios, and a count has none";
        return refuse(name, "a metric with a ratio, or a fixed number of pairs (trial.pairs)", reason);
    }
    if let Some(reason) = steps.iter().find_map(|step| metric_silent(&name, &step.load)) {
        return refuse(name, &format!("one of {}", telling(steps, fewest).join(", ")), reason);
    }
    if let Some((needed, fewest)) = needed(&name).zip(fewest).filter(|(needed, fewest)| fewest < needed) {
        let got = format!("{name} of blocks with {fewest} messages");
        let expected =
            format!("of blocks with at least {needed} (load.count, load.duration), or end_to_end.mean");
        return refuse(
            got,
            &expected,
            "a quantile needs 10/(1-q) samples, and in a trial the length written is that of one block",
        );
    }
    Ok(name)
}

/// The one that tells most of these arms, and why it is taken.
fn best(steps: &[StepPlan], fewest: Option<u64>) -> (&'static str, &'static str) {
    let has_p99 = fewest.is_none_or(|fewest| fewest as f64 >= CUT_FACTOR * SAMPLES / 0.01);
    let all = |is: fn(&LoadPlan) -> bool| steps.iter().all(|step| is(&step.load));
    let any = |is: fn(&LoadPlan) -> bool| steps.iter().any(|step| is(&step.load));
    match () {
        () if any(LoadPlan::saturating) && all(|load| load.mode == Mode::Consume) => {
            ("throughput.received_per_s", "nobody produces in the measured part")
        }
        () if any(LoadPlan::saturating) => {
            ("throughput.produced_per_s", "as fast as possible has no latency")
        }
        () if any(|load| load.consumers == 0) && has_p99 => {
            ("acknowledge.p99", "without consumers, sends end at the acknowledgement")
        }
        () if any(|load| load.consumers == 0) => {
            ("acknowledge.mean", "a block has too few messages for a 99th percentile")
        }
        () if has_p99 => ("end_to_end.p99", "the tail of the whole path"),
        () => ("end_to_end.mean", "a block has too few messages for a 99th percentile"),
    }
}

/// Metrics that say something of every arm, and of which every block has samples enough.
fn telling(steps: &[StepPlan], fewest: Option<u64>) -> Vec<&'static str> {
    let told = |name: &&str| steps.iter().all(|step| metric_silent(name, &step.load).is_none());
    let enough = |name: &&str| needed(name).zip(fewest).is_none_or(|(needed, fewest)| fewest >= needed);
    METRIC_NAMES.iter().chain(COUNT_NAMES).copied().filter(told).filter(enough).collect()
}

/// Messages that a block needs for a quantile.
fn needed(name: &str) -> Option<u64> {
    metric_quantile(name).map(|quantile| (SAMPLES / (1.0 - quantile)).round() as u64)
}
