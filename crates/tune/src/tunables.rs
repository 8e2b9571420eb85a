//! The registry of tunables: what can be set on an ingestion host, what it should be, and which counters show that it matters.
//!
//! Adding one is adding one file and one row. A tunable looks at the host and says what it found; how a setting is read, changed and put
//! back is [`crate::setting`]'s alone. A recommendation without a counter that shows that it matters here and now is `no evidence`: it is
//! told, and never planned unless the user asks for it.

mod broker_threads;
mod busy_poll;
mod c_states;
mod channels;
mod clock_source;
mod cloud_allowance;
mod coalesce;
mod congestion_control;
mod conntrack;
mod cpu_crypto_flags;
mod cpu_placement;
mod cpu_time;
mod data_mounts;
mod dirty_writeback;
mod disk_load;
mod file_descriptors;
mod file_system;
mod firmware;
mod flow_control;
mod flow_hash;
mod flow_limit;
mod fstrim;
mod governor;
mod interrupts;
mod io_scheduler;
mod irqbalance;
mod kernel_limits;
mod kernel_version;
mod ksm;
mod map_count;
mod memory_nodes;
mod min_free;
mod mitigations;
mod mount_options;
mod napi_budget;
mod near_limit;
mod netdev_backlog;
mod network;
mod nomerges;
mod nr_requests;
mod numa_balancing;
mod numa_placement;
mod offloads;
mod overcommit;
mod own_queue;
mod pcie_link;
mod port_range;
mod power_profile;
mod process_affinity;
mod quiet_timers;
mod read_ahead;
mod report;
mod rfs;
mod rings;
mod rps;
mod rq_affinity;
mod rss;
mod scheduler_knobs;
mod slow_start;
mod smt;
mod snoop_mode;
mod socket_buffers;
mod somaxconn;
mod steal;
mod swappiness;
mod syn_backlog;
mod task_limit;
mod tcp_memory;
mod thp;
mod time_sync;
mod turbo;
mod wbt;
mod write_cache;
mod xps;
mod zone_reclaim;

pub use firmware::Firmware;
pub(crate) use firmware::unseen as unseen_firmware;

use crate::devices::Interface;
use crate::host::Host;
use crate::placement::Placement;
use crate::setting::Setting;
use crate::window::Window;
use plumb_model::change::Assignment;
use plumb_model::check::{Evidence, Risk, Role, SettingCheck, Status};
use plumb_model::facts::HostFacts;
use plumb_model::fault::chain;
use std::path::Path;

/// Every tunable, in the order in which changes are made: what a later one builds on comes first, and what undoes others too.
pub(crate) const TUNABLES: &[Tunable] = &[
    // The network's devices: queues come before what making them anew resets.
    channels::TUNABLE,
    rings::TUNABLE,
    offloads::TUNABLE,
    coalesce::TUNABLE,
    rss::TUNABLE,
    flow_hash::TUNABLE,
    flow_control::TUNABLE,
    // Processors: where interrupts go, and with them the application.
    cpu_placement::TUNABLE,
    interrupts::TUNABLE,
    irqbalance::TUNABLE,
    rps::TUNABLE,
    rfs::TUNABLE,
    xps::TUNABLE,
    process_affinity::TUNABLE,
    numa_placement::TUNABLE,
    governor::TUNABLE,
    c_states::TUNABLE,
    clock_source::TUNABLE,
    smt::TUNABLE,
    mitigations::TUNABLE,
    turbo::TUNABLE,
    scheduler_knobs::TUNABLE,
    quiet_timers::TUNABLE,
    // The network, from the processor's backlog to the application, and on the way out.
    netdev_backlog::TUNABLE,
    napi_budget::TUNABLE,
    flow_limit::TUNABLE,
    busy_poll::TUNABLE,
    somaxconn::TUNABLE,
    syn_backlog::TUNABLE,
    socket_buffers::TUNABLE,
    tcp_memory::TUNABLE,
    slow_start::TUNABLE,
    congestion_control::TUNABLE,
    own_queue::TUNABLE,
    port_range::TUNABLE,
    conntrack::TUNABLE,
    // Memory.
    swappiness::TUNABLE,
    thp::TUNABLE,
    dirty_writeback::TUNABLE,
    min_free::TUNABLE,
    overcommit::TUNABLE,
    numa_balancing::TUNABLE,
    zone_reclaim::TUNABLE,
    ksm::TUNABLE,
    // Disks. A scheduler comes before what it resets.
    io_scheduler::TUNABLE,
    nr_requests::TUNABLE,
    nomerges::TUNABLE,
    rq_affinity::TUNABLE,
    read_ahead::TUNABLE,
    write_cache::TUNABLE,
    mount_options::TUNABLE,
    wbt::TUNABLE,
    file_system::TUNABLE,
    // Limits.
    file_descriptors::TUNABLE,
    task_limit::TUNABLE,
    map_count::TUNABLE,
    kernel_limits::AIO,
    kernel_limits::FILES,
    kernel_limits::THREADS,
    // Brokers.
    broker_threads::TUNABLE,
    // What the host is and stands on.
    kernel_version::TUNABLE,
    cpu_crypto_flags::TUNABLE,
    steal::TUNABLE,
    cloud_allowance::TUNABLE,
    snoop_mode::TUNABLE,
    power_profile::TUNABLE,
    pcie_link::TUNABLE,
    time_sync::TUNABLE,
    fstrim::TUNABLE,
];

/// One row of the registry.
pub(crate) struct Tunable {
    /// Its id, as a user names it with `--only`.
    pub(crate) id: &'static str,
    /// What it is, in a few words.
    pub(crate) title: &'static str,
    /// What a change can do at worst.
    pub(crate) risk: Risk,
    /// What a change may interrupt; empty where nothing is.
    pub(crate) interrupts: &'static str,
    /// Where the recommendation comes from: a kernel document, a vendor's, or ours.
    pub(crate) source: &'static str,
    /// The look at the host: one answer for each thing that has the setting; none where the role does not ask for it.
    pub(crate) look: fn(&Context<'_>) -> Vec<Look>,
}

/// What a tunable looks at.
pub(crate) struct Context<'c> {
    pub(crate) host: &'c Host,
    pub(crate) role: Role,
    pub(crate) window: &'c Window,
    pub(crate) facts: &'c HostFacts,
    pub(crate) interfaces: &'c [Interface],
    /// Whole disks, by name.
    pub(crate) disks: &'c [String],
    /// The processes that the host is for: those named, and brokers that were found.
    pub(crate) processes: &'c [u32],
    /// Which processors serve interrupts and which the application.
    pub(crate) placement: &'c Placement,
    /// What a management controller told of the firmware.
    pub(crate) firmware: &'c Firmware,
}

impl Context<'_> {
    /// A look at each process that the host is for; where there is none it says so.
    pub(crate) fn each_process(&self, look: fn(&Context<'_>, u32) -> Look) -> Vec<Look> {
        if self.processes.is_empty() {
            return vec![Look::not_applicable("", "no process was named, and no broker was found")];
        }
        self.processes.iter().map(|process| look(self, *process)).collect()
    }

    /// A setting's value as a number; none where it cannot be read or is none.
    pub(crate) fn number(&self, setting: &str) -> Option<u64> {
        Setting::new(setting).ok()?.read(self.host).ok()?.parse().ok()
    }

    /// What is not there: for want of it where the folder that would have it is seen, and else not to be seen from here. What is not seen is
    /// no fact about the kernel.
    pub(crate) fn absent(&self, target: &str, folder: &str, reason: &str) -> Look {
        match self.host.root().list(folder) {
            Ok(_) => Look::not_applicable(target, reason),
            Err(_) => Look::unknown(target, format!("not to be seen from here: {folder} cannot be read")),
        }
    }

    /// The look at a setting of the host's own network namespace from within another one, where there is no such file. What it bounds may be
    /// seen from here all the same: then this is advice to look there.
    pub(crate) fn of_the_hosts_network(&self, setting: &str, shown: Vec<Evidence>) -> Option<Look> {
        let is_absent = Setting::new(setting)
            .ok()?
            .path()
            .is_some_and(|path| !self.host.root().exists(&path.to_string_lossy()));
        (is_absent && self.is_in_a_network_of_its_own()).then(|| match shown.is_empty() {
            true => Look::not_applicable("", format!("{setting} belongs to the host's own network namespace, and is not to be seen from this one")),
            false => Look::plain("", Status::Advice, format!("{setting} bounds this. It belongs to the host's own network namespace, and is neither seen nor changed from this one: look there, with `plumb check` on the host itself"))
                .showing(shown),
        })
    }

    /// True in a network namespace that is not the host's. Where the kernel does not tell, the backlog says it: only the host's has one.
    fn is_in_a_network_of_its_own(&self) -> bool {
        let root = self.host.root();
        let of = |who: &str| root.link(&format!("/proc/{who}/ns/net"));
        let is_another = matches!((of("self"), of("1")), (Some(own), Some(first)) if own != first);
        let has = |file: &str| root.exists(&format!("/proc/sys/net/core/{file}"));
        is_another || (has("somaxconn") && !has("netdev_max_backlog"))
    }

    /// True if a file is within a file system that is mounted read-only, as containers have `/proc/sys`.
    fn is_read_only(&self, path: &Path) -> bool {
        let text = self.host.root().read("/proc/self/mountinfo").unwrap_or_default();
        let place = |line: &str| {
            let mut words = line.split(' ').skip(4);
            let (point, options) = (words.next()?.to_owned(), words.next()?);
            let is_read_only = options.split(',').any(|option| option == "ro");
            path.starts_with(&point).then_some((point.len(), is_read_only))
        };
        // Of two at one place the later hides the other.
        text.lines().filter_map(place).max_by_key(|(length, _)| *length).is_some_and(|(_, is_it)| is_it)
    }

    /// A setting's value.
    pub(crate) fn read(&self, setting: &str) -> Result<String, String> {
        let read = Setting::new(setting).and_then(|setting| setting.read(self.host));
        read.map_err(|error| chain(&error).join(": "))
    }
}

/// What a tunable found of one thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    /// The thing; empty where it is the host.
    pub(crate) target: String,
    pub(crate) status: Status,
    pub(crate) configured: Option<String>,
    pub(crate) effective: Option<String>,
    pub(crate) recommended: Option<String>,
    pub(crate) reason: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) expected: String,
    /// The commands with which somebody changes it by hand; empty where there are none.
    pub(crate) by_hand: String,
}

/// What a setting's present value is held against.
pub(crate) struct Advice {
    /// The value that it should have.
    pub(crate) recommended: String,
    /// True where the present one does as well.
    pub(crate) is_met: bool,
    /// The counters that show that it matters; empty where none does.
    pub(crate) evidence: Vec<Evidence>,
    /// Why, in a sentence or two, as true with evidence as without.
    pub(crate) reason: String,
    /// What the change is expected to bring.
    pub(crate) expected: String,
}

impl Look {
    /// A setting that this host changes by one value: as recommended, to be changed, or without evidence. Where it cannot be read it is
    /// unknown.
    pub(crate) fn at(
        context: &Context<'_>,
        target: &str,
        setting: &str,
        advise: impl FnOnce(&str) -> Advice,
    ) -> Look {
        let found = match Setting::new(setting) {
            Ok(found) => found,
            Err(error) => return Look::unknown(target, chain(&error).join(": ")),
        };
        let value = match found.read(context.host) {
            Ok(value) => value,
            Err(error) => return Look::unknown(target, chain(&error).join(": ")),
        };
        let advice = advise(&value);
        let status = match (advice.is_met, advice.evidence.is_empty()) {
            (true, _) => Status::Ok,
            (false, false) => Status::Change,
            (false, true) => Status::NoEvidence,
        };
        let assignment = Assignment { key: setting.to_owned(), value: advice.recommended.clone() };
        Look {
            target: target.to_owned(),
            status,
            effective: found.effective(context.host).ok(),
            configured: Some(value),
            recommended: Some(advice.recommended),
            reason: advice.reason,
            evidence: advice.evidence,
            assignments: if status == Status::Ok { Vec::new() } else { vec![assignment] },
            expected: advice.expected,
            by_hand: String::new(),
        }
    }

    /// The same for a setting that is a number; one that reads as none, or as more than the kernel's own are, is unknown.
    pub(crate) fn at_number(
        context: &Context<'_>,
        target: &str,
        setting: &str,
        advise: impl FnOnce(u64) -> Advice,
    ) -> Look {
        match context.read(setting) {
            Err(reason) => Look::unknown(target, reason),
            Ok(value) => match value.parse::<u64>() {
                Ok(number) if i64::try_from(number).is_ok() => {
                    Look::at(context, target, setting, |_| advise(number))
                }
                _ => Look::no_number(target, setting, &value),
            },
        }
    }

    /// A setting that should be a number.
    pub(crate) fn no_number(target: &str, setting: &str, value: &str) -> Look {
        Look::unknown(target, format!("{setting} is no number: it reads {value:?}"))
    }

    /// A setting that could not be read.
    pub(crate) fn unknown(target: &str, reason: impl Into<String>) -> Look {
        Look::plain(target, Status::Unknown, reason)
    }

    /// A setting that this host has nothing for.
    pub(crate) fn not_applicable(target: &str, reason: impl Into<String>) -> Look {
        Look::plain(target, Status::NotApplicable, reason)
    }

    /// A status with a reason and nothing to change.
    pub(crate) fn plain(target: &str, status: Status, reason: impl Into<String>) -> Look {
        Look {
            target: target.to_owned(),
            status,
            configured: None,
            effective: None,
            recommended: None,
            reason: reason.into(),
            evidence: Vec::new(),
            assignments: Vec::new(),
            expected: String::new(),
            by_hand: String::new(),
        }
    }
}

impl Tunable {
    /// Its looks, as a document has them.
    pub(crate) fn checks(&self, context: &Context<'_>) -> Vec<SettingCheck> {
        let check = |look: Look| SettingCheck {
            id: self.id.to_owned(),
            target: look.target,
            status: look.status,
            configured: look.configured,
            effective: look.effective,
            recommended: look.recommended,
            reason: look.reason,
            evidence: look.evidence,
            risk: self.risk,
            source: self.source.to_owned(),
            assignments: look.assignments,
            expected: look.expected,
            by_hand: look.by_hand,
        };
        let looks = (self.look)(context).into_iter().map(|look| look.or_read_only(context)).collect();
        grouped(context, looks).into_iter().map(check).collect()
    }
}

/// More interfaces than these of which one and the same is said are one row. Ours.
const ALIKE_MAX: usize = 8;

/// Interfaces of which the same is said, with nothing that hurts, as one row: a host of containers has hundreds.
fn grouped(context: &Context<'_>, looks: Vec<Look>) -> Vec<Look> {
    let interface = |look: &Look| {
        let name = look.target.split(' ').next().unwrap_or_default();
        let is_one = look.evidence.is_empty() && context.interfaces.iter().any(|found| found.name == name);
        is_one.then(|| name.to_owned())
    };
    // The row without its interface's name: equal ones are alike.
    let bare = |look: &Look, name: &str| Look {
        target: look.target[name.len()..].to_owned(),
        reason: look.reason.replace(name, "each"),
        assignments: Vec::new(),
        ..look.clone()
    };
    let mut groups: Vec<(Look, Vec<Look>)> = Vec::new();
    for look in looks {
        let key = interface(&look).map_or_else(|| look.clone(), |name| bare(&look, &name));
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, alike)) => alike.push(look),
            None => groups.push((key, vec![look])),
        }
    }
    let row = |(key, alike): (Look, Vec<Look>)| match alike.len() > ALIKE_MAX {
        false => alike,
        true => vec![Look {
            target: format!("{} interfaces{}", alike.len(), key.target),
            assignments: alike.into_iter().flat_map(|look| look.assignments).collect(),
            ..key
        }],
    };
    groups.into_iter().flat_map(row).collect()
}

impl Look {
    /// The same look; where what it would set is mounted read-only here, nothing of it can be set from here.
    fn or_read_only(self, context: &Context<'_>) -> Look {
        let is_read_only = |to: &Assignment| {
            let setting = Setting::new(&to.key).ok();
            setting.and_then(|setting| Some(context.is_read_only(setting.path()?))).unwrap_or(false)
        };
        if !self.assignments.iter().any(is_read_only) {
            return self;
        }
        let status = if self.status == Status::Change { Status::Advice } else { Status::Unchangeable };
        let reason = format!("{}; it is read-only here, and set on the host itself", self.reason);
        Look { status, reason, assignments: Vec::new(), ..self }
    }
}

/// The row of a tunable.
pub(crate) fn find(id: &str) -> Option<&'static Tunable> {
    TUNABLES.iter().find(|tunable| tunable.id == id)
}

/// Names and titles of all, for whoever lists them.
pub fn ids() -> impl Iterator<Item = (&'static str, &'static str)> {
    TUNABLES.iter().map(|tunable| (tunable.id, tunable.title))
}

#[cfg(test)]
pub(crate) mod recorded;

#[cfg(test)]
mod tests {
    use super::recorded::Recorded;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_tunable_has_an_id_of_its_own_and_says_where_it_comes_from() {
        let ids: BTreeSet<&str> = TUNABLES.iter().map(|tunable| tunable.id).collect();
        assert_eq!(ids.len(), TUNABLES.len());
        for tunable in TUNABLES {
            assert!(!tunable.title.is_empty() && !tunable.source.is_empty(), "{}", tunable.id);
            assert!(
                tunable.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{}",
                tunable.id
            );
        }
    }

    #[test]
    fn what_only_the_hosts_own_network_has_is_one_line_within_another() {
        let told = Recorded::new().file("/proc/sys/net/core/somaxconn", "4096\n");
        let asked =
            Recorded::new().text_link("/proc/self/ns/net", "net:[2]").text_link("/proc/1/ns/net", "net:[1]");
        for host in [told, asked] {
            for id in ["netdev-backlog", "napi-budget", "flow-limit", "busy-poll", "rfs", "tcp-memory"] {
                let checks = host.check(id);
                assert_eq!((checks.len(), checks[0].status), (1, Status::NotApplicable), "{id}");
                assert!(checks[0].reason.contains("the host's own network namespace"), "{id}");
            }
            let datagrams = host.check("socket-buffers");
            assert!(datagrams.iter().any(|check| check.status == Status::NotApplicable));
        }
    }

    #[test]
    fn a_row_that_is_ok_does_not_complain() {
        let host = Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/nomerges", "0\n")
            .file("/sys/block/sda/queue/rq_affinity", "1\n")
            .file("/sys/block/sda/queue/wbt_lat_usec", "0\n")
            .file("/proc/sys/vm/dirty_background_ratio", "5\n")
            .file("/proc/sys/net/core/netdev_max_backlog", "4000\n")
            .file("/proc/sys/net/core/flow_limit_cpu_bitmap", "00\n")
            .file("/proc/sys/net/core/somaxconn", "4096\n")
            .file("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0\n")
            .file("/proc/sys/net/ipv4/tcp_syncookies", "0\n")
            .file("/proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n");
        for (id, words) in [
            ("nomerges", "makes requests beside each other one"),
            ("rq-affinity", "ends on a processor near"),
            ("writeback-throttling", "holds back no writes"),
            ("dirty-writeback", "vm.dirty_background_ratio is 5 %"),
            ("netdev-backlog", "no processor's backlog was full"),
            ("flow-limit", "no processor drops"),
            ("accept-queue", "no connection found a queue full"),
            ("slow-start-after-idle", "goes on as fast"),
            ("syn-backlog", "there is room"),
        ] {
            let check = &host.check(id)[0];
            assert_eq!(check.status, Status::Ok, "{id}");
            assert!(check.reason.contains(words), "{id}: {}", check.reason);
        }
        let slow = host.file("/sys/block/sda/queue/wbt_lat_usec", "75000\n");
        assert!(slow.check("writeback-throttling")[0].reason.contains("75000 µs"));
    }

    #[test]
    fn many_interfaces_of_which_the_same_is_said_are_one_row() {
        let of = |count: u32| {
            (0..count).fold(Recorded::new(), |host, number| {
                let folder = format!("/sys/class/net/if{number}");
                host.file(&format!("{folder}/operstate"), "up\n")
                    .file(&format!("{folder}/queues/rx-0/rps_cpus"), "0\n")
                    .file(&format!("{folder}/queues/tx-0/xps_cpus"), "0\n")
                    .link(&format!("{folder}/device/driver"), "/sys/bus/pci/drivers/some")
            })
        };
        for id in ["rps", "xps", "offloads"] {
            let many = of(30).check(id);
            assert_eq!((many.len(), many[0].target.as_str()), (1, "30 interfaces"), "{id}");
            assert_eq!(of(2).check(id).len(), 2, "{id}");
        }
        // One made of nothing but memory is none that packets of other hosts come from, whatever its queues.
        let virtual_one = Recorded::new()
            .file("/sys/class/net/veth0/operstate", "up\n")
            .file("/sys/class/net/veth0/queues/rx-0/rps_cpus", "0\n")
            .file("/sys/class/net/veth0/queues/rx-1/rps_cpus", "0\n");
        assert_eq!(virtual_one.check("rps")[0].status, Status::NotApplicable);
    }

    #[test]
    fn what_is_mounted_read_only_is_not_said_to_be_changed_from_here() {
        let host = |options: &str| {
            let mounts = format!(
                "1 0 0:1 / /proc rw - proc proc rw\n2 1 0:1 /sys /proc/sys {options} - proc proc rw\n"
            );
            Recorded::new()
                .file("/proc/sys/net/core/netdev_max_backlog", "1000\n")
                .file("/proc/self/mountinfo", &mounts)
        };
        let drops = |options: &str| host(options).grew("softnet.cpu0.dropped", 9);
        let check = &drops("ro,nosuid").check("netdev-backlog")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("read-only here"), "{}", check.reason);
        assert_eq!(drops("rw,nosuid").check("netdev-backlog")[0].status, Status::Change);
        assert_eq!(host("ro").check("netdev-backlog")[0].status, Status::Unchangeable);
    }

    #[test]
    fn what_cannot_be_seen_is_no_fact_about_the_kernel() {
        let blind = Recorded::new();
        for id in ["flow-limit", "ksm", "thp", "c-states", "conntrack", "irqbalance", "file-system"] {
            let check = &blind.check(id)[0];
            assert_eq!(check.status, Status::Unknown, "{id}");
            assert!(check.reason.contains("not to be seen from here"), "{id}: {}", check.reason);
        }
        let sees = blind
            .file("/proc/sys/net/core/netdev_max_backlog", "1000\n")
            .file("/sys/kernel/mm/some/file", "")
            .file("/sys/devices/system/cpu/cpu0/online", "1\n")
            .file("/proc/2/comm", "kthreadd\n")
            .file("/proc/self/mountinfo", "36 35 0:2 / / rw - overlay overlay rw\n");
        for (id, status) in [
            ("flow-limit", Status::NotApplicable),
            ("ksm", Status::NotApplicable),
            ("thp", Status::NotApplicable),
            ("c-states", Status::NotApplicable),
            ("conntrack", Status::NotApplicable),
            ("irqbalance", Status::Ok),
            ("file-system", Status::NotApplicable),
        ] {
            assert_eq!(sees.check(id)[0].status, status, "{id}");
        }
    }

    #[test]
    fn a_host_that_shows_nothing_gets_a_reason_for_everything_and_no_change() {
        for role in Role::ALL {
            let host = Recorded::new().role(role).process(77);
            for tunable in TUNABLES {
                let checks = host.check(tunable.id);
                let targets: BTreeSet<&str> = checks.iter().map(|check| check.target.as_str()).collect();
                assert_eq!(targets.len(), checks.len(), "{} answers twice for one thing", tunable.id);
                for check in checks {
                    assert!(!check.reason.is_empty(), "{}", tunable.id);
                    let told = [Status::Unknown, Status::NotApplicable, Status::Ok];
                    assert!(told.contains(&check.status), "{}: {:?}", tunable.id, check.status);
                    assert!(check.assignments.is_empty(), "{}", tunable.id);
                }
            }
        }
    }
}
