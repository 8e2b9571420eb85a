//! Tries a program: gives it orders or records, stops it for a while, and keeps every word of it. Whoever knows what its broker saw judges it.

use super::command::{DriverCommand, Role};
use super::frame::{Acknowledged, Failed, Got, Header, Report, SendOrder};
use super::link::{Introduction, Link};
use super::process::Program;
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::librdkafka::connect::{Cluster, connect};
use crate::librdkafka::ffi::{Client, Role as ClientRole};
use crate::stamp::{Part, SENT_AT, STAMP_BYTES, STAMP_HEADER, Stamp};
use plumb_model::observation::ProgramAccount;
use plumb_model::plan::Properties;
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Records that are ordered before the one that the broker refuses, and records that a consumer is to receive.
pub const RECORDS: u64 = 240;
/// The time between two of them.
const GAP_NS: u64 = 5_000_000;
/// The first is due so long after its order.
const LEAD_NS: u64 = 300_000_000;
/// The program is stopped when this one is due, for so long.
const STOPPED_AT: u64 = 100;
const STOPPED_FOR: Duration = Duration::from_millis(300);
/// Longest wait for what is still to be reported.
const PATIENCE_NS: u64 = 10_000_000_000;
const TICK: Duration = Duration::from_millis(2);
const VALUE_BYTES: usize = 100;
const RUN: u64 = 0x506c_756d_6274_7279;

/// What is tried, and where.
#[derive(Debug, Clone, Copy)]
pub struct Examination<'e> {
    /// The program.
    pub command: &'e DriverCommand,
    /// A broker, host:port.
    pub bootstrap: &'e str,
    /// A topic on it that is empty.
    pub topic: &'e str,
    /// Its partitions.
    pub partitions: i32,
    /// A group of which nobody has heard.
    pub group: &'e str,
}

/// A while in which nothing of the program ran: nothing of it can have read a clock then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Its begin, CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// What a producer said.
#[derive(Debug, Clone)]
pub struct ProducerEvidence {
    /// Its orders; the last of them was given when the broker refuses.
    pub orders: Vec<SendOrder>,
    /// Its reports of records that were acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// Its reports of records that failed.
    pub failed: Vec<Failed>,
    /// The while in which it was stopped; none if it could not be.
    pub stopped: Option<Stopped>,
    /// What it said of itself.
    pub account: ProgramAccount,
    /// How it ended when it was told to, where that was not well.
    pub ended: Result<(), String>,
}

/// What a consumer said.
#[derive(Debug, Clone)]
pub struct ConsumerEvidence {
    /// Its reports of records.
    pub got: Vec<Got>,
    /// Partitions that it said to hold, the most.
    pub joined: u32,
    /// The while in which it was stopped; none if it could not be.
    pub stopped: Option<Stopped>,
    /// What it said of itself.
    pub account: ProgramAccount,
    /// How it ended when it was told to, where that was not well.
    pub ended: Result<(), String>,
}

/// Lets it produce. `refuse` is called when all records but the last were reported: from then on the broker refuses.
///
/// # Errors
/// When it cannot be started, or leaves the protocol.
pub fn producer(examination: &Examination<'_>, refuse: impl FnOnce()) -> Result<ProducerEvidence, LoadError> {
    let mut heard = Heard::default();
    let mut link = started(examination, Role::Producer)?;
    while !link.is_ready() {
        heard.exchange(&mut link)?;
    }
    let begin_ns = now_ns() + LEAD_NS;
    let mut orders: Vec<SendOrder> = (0..RECORDS)
        .map(|number| order(number, begin_ns + number * GAP_NS, examination.partitions))
        .collect();
    orders.iter().for_each(|order| link.order(order));
    let stop_ns = begin_ns + STOPPED_AT * GAP_NS;
    while now_ns() < stop_ns {
        heard.exchange(&mut link)?;
    }
    let stopped = stopped(&link, || std::thread::sleep(STOPPED_FOR));
    heard.until(&mut link, begin_ns + RECORDS * GAP_NS, |heard| heard.reported.len() as u64 >= RECORDS)?;
    refuse();
    let mut last = order(RECORDS, now_ns() + LEAD_NS, examination.partitions);
    last.partition = 0;
    link.order(&last);
    heard.until(&mut link, last.due_ns, |heard| heard.reported.contains(&RECORDS))?;
    // A second report of the same record may still come.
    heard.until(&mut link, 0, |_| false)?;
    orders.push(last);
    let ended = link.ends_when_told();
    let Heard { acknowledged, failed, .. } = heard;
    Ok(ProducerEvidence { orders, acknowledged, failed, stopped, account: link.account(), ended })
}

/// Lets it consume what is produced here meanwhile.
///
/// # Errors
/// As [`producer`]; also when the broker cannot be used.
pub fn consumer(examination: &Examination<'_>) -> Result<ConsumerEvidence, LoadError> {
    let Examination { bootstrap, topic, partitions, group, .. } = *examination;
    let cluster: Cluster = connect(bootstrap, &Properties::new(), &Arc::new(AtomicBool::new(false)))?;
    cluster.begin_group_at(group, topic, &vec![0; usize::try_from(partitions).unwrap_or(0)])?;
    let mut properties = cluster.properties.clone();
    properties.insert("linger.ms".to_owned(), "0".to_owned());
    let client = Client::new(ClientRole::Producer, &properties)?;
    let topic = client.topic(topic)?;
    let mut heard = Heard::default();
    let mut link = started(examination, Role::Consumer)?;
    while !link.is_ready() {
        heard.exchange(&mut link)?;
    }
    let joined_by_ns = now_ns() + PATIENCE_NS * 3;
    while heard.joined == 0 && now_ns() < joined_by_ns {
        heard.exchange(&mut link)?;
    }
    let begin_ns = now_ns();
    let send = |number: u64| {
        let mut order = order(number, begin_ns, partitions);
        order.set_time(now_ns());
        let headers: Vec<(CString, Vec<u8>)> = order
            .headers
            .into_iter()
            .map(|header| (CString::new(header.name).unwrap_or_default(), header.value))
            .collect();
        // What the library has no room for is not there, and nobody expects it.
        let _ = topic.produce_with_headers(order.partition, order.key.as_deref(), &order.value, &headers);
        while client.poll(Duration::ZERO).is_some() {}
    };
    for number in 0..STOPPED_AT {
        send(number);
        heard.for_a_gap(&mut link)?;
    }
    let in_stop = STOPPED_FOR.as_nanos() as u64 / GAP_NS;
    let stopped = stopped(&link, || {
        for number in STOPPED_AT..STOPPED_AT + in_stop {
            send(number);
            std::thread::sleep(Duration::from_nanos(GAP_NS));
        }
    });
    for number in STOPPED_AT + in_stop..RECORDS {
        send(number);
        heard.for_a_gap(&mut link)?;
    }
    heard.until(&mut link, now_ns(), |heard| heard.got.len() as u64 >= RECORDS)?;
    heard.until(&mut link, 0, |_| false)?;
    let ended = link.ends_when_told();
    let Heard { got, joined, .. } = heard;
    Ok(ConsumerEvidence { got, joined, stopped, account: link.account(), ended })
}

fn started(examination: &Examination<'_>, role: Role) -> Result<Link, LoadError> {
    let Examination { command, bootstrap, topic, group, .. } = *examination;
    let mut link = Link::new(Program::start(command, role)?);
    let own: &[(&str, &str)] = match role {
        Role::Producer => &[("acks", "all"), ("linger.ms", "0")],
        Role::Consumer => &[("group.id", group), ("auto.offset.reset", "earliest")],
    };
    let of_both = [("bootstrap.servers", bootstrap), ("client.id", "plumb")];
    let all = own.iter().chain(&of_both);
    let properties = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    link.introduce(&Introduction { role, topic, group, properties: &properties });
    Ok(link)
}

/// Stops it while something is done.
fn stopped(link: &Link, meanwhile: impl FnOnce()) -> Option<Stopped> {
    let is_stopped = link.stop();
    let from_ns = now_ns();
    meanwhile();
    let to_ns = now_ns();
    link.go_on();
    is_stopped.then_some(Stopped { from_ns, to_ns })
}

/// A record of every kind that a load may ask for: with and without key and headers, the stamp here or there.
fn order(number: u64, due_ns: u64, partitions: i32) -> SendOrder {
    let stamp = Stamp {
        run: RUN,
        producer: 0,
        part: Part::Measured,
        sequence: number,
        intended_ns: due_ns,
        sent_ns: due_ns,
    };
    let time_in_header = number % 5 == 4;
    let mut value: Vec<u8> = (0..VALUE_BYTES).map(|at| (number as usize * 7 + at) as u8).collect();
    let mut headers = Vec::new();
    if number.is_multiple_of(2) {
        headers.push(Header { name: "trace".to_owned(), value: number.to_string().into_bytes() });
    }
    if time_in_header {
        let mut bytes = vec![0; STAMP_BYTES];
        stamp.write_for_another(&mut bytes);
        headers.push(Header { name: STAMP_HEADER.to_owned(), value: bytes });
    } else {
        stamp.write_for_another(&mut value);
    }
    SendOrder {
        number,
        due_ns,
        partition: if number % 4 == 3 {
            -1
        } else {
            (number % partitions.unsigned_abs().max(1) as u64) as i32
        },
        time_at: SENT_AT as u32,
        time_in_header,
        key: (!number.is_multiple_of(3)).then(|| format!("key-{number}").into_bytes()),
        headers,
        value,
    }
}

/// The bytes of a record's stamp without the time that the program writes, and that time: by the first, orders and records are joined.
pub fn parts_of_stamp(head: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
    (word(8)? == RUN).then_some((word(16)?, word(SENT_AT)?))
}

/// Every word of a program so far.
#[derive(Default)]
struct Heard {
    acknowledged: Vec<Acknowledged>,
    failed: Vec<Failed>,
    reported: HashSet<u64>,
    got: Vec<Got>,
    joined: u32,
}

impl Heard {
    fn exchange(&mut self, link: &mut Link) -> Result<(), LoadError> {
        link.exchange(TICK, |report, _| {
            match report {
                Report::Acknowledged(report) => {
                    self.reported.insert(report.number);
                    self.acknowledged.push(report);
                }
                Report::Failed(report) => {
                    self.reported.insert(report.number);
                    self.failed.push(report);
                }
                Report::Got(got) => self.got.push(got),
                Report::Joined(partitions) => self.joined = self.joined.max(partitions),
                _ => {}
            }
            Ok(())
        })
    }

    fn for_a_gap(&mut self, link: &mut Link) -> Result<(), LoadError> {
        let until_ns = now_ns() + GAP_NS;
        while now_ns() < until_ns {
            self.exchange(link)?;
        }
        Ok(())
    }

    /// Until it is done, or patience after `from_ns` is over; with 0, for a moment.
    fn until(
        &mut self,
        link: &mut Link,
        from_ns: u64,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), LoadError> {
        let until_ns = if from_ns == 0 { now_ns() + LEAD_NS } else { from_ns + PATIENCE_NS };
        while now_ns() < until_ns && !done(self) {
            self.exchange(link)?;
        }
        Ok(())
    }
}
