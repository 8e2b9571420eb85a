//! The findings of a crypto probe: hidden instructions, libraries that encrypt without them, hosts that are slower than others.
//!
//! Pure, like all judgement: a document in, findings out. A rule is a file here, a row of [`ROWS`] and a page under
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

use crate::row::Row;
use plumb_model::finding::Finding;
use plumb_model::probe::crypto::CryptoProbe;

/// The rows of what can be said about a crypto probe's document.
pub(crate) static ROWS: [&Row; 3] = [&flags_hidden::RULE, &in_software::RULE, &slower_than_peer::RULE];

/// The findings of a document, the nearest to the cause first. Its `cpu.missing` and `peers` must be there.
pub fn findings(document: &CryptoProbe) -> Vec<Finding> {
    let of = |row: &Row, found: Vec<Finding>| {
        found.into_iter().map(|finding| row.complete(finding)).collect::<Vec<_>>()
    };
    let mut findings = of(&flags_hidden::RULE, flags_hidden::check(document));
    findings.extend(of(&in_software::RULE, in_software::check(document)));
    findings.extend(of(&slower_than_peer::RULE, slower_than_peer::check(document)));
    findings
}
