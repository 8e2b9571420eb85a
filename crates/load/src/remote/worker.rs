//! The worker's side: runs its part of each block that it is given, and tells how it goes.

use super::clocks::SenderClocks;
use super::messages::{BlockJob, Failure, FromWorker, Orders, PartDone, Progress, Reader, ToWorker, send};
use super::{Carrier, LinkLost};
use crate::block::crew::{Crew, Stage};
use crate::block::{Clients, effective_load};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::job::BlockSpec;
use crate::librdkafka::connect::{Cluster, connect};
use crate::observation::{Measure, Origin, SecondPart};
use crate::produce::Outstanding;
use crate::seconds::Parcel;
use crate::shared::Shared;
use plumb_model::plan::{Payload, Properties, StepPlan};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Longest time between a change here and its way to the block while that may wait for it.
const TICK: Duration = Duration::from_millis(10);
/// The same while messages go at their times, and nobody waits for anything.
const CALM_NS: u64 = 200_000_000;
/// The time before the start from which on it cannot be moved.
const RELEASE_NS: u64 = 100_000_000;
/// The time after a second's end at which its parts are sent: threads pass theirs on within it.
const SECOND_LATE_NS: u64 = 200_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The settings of a worker.
#[derive(Clone, Default)]
pub struct WorkerSettings {
    /// Connection properties of its own: they come before those that a block sends.
    pub properties: Properties,
    /// The time before a send at which sleeping stops, from its calibration.
    pub spin_ns: u64,
}

/// What a worker does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerTold {
    /// It takes part in a block: the topic, and its numbers of producers and consumers.
    BlockBegins {
        /// The topic.
        topic: String,
        /// Producers that are here.
        producers: usize,
        /// Consumers that are here.
        consumers: usize,
    },
    /// Its part of the block is over.
    BlockEnds,
    /// It cannot do its part: the error's words.
    Failed(String),
}

/// Takes part in blocks until the other side says goodbye.
///
/// # Errors
/// When the other side is gone, or `stop` was set.
pub fn serve(
    carrier: &dyn Carrier,
    settings: &WorkerSettings,
    stop: &Arc<AtomicBool>,
    told: &mut dyn FnMut(WorkerTold),
) -> Result<(), LinkLost> {
    let mut reader = Reader::default();
    let mut known: Option<KnownCluster> = None;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(LinkLost::failed("the worker was told to stop"));
        }
        let job = match reader.receive(carrier, Duration::from_millis(100)) {
            Ok(Some(ToWorker::Block(job))) => job,
            // The last words of a block that is over.
            Ok(Some(ToWorker::Orders(_)) | None) => continue,
            Err(lost) if lost.goodbye => return Ok(()),
            Err(lost) => return Err(lost),
        };
        let ended = KnownCluster::of(&job, settings, stop, known.take()).map(|cluster| {
            let cluster = known.insert(cluster);
            run_part(
                &job,
                &cluster.cluster,
                settings,
                &mut Channel { carrier, reader: &mut reader, stop, told },
            )
        });
        match ended {
            Ok(Ok(())) => told(WorkerTold::BlockEnds),
            Ok(Err(PartError::Link(lost))) => return Err(lost),
            Ok(Err(PartError::Load(error))) | Err(error) => {
                told(WorkerTold::Failed(error.to_string()));
                send(carrier, &FromWorker::Failed(Failure::of(&error)))?;
            }
        }
    }
}

/// A cluster that was connected to, and how.
struct KnownCluster {
    bootstrap: String,
    properties: Properties,
    cluster: Cluster,
}

impl KnownCluster {
    /// The cluster of a block: the last one, or another.
    fn of(
        job: &BlockJob,
        settings: &WorkerSettings,
        stop: &Arc<AtomicBool>,
        last: Option<KnownCluster>,
    ) -> Result<Self, LoadError> {
        let mut properties = job.security.clone();
        // The cluster's own list of brokers is not a property of the connection.
        properties.remove("bootstrap.servers");
        properties.extend(settings.properties.clone());
        if let Some(last) =
            last.filter(|last| last.bootstrap == job.bootstrap && last.properties == properties)
        {
            return Ok(last);
        }
        let cluster = connect(&job.bootstrap, &properties, stop)?;
        Ok(KnownCluster { bootstrap: job.bootstrap.clone(), properties, cluster })
    }
}

/// The end of a part before its time.
enum PartError {
    Link(LinkLost),
    Load(LoadError),
}

impl From<LinkLost> for PartError {
    fn from(lost: LinkLost) -> Self {
        PartError::Link(lost)
    }
}

impl From<LoadError> for PartError {
    fn from(error: LoadError) -> Self {
        PartError::Load(error)
    }
}

/// The ways in and out of a worker.
struct Channel<'c> {
    carrier: &'c dyn Carrier,
    reader: &'c mut Reader,
    stop: &'c AtomicBool,
    told: &'c mut dyn FnMut(WorkerTold),
}

/// Client properties that load a library of the host into the process.
const LOADS_LIBRARY: [&str; 3] = ["plugin.library.paths", "ssl.engine.location", "ssl.providers"];

/// Whoever has the run's key must not thereby have this host: what a run sends names no program code and no content of a file here. What the
/// worker's own properties say is its own matter.
///
/// # Errors
/// [`LoadError::NotOfWorker`] with what is refused.
pub fn check_sent(security: &Properties, step: &StepPlan) -> Result<(), LoadError> {
    if let Payload::File(file) = &step.load.payload {
        return Err(LoadError::NotOfWorker {
            what: format!("send the content of {file}, a file of its host"),
        });
    }
    let sent = [security, &step.producer, &step.consumer];
    let loading = LOADS_LIBRARY.iter().find(|name| sent.iter().any(|sent| sent.contains_key(**name)));
    match loading {
        Some(name) => Err(LoadError::NotOfWorker { what: format!("load a library ({name})") }),
        None => Ok(()),
    }
}

fn run_part(
    job: &BlockJob,
    cluster: &Cluster,
    settings: &WorkerSettings,
    channel: &mut Channel<'_>,
) -> Result<(), PartError> {
    let step = job.step()?;
    check_sent(&job.security, &step)?;
    let load = effective_load(&step.load);
    let Some(segment) = job.segments.get(job.place) else {
        return Err(LinkLost::failed("the block has no part for this worker").into());
    };
    (channel.told)(WorkerTold::BlockBegins {
        topic: job.topic.clone(),
        producers: segment.producers.len(),
        consumers: segment.consumers.len(),
    });
    let spec = BlockSpec {
        run: job.run,
        group: &job.group,
        step: &step,
        topic: &job.topic,
        partitions: job.starts.len(),
        share: job.share()?,
        seed: job.seed,
        spin_ns: settings.spin_ns,
        // The plan refuses them.
        programs: None,
    };
    let stop = AtomicBool::new(false);
    let shared = Shared::new(job.run, &load, &stop, &job.starts, false)
        .with_sender_clocks(SenderClocks::of(&job.segments));
    let clients = Clients::new(cluster, &spec, segment)?;
    let outstanding: Vec<Outstanding> = segment.producers.clone().map(|_| Outstanding::default()).collect();
    let (out, parcels) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let _end = shared.end_on_drop();
        let _follower = clients.follow_cluster()?;
        let stage =
            Stage { spec: &spec, segment, clients: &clients, shared: &shared, outstanding: &outstanding };
        let crew = Crew::start(scope, stage, &out)?;
        drop(out);
        let mut part = RunningPart {
            stage,
            stop: &stop,
            crew,
            parcels,
            gathered: Vec::new(),
            last: Progress::default(),
            told_ns: 0,
            start_ns: None,
            is_released: false,
            orders: Orders::default(),
            cpu: CpuOfMeasuredPart::default(),
        };
        part.run(channel)
    })
}

/// CPU time of this process.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * SECOND_NS + time.tv_nsec.unsigned_abs()
}

/// A worker's part of a block while it runs.
struct RunningPart<'scope> {
    stage: Stage<'scope>,
    stop: &'scope AtomicBool,
    crew: Crew<'scope>,
    parcels: Receiver<Parcel>,
    /// Parts of seconds that are not sent yet, of all threads together.
    gathered: Vec<SecondPart>,
    last: Progress,
    told_ns: u64,
    /// The start that was confirmed.
    start_ns: Option<u64>,
    /// The senders have been told the start: it cannot be moved.
    is_released: bool,
    orders: Orders,
    cpu: CpuOfMeasuredPart,
}

/// CPU time of this process at the ends of the block's measured part, to a tick.
#[derive(Debug, Default)]
struct CpuOfMeasuredPart {
    at_begin_ns: Option<u64>,
    at_end_ns: Option<u64>,
}

impl CpuOfMeasuredPart {
    fn look(&mut self, orders: &Orders) {
        if orders.measured_from_ns.is_some_and(|from_ns| now_ns() >= from_ns) {
            self.at_begin_ns.get_or_insert_with(cpu_ns);
        }
        if self.at_begin_ns.is_some() && orders.measured_to_ns.is_some() {
            self.at_end_ns.get_or_insert_with(cpu_ns);
        }
    }

    fn spent_ns(&self) -> Option<u64> {
        Some(self.at_end_ns?.saturating_sub(self.at_begin_ns?))
    }
}

impl RunningPart<'_> {
    fn run(&mut self, channel: &mut Channel<'_>) -> Result<(), PartError> {
        let carrier = channel.carrier;
        let mut producers_ended = false;
        loop {
            if channel.stop.load(Ordering::Relaxed) {
                return Err(LinkLost::failed("the worker was told to stop").into());
            }
            if let Some(error) = self.stage.shared.failure() {
                return Err(error.into());
            }
            match channel.reader.receive(carrier, TICK)? {
                Some(ToWorker::Orders(orders)) => self.obey(orders),
                Some(ToWorker::Block(_)) => {
                    return Err(LinkLost::failed("a block began before the last one ended").into());
                }
                None => {}
            }
            self.release();
            self.cpu.look(&self.orders);
            self.gather();
            self.tell(carrier)?;
            if self.orders.finish_producers && !producers_ended {
                producers_ended = true;
                let outcomes = self.crew.join_producers()?;
                self.tell_now(carrier)?;
                send(carrier, &FromWorker::Producers(outcomes))?;
            }
            if self.orders.finish {
                return self.end(carrier);
            }
            self.send_seconds(carrier, now_ns().saturating_sub(SECOND_LATE_NS))?;
        }
    }

    fn end(&mut self, carrier: &dyn Carrier) -> Result<(), PartError> {
        let consumers = self.crew.join_consumers()?;
        self.gather();
        self.send_seconds(carrier, u64::MAX)?;
        let (producer_properties, consumer_properties) = self.stage.clients.effective();
        let cpu_ns = self.cpu.spent_ns();
        let done = PartDone { consumers, producer_properties, consumer_properties, cpu_ns };
        Ok(send(carrier, &FromWorker::Consumers(Box::new(done)))?)
    }

    /// Takes over the block's state.
    fn obey(&mut self, orders: Orders) {
        let shared = self.stage.shared;
        shared.sender_clocks().set(&orders.clocks);
        for (partition, position) in (0..).zip(&orders.positions) {
            shared.reached(partition, *position);
        }
        if orders.hold != self.orders.hold {
            if orders.hold { shared.hold_consumers() } else { shared.release_consumers() }
        }
        if orders.start_ns != self.start_ns && !self.is_released {
            self.start_ns = orders.start_ns;
            shared.begin(orders.start_ns.unwrap_or(u64::MAX));
        }
        shared.measure_from(orders.measured_from_ns.unwrap_or(u64::MAX));
        shared.measured_part_ends(orders.measured_to_ns.unwrap_or(u64::MAX));
        shared.send_until(orders.send_until_ns.unwrap_or(u64::MAX));
        self.stop.store(orders.stop, Ordering::Relaxed);
        if orders.finish_producers {
            shared.finish_producers();
        }
        if orders.finish {
            shared.finish();
        }
        self.orders = orders;
    }

    /// Tells the senders the start once it is near.
    fn release(&mut self) {
        if let Some(start_ns) = self.start_ns.filter(|_| !self.is_released)
            && now_ns().saturating_add(RELEASE_NS) >= start_ns
        {
            self.is_released = true;
            self.crew.begin(start_ns);
        }
    }

    /// True while messages go at their times, and the block waits for nothing that is told.
    fn is_calm(&self) -> bool {
        let shared = self.stage.shared;
        let sends_at_times = !shared.saturating && !self.orders.hold && self.orders.measured_to_ns.is_none();
        let senders = self.stage.segment.producers.len();
        self.is_released && sends_at_times && senders > 0 && shared.senders_done() < senders
    }

    /// Tells how it goes where that has changed.
    fn tell(&mut self, carrier: &dyn Carrier) -> Result<(), LinkLost> {
        let is_due = !self.is_calm() || now_ns() >= self.told_ns + CALM_NS;
        if is_due { self.tell_now(carrier) } else { Ok(()) }
    }

    fn tell_now(&mut self, carrier: &dyn Carrier) -> Result<(), LinkLost> {
        let outstanding = || self.stage.outstanding.iter().map(Outstanding::count).sum();
        let mut progress = Progress::of(self.stage.shared, self.stage.segment, outstanding);
        progress.armed_for_ns = self.start_ns;
        if progress != self.last {
            send(carrier, &FromWorker::Progress(progress.clone()))?;
            self.last = progress;
            self.told_ns = now_ns();
        }
        Ok(())
    }

    /// Puts together what the threads passed on: one part for each second, measure and origin.
    fn gather(&mut self) {
        for parcel in self.parcels.try_iter() {
            let key = Key::of(&parcel.part);
            match self.gathered.iter_mut().find(|part| Key::of(part) == key) {
                Some(part) => {
                    part.absorb(&parcel.part);
                    parcel.give_back();
                }
                None => self.gathered.push(parcel.keep()),
            }
        }
    }

    /// Sends the parts of the seconds that were over at a time.
    fn send_seconds(&mut self, carrier: &dyn Carrier, until_ns: u64) -> Result<(), LinkLost> {
        let start_ns = self.start_ns.unwrap_or(u64::MAX);
        let is_over = |part: &mut SecondPart| {
            start_ns.saturating_add((u64::from(part.second) + 1) * SECOND_NS) <= until_ns
        };
        let over: Vec<_> = self.gathered.extract_if(.., is_over).map(|part| part.to_send()).collect();
        if over.is_empty() { Ok(()) } else { send(carrier, &FromWorker::Seconds(over)) }
    }
}

/// What parts of a second have in common that are put together.
#[derive(PartialEq, Eq)]
struct Key {
    second: u32,
    warm_up: bool,
    measure: Measure,
    origin: Option<Origin>,
}

impl Key {
    fn of(part: &SecondPart) -> Self {
        Key { second: part.second, warm_up: part.warm_up, measure: part.measure, origin: part.origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::sample::step;

    #[test]
    fn what_reads_a_file_of_the_host_or_loads_code_of_it_is_refused_wherever_a_run_says_it() {
        let none = Properties::new();
        check_sent(&none, &step()).unwrap();
        let mut of_file = step();
        of_file.load.payload = Payload::File("/etc/shadow".to_owned());
        let refused = check_sent(&none, &of_file).unwrap_err().to_string();
        assert!(refused.contains("/etc/shadow"), "{refused}");
        for name in LOADS_LIBRARY {
            let properties = Properties::from([(name.to_owned(), "x".to_owned())]);
            let (mut producer, mut consumer) = (step(), step());
            (producer.producer, consumer.consumer) = (properties.clone(), properties.clone());
            for (security, step) in [(&properties, &step()), (&none, &producer), (&none, &consumer)] {
                let refused = check_sent(security, step).unwrap_err().to_string();
                assert!(refused.contains(name), "{refused}");
            }
        }
    }
}
