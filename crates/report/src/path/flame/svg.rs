//! A flame graph as one SVG file: it can be looked at anywhere, and in a browser it zooms and can be searched.

use super::{Flame, flame};
use crate::ReportError;
use askama::Template;
use plumb_model::figure::time;
use plumb_model::observed::ProcessWindow;

/// Pixels above the frames: title, buttons, legend.
const HEAD: u32 = 150;
/// Pixels of a line of text.
const LINE: u32 = 15;

/// The file; none where the process has no profile with stacks.
///
/// # Errors
/// [`ReportError`] when the template fails, which no profile should cause.
pub fn file(process: &ProcessWindow) -> Result<Option<String>, ReportError> {
    let Some(profile) = &process.profile else { return Ok(None) };
    let Some(flame) = flame(profile) else { return Ok(None) };
    let command = crate::text::printable(&process.command);
    // A line for each note.
    let head = HEAD + LINE * flame.notes.len() as u32;
    let file = File {
        title: format!("CPU of process {} ({command}), {}", process.pid, time(profile.elapsed_ns as f64)),
        head,
        whole: flame.height + head,
        flame,
    };
    Ok(Some(file.render()?))
}

#[derive(Template)]
#[template(path = "flame.svg")]
struct File {
    title: String,
    head: u32,
    whole: u32,
    flame: Flame,
}
