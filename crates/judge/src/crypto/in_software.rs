//! A library that encrypts AES without the processor's instructions.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{Complete, about_run};
use plumb_model::figure::bytes_per_s;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::probe::crypto::{Algorithm, CryptoEngine, CryptoProbe, EngineName};

pub(super) static RULE: Row = Row {
    id: "crypto-in-software",
    summary: "A library computes AES-GCM without the instructions that processors have for it.",
    page: include_str!("../../../../docs/findings/crypto-in-software.md"),
    family: Family::Crypto,
    severity: Severity::Suspect,
    confidence: Confidence::Supported,
    because: "the ratio of the two ciphers' rates tells it; the instructions themselves are not watched",
    stage: Some(PathStage::Host),
    flip: Some(FlipRow {
        change: "remove the setting that the evidence names",
        setting: None,
        observe: "the rate of AES-GCM",
        expect: Expect::Rises,
    }),
};

/// With its instructions AES-256-GCM is about as fast as ChaCha20-Poly1305 or faster; without them it was a fifteenth (OpenSSL)
/// to a quarter (Java) of it. Below this share it has none (ours).
const SHARE_OF_CHACHA_MAX: f64 = 0.5;
/// Settings of a Java virtual machine that turn off the instructions for AES, and those for GCM's checksum (GHASH).
const AES_SETTINGS: [&str; 2] = ["UseAES", "UseAESIntrinsics"];
const GHASH_SETTING: &str = "UseGHASHIntrinsics";

pub(super) fn check(document: &CryptoProbe) -> Vec<Finding> {
    document.engines.iter().filter_map(|engine| of_engine(document, engine)).collect()
}

fn of_engine(document: &CryptoProbe, engine: &CryptoEngine) -> Option<Finding> {
    let is_off = |name: &&str| engine.jvm_flags.get(*name).is_some_and(|value| value == "false");
    let aes_off: Vec<&str> = AES_SETTINGS.into_iter().filter(is_off).collect();
    let off: Vec<&str> = aes_off.iter().copied().chain(Some(GHASH_SETTING).filter(is_off)).collect();
    let measured = fastest(engine, Algorithm::Aes256Gcm).zip(fastest(engine, Algorithm::Chacha20Poly1305));
    // Rates decide where there are any: a setting that is off and costs nothing is a note.
    let slow = measured.map_or(!off.is_empty(), |(aes, chacha)| aes < SHARE_OF_CHACHA_MAX * chacha);
    if !slow && off.is_empty() {
        return None;
    }
    let name = title(engine.name);
    let claim = match () {
        () if !slow => format!("{name} has {} switched off, and its rates do not show it", off.join(", ")),
        () if aes_off.is_empty() && !off.is_empty() => {
            format!("{name} computes GHASH, the checksum of AES-GCM, without the processor's instructions")
        }
        () if measured.is_none() => {
            format!("{name} is set to encrypt AES without the processor's instructions")
        }
        () => format!("{name} encrypts AES without the processor's instructions"),
    };
    let mut finding = about_run(RULE.id, if slow { Severity::Suspect } else { Severity::Note }, claim);
    if let Some((aes, chacha)) = measured {
        finding = finding.seen_against(
            "AES-256-GCM at its best size, one CPU",
            bytes_per_s(aes),
            format!("not below half of ChaCha20-Poly1305's {}", bytes_per_s(chacha)),
        );
    }
    for name in &off {
        finding = finding.seen_against(format!("-XX:{name}"), "false", "true");
    }
    let masks = document.cpu.masks.iter().filter(|_| engine.name != EngineName::Own);
    for (name, value) in masks {
        finding = finding.seen(name.as_str(), value.as_str());
    }
    let hidden: Vec<&str> = document
        .cpu
        .absent
        .iter()
        .map(String::as_str)
        .filter(|flag| matches!(*flag, "aes" | "pclmulqdq"))
        .collect();
    let advice = if !hidden.is_empty() {
        finding = finding.seen("the processor does not show", hidden.join(", "));
        "Give the guest the host's CPU model; until then ChaCha20-Poly1305 costs less than AES here, where both ends speak TLS \
         1.3."
    } else if !off.is_empty() {
        "Take the option off the broker's command line (KAFKA_OPTS, JDK_JAVA_OPTIONS, JAVA_TOOL_OPTIONS)."
    } else {
        "The processor shows the instructions: look for a setting that hides them from this library (OPENSSL_ia32cap), or for \
         a build of it without assembly."
    };
    Some(finding.advise(advice))
}

/// The best size of an algorithm on one core, in any form.
fn fastest(engine: &CryptoEngine, algorithm: Algorithm) -> Option<f64> {
    let rows = engine.rows.iter().filter(|row| row.algorithm == algorithm);
    rows.filter_map(|row| row.one_core.bytes_per_s).max_by(f64::total_cmp)
}

fn title(name: EngineName) -> &'static str {
    match name {
        EngineName::Openssl => "OpenSSL",
        EngineName::Own => "Plumb's own TLS library",
        EngineName::Jvm => "Java",
    }
}
