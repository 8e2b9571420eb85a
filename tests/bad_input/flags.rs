//! Flags with mistakes.

use super::{assert_says, complaint, latency};
use crate::program::Program;

fn with(arguments: &[&str]) -> String {
    complaint(&latency("127.0.0.1:1").args(arguments).run())
}

#[test]
fn a_property_without_a_value() {
    assert_says!(with(&["-X", "linger.ms"]), @r#"
    exit 2
    error: -X "linger.ms" has no value
    hint: write it as -X KEY=VALUE, such as -X linger.ms=0 or -X consumer.fetch.wait.max.ms=10
    "#);
}

#[test]
fn a_property_that_the_client_library_does_not_know() {
    assert_says!(with(&["-X", "lingr.ms=0"]), @r#"
    exit 2
    error: client property lingr.ms = "0" is refused: No such configuration property: "lingr.ms"
    hint: did you mean linger.ms? the names are librdkafka's: see its CONFIGURATION.md
    "#);
}

#[test]
fn a_property_of_the_other_client() {
    assert_says!(with(&["-X", "consumer.linger.mss=0"]), @r#"
    exit 2
    error: client property linger.mss = "0" is refused: No such configuration property: "linger.mss"
    hint: did you mean linger.ms? the names are librdkafka's: see its CONFIGURATION.md
    "#);
}

#[test]
fn a_connection_property_under_test() {
    assert_says!(with(&["-X", "sasl.password=hunter2"]), @r"
    exit 2
    error: -X: producer.sasl.password cannot be set here: it belongs to the cluster: put it into the client properties file (cluster.config or --config)
    ");
}

#[test]
fn a_group_of_the_users_own() {
    assert_says!(with(&["-X", "group.id=orders"]), @r"
    exit 2
    error: -X: consumer.group.id cannot be set here: each run uses a group of its own, so that it starts at the log's end and disturbs nobody
    ");
}

#[test]
fn a_count_with_a_duration() {
    assert_says!(with(&["--duration", "5s"]), @r"
    exit 2
    error: the argument '--count <COUNT>' cannot be used with '--duration <DURATION>'

    Usage: plumb latency --rate <RATE> --count <COUNT> --warm-up <TIME> <--lab|--bootstrap <HOSTS>>

    For more information, try '--help'.
    ");
}

#[test]
fn partitions_of_a_topic_that_is_there() {
    assert_says!(with(&["--topic", "orders", "--partitions", "3"]), @r"
    exit 2
    error: the argument '--topic <TOPIC>' cannot be used with '--partitions <PARTITIONS>'

    Usage: plumb latency --rate <RATE> --count <COUNT> --warm-up <TIME> --topic <TOPIC> <--lab|--bootstrap <HOSTS>>

    For more information, try '--help'.
    ");
}

#[test]
fn a_negative_rate() {
    let program = Program::new(["latency", "--bootstrap", "127.0.0.1:1", "--rate", "-5", "--count", "5"]);
    assert_says!(complaint(&program.run()), @r"
    exit 2
    error: --rate: load.rate is -5; it must be between 0.01 and 10000000, because no single generator sends more, and less is not a measurement
    ");
}

#[test]
fn no_rate() {
    assert_says!(complaint(&Program::new(["latency", "--bootstrap", "127.0.0.1:1"]).run()), @r"
    exit 2
    error: the following required arguments were not provided:
      --rate <RATE>

    Usage: plumb latency --rate <RATE> <--lab|--bootstrap <HOSTS>>

    For more information, try '--help'.
    ");
}

#[test]
fn no_cluster() {
    assert_says!(complaint(&Program::new(["latency", "--rate", "5"]).run()), @r"
    exit 2
    error: the following required arguments were not provided:
      <--lab|--bootstrap <HOSTS>>

    Usage: plumb latency --rate <RATE> <--lab|--bootstrap <HOSTS>>

    For more information, try '--help'.
    ");
}

#[test]
fn a_size_that_is_none() {
    assert_says!(with(&["--size", "big"]), @r#"
    exit 2
    error: invalid value 'big' for '--size <SIZE>': "big" is not a size; expected bytes with a unit, such as 100B, 1KiB, 240KB, 1MiB or 4GiB

    For more information, try '--help'.
    "#);
}

#[test]
fn a_heap_that_is_none() {
    assert_says!(complaint(&Program::new(["lab", "up", "--heap", "lots"]).run()), @r#"
    exit 2
    error: "lots" is not a heap size
    hint: write it as the JVM does: 512m or 2g
    "#);
}

#[test]
fn a_finding_that_does_not_exist() {
    let message = complaint(&Program::new(["explain", "linger-bond"]).run());
    assert!(
        message.starts_with("exit 2\nerror: there is no finding called \"linger-bond\"\nhint: "),
        "{message}"
    );
    assert!(message.contains("did you mean linger-bound"), "{message}");
    let all = Program::new(["explain"]).run().stdout;
    let ids = all.lines().filter(|line| line.starts_with("  ")).count();
    assert!(message.ends_with(&format!("plumb explain, without a name, lists all {ids}\n")), "{message}");
    let unlike = complaint(&Program::new(["explain", "zzz"]).run());
    assert!(unlike.lines().count() == 3 && unlike.len() < 200, "{unlike}");
}

#[test]
fn a_finding_by_the_name_that_it_had_in_an_earlier_version() {
    for (old, now) in [("pre_trend", "pre-trend"), ("faster_than_published", "faster-than-published")] {
        let message = complaint(&Program::new(["explain", old]).run());
        assert!(message.contains(&format!("did you mean {now}")), "{message}");
    }
}
