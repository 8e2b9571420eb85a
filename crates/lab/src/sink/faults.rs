//! The misbehaviour that is asked for at the moment, and which request or record is next to get it.
//!
//! Decides only; [`super::arrival`], [`super::api`] and [`super::connection`] act on it. Set through [`super::Control`].

use std::{
    collections::{BTreeSet, HashMap},
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use kafka_protocol::{ResponseError, messages::ApiKey};

use super::delay::Draws;

/// The kinds of requests that something applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apis {
    /// All that the sink answers.
    All,
    /// These.
    Only(Vec<ApiKey>),
}

impl Apis {
    /// Produce and fetch: what carries records.
    pub fn data() -> Self {
        Self::Only(vec![ApiKey::Produce, ApiKey::Fetch])
    }

    /// One kind.
    pub fn one(api: ApiKey) -> Self {
        Self::Only(vec![api])
    }

    fn has(&self, api: ApiKey) -> bool {
        match self {
            Self::All => true,
            Self::Only(apis) => apis.contains(&api),
        }
    }
}

/// Chosen records of a topic, by their place in the order of arrival, counted from 1 since the topic exists. A batch that
/// an idempotent producer repeats, and one that is refused, do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    topic: String,
    partition: Option<i32>,
    which: Which,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Every(u64),
    At(BTreeSet<u64>),
}

impl Records {
    /// Each `nth` record that arrives for the topic, over all its partitions. 0: none.
    pub fn every(topic: &str, nth: u64) -> Self {
        Self { topic: topic.into(), partition: None, which: Which::Every(nth) }
    }

    /// The records at these places among all that arrive for the topic.
    pub fn at(topic: &str, places: impl IntoIterator<Item = u64>) -> Self {
        Self { topic: topic.into(), partition: None, which: Which::At(places.into_iter().collect()) }
    }

    /// Counts, and takes, the records of this partition only.
    #[must_use]
    pub fn of_partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }
}

/// The effect of a request that gets no proper answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Done: the client cannot know, and a repetition may store twice.
    Applied,
    /// Not done.
    Skipped,
}

/// The fate of a request instead of the proper answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is answered with this error, for each partition or topic that it names.
    Error(ResponseError, Effect),
    /// It is never answered; the connection stays and later requests on it are answered.
    Silence(Effect),
    /// The connection is closed, after the answers to earlier requests went out.
    Close(Effect),
}

/// The requests to refuse, and the way to refuse them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFault {
    /// The kinds of requests that count.
    pub apis: Apis,
    /// The number of them that pass first.
    pub skip: u64,
    /// The number of them that are then refused.
    pub count: u64,
    /// The way to refuse them.
    pub refusal: Refusal,
}

/// The fault of a record on its way into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordFault {
    Drop,
    Duplicate,
    Swap,
}

/// A clock that is wrong by so much, on a topic with `message.timestamp.type=LogAppendTime`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimestampLie {
    /// Added to the time that is stored with the records.
    pub stored_offset_ms: i64,
    /// Added to the time in the answer to the producer.
    pub answered_offset_ms: i64,
}

/// The place of a record in the order of arrival.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPosition {
    pub(super) in_topic: u64,
    pub(super) in_partition: u64,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) stalls: Vec<Stall>,
    pub(super) armed_stalls: Vec<ArmedStall>,
    pub(super) answer_delays: Vec<(Apis, Draws)>,
    pub(super) visibility_delays: HashMap<String, Draws>,
    /// The first record (from 1) that no follower copies, by topic.
    pub(super) unreplicated_from: HashMap<String, u64>,
    /// The record (from 1) with whose arrival all before it is deleted, by topic.
    pub(super) deleted_before: HashMap<String, u64>,
    /// Topic, record (from 1), and how many offsets before the batch that brings it no record has.
    pub(super) gaps: Vec<(String, u64, i64)>,
    pub(super) records: Vec<(RecordFault, Records)>,
    pub(super) requests: Vec<RequestFault>,
    pub(super) partitions: Vec<PartitionFault>,
    pub(super) throttles: Vec<(Apis, Duration)>,
    pub(super) lies: HashMap<String, TimestampLie>,
}

#[derive(Debug)]
pub(super) struct Stall {
    pub(super) apis: Apis,
    pub(super) until: Instant,
}

/// A stall that waits for a record.
#[derive(Debug)]
pub(super) struct ArmedStall {
    pub(super) topic: String,
    pub(super) record: u64,
    pub(super) apis: Apis,
    pub(super) duration: Duration,
}

/// An error for one partition, while the others of the request are served.
#[derive(Debug)]
pub(super) struct PartitionFault {
    pub(super) api: ApiKey,
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) count: u64,
    pub(super) error: ResponseError,
}

impl Faults {
    /// The end of the last of the stalls that concern `api`.
    pub(super) fn stalled_until(&mut self, api: ApiKey, now: Instant) -> Option<Instant> {
        self.stalls.retain(|stall| stall.until > now);
        self.stalls.iter().filter(|stall| stall.apis.has(api)).map(|stall| stall.until).max()
    }

    /// Takes the stalls out that one of these arriving records of `topic` sets off.
    pub(super) fn set_off(&mut self, topic: &str, arriving: &RangeInclusive<u64>) -> Vec<ArmedStall> {
        self.armed_stalls
            .extract_if(.., |stall| stall.topic == topic && arriving.contains(&stall.record))
            .collect()
    }

    pub(super) fn answer_delay(&mut self, api: ApiKey) -> Duration {
        self.answer_delays.iter_mut().filter(|(apis, _)| apis.has(api)).map(|(_, draws)| draws.draw()).sum()
    }

    pub(super) fn visibility_delay(&mut self, topic: &str) -> Duration {
        self.visibility_delays.get_mut(topic).map_or(Duration::ZERO, Draws::draw)
    }

    /// True if the topic has a follower, which is late or stops.
    pub(super) fn has_follower(&self, topic: &str) -> bool {
        self.visibility_delays.contains_key(topic) || self.unreplicated_from.contains_key(topic)
    }

    /// True if followers copy a batch whose last record is this one of the topic.
    pub(super) fn is_replicated(&self, topic: &str, last: u64) -> bool {
        self.unreplicated_from.get(topic).is_none_or(|first| last < *first)
    }

    /// The number of offsets without a record before a batch with these records of the topic. Said once.
    pub(super) fn gap_before(&mut self, topic: &str, arriving: &RangeInclusive<u64>) -> i64 {
        let due = self.gaps.extract_if(.., |(of, record, _)| of == topic && arriving.contains(record));
        due.map(|(.., offsets)| offsets).sum()
    }

    /// The distance from the first of these arriving records of the topic to the first that stays.
    pub(super) fn deleted_before(&self, topic: &str, arriving: &RangeInclusive<u64>) -> Option<u64> {
        let record = self.deleted_before.get(topic).filter(|record| arriving.contains(record))?;
        Some(record - arriving.start())
    }

    pub(super) fn throttle(&self, api: ApiKey) -> Duration {
        let throttles = self.throttles.iter().filter(|(apis, _)| apis.has(api));
        throttles.map(|(_, throttle)| *throttle).max().unwrap_or_default()
    }

    /// The refusal of the next request of this kind; the oldest fault that is due wins.
    pub(super) fn refuse(&mut self, api: ApiKey) -> Option<Refusal> {
        for (place, fault) in self.requests.iter_mut().enumerate().filter(|(_, fault)| fault.apis.has(api)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.count > 0 {
                fault.count -= 1;
                let refusal = fault.refusal;
                if fault.count == 0 {
                    self.requests.remove(place);
                }
                return Some(refusal);
            }
        }
        None
    }

    pub(super) fn partition_error(
        &mut self,
        api: ApiKey,
        topic: &str,
        partition: i32,
    ) -> Option<ResponseError> {
        let fault = self.partitions.iter_mut().find(|fault| {
            fault.api == api && fault.topic == topic && fault.partition == partition && fault.count > 0
        })?;
        fault.count -= 1;
        Some(fault.error)
    }

    /// True if any fault could concern records of this topic, so that batches need to be taken apart.
    pub(super) fn touches_records_of(&self, topic: &str) -> bool {
        self.records.iter().any(|(_, records)| records.topic == topic)
    }

    pub(super) fn record_has(
        &self,
        fault: RecordFault,
        topic: &str,
        partition: i32,
        place: RecordPosition,
    ) -> bool {
        self.records.iter().any(|(kind, records)| *kind == fault && records.has(topic, partition, place))
    }
}

impl Records {
    fn has(&self, topic: &str, partition: i32, place: RecordPosition) -> bool {
        let place = match self.partition {
            None => place.in_topic,
            Some(chosen) if chosen == partition => place.in_partition,
            Some(_) => return false,
        };
        self.topic == topic
            && match &self.which {
                Which::Every(nth) => *nth > 0 && place.is_multiple_of(*nth),
                Which::At(places) => places.contains(&place),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_pass_until_the_fault_is_due_and_after_it_is_spent() {
        let refusal = Refusal::Silence(Effect::Skipped);
        let mut faults = Faults::default();
        faults.requests.push(RequestFault { apis: Apis::one(ApiKey::Produce), skip: 2, count: 2, refusal });
        let refused: Vec<bool> = (0..6).map(|_| faults.refuse(ApiKey::Produce).is_some()).collect();
        assert_eq!(refused, [false, false, true, true, false, false]);
        assert_eq!(faults.refuse(ApiKey::Fetch), None);
    }

    #[test]
    fn overlapping_stalls_hold_until_the_last_ends() {
        let now = Instant::now();
        let mut faults = Faults::default();
        for (apis, seconds) in [(Apis::All, 1), (Apis::data(), 3), (Apis::one(ApiKey::Metadata), 9)] {
            faults.stalls.push(Stall { apis, until: now + Duration::from_secs(seconds) });
        }
        assert_eq!(faults.stalled_until(ApiKey::Fetch, now), Some(now + Duration::from_secs(3)));
        assert_eq!(faults.stalled_until(ApiKey::Fetch, now + Duration::from_secs(3)), None);
    }

    #[test]
    fn records_are_chosen_by_their_place_in_the_topic_or_in_the_partition() {
        let place = RecordPosition { in_topic: 6, in_partition: 2 };
        assert!(Records::every("t", 3).has("t", 0, place));
        assert!(!Records::every("t", 4).has("t", 0, place));
        assert!(!Records::every("t", 0).has("t", 0, place));
        assert!(Records::at("t", [2]).of_partition(0).has("t", 0, place));
        assert!(!Records::at("t", [2]).of_partition(1).has("t", 0, place));
        assert!(!Records::at("u", [6]).has("t", 0, place));
    }
}
