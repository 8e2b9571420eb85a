//! Processes whose waits are known: this test program again, told by its environment what to do.
//!
//! A child says that it is ready, works when it is told to, says what it measured itself, and stays until it is let go.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use plumb_model::fault::HasFault;

use crate::KernelTrace;

const JOB: &str = "PLUMB_TRUTH_JOB";
const MARK: &str = "=>";

/// A child that waits to be told to work.
pub(super) struct Worker {
    process: Child,
    orders: Option<ChildStdin>,
    words: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a child for `job`, by a program before it if `before` names one.
    pub(super) fn start(before: &[&str], job: &str) -> Worker {
        let program = std::env::current_exe().unwrap();
        let words = before.iter().map(Into::into).chain([program.into_os_string()]).collect::<Vec<_>>();
        let mut process = Command::new(&words[0])
            .args(&words[1..])
            .args([
                "--exact",
                "kernel::truth::child::works",
                "--ignored",
                "--nocapture",
                "--test-threads",
                "1",
            ])
            .env(JOB, job)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let orders = process.stdin.take();
        let words = BufReader::new(process.stdout.take().unwrap());
        let mut worker = Worker { process, orders, words };
        worker.heard();
        worker
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Tells it to work.
    pub(super) fn go(&mut self) {
        self.orders.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// The next numbers that it says.
    pub(super) fn heard(&mut self) -> Vec<u64> {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.words.read_line(&mut line).unwrap(), 0, "the child ended without a word");
            if let Some((_, said)) = line.split_once(MARK) {
                return said.split_whitespace().map(|number| number.parse().unwrap()).collect();
            }
        }
    }

    /// Has it work to the end.
    pub(super) fn work(&mut self) -> Vec<u64> {
        self.go();
        self.heard()
    }

    /// Returns when all its threads sleep.
    pub(super) fn at_rest(&self) {
        let tasks = format!("/proc/{}/task", self.pid());
        let sleeps = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            text.rsplit(')').next().is_some_and(|fields| fields.trim_start().starts_with('S'))
        };
        while !std::fs::read_dir(&tasks).unwrap().all(|task| sleeps(task.unwrap())) {
            thread::yield_now();
        }
    }

    /// Ends it with SIGKILL.
    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn say(numbers: &[u64]) {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    println!("{MARK} {}", words.join(" "));
}

#[test]
#[ignore = "the other end of the tests of this module; nothing by itself"]
fn works() {
    let Ok(job) = std::env::var(JOB) else { return };
    let mut words = job.split(' ');
    let (kind, rest) = (words.next().unwrap(), words.collect::<Vec<_>>());
    let held = (kind == "trace").then(|| KernelTrace::attach(&[std::process::id()]).unwrap());
    say(&[]);
    let mut order = String::new();
    io::stdin().read_line(&mut order).unwrap();
    let said = match kind {
        "fsync" => fsyncs(Path::new(rest[0]), rest[1].parse().unwrap()),
        "sleep" => thread::Builder::new().name("sleeper".to_owned()).spawn(sleeps).unwrap().join().unwrap(),
        "busy" => busy(),
        "udp" => lost_packets(),
        "tcp" => unanswered(),
        "trace" => held.iter().flat_map(super::program_ids).map(u64::from).collect(),
        "own" => own(Path::new(rest[0])),
        "refused" => vec![refused()],
        other => panic!("no job {other}"),
    };
    say(&said);
    // Its threads stay until the other end lets go.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Appends and flushes, with fsync and fdatasync in turn: the time of the flushes.
fn fsyncs(folder: &Path, times: u64) -> Vec<u64> {
    let file = OpenOptions::new().create(true).append(true).open(folder.join("flushed")).unwrap();
    let mut own = Duration::ZERO;
    for turn in 0..times {
        file.write_all_at(&[1; 4096], turn * 4096).unwrap();
        let begun = Instant::now();
        if turn % 2 == 0 { file.sync_all() } else { file.sync_data() }.unwrap();
        own += begun.elapsed();
    }
    vec![own.as_nanos() as u64]
}

/// Traces its own flushes: how many there were, and 1 if the trace points of these two calls are used.
fn own(folder: &Path) -> Vec<u64> {
    let trace = KernelTrace::attach(&[std::process::id()]).unwrap();
    let programs = trace.loaded.iter().flat_map(|(_, programs)| programs.programs());
    let by_events =
        programs.filter(|(name, program)| *name == "fsync_enter" && program.info().is_ok()).count();
    fsyncs(folder, 30);
    vec![trace.finish().processes[&std::process::id()].fsync.as_ref().unwrap().count, by_events as u64]
}

/// 1 if the kernel refuses and the hint says that it would let root.
fn refused() -> u64 {
    let error = KernelTrace::attach(&[std::process::id()]).err();
    u64::from(error.is_some_and(|error| error.hint().is_some_and(|hint| hint.contains("run as root"))))
}

/// Sleeps ten times: the time.
fn sleeps() -> Vec<u64> {
    let begun = Instant::now();
    (0..10).for_each(|_| thread::sleep(Duration::from_millis(40)));
    vec![begun.elapsed().as_nanos() as u64]
}

/// Computes for a second on the first CPU: the time, and what the scheduler itself says that it waited for its turn
/// (Documentation/scheduler/sched-stats.rst).
fn busy() -> Vec<u64> {
    let mut first = CpuSet::new();
    first.set(0);
    sched_setaffinity(None, &first).unwrap();
    let waited = || -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let (begun, before) = (Instant::now(), waited());
    while begun.elapsed() < Duration::from_secs(1) {}
    vec![begun.elapsed().as_nanos() as u64, waited() - before]
}

fn run(words: &str) {
    let mut words = words.split(' ');
    assert!(Command::new(words.next().unwrap()).args(words).status().unwrap().success());
}

/// In a network of its own: packets to a port where nobody listens, and more packets than a socket takes that nobody reads:
/// the numbers of those that were lost.
fn lost_packets() -> Vec<u64> {
    run("ip link set lo up");
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let full = receiver.local_addr().unwrap();
    let closed: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (to_closed, to_full) = (5000, 1000);
    (0..to_closed).for_each(|_| assert_eq!(sender.send_to(&[1; 100], closed).unwrap(), 100));
    (0..to_full).for_each(|_| assert_eq!(sender.send_to(&[1; 4000], full).unwrap(), 4000));
    receiver.set_nonblocking(true).unwrap();
    let mut kept = 0;
    while receiver.recv(&mut [0; 4000]).is_ok() {
        kept += 1;
    }
    vec![to_closed, to_full - kept]
}

/// In a network of its own: a connection to a neighbour that does not answer: how often the kernel says that it sent again.
fn unanswered() -> Vec<u64> {
    run("ip link add here type veth peer name there");
    run("ip addr add 10.9.9.1/24 dev here");
    run("ip link set here up");
    run("ip link set there up");
    run("ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev here");
    let resent = || -> u64 {
        let text = std::fs::read_to_string("/proc/self/net/snmp").unwrap();
        let mut rows = text.lines().filter(|line| line.starts_with("Tcp:"));
        let at = rows.next().unwrap().split(' ').position(|name| name == "RetransSegs").unwrap();
        rows.next().unwrap().split(' ').nth(at).unwrap().parse().unwrap()
    };
    let before = resent();
    let silent = "10.9.9.2:9092".parse().unwrap();
    assert!(TcpStream::connect_timeout(&silent, Duration::from_millis(3500)).is_err());
    vec![resent() - before]
}
