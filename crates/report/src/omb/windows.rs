//! A step's seconds put together to the benchmark's windows.

use super::SecondHistograms;
use plumb_model::document::RunDocument;
use plumb_model::observation::SecondRow;
use plumb_model::plan::Mode;
use plumb_stats::histogram::Histogram;
use std::collections::BTreeSet;

/// Length of a window: the benchmark's, and what its chart script takes for granted.
pub(super) const WINDOW_S: u32 = 10;

/// The events of one window.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) publish_per_s: f64,
    pub(super) consume_per_s: f64,
    /// Acknowledged and not yet received, at its end.
    pub(super) backlog: u64,
    pub(super) publish: Option<Histogram>,
    pub(super) end_to_end: Option<Histogram>,
    pub(super) delay: Option<Histogram>,
}

/// The windows of a step, block after block. Only whole ones count, because a rate over a part of a second is none; a
/// block that is shorter than a window is one window.
pub(super) fn of(document: &RunDocument, index: usize, seconds: SecondHistograms<'_>) -> Vec<Window> {
    let (step, plan) = (&document.steps[index], &document.plan);
    let load = &plan.steps[index].load;
    let begins = load.warm_up.as_secs_f64().ceil() as u32;
    let planned_s = load.planned_s().map(|time| (time / f64::from(plan.blocks) + 1e-6).floor() as u32);
    let blocks: BTreeSet<u32> = step.series.iter().map(|row| row.block).collect();
    let mut windows = Vec::new();
    for block in blocks {
        let rows: Vec<PlacedRow> = (0..)
            .zip(&step.series)
            .map(|(place, row)| PlacedRow { place, row })
            .filter(|of| of.row.block == block && !of.row.warm_up && of.row.second >= begins)
            .collect();
        let Some(last) = rows.iter().map(|of| of.row.second).max() else { continue };
        let length_s = planned_s.unwrap_or(last - begins);
        // A second without a message has no row: what ran to its end has all that was planned. What was stopped, or reads until
        // nothing is left, has no rows for the rest.
        let ended = step.blocks.iter().any(|result| result.block == block && !result.cut_short);
        let to_its_end = ended && planned_s.is_some() && load.mode != Mode::Consume;
        let mut behind = 0i64;
        let mut made = 0;
        for number in 0..length_s / WINDOW_S {
            let start = begins + number * WINDOW_S;
            let within = |of: &&PlacedRow| (start..start + WINDOW_S).contains(&of.row.second);
            let part: Vec<_> = rows.iter().filter(within).copied().collect();
            if !to_its_end && start + WINDOW_S > last + 1 {
                break;
            }
            windows.push(window(&part, f64::from(WINDOW_S), seconds, &mut behind));
            made += 1;
        }
        if made == 0 {
            let result = step.blocks.iter().find(|result| result.block == block);
            let mut whole = window(&rows, 1.0, seconds, &mut behind);
            whole.publish_per_s = result.and_then(|result| result.achieved_per_s).unwrap_or(0.0);
            whole.consume_per_s =
                result.and_then(|result| result.received_per_s.or(result.achieved_per_s)).unwrap_or(0.0);
            windows.push(whole);
        }
    }
    windows
}

/// A row of the series, and its place there.
#[derive(Debug, Clone, Copy)]
struct PlacedRow<'a> {
    place: usize,
    row: &'a SecondRow,
}

fn window(rows: &[PlacedRow<'_>], length_s: f64, seconds: SecondHistograms<'_>, behind: &mut i64) -> Window {
    let acked: u64 = rows.iter().map(|of| of.row.acked).sum();
    let received: u64 = rows.iter().map(|of| of.row.received).sum();
    *behind += acked as i64 - received as i64;
    Window {
        publish_per_s: acked as f64 / length_s,
        consume_per_s: received as f64 / length_s,
        backlog: u64::try_from(*behind).unwrap_or(0),
        publish: together(rows, seconds.acknowledge_service),
        end_to_end: together(rows, seconds.end_to_end_service),
        delay: together(rows, seconds.slip),
    }
}

fn together(rows: &[PlacedRow<'_>], histograms: &[Option<Histogram>]) -> Option<Histogram> {
    let mut found = rows.iter().filter_map(|of| histograms.get(of.place)?.as_ref());
    let mut sum = found.next()?.clone();
    found.for_each(|histogram| sum.merge(histogram));
    Some(sum)
}
