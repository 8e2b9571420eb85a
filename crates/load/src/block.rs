//! Runs one block of a step: fresh clients, every partition probed, the schedule sent, every message followed.
//!
//! Threads: one or two for each producer, one for each consumer, beside a client library's own. The caller's thread does
//! the bookkeeping and feeds the sink. Which driver is at work is known to [`Clients`] only.

mod outcome;
mod phases;

pub use crate::job::BlockSpec;
pub use outcome::BlockOutcome;
use outcome::LogEnds;

use crate::client_outcome::{self, ClientOutcome};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::job::{ClientCounts, MessageContents, ProducerJob};
use crate::keys::KeySource;
use crate::librdkafka;
use crate::librdkafka::connect::Cluster;
use crate::observation::{Measure, Observation, Sink};
use crate::pace::Pace;
use crate::payload::{PayloadSource, read_payload_file};
use crate::produce::{Course, Outstanding, Saturating};
use crate::random::Random;
use crate::schedule::{Due, due_times};
use crate::seconds::{Parcel, Seconds};
use crate::shared::Shared;
use crate::wire::{self, LeaderEnds, Logs};
use phases::Phases;
use plumb_model::plan::{Driver, LoadPlan, Mode, Payload, Properties, StepPlan};
use plumb_model::units::Nanos;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Time between the last preparation and the first send.
const LEAD_NS: u64 = 5_000_000;

/// Part of the block's random numbers that no producer has.
const PART_OF_WATCH: u64 = u64::MAX;

/// The clients of a block, of either driver.
enum Clients {
    Librdkafka(librdkafka::Clients),
    Wire(Box<wire::Clients>),
}

impl Clients {
    fn new(cluster: &Cluster, spec: &BlockSpec<'_>, counts: ClientCounts) -> Result<Self, LoadError> {
        match spec.step.driver {
            Driver::Librdkafka => librdkafka::Clients::new(cluster, spec, counts).map(Clients::Librdkafka),
            Driver::Wire => wire::Clients::new(cluster, spec).map(|clients| Clients::Wire(Box::new(clients))),
        }
    }

    fn produce(&self, job: ProducerJob<'_, '_>) -> ClientOutcome {
        match self {
            Clients::Librdkafka(clients) => clients.produce(job),
            Clients::Wire(clients) => clients.produce(job),
        }
    }

    fn receive(&self, index: usize, shared: &Shared<'_>, seconds: Seconds<'_>) -> ClientOutcome {
        match self {
            Clients::Librdkafka(clients) => clients.receive(index, shared, seconds),
            Clients::Wire(clients) => clients.receive(index, shared, seconds),
        }
    }

    /// Follows changes of leaders until the guard goes, where the driver has to do that itself.
    fn follow_cluster(&self) -> Result<impl Drop + use<'_>, LoadError> {
        struct End<'c>(&'c Clients);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                if let Clients::Wire(clients) = self.0 {
                    clients.end();
                }
            }
        }
        // Before anything that can fail: a thread that follows must also be told to end.
        let end = End(self);
        if let Clients::Wire(clients) = self {
            clients.follow_cluster()?;
        }
        Ok(end)
    }

    fn effective(&self) -> (Properties, Properties) {
        match self {
            Clients::Librdkafka(clients) => clients.effective(),
            Clients::Wire(clients) => clients.effective(),
        }
    }
}

/// Runs a block. `stop` ends the sending early; what was measured until then is returned.
pub fn run(
    cluster: &Cluster,
    spec: &BlockSpec<'_>,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<BlockOutcome, LoadError> {
    let load = &effective_load(&spec.step.load);
    // A topic of the user's that is to be read is read as it is.
    let as_it_is = spec.step.reads_as_it_is();
    let begin_offsets = || cluster.begin_offsets(spec.topic, spec.partitions);
    let starts_from = begin_offsets()?;
    let starts = match as_it_is {
        true => starts_from.clone(),
        false => cluster.end_offsets(spec.topic, spec.partitions)?,
    };
    let logs = Logs { cluster, topic: spec.topic, partitions: spec.partitions };
    let ask_leaders = || (!as_it_is).then(|| LeaderEnds::ask(logs)).flatten();
    let leaders_from = ask_leaders();
    // A single replica is never behind itself.
    let is_replicated = || cluster.topic_shape(spec.topic).is_ok_and(|shape| shape.replication > 1);
    let watches_replication = leaders_from.is_some() && is_replicated();
    let producers = if as_it_is { 0 } else { load.producers as usize };
    let consumers = load.consumers as usize;
    let shared = Shared::new(spec.run, load, stop, &starts, as_it_is);
    let clients = Clients::new(cluster, spec, ClientCounts { producers, consumers })?;
    let outstanding: Vec<Outstanding> = (0..producers).map(|_| Outstanding::default()).collect();
    let (out, parcels) = std::sync::mpsc::channel::<Parcel>();
    let mut outcome = std::thread::scope(|scope| {
        // Whatever happens in here, the threads are told to end before the scope waits for them.
        let _end = shared.end_on_drop();
        let _follower = clients.follow_cluster()?;
        let started_ns = now_ns();
        let mut receivers = Vec::new();
        for index in 0..consumers {
            let seconds = Seconds::new(Measure::EndToEnd, shared.clock_start(), out.clone());
            let (shared, clients) = (&shared, &clients);
            let receive = move || clients.receive(index, shared, seconds);
            receivers.push(spawn(scope, format!("plumb-recv-{index}"), receive)?);
        }
        let mut senders = Vec::new();
        let mut starters = Vec::new();
        for (index, outstanding) in outstanding.iter().enumerate() {
            let (begin, begun) = std::sync::mpsc::channel::<u64>();
            let seconds = |measure| Seconds::new(measure, shared.clock_start(), out.clone());
            let contents = contents(load, spec.seed, index)?;
            let job = ProducerJob {
                index,
                shared: &shared,
                outstanding,
                topic: spec.topic,
                probes: if index == 0 { 0..i32::try_from(spec.partitions).unwrap_or(i32::MAX) } else { 0..0 },
                contents,
                course: course(load, spec, index, producers),
                pace: Pace::new(spec.spin_ns, load.rate_per_s.unwrap_or(f64::INFINITY) / producers as f64),
                begun,
                slips: seconds(Measure::Slip),
                acks: seconds(Measure::Acknowledge),
            };
            let clients = &clients;
            senders.push(spawn(scope, format!("plumb-send-{index}"), move || clients.produce(job))?);
            starters.push(begin);
        }
        drop(out);
        let (watched, over) = std::sync::mpsc::channel();
        let mut watches = Vec::new();
        if watches_replication {
            let (shared, random) = (&shared, Random::for_part(spec.seed, PART_OF_WATCH));
            watches.push(spawn(scope, "plumb-followers".to_owned(), move || {
                wire::watch(logs, shared, random, &over)
            })?);
        }
        let mut phases = Phases {
            cluster,
            spec,
            shared: &shared,
            outstanding: &outstanding,
            starts: &starts,
            released_ns: None,
            caught_up_ns: None,
            fixed_ends: None,
            second: 0,
        };
        phases.wait_until_ready(started_ns)?;
        phases.hold_consumers();
        let at = now_ns() + LEAD_NS;
        phases.begin(at);
        for starter in &starters {
            // A sender that is gone is seen below, when it is joined.
            let _ = starter.send(at);
        }
        sink.observe(Observation::ScheduleBegins);
        phases.follow(&senders, &parcels, sink);
        let mut ends = phases.drain(&parcels, sink);
        // Measured records may wait for followers until now.
        drop::<Sender<()>>(watched);
        let (drain_ns, cut_off) = (phases.drain_ns(), phases.is_under_way());
        shared.finish_producers();
        let mut done: Vec<ClientOutcome> = join_all(senders)?;
        if cut_off {
            // Reports came until the threads ended, after the log was looked at; what they acknowledged last is not lost
            // because nobody waited for it.
            ends = phases.catch_up(&parcels, sink).or(ends);
        }
        shared.finish();
        done.extend(join_all(receivers)?);
        for parcel in parcels.iter() {
            phases::pass_on(parcel, sink);
        }
        let replication_lag = join_all(watches)?.into_iter().flatten().next();
        let leaders_to = ask_leaders();
        let ends = LogEnds {
            readable_from: starts.clone(),
            readable_to: ends,
            leaders_from,
            leaders_to,
            starts_from: Some(starts_from),
            starts_to: begin_offsets().ok(),
            compacted: consumers > 0 && is_compacted(cluster, spec.topic),
        };
        let mut outcome = outcome::outcome(&shared, &ends, client_outcome::merge(done));
        outcome.drain_ns = drain_ns;
        outcome.replication_lag = replication_lag;
        Ok::<_, LoadError>(outcome)
    })?;
    (outcome.producer_properties, outcome.consumer_properties) = clients.effective();
    Ok(outcome)
}

/// True if older records of a key may be removed from a topic's logs, as far as the cluster tells.
fn is_compacted(cluster: &Cluster, topic: &str) -> bool {
    cluster.topic_configs(topic).get("cleanup.policy").is_some_and(|policy| policy.contains("compact"))
}

/// Refuses a step whose properties the driver does not take, or whose payload file is not there, before anything is made
/// for it. `security` are the connection's properties.
pub fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    if let Payload::File(path) = &step.load.payload {
        read_payload_file(path)?;
    }
    match step.driver {
        Driver::Librdkafka => librdkafka::clients::check(step, security),
        Driver::Wire => wire::check(step, security),
    }
}

/// The load of a block: a backlog at a rate is a warm-up that lasts longer, and a topic that is filled needs none.
fn effective_load(load: &LoadPlan) -> LoadPlan {
    let mut load = load.clone();
    match (load.mode, load.rate_per_s) {
        (Mode::Backlog(bytes), Some(rate)) => {
            let build_s = bytes.0 as f64 / (rate * load.size.mean());
            load.warm_up = Nanos(load.warm_up.0.saturating_add((build_s * 1e9) as u64));
        }
        (Mode::Consume, _) => load.warm_up = Nanos(0),
        _ => {}
    }
    load
}

/// Keys and values of one producer, each from a stream of its own.
fn contents(load: &LoadPlan, seed: u64, index: usize) -> Result<MessageContents, LoadError> {
    let part = index as u64 * 2;
    let keys = KeySource::new(load.keys, Random::for_part(seed, part));
    Ok(MessageContents { keys, payloads: PayloadSource::new(load, Random::for_part(seed, part + 1))? })
}

/// The times at which the messages of one of so many `producers` are due.
fn course(
    load: &LoadPlan,
    spec: &BlockSpec<'_>,
    index: usize,
    producers: usize,
) -> Course<Box<dyn Iterator<Item = Due> + Send>> {
    if load.saturating() {
        return Course::Saturating(Saturating::new(load.warm_up.0, spec.share));
    }
    Course::Scheduled(Box::new(due_times(load, spec.share, spec.seed).skip(index).step_by(producers)))
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, LoadError> {
    Builder::new()
        .name(name)
        .spawn_scoped(scope, work)
        .map_err(|error| LoadError::Thread { reason: error.to_string() })
}

fn join_all<T>(threads: Vec<ScopedJoinHandle<'_, T>>) -> Result<Vec<T>, LoadError> {
    threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| LoadError::Thread { reason: "a thread panicked".to_owned() }))
        .collect()
}
