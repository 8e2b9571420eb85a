//! The way of messages into batches: each when it is due, or as many as a connection can take.

use super::super::slot::Slot;
use super::dispatch::RequestSize;
use super::{Producer, Schedule, hash};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::produce::{Allowed, Course, Saturating};
use crate::stamp::{Part, Stamp};
use plumb_model::plan::Keys;

/// Messages that are enqueued before anything else is looked at.
const ROUND: usize = 256;
/// Messages that share one reading of the clock, when several are due.
const CLOCK_SHARE: usize = 16;

/// The result of enqueueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enqueued {
    /// Nothing is due, or there is no room.
    Nothing,
    /// More can be enqueued at once.
    More,
    /// The course is over.
    Over,
}

/// The part and time of the next message.
#[derive(Debug, Clone, Copy)]
struct Next {
    part: Part,
    due_ns: u64,
    now_ns: u64,
}

/// A course that has begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    at_ns: u64,
    now_ns: u64,
}

impl Producer<'_, '_> {
    /// Enqueues what is due.
    pub(super) fn enqueue(&mut self, course: &mut Course<Schedule>, at: u64, now: u64) -> Enqueued {
        match course {
            Course::Scheduled(schedule) => self.enqueue_due(schedule, at, now),
            // Without keys batches are filled when a connection takes them.
            Course::Saturating(_) if now < at || self.fills_whole_batches() => Enqueued::Nothing,
            Course::Saturating(course) => self.enqueue_at_once(*course, at),
        }
    }

    fn enqueue_due(&mut self, schedule: &mut Schedule, at: u64, now: u64) -> Enqueued {
        let mut now = now;
        for round in 0..ROUND {
            let Some(due) = schedule.peek().copied() else { return Enqueued::Over };
            let due_ns = at + due.offset_ns;
            if due_ns > now {
                return Enqueued::Nothing;
            }
            if round % CLOCK_SHARE == CLOCK_SHARE - 1 {
                now = now_ns();
            }
            let part = if due.measured { Part::Measured } else { Part::WarmUp };
            if !self.has_room() || !self.enqueue_one(&Next { part, due_ns, now_ns: now }) {
                return Enqueued::Nothing;
            }
            schedule.next();
            self.slips.at(now, !due.measured).response.record_span(due_ns, now);
        }
        Enqueued::More
    }

    /// Enqueues one message after the other, as fast as there is room.
    fn enqueue_at_once(&mut self, course: Saturating, at: u64) -> Enqueued {
        for _ in 0..ROUND {
            if !self.has_room() {
                return Enqueued::Nothing;
            }
            let now = now_ns();
            let part = match self.claimed {
                0 => match course.allow(self.shared, at, now, 1) {
                    Allowed::Nothing => return Enqueued::Over,
                    Allowed::WarmUp(_) => Part::WarmUp,
                    Allowed::Measured(granted) => {
                        self.claimed = granted;
                        Part::Measured
                    }
                },
                _ => Part::Measured,
            };
            if !self.enqueue_one(&Next { part, due_ns: now, now_ns: now }) {
                return Enqueued::Nothing;
            }
            self.claimed -= u64::from(part == Part::Measured);
        }
        Enqueued::More
    }

    /// Enqueues one message; false when there is no room for it now.
    fn enqueue_one(&mut self, next: &Next) -> bool {
        if !self.key_waits {
            self.content.keys.draw();
            self.key_waits = true;
        }
        loop {
            let at = self.partition_of_key();
            if self.partitions[at].open.as_ref().is_some_and(|open| open.part != next.part) {
                self.partitions[at].close_open();
            }
            let open = self.partitions[at].open.take();
            let Some(mut slot) = open.or_else(|| self.take_slot(at, next.part)) else {
                // Once for each time that everything is in use.
                self.sent.queue_full_waits += 1;
                return false;
            };
            let Some(place) = slot.add(&mut self.content) else {
                self.partitions[at].push_ready(slot);
                if !self.has_keys() {
                    self.sticky = (at + 1) % self.partitions.len();
                }
                continue;
            };
            self.waiting += usize::from(place == 0);
            self.stamp(&mut slot, place, next);
            self.partitions[at].open = Some(slot);
            self.key_waits = false;
            self.count_sent(next, 1);
            return true;
        }
    }

    /// Stamps the message at `place`, the next of its part.
    fn stamp(&mut self, slot: &mut Slot, place: usize, next: &Next) {
        let sequence = &mut self.sequences[usize::from(next.part == Part::Measured)];
        if place == 0 {
            (slot.first_sequence, slot.opened_ns) = (*sequence, next.now_ns);
        }
        slot.consecutive &= *sequence == slot.first_sequence + place as u64;
        let stamp = Stamp {
            run: self.shared.run,
            producer: self.index,
            part: next.part,
            sequence: *sequence,
            intended_ns: next.due_ns,
            sent_ns: next.now_ns,
        };
        *sequence += 1;
        slot.stamp(place, &stamp, &self.content);
    }

    /// Fills batches for partitions of this connection, as fast as possible, and leaves them ready: one for each partition that
    /// takes more, until they are enough for a request. Whether there was anything to fill them with.
    pub(super) fn fill_for(&mut self, link: usize, course: &Course<Schedule>, now: u64) -> bool {
        let Course::Saturating(course) = course else { return false };
        let Some(at_ns) = self.at_ns.filter(|at| *at <= now && !self.over) else { return false };
        if !self.fills_whole_batches() || self.shared.stopped() {
            return false;
        }
        let Some(first) = self.next_partition_of(link, now) else { return false };
        let (mut at, mut size) = (first, RequestSize::default());
        while let Some(bytes) = self.fill_batch(at, *course, Begun { at_ns, now_ns: now }) {
            size.add(bytes);
            let next = self.next_partition_of(link, now).filter(|next| *next != first);
            match next.filter(|_| !size.is_enough()) {
                Some(next) => at = next,
                None => break,
            }
        }
        !size.is_empty()
    }

    /// Fills a batch for a partition and leaves it ready: its bytes, or none where there is no batch or nothing to fill it with.
    fn fill_batch(&mut self, at: usize, course: Saturating, begun: Begun) -> Option<usize> {
        let Begun { at_ns, now_ns } = begun;
        // Before anything is taken on: what is taken on of a count must be sent.
        let mut slot = self.take_slot(at, Part::WarmUp)?;
        let (part, granted) = match self.claimed {
            0 => match course.allow(self.shared, at_ns, now_ns, self.batch_messages) {
                Allowed::Nothing => {
                    self.free(slot);
                    self.course_is_over();
                    return None;
                }
                Allowed::WarmUp(granted) => (Part::WarmUp, granted),
                Allowed::Measured(granted) => (Part::Measured, granted),
            },
            left => (Part::Measured, left),
        };
        slot.part = part;
        let next = Next { part, due_ns: now_ns, now_ns };
        let mut filled = 0;
        while filled < granted {
            let Some(place) = slot.add(&mut self.content) else {
                self.batch_messages = filled;
                break;
            };
            self.stamp(&mut slot, place, &next);
            filled += 1;
        }
        if part == Part::Measured && course.counts() {
            self.claimed = granted - filled;
        }
        self.count_sent(&next, filled);
        let bytes = slot.size_bytes();
        self.partitions[at].push_ready(slot);
        self.waiting += 1;
        self.sticky = (at + 1) % self.partitions.len();
        Some(bytes)
    }

    /// The partition whose turn it is among those of a connection.
    fn next_partition_of(&self, link: usize, now: u64) -> Option<usize> {
        let count = self.partitions.len();
        (0..count).map(|step| (self.sticky + step) % count).find(|at| {
            let partition = &self.partitions[*at];
            partition.link == Some(link) && partition.takes_more(now)
        })
    }

    /// Enqueues a record of the largest size to a partition, to see that it works.
    pub(super) fn enqueue_probe(&mut self, partition: i32) -> Result<(), LoadError> {
        let at = usize::try_from(partition).unwrap_or(0);
        let bytes = self.shared.load.size.largest().0;
        let mut slot = Slot::new(self.settings.batch_bytes, &self.content);
        slot.begin(&self.content, at, Part::Probe);
        let place = slot.add_probe(&mut self.content);
        let place = place.map_err(|_| LoadError::TooLargeForProducer { bytes })?;
        let now = now_ns();
        (slot.opened_ns, slot.first_sequence) = (now, u64::from(partition.unsigned_abs()));
        let stamp = Stamp {
            run: self.shared.run,
            producer: self.index,
            part: Part::Probe,
            sequence: slot.first_sequence,
            intended_ns: now,
            sent_ns: now,
        };
        slot.stamp(place, &stamp, &self.content);
        self.count_outstanding(1);
        self.partitions[at].push_ready(slot);
        self.waiting += 1;
        Ok(())
    }

    fn count_sent(&mut self, next: &Next, messages: u64) {
        let measured = next.part == Part::Measured;
        self.count_outstanding(messages);
        self.sent.all += messages;
        if measured {
            self.sent.intended += messages;
            self.sent.measured += messages;
            self.sent.first_due_ns.get_or_insert(next.due_ns);
            self.sent.last_due_ns = Some(next.due_ns);
        }
        self.slips.at(next.now_ns, !(measured && self.shared.sending_is_measured())).sent += messages;
    }

    /// True if batches need not gather messages: there is neither a schedule nor a key that says where a message goes.
    pub(super) fn fills_whole_batches(&self) -> bool {
        self.shared.saturating && !self.has_keys() && self.shared.load.in_flight.is_none()
    }

    /// This partition, or the next that has a leader that we are connected with; this one when there is none.
    fn reachable_from(&self, at: usize) -> usize {
        let count = self.partitions.len();
        let is_reachable =
            |at: &usize| self.partitions[*at].link.is_some_and(|link| self.links[link].is_open());
        (0..count).map(|step| (at + step) % count).find(is_reachable).unwrap_or(at)
    }

    fn has_keys(&self) -> bool {
        self.shared.load.keys != Keys::None
    }

    /// The partition of the key drawn last; without a key, the one in which messages gather now.
    fn partition_of_key(&self) -> usize {
        match self.content.keys.current().filter(|_| self.has_keys()) {
            Some(key) => hash::partition(self.settings.partitioner, key, self.partitions.len()),
            None => self.reachable_from(self.sticky),
        }
    }
}
