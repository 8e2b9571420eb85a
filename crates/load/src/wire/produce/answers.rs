//! The fates of batches: acknowledged, to be sent again, failed, or unknown.

use super::super::link::Request;
use super::super::slot::Slot;
use super::{Batch, Producer};
use crate::clock::now_ns;
use crate::stamp::Part;
use crate::statistics::RequestTimes;
use plumb_wire::error::{ErrorCode, Stage, WireError};
use plumb_wire::produce::{read_response, versions_for};
use plumb_wire::versions::ApiKey;
use std::time::Duration;

/// The codes of batches that are not acknowledged by all, and perhaps in the leader's log all the same
/// (NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT; NOT_LEADER_OR_FOLLOWER is also the answer of a leader that lost its
/// place after it had appended).
const STORED_ALL_THE_SAME: [i16; 3] = [20, 7, 6];
/// A broker may take the whole timeout to answer, so that it is given a little more.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The offset of records whose place nobody stated.
const NO_OFFSET: i64 = -1;

/// The answer about one batch.
#[derive(Debug, Clone, Copy)]
struct BatchAnswer {
    code: ErrorCode,
    /// The offset of the first record; -1 where it is not told.
    offset: i64,
}

impl Producer<'_, '_> {
    /// Reads what a connection has.
    pub(super) fn read(&mut self, link: usize) {
        loop {
            match self.read_one(link) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.link_failed(link, &error),
            }
        }
    }

    /// Reads one response; false when there is none yet.
    fn read_one(&mut self, at: usize) -> Result<bool, WireError> {
        let link = &mut self.links[at];
        let Some(connection) = link.connection() else { return Ok(false) };
        let version = connection.version(ApiKey::Produce, versions_for(self.settings.codec))?;
        self.answers.clear();
        let answers = &mut self.answers;
        let Some(frame) = connection.read_frame()? else { return Ok(false) };
        let correlation = frame.correlation_id;
        let throttle_ms = read_response(version, frame.body, &mut |answer| {
            answers.push((answer.index, answer.error_code, answer.base_offset));
        });
        let throttle_ms = throttle_ms.map_err(|source| connection.undecodable(ApiKey::Produce, source))?;
        let now = now_ns();
        let expected = link.oldest_correlation();
        let Some(request) = link.take_oldest().filter(|_| expected == Some(correlation)) else {
            return Err(WireError::Correlation {
                broker: format!("broker {}", link.broker),
                api: ApiKey::Produce,
                expected: expected.unwrap_or_default(),
                got: correlation,
            });
        };
        self.be_quiet(at, throttle_ms, now);
        self.take_answers(at, request, now);
        Ok(true)
    }

    /// The broker may have asked for silence.
    fn be_quiet(&mut self, at: usize, throttle_ms: i32, now: u64) {
        if throttle_ms > 0 {
            self.links[at].quiet_until_ns = now + u64::from(throttle_ms.unsigned_abs()) * 1_000_000;
            if self.shared.in_measured_part(now) {
                self.reported.statistics.take_throttle(u64::from(throttle_ms.unsigned_abs()));
            }
        }
    }

    /// Decides the fate of each batch of a request, by the answers at hand.
    fn take_answers(&mut self, at: usize, mut request: Request<Batch>, now: u64) {
        self.note_times(&request, Some(now));
        for Batch { slot, .. } in request.pieces.drain(..) {
            self.partitions[slot.partition].in_flight -= 1;
            let answer = self.answer_of(slot.partition);
            self.take_answer(slot, answer, now);
        }
        self.links[at].keep(request);
    }

    /// Code and offset of a partition in the answers at hand. One that they leave out was not dealt with.
    fn answer_of(&self, partition: usize) -> BatchAnswer {
        let answer = self.answers.iter().find(|(index, ..)| usize::try_from(*index) == Ok(partition));
        let left_out = BatchAnswer { code: ErrorCode::UNKNOWN_SERVER_ERROR, offset: NO_OFFSET };
        answer.map_or(left_out, |(_, code, offset)| BatchAnswer { code: *code, offset: *offset })
    }

    /// Counts a request as acknowledged once it is written: with acks=0 nothing answers.
    pub(super) fn acknowledged_by_writing(&mut self, link: usize, mut request: Request<Batch>) {
        self.note_times(&request, None);
        for Batch { slot, .. } in request.pieces.drain(..) {
            self.partitions[slot.partition].in_flight -= 1;
            self.acknowledge(slot, NO_OFFSET, request.last_byte_ns);
        }
        self.links[link].keep(request);
    }

    fn take_answer(&mut self, mut slot: Slot, answer: BatchAnswer, now: u64) {
        let BatchAnswer { code, offset } = answer;
        if is_acknowledgement(code) {
            let known = if code.is_ok() { offset } else { NO_OFFSET };
            return self.acknowledge(slot, known, now);
        }
        slot.possibly_stored |= STORED_ALL_THE_SAME.contains(&code.0);
        // A batch before it must be sent again first: until then its number cannot be the next.
        let behind = code == ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
            && self.partitions[slot.partition].waits_for_one_before(&slot);
        if code.asks_for_metadata() {
            self.view.ask_again();
        }
        // A probe is tried again for as long as the block waits for it.
        let late =
            slot.part != Part::Probe && now.saturating_sub(slot.opened_ns) > self.settings.message_timeout_ns;
        if behind || (code.is_retriable() && !late && self.may_retry(&mut slot)) {
            return self.send_again(slot, now);
        }
        let name = code.name().map_or_else(|| format!("ERROR_{}", code.0), str::to_owned);
        self.fail_batch(slot, &name, &format!("the broker answered {name}"));
    }

    /// True if a batch that was sent in vain is sent once more. A probe is tried for as long as the block waits for it.
    fn may_retry(&self, slot: &mut Slot) -> bool {
        slot.failures += 1;
        slot.part == Part::Probe || slot.failures <= self.settings.retries
    }

    fn send_again(&mut self, slot: Slot, now: u64) {
        self.reported.statistics.grown.retries += slot.records() as u64;
        self.waiting += 1;
        let at_ns = now + self.settings.retry_backoff_ns;
        self.partitions[slot.partition].send_again(slot, at_ns);
    }

    fn acknowledge(&mut self, slot: Slot, offset: i64, now: u64) {
        let messages = slot.records() as u64;
        self.reported.acked_all += messages;
        let (partition, measured) =
            (i32::try_from(slot.partition).unwrap_or(i32::MAX), slot.part == Part::Measured);
        self.reported.offsets.note(partition, offset, messages, measured);
        self.shared.count_acknowledged(messages);
        self.outstanding.report(messages);
        if slot.part == Part::Probe {
            self.shared.probe_acknowledged(partition);
            return;
        }
        if measured {
            self.reported.last_ack_ns = Some(now);
            self.reported.acked_bytes += slot.value_bytes();
            if slot.consecutive {
                self.reported.acked.note_run(slot.first_sequence, messages);
            } else {
                for stamp in slot.stamps(&self.content) {
                    self.reported.acked.note(stamp.sequence);
                }
            }
        }
        let second = self.acks.at(now, !(measured && self.shared.sending_is_measured()));
        second.acked += messages;
        // Without a schedule there is no time at which a message was due. From when its batch was begun it is the length of the
        // queue that the sender itself keeps full: other tools print that.
        if self.shared.saturating {
            second.service.record_spans(slot.opened_ns, now, messages);
        } else {
            for stamp in slot.stamps(&self.content) {
                second.response.record_span(stamp.intended_ns, now);
                second.service.record_span(stamp.sent_ns, now);
            }
        }
        self.free(slot);
    }

    /// A batch will not be acknowledged: failed when it surely is not in the log, else its outcome stays unknown.
    pub(super) fn fail_batch(&mut self, slot: Slot, code: &str, text: &str) {
        let messages = slot.records() as u64;
        self.outstanding.report(messages);
        if slot.part == Part::Probe {
            self.shared.probe_failed(code, text);
            return;
        }
        if !slot.possibly_stored {
            self.reported.failed_all += messages;
            self.reported.failed += if slot.part == Part::Measured { messages } else { 0 };
        }
        self.reported.errors.note_times("produce", code, text, messages);
        self.free(slot);
    }

    /// A connection broke: what was under way is sent again, its outcome unknown until then.
    pub(super) fn link_failed(&mut self, at: usize, error: &WireError) {
        let now = now_ns();
        let requests = self.links[at].close(now);
        let grown = &mut self.reported.statistics.grown;
        grown.disconnects += u64::from(self.shared.in_measured_part(now));
        if matches!(error, WireError::Timeout { .. }) {
            grown.timeouts += requests.len() as u64;
        }
        self.reported.errors.note("client", "DISCONNECTED", &super::super::chain(error));
        self.view.ask_again();
        for request in requests {
            self.take_back(request);
        }
    }

    /// A request that nothing will answer.
    pub(super) fn take_back(&mut self, mut request: Request<Batch>) {
        let (begun, now) = (request.was_begun(), now_ns());
        for Batch { mut slot, .. } in request.pieces.drain(..) {
            self.partitions[slot.partition].in_flight -= 1;
            slot.possibly_stored |= begun;
            // Without acknowledgements nobody knows what arrived, and to send it again could double it.
            if self.settings.acks == 0 && begun && slot.part != Part::Probe {
                self.fail_batch(slot, "DISCONNECTED", "the connection broke while it was written");
            } else if begun && !self.may_retry(&mut slot) {
                self.fail_batch(slot, "DISCONNECTED", "the connection broke before it was answered");
            } else {
                self.send_again(slot, now);
            }
        }
    }

    /// Gives up batches that are older than messages may be, and connections that do not answer.
    pub(super) fn give_up_the_old(&mut self, now: u64) {
        if now < self.age_check_ns {
            return;
        }
        self.age_check_ns = now + super::AGE_CHECK_NS;
        for at in 0..self.links.len() {
            let patience_ns = self.settings.request_timeout_ns.saturating_add(PATIENCE_NS);
            let waiting_since_ns = self.links[at].waiting_since_ns();
            if waiting_since_ns.is_some_and(|since| now.saturating_sub(since) > patience_ns) {
                let error = WireError::Timeout {
                    broker: format!("broker {}", self.links[at].broker),
                    during: Stage::Streaming,
                    after: Duration::from_nanos(self.settings.request_timeout_ns),
                };
                self.link_failed(at, &error);
            }
        }
        let before_ns = now.saturating_sub(self.settings.message_timeout_ns);
        for at in 0..self.partitions.len() {
            for slot in self.partitions[at].take_old(before_ns) {
                self.waiting -= 1;
                let text = "it was not acknowledged within message.timeout.ms";
                self.fail_batch(slot, "MESSAGE_TIMED_OUT", text);
            }
        }
    }

    /// Notes the times of a request of the measured part: of its batches that it brought to the log. Of one that is sent again the
    /// request that is acknowledged counts, so that each message has one time.
    fn note_times(&mut self, request: &Request<Batch>, answered_ns: Option<u64>) {
        let mut times = RequestTimes {
            queue_sum_ns: 0.0,
            messages: 0,
            writing_ns: request.last_byte_ns.saturating_sub(request.first_byte_ns),
            response_ns: answered_ns.map(|answered| answered.saturating_sub(request.last_byte_ns)),
            batches: 0,
            batch_bytes: 0,
        };
        let counts = |slot: &Slot| {
            let acknowledged =
                answered_ns.is_none() || is_acknowledgement(self.answer_of(slot.partition).code);
            slot.part == Part::Measured && acknowledged
        };
        for Batch { slot, .. } in request.pieces.iter().filter(|batch| counts(&batch.slot)) {
            let queued = |sent_ns: u64| request.first_byte_ns.saturating_sub(sent_ns) as f64;
            times.messages += slot.records() as u64;
            times.batches += 1;
            times.batch_bytes += slot.bytes().len() as u64;
            // A batch that is filled at once has one time for all of its messages.
            times.queue_sum_ns += match self.fills_whole_batches() {
                true => queued(slot.opened_ns) * slot.records() as f64,
                false => slot.stamps(&self.content).map(|stamp| queued(stamp.sent_ns)).sum(),
            };
        }
        if times.batches > 0 {
            self.reported.statistics.take_request(&times);
        }
    }
}

/// True if an answer says that the records are in the log, where the broker has them already by their numbers too.
fn is_acknowledgement(code: ErrorCode) -> bool {
    code.is_ok() || code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER
}

#[cfg(test)]
mod tests;
