//! Which trial changes settings of this host, where every other trial on it finds out.
//!
//! One that is killed leaves a host that is not as it was. What to put back is in its own directory; here stands which that is, so
//! that no other trial takes an arm's value for what the host had. Kernel settings do not outlive the machine, and neither does
//! this file. A trial that is alive holds a lock on it, which ends with its process however that ends.

use crate::run_dir::RunDir;
use plumb_model::plan::Properties;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Another trial's change to this host, or no place to write down one's own.
#[derive(Debug, Error)]
pub(crate) enum JournalError {
    #[error("another trial changes settings of this host now: {run}")]
    Busy { run: String },
    #[error(
        "a trial that was killed may have left settings of this host changed: {run}; before it they were {before}"
    )]
    Left { run: String, before: String, gone: bool, journal: PathBuf },
    #[error("cannot write down in {place} that settings of this host are changed")]
    Write {
        place: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl JournalError {
    pub(crate) fn hint(&self) -> String {
        match self {
            JournalError::Busy { .. } => "wait until it ends, or stop it".to_owned(),
            JournalError::Left { run, gone: false, .. } => {
                format!("plumb trial run --resume {run} puts them back and goes on with it")
            }
            JournalError::Left { journal, .. } => {
                format!("its directory is gone: put them back by hand, then remove {}", journal.display())
            }
            JournalError::Write { .. } => {
                format!("set {VARIABLE} to a directory that every trial on this host uses and may write")
            }
        }
    }
}

/// Says where, instead of [`PLACE`].
const VARIABLE: &str = "PLUMB_RUNTIME_DIR";
const PLACE: &str = "/run/plumb";
const FILE: &str = "host-settings.json";

/// Where this host's journal is.
pub(super) fn place() -> PathBuf {
    let given = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
    given.unwrap_or_else(|| PathBuf::from(PLACE))
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// The trial's directory, absolute.
    run: PathBuf,
    /// What each setting that it changes was at its start.
    before: Properties,
}

/// This host's settings are this trial's to change, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    run: PathBuf,
    path: PathBuf,
    /// Locked.
    _file: std::fs::File,
}

impl Claim {
    /// Claims them.
    pub(super) fn new(place: &Path, dir: &RunDir, before: &Properties) -> Result<Self, JournalError> {
        let path = place.join(FILE);
        let failed = |source| JournalError::Write { place: place.to_owned(), source };
        fs_err::create_dir_all(place).map_err(failed)?;
        let run = fs_err::canonicalize(dir.path()).map_err(failed)?;
        let mut file = loop {
            let open =
                fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let (mut file, _) = open.map_err(failed)?.into_parts();
            locked(&mut file, &path)?;
            // One whose end came between opening and locking has removed the file that this holds.
            if file.metadata().map_err(failed)?.nlink() > 0 {
                break file;
            }
        };
        let entry = Entry { run: run.clone(), before: before.clone() };
        let json = serde_json::to_vec(&entry).map_err(|error| failed(error.into()))?;
        file.set_len(0).and_then(|()| file.write_all(&json)).map_err(failed)?;
        Ok(Claim { run, path, _file: file })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // What could not be put back stays told. A file that cannot be removed names a trial that left nothing changed.
        if !super::undo::is_left(&self.run) {
            let _ = fs_err::remove_file(&self.path);
        }
    }
}

/// Refuses while another trial changes this host, or has left it changed.
pub(super) fn check(place: &Path) -> Result<(), JournalError> {
    let path = place.join(FILE);
    match fs_err::File::open(&path) {
        // It cannot be opened where there is none, or where somebody hides it.
        Err(_) => Ok(()),
        Ok(file) => locked(&mut file.into_parts().0, &path),
    }
}

/// Locks the journal, refused while it tells of a change. Leaves the file at its start.
fn locked(file: &mut std::fs::File, path: &Path) -> Result<(), JournalError> {
    let lock = file.try_lock();
    let mut text = String::new();
    let read = file.read_to_string(&mut text).and_then(|_| io::Seek::rewind(file));
    read.map_err(|source| JournalError::Write { place: path.to_owned(), source })?;
    let entry: Option<Entry> = serde_json::from_str(&text).ok();
    let run =
        entry.as_ref().map_or_else(|| "(not named)".to_owned(), |entry| entry.run.display().to_string());
    if let Err(std::fs::TryLockError::WouldBlock) = lock {
        return Err(JournalError::Busy { run });
    }
    let Some(entry) = entry else { return Ok(()) };
    let gone = !entry.run.exists();
    if !gone && !super::undo::is_left(&entry.run) {
        return Ok(());
    }
    let before: Vec<String> = entry.before.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    Err(JournalError::Left { run, before: before.join(", "), gone, journal: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    struct Host {
        root: tempfile::TempDir,
    }

    impl Host {
        fn new() -> Self {
            Host { root: tempfile::tempdir().unwrap() }
        }

        fn place(&self) -> PathBuf {
            self.root.path().join("journal")
        }

        fn run(&self, name: &str) -> RunDir {
            RunDir::create(Some(&self.root.path().join(name)), Timestamp::UNIX_EPOCH, name).unwrap()
        }

        fn claim(&self, dir: &RunDir) -> Result<Claim, JournalError> {
            Claim::new(&self.place(), dir, &[("vm.swappiness".to_owned(), "60".to_owned())].into())
        }

        /// A trial that was killed while `vm.swappiness` was changed.
        fn killed(&self, name: &str) -> RunDir {
            let dir = self.run(name);
            let claim = self.claim(&dir).unwrap();
            dir.write_state("undo.json", b"{}").unwrap();
            drop(claim);
            dir
        }
    }

    #[test]
    fn two_trials_cannot_change_a_host_at_once_and_the_second_hears_of_the_first() {
        let host = Host::new();
        let (one, two) = (host.run("one"), host.run("two"));
        let claim = host.claim(&one).unwrap();
        for refused in [host.claim(&two).map(drop), check(&host.place())] {
            let error = refused.unwrap_err();
            assert!(matches!(&error, JournalError::Busy { run } if run.ends_with("one")), "{error}");
        }
        drop(claim);
        assert!(!host.place().join(FILE).exists());
        host.claim(&two).unwrap();
    }

    #[test]
    fn a_change_that_a_killed_trial_left_keeps_others_away_until_it_is_undone() {
        let host = Host::new();
        let (dir, other) = (host.killed("one"), host.run("two"));
        for refused in [host.claim(&other).map(drop), check(&host.place())] {
            let error = refused.unwrap_err();
            assert!(error.to_string().contains("before it they were vm.swappiness = 60"), "{error}");
            assert!(error.hint().contains("plumb trial run --resume"), "{}", error.hint());
            assert!(error.hint().contains("/one puts them back"), "{}", error.hint());
        }
        dir.remove_state("undo.json").unwrap();
        check(&host.place()).unwrap();
        host.claim(&other).unwrap();
    }

    #[test]
    fn the_way_back_is_told_when_the_killed_trials_directory_is_gone() {
        let host = Host::new();
        drop(host.killed("one"));
        std::fs::remove_dir_all(host.root.path().join("one")).unwrap();
        let error = check(&host.place()).unwrap_err();
        assert!(error.to_string().contains("vm.swappiness = 60"), "{error}");
        assert!(error.hint().contains("by hand, then remove"), "{}", error.hint());
    }

    #[test]
    fn a_host_without_a_journal_is_nobodys() {
        check(&Host::new().place()).unwrap();
    }
}
