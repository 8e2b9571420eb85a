//! Log directories that are compared and lie on the same hardware.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::facts::LogDirectory;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::plan::{ClusterPlan, LogDirLayout};
use plumb_model::prose::{list, quoted};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "same-device",
        summary: "Log directories that are compared lie on the same hardware.",
        page: include_str!("../../../../docs/findings/same-device.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the directories were followed down to the hardware",
        stage: Some(PathStage::Log),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let plan = &case.document.plan;
    let each = matches!(plan.cluster, ClusterPlan::Lab { log_dir_layout: LogDirLayout::BrokerEach, .. });
    let more_and_more = plan.trial.is_none() && plan.labs().len() > 1;
    let consequence = match (each, more_and_more) {
        (true, _) => "a difference between them is not one of devices",
        (false, true) => "more of them are not more devices",
        (false, false) => return Vec::new(),
    };
    let directories = &case.document.environment.log_directories;
    let mut told: Vec<&LogDirectory> = Vec::new();
    let mut findings = Vec::new();
    for directory in directories {
        let hardware = directory.storage.hardware();
        let on_it: Vec<&LogDirectory> =
            directories.iter().filter(|other| other.storage.hardware() == hardware).collect();
        if hardware.is_empty() || on_it.len() < 2 || told.contains(&directory) {
            continue;
        }
        let names = list(&on_it.iter().map(|directory| quoted(&directory.name)).collect::<Vec<_>>());
        let devices = list(&hardware.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let claim =
            format!("The log directories {names} lie on the same hardware ({devices}): {consequence}");
        findings.push(
            about_run(RULE.row.id, Severity::Suspect, claim)
                .seen("hardware behind them", devices)
                .advise("Mount each device, and name a directory on it; `findmnt --target DIRECTORY` shows what is there."),
        );
        told.extend(on_it);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};
    use plumb_model::document::RunDocument;
    use plumb_model::facts::{Device, FileSystem, Layer, Storage, StorageLayer};
    use plumb_model::plan::LogDirPlan;

    fn on(devices: &[(&str, &str)]) -> RunDocument {
        let mut document = healthy();
        let directory = |(name, device): &(&str, &str)| {
            let device = Device { name: (*device).to_owned(), ..Device::default() };
            let layers =
                [Layer::FileSystem(FileSystem::default()), Layer::Device(device)].into_iter().zip(0..);
            let layers = layers.map(|(layer, depth)| StorageLayer { depth, layer }).collect();
            let storage = Storage { layers, ..Storage::default() };
            LogDirectory { name: (*name).to_owned(), storage, ..LogDirectory::default() }
        };
        document.environment.log_directories = devices.iter().map(directory).collect();
        document
    }

    #[test]
    fn two_names_for_one_disk_are_found_once_and_a_third_on_its_own_is_left_out() {
        let finding = one(&on(&[("sata", "sda"), ("nvme", "nvme0n1"), ("pmem", "sda")]), RULE.row.id);
        assert_eq!(finding.severity, Severity::Suspect);
        assert!(
            finding.claim.contains("\"sata\" and \"pmem\" lie on the same hardware (sda)"),
            "{}",
            finding.claim
        );
    }

    #[test]
    fn directories_of_one_disk_that_a_broker_has_together_are_told_only_where_their_number_is_swept_over() {
        let mut document = on(&[("one", "sda"), ("two", "sda")]);
        let ClusterPlan::Lab { log_dir_layout, .. } = &mut document.plan.cluster else { panic!() };
        *log_dir_layout = LogDirLayout::Together;
        assert_eq!(found(&document, RULE.row.id), []);
        let mut own = document.plan.cluster.clone();
        let ClusterPlan::Lab { log_dirs, .. } = &mut own else { panic!() };
        log_dirs.push(LogDirPlan { name: "one".into(), path: "/one".into() });
        document.plan.steps[1].cluster = Some(own);
        let finding = one(&document, RULE.row.id);
        assert!(finding.claim.ends_with("more of them are not more devices."), "{}", finding.claim);
    }

    #[test]
    fn different_disks_and_memory_which_has_no_device_are_silent() {
        assert_eq!(found(&on(&[("sata", "sda"), ("nvme", "nvme0n1")]), RULE.row.id), []);
        let mut memory = on(&[("one", "x"), ("two", "x")]);
        for directory in &mut memory.environment.log_directories {
            directory.storage.layers.truncate(1);
        }
        assert_eq!(found(&memory, RULE.row.id), []);
    }
}
