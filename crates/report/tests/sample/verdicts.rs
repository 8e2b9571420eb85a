//! The judgement on the sample run: validity, findings, comparisons, the three sentences.

use super::SETUPS;
use plumb_model::finding::{
    Comparison, ComparisonVerdict, Evidence, Finding, Severity, Validity, ValidityVerdict,
};

pub(crate) fn validity() -> Validity {
    Validity {
        verdict: ValidityVerdict::Suspect,
        reasons: vec![
            finding(
                "counts-disagree",
                Severity::Suspect,
                Some(5),
                "12 acknowledged messages were never received, and the broker's offsets grew by fewer than were \
                 acknowledged.",
                vec![seen("counts.lost", "12", "0"), seen("accounting.offset_delta", "10,988", "11,000")],
                &[
                    "With acks=0 nothing confirms a write: repeat the setup with acks=1 to see whether they were \
                   lost on the way.",
                ],
            ),
            finding(
                "saturated",
                Severity::Suspect,
                Some(4),
                "The path did not keep up: 297.93 of 300 messages/s were reached.",
                vec![seen("achieved / asked", "0.9931", "at least 0.995")],
                &["Read this setup's latency as that of an overloaded path, or ask for a lower rate."],
            ),
            finding(
                "same-host",
                Severity::Note,
                None,
                "The broker runs on the host that generates the load: they share its processors and no network \
                 lies between them.",
                vec![seen("environment.cluster.on_this_host", "true", "false")],
                &[
                    "Take the differences between setups from here and the absolute figures from a run over your \
                   network.",
                ],
            ),
        ],
    }
}

pub(crate) fn summary() -> Vec<String> {
    [
        "Lowest mean end-to-end latency at 100/s: 18.2 ms (producer optimised, consumer optimised, 100/s again), \
         but no setup at 100/s differs from another by more than the noise.",
        "At 300/s the consumer's fetch wait of 10 ms takes 18 % off the mean of the default producer (×0.819, \
         0.78..0.86).",
        "Of the default producer's mean, 5.1 ms are linger.ms = 5.",
    ]
    .map(str::to_owned)
    .to_vec()
}

pub(crate) fn findings() -> Vec<Finding> {
    vec![finding(
        "linger-bound",
        Severity::Note,
        Some(1),
        "Most of the time from send to acknowledgement is the producer's own linger of 5 ms.",
        vec![seen("producer_statistics.queue_mean_ns", "5.10 ms", "linger.ms = 5")],
        &["Set linger.ms to 0 where latency matters more than the number of requests."],
    )]
}

pub(crate) fn comparisons() -> Vec<Comparison> {
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 3), (4, 5), (4, 6), (4, 7), (6, 7)];
    pairs
        .into_iter()
        .flat_map(|(a, b)| ["end_to_end.mean", "end_to_end.p99"].map(|metric| comparison(a, b, metric)))
        .collect()
}

fn comparison(a: usize, b: usize, metric: &str) -> Comparison {
    let figure = if metric.ends_with("mean") { 2 } else { 5 };
    let ratio = SETUPS[b].published_ms[figure] / SETUPS[a].published_ms[figure];
    let noise = if figure == 2 { 0.08 } else { 0.16 };
    let differs = (ratio - 1.0).abs() > noise && b != 3;
    let few = b == 3 && figure == 5;
    Comparison {
        a: SETUPS[a].name.to_owned(),
        b: SETUPS[b].name.to_owned(),
        metric: metric.to_owned(),
        ratio: (!few).then_some(ratio),
        ratio_low: (!few).then_some(ratio * (1.0 - noise)),
        ratio_high: (!few).then_some(ratio * (1.0 + noise)),
        level: 0.95,
        p_adjusted: (!few).then_some(if differs { 0.0004 } else { 0.41 }),
        smallest_detectable_ratio: (!few).then_some(1.0 + noise * 1.4),
        blocks: 5,
        verdict: match (few, differs) {
            (true, _) => ComparisonVerdict::TooFewBlocks,
            (false, true) => ComparisonVerdict::Differs,
            (false, false) => ComparisonVerdict::WithinNoise,
        },
        durability_differences: Vec::new(),
        durability_not_known: Vec::new(),
    }
}

fn finding(
    id: &str,
    severity: Severity,
    setup: Option<usize>,
    claim: &str,
    evidence: Vec<Evidence>,
    advice: &[&str],
) -> Finding {
    Finding {
        step: setup.map(|index| SETUPS[index].name.to_owned()),
        evidence,
        advice: advice.iter().map(|text| (*text).to_owned()).collect(),
        ..Finding::new(id, severity, claim.to_owned())
    }
}

fn seen(what: &str, value: &str, expected: &str) -> Evidence {
    Evidence { what: what.to_owned(), value: value.to_owned(), expected: Some(expected.to_owned()) }
}
