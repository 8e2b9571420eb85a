//! The journal of changes to this host: on disk before anything is changed, so that all of it can be put back whatever happens.
//!
//! One file for each set of changes (a plan that was applied, a trial), one record a line, each synced before what it announces. A line
//! that the end of power tore announces nothing that was done. A journal gets its name once its head is on the device, so that one of which
//! less is there was cut off since. What a journal says is folded into [`JournalState`]; who may write is one
//! process at a time, by the lock of the directory. Journals outlive the machine's start, as a broker's settings do. Read `steps.rs` next.

mod error;
mod places;
mod record;
mod state;

pub use error::JournalError;
pub use places::{Places, VARIABLE};
pub use record::{Cause, JournalOwner, Opened, PendingCommand, Record, Restored};
pub use state::{JournalState, StepState};

use crate::Lock;
use crate::host::Host;
use jiff::Timestamp;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The form of the records. A journal of a later form is refused: what it left cannot be put back by this version.
pub const SCHEMA_VERSION: u32 = 1;

const LOCK: &str = "lock";
const FOLDER: &str = "journal";
const ENDING: &str = "jsonl";
/// Of a journal whose head is not written yet: nothing was changed by it.
const BEGUN: &str = "begun";

/// A journal that this process may write, and this host's settings with it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: fs_err::File,
    state: JournalState,
    _lock: Lock,
}

impl Journal {
    /// Begins one, unless another process changes this host, or left it changed.
    ///
    /// # Errors
    /// Where somebody else's changes are in the way, or the journal cannot be written.
    pub fn open(
        places: &Places,
        host: &Host,
        owner: JournalOwner,
        now: Timestamp,
    ) -> Result<Self, JournalError> {
        check(places, host)?;
        let lock = lock(&places.own)?;
        // It was free a moment ago; what came between is seen now that nothing can.
        refuse_left(&places.own, host)?;
        let failed = |source| JournalError::Write { place: places.own.clone(), source };
        let folder = places.own.join(FOLDER);
        fs_err::create_dir_all(&folder).map_err(failed)?;
        let (id, path) = free_name(&folder, now).map_err(failed)?;
        remove_begun(&folder);
        let begun = path.with_extension(BEGUN);
        let file = fs_err::File::create(&begun).map_err(failed)?;
        let opened = Opened {
            schema_version: SCHEMA_VERSION,
            plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
            id,
            opened: now,
            boot_id: host.boot_id(),
            network: host.network_namespace(),
            processes: host.process_namespace(),
            owner,
        };
        let state = JournalState::of(opened.clone());
        let mut journal = Journal { path, file, state, _lock: lock };
        let headed = journal.append(Record::Opened(opened)).map_err(|error| match error {
            JournalError::Append { source, .. } => failed(source),
            other => other,
        });
        if let Err(error) = headed {
            // One that stays has another ending than a journal.
            let _ = fs_err::remove_file(&begun);
            return Err(error);
        }
        fs_err::rename(&begun, &journal.path).map_err(failed)?;
        // The directory's entry has to last, too.
        sync_folder(&folder).and_then(|()| sync_folder(&places.own)).map_err(failed)?;
        tell(&mut journal._lock, &journal.path).map_err(failed)?;
        Ok(journal)
    }

    /// Goes on with one that is there.
    ///
    /// # Errors
    /// Where there is none of that name, it is damaged, or another process changes this host.
    pub fn reopen(places: &Places, id: &str) -> Result<Self, JournalError> {
        let lock = lock(&places.own)?;
        let path = places.file(id)?;
        let state = read(&path)?;
        let failed = |source| JournalError::Write { place: places.own.clone(), source };
        let mut file = fs_err::OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        // A torn line goes, or the next record would become a part of it.
        file.set_len(state.whole_bytes).map_err(failed)?;
        file.seek(io::SeekFrom::End(0)).map_err(failed)?;
        let mut journal = Journal { path, file, state, _lock: lock };
        tell(&mut journal._lock, &journal.path).map_err(failed)?;
        Ok(journal)
    }

    /// What it says so far.
    pub fn state(&self) -> &JournalState {
        &self.state
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.state.opened.id
    }

    /// Writes a record and waits until it is on the device.
    ///
    /// # Errors
    /// Where it cannot be written: what it announces must not be done then.
    pub fn append(&mut self, record: Record) -> Result<(), JournalError> {
        let failed = |source| JournalError::Append { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        if let Err(source) = self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            // What there was room for goes again, or the next record would become a part of it.
            let whole = self.state.whole_bytes;
            let _ =
                self.file.set_len(whole).and_then(|()| self.file.seek(io::SeekFrom::Start(whole)).map(drop));
            return Err(failed(source));
        }
        self.state.whole_bytes += line.len() as u64;
        self.state.add(record);
        Ok(())
    }

    /// Removes it, as of changes that are all undone and that nobody will ask for.
    pub fn forget(&self) {
        if self.state.is_settled() {
            // One that stays says of itself that nothing is left to undo.
            let _ = fs_err::remove_file(&self.path);
        }
    }
}

/// A name that no journal has, with its file: the time, and a number where two began in one second. Who asks holds the lock of the place.
fn free_name(folder: &Path, now: Timestamp) -> io::Result<(String, PathBuf)> {
    let time = now.strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    for number in 1..1000 {
        let id = if number == 1 { time.clone() } else { format!("{time}-{number}") };
        let path = folder.join(format!("{id}.{ENDING}"));
        if !path.try_exists()? {
            return Ok((id, path));
        }
    }
    Err(io::Error::other("a thousand journals began in this second"))
}

/// Removes what processes have left that ended before their head was written. Who asks holds the lock of the place.
fn remove_begun(folder: &Path) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.path().extension().is_some_and(|ending| ending == BEGUN) {
            // It is in nobody's way.
            let _ = fs_err::remove_file(entry.path());
        }
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    fs_err::File::open(folder)?.sync_all()
}

/// Every journal of a place, the oldest first. One that cannot be read is an error of its own.
pub fn all(places: &Places) -> Vec<Result<JournalState, JournalError>> {
    let files = match files(&places.own) {
        Ok(files) => files,
        Err(error) => return vec![Err(error)],
    };
    let mut states: Vec<_> = files.iter().map(|path| read(path)).collect();
    states.sort_by_key(|state| state.as_ref().ok().map(|state| state.opened.opened));
    states
}

/// The journals of a place; none where there is no such place.
fn files(place: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let folder = place.join(FOLDER);
    let entries = match fs_err::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(JournalError::Read { path: folder, source }),
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    let mut paths: Vec<PathBuf> = paths.filter(is_journal).collect();
    paths.sort();
    Ok(paths)
}

/// What a journal says.
///
/// # Errors
/// Where it cannot be read, is of a later form, or is no journal.
pub fn read(path: &Path) -> Result<JournalState, JournalError> {
    let failed = |source| JournalError::Read { path: path.to_owned(), source };
    let bytes = fs_err::read(path).map_err(failed)?;
    state::fold(path, &bytes)
}

/// A journal that is kept open: what was written can be read although its name is gone.
pub(crate) struct Kept {
    path: PathBuf,
    file: fs_err::File,
}

impl Kept {
    pub(crate) fn open(path: &Path) -> Result<Self, JournalError> {
        let file = fs_err::File::open(path);
        let file = file.map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
        Ok(Kept { path: path.to_owned(), file })
    }

    /// What it says; none where it was damaged in its place.
    pub(crate) fn state(&mut self) -> Option<JournalState> {
        let mut bytes = Vec::new();
        self.file.rewind().and_then(|()| self.file.read_to_end(&mut bytes)).ok()?;
        state::fold(&self.path, &bytes).ok()
    }
}

/// Refuses while another process changes this host, or has left it changed.
///
/// # Errors
/// With who that is.
pub fn check(places: &Places, host: &Host) -> Result<(), JournalError> {
    for place in places.others.iter().chain([&places.own]) {
        // Where it cannot be opened there is none, or somebody hides it.
        if let Ok(file) = fs_err::File::open(place.join(LOCK)) {
            drop(held(file)?);
        }
        match refuse_left(place, host) {
            // So with another user's journal that may not be read.
            Err(JournalError::Read { .. }) if *place != places.own => {}
            looked => looked?,
        }
    }
    Ok(())
}

fn refuse_left(place: &Path, host: &Host) -> Result<(), JournalError> {
    for path in files(place)? {
        let state = read(&path)?;
        if state.is_left(host) {
            return Err(JournalError::Left { left: Box::new(state), journal: path });
        }
    }
    Ok(())
}

/// Locks a place; the place is made where there is none.
fn lock(place: &Path) -> Result<Lock, JournalError> {
    let failed = |source| JournalError::Write { place: place.to_owned(), source };
    fs_err::create_dir_all(place).map_err(failed)?;
    loop {
        let path = place.join(LOCK);
        let open = fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut lock = held(open.map_err(failed)?)?;
        // Somebody may have removed the file between opening and locking.
        if lock.file().metadata().map_err(failed)?.nlink() > 0 {
            return Ok(lock);
        }
    }
}

/// Locks a file, or says which journal whoever holds it writes.
fn held(file: fs_err::File) -> Result<Lock, JournalError> {
    Lock::try_new(file).map_err(|mut file| {
        let mut path = String::new();
        let told = file.read_to_string(&mut path).is_ok() && !path.is_empty();
        let owner = told.then(|| read(Path::new(path.trim())).ok()).flatten().map(|state| state.opened.owner);
        JournalError::Busy { owner: owner.map(Box::new) }
    })
}

/// True if nobody writes a journal of a place now.
pub fn is_free(places: &Places) -> bool {
    fs_err::File::open(places.own.join(LOCK)).is_ok_and(|file| held(file).is_ok())
}

/// Says in the lock which journal is written.
fn tell(lock: &mut Lock, path: &Path) -> io::Result<()> {
    let file = lock.file();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(path.to_string_lossy().as_bytes())
}

#[cfg(test)]
mod tests;
