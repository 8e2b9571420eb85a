//! Facts of recorded machines (`fixtures/hosts/*.tree`), each with what distinguishes it.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

mod planted;

use plumb_model::facts::{
    CpuCache, Fact, HostFacts, IoLimit, Limit, NamespaceMode, NetworkInterface, NumaNode, SoftHard,
};
use plumb_observe::{HostRoot, host_facts};

fn facts(machine: &str) -> HostFacts {
    let (root, commands) = planted::planted(&format!("hosts/{machine}.tree"));
    host_facts(&HostRoot::new(root.path()), &commands)
}

fn known<T>(fact: &Fact<T>) -> &T {
    match fact {
        Fact::Known { value, .. } => value,
        Fact::Unknown { reason } => panic!("unknown: {reason}"),
    }
}

fn reason<T: std::fmt::Debug>(fact: &Fact<T>) -> &str {
    match fact {
        Fact::Known { value, .. } => panic!("known: {value:?}"),
        Fact::Unknown { reason } => reason,
    }
}

fn interface<'a>(facts: &'a HostFacts, name: &str) -> &'a NetworkInterface {
    known(&facts.network_interfaces).iter().find(|one| one.name == name).unwrap()
}

fn last_cache(facts: &HostFacts) -> &CpuCache {
    known(&facts.cpu_topology).caches.last().unwrap()
}

fn missing_flags(facts: &HostFacts) -> Vec<&str> {
    known(&facts.cpu_flags).iter().filter(|(_, had)| !**had).map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_xeon_with_two_sockets_shows_its_cores_caches_and_distances() {
    let facts = facts("xeon-two-nodes");
    let topology = known(&facts.cpu_topology);
    assert_eq!((topology.sockets, topology.cores, topology.threads_per_core), (2, 4, 2));
    assert_eq!(topology.smt.as_deref(), Some("on"));
    let third = CpuCache {
        level: 3,
        holds: "unified".to_owned(),
        size_bytes: 36_608 * 1024,
        count: 2,
        shared_by_cpus: 4,
    };
    assert_eq!(last_cache(&facts), &third);
    let first: Vec<(&str, u32)> =
        topology.caches.iter().take(2).map(|cache| (cache.holds.as_str(), cache.count)).collect();
    assert_eq!(first, [("data", 4), ("instruction", 4)]);
    let identity = known(&facts.cpu_identity);
    assert_eq!((identity.family, identity.model, identity.stepping), (Some(6), Some(85), Some(7)));
    assert_eq!(known(&facts.cpu_microcode), &["0x5003605"]);
    assert_eq!(known(&facts.cpus_allowed), "0-5");
    let second = NumaNode {
        node: 1,
        cpus: "2-3,6-7".to_owned(),
        memory_bytes: Some(98_304_000 * 1024),
        distances: vec![21, 10],
    };
    assert_eq!(known(&facts.numa_nodes)[1], second);
    assert!(!known(&facts.virtualisation).virtual_machine);
    let correction = known(&facts.memory_error_correction);
    assert!(correction.corrects);
    assert_eq!((correction.corrected, correction.uncorrected), (Some(3), Some(0)));
    assert!(reason(&facts.memory_modules).starts_with("cannot read /sys/firmware/dmi/tables/DMI"));
}

#[test]
fn a_command_line_is_shown_without_what_names_the_host_or_its_volumes() {
    let facts = facts("xeon-two-nodes");
    let options = known(&facts.kernel_options);
    let expected = ["isolcpus=managed_irq,6-7", "intel_iommu=on", "iommu=pt", "mitigations=auto"];
    assert_eq!((options.shown.as_slice(), options.left_out), (&expected.map(str::to_owned)[..], 5));
    let document = serde_json::to_string(&facts).unwrap();
    for private in ["db17", "luks", "somebody", "02:00:5e"] {
        assert!(!document.contains(private), "{private} is in {document}");
    }
}

#[test]
fn optane_in_app_direct_is_told_by_its_regions_and_a_seed_is_no_namespace() {
    let facts = facts("xeon-two-nodes");
    let used = known(&facts.persistent_memory);
    assert_eq!((used.modules, used.modes()), (2, vec!["App Direct"]));
    let namespaces: Vec<_> = used.namespaces.iter().map(|one| (one.name.as_str(), one.mode)).collect();
    let expected =
        [("namespace0.0", Some(NamespaceMode::Fsdax)), ("namespace1.0", Some(NamespaceMode::Sector))];
    assert_eq!(namespaces, expected);
    let region = &used.regions[1];
    assert_eq!((region.provider.as_deref(), region.numa_node), (Some("ACPI.NFIT"), Some(1)));
    assert_eq!(region.persistence_domain.as_deref(), Some("memory_controller"));
}

#[test]
fn memory_before_modules_is_memory_mode_and_alone_it_is_not() {
    let with = |tree: &str, extra: bool| {
        let (root, commands) = planted::planted(&format!("hosts/{tree}.tree"));
        let folder = root.path().join("sys/devices/system/node/node0/memory_side_cache/index1");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("size"), "206158430208\n").unwrap();
        if !extra {
            std::fs::remove_dir_all(root.path().join("sys/bus/nd")).unwrap();
        }
        host_facts(&HostRoot::new(root.path()), &commands)
    };
    let both = with("xeon-two-nodes", true);
    assert_eq!(known(&both.persistent_memory).modes(), ["App Direct", "Memory Mode"]);
    let other = with("amd-epyc", false);
    let other = known(&other.persistent_memory);
    assert_eq!((other.memory_side_cache_bytes, other.modes()), (Some(206_158_430_208), Vec::new()));
}

#[test]
fn on_bare_metal_there_is_no_hypervisor_to_go_around_and_a_bond_names_its_parts() {
    let facts = facts("xeon-two-nodes");
    let port = interface(&facts, "ens1f0");
    assert_eq!((port.driver.as_deref(), port.speed_mbit_per_s), (Some("mlx5_core"), Some(25_000)));
    assert_eq!((port.receive_queues, port.transmit_queues, port.numa_node), (8, 8, Some(0)));
    assert_eq!(port.virtual_functions, Some([0, 8]));
    assert_eq!(
        (port.bypasses_hypervisor, port.bypass_reason.as_str()),
        (None, "no hypervisor below to go around")
    );
    let bond = interface(&facts, "bond0");
    assert_eq!((bond.driver.as_deref(), bond.device), (Some("bond"), false));
    assert_eq!(bond.over, ["ens1f0", "ens1f1"]);
    assert_eq!(known(&facts.network_interfaces).len(), 3, "neither loopback nor bonding_masters");
}

#[test]
fn disks_are_those_with_hardware_and_javas_those_that_are_installed_or_run() {
    let facts = facts("xeon-two-nodes");
    let names: Vec<&str> = known(&facts.disks).iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "sda"]);
    assert_eq!(known(&facts.disks)[1].detail.as_deref(), Some("SATA"));
    let javas: Vec<_> = known(&facts.java_runtimes)
        .iter()
        .map(|java| (java.home.as_str(), java.version.as_deref(), java.running))
        .collect();
    let expected =
        [("~/jdk-21.0.4", Some("21.0.4"), true), ("/usr/lib/jvm/java-17-openjdk", Some("17.0.12"), false)];
    assert_eq!(javas, expected);
    let limits = known(&facts.process_limits);
    assert_eq!(limits.open_files, SoftHard { soft: Limit::At(1024), hard: Limit::At(524_288) });
    assert_eq!(limits.file_size_bytes.soft, Limit::Unlimited);
    let settings = known(&facts.kernel_settings);
    assert_eq!(
        (settings["vm.max_map_count"].as_str(), settings["net.ipv4.tcp_rmem"].as_str()),
        ("262144", "4096 131072 6291456")
    );
    assert_eq!(settings.get("fs.file-max"), None, "this kernel did not say");
}

#[test]
fn an_epyc_with_smt_off_has_two_last_level_caches_in_one_socket() {
    let facts = facts("amd-epyc");
    let topology = known(&facts.cpu_topology);
    assert_eq!((topology.sockets, topology.cores, topology.threads_per_core), (1, 4, 1));
    assert_eq!(topology.smt.as_deref(), Some("off"));
    assert_eq!((last_cache(&facts).count, last_cache(&facts).shared_by_cpus), (2, 2));
    assert_eq!(known(&facts.numa_nodes)[0].distances, [10, 12]);
    assert_eq!(known(&facts.memory_error_correction).modes, ["S16ECD16ED"]);
    assert_eq!(interface(&facts, "eno1").virtual_functions, Some([2, 16]));
    let down = interface(&facts, "eno2");
    assert_eq!((down.state.as_deref(), down.speed_mbit_per_s), (Some("down"), None));
    assert_eq!(known(&facts.disks)[0].rotational, Some(true));
    assert_eq!(missing_flags(&facts), [""; 0]);
    assert!(reason(&facts.persistent_memory).starts_with("nothing in /sys/bus/nd/devices"));
}

#[test]
fn on_bare_metal_arm_nothing_tells_whether_a_hypervisor_is_below() {
    let facts = facts("ampere-altra");
    assert_eq!(known(&facts.cpu_model), "Arm Neoverse N1");
    let identity = known(&facts.cpu_identity);
    assert_eq!((identity.vendor.as_str(), identity.model), ("0x41", Some(0xd0c)));
    assert!(reason(&facts.cpu_microcode).contains("no microcode line"));
    assert!(reason(&facts.virtualisation).contains("no hypervisor flag"));
    assert_eq!(last_cache(&facts).level, 2);
    assert_eq!(missing_flags(&facts), ["sha512", "sve", "sve2"]);
    let port = interface(&facts, "enP2p1s0f0");
    assert_eq!(port.bypasses_hypervisor, None, "{}", port.bypass_reason);
}

#[test]
fn a_guest_with_amazons_adapter_goes_around_the_hypervisor() {
    let facts = facts("ec2-graviton-ena");
    assert_eq!(known(&facts.virtualisation).vendor.as_deref(), Some("Amazon EC2"));
    assert_eq!(known(&facts.cpu_model), "Arm Neoverse V1");
    let adapter = interface(&facts, "ens5");
    assert_eq!((adapter.driver.as_deref(), adapter.bypasses_hypervisor), (Some("ena"), Some(true)));
    assert_eq!(
        (adapter.speed_mbit_per_s, adapter.mtu_bytes),
        (None, Some(9001)),
        "the driver does not say its speed"
    );
    assert_eq!(known(&facts.kernel_options).shown, ["nvme_core.io_timeout=4294967295"]);
    let disk = &known(&facts.disks)[0];
    assert_eq!(
        (disk.model.as_deref(), disk.detail.as_deref()),
        (Some("Amazon Elastic Block Store"), Some("over pcie"))
    );
    assert!(reason(&facts.memory_error_correction).starts_with("in a guest"));
}

#[test]
fn accelerated_networking_on_azure_is_the_function_that_is_attached() {
    let facts = facts("azure-accelerated");
    assert_eq!(known(&facts.virtualisation).vendor.as_deref(), Some("Microsoft Azure"));
    let (fast, function, slow) =
        (interface(&facts, "eth0"), interface(&facts, "enP23s1"), interface(&facts, "eth1"));
    assert_eq!(fast.bypasses_hypervisor, Some(true));
    assert_eq!(fast.bypass_reason, "enP23s1 (mlx5_core) is attached to it as virtual function");
    assert_eq!(function.bypasses_hypervisor, Some(true));
    assert_eq!(function.bypass_reason, "PCI id 15b3:101a is a virtual function (mlx5_core)");
    assert_eq!(slow.bypasses_hypervisor, Some(false), "{}", slow.bypass_reason);
    assert_eq!(known(&facts.clock_source), "hyperv_clocksource_tsc_page");
    assert_eq!(known(&facts.disks)[0].model.as_deref(), Some("Msft Virtual Disk"));
}

#[test]
fn a_guest_with_a_masked_processor_lacks_the_flags_and_its_group_holds_the_disk_back() {
    let facts = facts("masked-flags");
    assert_eq!(known(&facts.virtualisation).vendor.as_deref(), Some("QEMU"));
    let missing = missing_flags(&facts);
    assert!(["aes", "pclmulqdq", "sha_ni"].iter().all(|flag| missing.contains(flag)), "{missing:?}");
    let held = IoLimit {
        device: "vda".to_owned(),
        write_bytes_per_s: Some(1_048_576),
        writes_per_s: Some(40),
        ..IoLimit::default()
    };
    assert_eq!(known(&facts.cgroup_io_limits), &[held], "the smaller of the group's and of the one above");
    assert_eq!(known(&facts.cgroup_pids_limit), &Limit::At(512));
    assert!(
        reason(&facts.memory_modules).starts_with("in a guest"),
        "what the hypervisor made up is not asked"
    );
    assert_eq!(interface(&facts, "eth0").bypasses_hypervisor, Some(false));
}
