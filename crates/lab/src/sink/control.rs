//! The handle through which a test misbehaves. Whatever is set is in effect when the call returns.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use kafka_protocol::{ResponseError, messages::ApiKey};

use super::{
    delay::{Delay, Draws},
    faults::{Apis, ArmedStall, Faults, PartitionFault, RecordFault, Records, RequestFault, TimestampLie},
    state::{Broker, SinkError},
    stats::Stats,
    witness::ArrivedRecord,
};

/// Sets faults and looks at what happened, from any thread. Outlives its broker harmlessly.
#[derive(Debug, Clone)]
pub struct Control {
    broker: Arc<Broker>,
}

impl Control {
    pub(super) fn new(broker: Arc<Broker>) -> Self {
        Self { broker }
    }

    /// Holds answers back, from now on for `duration`. Requests are still taken and have their effect; their answers wait
    /// for the end, a fetch then reads what is there. Several stalls add up to the one that ends last.
    pub fn stall(&self, apis: Apis, duration: Duration) {
        let mut core = self.broker.core();
        core.stall(apis, Instant::now(), duration);
        drop(core);
        self.broker.happened();
    }

    /// The same, from the moment at which the `record`-th record (from 1) arrives for the topic: the answer to the batch
    /// that brings it is the first that waits, and no fetch shows it before the end.
    pub fn stall_at_record(&self, topic: &str, record: u64, apis: Apis, duration: Duration) {
        let stall = ArmedStall { topic: topic.into(), record, apis, duration };
        self.set(|faults| faults.armed_stalls.push(stall));
    }

    /// Sends answers later: for a produce by so much from its arrival, for a fetch from the moment at which it would have
    /// been answered. Order on a connection stays. A second delay for the same API adds up; see [`Control::clear`].
    pub fn delay_answers(&self, apis: Apis, delay: Delay) {
        self.set(|faults| faults.answer_delays.push((apis, Draws::new(delay))));
    }

    /// Lets readers see each batch of the topic only so much after its arrival, in order, as a follower does that is late by so much.
    /// Acknowledged at once. The topic has a second replica then.
    pub fn delay_visibility(&self, topic: &str, delay: Delay) {
        self.set(|faults| faults.visibility_delays.insert(topic.into(), Draws::new(delay)));
    }

    /// Lets the high watermark stay behind the log's end from the `record`-th record (from 1) of the topic on, as a follower does
    /// that is in sync and has stopped: appended, acknowledged, and not to be read. The topic has a second replica then.
    pub fn stop_replication_at_record(&self, topic: &str, record: u64) {
        self.set(|faults| faults.unreplicated_from.insert(topic.into(), record));
    }

    /// Deletes all before the `record`-th record (from 1) of the topic when that one arrives, in its partition, as retention does.
    pub fn delete_before_record(&self, topic: &str, record: u64) {
        self.set(|faults| faults.deleted_before.insert(topic.into(), record));
    }

    /// Leaves so many offsets without a record before the batch that brings the `record`-th record (from 1) of the topic: for readers,
    /// markers of transactions and what compaction removed look like this.
    pub fn leave_gap_before_record(&self, topic: &str, record: u64, offsets: i64) {
        self.set(|faults| faults.gaps.push((topic.into(), record, offsets)));
    }

    /// Acknowledges these records and never stores them. The next stored record takes their place: no gap in the offsets.
    pub fn drop_records(&self, records: Records) {
        self.set(|faults| faults.records.push((RecordFault::Drop, records)));
    }

    /// Stores these records twice, one copy behind the other.
    pub fn duplicate_records(&self, records: Records) {
        self.set(|faults| faults.records.push((RecordFault::Duplicate, records)));
    }

    /// Stores each of these records behind the next one that arrives for its partition, be it in the same batch or in a
    /// later one; until then it cannot be read. A record that makes another one wait is not itself swapped.
    pub fn swap_records(&self, records: Records) {
        self.set(|faults| faults.records.push((RecordFault::Swap, records)));
    }

    /// Refuses requests: with an error, by silence, or by closing the connection.
    pub fn refuse(&self, fault: RequestFault) {
        self.set(|faults| faults.requests.push(fault));
    }

    /// Answers the next `count` produces or fetches of one partition with an error; the rest of the request is served.
    pub fn fail_partition(&self, api: ApiKey, topic: &str, partition: i32, count: u64, error: ResponseError) {
        let fault = PartitionFault { api, topic: topic.into(), partition, count, error };
        self.set(|faults| faults.partitions.push(fault));
    }

    /// Says in each answer that the client was throttled for so long. Answers are not in fact later.
    pub fn throttle(&self, apis: Apis, throttle: Duration) {
        self.set(|faults| faults.throttles.push((apis, throttle)));
    }

    /// Makes the broker's clock wrong for a topic with `message.timestamp.type=LogAppendTime`.
    pub fn lie_about_time(&self, topic: &str, lie: TimestampLie) {
        self.set(|faults| faults.lies.insert(topic.into(), lie));
    }

    /// Ends every fault. Answers that a stall holds go out now; a delay that has begun, and records that are not
    /// yet visible, come at their time.
    pub fn clear(&self) {
        let now = Instant::now();
        let mut core = self.broker.core();
        core.faults = Faults::default();
        for stall in core.stats.stalls.iter_mut().filter(|stall| stall.ends > now) {
            stall.ends = now;
        }
        drop(core);
        self.broker.faults_changed.notify_waiters();
        self.broker.happened();
    }

    /// Makes a topic without a client. Settings are Kafka's topic settings.
    pub fn create_topic(
        &self,
        topic: &str,
        partitions: i32,
        settings: &HashMap<String, String>,
    ) -> Result<(), SinkError> {
        let created = {
            let mut core = self.broker.core();
            core.topics
                .create(topic, partitions)
                .and_then(|topic| settings.iter().try_for_each(|(name, value)| topic.set(name, value)))
        };
        self.broker.happened();
        created.map_err(|error| SinkError::Topic { topic: topic.into(), error })
    }

    /// Changes a topic's setting, for instance `max.message.bytes`, from the next batch on.
    pub fn configure_topic(&self, topic: &str, name: &str, value: &str) -> Result<(), SinkError> {
        let mut core = self.broker.core();
        let found = core.topics.get_mut(topic).ok_or(ResponseError::UnknownTopicOrPartition);
        found
            .and_then(|topic| topic.set(name, value))
            .map_err(|error| SinkError::Topic { topic: topic.into(), error })
    }

    /// Remembers every record that arrives for the topic from now on, with its time.
    pub fn witness(&self, topic: &str) {
        self.broker.core().witnessed.entry(topic.to_owned()).or_default();
    }

    /// What arrived since then, in the order of arrival. A batch that was refused is not among it.
    pub fn witnessed(&self, topic: &str) -> Vec<ArrivedRecord> {
        let core = self.broker.core();
        let told = core.witnessed.get(topic).into_iter().flatten();
        told.map(|(record, answered)| answered.of(record)).collect()
    }

    /// The events so far.
    pub fn stats(&self) -> Stats {
        self.broker.core().snapshot()
    }

    /// Waits until what happened meets a condition, looking whenever something happens.
    pub fn wait_until(&self, limit: Duration, met: impl Fn(&Stats) -> bool) -> Result<Stats, SinkError> {
        self.broker.wait_until(limit, met)
    }

    fn set<T>(&self, change: impl FnOnce(&mut Faults) -> T) {
        change(&mut self.broker.core().faults);
    }
}
