//! Checks of the samples against the flags: a file of other columns, a state that was called a counter, a counter that nobody
//! called one, and several rows for each server and time are errors.

use crate::error::FleetInputError;
use crate::exclusions::Left;
use crate::order::{Quantity, Steps};
use crate::request::{FleetRequest, FleetSource, Sampling};
use crate::rows::Rows;
use crate::track::SeriesCells;
use plumb_model::fleet::SampleKind;

/// A file of which more rows are unusable is not what the flags say. Ours.
const UNUSABLE_PERCENT: u64 = 5;

/// Falls that keep more than half of the count, as a share of all steps, above which it is no counter; and at least so many falls. Ours.
const SLIPS_PERCENT: u64 = 1;
const FALLS_AT_LEAST: u64 = 20;

/// Falls of any size, as a share of all steps, above which it is no counter, if there is also one fall for so few rises: processes
/// that restart every day have more falls, and many rises for each. Ours.
const FALLS_PERCENT: u64 = 3;
const RISES_PER_FALL: u64 = 4;

/// A series that rises at least so often for each fall looks like a counter, if it has at least so many samples: of values without an
/// order, two of the 120 orders of five would. So many rises in all are needed to say so. Ours.
const COUNTER_RISES_PER_FALL: u32 = 10;
const COUNTER_SAMPLES: u64 = 5;
const COUNTER_RISES: u64 = 10;

/// Samples of one server and time as a share of all, above which files have several rows for each, if any of them differ; and at
/// least so many. Ours.
const SAME_TIME_PERCENT: u64 = 1;
const SAME_TIME_AT_LEAST: u64 = 10;

/// Checks that enough rows could be used.
pub(super) fn usable(rows: &Rows) -> Result<(), FleetInputError> {
    let kinds = [Left::BrokenRow, Left::NoServer, Left::NoTime];
    let unusable: u64 = kinds.iter().map(|kind| rows.left.count(*kind)).sum();
    if unusable * 100 <= rows.rows * UNUSABLE_PERCENT {
        return Ok(());
    }
    let most = kinds.into_iter().max_by_key(|kind| rows.left.count(*kind)).unwrap_or(Left::BrokenRow);
    let what = match most {
        Left::NoServer => " (no server)",
        Left::NoTime => " (the time cannot be read or is not between 1971 and 2200)",
        _ => "",
    };
    let example = format!("{}{what}", rows.left.example(most));
    Err(FleetInputError::TooManyUnusable { unusable, rows: rows.rows, example })
}

/// The reason why there may be none.
pub(super) fn no_samples(rows: &Rows) -> String {
    if rows.rows == 0 {
        return "there are no rows".to_owned();
    }
    let outside = rows.left.count(Left::OutsideWindow);
    if outside > 0 {
        return format!("{outside} of {} rows are outside the window asked for", rows.rows);
    }
    format!("{} rows were read", rows.rows)
}

/// Checks that each server has one row for each time, but for a few that came twice.
pub(super) fn one_row_each(rows: &Rows, samples: u64) -> Result<(), FleetInputError> {
    let unlike = rows.left.count(Left::Contradicting);
    let repeated = unlike + rows.left.count(Left::Repeated);
    if unlike == 0 || repeated < SAME_TIME_AT_LEAST || repeated * 100 <= samples * SAME_TIME_PERCENT {
        return Ok(());
    }
    let example = rows.left.example(Left::Contradicting).to_owned();
    Err(FleetInputError::SeveralRows { repeated, rows: samples, example })
}

/// A quantity's samples.
pub(super) struct Samples<'a> {
    pub(super) quantity: Quantity,
    pub(super) series: &'a [SeriesCells],
    pub(super) steps: &'a Steps,
}

impl Samples<'_> {
    /// Checks the samples against the kind that was stated, or the one that is assumed where none was.
    pub(super) fn are_as_said(&self, request: &FleetRequest, rows: &Rows) -> Result<(), FleetInputError> {
        let sampling = match self.quantity {
            Quantity::Metric => request.metric_kind,
            Quantity::Load => request.load_kind,
        };
        match sampling {
            Sampling::Stated(SampleKind::Counter) | Sampling::Usual(SampleKind::Counter) => {
                self.count_up(rows)
            }
            Sampling::Usual(SampleKind::Increments) => self.are_no_counter(request),
            Sampling::Stated(_) | Sampling::Usual(SampleKind::Level) => Ok(()),
        }
    }

    /// Checks that samples called a counter are one.
    fn count_up(&self, rows: &Rows) -> Result<(), FleetInputError> {
        let Steps { steps, slips, example } = self.steps;
        let of = |of: fn(&SeriesCells) -> u32| self.series.iter().map(|it| u64::from(of(it))).sum::<u64>();
        let (rises, falls) = (of(|it| it.moves.rises), of(|it| it.moves.falls));
        let slip = *slips >= FALLS_AT_LEAST && slips * 100 > steps * SLIPS_PERCENT;
        let fall =
            falls >= FALLS_AT_LEAST && falls * 100 > steps * FALLS_PERCENT && falls * RISES_PER_FALL > rises;
        if !slip && !fall {
            return Ok(());
        }
        let resets = match self.quantity {
            Quantity::Metric => Left::MetricReset,
            Quantity::Load => Left::LoadReset,
        };
        let example = if slip { example.as_str() } else { rows.left.example(resets) };
        let falls = if slip { *slips } else { falls };
        let (quantity, example) = (self.quantity.word(), example.to_owned());
        Err(FleetInputError::NotACounter { quantity, falls, steps: *steps, example })
    }

    /// Checks that samples that nobody called a counter are none.
    fn are_no_counter(&self, request: &FleetRequest) -> Result<(), FleetInputError> {
        let moves = |series: &&SeriesCells| series.moves.rises + series.moves.falls > 0;
        let enough = self.series.iter().filter(|series| series.samples() >= COUNTER_SAMPLES).filter(moves);
        let (counting, other): (Vec<&SeriesCells>, Vec<&SeriesCells>) =
            enough.partition(|it| it.moves.falls * COUNTER_RISES_PER_FALL <= it.moves.rises);
        let rises: u64 = counting.iter().map(|it| u64::from(it.moves.rises)).sum();
        if counting.len() < other.len() || rises < COUNTER_RISES {
            return Ok(());
        }
        let FleetSource::Files(files) = &request.source else { return Ok(()) };
        let name = match self.quantity {
            Quantity::Metric => files.columns.metric.clone(),
            Quantity::Load => files.columns.load.clone().unwrap_or_default(),
        };
        let (counting, all) = (counting.len(), counting.len() + other.len());
        Err(FleetInputError::LooksLikeACounter { quantity: self.quantity.word(), name, counting, all })
    }
}
