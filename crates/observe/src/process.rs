//! A process over a window: Thread State Analysis (Gregg, tsamethod) by class of thread.
//!
//! Time on a processor and time ready without one are exact (`schedstat`). What is left is divided by readings of each thread's state and
//! of what it waits in (`process/states.rs`): disk (state D), lock (futex), or asleep. Beside the threads: the control group, the
//! queues of the sockets, the devices of the logs, the memory's nodes. Not for finding what the processor time was spent on: see `profile.rs`.

mod cgroup;
mod details;
mod log_devices;
mod memory_nodes;
mod sockets;
mod states;

pub use details::{ProcessDetails, remote_memory, untold_states};
pub use states::StateReadings;

use crate::thread_class::thread_class;
use crate::{HostRoot, ThreadsSample, process_usage};
use plumb_model::facts::ThreadUsage;
use plumb_model::observed::{ProcessWindow, ThreadClass, ThreadGroup, ThreadStates};
use states::Waits;
use std::collections::BTreeMap;

/// Threads that are listed one by one, those with most processor time (ours); groups have them all.
const LISTED_MAX: usize = 500;

/// What is known of a process beside its threads.
#[derive(Debug, Clone, Default)]
pub struct ProcessNames {
    /// Its command, without arguments.
    pub command: String,
    /// True where it is a Kafka broker.
    pub is_broker: bool,
    /// Whole names of its threads, where its JVM told them.
    pub threads: BTreeMap<u32, String>,
}

/// The command of a process and whether it is a broker. Arguments may be secret and are not kept.
pub fn process_names(root: &HostRoot, pid: u32) -> ProcessNames {
    let command = root.read(&format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    ProcessNames { command, is_broker: is_broker(root, pid), threads: BTreeMap::new() }
}

/// Processes of this host whose main class is Kafka's.
pub fn find_brokers(root: &HostRoot) -> Vec<u32> {
    let names = root.list("/proc").unwrap_or_default();
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    pids.retain(|pid| is_broker(root, *pid));
    pids.sort_unstable();
    pids
}

fn is_broker(root: &HostRoot, pid: u32) -> bool {
    let command = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.split('\0').any(|word| word == "kafka.Kafka")
}

/// The process between two samples of its threads; `after` is absent where it ended meanwhile.
pub fn process_window(
    before: &ThreadsSample,
    after: Option<&ThreadsSample>,
    readings: &StateReadings,
    names: ProcessNames,
) -> ProcessWindow {
    let mut window = ProcessWindow {
        pid: readings.pid(),
        command: names.command,
        is_broker: names.is_broker,
        ended: after.is_none(),
        ..ProcessWindow::default()
    };
    let Some(after) = after else { return window };
    window.usage = process_usage(before, after);
    let elapsed_ns = window.usage.elapsed_ns;
    let read_bytes = window.usage.io.as_ref().and_then(|io| io.device_read_bytes);
    window.device_read_bytes_per_s =
        read_bytes.filter(|_| elapsed_ns > 0).map(|bytes| bytes as f64 / (elapsed_ns as f64 / 1e9));
    let by_thread = readings.by_thread();
    let mut groups: BTreeMap<ThreadClass, Group> = BTreeMap::new();
    for thread in &window.usage.threads {
        let name = names.threads.get(&thread.tid).map_or(thread.name.as_str(), String::as_str);
        let seen = Seen {
            thread,
            life_ns: after.life_ns(thread.tid, elapsed_ns),
            waits: by_thread.get(&thread.tid).copied(),
            readings,
        };
        groups.entry(seen.class(name)).or_default().add(&seen, elapsed_ns);
    }
    let kernel = KernelTells {
        // No thread of a live process has had a time slice only where the kernel counts none.
        times: window.usage.threads.iter().any(|thread| thread.on_cpu_ns.is_some()),
        channels: readings.tells_channels() == Some(true),
    };
    window.groups = groups.into_iter().map(|(class, group)| group.finish(class, &kernel)).collect();
    window.groups.sort_by_key(|group| std::cmp::Reverse(group.states.executing_ns));
    if window.usage.threads.len() > LISTED_MAX {
        window.usage.threads.sort_by_key(|thread| std::cmp::Reverse(thread.on_cpu_ns));
        window.usage.threads.truncate(LISTED_MAX);
    }
    window
}

/// What the kernel tells of a process' threads. What it does not tell is absent, and never 0.
struct KernelTells {
    /// Scheduler statistics.
    times: bool,
    /// The functions that threads sleep in.
    channels: bool,
}

/// One thread with what was seen of it.
struct Seen<'a> {
    thread: &'a ThreadUsage,
    /// The part of the window for which it was there.
    life_ns: u64,
    waits: Option<&'a Waits>,
    readings: &'a StateReadings,
}

impl Seen<'_> {
    /// By its name; where the kernel's cut leaves two, a network thread waits for sockets and a request handler for a lock.
    fn class(&self, name: &str) -> ThreadClass {
        if name != "data-plane-kafk" {
            return thread_class(name);
        }
        let Some(waits) = self.waits else { return ThreadClass::Other };
        let channels = self.readings.channels_of(waits);
        let polls: u32 = channels.filter(|(name, _)| name.contains("poll")).map(|(_, times)| times).sum();
        match (polls, waits.lock) {
            (polls, lock) if polls > lock => ThreadClass::Network,
            (polls, lock) if lock > polls => ThreadClass::Handler,
            _ => ThreadClass::Other,
        }
    }
}

/// Threads of one class, added up.
#[derive(Debug, Default)]
struct Group {
    threads: u32,
    executing_ns: u64,
    runnable_ns: u64,
    /// Neither: time of threads by what they were seen in.
    disk_ns: f64,
    lock_ns: f64,
    asleep_ns: f64,
    /// Neither, of threads that were never seen asleep.
    unread_ns: f64,
    busiest: f64,
    readings: u32,
    disk: u32,
    lock: u32,
    asleep: u32,
    channels: BTreeMap<String, u32>,
}

impl Group {
    /// A thread without scheduler statistics of its own never ran.
    fn add(&mut self, seen: &Seen<'_>, elapsed_ns: u64) {
        let thread = seen.thread;
        let on_cpu_ns = thread.on_cpu_ns.unwrap_or(0);
        // The kernel counts a wait for a processor when it ends, with the part that lay before the window.
        let run_delay_ns = thread.run_delay_ns.unwrap_or(0).min(elapsed_ns.saturating_sub(on_cpu_ns));
        self.threads += 1;
        self.executing_ns += on_cpu_ns;
        self.runnable_ns += run_delay_ns;
        self.busiest = self.busiest.max(on_cpu_ns as f64 / elapsed_ns.max(1) as f64);
        let rest_ns = seen.life_ns.saturating_sub(on_cpu_ns.saturating_add(run_delay_ns)) as f64;
        let (readings, disk, lock, asleep) =
            seen.waits.map_or((0, 0, 0, 0), |waits| (waits.readings, waits.disk, waits.lock, waits.asleep));
        self.readings += readings;
        self.disk += disk;
        self.lock += lock;
        self.asleep += asleep;
        match f64::from(disk + lock + asleep) {
            0.0 => self.unread_ns += rest_ns,
            times => {
                self.disk_ns += rest_ns * f64::from(disk) / times;
                self.lock_ns += rest_ns * f64::from(lock) / times;
                self.asleep_ns += rest_ns * f64::from(asleep) / times;
            }
        }
        for (channel, times) in seen.waits.iter().flat_map(|waits| seen.readings.channels_of(waits)) {
            *self.channels.entry(channel.to_owned()).or_default() += times;
        }
    }

    fn finish(self, class: ThreadClass, kernel: &KernelTells) -> ThreadGroup {
        // Threads that were never seen asleep are taken to have slept as the others of their class.
        let times = f64::from(self.disk + self.lock + self.asleep);
        let read = |ns: f64, seen: u32| {
            let unread_ns = if times > 0.0 { self.unread_ns * f64::from(seen) / times } else { 0.0 };
            (kernel.times && times > 0.0).then_some((ns + unread_ns) as u64)
        };
        // Who is not told what threads sleep in cannot tell a lock from a socket; a disk is told by the state.
        let told = |ns: Option<u64>| ns.filter(|_| kernel.channels);
        let share = |times: u32| f64::from(times) / f64::from(self.readings.max(1));
        ThreadGroup {
            class,
            threads: self.threads,
            states: ThreadStates {
                executing_ns: kernel.times.then_some(self.executing_ns),
                runnable_ns: kernel.times.then_some(self.runnable_ns),
                disk_ns: read(self.disk_ns, self.disk),
                lock_ns: told(read(self.lock_ns, self.lock)),
                sleeping_ns: told(read(self.asleep_ns, self.asleep)),
                readings: self.readings,
            },
            busiest_share: kernel.times.then_some(self.busiest.min(1.0)),
            waits: self.channels.into_iter().map(|(name, times)| (name, share(times))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_threads;
    use std::process::{Child, Command, Stdio};

    fn window_of(command: &[&str]) -> ProcessWindow {
        let root = HostRoot::default();
        let mut child = spawn(command);
        let before = sample_threads(&root, child.id()).unwrap();
        let mut readings = StateReadings::new(child.id());
        for _ in 0..20 {
            readings.read(&root, usize::MAX);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let after = sample_threads(&root, child.id()).unwrap();
        let names = process_names(&root, child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        process_window(&before, Some(&after), &readings, names)
    }

    fn spawn(command: &[&str]) -> Child {
        Command::new(command[0]).args(&command[1..]).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_busy_process_executes_or_waits_for_a_processor_and_a_sleeping_one_sleeps() {
        let busy = window_of(&["sh", "-c", "while :; do :; done"]);
        let states = &busy.groups[0].states;
        let wanted = states.executing_ns.unwrap() + states.runnable_ns.unwrap();
        assert!(wanted > states.sleeping_ns.unwrap_or(0) + states.lock_ns.unwrap_or(0), "{states:?}");
        let asleep = window_of(&["sleep", "60"]);
        let states = &asleep.groups[0].states;
        assert!(states.sleeping_ns.unwrap() > asleep.usage.elapsed_ns / 2, "{states:?}");
        assert_eq!(asleep.command, "sleep");
    }

    #[test]
    fn without_scheduler_statistics_no_time_is_known_and_none_is_shown_as_zero() {
        let thread = ThreadUsage {
            tid: 1,
            name: "main".to_owned(),
            user_ns: Some(5),
            system_ns: Some(0),
            on_cpu_ns: None,
            run_delay_ns: None,
            voluntary_switches: None,
            involuntary_switches: None,
        };
        let readings = StateReadings::new(1);
        let waits = Waits { readings: 4, asleep: 4, ..Waits::default() };
        let states = |kernel: KernelTells| {
            let mut group = Group::default();
            let seen = Seen { thread: &thread, life_ns: 1_000, waits: Some(&waits), readings: &readings };
            group.add(&seen, 1_000);
            let group = group.finish(ThreadClass::Other, &kernel);
            (group.states.executing_ns, group.states.sleeping_ns, group.busiest_share)
        };
        assert_eq!(states(KernelTells { times: false, channels: true }), (None, None, None));
        assert_eq!(states(KernelTells { times: true, channels: false }), (Some(0), None, Some(0.0)));
        assert_eq!(states(KernelTells { times: true, channels: true }), (Some(0), Some(1_000), Some(0.0)));
    }

    #[test]
    fn threads_that_were_never_read_slept_as_the_others_of_their_class_and_only_for_as_long_as_they_lived() {
        let thread = |tid| ThreadUsage {
            tid,
            name: "worker".to_owned(),
            user_ns: None,
            system_ns: None,
            on_cpu_ns: Some(100),
            run_delay_ns: Some(0),
            voluntary_switches: None,
            involuntary_switches: None,
        };
        let readings = StateReadings::new(1);
        let waits = Waits { readings: 5, disk: 1, lock: 3, ..Waits::default() };
        let mut group = Group::default();
        for (tid, life_ns, waits) in [(1, 1_100, Some(&waits)), (2, 500, None)] {
            group.add(&Seen { thread: &thread(tid), life_ns, waits, readings: &readings }, 1_100);
        }
        let states = group.finish(ThreadClass::Other, &KernelTells { times: true, channels: true }).states;
        // 1,000 ns of the first and 400 ns of the second, a quarter of them in a disk.
        assert_eq!((states.disk_ns, states.lock_ns, states.sleeping_ns), (Some(350), Some(1_050), Some(0)));
        assert_eq!(states.readings, 5);
    }

    #[test]
    fn a_process_that_ended_is_said_to_have() {
        let root = HostRoot::default();
        let mut child = spawn(&["sleep", "60"]);
        let before = sample_threads(&root, child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let window = process_window(&before, None, &StateReadings::new(child.id()), ProcessNames::default());
        assert!(window.ended && window.groups.is_empty());
    }

    #[test]
    fn cut_names_are_told_apart_by_what_the_threads_wait_in() {
        let folder = tempfile::tempdir().unwrap();
        let class_of = |tid: u32, channel: &str| {
            let thread = folder.path().join(format!("proc/{tid}/task/{tid}"));
            std::fs::create_dir_all(&thread).unwrap();
            std::fs::write(thread.join("stat"), format!("{tid} (data-plane-kafk) S 1")).unwrap();
            std::fs::write(thread.join("wchan"), channel).unwrap();
            let mut readings = StateReadings::new(tid);
            readings.read(&HostRoot::new(folder.path()), 1);
            let usage = ThreadUsage {
                tid,
                name: "data-plane-kafk".to_owned(),
                user_ns: None,
                system_ns: None,
                on_cpu_ns: None,
                run_delay_ns: None,
                voluntary_switches: None,
                involuntary_switches: None,
            };
            let waits = readings.by_thread().get(&tid).copied();
            Seen { thread: &usage, life_ns: 1, waits, readings: &readings }.class("data-plane-kafk")
        };
        assert_eq!(class_of(1, "ep_poll"), ThreadClass::Network);
        assert_eq!(class_of(2, "futex_wait_queue"), ThreadClass::Handler);
        assert_eq!(class_of(3, "0"), ThreadClass::Other);
    }
}
