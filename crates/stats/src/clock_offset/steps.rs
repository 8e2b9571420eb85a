//! Where a clock stepped: exchanges are split where no line passes through all of them.
//!
//! Split from the front, a part goes on until an exchange fits no line with those before, so every step is at or before a split.
//! Split from the back likewise, every step is at or after one. An exchange between the two splits of a step may be of either side
//! (it took so long that its bounds fit both), and one taken to the wrong side would move the band off the truth. So it is in no
//! part. Both ways find the least number of steps that explain the exchanges, and the same number.

use super::lines::OffsetLines;
use super::{ClockModel, Exchange};
use std::ops::Range;

/// The parts between steps, of exchanges in the order of their times. The last one is empty only where there is no exchange.
pub(super) fn parts(exchanges: &[Exchange], model: &ClockModel, off_line_ns: f64) -> Vec<Range<usize>> {
    let fits =
        |window: &[Exchange]| OffsetLines::with_allowance(window, model.rate_max_ppm, off_line_ns).is_some();
    let from_front = splits(exchanges.len(), |first, last| {
        let latest_ns = exchanges[last].sent_ns.saturating_sub(model.window_ns);
        let near = exchanges[first..last].partition_point(|exchange| exchange.sent_ns < latest_ns);
        fits(&exchanges[first + near..=last])
    });
    if from_front.is_empty() {
        return std::iter::once(0..exchanges.len()).collect();
    }
    let count = exchanges.len();
    let mut from_back: Vec<usize> = splits(count, |first, last| {
        // Counted from the end, the first is the latest.
        let (first, last) = (count - 1 - last, count - 1 - first);
        let earliest_ns = exchanges[first].sent_ns.saturating_add(model.window_ns);
        let near = exchanges[first..=last].partition_point(|exchange| exchange.sent_ns <= earliest_ns);
        fits(&exchanges[first..first + near])
    })
    .into_iter()
    .map(|split| count - split)
    .collect();
    from_back.reverse();
    let begins = std::iter::once(0).chain(from_front);
    let ends = from_back.into_iter().chain(std::iter::once(count));
    begins.zip(ends).map(|(begin, end)| begin..end.max(begin)).collect()
}

/// The first of each part but the first, where a part goes on as long as `fits` its first and its last.
fn splits(count: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut splits = Vec::new();
    let mut first = 0;
    for last in 1..count {
        if !fits(first, last) {
            splits.push(last);
            first = last;
        }
    }
    splits
}
