//! `plumb probe crypto`: how fast libraries here encrypt, and what hides the processor's instructions from them.

mod engines;
mod fold;
mod peers;
mod rounds;

use super::window::Window;
use crate::args::probe::{CryptoArgs, ProbeOutput};
use crate::commands::End;
use crate::progress::steps::Steps;
use crate::{printer, stop};
use anyhow::Result;
use engines::Engines;
use plumb_model::facts::HostFacts;
use plumb_model::finding::Severity;
use plumb_model::probe::ProbeKind;
use plumb_model::probe::crypto::{CryptoCpu, CryptoEngine, CryptoProbe, EngineName};
use plumb_observe::{HostRoot, crypto_cpu};
use plumb_probe::crypto::CryptoError;
use rounds::Rounds;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Variables that hide instructions from a library, or give options to a Java.
const MASKS: [&str; 2] = ["OPENSSL_ia32cap", "OPENSSL_armcap"];
const JAVA_OPTIONS: [&str; 2] = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"];
/// A Java's start, and reading the host.
const AROUND_S: f64 = 2.0;

pub(super) fn crypto(arguments: &CryptoArgs) -> Result<End> {
    // Read before anything is measured: a wrong file is said at once.
    let others = peers::read(&arguments.compare)?;
    let stop = stop::flag()?;
    let wanted: Vec<EngineName> = arguments.engine.iter().map(|word| word.name()).collect();
    let rounds = Rounds::new(arguments);
    let steps = Steps::begin("probing crypto", AROUND_S + rounds.estimate_s(&wanted));
    let mut engines = Engines::find(&wanted, &stop)?;
    let mut window = Window::open();
    let measured = rounds.measure(&mut engines, &steps, &stop)?;
    window.also_own(engines.cpu_ns());
    drop(steps);
    let conditions = window.close(ProbeKind::Crypto, !stop.load(Relaxed));
    let mut document = CryptoProbe {
        plan: rounds.plan(),
        cpu: processor(&conditions.host),
        engines: fold::engines(&engines, &measured),
        unavailable: engines.unavailable,
        peers: Vec::new(),
        findings: Vec::new(),
        conditions,
    };
    document.peers = peers::beside(&document, &others);
    document.findings = plumb_judge::crypto::findings(&document);
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::crypto::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    if let Some(error) = without_figures(&document.engines, document.conditions.complete, &wanted) {
        return Err(error.into());
    }
    let found = document.findings.iter().any(|finding| finding.severity >= Severity::Suspect);
    Ok(match () {
        () if !document.conditions.complete => End::Interrupted,
        () if found => End::Found,
        () => End::Done,
    })
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

/// What the surroundings hide from a library. Of options for a Java, only those about instructions: others may be secret.
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
