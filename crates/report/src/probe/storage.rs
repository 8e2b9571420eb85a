//! A storage probe: what is behind each path as a tree, its commits and streams, paths beside each other, and published
//! devices. Here the order of the parts; each has a file of its own.

mod behind;
mod commits;
mod compared;
mod streams;
mod warned;
mod way;

use super::{cautions, conditions, title};
use crate::sheet::{Section, Sheet};
use plumb_model::figure;
use plumb_model::observation::Interval;
use plumb_model::probe::storage::{CommitResult, SequentialResult, StorageProbe, StorageTarget};

/// The whole sheet.
pub fn sheet(document: &StorageProbe) -> Sheet {
    let mut sections = Vec::new();
    for target in &document.targets {
        sections.push(behind::behind(target));
        sections.extend(warned::notes(target));
        sections.extend(commits::commits(target, &document.plan));
        sections.extend(streams::streams(target));
        sections.extend(refused(target));
    }
    sections.extend(compared::compared(document));
    sections.push(compared::published(document));
    sections.push(conditions(&document.conditions));
    let what = format!("Storage of {}", figure::counted(document.targets.len(), "path"));
    Sheet {
        title: title(&what, &document.conditions),
        findings: warned::findings(document),
        cautions: [cautions(&document.conditions), compared::unequal(document)].concat(),
        sections,
        ..Sheet::default()
    }
}

/// The section on cases that were not measured, each with the reason.
fn refused(target: &StorageTarget) -> Option<Section> {
    let commit =
        |commit: &CommitResult| Some(format!("{}: {}", way::way(&commit.case), commit.unavailable.as_ref()?));
    let stream = |stream: &SequentialResult| {
        Some(format!("{}: {}", streams::words(stream), stream.unavailable.as_ref()?))
    };
    let commits = target.commits.iter().filter_map(commit);
    let said: Vec<String> = commits.chain(target.sequential.iter().filter_map(stream)).collect();
    (!said.is_empty()).then(|| Section::sentences("Not measured", "", said))
}

fn rate(per_s: f64) -> String {
    figure::short(per_s)
}

fn megabytes(bytes_per_s: f64) -> String {
    figure::megabytes(bytes_per_s)
}

/// Both ends: blocks that differ much have an interval that reaches to 0 on one side and far out on the other.
fn between(interval: &Interval, written: fn(f64) -> String) -> String {
    figure::interval(interval.low, interval.high, written)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain, quiet};
    use super::*;
    use plumb_model::facts::Storage;
    use plumb_model::finding::{Finding, Severity};
    use plumb_model::probe::ProbeKind;
    use plumb_model::probe::storage::{
        CommitCase, CommitLatency, CommitMethod, Placement, RatioToFirst, ReferenceDevices, StoragePlan,
    };

    pub(super) fn target(path: &str, durable: bool, ratio: Option<f64>) -> StorageTarget {
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
            findings: Vec::new(),
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
            findings: Vec::new(),
        }
    }

    fn text(targets: Vec<StorageTarget>) -> String {
        let document = StorageProbe {
            conditions: quiet(ProbeKind::Storage),
            plan: StoragePlan { duration_ns: 1_000_000_000, rounds: 5, seed: 1, overwritten_bytes: 16 << 20 },
            targets,
            reference: ReferenceDevices { source: "a blog".to_owned(), rows: Vec::new() },
        };
        plain(&sheet(&document))
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
        let finding = |id, severity, claim: &str| Finding::new(id, severity, claim.to_owned());
        let mut memory = target("/dev/shm", false, None);
        memory.commits[0].findings = vec![
            finding("memory", Severity::Invalid, "tmpfs keeps it in memory."),
            finding("faster-than-published", Severity::Note, "60,000/s is more than published."),
        ];
        let text = text(vec![memory]);
        assert!(
            text.contains("FINDING  /dev/shm: tmpfs keeps it in memory (plumb explain memory)"),
            "{text}"
        );
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
