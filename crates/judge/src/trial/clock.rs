//! What the error of the workers' clocks leaves of a comparison of end-to-end latencies.
//!
//! Each block's latencies are known to within an error, in either direction, whatever the clocks did from block to block. An
//! estimate that holds wherever within it the truth is, reaches from that of the lowest ratios to that of the highest.

use super::estimate::Estimate;
use super::metric::Metric;
use super::{Arm, Opponents};
use crate::comparison::{Extreme, p_between};
use plumb_model::trial::PairValues;
use plumb_stats::ends::Ends;

/// The pairs as they are if every ratio is as low, or as high, as the errors allow.
#[derive(Debug)]
pub(super) struct Extremes {
    lowest: Vec<PairValues>,
    highest: Vec<PairValues>,
    /// The largest error of any block, in the metric's unit.
    pub(super) error: f64,
}

impl Extremes {
    /// None where no block's value has an error.
    pub(super) fn of(values: &[PairValues], metric: &Metric, of: Opponents) -> Option<Self> {
        let error = |arm: &Arm, round| arm.blocks.get(round).map_or(0.0, |block| metric.error(block));
        let errors: Vec<(f64, f64)> =
            values.iter().map(|pair| (error(of.against, &pair.round), error(of.arm, &pair.round))).collect();
        let largest = errors.iter().fold(0.0, |most: f64, (against, arm)| most.max(*against).max(*arm));
        let moved = |sign: f64| {
            let pairs = values.iter().zip(&errors);
            let pair = |(pair, (against, arm)): (&PairValues, &(f64, f64))| PairValues {
                round: pair.round,
                against: pair.against - sign * against,
                arm: pair.arm + sign * arm,
            };
            pairs.map(pair).collect()
        };
        (largest > 0.0).then(|| Extremes { lowest: moved(-1.0), highest: moved(1.0), error: largest })
    }

    /// The estimate with all that the errors leave open: its interval and p hold wherever within them the truth is.
    pub(super) fn widen(
        &self,
        middle: Estimate,
        estimate: impl Fn(&[PairValues]) -> Option<Estimate>,
    ) -> Estimate {
        let is_known = |pair: &PairValues| pair.arm > 0.0 && pair.against > 0.0;
        let known = self.lowest.iter().chain(&self.highest).all(is_known);
        let ends = known.then(|| estimate(&self.lowest).zip(estimate(&self.highest))).flatten();
        let Some((lowest, highest)) = ends else {
            return Estimate { interval: None, equivalence: None, p: 1.0, ..middle };
        };
        let hull = |low: Option<Ends>, high: Option<Ends>| Some(Ends { low: low?.low, high: high?.high });
        let [low, high] = [&lowest, &highest].map(|end| Extreme { ratio: end.ratio, p: end.p });
        Estimate {
            interval: hull(lowest.interval, highest.interval),
            equivalence: hull(lowest.equivalence, highest.equivalence),
            p: p_between(low, high),
            ..middle
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trial::tests::trials::trial_of;
    use plumb_model::document::RunDocument;
    use plumb_model::finding::{Validity, ValidityVerdict};
    use plumb_model::trial::{MetricResult, TrialResult};
    use plumb_model::verdict::Verdict;

    /// Two arms whose 99th percentiles have this ratio, and clocks that are known to this share of the reference's.
    fn document(ratio: f64, error: f64) -> RunDocument {
        let mut document = trial_of(&[("arm", ratio)], 12, 1);
        let reference = document.steps[0].blocks[0].end_to_end.p99_ns.unwrap() as f64;
        for block in document.steps.iter_mut().flat_map(|step| &mut step.blocks) {
            block.end_to_end.clock_error_ns = (error > 0.0).then_some((reference * error) as u64);
        }
        document
    }

    fn judged(ratio: f64, error: f64) -> (TrialResult, MetricResult) {
        let validity = Validity { verdict: ValidityVerdict::Valid, reasons: Vec::new() };
        let result = crate::trial::result(&document(ratio, error), &validity).unwrap();
        let primary = result.metrics[0].clone();
        (result, primary)
    }

    #[test]
    fn a_difference_beyond_the_clocks_error_stays_and_one_within_it_is_undecided_with_the_reason() {
        let (result, sharp) = judged(0.8, 0.0);
        assert_eq!((result.verdicts[0].verdict, sharp.clock_error), (Verdict::Better, None));
        let (result, known) = judged(0.8, 0.05);
        assert_eq!(result.verdicts[0].verdict, Verdict::Better);
        assert!(known.interval_low < sharp.interval_low && known.interval_high > sharp.interval_high);
        assert_eq!(known.estimate_ratio, sharp.estimate_ratio);
        let (result, _) = judged(0.8, 0.15);
        assert_eq!(result.verdicts[0].verdict, Verdict::Undecided);
        let reason = result.verdicts[0].reason.as_deref().unwrap();
        assert!(reason.contains("clocks"), "{reason}");
    }

    #[test]
    fn an_error_larger_than_a_latency_leaves_no_interval_and_no_verdict() {
        let (result, metric) = judged(0.5, 2.0);
        assert_eq!((metric.interval_low, metric.interval_high), (None, None));
        assert_eq!(result.verdicts[0].verdict, Verdict::Undecided);
    }

    #[test]
    fn a_metric_of_one_clock_has_no_error() {
        let document = document(0.8, 0.15);
        let block = &document.steps[0].blocks[0];
        let errors = crate::trial::metric::METRICS.map(|metric| (metric.name, metric.error(block)));
        for (name, error) in errors {
            assert_eq!(error > 0.0, name.starts_with("end_to_end."), "{name}");
        }
    }
}
