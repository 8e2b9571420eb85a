//! One of two hosts that encrypts many times slower.

use crate::row::{Family, Row};
use crate::rule::{Complete, about_run};
use plumb_model::figure::{bytes_per_s, percent};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::probe::crypto::{Algorithm, CryptoPeer, CryptoProbe, PeerRatio};

pub(super) static RULE: Row = Row {
    id: "crypto-slower-than-peer",
    summary: "Of two hosts, one encrypts AES at a fraction of the other's rate.",
    page: include_str!("../../../../docs/findings/crypto-slower-than-peer.md"),
    family: Family::Crypto,
    severity: Severity::Suspect,
    confidence: Confidence::Confirmed,
    because: "both hosts were measured in the same way",
    stage: Some(PathStage::Host),
    flip: None,
};

/// Between two hosts that are to do the same work (ours).
const RATIO_MIN: f64 = 0.5;
/// Against published figures, of a server processor of about 2018: generations differ by less than this, hardware and software
/// by more (ours).
const RATIO_PUBLISHED_MIN: f64 = 0.1;
/// Smaller blocks show the cost of a call rather than that of the cipher.
const BLOCK_BYTES_MIN: u32 = 1024;

pub(super) fn check(document: &CryptoProbe) -> Vec<Finding> {
    document.peers.iter().filter_map(|peer| of_peer(document, peer)).collect()
}

/// The figure in which the two differ most, if that is enough.
fn of_peer(document: &CryptoProbe, peer: &CryptoPeer) -> Option<Finding> {
    let least = if peer.published { RATIO_PUBLISHED_MIN } else { RATIO_MIN };
    let aes = peer.ratios.iter().filter(|ratio| {
        matches!(ratio.algorithm, Algorithm::Aes128Gcm | Algorithm::Aes256Gcm)
            && ratio.block_bytes >= BLOCK_BYTES_MIN
    });
    // Both ends of the interval have to agree; of published figures, only a host that is slower here is a finding.
    let here_slower = |ratio: &&PeerRatio| ratio.ratio_high.unwrap_or(ratio.ratio) < least;
    let there_slower =
        |ratio: &&PeerRatio| !peer.published && ratio.ratio_low.unwrap_or(ratio.ratio) > 1.0 / least;
    let apart = aes.filter(|ratio| here_slower(ratio) || there_slower(ratio));
    let worst = apart.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))?;
    let (slow, fast, share) = if worst.ratio < 1.0 {
        ("This host".to_owned(), peer.name.clone(), worst.ratio)
    } else {
        (format!("The host of {}", peer.name), "this host".to_owned(), 1.0 / worst.ratio)
    };
    let what = format!("{} at {} bytes, {}", worst.algorithm.title(), worst.block_bytes, worst.engine);
    let claim = format!("{slow} encrypts at {} of the rate of {fast}", percent(share));
    let engine = document.engines.iter().find(|engine| engine.name == worst.engine);
    let versions = (
        engine.map(|engine| engine.version.as_str()),
        peer.versions.get(&worst.engine.to_string()).map(String::as_str),
    );
    let mut finding = about_run(RULE.id, Severity::Suspect, claim);
    let same_library = versions.0 == versions.1;
    if !same_library {
        // First of all: what looks like the host's may be the library's.
        let unknown = "not known";
        finding = finding
            .seen(format!("{}'s version here", worst.engine), versions.0.unwrap_or(unknown))
            .seen(format!("{}'s version, {}", worst.engine, peer.name), versions.1.unwrap_or(unknown));
    }
    finding = finding
        .seen(format!("{what}: here"), bytes_per_s(worst.here_bytes_per_s))
        .seen(format!("{what}: {}", peer.name), bytes_per_s(worst.there_bytes_per_s))
        .seen("source", peer.source.as_str());
    if let (true, Some(version)) = (same_library, versions.0) {
        finding = finding.seen(format!("{}'s version on both", worst.engine), version);
    }
    Some(finding.advise(match versions {
        (Some(_), Some(_)) if !same_library => {
            "The two hosts' libraries differ in version, and that alone may be the cause: compare with the same version on \
             both before the hosts are blamed."
        }
        (_, None) => {
            "The other host's library version is not known and may be the cause; compare the two hosts' instructions \
             (cpu.missing here) and CPU models too."
        }
        _ => {
            "Compare the two hosts' instructions (cpu.missing in both documents) and CPU models; a guest with the hypervisor's \
             default model is the usual cause."
        }
    }))
}
