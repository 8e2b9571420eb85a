//! Clients that are programs of their own: the client for Java, librdkafka behind the protocol, and programs that do it wrong.
//!
//! A wrong one is this very binary: started with a fault by name, `a_driver_with_a_fault` puts itself between Plumb and a right driver.

use crate::kafka::secured::{assert_no_secret, java_properties};
use crate::kafka::{self, Broker, assert_nothing_missing, lab, steps};
use crate::program::{Ended, Program};
use plumb_lab::sink::{ApiKey, Apis, Delay, SinkBroker, SinkOptions};
use plumb_load::external::frame::{Acknowledged, Failed, Order, Report};
use serde_json::Value;
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fault that the program is to have, and for it alone.
const FAULT: &str = "PLUMB_TEST_DRIVER_FAULT";

fn library() -> String {
    format!("{{command: [{:?}, driver, librdkafka]}}", env!("CARGO_BIN_EXE_plumb"))
}

/// A driver for a scenario: a shell's words.
fn shell(script: &str) -> String {
    format!("{{command: [sh, -c, {script:?}]}}")
}

fn run(sink: &SinkBroker, driver: &str, rest: &str) -> Ended {
    let program = Program::new(["run", "s.yaml", "--out", "run", "--output", "json"]);
    let scenario = format!("cluster: {{bootstrap: \"{}\"}}\ndriver: {driver}\n{rest}", sink.bootstrap());
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

fn sink() -> SinkBroker {
    SinkBroker::start(SinkOptions::default()).unwrap()
}

const LOAD: &str =
    "load: {rate: 200, count: 300, warm_up: 300ms, size: 200B}\ntopic: {partitions: 2}\nblocks: 1\n";

fn only_step(ended: &Ended) -> Value {
    assert!(matches!(ended.code(), Some(0 | 1)), "{} {}", ended.stdout, ended.stderr);
    ended.json()["steps"][0].clone()
}

fn assert_all_came(step: &Value, count: u64) {
    for name in ["intended", "sent", "acked", "received"] {
        assert_eq!(step["counts"][name], count, "{name}: {step:#}");
    }
    for name in ["failed", "unknown", "lost", "duplicated", "reordered"] {
        assert_eq!(step["counts"][name], 0, "{name}: {step:#}");
    }
    assert_eq!(step["latency"]["end_to_end"]["samples"], count, "{step:#}");
    assert_eq!(step["latency"]["acknowledge"]["samples"], count, "{step:#}");
}

#[test]
fn librdkafka_behind_the_protocol_loses_nothing_on_a_sink() {
    let ended = run(&sink(), &library(), LOAD);
    let step = only_step(&ended);
    assert_all_came(&step, 300);
    let programs = step["blocks"][0]["programs"].as_array().unwrap();
    let roles: Vec<_> = programs.iter().map(|program| program["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["producer", "consumer"]);
    assert_eq!(programs[0]["about"]["client"], "librdkafka");
}

#[test]
fn the_client_for_java_loses_nothing_on_a_sink_and_tells_what_it_is() {
    let ended = run(&sink(), "java", LOAD);
    let step = only_step(&ended);
    assert_all_came(&step, 300);
    let about = &step["blocks"][0]["programs"][0]["about"];
    assert_eq!(about["client"], "kafka-clients");
    assert!(about["version"].as_str().is_some_and(|version| version.contains('.')), "{about}");
    assert!(about["runtime"].as_str().is_some_and(|runtime| !runtime.is_empty()), "{about}");
    // It is read back, and not what was written.
    assert_eq!(step["effective"]["producer"]["enable.idempotence"], "true", "{step:#}");
}

#[test]
fn either_side_may_be_a_program_and_the_other_not() {
    for driver in
        [format!("{{producer: {}, consumer: librdkafka}}", library()), "{consumer: java}".to_owned()]
    {
        let step = only_step(&run(&sink(), &driver, LOAD));
        assert_all_came(&step, 300);
        assert_eq!(step["blocks"][0]["programs"].as_array().unwrap().len(), 1, "{driver}");
    }
}

#[test]
fn real_kafka_has_every_record_of_programs_once_and_nothing_of_them_is_left_there() {
    for driver in ["java", &library()] {
        let ended = run_scenario_of(driver);
        let document = kafka::document(&ended);
        assert_nothing_missing(&steps(&document)[0]);
        let id = document["run"]["id"].as_str().unwrap();
        let left = Broker::at(&lab().plaintext_bootstrap()).left_of_run(id);
        assert_eq!(left, Vec::<String>::new(), "{driver}: {}", ended.stderr);
    }
}

fn run_scenario_of(driver: &str) -> Ended {
    let bootstrap = lab().plaintext_bootstrap();
    let program =
        Program::new(["run", "s.yaml", "--output", "json", "--out", "run", "--bootstrap", &bootstrap]);
    let scenario = format!("driver: {driver}\n{LOAD}");
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

/// What a run with such a driver says, and that it ends with the exit code of this machine.
fn complaint(driver: &str) -> String {
    let ended = run(&sink(), driver, LOAD);
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    ended.stderr
}

/// A word that a program has among its arguments, by which it is found.
fn mark(name: &str) -> String {
    format!("plumb-test-{name}-{}", std::process::id())
}

/// The processes that have it.
fn left(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let words = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    words
        .map(|words| String::from_utf8_lossy(&words).into_owned())
        .filter(|words| words.contains(mark))
        .collect()
}

#[test]
fn a_driver_that_hangs_is_ended_with_all_that_it_has_started() {
    let mark = mark("hangs");
    let [test, exact, nocapture] = AS_A_DRIVER;
    let binary = std::env::current_exe().unwrap();
    let script =
        format!("sh -c 'sleep 601; : {mark}' & exec env {FAULT}=hang {binary:?} {test} {exact} {nocapture}");
    let said = complaint(&shell(&script));
    assert!(said.contains("it has said nothing for 10 s"), "{said}");
    assert_eq!(left(&mark), Vec::<String>::new());
}

/// A process that has left the program's group and session, and whose parent has ended, keeps the program's output open.
#[test]
fn what_a_driver_has_started_ends_with_it_wherever_it_went() {
    let mark = mark("escapes");
    let [test, exact, nocapture] = AS_A_DRIVER;
    let binary = std::env::current_exe().unwrap();
    let script = format!(
        "(setsid sh -c 'sleep 601; : {mark}' &); exec env {FAULT}=none {binary:?} {test} {exact} {nocapture}"
    );
    assert_all_came(&only_step(&run(&sink(), &shell(&script), LOAD)), 300);
    assert_eq!(left(&mark), Vec::<String>::new());
}

#[test]
fn an_acknowledgement_without_its_offset_is_none() {
    let said = complaint(&faulty("no-offset"));
    assert!(said.contains("without an offset"), "{said}");
}

/// The finding of a run whose consumer does so.
fn found(consumer: &str, id: &str) -> Value {
    let driver = format!("{{producer: {}, consumer: {}}}", library(), faulty(consumer));
    let ended = run(&sink(), &driver, LOAD);
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    let document = ended.json();
    let reasons = document["validity"]["reasons"].as_array().unwrap();
    reasons.iter().find(|reason| reason["id"] == id).unwrap_or_else(|| panic!("{reasons:#?}")).clone()
}

#[test]
fn a_time_in_the_record_that_is_not_the_reported_one_makes_the_run_invalid() {
    assert_eq!(found("stamp", "send-times-differ")["severity"], "invalid");
}

#[test]
fn values_of_another_size_than_was_ordered_are_damaged() {
    let reason = found("size", "counts-do-not-add-up");
    assert!(reason.to_string().contains("damaged records"), "{reason:#}");
}

#[test]
fn acknowledgements_that_no_answer_can_be_behind_make_the_run_invalid() {
    let ended = run(&sink(), &format!("{{producer: {}}}", faulty("early-report")), LOAD);
    let document = ended.json();
    let reasons = document["validity"]["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["id"] == "acknowledged-too-soon");
    assert_eq!(reason.unwrap_or_else(|| panic!("{reasons:#?}"))["severity"], "invalid");
    // Those of a right one are not.
    let ended = run(&sink(), &format!("{{producer: {}}}", library()), LOAD);
    assert!(!ended.stdout.contains("acknowledged-too-soon"), "{}", ended.stdout);
}

#[test]
fn a_message_that_a_driver_took_and_never_sent_is_told_apart_from_what_may_be_stored() {
    let load = LOAD.replace("size: 200B", "size: 200B, drain: 500ms");
    let step = only_step(&run(&sink(), &format!("{{producer: {}}}", faulty("never")), &load));
    let counts = &step["counts"];
    assert_eq!((&counts["acked"], &counts["unknown"]), (&299.into(), &1.into()), "{counts:#}");
    assert_eq!(counts["never_sent"], 1, "{counts:#}");
    // It is not also told as one of which nobody knows whether it is stored.
    let errors = step["errors"].as_array().unwrap();
    let codes: Vec<_> = errors.iter().map(|error| (&error["code"], &error["count"])).collect();
    assert_eq!(codes, [(&"NEVER_SENT".into(), &1.into())], "{errors:#?}");
}

#[test]
fn how_a_driver_ended_is_told_where_it_was_no_good_end() {
    let step = only_step(&run(&sink(), &format!("{{producer: {}}}", faulty("exit")), LOAD));
    let notes = step["blocks"][0]["programs"][0]["notes"].to_string();
    assert!(notes.contains("exit code 101 when it was told to end"), "{notes}");
}

#[test]
fn a_class_path_of_which_nothing_is_there_and_one_that_nobody_uses_are_refused() {
    for (words, said) in [
        (&["--driver", "java", "--java-classpath", "/nowhere/*"][..], "class path"),
        (&["--driver", "librdkafka", "--java-classpath", "x.jar"], "no driver is java"),
    ] {
        let ended = Program::new(["latency", "--lab", "--rate", "10", "--count", "10"]).args(words).run();
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("hint: "), "{}", ended.stderr);
    }
}

#[test]
fn a_driver_that_dies_is_told_with_its_last_words() {
    let said = complaint(&shell("echo no such codec >&2; exit 7"));
    assert!(said.contains("it ended with exit code 7"), "{said}");
    assert!(said.contains("no such codec"), "{said}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn a_driver_that_is_not_there_is_told_by_its_name() {
    let said = complaint("{command: [./no-such-driver]}");
    assert!(said.contains("cannot start the driver \"./no-such-driver\""), "{said}");
}

#[test]
fn a_driver_that_floods_or_speaks_another_protocol_is_ended() {
    let said = complaint(&shell("yes plumb >&0"));
    assert!(said.contains("it sent a frame of"), "{said}");
    let said = complaint(&shell("yes plumb"));
    assert!(said.contains("it printed more than 100000 lines"), "{said}");
    // A note of one byte, again and again.
    let said = complaint(&shell("while :; do printf '\\002\\000\\000\\000Nx'; done >&0"));
    assert!(said.contains("notes and beats per second"), "{said}");
}

#[test]
fn what_a_driver_prints_is_kept_and_harms_nothing() {
    let script =
        format!("echo to whom it may concern; exec {:?} driver librdkafka", env!("CARGO_BIN_EXE_plumb"));
    let step = only_step(&run(&sink(), &shell(&script), LOAD));
    assert_all_came(&step, 300);
    let program = &step["blocks"][0]["programs"][0];
    assert_eq!(program["printed_lines"], 1, "{program}");
    assert_eq!(program["printed"][0], "to whom it may concern");
}

#[test]
fn workers_are_refused_together_with_a_program_that_a_run_names() {
    for arguments in [vec!["--workers", "2"], vec!["--driver", "java", "--workers", "2"]] {
        let program = Program::new(["run", "s.yaml", "--bootstrap", "127.0.0.1:1"]).args(arguments);
        std::fs::write(program.directory().join("s.yaml"), format!("driver: {}\n{LOAD}", library())).unwrap();
        let ended = program.run();
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("workers") && ended.stderr.contains("driver"), "{}", ended.stderr);
    }
}

#[test]
fn a_delay_of_the_brokers_is_in_the_acknowledge_latency_of_the_client_for_java() {
    const LATE: Duration = Duration::from_millis(80);
    let sink = sink();
    sink.control().delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(LATE));
    let step = only_step(&run(&sink, "{producer: java}", LOAD));
    assert_all_came(&step, 300);
    let least_ns = step["latency"]["acknowledge_service"]["min_ns"].as_u64().unwrap();
    assert!(least_ns >= LATE.as_nanos() as u64, "{least_ns}");
    // Nobody times the queue of this client: no stage is made of it.
    let stages = step["stages"].as_array().unwrap();
    let produce = stages.iter().find(|stage| stage["stage"] == "produce").unwrap();
    assert!(produce["mean_ns"].is_null(), "{produce}");
    assert!(produce["source"].as_str().unwrap().contains("program of its own"), "{produce}");
}

#[test]
fn a_stall_of_the_program_is_in_the_response_time_of_all_that_was_due_meanwhile() {
    let step = only_step(&run(&sink(), &faulty("stall"), LOAD));
    assert_all_came(&step, 300);
    // 200 messages a second, and a stall of half a second: about a hundred of the three hundred were due in it, a quarter of all for
    // 125 ms and more.
    let late_ns = step["latency"]["end_to_end"]["p75_ns"].as_u64().unwrap();
    assert!(late_ns > 100_000_000, "{:#}", step["latency"]);
    assert!(step["latency"]["end_to_end"]["max_ns"].as_u64().unwrap() >= 500_000_000 - 10_000_000);
}

/// What the try of a driver showed.
fn tried(driver: &[&str], arguments: &[&str], fault: &str) -> (Option<i32>, Value) {
    let program = Program::new(["driver", "check", "--output", "json"]).args(arguments).args(driver);
    let ended = program.env(FAULT, fault).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{} {}", ended.stdout, ended.stderr);
    (ended.code(), ended.json())
}

fn broken(check: &Value) -> Vec<&str> {
    let roles = check["roles"].as_array().unwrap().iter();
    let owed = roles.flat_map(|role| role["owed"].as_array().unwrap());
    owed.filter(|owed| owed["kept"] == false).map(|owed| owed["name"].as_str().unwrap()).collect()
}

#[test]
fn a_right_driver_keeps_all_that_it_owes() {
    let plumb = env!("CARGO_BIN_EXE_plumb");
    let (code, check) = tried(&["--", plumb, "driver", "librdkafka"], &[], "");
    assert_eq!((code, broken(&check)), (Some(0), Vec::new()), "{check:#}");
    assert!(check["roles"][0]["owed"].as_array().unwrap().len() > 10, "{check:#}");
}

#[test]
fn the_driver_for_java_keeps_all_that_it_owes() {
    let (code, check) = tried(&["--java"], &[], "");
    assert_eq!((code, broken(&check)), (Some(0), Vec::new()), "{check:#}");
}

#[test]
fn each_way_to_lie_is_caught() {
    // The fault, the role, and what it breaks, whatever else.
    let faults = [
        ("early-report", "producer", "acknowledgement"),
        ("early-sly", "producer", "acknowledgement"),
        ("early-sly", "consumer", "reception"),
        ("drop", "producer", "sends"),
        ("double", "producer", "sends"),
        ("reorder", "producer", "order"),
        ("early-send", "producer", "due"),
        ("hidden-stall", "producer", "stall"),
        ("success", "producer", "failure"),
        ("double-report", "producer", "reports"),
        ("fails", "producer", "failure"),
        ("no-offset", "producer", "place"),
        ("exit", "producer", "end"),
        ("drop", "consumer", "receives"),
        ("double", "consumer", "receives"),
        ("early-report", "consumer", "reception"),
    ];
    let binary = std::env::current_exe().unwrap();
    for (fault, role, name) in faults {
        let driver = [&["--", binary.to_str().unwrap()][..], &AS_A_DRIVER].concat();
        let (code, check) = tried(&driver, &["--role", role], fault);
        assert_eq!(code, Some(1), "{fault}: {check:#}");
        assert!(broken(&check).contains(&name), "{fault}: {:?} {check:#}", broken(&check));
    }
    let driver = [&["--", binary.to_str().unwrap()][..], &AS_A_DRIVER].concat();
    let (code, check) = tried(&driver, &[], "none");
    assert_eq!((code, broken(&check)), (Some(0), Vec::new()), "{check:#}");
}

/// The arguments by which this binary is a driver.
const AS_A_DRIVER: [&str; 3] = ["external_drivers::a_driver_with_a_fault", "--exact", "--nocapture"];

fn faulty(fault: &str) -> String {
    let [test, exact, nocapture] = AS_A_DRIVER;
    let binary = std::env::current_exe().unwrap();
    format!("{{command: [env, {FAULT}={fault}, {binary:?}, {test:?}, {exact:?}, {nocapture:?}]}}")
}

/// No test of its own: without a fault it does nothing.
#[test]
fn a_driver_with_a_fault() {
    let Ok(fault) = std::env::var(FAULT) else { return };
    if !fault.is_empty() {
        between(&fault);
    }
}

/// Carries frames between Plumb, on standard input, and a right driver, and does wrong on the way.
fn between(fault: &str) {
    let plumb = File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut driver = Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["driver", "librdkafka"])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    let wrong = Arc::new(Mutex::new(Wrong::default()));
    std::thread::scope(|scope| {
        let (mut orders, mut reports) =
            (BufReader::new(plumb.try_clone().unwrap()), BufReader::new(ours.try_clone().unwrap()));
        let (wrong, wrong_too) = (Arc::clone(&wrong), wrong);
        let (mut to_driver, mut to_plumb) = (ours.try_clone().unwrap(), plumb);
        scope.spawn(move || {
            while let Ok(order) = Order::read(&mut orders) {
                let mut bytes = Vec::new();
                let passed = wrong.lock().unwrap().orders(fault, order);
                passed.iter().for_each(|order| order.write(&mut bytes));
                if to_driver.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = to_driver.shutdown(std::net::Shutdown::Write);
        });
        while let Ok(report) = Report::read(&mut reports) {
            let mut bytes = Vec::new();
            let passed = wrong_too.lock().unwrap().reports(fault, report);
            passed.iter().for_each(|report| report.write(&mut bytes));
            if to_plumb.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = driver.wait();
    });
    assert_ne!(fault, "exit", "as a test that fails it ends with exit code 101");
}

/// The number of the order, and of the record received, that is dealt with wrongly.
const WRONG: u64 = 57;
/// The number of a measured message in a run, of 2 probes, 60 messages of a warm-up and 300 measured ones.
const NEVER_SENT: u64 = 200;
/// A driver that sends early does so by this.
const EARLY_NS: u64 = 50_000_000;
/// A sly driver tells the truth of what took longer than this, and a third less of all else.
const SLY_BELOW_NS: u64 = 15_000_000;

/// What it leaves out of a time.
fn sly(took_ns: u64) -> u64 {
    if took_ns < SLY_BELOW_NS { took_ns / 3 } else { 0 }
}

/// The place of the time of the send in a stamp.
const SENT_AT: usize = 32;
/// Added to the number of a second order of the same record.
const AGAIN: u64 = 1 << 40;

#[derive(Default)]
struct Wrong {
    hangs: bool,
    held: Option<Order>,
    due: std::collections::HashMap<u64, u64>,
    received: u64,
}

impl Wrong {
    fn orders(&mut self, fault: &str, order: Order) -> Vec<Order> {
        if let ("tells", Order::Property(name, value)) = (fault, &order) {
            let _ = writeln!(std::io::stderr(), "{name} is {value}");
        }
        let Order::Send(mut send) = order else { return vec![order] };
        let (number, due_ns) = (send.number, send.due_ns);
        self.due.insert(number, due_ns);
        match fault {
            "drop" if number == WRONG => return Vec::new(),
            "never" if number == NEVER_SENT => return Vec::new(),
            "double" if number == WRONG => {
                let mut again = send.clone();
                again.number += AGAIN;
                return vec![Order::Send(send), Order::Send(again)];
            }
            "reorder" if number == WRONG => {
                self.held = Some(Order::Send(send));
                return Vec::new();
            }
            // Behind those that go to the same partition.
            "reorder" if number == WRONG + 12 => {
                return [Some(Order::Send(send)), self.held.take()].into_iter().flatten().collect();
            }
            "early-send" => send.due_ns -= EARLY_NS,
            // Whoever reads the orders sees none for a while that is longer than they come ahead.
            "hang" if number > WRONG => self.hangs = true,
            "stall" if number == WRONG + 100 => std::thread::sleep(Duration::from_millis(650)),
            _ => {}
        }
        vec![Order::Send(send)]
    }

    fn reports(&mut self, fault: &str, report: Report) -> Vec<Report> {
        match report {
            _ if self.hangs => Vec::new(),
            Report::Acknowledged(mut report) => {
                // One report for both.
                report.number %= AGAIN;
                let due_ns = self.due[&report.number];
                match fault {
                    "early-report" => report.acked_ns = report.called_ns + 1_000,
                    "early-sly" => {
                        let took_ns = report.acked_ns - report.called_ns;
                        report.acked_ns -= sly(took_ns);
                    }
                    "early-send" => report.called_ns = report.called_ns.max(due_ns),
                    "hidden-stall" => {
                        let late_ns = report.called_ns - due_ns;
                        (report.called_ns, report.acked_ns) = (due_ns, report.acked_ns - late_ns);
                    }
                    "no-offset" => report.offset = -1,
                    "fails" if report.number == WRONG => {
                        let Acknowledged { number, called_ns, acked_ns, .. } = report;
                        let reason = "TIMED_OUT: it was not".to_owned();
                        return vec![Report::Failed(Failed {
                            number,
                            called_ns,
                            failed_ns: acked_ns,
                            reason,
                        })];
                    }
                    "double-report" if report.number == WRONG => {
                        return vec![Report::Acknowledged(report), Report::Acknowledged(report)];
                    }
                    _ => {}
                }
                vec![Report::Acknowledged(report)]
            }
            Report::Failed(report) if fault == "success" => {
                let (number, called_ns, acked_ns) = (report.number, report.called_ns, report.failed_ns);
                let partition = 0;
                let told = Acknowledged { number, called_ns, acked_ns, partition, offset: 0 };
                vec![Report::Acknowledged(told)]
            }
            Report::Got(mut got) => {
                self.received += 1;
                match fault {
                    "drop" if self.received == WRONG => return Vec::new(),
                    "double" if self.received == WRONG => {
                        return vec![Report::Got(got.clone()), Report::Got(got)];
                    }
                    "early-report" => got.received_ns -= EARLY_NS,
                    "early-sly" => {
                        let sent: [u8; 8] = got.head[SENT_AT..SENT_AT + 8].try_into().unwrap();
                        got.received_ns -= sly(got.received_ns - u64::from_le_bytes(sent));
                    }
                    "size" => got.value_bytes -= 1,
                    "stamp" => {
                        let sent: &mut [u8; 8] = (&mut got.head[SENT_AT..SENT_AT + 8]).try_into().unwrap();
                        *sent = (u64::from_le_bytes(*sent) - EARLY_NS).to_le_bytes();
                    }
                    _ => {}
                }
                vec![Report::Got(got)]
            }
            other => vec![other],
        }
    }
}

/// A toolchain that is not here: the test is passed over, and says so.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn passed_over(what: &str) {
    eprintln!("passed over: {what}");
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let tried = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// A driver of the guide: it keeps all that a driver owes, and its run on a sink loses nothing.
fn assert_is_a_driver(words: &[&str]) {
    let (code, check) = tried(&[&["--"], words].concat(), &[], "");
    assert_eq!((code, broken(&check)), (Some(0), Vec::new()), "{check:#}");
    let driver = format!("{{command: {words:?}}}");
    assert_all_came(&only_step(&run(&sink(), &driver, LOAD)), 300);
}

fn example(name: &str) -> String {
    format!("{}/../../docs/guide/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// `PLUMB_TEST_PYTHON` names a Python that has Confluent's client, where `python3` has it not.
#[test]
fn the_driver_for_python_in_the_guide_is_one() {
    let python = std::env::var("PLUMB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !works(&python, &["-c", "import confluent_kafka"]) {
        return passed_over(
            "no python3 with confluent_kafka here (pip install confluent-kafka; PLUMB_TEST_PYTHON)",
        );
    }
    assert_is_a_driver(&[&python, &example("driver.py")]);
}

#[test]
fn the_driver_for_franz_go_in_the_guide_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let peer = example("../../../bench/peers/franz");
    for file in ["go.mod", "go.sum"] {
        std::fs::copy(format!("{peer}/{file}"), directory.path().join(file)).unwrap();
    }
    std::fs::copy(example("driver.go"), directory.path().join("main.go")).unwrap();
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        // The modules that are here already: a test fetches none.
        command.args(arguments).current_dir(directory.path()).env("GOPROXY", "off").stdin(Stdio::null());
        command.output()
    };
    if !go(&["list", "-deps", "."]).is_ok_and(|listed| listed.status.success()) {
        return passed_over("no Go with franz-go here (cd bench/peers/franz && go mod download)");
    }
    let built = go(&["build", "-o", "driver", "."]).unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_is_a_driver(&[directory.path().join("driver").to_str().unwrap()]);
}

#[test]
fn a_run_that_is_killed_leaves_no_program_behind() {
    let sink = sink();
    let program = Program::new(["run", "s.yaml", "--out", "run"]);
    let mark = mark("killed");
    let script = format!(": {mark}; exec {:?} driver librdkafka", env!("CARGO_BIN_EXE_plumb"));
    // What a shell becomes keeps no word of it: found by its parent.
    let scenario = format!(
        "cluster: {{bootstrap: \"{}\"}}\ndriver: {}\n{}",
        sink.bootstrap(),
        shell(&script),
        LOAD.replace("count: 300", "count: 20000")
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let mut running = program.start();
    let of = |parent: u32| {
        let listed =
            std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        listed.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let programs = running.wait_for("its programs", |running| {
        let children = of(running.pid());
        (children.len() == 2).then_some(children)
    });
    running.signal(rustix::process::Signal::KILL);
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    let is_there = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    while programs.iter().any(is_there) {
        assert!(std::time::Instant::now() < deadline, "{programs:?} are left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_library_as_a_driver_says_that_it_is_started_by_plumb() {
    let ended = Program::new(["driver", "librdkafka"]).run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("standard input is no socket of Plumb's"), "{}", ended.stderr);
}

#[test]
fn secrets_go_to_a_program_and_are_nowhere_else_even_where_it_tells_them() {
    for driver in ["{producer: java}".to_owned(), format!("{{producer: {}}}", faulty("tells"))] {
        let bootstrap = lab().bootstrap();
        let program =
            Program::new(["run", "s.yaml", "--output", "json", "--out", "run", "--bootstrap", &bootstrap])
                .args(["--config", "client.properties"]);
        std::fs::write(program.directory().join("s.yaml"), format!("driver: {driver}\n{LOAD}")).unwrap();
        std::fs::write(program.directory().join("client.properties"), java_properties()).unwrap();
        let ended = program.run();
        let document = kafka::document(&ended);
        assert_nothing_missing(&steps(&document)[0]);
        if driver.contains("tells") {
            let told = steps(&document)[0]["blocks"][0]["programs"][0]["printed"].to_string();
            assert!(told.contains("sasl.password is [redacted]"), "{told}");
        }
        assert_no_secret("standard output", ended.stdout.as_bytes());
        assert_no_secret("standard error", ended.stderr.as_bytes());
        for entry in std::fs::read_dir(ended.path("run")).unwrap().flatten() {
            assert_no_secret(&entry.path().display().to_string(), &std::fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn the_jar_is_the_one_that_the_script_made_of_this_source() {
    let folder = format!("{}/../session/src/external/java", env!("CARGO_MANIFEST_DIR"));
    let sums = std::fs::read_to_string(format!("{folder}/SHA256SUMS")).unwrap();
    assert!(sums.contains("  driver.jar\n") && sums.contains("  PlumbDriver1.java\n"), "{sums}");
    let checked =
        Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(folder).output().unwrap();
    assert!(
        checked.status.success(),
        "run scripts/build-driver: {}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

/// What a driver prints goes into documents.
#[test]
fn a_driver_does_not_inherit_the_password_of_the_brokers_metrics() {
    let program = Program::new(["driver", "check", "--", "sh", "-c"])
        .args(["echo \"told: <$PLUMB_METRICS_PASSWORD$ELSE>\"; exit 3"]);
    let ended = program.env("PLUMB_METRICS_PASSWORD", "hunter2hunter2").env("ELSE", "inherited").run();
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("told: <inherited>") && !said.contains("hunter2"), "{said}");
}
