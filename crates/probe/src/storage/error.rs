//! The errors of a directory that is probed, whose fault each is, and what to do next.

use plumb_model::fault::{Fault, HasFault};
use rustix::io::Errno;
use std::borrow::Cow;
use std::path::PathBuf;
use thiserror::Error;

/// A directory that cannot be probed, or not to the end.
#[derive(Debug, Error)]
pub enum StorageError {
    /// There is nothing of that name.
    #[error("{path} does not exist")]
    NoSuchPath {
        /// As given.
        path: PathBuf,
    },
    /// A raw device: writing to it would destroy what is on it.
    #[error("{path} is a raw device; expected a directory of a mounted file system")]
    RawDevice {
        /// As given.
        path: PathBuf,
    },
    /// Something else than a directory.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// As given.
        path: PathBuf,
    },
    /// A file system of the kernel's own.
    #[error("{path} takes no files: what is in it is the kernel's")]
    NoFiles {
        /// As given.
        path: PathBuf,
    },
    /// A file system on which a file needs a name, where none may be left.
    #[error(
        "files of {path} need names; expected ext4, xfs, btrfs or tmpfs, where the kernel removes a file whatever happens"
    )]
    NamesNeeded {
        /// As given.
        path: PathBuf,
    },
    /// This user may not.
    #[error("{path}: this user may not {doing}")]
    NotAllowed {
        /// As given.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
    },
    /// Mounted read-only, or made so by the kernel after an error.
    #[error("{path} is on a read-only file system")]
    ReadOnly {
        /// As given.
        path: PathBuf,
    },
    /// Too little space before anything was written.
    #[error("{path} has {available_bytes} bytes free; expected at least {needed_bytes}")]
    TooLittleSpace {
        /// As given.
        path: PathBuf,
        /// Free for this user.
        available_bytes: u64,
        /// Needed for the files of the probe.
        needed_bytes: u64,
    },
    /// The space ran out meanwhile.
    #[error("{path} is full: it could not {doing}")]
    Full {
        /// As given.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
    },
    /// This user's quota ran out.
    #[error("{path}: the disk quota is exceeded; it could not {doing}")]
    Quota {
        /// As given.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
    },
    /// The directory was there and is gone.
    #[error("{path} vanished while it was probed")]
    Vanished {
        /// As given.
        path: PathBuf,
    },
    /// The device, or the file system over it, reports an error.
    #[error("{path}: the storage failed to {doing}: {errno}")]
    Device {
        /// As given.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
        /// The kernel's word.
        errno: Errno,
    },
    /// Something else.
    #[error("{path}: cannot {doing}: {errno}")]
    Other {
        /// As given.
        path: PathBuf,
        /// The action that was tried.
        doing: &'static str,
        /// The kernel's word.
        errno: Errno,
    },
    /// No way to commit that was asked for is possible.
    #[error("{path}: none of the ways to commit that were asked for could be measured: {reasons}")]
    NothingMeasured {
        /// As given.
        path: PathBuf,
        /// The reasons, way by way.
        reasons: String,
    },
    /// The limit of open files is too low for the plan.
    #[error("this process may open {allowed} files; expected at least {needed} for the committers' files")]
    TooFewFiles {
        /// The limit.
        allowed: u64,
        /// Needed for the files of the probe and its own.
        needed: u64,
    },
    /// A thread could not be started.
    #[error("cannot start {committers} threads that commit: {reason}")]
    Thread {
        /// As many were asked for.
        committers: u32,
        /// The system's words.
        reason: String,
    },
}

impl StorageError {
    /// The error for the kernel's refusal of an action in a directory.
    pub(crate) fn from_errno(path: &std::path::Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT | Errno::STALE => StorageError::Vanished { path },
            Errno::ACCESS | Errno::PERM => StorageError::NotAllowed { path, doing },
            Errno::ROFS => StorageError::ReadOnly { path },
            // A limit on the size of files (ulimit -f) and a full file system ask for the same.
            Errno::NOSPC | Errno::FBIG => StorageError::Full { path, doing },
            Errno::DQUOT => StorageError::Quota { path, doing },
            Errno::IO | Errno::NXIO | Errno::NODEV | Errno::REMOTEIO => {
                StorageError::Device { path, doing, errno }
            }
            errno => StorageError::Other { path, doing, errno },
        }
    }
}

impl HasFault for StorageError {
    fn fault(&self) -> Fault {
        match self {
            StorageError::NoSuchPath { .. }
            | StorageError::RawDevice { .. }
            | StorageError::NotADirectory { .. }
            | StorageError::NoFiles { .. } => Fault::User,
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            StorageError::NoSuchPath { .. } => {
                "give a directory that exists: PATH is where the files of the probe go"
            }
            StorageError::RawDevice { .. } => {
                "plumb writes only into files of its own: mount a file system on the device and give a directory of it"
            }
            StorageError::NoFiles { .. } => "give a directory of a file system on the storage to be probed",
            StorageError::NamesNeeded { .. } => {
                "plumb probe storage makes files with names, which it removes"
            }
            StorageError::NotADirectory { .. } => "give the directory that the file is in",
            StorageError::NotAllowed { .. } => {
                "run it as a user who may write there, or give another directory"
            }
            StorageError::ReadOnly { .. } => {
                "if it was writable before, the kernel made it read-only after an error: see dmesg; otherwise remount it \
                 with rw, or give another directory"
            }
            StorageError::TooLittleSpace { .. } | StorageError::Full { .. } => {
                "make room, probe smaller blocks or fewer committers (--block, --committers), or give another directory"
            }
            StorageError::Quota { .. } => {
                "see `quota -s`; probe smaller blocks or fewer committers, or as another user"
            }
            StorageError::Vanished { .. } => {
                "it was removed or unmounted meanwhile: nothing of the probe is left there"
            }
            StorageError::Device { .. } => {
                "the kernel's log says which device and why (dmesg, journalctl -k); what is on it may be in danger"
            }
            StorageError::Other { .. } => "the kernel's log may say more (dmesg, journalctl -k)",
            StorageError::TooFewFiles { .. } => {
                "fewer --committers, ways to commit (--method) or paths, or a higher limit of open files (ulimit -n)"
            }
            StorageError::NothingMeasured { .. } => {
                "another --method or --block; without --method every way that is possible here is measured"
            }
            StorageError::Thread { .. } => "fewer --committers, or a higher limit of processes (ulimit -u)",
        };
        Some(hint.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_refusal_of_the_kernel_is_named_with_path_and_action() {
        let error = |errno| StorageError::from_errno(Path::new("/srv/log"), "sync a file", errno).to_string();
        assert_eq!(
            error(Errno::IO),
            "/srv/log: the storage failed to sync a file: Input/output error (os error 5)"
        );
        assert_eq!(error(Errno::DQUOT), "/srv/log: the disk quota is exceeded; it could not sync a file");
        assert_eq!(error(Errno::NOSPC), "/srv/log is full: it could not sync a file");
        assert_eq!(error(Errno::ROFS), "/srv/log is on a read-only file system");
        assert_eq!(error(Errno::ACCESS), "/srv/log: this user may not sync a file");
        assert_eq!(error(Errno::NOENT), "/srv/log vanished while it was probed");
        assert!(error(Errno::MFILE).contains("cannot sync a file: Too many open files"));
    }
}
