//! Files that are there whole or not at all: written beside their place and then renamed to it.

use fs_err::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being made. Unless it is finished, nothing of it stays.
pub(crate) struct WholeFile {
    file: File,
    kind: Kind,
}

enum Kind {
    /// Written beside its place, to be renamed to it.
    Beside { partial: PathBuf, place: PathBuf },
    /// No ordinary file, such as a pipe or a terminal: written as it is.
    Direct,
}

impl WholeFile {
    /// Opens it, so that a place that cannot be written is told before there is anything to write.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        // What a link points to is replaced, and not the link.
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let of_the_system = ["/dev", "/proc"].iter().any(|root| path.starts_with(root));
        if of_the_system || (place.exists() && !place.is_file()) {
            return Ok(WholeFile { file: File::create(path)?, kind: Kind::Direct });
        }
        let Some(name) = place.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let partial = place.with_file_name(format!(".{}.partial", name.to_string_lossy()));
        // Whoever named the place does not know of the file beside it.
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", place.display()));
        let file = std::fs::File::create(&partial).map_err(named)?;
        Ok(WholeFile { file: File::from_parts(file, &partial), kind: Kind::Beside { partial, place } })
    }

    /// Removes what an earlier command left at the place: should this one be killed, it must not be taken for its own.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn remove_earlier(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Beside { place, .. } if place.exists() => fs_err::remove_file(place),
            _ => Ok(()),
        }
    }

    /// Writes it and puts it into its place.
    ///
    /// # Errors
    /// What the file system says; what was at the place is still there then.
    pub(crate) fn finish(mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        match &self.kind {
            Kind::Direct => Ok(()),
            Kind::Beside { partial, place } => {
                self.file.sync_data()?;
                if let Ok(earlier) = fs_err::metadata(place) {
                    fs_err::set_permissions(partial, earlier.permissions())?;
                }
                fs_err::rename(partial, place)
            }
        }
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Kind::Beside { partial, .. } = &self.kind {
            // After the renaming it is no longer there.
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Asks whether something could be made in a directory that may not be there yet. Nothing stays.
///
/// # Errors
/// What the file system says of the nearest directory that is there.
pub(crate) fn may_be_made_in(directory: &Path) -> io::Result<()> {
    let absolute = std::path::absolute(directory)?;
    let Some(there) = absolute.ancestors().find(|place| place.exists()) else { return Ok(()) };
    // A file system may refuse root, too, whatever its modes say: only making something tells.
    let probe = there.join(format!(".plumb-{}.partial", std::process::id()));
    let made = std::fs::File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe));
    made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", there.display())))
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// What the file system says; what was at the place is still there then.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    WholeFile::create(path)?.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing_and_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("page.html");
        drop(WholeFile::create(&path).unwrap());
        assert!(names(place.path()).is_empty());
        write(&path, "old").unwrap();
        drop(WholeFile::create(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(place.path()), ["page.html"]);
    }

    #[test]
    fn what_an_earlier_command_left_goes_when_it_is_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("plumb.xml");
        write(&path, "green").unwrap();
        WholeFile::create(&path).unwrap().remove_earlier().unwrap();
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn what_a_link_points_to_is_replaced_and_a_device_is_written_to() {
        let place = tempfile::tempdir().unwrap();
        let (path, link) = (place.path().join("page.html"), place.path().join("link.html"));
        write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert!(link.is_symlink());
        write(Path::new("/dev/null"), "words").unwrap();
        assert!(write(Path::new("/dev/full"), "words").is_err());
    }
}
