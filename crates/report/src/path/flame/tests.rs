//! Trees and pictures of small profiles whose answer is known.

use super::tree::forest;
use super::*;
use plumb_model::observed::{ProfileShare, Stack};

fn stack(frames: &str, samples: u64, class: CpuClass, threads: ThreadClass) -> Stack {
    Stack { frames: frames.to_owned(), samples, class: Some(class), threads: Some(threads) }
}

fn profile() -> Profile {
    Profile {
        samples: 200,
        samples_of_work: 150,
        stacks: vec![
            stack("[net-0 tid=1];run;wrap;encrypt", 60, CpuClass::Aes, ThreadClass::Network),
            stack("[net-1 tid=2];run;wrap;encrypt", 30, CpuClass::Aes, ThreadClass::Network),
            stack("[net-1 tid=2];run;wrap;copy", 5, CpuClass::Tls, ThreadClass::Network),
            stack("[net-1 tid=2];run;send", 25, CpuClass::NetworkStack, ThreadClass::Network),
            stack("[sched-3 tid=3];tick", 10, CpuClass::Other, ThreadClass::Other),
            stack("[C2 tid=9];compile", 50, CpuClass::Jit, ThreadClass::Jit),
        ],
        ..Profile::default()
    }
}

/// Frames as `depth name samples style`.
fn nodes(flame: &Flame) -> Vec<String> {
    let names: Vec<&str> = flame.names.split('\n').collect();
    let styles: Vec<&str> = flame.styles.split(' ').collect();
    let numbers: Vec<usize> = flame.nodes.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let told =
        |frame: &[usize]| format!("{} {} {} {}", frame[0], names[frame[1]], frame[2], styles[frame[3]]);
    numbers.chunks(4).map(told).collect()
}

#[test]
fn threads_of_one_class_are_one_tree_and_a_colour_is_of_nine_tenths() {
    assert_eq!(
        nodes(&flame(&profile()).unwrap()),
        [
            "0 network 120 k-mixed",
            "1 run 120 k-mixed",
            "2 wrap 95 k-aes",
            "3 encrypt 90 k-aes",
            "3 copy 5 k-tls",
            "2 send 25 k-network",
            "0 JIT compilers 50 k-jit",
            "1 compile 50 k-jit",
            "0 others 10 k-other",
            "1 sched 10 k-other",
            "2 tick 10 k-other",
        ]
    );
}

#[test]
fn compilers_and_collections_are_not_shown_at_first_and_places_are_shares_of_the_rest() {
    let flame = flame(&profile()).unwrap();
    let shown: Vec<(&str, bool)> =
        flame.groups.iter().map(|group| (group.name.as_str(), group.is_work)).collect();
    assert_eq!(shown, [("network", true), ("JIT compilers", false), ("others", true)]);
    let wrap = flame.rects.iter().find(|rect| rect.title.starts_with("wrap: ")).unwrap();
    // 95 of 130 samples.
    assert_eq!((wrap.x.as_str(), wrap.width.as_str(), wrap.y), ("0.00%", "73.08%", 54));
    let send = flame.rects.iter().find(|rect| rect.title.starts_with("send: ")).unwrap();
    assert_eq!((send.x.as_str(), send.width.as_str()), ("73.08%", "19.23%"));
    assert_eq!(flame.height, 90);
    assert!(!flame.rects.iter().any(|rect| rect.title.contains("compile")));
}

#[test]
fn samples_of_stacks_that_are_not_kept_are_blank_below_their_threads() {
    let mut profile = profile();
    let share = |samples| ProfileShare {
        class: CpuClass::Aes,
        threads: Some(ThreadClass::Network),
        samples,
        share: 0.5,
    };
    profile.shares = vec![share(100), share(60)];
    let flame = flame(&profile).unwrap();
    assert_eq!(nodes(&flame)[..2], ["0 network 160 k-mixed", "1 run 120 k-mixed"]);
    assert_eq!(
        flame.notes,
        [
            "40 samples (20 %) are of stacks that the document does not keep, those with fewest samples: blank below the threads that they are of"
        ]
    );
}

#[test]
fn own_samples_are_those_of_innermost_frames() {
    let own: Vec<String> = flame(&profile())
        .unwrap()
        .own
        .iter()
        .map(|own| format!("{} {} {}", own.frame, own.samples, own.share))
        .collect();
    assert_eq!(own, ["encrypt 90 69.2 %", "send 25 19.2 %", "tick 10 7.7 %", "copy 5 3.8 %"]);
}

#[test]
fn a_document_of_an_earlier_version_has_no_classes_and_says_so() {
    let mut profile = profile();
    for stack in &mut profile.stacks {
        (stack.class, stack.threads) = (None, None);
    }
    let flame = flame(&profile).unwrap();
    assert_eq!(nodes(&flame)[0], "0 threads without a class 180 k-untold");
    assert!(flame.legend.iter().any(|entry| entry.name == "class not told"));
}

#[test]
fn stacks_without_samples_are_no_picture() {
    let mut profile = profile();
    profile.stacks.iter_mut().for_each(|stack| stack.samples = 0);
    assert!(flame(&profile).is_none());
    assert!(forest(&profile).groups.is_empty());
}

#[test]
fn a_stack_without_end_is_cut_and_the_note_says_so() {
    let mut profile = profile();
    profile.stacks.truncate(1);
    profile.stacks[0].frames = format!("[net];{}", "f;".repeat(10_000));
    let flame = flame(&profile).unwrap();
    assert_eq!(nodes(&flame).len(), 161);
    assert_eq!(flame.notes, ["a stack is deeper than what is drawn: 1 count for the last frame that is"]);
}

#[test]
fn data_that_would_be_too_large_loses_the_frames_with_fewest_samples() {
    let stacks = (0..300_u64).map(|n| {
        let frames: Vec<String> = (0..120).map(|depth| format!("{n}-{depth}-{}", "x".repeat(100))).collect();
        stack(
            &format!("[net];{}", frames.join(";")),
            if n < 3 { 1_000 } else { 1 },
            CpuClass::Aes,
            ThreadClass::Network,
        )
    });
    let profile = Profile { samples: 3_297, stacks: stacks.collect(), ..Profile::default() };
    let flame = flame(&profile).unwrap();
    assert!(flame.names.len() + flame.nodes.len() < 500_000);
    assert_eq!(nodes(&flame).len(), 1 + 3 * 120);
    assert!(flame.notes[0].contains("frames with fewest samples are left out"), "{:?}", flame.notes);
}
