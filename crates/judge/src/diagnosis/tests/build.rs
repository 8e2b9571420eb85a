//! A healthy path, and verbs that change one thing of it. What a test changes is then all that is wrong.

pub(in crate::diagnosis) use plumb_model::observed::{CpuClass, ThreadClass};

use plumb_model::facts::{
    CpuTime, DiskDelta, Fact, HostDelta, HostFacts, InterfaceDelta, OneCpu, ProcessUsage, RequestStages,
    WindowMean,
};
use plumb_model::observed::{
    BrokerKind, BrokerWindow, ClientKind, ClientWindow, HandlerPool, HostLimits, HostWindow, JvmFacts,
    JvmWindow, LogDirectory, NetworkProcessor, ObservedPath, ProcessWindow, Profile, ProfileShare,
    RequestKind, SoftnetOfCpu, ThreadGroup, ThreadStates, TopicSettings, TopicTraffic,
};
use std::collections::BTreeMap;

/// The window of all fixtures.
pub(in crate::diagnosis) const WINDOW_NS: u64 = 60_000_000_000;

/// Waits in milliseconds.
pub(in crate::diagnosis) struct Waits {
    pub(in crate::diagnosis) client_queue: f64,
    pub(in crate::diagnosis) client_send: f64,
    pub(in crate::diagnosis) unexplained: f64,
    pub(in crate::diagnosis) request_queue: f64,
    pub(in crate::diagnosis) local: f64,
    pub(in crate::diagnosis) remote: f64,
    pub(in crate::diagnosis) response_queue: f64,
    pub(in crate::diagnosis) send: f64,
    pub(in crate::diagnosis) fetch: f64,
    pub(in crate::diagnosis) throttle: f64,
}

const HEALTHY: Waits = Waits {
    client_queue: 3.0,
    client_send: 0.1,
    unexplained: 0.8,
    request_queue: 0.1,
    local: 0.6,
    remote: 1.4,
    response_queue: 0.1,
    send: 0.2,
    fetch: 1.5,
    throttle: 0.0,
};

/// Three brokers, four Java producers at 30,000 messages of 1,000 bytes a second, one consumer; broker 1 is on this host.
pub(in crate::diagnosis) fn healthy_path() -> ObservedPath {
    let mut path = ObservedPath {
        elapsed_ns: WINDOW_NS,
        complete: true,
        host: Some(HostFacts {
            logical_cpus: Fact::known(8, "/proc/cpuinfo"),
            cpu_flags: Fact::known([("aes".to_owned(), true)].into(), "/proc/cpuinfo"),
            ..HostFacts::default()
        }),
        host_window: Some(healthy_host()),
        brokers: (1..=3).map(healthy_broker).collect(),
        clients: (1..=4).map(healthy_producer).chain([healthy_consumer()]).collect(),
        processes: vec![healthy_broker_process(), healthy_client_process()],
        limits: HostLimits {
            aes_gcm_bytes_per_s: Some(3.0e9),
            aes_gcm_of: Some("OpenSSL 3.0.17".to_owned()),
            fsync_per_s: Some(2_000.0),
            write_bytes_per_s: Some(900e6),
            storage_of: Some(logs()),
            memory_copy_bytes_per_s: Some(18e9),
            network_bytes_per_s: Some(1.25e9),
            network_of: Some("eth0".to_owned()),
            ..HostLimits::default()
        },
        ..ObservedPath::default()
    };
    let topic = TopicSettings {
        partitions: 12,
        replication: 3,
        leaders: [("1".to_owned(), 4), ("2".to_owned(), 4), ("3".to_owned(), 4)].into(),
        configs: [("compression.type".to_owned(), "producer".to_owned())].into(),
        ..TopicSettings::default()
    };
    path.settings.topics.insert("orders".to_owned(), topic);
    for id in 1..=3 {
        let settings =
            [("queued.max.requests", "500"), ("num.replica.fetchers", "1"), ("compression.type", "producer")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        path.settings.brokers.insert(id.to_string(), settings.into());
    }
    wait(&mut path, |_| {});
    path
}

/// Where the broker of this host has its logs.
fn logs() -> LogDirectory {
    LogDirectory { path: "/data".to_owned(), device: Some("nvme0n1".to_owned()) }
}

fn healthy_broker(id: i32) -> BrokerWindow {
    let kind = |per_s: f64| RequestKind { per_s: Some(per_s), ..RequestKind::default() };
    let processor = |number: u32| NetworkProcessor {
        name: format!("PLAINTEXT-{number}"),
        idle_share: Some(0.85),
        from_gauge: false,
        connections: Some(5.0),
    };
    let fetch = RequestKind { stages: fetch_stages(0.4), ..kind(400.0) };
    BrokerWindow {
        source: format!("http://broker-{id}:9404/metrics"),
        pid: (id == 1).then_some(1001),
        id: Some(id),
        kind: BrokerKind::Kafka,
        elapsed_ns: WINDOW_NS,
        series: 3_000,
        requests: [
            ("Produce".to_owned(), kind(300.0)),
            ("FetchConsumer".to_owned(), fetch),
            ("FetchFollower".to_owned(), kind(300.0)),
            ("OffsetCommit".to_owned(), RequestKind { stages: fetch_stages(0.5), ..kind(1.0) }),
        ]
        .into(),
        network_processors: (0..3).map(processor).collect(),
        handlers: HandlerPool { idle_share: Some(0.9), threads: Some(8), ..HandlerPool::default() },
        request_queue_size: Some(0.0),
        response_queue_size: Some(0.0),
        bytes_in_per_s: Some(10e6),
        bytes_out_per_s: Some(10e6),
        messages_in_per_s: Some(10_000.0),
        replication_bytes_in_per_s: Some(20e6),
        replication_bytes_out_per_s: Some(20e6),
        topics: vec![TopicTraffic {
            topic: "orders".to_owned(),
            bytes_in_per_s: Some(10e6),
            ..TopicTraffic::default()
        }],
        conversions_per_s: Some(0.0),
        leaders: Some(4.0),
        partitions: Some(12.0),
        under_replicated: Some(0.0),
        under_min_isr: Some(0.0),
        at_min_isr: Some(0.0),
        isr_shrinks_per_s: Some(0.0),
        follower_max_lag: Some(20.0),
        reassigning_partitions: Some(0.0),
        log_flushes_per_s: Some(0.1),
        log_flush_mean_ns: Some(4e6),
        connections_per_s: Some(0.2),
        acceptor_blocked_share: Some(0.0),
        cleaner_bytes_per_s: Some(0.0),
        late_transactions: Some(0.0),
        gc_time_share: Some(0.003),
        ..BrokerWindow::default()
    }
}

fn fetch_stages(local_ms: f64) -> RequestStages {
    RequestStages {
        local: Some(window(local_ms, 24_000)),
        remote: Some(window(30.0, 24_000)),
        ..RequestStages::default()
    }
}

fn window(ms: f64, samples: u64) -> WindowMean {
    let mean_ns = ms * 1e6;
    WindowMean { mean_ns, low_ns: (mean_ns - 5e5).max(0.0), high_ns: mean_ns + 5e5, samples }
}

fn healthy_producer(number: u32) -> ClientWindow {
    let settings =
        [("linger.ms", "5"), ("acks", "all"), ("batch.size", "65536"), ("buffer.memory", "33554432")];
    ClientWindow {
        source: "/var/tmp/producer.json".to_owned(),
        name: format!("orders-{number}"),
        kind: ClientKind::Java,
        is_producer: true,
        window_ns: WINDOW_NS,
        messages_per_s: Some(7_500.0),
        bytes_per_s: Some(7.5e6),
        rtt_min_ns: Some(1e6),
        batch_messages_mean: Some(33.0),
        batch_bytes_mean: Some(33_000.0),
        compression_ratio: Some(1.0),
        record_bytes_mean: Some(1_000.0),
        in_flight_max: Some(2.0),
        queue_share_max: Some(0.02),
        buffer_wait_share: Some(0.0),
        retries_per_s: Some(0.0),
        timeouts_per_s: Some(0.0),
        errors_per_s: Some(0.0),
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..ClientWindow::default()
    }
}

fn healthy_consumer() -> ClientWindow {
    let settings =
        [("fetch.min.bytes", "1"), ("fetch.max.wait.ms", "500"), ("isolation.level", "read_uncommitted")];
    ClientWindow {
        source: "/var/tmp/consumer.json".to_owned(),
        name: "billing".to_owned(),
        kind: ClientKind::Java,
        window_ns: WINDOW_NS,
        messages_per_s: Some(30_000.0),
        bytes_per_s: Some(30e6),
        rebalances: Some(0),
        lag: Some(300.0),
        lag_growth_per_s: Some(0.0),
        poll_idle_share: Some(0.6),
        commits_per_s: Some(0.2),
        commit_mean_ns: Some(3e6),
        stable_offset_lag: Some(0.0),
        negative_latencies: Some(0),
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..ClientWindow::default()
    }
}

fn healthy_host() -> HostWindow {
    let total_ns = 8 * WINDOW_NS;
    let cpu = CpuTime {
        busy_ns: Some(total_ns / 4),
        steal_ns: Some(0),
        iowait_ns: Some(0),
        total_ns: Some(total_ns),
    };
    let one = CpuTime {
        busy_ns: Some(WINDOW_NS / 4),
        steal_ns: Some(0),
        iowait_ns: Some(0),
        total_ns: Some(WINDOW_NS),
    };
    let mut host = HostWindow {
        counters: HostDelta {
            elapsed_ns: WINDOW_NS,
            cpu,
            each_cpu: (0..8).map(|cpu| OneCpu { cpu, time: one.clone() }).collect(),
            dirty_bytes: Some(200_000_000),
            writeback_bytes: Some(0),
            dirty_threshold_bytes: Some(3_000_000_000),
            memory_total_bytes: Some(16_000_000_000),
            interfaces: vec![InterfaceDelta {
                name: "eth0".to_owned(),
                received_bytes: Some(30_000_000 * 60),
                sent_bytes: Some(30_000_000 * 60),
                received_packets: Some(2_000_000),
                ..interface()
            }],
            disks: vec![DiskDelta {
                name: "nvme0n1".to_owned(),
                read_bytes: Some(0),
                written_bytes: Some(30_000_000 * 60),
                writes: Some(18_000),
                flushes: Some(120),
                write_ns: Some(18_000 * 1_000_000),
                busy_ns: Some(WINDOW_NS / 10),
                ..disk_delta()
            }],
            ..HostDelta::default()
        },
        softnet: vec![SoftnetOfCpu { cpu: 0, processed: 2_000_000, dropped: 0, time_squeeze: 10 }],
        ..HostWindow::default()
    };
    host.tcp.sent_segments = Some(1_800_000);
    host.tcp.retransmitted = Some(40);
    host.tcp.listen_overflows = Some(0);
    host
}

fn interface() -> InterfaceDelta {
    InterfaceDelta {
        name: String::new(),
        received_bytes: None,
        sent_bytes: None,
        received_packets: None,
        sent_packets: None,
        received_drops: None,
        sent_drops: None,
    }
}

fn disk_delta() -> DiskDelta {
    DiskDelta {
        name: String::new(),
        read_bytes: None,
        written_bytes: None,
        reads: None,
        writes: None,
        flushes: None,
        read_ns: None,
        write_ns: None,
        flush_ns: None,
        busy_ns: None,
    }
}

/// A second disk beside the first, with the same figures.
pub(in crate::diagnosis) fn second_disk(path: &mut ObservedPath) -> &mut DiskDelta {
    let disks = &mut host(path).counters.disks;
    let second = DiskDelta { name: "nvme1n1".to_owned(), ..disks[0].clone() };
    disks.push(second);
    &mut disks[1]
}

fn group(class: ThreadClass, threads: u32) -> ThreadGroup {
    ThreadGroup {
        class,
        threads,
        states: ThreadStates::default(),
        busiest_share: None,
        waits: BTreeMap::new(),
    }
}

fn healthy_broker_process() -> ProcessWindow {
    let classes = [(ThreadClass::Handler, 8), (ThreadClass::Network, 3), (ThreadClass::ReplicaFetcher, 2)];
    let mut process = ProcessWindow {
        pid: 1001,
        command: "java".to_owned(),
        is_broker: true,
        usage: ProcessUsage { elapsed_ns: WINDOW_NS, cpu_ns: Some(WINDOW_NS), ..usage() },
        groups: classes.map(|(class, threads)| group(class, threads)).into(),
        jvm: Some(JvmWindow {
            facts: JvmFacts {
                flags: [("UseAES".to_owned(), "true".to_owned())].into(),
                ..JvmFacts::default()
            },
            collections: Some(20),
            collection_ns: Some(180_000_000),
            heap_used_share: Some(0.3),
            longest_pause_ns: Some(14_000_000),
            ..JvmWindow::default()
        }),
        device_read_bytes_per_s: Some(0.0),
        log_directories: vec![logs()],
        ..ProcessWindow::default()
    };
    process.groups.iter_mut().for_each(|group| set_states(group, [0.1, 0.01, 0.0, 0.85]));
    process
}

fn healthy_client_process() -> ProcessWindow {
    let mut process = ProcessWindow {
        pid: 2002,
        command: "java".to_owned(),
        usage: ProcessUsage { elapsed_ns: WINDOW_NS, cpu_ns: Some(WINDOW_NS / 2), ..usage() },
        groups: vec![group(ThreadClass::ClientSender, 4)],
        ..ProcessWindow::default()
    };
    process.groups.iter_mut().for_each(|group| set_states(group, [0.2, 0.01, 0.0, 0.0]));
    process
}

fn usage() -> ProcessUsage {
    ProcessUsage::default()
}

/// Shares of the time of all threads: executing, runnable, for a disk, in a lock.
fn set_states(group: &mut ThreadGroup, shares: [f64; 4]) {
    let time_ns = f64::from(group.threads) * WINDOW_NS as f64;
    let [executing, runnable, disk, lock] = shares.map(|share| Some((share * time_ns) as u64));
    let rest = (1.0 - shares.iter().sum::<f64>()).max(0.0);
    let sleeping = Some((rest * time_ns) as u64);
    group.states = ThreadStates {
        executing_ns: executing,
        runnable_ns: runnable,
        disk_ns: disk,
        lock_ns: lock,
        sleeping_ns: sleeping,
        readings: 600,
    };
    group.busiest_share = Some((shares[0] * 1.02).min(1.0));
}

/// Sets waits in milliseconds, in the brokers' times and in the clients'; all others are those of a healthy path.
pub(in crate::diagnosis) fn wait(path: &mut ObservedPath, change: impl FnOnce(&mut Waits)) {
    let mut waits = Waits { ..HEALTHY };
    change(&mut waits);
    let broker = waits.request_queue + waits.local + waits.remote + waits.response_queue + waits.send;
    for kind in path.brokers.iter_mut().filter_map(|broker| broker.requests.get_mut("Produce")) {
        let samples = (kind.per_s.unwrap_or(0.0) * 60.0) as u64;
        kind.stages = RequestStages {
            request_queue: Some(window(waits.request_queue, samples)),
            local: Some(window(waits.local, samples)),
            remote: Some(window(waits.remote, samples)),
            response_queue: Some(window(waits.response_queue, samples)),
            response_send: Some(window(waits.send, samples)),
            throttle: Some(window(0.0, samples)),
            total: Some(window(broker, samples)),
        };
    }
    let rtt = broker + waits.unexplained + waits.throttle;
    let acknowledge = waits.client_queue + waits.client_send + rtt;
    for client in &mut path.clients {
        if client.is_producer {
            client.queue_mean_ns = Some(waits.client_queue * 1e6);
            client.outbuf_mean_ns = Some(waits.client_send * 1e6);
            client.rtt_mean_ns = Some(rtt * 1e6);
            client.acknowledge_mean_ns = Some(acknowledge * 1e6);
        } else {
            client.end_to_end_mean_ns = Some((acknowledge + waits.fetch) * 1e6);
        }
    }
}

pub(in crate::diagnosis) fn producers(path: &mut ObservedPath, change: impl Fn(&mut ClientWindow)) {
    path.clients.iter_mut().filter(|client| client.is_producer).for_each(change);
}

pub(in crate::diagnosis) fn consumers(path: &mut ObservedPath, change: impl Fn(&mut ClientWindow)) {
    path.clients.iter_mut().filter(|client| !client.is_producer).for_each(change);
}

pub(in crate::diagnosis) fn brokers(path: &mut ObservedPath, change: impl Fn(&mut BrokerWindow)) {
    path.brokers.iter_mut().for_each(change);
}

/// Idle shares of network threads and handlers, of every broker.
pub(in crate::diagnosis) fn idle(path: &mut ObservedPath, network: f64, handlers: f64) {
    brokers(path, |broker| set_idle(broker, network, handlers));
}

/// Idle shares of one broker.
pub(in crate::diagnosis) fn set_idle(broker: &mut BrokerWindow, network: f64, handlers: f64) {
    broker.network_processors.iter_mut().for_each(|processor| processor.idle_share = Some(network));
    broker.handlers.idle_share = Some(handlers);
}

pub(in crate::diagnosis) fn host(path: &mut ObservedPath) -> &mut HostWindow {
    path.host_window.as_mut().unwrap()
}

pub(in crate::diagnosis) fn disk(path: &mut ObservedPath) -> &mut DiskDelta {
    &mut host(path).counters.disks[0]
}

/// The busy share of all processors.
pub(in crate::diagnosis) fn cpu_busy(path: &mut ObservedPath, share: f64) {
    host(path).counters.cpu.busy_ns = Some((share * 8.0 * WINDOW_NS as f64) as u64);
}

/// The broker's process on this host.
pub(in crate::diagnosis) fn process(path: &mut ObservedPath) -> &mut ProcessWindow {
    path.processes.iter_mut().find(|process| process.is_broker).unwrap()
}

fn client_process(path: &mut ObservedPath) -> &mut ProcessWindow {
    path.processes.iter_mut().find(|process| !process.is_broker).unwrap()
}

/// Shares of the time of the broker's threads of a class: executing, runnable, for a disk, in a lock.
pub(in crate::diagnosis) fn states(path: &mut ObservedPath, class: ThreadClass, shares: [f64; 4]) {
    set_states(threads(path, class), shares);
}

/// The broker's threads of a class.
pub(in crate::diagnosis) fn threads(path: &mut ObservedPath, class: ThreadClass) -> &mut ThreadGroup {
    process(path).groups.iter_mut().find(|group| group.class == class).unwrap()
}

/// The same of the client's.
pub(in crate::diagnosis) fn client_states(path: &mut ObservedPath, class: ThreadClass, shares: [f64; 4]) {
    let group = client_process(path).groups.iter_mut().find(|group| group.class == class).unwrap();
    set_states(group, shares);
}

/// The broker's profile, of all its work.
pub(in crate::diagnosis) fn profile(path: &mut ObservedPath, shares: &[(CpuClass, f64)]) {
    process(path).profile = Some(profile_of(shares));
}

/// The client's profile.
pub(in crate::diagnosis) fn client_profile(path: &mut ObservedPath, shares: &[(CpuClass, f64)]) {
    client_process(path).profile = Some(profile_of(shares));
}

fn profile_of(shares: &[(CpuClass, f64)]) -> Profile {
    let row = |(class, share): &(CpuClass, f64)| ProfileShare {
        class: *class,
        threads: None,
        samples: (share * 50_000.0) as u64,
        share: *share,
    };
    Profile {
        source: "async-profiler 4.1, ctimer, 1 ms".to_owned(),
        elapsed_ns: WINDOW_NS,
        samples: 52_000,
        samples_of_work: 50_000,
        shares: shares.iter().map(row).collect(),
        ..Profile::default()
    }
}

/// Turns TLS on: listeners and clients.
pub(in crate::diagnosis) fn tls(path: &mut ObservedPath) {
    brokers(path, |broker| {
        for processor in &mut broker.network_processors {
            processor.name = processor.name.replace("PLAINTEXT", "SSL");
        }
    });
    path.clients.iter_mut().for_each(|client| {
        client.settings.insert("security.protocol".to_owned(), "SSL".to_owned());
    });
}

pub(in crate::diagnosis) fn jvm_flag(path: &mut ObservedPath, flag: &str, value: &str) {
    let jvm = process(path).jvm.as_mut().unwrap();
    jvm.facts.flags.insert(flag.to_owned(), value.to_owned());
}

/// A setting of every broker.
pub(in crate::diagnosis) fn broker_setting(path: &mut ObservedPath, key: &str, value: &str) {
    for settings in path.settings.brokers.values_mut() {
        settings.insert(key.to_owned(), value.to_owned());
    }
}

/// A config of the topic.
pub(in crate::diagnosis) fn topic_setting(path: &mut ObservedPath, key: &str, value: &str) {
    path.settings.topics.get_mut("orders").unwrap().configs.insert(key.to_owned(), value.to_owned());
}
