//! The check that the brokers work: each of them lists all of them, and a record went round every partition of a topic of which
//! each leads one. Looked at from outside, over the plaintext listeners.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kafka_protocol::error::ResponseError;
use kafka_protocol::messages::MetadataResponse;

use super::broker::Broker;
use super::client::{ClientError, PlainClient};
use super::error::{LabError, Result};
use super::options::{LabOptions, Step};

/// The longest time until brokers are ready. Measured: 2 s for one, 5 to 9 s for three, on two quiet cores.
const DEADLINE: Duration = Duration::from_secs(120);

/// The longest wait for one answer before it is asked for again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

const PROBE_TOPIC: &str = "plumb-lab-probe";

/// The reason why a try did not succeed.
enum NotYet {
    /// A reason that may be gone the next time.
    Because(String),
    /// Somebody else has the port.
    PortTaken,
}

impl From<ClientError> for NotYet {
    fn from(error: ClientError) -> Self {
        Self::Because(error.to_string())
    }
}

/// Waits until the brokers work. [`LabError::PortsTaken`] says that another program sits on one of their ports.
pub(super) fn wait_until_ready(brokers: &mut [Broker], cluster_id: &str, options: &LabOptions) -> Result<()> {
    let addresses: Vec<_> = brokers.iter().map(|broker| broker.plan.plaintext).collect();
    let ids: Vec<_> = brokers.iter().map(|broker| broker.plan.id.cast_signed()).collect();
    let mut wait = Wait { brokers, options, since: Instant::now() };
    for &address in &addresses {
        wait.until(|| lists_all(address, cluster_id, ids.len()))?;
    }
    options.report(Step::Probing);
    let first = addresses[0];
    wait.until(|| create_probe_topic(first, &ids))?;
    for (partition, &address) in (0..).zip(&addresses) {
        wait.until(|| send_round(address, partition))?;
    }
    wait.until(|| delete_probe_topic(first))
}

struct Wait<'a> {
    brokers: &'a mut [Broker],
    options: &'a LabOptions,
    since: Instant,
}

impl Wait<'_> {
    fn until<T>(&mut self, mut attempt: impl FnMut() -> Result<T, NotYet>) -> Result<T> {
        loop {
            self.options.check_interrupt()?;
            self.check_running()?;
            let reason = match attempt() {
                Ok(done) => return Ok(done),
                Err(NotYet::PortTaken) => return Err(LabError::PortsTaken { attempts: 1 }),
                Err(NotYet::Because(reason)) => reason,
            };
            let waited = self.since.elapsed();
            if waited > DEADLINE {
                let log = self.brokers.iter().map(Broker::last_words).collect::<Vec<_>>().join("\n");
                return Err(LabError::NotReady { waited, reason, log });
            }
            self.brokers[0].process.has_ended_within(PAUSE);
        }
    }

    fn check_running(&mut self) -> Result<()> {
        for broker in &mut *self.brokers {
            if let Some(status) = broker.ended()? {
                let log = broker.last_words();
                // The broker's log tells of it as java.net.BindException: Address already in use.
                if log.contains("Address already in use") || log.contains("BindException") {
                    return Err(LabError::PortsTaken { attempts: 1 });
                }
                return Err(LabError::BrokerEnded { broker: broker.plan.id, status, log });
            }
        }
        Ok(())
    }
}

fn lists_all(address: SocketAddr, cluster_id: &str, expected: usize) -> Result<(), NotYet> {
    let answer = PlainClient::connect(address, ANSWER_TIMEOUT)?.metadata(&[])?;
    if answer.cluster_id.as_deref() != Some(cluster_id) {
        return Err(NotYet::PortTaken);
    }
    if answer.brokers.len() != expected {
        return Err(NotYet::Because(format!(
            "{address} knows {} of {expected} brokers",
            answer.brokers.len()
        )));
    }
    Ok(())
}

/// Broker `ids[i]` leads partition `i` and the next two follow, so that every broker leads one and replication runs.
fn create_probe_topic(address: SocketAddr, ids: &[i32]) -> Result<(), NotYet> {
    let replicas = |first: usize| ids.iter().cycle().skip(first).take(ids.len().min(3)).copied().collect();
    let assignment: Vec<Vec<i32>> = (0..ids.len()).map(replicas).collect();
    let mut client = PlainClient::connect(address, ANSWER_TIMEOUT)?;
    // A user's min.insync.replicas must not keep the lab from starting.
    match client.create_topic(PROBE_TOPIC, &assignment, &[("min.insync.replicas", "1")]) {
        Err(ClientError::Refused { error: ResponseError::TopicAlreadyExists, .. }) => Ok(()),
        other => Ok(other?),
    }
}

fn send_round(leader: SocketAddr, partition: i32) -> Result<(), NotYet> {
    let mut client = PlainClient::connect(leader, ANSWER_TIMEOUT)?;
    let answer = client.metadata(&[PROBE_TOPIC])?;
    check_in_sync(&answer, partition)?;
    let value = format!("probe of partition {partition}");
    let offset = client.produce(PROBE_TOPIC, partition, value.as_bytes())?;
    let back = client.fetch(PROBE_TOPIC, partition, offset)?;
    if back.first().is_none_or(|record| record != value.as_bytes()) {
        return Err(NotYet::Because(format!(
            "{leader}: the probe record of partition {partition} did not come back"
        )));
    }
    Ok(())
}

fn check_in_sync(answer: &MetadataResponse, partition: i32) -> Result<(), NotYet> {
    let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let found = partitions.find(|p| p.partition_index == partition && p.error_code == 0);
    match found {
        Some(p) if p.isr_nodes.len() == p.replica_nodes.len() => Ok(()),
        Some(p) => Err(NotYet::Because(format!(
            "partition {partition} has {} of {} replicas in sync",
            p.isr_nodes.len(),
            p.replica_nodes.len()
        ))),
        None => Err(NotYet::Because(format!("partition {partition} has no leader yet"))),
    }
}

fn delete_probe_topic(address: SocketAddr) -> Result<(), NotYet> {
    match PlainClient::connect(address, ANSWER_TIMEOUT)?.delete_topic(PROBE_TOPIC) {
        Err(ClientError::Refused { error: ResponseError::UnknownTopicOrPartition, .. }) => Ok(()),
        other => Ok(other?),
    }
}
