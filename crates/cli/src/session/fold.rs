//! Folds what blocks observe into the figures of their step.
//!
//! A second stays open for a while, because its parts come from several threads; then its figures are made, its
//! histograms are written to the logs, and their memory is given back: a long run's memory stays flat.

mod head;

use anyhow::{Context, Result};
use head::Head;
use plumb_load::BlockOutcome;
use plumb_load::observation::{Measure, SecondPart};
use plumb_load::tally::Tally;
use plumb_model::document::{BlockResult, StepResult};
use plumb_model::observation::{Distribution, Latencies, SecondLatency, SecondRow};
use plumb_model::plan::GoalLatency;
use plumb_stats::distribution::{distribution, figures};
use plumb_stats::histogram::{Exact, Histogram};
use plumb_stats::interval::{Batch, Spread, batches};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::kept::{Damaged, KeptHistogram};
use crate::run_dir::{RunDir, RunDirError};

/// Seconds for which a second's parts are waited for after it ended.
const OPEN_SECONDS: u32 = 3;
/// Fewest samples of a second for its median and its 99th percentile.
const SECOND_P50_SAMPLES: u64 = 20;
const SECOND_P99_SAMPLES: u64 = 1_000;

/// Response and service time of one measure.
#[derive(Debug, Clone, Default)]
struct Pair {
    response: Histogram,
    service: Histogram,
}

impl Pair {
    fn add(&mut self, part: &SecondPart) {
        self.response.merge(&histogram_of(&part.response));
        self.service.merge(&histogram_of(&part.service));
    }

    fn merge(&mut self, other: &Pair) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }
}

/// A step's histograms and logs after a block, as they are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FoldState {
    /// Response and service time.
    end_to_end: [KeptHistogram; 2],
    acknowledge: [KeptHistogram; 2],
    slip: KeptHistogram,
    /// Bytes of each log, by its name.
    pub(super) log_bytes: BTreeMap<String, u64>,
}

/// A second that is still open.
#[derive(Debug, Default)]
struct OpenSecond {
    row: SecondRow,
    end_to_end: Pair,
    acknowledge: Pair,
}

/// The figures of a step while its blocks run.
#[derive(Debug)]
pub(crate) struct StepFold {
    level: f64,
    /// Start of its logs' names.
    stem: String,
    end_to_end: Pair,
    acknowledge: Pair,
    slip: Histogram,
    block: u32,
    block_started: SystemTime,
    block_end_to_end: Pair,
    block_acknowledge: Pair,
    /// Sum and number of the block's measured slips.
    block_slip: (u128, u64),
    open: BTreeMap<(u32, bool), OpenSecond>,
    pub(crate) series: Vec<SecondRow>,
    /// What the logs are called, by measure.
    pub(crate) logs: BTreeMap<String, String>,
    /// Whether histograms go into logs.
    logged: bool,
    /// In a trial, the beginning of the block under way: its warm-up is left out when the block is over.
    head: Option<Head>,
}

impl StepFold {
    pub(crate) fn new(level: f64, stem: String) -> Self {
        StepFold {
            level,
            stem,
            end_to_end: Pair::default(),
            acknowledge: Pair::default(),
            slip: Histogram::new(),
            block: 0,
            block_started: SystemTime::UNIX_EPOCH,
            block_end_to_end: Pair::default(),
            block_acknowledge: Pair::default(),
            block_slip: (0, 0),
            open: BTreeMap::new(),
            series: Vec::new(),
            logs: BTreeMap::new(),
            logged: true,
            head: None,
        }
    }

    /// A fold whose histograms go into no log.
    pub(crate) fn unlogged(level: f64) -> Self {
        StepFold { logged: false, ..StepFold::new(level, String::new()) }
    }

    /// The same for a block of a trial: what of its beginning is warm-up, beyond the planned one, is in no figure.
    pub(crate) fn leaving_warm_up_out(mut self) -> Self {
        self.head = Some(Head::default());
        self
    }

    /// The fold of a step as it was kept; `result` is the step in the document.
    pub(super) fn restore(
        level: f64,
        stem: String,
        state: &FoldState,
        result: &StepResult,
    ) -> Result<Self, Damaged> {
        let pair = |[response, service]: &[KeptHistogram; 2]| -> Result<Pair, Damaged> {
            Ok(Pair { response: response.try_into()?, service: service.try_into()? })
        };
        Ok(StepFold {
            end_to_end: pair(&state.end_to_end)?,
            acknowledge: pair(&state.acknowledge)?,
            slip: (&state.slip).try_into()?,
            series: result.series.clone(),
            logs: result.histogram_logs.clone(),
            ..StepFold::new(level, stem)
        })
    }

    /// What has to be kept of it after a block.
    pub(super) fn state(&self, dir: &RunDir) -> FoldState {
        let pair = |pair: &Pair| [(&pair.response).into(), (&pair.service).into()];
        FoldState {
            end_to_end: pair(&self.end_to_end),
            acknowledge: pair(&self.acknowledge),
            slip: (&self.slip).into(),
            log_bytes: self.logs.values().map(|log| (log.clone(), dir.log_bytes(log))).collect(),
        }
    }

    /// Takes over what another fold made of its blocks, with its logs.
    pub(super) fn take_figures(&mut self, other: StepFold) {
        *self = StepFold { stem: std::mem::take(&mut self.stem), ..other };
    }

    /// What the block under way, or the last one, had of a latency.
    pub(super) fn block_latency(&self, latency: GoalLatency) -> &Histogram {
        match latency {
            GoalLatency::Acknowledge => &self.block_acknowledge.response,
            GoalLatency::EndToEnd => &self.block_end_to_end.response,
        }
    }

    /// The same from the actual send.
    pub(super) fn block_service(&self, latency: GoalLatency) -> &Histogram {
        match latency {
            GoalLatency::Acknowledge => &self.block_acknowledge.service,
            GoalLatency::EndToEnd => &self.block_end_to_end.service,
        }
    }

    /// Start of the names of its files.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// The block's first intended send is about now: the logs' times count from here.
    pub(crate) fn schedule_begins(&mut self) {
        self.block_started = SystemTime::now();
    }

    /// A block begins: clients are made, its schedule begins later.
    pub(crate) fn begin_block(&mut self, block: u32) {
        self.block = block;
        self.block_end_to_end = Pair::default();
        self.block_acknowledge = Pair::default();
        self.block_slip = (0, 0);
    }

    /// Takes what one thread saw in one second.
    pub(crate) fn take(&mut self, part: &SecondPart, dir: &mut RunDir) -> Result<(), RunDirError> {
        self.close(part.second.saturating_sub(OPEN_SECONDS), dir)?;
        let second = self.open.entry((part.second, part.warm_up)).or_default();
        second.row.block = self.block;
        second.row.second = part.second;
        second.row.warm_up = part.warm_up;
        second.row.sent += part.sent;
        second.row.acked += part.acked;
        second.row.received += part.received;
        match part.measure {
            Measure::Slip => {
                let most = (part.response.samples() > 0).then_some(part.response.max_ns);
                second.row.slip_max_ns = second.row.slip_max_ns.max(most);
                if !part.warm_up {
                    let slip = histogram_of(&part.response);
                    self.block_slip.0 += slip.exact().sum_ns;
                    self.block_slip.1 += slip.samples();
                    self.slip.merge(&slip);
                }
            }
            Measure::Acknowledge => second.acknowledge.add(part),
            Measure::EndToEnd => second.end_to_end.add(part),
        }
        Ok(())
    }

    /// Makes the figures of seconds before `before`, and writes their logs.
    fn close(&mut self, before: u32, dir: &mut RunDir) -> Result<(), RunDirError> {
        let later = self.open.split_off(&(before, false));
        let closing = std::mem::replace(&mut self.open, later);
        for second in closing.into_values() {
            self.close_second(second, dir)?;
        }
        Ok(())
    }

    fn close_second(&mut self, second: OpenSecond, dir: &mut RunDir) -> Result<(), RunDirError> {
        let OpenSecond { mut row, end_to_end, acknowledge } = second;
        if !row.warm_up {
            let start = self.block_started + Duration::from_secs(u64::from(row.second));
            for (measure, histogram) in [
                ("end_to_end", &end_to_end.response),
                ("end_to_end_service", &end_to_end.service),
                ("acknowledge", &acknowledge.response),
                ("acknowledge_service", &acknowledge.service),
            ] {
                if self.logged && histogram.samples() > 0 {
                    let log = format!("{}.{measure}.hlog", self.stem);
                    dir.append(&log, (start, Duration::from_secs(1)), histogram)?;
                    self.logs.entry(measure.to_owned()).or_insert(log);
                }
            }
            let held =
                self.head.as_mut().is_some_and(|head| head.hold(row.second, &end_to_end, &acknowledge));
            if !held {
                self.add(&end_to_end, &acknowledge);
            }
        }
        row.end_to_end = second_latency(&end_to_end.response);
        row.acknowledge = second_latency(&acknowledge.response);
        // A part that came after its second was closed is a row of its own: nothing is dropped.
        self.series.push(row);
        Ok(())
    }

    /// Takes a second's times into the figures of step and block.
    fn add(&mut self, end_to_end: &Pair, acknowledge: &Pair) {
        self.end_to_end.merge(end_to_end);
        self.acknowledge.merge(acknowledge);
        self.block_end_to_end.merge(end_to_end);
        self.block_acknowledge.merge(acknowledge);
    }

    /// In a trial, leaves out what of the block's beginning was a warm-up: so many seconds of its measured part.
    fn leave_warm_up_out(&mut self, warm_up: Duration, outcome: &BlockOutcome) -> Result<f64> {
        let Some(head) = &mut self.head else { return Ok(0.0) };
        let measured = Duration::from_nanos(outcome.measured_ns.max(outcome.receiving_ns.unwrap_or(0)));
        // The second in which the measured part ends is not a whole one.
        let last = u32::try_from((warm_up + measured).as_secs().saturating_sub(1)).unwrap_or(u32::MAX);
        let own: Vec<SecondRow> = self.series.iter().filter(|row| row.block == self.block).cloned().collect();
        let first = head::first_that_counts(&own, last).unwrap_or(0);
        let held = head.release(first).ok().context("a second that was held back cannot be read")?;
        for [end_to_end, acknowledge] in &held {
            self.add(end_to_end, acknowledge);
        }
        let cut = self.series.iter_mut().filter(|row| row.block == self.block && row.second < first);
        let mut any = false;
        for row in cut.filter(|row| !row.warm_up) {
            row.warm_up = true;
            any = true;
        }
        Ok(if any { (f64::from(first) - warm_up.as_secs_f64()).max(0.0) } else { 0.0 })
    }

    /// Messages per second of the measured part without its first seconds, by what was seen in each second after them.
    fn rate_without(&self, cut_s: f64, ns: u64, messages: fn(&SecondRow) -> u64) -> Option<f64> {
        let own = self.series.iter().filter(|row| row.block == self.block && !row.warm_up);
        per_s(own.map(messages).sum(), ns.checked_sub((cut_s * 1e9) as u64)?)
    }

    /// The block is over: its own figures. `warm_up`: the planned one.
    pub(crate) fn end_block(
        &mut self,
        warm_up: Duration,
        outcome: &BlockOutcome,
        dir: &mut RunDir,
    ) -> Result<BlockResult> {
        self.close(u32::MAX, dir)?;
        let cut_s = self.leave_warm_up_out(warm_up, outcome)?;
        let own: Vec<SecondRow> = self.series.iter().filter(|row| row.block == self.block).cloned().collect();
        let block_figures = |histogram: &Histogram, latency: fn(&SecondRow) -> &SecondLatency| {
            let batches = batches(&own, latency);
            figures(histogram, &Spread { level: self.level, block_means_ns: &[], batches: &batches })
        };
        Ok(BlockResult {
            block: self.block,
            counts: outcome.counts,
            achieved_per_s: match cut_s > 0.0 {
                true => self.rate_without(cut_s, outcome.measured_ns, |row| row.acked),
                false => per_s(outcome.counts.acked, outcome.measured_ns),
            },
            received_per_s: outcome.receiving_ns.and_then(|ns| match cut_s > 0.0 {
                true => self.rate_without(cut_s, ns, |row| row.received),
                false => per_s(outcome.received_messages, ns),
            }),
            warm_up_cut_s: cut_s,
            drain_s: outcome.drain_ns.map(|ns| ns as f64 / 1e9),
            end_to_end: block_figures(&self.block_end_to_end.response, |row| &row.end_to_end),
            acknowledge: block_figures(&self.block_acknowledge.response, |row| &row.acknowledge),
            catch_up_at_most_ns: outcome.catch_up_at_most_ns,
            append_times: outcome.append_times,
            slip_mean_ns: (self.block_slip.1 > 0)
                .then(|| self.block_slip.0 as f64 / self.block_slip.1 as f64),
            queue_full_waits: Some(outcome.queue_full_waits),
            ..BlockResult::default()
        })
    }

    /// The step's latencies over the blocks so far.
    pub(crate) fn latencies(&self, blocks: &[BlockResult]) -> Latencies {
        let means = |latency: fn(&BlockResult) -> &Distribution| -> Vec<f64> {
            blocks
                .iter()
                .filter(|block| !block.cut_short)
                .filter_map(|block| latency(block).mean_ns)
                .collect()
        };
        let (end_to_end, acknowledge) = (means(|block| &block.end_to_end), means(|block| &block.acknowledge));
        let end_to_end_batches = batches(&self.series, |row| &row.end_to_end);
        let acknowledge_batches = batches(&self.series, |row| &row.acknowledge);
        let whole = |histogram: &Histogram, block_means_ns: &[f64], batches: &[Batch]| {
            distribution(histogram, &Spread { level: self.level, block_means_ns, batches })
        };
        Latencies {
            end_to_end: whole(&self.end_to_end.response, &end_to_end, &end_to_end_batches),
            acknowledge: whole(&self.acknowledge.response, &acknowledge, &acknowledge_batches),
            // The seconds are of response times; service times get no interval from them.
            end_to_end_service: whole(&self.end_to_end.service, &[], &[]),
            acknowledge_service: whole(&self.acknowledge.service, &[], &[]),
        }
    }

    /// The schedule's slip so far.
    pub(crate) fn slip(&self) -> Distribution {
        distribution(&self.slip, &Spread { level: self.level, block_means_ns: &[], batches: &[] })
    }
}

/// So many in so long, per second.
pub(super) fn per_s(number: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| number as f64 * 1e9 / ns as f64)
}

/// A recorder's tally as a histogram of the statistics crate.
pub(crate) fn histogram_of(tally: &Tally) -> Histogram {
    let any = tally.samples() > 0;
    let exact = Exact {
        sum_ns: tally.sum_ns,
        min_ns: any.then_some(tally.min_ns),
        max_ns: any.then_some(tally.max_ns),
        negative: tally.negative,
        overflow: tally.overflow,
    };
    Histogram::from_parts(&tally.histogram, exact)
        .expect("both keep times up to one hour and the same samples")
}

fn second_latency(histogram: &Histogram) -> SecondLatency {
    let samples = histogram.samples();
    SecondLatency {
        samples,
        mean_ns: histogram.mean_ns(),
        p50_ns: histogram.at_quantile(0.5).filter(|_| samples >= SECOND_P50_SAMPLES),
        p99_ns: histogram.at_quantile(0.99).filter(|_| samples >= SECOND_P99_SAMPLES),
        max_ns: histogram.exact().max_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn part(second: u32, warm_up: bool, times_ns: &[u64]) -> SecondPart {
        let mut part = SecondPart::new(Measure::EndToEnd);
        part.second = second;
        part.warm_up = warm_up;
        part.received = times_ns.len() as u64;
        for time in times_ns {
            part.response.record(0, *time);
            part.service.record(0, *time);
        }
        part
    }

    #[test]
    fn a_long_block_keeps_only_a_few_seconds_open_and_loses_no_sample() {
        let place = tempfile::tempdir().unwrap();
        let mut dir = RunDir::create(Some(place.path()), Timestamp::UNIX_EPOCH, "x").unwrap();
        let mut fold = StepFold::new(0.95, "0".into());
        fold.begin_block(0);
        fold.take(&part(0, true, &[9_000_000]), &mut dir).unwrap();
        for second in 0..100 {
            fold.take(&part(second, false, &[1_000_000, 3_000_000]), &mut dir).unwrap();
            assert!(fold.open.len() <= OPEN_SECONDS as usize + 2);
        }
        fold.close(u32::MAX, &mut dir).unwrap();
        let latency = fold.latencies(&[]).end_to_end;
        assert_eq!(latency.samples, 200);
        assert_eq!(latency.mean_ns, Some(2_000_000.0));
        assert_eq!(fold.series.len(), 101);
        let log = std::fs::read_to_string(place.path().join("0.end_to_end.hlog")).unwrap();
        assert_eq!(log.lines().filter(|line| !line.starts_with('#')).count(), 100);
    }
}
