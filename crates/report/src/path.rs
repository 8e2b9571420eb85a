//! A watched path, to be read: for the terminal ([`text`]), as a page with pictures ([`page`]), its profile as a flame graph ([`flame`]), and
//! two of them side by side ([`side_by_side`], [`page::side_by_side`]).
//!
//! Nothing here judges: verdict, causes and limits are those of the document. What is absent is told as unknown, never drawn as 0.

pub mod flame;
pub mod page;
pub mod side_by_side;
pub mod text;
mod words;

use crate::paint::printable;
use crate::wording;
use plumb_model::figure::{counted, percent, time};
use plumb_model::observed::{ObservedPath, Profile};
use std::collections::BTreeSet;

/// `Path watched for 30.0 s, 2026-11-25 15:04:05 UTC`.
fn title(path: &ObservedPath) -> String {
    let stopped = if path.complete { "" } else { ", stopped before its end" };
    let began = printable(&wording::instant(&path.started_at));
    format!("Path watched for {}{stopped}, {began}", time(path.elapsed_ns as f64))
}

/// What the cost of the CPU profiles is of: each profiler's words once.
fn profilers_cost(path: &ObservedPath) -> String {
    let profiles = path.processes.iter().filter_map(|process| process.profile.as_ref());
    let words: BTreeSet<&str> = profiles.filter_map(|profile| profile.cpu_is_of.as_deref()).collect();
    words.into_iter().collect::<Vec<_>>().join("; ")
}

/// Of what the shares of a profile are.
fn profiled(profile: &Profile) -> String {
    let beyond = profile.samples.saturating_sub(profile.samples_of_work);
    // A native process has neither.
    let rest = match beyond {
        0 => String::new(),
        beyond => format!(
            "; compilers and collections took {}, and the shares are of the rest",
            percent(beyond as f64 / profile.samples.max(1) as f64)
        ),
    };
    let (samples, elapsed) = (counted(profile.samples, "sample"), time(profile.elapsed_ns as f64));
    printable(&format!("{samples} in {elapsed}, {}{rest}", profile.source))
}
