//! Facts and counters of four recorded hosts under `fixtures`, checked against what a person reads there.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use std::path::{Path, PathBuf};
use std::{fs, io};

use plumb_model::facts::{Fact, HostFacts, Limit};
use plumb_observe::{
    HostRoot, RecordedCommands, host_delta, host_facts, is_local_address, process_usage, sample_host,
    sample_threads,
};

fn recorded(host: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(host)
}

fn facts(host: &str) -> HostFacts {
    host_facts(&HostRoot::new(recorded(host)), &RecordedCommands::default())
}

fn known<T: Clone>(fact: &Fact<T>) -> T {
    match fact {
        Fact::Known { value, .. } => value.clone(),
        Fact::Unknown { reason } => panic!("unknown: {reason}"),
    }
}

fn reason<T>(fact: &Fact<T>) -> &str {
    match fact {
        Fact::Known { source, .. } => panic!("known from {source}"),
        Fact::Unknown { reason } => reason,
    }
}

/// A copy of a recorded host, to change.
fn copied(host: &str) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let (from, to) = (from.join(entry.as_ref().unwrap().file_name()), to.join(entry?.file_name()));
            if from.is_dir() { copy(&from, &to)? } else { fs::copy(&from, &to).map(drop)? }
        }
        Ok(())
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&recorded(host), folder.path()).unwrap();
    folder
}

#[test]
fn a_two_node_server_is_read_with_its_nodes_and_mixed_governors() {
    let facts = facts("two-node-xeon");
    assert_eq!(known(&facts.os_name), "Ubuntu 22.04.5 LTS");
    assert_eq!(known(&facts.kernel_release), "5.15.0-119-generic");
    assert_eq!(known(&facts.machine), "Dell Inc. PowerEdge R650");
    assert!(!known(&facts.virtualisation).virtual_machine);
    assert!(!known(&facts.container).contained);
    assert_eq!(known(&facts.cpu_model), "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz");
    assert_eq!(known(&facts.logical_cpus), 4);
    assert_eq!(known(&facts.cpu_governors), ["performance", "powersave"]);
    assert!(known(&facts.cpu_flags).values().all(|present| *present));
    let nodes = known(&facts.numa_nodes);
    assert_eq!(
        nodes.iter().map(|node| (node.node, &*node.cpus)).collect::<Vec<_>>(),
        [(0, "0-1"), (1, "2-3")]
    );
    assert_eq!(nodes[1].memory_bytes, Some(131_926_976 * 1024));
    assert_eq!(known(&facts.mitigations), "off");
    assert!(known(&facts.vulnerabilities)["spectre_v2"].starts_with("Vulnerable"));
    assert_eq!(known(&facts.cgroup_cpu_limit_cpus), Limit::Unlimited);
    assert_eq!(known(&facts.cgroup_memory_limit_bytes), Limit::Unlimited);
    assert_eq!(known(&facts.load_average), [3.2, 2.75, 1.0]);
    assert_eq!(known(&facts.boot_time_unix_s), 1_763_000_000);
    assert_eq!(known(&facts.memory_total_bytes), 263_853_952 * 1024);
    assert_eq!(known(&facts.memory_available_bytes), 192 << 30);
    assert_eq!(known(&facts.swap_used_bytes), 256 << 20);
    assert_eq!(known(&facts.transparent_huge_pages), "always");
    assert_eq!(known(&facts.clock_source), "tsc");
}

#[test]
fn what_a_host_does_not_say_is_unknown_with_the_reason() {
    let facts = facts("arm-cloud-guest");
    assert!(reason(&facts.memory_total_bytes).starts_with("cannot read /proc/meminfo: "));
    assert!(reason(&facts.dirty_limits).starts_with("cannot read /proc/sys/vm/dirty_background_ratio: "));
    assert!(reason(&facts.host_digest).contains("/etc/machine-id"));
    assert_eq!(reason(&facts.clock_sync), "chronyc is not installed; timedatectl is not installed");
    assert!(reason(&facts.cpu_governors).contains("no frequency control here"));
}

#[test]
fn an_arm_guest_is_known_by_its_core_its_features_and_its_firmware() {
    let facts = facts("arm-cloud-guest");
    assert_eq!(known(&facts.cpu_model), "Arm Neoverse N1");
    let flags = known(&facts.cpu_flags);
    assert_eq!((flags["aes"], flags["pmull"], flags["sve"]), (true, true, false));
    assert_eq!(known(&facts.machine), "Amazon EC2 m6g.large");
    let virtualisation = known(&facts.virtualisation);
    assert_eq!(virtualisation.vendor.as_deref(), Some("Amazon EC2"));
    assert!(virtualisation.virtual_machine);
    assert_eq!(known(&facts.mitigations), "default");
    assert_eq!(known(&facts.cgroup_cpu_limit_cpus), Limit::Unlimited, "the top group has no limit");
}

#[test]
fn a_bare_metal_instance_of_the_same_vendor_is_no_virtual_machine() {
    let host = copied("two-node-xeon");
    fs::write(host.path().join("sys/class/dmi/id/sys_vendor"), "Amazon EC2\n").unwrap();
    fs::write(host.path().join("sys/class/dmi/id/product_name"), "m5.metal\n").unwrap();
    let facts = host_facts(&HostRoot::new(host.path()), &RecordedCommands::default());
    assert!(!known(&facts.virtualisation).virtual_machine);
}

#[test]
fn a_container_without_marker_files_is_known_by_its_mounts_and_held_by_its_limits() {
    let facts = facts("kubernetes-container");
    let container = known(&facts.container);
    assert_eq!((container.contained, container.runtime.as_deref()), (true, Some("kubernetes")));
    assert_eq!(known(&facts.cgroup_cpu_limit_cpus), Limit::At(1.5));
    assert_eq!(known(&facts.cgroup_memory_limit_bytes), Limit::At(2 << 30));
    assert_eq!(known(&facts.os_name), "Alpine Linux v3.20");
    assert_eq!(known(&facts.virtualisation).vendor.as_deref(), Some("Microsoft Hyper-V"));
}

#[test]
fn a_guest_with_version_one_groups_is_held_by_the_tightest_group_above_it() {
    let facts = facts("firecracker-guest");
    assert_eq!(known(&facts.cgroup_cpu_limit_cpus), Limit::Unlimited);
    assert_eq!(
        known(&facts.cgroup_memory_limit_bytes),
        Limit::At(8 << 30),
        "its own 16 GiB are inside of 8 GiB"
    );
    let virtualisation = known(&facts.virtualisation);
    assert_eq!(
        virtualisation.vendor.as_deref(),
        Some("KVM"),
        "from the guest clock, as there is no firmware"
    );
    assert_eq!(known(&facts.mitigations), "auto");
    assert_eq!(known(&facts.dirty_limits).ratio_percent, 20);
}

#[test]
fn neither_the_machine_id_nor_the_command_line_gets_into_the_facts() {
    let json = serde_json::to_string(&facts("firecracker-guest")).unwrap();
    assert!(!json.contains("0123456789abcdef0123456789abcdef"));
    assert!(!json.contains("hunter2"));
    assert!(!json.contains("worker"), "the control group's path names what runs there");
}

#[test]
fn facts_survive_json_and_a_document_without_them_says_so() {
    let facts = facts("two-node-xeon");
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<HostFacts>(&json).unwrap(), facts);
    let memory = serde_json::to_value(&facts.memory_available_bytes).unwrap();
    assert_eq!(memory, serde_json::json!({"value": 206_158_430_208_u64, "source": "/proc/meminfo"}));
    let older: HostFacts = serde_json::from_str("{\"of_the_future\": 1}").unwrap();
    assert!(reason(&older.cpu_model).contains("not recorded"));
}

#[test]
fn an_empty_root_gives_facts_that_are_all_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let facts = host_facts(&HostRoot::new(folder.path()), &RecordedCommands::default());
    let json = serde_json::to_value(&facts).unwrap();
    for (name, fact) in json.as_object().unwrap() {
        assert!(fact["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{name}: {fact}");
    }
    let error = sample_host(&HostRoot::new(folder.path())).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /proc/stat");
}

#[test]
fn a_second_of_work_is_the_difference_of_two_readings() {
    let host = copied("two-node-xeon");
    let root = HostRoot::new(host.path());
    let before = sample_host(&root).unwrap();
    let rewrite = |file: &str, from: &str, to: &str| {
        let path = host.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    rewrite("proc/stat", "cpu  40000 100 20000 900000", "cpu  40250 100 20050 900100");
    rewrite("proc/stat", "cpu0 10000 25 5000 225000", "cpu0 10050 25 5000 225050");
    rewrite("proc/stat", "ctxt 123456789", "ctxt 123457000");
    rewrite("proc/diskstats", "nvme0n1 5000 10 400000 2500 90000", "nvme0n1 5000 10 400000 2500 90007");
    rewrite("proc/net/snmp", "500000 250", "500900 253");
    rewrite("proc/net/dev", "7000000000 5000000 0 0", "7000009000 5000006 0 1");
    let delta = host_delta(&before, &sample_host(&root).unwrap());

    assert_eq!(delta.cpu.busy_share(), Some(0.75));
    assert_eq!(delta.each_cpu.len(), 4);
    assert_eq!(delta.each_cpu[0].time.busy_share(), Some(0.5));
    assert_eq!(delta.each_cpu[1].time.busy_share(), None, "no time passed there, so there is no share");
    assert_eq!(delta.context_switches, Some(211));
    assert_eq!((delta.dirty_bytes, delta.writeback_bytes), (Some(1 << 30), Some(20 << 20)));
    assert_eq!((delta.dirty_before_bytes, delta.writeback_before_bytes), (Some(1 << 30), Some(20 << 20)));
    assert_eq!(delta.dirty_threshold_bytes, Some(9_830_400 * 4096));
    assert_eq!(delta.dirty_background_threshold_bytes, Some(4_915_200 * 4096));
    assert_eq!(delta.memory_available_bytes, Some(192 << 30));
    assert_eq!((delta.tcp_sent_segments, delta.tcp_retransmitted_segments), (Some(900), Some(3)));
    let disks: Vec<_> = delta.disks.iter().map(|disk| (disk.name.as_str(), disk.writes)).collect();
    assert_eq!(disks, [("nvme0n1", Some(7)), ("cciss/c0d0", Some(0))], "no partition, no silent disk");
    let partitions: Vec<_> = delta.partitions.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(partitions, ["nvme0n1p1", "nvme0n1p2"]);
    let interfaces: Vec<_> =
        delta.interfaces.iter().map(|i| (i.name.as_str(), i.sent_bytes, i.sent_drops)).collect();
    assert_eq!(interfaces, [("lo", Some(0), Some(0)), ("ens1f0", Some(9000), Some(1))]);
    assert_eq!(delta.pressure.io_some_ns, None);
    assert_eq!(delta.missing.len(), 3, "no pressure files on this kernel: {:?}", delta.missing);
}

#[test]
fn addresses_of_the_hosts_interfaces_are_local_and_those_of_its_networks_are_not() {
    let root = HostRoot::new(recorded("firecracker-guest"));
    let local = |address: &str| is_local_address(&root, address.parse().unwrap()).unwrap();
    for own in ["127.0.0.1", "127.9.9.9", "192.0.2.2", "::1", "fd00::2", "::ffff:192.0.2.2", "0.0.0.0", "::"]
    {
        assert!(local(own), "{own}");
    }
    for other in ["192.0.2.1", "192.0.2.255", "192.0.2.0", "203.0.113.9", "fd00::3", "::ffff:192.0.2.1"] {
        assert!(!local(other), "{other}");
    }
}

#[test]
fn whether_an_address_is_local_is_an_error_when_the_host_does_not_say() {
    let root = HostRoot::new(recorded("two-node-xeon"));
    let error = is_local_address(&root, "10.0.0.1".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /proc/net/fib_trie");
    assert!(!is_local_address(&root, "fd00::2".parse().unwrap()).unwrap(), "a kernel without IPv6");
}

#[test]
fn a_process_is_read_with_each_of_its_threads() {
    let host = tempfile::tempdir().unwrap();
    let write = |path: &str, text: String| {
        let path = host.path().join("proc/4242").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let stat = |name: &str, user: u64, system: u64| {
        format!("7 ({name}) S 1 1 1 0 -1 64 9 9 0 0 {user} {system} 0 0 20 0 2 0 900 1 1")
    };
    let read = |user: u64, on_cpu_ns: u64, delay_ns: u64, switches: u64| {
        write("stat", stat("java", user, 10));
        write("task/4242/stat", stat("java", 1, 1));
        write("task/4243/stat", stat("data-plane-kafk", user, 5));
        write("task/4243/schedstat", format!("{on_cpu_ns} {delay_ns} 12\n"));
        let status = format!("voluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t3\n");
        write("task/4243/status", status);
        sample_threads(&HostRoot::new(host.path()), 4242).unwrap()
    };
    let usage = process_usage(&read(100, 1_000_000, 500, 7), &read(190, 901_000_000, 40_500, 19));
    assert_eq!(usage.cpu_ns, Some(900_000_000));
    let handler = &usage.threads[1];
    assert_eq!((handler.tid, handler.name.as_str()), (4243, "data-plane-kafk"));
    assert_eq!((handler.user_ns, handler.system_ns), (Some(900_000_000), Some(0)));
    assert_eq!((handler.on_cpu_ns, handler.run_delay_ns), (Some(900_000_000), Some(40_000)));
    assert_eq!((handler.voluntary_switches, handler.involuntary_switches), (Some(12), Some(0)));
    assert_eq!(usage.threads[0].on_cpu_ns, None, "a kernel without scheduler statistics");
    let error = sample_threads(&HostRoot::new(host.path()), 1).unwrap_err();
    assert_eq!(error.to_string(), "no process 1");
}
