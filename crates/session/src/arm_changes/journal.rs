//! The record of the trial that changes this host, by settings or by commands of the user's, where every other trial on it finds it.
//!
//! One that is killed leaves a host that is not as it was. What to put back is in its own directory; here stands which that is, so
//! that no other trial takes an arm's value for what the host had. Kernel settings do not outlive the machine, and neither does
//! this file. A trial that is alive holds a lock on it, which ends with its process however that ends.

use super::journal_error::{JournalError, VARIABLE};
use crate::lock::Lock;
use crate::run_dir::RunDir;
use plumb_model::plan::Properties;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Root's, which every trial on the host sees.
const PLACE: &str = "/run/plumb";
/// The environment's name of a user's runtime directory (XDG Base Directory Specification). Only that user's trials see it.
const USER_VARIABLE: &str = "XDG_RUNTIME_DIR";
const FILE: &str = "host-settings.json";

/// The places of this host's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// The directory of this trial's journal.
    own: PathBuf,
    /// The directories of others' journals.
    others: Vec<PathBuf>,
}

impl Places {
    /// By the environment, and by who runs this.
    pub(super) fn here() -> Self {
        Places::of(|name| std::env::var_os(name).map(PathBuf::from), rustix::process::geteuid().is_root())
    }

    fn of(variable: impl Fn(&str) -> Option<PathBuf>, root: bool) -> Self {
        let given = |name| variable(name).filter(|path| path.is_absolute());
        match (given(VARIABLE), given(USER_VARIABLE)) {
            (Some(own), _) => Places { own, others: Vec::new() },
            (None, Some(user)) if !root => {
                Places { own: user.join("plumb"), others: vec![PathBuf::from(PLACE)] }
            }
            (None, _) => Places { own: PathBuf::from(PLACE), others: Vec::new() },
        }
    }

    /// True if only this user's trials will see this journal.
    pub(super) fn is_one_users(&self) -> bool {
        !self.others.is_empty()
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// The trial's directory, absolute.
    run: PathBuf,
    left: Left,
}

/// The changes that a trial which is killed leaves behind.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Left {
    /// The values that put every setting that it changes back to that at its start.
    pub(super) before: Properties,
    /// Arms with a command that is to run after each block.
    pub(super) commands: Vec<String>,
}

impl Left {
    /// In words: `before it: vm.swappiness = 60; to be run: the command after a block of "low"`.
    fn words(&self) -> String {
        let before: Vec<String> =
            self.before.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let before = (!before.is_empty()).then(|| format!("before it: {}", before.join(", ")));
        let run: Vec<String> = self.commands.iter().map(|arm| format!("{arm:?}")).collect();
        let run = (!run.is_empty())
            .then(|| format!("perhaps to be run: the command after a block of {}", run.join(", ")));
        before.into_iter().chain(run).collect::<Vec<_>>().join("; ")
    }
}

/// This host's settings are this trial's to change, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    run: PathBuf,
    path: PathBuf,
    _lock: Lock,
}

impl Claim {
    /// Claims them, unless another trial has.
    pub(super) fn new(places: &Places, dir: &RunDir, left: &Left) -> Result<Self, JournalError> {
        places.others.iter().try_for_each(|place| check_place(place))?;
        let place = &places.own;
        let path = place.join(FILE);
        let failed = |source| JournalError::Write { place: place.to_owned(), source };
        fs_err::create_dir_all(place).map_err(failed)?;
        let run = fs_err::canonicalize(dir.path()).map_err(failed)?;
        let mut lock = loop {
            let open =
                fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let mut lock = locked(open.map_err(failed)?)?;
            // One whose end came between opening and locking has removed the file that this holds.
            if lock.file().metadata().map_err(failed)?.nlink() > 0 {
                break lock;
            }
        };
        let entry = Entry { run: run.clone(), left: left.clone() };
        let json = serde_json::to_vec(&entry).map_err(|error| failed(error.into()))?;
        let file = lock.file();
        file.set_len(0).and_then(|()| file.write_all(&json)).map_err(failed)?;
        Ok(Claim { run, path, _lock: lock })
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
pub(super) fn check(places: &Places) -> Result<(), JournalError> {
    places.others.iter().chain([&places.own]).try_for_each(|place| check_place(place))
}

fn check_place(place: &Path) -> Result<(), JournalError> {
    let path = place.join(FILE);
    match fs_err::File::open(&path) {
        // It cannot be opened where there is none, or where somebody hides it.
        Err(_) => Ok(()),
        Ok(file) => locked(file).map(drop),
    }
}

/// Locks the journal, refused while it tells of a change. Leaves the file at its start.
fn locked(file: fs_err::File) -> Result<Lock, JournalError> {
    let mut lock = match Lock::try_new(file) {
        Ok(lock) => lock,
        Err(mut held) => {
            let run = told(&mut held)?
                .map_or_else(|| "(not named)".to_owned(), |entry| entry.run.display().to_string());
            return Err(JournalError::Busy { run });
        }
    };
    let Some(Entry { run, left }) = told(lock.file())? else { return Ok(lock) };
    let gone = !run.exists();
    if !gone && !super::undo::is_left(&run) {
        return Ok(lock);
    }
    let journal = lock.file().path().to_owned();
    Err(JournalError::Left { run: run.display().to_string(), left: left.words(), gone, journal })
}

/// The entry of the journal; none where it is empty or half written.
fn told(file: &mut fs_err::File) -> Result<Option<Entry>, JournalError> {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).and_then(|_| io::Seek::rewind(file));
    read.map_err(|source| JournalError::Write { place: file.path().to_owned(), source })?;
    Ok(serde_json::from_str(&text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plumb_model::fault::HasFault;

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

        fn places(&self) -> Places {
            Places { own: self.place(), others: Vec::new() }
        }

        fn run(&self, name: &str) -> RunDir {
            RunDir::create(Some(&self.root.path().join(name)), Timestamp::UNIX_EPOCH, name).unwrap()
        }

        fn claim(&self, dir: &RunDir) -> Result<Claim, JournalError> {
            let before = [("vm.swappiness".to_owned(), "60".to_owned())].into();
            Claim::new(&self.places(), dir, &Left { before, commands: vec!["low".to_owned()] })
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
        for refused in [host.claim(&two).map(drop), check(&host.places())] {
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
        for refused in [host.claim(&other).map(drop), check(&host.places())] {
            let error = refused.unwrap_err();
            let left =
                "before it: vm.swappiness = 60; perhaps to be run: the command after a block of \"low\"";
            assert!(error.to_string().ends_with(left), "{error}");
            assert!(error.hint().unwrap().contains("plumb trial run --resume"), "{}", error.hint().unwrap());
            assert!(error.hint().unwrap().contains("/one puts them back"), "{}", error.hint().unwrap());
        }
        dir.remove_state("undo.json").unwrap();
        check(&host.places()).unwrap();
        host.claim(&other).unwrap();
    }

    #[test]
    fn the_way_back_is_told_when_the_killed_trials_directory_is_gone() {
        let host = Host::new();
        drop(host.killed("one"));
        std::fs::remove_dir_all(host.root.path().join("one")).unwrap();
        let error = check(&host.places()).unwrap_err();
        assert!(error.to_string().contains("vm.swappiness = 60"), "{error}");
        assert!(error.hint().unwrap().contains("by hand, then remove"), "{}", error.hint().unwrap());
    }

    #[test]
    fn a_host_without_a_journal_is_nobodys() {
        check(&Host::new().places()).unwrap();
    }

    #[test]
    fn a_user_writes_where_users_may_and_looks_where_root_writes() {
        let user = |name: &str| (name == USER_VARIABLE).then(|| PathBuf::from("/run/user/7"));
        let places = Places::of(user, false);
        assert_eq!(
            (&*places.own, &*places.others),
            (Path::new("/run/user/7/plumb"), &[PathBuf::from(PLACE)][..])
        );
        assert!(places.is_one_users());
        for (root, variable) in [(true, Some("/run/user/0")), (false, None), (false, Some("relative"))] {
            let places =
                Places::of(|name| variable.filter(|_| name == USER_VARIABLE).map(PathBuf::from), root);
            assert_eq!(places, Places { own: PathBuf::from(PLACE), others: Vec::new() });
        }
        let told =
            Places::of(|name| Some(PathBuf::from(if name == VARIABLE { "/srv/plumb" } else { "/x" })), false);
        assert_eq!(told, Places { own: PathBuf::from("/srv/plumb"), others: Vec::new() });
    }

    #[test]
    fn what_root_left_changed_keeps_a_user_away_too() {
        let (root, user) = (Host::new(), Host::new());
        let _left = root.killed("one");
        let places = Places { own: user.place(), others: vec![root.place()] };
        assert!(matches!(check(&places), Err(JournalError::Left { .. })));
        let dir = user.run("two");
        assert!(matches!(Claim::new(&places, &dir, &Left::default()), Err(JournalError::Left { .. })));
        assert!(!user.place().exists(), "nothing is claimed");
    }
}
