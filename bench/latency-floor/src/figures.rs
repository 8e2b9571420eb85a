//! The figures that are compared.

/// A latency's figures, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) mean_us: f64,
}

/// The result of one run of a contestant that keeps a schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// From the actual send.
    pub(crate) service: Figures,
    /// From the intended send time.
    pub(crate) response: Figures,
    /// The process's CPU time while the measured messages went, in microseconds a message.
    pub(crate) measured_cpu_us: f64,
    /// The whole process's CPU time, start and end included.
    pub(crate) whole_cpu_s: f64,
    /// Share of the machine's CPU time that neither the broker nor the contestant used.
    pub(crate) foreign_share: f64,
}

impl Figures {
    /// Of all samples, in nanoseconds. A quantile is the smallest sample that so many are not above, as in an HdrHistogram.
    pub(crate) fn exact(mut samples_ns: Vec<u64>) -> Figures {
        samples_ns.sort_unstable();
        let at = |q: f64| {
            let rank = (q * samples_ns.len() as f64).ceil() as usize;
            samples_ns.get(rank.max(1) - 1).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
        };
        let mean_us = samples_ns.iter().sum::<u64>() as f64 / samples_ns.len() as f64 / 1e3;
        Figures { p50_us: at(0.5), p99_us: at(0.99), mean_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_and_the_mean_is_of_all() {
        let samples = (1..=200u64).rev().map(|us| us * 1000).collect();
        let expected = Figures { p50_us: 100.0, p99_us: 198.0, mean_us: 100.5 };
        assert_eq!(Figures::exact(samples), expected);
    }
}
