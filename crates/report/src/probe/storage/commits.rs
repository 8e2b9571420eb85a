//! The commits of a path: files that grow and files that are overwritten, each with a table of its own.
//!
//! A mean time has no column: it is the committers (times the depth) over the rate.

use super::way::{bytes, load};
use super::{between, rate};
use crate::probe::or_absent;
use crate::sheet::{Column, Section};
use plumb_model::figure;
use plumb_model::probe::storage::{CommitResult, Placement, StoragePlan, StorageTarget};

/// Commits below which no median is shown.
const COMMITS_OF_MEDIAN: u32 = 20;
/// From here on times are shown in milliseconds.
const MILLISECOND_NS: f64 = 1e6;

/// A table of each kind of file that was measured.
pub(super) fn commits(target: &StorageTarget, plan: &StoragePlan) -> Vec<Section> {
    let measured: Vec<&CommitResult> =
        target.commits.iter().filter(|commit| commit.rate_per_s.is_some()).collect();
    let unit = Unit::of(&measured);
    let kinds = [
        (Placement::Append, "Commits to a file that grows"),
        (Placement::Overwrite, "Commits that overwrite a file"),
    ];
    let mut meaning = meaning(&measured, plan);
    let mut sections = Vec::new();
    for (placement, heading) in kinds {
        let of_kind: Vec<&CommitResult> =
            measured.iter().copied().filter(|commit| commit.case.placement == placement).collect();
        if !of_kind.is_empty() {
            // Said once: it holds for both.
            sections.push(kind(heading, &std::mem::take(&mut meaning), &of_kind, unit));
        }
    }
    sections
}

fn meaning(measured: &[&CommitResult], plan: &StoragePlan) -> String {
    let length_ns = plan.duration_ns as f64 / f64::from(plan.rounds.max(1));
    let blocks = format!("{} of {}", figure::counted(plan.rounds as usize, "block"), figure::time(length_ns));
    let size = one_size(measured).map_or(String::new(), |size| format!("of {}, ", bytes(size)));
    let several = |commit: &&CommitResult| commit.case.committers > 1;
    let threads =
        if measured.iter().any(several) { "; x N: N threads, each with a file of its own" } else { "" };
    let longer = longer(measured).map_or(String::new(), |time| {
        format!("; a median takes {COMMITS_OF_MEDIAN} commits: --duration {time} gives them")
    });
    format!(
        "{size}{blocks}{threads}{longer}; times from before the write to after the sync; CPU is this process's for each commit"
    )
}

/// The measured time after which every way would have a median, where one has none.
fn longer(measured: &[&CommitResult]) -> Option<String> {
    let without = measured.iter().filter(|commit| commit.latency.p50_ns.is_none());
    let slowest = without.filter_map(|commit| commit.rate_per_s).min_by(f64::total_cmp)?;
    (slowest > 0.0).then(|| format!("{}s", (f64::from(COMMITS_OF_MEDIAN) / slowest).ceil()))
}

/// The block size, if all have the same: then it needs no column.
fn one_size(measured: &[&CommitResult]) -> Option<u64> {
    let size = measured.first()?.case.block_bytes;
    measured.iter().all(|commit| commit.case.block_bytes == size).then_some(size)
}

fn kind(heading: &str, meaning: &str, measured: &[&CommitResult], unit: Unit) -> Section {
    let mut columns = vec![
        Column::text("method"),
        Column::number("samples"),
        Column::number("commits/s"),
        Column::number("95 %"),
        Column::number(unit.heading()),
        Column::number("p99"),
        Column::number("max"),
        Column::number("CPU µs"),
        Column::text("durable"),
    ];
    let mut rows: Vec<Vec<String>> = measured.iter().map(|commit| row(commit, unit)).collect();
    if one_size(measured).is_none() {
        columns.insert(1, Column::number("block"));
        for (row, commit) in rows.iter_mut().zip(measured) {
            row.insert(1, bytes(commit.case.block_bytes));
        }
    }
    Section::table(heading, meaning, columns, rows)
}

fn row(commit: &CommitResult, unit: Unit) -> Vec<String> {
    let latency = &commit.latency;
    let time = |ns: Option<u64>| or_absent(ns, |ns| unit.write(ns as f64));
    vec![
        load(&commit.case),
        figure::count(latency.samples),
        or_absent(commit.rate_per_s, rate),
        or_absent(commit.rate_interval, |interval| between(&interval, rate)),
        time(latency.p50_ns),
        time(latency.p99_ns),
        time(latency.max_ns),
        or_absent(commit.cpu_ns_per_commit, |ns| figure::significant(ns / 1e3, 3)),
        durable(commit).to_owned(),
    ]
}

/// The durability of a commit, in a word.
pub(super) fn durable(commit: &CommitResult) -> &'static str {
    match commit.durable {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "unknown",
    }
}

/// The unit of a path's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microseconds,
    Milliseconds,
}

impl Unit {
    /// Milliseconds where no way has a mean below one.
    fn of(measured: &[&CommitResult]) -> Self {
        let slow = |commit: &&CommitResult| commit.latency.mean_ns.is_some_and(|ns| ns >= MILLISECOND_NS);
        if measured.iter().all(slow) { Unit::Milliseconds } else { Unit::Microseconds }
    }

    fn heading(self) -> &'static str {
        match self {
            Unit::Microseconds => "p50 µs",
            Unit::Milliseconds => "p50 ms",
        }
    }

    fn write(self, ns: f64) -> String {
        let unit_ns = match self {
            Unit::Microseconds => 1e3,
            Unit::Milliseconds => MILLISECOND_NS,
        };
        figure::significant(ns / unit_ns, 3)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::target;
    use super::*;
    use crate::sheet::Sheet;
    use crate::sheet::text::render;
    use crate::text::TextStyle;
    use plumb_model::observation::{Interval, IntervalMethod};
    use plumb_model::probe::storage::{CommitLatency, CommitMethod};

    const PLAN: StoragePlan =
        StoragePlan { duration_ns: 1_000_000_000, rounds: 5, seed: 1, overwritten_bytes: 16 << 20 };

    /// Every way that the default plan has, each so fast that a commit takes `mean_ns`.
    fn all(mean_ns: f64) -> StorageTarget {
        let rate = 1e9 / mean_ns;
        let mut target = target("/srv", true, None);
        let plain = target.commits.remove(0);
        let case = |method: CommitMethod, placement, committers, queue_depth| {
            let mut commit = plain.clone();
            commit.case.method = method;
            (commit.case.placement, commit.case.committers, commit.case.queue_depth) =
                (placement, committers, queue_depth);
            commit.rate_per_s = Some(rate);
            commit.rate_interval = Some(Interval {
                low: rate * 0.61,
                high: rate * 1.39,
                level: 0.95,
                method: IntervalMethod::OrderStatistics,
            });
            commit.cpu_ns_per_commit = Some(12_345.0);
            commit.latency = CommitLatency {
                samples: rate as u64,
                mean_ns: Some(mean_ns),
                p50_ns: Some(mean_ns as u64),
                p99_ns: Some(mean_ns as u64 * 4),
                max_ns: Some(mean_ns as u64 * 900),
                ..CommitLatency::default()
            };
            commit
        };
        let (append, overwrite) = (Placement::Append, Placement::Overwrite);
        target.commits = CommitMethod::ALL
            .iter()
            .flat_map(|method| [append, overwrite].map(|place| case(*method, place, 1, 1)))
            .collect();
        target.commits.push(case(CommitMethod::Fsync, append, 16, 1));
        target.commits.push(case(CommitMethod::IoUring, append, 1, 8));
        target
    }

    fn text(target: &StorageTarget) -> String {
        let sheet = Sheet { sections: commits(target, &PLAN), ..Sheet::default() };
        render(&sheet, TextStyle { color: false, width: 100 })
    }

    #[test]
    fn every_way_fits_into_100_columns_with_both_ends_of_its_interval() {
        // A turning disk behind USB, a shared one, memory.
        for mean_ns in [75e6, 1.2e6, 136e3, 3.3e3] {
            let text = text(&all(mean_ns));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= 100, "{widest} columns:\n{text}");
        }
        assert!(text(&all(136e3)).contains("4,485 to 10,221"), "{}", text(&all(136e3)));
    }

    #[test]
    fn times_are_in_milliseconds_where_all_are_that_long() {
        assert!(text(&all(75e6)).contains("p50 ms") && text(&all(75e6)).contains(" 75.0 "));
        assert!(text(&all(136e3)).contains("p50 µs") && text(&all(136e3)).contains(" 136 "));
    }

    #[test]
    fn a_kind_of_file_without_commits_has_no_table_and_what_is_meant_is_said_once() {
        let both = text(&all(136e3));
        assert_eq!(both.matches("5 blocks of 200 ms").count(), 1, "{both}");
        let mut appended = all(136e3);
        appended.commits.retain(|commit| commit.case.placement == Placement::Append);
        let text = text(&appended);
        assert!(text.contains("grows") && !text.contains("overwrite a file"), "{text}");
    }

    #[test]
    fn a_way_without_a_median_is_told_how_long_it_would_take() {
        let mut slow = all(75e6);
        assert!(!text(&slow).contains("--duration"), "{}", text(&slow));
        slow.commits[3].latency.p50_ns = None;
        slow.commits[3].rate_per_s = Some(0.7);
        let text = text(&slow).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("a median takes 20 commits: --duration 29s gives them"), "{text}");
    }

    #[test]
    fn several_sizes_of_blocks_have_a_column() {
        let mut sizes = all(136e3);
        sizes.commits[0].case.block_bytes = 1 << 20;
        let text = text(&sizes);
        assert!(text.contains("  block  ") && text.contains("1 MiB") && text.contains("4 KiB"), "{text}");
    }
}
