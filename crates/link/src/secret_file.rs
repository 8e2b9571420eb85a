//! Files that hold a secret: their owner alone may read them, and what they hold is in no error.

use crate::secret_error::SecretError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub(crate) const TOKEN: &str = "token file";
pub(crate) const KEY: &str = "key file";
/// Read of a file at most: ours are below 2 KiB, and certificates of others with their chain some KiB.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// Those who are neither the owner nor of its group. A Kubernetes secret belongs to root and a group of the pod.
const OTHERS: u32 = 0o007;

/// Writes a new file with mode 0600.
pub(crate) fn create(what: &'static str, path: &Path, text: &str) -> Result<(), SecretError> {
    create_with(0o600, what, path, text)
}

/// Writes a new file that everybody may read, as far as the process lets them (umask).
pub(crate) fn create_open(what: &'static str, path: &Path, text: &str) -> Result<(), SecretError> {
    create_with(0o644, what, path, text)
}

fn create_with(mode: u32, what: &'static str, path: &Path, text: &str) -> Result<(), SecretError> {
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(mode).open(path);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| SecretError::file("write", what, path, source))
}

/// Reads a file that only its owner, and its group, may read. `what` is the file's purpose, for errors.
///
/// # Errors
/// When it cannot be read, or other users may read it.
pub fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::file("read", what, path, source);
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(SecretError::SecretOpen { what, path: path.to_owned(), mode: mode & 0o777 });
    }
    bytes_of(file).map_err(failed)
}

/// Reads a file that anybody may read.
pub(crate) fn read_open(what: &'static str, path: &Path) -> Result<Vec<u8>, SecretError> {
    let bytes = File::open(path).and_then(bytes_of);
    bytes.map_err(|source| SecretError::file("read", what, path, source))
}

fn bytes_of(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
