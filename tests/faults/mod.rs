//! Brokers that are restarted and killed under load: three real ones, three replicas, acks=all, two in sync at least.
//!
//! Each test leads one broker through its fault while its run is under way. The run goes on until the cluster is whole again,
//! and is then interrupted. One test at a time has the cluster.

mod cluster;

use crate::drivers::Driver;
use crate::kafka::{Broker, Record};
use crate::program::{Ended, Program, Running};
use cluster::{Cluster, PARTITIONS};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

mod wire {
    #[test]
    fn a_killed_broker_costs_nothing_acknowledged_and_repeats_are_counted_exactly() {
        super::a_killed_broker_costs_nothing_acknowledged_and_repeats_are_counted_exactly("wire");
    }

    #[test]
    fn an_idempotent_producer_repeats_and_swaps_nothing_when_a_broker_is_killed() {
        super::an_idempotent_producer_repeats_and_swaps_nothing_when_a_broker_is_killed("wire");
    }

    #[test]
    fn a_broker_that_is_restarted_moves_its_leaders_twice_and_costs_an_idempotent_producer_nothing() {
        super::a_broker_that_is_restarted_moves_its_leaders_twice_and_costs_an_idempotent_producer_nothing(
            "wire",
        );
    }
}

/// The library may take minutes to find its way back to a broker on a busy machine.
mod librdkafka {
    #[test]
    #[ignore = "minutes: make faults"]
    fn a_killed_broker_costs_nothing_acknowledged_and_repeats_are_counted_exactly() {
        super::a_killed_broker_costs_nothing_acknowledged_and_repeats_are_counted_exactly("librdkafka");
    }

    #[test]
    #[ignore = "minutes: make faults"]
    fn an_idempotent_producer_repeats_and_swaps_nothing_when_a_broker_is_killed() {
        super::an_idempotent_producer_repeats_and_swaps_nothing_when_a_broker_is_killed("librdkafka");
    }

    #[test]
    #[ignore = "minutes: make faults"]
    fn a_broker_that_is_restarted_moves_its_leaders_twice_and_costs_an_idempotent_producer_nothing() {
        super::a_broker_that_is_restarted_moves_its_leaders_twice_and_costs_an_idempotent_producer_nothing(
            "librdkafka",
        );
    }
}

/// Seconds of calm that a run goes on for, before the fault and after it.
const CALM_S: usize = 3;

/// A broker that leaves and returns.
struct Fault {
    name: &'static str,
    broker: i32,
    signal: Signal,
}

/// The result of a run through a fault: its document's only step, and the topic's log.
struct Outcome {
    step: Value,
    log: Vec<Record>,
}

impl Outcome {
    /// Runs a load on a topic of its own, through a fault of a broker.
    fn of(driver: Driver, fault: &Fault, idempotent: bool) -> Self {
        let mut cluster = Cluster::alone();
        let topic = format!("{}-{driver}", fault.name);
        cluster.create_topic(&topic);
        let bootstrap = cluster.bootstrap();
        let program = Program::new(["run", "s.yaml", "--out", "run", "--bootstrap", &bootstrap]);
        let scenario = format!(
            "driver: {driver}\n\
             topic: {{name: {topic}}}\n\
             load: {{rate: 800, duration: 600s, warm_up: 0s, size: 200B, producers: 2, consumers: 2}}\n\
             setups:\n  - producer: {{acks: all, enable.idempotence: {idempotent}}}\n"
        );
        std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
        let mut running = program.start();
        running
            .wait_for("calm seconds before the fault", |running| (seconds(running) >= CALM_S).then_some(()));
        cluster.leave_and_return(fault.broker, fault.signal, &topic);
        let until = seconds(&running) + CALM_S;
        running.wait_for("calm seconds after the fault", |running| (seconds(running) >= until).then_some(()));
        running.signal(Signal::INT);
        let ended = running.wait();
        assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
        let step = document(&ended)["steps"][0].clone();
        Outcome { step, log: Broker::at(&bootstrap).records(&topic, PARTITIONS) }
    }

    fn count(&self, name: &str) -> u64 {
        self.step["counts"][name].as_u64().unwrap()
    }

    /// The number of copies of each message in the log. A message that is sent again has the same bytes, its stamp among them.
    fn copies(&self) -> Vec<u64> {
        let mut copies: BTreeMap<&[u8], u64> = BTreeMap::new();
        for record in &self.log {
            *copies.entry(&record.value).or_default() += 1;
        }
        copies.into_values().collect()
    }

    /// Nothing that was acknowledged is missing, nothing failed, and the counts are the log's own. On a machine that is too
    /// busy for the load, the interruption leaves outcomes unknown, and what of it reached the log is told by the log alone.
    fn assert_true(&self) {
        let counts = &self.step["counts"];
        let said = format!("{counts} {} {}", self.step["accounting"], self.step["errors"]);
        assert_eq!(self.count("sent"), self.count("intended"), "{said}");
        assert_eq!(self.count("lost"), 0, "{said}");
        assert_eq!(self.count("failed"), 0, "{said}");
        let unknown = self.count("unknown");
        assert_eq!(self.count("acked") + unknown, self.count("sent"), "{said}");
        let copies = self.copies().len() as u64;
        let (distinct, repeats) = (copies - PARTITIONS as u64, self.log.len() as u64 - copies);
        assert!((self.count("acked")..=self.count("sent")).contains(&distinct), "{distinct}: {said}");
        assert!((self.count("acked")..=distinct).contains(&self.count("received")), "{distinct}: {said}");
        assert!(repeats >= self.count("duplicated"), "{repeats}: {said}");
        if unknown == 0 {
            assert_eq!(repeats, self.count("duplicated"), "{said}");
            assert_eq!(self.step["accounting"]["offset_delta"], self.log.len(), "{said}");
        }
    }

    /// Each message lies in the log once, and came in the order in which it was sent.
    fn assert_exactly_once(&self) {
        assert_eq!((self.count("duplicated"), self.count("reordered")), (0, 0), "{}", self.step["counts"]);
        assert_eq!(self.step["accounting"]["agrees"], true, "{}", self.step["accounting"]);
    }
}

fn document(ended: &Ended) -> Value {
    let text = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["run"]["state"]["kind"], "interrupted");
    document
}

/// Seconds of the run with acknowledgements so far: the lines of their log, which has one for each.
fn seconds(running: &Running) -> usize {
    let log = std::fs::read_to_string(running.path("run/01-as-asked.acknowledge.hlog")).unwrap_or_default();
    log.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count()
}

fn a_killed_broker_costs_nothing_acknowledged_and_repeats_are_counted_exactly(driver: Driver) {
    Outcome::of(driver, &Fault { name: "killed", broker: 2, signal: Signal::KILL }, false).assert_true();
}

fn an_idempotent_producer_repeats_and_swaps_nothing_when_a_broker_is_killed(driver: Driver) {
    let outcome =
        Outcome::of(driver, &Fault { name: "killed-idempotent", broker: 3, signal: Signal::KILL }, true);
    outcome.assert_true();
    outcome.assert_exactly_once();
}

fn a_broker_that_is_restarted_moves_its_leaders_twice_and_costs_an_idempotent_producer_nothing(
    driver: Driver,
) {
    let outcome = Outcome::of(driver, &Fault { name: "restarted", broker: 1, signal: Signal::TERM }, true);
    outcome.assert_true();
    outcome.assert_exactly_once();
}
