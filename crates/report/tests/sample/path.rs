//! Watched paths to render: one of which everything is known, one of which hardly anything is, a hostile one, an empty one.
//!
//! The figures are made up around those of a broker that encrypts without AES instructions; nothing here was measured.

#![allow(clippy::unwrap_used)]

use plumb_model::diagnosis::{
    Cause, Confirmation, ConfirmationOutcome, Diagnosis, DiagnosisVerdict, PathBound, PathStageTime,
};
use plumb_model::facts::{
    CpuTime, DiskDelta, Fact, HostDelta, HostFacts, InterfaceDelta, OneCpu, Pressure, RequestStages,
    WindowMean,
};
use plumb_model::finding::{Confidence, Evidence, Expect, Finding, Flip, FlipSetting, PathStage, Severity};
use plumb_model::observed::{
    BrokerKind, BrokerRole, BrokerWindow, ClientKind, ClientWindow, CpuClass, DeviceTimes, DropReason,
    HandlerPool, HostLimits, HostWindow, InterruptsOfCpu, JvmFacts, JvmWindow, KernelWindow, LogHistogram,
    NetworkProcessor, ObservedPath, ObserverCost, OffCpuStack, ProcessWaits, ProcessWindow, Profile,
    ProfileShare, RequestKind, SCHEMA_VERSION, SoftnetOfCpu, Stack, TcpWindow, ThreadClass, ThreadGroup,
    ThreadStates, TopicSettings, Unseen,
};
use std::collections::BTreeMap;

const WINDOW_NS: u64 = 30_000_000_000;

/// Two brokers on one host, both traced.
pub(crate) fn two_brokers() -> ObservedPath {
    let mut path = rich();
    let mut second = ProcessWindow { pid: 5678, profile: None, ..process() };
    let waits = second.kernel.as_mut().unwrap();
    waits.fsync = Some(histogram(19, &[0, 7]));
    waits.off_cpu[0].frames = ["do_syscall_64", "jbd2_log_wait_commit", "schedule"].map(str::to_owned).into();
    path.processes.push(second);
    path
}

/// A path of which nothing was seen and that nobody judged.
pub(crate) fn empty() -> ObservedPath {
    ObservedPath {
        schema_version: SCHEMA_VERSION,
        plumb_version: "0.1.0".to_owned(),
        started_at: "2026-11-20T15:04:05Z".to_owned(),
        ..ObservedPath::default()
    }
}

/// A path of which only a broker's metrics and the host were seen: no clients, no process, no kernel.
pub(crate) fn poor() -> ObservedPath {
    let mut path = ObservedPath {
        elapsed_ns: 12_400_000_000,
        complete: false,
        host: Some(host()),
        host_window: Some(HostWindow {
            counters: HostDelta {
                elapsed_ns: 12_400_000_000,
                context_switches: Some(0),
                ..HostDelta::default()
            },
            ..HostWindow::default()
        }),
        unseen: vec![
            unseen(
                "CPU profiles",
                "async-profiler is not in Plumb's cache",
                Some("plumb lab up fetches the profiler once, with Kafka"),
            ),
            unseen(
                "metrics of broker http://127.0.0.1:9404/metrics",
                "connection refused (os error 111)",
                None,
            ),
        ],
        ..empty()
    };
    let stage = |name: &str, source: &str| PathStageTime {
        name: name.to_owned(),
        mean_ns: None,
        share: None,
        source: source.to_owned(),
    };
    path.diagnosis = Some(Diagnosis {
        summary: "What was seen does not show what bounds the path. First: collect the brokers' metrics (--broker-metrics): the time of a request by stage.".to_owned(),
        verdict: DiagnosisVerdict::NotEnoughEvidence,
        stages: vec![
            stage("client_queue", "absent: no producer's statistics were read"),
            stage("client_send", "absent: no producer's statistics were read"),
            stage("unexplained", "absent: no producer's statistics were read"),
            stage("request_queue", "absent: no broker's metrics were read"),
            stage("local", "absent: no broker's metrics were read"),
            stage("remote", "absent: no broker's metrics were read"),
            stage("response_queue", "absent: no broker's metrics were read"),
            stage("send", "absent: no broker's metrics were read"),
            stage("fetch", "absent: no client told the time from send to reception"),
        ],
        collect: vec![
            "the brokers' metrics (--broker-metrics): the time of a request by stage".to_owned(),
            "what a producer waits for, in its queue and for the round trip: --probe-load sends a small load of its own on a topic of its own".to_owned(),
            "the broker's process on its own host (--pid): what its threads wait for, its control group and its JVM".to_owned(),
        ],
        ..Diagnosis::default()
    });
    path
}

/// A path of which everything is known.
pub(crate) fn rich() -> ObservedPath {
    ObservedPath {
        elapsed_ns: WINDOW_NS,
        complete: true,
        host: Some(host()),
        host_window: Some(host_window()),
        brokers: vec![broker()],
        clients: vec![producer()],
        processes: vec![process()],
        kernel: Some(kernel()),
        settings: plumb_model::observed::ClusterSettings {
            brokers: BTreeMap::from([(
                "1".to_owned(),
                properties(&[
                    ("num.io.threads", "8"),
                    ("num.network.threads", "3"),
                    ("compression.type", "producer"),
                ]),
            )]),
            topics: BTreeMap::from([(
                "orders".to_owned(),
                TopicSettings {
                    partitions: 12,
                    replication: 3,
                    leaders: BTreeMap::from([("1".to_owned(), 4)]),
                    configs: properties(&[("min.insync.replicas", "2"), ("retention.ms", "604800000")]),
                    ..TopicSettings::default()
                },
            )]),
            quotas: vec!["user=default: producer_byte_rate=10485760".to_owned()],
        },
        limits: HostLimits {
            aes_gcm_bytes_per_s: Some(74e6),
            aes_gcm_of: Some("Java 17.0.15 with the flags of process 1234".to_owned()),
            fsync_per_s: Some(1_240.0),
            ..HostLimits::default()
        },
        unseen: vec![
            unseen(
                "metrics of broker http://kafka-2:9404/metrics",
                "connection refused (os error 111)",
                Some("name the port on which the JMX exporter listens"),
            ),
            unseen(
                "programs in the kernel: block I/O of nvme1n1",
                "the device went away within the window",
                None,
            ),
        ],
        cost: ObserverCost {
            own_cpu_ns: Some(41_000_000),
            target_cpu_ns: Some(180_000_000),
            profiler_cpu_ns: Some(310_000_000),
            kernel_programs_cpu_ns: Some(12_300_000),
        },
        diagnosis: Some(diagnosis()),
        ..empty()
    }
}

/// A path whose names come from somebody who wants to break the page or the terminal, and whose figures are no figures.
pub(crate) fn hostile() -> ObservedPath {
    let evil = "</script></metadata><script>alert(1)</script>\u{1b}[2J\u{202e}]]>&amp;\"'";
    let mut path = rich();
    path.started_at = evil.to_owned();
    path.plumb_version = evil.to_owned();
    let diagnosis = path.diagnosis.as_mut().unwrap();
    diagnosis.summary = evil.to_owned();
    diagnosis.collect = vec![evil.to_owned()];
    diagnosis.stages[0].name = evil.to_owned();
    diagnosis.stages[1].mean_ns = Some(f64::NAN);
    diagnosis.stages[2].mean_ns = Some(-5e6);
    diagnosis.bounds[0].name = evil.to_owned();
    diagnosis.bounds[0].unit = evil.to_owned();
    diagnosis.bounds[1].limit = 0.0;
    diagnosis.bounds[2].measured = f64::INFINITY;
    let cause = &mut diagnosis.findings[0];
    cause.finding.id = evil.to_owned();
    cause.finding.claim = evil.to_owned();
    cause.share_of_gap = Some(f64::NAN);
    cause.finding.advice = vec![evil.to_owned()];
    cause.finding.evidence[0] = seen(evil, evil, Some(evil));
    cause.consequence_of = vec![evil.to_owned()];
    cause.rivals = vec![evil.to_owned()];
    cause.confirmation = Some(Confirmation {
        change: evil.to_owned(),
        metric: evil.to_owned(),
        before_ns: f64::NAN,
        after_ns: -1.0,
        ratio_low: -1.0,
        ratio_high: f64::INFINITY,
        outcome: ConfirmationOutcome::Undecided,
    });
    path.unseen = vec![unseen(evil, evil, Some(evil))];
    path.brokers[0].source = evil.to_owned();
    path.brokers[0].missing = vec![evil.to_owned()];
    path.clients[0].name = evil.to_owned();
    path.clients[0].rtt_mean_ns = Some(f64::NAN);
    let kernel = path.kernel.as_mut().unwrap();
    kernel.drops[0].reason = evil.to_owned();
    kernel.missing = vec![evil.to_owned()];
    kernel.devices[0].device = evil.to_owned();
    let process = &mut path.processes[0];
    let waits = process.kernel.as_mut().unwrap();
    waits.off_cpu[0].thread = evil.to_owned();
    waits.off_cpu[0].frames = vec![evil.to_owned()];
    waits.fsync = Some(LogHistogram {
        count: u64::MAX,
        sum_ns: u64::MAX,
        max_ns: u64::MAX,
        classes: vec![u64::MAX; 500],
    });
    process.command = evil.to_owned();
    process.groups[0].states.executing_ns = Some(u64::MAX);
    process.groups[0].waits = BTreeMap::from([(evil.to_owned(), f64::NAN)]);
    let profile = process.profile.as_mut().unwrap();
    profile.source = evil.to_owned();
    profile.file = Some(evil.to_owned());
    profile.cpu_is_of = Some(evil.to_owned());
    for (index, stack) in profile.stacks.iter_mut().enumerate() {
        stack.frames = match index % 5 {
            0 => format!("[{evil}];{evil};{}", "deep;".repeat(200)),
            1 => String::new(),
            2 => ";;;;".to_owned(),
            3 => (0..30).map(|n| format!("{n}-{index}-{}", "long".repeat(50))).collect::<Vec<_>>().join(";"),
            _ => format!("[t];{evil};a\nb 12"),
        };
        stack.samples = if index % 7 == 0 { u64::MAX } else { 1 };
        stack.class = None;
        stack.threads = if index % 2 == 0 { None } else { stack.threads };
    }
    path.host_window.as_mut().unwrap().nic_drops = BTreeMap::from([(evil.to_owned(), 7)]);
    path.settings.brokers = BTreeMap::from([(evil.to_owned(), properties(&[(evil, evil)]))]);
    path
}

fn unseen(what: &str, reason: &str, hint: Option<&str>) -> Unseen {
    Unseen { what: what.to_owned(), reason: reason.to_owned(), hint: hint.map(str::to_owned) }
}

fn seen(what: &str, value: &str, expected: Option<&str>) -> Evidence {
    Evidence { what: what.to_owned(), value: value.to_owned(), expected: expected.map(str::to_owned) }
}

fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn host() -> HostFacts {
    HostFacts {
        machine: Fact::known("Amazon EC2 m6i.large".to_owned(), "/sys/class/dmi/id"),
        cpu_model: Fact::known("Intel(R) Xeon(R) Platinum 8375C".to_owned(), "/proc/cpuinfo"),
        logical_cpus: Fact::known(2, "/proc/cpuinfo"),
        kernel_release: Fact::known("6.1.0-25-amd64".to_owned(), "/proc/sys/kernel/osrelease"),
        ..HostFacts::default()
    }
}

fn diagnosis() -> Diagnosis {
    let stage = |name: &str, mean_ms: f64, share: f64, source: &str| PathStageTime {
        name: name.to_owned(),
        mean_ns: Some(mean_ms * 1e6),
        share: Some(share),
        source: source.to_owned(),
    };
    let producers = "statistics of the producers, by their messages";
    let brokers = "the brokers' metrics of Produce requests, rounded to milliseconds by the broker";
    let mut stages = vec![
        stage("client_queue", 5.58, 0.215, producers),
        stage("client_send", 0.41, 0.016, producers),
        stage(
            "unexplained",
            10.5,
            0.406,
            "the producers' round trip less the broker's whole time of a Produce request and less throttling",
        ),
        stage("request_queue", 0.12, 0.005, brokers),
        stage("local", 2.74, 0.106, brokers),
        stage("response_queue", 0.36, 0.014, brokers),
        stage("send", 3.24, 0.125, brokers),
        stage("fetch", 2.92, 0.113, "mean from send to reception less that to the acknowledgement"),
    ];
    let remote = PathStageTime {
        name: "remote".to_owned(),
        mean_ns: None,
        share: None,
        source: "absent: no Produce request of the window has this stage".to_owned(),
    };
    stages.insert(5, remote);
    let bound = |name: &str, limit: f64, measured: f64, unit: &str, source: &str| PathBound {
        name: name.to_owned(),
        limit,
        measured,
        unit: unit.to_owned(),
        source: source.to_owned(),
    };
    Diagnosis {
        summary: "A message waits 25.9 ms on average: 10.5 ms (40.6 %) between client and broker (network, TLS, or a busy network thread), 5.58 ms \
                  (21.5 %) in the producers' queue and 3.24 ms (12.5 %) sending the answer. TLS encrypts in software: the broker's JVM has its AES \
                  instructions turned off. `tls-cpu` is a consequence. The nearest limit is the busiest network thread: 81.3 % of it is in use. First: start the JVM \
                  without -XX:-UseAES."
            .to_owned(),
        verdict: DiagnosisVerdict::Bound,
        stages,
        findings: vec![aes(), tls_cpu(), linger(), suspected("device-saturated", "The device is busy for most of the time.", PathStage::Log), suspected("far-broker", "Round trips take long though nobody works.", PathStage::Network)],
        bounds: vec![
            bound("network_threads", 1.0, 0.813, "share of the time", "the busiest network thread, by the broker's metrics"),
            bound("cpu", 1.0, 0.64, "share of the time", "all processors of this host"),
            bound("aes", 154_456_561.0, 66_263_273.0, "bytes/s", "AES-256-GCM of Java 17.0.15 with the flags of process 1234, times all processors"),
            bound("fsync", 1_240.0, 12.4, "commits/s", "a short calibration of commits, one after another: several at once may go faster"),
            bound("handlers", 1.0, 0.004, "share of the time", "the busiest broker's request handlers, by its metrics"),
        ],
        collect: Vec::new(),
    }
}

fn aes() -> Cause {
    let mut finding = Finding::new(
        "aes-not-accelerated",
        Severity::Note,
        "TLS encrypts in software: the broker's JVM has its AES instructions turned off.".to_owned(),
    );
    finding.confidence = Some(Confidence::Supported);
    finding.stage = Some(PathStage::Network);
    finding.evidence = vec![
        seen("share of AES and GHASH in the broker's work", "59.7 %", Some("below 15 %")),
        seen("AES-256-GCM of one processor", "74 MB/s", Some("about 3,650 MB/s")),
        seen("the processor shows aes", "yes", Some("yes")),
        seen("JVM flag UseAES", "false", Some("true")),
        seen("idle of the busiest network thread", "18.7 %", Some("above 30 %")),
    ];
    finding.advice = vec![
        "Start the JVM without -XX:-UseAES, -XX:-UseAESIntrinsics and -XX:-UseGHASHIntrinsics, on Java 17 or later.".to_owned(),
        "Until then ChaCha20-Poly1305 needs no such instructions, and compression leaves fewer bytes to encrypt.".to_owned(),
    ];
    finding.flip = Some(Flip {
        change: "start the broker's JVM with its AES instructions".to_owned(),
        setting: None,
        observe: "the share of AES and GHASH in the broker's work".to_owned(),
        expect: Expect::Falls,
    });
    Cause {
        fix: finding.advice.first().cloned(),
        finding,
        share_of_gap: Some(0.406),
        consequence_of: Vec::new(),
        rivals: vec!["tls-cpu".to_owned(), "network-threads-saturated".to_owned()],
        confirmation: None,
    }
}

fn tls_cpu() -> Cause {
    let mut finding =
        Finding::new("tls-cpu", Severity::Note, "TLS takes most of the broker's processor time.".to_owned());
    finding.confidence = Some(Confidence::Supported);
    finding.stage = Some(PathStage::Network);
    finding.evidence = vec![seen("share of TLS with AES in the broker's work", "71.2 %", Some("below 30 %"))];
    finding.advice = vec!["Compress at the producers: fewer bytes are encrypted.".to_owned()];
    Cause {
        fix: finding.advice.first().cloned(),
        finding,
        share_of_gap: Some(0.406),
        consequence_of: vec!["aes-not-accelerated".to_owned()],
        rivals: vec!["far-broker".to_owned()],
        confirmation: None,
    }
}

fn linger() -> Cause {
    let mut finding = Finding::new(
        "linger-too-long",
        Severity::Note,
        "The producers wait for more messages than come: linger.ms is longer than a batch takes to fill."
            .to_owned(),
    );
    finding.confidence = Some(Confidence::Confirmed);
    finding.stage = Some(PathStage::ClientQueue);
    finding.evidence =
        vec![seen("linger.ms", "5", Some("0")), seen("messages of a batch", "1.0", Some("above 2"))];
    finding.advice = vec!["Set linger.ms=0.".to_owned()];
    finding.flip = Some(Flip {
        change: "send without lingering".to_owned(),
        setting: Some(FlipSetting { path: "producer.linger.ms".to_owned(), value: "0".to_owned() }),
        observe: "acknowledge.mean".to_owned(),
        expect: Expect::Falls,
    });
    Cause {
        fix: finding.advice.first().cloned(),
        finding,
        share_of_gap: Some(0.215),
        consequence_of: Vec::new(),
        rivals: Vec::new(),
        confirmation: Some(Confirmation {
            change: "producer.linger.ms: 0".to_owned(),
            metric: "acknowledge.mean".to_owned(),
            before_ns: 25.9e6,
            after_ns: 20.6e6,
            ratio_low: 0.771,
            ratio_high: 0.824,
            outcome: ConfirmationOutcome::Holds,
        }),
    }
}

fn suspected(id: &str, claim: &str, stage: PathStage) -> Cause {
    let mut finding = Finding::new(id, Severity::Note, claim.to_owned());
    finding.confidence = Some(Confidence::Suspected);
    finding.stage = Some(stage);
    finding.evidence =
        vec![seen("share of the time in which the device is busy", "76 %", Some("below 80 %"))];
    Cause {
        finding,
        fix: None,
        share_of_gap: None,
        consequence_of: Vec::new(),
        rivals: Vec::new(),
        confirmation: None,
    }
}

fn broker() -> BrokerWindow {
    let mean = |ms: f64, samples: u64| {
        Some(WindowMean { mean_ns: ms * 1e6, low_ns: ms * 1e6, high_ns: ms * 1e6 + 5e5, samples })
    };
    let kind = |per_s: f64, times: [f64; 6]| RequestKind {
        per_s: Some(per_s),
        stages: RequestStages {
            request_queue: mean(times[0], 600),
            local: mean(times[1], 600),
            remote: if times[2] < 0.0 { None } else { mean(times[2], 600) },
            response_queue: mean(times[3], 600),
            response_send: mean(times[4], 600),
            throttle: None,
            total: mean(times[5], 600),
        },
        ..RequestKind::default()
    };
    BrokerWindow {
        source: "http://127.0.0.1:9404/metrics".to_owned(),
        pid: Some(1234),
        id: Some(1),
        kind: BrokerKind::Kafka,
        role: BrokerRole::Combined,
        elapsed_ns: WINDOW_NS,
        series: 1_402,
        requests: BTreeMap::from([
            ("Produce".to_owned(), kind(20.0, [0.12, 2.74, -1.0, 0.36, 3.24, 6.46])),
            ("FetchConsumer".to_owned(), kind(38.2, [0.09, 0.31, 24.1, 0.28, 4.02, 28.8])),
            ("Metadata".to_owned(), kind(0.4, [0.0, 1.0, -1.0, 0.0, 0.0, 1.0])),
        ]),
        network_processors: vec![
            NetworkProcessor {
                name: "0".to_owned(),
                idle_share: Some(0.187),
                from_gauge: false,
                connections: Some(4.0),
            },
            NetworkProcessor {
                name: "1".to_owned(),
                idle_share: Some(0.94),
                from_gauge: false,
                connections: Some(2.0),
            },
        ],
        handlers: HandlerPool { idle_share: Some(0.996), threads: Some(8), ..HandlerPool::default() },
        request_queue_size: Some(0.0),
        response_queue_size: Some(0.0),
        bytes_in_per_s: Some(4_805_000.0),
        bytes_out_per_s: Some(4_792_000.0),
        messages_in_per_s: Some(20.0),
        leaders: Some(13.0),
        under_replicated: Some(0.0),
        connections: Some(6.0),
        log_flushes_per_s: Some(0.07),
        log_flush_mean_ns: Some(3.1e6),
        gc_time_share: Some(0.006),
        ..BrokerWindow::default()
    }
}

fn producer() -> ClientWindow {
    ClientWindow {
        source: "probe load".to_owned(),
        name: "probe load".to_owned(),
        kind: ClientKind::Probe,
        is_producer: true,
        window_ns: WINDOW_NS,
        messages_per_s: Some(20.0),
        bytes_per_s: Some(4_800_000.0),
        queue_mean_ns: Some(5.58e6),
        outbuf_mean_ns: Some(0.41e6),
        rtt_mean_ns: Some(16.96e6),
        acknowledge_mean_ns: Some(22.95e6),
        end_to_end_mean_ns: Some(25.87e6),
        batch_bytes_mean: Some(240_080.0),
        throttled: Some(0),
        settings: properties(&[("acks", "all"), ("linger.ms", "5"), ("ssl.keystore.password", "[redacted]")]),
        ..ClientWindow::default()
    }
}

fn process() -> ProcessWindow {
    let mut process = ProcessWindow {
        pid: 1234,
        command: "java".to_owned(),
        is_broker: true,
        groups: groups(),
        jvm: Some(JvmWindow {
            facts: JvmFacts {
                version: Some("17.0.15".to_owned()),
                flags: properties(&[("UseAES", "false"), ("UseG1GC", "true"), ("MaxHeapSize", "1073741824")]),
                collector: Some("G1".to_owned()),
            },
            ..JvmWindow::default()
        }),
        profile: Some(profile()),
        kernel: Some(waits()),
        ..ProcessWindow::default()
    };
    process.usage.elapsed_ns = WINDOW_NS;
    process
}

fn groups() -> Vec<ThreadGroup> {
    let group = |class, threads: u32, shares: [f64; 5], busiest: f64| {
        let ns = |share: f64| Some((share * f64::from(threads) * WINDOW_NS as f64) as u64);
        ThreadGroup {
            class,
            threads,
            states: ThreadStates {
                executing_ns: ns(shares[0]),
                runnable_ns: ns(shares[1]),
                disk_ns: ns(shares[2]),
                lock_ns: ns(shares[3]),
                sleeping_ns: ns(shares[4]),
                readings: 120,
            },
            busiest_share: Some(busiest),
            waits: BTreeMap::from([("ep_poll".to_owned(), 0.6), ("futex_wait_queue".to_owned(), 0.2)]),
        }
    };
    let mut groups = vec![
        group(ThreadClass::Network, 3, [0.31, 0.07, 0.0, 0.01, 0.61], 0.813),
        group(ThreadClass::Jit, 2, [0.12, 0.03, 0.0, 0.85, 0.0], 0.2),
        group(ThreadClass::Handler, 8, [0.02, 0.01, 0.05, 0.92, 0.0], 0.06),
        group(ThreadClass::Other, 41, [0.01, 0.0, 0.0, 0.7, 0.29], 0.02),
    ];
    // Of these the readings of the state are missing.
    groups.push(ThreadGroup {
        class: ThreadClass::Gc,
        threads: 4,
        states: ThreadStates { executing_ns: Some(900_000_000), ..ThreadStates::default() },
        busiest_share: None,
        waits: BTreeMap::new(),
    });
    groups
}

/// Parts of stacks as a JVM has them.
const TRUNK: &str = "java/lang/Thread.run;kafka/network/Processor.run;kafka/network/Processor.poll;org/apache/kafka/common/network/Selector.poll;\
                     org/apache/kafka/common/network/Selector.pollSelectionKeys";
const WRAP: &str = "org/apache/kafka/common/network/SslTransportLayer.write;sun/security/ssl/SSLEngineImpl.wrap;sun/security/ssl/SSLEngineOutputRecord.encode;\
                    sun/security/ssl/SSLCipher$T13GcmWriteCipherGenerator$GcmWriteCipher.encrypt;javax/crypto/Cipher.doFinal;\
                    com/sun/crypto/provider/GaloisCounterMode.engineDoFinal";
const HANDLER: &str = "java/lang/Thread.run;kafka/server/KafkaRequestHandler.run;kafka/server/KafkaApis.handle;kafka/server/KafkaApis.handleProduceRequest;\
                       kafka/server/ReplicaManager.appendRecords;kafka/log/UnifiedLog.append";

/// Two thousand stacks: many leaves below a few trunks, as real profiles have them.
fn profile() -> Profile {
    let mut stacks = Vec::new();
    for n in 0..2_000_u64 {
        let (thread, trunk, leaf, class, threads, weight) = match n % 10 {
            0..4 => (
                "data-plane-kafka-network-thread-1-ListenerName(SSL)-SSL-0",
                format!("{TRUNK};{WRAP}"),
                "com/sun/crypto/provider/AESCrypt.encryptBlock",
                CpuClass::Aes,
                ThreadClass::Network,
                900,
            ),
            4..6 => (
                "data-plane-kafka-network-thread-1-ListenerName(SSL)-SSL-1",
                format!("{TRUNK};org/apache/kafka/common/network/KafkaChannel.read"),
                "sun/security/ssl/SSLEngineInputRecord.decodeInputRecord",
                CpuClass::Tls,
                ThreadClass::Network,
                300,
            ),
            6 => (
                "data-plane-kafka-network-thread-1-ListenerName(SSL)-SSL-0",
                TRUNK.to_owned(),
                "__libc_send;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendto;tcp_sendmsg",
                CpuClass::NetworkStack,
                ThreadClass::Network,
                260,
            ),
            7 => (
                "data-plane-kafka-request-handler-3",
                HANDLER.to_owned(),
                "kafka/log/LogSegment.append;org/apache/kafka/common/record/FileRecords.append;write",
                CpuClass::LogAppend,
                ThreadClass::Handler,
                200,
            ),
            8 => (
                "C2 CompilerThread0",
                "thread_native_entry;JavaThread::run;CompileBroker::compiler_thread_loop".to_owned(),
                "C2Compiler::compile_method;Compile::Compile;PhaseIdealLoop::build_and_optimize",
                CpuClass::Jit,
                ThreadClass::Jit,
                500,
            ),
            _ => (
                "kafka-scheduler-7",
                "java/lang/Thread.run;java/util/concurrent/ThreadPoolExecutor.runWorker".to_owned(),
                "kafka/server/ReplicaManager.$anonfun$maybeShrinkIsr$2;<init>",
                CpuClass::Other,
                ThreadClass::Other,
                40,
            ),
        };
        let further: String = (0..n % 23)
            .map(|depth| format!(";org/apache/kafka/common/utils/Generated{}.call{}", n % 211, depth))
            .collect();
        stacks.push(Stack {
            frames: format!("[{thread} tid={}];{trunk};{leaf}{further}", 100 + n % 3),
            samples: 1 + weight / (1 + n / 40),
            class: Some(class),
            threads: Some(threads),
        });
    }
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
    shared(stacks)
}

/// The profile of these stacks, with some samples more of stacks that are not kept.
fn shared(stacks: Vec<Stack>) -> Profile {
    let mut of_threads: BTreeMap<(Option<ThreadClass>, CpuClass), u64> = BTreeMap::new();
    for stack in &stacks {
        let class = stack.class.unwrap();
        *of_threads.entry((stack.threads, class)).or_default() += stack.samples;
        *of_threads.entry((None, class)).or_default() += stack.samples;
    }
    for threads in [None, Some(ThreadClass::Network)] {
        *of_threads.entry((threads, CpuClass::Other)).or_default() += 700;
    }
    let beyond = |class: CpuClass| matches!(class, CpuClass::Gc | CpuClass::Jit);
    let whole = |of: Option<ThreadClass>, work: bool| -> u64 {
        let parts =
            of_threads.iter().filter(|((threads, class), _)| *threads == of && !(work && beyond(*class)));
        parts.map(|(_, samples)| samples).sum()
    };
    let mut shares: Vec<ProfileShare> = of_threads
        .iter()
        .map(|((threads, class), samples)| ProfileShare {
            class: *class,
            threads: *threads,
            samples: *samples,
            share: *samples as f64 / whole(*threads, threads.is_none()) as f64,
        })
        .collect();
    shares.sort_by_key(|share| (share.threads, std::cmp::Reverse(share.samples)));
    Profile {
        source: "async-profiler 4.1, ctimer, 1 ms".to_owned(),
        elapsed_ns: WINDOW_NS,
        samples: whole(None, false),
        samples_of_work: whole(None, true),
        shares,
        stacks,
        file: Some("profile.collapsed".to_owned()),
        cpu_ns: Some(310_000_000),
        cpu_is_of: Some("stack walks in the JVM, by the profiler's own clock".to_owned()),
    }
}

fn histogram(first: usize, counts: &[u64]) -> LogHistogram {
    let mut classes = vec![0; first];
    classes.extend(counts);
    let sum_ns = classes.iter().enumerate().map(|(class, count)| count * (3 << class) / 2).sum();
    LogHistogram { count: counts.iter().sum(), sum_ns, max_ns: (1 << classes.len()) - 1, classes }
}

/// What the kernel's trace points tell of a process.
fn waits() -> ProcessWaits {
    ProcessWaits {
        elapsed_ns: WINDOW_NS,
        run_delay: Some(histogram(10, &[4_210, 18_400, 22_013, 9_004, 3_120, 811, 420, 96, 31, 12, 0, 3, 1])),
        off_cpu: vec![OffCpuStack {
            thread: "data-plane-kafk".to_owned(),
            frames: [
                "entry_SYSCALL_64_after_hwframe",
                "do_syscall_64",
                "__x64_sys_epoll_wait",
                "ep_poll",
                "schedule",
            ]
            .map(str::to_owned)
            .into(),
            time_ns: 54_000_000_000,
            count: 18_020,
        }],
        fsync: Some(histogram(19, &[2, 11, 214, 120, 22, 3, 1])),
    }
}

fn kernel() -> KernelWindow {
    KernelWindow {
        elapsed_ns: WINDOW_NS,
        journal_commit: Some(histogram(20, &[4, 9, 2])),
        devices: vec![DeviceTimes {
            device: "nvme0n1".to_owned(),
            times: histogram(14, &[120, 4_100, 2_300, 240, 31, 4]),
        }],
        tcp_retransmits: Some(3),
        drops: vec![DropReason { reason: "TCP_OFO_QUEUE".to_owned(), packets: 2 }],
        softirq_ns: BTreeMap::from([("cpu0 NET_RX".to_owned(), 410_000_000), ("cpu1 NET_RX".to_owned(), 0)]),
        missing: Vec::new(),
    }
}

fn host_window() -> HostWindow {
    let cpu = |busy: f64| CpuTime {
        busy_ns: Some((busy * 60e9) as u64),
        steal_ns: Some(240_000_000),
        iowait_ns: Some(600_000_000),
        total_ns: Some(60_000_000_000),
    };
    HostWindow {
        counters: HostDelta {
            elapsed_ns: WINDOW_NS,
            cpu: cpu(0.64),
            each_cpu: vec![OneCpu { cpu: 0, time: cpu(0.71) }, OneCpu { cpu: 1, time: cpu(0.57) }],
            pressure: Pressure {
                cpu_some_ns: Some(6_900_000_000),
                io_some_ns: Some(210_000_000),
                io_full_ns: Some(90_000_000),
                memory_some_ns: Some(0),
                memory_full_ns: Some(0),
            },
            context_switches: Some(412_000),
            dirty_bytes: Some(3_200_000),
            writeback_bytes: Some(0),
            memory_available_bytes: Some(4_900_000_000),
            interfaces: vec![InterfaceDelta {
                name: "eth0".to_owned(),
                received_bytes: Some(151_000_000),
                sent_bytes: Some(149_000_000),
                received_packets: Some(90_000),
                sent_packets: Some(91_000),
                received_drops: Some(0),
                sent_drops: Some(0),
            }],
            disks: vec![DiskDelta {
                name: "nvme0n1".to_owned(),
                read_bytes: Some(0),
                written_bytes: Some(146_000_000),
                reads: Some(0),
                writes: Some(1_240),
                flushes: Some(372),
                read_ns: Some(0),
                write_ns: Some(1_900_000_000),
                flush_ns: Some(810_000_000),
                busy_ns: Some(2_400_000_000),
            }],
            ..HostDelta::default()
        },
        softnet: vec![SoftnetOfCpu { cpu: 0, processed: 90_000, dropped: 0, time_squeeze: 12 }],
        interrupts: vec![
            InterruptsOfCpu {
                cpu: 0,
                hardware: Some(41_000),
                net_rx: Some(88_000),
                ..InterruptsOfCpu::default()
            },
            InterruptsOfCpu {
                cpu: 1,
                hardware: Some(9_000),
                net_rx: Some(2_000),
                ..InterruptsOfCpu::default()
            },
        ],
        tcp: TcpWindow {
            sent_segments: Some(91_000),
            retransmitted: Some(3),
            timeouts: Some(0),
            listen_overflows: Some(0),
            zero_windows: Some(0),
            delayed_acks: Some(412),
            passive_opens: Some(6),
            ..TcpWindow::default()
        },
        nic_drops: BTreeMap::from([("eth0 bw_in_allowance_exceeded".to_owned(), 14)]),
        links: BTreeMap::from([("eth0".to_owned(), 1_250_000_000)]),
        settings: properties(&[("net.ipv4.tcp_rmem", "4096 131072 6291456")]),
        ..HostWindow::default()
    }
}
