//! How the firmware has cut a processor into memory nodes (Cluster-on-Die, sub-NUMA clustering, NPS), and how caches ask each other (snoop
//! mode). Both are the firmware's, and take a restart: told, with how sure it is. The kernel's topology says how many nodes there are; the
//! rest only the firmware says, by its management controller.

use super::firmware::{Attribute, Decides, attributes, is_auto, is_off, untold};
use super::memory_nodes::{far_memory, near_memory, nodes};
use super::{Context, Look, Tunable};
use crate::devices;
use plumb_model::check::{Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "snoop-mode",
    title: "memory nodes of one processor, and its snoop mode",
    risk: Risk::Reboot,
    interrupts: "",
    source: "Intel's and AMD's guides to firmware settings; the bound of 10 % of far memory is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    [by_the_kernel(context), by_the_firmware(context)].concat()
}

fn by_the_kernel(context: &Context<'_>) -> Vec<Look> {
    match context.facts.virtualisation.value().map(|found| found.virtual_machine) {
        Some(true) => vec![Look::not_applicable(
            "",
            "a hypervisor states the nodes of a virtual machine, and its firmware is not the processor's",
        )],
        None => vec![Look::unknown("", "it is not known whether a hypervisor states the nodes")],
        Some(false) if snoop_attributes(context).is_empty() => vec![clusters(context), snoop(context)],
        Some(false) => vec![clusters(context)],
    }
}

/// What the firmware itself says, of every attribute that is known by name.
fn by_the_firmware(context: &Context<'_>) -> Vec<Look> {
    let nodes = attributes(context, Decides::Nodes);
    let snoop = snoop_attributes(context);
    let untold = untold(context, !(nodes.is_empty() && snoop.is_empty()));
    let nodes = nodes.iter().map(|attribute| cut(context, attribute));
    let snoop = snoop.iter().map(|(attribute, way)| asking(context, attribute, *way));
    nodes.chain(snoop).chain(untold).collect()
}

/// A way in which caches ask each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Early,
    Home,
    /// With a directory, or asking some: also what later generations do.
    Directory,
    /// Early, within each half of a processor that is cut in two.
    Cluster,
    Unknown,
}

fn snoop_attributes<'c>(context: &Context<'c>) -> Vec<(Attribute<'c>, Way)> {
    let modes = attributes(context, Decides::Snoop).into_iter().map(|mode| {
        let way = way_of(mode.value);
        (mode, way)
    });
    let switches = attributes(context, Decides::EarlySnoop).into_iter().map(|switch| {
        let way = if is_off(switch.value) {
            Way::Home
        } else if is_auto(switch.value) {
            Way::Unknown
        } else {
            Way::Early
        };
        (switch, way)
    });
    modes.chain(switches).collect()
}

fn way_of(value: &str) -> Way {
    let value = value.to_lowercase();
    let has = |word: &str| value.contains(word);
    match () {
        () if has("cluster") || has("cod") => Way::Cluster,
        () if has("opportunistic") || has("osb") || has("dir") => Way::Directory,
        () if has("early") => Way::Early,
        () if has("home") => Way::Home,
        () => Way::Unknown,
    }
}

/// An attribute that decides how many nodes a processor is.
fn cut(context: &Context<'_>, attribute: &Attribute<'_>) -> Look {
    const ONE: [&str; 5] = ["Disabled", "Disable", "NPS1", "1", "OneMemoryDomainPerSocket"];
    if is_auto(attribute.value) {
        return attribute.look(
            Status::Ok,
            "the firmware decides how many nodes a processor is; the kernel's topology says what came of it",
        );
    }
    if is_off(attribute.value) || ONE.iter().any(|one| one.eq_ignore_ascii_case(attribute.value)) {
        return attribute.look(Status::Ok, "by this the firmware cuts no processor into nodes");
    }
    match far_memory(context) {
        Some(far) => {
            let reason = "by this the firmware cuts each processor into several nodes, and much memory is taken from far ones: place each process on one node first, or let the firmware make one node of each processor";
            let look = attribute.look(Status::Advice, reason).showing(vec![far]);
            attribute.rather(look, attribute.spelled(one_of(attribute.value)))
        }
        None => {
            let near = near_memory(context, "near memory is the faster for it");
            attribute.look(
                Status::NoEvidence,
                &format!("by this the firmware cuts each processor into several nodes. {near}"),
            )
        }
    }
}

/// The value that makes one node, in the words of the one that is set.
fn one_of(value: &str) -> &'static [&'static str] {
    let value = value.to_lowercase();
    match () {
        () if value.starts_with("nps") => &["NPS1"],
        () if value.contains("memorydomain") => &["OneMemoryDomainPerSocket"],
        () if value.parse::<u32>().is_ok() => &["1"],
        () if value == "enable" => &["Disable", "Disabled"],
        () => &["Disabled", "Disable"],
    }
}

/// How caches ask each other: of moment between packages alone.
fn asking(context: &Context<'_>, attribute: &Attribute<'_>, way: Way) -> Look {
    let far = far_memory(context);
    match (way, far) {
        (Way::Unknown, _) => attribute.look(Status::Unknown, "what this value does is not known here"),
        (Way::Home, _) => attribute.look(Status::Ok, "home snoop: the higher bandwidth between packages"),
        (Way::Directory, _) => {
            attribute.look(Status::Ok, "snooping with a directory: few questions between packages")
        }
        (Way::Early, None) => {
            let near = near_memory(context, "the bandwidth is not missed");
            attribute.look(
                Status::NoEvidence,
                &format!("early snoop: the shorter waits, and less bandwidth between packages. {near}"),
            )
        }
        (Way::Cluster, None) => {
            let near = near_memory(context, "near memory is the faster for it");
            attribute
                .look(Status::NoEvidence, &format!("Cluster-on-Die: two nodes in each processor. {near}"))
        }
        (Way::Early | Way::Cluster, Some(far)) => {
            let reason = "much memory is taken from far nodes, and home snoop has the higher bandwidth between packages; early snoop has the shorter waits. Place each process on one node first";
            let look = attribute.look(Status::Advice, reason).showing(vec![far]);
            attribute.rather(look, home(attribute))
        }
    }
}

/// The value that asks by home snoop.
fn home(attribute: &Attribute<'_>) -> Option<String> {
    if way_of(attribute.value) == Way::Unknown {
        // A switch of early snoop.
        return attribute.spelled(one_of(attribute.value));
    }
    attribute.spelled(&["HomeSnoop", "Home", "Home Snoop"])
}

/// Nodes with processors, of each package.
fn clusters(context: &Context<'_>) -> Look {
    let target = "nodes of a package";
    let package = |cpu: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        context.host.root().read(&path).ok()?.trim().parse::<i32>().ok()
    };
    let packages: BTreeSet<i32> = devices::online_cpus(context.host).iter().filter_map(package).collect();
    let with_cpus = nodes(context)
        .into_iter()
        .filter(|node| !devices::node_cpus(context.host, Some(*node)).is_empty())
        .count();
    if packages.is_empty() || with_cpus == 0 {
        return Look::unknown(target, "the kernel does not say which processors are one package or node");
    }
    let each = with_cpus / packages.len();
    let caches = last_level_caches(context);
    let value = match caches {
        Some(caches) => format!("{with_cpus} nodes, {} packages, {caches} level-3 caches", packages.len()),
        None => format!("{with_cpus} nodes, {} packages", packages.len()),
    };
    if each < 2 {
        return Look::found(
            target,
            Status::Ok,
            value,
            "certain, by the kernel's topology: the firmware has not cut the processor into several nodes",
        );
    }
    // AMD's firmware can make a node of each cache, too, which looks the same.
    let sure = match caches.is_some_and(|caches| caches as usize == with_cpus) {
        true => {
            "certain, by the kernel's topology: the firmware has cut each processor into several nodes; inferred, as each level-3 cache has one: sub-NUMA clustering, Cluster-on-Die, NPS, or a node for each cache"
        }
        false => {
            "certain, by the kernel's topology: the firmware has cut each processor into several nodes (sub-NUMA clustering, Cluster-on-Die or NPS)"
        }
    };
    match far_memory(context) {
        Some(far) => Look::found(target, Status::Advice, value, format!("{sure}. Much memory is taken from far nodes: place each process on one node, or let the firmware make one node of each processor (SNC off, NPS1), which takes a restart and should be tried on one host"))
            .showing(vec![far])
            .recommending("one node for each package"),
        None => {
            let near = near_memory(context, "near memory is the faster for it");
            Look::found(target, Status::NoEvidence, value, format!("{sure}. {near}"))
        }
    }
}

/// The number of level-3 caches.
fn last_level_caches(context: &Context<'_>) -> Option<u32> {
    let topology = context.facts.cpu_topology.value()?;
    topology.caches.iter().find(|cache| cache.level == 3).map(|cache| cache.count)
}

/// Only Haswell and Broadwell servers have a choice that matters; later ones keep a directory.
fn snoop(context: &Context<'_>) -> Look {
    const WITH_A_CHOICE: [u32; 2] = [63, 79];
    let target = "snoop mode";
    match context.facts.cpu_identity.value().map(|cpu| (cpu.vendor.as_str(), cpu.family, cpu.model)) {
        None => Look::unknown(target, "the processor does not say its generation"),
        Some(("GenuineIntel", Some(6), Some(model))) if WITH_A_CHOICE.contains(&model) => Look::unknown(
            target,
            "inferred: this generation has a choice (early, home, directory), and the kernel does not see it; the firmware's menu does, and so does its management controller, which --bmc asks (an attribute such as SnoopMode). Early has the shorter waits, home the higher bandwidth between packages: try it on one host",
        ),
        Some(("GenuineIntel", ..)) => {
            Look::not_applicable(target, "this generation has no such choice, or none that matters")
        }
        Some(_) => Look::not_applicable(target, "only Intel's processors have it"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Firmware;
    use super::super::recorded::{Recorded, firmware};
    use plumb_model::check::{SettingCheck, Status};
    use plumb_observe::FirmwareSettings;

    fn host(model: u32, flags: &str) -> Recorded {
        let cpuinfo = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nstepping\t: 1\nflags\t\t: {flags}\n"
        );
        let host = Recorded::new()
            .file("/proc/cpuinfo", &cpuinfo)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/node/node0/cpulist", "0-1\n")
            .file("/sys/devices/system/node/node1/cpulist", "2-3\n");
        (0..4).fold(host, |host, cpu| {
            host.file(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "0\n")
        })
    }

    fn of(host: &Recorded, target: &str) -> SettingCheck {
        host.check("snoop-mode").into_iter().find(|check| check.target == target).unwrap()
    }

    #[test]
    fn a_processor_cut_into_nodes_is_told_where_memory_is_far() {
        let far = host(85, "fpu").grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 1000);
        let check = of(&far, "nodes of a package");
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.starts_with("certain"));
        let unseen = of(&host(85, "fpu"), "nodes of a package");
        assert_eq!(unseen.status, Status::NoEvidence);
        assert!(unseen.reason.ends_with("was not seen"), "{}", unseen.reason);
        let near = host(85, "fpu").grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 0);
        assert!(of(&near, "nodes of a package").reason.contains("Hardly any memory"));
    }

    #[test]
    fn two_packages_of_one_node_each_are_not_cut() {
        let two = host(85, "fpu")
            .file("/sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n")
            .file("/sys/devices/system/cpu/cpu3/topology/physical_package_id", "1\n");
        assert_eq!(of(&two, "nodes of a package").status, Status::Ok);
    }

    #[test]
    fn the_snoop_mode_is_not_seen_where_there_is_a_choice() {
        assert_eq!(of(&host(79, "fpu"), "snoop mode").status, Status::Unknown);
        assert_eq!(of(&host(85, "fpu"), "snoop mode").status, Status::NotApplicable);
        assert_eq!(host(79, "fpu hypervisor").check("snoop-mode")[0].status, Status::NotApplicable);
    }

    fn far(host: Recorded) -> Recorded {
        host.grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 1000)
    }

    #[test]
    fn the_firmware_says_the_snoop_mode_in_place_of_the_guess_and_how_it_is_set() {
        let told = |value| host(79, "fpu").firmware(firmware(&[("SnoopMode", value)]));
        let early = of(&far(told("EarlySnoop")), "the firmware's SnoopMode");
        assert_eq!((early.status, early.recommended.as_deref()), (Status::Advice, Some("HomeSnoop")));
        assert_eq!(early.assignments.len(), 0);
        let by_hand = "PATCH /redfish/v1/Systems/1/Bios/Settings of the management controller with {\"Attributes\":{\"SnoopMode\":\"HomeSnoop\"}}";
        assert!(early.by_hand.starts_with(by_hand), "{}", early.by_hand);
        assert!(early.by_hand.contains("back with {\"Attributes\":{\"SnoopMode\":\"EarlySnoop\"}}"));
        assert!(told("EarlySnoop").check("snoop-mode").iter().all(|check| check.target != "snoop mode"));
        assert_eq!(of(&told("EarlySnoop"), "the firmware's SnoopMode").status, Status::NoEvidence);
        for (value, status) in [
            ("HomeSnoop", Status::Ok),
            ("OpportunisticSnoopBroadcast", Status::Ok),
            ("ClusterOnDie", Status::Advice),
            ("Standard", Status::Unknown),
        ] {
            assert_eq!(of(&far(told(value)), "the firmware's SnoopMode").status, status, "{value}");
        }
    }

    #[test]
    fn each_makers_way_to_cut_a_processor_into_nodes_is_known_with_the_way_back_in_its_own_words() {
        for (name, cut, one) in [
            ("SubNumaCluster", "Enabled", "Disabled"),
            ("SubNumaClustering", "Enabled", "Disabled"),
            ("Processors_SNC", "Enable", "Disable"),
            ("Processors_SNC", "SNC2", "Disabled"),
            ("NumaNodesPerSocket", "4", "1"),
            ("Memory_NUMANodesperSocket", "NPS4", "NPS1"),
            ("NumaMemoryDomainsPerSocket", "TwoMemoryDomainsPerSocket", "OneMemoryDomainPerSocket"),
        ] {
            let target = format!("the firmware's {name}");
            let check = |value| of(&far(host(85, "fpu").firmware(firmware(&[(name, value)]))), &target);
            let found = check(cut);
            assert_eq!((found.status, found.recommended.as_deref()), (Status::Advice, Some(one)), "{name}");
            assert_eq!(check(one).status, Status::Ok, "{name}");
            assert_eq!(check("Auto").status, Status::Ok, "{name}");
        }
    }

    #[test]
    fn a_switch_of_early_snoop_is_turned_off_in_its_own_words() {
        let told = firmware(&[("Processors_EarlySnoopPreference", "Enable")]);
        let check =
            of(&far(host(79, "fpu").firmware(told)), "the firmware's Processors_EarlySnoopPreference");
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Advice, Some("Disable")));
    }

    /// A firmware of which more is known.
    fn known(change: impl FnOnce(&mut FirmwareSettings)) -> Firmware {
        let Firmware::Read(mut settings) = firmware(&[("SnoopMode", "EarlySnoop")]) else { unreachable!() };
        change(&mut settings);
        Firmware::Read(settings)
    }

    #[test]
    fn a_value_that_waits_for_the_next_start_is_told_and_need_not_be_set_again() {
        let waiting = known(|settings| {
            settings.waiting.insert("SnoopMode".to_owned(), "HomeSnoop".to_owned());
        });
        let check = of(&far(host(79, "fpu").firmware(waiting)), "the firmware's SnoopMode");
        assert_eq!(
            (check.configured.as_deref(), check.effective.as_deref()),
            (Some("HomeSnoop"), Some("EarlySnoop"))
        );
        assert!(check.reason.contains("waits for the next start") && check.by_hand.is_empty(), "{check:?}");
    }

    #[test]
    fn a_value_is_recommended_in_the_firmwares_spelling_and_none_that_it_does_not_take() {
        let taken = |values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let firmware = known(|settings| {
                settings.taken.insert("SnoopMode".to_owned(), values);
            });
            of(&far(host(79, "fpu").firmware(firmware)), "the firmware's SnoopMode").recommended
        };
        assert_eq!(taken(&["Early", "HOME"]).as_deref(), Some("HOME"));
        assert_eq!(taken(&["EarlySnoop", "ClusterOnDie"]), None);
    }

    #[test]
    fn the_firmware_of_another_machine_says_nothing_of_this_host() {
        let other = known(|settings| settings.is_this_host = Some(false));
        let check = of(&host(79, "fpu").firmware(other), "the firmware");
        assert_eq!(check.status, Status::Unknown);
        assert!(check.reason.contains("another machine's"), "{}", check.reason);
        assert_eq!(of(&host(79, "fpu"), "snoop mode").status, Status::Unknown);
    }
}
