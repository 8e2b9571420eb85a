//! The instrument against what is known: waits and losses that were counted by whoever had them. Needs root and a kernel
//! with BTF; elsewhere each test says why it did nothing.

mod child;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use aya::programs::loaded_programs;

use super::*;
use child::Worker;

/// Tracing, or none where this machine does not allow it.
fn trace(pids: &[u32]) -> Option<KernelTrace> {
    if let (false, Err(reason)) = (pids.is_empty(), traced(&HostRoot::default(), pids, &mut Vec::new())) {
        eprintln!("skipped: {reason}");
        return None;
    }
    match KernelTrace::attach(pids) {
        Ok(trace) => Some(trace),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// The waits of a child.
fn of<'a>(worker: &Worker, counts: &'a KernelCounts) -> &'a ProcessWaits {
    &counts.processes[&worker.pid()]
}

/// The kernel's numbers of the programs of a trace.
fn program_ids(trace: &KernelTrace) -> Vec<u32> {
    let programs = trace.loaded.iter().flat_map(|(_, programs)| programs.programs());
    programs.filter_map(|(_, program)| program.info().ok()).map(|info| info.id()).collect()
}

/// True if it is no further from the truth than this share of it.
fn is_near(got: u64, truth: u64, share: f64) -> bool {
    (got as f64 - truth as f64).abs() <= share * truth as f64
}

#[test]
fn every_fsync_is_counted_with_the_time_that_its_caller_measured() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut worker = Worker::start(&[], &format!("fsync {} 200", folder.path().display()));
    let Some(trace) = trace(&[worker.pid()]) else { return };
    let own = worker.work()[0];
    let fsync = of(&worker, &trace.finish()).fsync.clone().unwrap();
    eprintln!("fsync: 200 of {own} ns in all; counted {} of {} ns", fsync.count, fsync.sum_ns);
    assert_eq!((fsync.count, fsync.classes.iter().sum::<u64>()), (200, 200));
    assert!(fsync.sum_ns <= own && is_near(fsync.sum_ns, own, 0.2));
    assert!(fsync.max_ns >> (fsync.classes.len() - 1) == 1);
}

#[test]
fn where_tracefs_is_mounted_only_the_two_calls_are_watched() {
    if trace(&[std::process::id()]).is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing && exec \"$@\"";
    let job = format!("own {}", folder.path().display());
    let said = Worker::start(&["unshare", "--mount", "sh", "-c", mount, "sh"], &job).work();
    assert_eq!(said, [30, 1]);
}

#[test]
fn who_may_not_trace_is_told_who_may() {
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let before = if trace(&[]).is_some() { &nobody[..] } else { &[] };
    assert_eq!(Worker::start(before, "refused").work(), [1]);
}

#[test]
fn sleep_is_time_off_the_processor_with_the_stack_of_sleeping() {
    let mut worker = Worker::start(&[], "sleep");
    let Some(trace) = trace(&[worker.pid()]) else { return };
    let own = worker.work()[0];
    let counts = trace.finish();
    let waits = of(&worker, &counts);
    let asleep = |stack: &&plumb_model::observed::OffCpuStack| {
        stack.thread == "sleeper" && stack.frames.iter().any(|frame| frame.contains("nanosleep"))
    };
    let stack = waits.off_cpu.iter().find(asleep).unwrap();
    eprintln!("sleep: {own} ns in 10; counted {} ns in {}: {:?}", stack.time_ns, stack.count, stack.frames);
    assert_eq!(stack.count, 10);
    assert!(stack.time_ns <= own && is_near(stack.time_ns, own, 0.2));
    assert!(stack.frames.last().unwrap().contains("schedule"));
}

#[test]
fn who_is_still_off_the_processor_at_the_end_counts_up_to_then() {
    let mut worker = Worker::start(&[], "sleep");
    let Some(trace) = trace(&[worker.pid()]) else { return };
    worker.work();
    // It waits for the next order, in a read of a pipe.
    worker.at_rest();
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(100) {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let counts = trace.finish();
    let waits = of(&worker, &counts);
    let waiting = |stack: &&plumb_model::observed::OffCpuStack| {
        stack.frames.iter().any(|frame| frame.contains("pipe_read"))
    };
    let time_ns: u64 = waits.off_cpu.iter().filter(waiting).map(|stack| stack.time_ns).sum();
    assert!(time_ns >= 100_000_000 && time_ns <= waits.elapsed_ns);
}

#[test]
fn two_that_compute_on_one_processor_wait_for_it_as_long_as_the_scheduler_says() {
    let (mut one, mut other) = (Worker::start(&[], "busy"), Worker::start(&[], "busy"));
    let Some(trace) = trace(&[one.pid()]) else { return };
    other.go();
    let said = one.work();
    let delay = of(&one, &trace.finish()).run_delay.clone().unwrap();
    eprintln!("run delay: {} of {} ns; counted {} ns in {}", said[1], said[0], delay.sum_ns, delay.count);
    assert!(is_near(delay.sum_ns, said[1], 0.1));
    assert!(delay.sum_ns > said[0] / 4);
}

/// An ext4 with a journal on a loop device; gone when it is dropped.
struct Ext4 {
    folder: tempfile::TempDir,
}

impl Ext4 {
    /// None, with the reason said, where this machine cannot mount one.
    fn mounted() -> Option<Ext4> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        let image = folder.path().join("image");
        fs::File::create(&image).ok()?.set_len(64 << 20).ok()?;
        let ext4 = Ext4 { folder };
        fs::create_dir(ext4.place()).ok()?;
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        let mounted = Command::new("mount").args(["-o", "loop"]).arg(&image).arg(ext4.place()).status();
        let done = made.is_ok_and(|it| it.success()) && mounted.is_ok_and(|it| it.success());
        if !done {
            eprintln!("skipped: no ext4 can be mounted on a loop device");
        }
        done.then_some(ext4)
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    /// `loop3`.
    fn device(&self) -> String {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let place = self.place();
        let line = mounts.lines().find(|line| line.contains(place.to_str().unwrap())).unwrap();
        line.split(' ').next().unwrap().trim_start_matches("/dev/").to_owned()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place()).status();
    }
}

#[test]
fn journal_commits_and_block_requests_are_those_that_the_kernel_counts_itself() {
    let Some(ext4) = Ext4::mounted() else { return };
    let device = ext4.device();
    // `5 transactions (4 requested), each up to 1024 blocks`
    let commits = || -> u64 {
        let text = fs::read_to_string(format!("/proc/fs/jbd2/{device}-8/info")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    // Documentation/block/stat.rst: requests read, written, discarded and flushed, each before three other fields.
    let requests = || -> u64 {
        let text = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
        let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().unwrap()).collect();
        [0, 4, 11, 15].iter().map(|at| fields.get(*at).copied().unwrap_or_default()).sum()
    };
    let mut worker = Worker::start(&[], &format!("fsync {} 100", ext4.place().display()));
    let Some(trace) = trace(&[]) else { return };
    let (commits_before, requests_before) = (commits(), requests());
    worker.work();
    let (commits, requests) = (commits() - commits_before, requests() - requests_before);
    let window = trace.finish().host;
    let journal = window.journal_commit.unwrap();
    let times = &window.devices.iter().find(|row| row.device == device).unwrap().times;
    eprintln!(
        "journal: {commits} commits, {requests} requests; counted {} of {:?} ns, {} of {:?} ns",
        journal.count,
        journal.mean_ns(),
        times.count,
        times.mean_ns()
    );
    // Other file systems of this machine may commit meanwhile, but not as often.
    assert!(commits >= 50 && journal.count >= commits && is_near(journal.count, commits, 0.2));
    assert!(is_near(times.count, requests, 0.05));
}

#[test]
fn lost_packets_are_counted_by_the_kernels_reason() {
    let Some(trace) = trace(&[]) else { return };
    let mut worker = Worker::start(&["unshare", "--net"], "udp");
    let said = worker.work();
    let window = trace.finish().host;
    let packets =
        |reason: &str| window.drops.iter().find(|row| row.reason == reason).map_or(0, |row| row.packets);
    let counted = [packets("NO_SOCKET"), packets("SOCKET_RCVBUFF")];
    eprintln!(
        "drops: {said:?} without a socket and at a full one; counted {counted:?} of {:?}",
        window.drops
    );
    // Others of this machine may knock at closed ports meanwhile, but not as often.
    assert!((0..2).all(|kind| counted[kind] >= said[kind] && is_near(counted[kind], said[kind], 0.05)));
    let received: u64 =
        window.softirq_ns.iter().filter(|(name, _)| name.ends_with(" NET_RX")).map(|(_, ns)| ns).sum();
    assert!(received > 0 && received < window.elapsed_ns * window.softirq_ns.len() as u64);
}

#[test]
fn segments_sent_again_are_those_that_the_kernel_counts_itself() {
    let Some(trace) = trace(&[]) else { return };
    let mut worker = Worker::start(&["unshare", "--net"], "tcp");
    let resent = worker.work()[0];
    let counted = trace.finish().host.tcp_retransmits.unwrap();
    eprintln!("retransmits: {resent}; counted {counted}");
    // Others of this machine may send again, too.
    assert!(resent > 0 && counted >= resent);
}

#[test]
fn nothing_stays_loaded_when_the_process_is_killed() {
    if trace(&[std::process::id()]).is_none() {
        return;
    }
    let mut worker = Worker::start(&[], "trace");
    let ids: Vec<u32> = worker.work().into_iter().map(|id| id as u32).collect();
    let still = || loaded_programs().filter_map(Result::ok).filter(|info| ids.contains(&info.id())).count();
    assert!(ids.len() >= 10 && still() == ids.len());
    worker.kill();
    // The kernel takes them away when no CPU can be in them any more.
    let deadline = Instant::now() + Duration::from_secs(20);
    while still() > 0 {
        assert!(Instant::now() < deadline, "{} programs are still loaded", still());
        std::thread::yield_now();
    }
}

#[test]
fn each_of_several_processes_has_its_own_waits_and_none_of_the_others() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let flushes = |times: u32| Worker::start(&[], &format!("fsync {} {times}", folder.path().display()));
    let (mut one, mut other, mut unseen) = (flushes(100), flushes(30), flushes(50));
    let mut sleeper = Worker::start(&[], "sleep");
    let Some(trace) = trace(&[one.pid(), other.pid(), sleeper.pid()]) else { return };
    [&mut one, &mut other, &mut unseen].into_iter().for_each(|worker| {
        worker.work();
    });
    let slept_ns = sleeper.work()[0];
    let counts = trace.finish();
    let count = |worker: &Worker| of(worker, &counts).fsync.as_ref().unwrap().count;
    assert_eq!((count(&one), count(&other), count(&sleeper)), (100, 30, 0));
    assert_eq!(counts.processes.len(), 3, "and nobody who was not named");
    let asleep_ns = |worker: &Worker| -> u64 {
        let stacks = of(worker, &counts).off_cpu.iter().filter(|stack| stack.thread == "sleeper");
        stacks.map(|stack| stack.time_ns).sum()
    };
    assert!(is_near(asleep_ns(&sleeper), slept_ns, 0.2));
    assert_eq!((asleep_ns(&one), asleep_ns(&other)), (0, 0));
    for worker in [&one, &other, &sleeper] {
        let waits = of(worker, &counts);
        assert!(waits.run_delay.as_ref().unwrap().count > 0 && !waits.off_cpu.is_empty());
        assert_eq!(waits.elapsed_ns, counts.host.elapsed_ns);
    }
}

#[test]
fn a_process_that_is_not_there_is_told_and_costs_the_others_nothing() {
    let gone = u32::MAX;
    let Some(trace) = trace(&[gone, std::process::id()]) else { return };
    let counts = trace.finish();
    assert_eq!(counts.processes.keys().copied().collect::<Vec<u32>>(), [std::process::id()]);
    let told = format!("waits of process {gone}: there is none of this number");
    assert!(counts.host.missing.contains(&told), "{:?}", counts.host.missing);
}

#[test]
#[ignore = "prints what watching costs; run alone, with work on the machine"]
fn cost() {
    let pid = std::env::var("PLUMB_TRUTH_PID").ok().and_then(|pid| pid.parse().ok());
    let begun = Instant::now();
    let Some(trace) = trace(&[pid.unwrap_or(std::process::id())]) else { return };
    eprintln!("attaching took {:?}", begun.elapsed());
    std::thread::sleep(Duration::from_secs(10));
    for (part, programs) in &trace.loaded {
        for (name, info) in
            programs.programs().filter_map(|(name, program)| Some((name, program.info().ok()?)))
        {
            let (ns, runs) = (info.run_time().as_nanos() as u64, info.run_count());
            eprintln!("{} {name}: {runs} runs, {ns} ns, {} ns each", part.name, ns / runs.max(1));
        }
    }
    let (all, elapsed) = (trace.programs_cpu_ns().unwrap(), trace.since.elapsed().as_secs_f64());
    eprintln!("all: {:.3} ms per second of watching", all as f64 / 1e6 / elapsed);
    let begun = Instant::now();
    let window = trace.finish();
    eprintln!("finishing took {:?}; missing {:?}", begun.elapsed(), window.host.missing);
}
