//! The undo of a block's changes, on disk before anything is done.

use super::hook::{Hook, Secrets};
use super::host_setting::{HostFiles, HostSettingError, Setting};
use super::inverse::{self, inverse};
use crate::error::{Result, SessionError};
use crate::resumable::ResumeError;
use crate::run_dir::{RunDir, RunDirError};
use crate::watcher::{Event, Watcher};
use plumb_model::change::{Assignment, Change, Owner, Target, way_back};
use plumb_model::trial::ArmPlan;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Its file in the run's directory.
const FILE: &str = "undo.json";

/// The way back from an arm's surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Undo {
    arm: String,
    /// From 1.
    pair: u32,
    bootstrap: String,
    /// The command that comes after the block.
    after: Option<String>,
    /// Settings of this host, in the order in which they are changed.
    changes: Vec<Change>,
}

/// The file of any version. Earlier ones kept nothing of a change but what to write, in the order of writing.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    Now(Undo),
    Earlier { arm: String, pair: u32, bootstrap: String, after: Option<String>, settings: Vec<Entry> },
}

/// A name and what to write to it, as an array of the two.
#[derive(Deserialize)]
struct Entry(String, String);

impl From<Kept> for Undo {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Now(undo) => undo,
            Kept::Earlier { arm, pair, bootstrap, after, settings } => {
                // The last change is undone first.
                let changes = settings.into_iter().rev().map(|Entry(key, before)| {
                    Change::plain(Target { owner: Owner::Host, key }, Some(before), None)
                });
                Undo { arm, pair, bootstrap, after, changes: changes.collect() }
            }
        }
    }
}

impl Undo {
    /// The undo of an arm, with settings as they are now; none where it has nothing to undo.
    pub(super) fn of(arm: &ArmPlan, round: u32, bootstrap: &str, files: &HostFiles) -> Result<Option<Self>> {
        if arm.after.is_none() && arm.host.is_empty() {
            return Ok(None);
        }
        let mut made = Vec::new();
        for (setting, value) in changes(arm)? {
            let back = inverse(&setting, files)?;
            let target = Target { owner: Owner::Host, key: setting.name.clone() };
            let before = Some(setting.read(files)?);
            let inverse = back.into_iter().map(|(part, value)| Assignment { key: part.name, value });
            made.push(Change {
                inverse: inverse.collect(),
                ..Change::plain(target, before, Some(value.to_owned()))
            });
        }
        Ok(Some(Undo {
            arm: arm.name.clone(),
            pair: round + 1,
            bootstrap: bootstrap.to_owned(),
            after: arm.after.clone(),
            changes: made,
        }))
    }

    /// Keeps it, so that it outlives this process.
    pub(super) fn write(&self, dir: &RunDir) -> Result<()> {
        let json =
            serde_json::to_vec(self).map_err(|error| RunDirError::Write(std::io::Error::other(error)))?;
        Ok(dir.write_state(FILE, &json)?)
    }

    /// The undo that a run which was killed has kept; none where nothing is left to undo.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let text = match fs_err::read(directory.join(FILE)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(RunDirError::Read)?,
        };
        let damaged = |source| ResumeError::UndoDamaged { path: directory.join(FILE), source };
        Ok(Some(serde_json::from_slice::<Kept>(&text).map_err(damaged)?.into()))
    }

    /// The undo in words.
    pub(super) fn summary(&self) -> String {
        let settings =
            way_back(&self.changes).into_iter().map(|to| format!("{} back to {}", to.key, to.value));
        let after = self.after.iter().map(|_| format!("the command after a block of {}", self.arm));
        after.chain(settings).collect::<Vec<_>>().join(", ")
    }

    /// Runs the command that comes after the block, then puts the settings back. Each is tried whatever became of the
    /// others; the first error is told. Unless all of it is done it stays on disk, for the next to try again.
    pub(super) fn carry_out(
        self,
        files: &HostFiles,
        directory: &Path,
        secrets: &Secrets,
        watcher: &dyn Watcher,
    ) -> Result<()> {
        let mut first_error: Result<()> = Ok(());
        if let Some(command) = &self.after {
            let (arm, pair, bootstrap) = (&self.arm, self.pair, &self.bootstrap);
            let hook = Hook { when: "after", command, arm, pair, bootstrap };
            // It runs however the block ended: a stop does not end it.
            first_error = hook.run(None, secrets).map_err(SessionError::from);
            if first_error.is_err() {
                watcher.event(&Event::Note(&format!(
                    "warning: what the command after a block of {arm} is to undo is not undone; --resume runs it again"
                )));
            }
        }
        for Assignment { key: name, value: before } in &way_back(&self.changes) {
            let back = Setting::new(name).and_then(|setting| {
                setting.write(files, before).inspect_err(|_| {
                    watcher.event(&Event::Note(&format!(
                        "warning: {name} is not as it was; put it back by hand: {}",
                        setting.by_hand(before)
                    )));
                })
            });
            if first_error.is_ok() {
                first_error = back.map_err(SessionError::from);
            }
        }
        first_error?;
        Ok(remove(directory)?)
    }
}

/// The settings that an arm changes, with their values, in the order in which they are changed.
pub(super) fn changes(arm: &ArmPlan) -> Result<Vec<(Setting, &str)>, HostSettingError> {
    let mut changes = Vec::new();
    for (name, value) in &arm.host {
        changes.push((Setting::new(name)?, value.as_str()));
    }
    changes.sort_by_key(|(setting, _)| !inverse::resets_others(setting));
    Ok(changes)
}

/// True if something is left to undo in a run's directory.
pub(super) fn is_left(directory: &Path) -> bool {
    directory.join(FILE).exists()
}

fn remove(directory: &Path) -> Result<(), RunDirError> {
    match fs_err::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunDirError::Write(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    struct Unwatched;

    impl Watcher for Unwatched {
        fn event(&self, _: &Event<'_>) {}
    }

    /// A host with one setting and a place for a run.
    struct Host {
        root: tempfile::TempDir,
        files: HostFiles,
        run: PathBuf,
        dir: RunDir,
    }

    impl Host {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let files = HostFiles::below(root.path());
            let run = root.path().join("run");
            let dir = RunDir::create(Some(&run), Timestamp::UNIX_EPOCH, "x").unwrap();
            let host = Host { root, files, run, dir };
            host.has("proc/sys/vm/swappiness", "60\n");
            host
        }

        fn has(&self, path: &str, text: &str) {
            let place = self.root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }

        fn read(&self, path: &str) -> String {
            std::fs::read_to_string(self.root.path().join(path)).unwrap()
        }

        /// The undo of an arm in its fifth pair, kept as a later process finds it.
        fn undo(&self, after: Option<String>, settings: &[(&str, &str)]) -> Undo {
            let host = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let differences = BTreeMap::new();
            let host = host.collect();
            let arm = ArmPlan { name: "low".into(), step: 1, differences, before: None, after, host };
            let undo = Undo::of(&arm, 4, "host:9092", &self.files).unwrap().unwrap();
            undo.write(&self.dir).unwrap();
            let kept = Undo::read(&self.run).unwrap().unwrap();
            assert_eq!(kept, undo);
            kept
        }

        fn carry_out(&self, undo: Undo) -> Result<()> {
            undo.carry_out(&self.files, &self.run, &Secrets::Known(Vec::new()), &Unwatched)
        }
    }

    #[test]
    fn settings_go_back_to_what_they_were_and_the_file_that_says_so_goes() {
        let host = Host::new();
        let after = format!("echo $PLUMB_ARM $PLUMB_PAIR > {}/after.txt", host.root.path().display());
        let undo = host.undo(Some(after), &[("vm.swappiness", "1")]);
        Setting::new("vm.swappiness").unwrap().write(&host.files, "1").unwrap();
        host.carry_out(undo).unwrap();
        assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
        assert_eq!(host.read("after.txt"), "low 5\n");
        assert_eq!(Undo::read(&host.run).unwrap(), None);
    }

    #[test]
    fn a_command_that_fails_stays_to_be_run_again_and_does_not_keep_settings_from_going_back() {
        let host = Host::new();
        let undo = host.undo(Some("exit 7".to_owned()), &[("vm.swappiness", "1")]);
        Setting::new("vm.swappiness").unwrap().write(&host.files, "1").unwrap();
        let error = host.carry_out(undo.clone()).unwrap_err();
        assert!(error.to_string().contains("the command after a block"), "{error}");
        assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
        assert_eq!(Undo::read(&host.run).unwrap(), Some(undo));
    }

    #[test]
    fn an_arm_that_sets_a_scheduler_and_its_queue_sets_and_restores_the_scheduler_first() {
        let host = Host::new();
        let queue = "/sys/block/vda/queue";
        host.has("sys/block/vda/queue/scheduler", "[none] kyber\n");
        host.has("sys/block/vda/queue/nr_requests", "64\n");
        let [scheduler, length] = ["scheduler", "nr_requests"].map(|name| format!("{queue}/{name}"));
        let undo = host.undo(None, &[(&length, "8"), (&scheduler, "kyber")]);
        let to = |key: &str, value: &str| Assignment { key: key.to_owned(), value: value.to_owned() };
        assert_eq!(way_back(&undo.changes), [to(&scheduler, "none"), to(&length, "64")]);
        let change = undo.changes.iter().find(|change| change.target.key == length).unwrap();
        assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("64"), Some("8")));
    }

    #[test]
    fn what_an_earlier_version_left_to_undo_is_undone_in_its_order() {
        let host = Host::new();
        host.has("proc/sys/vm/laptop_mode", "5\n");
        let kept = r#"{"arm": "low", "pair": 5, "bootstrap": "host:9092", "after": null,
            "settings": [["vm.swappiness", "30"], ["vm.laptop_mode", "0"]]}"#;
        host.dir.write_state(FILE, kept.as_bytes()).unwrap();
        let undo = Undo::read(&host.run).unwrap().unwrap();
        assert_eq!(undo.summary(), "vm.swappiness back to 30, vm.laptop_mode back to 0");
        host.carry_out(undo).unwrap();
        let now = ["vm/swappiness", "vm/laptop_mode"].map(|name| host.read(&format!("proc/sys/{name}")));
        assert_eq!((now, Undo::read(&host.run).unwrap()), (["30".to_owned(), "0".to_owned()], None));
    }
}
