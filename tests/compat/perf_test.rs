//! The flags and the lines of Kafka's own performance tools.

use super::{TOPIC, carried_out, refused, sink};
use crate::program::{Ended, Program};
use plumb_lab::sink::{ApiKey, Apis, Delay};
use std::time::Duration;

fn producer(bootstrap: &str, throughput: &str, more: &[&str]) -> Program {
    let property = format!("bootstrap.servers={bootstrap}");
    Program::new(["compat", "--out", "run", "kafka-producer-perf-test", "--topic", TOPIC])
        .args(["--num-records", "600", "--record-size", "100", "--throughput", throughput])
        .args(more)
        .args(["--producer-props", &property, "acks=1", "linger.ms=0"])
}

/// A line with every number as `#`.
fn shape(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

const LAST: &str = "# records sent, #.# records/sec (#.# MB/sec), #.# ms avg latency, #.# ms max latency, # ms #th, # ms #th, # \
                    ms #th, # ms #.#th.";

fn lines(ended: &Ended) -> Vec<&str> {
    ended.stdout.lines().collect()
}

#[test]
fn the_producers_tool_prints_its_lines_and_ours_stand_beside() {
    let sink = sink();
    let ended = producer(&sink.bootstrap(), "200", &["--reporting-interval", "1000"]).run();
    carried_out(&ended);
    let lines = lines(&ended);
    let (last, progress) = lines.split_last().unwrap();
    assert_eq!(shape(last), LAST);
    assert!(last.starts_with("600 records sent, "), "{last}");
    assert!(!progress.is_empty());
    for line in progress {
        let shape = shape(line);
        assert_eq!(
            shape,
            "# records sent, #.# records/sec (#.# MB/sec), #.# ms avg latency, #.# ms max latency."
        );
    }
    assert!(ended.stderr.contains("from the intended send time"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("of 600 records sent, 600 were acknowledged, 0 failed"),
        "{}",
        ended.stderr
    );
    let document = fs_err::read_to_string(ended.path("run/run.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["plan"]["steps"][0]["driver"], "wire", "the default");
    assert!(ended.stderr.contains("the load is driven by Plumb's own client"), "{}", ended.stderr);
}

#[test]
fn as_fast_as_possible_every_figure_of_the_line_is_a_number() {
    let sink = sink();
    let ended = producer(&sink.bootstrap(), "-1", &[]).run();
    carried_out(&ended);
    let last = ended.stdout.lines().last().unwrap();
    assert!(last.starts_with("600 records sent, "), "{last}");
    assert_eq!(shape(last), LAST);
    // Where the time passed, in requests under way or before them, is the busy machine's affair; that it is said is not.
    assert!(ended.stderr.contains("as fast as possible: the latency of the line is"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("in 1 block, as long as the path takes for its messages"),
        "{}",
        ended.stderr
    );
}

/// The producer's tool on the topic, with records of so many bytes.
fn records_of(driver: &str, bytes: &str, bootstrap: &str, more: &str) -> Program {
    Program::new(["compat", "--driver", driver, "kafka-producer-perf-test", "--topic", TOPIC])
        .args(["--record-size", bytes, "--bootstrap-server", bootstrap])
        .args(more.split(' '))
}

#[test]
fn a_path_that_does_not_keep_up_ends_with_1_and_says_why_beside_the_lines() {
    let sink = sink();
    sink.control().delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(Duration::from_millis(100)));
    for driver in ["wire", "librdkafka"] {
        // A record is a batch, and one request of one batch for each partition is under way: 20 records a second.
        let slow =
            "--num-records 60 --throughput 200 --command-property max.in.flight.requests.per.connection=1";
        let ended = records_of(driver, "10000", &sink.bootstrap(), slow).run();
        assert_eq!(ended.code(), Some(1), "{driver}: {}", ended.stderr);
        assert_eq!(shape(ended.stdout.lines().last().unwrap()), LAST);
        let told = ended.stderr.lines().find(|line| line.starts_with("plumb: invalid: ")).unwrap();
        assert!(told.contains("achieved / asked") && told.ends_with("(plumb explain saturated)"), "{told}");
    }
}

#[test]
fn a_record_that_the_broker_does_not_take_is_told_once_with_what_to_do() {
    let sink = sink();
    sink.control().configure_topic(TOPIC, "max.message.bytes", "100000").unwrap();
    let bootstrap = sink.bootstrap();
    let ended = records_of("wire", "2000000", &bootstrap, "--num-records 5 --throughput -1").run();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("error: a record of 2000000 B is larger than allowed"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("MESSAGE_TOO_LARGE").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: raise max.message.bytes"), "{}", ended.stderr);
}

#[test]
fn the_consumers_tool_reads_what_is_in_the_topic() {
    let sink = sink();
    carried_out(&producer(&sink.bootstrap(), "-1", &[]).run());
    for driver in ["librdkafka", "wire"] {
        let bootstrap = sink.bootstrap();
        let before = jiff::Zoned::now();
        let ended = Program::new(["compat", "--driver", driver, "--out", "run", "kafka-consumer-perf-test"])
            .args(["--topic", TOPIC, "--messages", "600", "--bootstrap-server", &bootstrap])
            .run();
        carried_out(&ended);
        let lines = lines(&ended);
        assert_eq!(
            lines[0],
            "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
             fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
        );
        assert_eq!(shape(lines[1]), "#-#-# #:#:#:#, #-#-# #:#:#:#, #.#, #.#, #, #.#, #, #, #.#, #.#");
        let time = |column: usize| {
            let text = lines[1].split(", ").nth(column).unwrap();
            jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S:%3f", text).unwrap()
        };
        let (start, end) = (time(0), time(1));
        let begun = before.datetime().with().microsecond(0).nanosecond(0).build().unwrap();
        assert!(begun <= start && start <= end, "{driver}: {}", lines[1]);
        // What begins a run on the producer's side, one record a partition, is in the topic too.
        let records: u64 = lines[1].split(", ").nth(4).unwrap().parse().unwrap();
        assert!((600..=602).contains(&records), "{driver}: {records}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_by_its_name() {
    for flags in [&["--transactional-id", "t"][..], &["--payload-monotonic"]] {
        let told = refused(producer("127.0.0.1:1", "5", flags));
        assert!(told.contains(flags[0]), "{told}");
    }
    let secret = Program::new(["compat", "kafka-producer-perf-test", "--topic", TOPIC, "--throughput", "-1"])
        .args(["--num-records", "5", "--record-size", "9", "--command-property", "sasl.jaas.config=hunter2"]);
    let told = refused(secret);
    assert!(told.contains("--command-config") && !told.contains("hunter2"), "{told}");
    let nowhere =
        Program::new(["compat", "kafka-consumer-perf-test", "--topic", TOPIC, "--num-records", "5"]);
    assert!(refused(nowhere).contains("--bootstrap-server"));
}
