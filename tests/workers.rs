//! Runs whose clients are run by workers: other processes, here on one host.

use crate::kafka::Broker;
use crate::program::{Ended, Program, Running};
use plumb_lab::sink::{Records, SinkBroker, SinkOptions};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

mod clocks;
mod unattended;

/// A run that waits for its workers, and how they join it.
struct WaitingRun {
    run: Running,
    address: String,
    certificate: String,
    token_file: PathBuf,
}

/// A run of this scenario with so many workers.
fn start(scenario: &str, words: &[&str]) -> WaitingRun {
    let program = Program::new(["run", "s.yaml", "--out", "run", "--output", "json"])
        .args(["--token-file", "token"])
        .args(words);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let cache = program.directory().join("cache");
    joinable(program.env("XDG_CACHE_HOME", cache).start())
}

fn joinable(mut run: Running) -> WaitingRun {
    let said = run.wait_for("how to join", |run| {
        let said = run.complained();
        said.contains("--token-file").then_some(said)
    });
    let word = |flag: &str| {
        let after = said.split(flag).nth(1).unwrap_or_else(|| panic!("{flag}: {said}"));
        after.split_whitespace().next().unwrap().to_owned()
    };
    let (address, certificate) = (word("--join"), word("--cert-sha256"));
    let token_file = run.path("token");
    WaitingRun { run, address, certificate, token_file }
}

impl WaitingRun {
    fn worker(&self, name: &str) -> Program {
        self.worker_by(name, &self.address)
    }

    /// A worker that joins at this address.
    fn worker_by(&self, name: &str, address: &str) -> Program {
        Program::new(["worker", "--name", name, "--join", address, "--cert-sha256", &self.certificate])
            .args(["--token-file".as_ref(), self.token_file.as_os_str()])
            .beside()
    }

    /// Starts the workers, waits for the run's end and theirs.
    fn with_workers(self, workers: Vec<Program>) -> Ended {
        let workers: Vec<Running> = workers.into_iter().map(Program::start).collect();
        let ended = self.run.wait();
        for worker in workers {
            let worker = worker.wait();
            assert_eq!(worker.code(), Some(0), "{}", worker.stderr);
        }
        ended
    }
}

fn scenario(sink: &SinkBroker, rest: &str) -> String {
    format!("cluster: {{bootstrap: \"{}\"}}\n{rest}", sink.bootstrap())
}

fn counts<'d>(document: &'d Value, name: &str) -> &'d Value {
    &document["steps"][0]["counts"][name]
}

/// A host that is busy with other tests may make the figures unfit for use; what became of the messages is told all the same.
fn document(ended: &Ended) -> Value {
    assert!(matches!(ended.code(), Some(0 | 1)), "{} {}", ended.stdout, ended.stderr);
    ended.json()
}

const LOAD: &str = "load: {rate: 400, count: 800, warm_up: 200ms, producers: 4, consumers: 2, size: 100B}\ntopic: {partitions: 4}\n";

#[test]
fn two_workers_send_the_schedule_of_one_process_and_every_message_is_accounted_for() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    for driver in ["librdkafka", "wire"] {
        let run = start(&scenario(&sink, &format!("driver: {driver}\n{LOAD}")), &["--workers", "2"]);
        // Another time zone changes nothing: times are told in UTC, and the schedule by a clock that knows no zone.
        let workers = vec![run.worker("one").env("TZ", "Asia/Kolkata"), run.worker("two")];
        let document = document(&run.with_workers(workers));
        for name in ["intended", "sent", "acked", "received"] {
            assert_eq!(*counts(&document, name), 800, "{name}: {document:#}");
        }
        for name in ["lost", "duplicated", "failed", "unknown"] {
            assert_eq!(*counts(&document, name), 0, "{name}: {document:#}");
        }
        let step = &document["steps"][0];
        assert_eq!(step["latency"]["end_to_end"]["samples"], 800, "{step:#}");
        assert_eq!(step["latency"]["acknowledge"]["samples"], 800);
        let parts = step["blocks"][0]["workers"].as_array().unwrap();
        let told: Vec<_> = parts.iter().map(|part| (&part["producers"], &part["intended"])).collect();
        assert_eq!(told, [(&2.into(), &400.into()); 2], "{parts:?}");
        let agrees = &step["blocks"][0]["accounting"]["agrees"];
        assert!(agrees.is_null() || *agrees == true, "{agrees}");
        assert_eq!(document["environment"]["workers"][0]["one_clock"], true);
    }
}

/// Messages are sent on one worker and received on another: what became of each is known all the same.
#[test]
fn messages_that_are_lost_or_come_twice_between_workers_are_counted_exactly() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    Broker::at(&sink.bootstrap()).create_topic("counted", 4, &[]);
    // Not at the ends: the probe of each partition comes first.
    sink.control().drop_records(Records::at("counted", [100, 101, 102, 300, 555, 600, 711]));
    sink.control().duplicate_records(Records::at("counted", [200, 201, 400, 720, 777]));
    let load = "topic: {name: counted}\nload: {rate: 400, count: 800, warm_up: 0s, drain: 1s, producers: 4, consumers: 4, size: 100B}\n";
    let run = start(&scenario(&sink, load), &["--workers", "3"]);
    let workers = ["one", "two", "three"].map(|name| run.worker(name)).into();
    let document = document(&run.with_workers(workers));
    let told =
        ["intended", "acked", "received", "lost", "duplicated", "unknown"].map(|it| counts(&document, it));
    assert_eq!(
        told.map(|it| it.as_u64().unwrap()),
        [800, 800, 793, 7, 5, 0],
        "{:#}",
        document["steps"][0]["counts"]
    );
    assert_eq!(document["outcome"], "invalid");
}

#[test]
fn a_topic_that_is_not_there_ends_the_run_with_its_name_and_the_workers_with_it() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let run =
        start(&scenario(&sink, "topic: {name: nowhere}\nload: {rate: 10, count: 10}\n"), &["--workers", "1"]);
    let worker = run.worker("one").start();
    let ended = run.run.wait();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("nowhere") && ended.stderr.contains("hint: "), "{}", ended.stderr);
    let worker = worker.wait();
    assert!(!worker.stderr.contains("panicked"), "{}", worker.stderr);
    assert_eq!(worker.code(), Some(3), "{}", worker.stderr);
    assert!(worker.stderr.contains("the run failed: topic \"nowhere\" does not exist"), "{}", worker.stderr);
}

#[test]
fn a_worker_that_is_killed_ends_its_block_and_one_of_its_name_takes_its_place() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let load = "blocks: 2\nload: {rate: 200, duration: 6s, warm_up: 0s, producers: 2, size: 100B}\n";
    let mut run = start(&scenario(&sink, load), &["--workers", "2"]);
    let stays = run.worker("stays").start();
    let mut killed = run.worker("killed").start();
    killed.wait_for("a block", |worker| worker.complained().contains("a block begins").then_some(()));
    std::thread::sleep(Duration::from_millis(1_500));
    killed.signal(Signal::KILL);
    run.run.wait_for("the loss", |run| run.complained().contains("was lost").then_some(()));
    let again = run.worker("killed").start();
    let document = document(&run.run.wait());
    for worker in [stays, again] {
        let worker = worker.wait();
        assert_eq!(worker.code(), Some(0), "{}", worker.stderr);
    }
    assert_eq!(document["run"]["state"]["kind"], "complete", "{:#}", document["run"]);
    assert_eq!(document["run"]["resumed"].as_array().map(Vec::len), Some(1), "{:#}", document["run"]);
    let lost = &document["run"]["resumed"][0]["lost_block"];
    assert_eq!(lost["worker"], "killed", "{lost:#}");
    // It was killed 1.5 s after its word, of which about one are the block's begin, and noticed at once, or 3 s later.
    let sent = lost["counts"]["sent"].as_u64().unwrap();
    assert!((1..=1_100).contains(&sent), "{lost:#}");
    let blocks = document["steps"][0]["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 2);
    assert_eq!((counts(&document, "acked"), counts(&document, "lost")), (&1_200.into(), &0.into()));
}

#[test]
fn a_run_that_ends_after_a_worker_was_lost_has_no_figure_of_that_block_and_says_whose_it_was() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let load = "blocks: 2\nload: {rate: 200, duration: 6s, warm_up: 0s, producers: 2, size: 100B}\n";
    let mut run = start(&scenario(&sink, load), &["--workers", "2"]);
    let stays = run.worker("stays").start();
    let mut killed = run.worker("killed").start();
    let begun = |worker: &Running| worker.complained().matches("a block begins").count();
    killed.wait_for("the second block", |worker| (begun(worker) == 2).then_some(()));
    std::thread::sleep(Duration::from_millis(1_500));
    killed.signal(Signal::KILL);
    run.run.wait_for("the loss", |run| run.complained().contains("was lost").then_some(()));
    run.run.signal(Signal::INT);
    let ended = run.run.wait();
    stays.wait();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    let document = ended.json();
    let (of_run, step) = (&document["run"], &document["steps"][0]);
    assert_eq!(of_run["state"]["kind"], "interrupted", "{of_run:#}");
    assert_eq!(
        (&of_run["lost_block"]["worker"], &of_run["lost_block"]["block"]),
        (&"killed".into(), &1.into())
    );
    assert_eq!(of_run["resumed"], serde_json::json!([]));
    assert_eq!(step["blocks"].as_array().map(Vec::len), Some(1), "{:#}", step["blocks"]);
    assert_eq!((counts(&document, "sent"), counts(&document, "acked")), (&600.into(), &600.into()));
    let told = Program::new(["report".as_ref(), ended.path("run").as_os_str()]).run().stdout;
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Worker killed was lost in block 2"), "{told}");
}

#[test]
fn a_worker_with_another_token_or_certificate_is_told_so_and_the_run_names_who_is_missing() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let run = start(&scenario(&sink, LOAD), &["--workers", "1", "--wait-for-workers", "6s"]);
    let other = run.run.path("other");
    std::fs::write(&other, "0123456789abcdef0123456789abcdef\n").unwrap();
    let own: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&other, own).unwrap();
    let join = |certificate: &str, token: &std::path::Path| {
        Program::new(["worker", "--join", &run.address, "--cert-sha256", certificate, "--within", "2s"])
            .args(["--token-file".as_ref(), token.as_os_str()])
            .beside()
            .run()
    };
    let refused = join(&run.certificate, &other);
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("token"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("0123456789abcdef"), "{}", refused.stderr);
    let refused = join(&"ab".repeat(32), &run.token_file);
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    assert_eq!(join("xyz", &run.token_file).code(), Some(2));
    let ended = run.run.wait();
    assert!(!matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    assert!(ended.stderr.contains("worker"), "{}", ended.stderr);
    assert!(!ended.path("run").exists());
    assert!(ended.stderr.contains("turned away: "), "{}", ended.stderr);
}

#[test]
fn a_worker_of_a_run_that_never_begins_is_told_why_and_does_not_end_well() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let mut run = start(&scenario(&sink, LOAD), &["--workers", "2", "--wait-for-workers", "3s"]);
    let worker = run.worker("one").start();
    run.run.wait_for("who is there", |run| run.complained().contains("one joined, 1 of 2").then_some(()));
    let (ended, worker) = (run.run.wait(), worker.wait());
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert_eq!(worker.code(), Some(3), "{}", worker.stderr);
    assert!(worker.stderr.contains("the run did not begin: 1 of 2 workers joined"), "{}", worker.stderr);
}

#[test]
fn a_worker_says_at_once_that_nobody_answers_and_ends_after_its_time() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let run = start(&scenario(&sink, LOAD), &["--workers", "2"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut worker = run.worker_by("one", &free).args(["--within", "2s"]).start();
    worker.wait_for("why it waits", |worker| worker.complained().contains("yet (").then_some(()));
    assert_eq!(worker.wait().code(), Some(3));
}

/// What the workers would refuse, or could not do, is refused before anybody waits for them.
#[test]
fn what_cannot_be_done_with_workers_is_refused_before_they_come() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let refused = |load: &str, words: &[&str], said: &str| {
        let program = Program::new(["run", "s.yaml", "--out", "run"]).args(words);
        std::fs::write(program.directory().join("s.yaml"), scenario(&sink, load)).unwrap();
        let ended = program.run();
        assert_eq!(ended.code(), Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
        assert!(!ended.stderr.contains("can join now") && !ended.path("run").exists());
    };
    let load = "load: {rate: 10, count: 10}\n";
    refused(load, &["--workers", "0"], "--workers");
    refused(load, &["--workers", "3"], "nothing to do");
    refused(load, &["--listen", "0.0.0.0:0"], "the run has none");
    // Also what is the default without the flag, and where nothing would be run.
    refused(load, &["--listen", "127.0.0.1:0"], "the run has none");
    refused(load, &["--wait-for-workers", "2m", "--dry-run"], "the run has none");
    refused(
        "load: {rate: 10, count: 10, payload: {file: s.yaml}}\n",
        &["--workers", "1"],
        "a file of its host",
    );
    let plugin = "setups: [{name: a, producer: {plugin.library.paths: x.so}}]\nload: {rate: 10, count: 10}\n";
    refused(plugin, &["--workers", "1"], "plugin.library.paths");
}

#[test]
fn a_run_that_goes_on_without_workers_refuses_to_be_told_how_they_join() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let program = Program::new(["run", "s.yaml", "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario(&sink, "load: {rate: 10, count: 1}\n"))
        .unwrap();
    let done = program.run();
    let run = done.path("run");
    let words = ["run".as_ref(), "--resume".as_ref(), run.as_os_str()];
    let ended = Program::new(words).args(["--listen", "127.0.0.1:0"]).run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("the run has none") && ended.stderr.contains("hint: "), "{}", ended.stderr);
}
