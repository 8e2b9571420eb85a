//! The batches that a producer holds for one partition: the one that gathers messages, and those that wait to be sent.

use super::super::slot::Slot;
use std::collections::VecDeque;

/// One partition of the topic, as a producer sees it.
#[derive(Debug, Default)]
pub(super) struct Partition {
    /// The connection to its leader.
    pub(super) link: Option<usize>,
    /// The batch that gathers messages.
    pub(super) open: Option<Slot>,
    /// Full batches, and those that must be sent again, in the order of their messages.
    ready: VecDeque<Slot>,
    /// Batches without an answer.
    pub(super) in_flight: usize,
    /// The time before which nothing is sent.
    pub(super) retry_at_ns: u64,
    /// True if what is under way must be answered before anything else is sent, so that the order is kept.
    must_drain: bool,
    next_sequence: i32,
}

impl Partition {
    /// Makes its batches go over another connection from now on: what is under way over the old one must be answered first.
    pub(super) fn lead_by(&mut self, link: Option<usize>) {
        if self.link != link {
            self.must_drain |= self.in_flight > 0;
            self.link = link;
        }
    }

    /// The open batch takes no more messages.
    pub(super) fn close_open(&mut self) {
        if let Some(slot) = self.open.take() {
            self.ready.push_back(slot);
        }
    }

    pub(super) fn push_ready(&mut self, slot: Slot) {
        self.ready.push_back(slot);
    }

    /// The batch to send next, if there is one and it may be sent now.
    pub(super) fn take_ready(&mut self, now: u64, linger_ns: u64) -> Option<Slot> {
        if self.ready_at_ns(linger_ns)? > now {
            return None;
        }
        self.must_drain = false;
        self.ready.pop_front().or_else(|| self.open.take())
    }

    /// True if another batch would go out as soon as a connection takes it.
    pub(super) fn takes_more(&self, now: u64) -> bool {
        self.retry_at_ns <= now && !(self.must_drain && self.in_flight > 0)
    }

    /// The time at which the next batch may be sent; none when there is none, or an answer must come first.
    pub(super) fn ready_at_ns(&self, linger_ns: u64) -> Option<u64> {
        if self.must_drain && self.in_flight > 0 {
            return None;
        }
        let ready = match (self.ready.front(), &self.open) {
            (Some(_), _) => 0,
            (None, Some(open)) if !open.is_empty() => open.opened_ns + linger_ns,
            (None, _) => return None,
        };
        Some(ready.max(self.retry_at_ns))
    }

    /// A batch must be sent again.
    pub(super) fn send_again(&mut self, slot: Slot, at_ns: u64) {
        let place = self.ready.partition_point(|other| order(other) < order(&slot));
        self.ready.insert(place, slot);
        self.must_drain = true;
        self.retry_at_ns = self.retry_at_ns.max(at_ns);
    }

    /// True if a batch waits whose messages come before this one's.
    pub(super) fn waits_for_one_before(&self, slot: &Slot) -> bool {
        self.ready.iter().any(|other| order(other) < order(slot))
    }

    /// Batches that have waited since before `before_ns`.
    pub(super) fn take_old(&mut self, before_ns: u64) -> Vec<Slot> {
        let mut old = Vec::new();
        while self.ready.front().is_some_and(|slot| slot.opened_ns < before_ns) {
            old.extend(self.ready.pop_front());
        }
        if self.open.as_ref().is_some_and(|slot| !slot.is_empty() && slot.opened_ns < before_ns) {
            old.extend(self.open.take());
        }
        old
    }

    /// The number of a batch's first message for an idempotent producer. Numbers wrap around to 0 after the largest.
    pub(super) fn next_base_sequence(&mut self, records: usize) -> i32 {
        let first = self.next_sequence;
        let next = i64::from(first) + records as i64;
        self.next_sequence = (next % (i64::from(i32::MAX) + 1)) as i32;
        first
    }
}

/// Batches of one partition are in the order in which they were opened.
fn order(slot: &Slot) -> (u64, u64) {
    (slot.opened_ns, slot.first_sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::MessageContents;
    use crate::wire::slot::Content;

    fn slot(opened_ns: u64) -> Slot {
        let load = crate::wire::sample::step().load;
        let keys = crate::keys::KeySource::new(load.keys, crate::random::Random::new(1));
        let payloads = crate::payload::PayloadSource::new(&load, crate::random::Random::new(1)).unwrap();
        let mut content = Content::new(&load, MessageContents { keys, payloads }, 10);
        let mut slot = Slot::new(10_000, &content);
        slot.begin(&content, 0, crate::stamp::Part::Measured);
        slot.add(&mut content).unwrap();
        slot.opened_ns = opened_ns;
        slot
    }

    #[test]
    fn a_batch_to_send_again_waits_for_what_is_under_way_and_goes_first() {
        let mut partition = Partition::default();
        partition.push_ready(slot(30));
        partition.in_flight = 1;
        partition.send_again(slot(10), 100);
        partition.send_again(slot(20), 50);
        assert!(partition.take_ready(200, 0).is_none());
        partition.in_flight = 0;
        assert!(partition.take_ready(99, 0).is_none());
        let ready = std::iter::from_fn(|| partition.take_ready(100, 0));
        assert_eq!(ready.map(|slot| slot.opened_ns).collect::<Vec<_>>(), [10, 20, 30]);
    }

    #[test]
    fn a_partition_that_moved_waits_for_the_answers_of_its_old_leader() {
        let mut partition = Partition { link: Some(0), in_flight: 1, ..Partition::default() };
        partition.push_ready(slot(20));
        partition.lead_by(Some(0));
        assert_eq!(partition.ready_at_ns(0), Some(0));
        partition.lead_by(Some(1));
        assert_eq!(partition.ready_at_ns(0), None);
        assert!(partition.take_ready(100, 0).is_none());
        // The old leader refuses what it does not lead any more.
        partition.in_flight = 0;
        partition.send_again(slot(10), 50);
        let ready = std::iter::from_fn(|| partition.take_ready(100, 0));
        assert_eq!(ready.map(|slot| slot.opened_ns).collect::<Vec<_>>(), [10, 20]);
    }

    #[test]
    fn an_open_batch_is_ready_when_its_linger_is_over() {
        let mut partition = Partition { open: Some(slot(1_000)), ..Partition::default() };
        assert!(partition.take_ready(1_499, 500).is_none());
        assert!(partition.take_ready(1_500, 500).is_some());
    }

    #[test]
    fn sequence_numbers_wrap_to_zero() {
        let mut partition = Partition { next_sequence: i32::MAX - 1, ..Partition::default() };
        assert_eq!(partition.next_base_sequence(3), i32::MAX - 1);
        assert_eq!(partition.next_base_sequence(1), 1);
    }
}
