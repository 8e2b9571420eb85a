//! The metrics that a trial compares: one row each, with its value in a block.
//!
//! Counts of messages that failed or were lost are not here: they are mostly 0 and have no ratio (see `counts`).

use crate::setup::Setup;
use plumb_model::document::{AfterWarmUp, BlockResult};
use plumb_model::figure::{per_s, percent, significant, time};
use plumb_model::metric::metric_silent;
use plumb_model::observation::Distribution;
use plumb_model::trial::{Good, MetricRole};
use plumb_stats::distribution::samples_needed;

/// A metric of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric {
    /// As in results and on the command line.
    pub(crate) name: &'static str,
    /// Within a sentence.
    pub(crate) words: &'static str,
    /// The unit of its values.
    pub(crate) unit: &'static str,
    pub(crate) good: Good,
    of: Source,
}

/// A metric with its role in a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialMetric {
    pub(crate) metric: &'static Metric,
    pub(crate) role: MetricRole,
}

impl TrialMetric {
    /// The metric that decides.
    pub(crate) fn primary(metric: &'static Metric) -> Self {
        TrialMetric { metric, role: MetricRole::Primary }
    }
}

/// The source of a metric.
#[derive(Debug, Clone, Copy)]
enum Source {
    EndToEnd(Statistic),
    Acknowledge(Statistic),
    Block(fn(&BlockResult) -> Option<f64>),
}

/// A figure of a distribution.
#[derive(Debug, Clone, Copy)]
enum Statistic {
    Mean,
    Quantile(f64),
}

const MEAN: Statistic = Statistic::Mean;
const P50: Statistic = Statistic::Quantile(0.5);
const P95: Statistic = Statistic::Quantile(0.95);
const P99: Statistic = Statistic::Quantile(0.99);
const P999: Statistic = Statistic::Quantile(0.999);

const fn latency(name: &'static str, words: &'static str, of: Source) -> Metric {
    Metric { name, words, unit: "ns", good: Good::Lower, of }
}

const fn rate(name: &'static str, words: &'static str, of: fn(&BlockResult) -> Option<f64>) -> Metric {
    Metric { name, words, unit: "1/s", good: Good::Higher, of: Source::Block(of) }
}

const fn cpu_per_message(
    name: &'static str,
    words: &'static str,
    of: fn(&BlockResult) -> Option<f64>,
) -> Metric {
    Metric { name, words, unit: "us", good: Good::Lower, of: Source::Block(of) }
}

/// Every metric, in the order in which they are shown.
pub(crate) const METRICS: [Metric; 16] = [
    latency("end_to_end.mean", "mean of end-to-end latency", Source::EndToEnd(MEAN)),
    latency("end_to_end.p50", "p50 of end-to-end latency", Source::EndToEnd(P50)),
    latency("end_to_end.p95", "p95 of end-to-end latency", Source::EndToEnd(P95)),
    latency("end_to_end.p99", "p99 of end-to-end latency", Source::EndToEnd(P99)),
    latency("end_to_end.p999", "p99.9 of end-to-end latency", Source::EndToEnd(P999)),
    latency("acknowledge.mean", "mean of acknowledge latency", Source::Acknowledge(MEAN)),
    latency("acknowledge.p50", "p50 of acknowledge latency", Source::Acknowledge(P50)),
    latency("acknowledge.p95", "p95 of acknowledge latency", Source::Acknowledge(P95)),
    latency("acknowledge.p99", "p99 of acknowledge latency", Source::Acknowledge(P99)),
    latency("acknowledge.p999", "p99.9 of acknowledge latency", Source::Acknowledge(P999)),
    rate("throughput.produced_per_s", "messages acknowledged per second", |block| block.achieved_per_s),
    rate("throughput.received_per_s", "messages received per second", |block| block.received_per_s),
    Metric {
        name: "drain_s",
        words: "time to drain the backlog",
        unit: "s",
        good: Good::Lower,
        of: Source::Block(|block| block.drain_s),
    },
    cpu_per_message("cpu.client_per_message", "the client's CPU time per message", |block| {
        per_message_us(block, block.client_cpu_s, |after| after.client_cpu_s)
    }),
    cpu_per_message("cpu.broker_per_message", "the brokers' CPU time per message", |block| {
        per_message_us(block, block.broker_cpu_s, |after| after.broker_cpu_s)
    }),
    cpu_per_message(
        "cpu.per_message",
        "the CPU time per message of client and brokers, as far as it is known",
        |block| {
            let client = per_message_us(block, block.client_cpu_s, |after| after.client_cpu_s)?;
            let broker = per_message_us(block, block.broker_cpu_s, |after| after.broker_cpu_s);
            Some(client + broker.unwrap_or(0.0))
        },
    ),
];

/// Microseconds of CPU per message that was acknowledged, or received where nobody sends. Both are of the seconds that the
/// block's other figures are of: `whole_cpu_s` of the whole measured part, `left_cpu_s` of what a cut warm-up leaves of it.
fn per_message_us(
    block: &BlockResult,
    whole_cpu_s: Option<f64>,
    left_cpu_s: fn(&AfterWarmUp) -> Option<f64>,
) -> Option<f64> {
    let counts = &block.counts;
    let (cpu_s, messages) = match &block.after_warm_up {
        Some(after) => (left_cpu_s(after)?, after.messages),
        // A document of a version that did not note it.
        None if block.warm_up_cut_s > 0.0 => return None,
        None => (whole_cpu_s?, if counts.acked > 0 { counts.acked } else { counts.received }),
    };
    (messages > 0).then(|| cpu_s * 1e6 / messages as f64)
}

/// The value of a metric in a block, by the metric's name: above 0, or absent.
pub fn metric_value(name: &str, block: &BlockResult) -> Option<f64> {
    find(name)?.value(block)
}

/// The metric of a name.
pub(crate) fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

impl Metric {
    /// Its value in a block: above 0, or absent.
    pub(crate) fn value(&self, block: &BlockResult) -> Option<f64> {
        let value = match self.of {
            Source::EndToEnd(part) => part.of(&block.end_to_end),
            Source::Acknowledge(part) => part.of(&block.acknowledge),
            Source::Block(value) => value(block),
        };
        value.filter(|value| value.is_finite() && *value > 0.0)
    }

    /// The reason why a block that ran may lack it, as a sentence: too few messages for its quantile.
    pub(crate) fn shortage(&self, block: &BlockResult) -> Option<String> {
        let (part, distribution) = match self.of {
            Source::EndToEnd(part) => (part, &block.end_to_end),
            Source::Acknowledge(part) => (part, &block.acknowledge),
            Source::Block(_) => return None,
        };
        let Statistic::Quantile(quantile) = part else { return None };
        let needed = samples_needed(quantile);
        (distribution.samples < needed)
            .then(|| format!("needs {needed} messages a block, and a block has {}", distribution.samples))
    }

    /// The most by which its value in a block may be off, because it lies between clocks whose difference is known to a band.
    pub(crate) fn error(&self, block: &BlockResult) -> f64 {
        match self.of {
            Source::EndToEnd(_) => block.end_to_end.clock_error(),
            Source::Acknowledge(_) | Source::Block(_) => 0.0,
        }
    }

    /// True if it is a latency.
    pub(crate) fn is_latency(&self) -> bool {
        matches!(self.of, Source::EndToEnd(_) | Source::Acknowledge(_))
    }

    /// True if it says anything of a setup; of one without a plan, if a load at a fixed rate tells it.
    pub(crate) fn applies(&self, setup: &Setup) -> bool {
        match setup.load() {
            Some(load) => metric_silent(self.name, load).is_none(),
            None => !self.name.starts_with("throughput.") && self.name != "drain_s",
        }
    }

    /// True if it vetoes by its nature: it is the far tail of the latency that the setup is for, which is p99.9, and p99 where
    /// blocks are too short to tell that. The rate that was asked for never vetoes: counts and findings tell what keeps an arm
    /// from it, and a rate would veto by the last messages' latency.
    pub(crate) fn guards(&self, setup: &Setup) -> bool {
        let quantile = match self.of {
            Source::EndToEnd(Statistic::Quantile(quantile)) if setup.consumes() => quantile,
            Source::Acknowledge(Statistic::Quantile(quantile)) if !setup.consumes() => quantile,
            _ => return false,
        };
        let short = || setup.result.blocks.iter().any(|block| setup.headline_of(block).p999_ns.is_none());
        quantile == 0.999 || (quantile == 0.99 && short())
    }
}

impl Statistic {
    fn of(self, distribution: &Distribution) -> Option<f64> {
        let quantile = match self {
            Statistic::Mean => return distribution.mean_ns,
            Statistic::Quantile(0.5) => distribution.p50_ns,
            Statistic::Quantile(0.95) => distribution.p95_ns,
            Statistic::Quantile(0.99) => distribution.p99_ns,
            Statistic::Quantile(_) => distribution.p999_ns,
        };
        quantile.map(|ns| ns as f64)
    }
}

/// A value of a metric with its unit, for a sentence.
pub(crate) fn shown(unit: &str, value: f64) -> String {
    match unit {
        "ns" => time(value),
        "us" => time(value * 1e3),
        "s" => time(value * 1e9),
        "1/s" => per_s(value),
        "share" => percent(value),
        unit => format!("{} {unit}", significant(value, 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::metric::METRIC_NAMES;
    use plumb_model::observation::Counts;

    #[test]
    fn every_metric_has_a_name_of_its_own_and_is_found_by_it() {
        for metric in &METRICS {
            assert_eq!(METRICS.iter().filter(|other| other.name == metric.name).count(), 1);
            assert_eq!(find(metric.name).unwrap().words, metric.words);
        }
        assert!(find("end_to_end.p42").is_none());
        let mut names = METRICS.map(|metric| metric.name);
        let mut known = METRIC_NAMES.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names.to_vec(), known, "the names that a plan may have");
    }

    #[test]
    fn processor_time_is_per_message_acknowledged_or_received() {
        let block = BlockResult {
            counts: Counts { acked: 1_000, received: 10, ..Counts::default() },
            client_cpu_s: Some(0.02),
            ..BlockResult::default()
        };
        assert_eq!(find("cpu.client_per_message").unwrap().value(&block), Some(20.0));
        assert_eq!(find("cpu.broker_per_message").unwrap().value(&block), None);
        let counts = Counts { received: 10, ..Counts::default() };
        let reading = BlockResult { counts, ..block };
        assert_eq!(find("cpu.client_per_message").unwrap().value(&reading), Some(2_000.0));
    }

    #[test]
    fn processor_time_per_message_is_of_the_seconds_that_are_left_after_a_cut() {
        let left = AfterWarmUp { messages: 500, client_cpu_s: Some(0.005), ..AfterWarmUp::default() };
        let block = BlockResult {
            counts: Counts { acked: 1_000, ..Counts::default() },
            client_cpu_s: Some(0.1),
            broker_cpu_s: Some(0.1),
            warm_up_cut_s: 5.0,
            after_warm_up: Some(left),
            ..BlockResult::default()
        };
        assert_eq!(find("cpu.client_per_message").unwrap().value(&block), Some(10.0));
        assert_eq!(find("cpu.broker_per_message").unwrap().value(&block), None);
        let not_noted = BlockResult { after_warm_up: None, ..block };
        assert_eq!(find("cpu.client_per_message").unwrap().value(&not_noted), None);
    }

    #[test]
    fn a_quantile_that_a_block_has_too_few_messages_for_says_how_many_it_needs() {
        let end_to_end = Distribution { samples: 1_000, ..Distribution::default() };
        let block = BlockResult { end_to_end, ..BlockResult::default() };
        let shortage = find("end_to_end.p999").unwrap().shortage(&block).unwrap();
        assert!(shortage.contains("10000") && shortage.contains("1000"), "{shortage}");
        assert_eq!(find("end_to_end.p99").unwrap().shortage(&block), None);
    }
}
