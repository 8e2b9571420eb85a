//! Trees as what is drawn: the numbers for the script, the rectangles for those who have none, the legend, the notes.

use super::tree::{Forest, Frame, Root};
use super::{Flame, Group, Legend, MIXED, NOT_KEPT, OwnTime, UNTOLD, is_work, style};
use crate::html::scale;
use crate::path::words::{self, CPU_CLASSES};
use plumb_model::figure::{count, counted, percent};
use plumb_model::observed::{CpuClass, Profile};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Height of a frame in pixels.
const ROW: u32 = 18;
/// The part of the samples that must be of one class for a frame to have its colour (ours).
const ONE_CLASS: f64 = 0.9;
/// Share of the width below which a frame is not drawn without the script.
const DRAWN: f64 = 0.002;
/// Share of the width below which a frame has no text without the script.
const TEXT: f64 = 0.015;
/// Rectangles that are drawn at most without the script.
const RECTS_MOST: usize = 800;
/// Bytes of names and numbers for the script, at most: with the rest a page of one process stays under a megabyte.
const DATA_MOST: usize = 450_000;
/// Frames in the list of those with most samples of their own.
const OWN_MOST: usize = 12;

/// A frame that is drawn without the script; places and widths are shares of the picture's.
#[derive(Debug, Clone)]
pub(crate) struct Rect {
    pub(crate) x: String,
    pub(crate) y: u32,
    pub(crate) width: String,
    pub(crate) style: &'static str,
    /// The text that is read out: name, samples, share.
    pub(crate) title: String,
    /// The text on it; empty where there is no room.
    pub(crate) label: String,
}

/// The picture of these trees.
pub(super) fn flame(profile: &Profile, forest: &Forest) -> Flame {
    let data = data(forest);
    let dropped = forest.frames.len() - data.frames;
    let work: Vec<&Root> = forest.groups.iter().filter(|root| is_work(root.threads)).collect();
    // A profile of nothing but compilers is a picture, too.
    let shown = if work.is_empty() { forest.groups.iter().collect() } else { work };
    let is_shown = |root: &Root| shown.iter().any(|other| other.frame == root.frame);
    let rects = rects(forest, &shown);
    let deepest = rects.iter().map(|rect| rect.y).max().unwrap_or(0);
    Flame {
        source: crate::text::printable(&profile.source),
        groups: forest
            .groups
            .iter()
            .map(|root| Group {
                name: forest.names[forest.frames[root.frame].name].clone(),
                samples: count(forest.frames[root.frame].samples),
                is_work: is_shown(root),
            })
            .collect(),
        names: data.names,
        nodes: data.nodes,
        styles: styles().collect::<Vec<_>>().join(" "),
        height: deepest + ROW,
        rects,
        legend: legend(forest),
        own: own(forest, &shown),
        notes: notes(profile, forest, dropped),
    }
}

fn styles() -> impl Iterator<Item = &'static str> {
    CPU_CLASSES.into_iter().map(words::cpu_style).chain([MIXED, UNTOLD, NOT_KEPT])
}

/// The style of a frame: that of the class that nearly all of its samples are of.
fn style_of(frame: &Frame) -> &'static str {
    let most = frame.classes.iter().max_by_key(|(_, samples)| **samples);
    match most {
        Some((class, samples)) if *samples as f64 >= ONE_CLASS * frame.samples as f64 => style(*class),
        _ => MIXED,
    }
}

/// The data that the script draws from.
struct Data {
    names: String,
    nodes: String,
    /// Frames that are in it.
    frames: usize,
}

/// As many frames as [`DATA_MOST`] has room for: those with fewest samples are left out.
fn data(forest: &Forest) -> Data {
    let mut least = Some(1);
    loop {
        let data = data_from(forest, least);
        if data.names.len() + data.nodes.len() <= DATA_MOST || least.is_none() {
            return data;
        }
        least = least.and_then(|least: u64| least.checked_mul(2));
    }
}

/// The frames with at least so many samples; without a number the roots alone.
fn data_from(forest: &Forest, least: Option<u64>) -> Data {
    let styles: Vec<&str> = styles().collect();
    let number = |style: &str| styles.iter().position(|other| *other == style).unwrap_or(0);
    let mut names: Vec<&str> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut nodes = String::new();
    let mut frames = 0;
    let mut open: Vec<Open> = Vec::new();
    for root in &forest.groups {
        open.push(Open { frame: root.frame, depth: 0 });
        while let Some(Open { frame, depth }) = open.pop() {
            let frame = &forest.frames[frame];
            let name = *places.entry(frame.name).or_insert_with(|| {
                names.push(&forest.names[frame.name]);
                names.len() - 1
            });
            // Writing to a text does not fail.
            let _ = write!(nodes, "{depth} {name} {} {} ", frame.samples, number(style_of(frame)));
            frames += 1;
            let large = |child: &&usize| least.is_some_and(|least| forest.frames[**child].samples >= least);
            let children = frame.children.iter().rev().filter(large);
            open.extend(children.map(|child| Open { frame: *child, depth: depth + 1 }));
        }
    }
    Data { names: names.join("\n"), nodes, frames }
}

/// A frame that is still to be written.
struct Open {
    frame: usize,
    depth: usize,
}

/// All samples of these threads.
fn samples_of(forest: &Forest, roots: &[&Root]) -> u64 {
    roots.iter().fold(0, |sum, root| forest.frames[root.frame].samples.saturating_add(sum))
}

fn rects(forest: &Forest, shown: &[&Root]) -> Vec<Rect> {
    let whole = samples_of(forest, shown);
    let whole = whole.max(1) as f64;
    let mut rects = vec![Rect {
        x: scale::percent(0.0),
        y: 0,
        width: scale::percent(1.0),
        style: MIXED,
        title: format!("all that is shown: {}", counted(whole as u64, "sample")),
        label: "all that is shown".to_owned(),
    }];
    // Row by row, so that where there are too many the innermost are missing.
    let roots: Vec<usize> = shown.iter().map(|root| root.frame).collect();
    let mut row = beside(forest, &roots, 0);
    let mut depth = 1;
    while !row.is_empty() && rects.len() < RECTS_MOST {
        let mut next = Vec::new();
        for Placed { frame, start } in row {
            let frame = &forest.frames[frame];
            let share = frame.samples as f64 / whole;
            if share < DRAWN {
                continue;
            }
            rects.push(rect(forest, frame, start as f64 / whole, share, depth));
            next.extend(beside(forest, &frame.children, start));
        }
        row = next;
        depth += 1;
    }
    rects
}

/// A frame and the samples that are left of it.
struct Placed {
    frame: usize,
    start: u64,
}

/// Frames of one caller, one after the other.
fn beside(forest: &Forest, frames: &[usize], start: u64) -> Vec<Placed> {
    let place = |at: &mut u64, frame: &usize| {
        let placed = Placed { frame: *frame, start: *at };
        *at = at.saturating_add(forest.frames[*frame].samples);
        Some(placed)
    };
    frames.iter().scan(start, place).collect()
}

fn rect(forest: &Forest, frame: &Frame, x: f64, share: f64, depth: u32) -> Rect {
    let name = &forest.names[frame.name];
    Rect {
        x: scale::percent(x),
        y: depth * ROW,
        width: scale::percent(share),
        style: style_of(frame),
        title: format!("{name}: {}, {}", counted(frame.samples, "sample"), percent(share)),
        label: if share >= TEXT { label(name).to_owned() } else { String::new() },
    }
}

/// The last part of a Java name: `kafka/network/Processor.run` -> `Processor.run`. The script has the same.
fn label(name: &str) -> &str {
    match name.contains(' ') {
        true => name,
        false => name.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(name),
    }
}

fn legend(forest: &Forest) -> Vec<Legend> {
    let classes: BTreeSet<Option<CpuClass>> =
        forest.groups.iter().flat_map(|root| forest.frames[root.frame].classes.keys().copied()).collect();
    let known = CPU_CLASSES.into_iter().filter(|class| classes.contains(&Some(*class)));
    let mut legend: Vec<Legend> =
        known.map(|class| Legend { style: words::cpu_style(class), name: words::cpu(class) }).collect();
    if classes.contains(&None) {
        legend.push(Legend { style: UNTOLD, name: "class not told" });
    }
    legend.push(Legend { style: MIXED, name: "of several classes" });
    legend
}

fn own(forest: &Forest, shown: &[&Root]) -> Vec<OwnTime> {
    let whole: u64 = samples_of(forest, shown);
    let mut by_name: BTreeMap<usize, Frame> = BTreeMap::new();
    let mut open: Vec<usize> = shown.iter().map(|root| root.frame).collect();
    while let Some(index) = open.pop() {
        let frame = &forest.frames[index];
        open.extend(&frame.children);
        if frame.own == 0 {
            continue;
        }
        let sum = by_name.entry(frame.name).or_default();
        sum.name = frame.name;
        sum.own = sum.own.saturating_add(frame.own);
        sum.samples = sum.samples.saturating_add(frame.samples);
        for (class, samples) in &frame.classes {
            let of_class = sum.classes.entry(*class).or_default();
            *of_class = of_class.saturating_add(*samples);
        }
    }
    let mut all: Vec<Frame> = by_name.into_values().collect();
    all.sort_by_key(|sum| std::cmp::Reverse(sum.own));
    let told = |sum: Frame| OwnTime {
        frame: forest.names[sum.name].clone(),
        style: style_of(&sum),
        samples: count(sum.own),
        share: percent(sum.own as f64 / whole.max(1) as f64),
    };
    all.into_iter().take(OWN_MOST).map(told).collect()
}

fn notes(profile: &Profile, forest: &Forest, dropped: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let not_kept = forest.groups.iter().fold(0_u64, |sum, root| sum.saturating_add(root.not_kept));
    if not_kept > 0 {
        let file =
            profile.file.as_ref().map(|file| format!("; {} has them all", crate::text::printable(file)));
        notes.push(format!(
            "{} ({}) are of stacks that the document does not keep, those with fewest samples: blank below the threads that they are \
             of{}",
            counted(not_kept, "sample"),
            percent(not_kept as f64 / profile.samples.max(1) as f64),
            file.unwrap_or_default()
        ));
    }
    if dropped > 0 {
        notes.push(format!(
            "{} with fewest samples are left out to keep the page small",
            counted(dropped, "frame")
        ));
    }
    if forest.cut > 0 {
        notes.push(format!(
            "{} deeper than what is drawn: {} count for the last frame that is",
            if forest.cut == 1 { "a stack is" } else { "stacks are" },
            count(forest.cut as u64)
        ));
    }
    notes
}
