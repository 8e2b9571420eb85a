//! Processor time of a process and of each of its threads (proc_pid_stat(5), kernel documentation sched-stats), and what
//! the process read and wrote (proc_pid_io(5)).
//!
//! Used on ourselves (is the generator the bottleneck?) and on a broker that runs on this host. Not for finding the
//! process: the caller knows its number.

use std::collections::BTreeMap;
use std::time::Instant;

use plumb_model::facts::{ProcessIo, ProcessUsage, ThreadUsage};

use crate::{HostRoot, ObserveError, growth, ticks_ns};
use rustix::time::{ClockId, clock_gettime};

/// Above so many threads their switches are not counted (ours): that file is the dearest of the three of a thread.
const SWITCHES_OF_MAX: usize = 1_000;

/// One reading of a process and its threads.
#[derive(Debug, Clone)]
pub struct ThreadsSample {
    taken_at: Instant,
    /// Time since boot, suspended included, as the start of a thread is told.
    since_boot_ns: u64,
    process: CpuTicks,
    threads: BTreeMap<u32, ThreadCounters>,
    /// Absent when the kernel keeps no account, or shows it to the process's owner only.
    io: Option<ProcessIo>,
}

/// Processor time since the start, and the start itself, which tells a number's second owner from its first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CpuTicks {
    user: u64,
    system: u64,
    started_at: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct ThreadCounters {
    name: String,
    cpu: CpuTicks,
    /// The processor that it was last on.
    processor: Option<u32>,
    on_cpu_ns: Option<u64>,
    run_delay_ns: Option<u64>,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
}

/// Reads the processor time of process `pid` and of its threads. Costs about 50 us for each thread.
pub fn sample_threads(root: &HostRoot, pid: u32) -> Result<ThreadsSample, ObserveError> {
    let taken_at = Instant::now();
    let gone = |_| ObserveError::NoProcess { pid };
    let path = format!("/proc/{pid}/stat");
    let text = root.read(&path).map_err(gone)?;
    let (_, process) = parse_stat(&text).ok_or_else(|| ObserveError::format(&path, "a process", &text))?;
    let mut threads = BTreeMap::new();
    let names = root.list(&format!("/proc/{pid}/task")).map_err(gone)?;
    // One that nobody has taken note of yet still has its number, and nothing else.
    if names.len() <= 1 && matches!(field(&text, 3), Some('Z' | 'X')) {
        return Err(ObserveError::NoProcess { pid });
    }
    let switches = names.len() <= SWITCHES_OF_MAX;
    for name in names {
        let Ok(tid) = name.parse() else { continue };
        // A thread may end between the listing and the reading.
        if let Some(counters) = read_thread(root, &format!("/proc/{pid}/task/{tid}"), switches)? {
            threads.insert(tid, counters);
        }
    }
    Ok(ThreadsSample { taken_at, since_boot_ns: since_boot_ns(), process, threads, io: read_io(root, pid) })
}

fn since_boot_ns() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

impl ThreadsSample {
    /// The part of a window that ended now for which a thread was there.
    pub(crate) fn life_ns(&self, tid: u32, window_ns: u64) -> u64 {
        let started_ns = self.threads.get(&tid).and_then(|thread| ticks_ns(thread.cpu.started_at));
        started_ns
            .map_or(window_ns, |started_ns| self.since_boot_ns.saturating_sub(started_ns).min(window_ns))
    }

    /// Processor time since another reading by the processor that a thread was last on.
    pub(crate) fn busy_by_processor(&self, before: &ThreadsSample) -> BTreeMap<u32, u64> {
        let mut busy = BTreeMap::new();
        for (tid, thread) in &self.threads {
            let earlier = same_thread(before, *tid, thread).map_or(Some(0), |thread| thread.on_cpu_ns);
            if let (Some(processor), Some(busy_ns)) = (thread.processor, growth(earlier, thread.on_cpu_ns)) {
                *busy.entry(processor).or_default() += busy_ns;
            }
        }
        busy
    }
}

/// The bytes that a process read and wrote since its start, ended threads included; absent when the kernel keeps no account, or
/// shows it to others only.
pub fn read_io(root: &HostRoot, pid: u32) -> Option<ProcessIo> {
    root.read(&format!("/proc/{pid}/io")).ok().as_deref().map(parse_io)
}

/// `write_bytes: 4096`, one sum a line.
fn parse_io(text: &str) -> ProcessIo {
    let bytes = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim().parse().ok()
    };
    ProcessIo {
        called_read_bytes: bytes("rchar"),
        device_read_bytes: bytes("read_bytes"),
        dirtied_bytes: bytes("write_bytes"),
        cancelled_bytes: bytes("cancelled_write_bytes"),
    }
}

fn io_between(before: &ProcessIo, after: &ProcessIo) -> ProcessIo {
    let grown = |figure: fn(&ProcessIo) -> Option<u64>| growth(figure(before), figure(after));
    ProcessIo {
        called_read_bytes: grown(|io| io.called_read_bytes),
        device_read_bytes: grown(|io| io.device_read_bytes),
        dirtied_bytes: grown(|io| io.dirtied_bytes),
        cancelled_bytes: grown(|io| io.cancelled_bytes),
    }
}

fn read_thread(
    root: &HostRoot,
    folder: &str,
    switches: bool,
) -> Result<Option<ThreadCounters>, ObserveError> {
    let path = format!("{folder}/stat");
    let Ok(text) = root.read(&path) else { return Ok(None) };
    let (name, cpu) = parse_stat(&text).ok_or_else(|| ObserveError::format(&path, "a thread", &text))?;
    let (on_cpu_ns, run_delay_ns) =
        root.read(&format!("{folder}/schedstat")).ok().as_deref().and_then(parse_schedstat).unzip();
    let status = switches.then(|| root.read(&format!("{folder}/status")).ok()).flatten().unwrap_or_default();
    let (voluntary_switches, involuntary_switches) = parse_switches(&status);
    Ok(Some(ThreadCounters {
        name: name.to_owned(),
        cpu,
        processor: field(&text, 39),
        on_cpu_ns,
        run_delay_ns,
        voluntary_switches,
        involuntary_switches,
    }))
}

/// `1234 (name) S ppid ...`: the name may hold spaces and parentheses, so it ends at the last one.
fn parse_stat(text: &str) -> Option<(&str, CpuTicks)> {
    let (head, _) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let ticks = CpuTicks { user: field(text, 14)?, system: field(text, 15)?, started_at: field(text, 22)? };
    Some((name, ticks))
}

/// A number behind the name; proc_pid_stat(5) numbers the state after it as field 3.
fn field<T: std::str::FromStr>(stat: &str, number: usize) -> Option<T> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(number - 3)?.parse().ok()
}

/// Time on a processor and time waiting for one, in nanoseconds, then the number of time slices. A kernel that keeps no
/// such statistics prints three zeros, and so a thread without a time slice has none.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let (on_cpu_ns, run_delay_ns, slices) = (words.next()??, words.next()??, words.next()??);
    (slices > 0).then_some((on_cpu_ns, run_delay_ns))
}

fn parse_switches(status: &str) -> (Option<u64>, Option<u64>) {
    let count = |key: &str| {
        status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim().parse().ok()
    };
    (count("voluntary_ctxt_switches"), count("nonvoluntary_ctxt_switches"))
}

/// The usage of a process between two readings. All absent when the number went to another process meanwhile.
pub fn process_usage(before: &ThreadsSample, after: &ThreadsSample) -> ProcessUsage {
    let elapsed_ns = after.taken_at.saturating_duration_since(before.taken_at).as_nanos() as u64;
    if before.process.started_at != after.process.started_at {
        return ProcessUsage { elapsed_ns, ..ProcessUsage::default() };
    }
    let threads: Vec<ThreadUsage> = after
        .threads
        .iter()
        .map(|(tid, counters)| usage(*tid, same_thread(before, *tid, counters), counters))
        .collect();
    let ended =
        before.threads.iter().filter(|(tid, counters)| same_thread(after, **tid, counters).is_none()).count();
    let cpu = |ticks: &CpuTicks| ticks.user.checked_add(ticks.system);
    // The scheduler's own count is in nanoseconds, the process' in ticks; it is whole only where no thread took its share
    // away with it. A thread that never ran has no count.
    let counted = threads.iter().any(|thread| thread.on_cpu_ns.is_some());
    let on_cpu = (counted && ended == 0)
        .then(|| threads.iter().filter_map(|thread: &ThreadUsage| thread.on_cpu_ns).sum::<u64>());
    ProcessUsage {
        elapsed_ns,
        cpu_ns: on_cpu.or_else(|| growth(cpu(&before.process), cpu(&after.process)).and_then(ticks_ns)),
        threads,
        ended_threads: ended as u32,
        io: before.io.as_ref().zip(after.io.as_ref()).map(|(before, after)| io_between(before, after)),
    }
}

/// The thread of that number, if it is the same one.
fn same_thread<'a>(
    sample: &'a ThreadsSample,
    tid: u32,
    counters: &ThreadCounters,
) -> Option<&'a ThreadCounters> {
    sample.threads.get(&tid).filter(|other| other.cpu.started_at == counters.cpu.started_at)
}

/// Usage since `before`, or since the thread's start when it started meanwhile.
fn usage(tid: u32, before: Option<&ThreadCounters>, after: &ThreadCounters) -> ThreadUsage {
    let grown = |counter: fn(&ThreadCounters) -> Option<u64>| match before {
        Some(before) => growth(counter(before), counter(after)),
        None => counter(after),
    };
    ThreadUsage {
        tid,
        name: after.name.clone(),
        user_ns: grown(|thread| Some(thread.cpu.user)).and_then(ticks_ns),
        system_ns: grown(|thread| Some(thread.cpu.system)).and_then(ticks_ns),
        on_cpu_ns: grown(|thread| thread.on_cpu_ns),
        run_delay_ns: grown(|thread| thread.run_delay_ns),
        voluntary_switches: grown(|thread| thread.voluntary_switches),
        involuntary_switches: grown(|thread| thread.involuntary_switches),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_process_that_has_ended_and_of_which_nobody_took_note_is_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let path = format!("/proc/{}/stat", child.id());
        while !std::fs::read_to_string(&path).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        let sample = sample_threads(&HostRoot::default(), child.id());
        child.wait().unwrap();
        assert!(matches!(sample, Err(ObserveError::NoProcess { .. })), "{sample:?}");
    }

    fn thread(name: &str, user: u64, started_at: u64, on_cpu_ns: u64) -> ThreadCounters {
        ThreadCounters {
            name: name.to_owned(),
            cpu: CpuTicks { user, system: 0, started_at },
            processor: Some(0),
            on_cpu_ns: Some(on_cpu_ns),
            run_delay_ns: Some(0),
            voluntary_switches: Some(1),
            involuntary_switches: None,
        }
    }

    fn sample(user: u64, threads: &[(u32, ThreadCounters)]) -> ThreadsSample {
        ThreadsSample {
            io: None,
            taken_at: Instant::now(),
            since_boot_ns: 10_000_000_000,
            process: CpuTicks { user, system: 0, started_at: 7 },
            threads: threads.iter().cloned().collect(),
        }
    }

    #[test]
    fn the_schedulers_count_is_taken_where_no_thread_took_its_share_away() {
        let before = sample(100, &[(1, thread("main", 10, 7, 5_000))]);
        let after = sample(100, &[(1, thread("main", 10, 7, 9_000)), (3, thread("new", 0, 9, 2_000))]);
        assert_eq!(process_usage(&before, &after).cpu_ns, Some(6_000));
    }

    #[test]
    fn a_thread_that_started_within_the_window_has_lived_only_since_then() {
        let sample = sample(0, &[(1, thread("old", 0, 7, 0)), (2, thread("new", 0, 900, 0))]);
        assert_eq!(
            (sample.life_ns(1, 5_000_000_000), sample.life_ns(2, 5_000_000_000)),
            (5_000_000_000, 1_000_000_000)
        );
    }

    #[test]
    fn processor_time_is_told_by_the_processor_that_a_thread_was_last_on() {
        let on = |processor, on_cpu_ns| ThreadCounters { processor, ..thread("a", 0, 7, on_cpu_ns) };
        let before = sample(0, &[(1, on(Some(0), 100)), (2, on(Some(3), 50))]);
        let after =
            sample(0, &[(1, on(Some(2), 700)), (2, on(Some(3), 60)), (3, on(Some(3), 5)), (4, on(None, 9))]);
        assert_eq!(after.busy_by_processor(&before), BTreeMap::from([(2, 600), (3, 15)]));
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_is_whole() {
        let text = "42 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 110 220 0 0 20 0 13 0 24 43032576 3131";
        let (name, cpu) = parse_stat(text).unwrap();
        assert_eq!(name, "a) (b c");
        assert_eq!(cpu, CpuTicks { user: 110, system: 220, started_at: 24 });
    }

    #[test]
    fn the_zeros_of_a_kernel_without_scheduler_statistics_are_absent_not_zero() {
        assert_eq!(parse_schedstat("0 0 0\n"), None);
        assert_eq!(parse_schedstat("182364946 0 443\n"), Some((182_364_946, 0)));
    }

    #[test]
    fn a_thread_that_started_meanwhile_counts_from_its_start_and_one_that_ended_is_counted() {
        let before = sample(100, &[(1, thread("main", 10, 7, 5_000)), (2, thread("gone", 10, 8, 1_000))]);
        let after = sample(130, &[(1, thread("main", 12, 7, 9_000)), (3, thread("new", 20, 9, 2_000))]);
        let usage = process_usage(&before, &after);
        assert_eq!((usage.cpu_ns, usage.ended_threads), (Some(300_000_000), 1));
        let on_cpu: Vec<_> =
            usage.threads.iter().map(|t| (t.name.as_str(), t.on_cpu_ns, t.user_ns)).collect();
        assert_eq!(
            on_cpu,
            [("main", Some(4_000), Some(20_000_000)), ("new", Some(2_000), Some(200_000_000))]
        );
    }

    #[test]
    fn a_number_that_a_new_thread_took_over_is_not_the_old_thread() {
        let before = sample(100, &[(5, thread("old", 50, 8, 5_000))]);
        let after = sample(100, &[(5, thread("new", 1, 99, 100))]);
        let usage = process_usage(&before, &after);
        assert_eq!((usage.threads[0].on_cpu_ns, usage.ended_threads), (Some(100), 1));
    }

    #[test]
    fn a_number_that_another_process_took_over_gives_no_usage() {
        let before = sample(100, &[(5, thread("old", 50, 8, 5_000))]);
        let mut after = before.clone();
        after.process.started_at = 1_000;
        let usage = process_usage(&before, &after);
        assert_eq!((usage.cpu_ns, usage.threads.len()), (None, 0));
    }

    #[test]
    fn what_a_process_read_and_wrote_is_the_growth_between_two_readings() {
        let before =
            parse_io("rchar: 10\nwchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n");
        let after = parse_io("rchar: 30\nwchar: 5\nread_bytes: 4096\nwrite_bytes: 20480\n");
        let io = io_between(&before, &after);
        assert_eq!((io.called_read_bytes, io.device_read_bytes), (Some(20), Some(0)));
        assert_eq!((io.dirtied_bytes, io.cancelled_bytes), (Some(12_288), None));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)([0-9]{0,3} \\(.{0,9}\\) S( [0-9]{0,21}){0,25})?(voluntary_ctxt_switches:\t[0-9]{0,22})?.{0,40}") {
            let _ = parse_stat(&text);
            let _ = parse_schedstat(&text);
            let _ = parse_switches(&text);
        }
    }
}
