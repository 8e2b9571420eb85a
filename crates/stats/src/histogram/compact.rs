//! A histogram in the form in which it is kept or sent: the buckets that are not empty, and the exact account beside them.
//!
//! Small where few different times were recorded, so it also serves to hold many histograms in memory.

use super::{Histogram, HistogramError, TIME_MAX_NS};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// All that a [`Histogram`] knows, without its empty buckets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactHistogram {
    /// The lowest value of each bucket that is not empty, in nanoseconds, with its count.
    pub(super) buckets: Vec<(u64, u64)>,
    /// As text, because JSON numbers end before it does.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub(super) sum_ns: u128,
    pub(super) min_ns: Option<u64>,
    pub(super) max_ns: Option<u64>,
    pub(super) negative: u64,
    pub(super) overflow: u64,
}

impl CompactHistogram {
    /// All that was recorded, below zero and above one hour too.
    pub fn recorded(&self) -> u64 {
        let counts = self.buckets.iter().map(|(_, count)| *count).chain([self.negative, self.overflow]);
        // The counts may come from elsewhere.
        counts.fold(0, u64::saturating_add)
    }

    /// The number of samples.
    ///
    /// # Errors
    /// When a time is above one hour, or sum, smallest and largest cannot be of the samples.
    pub(super) fn check(&self) -> Result<u64, HistogramError> {
        let longest = self.buckets.iter().map(|(value, _)| *value).chain(self.max_ns).max();
        if let Some(got_ns) = longest.filter(|longest| *longest > TIME_MAX_NS) {
            return Err(HistogramError::OutOfRange { got_ns, expected_ns: TIME_MAX_NS });
        }
        let recorded = self.buckets.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let all = |each_ns: u64| u128::from(each_ns) * u128::from(recorded);
        let fits = match (self.min_ns, self.max_ns) {
            (None, None) => recorded == 0 && self.sum_ns == 0,
            (Some(least), Some(most)) => {
                recorded > 0 && least <= most && (all(least)..=all(most)).contains(&self.sum_ns)
            }
            _ => false,
        };
        if fits { Ok(recorded) } else { Err(HistogramError::AccountDiffers { recorded }) }
    }
}

impl From<&Histogram> for CompactHistogram {
    fn from(histogram: &Histogram) -> Self {
        let (inner, exact) = (histogram.inner(), histogram.exact());
        let recorded = inner.iter_recorded();
        CompactHistogram {
            buckets: recorded
                .map(|step| (inner.lowest_equivalent(step.value_iterated_to()), step.count_at_value()))
                .collect(),
            sum_ns: exact.sum_ns,
            min_ns: exact.min_ns,
            max_ns: exact.max_ns,
            negative: exact.negative,
            overflow: exact.overflow,
        }
    }
}

impl From<Histogram> for CompactHistogram {
    fn from(histogram: Histogram) -> Self {
        (&histogram).into()
    }
}

impl TryFrom<&CompactHistogram> for Histogram {
    type Error = HistogramError;

    /// # Errors
    /// When a time is above one hour, or sum, smallest and largest cannot be of the samples.
    fn try_from(compact: &CompactHistogram) -> Result<Histogram, HistogramError> {
        let mut histogram = Histogram::new();
        histogram.add_moved(compact, 0)?;
        Ok(histogram)
    }
}

impl TryFrom<CompactHistogram> for Histogram {
    type Error = HistogramError;

    fn try_from(compact: CompactHistogram) -> Result<Histogram, HistogramError> {
        (&compact).try_into()
    }
}

fn as_text<S: Serializer>(sum_ns: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sum_ns)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        let mut histogram = Histogram::new();
        for time in [-3, 0, 1, 999, 1_234_567, 89_000_000_001, TIME_MAX_NS as i64, TIME_MAX_NS as i64 + 1] {
            histogram.record_ns(time);
        }
        histogram
    }

    #[test]
    fn a_histogram_comes_back_as_it_was() {
        for (histogram, recorded) in [(Histogram::new(), 0), (histogram(), 8)] {
            let compact = CompactHistogram::from(&histogram);
            assert_eq!((compact.recorded(), histogram.recorded()), (recorded, recorded));
            let text = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<CompactHistogram>(&text).unwrap(), compact);
            assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }
    }

    #[test]
    fn one_that_was_written_earlier_is_read() {
        let text = r#"{"buckets":[[7,2]],"sum_ns":"14","min_ns":7,"max_ns":7,"negative":1,"overflow":3}"#;
        let histogram: Histogram = serde_json::from_str(text).unwrap();
        assert_eq!((histogram.samples(), histogram.mean_ns(), histogram.recorded()), (2, Some(7.0), 6));
        assert_eq!(serde_json::to_string(&histogram).unwrap(), text);
    }

    #[test]
    fn an_account_that_cannot_be_of_the_samples_is_refused() {
        let whole = CompactHistogram { buckets: vec![(5, 2)], ..CompactHistogram::from(&Histogram::new()) };
        let fits = CompactHistogram { sum_ns: 10, min_ns: Some(5), max_ns: Some(5), ..whole.clone() };
        assert!(Histogram::try_from(&fits).is_ok());
        for damaged in [
            whole,
            CompactHistogram { buckets: Vec::new(), ..fits.clone() },
            CompactHistogram { min_ns: None, ..fits.clone() },
            CompactHistogram { max_ns: Some(4), ..fits.clone() },
            CompactHistogram { sum_ns: 11, ..fits.clone() },
        ] {
            let refused = Histogram::try_from(&damaged);
            assert!(matches!(refused, Err(HistogramError::AccountDiffers { .. })), "{damaged:?}");
        }
        let long = CompactHistogram { buckets: vec![(TIME_MAX_NS + 1, 2)], ..fits };
        assert!(matches!(Histogram::try_from(&long), Err(HistogramError::OutOfRange { .. })));
    }
}
