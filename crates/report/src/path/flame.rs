//! A flame graph of a profile: stacks merged into a tree for each class of threads, drawn as SVG that reads without scripts and can be
//! searched and zoomed with one.
//!
//! The root is on top. A frame is as wide as the samples that it and what it called took; its colour is the class of CPU time that nine
//! tenths of them are of, grey where they are mixed. Threads of one class are put together, so that three network threads are one
//! picture; the collapsed stacks have each for itself. Names come from the watched process: they are cut, cleaned and escaped.

mod layout;
mod svg;
mod tree;

pub use svg::file;

use layout::Rect;
use plumb_model::observed::{CpuClass, Profile, ThreadClass};

/// A flame graph, ready to be drawn.
#[derive(Debug)]
pub(crate) struct Flame {
    /// The profiler.
    pub(crate) source: String,
    /// The thread classes, most samples first.
    pub(crate) groups: Vec<Group>,
    /// Names of frames, one a line.
    pub(crate) names: String,
    /// Frames from the outermost to the innermost, four numbers each: depth, name, samples, style. For the script.
    pub(crate) nodes: String,
    /// Style classes by number: those of CPU classes, mixed, not told, not kept.
    pub(crate) styles: String,
    /// The picture without the script: the work, without compilers and collections.
    pub(crate) rects: Vec<Rect>,
    /// Height of that in pixels.
    pub(crate) height: u32,
    /// Classes that occur, with their colours.
    pub(crate) legend: Vec<Legend>,
    /// Frames with most samples of their own, in the same threads.
    pub(crate) own: Vec<OwnTime>,
    /// The parts that are not in the picture, in words.
    pub(crate) notes: Vec<String>,
}

/// The threads of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Their work.
    pub(crate) name: String,
    /// Samples.
    pub(crate) samples: String,
    /// True if it is shown at first: all but compilers and collections.
    pub(crate) is_work: bool,
}

/// A colour and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Legend {
    pub(crate) style: &'static str,
    pub(crate) name: &'static str,
}

/// The samples in which a frame was the innermost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnTime {
    pub(crate) frame: String,
    pub(crate) style: &'static str,
    pub(crate) samples: String,
    pub(crate) share: String,
}

/// Styles beside those of [`super::words::CPU_CLASSES`].
const MIXED: &str = "k-mixed";
const UNTOLD: &str = "k-untold";
const NOT_KEPT: &str = "k-not-kept";

/// None where the profile has no stack.
pub(crate) fn flame(profile: &Profile) -> Option<Flame> {
    let forest = tree::forest(profile);
    (!forest.groups.is_empty()).then(|| layout::flame(profile, &forest))
}

/// True if threads are part of the work that shares are of.
fn is_work(threads: Option<ThreadClass>) -> bool {
    !matches!(threads, Some(ThreadClass::Gc | ThreadClass::Jit))
}

fn style(class: Option<CpuClass>) -> &'static str {
    class.map_or(UNTOLD, super::words::cpu_style)
}

#[cfg(test)]
mod tests;
