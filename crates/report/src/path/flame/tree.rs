//! Stacks as trees, one for each class of threads.

use super::super::words;
use crate::paint::printable;
use plumb_model::observed::{CpuClass, Profile, Stack, ThreadClass};
use std::collections::{BTreeMap, HashMap};

/// Stacks that are looked at: what a document keeps. A document that has more was not written by Plumb.
const STACKS_MOST: usize = 2_000;
/// Frames of a stack that are drawn; what is deeper counts for the last of them.
const DEPTH_MOST: usize = 160;
/// Characters of a name that are kept (Java's are 40 to 120).
const NAME_MOST: usize = 160;

/// The trees.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// All frames; children of a frame are in `children`.
    pub(super) frames: Vec<Frame>,
    /// Roots: one for each class of threads, most samples first.
    pub(super) groups: Vec<Root>,
    /// Stacks that were deeper than what is drawn.
    pub(super) cut: usize,
    /// Names, each once.
    pub(super) names: Vec<String>,
}

/// The threads of one class.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) threads: Option<ThreadClass>,
    /// Its frame.
    pub(super) frame: usize,
    /// Samples of its stacks that the document does not keep.
    pub(super) not_kept: u64,
}

/// A frame of one tree.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// Its name in [`Forest::names`].
    pub(super) name: usize,
    /// Samples of it and of all that it called.
    pub(super) samples: u64,
    /// Samples in which it was the innermost, or the innermost that is drawn.
    pub(super) own: u64,
    /// Samples by class.
    pub(super) classes: BTreeMap<Option<CpuClass>, u64>,
    /// The frames that it called, most samples first.
    pub(super) children: Vec<usize>,
}

/// The trees of a profile.
pub(super) fn forest(profile: &Profile) -> Forest {
    let mut builder = Builder::default();
    for stack in profile.stacks.iter().take(STACKS_MOST).filter(|stack| stack.samples > 0) {
        builder.add(stack);
    }
    let mut forest = builder.forest;
    for root in &mut forest.groups {
        let kept = forest.frames[root.frame].samples;
        root.not_kept = samples_of(profile, root.threads).saturating_sub(kept);
        forest.frames[root.frame].samples = kept.saturating_add(root.not_kept);
    }
    for index in 0..forest.frames.len() {
        let mut children = std::mem::take(&mut forest.frames[index].children);
        children.sort_by_key(|child| std::cmp::Reverse(forest.frames[*child].samples));
        forest.frames[index].children = children;
    }
    let samples = |root: &Root| forest.frames[root.frame].samples;
    let mut order: Vec<usize> = (0..forest.groups.len()).collect();
    order.sort_by_key(|group| std::cmp::Reverse(samples(&forest.groups[*group])));
    let mut groups: Vec<Option<Root>> = forest.groups.drain(..).map(Some).collect();
    forest.groups = order.into_iter().filter_map(|group| groups[group].take()).collect();
    forest
}

/// All samples of a class of threads, those of stacks that are not kept included; 0 where the profile does not tell.
fn samples_of(profile: &Profile, threads: Option<ThreadClass>) -> u64 {
    let of_class = profile.shares.iter().filter(|share| threads.is_some() && share.threads == threads);
    of_class.fold(0_u64, |sum, share| sum.saturating_add(share.samples))
}

#[derive(Default)]
struct Builder {
    forest: Forest,
    names: HashMap<String, usize>,
    /// Children by parent and name.
    children: HashMap<(usize, usize), usize>,
}

impl Builder {
    fn add(&mut self, stack: &Stack) {
        let mut at = self.root(stack.threads);
        self.count(at, stack);
        let mut frames = stack.frames.split(';');
        let thread = frames.next().unwrap_or_default();
        // Threads that are of no class are kept apart, by their names without numbers.
        if matches!(stack.threads, None | Some(ThreadClass::Other)) {
            at = self.called(at, &thread_name(thread));
            self.count(at, stack);
        }
        let mut depth = 0;
        for frame in frames {
            depth += 1;
            if depth > DEPTH_MOST {
                self.forest.cut += 1;
                break;
            }
            at = self.called(at, &clean(frame));
            self.count(at, stack);
        }
        let own = &mut self.forest.frames[at].own;
        *own = own.saturating_add(stack.samples);
    }

    fn root(&mut self, threads: Option<ThreadClass>) -> usize {
        if let Some(root) = self.forest.groups.iter().find(|root| root.threads == threads) {
            return root.frame;
        }
        let name = self.name(threads.map_or("threads without a class", words::threads));
        let frame = self.push(name);
        self.forest.groups.push(Root { threads, frame, not_kept: 0 });
        frame
    }

    fn called(&mut self, parent: usize, name: &str) -> usize {
        let name = self.name(name);
        if let Some(child) = self.children.get(&(parent, name)) {
            return *child;
        }
        let child = self.push(name);
        self.children.insert((parent, name), child);
        self.forest.frames[parent].children.push(child);
        child
    }

    fn push(&mut self, name: usize) -> usize {
        self.forest.frames.push(Frame { name, ..Frame::default() });
        self.forest.frames.len() - 1
    }

    fn name(&mut self, name: &str) -> usize {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let index = self.forest.names.len();
        self.forest.names.push(name.to_owned());
        self.names.insert(name.to_owned(), index);
        index
    }

    fn count(&mut self, frame: usize, stack: &Stack) {
        let frame = &mut self.forest.frames[frame];
        frame.samples = frame.samples.saturating_add(stack.samples);
        let of_class = frame.classes.entry(stack.class).or_default();
        *of_class = of_class.saturating_add(stack.samples);
    }
}

/// A name from the watched process: no control characters, none that turn the direction of writing or that XML forbids, and not endless.
fn clean(name: &str) -> String {
    let short: String = name.chars().take(NAME_MOST).collect();
    let breaks_xml = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}');
    let cleaned = printable(&short).replace(breaks_xml, "\u{fffd}");
    let ellipsis = if short.len() < name.len() { "…" } else { "" };
    match cleaned.trim() {
        "" => "(without a name)".to_owned(),
        name => format!("{name}{ellipsis}"),
    }
}

/// `[kafka-scheduler-3 tid=17]` -> `kafka-scheduler`.
fn thread_name(frame: &str) -> String {
    let name = frame.trim_start_matches('[').trim_end_matches(']');
    let name = name.split(" tid=").next().unwrap_or(name);
    let name =
        name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '#' | ' ' | ':' | '_'));
    clean(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_what_turns_text_or_breaks_xml_is_replaced() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\u{202e}b\u{ffff}"), "a\\u{202e}b\u{fffd}");
        assert_eq!(clean(""), "(without a name)");
        assert_eq!(clean(&"x".repeat(1_000)).chars().count(), NAME_MOST + 1);
    }

    #[test]
    fn threads_of_no_class_are_told_by_their_names_without_numbers() {
        assert_eq!(thread_name("[kafka-scheduler-3 tid=17]"), "kafka-scheduler");
        assert_eq!(thread_name("[main tid=1]"), "main");
        assert_eq!(thread_name("[7]"), "(without a name)");
    }
}
