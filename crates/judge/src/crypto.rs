//! What a crypto probe says: which instructions are hidden, who encrypts without them, who is slower than whom.
//!
//! Pure, like all judgement: a document in, findings out. A rule is a file here, a row of [`RULES`] and a page under
//! `docs/findings`.

mod families;
mod flags_hidden;
mod in_software;
mod peers;
mod slower_than_peer;
#[cfg(test)]
mod tests;

pub use families::hidden;
pub use peers::{beside, published};

use crate::rule::ProbeRule;
use plumb_model::finding::Finding;
use plumb_model::probe::crypto::CryptoProbe;

/// The rules about a crypto probe's document.
pub(crate) const RULES: &[ProbeRule] = &[flags_hidden::RULE, in_software::RULE, slower_than_peer::RULE];

/// What a document says, what is nearest to the cause first. Its `cpu.missing` and `peers` must be there.
pub fn findings(document: &CryptoProbe) -> Vec<Finding> {
    let mut findings = flags_hidden::check(document);
    findings.extend(in_software::check(document));
    findings.extend(slower_than_peer::check(document));
    findings
}
