//! The external driver: clients that are programs of their own, one process for each client and block.
//!
//! The program is told what to send when, and tells when it did and what came of it (`frame.rs` is the whole protocol;
//! docs/guide/external-drivers.md explains it to whoever writes one). It knows no rate, histogram, warm-up or verdict: schedules, keys,
//! values, stamps, verification and figures are those of every driver. Both sides read CLOCK_MONOTONIC of this host.
//!
//! `process.rs` starts and ends a program, `link.rs` carries frames to and from it, `produce.rs` and `consume.rs` are the two roles,
//! `names.rs` the properties as the client for Java calls them, `librdkafka_child.rs` a program that speaks the protocol,
//! `examine.rs` tries one against a broker of which the caller knows what it saw.

pub(crate) mod command;
mod consume;
pub mod examine;
pub mod frame;
mod librdkafka_child;
mod link;
mod names;
mod pauses;
mod process;
mod produce;

pub use command::{DriverCommand, Programs};
pub use librdkafka_child::serve as serve_librdkafka;

use crate::client_outcome::ClientOutcome;
use crate::error::LoadError;
use crate::job::{BlockSpec, ProducerJob};
use crate::librdkafka;
use crate::librdkafka::connect::Cluster;
use crate::one_sided::{CONSUMER, PRODUCER};
use crate::seconds::Seconds;
use crate::segment::Segment;
use crate::shared::Shared;
use command::Role;
use link::{Introduction, Link};
use plumb_model::observation::ProgramAccount;
use plumb_model::plan::{ClientProgram, ExternalPlan, Properties, StepPlan};
use process::Program;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The clients of a block of which some are programs.
pub(crate) struct Clients {
    segment: Segment,
    /// The clients of the side that is in this process; the programs' side of it is empty.
    here: librdkafka::Clients,
    producers: Vec<Mutex<Link>>,
    consumers: Vec<Mutex<Link>>,
    /// False where the brokers are asked for no answer, so that no producer knows an offset.
    acknowledged: bool,
}

impl Clients {
    /// Starts the programs. They end with the thread that calls this, if not before.
    pub(crate) fn new(cluster: &Cluster, spec: &BlockSpec<'_>, segment: &Segment) -> Result<Self, LoadError> {
        let none = Programs::default();
        let Programs { producer, consumer } = spec.programs.unwrap_or(&none);
        let here = Segment {
            producers: if producer.is_some() { 0..0 } else { segment.producers.clone() },
            consumers: if consumer.is_some() { 0..0 } else { segment.consumers.clone() },
        };
        if consumer.is_some() && !segment.consumers.is_empty() {
            // A program need not know where to begin: its group does.
            let starts = cluster.end_offsets(spec.topic, spec.partitions)?;
            cluster.begin_group_at(spec.group, spec.topic, &starts)?;
        }
        let start = |command: &Option<DriverCommand>, role, count: usize| -> Result<Vec<_>, LoadError> {
            let Some(command) = command else { return Ok(Vec::new()) };
            let properties = properties(role, spec, &cluster.properties, command)?;
            let start = |_| {
                let mut link = Link::new(Program::start(command, role)?);
                link.introduce(&Introduction {
                    role,
                    topic: spec.topic,
                    group: spec.group,
                    properties: &properties,
                });
                Ok(Mutex::new(link))
            };
            (0..count).map(start).collect()
        };
        let producers = start(producer, Role::Producer, segment.producers.len())?;
        let consumers = start(consumer, Role::Consumer, segment.consumers.len())?;
        // How long a program takes to start is not how long a record takes to go round.
        for link in producers.iter().chain(&consumers) {
            let mut link = held(link);
            link.wait_until_ready(|| cluster.patience.is_over())?;
            let load = &spec.step.load;
            if !load.saturating() && load.in_flight.is_none() {
                link.need_not_hurry();
            }
        }
        let here = librdkafka::Clients::new(cluster, spec, &here)?;
        let acknowledged = is_acknowledged(&spec.step.producer);
        Ok(Clients { segment: segment.clone(), here, producers, consumers, acknowledged })
    }

    /// Produces until the block ends.
    pub(crate) fn produce(&self, job: ProducerJob<'_, '_>) -> ClientOutcome {
        match self.producers.get(job.index - self.segment.producers.start) {
            Some(link) => produce::produce(job, &mut held(link), self.acknowledged),
            None => self.here.produce(job),
        }
    }

    /// Consumes until the block ends.
    pub(crate) fn receive(&self, index: usize, shared: &Shared<'_>, seconds: Seconds<'_>) -> ClientOutcome {
        match self.consumers.get(index - self.segment.consumers.start) {
            Some(link) => consume::receive(index, shared, &mut held(link), seconds),
            None => self.here.receive(index, shared, seconds),
        }
    }

    /// The properties of both sides that are in effect, as far as the programs tell them.
    pub(crate) fn effective(&self) -> (Properties, Properties) {
        let (mut producer, mut consumer) = self.here.effective();
        let told = |links: &[Mutex<Link>]| links.first().map(|link| held(link).effective.clone());
        if let Some(told) = told(&self.producers) {
            producer = told;
        }
        if let Some(told) = told(&self.consumers) {
            consumer = told;
        }
        (producer, consumer)
    }

    /// What the programs said of themselves, and their pauses. Ends them.
    pub(crate) fn accounts(&self) -> Vec<ProgramAccount> {
        self.producers.iter().chain(&self.consumers).map(|link| held(link).account()).collect()
    }
}

/// True unless the properties say that brokers are not to answer. No client's default does.
fn is_acknowledged(properties: &Properties) -> bool {
    let acks = ["acks", "request.required.acks"].iter().find_map(|name| properties.get(*name));
    acks.is_none_or(|acks| acks.trim() != "0")
}

/// The thread that had it has ended.
fn held(link: &Mutex<Link>) -> MutexGuard<'_, Link> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The properties of the clients of one side: the connection's, and those of the step.
fn properties(
    role: Role,
    spec: &BlockSpec<'_>,
    security: &Properties,
    command: &DriverCommand,
) -> Result<Properties, LoadError> {
    let mut properties = match command.java {
        true => names::connection_for_java(security)?,
        false => security.clone(),
    };
    properties.insert("client.id".to_owned(), "plumb".to_owned());
    let own = match role {
        Role::Producer => &spec.step.producer,
        Role::Consumer => {
            properties.insert("group.id".to_owned(), spec.group.to_owned());
            properties.insert("auto.offset.reset".to_owned(), "earliest".to_owned());
            if command.java {
                // A question of its last moment would make the topic anew that was deleted meanwhile; librdkafka does not ask so.
                properties.insert("allow.auto.create.topics".to_owned(), "false".to_owned());
            }
            &spec.step.consumer
        }
    };
    properties.extend(own.clone());
    Ok(properties)
}

/// Refuses a step whose clients would not take what is asked.
pub(crate) fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    let Some(ExternalPlan { producer, consumer }) = &step.external else { return Ok(()) };
    let mut here = step.clone();
    let clients = [(PRODUCER, producer, &mut here.producer), (CONSUMER, consumer, &mut here.consumer)];
    for (role, program, own) in clients {
        if let ClientProgram::Java(_) = program {
            names::check(role, own).map_err(|error| error.of_role(role))?;
            names::connection_for_java(security)?;
        }
        if program.is_external() {
            own.clear();
        }
    }
    if producer.is_external() {
        // Its largest record is a matter between the program and the brokers.
        here.load.size = plumb_model::plan::SizePlan::Fixed(plumb_model::units::Bytes(1));
    }
    librdkafka::clients::check(&here, security)
}
