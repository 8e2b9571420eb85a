//! Workers that something starts without reading what the run prints: token and certificate from files, and Kubernetes objects.

use crate::program::{Ended, Program};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A worker beside the program of a test; stopped when dropped.
struct Worker(Child);

impl Worker {
    fn start(directory: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
        command.arg("worker").args(words).current_dir(directory).stdin(Stdio::null());
        Worker(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn end(mut self) -> (Option<i32>, String) {
        use std::io::Read;
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Without effect on one that has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn secrets(directory: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    let made = command.args(["worker", "secrets", "--out", "link"]).current_dir(directory).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(String::from_utf8_lossy(&made.stdout).trim().len(), 64, "the digest of the certificate");
}

const LINK: [&str; 4] = ["--token-file", "link/token", "--cert-file", "link/certificate.pem"];

#[test]
fn workers_that_are_there_before_the_run_join_it_by_the_files_that_were_made_for_both() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let address = free_address();
    let run = Program::new(["run", "s.yaml", "--workers", "2", "--listen", &address, "--output", "json"])
        .args(LINK)
        .args(["--key-file", "link/key.pem", "--out", "run"]);
    let directory = run.directory().to_owned();
    secrets(&directory);
    let load = "load: {rate: 200, count: 200, warm_up: 100ms, producers: 2, consumers: 1, size: 100B}";
    let scenario = format!("cluster: {{bootstrap: \"{}\"}}\n{load}\n", sink.bootstrap());
    std::fs::write(directory.join("s.yaml"), scenario).unwrap();
    let cache = directory.join("cache");
    let workers = ["worker-1", "worker-0"].map(|name| {
        let words = [&["--join", &address, "--name", name, "--within", "2m"], &LINK[..]].concat();
        Worker::start(&directory, &words)
    });
    let ended = run.env("XDG_CACHE_HOME", cache).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    for worker in workers {
        let (code, said) = worker.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("the run is over"), "{said}");
    }
    let document = ended.json();
    // Whoever came first: parts go by names.
    let names = &document["environment"]["workers"];
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&"worker-0".into(), &"worker-1".into()));
    assert_eq!(document["steps"][0]["counts"]["acked"], 200);
}

#[test]
fn secrets_that_are_there_are_not_overwritten() {
    let again = Program::new(["worker", "secrets", "--out", "link"]);
    secrets(again.directory());
    let before = std::fs::read(again.directory().join("link/token")).unwrap();
    let ended = again.run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: workers may know a run by it"), "{}", ended.stderr);
    assert_eq!(std::fs::read(ended.path("link/token")).unwrap(), before);
}

fn manifest(scenario: &str, words: &[&str]) -> Ended {
    let program = Program::new(["worker", "manifest", "s.yaml", "--workers", "3"]).args(words);
    let program = match words.contains(&"--image") {
        true => program,
        false => program.args(["--image", "plumb:1"]),
    };
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

const BROKERS: &str = "cluster: {bootstrap: \"kafka:9092\", config: client.properties}\n";

#[test]
fn a_scenario_becomes_kubernetes_objects_on_standard_output() {
    let ended = manifest(
        &format!("{BROKERS}load: {{rate: 100, count: 100, producers: 2}}\n"),
        &["--name", "ingest", "--cpus", "4"],
    );
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    for part in ["kind: ConfigMap", "kind: Service", "completions: 3", "cpu: \"4\"", "name: ingest-clients"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
}

#[test]
fn a_scenario_that_no_pod_could_carry_out_is_refused_with_what_to_do() {
    let refused = |scenario: &str, words: &[&str], why: &str| {
        let ended = manifest(scenario, words);
        assert_eq!(ended.code(), Some(2), "{} {}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(why) && ended.stderr.contains("hint:"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    };
    let load = "load: {rate: 100, count: 100, producers: 2}\n";
    refused(&format!("cluster: lab\n{load}"), &[], "lab");
    refused(
        &format!("cluster: {{bootstrap: \"k:9092\", config: /etc/c.properties}}\n{load}"),
        &[],
        "directory",
    );
    refused(&format!("{BROKERS}{load}"), &["--name", "Ingest"], "Ingest");
    refused(&format!("{BROKERS}{load}"), &["--name", &"a".repeat(51)], "50 characters");
    refused(&format!("{BROKERS}load: {{rate: 100, count: 100, raet: 1}}\n"), &[], "raet");
    // These say what is expected, so that they need no hint.
    let idle = manifest(&format!("{BROKERS}load: {{rate: 100, count: 100}}\n"), &[]);
    assert!(idle.code() == Some(2) && idle.stderr.contains("nothing to do"), "{}", idle.stderr);
    let no_size = manifest(&format!("{BROKERS}{load}"), &["--memory", "4Gi"]);
    assert!(no_size.code() == Some(2) && no_size.stderr.contains("4GiB"), "{}", no_size.stderr);
    refused(&format!("{BROKERS}{load}"), &["--memory", "0"], "at least 64MiB");
    refused(&format!("{BROKERS}{load}"), &["--results", "Run_1"], "PersistentVolumeClaim");
    refused(&format!("{BROKERS}{load}"), &["--image", "plumb :1"], "image");
    let sends_a_file = "load: {rate: 100, count: 100, producers: 2, payload: {file: s.yaml}}\n";
    refused(&format!("{BROKERS}{sends_a_file}"), &[], "a file of its host");
    let loads_a_library = "setups: [{name: a, producer: {plugin.library.paths: x.so}}]\n";
    refused(&format!("{BROKERS}{load}{loads_a_library}"), &[], "plugin.library.paths");
}
