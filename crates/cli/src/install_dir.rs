//! Writes the files that an experiment hands over: a directory for each winner.

use crate::whole_file;
use plumb_model::document::RunDocument;
use plumb_report::install::{Install, InstallFile, installs};
use plumb_session::run_dir::{RunDirError, file_name};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Name of the directory in a run's.
pub(crate) const NAME: &str = "install";

/// Writes the files below a directory that may be there already, and says where; none where nothing is to be installed.
pub(crate) fn write(directory: &Path, document: &RunDocument) -> Result<Vec<PathBuf>, RunDirError> {
    let installs = installs(document);
    let single = installs.len() == 1;
    let place = |install: &Install| match single {
        true => directory.to_owned(),
        false => directory.join(file_name(&install.winner.step)),
    };
    let mut written = Vec::new();
    for install in &installs {
        let place = place(install);
        write_files(&place, &install.files).map_err(RunDirError::Write)?;
        written.push(place);
    }
    Ok(written)
}

/// Writes files below a directory.
pub(crate) fn write_files(place: &Path, files: &[InstallFile]) -> std::io::Result<()> {
    for file in files {
        let path = place.join(&file.path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        whole_file::write(&path, &file.text)?;
        if file.executable {
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}
