//! The instructions that a Java virtual machine says it uses: `-XX:+PrintFlagsFinal`.

use super::Launcher;
use super::child::{ChildProcess, Finished};
use super::end_cause::cause;
use crate::crypto::CryptoError;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Words in the names of the settings that matter to cryptography and checksums.
const WORDS: [&str; 12] = [
    "UseAES",
    "GHASH",
    "SHA",
    "CRC32",
    "ChaCha",
    "Poly1305",
    "UseAVX",
    "UseSSE",
    "Montgomery",
    "MultiplyToLen",
    "SquareToLen",
    "IntPoly",
];
/// Without it the virtual machine neither shows nor takes most of them.
const UNLOCK: &str = "-XX:+UnlockDiagnosticVMOptions";
/// The longest time for it to start and tell.
pub(super) const TELL_MAX: Duration = Duration::from_secs(30);

/// True if an option of a broker's command line changes what is measured here.
pub fn matters(option: &str) -> bool {
    option.strip_prefix("-XX:").is_some_and(names_one) || option == UNLOCK
}

fn names_one(name: &str) -> bool {
    // `SharedArchiveFile` and the like: a path may contain any word.
    let name = name.split('=').next().unwrap_or(name);
    WORDS.iter().any(|word| name.contains(word)) && !name.contains("Shared")
}

/// The version, and the settings that matter; told in time, or before `stop`.
pub(super) fn ask(
    launcher: &Launcher,
    within: Duration,
    stop: &Arc<AtomicBool>,
) -> Result<(String, BTreeMap<String, String>), CryptoError> {
    let strange = |reason: String| CryptoError::StrangeJava { program: launcher.program.clone(), reason };
    let mut command = Command::new(&launcher.program);
    command.args(&launcher.options).args([UNLOCK, "-XX:-UsePerfData", "-XX:+PrintFlagsFinal", "-version"]);
    let told = ChildProcess::spawn(&mut command, stop).and_then(|mut java| {
        java.input = None;
        java.finish(within)
    });
    let Finished { output, complaints, status } = told.map_err(|error| strange(error.to_string()))?;
    if !status.success() {
        return Err(strange(cause(&complaints).unwrap_or_else(|| format!("{status}, without a word"))));
    }
    let version = version(&complaints).ok_or_else(|| strange("it names no version".to_owned()))?;
    Ok((version, settings(&output)))
}

/// The line with the build, else the one with the version.
fn version(said: &str) -> Option<String> {
    let build = said.lines().find(|line| line.contains("Runtime Environment") && line.contains("(build "));
    build.or_else(|| said.lines().find(|line| line.contains("version \""))).map(|line| line.trim().to_owned())
}

/// `     bool UseAES        = true       {product} {default}`
fn settings(printed: &str) -> BTreeMap<String, String> {
    let setting = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (name, sign, value) = (words.nth(1)?, words.next()?, words.next()?);
        (matches!(sign, "=" | ":=") && names_one(name)).then(|| (name.to_owned(), value.to_owned()))
    };
    printed.lines().filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_what_the_virtual_machine_prints() {
        let printed = "[Global flags]\n      int ActiveProcessorCount = -1 {product} {default}\n     \
                       bool UseAES                   = false                {product} {command line}\n     \
                       intx UseAVX := 2 {ARCH product} {default}\n    ccstr SharedArchiveFile = {product}\n";
        let settings = settings(printed);
        assert_eq!(settings.len(), 2, "{settings:?}");
        assert_eq!((settings["UseAES"].as_str(), settings["UseAVX"].as_str()), ("false", "2"));
    }

    #[test]
    fn only_options_that_change_the_instructions_are_taken_from_a_broker() {
        for option in
            ["-XX:-UseAES", "-XX:UseAVX=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-UseSHA256Intrinsics"]
        {
            assert!(matters(option), "{option}");
        }
        for option in ["-Xmx1g", "-XX:+UseG1GC", "-XX:SharedArchiveFile=/x/UseAES.jsa", "-Dx=-XX:-UseAES"] {
            assert!(!matters(option), "{option}");
        }
    }
}
