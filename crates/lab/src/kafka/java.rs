//! The Java that runs the brokers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::{LabError, Result};

/// Kafka 4 brokers need Java 17 (KIP-1013).
const FEATURE_RELEASE_MIN: u32 = 17;

/// The launcher of a Java that is new enough for Kafka's clients and brokers.
///
/// # Errors
/// When there is none.
pub fn java_launcher() -> Result<PathBuf> {
    Ok(Java::of_environment()?.program)
}

/// A Java runtime that is new enough.
#[derive(Debug, Clone)]
pub(super) struct Java {
    pub(super) program: PathBuf,
    /// The whole version line. Two runtimes that differ in anything differ in it.
    pub(super) version: String,
}

impl Java {
    /// The Java of `JAVA_HOME`, else the first on the `PATH`.
    pub(super) fn of_environment() -> Result<Self> {
        Self::find(std::env::var_os("JAVA_HOME"), std::env::var_os("PATH"))
    }

    fn find(java_home: Option<OsString>, path: Option<OsString>) -> Result<Self> {
        let home = java_home.filter(|home| !home.is_empty()).map(PathBuf::from);
        let found = match &home {
            Some(home) => Some(home.join("bin/java")).filter(|program| program.is_file()),
            None => program_in("java", path),
        };
        let Some(program) = found else {
            let searched = home.map_or("the PATH".to_owned(), |home| format!("JAVA_HOME={}", home.display()));
            return Err(LabError::NoJava { searched });
        };
        let output = Command::new(&program).arg("-version").stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let Some((got, version)) = feature_release(&said) else {
            return Err(LabError::UnknownJava { path: program, got: said.trim().to_owned() });
        };
        if got < FEATURE_RELEASE_MIN {
            return Err(LabError::OldJava { path: program, expected: FEATURE_RELEASE_MIN, got });
        }
        Ok(Self { program, version })
    }
}

/// The first program of that name in the directories of a `PATH`.
pub(super) fn program_in(name: &str, path: Option<OsString>) -> Option<PathBuf> {
    std::env::split_paths(&path?).map(|dir| dir.join(name)).find(|program| program.is_file())
}

/// The feature release (17, 21, or 8 of the old scheme's 1.8) and the runtime line that `java -version` printed.
fn feature_release(said: &str) -> Option<(u32, String)> {
    let first = said.lines().find(|line| line.contains("version \""))?;
    let number = first.split('"').nth(1)?;
    let mut parts = number.split(['.', '-', '+', '_']).map(|part| part.parse().ok());
    let feature = match parts.next()?? {
        1 => parts.next()??,
        feature => feature,
    };
    let build = said.lines().find(|line| line.contains("(build ")).unwrap_or(first);
    Some((feature, build.to_owned()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes a shell script that can be run at once. Another process writes it: if this one had the file open, a
    /// child that another test is just starting could hold it open too, and a file open for writing cannot be run.
    pub(in super::super) fn write_script(path: &std::path::Path, commands: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod +x "$0""#;
        assert!(Command::new("sh").args(["-c", write]).arg(path).arg(commands).status().unwrap().success());
    }

    /// A directory with a `java` that says `version`.
    fn path_with_java_saying(version: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let say = format!("echo 'openjdk version \"{version}\" 2025-01-01' >&2");
        write_script(&dir.path().join("java"), &say);
        dir
    }

    #[test]
    fn a_path_without_java_is_an_error_that_says_where_it_was_looked_for() {
        let empty = tempfile::tempdir().unwrap();
        let error = Java::find(None, Some(empty.path().into())).unwrap_err();
        assert_eq!(error.to_string(), "no java found in the PATH");
        let error = Java::find(Some("/nowhere".into()), None).unwrap_err();
        assert_eq!(error.to_string(), "no java found in JAVA_HOME=/nowhere");
    }

    #[test]
    fn a_java_older_than_17_is_an_error_with_both_numbers() {
        let dir = path_with_java_saying("1.8.0_392");
        let error = Java::find(None, Some(dir.path().into())).unwrap_err();
        assert!(matches!(error, LabError::OldJava { expected: 17, got: 8, .. }), "{error}");
    }

    #[test]
    fn every_common_way_to_write_a_version_is_read() {
        for (version, expected) in
            [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("11.0.2", 11), ("1.8.0_392", 8)]
        {
            let said = format!("openjdk version \"{version}\" 2025-01-01\n");
            assert_eq!(feature_release(&said).map(|(feature, _)| feature), Some(expected), "{version}");
        }
        assert_eq!(feature_release("command not understood"), None);
    }
}
