//! The producers' queue second by second, one small chart a setup, all on one scale.

use super::Key;
use super::grid::Grid;
use super::scale::{linear_ticks, percent};
use crate::queues::{self, StepQueue};
use plumb_model::document::RunDocument;
use plumb_model::figure::{count, counted, plain};
use plumb_model::queue::{QueueLevel, QueueResult};
use std::fmt::Write;

/// The section.
pub(super) struct QueueView {
    pub(super) heading: &'static str,
    pub(super) meaning: &'static str,
    pub(super) grid: Grid,
    /// The times after which those that grow would be full: setup and sentence.
    pub(super) full: Vec<(usize, String)>,
    pub(super) charts: Vec<QueueChart>,
    pub(super) y_ticks: Vec<(String, String)>,
}

/// One setup.
pub(super) struct QueueChart {
    pub(super) key: Key,
    /// A line for each block, in a square of 1000 by 1000.
    pub(super) blocks: Vec<String>,
    /// The warm-up of each block: place and width.
    pub(super) warm_ups: Vec<(String, String)>,
    pub(super) length: String,
    pub(super) description: String,
}

/// None where no step shows a queue.
pub(super) fn view(document: &RunDocument) -> Option<QueueView> {
    let all = queues::all(document);
    let most = all.iter().map(|of| of.queue.longest).fold(1.0, f64::max);
    let rows = all.iter().map(|StepQueue { index, step, queue }| {
        let name = format!("#{} {}", index + 1, step.name);
        std::iter::once(name).chain(queues::cells(queue)).collect()
    });
    let head = std::iter::once("setup").chain(queues::COLUMNS).map(str::to_owned);
    let (head, rows): (Vec<String>, Vec<Vec<String>>) = (head.collect(), rows.collect());
    (!all.is_empty()).then(|| QueueView {
        heading: queues::HEADING,
        meaning: queues::MEANING,
        grid: Grid {
            caption: queues::HEADING.to_owned(),
            heads: head,
            rows,
            numeric: true,
            notes: queues::interval_note(document).into_iter().collect(),
        },
        full: all.iter().filter_map(|of| Some((of.index + 1, queues::full(of.queue)?))).collect(),
        charts: all.iter().map(|of| chart(Key::new(of.index, of.step), of.queue, most)).collect(),
        y_ticks: linear_ticks(most, 3.0)
            .into_iter()
            .map(|messages| (percent(1.0 - messages / most), plain(messages)))
            .collect(),
    })
}

fn chart(key: Key, queue: &QueueResult, most: f64) -> QueueChart {
    let whole = queue.levels.len().max(1) as f64;
    let mut done = 0;
    let (mut blocks, mut warm_ups) = (Vec::new(), Vec::new());
    for levels in queue.levels.chunk_by(|a: &QueueLevel, b| a.block == b.block) {
        let mut line = String::new();
        for (index, level) in levels.iter().enumerate() {
            let x = ((done + index) as f64 + 0.5) / whole * 1000.0;
            let y = (1.0 - level.messages / most) * 1000.0;
            // Writing to a String cannot fail.
            let _ = write!(line, "{x:.1},{y:.1} ");
        }
        let warm = levels.iter().filter(|level| level.warm_up).count();
        if warm > 0 {
            warm_ups.push((percent(done as f64 / whole), percent(warm as f64 / whole)));
        }
        blocks.push(line);
        done += levels.len();
    }
    QueueChart {
        key,
        blocks,
        warm_ups,
        length: counted(queue.levels.len(), "second"),
        description: format!("up to {} messages", count(queue.longest.round() as u64)),
    }
}
