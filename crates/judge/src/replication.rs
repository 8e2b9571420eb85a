//! The time for which records wait for the followers' copies, by the number of records that wait.

use plumb_model::document::BlockResult;
use plumb_model::observation::ReplicationLag;

/// Half-width of a 95 % interval in standard errors.
const STANDARD_ERRORS: f64 = 1.96;

/// The waiting records of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FollowerWait {
    /// Moments at which the leaders answered, and at which one did not.
    pub(crate) samples: u64,
    pub(crate) missed: u64,
    /// Mean time from appended to copied by all in-sync followers, and the bounds between which it is.
    pub(crate) mean_ns: f64,
    pub(crate) low_ns: f64,
    pub(crate) high_ns: f64,
    /// Most records that waited at one time.
    pub(crate) records_highest: u64,
    /// The longest time for which one record waited, at least.
    pub(crate) longest_ns: u64,
}

impl FollowerWait {
    /// None where no block was asked, and where nothing was appended.
    pub(crate) fn of(blocks: &[BlockResult]) -> Option<Self> {
        let lags: Vec<ReplicationLag> = blocks.iter().filter_map(|block| block.replication_lag).collect();
        // A log that was cut back tells no rate.
        let rated: Vec<&ReplicationLag> = lags.iter().filter(|lag| lag.appended_per_s >= 0.0).collect();
        let sum = |figure: fn(&ReplicationLag) -> f64| {
            rated.iter().map(|lag| figure(lag) * lag.samples as f64).sum::<f64>()
        };
        let appended = sum(|lag| lag.appended_per_s);
        let errors = rated.iter().map(|lag| (lag.records_standard_error * lag.samples as f64).powi(2));
        let error = STANDARD_ERRORS * errors.sum::<f64>().sqrt();
        let (least, most) = (sum(|lag| lag.records_least), sum(|lag| lag.records_most));
        // Little's law: records that wait are records appended a second times the time that each waits.
        let wait_ns = |records: f64| records.max(0.0) / appended * 1e9;
        (appended > 0.0).then(|| FollowerWait {
            samples: rated.iter().map(|lag| lag.samples).sum(),
            missed: lags.iter().map(|lag| lag.missed).sum(),
            mean_ns: wait_ns(f64::midpoint(least, most)),
            low_ns: wait_ns(least - error),
            high_ns: wait_ns(most + error),
            records_highest: lags.iter().map(|lag| lag.records_highest).max().unwrap_or(0),
            longest_ns: lags.iter().map(|lag| lag.longest_wait_ns).max().unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(samples: u64, records: (f64, f64), appended_per_s: f64) -> BlockResult {
        let lag = ReplicationLag {
            samples,
            missed: 1,
            records_least: records.0,
            records_most: records.1,
            records_standard_error: 0.0,
            records_highest: records.1 as u64,
            longest_wait_ns: samples,
            appended_per_s,
        };
        BlockResult { replication_lag: Some(lag), ..BlockResult::default() }
    }

    #[test]
    fn twenty_records_that_wait_of_a_thousand_a_second_wait_twenty_milliseconds() {
        let wait = FollowerWait::of(&[block(30, (19.0, 21.0), 1000.0), BlockResult::default()]).unwrap();
        assert_eq!((wait.mean_ns, wait.low_ns, wait.high_ns), (20e6, 19e6, 21e6));
        assert_eq!((wait.samples, wait.missed), (30, 1));
    }

    #[test]
    fn blocks_weigh_by_their_samples_and_the_longest_wait_is_that_of_the_worst() {
        let wait = FollowerWait::of(&[block(10, (0.0, 0.0), 100.0), block(30, (8.0, 8.0), 100.0)]).unwrap();
        assert_eq!((wait.mean_ns, wait.longest_ns, wait.records_highest), (60e6, 30, 8));
    }

    #[test]
    fn the_error_of_the_samples_widens_the_bounds() {
        let mut block = block(25, (10.0, 10.0), 1000.0);
        block.replication_lag.as_mut().unwrap().records_standard_error = 2.0;
        let wait = FollowerWait::of(&[block]).unwrap();
        assert!((wait.low_ns - 6.08e6).abs() < 1.0 && (wait.high_ns - 13.92e6).abs() < 1.0);
    }

    #[test]
    fn a_block_whose_log_was_cut_back_has_no_part_in_the_mean() {
        let blocks = [block(10, (20.0, 20.0), 1000.0), block(10, (500.0, 500.0), -100.0)];
        let wait = FollowerWait::of(&blocks).unwrap();
        assert_eq!((wait.mean_ns, wait.samples, wait.records_highest), (20e6, 10, 500));
    }

    #[test]
    fn without_appends_or_answers_nothing_is_told() {
        assert_eq!(FollowerWait::of(&[block(10, (0.0, 0.0), 0.0)]), None);
        assert_eq!(FollowerWait::of(&[BlockResult::default()]), None);
    }
}
