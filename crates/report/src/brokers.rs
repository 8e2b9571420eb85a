//! The brokers' own metrics of a setup: the time of their requests, and the idle share of their busiest threads.

use plumb_model::document::StepResult;
use plumb_model::facts::{Idle, RequestStages, RequestTimes, WindowMean};
use plumb_model::figure::{ABSENT, decimals, milliseconds, percent};

/// The heading of the section.
pub(crate) const HEADING: &str = "At the brokers";
/// Under the heading.
pub(crate) const MEANING: &str = "mean request times in ms and idle shares of threads, over whole blocks with warm-up and drain, from the brokers' metrics";

/// Heads of the table's columns after the setup.
pub(crate) const COLUMNS: [&str; 5] =
    ["produce", "for replicas", "follower fetch", "network idle", "handlers idle"];

/// One setup.
pub(crate) struct Row<'d> {
    /// Its place in the document.
    pub(crate) index: usize,
    pub(crate) step: &'d StepResult,
    times: RequestTimes,
}

/// The setups of which any broker metric is known.
pub(crate) fn rows(steps: &[StepResult]) -> Vec<Row<'_>> {
    let row = |(index, step)| Some(Row { index, step, times: RequestTimes::merged(&windows(step))? });
    steps.iter().enumerate().filter_map(row).collect()
}

fn windows(step: &StepResult) -> Vec<&RequestTimes> {
    step.blocks.iter().filter_map(|block| block.request_times.as_ref()).collect()
}

/// True if followers fetched from the brokers of any setup.
pub(crate) fn replicated(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.times.fetch_follower.total.is_some())
}

impl Row<'_> {
    /// One cell for each of [`COLUMNS`].
    pub(crate) fn cells(&self) -> Vec<String> {
        let ms = |mean: Option<WindowMean>| mean.map(|mean| tenths(mean.mean_ns));
        let cells = [
            ms(self.times.produce.total),
            ms(self.times.produce.remote),
            without_waiting(&self.times.fetch_follower).map(tenths),
            self.idle(|times| times.network_threads.as_ref()),
            self.idle(|times| times.request_handlers.as_ref()),
        ];
        cells.map(|cell| cell.unwrap_or_else(|| ABSENT.to_owned())).into()
    }

    /// Mean over the blocks, each with the least idle broker's.
    fn idle(&self, of: fn(&RequestTimes) -> Option<&Idle>) -> Option<String> {
        let shares: Option<Vec<f64>> =
            windows(self.step).into_iter().map(|times| of(times).map(|idle| idle.share)).collect();
        let shares = shares.filter(|shares| !shares.is_empty())?;
        Some(percent(shares.iter().sum::<f64>() / shares.len() as f64))
    }
}

/// Milliseconds; more than tenths of one would claim what rounding to whole ones has taken away.
fn tenths(ns: f64) -> String {
    if ns < 1e8 { decimals(ns / 1e6, 1) } else { milliseconds(ns) }
}

/// A fetch's time at the leader but for waiting until there is something to fetch.
fn without_waiting(fetch: &RequestStages) -> Option<f64> {
    let stages = [fetch.request_queue, fetch.local, fetch.response_queue, fetch.response_send];
    stages.into_iter().map(|stage| stage.map(|mean| mean.mean_ns)).sum()
}

/// Notes on the columns, and on the threads that are meant.
pub(crate) fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = vec![
        "for replicas: part of a produce request's time in which the leader waits for its followers; follower \
         fetch: a follower's request at the leader, without waiting for data. Each time is rounded to whole \
         milliseconds by the broker before it is averaged: ±0.5 ms a stage"
            .to_owned(),
    ];
    let idle = rows.iter().filter_map(|row| row.times.network_threads.as_ref());
    if let Some(busiest) = idle.min_by(|a, b| a.share.total_cmp(&b.share)) {
        notes.push(format!(
            "network idle: share of the time in which a broker's busiest network thread waited, from {}; under TLS \
             these threads encrypt. The least was {} ({})",
            busiest.source,
            percent(busiest.share),
            busiest.of
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::document::BlockResult;

    fn mean(ms: f64) -> Option<WindowMean> {
        Some(WindowMean { mean_ns: ms * 1e6, low_ns: 0.0, high_ns: ms * 1e6 + 0.5e6, samples: 10 })
    }

    fn idle(share: f64) -> Option<Idle> {
        Some(Idle { share, of: format!("thread of {share}"), source: "counted waiting time".into() })
    }

    fn step(idles: [Option<Idle>; 2]) -> StepResult {
        let block = |network_threads| BlockResult {
            request_times: Some(RequestTimes {
                produce: RequestStages { total: mean(9.0), remote: mean(7.0), ..RequestStages::default() },
                fetch_follower: RequestStages {
                    request_queue: mean(0.25),
                    local: mean(1.0),
                    remote: mean(480.0),
                    response_queue: mean(0.25),
                    response_send: mean(2.0),
                    ..RequestStages::default()
                },
                network_threads,
                ..RequestTimes::default()
            }),
            ..BlockResult::default()
        };
        StepResult { blocks: idles.map(block).into(), ..StepResult::default() }
    }

    #[test]
    fn a_follower_that_waits_for_data_is_not_slow_and_idle_shares_are_means_over_blocks() {
        let steps = [step([idle(0.2), idle(0.4)])];
        let rows = rows(&steps);
        assert_eq!(rows[0].cells(), ["9.0", "7.0", "3.5", "30 %", ABSENT]);
        assert!(notes(&rows)[1].contains("20 % (thread of 0.2)"), "{:?}", notes(&rows));
    }

    #[test]
    fn a_block_without_the_figure_leaves_no_mean_of_the_others() {
        let steps = [step([idle(0.2), None])];
        assert_eq!(rows(&steps)[0].cells()[3], ABSENT);
    }

    #[test]
    fn without_metrics_there_is_no_row() {
        assert!(rows(&[StepResult::default()]).is_empty());
    }
}
