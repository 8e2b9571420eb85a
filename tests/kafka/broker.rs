//! A broker looked at past the program, with the client library that users have.

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::FromClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::metadata::MetadataPartition;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A record as it lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) partition: i32,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Vec<u8>,
    pub(crate) headers: BTreeMap<String, Vec<u8>>,
}

/// The replicas of a partition.
#[derive(Debug)]
pub(crate) struct Replicas {
    pub(crate) partition: i32,
    /// The broker that leads it; 0 for none.
    pub(crate) leader: i32,
    /// Replicas in sync.
    pub(crate) in_sync: usize,
}

pub(crate) struct Broker {
    config: ClientConfig,
    consumer: BaseConsumer,
    admin: AdminClient<DefaultClientContext>,
}

impl Broker {
    pub(crate) fn at(bootstrap: &str) -> Self {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("group.id", "looks-on");
        let (consumer, admin) = (config.create().unwrap(), AdminClient::from_config(&config).unwrap());
        Broker { config, consumer, admin }
    }

    pub(crate) fn topics(&self) -> BTreeSet<String> {
        let metadata = self.consumer.fetch_metadata(None, PATIENCE).unwrap();
        metadata.topics().iter().map(|topic| topic.name().to_owned()).collect()
    }

    pub(crate) fn groups(&self) -> BTreeSet<String> {
        // A coordinator that is being made for the first group of all says so.
        let deadline = Instant::now() + PATIENCE;
        let list = loop {
            match self.consumer.fetch_group_list(None, PATIENCE) {
                Ok(list) => break list,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
        };
        list.groups().iter().map(|group| group.name().to_owned()).collect()
    }

    /// The topics and groups that are left of a run, by the id in all names that it gives.
    pub(crate) fn left_of_run(&self, id: &str) -> Vec<String> {
        self.topics().into_iter().chain(self.groups()).filter(|name| name.contains(id)).collect()
    }

    pub(crate) fn create_topic(&self, name: &str, partitions: i32, configs: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (key, value) in configs {
            topic = topic.set(key, value);
        }
        let made =
            wait(self.admin.create_topics([&topic], &AdminOptions::new().operation_timeout(Some(PATIENCE))));
        assert_eq!(made.unwrap(), [Ok(name.to_owned())]);
        // The broker answers before it leads the new partitions, and the library remembers what it did not find.
        let deadline = Instant::now() + PATIENCE;
        for partition in 0..partitions {
            let look = || {
                self.consumer.fetch_metadata(Some(name), PATIENCE)?;
                self.consumer.fetch_watermarks(name, partition, PATIENCE)
            };
            while let Err(error) = look() {
                assert!(Instant::now() < deadline, "{name} {partition}: {error}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// The settings in which a topic differs from the broker's defaults.
    pub(crate) fn topic_configs(&self, name: &str) -> BTreeMap<String, Option<String>> {
        let described =
            wait(self.admin.describe_configs([&ResourceSpecifier::Topic(name)], &AdminOptions::new()));
        let resource = described.unwrap().remove(0).unwrap();
        let own = resource.entries.into_iter().filter(|entry| !entry.is_default);
        own.map(|entry| (entry.name, entry.value)).collect()
    }

    /// Low and high offset of a partition.
    pub(crate) fn offsets(&self, topic: &str, partition: i32) -> (i64, i64) {
        self.consumer.fetch_watermarks(topic, partition, PATIENCE).unwrap()
    }

    /// The state of each partition of a topic.
    pub(crate) fn replicas(&self, topic: &str) -> Vec<Replicas> {
        // While a broker is gone there may be no answer.
        let Ok(metadata) = self.consumer.fetch_metadata(Some(topic), PATIENCE) else { return Vec::new() };
        let partitions = metadata.topics().iter().flat_map(|topic| topic.partitions());
        let replicas = |part: &MetadataPartition| Replicas {
            partition: part.id(),
            leader: part.leader().max(0),
            in_sync: part.isr().len(),
        };
        partitions.map(replicas).collect()
    }

    /// All records of a topic, in the order of each partition.
    pub(crate) fn records(&self, topic: &str, partitions: i32) -> Vec<Record> {
        let mut wanted = 0;
        let mut list = TopicPartitionList::new();
        for partition in 0..partitions {
            let (low, high) = self.offsets(topic, partition);
            wanted += usize::try_from(high - low).unwrap();
            list.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        }
        // A consumer of its own: one that has read the topic before goes on where it stood.
        let consumer: BaseConsumer = self.config.create().unwrap();
        consumer.assign(&list).unwrap();
        let mut records = Vec::with_capacity(wanted);
        while records.len() < wanted {
            let message = consumer.poll(PATIENCE).expect("a record within the time").unwrap();
            let headers = message.headers().into_iter().flat_map(Headers::iter);
            records.push(Record {
                partition: message.partition(),
                key: message.key().map(<[u8]>::to_vec),
                value: message.payload().unwrap_or_default().to_vec(),
                headers: headers.map(|h| (h.key.to_owned(), h.value.unwrap_or_default().to_vec())).collect(),
            });
        }
        records
    }
}

/// Waits for an answer of the admin client, whose own thread makes the progress.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
