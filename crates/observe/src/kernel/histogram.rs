//! Histograms of the programs, one for each CPU, as one of the whole host. The writer is `programs/histogram.h`.

use std::collections::BTreeMap;

use aya::maps::{Map, MapError, PerCpuArray, PerCpuHashMap};
use plumb_model::observed::LogHistogram;

/// `struct histogram`: count, sum and largest, then 64 classes.
pub(super) const HISTOGRAM_WORDS: usize = 3 + 64;

/// The histogram in a map that has nothing else.
pub(super) fn histogram(map: Map) -> Result<LogHistogram, MapError> {
    let map = PerCpuArray::<_, [u64; HISTOGRAM_WORDS]>::try_from(map)?;
    Ok(merged(&map.get(&0, 0)?))
}

/// The histograms in a map that has one for each process.
pub(super) fn histograms(map: Map) -> Result<BTreeMap<u32, LogHistogram>, MapError> {
    let map = PerCpuHashMap::<_, u32, [u64; HISTOGRAM_WORDS]>::try_from(map)?;
    map.iter().map(|entry| entry.map(|(process, cpus)| (process, merged(&cpus)))).collect()
}

/// The histogram of all CPUs; classes above the last one with values are left out.
pub(super) fn merged(cpus: &[[u64; HISTOGRAM_WORDS]]) -> LogHistogram {
    let mut all = LogHistogram { classes: vec![0; HISTOGRAM_WORDS - 3], ..LogHistogram::default() };
    for [count, sum_ns, max_ns, classes @ ..] in cpus {
        all.count = all.count.saturating_add(*count);
        all.sum_ns = all.sum_ns.saturating_add(*sum_ns);
        all.max_ns = all.max_ns.max(*max_ns);
        for (class, values) in all.classes.iter_mut().zip(classes) {
            *class = class.saturating_add(*values);
        }
    }
    let used = all.classes.iter().rposition(|values| *values > 0).map_or(0, |last| last + 1);
    all.classes.truncate(used);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_add_up_the_largest_stays_and_empty_classes_above_are_left_out() {
        let mut one = [0; HISTOGRAM_WORDS];
        (one[0], one[1], one[2], one[3 + 10], one[3 + 11]) = (3, 5_000, 2_500, 2, 1);
        let mut other = [0; HISTOGRAM_WORDS];
        (other[0], other[1], other[2], other[3 + 10]) = (1, u64::MAX, 1_024, 1);
        let all = merged(&[one, [0; HISTOGRAM_WORDS], other]);
        assert_eq!((all.count, all.sum_ns, all.max_ns), (4, u64::MAX, 2_500));
        assert_eq!(all.classes.len(), 12);
        assert_eq!((all.classes[10], all.classes[11]), (3, 1));
        assert_eq!(merged(&[]), LogHistogram::default());
    }
}
