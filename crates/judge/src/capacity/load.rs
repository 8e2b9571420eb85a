//! The load that a target states, in each way in which its figures can be read.

use super::CapacityError;
use super::target::{Load, Target};
use plumb_model::figure;
use serde::{Deserialize, Serialize};

/// Figures of one load that differ by more than this share of the smaller are named. Ours: rounding to two digits stays below
/// it, and decimal taken for binary units (2.4 %) does not.
const DISAGREEMENT: f64 = 0.01;

/// Largest relative distance of a ratio from that of two units at which it is taken for their confusion (ours).
const NEAR_UNIT: f64 = 0.003;

/// The load from producers, after compression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ingress {
    /// Mean.
    pub mean_bytes_per_s: f64,
    /// Peak.
    pub peak_bytes_per_s: f64,
}

/// A load in each way in which it can be read.
pub(super) struct Readings {
    /// Each with its name.
    pub(super) loads: Vec<(String, Ingress)>,
    /// The contradiction between several readings, as a sentence.
    pub(super) contradiction: Option<String>,
}

/// The readings of a target's load.
pub(super) fn readings(target: &Target) -> Result<Readings, CapacityError> {
    let load = &target.load;
    let product = load.messages_per_s.zip(load.message_bytes).map(|(rate, bytes)| rate * bytes);
    let by_product = |bytes_per_s| ("messages/s x size".to_owned(), ingress(target, bytes_per_s));
    let by_bytes = |bytes_per_s| ("bytes/s as stated".to_owned(), ingress(target, bytes_per_s));
    let one = |load| Ok(Readings { loads: vec![load], contradiction: None });
    match (product, load.bytes_per_s) {
        (Some(product), Some(stated)) if disagreement(load).is_some() => Ok(Readings {
            loads: vec![by_product(product), by_bytes(stated)],
            contradiction: Some(contradiction(load, product, stated)),
        }),
        (Some(product), _) => one(by_product(product)),
        (None, Some(stated)) => one(by_bytes(stated)),
        (None, None) => Err(CapacityError::NoLoad {
            got: match (load.messages_per_s, load.message_bytes) {
                (Some(_), _) => "messages/s without their size",
                (None, Some(_)) => "a size without messages/s",
                (None, None) => "none of them",
            },
        }),
    }
}

/// The larger over the smaller, where three figures were given and do not agree.
pub(super) fn disagreement(load: &Load) -> Option<f64> {
    let product = load.messages_per_s? * load.message_bytes?;
    let stated = load.bytes_per_s?;
    let ratio = (product / stated).max(stated / product);
    (ratio > 1.0 + DISAGREEMENT).then_some(ratio)
}

fn ingress(target: &Target, bytes_per_s: f64) -> Ingress {
    let mean_bytes_per_s = bytes_per_s / target.compression_ratio;
    Ingress { mean_bytes_per_s, peak_bytes_per_s: mean_bytes_per_s * target.peak_factor }
}

fn contradiction(load: &Load, product: f64, stated: f64) -> String {
    let (rate, bytes) = (load.messages_per_s.unwrap_or_default(), load.message_bytes.unwrap_or_default());
    let ratio = (product / stated).max(stated / product);
    let mut text = format!(
        "{} messages/s × {} is {}, but {} is stated: they differ by a ratio of {}. Both are worked out. If the bytes/s are right, \
         a message has {} or there are {} of them a second.",
        figure::short(rate),
        figure::bytes(bytes),
        figure::bytes_per_s(product),
        figure::bytes_per_s(stated),
        figure::ratio(ratio),
        figure::bytes(stated / rate),
        figure::short(stated / bytes),
    );
    if let Some((_, units)) = UNITS.iter().find(|(factor, _)| (ratio / factor - 1.0).abs() < NEAR_UNIT) {
        text.push_str(&format!(" The ratio is that of {units}: is it a unit?"));
    }
    text
}

/// Factors that a wrong unit makes.
const UNITS: &[(f64, &str)] = &[
    (1.024, "KiB to KB"),
    (1.048_576, "MiB to MB"),
    (1.073_741_824, "GiB to GB"),
    (8.0, "bytes to bits"),
    (60.0, "a minute to a second"),
    (1000.0, "one decimal prefix to the next"),
];
