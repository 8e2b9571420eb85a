//! The `java` to measure.

use crate::crypto::CryptoError;
use std::ffi::OsString;
use std::path::PathBuf;

/// A Java launcher, and how it is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The file.
    pub program: PathBuf,
    /// The reason for this one.
    pub because: String,
    /// Options to give it.
    pub options: Vec<String>,
}

impl Launcher {
    /// The one of `JAVA_HOME`, else the first in the `PATH`: what Kafka's scripts start.
    pub fn of_environment() -> Result<Self, CryptoError> {
        Self::find(std::env::var_os("JAVA_HOME"), std::env::var_os("PATH"))
    }

    fn find(home: Option<OsString>, path: Option<OsString>) -> Result<Self, CryptoError> {
        let home = home.filter(|home| !home.is_empty()).map(PathBuf::from);
        let (program, because) = match &home {
            Some(home) => {
                (Some(home.join("bin/java")).filter(|program| program.is_file()), "JAVA_HOME names it")
            }
            None => {
                let mut places = path.iter().flat_map(std::env::split_paths).map(|place| place.join("java"));
                (places.find(|program| program.is_file()), "the first in the PATH")
            }
        };
        let searched = || match &home {
            Some(home) => format!("in JAVA_HOME={}, which is what Kafka's scripts start", home.display()),
            None => "for a running broker, at JAVA_HOME and in the PATH".to_owned(),
        };
        match program {
            Some(program) => Ok(Launcher { program, because: because.to_owned(), options: Vec::new() }),
            None => Err(CryptoError::NoJava { searched: searched() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_home_comes_before_the_path_and_a_wrong_one_is_no_reason_to_take_another() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("java"), "").unwrap();
        let path = Some(folder.path().as_os_str().to_owned());
        let found = Launcher::find(None, path.clone()).unwrap();
        assert_eq!(
            (found.program, found.because.as_str()),
            (folder.path().join("java"), "the first in the PATH")
        );
        let missed = Launcher::find(Some("/nowhere".into()), path).unwrap_err();
        assert!(missed.to_string().contains("JAVA_HOME=/nowhere"), "{missed}");
        assert!(matches!(Launcher::find(None, None), Err(CryptoError::NoJava { .. })));
    }
}
