//! Files that are kept between runs in the user's cache: figures of this machine and of setups. A file that is lost there costs a
//! measurement.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The content of a file; the default where nothing can be read, which costs a measurement and no more.
pub fn read<T: DeserializeOwned + Default>(file: &str) -> T {
    let text = place(file).and_then(|path| fs_err::read(path).ok()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Keeps it, where that can be done: what is not kept is measured again.
pub fn write<T: Serialize>(file: &str, kept: &T) {
    let Some(path) = place(file) else { return };
    let Ok(json) = serde_json::to_vec_pretty(kept) else { return };
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let written = path.parent().map(fs_err::create_dir_all);
    if matches!(written, Some(Ok(()))) && fs_err::write(&partial, json).is_ok() {
        let _ = fs_err::rename(&partial, &path);
    }
}

/// A file with this content, written if it is not there.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn file(name: &str, content: &[u8]) -> std::io::Result<PathBuf> {
    let path = place(name).unwrap_or_else(|| std::env::temp_dir().join(name));
    if fs_err::read(&path).is_ok_and(|found| found == content) {
        return Ok(path);
    }
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    path.parent().map(fs_err::create_dir_all).transpose()?;
    fs_err::write(&partial, content)?;
    fs_err::rename(&partial, &path)?;
    Ok(path)
}

/// Forgets it.
pub fn forget(file: &str) {
    if let Some(path) = place(file) {
        // One that is not there is forgotten already.
        let _ = fs_err::remove_file(path);
    }
}

/// `$XDG_CACHE_HOME/plumb`, else `~/.cache/plumb`. Relative values are to be ignored (XDG base directory specification).
fn place(file: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("plumb").join(file))
}
