//! The choice of a writer for each way to commit, and a first commit to see whether the file system has that way.

use super::directory::Directory;
use super::error::StorageError;
use super::file::{self, FileWriter};
use super::mapped::MappedWriter;
use super::ring::RingWriter;
use super::writer::{Failure, Writer};
use plumb_model::probe::storage::{CommitCase, CommitMethod, Placement};
use rustix::io::Errno;
use std::time::Instant;

/// A writer with a file of its own, or why there is none.
pub(super) fn writer(
    directory: &Directory,
    case: &CommitCase,
    limit_bytes: u64,
    seed: u64,
) -> Result<Result<Box<dyn Writer>, String>, StorageError> {
    let file = match file::open(directory, case, limit_bytes, seed)? {
        Ok(file) => file,
        Err(reason) => return Ok(Err(reason)),
    };
    let writer: Result<Box<dyn Writer>, String> = match case.method {
        CommitMethod::IoUring => match RingWriter::new(file, case, limit_bytes, seed) {
            Ok(writer) => Ok(Box::new(writer)),
            Err(reason) => Err(reason),
        },
        CommitMethod::Msync | CommitMethod::MapSync => {
            match MappedWriter::new(file, case, limit_bytes, seed)
                .map_err(|failure| directory.error(failure.doing, failure.errno))?
            {
                Ok(writer) => Ok(Box::new(writer)),
                Err(reason) => Err(reason),
            }
        }
        _ => Ok(Box::new(FileWriter::new(file, case, limit_bytes, seed))),
    };
    Ok(writer)
}

/// Makes one commit, to see whether the file system takes it: some refuse only then.
pub(super) fn tried(
    directory: &Directory,
    case: &CommitCase,
    writer: &mut Box<dyn Writer>,
) -> Result<Result<(), String>, StorageError> {
    let outcome = writer.commit(Instant::now()).and_then(|_| writer.settle());
    match outcome {
        Ok(()) => Ok(Ok(())),
        Err(Failure { errno: Errno::INVAL, .. }) if case.method.is_direct() => Ok(Err(format!(
            "O_DIRECT takes whole blocks of the device, and {} bytes are none",
            case.block_bytes
        ))),
        Err(Failure { errno: Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE, .. }) => {
            Ok(Err("this file system does not have it".to_owned()))
        }
        Err(Failure { doing, errno }) => Err(directory.error(doing, errno)),
    }
}

/// A writer in the place of one whose file is full. It was possible before.
pub(super) fn renewed(
    directory: &Directory,
    case: &CommitCase,
    limit_bytes: u64,
    seed: u64,
) -> Result<Box<dyn Writer>, StorageError> {
    debug_assert_eq!(case.placement, Placement::Append, "only what grows gets full");
    writer(directory, case, limit_bytes, seed)?.map_err(|_| directory.error("make a file", Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(
        place: &tempfile::TempDir,
        method: CommitMethod,
        placement: Placement,
        blocks: u64,
    ) -> Box<dyn Writer> {
        let directory = Directory::open(place.path()).unwrap();
        let case = CommitCase { method, placement, block_bytes: 4096, committers: 1, queue_depth: 1 };
        super::writer(&directory, &case, blocks * 4096, 0).unwrap().unwrap()
    }

    #[test]
    fn a_file_that_reaches_its_limit_is_full_and_never_exceeds_it() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = writer(&place, CommitMethod::SyncFileRange, Placement::Append, 3);
        for _ in 0..3 {
            assert!(!writer.is_full());
            writer.commit(Instant::now()).unwrap();
        }
        assert!(writer.is_full());
    }

    #[test]
    fn overwriting_goes_round_within_the_file() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = writer(&place, CommitMethod::Fdatasync, Placement::Overwrite, 2);
        for _ in 0..5 {
            assert!(!writer.is_full());
            writer.commit(Instant::now()).unwrap();
        }
    }
}
