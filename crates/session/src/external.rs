//! The programs of external drivers: the user's commands as they are, and the client for Java with its launcher and class path.

use crate::cache;
use crate::error::Result;
use plumb_lab::kafka::{client_class_path, java_launcher};
use plumb_load::LoadError;
use plumb_load::external::{DriverCommand, Programs};
use plumb_model::fault::UsageError;
use plumb_model::plan::{ClientProgram, JavaClient, StepPlan};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program for the client for Java, compiled by `scripts/build-driver` from the sources beside it.
const JAR: &[u8] = include_bytes!("external/java/driver.jar");
/// Its main class. A new version of the program has another name, so that none meets the jar of another.
const MAIN: &str = "PlumbDriver1";
const JAR_FILE: &str = "PlumbDriver1.jar";

/// Flags of each JVM: no counters in files, and collections and safepoints on standard output with CLOCK_MONOTONIC (`tn`).
const JVM_FLAGS: [&str; 2] = ["-XX:-UsePerfData", "-Xlog:gc,safepoint:stdout:tn"];

/// The programs of a step's clients; none where its driver is no external one.
///
/// # Errors
/// When there is no Java, or no jars for it.
pub(crate) fn programs(step: &StepPlan) -> Result<Option<Programs>> {
    let Some(external) = &step.external else { return Ok(None) };
    let (producer, consumer) = (command(&external.producer)?, command(&external.consumer)?);
    Ok(Some(Programs { producer, consumer }))
}

pub(crate) fn command(program: &ClientProgram) -> Result<Option<DriverCommand>> {
    Ok(match program {
        ClientProgram::Librdkafka => None,
        ClientProgram::Command(words) => {
            Some(DriverCommand { words: words.iter().map(OsString::from).collect(), java: false })
        }
        ClientProgram::Java(java) => Some(java_command(java)?),
    })
}

fn java_command(java: &JavaClient) -> Result<DriverCommand> {
    let cannot = |error: std::io::Error| LoadError::DriverStart {
        program: JAR_FILE.to_owned(),
        reason: error.to_string(),
    };
    let jar = cache::file(JAR_FILE, JAR).map_err(cannot)?;
    let class_path = match &java.classpath {
        Some(path) => class_path(path)?,
        None => joined(client_class_path()?),
    };
    let mut all = jar.into_os_string();
    all.push(":");
    all.push(class_path);
    let mut words = vec![java_launcher()?.into_os_string()];
    words.extend(JVM_FLAGS.iter().map(OsString::from));
    words.extend(java.jvm_flags.iter().map(OsString::from));
    words.extend(["-cp".into(), all, MAIN.into()]);
    Ok(DriverCommand { words, java: true })
}

/// The class path of a user, of which something has to be there: Java itself would only miss a class.
fn class_path(path: &str) -> Result<OsString> {
    let is_there = |entry: &str| match entry.strip_suffix('*') {
        Some(directory) => Path::new(if directory.is_empty() { "." } else { directory }).is_dir(),
        None => !entry.is_empty() && Path::new(entry).exists(),
    };
    match path.split(':').any(is_there) {
        true => Ok(OsString::from(path)),
        false => Err(UsageError::new(
            format!("nothing of the class path {path:?} is there"),
            "name the jars of kafka-clients and what it needs, such as 'libs/*', as `java -cp` takes them",
        )
        .into()),
    }
}

fn joined(jars: Vec<PathBuf>) -> OsString {
    std::env::join_paths(jars).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_path_of_which_nothing_is_there_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let all = format!("{}/*", place.path().display());
        assert_eq!(
            class_path(&format!("/nowhere.jar:{all}")).unwrap(),
            format!("/nowhere.jar:{all}").as_str()
        );
        for nothing in ["", "/nowhere/*", "/nowhere.jar"] {
            assert!(class_path(nothing).unwrap_err().to_string().contains("class path"), "{nothing}");
        }
    }

    #[test]
    fn a_command_is_run_as_it_is_and_a_side_in_this_process_has_none() {
        let words = vec!["./my-driver".to_owned(), "--fast".to_owned()];
        let found = command(&ClientProgram::Command(words)).unwrap().unwrap();
        assert_eq!(found.words, ["./my-driver", "--fast"]);
        assert!(!found.java);
        assert!(command(&ClientProgram::Librdkafka).unwrap().is_none());
    }
}
