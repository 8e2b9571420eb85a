//! Folds what blocks observe into the figures of their step.
//!
//! A second stays open for a while, because its parts come from several threads; then its figures are made, its
//! histograms are written to the logs, and their memory is given back: a long run's memory stays flat.

pub(super) mod beginning;
mod block_quantiles;
mod logs;
#[cfg(test)]
mod tests;
mod times;

use super::cpu::CpuBySecond;
use super::utc::instant;
use crate::error::Result;
use crate::run_dir::{RunDir, RunDirError};
use beginning::Beginning;
use block_quantiles::{BlockQuantiles, MedianAndTail};
use logs::Logs;
use plumb_load::BlockOutcome;
use plumb_load::observation::{Measure, SecondPart};
use plumb_load::remote::WorkerOutcome;
use plumb_model::document::{AfterWarmUp, BlockResult, StepResult};
use plumb_model::observation::{Counts, Distribution, Latencies, SecondLatency, SecondRow};
use plumb_model::plan::GoalLatency;
use plumb_stats::distribution::{distribution, figures};
use plumb_stats::histogram::{Histogram, HistogramError};
use plumb_stats::interval::{Batch, Spread, batches};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use times::{Recorded, Times, TimesState, second_latency};

/// Seconds for which a second's parts are waited for after it ended.
const OPEN_SECONDS: u32 = 3;

/// A step's histograms and logs after a block, as they are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FoldState {
    #[serde(flatten)]
    times: TimesState,
    /// Bytes of each log, by its name.
    pub(super) log_bytes: BTreeMap<String, u64>,
    #[serde(default)]
    block_quantiles: BlockQuantiles,
}

/// A second that is still open.
#[derive(Debug, Default)]
struct OpenSecond {
    row: SecondRow,
    times: Times,
}

/// The part of a block's beginning that was a warm-up beyond the planned one.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The first of the block's seconds that counts.
    first: u32,
    /// Seconds of the measured part before it.
    s: f64,
    /// The times that were recorded in that.
    recorded: Recorded,
}

/// The figures of a step while its blocks run.
#[derive(Debug)]
pub(crate) struct StepFold {
    level: f64,
    times: Times,
    logs: Logs,
    block: u32,
    block_started: SystemTime,
    block_times: Times,
    open: BTreeMap<(u32, bool), OpenSecond>,
    pub(crate) series: Vec<SecondRow>,
    block_quantiles: BlockQuantiles,
    /// In a trial, the beginning of the block under way: its warm-up is left out when the block is over.
    head: Option<Beginning>,
}

impl StepFold {
    /// `stem`: start of its logs' names.
    pub(crate) fn new(level: f64, stem: String) -> Self {
        StepFold {
            level,
            times: Times::default(),
            logs: Logs::new(stem),
            block: 0,
            block_started: SystemTime::UNIX_EPOCH,
            block_times: Times::default(),
            open: BTreeMap::new(),
            series: Vec::new(),
            block_quantiles: BlockQuantiles::default(),
            head: None,
        }
    }

    /// A fold whose histograms go into no log.
    pub(crate) fn unlogged(level: f64) -> Self {
        StepFold { logs: Logs::none(), ..StepFold::new(level, String::new()) }
    }

    /// The same for a block of a trial: what of its beginning is warm-up, beyond the planned one, is in no figure and no log.
    pub(crate) fn leaving_warm_up_out(self) -> Self {
        StepFold { head: Some(Beginning::default()), logs: self.logs.after_each_block(), ..self }
    }

    /// The fold of a step as it was kept; `result` is the step in the document.
    pub(super) fn restore(
        level: f64,
        stem: String,
        state: &FoldState,
        result: &StepResult,
    ) -> Result<Self, HistogramError> {
        Ok(StepFold {
            times: (&state.times).try_into()?,
            series: result.series.clone(),
            block_quantiles: state.block_quantiles.clone(),
            logs: Logs::new(stem).go_on_with(result.histogram_logs.clone()),
            ..StepFold::new(level, String::new())
        })
    }

    /// The state to be kept of it after a block.
    pub(super) fn state(&self, dir: &RunDir) -> FoldState {
        let bytes = |log: &String| (log.clone(), dir.log_bytes(log));
        FoldState {
            times: (&self.times).into(),
            log_bytes: self.logs.names().values().map(bytes).collect(),
            block_quantiles: self.block_quantiles.clone(),
        }
    }

    /// Takes over what another fold made of its blocks, with its logs.
    pub(super) fn take_figures(&mut self, other: StepFold) {
        let own = std::mem::replace(&mut self.logs, Logs::none());
        *self = StepFold { logs: own.take_over(other.logs), ..other };
    }

    /// The names of its logs, by measure.
    pub(super) fn logs(&self) -> &BTreeMap<String, String> {
        self.logs.names()
    }

    /// The histogram of a latency of the block under way, or of the last one.
    pub(super) fn block_latency(&self, latency: GoalLatency) -> &Histogram {
        match latency {
            GoalLatency::Acknowledge => &self.block_times.acknowledge.response,
            GoalLatency::EndToEnd => &self.block_times.end_to_end.response,
        }
    }

    /// The same from the actual send.
    pub(super) fn block_service(&self, latency: GoalLatency) -> &Histogram {
        match latency {
            GoalLatency::Acknowledge => &self.block_times.acknowledge.service,
            GoalLatency::EndToEnd => &self.block_times.end_to_end.service,
        }
    }

    /// Start of the names of its files.
    pub(super) fn stem(&self) -> &str {
        self.logs.stem()
    }

    /// The block's first intended send is about now: the logs' times count from here.
    pub(crate) fn schedule_begins(&mut self) {
        self.block_started = SystemTime::now();
    }

    /// A block begins: clients are made, its schedule begins later.
    pub(crate) fn begin_block(&mut self, block: u32) {
        self.block = block;
        self.block_times = Times::default();
        self.logs.begin_block();
        self.head = self.head.take().map(|_| Beginning::default());
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
        if part.measure == Measure::Slip {
            second.row.slip_max_ns = second.row.slip_max_ns.max(part.response.exact().max_ns);
        }
        second.times.add(part);
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
        let OpenSecond { mut row, times } = second;
        if !row.warm_up {
            let start = self.block_started + Duration::from_secs(u64::from(row.second));
            self.logs.second(row.second, start, &times, dir)?;
            let held = self.head.as_mut().is_some_and(|head| head.hold(row.second, &times));
            if !held {
                self.add(&times);
            }
        }
        row.end_to_end = second_latency(&times.end_to_end.response);
        row.acknowledge = second_latency(&times.acknowledge.response);
        // A part that came after its second was closed is a row of its own: nothing is dropped.
        self.series.push(row);
        Ok(())
    }

    /// Takes a second's times into the figures of step and block.
    fn add(&mut self, times: &Times) {
        self.times.merge(times);
        self.block_times.merge(times);
    }

    /// In a trial, leaves out what of the block's beginning was a warm-up.
    fn leave_warm_up_out(&mut self, outcome: &BlockOutcome) -> Result<Option<Cut>> {
        let Some(head) = &mut self.head else { return Ok(None) };
        let begun = Duration::from_nanos(outcome.measured_after_ns.unwrap_or(0));
        let measured = Duration::from_nanos(outcome.measured_ns.max(outcome.receiving_ns.unwrap_or(0)));
        // The second in which the measured part ends is not a whole one.
        let last = u32::try_from((begun + measured).as_secs().saturating_sub(1)).unwrap_or(u32::MAX);
        let own: Vec<SecondRow> = self.series.iter().filter(|row| row.block == self.block).cloned().collect();
        let first = beginning::first_that_counts(&own, last).unwrap_or(0);
        let (held, recorded) = head.release(first)?;
        held.iter().for_each(|times| self.add(times));
        let cut = self.series.iter_mut().filter(|row| row.block == self.block && row.second < first);
        let mut any = false;
        for row in cut.filter(|row| !row.warm_up) {
            row.warm_up = true;
            any = true;
        }
        let s = f64::from(first) - begun.as_secs_f64();
        Ok((any && s > 0.0).then_some(Cut { first, s, recorded }))
    }

    /// The counts of the block under way, as far as its closed seconds tell: messages that are not acknowledged yet are of
    /// unknown outcome, and lost and duplicate ones are known at its end.
    pub(super) fn counts_so_far(&self) -> Counts {
        let (sent, acked) = (self.seen(|row| row.sent), self.seen(|row| row.acked));
        Counts {
            intended: sent,
            sent,
            acked,
            unknown: sent.saturating_sub(acked),
            received: self.seen(|row| row.received),
            ..Counts::default()
        }
    }

    /// Messages of the block under way that were seen in the seconds that count.
    fn seen(&self, messages: fn(&SecondRow) -> u64) -> u64 {
        let own = self.series.iter().filter(|row| row.block == self.block && !row.warm_up);
        own.map(messages).sum()
    }

    /// Messages per second of a measured part of `ns` without its first seconds, by what was seen in those after them.
    fn rate_without(&self, cut: Cut, ns: u64, messages: fn(&SecondRow) -> u64) -> Option<f64> {
        per_s(self.seen(messages), ns.checked_sub((cut.s * 1e9) as u64)?)
    }

    /// The work of a block without its warm-up: CPU time and messages of the seconds that count.
    fn after_warm_up(&self, cut: Cut, outcome: &BlockOutcome, cpu: &CpuBySecond) -> AfterWarmUp {
        let messages = match outcome.counts.acked {
            0 => self.seen(|row| row.received),
            _ => self.seen(|row| row.acked),
        };
        let since = cpu.since(cut.first);
        AfterWarmUp {
            messages,
            // That of a program is not known second by second.
            client_cpu_s: since.client_s.filter(|_| outcome.programs.is_empty()),
            broker_cpu_s: since.brokers_s,
            cut_end_to_end: cut.recorded.end_to_end,
            cut_acknowledge: cut.recorded.acknowledge,
        }
    }

    /// The block is over: its own figures. `cpu`: what its seconds cost.
    pub(crate) fn end_block(
        &mut self,
        outcome: &BlockOutcome,
        cpu: &CpuBySecond,
        dir: &mut RunDir,
    ) -> Result<BlockResult> {
        self.close(u32::MAX, dir)?;
        let cut = self.leave_warm_up_out(outcome)?;
        self.logs.end_block(cut.map_or(0, |cut| cut.first), dir)?;
        let own: Vec<SecondRow> = self.series.iter().filter(|row| row.block == self.block).cloned().collect();
        if !outcome.stopped {
            let (quantiles, times) = (&mut self.block_quantiles, &self.block_times);
            quantiles.end_to_end.extend(MedianAndTail::of_block(&times.end_to_end.response));
            quantiles.acknowledge.extend(MedianAndTail::of_block(&times.acknowledge.response));
        }
        let block_figures = |histogram: &Histogram, latency: fn(&SecondRow) -> &SecondLatency| {
            let batches = batches(&own, latency);
            figures(histogram, &Spread { level: self.level, block_means_ns: &[], batches: &batches })
        };
        Ok(BlockResult {
            block: self.block,
            seconds_from: instant(outcome.seconds_from_epoch_ns),
            measured_after_s: outcome.measured_after_ns.map(|ns| ns as f64 / 1e9),
            counts: outcome.counts,
            acknowledged_within_s: outcome.acknowledged_within_ns.map(|ns| ns as f64 / 1e9),
            achieved_per_s: match cut {
                Some(cut) => self.rate_without(cut, outcome.measured_ns, |row| row.acked),
                None => per_s(outcome.counts.acked, outcome.measured_ns),
            },
            received_per_s: outcome.receiving_ns.and_then(|ns| match cut {
                Some(cut) => self.rate_without(cut, ns, |row| row.received),
                None => per_s(outcome.received_messages, ns),
            }),
            warm_up_cut_s: cut.map_or(0.0, |cut| cut.s),
            after_warm_up: cut.map(|cut| self.after_warm_up(cut, outcome, cpu)),
            drain_s: outcome.drain_ns.map(|ns| ns as f64 / 1e9),
            end_to_end: Distribution {
                clock_error_ns: outcome.workers.iter().filter_map(WorkerOutcome::clock_error_ns).max(),
                ..block_figures(&self.block_times.end_to_end.response, |row| &row.end_to_end)
            },
            acknowledge: block_figures(&self.block_times.acknowledge.response, |row| &row.acknowledge),
            catch_up_at_most_ns: outcome.catch_up_at_most_ns,
            append_times: outcome.append_times,
            replication_lag: outcome.replication_lag,
            slip_mean_ns: self.block_times.slip.mean_ns(),
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
        let clock_error_ns = blocks.iter().filter_map(|block| block.end_to_end.clock_error_ns).max();
        let between_clocks = |figures: Distribution| Distribution { clock_error_ns, ..figures };
        Latencies {
            end_to_end: between_clocks(MedianAndTail::widen(
                &self.block_quantiles.end_to_end,
                whole(&self.times.end_to_end.response, &end_to_end, &end_to_end_batches),
            )),
            acknowledge: MedianAndTail::widen(
                &self.block_quantiles.acknowledge,
                whole(&self.times.acknowledge.response, &acknowledge, &acknowledge_batches),
            ),
            // The seconds are of response times; service times get no interval from them.
            end_to_end_service: between_clocks(whole(&self.times.end_to_end.service, &[], &[])),
            acknowledge_service: whole(&self.times.acknowledge.service, &[], &[]),
        }
    }

    /// The schedule's slip so far.
    pub(crate) fn slip(&self) -> Distribution {
        distribution(&self.times.slip, &Spread { level: self.level, block_means_ns: &[], batches: &[] })
    }
}

/// So many in so long, per second.
pub(super) fn per_s(number: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| number as f64 * 1e9 / ns as f64)
}
