//! Log directories that the user named: whether they will do, and the lab's own directory in each of them.
//!
//! Brokers never write into a directory of the user's itself, only into one below it that the lab made, marked as its
//! own and removes in the end. Nothing else is touched there.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use plumb_model::plan::LogDirLayout;

use super::error::{LabError, Result};

/// Free space without which a broker is not started on a directory (ours: its topics' first segments and indexes).
pub const FREE_BYTES_MIN: u64 = 256 << 20;

/// Written into every directory that a lab made outside its own directory.
const MARK: &str = ".plumb-lab";

/// A directory of a lab's logs, with the brokers that use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDir {
    /// As it was given, made absolute; absent for the lab's own.
    pub given: Option<PathBuf>,
    /// Id of each broker that keeps logs there, and where below it.
    pub brokers: Vec<(u32, PathBuf)>,
}

impl LogDir {
    /// Replicas of the topic's partitions that lie here.
    ///
    /// # Errors
    /// When a broker's directory cannot be read.
    pub fn partitions_of(&self, topic: &str) -> io::Result<u32> {
        let mut count = 0;
        for (_, directory) in &self.brokers {
            for entry in fs::read_dir(directory)? {
                let name = entry?.file_name();
                count += u32::from(is_partition_of(&name.to_string_lossy(), topic));
            }
        }
        Ok(count)
    }

    /// Bytes that can still be written there.
    ///
    /// # Errors
    /// When the file system does not say.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let (_, directory) = self.brokers.first().ok_or(io::ErrorKind::NotFound)?;
        free_bytes(directory)
    }
}

/// A partition's directory is called `<topic>-<number>`; one that is about to be deleted or moved has more to its name.
fn is_partition_of(directory: &str, topic: &str) -> bool {
    let number = directory.strip_prefix(topic).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Refuses directories that cannot work, before anything is made.
pub(super) fn check(log_dirs: &[PathBuf], layout: LogDirLayout, brokers: u32) -> Result<()> {
    let each = layout == LogDirLayout::BrokerEach && !log_dirs.is_empty();
    if each && log_dirs.len() != brokers as usize {
        return Err(LabError::Option {
            option: "log dirs",
            expected: format!("{brokers}, one for each broker"),
            got: log_dirs.len().to_string(),
        });
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    for given in log_dirs {
        let problem = |problem: String| LabError::LogDir { path: given.clone(), problem };
        let metadata = fs::metadata(given).map_err(|error| {
            problem(match error.kind() {
                io::ErrorKind::NotFound => "it is not there".to_owned(),
                kind => kind.to_string(),
            })
        })?;
        if !metadata.is_dir() {
            return Err(problem("it is not a directory".to_owned()));
        }
        if given.to_string_lossy().contains(',') {
            return Err(problem(
                "Kafka separates log directories by commas, and its path has one".to_owned(),
            ));
        }
        // A file without a name leaves nothing behind, however this process ends.
        tempfile::tempfile_in(given)
            .map_err(|error| problem(format!("nothing can be written there: {error}")))?;
        let absolute = fs::canonicalize(given)?;
        if seen.contains(&absolute) {
            return Err(problem("it is given twice".to_owned()));
        }
        let free = free_bytes(&absolute)?;
        if free < FREE_BYTES_MIN {
            return Err(problem(format!(
                "it has {} MiB of free space, expected at least {} MiB",
                free >> 20,
                FREE_BYTES_MIN >> 20
            )));
        }
        seen.push(absolute);
    }
    Ok(())
}

fn free_bytes(directory: &Path) -> io::Result<u64> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// The directory that a lab makes below one of the user's.
pub(super) fn below(parent: &Path, lab_id: &str) -> PathBuf {
    parent.join(format!("plumb-{lab_id}"))
}

/// Makes it, and marks it as this lab's.
pub(super) fn make(parent: &Path, lab_id: &str) -> io::Result<()> {
    let directory = below(parent, lab_id);
    fs::create_dir(&directory)?;
    fs::write(directory.join(MARK), lab_id)
}

/// Removes a directory made by [`make`], and nothing that does not carry the lab's mark.
pub(super) fn remove(directory: &Path, lab_id: &str) -> io::Result<()> {
    match fs::read_to_string(directory.join(MARK)) {
        Ok(mark) if mark == lab_id => fs::remove_dir_all(directory),
        // A lab that died between making and marking leaves an empty one, which alone this removes.
        _ => {
            let _ = fs::remove_dir(directory);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(log_dirs: &[&Path]) -> String {
        let log_dirs: Vec<PathBuf> = log_dirs.iter().map(|dir| dir.to_path_buf()).collect();
        check(&log_dirs, LogDirLayout::Together, 1).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_that_is_not_there_is_refused_with_its_path() {
        assert_eq!(
            refusal(&[Path::new("/nowhere/at/all")]),
            "log directory /nowhere/at/all: it is not there"
        );
    }

    #[test]
    fn a_file_is_no_log_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(refusal(&[file.path()]).ends_with("it is not a directory"));
    }

    #[test]
    fn a_directory_that_is_given_twice_is_refused_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let same = dir.path().join(".");
        assert!(refusal(&[dir.path(), &same]).ends_with("it is given twice"));
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_refused() {
        let refusal = refusal(&[Path::new("/proc/self")]);
        assert!(refusal.contains("nothing can be written there"), "{refusal}");
    }

    #[test]
    fn a_broker_each_takes_as_many_directories_as_brokers() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = check(&[dir.path().to_owned()], LogDirLayout::BrokerEach, 2).unwrap_err().to_string();
        assert_eq!(refusal, "log dirs: expected 2, one for each broker, got 1");
    }

    #[test]
    fn a_partition_is_told_from_one_of_a_topic_with_a_longer_name() {
        assert!(is_partition_of("run-1-0", "run-1"));
        assert!(is_partition_of("run-1-12", "run-1"));
        for other in ["run-1-twin-0", "run-10-0", "run-1", "run-1-", "run-1-0.abc-delete"] {
            assert!(!is_partition_of(other, "run-1"), "{other}");
        }
    }

    #[test]
    fn a_directory_without_the_labs_mark_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        make(parent.path(), "lab-a").unwrap();
        let made = below(parent.path(), "lab-a");
        remove(&made, "lab-b").unwrap();
        assert!(made.exists());
        remove(&made, "lab-a").unwrap();
        assert!(!made.exists());
    }

    #[test]
    fn of_a_lab_that_died_before_it_marked_its_directory_an_empty_one_is_removed_and_no_other() {
        let parent = tempfile::tempdir().unwrap();
        let made = below(parent.path(), "lab-a");
        std::fs::create_dir(&made).unwrap();
        std::fs::write(made.join("theirs"), "").unwrap();
        remove(&made, "lab-a").unwrap();
        assert!(made.exists());
        std::fs::remove_file(made.join("theirs")).unwrap();
        remove(&made, "lab-a").unwrap();
        assert!(!made.exists());
    }
}
