//! The place where the peers are kept between runs. Each is built once.

use crate::error::BenchError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory in which the built peers are.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A peer's place in the cache: the version is part of the name, so that a newer pin is built beside the older one.
#[derive(Debug, Clone)]
pub struct Product<'a> {
    /// The directory.
    pub name: &'a str,
    /// The program in it.
    pub program: &'a str,
}

impl Cache {
    /// The one of this user, below `XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// When neither is known, or the directory cannot be made.
    pub fn of_user() -> Result<Cache, BenchError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        let missing = || BenchError::Absent { path: "the environment".into(), expected: "HOME" };
        Cache::at(&cache.ok_or_else(missing)?.join("plumb/peers"))
    }

    /// The one in a given directory.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn at(root: &Path) -> Result<Cache, BenchError> {
        fs_err::create_dir_all(root)?;
        Ok(Cache { root: root.to_owned() })
    }

    /// The program, built by `build` in a new directory when it is not there yet. A build that fails or is killed leaves
    /// nothing that a later one would take for the program; of two at a time the second waits for the first.
    ///
    /// # Errors
    /// What `build` says, or [`BenchError::Unbuilt`].
    pub fn program(
        &self,
        product: &Product<'_>,
        build: impl FnOnce(&Path) -> Result<(), BenchError>,
    ) -> Result<PathBuf, BenchError> {
        let program = self.root.join(product.name).join(product.program);
        if program.is_file() {
            return Ok(program);
        }
        let lock = fs_err::File::create(self.root.join("build.lock"))?;
        lock.file().lock()?;
        if program.is_file() {
            return Ok(program);
        }
        let staging = tempfile::Builder::new().prefix("building-").tempdir_in(&self.root)?;
        build(staging.path())?;
        if !staging.path().join(product.program).is_file() {
            return Err(BenchError::Unbuilt { product: product.program.into() });
        }
        let home = self.root.join(product.name);
        if home.exists() {
            fs_err::remove_dir_all(&home)?;
        }
        fs_err::rename(staging.keep(), home)?;
        Ok(program)
    }
}

/// Runs a step of a build to its end; what it wrote to standard output.
///
/// # Errors
/// [`BenchError::Missing`] with the purpose and the hint when there is no such program, [`BenchError::Program`] when it fails.
pub fn step(
    mut command: Command,
    (purpose, hint): (&'static str, &'static str),
) -> Result<String, BenchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(BenchError::Missing { program, purpose, hint });
        }
        Err(error) => return Err(error.into()),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let said = tail(&(text(&output.stdout) + &text(&output.stderr)));
        return Err(BenchError::Program { program, status: output.status, said });
    }
    Ok(text(&output.stdout))
}

/// A command in a directory.
pub fn command(
    program: &str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    directory: &Path,
) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(directory);
    command
}

/// The last lines of what a program wrote: enough for its reason.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: Product<'_> = Product { name: "tool-1", program: "bin/tool" };

    fn make(staging: &Path) -> Result<(), BenchError> {
        fs_err::create_dir(staging.join("bin"))?;
        Ok(fs_err::write(staging.join("bin/tool"), "x")?)
    }

    #[test]
    fn a_program_is_built_once() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path()).unwrap();
        let first = cache.program(&PRODUCT, make).unwrap();
        let second = cache.program(&PRODUCT, |_| panic!("built twice")).unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn a_build_that_fails_half_way_leaves_nothing_and_the_next_one_succeeds() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path()).unwrap();
        let fail = |staging: &Path| {
            fs_err::write(staging.join("half"), "x")?;
            Err(BenchError::Late { expected: "luck".into(), waited_s: 0 })
        };
        assert!(cache.program(&PRODUCT, fail).is_err());
        let nothing = |_: &Path| Ok(());
        assert!(matches!(cache.program(&PRODUCT, nothing), Err(BenchError::Unbuilt { .. })));
        let left: Vec<_> = fs_err::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["build.lock"]);
        assert!(cache.program(&PRODUCT, make).unwrap().is_file());
    }

    #[test]
    fn a_program_that_is_not_installed_is_named_with_its_purpose_and_a_hint() {
        let error = step(Command::new("no-such-compiler"), ("the peer", "apt-get install it")).unwrap_err();
        let text = "no-such-compiler is not installed; the peer needs it (apt-get install it)";
        assert_eq!(error.to_string(), text);
    }
}
