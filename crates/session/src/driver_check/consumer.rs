//! What a consumer owes, against what the sink showed.

use super::producer::ended;
use super::{PARTITIONS, READING_NS, milliseconds, of_a_stop, owed};
use plumb_lab::sink::ArrivedRecord;
use plumb_load::external::examine::{ConsumerEvidence, RECORDS};
use plumb_load::external::frame::{Got, HEAD_BYTES};
use plumb_load::stamp::STAMP_HEADER;
use plumb_model::driver_check::Owed;
use std::collections::BTreeMap;

pub(super) fn owed_of(evidence: &ConsumerEvidence, arrived: &[ArrivedRecord]) -> Vec<Owed> {
    let times = evidence.got.iter().enumerate();
    let times = times.map(|(number, got)| ("the reception", number as u64, got.received_ns));
    let mut all = vec![
        owed(
            "group",
            "It joins the group and tells how many partitions it holds.",
            joined(evidence, arrived),
        ),
        owed("receives", "It reports every record once.", receives(evidence, arrived)),
    ];
    // Of one that reported nothing, nothing was seen of these.
    if !evidence.got.is_empty() {
        all.extend([
            owed(
                "order",
                "Records of a partition are reported in the order of the log.",
                order(&evidence.got),
            ),
            owed("bytes", "Stamp and length of the value are those of the record.", bytes(evidence, arrived)),
            owed(
                "reception",
                "No record is received before the broker shows it.",
                reception(evidence, arrived),
            ),
            of_a_stop(evidence.stopped, times),
        ]);
    }
    all.push(owed("end", "It ends when it is told to, with exit code 0.", ended(&evidence.ended)));
    all
}

fn joined(evidence: &ConsumerEvidence, arrived: &[ArrivedRecord]) -> Vec<String> {
    let mut cases = Vec::new();
    if evidence.joined != PARTITIONS.unsigned_abs() {
        cases.push(format!("the topic has {PARTITIONS} partitions, and it told of {}", evidence.joined));
    }
    if (arrived.len() as u64) < RECORDS {
        cases.push(format!("only {} of {RECORDS} records could be produced for it", arrived.len()));
    }
    cases
}

/// The reports of each record.
fn by_place(got: &[Got]) -> BTreeMap<(i32, i64), Vec<&Got>> {
    let mut places: BTreeMap<_, Vec<&Got>> = BTreeMap::new();
    for got in got {
        places.entry((got.partition, got.offset)).or_default().push(got);
    }
    places
}

fn receives(evidence: &ConsumerEvidence, arrived: &[ArrivedRecord]) -> Vec<String> {
    let mut reports = by_place(&evidence.got);
    let mut cases = Vec::new();
    for record in arrived {
        let place = (record.partition, record.offset);
        match reports.remove(&place).map_or(0, |reports| reports.len()) {
            1 => {}
            times => cases.push(format!("the record at {}/{} has {times} reports", place.0, place.1)),
        }
    }
    cases.extend(reports.into_keys().map(|place| format!("there is no record at {}/{}", place.0, place.1)));
    cases
}

fn order(got: &[Got]) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut cases = Vec::new();
    for Got { partition, offset, .. } in got {
        if let Some(before) = last.insert(*partition, *offset).filter(|before| before > offset) {
            cases
                .push(format!("offset {offset} of partition {partition} is reported behind offset {before}"));
        }
    }
    cases
}

fn bytes(evidence: &ConsumerEvidence, arrived: &[ArrivedRecord]) -> Vec<String> {
    let reports = by_place(&evidence.got);
    let differs = |record: &ArrivedRecord| {
        let got = reports.get(&(record.partition, record.offset))?.first()?;
        let header = record.headers.iter().rfind(|(name, _)| **name == *STAMP_HEADER.as_bytes());
        let head = header.map_or(&record.value, |(_, value)| value);
        let is_told = got.head == head[..head.len().min(HEAD_BYTES)];
        let length_is_told = got.value_bytes as usize == record.value.len();
        (!is_told || !length_is_told).then(|| {
            let what = if is_told { "length" } else { "stamp" };
            format!("the {what} of the record at {}/{} is another", record.partition, record.offset)
        })
    };
    arrived.iter().filter_map(differs).collect()
}

fn reception(evidence: &ConsumerEvidence, arrived: &[ArrivedRecord]) -> Vec<String> {
    let reports = by_place(&evidence.got);
    let early = |record: &ArrivedRecord| {
        let got = reports.get(&(record.partition, record.offset))?.first()?;
        let early = record.shown_ns.checked_sub(got.received_ns + READING_NS).filter(|early| *early > 0)?;
        let at = format!("{}/{}", record.partition, record.offset);
        Some(format!("the record at {at} is reported {} before anybody could read it", milliseconds(early)))
    };
    arrived.iter().filter_map(early).collect()
}
