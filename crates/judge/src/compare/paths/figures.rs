//! The figures of a watched path that can be held beside those of another, and which of them are far apart.

use super::Judged;
use plumb_model::compare::paths::{FigureUnit, PathFigure, PathPart};
use plumb_model::facts::WindowMean;
use plumb_model::observed::{
    BrokerWindow, CpuClass, KernelWindow, LogHistogram, ObservedPath, ProcessWaits, ProcessWindow,
    ThreadClass, ThreadGroup,
};
use std::collections::BTreeMap;

/// Figures of which the ratio is beyond this, either way, are told first (ours).
const FAR: f64 = 1.1;
/// Amounts that are added to both before they are held against each other: two points of a share, a tenth of a millisecond, one a second. Below these a
/// ratio is of rounding (a broker counts whole milliseconds) and of single events (ours).
const SHARE_LEAST: f64 = 0.02;
const NS_LEAST: f64 = 1e5;
const PER_S_LEAST: f64 = 1.0;

/// A figure of one path.
struct Figure {
    part: PathPart,
    name: String,
    unit: FigureUnit,
    value: Option<f64>,
}

/// All figures that either has: those that are far apart first, the farthest of them first.
pub(super) fn figures(a: &Judged, b: &Judged) -> Vec<PathFigure> {
    let (of_a, of_b) = (of(a), of(b));
    let value = |all: &[Figure], figure: &Figure| {
        let same = |other: &&Figure| other.part == figure.part && other.name == figure.name;
        all.iter().find(same).and_then(|other| other.value).filter(|value| value.is_finite())
    };
    let only_b = of_b.iter().filter(|figure| !of_a.iter().any(|other| is_same(other, figure)));
    let pair = |figure: &Figure| {
        let (a_figure, b_figure) = (value(&of_a, figure), value(&of_b, figure));
        let ratio = a_figure.zip(b_figure).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
        let mut pair = PathFigure {
            part: figure.part,
            name: figure.name.clone(),
            unit: figure.unit,
            a_figure,
            b_figure,
            ratio,
            differs: false,
        };
        pair.differs = apart(&pair).is_some_and(|apart| apart > FAR.ln());
        pair
    };
    let mut pairs: Vec<PathFigure> = of_a.iter().chain(only_b).map(pair).collect();
    pairs.retain(|pair| pair.a_figure.is_some() || pair.b_figure.is_some());
    // What neither did is no figure to look at; a stage that only one of them knows is one, however short it is.
    let is_of_one = |pair: &PathFigure| pair.a_figure.is_some() != pair.b_figure.is_some();
    pairs.retain(|pair| {
        pair.a_figure.unwrap_or(0.0) != 0.0
            || pair.b_figure.unwrap_or(0.0) != 0.0
            || pair.part == PathPart::Stages && is_of_one(pair)
    });
    pairs.sort_by(|a, b| match (a.differs, b.differs) {
        (true, true) => apart(b).unwrap_or(0.0).total_cmp(&apart(a).unwrap_or(0.0)),
        (false, false) => a.part.cmp(&b.part),
        (a_differs, b_differs) => b_differs.cmp(&a_differs),
    });
    pairs
}

fn is_same(a: &Figure, b: &Figure) -> bool {
    a.part == b.part && a.name == b.name
}

/// Their distance, as the logarithm of a ratio in which what is too small to matter matters little.
fn apart(pair: &PathFigure) -> Option<f64> {
    let least = match pair.unit {
        FigureUnit::Ns => NS_LEAST,
        FigureUnit::Share => SHARE_LEAST,
        FigureUnit::BytesPerS => 1_000.0,
        FigureUnit::PerS | FigureUnit::MessagesPerS => PER_S_LEAST,
    };
    // Below 0 is only the time to a consumer that was served before its producer.
    let value = |figure: Option<f64>| Some(figure?.max(0.0) + least);
    Some((value(pair.b_figure)? / value(pair.a_figure)?).ln().abs())
}

fn of(judged: &Judged) -> Vec<Figure> {
    let path = judged.side.path;
    let mut all = Vec::new();
    load(&mut all, path);
    for stage in &judged.diagnosis.stages {
        push(&mut all, PathPart::Stages, &stage.name.replace('_', " "), FigureUnit::Ns, stage.mean_ns);
    }
    for bound in &judged.diagnosis.bounds {
        let used = (bound.limit > 0.0).then(|| bound.measured / bound.limit);
        push(&mut all, PathPart::Limits, &bound.name.replace('_', " "), FigureUnit::Share, used);
    }
    brokers(&mut all, path);
    threads(&mut all, path);
    cpu(&mut all, path);
    waits(&mut all, path);
    if let Some(window) = &path.kernel {
        kernel(&mut all, window);
    }
    host(&mut all, path);
    all
}

fn push(all: &mut Vec<Figure>, part: PathPart, name: &str, unit: FigureUnit, value: Option<f64>) {
    all.push(Figure { part, name: name.to_owned(), unit, value });
}

/// The sum over all brokers; absent where one of them does not tell, because a part is no whole.
fn sum(path: &ObservedPath, of: impl Fn(&BrokerWindow) -> Option<f64>) -> Option<f64> {
    (!path.brokers.is_empty()).then(|| path.brokers.iter().map(of).sum()).flatten()
}

fn load(all: &mut Vec<Figure>, path: &ObservedPath) {
    let messages = sum(path, |broker| broker.messages_in_per_s);
    push(all, PathPart::Load, "messages in", FigureUnit::MessagesPerS, messages);
    let bytes_in = sum(path, |broker| broker.bytes_in_per_s);
    push(all, PathPart::Load, "bytes in", FigureUnit::BytesPerS, bytes_in);
    let bytes_out = sum(path, |broker| broker.bytes_out_per_s);
    push(all, PathPart::Load, "bytes out", FigureUnit::BytesPerS, bytes_out);
    let producers = path.clients.iter().filter(|client| client.is_producer);
    let sent: Option<f64> = producers.clone().map(|client| client.messages_per_s).sum();
    let sent = sent.filter(|_| producers.count() > 0);
    push(
        all,
        PathPart::Load,
        "messages sent, acknowledged or not, by the producers that were seen",
        FigureUnit::MessagesPerS,
        sent,
    );
}

fn brokers(all: &mut Vec<Figure>, path: &ObservedPath) {
    for kind in ["Produce", "FetchConsumer", "FetchFollower"] {
        let requests = |broker: &BrokerWindow| broker.requests.get(kind)?.per_s;
        push(all, PathPart::Brokers, &format!("{kind} requests"), FigureUnit::PerS, sum(path, requests));
    }
    // Of fetch requests the total is mostly waiting for data.
    let windows = |of: fn(&plumb_model::facts::RequestStages) -> Option<WindowMean>| {
        let means = path.brokers.iter().filter_map(|broker| of(&broker.requests.get("Produce")?.stages));
        weighted(means)
    };
    push(all, PathPart::Brokers, "Produce, whole time", FigureUnit::Ns, windows(|stages| stages.total));
    let idle = |shares: Vec<f64>| shares.into_iter().reduce(f64::min);
    let network = path.brokers.iter().flat_map(|broker| &broker.network_processors);
    let network = idle(network.filter_map(|thread| thread.idle_share).collect());
    push(all, PathPart::Brokers, "least idle network thread, idle", FigureUnit::Share, network);
    let handlers = idle(path.brokers.iter().filter_map(|broker| broker.handlers.idle_share).collect());
    push(all, PathPart::Brokers, "request handlers, idle", FigureUnit::Share, handlers);
    type Rate = fn(&BrokerWindow) -> Option<f64>;
    let further: [(&str, Rate); 5] = [
        ("failed requests", |broker| broker.failed_requests_per_s),
        ("messages converted", |broker| broker.conversions_per_s),
        ("replicas that fell out of sync", |broker| broker.isr_shrinks_per_s),
        ("new connections", |broker| broker.connections_per_s),
        ("log flushes", |broker| broker.log_flushes_per_s),
    ];
    for (name, of) in further {
        push(all, PathPart::Brokers, name, FigureUnit::PerS, sum(path, of));
    }
    let replication = sum(path, |broker| broker.replication_bytes_in_per_s);
    push(all, PathPart::Brokers, "replication in", FigureUnit::BytesPerS, replication);
    let collections = path.brokers.iter().filter_map(|broker| broker.gc_time_share).reduce(f64::max);
    push(all, PathPart::Brokers, "time in collections", FigureUnit::Share, collections);
}

fn weighted(means: impl Iterator<Item = WindowMean>) -> Option<f64> {
    let (mut sum_ns, mut samples) = (0.0, 0.0);
    for mean in means {
        sum_ns += mean.mean_ns * mean.samples as f64;
        samples += mean.samples as f64;
    }
    (samples > 0.0).then(|| sum_ns / samples)
}

/// The processes that are looked at: the brokers, or all where none is known to be one.
fn processes(path: &ObservedPath) -> Vec<&ProcessWindow> {
    let brokers: Vec<&ProcessWindow> = path.processes.iter().filter(|process| process.is_broker).collect();
    if brokers.is_empty() { path.processes.iter().collect() } else { brokers }
}

fn threads(all: &mut Vec<Figure>, path: &ObservedPath) {
    const CLASSES: [(ThreadClass, &str); 7] = [
        (ThreadClass::Network, "network threads"),
        (ThreadClass::Handler, "request handlers"),
        (ThreadClass::ReplicaFetcher, "replica fetchers"),
        (ThreadClass::Cleaner, "log cleaner"),
        (ThreadClass::Gc, "collections"),
        (ThreadClass::Jit, "compilers"),
        (ThreadClass::Reactor, "reactors"),
    ];
    type Time = fn(&ThreadGroup) -> Option<u64>;
    const STATES: [(&str, Time); 4] = [
        ("on a processor", |group| group.states.executing_ns),
        ("ready, without a processor", |group| group.states.runnable_ns),
        ("waiting for a disk", |group| group.states.disk_ns),
        ("waiting in a lock", |group| group.states.lock_ns),
    ];
    let processes = processes(path);
    for (class, of_class) in CLASSES {
        let groups = || {
            processes.iter().flat_map(|process| {
                let of_class = process.groups.iter().filter(|group| group.class == class);
                of_class.map(|group| (group, process.usage.elapsed_ns as f64))
            })
        };
        if groups().next().is_none() {
            continue;
        }
        for (state, ns) in STATES {
            let time: Option<f64> = groups().map(|(group, _)| ns(group).map(|ns| ns as f64)).sum();
            let whole: f64 = groups().map(|(group, elapsed)| elapsed * f64::from(group.threads)).sum();
            let share = time.filter(|_| whole > 0.0).map(|time| time / whole);
            push(all, PathPart::Threads, &format!("{of_class}, {state}"), FigureUnit::Share, share);
        }
        let busiest = groups().filter_map(|(group, _)| group.busiest_share).reduce(f64::max);
        push(
            all,
            PathPart::Threads,
            &format!("{of_class}, the busiest on a processor"),
            FigureUnit::Share,
            busiest,
        );
    }
}

fn cpu(all: &mut Vec<Figure>, path: &ObservedPath) {
    let profiles: Vec<_> =
        processes(path).into_iter().filter_map(|process| process.profile.as_ref()).collect();
    let work: u64 = profiles.iter().map(|profile| profile.samples_of_work).sum();
    if work == 0 {
        return;
    }
    let mut samples: BTreeMap<CpuClass, u64> = BTreeMap::new();
    for share in profiles.iter().flat_map(|profile| &profile.shares).filter(|share| share.threads.is_none()) {
        *samples.entry(share.class).or_default() += share.samples;
    }
    const CLASSES: [(CpuClass, &str); 13] = [
        (CpuClass::Aes, "AES and GHASH"),
        (CpuClass::Tls, "the rest of TLS"),
        (CpuClass::Compress, "compression"),
        (CpuClass::Decompress, "decompression"),
        (CpuClass::Checksum, "checksums"),
        (CpuClass::Copy, "copies"),
        (CpuClass::NetworkStack, "network stack"),
        (CpuClass::LogAppend, "log append"),
        (CpuClass::Fsync, "fsync"),
        (CpuClass::Lock, "locks"),
        (CpuClass::Authorize, "authorisation"),
        (CpuClass::Serialize, "serialisation"),
        (CpuClass::Other, "other work"),
    ];
    for (class, name) in CLASSES {
        // A class without samples was looked for and not seen.
        let share = samples.get(&class).copied().unwrap_or(0) as f64 / work as f64;
        push(all, PathPart::Cpu, name, FigureUnit::Share, Some(share));
    }
}

/// Means over all times of the processes that are looked at.
fn waits(all: &mut Vec<Figure>, path: &ObservedPath) {
    let mean = |of: fn(&ProcessWaits) -> Option<&LogHistogram>| {
        let traced = processes(path).into_iter().filter_map(|process| of(process.kernel.as_ref()?));
        let (mut sum_ns, mut count) = (0.0, 0.0);
        for times in traced {
            sum_ns += times.sum_ns as f64;
            count += times.count as f64;
        }
        (count > 0.0).then(|| sum_ns / count)
    };
    let run_delay = mean(|waits| waits.run_delay.as_ref());
    push(all, PathPart::Kernel, "ready, until on a processor", FigureUnit::Ns, run_delay);
    push(all, PathPart::Kernel, "fsync", FigureUnit::Ns, mean(|waits| waits.fsync.as_ref()));
}

fn kernel(all: &mut Vec<Figure>, window: &KernelWindow) {
    let commit = window.journal_commit.as_ref().and_then(LogHistogram::mean_ns);
    push(all, PathPart::Kernel, "journal commit", FigureUnit::Ns, commit);
    for device in &window.devices {
        let name = format!("block I/O of {}", device.device);
        push(all, PathPart::Kernel, &name, FigureUnit::Ns, device.times.mean_ns());
    }
}

fn host(all: &mut Vec<Figure>, path: &ObservedPath) {
    let Some(window) = &path.host_window else { return };
    let counters = &window.counters;
    let seconds = counters.elapsed_ns as f64 / 1e9;
    if seconds <= 0.0 {
        return;
    }
    let of_time = |ns: Option<u64>| Some(ns? as f64 / counters.elapsed_ns as f64);
    let rate = |n: Option<u64>| Some(n? as f64 / seconds);
    let shares = [
        ("processors, busy", counters.cpu.busy_share()),
        ("processors, stolen", counters.cpu.steal_share()),
        ("some thread waited for a processor", of_time(counters.pressure.cpu_some_ns)),
        ("some thread waited for a disk", of_time(counters.pressure.io_some_ns)),
        ("some thread waited for memory", of_time(counters.pressure.memory_some_ns)),
    ];
    for (name, share) in shares {
        push(all, PathPart::Host, name, FigureUnit::Share, share);
    }
    push(all, PathPart::Host, "context switches", FigureUnit::PerS, rate(counters.context_switches));
    push(all, PathPart::Host, "TCP segments sent again", FigureUnit::PerS, rate(window.tcp.retransmitted));
    for disk in &counters.disks {
        let of_disk = |what: &str| format!("{}: {what}", disk.name);
        push(all, PathPart::Host, &of_disk("written"), FigureUnit::BytesPerS, rate(disk.written_bytes));
        let mean = disk.write_ns.zip(disk.writes).filter(|(_, writes)| *writes > 0);
        let mean = mean.map(|(ns, writes)| ns as f64 / writes as f64);
        push(all, PathPart::Host, &of_disk("mean write"), FigureUnit::Ns, mean);
        push(all, PathPart::Host, &of_disk("busy"), FigureUnit::Share, of_time(disk.busy_ns));
    }
}
