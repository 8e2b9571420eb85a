//! The readings beside a block: our own threads, the brokers where they run here, the host, the brokers' request times.

use super::cpu::{CpuBySecond, CpuReading};
use super::metrics::{self, BrokerMetrics};
use super::target::Target;
use plumb_load::patience::Patience;
use plumb_model::check::LayerLoss;
use plumb_model::facts::{HostDelta, ProcessIo, ProcessUsage, RequestTimes};
use plumb_observe::{
    HostRoot, HostSample, NamedCounters, Scrape, ThreadsSample, host_delta, is_local_address,
    listening_process, named_counters, process_usage, request_times, sample_host, sample_threads,
};
use plumb_tune::losses_between;
use std::net::ToSocketAddrs;
use std::time::Instant;

/// Readings of one block.
pub(super) struct BlockReader {
    root: HostRoot,
    /// Read before and after the block, never within it.
    metrics: BrokerMetrics,
    /// The reading before the block, in the order of the brokers.
    metrics_before: Vec<Option<Scrape>>,
    broker_pids: Vec<u32>,
    before: Option<Reading>,
    after: Option<Reading>,
    cpu: CpuBySecond,
    patience: Patience,
    /// True if it is asked where the host loses packets: some milliseconds at each end.
    losses: bool,
}

/// The readings at the ends of the measured part. Each is absent when it cannot be read.
struct Reading {
    own: Option<ThreadsSample>,
    brokers: Vec<Option<ThreadsSample>>,
    host: Option<HostSample>,
    counters: Option<(Instant, NamedCounters)>,
}

/// The differences of a block's readings.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockReadings {
    pub(super) own: Option<ProcessUsage>,
    pub(super) cpu: CpuBySecond,
    pub(super) broker_cpu_s: Option<f64>,
    pub(super) broker_io: Option<ProcessIo>,
    pub(super) host: Option<HostDelta>,
    pub(super) losses: Option<Vec<LayerLoss>>,
    pub(super) request_times: Option<RequestTimes>,
}

impl BlockReader {
    /// `losses`: whether it is asked where the host loses packets.
    pub(super) fn begin(target: &Target, losses: bool) -> Self {
        let lab = target.lab.as_ref();
        let metrics = target.metrics.clone();
        let metrics_before =
            metrics.urls.iter().map(|url| metrics.read(url, metrics::TIMEOUT).ok()).collect();
        let root = HostRoot::default();
        let pids = lab.map(plumb_lab::kafka::LabCluster::broker_pids);
        let broker_pids = match pids {
            Some(pids) => pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect(),
            None => listeners(&root, target).unwrap_or_default(),
        };
        let (cpu, patience) = (CpuBySecond::default(), target.cluster.patience.clone());
        BlockReader {
            root,
            metrics,
            metrics_before,
            broker_pids,
            before: None,
            after: None,
            cpu,
            patience,
            losses,
        }
    }

    pub(super) fn measured_part_begins(&mut self) {
        self.before = Some(self.read());
    }

    /// A second of the block begins. It need not be in the measured part.
    pub(super) fn second_begins(&mut self, second: u32) {
        if self.before.is_some() {
            self.cpu.second_begins(second, CpuReading::now(&self.broker_pids));
        }
    }

    pub(super) fn measured_part_ends(&mut self) {
        self.cpu.measured_part_ends(CpuReading::now(&self.broker_pids));
        self.after = Some(self.read());
    }

    fn read(&self) -> Reading {
        Reading {
            own: sample_threads(&self.root, std::process::id()).ok(),
            brokers: self.broker_pids.iter().map(|pid| sample_threads(&self.root, *pid).ok()).collect(),
            host: sample_host(&self.root).ok(),
            counters: self.losses.then(|| (Instant::now(), named_counters(&self.root))),
        }
    }

    pub(super) fn end(self) -> BlockReadings {
        let request_times = merged_times(&self.metrics, &self.metrics_before, &self.patience);
        let mut watched = BlockReadings { request_times, cpu: self.cpu, ..BlockReadings::default() };
        let Some((before, after)) = self.before.zip(self.after) else { return watched };
        watched.own = before.own.zip(after.own).map(|(before, after)| process_usage(&before, &after));
        watched.host = before.host.zip(after.host).map(|(before, after)| host_delta(&before, &after));
        watched.losses = before.counters.zip(after.counters).and_then(|((from, before), (until, after))| {
            losses_between(before, after, until.duration_since(from).as_secs_f64())
        });
        let brokers: Option<Vec<ProcessUsage>> = before
            .brokers
            .into_iter()
            .zip(after.brokers)
            .map(|(before, after)| Some(process_usage(&before?, &after?)))
            .collect();
        let Some(brokers) = brokers.filter(|brokers| !brokers.is_empty()) else { return watched };
        let cpu_ns: Option<u64> = brokers.iter().map(|broker| broker.cpu_ns).sum();
        watched.broker_cpu_s = cpu_ns.map(|ns| ns as f64 / 1e9);
        let io: Option<Vec<ProcessIo>> = brokers.iter().map(|broker| broker.io).collect();
        watched.broker_io = io.and_then(|io| ProcessIo::sum(&io));
        watched
    }
}

/// The processes of brokers that were there, where all of them run on this host and may be looked at.
fn listeners(root: &HostRoot, target: &Target) -> Option<Vec<u32>> {
    let process = |(_, host, port): &(i32, String, i32)| {
        let address = (host.as_str(), u16::try_from(*port).ok()?).to_socket_addrs().ok()?.next()?;
        let here = is_local_address(root, address.ip()).ok()?;
        here.then(|| listening_process(root, address)).flatten()
    };
    let mut processes: Vec<u32> = target.cluster.brokers.iter().map(process).collect::<Option<_>>()?;
    processes.sort_unstable();
    processes.dedup();
    Some(processes)
}

/// The request times of all brokers between the scrape before the block and one now; absent when any is missing.
fn merged_times(
    metrics: &BrokerMetrics,
    before: &[Option<Scrape>],
    patience: &Patience,
) -> Option<RequestTimes> {
    let now = |url: &str| patience.wait(metrics::TIMEOUT, |timeout| metrics.read(url, timeout)).ok();
    let both = metrics.urls.iter().zip(before);
    let times: Option<Vec<RequestTimes>> =
        both.map(|(url, before)| Some(request_times(before.as_ref()?, &now(url)?))).collect();
    RequestTimes::merged(&times?.iter().collect::<Vec<_>>())
}
