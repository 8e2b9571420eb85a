//! The clients of a block that are the library's: made from the step's properties, each with threads of its own.

use super::consume::receive;
use super::ffi::{Client, Role};
use super::produce::{Sender, hear_reports};
use crate::client_outcome::ClientOutcome;
use crate::error::LoadError;
use crate::job::{BlockSpec, ProducerJob};
use crate::librdkafka::connect::Cluster;
use crate::one_sided::{self, CONSUMER, PRODUCER};
use crate::patience::Patience;
use crate::produce::{Reported, Sent};
use crate::seconds::Seconds;
use crate::segment::Segment;
use crate::shared::Shared;
use plumb_model::plan::{Properties, StepPlan};
use plumb_model::property::{number, usual_name};
use std::ops::Range;
use std::time::Duration;

/// Windows of the client's statistics.
const STATISTICS_MS: &str = "200";
/// The property that makes a producer one of transactions.
const TRANSACTIONAL_ID: &str = "transactional.id";
/// Longest wait for the library to end its clients (ours). It takes milliseconds, and tens of seconds when brokers are gone that a
/// consumer would say goodbye to.
const END: Duration = Duration::from_secs(60);

/// The clients of a block.
#[derive(Debug)]
pub(crate) struct Clients {
    /// Of the block's clients, those that are here.
    segment: Segment,
    producers: Vec<Client>,
    consumers: Vec<Client>,
    patience: Patience,
}

impl Clients {
    /// Makes them; the consumers join their group.
    pub(crate) fn new(cluster: &Cluster, spec: &BlockSpec<'_>, segment: &Segment) -> Result<Self, LoadError> {
        let of = |role, clients: &Range<usize>| -> Result<Vec<Client>, LoadError> {
            let properties = properties(role, spec.step, spec.group, &cluster.properties);
            clients.clone().map(|_| Client::new(role, &properties)).collect()
        };
        let clients = Clients {
            segment: segment.clone(),
            producers: of(Role::Producer, &segment.producers)?,
            consumers: of(Role::Consumer, &segment.consumers)?,
            patience: cluster.patience.clone(),
        };
        clients.consumers.iter().try_for_each(|consumer| consumer.subscribe(spec.topic))?;
        Ok(clients)
    }

    /// Produces until the block ends: one thread sends (this one), one hears the reports.
    pub(crate) fn produce(&self, job: ProducerJob<'_, '_>) -> ClientOutcome {
        let ProducerJob { index, shared, outstanding, acks, .. } = job;
        let client = &self.producers[index - self.segment.producers.start];
        let sending = std::thread::current();
        std::thread::scope(|scope| {
            let hear = || hear_reports(shared, client, outstanding, &sending, acks);
            let reporter = std::thread::Builder::new().name(format!("plumb-ack-{index}"));
            let reporter = match reporter.spawn_scoped(scope, hear) {
                Ok(reporter) => reporter,
                Err(error) => {
                    shared.fail(LoadError::Thread { reason: error.to_string() });
                    return ClientOutcome::of_producer(
                        index,
                        outstanding,
                        Sent::default(),
                        Reported::default(),
                    );
                }
            };
            let sender = client.topic(job.topic).and_then(|topic| {
                let producer = u16::try_from(index).unwrap_or(u16::MAX);
                let mut sender = Sender::new(shared, topic, producer, job.contents, outstanding)?;
                for partition in job.probes {
                    sender.probe(partition)?;
                }
                Ok(sender)
            });
            let sent = match sender {
                // A block that cannot begin drops the other end.
                Ok(mut sender) => match job.begun.recv() {
                    Ok(at) => sender.send(job.course, at, job.pace, job.slips),
                    Err(_) => Sent::default(),
                },
                Err(error) => {
                    shared.fail(error);
                    Sent::default()
                }
            };
            let reported = reporter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ClientOutcome::of_producer(index, outstanding, sent, reported)
        })
    }

    /// Consumes until the block ends.
    pub(crate) fn receive(&self, index: usize, shared: &Shared<'_>, seconds: Seconds<'_>) -> ClientOutcome {
        let client = &self.consumers[index - self.segment.consumers.start];
        let received = receive(shared, client, index, &self.patience, seconds);
        ClientOutcome::of_consumer(shared, received)
    }

    /// The producers' and the consumers' properties as the library resolved them.
    pub(crate) fn effective(&self) -> (Properties, Properties) {
        let of = |clients: &[Client]| clients.first().map(Client::effective).unwrap_or_default();
        (of(&self.producers), of(&self.consumers))
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let clients = (std::mem::take(&mut self.producers), std::mem::take(&mut self.consumers));
        let (done, is_done) = std::sync::mpsc::channel();
        let end = move || {
            drop(clients);
            // Nobody listens any more when that took too long.
            let _ = done.send(());
        };
        // A thread that cannot be started drops the clients here.
        let _ = std::thread::Builder::new().name("plumb-end".to_owned()).spawn(end);
        let _ = self.patience.wait(END, |timeout| is_done.recv_timeout(timeout));
    }
}

/// Refuses a step whose properties the library does not take.
pub(crate) fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    for (role, name, own) in
        [(Role::Producer, PRODUCER, &step.producer), (Role::Consumer, CONSUMER, &step.consumer)]
    {
        one_sided::check(name, own.keys())?;
        check_role(step, security, role, own).map_err(|error| error.of_role(name))?;
    }
    Ok(())
}

fn check_role(step: &StepPlan, security: &Properties, role: Role, own: &Properties) -> Result<(), LoadError> {
    let client = Client::new(role, &properties(role, step, "plumb-check", security))?;
    let effective = client.effective();
    numbers_are_whole(own, &effective)?;
    if role == Role::Producer {
        sends_outside_transactions(own)?;
        largest_value_fits(step, &effective)?;
    }
    Ok(())
}

/// Refuses an id for transactions: a producer that has one sends nothing outside of them, and no load here begins one.
fn sends_outside_transactions(own: &Properties) -> Result<(), LoadError> {
    let Some(value) = own.get(TRANSACTIONAL_ID).filter(|value| !value.is_empty()) else { return Ok(()) };
    let reason = "the load is sent outside of transactions, which a producer with this property refuses";
    Err(LoadError::property(TRANSACTIONAL_ID, value, reason))
}

/// Refuses values that the library would not take from us.
fn largest_value_fits(step: &StepPlan, effective: &Properties) -> Result<(), LoadError> {
    let limit = effective.get("message.max.bytes").and_then(|limit| limit.parse::<u64>().ok());
    let bytes = step.load.size.largest().0;
    match limit {
        Some(limit) if bytes > limit && !step.reads_as_it_is() => {
            Err(LoadError::TooLargeForProducer { bytes })
        }
        _ => Ok(()),
    }
}

/// Refuses a number that the library understood only in part: of `3ms` it takes the 3, and of `5.7` where it wants a whole number
/// the 5.
fn numbers_are_whole(asked: &Properties, effective: &Properties) -> Result<(), LoadError> {
    for (key, value) in asked {
        let begins_as_number =
            value.trim_start_matches(['+', '-', ' ']).starts_with(|c: char| c.is_ascii_digit());
        let taken = effective.get(usual_name(key)).and_then(|taken| number(taken));
        let in_part = taken.filter(|taken| match number(value) {
            None => begins_as_number,
            // The library may have good reasons to adjust a number; then it is not this one cut off.
            Some(asked) => asked.fract() != 0.0 && asked.trunc() == *taken,
        });
        if let Some(taken) = in_part {
            let reason = format!("the client library would take it as {taken}: write the number alone");
            return Err(LoadError::property(key, value, reason));
        }
    }
    Ok(())
}

/// The properties of the clients of one role.
fn properties(role: Role, step: &StepPlan, group: &str, security: &Properties) -> Properties {
    let mut properties = security.clone();
    properties.insert("client.id".to_owned(), "plumb".to_owned());
    properties.insert("statistics.interval.ms".to_owned(), STATISTICS_MS.to_owned());
    let own = match role {
        Role::Producer => &step.producer,
        Role::Consumer | Role::Admin => {
            properties.insert("group.id".to_owned(), group.to_owned());
            properties.insert("auto.offset.reset".to_owned(), "earliest".to_owned());
            // What others wrote may end with a marker of a transaction, which is at an offset and is no record. Elsewhere a log has an end
            // after every record, and to be told of each would be work beside it.
            if step.reads_as_it_is() {
                properties.insert("enable.partition.eof".to_owned(), "true".to_owned());
            }
            &step.consumer
        }
    };
    properties.extend(own.clone());
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(key: &str, value: &str) -> Result<(), String> {
        let mut step = crate::wire::sample::step();
        step.producer.insert(key.to_owned(), value.to_owned());
        check(&step, &Properties::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_that_the_library_understands_only_in_part_is_refused() {
        for (key, value, taken) in [
            ("linger.ms", "3ms", "3"),
            ("queue.buffering.max.ms", "3 ms", "3"),
            ("batch.size", "16384.5", "16384"),
            ("batch.size", "64k", "64"),
            ("acks", "1x", "1"),
        ] {
            let refusal = checked(key, value).unwrap_err();
            assert!(refusal.contains(&format!("would take it as {taken}:")), "{key}={value}: {refusal}");
        }
    }

    #[test]
    fn a_producer_that_could_send_nothing_is_refused_before_the_run() {
        assert!(checked("transactional.id", "mine").unwrap_err().contains("outside of transactions"));
        assert_eq!(checked("transactional.id", ""), Ok(()));
        assert!(checked("message.max.bytes", "1000").is_ok());
        let mut step = crate::wire::sample::step();
        step.load.size = plumb_model::plan::SizePlan::Fixed(plumb_model::units::Bytes(2_000_000));
        assert_eq!(
            check(&step, &Properties::new()),
            Err(LoadError::TooLargeForProducer { bytes: 2_000_000 })
        );
    }

    #[test]
    fn numbers_words_and_names_that_are_meant_are_taken() {
        for (key, value) in [
            ("linger.ms", "3"),
            ("linger.ms", "3.0"),
            ("linger.ms", "0.5"),
            ("acks", "all"),
            ("acks", "-1"),
            ("batch.size", "0x4000"),
            ("socket.nagle.disable", "1"),
            ("client.rack", "1a"),
            ("compression.type", "lz4"),
        ] {
            assert_eq!(checked(key, value), Ok(()), "{key}={value}");
        }
    }
}
