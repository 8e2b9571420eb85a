//! A partition's memory of its idempotent producers: enough to store a repeated batch once.

use std::collections::{HashMap, VecDeque};

use kafka_protocol::ResponseError;

use super::batch::Sequence;

/// Kafka remembers the last five batches of a producer, because a client has at most five requests in flight.
const REMEMBERED: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Producers {
    known: HashMap<i64, Producer>,
}

#[derive(Debug)]
struct Producer {
    epoch: i16,
    next: i32,
    batches: VecDeque<Seen>,
}

#[derive(Debug)]
struct Seen {
    first: i32,
    count: u64,
    base_offset: i64,
}

/// The decision about a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Store,
    /// Already stored; its answer is this offset again.
    Repeated(i64),
}

impl Producers {
    pub(super) fn admit(&self, sequence: Sequence, count: u64) -> Result<Admission, ResponseError> {
        let Some(producer) = self.known.get(&sequence.producer_id).filter(|_| sequence.producer_id >= 0)
        else {
            // A producer that this partition does not know may start anywhere, as after the end of retention.
            return Ok(Admission::Store);
        };
        if sequence.epoch < producer.epoch {
            return Err(ResponseError::InvalidProducerEpoch);
        }
        let repeated =
            producer.batches.iter().find(|seen| seen.first == sequence.first && seen.count == count);
        match repeated {
            Some(seen) if sequence.epoch == producer.epoch => Ok(Admission::Repeated(seen.base_offset)),
            _ if sequence.epoch > producer.epoch && sequence.first == 0 => Ok(Admission::Store),
            _ if sequence.first == producer.next => Ok(Admission::Store),
            _ => Err(ResponseError::OutOfOrderSequenceNumber),
        }
    }

    pub(super) fn stored(&mut self, sequence: Sequence, count: u64, base_offset: i64) {
        if sequence.producer_id < 0 {
            return;
        }
        let producer = self.known.entry(sequence.producer_id).or_insert_with(|| Producer {
            epoch: sequence.epoch,
            next: 0,
            batches: VecDeque::new(),
        });
        if producer.epoch != sequence.epoch {
            producer.epoch = sequence.epoch;
            producer.batches.clear();
        }
        // Sequences go round from the greatest i32 to 0.
        producer.next = ((i64::from(sequence.first) + count as i64) & i64::from(i32::MAX)) as i32;
        producer.batches.push_back(Seen { first: sequence.first, count, base_offset });
        if producer.batches.len() > REMEMBERED {
            producer.batches.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(first: i32) -> Sequence {
        Sequence { producer_id: 9, epoch: 0, first }
    }

    #[test]
    fn a_repeated_batch_gets_its_first_offset_again_and_a_gap_is_refused() {
        let mut producers = Producers::default();
        for (first, offset) in [(0, 100), (2, 102)] {
            assert_eq!(producers.admit(sequence(first), 2), Ok(Admission::Store));
            producers.stored(sequence(first), 2, offset);
        }
        assert_eq!(producers.admit(sequence(0), 2), Ok(Admission::Repeated(100)));
        assert_eq!(producers.admit(sequence(5), 2), Err(ResponseError::OutOfOrderSequenceNumber));
    }

    #[test]
    fn a_producer_without_an_id_repeats_as_it_likes() {
        let mut producers = Producers::default();
        let nobody = Sequence { producer_id: -1, epoch: -1, first: -1 };
        producers.stored(nobody, 1, 0);
        assert_eq!(producers.admit(nobody, 1), Ok(Admission::Store));
    }

    #[test]
    fn an_older_epoch_is_fenced() {
        let mut producers = Producers::default();
        producers.stored(Sequence { epoch: 3, ..sequence(0) }, 1, 0);
        assert_eq!(producers.admit(sequence(1), 1), Err(ResponseError::InvalidProducerEpoch));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        let mut producers = Producers::default();
        producers.stored(sequence(i32::MAX), 1, 0);
        assert_eq!(producers.admit(sequence(0), 1), Ok(Admission::Store));
    }
}
