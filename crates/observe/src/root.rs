//! The one way to the host's files: a root directory, `/` for the host itself.
//!
//! Paths are given as the host has them (`/proc/stat`); tests and other hosts' recordings stand under another root.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use plumb_model::facts::Fact;

use crate::ObserveError;

/// More than any file that is read here has; a host with millions of routes stays below it.
const LIMIT_BYTES: u64 = 64 << 20;

/// The directory below which the host's files are.
#[derive(Debug, Clone)]
pub struct HostRoot {
    prefix: PathBuf,
}

impl HostRoot {
    /// A root below which `/proc`, `/sys` and `/etc` are found.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        HostRoot { prefix: prefix.into() }
    }

    /// Whether it is the host itself, of which the kernel may be asked beyond its files.
    pub fn is_host(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Text of a file; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// Where it cannot be read, or is larger than any that is read here.
    pub fn read(&self, path: &str) -> Result<String, ObserveError> {
        Ok(String::from_utf8_lossy(&self.read_bytes(path)?).into_owned())
    }

    /// An open file, for what is read again and again.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        File::open(self.locate(path))
    }

    /// Content of a file.
    ///
    /// # Errors
    /// Where it cannot be read, or is larger than any that is read here.
    pub fn read_bytes(&self, path: &str) -> Result<Vec<u8>, ObserveError> {
        let fault = |source| ObserveError::Read { path: path.to_owned(), source };
        let file = File::open(self.locate(path)).map_err(fault)?;
        // Small files of the kernel are had in one call; without room each would take several.
        let mut bytes = Vec::with_capacity(8192);
        file.take(LIMIT_BYTES + 1).read_to_end(&mut bytes).map_err(fault)?;
        if bytes.len() as u64 > LIMIT_BYTES {
            return Err(ObserveError::TooLarge { path: path.to_owned(), limit_bytes: LIMIT_BYTES });
        }
        Ok(bytes)
    }

    /// Names in a directory, sorted.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn list(&self, path: &str) -> Result<Vec<String>, ObserveError> {
        let fault = |source| ObserveError::Read { path: path.to_owned(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(self.locate(path)).map_err(fault)? {
            names.push(entry.map_err(fault)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// The target of a symbolic link; none when it is none, or may not be looked at.
    pub fn link(&self, path: &str) -> Option<String> {
        Some(fs::read_link(self.locate(path)).ok()?.to_string_lossy().into_owned())
    }

    /// The system's metadata of a file, after all links.
    ///
    /// # Errors
    /// Where there is none, or it may not be looked at.
    pub fn metadata(&self, path: &str) -> io::Result<Metadata> {
        fs::metadata(self.locate(path))
    }

    /// The real path of a file, without links on the way and with this root before it.
    ///
    /// # Errors
    /// Where there is none, or it may not be looked at.
    pub fn real(&self, path: &str) -> io::Result<PathBuf> {
        fs::canonicalize(self.locate(path))
    }

    /// True if there is such a file or directory.
    pub fn exists(&self, path: &str) -> bool {
        self.locate(path).exists()
    }

    /// A fact from one file: known when `parse` makes something of it.
    pub(crate) fn fact<T>(
        &self,
        path: &str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Fact<T> {
        match self.parsed(path, expected, parse) {
            Ok(value) => Fact::known(value, path),
            Err(error) => Fact::unknown(error.reason()),
        }
    }

    /// The value that `parse` makes of a file.
    pub(crate) fn parsed<T>(
        &self,
        path: &str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ObserveError> {
        let text = self.read(path)?;
        parse(&text).ok_or_else(|| ObserveError::format(path, expected, &text))
    }

    /// The place of a file below this root.
    pub fn locate(&self, path: &str) -> PathBuf {
        self.prefix.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)))
    }
}

impl Default for HostRoot {
    /// The host itself.
    fn default() -> Self {
        HostRoot::new("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_below_the_root_and_named_without_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/loadavg"), "0.5\n").unwrap();
        let root = HostRoot::new(folder.path());
        assert_eq!(root.read("/proc/loadavg").unwrap(), "0.5\n");
        let missing = root.read("/proc/uptime").unwrap_err();
        assert_eq!(missing.to_string(), "cannot read /proc/uptime");
    }

    #[test]
    fn a_file_without_the_expected_content_is_an_unknown_fact_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "nonsense\n").unwrap();
        let fact =
            HostRoot::new(folder.path()).fact("/a", "a number", |text| text.trim().parse::<u64>().ok());
        assert_eq!(fact, Fact::unknown("/a: expected a number, got \"nonsense\""));
    }
}
