//! A real JVM, asked: its beans and its collections are what it was made to have, and nothing is left in it or beside it.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use plumb_model::fault::chain;
use plumb_model::observed::JvmWindow;
use plumb_observe::{
    AttachError, GcCounters, GcLog, JvmBeans, broker_window, gc_counters, jvm_beans, jvm_facts,
};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The JVM of `src/jvm/agent/Target.java`.
struct Jvm {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Its number; that of `child` unless something stands between.
    pid: u32,
}

fn classes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvm/agent/test")
}

impl Jvm {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new("java");
        command.args(flags).arg("-cp").arg(classes()).arg("Target");
        Jvm::of(command)
    }

    /// Of a command whose process becomes the JVM.
    fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let pid = child.id();
        let mut jvm = Jvm { child, orders, answers, pid };
        jvm.wait_for("ready");
        jvm
    }

    fn wait_for(&mut self, wanted: &str) {
        let mut line = String::new();
        while line.trim_end() != wanted {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "the JVM ended before {wanted}");
        }
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        self.wait_for("done");
    }

    fn beans(&self) -> JvmBeans {
        jvm_beans(self.pid).unwrap_or_else(|error| panic!("{}", chain(&error).join(": ")))
    }

    fn value(&self, name: &str, labels: &str) -> Option<f64> {
        let page = self.beans().scrape.page;
        let shown = |sample: &plumb_observe::MetricSample| {
            let pairs: Vec<String> =
                sample.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            pairs.join(",")
        };
        page.samples.iter().find(|sample| sample.name == name && shown(sample) == labels).map(|s| s.value)
    }

    /// What the directory of its user's counters, the sockets and the directories of ours have left in `/tmp` for it.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.file_name());
        let of_it = |name: &String| {
            (name.starts_with("plumb-jvm-") && name.contains(&format!("-{}-", self.pid)))
                || *name == format!(".attach_pid{}", self.pid)
        };
        names.filter_map(|name| name.into_string().ok()).filter(of_it).collect()
    }

    fn descriptors(&self) -> Vec<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.pid)).unwrap().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
    }

    fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap().count()
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn beans_are_read_under_the_names_of_the_exporter_with_the_values_that_they_have() {
    let mut jvm = Jvm::start(&[]);
    let produce = |name: &str| format!("name={name},request=Produce");
    let local = "kafka_network_RequestMetrics";
    assert_eq!(jvm.value(&format!("{local}_Count"), &produce("LocalTimeMs")), Some(7.0));
    assert_eq!(jvm.value(&format!("{local}_Mean"), &produce("LocalTimeMs")), Some(3.5));
    assert!(jvm.value(&format!("{local}_Value"), &produce("LocalTimeMs")).unwrap().is_nan());
    let topic = "name=BytesInPerSec,topic=a,b=\"c\\d\"";
    assert_eq!(jvm.value("kafka_server_BrokerTopicMetrics_Count", topic), Some(7.0), "quoted names are read");
    let network = "kafka_server_socket_server_metrics";
    let thread = "listener=PLAINTEXT,networkProcessor=0";
    assert_eq!(jvm.value(&format!("{network}_io_wait_time_ns_total"), thread), Some(7e9));
    assert_eq!(jvm.value(&format!("{network}_broken"), thread), None);
    let page = jvm.beans().scrape.page;
    let has = |part: &str| page.samples.iter().any(|sample| sample.name.contains(part));
    assert!(!has("Percentile") && !has("secret") && !has("kafka_log_Log"), "what is not wanted is left out");
    assert!(has("java_lang_GarbageCollector_CollectionTime") && has("java_lang_Threading_ThreadCount"));

    let before = jvm.beans();
    jvm.order("count 70");
    let after = jvm.beans();
    let window = broker_window(&before.scrape, &after.scrape, "process 1");
    let total = window.requests["Produce"].stages.total.unwrap();
    assert_eq!((total.samples, total.mean_ns), (70, 3_500_000.0));
    let bytes = window.bytes_in_per_s.unwrap() * window.elapsed_ns as f64 / 1e9;
    assert!((bytes - 70.0).abs() < 1e-6, "{bytes}");
    let cpu_ns = after.cpu_ns.unwrap();
    assert!(cpu_ns > 100_000 && cpu_ns < 5_000_000_000, "the thread that answered has worked: {cpu_ns}");
}

/// Readings of one JVM.
const CALLS: usize = 5;

#[test]
fn nothing_runs_in_the_jvm_afterwards_and_only_the_class_stays_with_its_removed_jar() {
    let jvm = Jvm::start(&[]);
    jvm_facts(jvm.pid).unwrap();
    let (threads, descriptors) = (jvm.threads(), jvm.descriptors().len());
    for _ in 0..CALLS {
        jvm.beans();
    }
    assert!(jvm.threads() <= threads, "no thread of ours");
    let open = jvm.descriptors();
    let deleted: Vec<&PathBuf> =
        open.iter().filter(|path| path.to_string_lossy().contains("(deleted)")).collect();
    // A JVM opens files of its own now and then, such as its control group's; five calls would leave five.
    assert!(
        deleted.len() <= 1 && open.len() < descriptors + CALLS,
        "{CALLS} calls leave no more than one: {open:?}"
    );
    assert!(deleted.iter().all(|path| path.to_string_lossy().contains("agent.jar")), "{deleted:?}");
    assert_eq!(jvm.left(), Vec::<String>::new());
}

#[test]
fn what_a_killed_plumb_left_is_in_nobodys_way() {
    let jvm = Jvm::start(&[]);
    let own = rustix::process::geteuid().as_raw();
    let folder = PathBuf::from(format!("/tmp/plumb-jvm-{own}-{}-beans", jvm.pid));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for left in ["agent.jar", "page"] {
        fs::write(folder.join(left), "left").unwrap();
    }
    fs::write(format!("/tmp/.attach_pid{}", jvm.pid), "").unwrap();
    jvm.beans();
    assert_eq!(jvm.left(), Vec::<String>::new());
}

#[test]
fn a_jvm_that_refuses_says_so_and_lives_on() {
    let flag = "-XX:+DisableAttachMechanism";
    let mut jvm = Jvm::start(&[flag]);
    assert_eq!(refusal(&jvm), flag);
    jvm.order("count 1");
    assert_eq!(jvm.left(), Vec::<String>::new());
    assert!(gc_counters(jvm.pid).is_some(), "its counters can be had all the same");
    let mut command = Command::new("java");
    command.env("JAVA_TOOL_OPTIONS", "-XX:+DisableAttachMechanism").arg("-cp").arg(classes()).arg("Target");
    let mut jvm = Jvm::of(command);
    assert_eq!(refusal(&jvm), flag);
    jvm.order("count 1");
}

fn refusal(jvm: &Jvm) -> String {
    match jvm_beans(jvm.pid).map(|_| ()) {
        Err(AttachError::Refused { flag, .. }) => flag,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_jvm_that_must_not_be_sent_signals_is_read_by_the_socket_that_it_has() {
    let mut jvm = Jvm::start(&["-Xrs"]);
    jvm.beans();
    jvm.order("count 1");
}

#[test]
fn a_jvm_that_ends_while_it_is_asked_is_an_error_and_leaves_nothing() {
    let mut jvm = Jvm::start(&[]);
    jvm.beans();
    jvm.child.kill().unwrap();
    jvm.child.wait().unwrap();
    let error = jvm_beans(jvm.pid).map(drop).unwrap_err();
    assert!(matches!(error, AttachError::NoProcess { .. }), "{error}");
    assert_eq!(gc_counters(jvm.pid), None);
    let stopped = Jvm::start(&[]);
    // A JVM that is held answers nothing; one that is killed meanwhile is said to have ended, long before patience does.
    rustix::process::kill_process(pid_of(&stopped), rustix::process::Signal::STOP).unwrap();
    let number = stopped.pid;
    let asked = std::thread::spawn(move || jvm_beans(number).map(drop).unwrap_err());
    while !Path::new(&format!("/tmp/.attach_pid{number}")).exists() {
        assert!(!asked.is_finished());
        std::thread::yield_now();
    }
    rustix::process::kill_process(pid_of(&stopped), rustix::process::Signal::KILL).unwrap();
    let error = asked.join().unwrap();
    assert!(matches!(error, AttachError::Ended { .. } | AttachError::NoProcess { .. }), "{error}");
    assert_eq!(stopped.left(), Vec::<String>::new());
}

fn pid_of(jvm: &Jvm) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(jvm.pid).unwrap()).unwrap()
}

/// Of 300 MiB of garbage in pieces of 1 MiB, in a heap of 24 MiB.
fn collected(flags: &[&str]) -> (JvmWindow, GcCounters) {
    let heap = ["-Xmx24m", "-Xms24m"];
    let mut jvm = Jvm::start(&[&heap[..], flags].concat());
    let before = gc_counters(jvm.pid).unwrap();
    let log = GcLog::open(jvm.pid);
    jvm.order("garbage 300");
    let after = gc_counters(jvm.pid).unwrap();
    let mut window = JvmWindow::default();
    after.fill(&before, &mut window);
    window.longest_pause_ns = log.and_then(GcLog::longest_pause_ns);
    (window, after)
}

#[test]
fn collections_of_every_collector_are_counted_and_the_log_has_the_longest() {
    for collector in ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"] {
        let folder = tempfile::tempdir().unwrap();
        let log = format!("-Xlog:gc*:file={}/gc-%p.log:time,tags", folder.path().display());
        let (window, after) = collected(&[collector, &log]);
        let (collections, stopped_ns) = (window.collections.unwrap(), window.collection_ns.unwrap());
        assert!(collections >= 10, "{collector}: 300 MiB do not fit 24: {window:?}");
        assert!(stopped_ns > 0 && stopped_ns <= window.safepoint_ns.unwrap(), "{collector}: {window:?}");
        let longest_ns = window.longest_pause_ns.unwrap();
        assert!(longest_ns > 0 && longest_ns <= stopped_ns, "{collector}: {window:?}");
        // The log, which is written by other code of the JVM, has the same pauses in all.
        let name = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let logged_ns: f64 =
            fs::read_to_string(name).unwrap().lines().filter_map(pause_ms).sum::<f64>() * 1e6;
        let counted_ns = after.stopped_ns as f64;
        assert!((counted_ns / logged_ns - 1.0).abs() < 0.25, "{collector}: {counted_ns} of {logged_ns}");
        let heap = window.heap_used_share.unwrap();
        assert!((0.0..=1.0).contains(&heap), "{collector}: {heap}");
    }
}

/// Not the program's own parser: the last word of lines with `Pause` that end with a time.
fn pause_ms(line: &str) -> Option<f64> {
    line.contains(") Pause ").then(|| line.rsplit(' ').next()?.strip_suffix("ms")?.parse().ok())?
}

#[test]
fn pauses_of_a_concurrent_collector_are_counted_without_its_cycles() {
    let (window, _) = collected(&["-XX:+UseZGC", "-Xmx64m"]);
    let (collections, stopped_ns) = (window.collections.unwrap(), window.collection_ns.unwrap());
    assert!(collections > 0, "{window:?}");
    assert!(
        stopped_ns <= window.safepoint_ns.unwrap(),
        "cycles are far longer than the pauses in them: {window:?}"
    );
}

#[test]
fn without_counters_in_shared_memory_the_beans_tell_the_collections() {
    let mut jvm = Jvm::start(&["-Xmx24m", "-XX:+UseG1GC", "-XX:+PerfDisableSharedMem"]);
    assert_eq!(gc_counters(jvm.pid), None);
    let before = GcCounters::of_beans(&jvm.beans().scrape).unwrap();
    jvm.order("garbage 300");
    let after = GcCounters::of_beans(&jvm.beans().scrape).unwrap();
    let mut window = JvmWindow::default();
    after.fill(&before, &mut window);
    assert!(window.collections.unwrap() >= 10, "{window:?}");
    assert!(window.collection_ns.is_some() && window.safepoint_ns.is_none(), "{window:?}");
    assert!((0.0..=1.0).contains(&window.heap_used_share.unwrap()), "{window:?}");
}

#[test]
fn beans_and_counters_tell_the_same_collections() {
    let mut jvm = Jvm::start(&["-Xmx24m", "-XX:+UseParallelGC"]);
    jvm.order("garbage 300");
    let (beans, counters) =
        (GcCounters::of_beans(&jvm.beans().scrape).unwrap(), gc_counters(jvm.pid).unwrap());
    // Reading the beans makes garbage of its own.
    assert!(counters.collections - beans.collections <= 1, "{counters:?} {beans:?}");
    // Beans have whole milliseconds of each collection.
    let apart_ms = (counters.stopped_ns as f64 - beans.stopped_ns as f64).abs() / 1e6;
    assert!(apart_ms <= 1.0 + counters.collections as f64, "{counters:?} {beans:?}");
}

#[test]
fn root_reads_the_jvm_of_another_user_as_that_user() {
    if !is_root() {
        return;
    }
    let readable = tempfile::tempdir().unwrap();
    fs::set_permissions(readable.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(classes()).unwrap().flatten() {
        fs::copy(entry.path(), readable.path().join(entry.file_name())).unwrap();
    }
    let mut command = Command::new("java");
    command
        .arg("-Xmx24m")
        .arg("-cp")
        .arg(readable.path())
        .arg("Target")
        .current_dir("/")
        .uid(65_534)
        .gid(65_534);
    let mut jvm = Jvm::of(command);
    assert_eq!(jvm.value("kafka_server_BrokerTopicMetrics_Count", "name=BytesInPerSec"), Some(7.0));
    jvm.order("garbage 100");
    assert!(gc_counters(jvm.pid).unwrap().collections > 0);
    assert_eq!(jvm.left(), Vec::<String>::new());
    assert!(is_root(), "the rights came back with the work's thread");
}

#[test]
fn another_users_jvm_is_refused_to_a_user_who_is_not_root() {
    if !is_root() {
        return;
    }
    let jvm = Jvm::start(&[]);
    let asked = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let nobody = (rustix::process::Uid::from_raw(65_534), rustix::process::Gid::from_raw(65_534));
            rustix::thread::set_thread_res_gid(nobody.1, nobody.1, nobody.1).unwrap();
            rustix::thread::set_thread_res_uid(nobody.0, nobody.0, nobody.0).unwrap();
            jvm_beans(jvm.pid).map(drop).unwrap_err()
        });
        asked.join().unwrap()
    });
    assert!(matches!(asked, AttachError::OtherUser { owner: 0, .. }), "{asked}");
}

#[test]
fn a_jvm_in_namespaces_of_its_own_is_read_as_it_numbers_and_names_things_itself() {
    if !is_root() {
        return;
    }
    // Own processes and own mounts, with a /tmp of its own; the JVM is process 1 or 2 there.
    let script = format!(
        "mount -t tmpfs none /mnt && cp {}/* /mnt && mount -t tmpfs none /tmp && exec java -cp /mnt Target",
        classes().display()
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script]);
    let mut jvm = Jvm::of(command);
    let children = format!("/proc/{0}/task/{0}/children", jvm.child.id());
    jvm.pid = fs::read_to_string(children).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", jvm.pid)).unwrap();
    let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    assert_eq!(inside.split_whitespace().count(), 2, "{inside}");
    assert_eq!(jvm.value("kafka_server_BrokerTopicMetrics_Count", "name=BytesInPerSec"), Some(7.0));
    assert!(gc_counters(jvm.pid).is_some());
    let inner = fs::read_dir(format!("/proc/{}/root/tmp", jvm.pid)).unwrap().flatten();
    let left: Vec<_> = inner
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().contains("plumb"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
