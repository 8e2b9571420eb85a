//! A storage probe: what is behind each path as a tree, its commits and streams, paths beside each other, and published
//! devices.

use super::{cautions, conditions, or_absent, sentences, table, time, title};
use crate::number;
use crate::size_text::{self, Column, Section, Sheet};
use crate::text::TextStyle;
use plumb_model::observation::Interval;
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, CommitResult, PageCache, Placement, RatioToFirst, ReferenceDevice,
    SequentialResult, StoragePlan, StorageProbe, StorageTarget, StorageWarning, StreamDirection, TargetLayer,
};

/// The whole text.
pub fn render(document: &StorageProbe, style: TextStyle) -> String {
    let mut sections = Vec::new();
    for target in &document.targets {
        sections.push(behind(target));
        sections.extend(warnings(target));
        sections.push(commits(target, &document.plan));
        sections.extend(streams(target));
        sections.extend(refused(target));
    }
    sections.extend(compared(document));
    sections.push(published(document));
    sections.push(conditions(&document.conditions));
    let what = format!("Storage of {}", number::counted(document.targets.len(), "path"));
    let sheet = Sheet {
        title: title(&what, &document.conditions),
        findings: findings(document),
        cautions: [cautions(&document.conditions), unequal(document)].concat(),
        sections,
    };
    size_text::render(&sheet, style)
}

/// The layers, each under the one that it lies on.
fn behind(target: &StorageTarget) -> Section {
    let branch = |depth: u32| match depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth as usize - 1)),
    };
    let line = |layer: &TargetLayer| {
        // ext4 needs no word beside it, vda does.
        let kind = if layer.kind == "file_system" { String::new() } else { layer.kind.replace('_', " ") };
        vec![format!("{}{}", branch(layer.depth), layer.name), kind, layer.detail.clone()]
    };
    let unknown = |missing: &String| vec!["?".to_owned(), "not known".to_owned(), missing.clone()];
    let rows = target.layers.iter().map(line).chain(target.storage.missing.iter().map(unknown));
    let free = format!("{} GB free", number::significant(target.available_bytes as f64 / 1e9, 3));
    table(&target.path, &free, &[Column::text(""), Column::text(""), Column::text("")], rows.collect())
}

/// What makes figures of a path other than what their names promise.
fn findings(document: &StorageProbe) -> Vec<String> {
    let of = |target: &StorageTarget| {
        let grave = said(target).into_iter().filter(|(warning, _)| warning.id.contradicts_durability());
        grave.map(|said| format!("{}: {}.", target.path, sentence(&said))).collect::<Vec<_>>()
    };
    document.targets.iter().flat_map(of).collect()
}

/// What else has to be known of them.
fn warnings(target: &StorageTarget) -> Option<Section> {
    let light = said(target).into_iter().filter(|(warning, _)| !warning.id.contradicts_durability());
    let light: Vec<String> = light.map(|said| sentence(&said)).collect();
    (!light.is_empty()).then(|| sentences("Before you use these figures", "", light))
}

/// Each kind of warning once, with the evidence of the first way that it is said of and the number of others.
fn said(target: &StorageTarget) -> Vec<(&StorageWarning, usize)> {
    let of_commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    let mut first: Vec<(&StorageWarning, usize)> = Vec::new();
    for warning in target.warnings.iter().chain(of_commits) {
        match first.iter_mut().find(|(known, _)| known.id == warning.id) {
            None => first.push((warning, 0)),
            Some((known, others)) => *others += usize::from(known.text != warning.text),
        }
    }
    first
}

fn sentence((warning, others): &(&StorageWarning, usize)) -> String {
    match others {
        0 => warning.text.clone(),
        others => format!("{} (and so of {} more)", warning.text, number::counted(*others, "way")),
    }
}

fn commits(target: &StorageTarget, plan: &StoragePlan) -> Section {
    let mut columns = vec![
        Column::text("method"),
        Column::text("file"),
        Column::number("at once"),
        Column::number("samples"),
        Column::number("commits/s"),
        Column::number("±"),
        Column::number("mean ms"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("max"),
        Column::number("CPU µs"),
        Column::text("durable"),
    ];
    let measured: Vec<&CommitResult> =
        target.commits.iter().filter(|commit| commit.rate_per_s.is_some()).collect();
    let mut blocks: Vec<u64> = measured.iter().map(|commit| commit.case.block_bytes).collect();
    blocks.dedup();
    let mut rows: Vec<Vec<String>> = measured.iter().map(|commit| commit_row(commit)).collect();
    let length_ns = plan.duration_ns as f64 / f64::from(plan.rounds.max(1));
    let blocks_of =
        format!("{} of {}; ", number::counted(plan.rounds as usize, "block"), number::time(length_ns));
    let mut meaning =
        format!("{blocks_of}times from before the write to after the sync; CPU time is this process's");
    // One size needs no column.
    if let [only] = blocks[..] {
        meaning = format!("of {}, {meaning}", bytes(only));
    } else {
        columns.insert(2, Column::number("block"));
        for (row, commit) in rows.iter_mut().zip(&measured) {
            row.insert(2, bytes(commit.case.block_bytes));
        }
    }
    table("Commits", &meaning, &columns, rows)
}

fn commit_row(commit: &CommitResult) -> Vec<String> {
    let latency = &commit.latency;
    let ms = |ns: Option<u64>| or_absent(ns, |ns| number::milliseconds(ns as f64));
    vec![
        commit.case.method.name().to_owned(),
        place(&commit.case).to_owned(),
        at_once(&commit.case),
        number::count(latency.samples),
        or_absent(commit.rate_per_s, rate),
        or_absent(commit.rate_interval.zip(commit.rate_per_s), |(interval, rate)| {
            above(&interval, rate, 1.0)
        }),
        or_absent(latency.mean_ns, number::milliseconds),
        ms(latency.p50_ns),
        ms(latency.p99_ns),
        ms(latency.max_ns),
        or_absent(commit.cpu_ns_per_commit, |ns| number::significant(ns / 1e3, 3)),
        durable(commit).to_owned(),
    ]
}

fn streams(target: &StorageTarget) -> Option<Section> {
    let row = |stream: &SequentialResult| {
        vec![
            stream_words(stream).to_owned(),
            or_absent(stream.bytes_per_s, megabytes),
            or_absent(stream.bytes_interval.zip(stream.bytes_per_s), |(interval, rate)| {
                above(&interval, rate, 1e6)
            }),
            megabytes(stream.blocks.iter().map(|block| block.bytes as f64).sum()),
            number::significant(
                stream.blocks.iter().map(|block| (block.transfer_ns + block.sync_ns) as f64).sum::<f64>()
                    / 1e9,
                3,
            ),
            or_absent(stream.accepted_bytes_per_s, |rate| {
                format!("page cache took {} MB/s", megabytes(rate))
            }),
        ]
    };
    let measured: Vec<_> =
        target.sequential.iter().filter(|stream| stream.bytes_per_s.is_some()).map(row).collect();
    let columns = [
        Column::text("stream"),
        Column::number("MB/s"),
        Column::number("±"),
        Column::number("MB"),
        Column::number("s"),
        Column::text(""),
    ];
    let block = bytes(target.sequential.first()?.case.block_bytes);
    let meaning = format!(
        "in calls of {block}, one at a time; a write's time is that of the calls and of the sync after them"
    );
    (!measured.is_empty()).then(|| table("Streams", &meaning, &columns, measured))
}

fn stream_words(stream: &SequentialResult) -> &'static str {
    match (stream.case.direction, stream.case.page_cache) {
        (StreamDirection::Write, PageCache::Buffered) => "write through the page cache, synced",
        (StreamDirection::Write, PageCache::Direct) => "write around it (O_DIRECT)",
        (StreamDirection::Read, PageCache::Buffered) => "read through the page cache",
        (StreamDirection::Read, PageCache::Direct) => "read around it (O_DIRECT)",
    }
}

fn refused(target: &StorageTarget) -> Option<Section> {
    let commit =
        |commit: &CommitResult| Some(format!("{}: {}", way(&commit.case), commit.unavailable.as_ref()?));
    let stream = |stream: &SequentialResult| {
        Some(format!("{}: {}", stream_words(stream), stream.unavailable.as_ref()?))
    };
    let commits = target.commits.iter().filter_map(commit);
    let said: Vec<String> = commits.chain(target.sequential.iter().filter_map(stream)).collect();
    (!said.is_empty()).then(|| sentences("Not measured", "", said))
}

/// `fsync x 16, append`
fn way(case: &CommitCase) -> String {
    let block = bytes(case.block_bytes);
    format!("{} x {}, {block} {}", case.method.name(), at_once(case), place(case))
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

fn megabytes(bytes_per_s: f64) -> String {
    number::significant(bytes_per_s / 1e6, 3)
}

/// How far the interval goes beyond the rate; below, zero may have cut it off.
fn above(interval: &Interval, rate: f64, unit: f64) -> String {
    number::significant((interval.high - rate) / unit, 2)
}

/// Paths that do not keep alike what they commit: their rates are no measure of each other.
fn unequal(document: &StorageProbe) -> Vec<String> {
    let Some((first, others)) = document.targets.split_first() else { return Vec::new() };
    let differ = |target: &&StorageTarget| {
        let mut pairs = target.commits.iter().zip(&first.commits);
        pairs
            .any(|(commit, of_first)| commit.ratio_to_first.is_some() && durable(commit) != durable(of_first))
    };
    let sentence = |target: &StorageTarget| {
        format!(
            "{} and {} do not keep alike what they commit (see durable): the ratio of their rates compares unlike promises.",
            first.path, target.path
        )
    };
    others.iter().filter(differ).map(sentence).collect()
}

/// Paths beside each other, each against the first.
fn compared(document: &StorageProbe) -> Option<Section> {
    let (first, others) = document.targets.split_first()?;
    let mut rows = Vec::new();
    for target in others {
        let commits =
            target.commits.iter().filter_map(|commit| Some((way(&commit.case), commit.ratio_to_first?)));
        let streams = target
            .sequential
            .iter()
            .filter_map(|stream| Some((stream_words(stream).to_owned(), stream.ratio_to_first?)));
        for (way, found) in commits.chain(streams) {
            rows.push(vec![target.path.clone(), way, number::ratio(found.ratio), span(&found)]);
        }
    }
    let columns = [Column::text("path"), Column::text("way"), Column::number("ratio"), Column::text("95 %")];
    let heading = format!("Against {}", first.path);
    (!rows.is_empty())
        .then(|| table(&heading, "rate over the rate there, over the rounds of both", &columns, rows))
}

fn span(ratio: &RatioToFirst) -> String {
    or_absent(ratio.low.zip(ratio.high), |(low, high)| {
        format!("{}..{}", number::significant(low, 3), number::significant(high, 3))
    })
}

/// Published devices, each with what the paths' appending with fsync is over it.
fn published(document: &StorageProbe) -> Section {
    let own = |target: &StorageTarget| {
        let case = |commit: &&CommitResult| {
            let case = &commit.case;
            case.method == CommitMethod::Fsync && case.placement == Placement::Append && case.committers == 1
        };
        target.commits.iter().find(case).and_then(|commit| commit.rate_per_s)
    };
    let ours = document.targets.first().and_then(|target| Some((&target.path, own(target)?)));
    let row = |device: &ReferenceDevice| {
        vec![
            device.name.clone(),
            rate(device.rate_per_s),
            time(device.latency_ns),
            or_absent(ours, |(_, rate)| number::ratio(rate / device.rate_per_s)),
        ]
    };
    let beside = ours.map_or(String::new(), |(path, _)| format!("; ratio is fsync on {path} over it"));
    let columns = [
        Column::text("device"),
        Column::number("commits/s"),
        Column::number("latency"),
        Column::number("ratio"),
    ];
    let meaning = format!("{}{beside}", document.reference.source);
    table("Published", &meaning, &columns, document.reference.rows.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PLAIN, quiet};
    use super::*;
    use plumb_model::facts::Storage;
    use plumb_model::probe::ProbeKind;
    use plumb_model::probe::storage::{CommitLatency, ReferenceDevices, WarningId};

    fn target(path: &str, durable: bool, ratio: Option<f64>) -> StorageTarget {
        let ratio_to_first = ratio.map(|ratio| RatioToFirst {
            ratio,
            low: None,
            high: None,
            level: 0.95,
            smallest_detectable_ratio: None,
            rounds: 2,
        });
        let commit = CommitResult {
            case: CommitCase {
                method: CommitMethod::Fsync,
                placement: Placement::Append,
                block_bytes: 4096,
                committers: 1,
                queue_depth: 1,
            },
            rate_per_s: Some(100.0),
            rate_interval: None,
            latency: CommitLatency { samples: 1_234, ..CommitLatency::default() },
            durable: Some(durable),
            warnings: Vec::new(),
            unavailable: None,
            cpu_ns_per_commit: None,
            device_writes_per_commit: None,
            device_flushes_per_commit: None,
            ratio_to_first,
            blocks: Vec::new(),
        };
        StorageTarget {
            path: path.to_owned(),
            layers: Vec::new(),
            storage: Storage::default(),
            available_bytes: 1 << 30,
            commits: vec![commit],
            sequential: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn text(targets: Vec<StorageTarget>) -> String {
        let document = StorageProbe {
            conditions: quiet(ProbeKind::Storage),
            plan: StoragePlan { duration_ns: 1_000_000_000, rounds: 5, seed: 1, overwritten_bytes: 16 << 20 },
            targets,
            reference: ReferenceDevices { source: "a blog".to_owned(), rows: Vec::new() },
        };
        render(&document, PLAIN)
    }

    #[test]
    fn paths_that_do_not_keep_alike_are_told_before_they_are_compared() {
        let unlike = text(vec![target("/srv", true, None), target("/dev/shm", false, Some(99.0))]);
        let said = unlike.find("/srv and /dev/shm do not keep alike").unwrap();
        assert!(said < unlike.find("Against /srv").unwrap(), "{unlike}");
        let alike = text(vec![target("/srv", true, None), target("/opt", true, Some(1.0))]);
        assert!(!alike.contains("do not keep alike"), "{alike}");
    }

    #[test]
    fn what_contradicts_a_promise_is_a_finding_with_its_path_and_the_rest_is_said_below() {
        let warning = |id, text: &str| StorageWarning { id, text: text.to_owned() };
        let mut memory = target("/dev/shm", false, None);
        memory.commits[0].warnings = vec![
            warning(WarningId::Memory, "tmpfs keeps it in memory"),
            warning(WarningId::FasterThanPublished, "60,000/s is more than published"),
        ];
        let text = text(vec![memory]);
        assert!(text.contains("FINDING  /dev/shm: tmpfs keeps it in memory."), "{text}");
        assert_eq!(text.matches("tmpfs keeps it").count(), 1, "{text}");
        let (heading, other) =
            (text.find("Before you use").unwrap(), text.find("more than published").unwrap());
        assert!(heading < other, "{text}");
    }

    #[test]
    fn commits_have_their_samples_and_the_length_of_a_block_beside_them() {
        let text = text(vec![target("/srv", true, None)]);
        assert!(text.contains("5 blocks of 200 ms") && text.contains("1,234"), "{text}");
    }
}
