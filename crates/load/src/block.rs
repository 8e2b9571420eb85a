//! Runs one block of a step: fresh clients, every partition probed, the schedule sent, every message followed.
//!
//! Threads: one or two for each producer, one for each consumer, beside a client library's own. The caller's thread does
//! the bookkeeping and feeds the sink. Which driver is at work is known to [`Clients`] only.

pub(crate) mod crew;
mod outcome;
mod phases;

pub use crate::job::BlockSpec;
pub use outcome::BlockOutcome;
use outcome::LogEnds;

use crate::client_outcome::{self, ClientOutcome};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::external;
use crate::job::ProducerJob;
use crate::librdkafka;
use crate::librdkafka::connect::Cluster;
use crate::observation::{Observation, Sink};
use crate::payload::read_payload_file;
use crate::produce::Outstanding;
use crate::random::Random;
use crate::remote::{BlockJob, RemoteCrews, WorkerLink, check_sent};
use crate::seconds::{Parcel, Seconds};
use crate::segment::Segment;
use crate::shared::Shared;
use crate::wire::{self, LeaderEnds, Logs};
use crew::{Crew, Stage};
use phases::{Phases, SendersAtWork};
use plumb_model::observation::ProgramAccount;
use plumb_model::plan::{Driver, LoadPlan, Mode, Payload, Properties, StepPlan};
use plumb_model::units::Nanos;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

/// Time between the last preparation and the first send.
const LEAD_NS: u64 = 5_000_000;

/// Part of the block's random numbers that no producer has.
const PART_OF_WATCH: u64 = u64::MAX;

/// The clients of a block, of either driver.
pub(crate) enum Clients {
    Librdkafka(librdkafka::Clients),
    Wire(Box<wire::Clients>),
    External(Box<external::Clients>),
}

impl Clients {
    pub(crate) fn new(cluster: &Cluster, spec: &BlockSpec<'_>, segment: &Segment) -> Result<Self, LoadError> {
        match spec.step.driver {
            Driver::Librdkafka => librdkafka::Clients::new(cluster, spec, segment).map(Clients::Librdkafka),
            Driver::Wire => wire::Clients::new(cluster, spec).map(|clients| Clients::Wire(Box::new(clients))),
            Driver::External => external::Clients::new(cluster, spec, segment)
                .map(|clients| Clients::External(Box::new(clients))),
        }
    }

    pub(crate) fn produce(&self, job: ProducerJob<'_, '_>) -> ClientOutcome {
        match self {
            Clients::Librdkafka(clients) => clients.produce(job),
            Clients::Wire(clients) => clients.produce(job),
            Clients::External(clients) => clients.produce(job),
        }
    }

    pub(crate) fn receive(&self, index: usize, shared: &Shared<'_>, seconds: Seconds<'_>) -> ClientOutcome {
        match self {
            Clients::Librdkafka(clients) => clients.receive(index, shared, seconds),
            Clients::Wire(clients) => clients.receive(index, shared, seconds),
            Clients::External(clients) => clients.receive(index, shared, seconds),
        }
    }

    /// Follows changes of leaders until the guard goes, where the driver has to do that itself.
    pub(crate) fn follow_cluster(&self) -> Result<impl Drop + use<'_>, LoadError> {
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

    pub(crate) fn effective(&self) -> (Properties, Properties) {
        match self {
            Clients::Librdkafka(clients) => clients.effective(),
            Clients::Wire(clients) => clients.effective(),
            Clients::External(clients) => clients.effective(),
        }
    }

    /// What clients that are programs of their own said of themselves; they have ended then.
    pub(crate) fn programs(&self) -> Vec<ProgramAccount> {
        match self {
            Clients::External(clients) => clients.accounts(),
            Clients::Librdkafka(_) | Clients::Wire(_) => Vec::new(),
        }
    }
}

/// Runs a block with clients in this process. `stop` ends the sending early; what was measured until then is returned.
pub fn run(
    cluster: &Cluster,
    spec: &BlockSpec<'_>,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<BlockOutcome, LoadError> {
    run_with(&[], cluster, spec, stop, sink)
}

/// Runs a block with clients that are these workers', or this process's where there is none.
pub fn run_with(
    workers: &[Box<dyn WorkerLink>],
    cluster: &Cluster,
    spec: &BlockSpec<'_>,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<BlockOutcome, LoadError> {
    let load = &effective_load(&spec.step.load);
    // A topic of the user's that is to be read is read as it is.
    let as_it_is = spec.step.reads_as_it_is();
    if as_it_is && !workers.is_empty() {
        return Err(LoadError::OneProcess { what: "a topic of yours that is read as it is".to_owned() });
    }
    let begin_offsets = || cluster.begin_offsets(spec.topic, spec.partitions);
    cluster.patience.anew();
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
    let shared = Shared::new(spec.run, load, stop, &starts, as_it_is);
    let segment = match workers {
        [] => Segment::whole(producers, load.consumers as usize),
        _ => Segment::whole(0, 0),
    };
    let clients = Clients::new(cluster, spec, &segment)?;
    // One for each of this process's producers, or for each worker.
    let outstanding: Vec<Outstanding> =
        (0..segment.producers.len().max(workers.len())).map(|_| Outstanding::default()).collect();
    let crews = RemoteCrews::new(workers, &shared, &outstanding);
    let (out, parcels) = std::sync::mpsc::channel::<Parcel>();
    let mut outcome = std::thread::scope(|scope| {
        // Whatever happens in here, the threads are told to end before the scope waits for them.
        let _end = shared.end_on_drop();
        let _follower = clients.follow_cluster()?;
        let started_ns = now_ns();
        let stage =
            Stage { spec, segment: &segment, clients: &clients, shared: &shared, outstanding: &outstanding };
        let mut crew = Crew::start(scope, stage, &out)?;
        crews.start(scope, &BlockJob::new(spec, cluster, &starts), &out)?;
        drop(out);
        let (watched, over) = std::sync::mpsc::channel();
        let mut watches = Vec::new();
        if watches_replication {
            let (shared, random) = (&shared, Random::for_part(spec.seed, PART_OF_WATCH));
            watches.push(crew::spawn(scope, "plumb-followers".to_owned(), move || {
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
            heard: (0, now_ns()),
        };
        phases.wait_until_ready(started_ns)?;
        phases.hold_consumers();
        let at = crews.agree_on_start(|at| phases.begin(at), now_ns() + LEAD_NS)?;
        crew.begin(at);
        sink.observe(Observation::ScheduleBegins);
        let senders = SendersAtWork { producers, a_sender_is_lost: &|| crew.has_lost_a_sender() };
        phases.follow(senders, &parcels, sink);
        let mut ends = phases.drain(&parcels, sink);
        // Measured records may wait for followers until now.
        drop::<Sender<()>>(watched);
        let (drain_ns, cut_off) = (phases.drain_ns(), phases.is_under_way());
        shared.finish_producers();
        let mut done = crew.join_producers()?;
        done.extend(crews.join_producers());
        if cut_off {
            // Reports came until the threads ended, after the log was looked at; what they acknowledged last is not lost
            // because nobody waited for it.
            ends = phases.catch_up(&parcels, sink).or(ends);
        }
        shared.finish();
        done.extend(crew.join_consumers()?);
        done.extend(crews.join_consumers());
        for parcel in parcels.iter() {
            phases::pass_on(parcel, sink);
        }
        if let Some(error) = shared.ended_by() {
            return Err(error);
        }
        let replication_lag = crew::join_all(watches)?.into_iter().flatten().next();
        let leaders_to = ask_leaders();
        let ends = LogEnds {
            readable_from: starts.clone(),
            readable_to: ends,
            leaders_from,
            leaders_to,
            starts_from: Some(starts_from),
            starts_to: begin_offsets().ok(),
            compacted: load.consumers > 0 && is_compacted(cluster, spec.topic),
        };
        let probes = starts.len() * crews.number_with_producers().unwrap_or(1);
        let mut outcome = outcome::outcome(&shared, &ends, client_outcome::merge(done), probes);
        outcome.drain_ns = drain_ns;
        outcome.replication_lag = replication_lag;
        Ok::<_, LoadError>(outcome)
    })?;
    (outcome.producer_properties, outcome.consumer_properties) = clients.effective();
    outcome.programs = clients.programs();
    crews.complete(&mut outcome);
    Ok(outcome)
}

/// True if older records of a key may be removed from a topic's logs, as far as the cluster tells.
fn is_compacted(cluster: &Cluster, topic: &str) -> bool {
    cluster.topic_configs(topic).get("cleanup.policy").is_some_and(|policy| policy.contains("compact"))
}

/// Refuses a step whose properties the driver does not take, whose payload file is not there, or which its workers would refuse, before
/// anything is made for it. `security` are the connection's properties.
pub fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    if step.load.workers > 0 {
        check_sent(security, step)?;
    }
    if let Payload::File(path) = &step.load.payload {
        read_payload_file(path)?;
    }
    match step.driver {
        Driver::Librdkafka => librdkafka::clients::check(step, security),
        Driver::Wire => wire::check(step, security),
        Driver::External => external::check(step, security),
    }
}

/// The load of a block: a backlog at a rate is a warm-up that lasts longer, and a topic that is filled needs none.
pub(crate) fn effective_load(load: &LoadPlan) -> LoadPlan {
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
