//! Files into tables, with answers that were worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

mod servers;
mod text;
mod values;

use jiff::tz::TimeZone;
use plumb_fleet::{
    FleetColumns, FleetFiles, FleetGroups, FleetInputError, FleetInterval, FleetRequest, FleetSource,
    FleetWindow, GroupNames, Sampling, read,
};
use plumb_model::fleet::{FleetGroup, FleetTable, SampleKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory with files, and a request for them that a test changes.
struct Scene {
    directory: TempDir,
    request: FleetRequest,
}

impl Scene {
    fn new(kind: SampleKind) -> Self {
        let columns = FleetColumns {
            server: "server".to_owned(),
            part: None,
            time: "time".to_owned(),
            metric: "drops".to_owned(),
            load: None,
            group: None,
            site: None,
            hardware: None,
        };
        let request = FleetRequest {
            source: FleetSource::Files(FleetFiles { paths: Vec::new(), columns }),
            groups: FleetGroups::None,
            window: FleetWindow {
                changed_at: None,
                interval: FleetInterval::Days,
                zone: TimeZone::UTC,
                from: None,
                until: None,
            },
            metric_kind: Sampling::Stated(kind),
            load_kind: Sampling::Stated(SampleKind::Increments),
            step_s: None,
        };
        Scene { directory: tempfile::tempdir().unwrap(), request }
    }

    fn files(&mut self) -> &mut FleetFiles {
        let FleetSource::Files(files) = &mut self.request.source else { unreachable!() };
        files
    }

    fn columns(&mut self) -> &mut FleetColumns {
        &mut self.files().columns
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn samples(mut self, text: &str) -> Self {
        let name = format!("samples-{}.csv", self.files().paths.len());
        let path = self.write(&name, text);
        self.files().paths.push(path);
        self
    }

    fn groups(mut self, text: &str) -> Self {
        let path = self.write("groups.csv", text);
        self.request.groups = FleetGroups::File { path, names: GroupNames::default() };
        self
    }

    fn read(&self) -> Result<FleetTable, FleetInputError> {
        read(&self.request, &mut |_| ControlFlow::Continue(()))
    }

    fn table(&self) -> FleetTable {
        self.read().unwrap()
    }

    fn error(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

/// Count and example of what was left out, found by a word of its name.
fn left(table: &FleetTable, word: &str) -> Option<(u64, String)> {
    let found = table.exclusions.iter().find(|left| left.what.contains(word));
    found.map(|left| (left.count, left.example.clone()))
}

/// Six-hourly samples over days from 1 March 2026, UTC; `value(sample)`.
fn six_hourly(server: &str, days: u32, value: impl Fn(u32) -> f64) -> String {
    let line = |sample: u32| {
        format!("{server},2026-03-{:02}T{:02}:00:00Z,{}\n", 1 + sample / 4, sample % 4 * 6, value(sample))
    };
    (0..days * 4).map(line).collect()
}

const HEADER: &str = "server,time,drops\n";
