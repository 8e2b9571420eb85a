//! Paths beside each other, and beside published devices.

use super::commits::durable;
use super::way::way;
use super::{rate, streams};
use crate::probe::{or_absent, time};
use crate::sheet::{Column, Section};
use plumb_model::figure;
use plumb_model::probe::storage::{
    CommitMethod, CommitResult, Placement, RatioToFirst, ReferenceDevice, StorageProbe, StorageTarget,
};

/// Paths that do not keep alike what they commit: their rates are no measure of each other.
pub(super) fn unequal(document: &StorageProbe) -> Vec<String> {
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
pub(super) fn compared(document: &StorageProbe) -> Option<Section> {
    let (first, others) = document.targets.split_first()?;
    let mut rows = Vec::new();
    for target in others {
        let commits =
            target.commits.iter().filter_map(|commit| Some((way(&commit.case), commit.ratio_to_first?)));
        let streams = target
            .sequential
            .iter()
            .filter_map(|stream| Some((streams::words(stream).to_owned(), stream.ratio_to_first?)));
        for (way, found) in commits.chain(streams) {
            rows.push(vec![target.path.clone(), way, figure::ratio(found.ratio), span(&found)]);
        }
    }
    let columns = [Column::text("path"), Column::text("way"), Column::number("ratio"), Column::text("95 %")];
    let heading = format!("Against {}", first.path);
    (!rows.is_empty())
        .then(|| Section::table(&heading, "rate over the rate there, over the rounds of both", columns, rows))
}

fn span(ratio: &RatioToFirst) -> String {
    or_absent(ratio.low.zip(ratio.high), |(low, high)| figure::interval(low, high, figure::ratio_digits))
}

/// Bytes of a commit that may be held against the published ones, whose block size is not stated: a database's page.
const PUBLISHED_BLOCK_BYTES: u64 = 4096;

/// Published devices, each with what the paths' appending with fsync is over it.
pub(super) fn published(document: &StorageProbe) -> Section {
    let own = |target: &StorageTarget| {
        let case = |commit: &&CommitResult| {
            let case = &commit.case;
            case.method == CommitMethod::Fsync
                && case.placement == Placement::Append
                && case.committers == 1
                && case.block_bytes == PUBLISHED_BLOCK_BYTES
        };
        target.commits.iter().find(case).and_then(|commit| commit.rate_per_s)
    };
    let ours = document.targets.first().and_then(|target| Some((&target.path, own(target)?)));
    let row = |device: &ReferenceDevice| {
        vec![
            device.name.clone(),
            rate(device.rate_per_s),
            time(device.latency_ns),
            or_absent(ours, |(_, rate)| figure::ratio(rate / device.rate_per_s)),
        ]
    };
    let beside = match ours {
        Some((path, _)) => format!("; ratio is fsync of 4 KiB on {path} over it"),
        None => "; no ratio, since no single committer appended 4 KiB with fsync here".to_owned(),
    };
    let columns = [
        Column::text("device"),
        Column::number("commits/s"),
        Column::number("latency"),
        Column::number("ratio"),
    ];
    let meaning = format!("{}{beside}", document.reference.source);
    Section::table("Published", &meaning, columns, document.reference.rows.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::target;
    use super::*;
    use crate::probe::tests::{plain, quiet};
    use crate::sheet::Sheet;
    use plumb_model::probe::ProbeKind;
    use plumb_model::probe::storage::{ReferenceDevices, StoragePlan};

    fn text(blocks: &[u64]) -> String {
        let mut target = target("/srv", true, None);
        let of = |block: &u64| {
            let mut commit = target.commits[0].clone();
            commit.case.block_bytes = *block;
            commit.rate_per_s = Some(*block as f64);
            commit
        };
        target.commits = blocks.iter().map(of).collect();
        let row = ReferenceDevice { name: "a disk".to_owned(), rate_per_s: 8_192.0, latency_ns: None };
        let document = StorageProbe {
            conditions: quiet(ProbeKind::Storage),
            plan: StoragePlan { duration_ns: 1, rounds: 1, seed: 1, overwritten_bytes: 1 },
            targets: vec![target],
            reference: ReferenceDevices { source: "a blog".to_owned(), rows: vec![row] },
        };
        let sheet = Sheet { sections: vec![published(&document)], ..Sheet::default() };
        plain(&sheet)
    }

    #[test]
    fn only_commits_of_the_same_size_are_held_against_published_ones() {
        for blocks in [&[1 << 20, 4096][..], &[4096, 1 << 20]] {
            assert!(text(blocks).contains("×0.500"), "{}", text(blocks));
        }
        let other = text(&[1 << 20]);
        assert!(other.contains("no ratio") && !other.contains('×'), "{other}");
    }
}
