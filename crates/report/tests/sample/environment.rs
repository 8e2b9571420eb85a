//! The sample run's host, client, cluster and instrument.

use plumb_model::document::{ClusterFacts, ConfigKeyFate, Environment, Instrument, KeyFate};
use plumb_model::facts::{ClockSync, Fact, HostFacts, Limit, NumaNode, Virtualisation};
use plumb_model::observation::Distribution;
use std::collections::BTreeMap;

pub(crate) fn environment() -> Environment {
    Environment {
        host: Some(host()),
        client: "librdkafka 2.12.1".to_owned(),
        cluster: ClusterFacts {
            id: Some("kT0mCkQ2R7aUzQx6bq1V0w".to_owned()),
            brokers: vec!["127.0.0.1:39411".to_owned()],
            on_this_host: Some(true),
            version: Some("4.3.0".to_owned()),
            security_protocol: Some("PLAINTEXT".to_owned()),
            connect_ns: Vec::new(),
        },
        config_keys: vec![
            fate("security.protocol", 1, KeyFate::Passed),
            fate(
                "ssl.truststore.location",
                2,
                KeyFate::Translated { to: vec!["ssl.ca.location".to_owned()] },
            ),
            fate(
                "key.serializer",
                3,
                KeyFate::JavaOnly { reason: "values are bytes here, nothing is serialised".to_owned() },
            ),
        ],
        log_directories: Vec::new(),
        changed_by_trial: None,
        workers: Vec::new(),
    }
}

pub(crate) fn instrument() -> Instrument {
    Instrument {
        clock_read_ns: Some(24.3),
        clock_step_ns: Some(1),
        wake_late: Distribution {
            samples: 2_000,
            min_ns: Some(90),
            mean_ns: Some(410.0),
            p50_ns: Some(220),
            p75_ns: Some(300),
            p95_ns: Some(900),
            p99_ns: Some(4_100),
            max_ns: Some(61_000),
            ..Default::default()
        },
        spin_ns: 60_000,
        ceilings: Vec::new(),
    }
}

fn host() -> HostFacts {
    HostFacts {
        os_name: Fact::known("Debian GNU/Linux 12".to_owned(), "/etc/os-release"),
        kernel_release: Fact::known("6.1.0-26-amd64".to_owned(), "/proc/sys/kernel/osrelease"),
        cpu_model: Fact::known("AMD EPYC 7B13".to_owned(), "/proc/cpuinfo"),
        logical_cpus: Fact::known(8, "/sys/devices/system/cpu/online"),
        cpu_flags: Fact::known(
            BTreeMap::from([("aes".to_owned(), true), ("sha_ni".to_owned(), false)]),
            "/proc/cpuinfo",
        ),
        cpu_governors: Fact::unknown("no /sys/devices/system/cpu/cpu0/cpufreq"),
        virtualisation: Fact::known(
            Virtualisation { virtual_machine: true, vendor: Some("kvm".to_owned()) },
            "/sys/hypervisor",
        ),
        memory_total_bytes: Fact::known(33_554_432_000, "/proc/meminfo"),
        cgroup_cpu_limit_cpus: Fact::known(Limit::At(2.5), "/sys/fs/cgroup/cpu.max"),
        numa_nodes: Fact::known(
            vec![NumaNode {
                node: 0,
                cpus: "0-7".to_owned(),
                memory_bytes: Some(33_554_432_000),
                distances: vec![10],
            }],
            "/sys/devices/system/node",
        ),
        load_average: Fact::known([0.42, 0.31, 0.2], "/proc/loadavg"),
        clock_source: Fact::known("kvm-clock".to_owned(), "/sys/devices/system/clocksource"),
        clock_sync: Fact::known(
            ClockSync {
                synchronised: true,
                stratum: Some(3),
                offset_ns: Some(41_000),
                rms_offset_ns: Some(55_000),
                root_delay_ns: Some(1_200_000),
                root_dispersion_ns: Some(310_000),
            },
            "chronyc tracking",
        ),
        ..Default::default()
    }
}

fn fate(key: &str, line: u32, fate: KeyFate) -> ConfigKeyFate {
    ConfigKeyFate { key: key.to_owned(), line, fate }
}
