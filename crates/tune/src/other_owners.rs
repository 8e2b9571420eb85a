//! Who else changes these settings: programs that run, and files that are read when the machine or a device starts. One sentence for each,
//! with its name.
//!
//! What is changed here lasts until one of them runs. Not here: settling who is right; nobody's file is touched.

use crate::host::Host;
use plumb_model::check::SettingCheck;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a program's name that the kernel keeps (`TASK_COMM_LEN` without the end).
const NAME_BYTES_MAX: usize = 15;

/// Programs that change settings while they run, and what they change.
const PROGRAMS: &[(&str, &str)] = &[
    ("irqbalance", "moves interrupts between processors"),
    ("bpftune", "changes buffers and backlogs of the network as it sees fit"),
    (
        "NetworkManager",
        "sets a driver's settings as a connection's ethtool section has them, each time that it is activated",
    ),
    ("google_guest_agent", "runs Google's tuning of queues and interrupts when the machine starts"),
    ("kubelet", "gives pods their processors and kernel settings"),
    ("cilium-agent", "sets kernel settings of the network for pods"),
    ("calico-node", "sets kernel settings of the network for pods"),
];

/// Files of vendors' own tuning, which is run when the machine starts.
const TUNERS: &[(&str, &str)] = &[
    ("/usr/bin/google_set_multiqueue", "sets queues, interrupts and XPS of this cloud's interfaces"),
    ("/usr/bin/google_optimize_local_ssd", "places interrupts of local disks and sets their queues"),
    ("/etc/systemd/system/redpanda-tuner.service", "runs rpk's tuners"),
    ("/usr/lib/systemd/system/redpanda-tuner.service", "runs rpk's tuners"),
    ("/etc/scylla.d/perftune.yaml", "has what perftune places and sets"),
];

/// Directories of settings, of which a file of an earlier one hides those of its name in later ones (sysctl.d(5), systemd.link(5)).
const TOPS: [&str; 4] = ["/etc", "/run", "/usr/local/lib", "/usr/lib"];

/// Keys of a `.link` file that set what tunables set, by their beginnings or ends (systemd.link(5)).
const LINK_KEYS: [&str; 7] =
    ["BufferSize", "Channels", "Coalesce", "Offload", "FlowControl", "PacketSteering", "NTupleFilter"];

/// What udev's rules write to that tunables set.
const RULE_WORDS: [&str; 8] = [
    "queue/scheduler",
    "queue/nr_requests",
    "queue/nomerges",
    "queue/read_ahead_kb",
    "queue/rq_affinity",
    "rps_cpus",
    "xps_cpus",
    "ethtool",
];

/// A sentence for each program and file that also changes settings of this host.
pub(crate) fn other_owners(host: &Host, checks: &[SettingCheck]) -> Vec<String> {
    let running = running(host);
    let mut told: Vec<String> = tuned(host, &running).into_iter().collect();
    let is_running = |(name, _): &&(&str, &str)| running.contains(short(name));
    told.extend(PROGRAMS.iter().filter(is_running).map(|(name, does)| format!("{name} runs: it {does}")));
    let is_there = |(path, _): &&(&str, &str)| host.root().exists(path);
    told.extend(TUNERS.iter().filter(is_there).map(|(path, does)| format!("{path} {does}")));
    told.extend(static_cpus(host));
    told.extend(cni(host));
    told.extend(sysctls(host, checks));
    told.extend(links(host));
    told.extend(rules(host));
    told
}

/// True if a program of this name runs.
pub(crate) fn runs(host: &Host, name: &str) -> bool {
    running(host).contains(short(name))
}

/// True if the host's own programs are seen: the kernel's threads are children of the second process, which no container has.
pub(crate) fn sees_the_hosts_programs(host: &Host) -> bool {
    text(host, "/proc/2/comm").is_some_and(|name| name.trim() == "kthreadd")
}

fn short(name: &str) -> &str {
    &name[..name.len().min(NAME_BYTES_MAX)]
}

/// The names of all programs that run.
fn running(host: &Host) -> BTreeSet<String> {
    let processes = host.root().list("/proc").unwrap_or_default();
    let is_process = |name: &&String| name.bytes().all(|byte| byte.is_ascii_digit());
    let name = |process: &String| Some(text(host, &format!("/proc/{process}/comm"))?.trim().to_owned());
    processes.iter().filter(is_process).filter_map(name).collect()
}

fn text(host: &Host, path: &str) -> Option<String> {
    host.root().read(path).ok()
}

fn tuned(host: &Host, running: &BTreeSet<String>) -> Option<String> {
    let is_running = running.contains("tuned") || host.root().exists("/run/tuned/tuned.pid");
    let profile = text(host, "/etc/tuned/active_profile").unwrap_or_default();
    let profile = match profile.trim() {
        "" => "a profile of its choice".to_owned(),
        profile => format!("the profile {profile} of /etc/tuned/active_profile"),
    };
    is_running.then(|| format!("tuned runs with {profile}: it sets what the profile has when it starts, and for devices that come"))
}

fn static_cpus(host: &Host) -> Option<String> {
    const STATE: &str = "/var/lib/kubelet/cpu_manager_state";
    let is_static = text(host, STATE)?.replace(' ', "").contains("\"policyName\":\"static\"");
    is_static
        .then(|| format!("kubelet gives pods processors of their own ({STATE}), and moves others off them"))
}

/// Configurations of the network of pods whose plugin sets kernel settings.
fn cni(host: &Host) -> Vec<String> {
    const FOLDER: &str = "/etc/cni/net.d";
    let sets = |path: &String| {
        text(host, path).is_some_and(|text| text.replace(' ', "").contains("\"type\":\"tuning\""))
    };
    let files = host.root().list(FOLDER).unwrap_or_default();
    let paths = files.into_iter().map(|file| format!("{FOLDER}/{file}")).filter(sets);
    paths.map(|path| format!("{path} sets kernel settings for pods")).collect()
}

/// Files of a directory and an ending in the order in which they are read: by name, whatever their directory.
fn in_order(host: &Host, folder: &str, ending: &str) -> Vec<String> {
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    for top in TOPS {
        for name in host.root().list(&format!("{top}/{folder}")).unwrap_or_default() {
            if name.ends_with(ending) {
                paths.entry(name.clone()).or_insert(format!("{top}/{folder}/{name}"));
            }
        }
    }
    paths.into_values().collect()
}

/// Files that set kernel settings which a check would change: of each the last one read, which wins, and those that lose.
fn sysctls(host: &Host, checks: &[SettingCheck]) -> Vec<String> {
    let wanted: BTreeMap<String, &str> = checks
        .iter()
        .flat_map(|check| &check.assignments)
        .filter_map(|to| Some((place(&to.key)?, to.key.as_str())))
        .collect();
    let mut files = in_order(host, "sysctl.d", ".conf");
    // procps reads it last; where a file of sysctl.d is a link to it, that stands for it.
    let links_to_it =
        |path: &String| host.root().link(path).is_some_and(|target| target.ends_with("sysctl.conf"));
    if !files.iter().any(links_to_it) {
        files.push("/etc/sysctl.conf".to_owned());
    }
    let mut set: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        for line in text(host, &file).unwrap_or_default().lines() {
            let Some((key, value)) = line.trim().trim_start_matches('-').split_once('=') else { continue };
            let Some(place) = place(key.trim()).filter(|place| wanted.contains_key(place)) else { continue };
            set.entry(place).or_default().push((file.clone(), value.trim().to_owned()));
        }
    }
    let sentence = |(place, set): (String, Vec<(String, String)>)| {
        let ((file, value), others) = set.split_last()?;
        let mut others: Vec<&str> =
            others.iter().map(|(file, _)| file.as_str()).filter(|other| other != file).collect();
        others.dedup();
        let lose = match others.is_empty() {
            true => String::new(),
            false => format!("; it is read after {}, and wins", others.join(", ")),
        };
        Some(format!("{file} sets {} to {value} when the machine starts{lose}", wanted.get(&place)?))
    };
    set.into_iter().filter_map(sentence).collect()
}

/// A kernel setting's file by any of its names; none of what is no such setting. A comment is none either.
fn place(key: &str) -> Option<String> {
    if key.is_empty() || key.starts_with(['#', ';']) || key.contains([':', '*']) {
        return None;
    }
    if let Some(path) = key.strip_prefix("/proc/sys/") {
        return Some(path.to_owned());
    }
    if key.starts_with('/') {
        return None;
    }
    // As sysctl.d(5) has it: whichever of dot and slash comes first is between the parts.
    let is_path = key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('/'));
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    Some(if is_path { key.to_owned() } else { key.chars().map(swap).collect() })
}

/// Files that set a device up when it comes.
fn links(host: &Host) -> Vec<String> {
    let of = |path: String| {
        let text = text(host, &path)?;
        let keys =
            text.lines().filter(|line| !line.starts_with(['#', ';'])).filter_map(|line| line.split_once('='));
        let keys: BTreeSet<&str> = keys
            .map(|(key, _)| key.trim())
            .filter(|key| LINK_KEYS.iter().any(|own| key.contains(own)))
            .collect();
        let keys: Vec<&str> = keys.into_iter().collect();
        (!keys.is_empty()).then(|| {
            format!("{path} sets {} of the interfaces that it matches when they come", keys.join(", "))
        })
    };
    in_order(host, "systemd/network", ".link").into_iter().filter_map(of).collect()
}

fn rules(host: &Host) -> Vec<String> {
    let of = |path: String| {
        let text = text(host, &path)?;
        let lines = || text.lines().filter(|line| !line.trim_start().starts_with('#'));
        // What sets something has an assignment, and what only asks has none.
        let sets = |word: &&&str| {
            lines().any(|line| {
                line.contains(**word)
                    && (line.contains("RUN") || line.contains("ATTR{"))
                    && has_assignment(line)
            })
        };
        let words: Vec<&str> = RULE_WORDS.iter().filter(sets).copied().collect();
        (!words.is_empty()).then(|| {
            format!(
                "{path} sets {} of the devices that it matches when they come or change",
                words.join(", ")
            )
        })
    };
    in_order(host, "udev/rules.d", ".rules").into_iter().filter_map(of).collect()
}

/// True if a rule writes an attribute or runs a program: `ATTR{queue/scheduler}="none"`, `RUN+="..."`, and not `ATTR{...}=="none"`.
fn has_assignment(rule: &str) -> bool {
    rule.split(',').map(str::trim).any(|part| {
        let is_write = part.starts_with("ATTR{") || part.starts_with("RUN");
        is_write && part.contains('=') && !part.contains("==") && !part.contains("!=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunables::recorded::Recorded;
    use plumb_model::change::Assignment;

    fn told(recorded: &Recorded, keys: &[&str]) -> Vec<String> {
        let mut checks = Recorded::new().check("swappiness");
        let to = |key: &&str| Assignment { key: (*key).to_owned(), value: "1".to_owned() };
        checks[0].assignments = keys.iter().map(to).collect();
        other_owners(&recorded.host(), &checks)
    }

    #[test]
    fn each_program_and_file_is_a_sentence_with_its_name() {
        let host = Recorded::new()
            .file("/proc/1/comm", "systemd\n")
            .file("/proc/7/comm", "tuned\n")
            .file("/proc/8/comm", "irqbalance\n")
            .file("/proc/9/comm", "google_guest_ag\n")
            .file("/etc/tuned/active_profile", "throughput-performance\n")
            .file("/usr/bin/google_set_multiqueue", "")
            .file("/var/lib/kubelet/cpu_manager_state", "{\"policyName\": \"static\"}")
            .file("/etc/cni/net.d/10-a.conflist", "{\"plugins\": [{\"type\": \"tuning\"}]}")
            .file("/etc/cni/net.d/20-b.conflist", "{\"plugins\": [{\"type\": \"bridge\"}]}")
            .file("/etc/systemd/network/10-nic.link", "[Match]\nOriginalName=*\n[Link]\nRxBufferSize=4096\n")
            .file("/usr/lib/systemd/network/99-default.link", "[Link]\nNamePolicy=keep\n")
            .file("/etc/udev/rules.d/60-disk.rules", "KERNEL==\"sd*\", ATTR{queue/scheduler}=\"none\"\n")
            .file("/etc/udev/rules.d/70-ask.rules", "ATTR{queue/scheduler}==\"none\", NAME=\"x\"\n");
        let told = told(&host, &[]);
        let starts = [
            "tuned runs with the profile throughput-performance",
            "irqbalance runs",
            "google_guest_agent runs",
            "/usr/bin/google_set_multiqueue sets",
            "kubelet gives pods processors",
            "/etc/cni/net.d/10-a.conflist sets",
            "/etc/systemd/network/10-nic.link sets RxBufferSize of",
            "/etc/udev/rules.d/60-disk.rules sets queue/scheduler of",
        ];
        assert_eq!(told.len(), starts.len(), "{told:#?}");
        for (told, start) in told.iter().zip(starts) {
            assert!(told.starts_with(start), "{told}");
        }
    }

    #[test]
    fn of_files_that_set_one_key_the_last_by_name_wins_whatever_its_directory() {
        let host = Recorded::new()
            .file("/usr/lib/sysctl.d/90-late.conf", "-vm/swappiness = 30\n")
            .file("/etc/sysctl.d/10-early.conf", "# vm.swappiness = 5\nvm.swappiness=10\nvm.other=1\n")
            .file("/run/sysctl.d/10-early.conf", "vm.swappiness=99\n");
        assert_eq!(
            told(&host, &["vm.swappiness"]),
            [
                "/usr/lib/sysctl.d/90-late.conf sets vm.swappiness to 30 when the machine starts; it is read after /etc/sysctl.d/10-early.conf, and wins"
            ]
        );
        assert!(told(&host, &["vm.dirty_ratio", "/sys/block/sda/queue/scheduler"]).is_empty());
        let last = host.file("/etc/sysctl.conf", "vm.swappiness = 1\n");
        assert!(
            told(&last, &["/proc/sys/vm/swappiness"])[0]
                .starts_with("/etc/sysctl.conf sets /proc/sys/vm/swappiness to 1")
        );
    }

    #[test]
    fn an_interface_with_a_dot_in_its_name_is_one_part() {
        assert_eq!(
            place("net.ipv4.conf.eth0/5.rp_filter").as_deref(),
            Some("net/ipv4/conf/eth0.5/rp_filter")
        );
        assert_eq!(
            place("net/ipv4/conf/eth0.5/rp_filter").as_deref(),
            Some("net/ipv4/conf/eth0.5/rp_filter")
        );
        assert_eq!(place("irq:0000:3b:00.0:eth0"), None);
    }

    #[test]
    fn a_host_that_nobody_else_changes_has_no_sentence() {
        assert!(told(&Recorded::new(), &["vm.swappiness"]).is_empty());
    }
}
