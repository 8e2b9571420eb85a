//! A storage probe: what is behind each path as a tree, its commits and streams, paths beside each other, and published
//! devices.

use crate::number::{self, ABSENT};
use crate::size_text::{self, Body, Column, Section, Sheet};
use crate::text::TextStyle;
use plumb_model::observation::Interval;
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, CommitResult, Placement, RatioToFirst, StorageProbe, StorageTarget,
    StorageWarning,
};

/// The whole text.
pub fn render(document: &StorageProbe, style: TextStyle) -> String {
    let mut sections = Vec::new();
    for target in &document.targets {
        sections.push(behind(target));
        sections.extend(warnings(target));
        sections.push(commits(target));
        sections.extend(refused(target));
    }
    sections.extend(compared(document));
    sections.push(published(document));
    let sheet = Sheet { title: title(document), findings: Vec::new(), sections };
    size_text::render(&sheet, style)
}

fn title(document: &StorageProbe) -> String {
    let paths = number::counted(document.targets.len(), "path");
    let seconds = document.elapsed_ns as f64;
    let how = if document.complete { "" } else { ", stopped before its end" };
    format!("Storage of {paths}: {} of measuring{how}", number::time(seconds))
}

fn behind(target: &StorageTarget) -> Section {
    let branch = |depth: u32| match depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth as usize - 1)),
    };
    let line = |layer: &plumb_model::probe::storage::TargetLayer| {
        let kind =
            if layer.kind == "file_system" { "file system".to_owned() } else { layer.kind.replace('_', " ") };
        vec![format!("{}{}", branch(layer.depth), layer.name), kind, layer.detail.clone()]
    };
    let mut rows: Vec<Vec<String>> = target.layers.iter().map(line).collect();
    rows.extend(
        target
            .storage
            .missing
            .iter()
            .map(|missing| vec![String::new(), "not known".to_owned(), missing.clone()]),
    );
    Section {
        heading: target.path.clone(),
        meaning: format!("{} GB free", number::significant(target.available_bytes as f64 / 1e9, 3)),
        body: Body::Table { columns: vec![Column::text(""), Column::text(""), Column::text("")], rows },
    }
}

/// Each kind once, with the evidence of the first way that it is said of.
fn warnings(target: &StorageTarget) -> Option<Section> {
    let of_commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    let mut first: Vec<(&StorageWarning, usize)> = Vec::new();
    for warning in target.warnings.iter().chain(of_commits) {
        match first.iter_mut().find(|(known, _)| known.id == warning.id) {
            None => first.push((warning, 0)),
            Some((known, others)) => *others += usize::from(known.text != warning.text),
        }
    }
    let sentence = |(warning, others): &(&StorageWarning, usize)| match others {
        0 => warning.text.clone(),
        others => format!("{} (and so of {} more)", warning.text, number::counted(*others, "way")),
    };
    (!first.is_empty()).then(|| Section {
        heading: "Before you use these figures".to_owned(),
        meaning: String::new(),
        body: Body::Sentences(first.iter().map(sentence).collect()),
    })
}

fn commits(target: &StorageTarget) -> Section {
    let columns = vec![
        Column::text("method"),
        Column::text("file"),
        Column::number("block"),
        Column::number("at once"),
        Column::number("commits/s"),
        Column::number("±"),
        Column::number("mean"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("max"),
        Column::number("CPU"),
        Column::text("durable"),
    ];
    let measured = target.commits.iter().filter(|commit| commit.rate_per_s.is_some());
    Section {
        heading: "Commits".to_owned(),
        meaning: "from before the write to after the sync; CPU is of one commit".to_owned(),
        body: Body::Table { columns, rows: measured.map(row).collect() },
    }
}

fn row(commit: &CommitResult) -> Vec<String> {
    let time = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), number::time);
    let latency = &commit.latency;
    vec![
        commit.case.method.name().to_owned(),
        place(&commit.case).to_owned(),
        bytes(commit.case.block_bytes),
        at_once(&commit.case),
        commit.rate_per_s.map_or(ABSENT.to_owned(), rate),
        commit.rate_interval.as_ref().map_or(ABSENT.to_owned(), half_width),
        time(latency.mean_ns),
        time(latency.p50_ns.map(|ns| ns as f64)),
        time(latency.p99_ns.map(|ns| ns as f64)),
        time(latency.max_ns.map(|ns| ns as f64)),
        time(commit.cpu_ns_per_commit),
        durable(commit).to_owned(),
    ]
}

fn refused(target: &StorageTarget) -> Option<Section> {
    let line = |commit: &CommitResult| {
        let reason = commit.unavailable.as_ref()?;
        Some(format!("{} x {}: {reason}", commit.case.method.name(), at_once(&commit.case)))
    };
    let sentences: Vec<String> = target.commits.iter().filter_map(line).collect();
    (!sentences.is_empty()).then(|| Section {
        heading: "Not measured".to_owned(),
        meaning: String::new(),
        body: Body::Sentences(sentences),
    })
}

fn place(case: &CommitCase) -> &'static str {
    match case.placement {
        Placement::Append => "append",
        Placement::Overwrite => "overwrite",
    }
}

/// `16`, or `1 x 8` for a thread with eight under way.
fn at_once(case: &CommitCase) -> String {
    match (case.method, case.queue_depth) {
        (CommitMethod::IoUring, depth) if depth > 1 => format!("{} x {depth}", case.committers),
        _ => case.committers.to_string(),
    }
}

fn durable(commit: &CommitResult) -> &'static str {
    match commit.durable {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "unknown",
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

fn rate(per_s: f64) -> String {
    number::significant(per_s, 3)
}

fn half_width(interval: &Interval) -> String {
    number::significant((interval.high - interval.low) / 2.0, 2)
}

fn ratio(ratio: &RatioToFirst) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            let digits = |value: f64| number::significant(value, 3);
            format!("{} ({}..{})", number::ratio(ratio.ratio), digits(low), digits(high))
        }
        _ => number::ratio(ratio.ratio),
    }
}

/// Paths beside each other, each against the first.
fn compared(document: &StorageProbe) -> Option<Section> {
    let (first, others) = document.targets.split_first()?;
    let mut rows = Vec::new();
    for target in others {
        for commit in &target.commits {
            if let Some(found) = &commit.ratio_to_first {
                let what = format!(
                    "{} x {}, {}",
                    commit.case.method.name(),
                    at_once(&commit.case),
                    place(&commit.case)
                );
                rows.push(vec![target.path.clone(), what, ratio(found)]);
            }
        }
    }
    (!rows.is_empty()).then(|| Section {
        heading: format!("Against {}", first.path),
        meaning: "rate over the rate there, with its 95 % interval over rounds".to_owned(),
        body: Body::Table {
            columns: vec![Column::text("path"), Column::text("way"), Column::text("ratio")],
            rows,
        },
    })
}

fn published(document: &StorageProbe) -> Section {
    let ours = document.targets.first().and_then(|target| {
        let fsync = target.commits.iter().find(|commit| {
            commit.case.method == CommitMethod::Fsync
                && commit.case.placement == Placement::Append
                && commit.case.committers == 1
        })?;
        Some((target.path.clone(), fsync.rate_per_s?))
    });
    let row = |device: &plumb_model::probe::storage::ReferenceDevice| {
        let time = device.latency_ns.map_or(ABSENT.to_owned(), |ns| number::time(ns as f64));
        let ratio =
            ours.as_ref().map_or(ABSENT.to_owned(), |(_, rate)| number::ratio(rate / device.rate_per_s));
        vec![device.name.clone(), rate(device.rate_per_s), time, ratio]
    };
    let beside = ours.as_ref().map_or("this path".to_owned(), |(path, _)| format!("{path}, fsync"));
    Section {
        heading: "Published".to_owned(),
        meaning: format!("{}; last column: {beside} over it", document.reference_source),
        body: Body::Table {
            columns: vec![
                Column::text("device"),
                Column::number("commits/s"),
                Column::number("latency"),
                Column::number("ours over it"),
            ],
            rows: document.reference.iter().map(row).collect(),
        },
    }
}
