//! This host beside others: a document of another host, and published figures.

use plumb_model::probe::crypto::{
    Algorithm, BLOCKS_BYTES, CryptoPeer, CryptoProbe, EngineName, Form, PeerRatio, Throughput,
};
use std::collections::BTreeMap;

/// The source of the published figures.
const SOURCE: &str =
    "a performance engineer's blog on slow acks=all writes over TLS: openssl speed -evp aes-256-gcm";
/// Published figures: name, processor, 1000s of bytes per second at each of the sizes.
const PUBLISHED: [(&str, &str, [u32; 6]); 3] = [
    ("hypervisor of a broker", "hardware", [386_715, 1_106_963, 2_161_413, 3_272_085, 4_036_009, 4_165_596]),
    ("some other VM", "shows aes", [386_345, 1_082_958, 2_009_378, 3_003_346, 3_602_678, 3_649_464]),
    ("a broker VM", "hides aes", [107_799, 133_548, 138_564, 139_041, 137_525, 137_462]),
];

/// A figure that can be held against another's: the same library, algorithm, size and form.
struct Figure<'a> {
    engine: EngineName,
    algorithm: Algorithm,
    block_bytes: u32,
    form: Form,
    throughput: &'a Throughput,
}

/// One core's figures of a document, in both forms where there are both.
fn figures(document: &CryptoProbe) -> Vec<Figure<'_>> {
    let mut figures = Vec::new();
    for engine in &document.engines {
        for row in &engine.rows {
            let other = row.other_form.iter().map(|other| (other.form, &other.one_core));
            for (form, throughput) in [(row.form, &row.one_core)].into_iter().chain(other) {
                let (algorithm, block_bytes) = (row.algorithm, row.block_bytes);
                figures.push(Figure { engine: engine.name, algorithm, block_bytes, form, throughput });
            }
        }
    }
    figures
}

/// Another host's document beside this one's, called by `name`.
pub fn beside(here: &CryptoProbe, there: &CryptoProbe, name: &str) -> CryptoPeer {
    let (ours, theirs) = (figures(here), figures(there));
    let ratios = ours.iter().filter_map(|figure| {
        let peer = theirs.iter().find(|peer| {
            (peer.engine, peer.algorithm, peer.block_bytes, peer.form)
                == (figure.engine, figure.algorithm, figure.block_bytes, figure.form)
        })?;
        ratio(figure, peer.throughput)
    });
    CryptoPeer {
        name: name.to_owned(),
        source: format!(
            "plumb probe crypto {} of {}",
            there.conditions.plumb_version, there.conditions.started_at
        ),
        published: false,
        processor: there.cpu.model.clone(),
        versions: there
            .engines
            .iter()
            .map(|engine| (engine.name.to_string(), engine.version.clone()))
            .collect(),
        ratios: ratios.collect(),
    }
}

/// The published hosts beside this one: through OpenSSL, AES-256-GCM as one stream, which is what `openssl speed -evp` measured
/// before 3.0.16. At 16 bytes the other form would be ten times slower on the very same host.
pub fn published(here: &CryptoProbe) -> Vec<CryptoPeer> {
    let ours = figures(here);
    let peer = |(name, processor, rows): &(&str, &str, [u32; 6])| {
        let ratios = BLOCKS_BYTES.iter().zip(rows).filter_map(|(block_bytes, thousands)| {
            let figure = ours.iter().find(|figure| {
                (figure.engine, figure.algorithm, figure.block_bytes, figure.form)
                    == (EngineName::Openssl, Algorithm::Aes256Gcm, *block_bytes, Form::Stream)
            })?;
            let bytes_per_s = f64::from(*thousands) * 1000.0;
            ratio(figure, &Throughput { bytes_per_s: Some(bytes_per_s), ..Throughput::default() })
        });
        CryptoPeer {
            name: (*name).to_owned(),
            source: SOURCE.to_owned(),
            published: true,
            processor: Some((*processor).to_owned()),
            versions: BTreeMap::new(),
            ratios: ratios.collect(),
        }
    };
    PUBLISHED.iter().map(peer).collect()
}

fn ratio(here: &Figure, there: &Throughput) -> Option<PeerRatio> {
    let (here_bytes_per_s, there_bytes_per_s) = (here.throughput.bytes_per_s?, there.bytes_per_s?);
    // A published figure has no interval: the ratio then has ours alone.
    let interval = |throughput: &Throughput, published: bool| match (&throughput.interval, published) {
        (Some(interval), _) => Some((interval.low, interval.high)),
        (None, true) => throughput.bytes_per_s.map(|value| (value, value)),
        (None, false) => None,
    };
    let ours = interval(here.throughput, false);
    let theirs = interval(there, there.samples == 0);
    let (low, high) = match (ours, theirs) {
        (Some(ours), Some(theirs)) if theirs.0 > 0.0 => (Some(ours.0 / theirs.1), Some(ours.1 / theirs.0)),
        _ => (None, None),
    };
    (there_bytes_per_s > 0.0).then(|| PeerRatio {
        engine: here.engine,
        algorithm: here.algorithm,
        block_bytes: here.block_bytes,
        form: here.form,
        here_bytes_per_s,
        there_bytes_per_s,
        ratio: here_bytes_per_s / there_bytes_per_s,
        ratio_low: low,
        ratio_high: high,
    })
}
