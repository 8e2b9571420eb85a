//! A run's directory: made before anything is measured, its document replaced whole, its logs appended to.

mod seconds;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use jiff::Timestamp;
use plumb_model::document::{RunDocument, SCHEMA_VERSION};
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::StepPlan;
use plumb_stats::histogram::Histogram;
use plumb_tune::Lock;
pub use seconds::Seconds;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// Runs of one name that begin within one second, at most (ours).
const SAME_SECOND_MOST: u32 = 1_000;

/// Name of the document in a run's directory.
pub const DOCUMENT: &str = "run.json";

/// A run's directory that cannot be written or read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum RunDirError {
    #[error("cannot write the run's directory")]
    Write(#[source] std::io::Error),
    #[error("{0} exists already")]
    Exists(PathBuf),
    #[error("{0} is not empty, and what is in it is no run's")]
    NotEmpty(PathBuf),
    #[error("cannot read the result")]
    Read(#[source] std::io::Error),
    #[error("{path} is not a document of plumb")]
    NotADocument {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{0} belongs to a run that is still going on")]
    Busy(PathBuf),
    #[error("{path} has {got} bytes; expected at least the {expected} that were written before")]
    Shortened { path: PathBuf, got: u64, expected: u64 },
    #[error("{path} has schema version {got}; this plumb reads up to {SCHEMA_VERSION}")]
    Newer { path: PathBuf, got: u64 },
}

impl HasFault for RunDirError {
    fn fault(&self) -> Fault {
        match self {
            RunDirError::Write(_) => Fault::Environment,
            RunDirError::Exists(_)
            | RunDirError::NotEmpty(_)
            | RunDirError::Read(_)
            | RunDirError::NotADocument { .. }
            | RunDirError::Busy(_)
            | RunDirError::Shortened { .. }
            | RunDirError::Newer { .. } => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            RunDirError::Write(_) => {
                "is there space, and may you write there? --out DIR chooses another place"
            }
            RunDirError::Exists(_) => "choose another --out, or remove it: a run never overwrites another",
            RunDirError::NotEmpty(_) => {
                "name a directory of its own, such as --out runs/NAME: it is made if it is not there"
            }
            RunDirError::Read(_) | RunDirError::NotADocument { .. } => {
                "give the directory of a result, such as runs/2026-11-20T15-04-05Z-latency, or the document in it (run.json, path.json)"
            }
            RunDirError::Busy(_) => "wait until it ends, or stop it: a run has its directory alone",
            RunDirError::Shortened { .. } => "files of the run were lost, so it cannot go on: start it anew",
            RunDirError::Newer { .. } => "a newer plumb wrote it: update this one",
        };
        Some(hint.into())
    }
}

/// A file that has to be on the disk before it replaces the old one, or need not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// A run's directory.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The directories that did not exist before, innermost first.
    made: Vec<PathBuf>,
    logs: BTreeMap<String, Log>,
    /// The directory itself, locked: a run has it alone.
    _lock: Option<Lock>,
}

/// Refuses a directory that another run has, that holds anything else, or that is none.
///
/// # Errors
/// [`RunDirError::Exists`], [`RunDirError::NotEmpty`].
pub fn refuse_taken(path: &Path) -> Result<(), RunDirError> {
    if path.join(DOCUMENT).exists() || path.is_file() {
        return Err(RunDirError::Exists(path.to_owned()));
    }
    // One that is not there or cannot be listed is refused, if at all, when it is written to.
    match std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        true => Err(RunDirError::NotEmpty(path.to_owned())),
        false => Ok(()),
    }
}

/// A log that is written.
#[derive(Debug)]
struct Log {
    file: fs_err::File,
    bytes: u64,
}

impl RunDir {
    /// Makes the directory: the one given, or `runs/TIME-NAME`.
    pub fn create(given: Option<&Path>, started: Timestamp, name: &str) -> Result<Self, RunDirError> {
        let path = match given {
            Some(path) => path.to_owned(),
            None => {
                let time = started.strftime("%Y-%m-%dT%H-%M-%SZ");
                free_place(Path::new("runs"), &format!("{time}-{}", file_name(name)))
            }
        };
        refuse_taken(&path)?;
        let missing = path.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists());
        let made = missing.map(Path::to_owned).collect();
        let mut dir = RunDir { made, path: path.clone(), logs: BTreeMap::new(), _lock: None };
        if let Err(error) = fs_err::create_dir_all(&path) {
            dir.discard();
            return Err(RunDirError::Write(error));
        }
        dir._lock = Some(lock(&path)?);
        Ok(dir)
    }

    /// Opens the directory of a run that goes on. Its logs are cut back to so many bytes.
    pub(crate) fn reopen(path: &Path, log_bytes: &BTreeMap<String, u64>) -> Result<Self, RunDirError> {
        let lock = Some(lock(path)?);
        let mut dir = RunDir { made: Vec::new(), path: path.to_owned(), logs: BTreeMap::new(), _lock: lock };
        for (name, bytes) in log_bytes {
            let place = path.join(name);
            let open = || fs_err::OpenOptions::new().append(true).open(&place);
            let file = open().map_err(RunDirError::Read)?;
            let got = file.metadata().map_err(RunDirError::Read)?.len();
            if got < *bytes {
                return Err(RunDirError::Shortened { path: place, got, expected: *bytes });
            }
            file.set_len(*bytes).map_err(RunDirError::Write)?;
            dir.logs.insert(name.clone(), Log { file, bytes: *bytes });
        }
        Ok(dir)
    }

    /// Bytes of a log so far.
    pub(crate) fn log_bytes(&self, name: &str) -> u64 {
        self.logs.get(name).map_or(0, |log| log.bytes)
    }

    /// Ends a log and removes its file: what it holds is in no figure.
    pub(crate) fn remove_log(&mut self, name: &str) -> Result<(), RunDirError> {
        match self.logs.remove(name) {
            Some(_) => fs_err::remove_file(self.path.join(name)).map_err(RunDirError::Write),
            None => Ok(()),
        }
    }

    /// Replaces a file of what a run needs to go on after it was killed.
    pub(crate) fn write_state(&self, name: &str, content: &[u8]) -> Result<(), RunDirError> {
        self.replace(name, content, Durable::Yes)
    }

    /// Gives such a file another name, if it is there.
    pub(crate) fn rename_state(&self, from: &str, to: &str) -> Result<(), RunDirError> {
        match fs_err::rename(self.path.join(from), self.path.join(to)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunDirError::Write(error)),
            _ => Ok(()),
        }
    }

    /// Removes such a file, if it is there.
    pub(crate) fn remove_state(&self, name: &str) -> Result<(), RunDirError> {
        match fs_err::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunDirError::Write(error)),
            _ => Ok(()),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what the run wrote and the directories that were made for it, as far as nothing else is in them.
    pub(crate) fn discard(&self) {
        // What cannot be removed is not ours, or the same error that is being told already.
        for name in self.logs.keys().map(String::as_str).chain([DOCUMENT]) {
            let _ = fs_err::remove_file(self.path.join(name));
        }
        for directory in &self.made {
            let _ = fs_err::remove_dir(directory);
        }
    }

    /// Replaces the document: a reader, and a kill at any moment, finds the old or the new one whole.
    pub(crate) fn write_document(&self, document: &RunDocument) -> Result<(), RunDirError> {
        let json = document.to_json().map_err(|error| RunDirError::Write(std::io::Error::other(error)))?;
        self.replace(DOCUMENT, json.as_bytes(), Durable::Yes)
    }

    /// The same while the run goes on: not forced to the disk, which the brokers under test may share. A kill of the
    /// program, if not of the machine, leaves the old document or the new one whole.
    pub(crate) fn write_progress(&self, document: &RunDocument) -> Result<(), RunDirError> {
        let json = document.to_json().map_err(|error| RunDirError::Write(std::io::Error::other(error)))?;
        self.replace(DOCUMENT, json.as_bytes(), Durable::No)
    }

    /// Writes or replaces a file that was made of the document, and says where it is.
    ///
    /// # Errors
    /// [`RunDirError::Write`].
    pub fn write_made(&self, name: &str, content: &str) -> Result<PathBuf, RunDirError> {
        self.replace(name, content.as_bytes(), Durable::Yes)?;
        Ok(self.path.join(name))
    }

    fn replace(&self, name: &str, content: &[u8], durable: Durable) -> Result<(), RunDirError> {
        let write = || -> std::io::Result<()> {
            let partial = self.path.join(format!(".{name}.partial"));
            let mut file = fs_err::File::create(&partial)?;
            let written = file.write_all(content).and_then(|()| match durable {
                Durable::Yes => file.sync_data(),
                Durable::No => Ok(()),
            });
            match written.and_then(|()| fs_err::rename(&partial, self.path.join(name))) {
                Ok(()) => Ok(()),
                Err(error) => {
                    // The partial file must not stay; the error is the one to tell.
                    let _ = fs_err::remove_file(&partial);
                    Err(error)
                }
            }
        };
        write().map_err(RunDirError::Write)
    }

    /// Appends a line that [`interval`] made to a histogram log; `start` is when its interval began.
    pub fn append(&mut self, log: &str, start: SystemTime, line: &[u8]) -> Result<(), RunDirError> {
        let mut text = Vec::new();
        if !self.logs.contains_key(log) {
            let file = fs_err::File::create(self.path.join(log)).map_err(RunDirError::Write)?;
            self.logs.insert(log.to_owned(), Log { file, bytes: 0 });
            let mut builder = IntervalLogWriterBuilder::new();
            builder.add_comment("[Histogram log format version 1.3]").add_comment("Times in nanoseconds");
            builder.with_start_time(start);
            let mut serializer = V2DeflateSerializer::new();
            builder.begin_log_with(&mut text, &mut serializer).map_err(RunDirError::Write)?;
        }
        text.extend_from_slice(line);
        let Some(log) = self.logs.get_mut(log) else { return Ok(()) };
        log.bytes += text.len() as u64;
        log.file.write_all(&text).map_err(RunDirError::Write)
    }
}

/// One interval as a line of a histogram log (HdrHistogram's format 1.3, times in nanoseconds).
pub fn interval(start: SystemTime, length: Duration, histogram: &Histogram) -> Result<Vec<u8>, RunDirError> {
    let since_epoch = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (mut line, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .begin_log_with(&mut line, &mut serializer)
        .map_err(RunDirError::Write)?;
    let written = writer.write_histogram(histogram.inner(), since_epoch, length, None);
    written.map_err(|error| RunDirError::Write(std::io::Error::other(error.to_string())))?;
    Ok(line)
}

/// The place of that name, or of the first number behind it that is free: another run of the name may have begun within the same second.
fn free_place(directory: &Path, name: &str) -> PathBuf {
    let first = directory.join(name);
    let later = (2..SAME_SECOND_MOST).map(|number| directory.join(format!("{name}-{number}")));
    let free = std::iter::once(first.clone()).chain(later).find(|place| !place.exists());
    free.unwrap_or(first)
}

/// Locks a run's directory.
pub(crate) fn lock(path: &Path) -> Result<Lock, RunDirError> {
    let directory = fs_err::File::open(path).map_err(RunDirError::Read)?;
    Lock::try_new(directory).map_err(|_| RunDirError::Busy(path.to_owned()))
}

/// Reads a run's document, from its directory or the file itself.
pub fn read_document(path: &Path) -> Result<RunDocument, RunDirError> {
    let path = if path.is_dir() { path.join(DOCUMENT) } else { path.to_owned() };
    let text = fs_err::read_to_string(&path).map_err(RunDirError::Read)?;
    let not_a_document = |source| RunDirError::NotADocument { path: path.clone(), source };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(not_a_document)?;
    match value.get("schema_version").and_then(serde_json::Value::as_u64) {
        Some(got) if got > u64::from(SCHEMA_VERSION) => Err(RunDirError::Newer { path, got }),
        _ => serde_json::from_value(value).map_err(not_a_document),
    }
}

/// Start of the names of a step's files: its number from 1, and its name.
pub(crate) fn step_stem(index: usize, step: &StepPlan) -> String {
    format!("{:02}-{}", index + 1, file_name(&step.name))
}

/// A name fit for a file: lower case, and nothing that a shell would mind.
pub fn file_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(60);
    let out = out.trim_end_matches('-').to_owned();
    if out.is_empty() { "run".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_begins_within_the_second_of_another_has_a_place_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let taken = || {
            let place = free_place(directory.path(), "now-latency");
            fs_err::create_dir(&place).unwrap();
            place.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!([taken(), taken(), taken()], ["now-latency", "now-latency-2", "now-latency-3"]);
    }
}
