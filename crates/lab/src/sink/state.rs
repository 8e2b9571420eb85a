//! The sink's state, which connections and controls share: options, topics, groups, faults, counts. Who serves it is in
//! [`super::broker`].

use plumb_model::fault::{Fault, HasFault};
use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kafka_protocol::messages::ApiKey;
use thiserror::Error;
use tokio::sync::Notify;

use super::{
    faults::{Apis, Faults, Stall},
    group::Group,
    log::Keep,
    stats::{StallStats, Stats},
    timer::Timer,
    topic::Topics,
    witness::Witnessed,
};

/// The interval at which silent group members are looked for. Session timeouts are seconds.
const EXPIRY_INTERVAL: Duration = Duration::from_millis(100);

/// The options of a sink, fixed for its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkOptions {
    /// The port, 0: the system chooses.
    pub port: u16,
    /// The part of the produced records that stays in memory.
    pub keep: Keep,
    /// True if a topic that a client asks for appears by itself, if the client allows it.
    pub auto_create: bool,
    /// Partitions of topics that appear by themselves or are created without a number.
    pub partitions: i32,
    /// The greatest batch that is taken, for topics without `max.message.bytes`.
    pub message_limit_bytes: usize,
    /// The greatest request; a connection that announces more is closed.
    pub frame_limit_bytes: usize,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self {
            port: 0,
            keep: Keep::Everything,
            auto_create: true,
            partitions: 1,
            // Kafka's defaults for max.message.bytes and socket.request.max.bytes.
            message_limit_bytes: 1_048_588,
            frame_limit_bytes: 104_857_600,
        }
    }
}

/// The reason why the sink did not do what it was asked.
#[derive(Debug, Error)]
pub enum SinkError {
    /// No socket to listen on.
    #[error("sink broker: cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// No thread or event queue.
    #[error("sink broker: cannot start its threads")]
    Threads(#[source] io::Error),
    /// A topic could not be made or changed.
    #[error("sink broker: topic {topic}: {error}")]
    Topic {
        /// Its name.
        topic: String,
        /// Kafka's word for the reason.
        error: super::ResponseError,
    },
    /// A condition did not come true in time.
    #[error("sink broker: expected a condition within {limit:?}, got this state: {state:?}")]
    Unmet {
        /// The time that it had.
        limit: Duration,
        /// The last state that was looked at.
        state: Box<Stats>,
    },
}

/// The state that connections and controls share.
#[derive(Debug)]
pub(super) struct Broker {
    pub(super) options: SinkOptions,
    pub(super) address: SocketAddr,
    pub(super) timer: Timer,
    /// Wakes fetches: there may be more to read.
    pub(super) shown: Notify,
    /// Wakes held answers: stalls may have changed.
    pub(super) faults_changed: Notify,
    core: Mutex<Core>,
    changed: Condvar,
    watchers: AtomicUsize,
}

/// Everything that changes, under one lock that is never held across a wait.
#[derive(Debug, Default)]
pub(super) struct Core {
    pub(super) topics: Topics,
    pub(super) groups: BTreeMap<String, Group>,
    pub(super) faults: Faults,
    pub(super) stats: Stats,
    pub(super) producers: i64,
    pub(super) members: u64,
    /// What arrived for each topic of which somebody wants to know it.
    pub(super) witnessed: BTreeMap<String, Witnessed>,
}

impl Broker {
    pub(super) fn new(options: SinkOptions, address: SocketAddr, timer: Timer) -> Self {
        Self {
            options,
            address,
            timer,
            shown: Notify::new(),
            faults_changed: Notify::new(),
            core: Mutex::default(),
            changed: Condvar::new(),
            watchers: AtomicUsize::new(0),
        }
    }

    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait for a condition that something happened. Free of system calls while nobody waits.
    pub(super) fn happened(&self) {
        if self.watchers.load(Ordering::SeqCst) > 0 {
            // Through the lock, so that a watcher is either before its look or in its wait.
            drop(self.core());
            self.changed.notify_all();
        }
    }

    pub(super) fn wait_until(
        &self,
        limit: Duration,
        met: impl Fn(&Stats) -> bool,
    ) -> Result<Stats, SinkError> {
        let start = Instant::now();
        self.watchers.fetch_add(1, Ordering::SeqCst);
        let mut core = self.core();
        let outcome = loop {
            let stats = core.snapshot();
            if met(&stats) {
                break Ok(stats);
            }
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                break Err(SinkError::Unmet { limit, state: Box::new(stats) });
            };
            core = self.changed.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(core);
        self.watchers.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    /// Completes when no stall holds answers of this kind back.
    pub(super) async fn hold(&self, api: ApiKey) {
        let mut held = false;
        loop {
            let changed = self.faults_changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let now = Instant::now();
            let until = {
                let mut core = self.core();
                let until = core.faults.stalled_until(api, now);
                if until.is_some() && !held {
                    held = true;
                    for stall in core.stats.stalls.iter_mut().filter(|stall| stall.ends > now) {
                        stall.answers_held += 1;
                    }
                }
                until
            };
            let Some(until) = until else { return };
            tokio::select! {
                () = self.timer.until(until) => {}
                () = changed => {}
            }
        }
    }

    /// Shows records to readers at a given moment.
    pub(super) async fn show(&self, topic: String, partition: i32, end: i64, at: Instant) {
        self.timer.until(at).await;
        {
            let mut core = self.core();
            let place = usize::try_from(partition).ok();
            let topic = core.topics.get_mut(&topic);
            if let Some(partition) =
                place.and_then(|place| topic.and_then(|topic| topic.partitions.get_mut(place)))
            {
                partition.log.show(end);
            }
        }
        self.shown.notify_waiters();
        self.happened();
    }

    pub(super) async fn expire(&self) {
        loop {
            tokio::time::sleep(EXPIRY_INTERVAL).await;
            let now = Instant::now();
            let changed = {
                let mut core = self.core();
                core.groups.values_mut().fold(false, |changed, group| group.expire(now) | changed)
            };
            if changed {
                self.happened();
            }
        }
    }
}

impl Core {
    pub(super) fn stall(&mut self, apis: Apis, began: Instant, duration: Duration) {
        // A year stands for a duration that the clock cannot hold.
        let year = Duration::from_secs(365 * 24 * 3600);
        let until = began.checked_add(duration).unwrap_or(began + year);
        self.stats.stalls.push(StallStats { began, ends: until, answers_held: 0 });
        self.faults.stalls.push(Stall { apis, until });
    }

    pub(super) fn snapshot(&self) -> Stats {
        let mut stats = self.stats.clone();
        for (name, topic) in self.topics.iter() {
            for (number, partition) in (0..).zip(&topic.partitions) {
                stats.partitions.insert((name.to_owned(), number), partition.stats());
            }
        }
        stats.groups = self.groups.iter().map(|(id, group)| (id.clone(), group.stats())).collect();
        stats
    }
}

impl HasFault for SinkError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}
