//! A file or directory that one process at a time holds.

use std::fs::TryLockError;

/// Held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct Lock {
    file: fs_err::File,
}

impl Lock {
    /// Locks it, or gives it back where somebody else holds it. Where the file system knows no locks, everybody holds it.
    pub fn try_new(file: fs_err::File) -> Result<Self, fs_err::File> {
        match file.file().try_lock() {
            Err(TryLockError::WouldBlock) => Err(file),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock { file }),
        }
    }

    /// The file that is held.
    pub fn file(&mut self) -> &mut fs_err::File {
        &mut self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing it is not enough: a child process that another thread is just starting has it open, too, until it runs its own
        // program. A file that cannot be unlocked was never locked.
        let _ = self.file.file().unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_is_free_although_the_file_is_still_open_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("held");
        let held = Lock::try_new(fs_err::File::create(&path).unwrap()).unwrap();
        let as_in_a_child = held.file.file().try_clone().unwrap();
        let another = || Lock::try_new(fs_err::File::open(&path).unwrap());
        another().unwrap_err();
        drop(held);
        another().unwrap();
        drop(as_in_a_child);
    }
}
