//! What a producer owes, against what the sink saw.

use super::{READING_NS, milliseconds, of_a_stop, owed};
use plumb_lab::sink::ArrivedRecord;
use plumb_load::external::examine::{ProducerEvidence, parts_of_stamp};
use plumb_load::external::frame::{Acknowledged, Header, SendOrder};
use plumb_load::stamp::STAMP_HEADER;
use plumb_model::driver_check::Owed;
use std::collections::BTreeMap;

/// An order with what came of it.
struct Outcome<'e> {
    order: &'e SendOrder,
    arrived: Vec<&'e ArrivedRecord>,
    acknowledged: Vec<&'e Acknowledged>,
    failures: usize,
}

impl Outcome<'_> {
    fn number(&self) -> u64 {
        self.order.number
    }

    /// The first reading of the clock for it, and its arrival.
    fn sent(&self) -> Option<(u64, &ArrivedRecord)> {
        Some((self.acknowledged.first()?.called_ns, self.arrived.first()?))
    }
}

pub(super) fn owed_of(evidence: &ProducerEvidence, arrived: &[ArrivedRecord]) -> Vec<Owed> {
    let outcomes = outcomes(evidence, arrived);
    let (refused, sent) = match outcomes.split_last() {
        Some((refused, sent)) => (refused, sent),
        None => return Vec::new(),
    };
    let times = evidence.acknowledged.iter().flat_map(|report| {
        [
            ("the send", report.number, report.called_ns),
            ("the acknowledgement", report.number, report.acked_ns),
        ]
    });
    let mut all = vec![each(sent, "sends", "It sends every record once.", sends)];
    // Of one that sent nothing, or reported nothing, nothing was seen of these.
    if !arrived.is_empty() {
        all.extend([
            each(
                sent,
                "bytes",
                "Key, headers, value and partition are as ordered; only the time is written in.",
                bytes,
            ),
            owed("order", "Records of a partition are in the order of their orders.", order(arrived)),
            each(sent, "due", "No record is sent before it is due.", due),
        ]);
    }
    all.push(each(&outcomes, "reports", "Every order has one report.", reports));
    if !arrived.is_empty() && !evidence.acknowledged.is_empty() {
        all.extend([
            each(sent, "call", "The time of a send is read before it: no request is there earlier.", call),
            each(sent, "time", "The time in the record is the one that is reported.", time),
            each(
                sent,
                "acknowledgement",
                "No acknowledgement is reported before the broker's answer.",
                acknowledgement,
            ),
            each(sent, "place", "Partition and offset are those at which the record is.", place),
            of_a_stop(evidence.stopped, times),
        ]);
    }
    let mut wrong = failure(refused);
    wrong.extend(sent.iter().filter_map(failed_though_stored));
    all.push(owed(
        "failure",
        "A record that the broker refuses is reported as failed, and no other is.",
        wrong,
    ));
    all.push(owed("end", "It ends when it is told to, with exit code 0.", ended(&evidence.ended)));
    all
}

pub(super) fn ended(ended: &Result<(), String>) -> Vec<String> {
    ended.clone().err().into_iter().collect()
}

fn outcomes<'e>(evidence: &'e ProducerEvidence, arrived: &'e [ArrivedRecord]) -> Vec<Outcome<'e>> {
    let mut of_number: BTreeMap<u64, Vec<&ArrivedRecord>> = BTreeMap::new();
    for record in arrived {
        if let Some((number, _)) = stamp_of(record) {
            of_number.entry(number).or_default().push(record);
        }
    }
    let outcome = |order: &'e SendOrder| Outcome {
        order,
        arrived: of_number.remove(&order.number).unwrap_or_default(),
        acknowledged: evidence.acknowledged.iter().filter(|report| report.number == order.number).collect(),
        failures: evidence.failed.iter().filter(|report| report.number == order.number).count(),
    };
    evidence.orders.iter().map(outcome).collect()
}

/// The number of a record, and the time that was written into it.
pub(super) fn stamp_of(record: &ArrivedRecord) -> Option<(u64, u64)> {
    let header = record.headers.iter().rfind(|(name, _)| **name == *STAMP_HEADER.as_bytes());
    parts_of_stamp(header.map_or(&record.value, |(_, value)| value))
}

fn each(
    outcomes: &[Outcome<'_>],
    name: &'static str,
    what: &'static str,
    broken: fn(&Outcome<'_>) -> Option<String>,
) -> Owed {
    owed(name, what, outcomes.iter().filter_map(broken).collect())
}

fn sends(outcome: &Outcome<'_>) -> Option<String> {
    let number = outcome.number();
    match outcome.arrived.len() {
        1 => None,
        0 => Some(format!("record {number} never came")),
        times => Some(format!("record {number} came {times} times")),
    }
}

fn bytes(outcome: &Outcome<'_>) -> Option<String> {
    let (order, record) = (outcome.order, outcome.arrived.first()?);
    let number = outcome.number();
    let mut expected = order.clone();
    expected.set_time(stamp_of(record)?.1);
    let headers = record.headers.iter().map(|(name, value)| Header {
        name: String::from_utf8_lossy(name).into_owned(),
        value: value.to_vec(),
    });
    let differs = if record.key.as_deref() != expected.key.as_deref() {
        "key"
    } else if headers.collect::<Vec<_>>() != expected.headers {
        "headers"
    } else if record.value != expected.value {
        "value"
    } else if order.partition >= 0 && record.partition != order.partition {
        "partition"
    } else {
        return None;
    };
    Some(format!("the {differs} of record {number} is another"))
}

fn order(arrived: &[ArrivedRecord]) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut cases = Vec::new();
    for record in arrived {
        let Some((number, _)) = stamp_of(record) else { continue };
        let before = last.insert(record.partition, number);
        if let Some(before) = before.filter(|before| *before > number) {
            cases.push(format!(
                "record {number} of partition {} came behind record {before}",
                record.partition
            ));
        }
    }
    cases
}

fn due(outcome: &Outcome<'_>) -> Option<String> {
    let due_ns = outcome.order.due_ns;
    let told = outcome.acknowledged.first().map(|report| report.called_ns);
    let came = outcome.arrived.first().map(|record| record.at_ns + READING_NS);
    let early = told.into_iter().chain(came).filter_map(|at_ns| due_ns.checked_sub(at_ns)).max()?;
    (early > 0)
        .then(|| format!("record {} was sent {} before it was due", outcome.number(), milliseconds(early)))
}

fn call(outcome: &Outcome<'_>) -> Option<String> {
    let (called_ns, record) = outcome.sent()?;
    let late = called_ns.checked_sub(record.at_ns + READING_NS)?;
    (late > 0).then(|| {
        format!(
            "record {} was there {} before the reported time of its send",
            outcome.number(),
            milliseconds(late)
        )
    })
}

fn time(outcome: &Outcome<'_>) -> Option<String> {
    let (called_ns, record) = outcome.sent()?;
    let written_ns = stamp_of(record)?.1;
    (written_ns != called_ns).then(|| {
        let apart = milliseconds(written_ns.abs_diff(called_ns));
        format!("the time in record {} and the reported one are {apart} apart", outcome.number())
    })
}

fn reports(outcome: &Outcome<'_>) -> Option<String> {
    match outcome.acknowledged.len() + outcome.failures {
        1 => None,
        times => Some(format!("record {} has {times} reports", outcome.number())),
    }
}

fn acknowledgement(outcome: &Outcome<'_>) -> Option<String> {
    let acked_ns = outcome.acknowledged.first()?.acked_ns;
    let answered_ns = outcome.arrived.first()?.answered_ns?;
    let early = answered_ns.checked_sub(acked_ns)?;
    (early > 0).then(|| {
        format!(
            "record {} is reported as acknowledged {} before it was",
            outcome.number(),
            milliseconds(early)
        )
    })
}

fn place(outcome: &Outcome<'_>) -> Option<String> {
    let (report, record) = (outcome.acknowledged.first()?, outcome.arrived.first()?);
    let (told, is) = ((report.partition, report.offset), (record.partition, record.offset));
    (told != is).then(|| {
        format!(
            "record {} is at {}/{}, and is reported at {}/{}",
            outcome.number(),
            is.0,
            is.1,
            told.0,
            told.1
        )
    })
}

/// The broker stored it and said so.
fn failed_though_stored(outcome: &Outcome<'_>) -> Option<String> {
    (outcome.failures > 0 && !outcome.arrived.is_empty())
        .then(|| format!("record {} was stored, and is reported as failed", outcome.number()))
}

fn failure(refused: &Outcome<'_>) -> Vec<String> {
    let case = match (refused.failures, refused.acknowledged.is_empty()) {
        (1, true) => return Vec::new(),
        (_, false) => "it is reported as acknowledged",
        (0, true) => "it has no report",
        (_, true) => "it has several reports",
    };
    vec![case.to_owned()]
}
