//! The leaders of the partitions, kept up to date on a thread of its own, and connections opened beside the event loops: an event
//! loop never waits for anything but its sockets and its clock.

use plumb_wire::connection::{Connection, Transport};
use plumb_wire::control::{End, ProducerId, init_producer_id, list_offsets};
use plumb_wire::error::WireError;
use plumb_wire::metadata::metadata;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for one answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Pause between two questions while an answer is no help; a leader election takes about a second.
const PAUSE: Duration = Duration::from_millis(50);

/// The leaders as last heard.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaders {
    /// Rises with every answer.
    pub(super) version: u64,
    /// Node id of each partition's leader; none while it has none.
    pub(super) of_partition: Vec<Option<i32>>,
    /// The address of each broker, by its id.
    pub(super) brokers: BTreeMap<i32, BrokerAddress>,
}

/// The address of a broker's listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokerAddress {
    pub(super) host: String,
    pub(super) port: u16,
}

/// The cluster as the clients of one block see it.
#[derive(Debug)]
pub(super) struct ClusterView {
    transport: Transport,
    bootstrap: Vec<BrokerAddress>,
    /// Longest wait for a connection, and for one answer.
    answer: Duration,
    topic: String,
    partitions: usize,
    leaders: Mutex<Arc<Leaders>>,
    version: AtomicU64,
    /// Someone needs a newer answer.
    wanted: Mutex<bool>,
    woken: Condvar,
    ended: AtomicBool,
}

impl ClusterView {
    /// Asks the cluster for the first time; `bootstrap` is tried in order.
    pub(super) fn new(
        transport: Transport,
        bootstrap: Vec<BrokerAddress>,
        topic: &str,
        partitions: usize,
        answer: Duration,
    ) -> Result<Self, WireError> {
        let view = ClusterView::unasked(transport, bootstrap, topic, partitions, answer);
        let mut connection = view.connect()?;
        if !view.ask(&mut connection)? {
            // A broker of several may hear of a new topic later than its leaders.
            view.ask_again();
        }
        Ok(view)
    }

    /// The same before anybody was asked: no partition has a leader.
    fn unasked(
        transport: Transport,
        bootstrap: Vec<BrokerAddress>,
        topic: &str,
        partitions: usize,
        answer: Duration,
    ) -> Self {
        ClusterView {
            transport,
            bootstrap,
            answer,
            topic: topic.to_owned(),
            partitions,
            leaders: Mutex::default(),
            version: AtomicU64::new(0),
            wanted: Mutex::new(false),
            woken: Condvar::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// The leaders as last heard.
    pub(super) fn leaders(&self) -> Arc<Leaders> {
        Arc::clone(&self.leaders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Number of the last answer: cheap to look at.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Says that the known leaders are out of date, so that they are asked again.
    pub(super) fn ask_again(&self) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_one();
    }

    /// Answers [`ClusterView::ask_again`] on a thread of its own until [`ClusterView::end`]. Nobody has to wait for the thread: it
    /// may be in a question to a broker that is gone, which has a deadline.
    pub(super) fn follow(self: &Arc<Self>) -> std::io::Result<()> {
        let view = Arc::clone(self);
        std::thread::Builder::new().name("plumb-meta".to_owned()).spawn(move || view.keep_up_to_date())?;
        Ok(())
    }

    fn keep_up_to_date(&self) {
        let mut connection: Option<Connection> = None;
        while self.wait_until_wanted() {
            let answer = match connection.as_mut() {
                Some(connection) => self.ask(connection),
                None => self.connect().and_then(|mut fresh| {
                    let answer = self.ask(&mut fresh);
                    connection = Some(fresh);
                    answer
                }),
            };
            match answer {
                // Not everything has a leader yet: ask again by and by.
                Ok(complete) => {
                    if !complete {
                        self.ask_again();
                    }
                }
                Err(_) => {
                    connection = None;
                    self.ask_again();
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends [`ClusterView::follow`].
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.woken.notify_one();
    }

    /// A producer id for an idempotent producer. Waits, and asks another broker when one goes away meanwhile.
    pub(super) fn producer_id(&self) -> Result<ProducerId, WireError> {
        let until = Instant::now() + self.answer;
        loop {
            let answer = self.connect().and_then(|mut connection| init_producer_id(&mut connection, until));
            match answer {
                Err(error) if may_pass(&error) && Instant::now() < until => std::thread::sleep(PAUSE),
                other => return other,
            }
        }
    }

    /// Begins to open a connection to a broker.
    pub(super) fn open(&self, broker: i32) -> Opening {
        let address = self.leaders().brokers.get(&broker).cloned();
        let transport = self.transport.clone();
        let (tell, told) = std::sync::mpsc::channel();
        let Some(BrokerAddress { host, port }) = address else { return Opening { told } };
        // The thread ends with its attempt, which has a deadline; nobody has to wait for it.
        let _ = std::thread::Builder::new().name("plumb-open".to_owned()).spawn(move || {
            let _ = tell.send(transport.open(&host, port));
        });
        Opening { told }
    }

    /// Begins to ask a partition's leader for the begin of its log: the refusal of an offset that is gone does not tell it.
    /// Nothing comes of it where the leader is not known or does not answer.
    pub(super) fn ask_log_start(&self, partition: i32) -> Receiver<i64> {
        let (tell, told) = std::sync::mpsc::channel();
        let leaders = self.leaders();
        let leader = usize::try_from(partition).ok().and_then(|at| *leaders.of_partition.get(at)?);
        let address = leader.and_then(|id| leaders.brokers.get(&id)).cloned();
        let Some(BrokerAddress { host, port }) = address else { return told };
        let (transport, topic, answer) = (self.transport.clone(), self.topic.clone(), self.answer);
        // As for a connection: the thread ends with its attempt.
        let _ = std::thread::Builder::new().name("plumb-start".to_owned()).spawn(move || {
            let Ok(mut connection) = transport.open_within(&host, port, answer) else { return };
            let until = Instant::now() + answer;
            let asked = list_offsets(&mut connection, &topic, &[partition], End::Earliest, until);
            if let Ok([start]) = asked.as_deref()
                && start.error.is_ok()
            {
                let _ = tell.send(start.offset);
            }
        });
        told
    }

    fn wait_until_wanted(&self) -> bool {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        while !*wanted && !self.ended.load(Ordering::Acquire) {
            let waited = self.woken.wait_timeout(wanted, Duration::from_millis(200));
            wanted = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *wanted = false;
        !self.ended.load(Ordering::Acquire)
    }

    /// A connection to any broker: those known last, then those of the bootstrap.
    fn connect(&self) -> Result<Connection, WireError> {
        let known = self.leaders().brokers.values().cloned().collect::<Vec<_>>();
        let mut last = None;
        for BrokerAddress { host, port } in known.iter().chain(&self.bootstrap) {
            match self.transport.open_within(host, *port, self.answer) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| WireError::Settings {
            what: "bootstrap.servers".to_owned(),
            problem: "expected host:port, got none".to_owned(),
        }))
    }

    /// Asks, and keeps the answer; whether every partition has a leader.
    fn ask(&self, connection: &mut Connection) -> Result<bool, WireError> {
        let answer = metadata(connection, &self.topic, Instant::now() + self.answer)?;
        let mut of_partition = vec![None; self.partitions];
        for partition in &answer.partitions {
            let place = usize::try_from(partition.index).ok().and_then(|at| of_partition.get_mut(at));
            if let Some(place) = place {
                *place = partition.leader;
            }
        }
        let brokers = answer.brokers.into_iter();
        let brokers = brokers.map(|it| (it.id, BrokerAddress { host: it.host, port: it.port }));
        let complete = of_partition.iter().all(Option::is_some);
        let mut leaders = self.leaders.lock().unwrap_or_else(PoisonError::into_inner);
        let version = leaders.version + 1;
        *leaders = Arc::new(Leaders { version, of_partition, brokers: brokers.collect() });
        self.version.store(version, Ordering::Release);
        Ok(complete)
    }
}

#[cfg(test)]
impl ClusterView {
    /// A cluster without brokers that nobody has asked.
    pub(super) fn nowhere(topic: &str, partitions: usize) -> Self {
        ClusterView::unasked(
            Transport::new(Default::default()).unwrap(),
            Vec::new(),
            topic,
            partitions,
            ANSWER,
        )
    }

    /// True if somebody needs a newer answer.
    pub(super) fn is_wanted(&self) -> bool {
        *self.wanted.lock().unwrap()
    }
}

/// True if the same question may be answered a moment later.
fn may_pass(error: &WireError) -> bool {
    match error {
        WireError::Refused { code, .. } => code.is_retriable(),
        WireError::Unreachable { .. } | WireError::Closed { .. } | WireError::Io { .. } => true,
        _ => false,
    }
}

/// A connection that is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    told: Receiver<Result<Connection, WireError>>,
}

/// The state of opening a connection.
pub(super) enum Opened {
    NotYet,
    Yes(Box<Connection>),
    /// The connection failed; without an error when the broker's address is not known.
    No(Option<WireError>),
}

impl Opening {
    pub(super) fn look(&self) -> Opened {
        match self.told.try_recv() {
            Ok(Ok(connection)) => Opened::Yes(Box::new(connection)),
            Ok(Err(error)) => Opened::No(Some(error)),
            Err(TryRecvError::Empty) => Opened::NotYet,
            Err(TryRecvError::Disconnected) => Opened::No(None),
        }
    }
}
