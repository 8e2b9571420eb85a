//! A producer of the client library: a thread that sends on schedule and a thread that takes the delivery reports.

use super::ffi::{Client, Delivery, EventView, Message, ProduceError, Topic};
use super::statistics::Emissions;
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::job::MessageContents;
use crate::keys::KeySource;
use crate::pace::{Pace, sharpen_timers};
use crate::payload::{PayloadSource, StampPlace};
use crate::produce::{Allowed, Course, Outstanding, Reported, Saturating, Sent};
use crate::schedule::Due;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::{Part, Reading, STAMP_BYTES, STAMP_HEADER, Stamp};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{Ordering, fence};
use std::thread::Thread;
use std::time::Duration;

/// Messages that share one reading of the clock where there is no schedule: their times are in no figure.
const CLOCK_SHARE: u64 = 16;

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
    headers: Vec<(CString, Vec<u8>)>,
}

/// The times of a message to send.
#[derive(Debug, Clone, Copy)]
struct SendTimes {
    due_ns: u64,
    /// The time of sending where it is known already; none: now.
    sent_ns: Option<u64>,
}

/// The result of handing a message over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The client took it.
    Sent { at_ns: u64 },
    /// The client will not take it.
    Refused,
    /// Nothing more is sent: the run was stopped, or its time was over, while the client's queue was full.
    Stopped,
}

impl<'a> Sender<'a> {
    /// A sender with its values and keys prepared.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        topic: Topic<'a>,
        producer: u16,
        contents: MessageContents,
        outstanding: &'a Outstanding,
    ) -> Result<Self, LoadError> {
        let MessageContents { keys, payloads } = contents;
        let place = crate::payload::stamp_place(shared.load);
        let headers = headers(&shared.load.headers, place);
        let in_flight = shared.load.in_flight.map_or(u64::MAX, u64::from);
        Ok(Sender { shared, topic, producer, place, keys, payloads, outstanding, in_flight, headers })
    }

    /// Sends one record to a partition, to see that it works; it has the size of the largest real one.
    pub(crate) fn probe(&mut self, partition: i32) -> Result<(), LoadError> {
        let now = now_ns();
        let size = self.shared.load.size.largest().as_usize();
        self.keys.draw_probe();
        self.payloads.draw_largest();
        let sequence = u64::from(partition.unsigned_abs());
        let stamp = self.stamp(Part::Probe, sequence, now, now);
        self.outstanding.hand_over(1);
        self.hand_over(partition, &stamp).map_err(|error| {
            self.outstanding.take_back();
            refused(error, size, self.topic.name())
        })
    }

    /// Sends everything that its course has. `at` is the block's start.
    pub(crate) fn send(
        &mut self,
        course: Course<impl Iterator<Item = Due>>,
        at: u64,
        pace: Pace,
        mut slips: Seconds<'_>,
    ) -> Sent {
        sharpen_timers();
        let mut sent = Sent::default();
        match course {
            Course::Scheduled(schedule) => self.send_scheduled(schedule, at, pace, &mut slips, &mut sent),
            Course::Saturating(course) => self.send_saturating(course, at, pace, &mut slips, &mut sent),
        }
        slips.finish();
        // The thread stays until its own CPU time has been read.
        self.shared.sender_done();
        while !self.shared.measured_part_is_over() && !self.shared.producers_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        sent
    }

    /// Sends each message at its time.
    fn send_scheduled(
        &mut self,
        schedule: impl Iterator<Item = Due>,
        at: u64,
        pace: Pace,
        slips: &mut Seconds<'_>,
        sent: &mut Sent,
    ) {
        let mut sequences = [0u64; 2];
        let mut schedule = schedule.peekable();
        while let Some(due) = schedule.peek().copied() {
            let due_ns = at + due.offset_ns;
            let stopped = |now| {
                slips.pass(now);
                self.shared.sends_no_more(now)
            };
            if !pace.wait(due_ns, stopped) || !self.wait_for_room() {
                break;
            }
            let Some(at_ns) =
                self.send_next(due.measured, SendTimes { due_ns, sent_ns: None }, &mut sequences, sent)
            else {
                break;
            };
            schedule.next();
            if let Some(at_ns) = at_ns {
                let second = slips.at(at_ns, !due.measured);
                second.sent += 1;
                second.response.record_span(due_ns, at_ns);
            }
        }
        // Of a run that was stopped nobody knows what would have become of the rest.
        if !self.shared.stopped() {
            sent.leave_out(schedule, at);
        }
    }

    /// Sends one message after the other, each as soon as the client takes it.
    fn send_saturating(
        &mut self,
        course: Saturating,
        at: u64,
        pace: Pace,
        slips: &mut Seconds<'_>,
        sent: &mut Sent,
    ) {
        let mut sequences = [0u64; 2];
        if !pace.wait(at, |_| self.shared.stopped()) {
            return;
        }
        let mut now = now_ns();
        for round in 0.. {
            if self.shared.stopped() || !self.wait_for_room() {
                return;
            }
            if round % CLOCK_SHARE == 0 {
                now = now_ns();
            }
            let measured = match course.allow(self.shared, at, now, 1) {
                Allowed::Nothing => return,
                Allowed::WarmUp(_) => false,
                Allowed::Measured(_) => true,
            };
            let Some(at_ns) =
                self.send_next(measured, SendTimes { due_ns: now, sent_ns: Some(now) }, &mut sequences, sent)
            else {
                return;
            };
            if let Some(at_ns) = at_ns {
                slips.at(at_ns, !(measured && self.shared.sending_is_measured())).sent += 1;
            }
        }
    }

    /// Makes the next message and hands it over, due at a time and sent at another, or now. None when nothing more is sent;
    /// else when it was sent, unless the client refused it.
    fn send_next(
        &mut self,
        measured: bool,
        times: SendTimes,
        sequences: &mut [u64; 2],
        sent: &mut Sent,
    ) -> Option<Option<u64>> {
        let part = if measured { Part::Measured } else { Part::WarmUp };
        self.payloads.draw();
        let sequence = &mut sequences[usize::from(measured)];
        let attempt = self.send_one(part, *sequence, times, sent);
        if attempt == Attempt::Stopped {
            return None;
        }
        if measured {
            sent.intended += 1;
            sent.first_due_ns.get_or_insert(times.due_ns);
            sent.last_due_ns = Some(times.due_ns);
        }
        let Attempt::Sent { at_ns } = attempt else { return Some(None) };
        *sequence += 1;
        sent.all += 1;
        sent.measured += u64::from(measured);
        Some(Some(at_ns))
    }

    /// Hands one message over; waits while the client cannot take it.
    fn send_one(&mut self, part: Part, sequence: u64, times: SendTimes, sent: &mut Sent) -> Attempt {
        let SendTimes { due_ns, mut sent_ns } = times;
        self.keys.draw();
        loop {
            // Once it was refused for want of room, it is another time.
            let sent_ns = sent_ns.take().unwrap_or_else(now_ns);
            let stamp = self.stamp(part, sequence, due_ns, sent_ns);
            self.outstanding.hand_over(1);
            let Err(error) = self.hand_over(-1, &stamp) else { return Attempt::Sent { at_ns: sent_ns } };
            self.outstanding.take_back();
            match error {
                ProduceError::QueueFull if !self.shared.sends_no_more(now_ns()) => {
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

    /// Waits until one more message may be under way; false when nothing more is sent before that.
    fn wait_for_room(&self) -> bool {
        while self.outstanding.count() >= self.in_flight {
            if self.shared.sends_no_more(now_ns()) {
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
            StampPlace::Value => stamp.write(self.payloads.current_mut()),
            StampPlace::Header => {
                if let Some((_, bytes)) = self.headers.last_mut() {
                    stamp.write(bytes);
                }
            }
        }
        if self.headers.is_empty() {
            self.topic.produce(partition, key, self.payloads.current())
        } else {
            self.topic.produce_with_headers(partition, key, self.payloads.current(), &self.headers)
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

/// Hears what became of each message until the block ends.
pub(crate) fn hear_reports(
    shared: &Shared<'_>,
    client: &Client,
    outstanding: &Outstanding,
    sender: &Thread,
    mut seconds: Seconds<'_>,
) -> Reported {
    let mut reported = Reported::default();
    let mut windows = shared.windows_of_producer();
    let mut emissions = Emissions::default();
    while !shared.producers_finished() {
        let Some(event) = client.poll(Duration::from_millis(50)) else {
            seconds.pass(now_ns());
            continue;
        };
        let now = now_ns();
        match event.view() {
            EventView::Messages(messages) => {
                let (mut heard, acked) = (0, reported.acked_all);
                for message in messages {
                    hear_report(shared, message, now, &mut reported, &mut seconds);
                    heard += 1;
                }
                shared.count_acknowledged(reported.acked_all - acked);
                outstanding.report(heard);
                // Either the sender sees the report, or this sees that it waits.
                fence(Ordering::SeqCst);
                if outstanding.waiting.load(Ordering::SeqCst) {
                    sender.unpark();
                }
            }
            EventView::Statistics(json) => emissions.take(json, windows.next(now)),
            EventView::Error { code, text, fatal } => reported.errors.note_client(&code, &text, fatal),
            _ => {}
        }
        seconds.pass(now);
    }
    reported.acked.end_run();
    seconds.finish();
    reported.statistics = emissions.sum;
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
            reported.offsets.note(message.partition(), message.offset(), 1, measured);
            if stamp.part == Part::Probe {
                shared.probe_acknowledged(message.partition());
                return;
            }
            if measured {
                reported.acked.note(stamp.sequence);
                reported.acked_bytes += message.value().len() as u64;
                reported.last_ack_ns = Some(now);
            }
            let second = seconds.at(now, !(measured && shared.sending_is_measured()));
            second.acked += 1;
            // Without a schedule there is no time at which a message was due, and from its send it is the length of the queue that
            // the sender itself keeps full: other tools print that.
            if !shared.saturating {
                second.response.record_span(stamp.intended_ns, now);
            }
            second.service.record_span(stamp.sent_ns, now);
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
