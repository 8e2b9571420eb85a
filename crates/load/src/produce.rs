//! One producer: a thread that sends on schedule and a thread that hears what became of each message.

use crate::block::{Errors, Shared};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::keys::KeySource;
use crate::librdkafka::statistics::StatisticsSum;
use crate::librdkafka::{Client, Delivery, EventView, Message, ProduceError, Topic};
use crate::pace::{Pace, sharpen_timers};
use crate::payload::{PayloadSource, StampPlace};
use crate::schedule::Due;
use crate::seconds::Seconds;
use crate::stamp::{Part, Reading, STAMP_BYTES, STAMP_HEADER, Stamp};
use crate::verify::SequenceSet;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// What both threads of a producer share.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    /// Handed to the client and not yet reported.
    count: AtomicU64,
    /// The sender waits for a report.
    waiting: AtomicBool,
}

impl Outstanding {
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }
}

/// Puts messages together and hands them to the client.
#[derive(Debug)]
pub(crate) struct Sender<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) topic: Topic<'a>,
    pub(crate) producer: u16,
    pub(crate) place: StampPlace,
    pub(crate) keys: KeySource,
    pub(crate) payloads: PayloadSource,
    pub(crate) outstanding: &'a Outstanding,
    pub(crate) in_flight: u64,
    value: Vec<u8>,
    headers: Vec<(CString, Vec<u8>)>,
}

/// What became of handing a message over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The client took it.
    Sent { at_ns: u64 },
    /// The client will not take it.
    Refused,
    /// The user stopped the run while the client's queue was full.
    Stopped,
}

/// What a sender did.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Measured messages that were due and tried.
    pub(crate) intended: u64,
    /// Measured messages that the client took.
    pub(crate) measured: u64,
    /// All messages that the client took.
    pub(crate) all: u64,
    pub(crate) queue_full_waits: u64,
    pub(crate) first_due_ns: Option<u64>,
    pub(crate) last_due_ns: Option<u64>,
    pub(crate) errors: Errors,
}

impl<'a> Sender<'a> {
    /// A sender with its values and keys prepared.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        topic: Topic<'a>,
        producer: u16,
        (keys, payloads): (KeySource, PayloadSource),
        outstanding: &'a Outstanding,
    ) -> Result<Self, LoadError> {
        let place = crate::payload::stamp_place(shared.load);
        let headers = headers(&shared.load.headers, place);
        let in_flight = shared.load.in_flight.map_or(u64::MAX, u64::from);
        let value = Vec::new();
        Ok(Sender { shared, topic, producer, place, keys, payloads, outstanding, in_flight, value, headers })
    }

    /// Sends one record to a partition, to see that it works; it has the size of the largest real one.
    pub(crate) fn probe(&mut self, partition: i32) -> Result<(), LoadError> {
        let now = now_ns();
        let size = self.shared.load.size.largest().as_usize();
        self.keys.draw_probe();
        self.payloads.fill_largest(&mut self.value);
        let sequence = u64::from(partition.unsigned_abs());
        let stamp = self.stamp(Part::Probe, sequence, now, now);
        self.outstanding.count.fetch_add(1, Ordering::AcqRel);
        self.hand_over(partition, &stamp).map_err(|error| {
            self.outstanding.count.fetch_sub(1, Ordering::AcqRel);
            refused(error, size, self.topic.name())
        })
    }

    /// Sends everything that is due, each at its time. `at` is the block's start.
    pub(crate) fn send(
        &mut self,
        schedule: impl Iterator<Item = Due>,
        at: u64,
        pace: Pace,
        mut slips: Seconds<'_>,
    ) -> Sent {
        sharpen_timers();
        let mut sent = Sent::default();
        let mut sequences = [0u64; 2];
        for due in schedule {
            let due_ns = at + due.offset_ns;
            let stopped = |now| {
                slips.pass(now);
                self.shared.stopped()
            };
            if !pace.wait(due_ns, stopped) || !self.wait_for_room() {
                break;
            }
            let part = if due.measured { Part::Measured } else { Part::WarmUp };
            self.payloads.fill(&mut self.value);
            let sequence = &mut sequences[usize::from(due.measured)];
            let attempt = self.send_one(part, *sequence, due_ns, &mut sent);
            if attempt == Attempt::Stopped {
                break;
            }
            if due.measured {
                sent.intended += 1;
                sent.first_due_ns.get_or_insert(due_ns);
                sent.last_due_ns = Some(due_ns);
            }
            if let Attempt::Sent { at_ns } = attempt {
                *sequence += 1;
                sent.all += 1;
                sent.measured += u64::from(due.measured);
                let second = slips.at(at_ns, !due.measured);
                second.sent += 1;
                second.response.record(due_ns, at_ns);
            }
        }
        slips.finish();
        // The thread stays until its own CPU time has been read.
        self.shared.sender_done();
        while !self.shared.measured_part_is_over() && !self.shared.finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        sent
    }

    /// Hands one message over; waits while the client cannot take it.
    fn send_one(&mut self, part: Part, sequence: u64, due_ns: u64, sent: &mut Sent) -> Attempt {
        self.keys.draw();
        loop {
            let sent_ns = now_ns();
            let stamp = self.stamp(part, sequence, due_ns, sent_ns);
            // Counted before, because the report may come before the call returns.
            self.outstanding.count.fetch_add(1, Ordering::AcqRel);
            let Err(error) = self.hand_over(-1, &stamp) else { return Attempt::Sent { at_ns: sent_ns } };
            self.outstanding.count.fetch_sub(1, Ordering::AcqRel);
            match error {
                ProduceError::QueueFull if !self.shared.stopped() => {
                    sent.queue_full_waits += 1;
                    std::thread::sleep(Duration::from_micros(200));
                }
                ProduceError::QueueFull => return Attempt::Stopped,
                ProduceError::TooLarge(text) => {
                    sent.errors.note("produce", "MSG_SIZE_TOO_LARGE", &text);
                    return Attempt::Refused;
                }
                ProduceError::Other { code, text } => {
                    sent.errors.note("produce", &code, &text);
                    return Attempt::Refused;
                }
            }
        }
    }

    /// Waits until one more message may be under way; false when the run was stopped first.
    fn wait_for_room(&self) -> bool {
        while self.outstanding.count() >= self.in_flight {
            if self.shared.stopped() {
                return false;
            }
            self.outstanding.waiting.store(true, Ordering::SeqCst);
            if self.outstanding.count() >= self.in_flight {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            self.outstanding.waiting.store(false, Ordering::SeqCst);
        }
        true
    }

    fn stamp(&self, part: Part, sequence: u64, intended_ns: u64, sent_ns: u64) -> Stamp {
        Stamp { run: self.shared.run, producer: self.producer, part, sequence, intended_ns, sent_ns }
    }

    /// Hands the value over with the key drawn last.
    fn hand_over(&mut self, partition: i32, stamp: &Stamp) -> Result<(), ProduceError> {
        let key = self.keys.current();
        match self.place {
            StampPlace::Value => stamp.write(&mut self.value),
            StampPlace::Header => {
                if let Some((_, bytes)) = self.headers.last_mut() {
                    stamp.write(bytes);
                }
            }
        }
        if self.headers.is_empty() {
            self.topic.produce(partition, key, &self.value)
        } else {
            self.topic.produce_with_headers(partition, key, &self.value, &self.headers)
        }
    }
}

/// The user's headers, and last the one for the stamp where the value cannot carry it.
fn headers(written: &BTreeMap<String, String>, place: StampPlace) -> Vec<(CString, Vec<u8>)> {
    let name = |name: &str| CString::new(name).unwrap_or_default();
    let mut headers: Vec<_> =
        written.iter().map(|(key, value)| (name(key), value.clone().into_bytes())).collect();
    if place == StampPlace::Header {
        headers.push((name(STAMP_HEADER), vec![0; STAMP_BYTES]));
    }
    headers
}

fn refused(error: ProduceError, size: usize, topic: &str) -> LoadError {
    match error {
        ProduceError::TooLarge(_) => LoadError::TooLargeForProducer { bytes: size as u64 },
        ProduceError::QueueFull => LoadError::Refused {
            operation: format!("send the first record to {topic}"),
            reason: "the client's queue is full".to_owned(),
        },
        ProduceError::Other { code, text } => {
            LoadError::Refused { operation: format!("send to {topic}"), reason: format!("{text} ({code})") }
        }
    }
}

/// What the reports say.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    /// Measured messages acknowledged.
    pub(crate) acked: SequenceSet,
    pub(crate) failed: u64,
    /// Probes and warm-up included.
    pub(crate) acked_all: u64,
    pub(crate) failed_all: u64,
    /// When the last measured message was acknowledged.
    pub(crate) last_ack_ns: Option<u64>,
    pub(crate) statistics: StatisticsSum,
    pub(crate) errors: Errors,
}

/// Hears what became of each message until the block ends.
pub(crate) fn hear_reports(
    shared: &Shared<'_>,
    client: &Client,
    outstanding: &Outstanding,
    sender: &Thread,
    mut seconds: Seconds<'_>,
) -> Reported {
    let mut reported = Reported::default();
    let mut window = shared.window();
    while !shared.finished() {
        let Some(event) = client.poll(Duration::from_millis(50)) else {
            seconds.pass(now_ns());
            continue;
        };
        let now = now_ns();
        match event.view() {
            EventView::Messages(messages) => {
                for message in messages {
                    hear_report(shared, message, now, &mut reported, &mut seconds);
                    outstanding.count.fetch_sub(1, Ordering::AcqRel);
                    if outstanding.waiting.load(Ordering::SeqCst) {
                        sender.unpark();
                    }
                }
            }
            EventView::Statistics(json) => reported.statistics.take(json, window.next(now)),
            EventView::Error { code, text, fatal } => reported.errors.note_client(&code, &text, fatal),
            _ => {}
        }
        seconds.pass(now);
    }
    seconds.finish();
    reported
}

fn hear_report(
    shared: &Shared<'_>,
    message: Message<'_>,
    now: u64,
    reported: &mut Reported,
    seconds: &mut Seconds<'_>,
) {
    let bytes = message.stamp_header().unwrap_or_else(|| message.value());
    let Reading::Stamped(stamp) = Stamp::read(bytes) else { return };
    let measured = stamp.part == Part::Measured;
    match message.delivery() {
        Delivery::Acknowledged => {
            reported.acked_all += 1;
            shared.count_acknowledged();
            if stamp.part == Part::Probe {
                shared.probe_acknowledged(message.partition());
                return;
            }
            if measured {
                reported.acked.insert(stamp.sequence);
                reported.last_ack_ns = Some(now);
            }
            let second = seconds.at(now, !measured);
            second.acked += 1;
            second.response.record(stamp.intended_ns, now);
            second.service.record(stamp.sent_ns, now);
        }
        Delivery::Failed { code, text } => {
            reported.failed += u64::from(measured);
            reported.failed_all += 1;
            note_failure(shared, stamp.part, &code, &text, reported);
        }
        Delivery::Unknown { code, text } => {
            note_failure(shared, stamp.part, &code, &text, reported);
        }
    }
}

fn note_failure(shared: &Shared<'_>, part: Part, code: &str, text: &str, reported: &mut Reported) {
    if part == Part::Probe {
        shared.probe_failed(code, text);
    }
    reported.errors.note("produce", code, text);
}
