//! The jars of Apache Kafka: fetched once by Maven from a pinned file, verified against a list of digests, kept in
//! the user's cache directory. Or the jars of an unpacked Kafka that the user has.
//!
//! Not for choosing versions: `jars/pom.xml` does, and `jars/README.md` says how to change it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fs_err as fs;
use sha2::{Digest, Sha256};

use super::error::{LabError, Result};
use super::identity::ProcessId;
use super::java::program_in;
use super::options::{LabOptions, Step};

const POM: &str = include_str!("../../jars/pom.xml");
const DIGESTS: &str = include_str!("../../jars/kafka-4.3.0.sha256");

/// Jars that are loaded into a running broker and must not be on its class path.
const AGENTS: &[&str] = &["async-profiler-", "jmx_prometheus_javaagent-"];

/// Written into an installation when every jar of it was verified.
const STAMP: &str = "verified";

/// The beginning of the name of a directory into which jars are fetched.
const STAGING: &str = "fetching-";

/// The profiler's jar in the cache, where a lab was started once.
pub fn profiler_jar() -> Option<PathBuf> {
    let cache = user_cache().ok()?.join("plumb");
    let is_profiler = |jar: &PathBuf| file_name(jar).starts_with("async-profiler-");
    let installations = std::fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    let verified = installations.filter(|directory| directory.join(STAMP).exists());
    verified.flat_map(|directory| jars_in(&directory.join("libs")).unwrap_or_default()).find(is_profiler)
}

/// The jars of Apache Kafka with its clients, fetched when they are not there yet.
///
/// # Errors
/// As a lab that cannot be started for want of them.
pub fn client_class_path() -> Result<Vec<PathBuf>> {
    let install = Install::from_options(&LabOptions::default())?;
    Ok(install.class_path().map(Path::to_owned).collect())
}

/// Jars that a broker can be started from.
#[derive(Debug, Clone)]
pub struct Install {
    jars: Vec<PathBuf>,
    /// The directory for files that are derived from these jars; none for a Kafka that is not ours.
    pub(super) cache: Option<PathBuf>,
}

impl Install {
    /// The Kafka that the options ask for: the given directory, or the pinned jars, fetched when they are not there yet.
    ///
    /// # Errors
    /// See [`LabError`]: no Maven, a failed download, a jar that is not the expected one, a directory without Kafka.
    pub(crate) fn from_options(options: &LabOptions) -> Result<Self> {
        match &options.kafka_home {
            Some(home) => Self::existing(home),
            None => Self::pinned(&user_cache()?.join("plumb"), std::env::var_os("PATH"), options),
        }
    }

    /// The broker's class path, always in the same order.
    pub(super) fn class_path(&self) -> impl Iterator<Item = &Path> {
        self.jars.iter().map(PathBuf::as_path).filter(|jar| !is_agent(&file_name(jar)))
    }

    /// The Prometheus exporter agent.
    pub(super) fn metrics_agent(&self) -> Option<&Path> {
        self.jars
            .iter()
            .map(PathBuf::as_path)
            .find(|jar| file_name(jar).starts_with("jmx_prometheus_javaagent-"))
    }

    /// The version of Kafka, as its jars are named.
    #[must_use]
    pub(crate) fn kafka_version(&self) -> String {
        let version = |jar: &PathBuf| kafka_version_in(&file_name(jar)).map(str::to_owned);
        self.jars.iter().find_map(version).unwrap_or_else(|| "unknown".to_owned())
    }

    fn existing(home: &Path) -> Result<Self> {
        // Absolute, since a broker runs in another directory.
        let libs = fs::canonicalize(home.join("libs"));
        let jars = libs.and_then(|libs| jars_in(&libs)).unwrap_or_default();
        if !jars.iter().any(|jar| kafka_version_in(&file_name(jar)).is_some()) {
            return Err(LabError::NotKafka { directory: home.to_owned() });
        }
        Ok(Self { jars, cache: None })
    }

    /// The pinned jars below `cache`; when they have to be fetched, by the Maven that is on `path`.
    fn pinned(cache: &Path, path: Option<OsString>, options: &LabOptions) -> Result<Self> {
        let digests = parse_digests(DIGESTS);
        let version = digests.keys().find_map(|file| kafka_version_in(file)).unwrap_or("unknown");
        let home = cache.join(format!("kafka-{version}-{}", &hex(&Sha256::digest(POM))[..12]));
        if !home.join(STAMP).exists() {
            options.report(Step::Fetching);
            fs::create_dir_all(cache)?;
            // Held until the end of this block: whoever comes second finds the work done.
            let lock = fs::File::create(cache.join("install.lock"))?;
            lock.file().lock()?;
            if !home.join(STAMP).exists() {
                let Some(mvn) = program_in("mvn", path) else {
                    return Err(LabError::NoMaven { cache: cache.to_owned() });
                };
                fetch(&mvn, &home, &digests, options)?;
            }
        }
        let jars: Vec<_> = digests.keys().map(|file| home.join("libs").join(file)).collect();
        if let Some(missing) = jars.iter().find(|jar| !jar.is_file()) {
            return Err(LabError::MissingJar { file: missing.clone() });
        }
        Ok(Self { jars, cache: Some(home) })
    }
}

/// Fetches into a directory beside `home`, verifies, and moves it in place in one step.
fn fetch(mvn: &Path, home: &Path, digests: &BTreeMap<&str, &str>, options: &LabOptions) -> Result<()> {
    let cache = home.parent().unwrap_or(home);
    remove_abandoned_fetches(cache)?;
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(cache)?;
    fs::write(staging.path().join("pom.xml"), POM)?;
    let libs = staging.path().join("libs");
    run_maven(mvn, staging.path(), &libs, options)?;
    verify(&libs, digests)?;
    fs::write(staging.path().join(STAMP), "")?;
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    fs::rename(staging.keep(), home)?;
    Ok(())
}

/// Whoever fetches holds the lock, so what is there of earlier fetches was left by a program that died.
fn remove_abandoned_fetches(cache: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        if file_name(&path).starts_with(STAGING) {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

fn run_maven(mvn: &Path, staging: &Path, libs: &Path, options: &LabOptions) -> Result<()> {
    let log = staging.join("mvn.log");
    let console = fs::File::create(&log)?.into_parts().0;
    let mut child = Command::new(mvn)
        .args(["--quiet", "--batch-mode", "-Dstyle.color=never", "dependency:copy-dependencies"])
        .arg("-DincludeScope=runtime")
        .arg(format!("-DoutputDirectory={}", libs.display()))
        .current_dir(staging)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console)
        .spawn()?;
    let process = ProcessId::read(child.id().cast_signed());
    while !process.is_none_or(|process| process.has_ended_within(Duration::from_millis(100))) {
        if let Err(interrupted) = options.check_interrupt() {
            child.kill()?;
            child.wait()?;
            return Err(interrupted);
        }
    }
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(LabError::Download { status, output: last_lines(&log, 20, |_| true) })
    }
}

/// Holds every jar of the directory against the list, and the list against the directory.
fn verify(libs: &Path, digests: &BTreeMap<&str, &str>) -> Result<()> {
    let jars = jars_in(libs)?;
    if let Some(unlisted) =
        jars.iter().map(|jar| file_name(jar)).find(|file| !digests.contains_key(file.as_str()))
    {
        return Err(LabError::UnlistedJar { file: unlisted });
    }
    for (&file, &expected) in digests {
        let path = libs.join(file);
        if !path.is_file() {
            return Err(LabError::MissingJar { file: path });
        }
        let got = hex(&Sha256::digest(fs::read(&path)?));
        if got != expected {
            return Err(LabError::Checksum { file: file.to_owned(), expected: expected.to_owned(), got });
        }
    }
    Ok(())
}

/// File name -> SHA-256, from lines as `sha256sum` prints them.
fn parse_digests(list: &str) -> BTreeMap<&str, &str> {
    list.lines().filter_map(|line| line.split_once("  ")).map(|(digest, file)| (file, digest)).collect()
}

fn jars_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut jars = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jar") {
            jars.push(path);
        }
    }
    jars.sort();
    Ok(jars)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_agent(file: &str) -> bool {
    AGENTS.iter().any(|agent| file.starts_with(agent))
}

fn kafka_version_in(file: &str) -> Option<&str> {
    file.strip_prefix("kafka-clients-")?.strip_suffix(".jar")
}

/// `$XDG_CACHE_HOME`, else `~/.cache` (XDG base directory specification: relative values are to be ignored).
fn user_cache() -> Result<PathBuf> {
    user_directory("XDG_CACHE_HOME", ".cache")
        .ok_or(LabError::NoHome { purpose: "the jars of Kafka", variable: "XDG_CACHE_HOME" })
}

/// A directory of the XDG base directory specification.
pub(super) fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
}

/// The last lines of a program's output of those that are wanted, without the frames of Java stack traces. Empty when
/// it cannot be read.
pub(super) fn last_lines(file: &Path, count: usize, is_wanted: impl Fn(&str) -> bool) -> String {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_text = |line: &&str| !line.trim().is_empty() && !line.starts_with("\tat ");
    let lines: Vec<_> = text.lines().filter(is_text).filter(|line| is_wanted(line)).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::super::java::tests::write_script;
    use super::*;

    /// SHA-256 of the empty file, from FIPS 180-4's test values.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn libs_with(files: &[&str]) -> tempfile::TempDir {
        let libs = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(libs.path().join(file), "").unwrap();
        }
        libs
    }

    #[test]
    fn jars_that_are_the_listed_ones_are_accepted() {
        let libs = libs_with(&["a.jar", "b.jar"]);
        verify(libs.path(), &BTreeMap::from([("a.jar", EMPTY), ("b.jar", EMPTY)])).unwrap();
    }

    #[test]
    fn a_jar_with_other_contents_is_an_error_with_both_digests() {
        let libs = libs_with(&["a.jar"]);
        let error = verify(libs.path(), &BTreeMap::from([("a.jar", "00")])).unwrap_err();
        assert_eq!(error.to_string(), format!("a.jar has SHA-256 {EMPTY}, expected 00"));
    }

    #[test]
    fn a_missing_jar_and_one_too_many_are_errors() {
        let libs = libs_with(&["a.jar"]);
        let list = BTreeMap::from([("a.jar", EMPTY), ("b.jar", EMPTY)]);
        assert!(matches!(verify(libs.path(), &list), Err(LabError::MissingJar { .. })));
        assert!(matches!(verify(libs.path(), &BTreeMap::new()), Err(LabError::UnlistedJar { .. })));
    }

    /// Fetches with a Maven that runs the given shell commands; `$6` is its `-DoutputDirectory=...`.
    fn fetch_with(commands: &str) -> (tempfile::TempDir, LabError) {
        let dir = tempfile::tempdir().unwrap();
        write_script(&dir.path().join("mvn"), commands);
        let cache = dir.path().join("cache");
        std::fs::create_dir_all(cache.join("fetching-abandoned")).unwrap();
        let error = Install::pinned(&cache, Some(dir.path().into()), &LabOptions::default()).unwrap_err();
        let left: Vec<_> =
            std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            left,
            ["install.lock"],
            "a failed fetch leaves nothing that could pass for an installation"
        );
        (dir, error)
    }

    #[test]
    fn a_machine_without_maven_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let error = Install::pinned(dir.path(), Some(dir.path().into()), &LabOptions::default()).unwrap_err();
        assert!(matches!(error, LabError::NoMaven { .. }), "{error}");
    }

    #[test]
    fn a_failed_download_carries_what_maven_said() {
        let (_dir, error) = fetch_with("echo '[ERROR] no route to the repository'; exit 1");
        assert!(matches!(error, LabError::Download { .. }), "{error}");
        assert!(error.to_string().ends_with("no route to the repository"), "{error}");
    }

    #[test]
    fn a_download_of_other_jars_is_not_installed() {
        let (_dir, error) =
            fetch_with(r#"libs="${6#-DoutputDirectory=}"; /bin/mkdir "$libs"; echo x > "$libs/x.jar""#);
        assert!(matches!(error, LabError::UnlistedJar { .. }), "{error}");
    }

    #[test]
    fn the_list_of_digests_is_for_the_kafka_of_the_maven_file() {
        let digests = parse_digests(DIGESTS);
        let version = digests.keys().find_map(|file| kafka_version_in(file)).unwrap();
        assert!(POM.contains(&format!("<kafka.version>{version}</kafka.version>")));
        assert!(digests.values().all(|digest| digest.len() == 64));
    }

    #[test]
    fn a_directory_without_kafka_is_refused() {
        let dir = libs_with(&["something.jar"]);
        let error = Install::existing(dir.path()).unwrap_err();
        assert!(matches!(error, LabError::NotKafka { .. }), "{error}");
    }

    #[test]
    fn agents_stay_off_the_class_path() {
        let jars = [
            "/l/async-profiler-4.1.jar",
            "/l/jmx_prometheus_javaagent-1.0.1.jar",
            "/l/kafka-clients-4.3.0.jar",
        ];
        let install = Install { jars: jars.iter().map(PathBuf::from).collect(), cache: None };
        assert_eq!(install.class_path().collect::<Vec<_>>(), [Path::new("/l/kafka-clients-4.3.0.jar")]);
        assert_eq!(install.kafka_version(), "4.3.0");
    }
}
