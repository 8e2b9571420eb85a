//! Batches that are ready go into requests, and requests onto connections that take another one.

use super::super::link::Request;
use super::super::slot::Slot;
use super::{Batch, Producer, Schedule};
use crate::clock::now_ns;
use crate::produce::Course;
use plumb_wire::batch::{ProducerSequence, Seal};
use plumb_wire::error::WireError;
use plumb_wire::produce::{RequestHead, partition_head, request_head, versions_for};
use plumb_wire::versions::ApiKey;

/// A request is large enough then: brokers work on one request of a connection at a time, and each costs something.
const REQUEST_BYTES: usize = 900_000;
/// Batches of one request.
const BATCHES_MOST: usize = 24;

/// The size of a request that is being filled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestSize {
    batches: usize,
    bytes: usize,
}

impl RequestSize {
    pub(super) fn add(&mut self, batch_bytes: usize) {
        self.batches += 1;
        self.bytes += batch_bytes;
    }

    pub(super) fn is_empty(self) -> bool {
        self.batches == 0
    }

    pub(super) fn is_enough(self) -> bool {
        self.bytes >= REQUEST_BYTES || self.batches == BATCHES_MOST
    }
}

impl Producer<'_, '_> {
    /// Puts what is ready into requests, as far as connections take them. Whether anything was sent.
    pub(super) fn dispatch(&mut self, course: &Course<Schedule>) -> bool {
        let mut any = false;
        for link in 0..self.links.len() {
            while self.links[link].takes(self.settings.in_flight, now_ns()) {
                let now = now_ns();
                let mut request = self.links[link].spare();
                self.gather(link, now, &mut request);
                if request.pieces.is_empty() && self.fill_for(link, course, now) {
                    self.gather(link, now, &mut request);
                }
                if request.pieces.is_empty() {
                    self.links[link].keep(request);
                    break;
                }
                any = true;
                if let Err(error) = self.send(link, request) {
                    self.link_failed(link, &error);
                    break;
                }
            }
        }
        any
    }

    /// Batches for one request, each of another partition.
    fn gather(&mut self, link: usize, now: u64, request: &mut Request<Batch>) {
        if self.waiting == 0 {
            return;
        }
        let (count, mut size) = (self.partitions.len(), RequestSize::default());
        let linger_ns = if self.over { 0 } else { self.settings.linger_ns };
        for step in 0..count {
            let at = (self.cursor + step) % count;
            let partition = &mut self.partitions[at];
            if partition.link != Some(link) {
                continue;
            }
            let Some(mut slot) = partition.take_ready(now, linger_ns) else { continue };
            self.waiting -= 1;
            if let Err(error) = self.seal(at, &mut slot, now) {
                self.fail_batch(slot, "COMPRESSION", &error);
                continue;
            }
            let partition = &mut self.partitions[at];
            partition.in_flight += 1;
            if at == self.sticky {
                self.sticky = (at + 1) % count;
            }
            let length = slot.bytes().len();
            size.add(length);
            request.pieces.push(Batch { head: partition_head(at as i32, length), slot });
            if size.is_enough() {
                self.cursor = (at + 1) % count;
                return;
            }
        }
        self.cursor = (self.cursor + 1) % count;
    }

    fn seal(&mut self, at: usize, slot: &mut Slot, now: u64) -> Result<(), String> {
        if let (Some(_), None) = (self.producer_id, slot.base_sequence) {
            slot.base_sequence = Some(self.partitions[at].next_base_sequence(slot.records()));
        }
        let producer = self.producer_id.zip(slot.base_sequence).map(|(producer, base_sequence)| {
            ProducerSequence { id: producer.id, epoch: producer.epoch, base_sequence }
        });
        let timestamp_ms = self.shared.epoch_ns(now) / 1_000_000;
        slot.seal(&Seal { timestamp_ms, producer }, self.compressor.as_mut())
            .map_err(|error| error.to_string())
    }

    fn send(&mut self, at: usize, mut request: Request<Batch>) -> Result<(), WireError> {
        let link = &mut self.links[at];
        let Some(connection) = link.connection() else {
            self.take_back(request);
            return Ok(());
        };
        let version = match connection.version(ApiKey::Produce, versions_for(self.settings.codec)) {
            Ok(version) => version,
            Err(error) => {
                self.take_back(request);
                return Err(error);
            }
        };
        request.correlation = connection.next_correlation_id();
        let head = RequestHead {
            version,
            correlation_id: request.correlation,
            client_id: connection.client_id(),
            acks: self.settings.acks,
            timeout_ms: i32::try_from(self.settings.request_timeout_ns / 1_000_000).unwrap_or(i32::MAX),
            topic: self.topic,
        };
        let bytes = request.pieces.iter().map(|piece| piece.slot.bytes().len()).sum();
        let mut buffer = std::mem::take(&mut request.head);
        buffer.clear();
        request_head(&mut buffer, &head, request.pieces.len(), bytes);
        request.head = buffer;
        let written = link.send(request, now_ns)?;
        if written {
            self.written(at);
        }
        Ok(())
    }

    /// A request is all written: with acks=0 that is all there is to know of it.
    pub(super) fn written(&mut self, link: usize) {
        if self.settings.acks == 0
            && let Some(request) = self.links[link].take_oldest()
        {
            self.acknowledged_by_writing(link, request);
        }
    }
}
