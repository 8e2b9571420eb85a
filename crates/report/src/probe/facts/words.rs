//! Each fact of a host in words. Only wording: nothing is judged here.

use plumb_model::facts::{
    ClockSync, Container, CpuIdentity, CpuTopology, Device, DirtyLimits, ErrorCorrection, IoLimit,
    JavaRuntime, KernelOptions, Layer, Limit, MemoryModules, NetworkInterface, NumaNode, PersistentMemoryUse,
    ProcessLimits, SoftHard, Virtualisation,
};
use plumb_model::figure;
use std::collections::BTreeMap;

/// Bytes as memory is counted: `93.1 GiB`.
pub(super) fn binary(bytes: u64) -> String {
    figure::binary_bytes(bytes as f64)
}

pub(super) fn virtualisation(below: &Virtualisation) -> String {
    match (below.virtual_machine, &below.vendor) {
        (true, Some(vendor)) => format!("a hypervisor: {vendor}"),
        (true, None) => "a hypervisor that does not name itself".to_owned(),
        (false, _) => "no hypervisor shows itself".to_owned(),
    }
}

pub(super) fn container(container: &Container) -> String {
    match (container.contained, &container.runtime) {
        (true, Some(runtime)) => format!("yes: {runtime}"),
        (true, None) => "yes".to_owned(),
        (false, _) => "no".to_owned(),
    }
}

pub(super) fn kernel_options(options: &KernelOptions) -> String {
    let others = match (options.left_out, options.shown.is_empty()) {
        (0, true) => return "none".to_owned(),
        (0, false) => return options.shown.join(" "),
        (others, true) => format!("none that bears on performance ({others} others are not shown)"),
        (others, false) => format!(" ({others} others are not shown)"),
    };
    format!("{}{others}", options.shown.join(" "))
}

pub(super) fn load(averages: &[f64; 3]) -> String {
    let [one, five, fifteen] = averages.map(|average| figure::decimals(average, 2));
    format!("{one} over 1 minute, {five} over 5, {fifteen} over 15")
}

pub(super) fn identity(identity: &CpuIdentity) -> String {
    let arm = identity.vendor.starts_with("0x");
    let part = |name: &str, value: Option<u32>| {
        value.map(|value| if arm { format!(", {name} {value:#x}") } else { format!(", {name} {value}") })
    };
    let (model, stepping) = if arm { ("part", "revision") } else { ("model", "stepping") };
    let parts =
        [part("family", identity.family), part(model, identity.model), part(stepping, identity.stepping)];
    let vendor = if arm { format!("implementer {}", identity.vendor) } else { identity.vendor.clone() };
    format!("{vendor}{}", parts.into_iter().flatten().collect::<String>())
}

pub(super) fn topology(topology: &CpuTopology) -> String {
    let smt = topology.smt.as_deref().map_or(String::new(), |smt| format!(", {}", smt_words(smt)));
    format!(
        "{}, {}, {} a core{smt}",
        figure::counted(topology.sockets as usize, "socket"),
        figure::counted(topology.cores as usize, "core"),
        figure::counted(topology.threads_per_core as usize, "thread"),
    )
}

/// The kernel's word on shared cores (/sys/devices/system/cpu/smt/control) in plain ones.
fn smt_words(word: &str) -> String {
    match word {
        "forceoff" => "SMT off until the next boot".to_owned(),
        "notsupported" => "SMT not supported".to_owned(),
        "notimplemented" => "the kernel does not control SMT".to_owned(),
        other => format!("SMT {other}"),
    }
}

pub(super) fn caches(topology: &CpuTopology) -> Vec<String> {
    let cache = |cache: &plumb_model::facts::CpuCache| {
        let holds = if cache.holds == "unified" { String::new() } else { format!(" {}", cache.holds) };
        let shared = match cache.shared_by_cpus {
            1 => String::new(),
            cpus => format!(", each shared by {cpus} processors"),
        };
        format!("L{}{holds}: {} of {}{shared}", cache.level, cache.count, binary(cache.size_bytes))
    };
    topology.caches.iter().map(cache).collect()
}

pub(super) fn flags(flags: &BTreeMap<String, bool>, wanted: bool) -> String {
    let names: Vec<&str> =
        flags.iter().filter(|(_, had)| **had == wanted).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

pub(super) fn node(node: &NumaNode) -> String {
    let cpus =
        if node.cpus.is_empty() { "no processors".to_owned() } else { format!("processors {}", node.cpus) };
    let memory = node.memory_bytes.map_or(String::new(), |bytes| format!(", {}", binary(bytes)));
    let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
    let distances = match distances.len() {
        0 | 1 => String::new(),
        _ => format!(", distances {}", distances.join(" ")),
    };
    format!("{}: {cpus}{memory}{distances}", node.node)
}

/// Those that the processor does not have, together.
pub(super) fn vulnerabilities(all: &BTreeMap<String, String>) -> Vec<String> {
    let spared = |state: &String| state == "Not affected";
    let none: Vec<&str> =
        all.iter().filter(|(_, state)| spared(state)).map(|(name, _)| name.as_str()).collect();
    let mut lines: Vec<String> = all
        .iter()
        .filter(|(_, state)| !spared(state))
        .map(|(name, state)| format!("{name}: {state}"))
        .collect();
    if !none.is_empty() {
        lines.push(format!("Not affected: {}", none.join(", ")));
    }
    lines
}

pub(super) fn correction(correction: &ErrorCorrection) -> String {
    let modes = correction.modes.join(", ");
    let count = |count: Option<u64>, what: &str| {
        count.map_or(String::new(), |count| format!(", {} {what} since boot", figure::count(count)))
    };
    format!(
        "{} ({modes}){}{}",
        if correction.corrects { "yes" } else { "no" },
        count(correction.corrected, "corrected"),
        count(correction.uncorrected, "not correctable")
    )
}

pub(super) fn modules(modules: &MemoryModules) -> String {
    let speed = match (modules.configured_mt_per_s, modules.rated_mt_per_s) {
        (Some(set), Some(rated)) if set != rated => format!(", set to {set} MT/s of {rated}"),
        (Some(set), _) => format!(", {set} MT/s"),
        (None, Some(rated)) => format!(", rated {rated} MT/s"),
        (None, None) => String::new(),
    };
    format!("{} of {} {}{speed}", modules.count, binary(modules.size_bytes), modules.technology)
}

pub(super) fn persistent(used: &PersistentMemoryUse) -> Vec<String> {
    let mut lines = Vec::new();
    let modes = used.modes();
    if !modes.is_empty() {
        lines.push(format!("{}: {}", figure::counted(used.modules as usize, "module"), modes.join(" and ")));
    } else if used.modules > 0 {
        lines.push(format!("{}, unused as far as is seen", figure::counted(used.modules as usize, "module")));
    }
    lines.extend(
        used.memory_side_cache_bytes
            .map(|bytes| format!("{} of memory are a cache of slower memory", binary(bytes))),
    );
    let or_nothing = |text: Option<String>| text.unwrap_or_default();
    for region in &used.regions {
        lines.push(format!(
            "{}{}{}{}{}{}",
            region.name,
            or_nothing(region.provider.as_ref().map(|provider| format!(" of {provider}"))),
            or_nothing(region.size_bytes.map(|bytes| format!(": {}", binary(bytes)))),
            or_nothing(region.available_bytes.map(|bytes| format!(", {} unused", binary(bytes)))),
            or_nothing(region.numa_node.map(|node| format!(", node {node}"))),
            or_nothing(
                region.persistence_domain.as_ref().map(|domain| format!(", persistence domain {domain}"))
            ),
        ));
    }
    for namespace in &used.namespaces {
        lines.push(format!(
            "{}: {} mode{}",
            namespace.name,
            namespace.mode.map_or("unknown", |mode| mode.as_str()),
            or_nothing(namespace.size_bytes.map(|bytes| format!(", {}", binary(bytes)))),
        ));
    }
    lines
}

/// The kernel uses the one of each pair that is not 0.
pub(super) fn dirty(limits: &DirtyLimits) -> String {
    let at = |bytes: u64, percent: u64| {
        if bytes > 0 { binary(bytes) } else { format!("{percent} % of available memory") }
    };
    format!(
        "written back from {}, writers wait from {}; at the latest after {} s",
        at(limits.background_bytes, limits.background_ratio_percent),
        at(limits.bytes, limits.ratio_percent),
        figure::plain(limits.expire_centisecs as f64 / 100.0)
    )
}

pub(super) fn limit<T>(limit: &Limit<T>, write: impl Fn(&T) -> String) -> String {
    match limit {
        Limit::Unlimited => "no limit".to_owned(),
        Limit::At(value) => write(value),
    }
}

pub(super) fn io_limit(held: &IoLimit) -> String {
    let figures = [
        held.read_bytes_per_s.map(|n| format!("reads {}/s", binary(n))),
        held.write_bytes_per_s.map(|n| format!("writes {}/s", binary(n))),
        held.reads_per_s.map(|n| format!("{} reads/s", figure::count(n))),
        held.writes_per_s.map(|n| format!("{} writes/s", figure::count(n))),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    format!("{}: at most {}", held.device, figures.join(", "))
}

pub(super) fn disks(disks: &[Device]) -> Vec<String> {
    let line = |disk: &Device| format!("{}: {}", disk.name, Layer::Device(disk.clone()).detail());
    disks.iter().map(line).collect()
}

/// Two lines for each with a device: what it is, and whether its packets go around the hypervisor.
pub(super) fn interfaces(all: &[NetworkInterface]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in all {
        lines.push(interface(one));
        if one.device {
            let answer = match one.bypasses_hypervisor {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not to be told",
            };
            lines.push(format!("└ goes around the hypervisor: {answer} ({})", one.bypass_reason));
        }
    }
    lines
}

fn interface(one: &NetworkInterface) -> String {
    let parts = [
        one.driver.clone(),
        one.speed_mbit_per_s.map(|mbit| match mbit {
            1_000.. => format!("{} Gbit/s", figure::plain(mbit as f64 / 1e3)),
            mbit => format!("{mbit} Mbit/s"),
        }),
        one.state.as_ref().filter(|state| *state != "up").cloned(),
        one.mtu_bytes.map(|bytes| format!("MTU {}", figure::count(bytes))),
        Some(format!(
            "{} in and {} out",
            figure::counted(one.receive_queues as usize, "queue"),
            one.transmit_queues
        )),
        one.numa_node.map(|node| format!("node {node}")),
        one.virtual_functions.map(|[enabled, total]| format!("{enabled} of {total} virtual functions on")),
        (!one.over.is_empty()).then(|| format!("over {}", one.over.join(", "))),
    ];
    format!("{}: {}", one.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

pub(super) fn sync(sync: &ClockSync) -> String {
    if !sync.synchronised {
        return "not followed".to_owned();
    }
    let bound = match (sync.offset_ns, sync.root_dispersion_ns, sync.root_delay_ns) {
        (Some(offset), Some(dispersion), Some(delay)) => {
            format!(
                ", the clock is off by at most {}",
                figure::time((offset + dispersion + delay / 2) as f64)
            )
        }
        _ => ", how far the clock is off is not said".to_owned(),
    };
    let stratum = sync.stratum.map_or(String::new(), |stratum| format!(" (stratum {stratum})"));
    format!("followed{stratum}{bound}")
}

pub(super) fn java(runtime: &JavaRuntime) -> String {
    format!(
        "{}: {}{}{}",
        runtime.home,
        runtime.version.as_deref().unwrap_or("version not said"),
        runtime.vendor.as_ref().map_or(String::new(), |vendor| format!(", {vendor}")),
        if runtime.running { ", running" } else { "" }
    )
}

pub(super) fn process_limits(limits: &ProcessLimits) -> Vec<String> {
    let line = |name: &str, both: &SoftHard, write: &dyn Fn(u64) -> String| {
        let write = |one: &Limit<u64>| limit(one, |value| write(*value));
        if both.soft == both.hard {
            return format!("{name}: {}", write(&both.soft));
        }
        format!("{name}: {}, may be raised to {}", write(&both.soft), write(&both.hard))
    };
    vec![
        line("open files", &limits.open_files, &figure::count),
        line("locked memory", &limits.locked_memory_bytes, &binary),
        line("processes", &limits.processes, &figure::count),
        line("size of a file", &limits.file_size_bytes, &binary),
    ]
}
