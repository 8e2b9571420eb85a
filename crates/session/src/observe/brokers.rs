//! The brokers' metrics at both ends of the window: pages that were named, and the beans of the brokers of this host whose page was not.

use super::unseen;
use crate::context::RunContext;
use crate::metrics::{BrokerMetrics, TIMEOUT};
use plumb_model::observed::{BrokerWindow, Unseen};
use plumb_observe::{
    AttachError, GcCounters, HostRoot, JvmBeans, ObserveError, Scrape, broker_window, host_and_port,
    is_local_address, jvm_beans, listening_process, process_names,
};
use std::collections::BTreeMap;
use std::net::ToSocketAddrs as _;

/// First readings.
pub(super) struct BrokerReadings {
    readings: Vec<Reading>,
    /// Processor time of the JVMs whose beans were read; none where one of them is not known, or none was read.
    cpu_ns: Cost,
}

struct Reading {
    source: Source,
    /// The broker's process on this host, where it is known.
    pid: Option<u32>,
    before: Scrape,
}

/// Where a reading is from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// A page at an address.
    Page(String),
    /// A JVM of this host.
    Jvm(u32),
}

/// The sum of costs of which each is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Cost {
    #[default]
    None,
    Known(u64),
    Unknown,
}

impl Cost {
    fn add(&mut self, ns: Option<u64>) {
        *self = match (*self, ns) {
            (Cost::Unknown, _) | (_, None) => Cost::Unknown,
            (Cost::None, Some(ns)) => Cost::Known(ns),
            (Cost::Known(sum), Some(ns)) => Cost::Known(sum.saturating_add(ns)),
        };
    }

    fn known(self) -> Option<u64> {
        match self {
            Cost::Known(ns) => Some(ns),
            Cost::None | Cost::Unknown => None,
        }
    }
}

/// What the brokers' metrics say of the window.
pub(super) struct BrokerReadingsClosed {
    pub(super) windows: Vec<BrokerWindow>,
    /// Processor time that reading their beans took in the brokers.
    pub(super) cpu_ns: Option<u64>,
    /// Collections by process, as far as its metrics tell them.
    pub(super) collections: BTreeMap<u32, Collections>,
}

/// Counters of a JVM's collections at both ends.
pub(super) struct Collections {
    pub(super) before: GcCounters,
    pub(super) after: GcCounters,
}

impl Collections {
    fn of(before: &Scrape, after: &Scrape) -> Option<Self> {
        Some(Collections { before: GcCounters::of_beans(before)?, after: GcCounters::of_beans(after)? })
    }
}

impl BrokerReadings {
    /// Reads each page once, and of each of `local` (brokers of this host that may be attached to) whose page is not among them its beans.
    /// What cannot be read is unseen, and the others go on.
    pub(super) fn open(
        metrics: &BrokerMetrics,
        local: &[u32],
        context: &RunContext,
        unseen: &mut Vec<Unseen>,
    ) -> Self {
        context.phase("reading the brokers' metrics");
        let mut open = BrokerReadings { readings: Vec::new(), cpu_ns: Cost::None };
        for url in &metrics.urls {
            match metrics.read(url, TIMEOUT) {
                Ok(before) => {
                    let pid = process_behind(url).and_then(|here| here.broker);
                    open.readings.push(Reading { source: Source::Page(url.clone()), pid, before });
                }
                Err(error) => unseen.push(page_not_read(url, &error)),
            }
        }
        for pid in local {
            open.open_beans(*pid, unseen);
        }
        if metrics.urls.is_empty() && local.is_empty() {
            unseen.push(Unseen {
                what: "metrics of the brokers".to_owned(),
                reason: "no address was given, and no broker of this host is attached to".to_owned(),
                hint: Some(
                    "name each broker's page with --broker-metrics http://HOST:PORT/metrics, or run Plumb on the broker's host"
                        .to_owned(),
                ),
            });
        }
        open
    }

    fn open_beans(&mut self, pid: u32, unseen: &mut Vec<Unseen>) {
        if self.readings.iter().any(|reading| reading.pid == Some(pid)) {
            return;
        }
        if let Some(url) = self.readings.iter().find_map(Reading::may_be_of_any) {
            unseen.push(Unseen {
                what: Unseen::metrics_of_process(pid),
                reason: format!(
                    "the page {url} is served on this host and does not say of which broker it is"
                ),
                hint: Some(
                    "leave --broker-metrics away: the metrics of a broker of this host are read without it"
                        .to_owned(),
                ),
            });
            return;
        }
        match jvm_beans(pid) {
            Ok(JvmBeans { scrape, cpu_ns }) => {
                self.cpu_ns.add(cpu_ns);
                let start = scrape.process_start();
                let same = |reading: &&mut Reading| reading.before.process_start().is_same(&start);
                match self.readings.iter_mut().find(same) {
                    // A page that was named is of this broker: it is not counted twice.
                    Some(reading) => reading.pid = Some(pid),
                    None => {
                        self.readings.push(Reading {
                            source: Source::Jvm(pid),
                            pid: Some(pid),
                            before: scrape,
                        });
                    }
                }
            }
            Err(error) => unseen.push(beans_not_read(pid, &error)),
        }
    }

    /// Reads all of them again.
    pub(super) fn close(mut self, metrics: &BrokerMetrics, unseen: &mut Vec<Unseen>) -> BrokerReadingsClosed {
        let (mut windows, mut collections) = (Vec::new(), BTreeMap::new());
        for Reading { source, pid, before } in std::mem::take(&mut self.readings) {
            let after = match &source {
                Source::Page(url) => metrics.read(url, TIMEOUT).map_err(|error| page_not_read(url, &error)),
                Source::Jvm(pid) => jvm_beans(*pid)
                    .map(|beans| {
                        self.cpu_ns.add(beans.cpu_ns);
                        beans.scrape
                    })
                    .map_err(|error| beans_not_read(*pid, &error)),
            };
            match after {
                Ok(after) => {
                    collections.extend(pid.zip(Collections::of(&before, &after)));
                    windows.push(BrokerWindow { pid, ..broker_window(&before, &after, &source.shown()) });
                }
                Err(missing) => unseen.push(missing),
            }
        }
        BrokerReadingsClosed { windows, cpu_ns: self.cpu_ns.known(), collections }
    }
}

impl Reading {
    /// The address of a page that is served on this host by nobody known and does not say of which broker it is.
    fn may_be_of_any(&self) -> Option<&str> {
        match &self.source {
            Source::Page(url) if self.pid.is_none() && !self.before.process_start().is_told() => {
                process_behind(url).is_some().then_some(url)
            }
            _ => None,
        }
    }
}

impl Source {
    fn shown(&self) -> String {
        match self {
            Source::Page(url) => url.clone(),
            Source::Jvm(pid) => format!("process {pid}"),
        }
    }
}

/// An address of this host.
struct Here {
    /// The broker that listens there itself; an exporter beside it is none.
    broker: Option<u32>,
}

/// Whether a page is served on this host, and by which broker.
fn process_behind(url: &str) -> Option<Here> {
    let root = HostRoot::default();
    let address = host_and_port(url)?.to_socket_addrs().ok()?.next()?;
    let is_broker = |pid: &u32| process_names(&root, *pid).is_broker;
    is_local_address(&root, address.ip())
        .ok()?
        .then(|| Here { broker: listening_process(&root, address).filter(is_broker) })
}

fn page_not_read(url: &str, error: &ObserveError) -> Unseen {
    // An address with a login is refused by the fetch, and is not shown here either.
    let shown = url.split('@').next_back().unwrap_or(url);
    unseen(&Unseen::metrics_of_broker(shown), error)
}

fn beans_not_read(pid: u32, error: &AttachError) -> Unseen {
    unseen(&Unseen::metrics_of_process(pid), error)
}
