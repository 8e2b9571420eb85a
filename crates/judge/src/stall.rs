//! Figures of latency that rest on one or two stalls: moments in which nothing came through, and all messages that were due came
//! late.
//!
//! A percentile counts messages, not moments: one stall of some seconds can hold more than one in a hundred of a run's messages,
//! and the p99 is then the length of that stall, however fast the path is otherwise. Changes of level are in `steadiness.rs`; a
//! stall changes none.

use crate::setup::Setup;
use plumb_model::observation::SecondRow;
use plumb_stats::median::median;

/// Least ratio of a stall to the slowest message of an ordinary second (ours).
const RATIO_MIN: f64 = 10.0;

/// Least ratio of a stall to the slowest message of all other seconds (ours): below it these have a like tail of their own.
const RATIO_TO_SLOWEST_MIN: f64 = 3.0;

/// Shortest stall that is told (ours: pauses of a JVM's collector and time slices of a shared host are shorter).
const LENGTH_NS_MIN: u64 = 200_000_000;

/// Shortest stall that is told where the maximum alone rests on it (ours): every run has a slowest message.
const MAXIMUM_NS_MIN: u64 = 1_000_000_000;

/// So many stalls are single events, of which no share of messages can be told; more are the path's tail (ours).
const STALLS_MAX: usize = 2;

/// A histogram's value may be this much above the sample itself (its three significant digits).
const ROUNDING: f64 = 1.001;

/// One stall within one block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stall {
    pub(crate) block: u32,
    /// Second of the block in which the first message was due that waited.
    pub(crate) from_s: u32,
    /// Second in which the first of them came: the stall was over.
    pub(crate) until_s: u32,
    /// Second in which the last of what had gathered came: it is later where the path was long at it.
    pub(crate) caught_up_s: u32,
    /// The longest wait.
    pub(crate) length_ns: u64,
}

/// The figures that stalls make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spoiled {
    /// The longest first.
    pub(crate) stalls: Vec<Stall>,
    /// Figures that only messages of the stalls reach: what, and how much.
    pub(crate) figures: Vec<(&'static str, u64)>,
    /// The slowest message of all other seconds.
    pub(crate) slowest_else_ns: u64,
    /// Share of the sum of all latencies that messages of the stalls have.
    pub(crate) share_of_mean: f64,
}

/// Figures that rest on one or two stalls; none where the load itself changes, or has no latency, or where messages wait by plan for
/// a backlog to be drained.
pub(crate) fn spoiled(setup: &Setup) -> Option<Spoiled> {
    if !setup.holds_its_rate() || !setup.has_latency() || setup.drains_a_backlog() {
        return None;
    }
    let rows: Vec<&SecondRow> =
        setup.result.series.iter().filter(|row| setup.headline_of_second(row).samples > 0).collect();
    let all = stalls(setup, &rows);
    (1..=STALLS_MAX.min(all.len())).find_map(|count| rest_on(setup, &rows, &all[..count]))
}

/// The figures that rest on exactly these stalls.
fn rest_on(setup: &Setup, rows: &[&SecondRow], stalls: &[Stall]) -> Option<Spoiled> {
    let (within, others): (Vec<&SecondRow>, Vec<&SecondRow>) =
        rows.iter().partition(|row| stalls.iter().any(|stall| stall.has(row)));
    let slowest_else_ns = others.iter().filter_map(|row| setup.headline_of_second(row).max_ns).max()?;
    let shortest_ns = stalls.last()?.length_ns;
    let beyond = |ns: u64| ns as f64 > slowest_else_ns as f64 * ROUNDING;
    if (shortest_ns as f64) < RATIO_TO_SLOWEST_MIN * slowest_else_ns as f64 {
        return None;
    }
    let headline = setup.headline();
    let quantiles = [
        ("p50", headline.p50_ns),
        ("p75", headline.p75_ns),
        ("p95", headline.p95_ns),
        ("p99", headline.p99_ns),
        ("p99.9", headline.p999_ns),
    ];
    let mut figures: Vec<(&str, u64)> =
        quantiles.into_iter().filter_map(|(what, ns)| Some((what, ns.filter(|ns| beyond(*ns))?))).collect();
    if figures.is_empty() && shortest_ns < MAXIMUM_NS_MIN {
        return None;
    }
    figures.extend(headline.max_ns.map(|max| ("maximum", max)));
    let sum = |rows: &[&SecondRow]| -> f64 {
        let sums = rows.iter().filter_map(|row| {
            let second = setup.headline_of_second(row);
            Some(second.mean_ns? * second.samples as f64)
        });
        sums.sum()
    };
    let (stalled, other) = (sum(&within), sum(&others));
    let share_of_mean = stalled / (stalled + other).max(f64::MIN_POSITIVE);
    Some(Spoiled { stalls: stalls.to_vec(), figures, slowest_else_ns, share_of_mean })
}

/// All stalls of a step, the longest first.
fn stalls(setup: &Setup, rows: &[&SecondRow]) -> Vec<Stall> {
    let slowest = |row: &SecondRow| setup.headline_of_second(row).max_ns;
    let ordinary = median(rows.iter().filter_map(|row| slowest(row)).map(|ns| ns as f64));
    let Some(ordinary) = ordinary else { return Vec::new() };
    let least = ((ordinary * RATIO_MIN) as u64).max(LENGTH_NS_MIN);
    let mut late: Vec<&SecondRow> =
        rows.iter().copied().filter(|row| slowest(row).is_some_and(|ns| ns >= least)).collect();
    late.sort_by_key(|row| std::cmp::Reverse(slowest(row)));
    let mut stalls: Vec<Stall> = Vec::new();
    for row in late {
        let length_ns = slowest(row).unwrap_or_default();
        if stalls.iter().any(|stall| stall.has(row)) {
            continue;
        }
        let from_s = first_due_s(rows, row, length_ns);
        // What gathered meanwhile comes over the seconds after it.
        let mut caught_up_s = row.second;
        while rows.iter().any(|next| {
            next.block == row.block
                && next.second == caught_up_s + 1
                && slowest(next).is_some_and(|ns| ns as f64 * RATIO_MIN > length_ns as f64)
        }) {
            caught_up_s += 1;
        }
        stalls.push(Stall { block: row.block, from_s, until_s: row.second, caught_up_s, length_ns });
    }
    stalls
}

/// Second in which a message was due that came in this one after this wait. When in its second it came is not known, so it is
/// one of two: the later, where that is the last in which anything came before.
fn first_due_s(rows: &[&SecondRow], came: &SecondRow, wait_ns: u64) -> u32 {
    let before = |wait_s: u64| u64::from(came.second).saturating_sub(wait_s) as u32;
    let [earlier, later] = [wait_ns.div_ceil(NS_PER_S), wait_ns / NS_PER_S].map(before);
    let of_block = rows.iter().filter(|row| row.block == came.block && row.second < came.second);
    let last_before = of_block.map(|row| row.second).max();
    if last_before == Some(later) { later } else { earlier }
}

const NS_PER_S: u64 = 1_000_000_000;

impl Stall {
    fn has(&self, row: &SecondRow) -> bool {
        row.block == self.block && (self.from_s..=self.caught_up_s).contains(&row.second)
    }
}
