//! Three real brokers, any of which can be killed and started again while the others go on.

use crate::kafka::{Broker, Replicas};
use plumb_lab::kafka::{LabCluster, LabOptions, Labs, PlainClient};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(super) const BROKERS: i32 = 3;
pub(super) const PARTITIONS: i32 = 6;
/// Longest wait for brokers to agree on something.
const PATIENCE: Duration = Duration::from_secs(90);

/// The brokers of this binary's fault tests.
pub(super) struct Cluster {
    lab: LabCluster,
    /// Processes and how to start them, in the order of the brokers' ids.
    processes: Vec<Process>,
    launcher: Sender<(Command, Sender<Child>)>,
}

struct Process {
    pid: i32,
    command_line: Vec<OsString>,
    /// `NAME=value`.
    environment: Vec<OsString>,
    directory: PathBuf,
}

impl Process {
    fn of(pid: i32) -> Self {
        let words = |file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
            let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            words.map(|word| OsString::from_vec(word.to_vec())).collect()
        };
        Process {
            pid,
            command_line: words("cmdline"),
            environment: words("environ"),
            directory: std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(),
        }
    }

    /// The same program once more. It ends with the thread that starts it, as the lab's own end with the lab.
    fn again(&self) -> Command {
        let console = File::create(self.directory.join("console-again.log")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "env", "-i"]).args(&self.environment).args(&self.command_line);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.stdout(console.try_clone().unwrap()).stderr(console);
        command
    }
}

impl Cluster {
    /// The cluster, whole and for the caller alone.
    pub(super) fn alone() -> MutexGuard<'static, Cluster> {
        static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
        let cluster = CLUSTER.get_or_init(|| Mutex::new(Cluster::start()));
        cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start() -> Self {
        let properties = [
            // A broker that is gone is noticed soon, and leads again soon after it came back.
            ("broker.session.timeout.ms", "6000"),
            ("broker.heartbeat.interval.ms", "500"),
            ("leader.imbalance.check.interval.seconds", "1"),
            ("leader.imbalance.per.broker.percentage", "0"),
        ];
        let options = LabOptions {
            brokers: BROKERS.unsigned_abs(),
            heap_mib: 256,
            broker_properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            ..LabOptions::default()
        };
        let lab =
            Labs::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults-lab")).start(&options).unwrap();
        let processes = lab.broker_pids().into_iter().map(Process::of).collect();
        let (launcher, inbox) = channel::<(Command, Sender<Child>)>();
        std::thread::spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn().unwrap());
            }
        });
        Cluster { lab, processes, launcher }
    }

    pub(super) fn bootstrap(&self) -> String {
        self.lab.plaintext_bootstrap()
    }

    /// A topic with three replicas, two of which must have what is acknowledged; each broker leads as many partitions.
    pub(super) fn create_topic(&self, topic: &str) {
        let replicas = |partition: i32| (0..BROKERS).map(|at| (partition + at) % BROKERS + 1).collect();
        let assignment: Vec<Vec<i32>> = (0..PARTITIONS).map(replicas).collect();
        let deadline = Instant::now() + PATIENCE;
        let made = || {
            let address = self.lab.plaintext_addresses()[0];
            let mut client = PlainClient::connect(address, Duration::from_secs(10))?;
            client.create_topic(topic, &assignment, &[("min.insync.replicas", "2")])
        };
        while let Err(error) = made() {
            assert!(Instant::now() < deadline, "{error}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.wait_until(topic, "all in sync", |at| at.in_sync == BROKERS as usize);
    }

    /// Ends a broker with a signal, waits until others lead its partitions of the topic, starts it again, and waits
    /// until all are in sync and every partition is led by its first replica again.
    pub(super) fn leave_and_return(&mut self, broker: i32, signal: Signal, topic: &str) {
        let at = usize::try_from(broker - 1).unwrap();
        let pid = self.processes[at].pid;
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        self.wait_until(topic, "led by others", |at| at.leader >= 1 && at.leader != broker);
        let deadline = Instant::now() + PATIENCE;
        while is_alive(pid) {
            assert!(Instant::now() < deadline, "broker {broker} does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (reply, started) = channel();
        self.launcher.send((self.processes[at].again(), reply)).unwrap();
        self.processes[at].pid = started.recv().unwrap().id().cast_signed();
        self.wait_until(topic, "in sync and led as before", |at| {
            at.in_sync == BROKERS as usize && at.leader == at.partition % BROKERS + 1
        });
    }

    /// Waits until something holds for the replicas of every partition.
    fn wait_until(&self, topic: &str, what: &str, holds: impl Fn(&Replicas) -> bool) {
        let broker = Broker::at(&self.bootstrap());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let replicas = broker.replicas(topic);
            if replicas.len() == PARTITIONS as usize && replicas.iter().all(&holds) {
                return;
            }
            assert!(Instant::now() < deadline, "{topic} not {what}: {replicas:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A process that has ended and that nobody has waited for is not alive.
fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}
