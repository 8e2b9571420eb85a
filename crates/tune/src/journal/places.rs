//! The directories in which changes are written down.

use super::{ENDING, FOLDER, JournalError};
use std::path::PathBuf;

/// The environment's name of the directory in which changes are written down, for everybody on a host alike.
pub const VARIABLE: &str = "PLUMB_STATE_DIR";
/// Root's, which everybody on the host sees.
const PLACE: &str = "/var/lib/plumb";
/// The environment's name of a user's directory for what outlives the machine's start (XDG Base Directory Specification).
const USER_VARIABLE: &str = "XDG_STATE_HOME";

/// The places of this host's journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The directory of this user's journals.
    pub own: PathBuf,
    /// The directories of others' journals.
    pub others: Vec<PathBuf>,
}

impl Places {
    /// By the environment, and by who runs this.
    pub fn here() -> Self {
        Places::of(|name| std::env::var_os(name).map(PathBuf::from), rustix::process::geteuid().is_root())
    }

    fn of(variable: impl Fn(&str) -> Option<PathBuf>, root: bool) -> Self {
        let given = |name| variable(name).filter(|path| path.is_absolute());
        // Whoever names a place means it, also by a relative path.
        let named = variable(VARIABLE).filter(|path| !path.as_os_str().is_empty());
        let named = named.and_then(|path| std::path::absolute(path).ok());
        let users = || given(USER_VARIABLE).or_else(|| Some(given("HOME")?.join(".local/state")));
        match named {
            Some(own) => Places { own, others: Vec::new() },
            None => match users().filter(|_| !root) {
                Some(user) => Places { own: user.join("plumb"), others: vec![PathBuf::from(PLACE)] },
                None => Places { own: PathBuf::from(PLACE), others: Vec::new() },
            },
        }
    }

    /// True if only this user sees these journals.
    pub fn is_one_users(&self) -> bool {
        !self.others.is_empty()
    }

    /// The file of a journal by its name.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn file(&self, id: &str) -> Result<PathBuf, JournalError> {
        let path = self.own.join(FOLDER).join(format!("{id}.{ENDING}"));
        let plain = !id.is_empty() && !id.contains('/');
        match plain && path.exists() {
            true => Ok(path),
            false => Err(JournalError::None { id: id.to_owned(), place: self.own.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_user_writes_where_users_may_and_looks_where_root_writes() {
        let set = |names: &'static [(&str, &str)]| {
            move |asked: &str| {
                names.iter().find(|(name, _)| *name == asked).map(|(_, path)| PathBuf::from(path))
            }
        };
        let places = Places::of(set(&[("XDG_STATE_HOME", "/home/a/state")]), false);
        assert_eq!(
            (&*places.own, &*places.others),
            (Path::new("/home/a/state/plumb"), &[PathBuf::from(PLACE)][..])
        );
        assert!(places.is_one_users());
        assert_eq!(
            Places::of(set(&[("HOME", "/home/a")]), false).own,
            Path::new("/home/a/.local/state/plumb")
        );
        let roots = Places { own: PathBuf::from(PLACE), others: Vec::new() };
        assert_eq!(Places::of(set(&[("XDG_STATE_HOME", "/root/state"), ("HOME", "/root")]), true), roots);
        assert_eq!(Places::of(set(&[("XDG_STATE_HOME", "relative")]), false), roots);
        let told = Places::of(set(&[("PLUMB_STATE_DIR", "/srv/plumb"), ("HOME", "/x")]), false);
        assert_eq!(told, Places { own: PathBuf::from("/srv/plumb"), others: Vec::new() });
    }
}
