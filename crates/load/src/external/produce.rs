//! A producer that is a program: it is told a little ahead what to send when, and tells when it did.

use super::frame::{Acknowledged, Failed, Header, Report, SendOrder};
use super::link::{Link, SILENT_S};
use crate::client_outcome::ClientOutcome;
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::job::{MessageContents, ProducerJob};
use crate::payload::StampPlace;
use crate::produce::{Allowed, Course, Outstanding, Reported, Saturating, Sent};
use crate::schedule::Due;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::{Part, SENT_AT, STAMP_BYTES, STAMP_HEADER, Stamp};
use plumb_model::figure::time;
use std::collections::HashMap;
use std::iter::Peekable;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

/// Orders go out this long before they are due (ours: longer than a process waits for a processor, so that what a program is late is its own).
const AHEAD_NS: u64 = 150_000_000;
/// Bytes of orders that wait to be taken.
const QUEUED_MOST: usize = 4 << 20;
/// Messages under way where there is no schedule (ours: more than a client has in its requests).
const WINDOW: u64 = 10_000;
const TICK: Duration = Duration::from_millis(5);

/// A message that was ordered and has no report.
#[derive(Debug, Clone, Copy)]
struct Pending {
    part: Part,
    sequence: u64,
    due_ns: u64,
    bytes: u64,
}

struct Producing<'b, 'a> {
    shared: &'b Shared<'a>,
    outstanding: &'b Outstanding,
    producer: u16,
    contents: MessageContents,
    place: StampPlace,
    /// Brokers answer, so that every acknowledgement has an offset.
    acknowledged: bool,
    pending: HashMap<u64, Pending>,
    next: u64,
    sequences: [u64; 2],
    sent: Sent,
    reported: Reported,
    slips: Seconds<'b>,
    acks: Seconds<'b>,
}

/// What is left to order.
enum Rest<I: Iterator<Item = Due>> {
    Scheduled(Peekable<I>),
    Saturating(Saturating),
    Nothing,
}

/// Produces until the block ends.
pub(super) fn produce(job: ProducerJob<'_, '_>, link: &mut Link, acknowledged: bool) -> ClientOutcome {
    let ProducerJob { index, shared, outstanding, probes, contents, course, begun, slips, acks, .. } = job;
    let mut producing = Producing {
        shared,
        outstanding,
        producer: u16::try_from(index).unwrap_or(u16::MAX),
        contents,
        place: crate::payload::stamp_place(shared.load),
        acknowledged,
        pending: HashMap::new(),
        next: 0,
        sequences: [0; 2],
        sent: Sent::default(),
        reported: Reported::default(),
        slips,
        acks,
    };
    let mut begin = || match begun.try_recv() {
        Ok(at) => Begin::At(at),
        Err(TryRecvError::Empty) => Begin::Unknown,
        Err(TryRecvError::Disconnected) => Begin::Never,
    };
    if let Err(error) = producing.run(link, probes, course, &mut begin) {
        shared.end_by(error);
    } else {
        link.tell_end();
    }
    let Producing { sent, mut reported, slips, acks, pending, .. } = producing;
    reported.untold = pending.values().filter(|pending| pending.part == Part::Measured).count() as u64;
    reported.acked.end_run();
    slips.finish();
    acks.finish();
    ClientOutcome::of_producer(index, outstanding, sent, reported)
}

/// When the block begins, as far as it is known.
enum Begin {
    At(u64),
    Unknown,
    Never,
}

impl Producing<'_, '_> {
    fn run(
        &mut self,
        link: &mut Link,
        probes: std::ops::Range<i32>,
        course: Course<impl Iterator<Item = Due>>,
        begin: &mut dyn FnMut() -> Begin,
    ) -> Result<(), LoadError> {
        while !link.is_ready() {
            if self.shared.producers_finished() {
                return Ok(());
            }
            self.exchange(link)?;
        }
        for partition in probes {
            let order = self.probe(partition);
            link.order(&order);
        }
        let at = loop {
            match begin() {
                Begin::At(at) => break at,
                Begin::Never => return Ok(()),
                Begin::Unknown if self.shared.producers_finished() => return Ok(()),
                Begin::Unknown => self.exchange(link)?,
            }
        };
        let mut rest = match course {
            Course::Scheduled(schedule) => Rest::Scheduled(schedule.peekable()),
            Course::Saturating(course) => Rest::Saturating(course),
        };
        let mut told = false;
        while !self.shared.producers_finished() {
            self.order_more(link, &mut rest, at);
            let last_is_due = self.sent.last_due_ns.is_none_or(|last_due_ns| last_due_ns <= now_ns());
            if matches!(rest, Rest::Nothing) && last_is_due && !told {
                told = true;
                self.shared.sender_done();
            }
            self.exchange(link)?;
        }
        Ok(())
    }

    /// Orders what is due soon, as long as there is room.
    fn order_more(&mut self, link: &mut Link, rest: &mut Rest<impl Iterator<Item = Due>>, at: u64) {
        let now = now_ns();
        if self.shared.sends_no_more(now) {
            // Of a run that was stopped nobody knows what would have become of the rest.
            if let (Rest::Scheduled(schedule), false) = (&mut *rest, self.shared.stopped()) {
                self.sent.leave_out(schedule, at);
            }
            *rest = Rest::Nothing;
        }
        let room = match rest {
            Rest::Saturating(_) => self.shared.load.in_flight.map_or(WINDOW, u64::from),
            _ => self.shared.load.in_flight.map_or(u64::MAX, u64::from),
        };
        while link.queued() < QUEUED_MOST && self.outstanding.count() < room {
            let Some((part, due_ns)) = self.next_due(rest, at, now) else { return };
            let order = self.message(part, due_ns);
            link.order(&order);
        }
    }

    /// The next message that is due soon.
    fn next_due(&self, rest: &mut Rest<impl Iterator<Item = Due>>, at: u64, now: u64) -> Option<(Part, u64)> {
        let part = |measured| if measured { Part::Measured } else { Part::WarmUp };
        match rest {
            Rest::Scheduled(schedule) => match schedule.next_if(|due| at + due.offset_ns <= now + AHEAD_NS) {
                Some(due) => Some((part(due.measured), at + due.offset_ns)),
                None => {
                    if schedule.peek().is_none() {
                        *rest = Rest::Nothing;
                    }
                    None
                }
            },
            Rest::Saturating(_) if now < at => None,
            Rest::Saturating(course) => match course.allow(self.shared, at, now, 1) {
                Allowed::WarmUp(_) => Some((Part::WarmUp, now)),
                Allowed::Measured(_) => Some((Part::Measured, now)),
                Allowed::Nothing => {
                    *rest = Rest::Nothing;
                    None
                }
            },
            Rest::Nothing => None,
        }
    }

    fn probe(&mut self, partition: i32) -> SendOrder {
        self.contents.keys.draw_probe();
        self.contents.payloads.draw_largest();
        let pending = Pending {
            part: Part::Probe,
            sequence: u64::from(partition.unsigned_abs()),
            due_ns: now_ns(),
            bytes: 0,
        };
        self.order(pending, partition)
    }

    fn message(&mut self, part: Part, due_ns: u64) -> SendOrder {
        self.contents.payloads.draw();
        self.contents.keys.draw();
        let measured = part == Part::Measured;
        let sequence = &mut self.sequences[usize::from(measured)];
        let pending = Pending { part, sequence: *sequence, due_ns, bytes: 0 };
        *sequence += 1;
        self.sent.all += 1;
        if measured {
            self.sent.intended += 1;
            self.sent.measured += 1;
            self.sent.first_due_ns.get_or_insert(due_ns);
            self.sent.last_due_ns = Some(due_ns);
        }
        self.order(pending, -1)
    }

    /// The order for a message with the key and the value drawn last.
    fn order(&mut self, pending: Pending, partition: i32) -> SendOrder {
        let Pending { part, sequence, due_ns, .. } = pending;
        let stamp = Stamp {
            run: self.shared.run,
            producer: self.producer,
            part,
            sequence,
            intended_ns: due_ns,
            sent_ns: due_ns,
        };
        let mut value = self.contents.payloads.current().to_vec();
        let written = self.shared.load.headers.iter();
        let mut headers: Vec<Header> = written
            .map(|(name, value)| Header { name: name.clone(), value: value.clone().into_bytes() })
            .collect();
        match self.place {
            StampPlace::Value => stamp.write_for_another(&mut value),
            StampPlace::Header => {
                let mut bytes = vec![0; STAMP_BYTES];
                stamp.write_for_another(&mut bytes);
                headers.push(Header { name: STAMP_HEADER.to_owned(), value: bytes });
            }
        }
        let number = self.next;
        self.next += 1;
        self.pending.insert(number, Pending { bytes: value.len() as u64, ..pending });
        self.outstanding.hand_over(1);
        SendOrder {
            number,
            due_ns,
            partition,
            time_at: SENT_AT as u32,
            time_in_header: self.place == StampPlace::Header,
            key: self.contents.keys.current().map(<[u8]>::to_vec),
            headers,
            value,
        }
    }

    /// Gives it orders, and hears its reports.
    fn exchange(&mut self, link: &mut Link) -> Result<(), LoadError> {
        link.exchange(TICK, |report, now| self.hear(report, now))?;
        let now = now_ns();
        self.slips.pass(now);
        self.acks.pass(now);
        if self.shared.measured_part_has_begun(now) {
            link.note_measured_part();
        }
        let silent_ns = SILENT_S * 1_000_000_000;
        let overdue = |pending: &Pending| now.saturating_sub(pending.due_ns) > silent_ns;
        if now - link.heard_ns() > silent_ns && self.pending.values().any(overdue) {
            return Err(link.silent());
        }
        Ok(())
    }

    fn hear(&mut self, report: Report, now: u64) -> Result<(), String> {
        match report {
            Report::Acknowledged(report) => self.acknowledged(&report, now),
            Report::Failed(report) => self.failed(&report, now),
            _ => Err("a producer sent a report of a consumer".to_owned()),
        }
    }

    /// The message of a report, once.
    fn taken(&mut self, number: u64, called_ns: u64) -> Result<Pending, String> {
        let pending = self.pending.remove(&number).ok_or_else(|| {
            format!("it reports message {number}, which it was not given or has reported before")
        })?;
        if called_ns < pending.due_ns {
            let early = time((pending.due_ns - called_ns) as f64);
            return Err(format!("it sent message {number} {early} before it was due"));
        }
        self.outstanding.report(1);
        Ok(pending)
    }

    fn acknowledged(&mut self, report: &Acknowledged, now: u64) -> Result<(), String> {
        let Acknowledged { number, called_ns, acked_ns, partition, offset } = *report;
        let Pending { part, sequence, due_ns, bytes } = self.taken(number, called_ns)?;
        if acked_ns < called_ns || acked_ns > now {
            return Err(format!(
                "it reports message {number} as acknowledged at a time that is before its send or has not come yet"
            ));
        }
        if self.acknowledged && offset < 0 {
            return Err(format!(
                "it reports message {number} as acknowledged without an offset, which every broker's answer has unless acks is 0"
            ));
        }
        let measured = part == Part::Measured;
        self.reported.acked_all += 1;
        self.reported.offsets.note(partition, offset, 1, measured);
        self.shared.count_acknowledged(1);
        if part == Part::Probe {
            self.shared.probe_acknowledged(partition);
            return Ok(());
        }
        if measured {
            self.reported.acked.note(sequence);
            self.reported.acked_bytes += bytes;
            self.reported.last_ack_ns = self.reported.last_ack_ns.max(Some(acked_ns));
        }
        self.note_sent(measured, due_ns, called_ns, now);
        let second = self.acks.at(now, !(measured && self.shared.sending_is_measured()));
        second.acked += 1;
        if !self.shared.saturating {
            second.response.record_span(due_ns, acked_ns);
        }
        second.service.record_span(called_ns, acked_ns);
        Ok(())
    }

    fn failed(&mut self, report: &Failed, now: u64) -> Result<(), String> {
        let Pending { part, due_ns, .. } = self.taken(report.number, report.called_ns)?;
        let measured = part == Part::Measured;
        self.reported.failed += u64::from(measured);
        self.reported.failed_all += 1;
        let (code, text) = report.reason.split_once(": ").unwrap_or(("FAILED", &report.reason));
        if part == Part::Probe {
            self.shared.probe_failed(code, text);
        } else {
            self.note_sent(measured, due_ns, report.called_ns, now);
        }
        self.reported.errors.note("produce", code, text);
        Ok(())
    }

    fn note_sent(&mut self, measured: bool, due_ns: u64, called_ns: u64, now: u64) {
        let second = self.slips.at(now, !(measured && self.shared.sending_is_measured()));
        second.sent += 1;
        if !self.shared.saturating {
            second.response.record_span(due_ns, called_ns);
        }
    }
}
