//! The instrument, proven: a known disturbance goes into a sink broker, and the program's document must have the known
//! answer.
//!
//! Records are counted by the sink from 1 in the order of arrival. A run without warm-up and with one partition sends one
//! probe first, so its measured message number i (from 0) is record i + 2: see [`record`].

mod bounds;
mod client_queue;
mod conditions;
mod contract;
mod counts;
mod followers;
mod killed;
mod logs;
mod long_run;
pub(crate) mod modes;
mod outcomes;
mod queue;
mod records;
mod validity;

use crate::drivers::Driver;
use crate::program::{Ended, Program};
use plumb_lab::sink::{ApiKey, Apis, Control, Refusal, RequestFault, SinkBroker, SinkOptions};
use serde_json::Value;
use std::collections::HashMap;

/// The topic of every path, made before the run so that faults can name it.
pub(crate) const TOPIC: &str = "events";
/// Requests with one message each, nothing that waits for more.
const AT_ONCE: [&str; 4] = ["-X", "producer.linger.ms=0", "-X", "socket.nagle.disable=true"];

/// A sink broker with one topic, and the driver that drives it.
#[derive(Debug)]
pub(crate) struct Path {
    driver: Driver,
    sink: SinkBroker,
    pub(crate) control: Control,
}

impl Path {
    pub(crate) fn new(driver: Driver) -> Self {
        let sink = SinkBroker::start(SinkOptions::default()).unwrap();
        let control = sink.control();
        control.create_topic(TOPIC, 1, &HashMap::new()).unwrap();
        Path { driver, sink, control }
    }

    /// A run against it: so many messages, so many a second, in one block, no warm-up.
    pub(crate) fn latency(&self, rate_per_s: u32, count: u32) -> Program {
        self.latency_with(rate_per_s, count, "1")
    }

    /// The same with acknowledgements of another kind.
    fn latency_with(&self, rate_per_s: u32, count: u32, acks: &str) -> Program {
        let (bootstrap, rate, count) = (self.sink.bootstrap(), rate_per_s.to_string(), count.to_string());
        Program::new(["latency", "--bootstrap", &bootstrap, "--topic", TOPIC])
            .args(["--driver", self.driver])
            .args(["--rate", &rate, "--count", &count, "--size", "100B", "--warm-up", "0s", "--blocks", "1"])
            .args(["--output", "json", "--out", "run"])
            .args(["--acks", acks])
            .args(AT_ONCE)
    }

    /// Records in the log.
    fn stored(&self) -> u64 {
        self.control.stats().topic(TOPIC).log_end.unsigned_abs()
    }

    /// Refuses `count` requests of a kind after `skip` of them.
    fn refuse(&self, api: ApiKey, skip: u64, count: u64, refusal: Refusal) {
        self.control.refuse(RequestFault { apis: Apis::one(api), skip, count, refusal });
    }
}

/// The sink's number of a measured message, counted from 0.
pub(crate) fn record(message: u64) -> u64 {
    message + 2
}

/// The document of a run of one step, read as a stranger would: by the names that the contract promises.
#[derive(Debug)]
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn of(ended: &Ended) -> Self {
        Document(ended.json())
    }

    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {:#}", self.0))
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.at(&format!("/steps/0/counts/{name}")).as_u64().unwrap()
    }

    /// A figure of one of the four latencies, in milliseconds.
    pub(crate) fn latency_ms(&self, latency: &str, figure: &str) -> f64 {
        self.at(&format!("/steps/0/latency/{latency}/{figure}_ns")).as_f64().unwrap() / 1e6
    }

    pub(crate) fn slip_ms(&self, figure: &str) -> f64 {
        self.at(&format!("/steps/0/slip/{figure}_ns")).as_f64().unwrap() / 1e6
    }

    fn verdict(&self) -> &str {
        self.at("/validity/verdict").as_str().unwrap()
    }

    fn reasons(&self) -> Vec<&str> {
        let reasons = self.at("/validity/reasons").as_array().unwrap();
        reasons.iter().map(|reason| reason["id"].as_str().unwrap()).collect()
    }

    /// The severity that the reason of this id alone gives the run, whatever else a busy machine adds to it.
    fn severity(&self, id: &str) -> &str {
        let reasons = self.at("/validity/reasons").as_array().unwrap();
        let reason = reasons.iter().find(|reason| reason["id"] == id);
        reason
            .and_then(|reason| reason["severity"].as_str())
            .unwrap_or_else(|| panic!("no {id} in {reasons:?}"))
    }

    fn has_reason(&self, id: &str) -> bool {
        self.reasons().contains(&id)
    }
}
