//! Other hosts beside this one: ratios at each size, and what they come to in a sentence.

use super::{SIZES, form};
use crate::sheet::{Column, Section};
use plumb_model::figure::{self, ABSENT};
use plumb_model::probe::crypto::{
    Algorithm, BLOCKS_BYTES, CryptoPeer, CryptoProbe, EngineName, Form, PeerRatio,
};

pub(super) fn sections(document: &CryptoProbe) -> Vec<Section> {
    let (published, files): (Vec<&CryptoPeer>, Vec<&CryptoPeer>) =
        document.peers.iter().partition(|peer| peer.published);
    let mut sections: Vec<Section> = files.iter().map(|peer| file(peer)).collect();
    let lines: Vec<String> = files.iter().filter_map(|peer| sentence(peer)).collect();
    if !lines.is_empty() {
        sections.push(Section::sentences("What the comparison comes to", "", lines));
    }
    sections.extend(of_publishers(&published));
    sections
}

/// The kind that two figures have in common.
type Kind = (EngineName, Algorithm, Form);

fn kinds(ratios: &[PeerRatio]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for ratio in ratios {
        let kind = (ratio.engine, ratio.algorithm, ratio.form);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn cells(ratios: &[PeerRatio], kind: Kind) -> Vec<String> {
    let at = |block_bytes: u32| {
        ratios.iter().find(|ratio| {
            ratio.block_bytes == block_bytes && (ratio.engine, ratio.algorithm, ratio.form) == kind
        })
    };
    BLOCKS_BYTES.map(|bytes| at(bytes).map_or(ABSENT.to_owned(), |ratio| share(ratio.ratio))).into()
}

fn file(peer: &CryptoPeer) -> Section {
    let mut columns = vec![Column::text("")];
    columns.extend(SIZES);
    let row = |kind: Kind| {
        let (engine, algorithm, how) = kind;
        let how = if algorithm.is_cipher() { format!(", {}", form(how)) } else { String::new() };
        let mut row = vec![format!("{engine} {}{how}", algorithm.title())];
        row.extend(cells(&peer.ratios, kind));
        row
    };
    let processor = peer.processor.as_deref().unwrap_or("a processor that is not named");
    let rows = kinds(&peer.ratios).into_iter().map(row).collect();
    let meaning = format!("rate here / rate there, one CPU; {processor}, {}", peer.source);
    Section::table(&format!("Beside {}", peer.name), &meaning, columns, rows)
}

fn of_publishers(peers: &[&CryptoPeer]) -> Option<Section> {
    let source = &peers.first()?.source;
    let mut columns = vec![Column::text("AES-256-GCM as one stream, OpenSSL")];
    columns.extend(SIZES);
    columns.push(Column::text("which"));
    let rows = peers.iter().map(|peer| {
        let mut row = vec![peer.name.clone()];
        row.extend(cells(&peer.ratios, (EngineName::Openssl, Algorithm::Aes256Gcm, Form::Stream)));
        row.push(peer.processor.clone().unwrap_or_default());
        row
    });
    let meaning = format!("rate here / rate there; source: {source}");
    Some(Section::table("Beside published hosts", &meaning, columns, rows.collect()))
}

/// The figure that a broker's TLS depends on most: AES-256-GCM at the size of a full record, by the first library that both have.
fn sentence(peer: &CryptoPeer) -> Option<String> {
    let largest = BLOCKS_BYTES.last()?;
    let ratio = peer
        .ratios
        .iter()
        .find(|ratio| ratio.algorithm == Algorithm::Aes256Gcm && ratio.block_bytes == *largest)?;
    let interval = match (ratio.ratio_low, ratio.ratio_high) {
        (Some(low), Some(high)) => format!(" ({})", figure::interval(low, high, share)),
        _ => String::new(),
    };
    Some(format!(
        "Full TLS records with AES-256-GCM ({}): this host runs at {}{interval} of the rate of {}: {} against {} a CPU.",
        ratio.engine,
        share(ratio.ratio),
        peer.name,
        figure::bytes_per_s(ratio.here_bytes_per_s),
        figure::bytes_per_s(ratio.there_bytes_per_s),
    ))
}

/// A ratio without a sign before it: `0.0331`, `1.02`, `26.4`.
fn share(ratio: f64) -> String {
    figure::ratio_digits(ratio)
}
