//! What has to be undone after a block, on disk before anything is done.

use super::hook::Hook;
use super::host_setting::{HostFiles, Setting};
use crate::run_dir::{RunDir, RunDirError};
use anyhow::{Context, Result};
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
    /// Settings of this host with what they were, in the order in which they are changed.
    settings: Vec<(String, String)>,
}

impl Undo {
    /// What an arm will have to undo, with settings as they are now.
    pub(super) fn of((arm, round): (&ArmPlan, u32), bootstrap: &str, files: &HostFiles) -> Result<Self> {
        let read = |name: &String| Ok((name.clone(), Setting::new(name)?.read(files)?));
        Ok(Undo {
            arm: arm.name.clone(),
            pair: round + 1,
            bootstrap: bootstrap.to_owned(),
            after: arm.after.clone(),
            settings: arm.host.keys().map(read).collect::<Result<_>>()?,
        })
    }

    /// Keeps it, so that it outlives this process.
    pub(super) fn write(&self, dir: &RunDir) -> Result<()> {
        let json = serde_json::to_vec(self)?;
        Ok(dir.write_state(FILE, &json)?)
    }

    /// What a run that was killed has kept; none where nothing is left to undo.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let text = match fs_err::read(directory.join(FILE)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(RunDirError::Read)?,
        };
        let undo = serde_json::from_slice(&text);
        Ok(Some(undo.with_context(|| format!("{} is damaged", directory.join(FILE).display()))?))
    }

    /// What will be done, for people.
    pub(super) fn summary(&self) -> String {
        let settings = self.settings.iter().map(|(name, before)| format!("{name} back to {before}"));
        let after = self.after.iter().map(|_| format!("the command after a block of {}", self.arm));
        let all: Vec<String> = after.chain(settings).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }

    /// Runs the command that comes after the block, then puts the settings back, last first. Each is tried whatever became
    /// of the others; the first error is told. What could not be put back stays on disk.
    pub(super) fn carry_out(self, files: &HostFiles, directory: &Path, secrets: &[String]) -> Result<()> {
        let mut first_error: Result<()> = Ok(());
        if let Some(command) = &self.after {
            let (arm, pair, bootstrap) = (&self.arm, self.pair, &self.bootstrap);
            let hook = Hook { when: "after", command, arm, pair, bootstrap };
            // It runs however the block ended: a stop does not end it.
            first_error = hook.run(None, secrets).map_err(anyhow::Error::from);
        }
        let mut all_back = true;
        for (name, before) in self.settings.iter().rev() {
            let back = Setting::new(name).and_then(|setting| {
                setting.write(files, before).inspect_err(|_| {
                    crate::printer::note(&format!(
                        "warning: {name} is not as it was; put it back by hand: {}",
                        setting.by_hand(before)
                    ));
                })
            });
            all_back &= back.is_ok();
            if first_error.is_ok() {
                first_error = back.map_err(anyhow::Error::from);
            }
        }
        if all_back {
            remove(directory)?;
        }
        first_error
    }
}

/// Whether something is left to undo in a run's directory.
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

    #[test]
    fn settings_go_back_to_what_they_were_and_the_file_that_says_so_goes() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("proc/sys/vm");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("swappiness"), "60\n").unwrap();
        let files = HostFiles::below(root.path());
        let run = root.path().join("run");
        let dir = RunDir::create(Some(&run), Timestamp::UNIX_EPOCH, "x").unwrap();
        let arm = ArmPlan {
            name: "low".into(),
            step: 1,
            differences: BTreeMap::new(),
            before: None,
            after: Some(
                "echo $PLUMB_ARM $PLUMB_PAIR > after.txt"
                    .replace("after.txt", &format!("{}/after.txt", root.path().display())),
            ),
            host: [("vm.swappiness".to_owned(), "1".to_owned())].into(),
        };
        let undo = Undo::of((&arm, 4), "host:9092", &files).unwrap();
        undo.write(&dir).unwrap();
        Setting::new("vm.swappiness").unwrap().write(&files, "1").unwrap();
        // As a later process finds it.
        let kept = Undo::read(&run).unwrap().unwrap();
        assert_eq!(kept, undo);
        kept.carry_out(&files, &run, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(place.join("swappiness")).unwrap(), "60");
        assert_eq!(std::fs::read_to_string(root.path().join("after.txt")).unwrap(), "low 5\n");
        assert_eq!(Undo::read(&run).unwrap(), None);
    }
}
