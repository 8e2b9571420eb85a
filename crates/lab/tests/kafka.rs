//! Labs on real Apache Kafka: they work as asked, they are safe to have around, and they leave nothing behind.

use std::path::Path;
use std::time::{Duration, Instant};

use plumb_lab::kafka::{LabCluster, LabError, LabOptions, Labs, PlainClient, Tls};

const PATIENCE: Duration = Duration::from_secs(30);

/// Where labs are kept in a test: a directory of its own.
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
        std::thread::yield_now();
    }
}

/// Names of the labs in a root. The root also holds a lock file.
fn labs_in(root: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("lab-")).collect()
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
    assert_eq!(labs_in(root.path()), [String::new(); 0]);
}
