//! The edge: prints an error with its causes and the next step, and ends with the exit code of whose fault it is.
//!
//! Each error says itself whose fault it is ([`HasFault`]); here is the list of those that can reach the user.

use crate::near;
use crate::printer::StdoutError;
use plumb_fleet::{FleetInputError, PrometheusError};
use plumb_judge::fleet::FleetError;
use plumb_lab::kafka::LabError;
use plumb_lab::sink::SinkError;
use plumb_load::LoadError;
pub(crate) use plumb_model::fault::UsageError;
use plumb_model::fault::{self, Fault, HasFault};
use plumb_model::resolve::ResolveError;
use plumb_observe::{AttachError, BmcError, ObserveError, PerfError};
use plumb_probe::crypto::CryptoError;
use plumb_probe::memory::{MemoryError, NodesError};
use plumb_probe::network::NetworkError;
use plumb_probe::storage::StorageError;
use plumb_scenario::file::ScenarioFileError;
use plumb_session::client_config::ConfigFileError;
use plumb_session::run_dir::RunDirError;
use plumb_session::{
    HookError, LinkError, ResumeError, SecretError, SessionError, TooLittleMemory, TooLittleSpace,
};
use plumb_stats::histogram::HistogramError;
use plumb_tune::apply::ApplyError;
use plumb_tune::danger::Danger;
use plumb_tune::journal::JournalError;
use plumb_tune::setting::SettingError;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::process::ExitCode;

/// An error as one that says whose fault it is, if it is of a certain type.
type AsKind = for<'e> fn(&'e (dyn StdError + 'static)) -> Option<&'e dyn HasFault>;

/// All types of errors that say whose fault they are.
const KINDS: &[AsKind] = &[
    kind::<UsageError>,
    kind::<ResolveError>,
    kind::<ScenarioFileError>,
    kind::<ConfigFileError>,
    kind::<RunDirError>,
    kind::<ResumeError>,
    kind::<LoadError>,
    kind::<LinkError>,
    kind::<SecretError>,
    kind::<LabError>,
    kind::<SinkError>,
    kind::<ObserveError>,
    kind::<BmcError>,
    kind::<AttachError>,
    kind::<PerfError>,
    kind::<FleetInputError>,
    kind::<PrometheusError>,
    kind::<FleetError>,
    kind::<SettingError>,
    kind::<ApplyError>,
    kind::<Danger>,
    kind::<HookError>,
    kind::<JournalError>,
    kind::<TooLittleSpace>,
    kind::<TooLittleMemory>,
    kind::<HistogramError>,
    kind::<SessionError>,
    kind::<StorageError>,
    kind::<CryptoError>,
    kind::<NetworkError>,
    kind::<MemoryError>,
    kind::<NodesError>,
    kind::<StdoutError>,
    kind::<std::io::Error>,
];

fn kind<'e, E: HasFault + 'static>(cause: &'e (dyn StdError + 'static)) -> Option<&'e dyn HasFault> {
    cause.downcast_ref::<E>().map(|error| error as &dyn HasFault)
}

/// Exit code of words that no command understands.
pub(crate) const USAGE: u8 = exit_code(Fault::User);

const fn exit_code(fault: Fault) -> u8 {
    match fault {
        Fault::User => 2,
        Fault::Environment => 3,
        Fault::Target => 4,
        Fault::Program => 5,
    }
}

/// Prints the error with its causes and a hint, and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    crate::printer::error(&fault::chain(error.as_ref()), hint(error).as_deref());
    ExitCode::from(exit_code(fault_of(error)))
}

/// Of the first cause that says so; what nobody answers for is Plumb's own.
fn fault_of(error: &anyhow::Error) -> Fault {
    error.chain().find_map(faulty).map_or(Fault::Program, HasFault::fault)
}

/// The next step, where one is known.
pub(crate) fn hint(error: &anyhow::Error) -> Option<Cow<'static, str>> {
    error.chain().find_map(|cause| {
        let hint = faulty(cause)?.hint()?;
        let part = cause.downcast_ref().map_or(cause, SessionError::of_part);
        let meant = part.downcast_ref().and_then(meant_property);
        let meant = meant.or_else(|| part.downcast_ref().and_then(meant_key));
        Some(meant.map_or(hint.clone(), |meant| format!("{meant} {hint}").into()))
    })
}

fn faulty<'e>(cause: &'e (dyn StdError + 'static)) -> Option<&'e dyn HasFault> {
    KINDS.iter().find_map(|of_kind| of_kind(cause))
}

/// The known property that the user probably meant by one that no client has.
fn meant_property(error: &LoadError) -> Option<String> {
    let LoadError::Property { key, reason, .. } = error else { return None };
    let unknown = reason.contains("No such configuration property") || reason.contains("does not have it");
    let known = crate::client_properties::known();
    if unknown { near::question(&near::near(key, known)) } else { None }
}

/// The key that the user probably meant by one that a scenario does not have there.
fn meant_key(error: &ScenarioFileError) -> Option<String> {
    let ScenarioFileError::Content { message, .. } = error else { return None };
    let (word, rest) = message.split_once("unknown field `")?.1.split_once("`, expected one of ")?;
    near::question(&near::near(word, rest.lines().next()?.split(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The types that implement the trait in the product's sources, without their paths.
    fn implementing(directory: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                implementing(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let types = text.lines().filter_map(|line| line.strip_prefix("impl HasFault for "));
                found.extend(types.map(|line| line.trim_end_matches(" {").to_owned()));
            }
        }
    }

    #[test]
    fn every_error_that_says_whose_fault_it_is_is_asked() {
        let mut found = Vec::new();
        implementing(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
        assert_eq!(found.len(), KINDS.len(), "{found:?}");
        let listed = include_str!("errors.rs");
        for name in found {
            assert!(listed.contains(&format!("    kind::<{name}>,\n")), "KINDS lacks {name}");
        }
    }

    #[test]
    fn the_first_cause_that_says_so_is_at_fault_and_what_nobody_answers_for_is_plumbs_own() {
        let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let error = anyhow::Error::new(RunDirError::Read(refused)).context("an outer word");
        assert_eq!(exit_code(fault_of(&error)), 2);
        assert!(hint(&error).unwrap().contains("run.json"));
        let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert_eq!(
            (exit_code(fault_of(&refused.into())), exit_code(fault_of(&anyhow::anyhow!("what?")))),
            (3, 5)
        );
    }

    #[test]
    fn a_property_that_is_nearly_one_is_asked_about_before_the_names_are_said_to_be_the_librarys() {
        let of = |reason: &str| {
            let (key, value) = ("lingerms".to_owned(), "5".to_owned());
            hint(&LoadError::Property { key, value, reason: reason.to_owned(), role: None }.into()).unwrap()
        };
        let names = "the names are librdkafka's: see its CONFIGURATION.md";
        assert_eq!(of("No such configuration property"), format!("did you mean linger.ms? {names}"));
        assert_eq!(of("a number is expected"), names);
    }
}
