//! The rates at which the libraries of this host encrypt, hash and sign, and the settings that hide the processor's instructions
//! from them.

mod engines;
mod fold;
mod rounds;

use super::rounds::planned_s;
use super::{Probed, window::Window};
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
pub(crate) use engines::launcher_of;
pub(crate) use rounds::WARM_UP_LEAST;

use engines::Engines;
use plumb_model::facts::HostFacts;
use plumb_model::finding::Severity;
use plumb_model::plan::Properties;
use plumb_model::probe::ProbeKind;
use plumb_model::probe::crypto::{CryptoCpu, CryptoEngine, CryptoPeer, CryptoProbe, EngineName};
use plumb_observe::{HostRoot, crypto_cpu};
use plumb_probe::crypto::CryptoError;
use rounds::CryptoRounds;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Variables that hide instructions from a library, or give options to a Java.
const MASKS: [&str; 2] = ["OPENSSL_ia32cap", "OPENSSL_armcap"];
const JAVA_OPTIONS: [&str; 2] = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"];
/// A Java's start, and reading the host.
const AROUND_S: f64 = 2.0;

/// The settings of a crypto probe.
#[derive(Debug, Clone)]
pub struct CryptoSettings {
    /// The libraries that have to be here. Empty: all that are.
    pub engines: Vec<EngineName>,
    /// Results of other hosts, each with what it is called.
    pub others: Vec<NamedProbe>,
    /// Measured time of everything together.
    pub duration: Duration,
    /// Of the order.
    pub seed: u64,
}

/// The result of another host.
#[derive(Debug, Clone)]
pub struct NamedProbe {
    /// The name of the other host.
    pub name: String,
    /// The document of that host.
    pub document: CryptoProbe,
}

/// Probes the libraries.
///
/// # Errors
/// When a library that has to be here is not, or refuses what it did before.
pub fn probe(
    settings: &CryptoSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Probed<CryptoProbe>> {
    let context = RunContext::new(Properties::new(), stop, watcher);
    let wanted = &settings.engines;
    let estimate_s = AROUND_S + rounds::estimate_s(settings);
    context.tell(&Event::ProbeBegins { what: "probing crypto", estimate_s });
    let engines = Engines::find(wanted, stop)?;
    let mut window = Window::open();
    let mut rounds = CryptoRounds::new(settings, engines, &context)?;
    let turns = rounds.turns(settings.seed);
    context.tell(&Event::Rest(planned_s(&rounds, &turns)));
    super::rounds::run(&mut rounds, &turns, &context).map_err(|failed| failed.error)?;
    window.also_own(rounds.engines.cpu_ns());
    context.tell(&Event::Ends);
    let conditions = window.close(ProbeKind::Crypto, !context.is_stopped());
    let mut document = CryptoProbe {
        plan: rounds.plan(settings.seed),
        cpu: processor(&conditions.host),
        engines: fold::engines(&rounds),
        unavailable: rounds.engines.unavailable,
        peers: Vec::new(),
        findings: Vec::new(),
        conditions,
    };
    document.peers = peers(&document, &settings.others);
    document.findings = plumb_judge::crypto::findings(&document);
    let complete = document.conditions.complete;
    let suspect = document.findings.iter().any(|finding| finding.severity >= Severity::Suspect);
    Ok(Probed {
        complete,
        found: complete && suspect,
        error: without_figures(&document.engines, complete, wanted).map(Into::into),
        document,
    })
}

/// Other hosts' results first, then the published ones where there is something to hold against them.
fn peers(document: &CryptoProbe, others: &[NamedProbe]) -> Vec<CryptoPeer> {
    let given =
        others.iter().map(|other| plumb_judge::crypto::beside(document, &other.document, &other.name));
    let published = plumb_judge::crypto::published(document);
    given.chain(published.into_iter().filter(|peer| !peer.ratios.is_empty())).collect()
}

/// A library that was asked for by name and has no figure at all, although nobody stopped it.
fn without_figures(engines: &[CryptoEngine], complete: bool, wanted: &[EngineName]) -> Option<CryptoError> {
    let empty = |engine: &&CryptoEngine| {
        wanted.contains(&engine.name) && engine.rows.is_empty() && engine.operations.is_empty()
    };
    let engine = engines.iter().find(empty).filter(|_| complete)?;
    let reasons: Vec<&str> = engine.not_measured.iter().map(|missing| missing.reason.as_str()).collect();
    Some(CryptoError::NoFigure { engine: engine.name, reason: reasons.join("; ") })
}

fn processor(host: &HostFacts) -> CryptoCpu {
    let shown = crypto_cpu(&HostRoot::default(), host);
    plumb_judge::crypto::hidden(CryptoCpu { masks: masks(), ..shown })
}

/// The variables of the environment that hide instructions from a library. Of options for a Java, only those about instructions:
/// others may be secret.
fn masks() -> BTreeMap<String, String> {
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let plain = MASKS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?)));
    let java = JAVA_OPTIONS.iter().filter_map(|name| {
        let value = value(name)?;
        let options: Vec<&str> = value
            .split_ascii_whitespace()
            .filter(|option| plumb_probe::crypto::jvm::matters(option))
            .collect();
        (!options.is_empty()).then(|| ((*name).to_owned(), options.join(" ")))
    });
    plain.chain(java).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::probe::crypto::NotMeasured;

    #[test]
    fn a_library_that_was_asked_for_and_has_no_figure_is_an_error_with_its_cause() {
        let missing = NotMeasured { what: "everything".to_owned(), reason: "no compiler".to_owned() };
        let engine = CryptoEngine {
            name: EngineName::Jvm,
            version: "21".to_owned(),
            file: None,
            chosen_because: None,
            rows: Vec::new(),
            operations: Vec::new(),
            not_measured: vec![missing],
            jvm_flags: BTreeMap::new(),
            jvm_options: Vec::new(),
        };
        let engines = [engine];
        let said = |wanted: &[EngineName], complete| {
            without_figures(&engines, complete, wanted).map(|error| error.to_string())
        };
        assert_eq!(said(&[EngineName::Jvm], true).as_deref(), Some("jvm has no figure: no compiler"));
        assert_eq!(said(&[EngineName::Own], true), None, "nobody asked for it");
        assert_eq!(said(&[EngineName::Jvm], false), None, "it was stopped");
    }
}
