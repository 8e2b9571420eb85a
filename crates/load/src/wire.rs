//! The wire driver: our own data plane. Batches are prepared ahead, only stamps and checksums are patched; an event loop for
//! each client sees every boundary (enqueued, first and last byte written, response read).
//!
//! The protocol is in the crate `plumb-wire`; topics, configs and offsets are asked for through [`crate::librdkafka`] with
//! either driver.

mod cluster;
mod consume;
mod leaders;
mod link;
mod produce;
mod quotas;
mod replication;
mod security;
mod settings;
mod slot;

use crate::client_outcome::ClientOutcome;
use crate::error::LoadError;
use crate::job::{BlockSpec, ProducerJob};
use crate::librdkafka::connect::Cluster;
use crate::one_sided::{self, CONSUMER, PRODUCER};
use crate::seconds::Seconds;
use crate::shared::Shared;
use cluster::{BrokerAddress, ClusterView};
use plumb_model::plan::{Properties, StepPlan};
use plumb_model::secret::shown;
use plumb_wire::error::WireError;
use settings::{ConsumerSettings, ProducerSettings};
use std::error::Error;
use std::sync::Arc;

pub(crate) use leaders::{LeaderEnds, Logs};
pub(crate) use replication::watch;

/// The clients of a block.
pub(crate) struct Clients {
    producer: ProducerSettings,
    consumer: ConsumerSettings,
    /// As producers and as consumers see the cluster: their sockets may differ.
    producers_view: Arc<ClusterView>,
    consumers_view: Arc<ClusterView>,
    topic: String,
    effective: (Properties, Properties),
}

impl Clients {
    /// Reads the settings and looks at the cluster; connections are made by the clients' own threads.
    pub(crate) fn new(cluster: &Cluster, spec: &BlockSpec<'_>) -> Result<Self, LoadError> {
        let mut producer = settings::producer(spec.step)?;
        let mut consumer = settings::consumer(spec.step)?;
        let view = |socket| {
            let transport = security::transport(&cluster.properties, socket)?;
            let look = |timeout| {
                let bootstrap = addresses(&cluster.bootstrap);
                ClusterView::new(transport, bootstrap, spec.topic, spec.partitions, timeout)
            };
            let view = cluster.patience.ask(cluster::ANSWER, look);
            view.map(Arc::new).map_err(|error| load_error(error, &cluster.bootstrap))
        };
        for properties in [&mut producer.effective, &mut consumer.effective] {
            for (key, value) in &cluster.properties {
                properties.insert(key.clone(), shown(key, value).to_owned());
            }
        }
        Ok(Clients {
            producers_view: view(producer.socket)?,
            consumers_view: view(consumer.socket)?,
            producer: producer.client,
            consumer: consumer.client,
            topic: spec.topic.to_owned(),
            effective: (producer.effective, consumer.effective),
        })
    }

    /// Follows changes of leaders until [`Clients::end`].
    pub(crate) fn follow_cluster(&self) -> Result<(), LoadError> {
        let follow = |view: &Arc<ClusterView>| {
            view.follow().map_err(|error| LoadError::Thread { reason: error.to_string() })
        };
        follow(&self.producers_view)?;
        follow(&self.consumers_view)
    }

    /// Ends [`Clients::follow_cluster`].
    pub(crate) fn end(&self) {
        self.producers_view.end();
        self.consumers_view.end();
    }

    /// Produces until the block ends.
    pub(crate) fn produce(&self, job: ProducerJob<'_, '_>) -> ClientOutcome {
        let (index, outstanding) = (job.index, job.outstanding);
        let (sent, reported) = produce::produce(job, &self.producer, &self.producers_view);
        ClientOutcome::of_producer(index, outstanding, sent, reported)
    }

    /// Consumes until the block ends.
    pub(crate) fn receive(&self, index: usize, shared: &Shared<'_>, seconds: Seconds<'_>) -> ClientOutcome {
        let consumer = consume::ConsumerJob {
            index,
            topic: &self.topic,
            shared,
            settings: &self.consumer,
            view: &self.consumers_view,
        };
        ClientOutcome::of_consumer(shared, consume::receive(consumer, seconds))
    }

    /// The producers' and the consumers' properties that are in effect.
    pub(crate) fn effective(&self) -> (Properties, Properties) {
        self.effective.clone()
    }
}

/// Refuses a step whose properties the driver does not take.
pub(crate) fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    one_sided::check(PRODUCER, step.producer.keys())?;
    let socket = settings::producer(step).map_err(|error| error.of_role(PRODUCER))?.socket;
    one_sided::check(CONSUMER, step.consumer.keys())?;
    settings::consumer(step).map_err(|error| error.of_role(CONSUMER))?;
    security::transport(security, socket).map(drop)
}

/// The addresses of a bootstrap list; a missing port is Kafka's own.
fn addresses(bootstrap: &str) -> Vec<BrokerAddress> {
    const PORT: u16 = 9092;
    let address = |text: &str| {
        // librdkafka allows a protocol in front.
        let text = text.trim().rsplit("://").next().unwrap_or_default();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => (host, port.parse().unwrap_or(PORT)),
            _ => (text, PORT),
        };
        BrokerAddress { host: host.trim_matches(['[', ']']).to_owned(), port }
    };
    bootstrap.split(',').filter(|text| !text.trim().is_empty()).map(address).collect()
}

/// An error with all its causes.
fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

/// The block's error for an error of a connection.
fn load_error(error: WireError, bootstrap: &str) -> LoadError {
    let (bootstrap, reason) = (bootstrap.to_owned(), chain(&error));
    match error {
        WireError::Settings { .. } => LoadError::properties(reason),
        WireError::Tls { .. } | WireError::ListenerSpeaksTls { .. } => LoadError::Tls { bootstrap, reason },
        WireError::Authentication { .. } => LoadError::Authentication { bootstrap, reason },
        WireError::Refused { .. } | WireError::Version { .. } => {
            LoadError::Refused { operation: format!("use {bootstrap}"), reason }
        }
        _ => LoadError::Unreachable { bootstrap, waited_s: 10, reason },
    }
}

/// A step for tests.
#[cfg(test)]
pub(crate) mod sample {
    use plumb_model::plan::{
        Driver, Keys, Length, LoadPlan, Mode, Payload, Properties, Purpose, Schedule, SizePlan, StepPlan,
        TopicPlan,
    };
    use plumb_model::units::{Bytes, Nanos};

    pub(crate) fn step() -> StepPlan {
        let load = LoadPlan {
            rate_per_s: Some(100.0),
            mode: Mode::Mixed,
            schedule: Schedule::Constant,
            length: Length::Count(10),
            warm_up: Nanos(0),
            drain: Nanos(0),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(100)),
            keys: Keys::None,
            headers: Default::default(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
        };
        StepPlan {
            name: "step".into(),
            driver: Driver::Wire,
            external: None,
            topic: TopicPlan::Existing { name: "topic".into() },
            load,
            producer: Properties::new(),
            consumer: Properties::new(),
            cluster: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bootstrap_list_is_read_as_librdkafka_reads_it() {
        let read = addresses("a:1, b ,SASL_SSL://c:9094,[::1]:5");
        let expected = [("a", 1), ("b", 9092), ("c", 9094), ("::1", 5)];
        assert_eq!(read, expected.map(|(host, port)| BrokerAddress { host: host.to_owned(), port }));
    }
}
