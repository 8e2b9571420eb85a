//! Labs on real Apache Kafka: they work as asked, they are safe to have around, and they leave nothing behind.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use plumb_lab::kafka::{LabCluster, LabError, LabOptions, Labs, PlainClient, Step};
use plumb_model::fault::{Fault, HasFault};

const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the process that [`the_owner_of_a_lab`] runs in where to keep its lab.
const OWNERS_ROOT: &str = "PLUMB_TEST_LABS";

/// The place of labs in a test: a directory of its own.
fn own_labs() -> (tempfile::TempDir, Labs) {
    let root = tempfile::tempdir().unwrap();
    let labs = Labs::at(root.path());
    (root, labs)
}

fn client_of(lab: &LabCluster, broker: usize) -> PlainClient {
    PlainClient::connect(lab.plaintext_addresses()[broker], PATIENCE).unwrap()
}

fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Names of the labs in a root, which also holds a lock file.
fn labs_in(root: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("lab-")).collect()
}

/// Local addresses of the listening TCP sockets of a process, from the system's socket table (proc(5)). An IPv6
/// address comes as its digits in the table.
fn listening_addresses(pid: i32) -> Vec<String> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let sockets: HashSet<String> = links.map(|target| target.to_string_lossy().into_owned()).collect();
    let tables =
        ["tcp", "tcp6"].map(|table| std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap());
    let rows =
        tables.iter().flat_map(|table| table.lines().skip(1)).map(|row| row.split_whitespace().collect());
    rows.filter(|row: &Vec<&str>| row[3] == "0A" && sockets.contains(&format!("socket:[{}]", row[9])))
        .map(|row| row[1].split_once(':').unwrap().0.to_owned())
        .collect()
}

#[test]
fn a_lab_answers_and_stopping_it_leaves_no_process_and_no_file() {
    let (root, labs) = own_labs();
    let lab = labs.start(&LabOptions::default()).unwrap();
    let metadata = client_of(&lab, 0).metadata(&[]).unwrap();
    assert_eq!(metadata.brokers.len(), 1);
    assert_eq!(format!("127.0.0.1:{}", metadata.brokers[0].port), lab.bootstrap());
    let pids = lab.broker_pids();
    assert!(is_running(pids[0]));
    lab.stop().unwrap();
    assert!(!is_running(pids[0]));
    assert!(labs_in(root.path()).is_empty());
}

#[test]
fn every_listener_of_a_broker_is_on_loopback() {
    let lab = LabCluster::shared().unwrap();
    lab.jmx_metrics_urls().unwrap();
    let addresses = listening_addresses(lab.broker_pids()[0]);
    // Plaintext, controller, metrics. 127.0.0.1 as the table writes it on a little-endian machine, then as IPv6.
    assert!(addresses.len() >= 3, "{addresses:?}");
    let loopback = ["0100007F", "0000000000000000FFFF00000100007F"];
    assert!(addresses.iter().all(|address| loopback.contains(&address.as_str())), "{addresses:?}");
}

#[test]
fn a_lab_serves_the_request_times_of_its_brokers() {
    let lab = LabCluster::shared().unwrap();
    let urls = lab.jmx_metrics_urls().unwrap();
    assert_eq!(urls, lab.jmx_metrics_urls().unwrap(), "the second call attaches nothing more");
    let address = urls[0].strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let mean = page.lines().find(|line| {
        line.starts_with("kafka_network_RequestMetrics_Mean{")
            && line.contains(r#"name="LocalTimeMs""#)
            && line.contains(r#"request="Produce""#)
    });
    assert!(mean.is_some(), "{page}");
    assert!(!page.contains("99thPercentile"));
    assert!(page.contains("kafka_server_socket_server_metrics_io_wait_time_ns"), "{page}");
}

#[test]
fn a_broker_property_and_a_jvm_flag_are_what_the_broker_runs_with() {
    let (_root, labs) = own_labs();
    let options = LabOptions {
        broker_properties: vec![("num.io.threads".into(), "3".into())],
        jvm_flags: vec!["-Dplumb.test=yes".into()],
        ..LabOptions::default()
    };
    let lab = labs.start(&options).unwrap();
    let mut client = client_of(&lab, 0);
    assert_eq!(client.broker_property(1, "num.io.threads").unwrap().as_deref(), Some("3"));
    assert_eq!(client.broker_property(1, "auto.create.topics.enable").unwrap().as_deref(), Some("false"));
    let command = std::fs::read_to_string(format!("/proc/{}/cmdline", lab.broker_pids()[0])).unwrap();
    assert!(command.contains("-Dplumb.test=yes") && command.contains("-Xmx512m"));
}

#[test]
fn three_brokers_form_one_cluster_and_replicate() {
    let (root, labs) = own_labs();
    let lab = labs.start(&LabOptions { brokers: 3, ..LabOptions::default() }).unwrap();
    for broker in 0..3 {
        assert_eq!(client_of(&lab, broker).metadata(&[]).unwrap().brokers.len(), 3);
    }
    let mut second = client_of(&lab, 1);
    second.create_topic("t", &[vec![2, 3, 1]], &[("min.insync.replicas", "3")]).unwrap();
    wait_until("three replicas are in sync", || {
        let metadata = second.metadata(&["t"]).unwrap();
        metadata.topics[0].partitions.first().is_some_and(|partition| partition.isr_nodes.len() == 3)
    });
    wait_until("the leader accepts the record", || second.produce("t", 0, b"kept three times").is_ok());
    assert_eq!(second.fetch("t", 0, 0).unwrap(), ["kept three times"]);
    let pids = lab.broker_pids();
    drop(lab);
    assert!(!pids.into_iter().any(is_running));
    assert!(labs_in(root.path()).is_empty());
}

#[test]
fn a_lab_of_which_no_broker_is_left_says_so() {
    let (_root, labs) = own_labs();
    let lab = labs.start(&LabOptions::default()).unwrap();
    lab.check_running().unwrap();
    let pid = rustix::process::Pid::from_raw(lab.broker_pids()[0]).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until("the broker has ended", || matches!(lab.check_running(), Err(LabError::AllEnded { .. })));
}

#[test]
fn data_goes_to_the_given_log_directories_and_nothing_else_in_them_is_touched() {
    let (_root, labs) = own_labs();
    let [first, second] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    std::fs::write(first.path().join("mine"), "").unwrap();
    // One of them relative: a broker does not run in our working directory. Above the root there is only the root.
    let relative = Path::new(&"../".repeat(20)).join(second.path().strip_prefix("/").unwrap());
    let log_dirs = vec![first.path().to_owned(), relative];
    let lab = labs.start(&LabOptions { log_dirs, ..LabOptions::default() }).unwrap();
    for dir in [&first, &second] {
        let lab_id = lab.directory().file_name().unwrap().to_str().unwrap();
        let data = dir.path().join(format!("plumb-{lab_id}/broker-1"));
        assert!(data.join("meta.properties").is_file(), "{}", data.display());
    }
    lab.stop().unwrap();
    let left = |dir: &tempfile::TempDir| std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!((left(&first), left(&second)), (1, 0));
}

#[test]
fn a_jvm_flag_that_does_not_exist_ends_the_start_with_the_jvms_own_words() {
    let (root, labs) = own_labs();
    let options = LabOptions { jvm_flags: vec!["-XX:+NoSuchFlag".into()], ..LabOptions::default() };
    let error = labs.start(&options).err().unwrap();
    assert!(matches!(error, LabError::BrokerEnded { broker: 1, .. }), "{error}");
    assert!(error.to_string().contains("Unrecognized VM option 'NoSuchFlag'"), "{error}");
    assert_eq!(error.fault(), Fault::User);
    assert!(labs_in(root.path()).is_empty());
}

#[test]
fn a_broker_property_with_a_wrong_value_ends_the_start_with_kafkas_own_words() {
    let (root, labs) = own_labs();
    let options = LabOptions {
        broker_properties: vec![("num.io.threads".into(), "many".into())],
        ..LabOptions::default()
    };
    let error = labs.start(&options).err().unwrap();
    assert!(error.to_string().contains("Invalid value many for configuration num.io.threads"), "{error}");
    assert_eq!(error.fault(), Fault::User);
    assert!(labs_in(root.path()).is_empty());
}

#[test]
fn an_interrupted_start_leaves_nothing_behind() {
    let (root, labs) = own_labs();
    let (steps, progress) = std::sync::mpsc::channel();
    let options = LabOptions { steps: Some(steps), ..LabOptions::default() };
    let interrupt = options.interrupt.clone();
    let starting = std::thread::spawn({
        let labs = labs.clone();
        move || labs.start(&options).err().unwrap()
    });
    progress.iter().find(|step| *step == Step::Starting).unwrap();
    interrupt.store(true, Ordering::Relaxed);
    assert!(matches!(starting.join().unwrap(), LabError::Interrupted));
    assert!(labs_in(root.path()).is_empty());
}

#[test]
fn a_lab_that_was_brought_up_is_seen_by_status_and_taken_down_entirely() {
    let (root, labs) = own_labs();
    let up = labs.up(&LabOptions { jmx: true, ..LabOptions::default() }).unwrap();
    assert_eq!(up.owner_pid, None);
    assert!(up.brokers[0].metrics_url.is_some());

    let seen = Labs::at(root.path()).status().unwrap();
    assert_eq!((seen.len(), seen[0].id.as_str(), seen[0].brokers[0].alive), (1, up.id.as_str(), true));
    assert!(seen[0].brokers[0].log.is_file());
    let address: SocketAddr = up.bootstrap.parse().unwrap();
    assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
    PlainClient::connect(address, PATIENCE).unwrap().metadata(&[]).unwrap();

    assert!(labs.clear_leftovers().unwrap().is_empty(), "a lab that stays is no leftover");
    assert_eq!(labs.down(&[]).unwrap()[0].id, up.id);
    assert!(!is_running(up.brokers[0].pid));
    assert!(labs_in(root.path()).is_empty());
    assert_eq!(labs.status().unwrap(), []);
}

#[test]
fn a_killed_owner_takes_its_brokers_along_and_the_next_start_clears_its_files() {
    let (root, labs) = own_labs();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_owner_of_a_lab", "--ignored", "--nocapture"])
        .env(OWNERS_ROOT, root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pid: i32 = said.find_map(|line| line.split_once("broker ")?.1.parse().ok()).unwrap();
    assert!(is_running(pid));

    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until("the broker has ended", || !is_running(pid));
    let left = labs_in(root.path());
    assert_eq!(left.len(), 1);

    std::fs::create_dir(root.path().join("lab-of-somebody-else")).unwrap();
    assert_eq!(labs.clear_leftovers().unwrap(), left);
    assert_eq!(labs_in(root.path()), ["lab-of-somebody-else"]);
}

/// No test of its own: the process that is killed above.
#[test]
#[ignore = "run by another test, in a process of its own"]
fn the_owner_of_a_lab() {
    let root = std::env::var_os(OWNERS_ROOT).unwrap();
    let lab = Labs::at(root).start(&LabOptions::default()).unwrap();
    println!("\nbroker {}", lab.broker_pids()[0]);
    // Until the other end closes, which a kill comes before.
    std::io::stdin().read_to_string(&mut String::new()).unwrap();
}
