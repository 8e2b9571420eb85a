//! Processes of this host over the window: their threads, and, where they are JVMs that may be attached to, flags and CPU profile.

use super::brokers::Collections;
use super::{ObserveSettings, unseen};
use plumb_lab::kafka::profiler_jar;
use plumb_model::fault::{HasFault, chain};
use plumb_model::observed::{JvmFacts, JvmWindow, ProcessWindow, Profile, Unseen, profile_file};
use plumb_observe::{
    CpuProfiler, GcCounters, GcLog, HostRoot, PerfProfiler, ProcessDetails, ProcessNames, StateReadings,
    ThreadsSample, gc_counters, jvm_facts, jvm_thread_names, process_names, process_window, profile,
    remote_memory, sample_threads, untold_states,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time in which each thread's state is read once (ours): 120 readings of a thread in 30 s.
const TURN: Duration = Duration::from_millis(250);
/// Readings at a time, at most (ours): what they cost stays the same however many threads there are.
const READINGS_MAX: f64 = 24.0;

/// The processes that are watched.
pub(super) struct Processes {
    watched: Vec<Watched>,
    /// The profiler's jar, where a JVM is watched.
    profiler: Option<PathBuf>,
    /// Whether processes may be profiled at all.
    attach: bool,
}

struct Watched {
    pid: u32,
    names: ProcessNames,
    jvm: Option<JvmWindow>,
    before: ThreadsSample,
    readings: StateReadings,
    details: ProcessDetails,
    /// Readings of threads that are due.
    due: f64,
    profiler: Option<(Profiler, Instant)>,
    profile: Option<Profile>,
    gc_before: Option<GcCounters>,
    gc_log: Option<GcLog>,
}

/// A CPU profile under way.
enum Profiler {
    Jvm(CpuProfiler),
    Native(PerfProfiler),
}

impl Profiler {
    /// Ends it: the profile, and its collapsed stacks.
    fn stop(self, began: Instant) -> Result<(Profile, String), Box<dyn HasFault>> {
        let elapsed_ns = began.elapsed().as_nanos() as u64;
        let (source, cost_is_of) = self.words();
        let sampled = match self {
            Profiler::Jvm(profiler) => profiler.stop().map_err(boxed)?,
            Profiler::Native(profiler) => profiler.stop().map_err(boxed)?,
        };
        let mut profile = profile(&sampled.stacks, source, elapsed_ns);
        profile.cpu_ns = sampled.cpu_ns;
        profile.cpu_is_of = sampled.cpu_ns.map(|_| cost_is_of.to_owned());
        Ok((profile, sampled.stacks))
    }

    /// What it is, and what its cost is of.
    fn words(&self) -> (String, &'static str) {
        match self {
            Profiler::Jvm(profiler) => {
                (format!("async-profiler 4.1, {}, 1 ms", profiler.event), CpuProfiler::COST_IS_OF)
            }
            Profiler::Native(_) => (PerfProfiler::SOURCE.to_owned(), PerfProfiler::COST_IS_OF),
        }
    }
}

fn boxed(error: impl HasFault + 'static) -> Box<dyn HasFault> {
    Box::new(error)
}

/// A process at the window's end.
pub(super) struct End {
    threads: Option<ThreadsSample>,
    gc: Option<GcCounters>,
    longest_pause_ns: Option<u64>,
}

impl Processes {
    /// Reads what does not change; a number that no process has is unseen.
    pub(super) fn open(pids: &[u32], settings: &ObserveSettings, missing: &mut Vec<Unseen>) -> Self {
        let root = HostRoot::default();
        let mut watched = Vec::new();
        for pid in pids {
            let mut names = process_names(&root, *pid);
            let mut jvm = None;
            if settings.attach && (names.command == "java" || names.is_broker) {
                match jvm_facts(*pid).and_then(|facts| Ok((facts, jvm_thread_names(*pid)?))) {
                    Ok((facts, threads)) => {
                        names.threads = threads;
                        jvm = Some(JvmWindow { facts, ..JvmWindow::default() });
                    }
                    Err(error) => missing.push(unseen(&format!("the JVM of process {pid}"), &error)),
                }
            }
            match sample_threads(&root, *pid) {
                Ok(before) => watched.push(Watched {
                    pid: *pid,
                    names,
                    jvm,
                    before,
                    readings: StateReadings::new(*pid),
                    details: ProcessDetails::open(&root, *pid),
                    due: 1.0,
                    profiler: None,
                    profile: None,
                    gc_before: None,
                    gc_log: None,
                }),
                Err(error) => missing.push(unseen(&format!("process {pid}"), &error)),
            }
        }
        let any_jvm = watched.iter().any(|process| process.jvm.is_some());
        let profiler = any_jvm.then(profiler_jar).flatten();
        if any_jvm && profiler.is_none() {
            missing.push(Unseen {
                what: "CPU profiles".to_owned(),
                reason: "async-profiler is not in Plumb's cache".to_owned(),
                hint: Some("plumb lab up fetches the profiler once, with Kafka".to_owned()),
            });
        }
        Processes { watched, profiler, attach: settings.attach }
    }

    /// Those that are there.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.watched.iter().map(|process| process.pid).collect()
    }

    /// The process whose network namespace counts: the first broker, else the first process.
    pub(super) fn network_of(&self) -> Option<u32> {
        let broker = self.watched.iter().find(|process| process.names.is_broker);
        Some(broker.or(self.watched.first())?.pid)
    }

    /// The watched brokers.
    pub(super) fn brokers(&self) -> Vec<u32> {
        let brokers = self.watched.iter().filter(|process| process.names.is_broker);
        brokers.map(|process| process.pid).collect()
    }

    /// The brokers that can be attached to.
    pub(super) fn attached_brokers(&self) -> Vec<u32> {
        let attached = self.watched.iter().filter(|process| process.names.is_broker && process.jvm.is_some());
        attached.map(|process| process.pid).collect()
    }

    /// The window begins: threads are read, profiles start.
    pub(super) fn begin(&mut self, window: Duration, missing: &mut Vec<Unseen>) {
        for process in &mut self.watched {
            if let Ok(before) = sample_threads(&HostRoot::default(), process.pid) {
                process.before = before;
            }
            process.details.begin(&HostRoot::default());
            process.gc_before = gc_counters(process.pid);
            process.gc_log = GcLog::open(process.pid);
            let is_native = self.attach && process.jvm.is_none() && process.names.command != "java";
            let started = match self.profiler.as_ref().filter(|_| process.jvm.is_some()) {
                Some(jar) => CpuProfiler::start(process.pid, jar, window).map(Profiler::Jvm).map_err(boxed),
                None if is_native => PerfProfiler::start(process.pid).map(Profiler::Native).map_err(boxed),
                None => continue,
            };
            match started {
                Ok(profiler) => process.profiler = Some((profiler, Instant::now())),
                Err(error) => missing.push(no_profile(process.pid, error.as_ref())),
            }
        }
    }

    /// Reads what some threads wait in, in turn, and what is due beside: called every [`super::PACE`] on average.
    pub(super) fn read(&mut self) {
        let root = HostRoot::default();
        let threads: usize = self.watched.iter().map(|process| process.readings.threads()).sum();
        let wanted = threads as f64 / TURN.div_duration_f64(super::PACE);
        // With very many threads each is read more seldom, and no more of them at a time.
        let share = (READINGS_MAX / wanted.max(1.0)).min(1.0);
        for process in &mut self.watched {
            process.due +=
                process.readings.threads().max(1) as f64 / TURN.div_duration_f64(super::PACE) * share;
            process.readings.read(&root, process.due as usize);
            process.due = process.due.fract();
            process.details.read(&root);
        }
    }

    /// Ends the profiles; all stacks go into files of the directory, if there is one.
    pub(super) fn stop_profiles(&mut self, directory: Option<&Path>, missing: &mut Vec<Unseen>) {
        let watched = self.watched.len();
        for process in &mut self.watched {
            let Some((profiler, began)) = process.profiler.take() else { continue };
            match profiler.stop(began) {
                Ok((mut taken, stacks)) => {
                    if let Some(directory) = directory {
                        let name = profile_file("profile", process.pid, watched, "collapsed");
                        match keep(directory, &name, &stacks) {
                            Ok(()) => taken.file = Some(name),
                            Err(error) => {
                                missing.push(unseen(&format!("all stacks of the profile, in {name}"), &error))
                            }
                        }
                    }
                    if taken.cpu_ns.is_none() {
                        missing.push(Unseen {
                            what: format!("cost of the CPU profile of process {}", process.pid),
                            reason: "the profiler did not say how long its samples took".to_owned(),
                            hint: None,
                        });
                    }
                    process.profile = Some(taken);
                }
                Err(error) => missing.push(no_profile(process.pid, error.as_ref())),
            }
        }
    }

    /// Threads and collections at the window's end, of each process; none of one that has ended.
    pub(super) fn read_end(&mut self) -> Vec<End> {
        let root = HostRoot::default();
        let end = |process: &mut Watched| {
            process.details.end(&root);
            End {
                threads: sample_threads(&root, process.pid).ok(),
                gc: gc_counters(process.pid),
                longest_pause_ns: process.gc_log.take().and_then(GcLog::longest_pause_ns),
            }
        };
        self.watched.iter_mut().map(end).collect()
    }

    /// What was seen of each process until then; `collections` are those of metrics, for JVMs that show no counters of their own.
    pub(super) fn close(
        self,
        ends: Vec<End>,
        collections: &BTreeMap<u32, Collections>,
        missing: &mut Vec<Unseen>,
    ) -> Vec<ProcessWindow> {
        let window = |(process, end): (Watched, End)| {
            if end.threads.is_none() {
                missing.push(Unseen {
                    what: format!("process {}", process.pid),
                    reason: "it ended within the window".to_owned(),
                    hint: None,
                });
            }
            let jvm = jvm_window(&process, &end, collections.get(&process.pid));
            let mut window =
                process_window(&process.before, end.threads.as_ref(), &process.readings, process.names);
            missing.extend(process.details.add_to(&mut window));
            missing.extend(untold_states(&process.readings));
            let both = end.threads.as_ref().map(|after| (&process.before, after));
            window.remote_memory_share = both
                .and_then(|(before, after)| remote_memory(&HostRoot::default(), process.pid, before, after));
            window.jvm = jvm;
            window.profile = process.profile;
            window
        };
        self.watched.into_iter().zip(ends).map(window).collect()
    }
}

fn no_profile(pid: u32, error: &(dyn HasFault + 'static)) -> Unseen {
    Unseen {
        what: format!("CPU profile of process {pid}"),
        reason: chain(error).join(": "),
        hint: error.hint().map(Cow::into_owned),
    }
}

/// Writes a file into a directory, which is made if it is not there.
fn keep(directory: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs_err::create_dir_all(directory)?;
    fs_err::write(directory.join(name), text)
}

/// The JVM with its collections; one that is not attached to may show its counters all the same.
fn jvm_window(process: &Watched, end: &End, beans: Option<&Collections>) -> Option<JvmWindow> {
    let counters = process.gc_before.as_ref().zip(end.gc.as_ref());
    let mut window = match (&process.jvm, counters) {
        (Some(jvm), _) => jvm.clone(),
        (None, Some((_, after))) => {
            let version = after.version.as_ref().map(|version| format!("JDK {version}"));
            JvmWindow { facts: JvmFacts { version, ..JvmFacts::default() }, ..JvmWindow::default() }
        }
        (None, None) => return None,
    };
    match (counters, beans) {
        (Some((before, after)), _) => after.fill(before, &mut window),
        (None, Some(beans)) => beans.after.fill(&beans.before, &mut window),
        (None, None) => {}
    }
    window.longest_pause_ns = end.longest_pause_ns;
    Some(window)
}
