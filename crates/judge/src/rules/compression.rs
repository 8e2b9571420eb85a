//! A codec was in use: what it saved depends on what the values are made of.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, bytes_per_s, significant};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::plan::Payload;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "compression",
        summary: "A codec was in use: fewer bytes went out than the values have, by how random the values are.",
        page: include_str!("../../../../docs/findings/compression.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "codec and bytes on the wire are read back",
        stage: Some(PathStage::Network),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Beyond what the declared randomness allows, values repeat (ours: what a codec gains by chance is far less).
const MORE_THAN_DECLARED: f64 = 1.25;
/// Bytes of the stamp at the front of each record's value, where that is random and large enough.
const STAMP_BYTES: f64 = 48.0;
/// Bytes of the stamp that differ from record to record: number, time, checksum (ours, on the low side).
const STAMP_OWN_BYTES: f64 = 8.0;
/// A payload file whose values get smaller than this is likely to repeat within a batch (ours; logs and JSON in batches are
/// customarily given 3 to 8).
const FILE_RATIO_MAX: f64 = 10.0;
/// Below this a codec gained nothing (ours).
const GAIN_MIN: f64 = 1.05;

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter(Setup::produces).filter_map(|setup| finding(&setup)).collect()
}

fn finding(setup: &Setup) -> Option<Finding> {
    let codec = setup.result.effective.codec()?;
    let value = Some(setup.result.value_bytes_mean).filter(|bytes| *bytes > 0.0)?;
    let wire = setup.result.producer_statistics.wire_bytes_per_message()?;
    let ratio = value / wire;
    let payload = &setup.load()?.payload;
    let most = most(payload, value);
    let repeats = ratio > most;
    let claim = if repeats {
        "Values compress better than what they are made of allows: they repeat within a batch, and the figures are of fewer bytes than they say"
    } else if ratio < GAIN_MIN {
        "Messages were compressed, and it gained nothing: the values are random, which those of an application are not"
    } else {
        "Messages were compressed: rates in bytes count values, and fewer bytes went out"
    };
    let severity = if repeats { Severity::Suspect } else { Severity::Note };
    let mut finding = about_step(RULE.row.id, severity, setup.name(), claim)
        .seen("codec", codec)
        .seen("mean bytes of a value", significant(value, 3))
        .seen("mean bytes of a message in its batch", significant(wire, 3))
        .seen_against(
            "values to batches",
            figure::ratio(ratio),
            match most.is_finite() {
                true => format!("at most {}", figure::ratio(most)),
                false => "any".to_owned(),
            },
        )
        .seen("randomness declared", declared(payload));
    let throughput = &setup.result.throughput;
    for (what, bytes) in [
        ("values", throughput.produced_bytes_per_s),
        ("batches as sent", throughput.produced_wire_bytes_per_s),
    ] {
        if let Some(bytes) = bytes {
            finding = finding.seen(what, bytes_per_s(bytes));
        }
    }
    Some(finding.advise(match payload {
        Payload::File(_) => {
            "Give a payload file of many different messages, far larger than a batch, and hold the ratio against production's."
        }
        Payload::Entropy(_) => {
            "Give the randomness that makes the ratio of production (payload: {entropy: 0.3}), or a file of its messages."
        }
    }))
}

/// The largest ratio that such values explain. A stamp at the front of a value takes the place of random bytes.
fn most(payload: &Payload, value_bytes: f64) -> f64 {
    match payload {
        Payload::Entropy(share) if value_bytes >= STAMP_BYTES => {
            let random = (share * value_bytes - STAMP_BYTES).max(0.0);
            MORE_THAN_DECLARED * value_bytes / (random + STAMP_OWN_BYTES)
        }
        Payload::Entropy(share) => MORE_THAN_DECLARED / share,
        Payload::File(_) => FILE_RATIO_MAX,
    }
}

fn declared(payload: &Payload) -> String {
    match payload {
        Payload::Entropy(share) => format!("{} of the bytes", figure::percent(*share)),
        Payload::File(_) => "none: a file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::document::RunDocument;

    fn compress(document: &mut RunDocument, payload: Payload, batch_bytes: f64) {
        document.plan.steps[0].load.payload = payload;
        let step = &mut document.steps[0];
        step.effective.producer.insert("compression.codec".to_owned(), "zstd".to_owned());
        step.producer_statistics.batch_messages_mean = Some(100.0);
        step.producer_statistics.batch_bytes_mean = Some(batch_bytes);
    }

    #[test]
    fn half_random_values_of_half_the_size_are_as_declared() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            compress(document, Payload::Entropy(0.5), 55_000.0);
        });
        assert_eq!(finding.evidence[2].value, "550");
        assert_eq!(finding.evidence[3].value, "×1.86");
        assert_eq!(finding.evidence[3].expected.as_deref(), Some("at most ×2.71"));
    }

    #[test]
    fn random_values_that_compress_repeat_and_are_suspect() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            compress(document, Payload::Entropy(1.0), 20_000.0);
        });
    }

    #[test]
    fn a_file_that_repeats_within_a_batch_is_suspect_and_one_that_compresses_as_logs_do_is_not() {
        let file = Payload::File("payload.json".to_owned());
        assert_found(RULE.row.id, Severity::Suspect, |document| compress(document, file.clone(), 2_000.0));
        assert_found(RULE.row.id, Severity::Note, |document| compress(document, file, 25_000.0));
    }

    #[test]
    fn small_random_values_compress_by_their_stamps_and_are_not_suspect() {
        assert_found(RULE.row.id, Severity::Note, |document| {
            compress(document, Payload::Entropy(1.0), 6_700.0);
            document.steps[0].value_bytes_mean = 100.0;
        });
    }

    #[test]
    fn a_codec_that_gains_nothing_is_told() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            compress(document, Payload::Entropy(1.0), 104_000.0);
        });
        assert!(finding.claim.contains("gained nothing"), "{}", finding.claim);
    }

    #[test]
    fn without_a_codec_nothing_is_said() {
        let mut document = healthy();
        compress(&mut document, Payload::Entropy(0.1), 20_000.0);
        document.steps[0].effective.producer.insert("compression.codec".to_owned(), "none".to_owned());
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
