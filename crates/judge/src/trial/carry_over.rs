//! The effect of an arm on the block that runs after it: dirty pages, a queue, a hot cache that it leaves behind.
//!
//! Its opponents run after it more often than it does itself, so it looks better than it is by their loss. The random order
//! tells: of one arm's blocks, some ran after this arm and some after another, and nothing else is different between them. The
//! comparison is of each block's logarithm less its round's mean and its arm's, by ranks.

use super::metric::Metric;
use super::{Arm, Trial};
use plumb_model::document::BlockResult;
use plumb_model::figure::{change, p_value};
use plumb_model::prose::quoted;
use plumb_model::trial::Good;
use plumb_stats::rank_sum::{rank_sum, shift};
use std::collections::BTreeMap;

/// Fewest blocks after an arm, and after others, that say anything (ours).
const BLOCKS_MIN: usize = 4;

/// Largest share of an arm's effect on the block after it that is in a pair's ratio (ours): of three steps in random order the
/// opponent runs right after the arm in four rounds of nine, and the arm after itself in one, a third more often.
const SHARE_IN_RATIO: f64 = 0.5;

/// The limits beyond which a carry-over is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The chance of it where no arm does anything, 0..1.
    pub(super) alpha: f64,
    /// The error of a ratio that matters, as a logarithm.
    pub(super) size_log: f64,
}

/// The harm that an arm does to the blocks after it, as a sentence. An advantage of those blocks is not told: harm alone makes the
/// arm look better than it is.
pub(super) fn harm(all: &Trial, metric: &'static Metric, arm: &Arm, limits: Limits) -> Option<String> {
    let sign = if metric.good == Good::Lower { 1.0 } else { -1.0 };
    let blocks = blocks(all, metric);
    let part = |after: bool| -> Vec<f64> {
        let part = blocks.iter().filter(|block| (block.after == arm.name) == after);
        part.map(|block| sign * block.rest).collect()
    };
    let (after_others, after_it) = (part(false), part(true));
    if after_it.len().min(after_others.len()) < BLOCKS_MIN {
        return None;
    }
    let p = rank_sum(&after_others, &after_it)?.p_greater;
    if p > limits.alpha {
        return None;
    }
    let shift = shift(&after_others, &after_it, all.level)?;
    if SHARE_IN_RATIO * shift.high < limits.size_log {
        return None;
    }
    let by = sign * shift.estimate;
    Some(format!(
        "the {} of blocks that ran right after one of {} differs by {} from that of blocks after another ({}), to their harm: \
         what an arm leaves behind for its opponents makes it look better than it is; a longer warm-up keeps blocks apart",
        metric.words,
        quoted(arm.name),
        change(by.exp()),
        p_value(p)
    ))
}

/// A block with what is left of its logarithm when its round and its arm are taken out.
struct Block<'a> {
    /// The setting that ran before it.
    after: &'a str,
    rest: f64,
}

fn blocks<'a>(all: &'a Trial, metric: &Metric) -> Vec<Block<'a>> {
    let reference = all.arms[0].name;
    let setting = |index: usize| all.arms.get(index).map_or(reference, |arm| arm.name);
    let ran = |(index, block): (usize, &BlockResult)| (block.position, setting(index));
    let every = all
        .steps()
        .enumerate()
        .flat_map(|(index, arm)| arm.blocks.values().map(move |block| (index, *block)));
    let order: BTreeMap<u32, &str> = every.map(ran).collect();
    let rounds = all.rounds.whole.iter().filter_map(|round| {
        let logs = all.steps().map(|arm| Some(metric.value(arm.blocks.get(round)?)?.ln()));
        let logs: Vec<f64> = logs.collect::<Option<_>>()?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Some((*round, logs.into_iter().map(|log| log - mean).collect::<Vec<f64>>()))
    });
    let rounds: Vec<(u32, Vec<f64>)> = rounds.collect();
    let of_arm = |(index, arm): (usize, &Arm<'a>)| {
        let mean = rounds.iter().map(|(_, logs)| logs[index]).sum::<f64>() / rounds.len() as f64;
        let block = |(round, logs): &(u32, Vec<f64>)| {
            let before = arm.blocks.get(round)?.position.checked_sub(1)?;
            Some(Block { after: order.get(&before)?, rest: logs[index] - mean })
        };
        rounds.iter().filter_map(block).collect::<Vec<_>>()
    };
    all.steps().enumerate().flat_map(of_arm).collect()
}
