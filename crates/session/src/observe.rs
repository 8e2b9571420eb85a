//! Watches a running path without load: brokers, clients, processes, the kernel and this host, over one window.
//!
//! Everything that can be read is read at the begin and at the end; what cannot is [`Unseen`] with its reason, and the rest goes
//! on. Of a watched JVM nothing is changed, and nothing runs in it after the window; the profiler's library stays loaded. Not here: what it means, which is `plumb_judge`'s.

mod brokers;
mod clients;
mod cluster;
mod limits;
mod processes;

use crate::client_config;
use crate::context::RunContext;
use crate::error::Result;
use crate::metrics::BrokerMetrics;
use crate::watcher::{Event, Watcher};
use brokers::BrokerReadings;
use clients::ClientSources;
use jiff::Timestamp;
use plumb_model::fault::{HasFault, chain};
use plumb_model::observed::{
    KernelWindow, ObservedPath, ObserverCost, PathKind, ProcessWindow, SCHEMA_VERSION, Unseen,
};
use plumb_observe::{
    HostRoot, KernelTrace, SystemCommands, find_brokers, host_facts, host_window, programs,
    sample_host_window, sample_programs,
};
use processes::Processes;
use rustix::time::{ClockId, clock_gettime};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Mean time between two readings of what threads wait in (ours).
const PACE: Duration = Duration::from_millis(50);
/// Time between two looks at what is left.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// What is watched.
#[derive(Debug, Clone, Default)]
pub struct ObserveSettings {
    /// Length of the window.
    pub duration: Duration,
    /// Where brokers serve their metrics.
    pub broker_metrics: Vec<String>,
    /// Where clients' statistics are: files that grow, and addresses.
    pub client_statistics: Vec<String>,
    /// The application's own client properties, for these statistics tell no setting: `[CLIENT=]FILE`.
    pub client_properties: Vec<String>,
    /// Processes of this host; empty: the brokers that are found here.
    pub pids: Vec<u32>,
    /// The cluster, for its settings.
    pub bootstrap: Option<String>,
    /// Client properties file that says how to connect.
    pub config: Option<String>,
    /// Whether JVMs may be attached to: metrics without an exporter, flags, names of threads, CPU profile.
    pub attach: bool,
    /// Whether the kernel is traced.
    pub kernel: bool,
    /// Whether it is measured after the window how fast the broker's Java encrypts.
    pub calibrate: bool,
    /// Whether it is measured as well how fast the device of the logs commits and takes bytes, and memory is copied: it writes to that device, and
    /// takes from a broker under load what it measures.
    pub measure_limits: bool,
    /// Where the collapsed stacks of CPU profiles are kept, all of them: the document has those with most samples.
    pub profiles: Option<PathBuf>,
}

/// Watches.
///
/// # Errors
/// When the settings cannot be used; what cannot be seen is in the document instead.
pub fn observe(
    settings: &ObserveSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<ObservedPath> {
    let config = client_config::read(settings.config.as_deref())?;
    let context = RunContext::new(config.properties, stop, watcher);
    let metrics = BrokerMetrics::of_brokers(settings.broker_metrics.clone())?;
    context.tell(&Event::ProbeBegins { what: "watching", estimate_s: settings.duration.as_secs_f64() + 3.0 });
    let path = Watch { settings, metrics, context: &context, unseen: Vec::new() }.run();
    context.tell(&Event::Ends);
    Ok(path)
}

struct Watch<'a> {
    settings: &'a ObserveSettings,
    metrics: BrokerMetrics,
    context: &'a RunContext,
    unseen: Vec<Unseen>,
}

impl Watch<'_> {
    fn run(mut self) -> ObservedPath {
        let root = HostRoot::default();
        let host = host_facts(&root, &SystemCommands::default());
        let pids = match self.settings.pids.is_empty() {
            true => self.brokers_here(&root),
            false => each_once(&self.settings.pids),
        };
        self.context.phase("reading what is there");
        let mut processes = Processes::open(&pids, self.settings, &mut self.unseen);
        let kernel = self.trace_kernel(&processes.pids());
        let clients = ClientSources::open(&self.settings.client_statistics, &mut self.unseen);
        let own_before = own_cpu_ns();
        // A page that is slow to come must not use the window up: it begins once all that is read first has been read.
        let brokers = BrokerReadings::open(
            &self.metrics,
            &processes.attached_brokers(),
            self.context,
            &mut self.unseen,
        );
        processes.begin(self.settings.duration, &mut self.unseen);
        let clients = clients.begin(self.settings.duration, &mut self.unseen);
        // The window's own begin: what is attached to and read before it may take many seconds.
        let (began, started_at) = (Instant::now(), Timestamp::now());
        let network_of = processes.network_of();
        let host_before = sample_host_window(&root, network_of);
        let programs_before = sample_programs(&root);
        self.context.phase("watching");
        self.wait(began, &mut processes);
        let host_after = sample_host_window(&root, network_of);
        let programs_after = sample_programs(&root);
        let elapsed_ns = began.elapsed().as_nanos() as u64;
        let mut clients = clients.close(&mut self.unseen);
        clients::give_properties(&self.settings.client_properties, &mut clients, &mut self.unseen);
        let processes_after = processes.read_end();
        processes.stop_profiles(self.settings.profiles.as_deref(), &mut self.unseen);
        let brokers = brokers.close(&self.metrics, &mut self.unseen);
        let host_window = match (host_before, host_after) {
            (Ok(before), Ok(after)) => {
                let mut window = host_window(&before, &after);
                let known: Vec<u32> = pids.iter().copied().chain([std::process::id()]).collect();
                window.programs =
                    programs(&root, &programs_before, &programs_after, &processes.brokers(), &known);
                self.unseen.extend(window.counters.missing.iter().map(|reason| Unseen {
                    what: "counters of this host".to_owned(),
                    reason: reason.clone(),
                    hint: None,
                }));
                Some(window)
            }
            (Err(error), _) | (_, Err(error)) => {
                self.unseen.push(unseen("counters of this host", &error));
                None
            }
        };
        let mut processes = processes.close(processes_after, &brokers.collections, &mut self.unseen);
        let own_cpu_ns = own_cpu_ns().checked_sub(own_before);
        let profiler_cpu_ns = profilers_cpu_ns(&processes);
        let kernel_programs_cpu_ns = kernel.as_ref().and_then(KernelTrace::programs_cpu_ns);
        let kernel = kernel.map(|trace| finish_trace(trace, &mut processes));
        let mut path = ObservedPath {
            schema_version: SCHEMA_VERSION,
            kind: PathKind::Path,
            plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            elapsed_ns,
            complete: !self.context.is_stopped(),
            host: Some(host),
            host_window,
            brokers: brokers.windows,
            clients,
            processes,
            kernel,
            cost: ObserverCost {
                own_cpu_ns,
                target_cpu_ns: brokers.cpu_ns,
                profiler_cpu_ns,
                kernel_programs_cpu_ns,
            },
            ..ObservedPath::default()
        };
        if let Some(bootstrap) = &self.settings.bootstrap {
            self.context.phase("asking the cluster for its settings");
            match cluster::settings(bootstrap, &path.brokers, self.context, &mut self.unseen) {
                Ok(settings) => path.settings = settings,
                Err(error) => self.unseen.push(unseen("settings of the cluster", &error)),
            }
        }
        path.limits = limits::limits(&path, self.settings, self.context, &mut self.unseen);
        path.unseen = self.unseen;
        path
    }

    /// The brokers of this host: of the cluster alone, where one is named.
    fn brokers_here(&mut self, root: &HostRoot) -> Vec<u32> {
        let found = find_brokers(root);
        let Some(bootstrap) = self.settings.bootstrap.as_ref().filter(|_| !found.is_empty()) else {
            return found;
        };
        match cluster::processes_here(bootstrap, root, self.context) {
            Ok(of_cluster) => {
                let own: Vec<u32> = found.into_iter().filter(|pid| of_cluster.contains(pid)).collect();
                if own.is_empty() {
                    self.unseen.push(Unseen {
                        what: "processes of the brokers".to_owned(),
                        reason: format!(
                            "no broker of {bootstrap} was found among the processes of this host"
                        ),
                        hint: Some(
                            "run Plumb on the broker's host as root or as its user, or name it with --pid"
                                .to_owned(),
                        ),
                    });
                }
                own
            }
            Err(error) => {
                self.unseen.push(unseen("which brokers of this host are the cluster's", &error));
                Vec::new()
            }
        }
    }

    fn trace_kernel(&mut self, pids: &[u32]) -> Option<KernelTrace> {
        if !self.settings.kernel {
            return None;
        }
        KernelTrace::attach(pids)
            .inspect_err(|error| self.unseen.push(unseen("the kernel's trace points", error)))
            .ok()
    }

    /// Until the window is over, or the user wants no more.
    fn wait(&self, began: Instant, processes: &mut Processes) {
        let mut told = Instant::now();
        let mut reading = 0u32;
        let mut due = Duration::ZERO;
        while began.elapsed() < self.settings.duration && !self.context.is_stopped() {
            processes.read();
            if Instant::now() >= told {
                told += TOLD_EVERY;
                let left = self.settings.duration.saturating_sub(began.elapsed());
                self.context.tell(&Event::Rest(left.as_secs_f64()));
            }
            // A reading that came late is not made up for: readings in a row would count that moment twice.
            while due <= began.elapsed() {
                reading = reading.wrapping_add(1);
                due = PACE.saturating_mul(reading) + PACE.mul_f64(jitter(reading));
            }
            std::thread::sleep(due.min(self.settings.duration).saturating_sub(began.elapsed()));
        }
    }
}

/// The numbers in their order; one that was named twice is one process all the same.
fn each_once(pids: &[u32]) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    pids.iter().copied().filter(|pid| seen.insert(*pid)).collect()
}

/// What the samples of all profiles took; absent without one, and where one of them does not tell.
fn profilers_cpu_ns(processes: &[ProcessWindow]) -> Option<u64> {
    let mut profiles = processes.iter().filter_map(|process| process.profile.as_ref()).peekable();
    profiles.peek()?;
    profiles.map(|profile| profile.cpu_ns).sum()
}

/// Ends the trace; what it tells of a process goes to that process.
fn finish_trace(trace: KernelTrace, processes: &mut [ProcessWindow]) -> KernelWindow {
    let mut counts = trace.finish();
    for process in processes {
        process.kernel = counts.processes.remove(&process.pid);
    }
    counts.host
}

/// A share of the pace, another for each reading: readings at even intervals would see what comes at such intervals always, or never. Multiples of
/// the golden ratio keep step with nothing.
fn jitter(reading: u32) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    (f64::from(reading) * GOLDEN).fract()
}

/// Something that an error kept from being seen, with the error's own next step.
fn unseen(what: &str, error: &(impl HasFault + 'static)) -> Unseen {
    let hint = error.hint().map(Cow::into_owned);
    Unseen { what: what.to_owned(), reason: chain(error).join(": "), hint }
}

/// Processor time of the thread that watches: a load of Plumb's own runs on other threads, and is no cost of watching.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
