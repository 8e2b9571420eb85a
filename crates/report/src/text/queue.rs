//! The growth of the producers' queues: a row a setup, and its course.

use super::Page;
use crate::paint::Tone;
use crate::queues::{self, StepQueue};
use crate::sheet::table::{Column, Table};
use plumb_model::document::RunDocument;
use plumb_model::figure;
use plumb_model::queue::{QueueCourse, QueueLevel, QueueResult};

/// Most columns of a course.
const COURSE_WIDTH: usize = 60;

/// Nothing where no step shows a queue.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let all = queues::all(document);
    if all.is_empty() {
        return;
    }
    page.heading(queues::HEADING, queues::MEANING);
    let columns = queues::COLUMNS.iter().enumerate();
    let columns = columns.map(|(index, heading)| match index {
        2..=4 => Column::text(heading),
        _ => Column::decimal(*heading),
    });
    let mut table = Table::new("setup", columns.collect());
    for StepQueue { index, step, queue } in &all {
        let name = format!("#{} {}", index + 1, step.name);
        table.push(&name, queues::cells(queue), Tone::Plain);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    if let Some(note) = queues::interval_note(document) {
        page.prose("  ", &note, Tone::Dim);
    }
    for StepQueue { index, queue, .. } in &all {
        if let Some(full) = queues::full(queue) {
            page.prose(&format!("  #{}: ", index + 1), &full, Tone::Plain);
        }
        if queue.course == QueueCourse::Grows {
            page.prose(&format!("  #{} ", index + 1), &course(queue, page.width), Tone::Dim);
        }
    }
}

/// `▁▂▃▄▅▆▇█  block 1 of 3, 20 seconds, up to 16,204 messages`: the block in which it grew longest, its levels in eight steps.
fn course(queue: &QueueResult, width: usize) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let blocks: Vec<&[QueueLevel]> = queue.levels.chunk_by(|a, b| a.block == b.block).collect();
    let longest = |levels: &[QueueLevel]| levels.iter().map(|level| level.messages).fold(0.0, f64::max);
    let Some((index, levels)) =
        blocks.iter().enumerate().max_by(|a, b| longest(a.1).total_cmp(&longest(b.1)))
    else {
        return String::new();
    };
    let most = longest(levels);
    let columns = COURSE_WIDTH.min(width.saturating_sub(8)).max(1);
    let bars = levels.chunks(levels.len().div_ceil(columns)).map(|seconds| {
        let share = longest(seconds) / most.max(1.0);
        STEPS[((share * 7.0).round() as usize).min(7)]
    });
    format!(
        "{}  block {} of {}, {}, up to {} messages",
        bars.collect::<String>(),
        index + 1,
        blocks.len(),
        figure::counted(levels.len(), "second"),
        figure::count(most.round() as u64)
    )
}
