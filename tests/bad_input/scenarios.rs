//! Scenario files with mistakes: each is shown where it is, with what would be right.

use super::{assert_says, complaint};
use crate::program::Program;

const RIGHT: &str = "\
name: orders
cluster: {bootstrap: \"127.0.0.1:1\"}
load:
  rate: 100
  count: 50
setups:
  - name: low
    producer: {linger.ms: 0}
";

/// The words of `plumb run` on the right scenario with one part replaced.
fn with(part: &str, replacement: &str) -> String {
    assert!(RIGHT.contains(part));
    let program = Program::new(["run", "s.yaml"]);
    std::fs::write(program.directory().join("s.yaml"), RIGHT.replace(part, replacement)).unwrap();
    complaint(&program.run())
}

#[test]
fn the_keys_that_could_have_been_meant_are_listed() {
    let message = with("rate:", "rte:");
    assert!(
        message.contains("unknown field `rte`, expected one of purpose, rate, mode, schedule, count, "),
        "{message}"
    );
}

#[test]
fn a_misspelt_key() {
    assert_says!(with("rate:", "rte:"), @r#"
    exit 2
    error: s.yaml:4:3: unknown field `rte`, expected one of [keys]
      |
    2 | cluster: {bootstrap: "127.0.0.1:1"}
    3 | load:
    4 |   rte: 100
      |   ^
    5 |   count: 50
    6 | setups:
      |
    hint: did you mean rate? docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    "#);
}

#[test]
fn a_misspelt_key_at_the_top() {
    assert_says!(with("setups:", "setup:"), @r"
    exit 2
    error: s.yaml:6:1: unknown field `setup`, expected one of [keys]
      |
    4 |   rate: 100
    5 |   count: 50
    6 | setup:
      | ^
    7 |   - name: low
    8 |     producer: {linger.ms: 0}
      |
    hint: did you mean setups? docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    ");
}

#[test]
fn a_text_where_a_number_belongs() {
    assert_says!(with("rate: 100", "rate: fast"), @r#"
    exit 2
    error: s.yaml:4:9: "fast" is not a rate; expected a number per second, such as 5000, 10k, 200/s or 1.6M/s (k is 1000, M 1000000), or max
      |
    2 | cluster: {bootstrap: "127.0.0.1:1"}
    3 | load:
    4 |   rate: fast
      |         ^
    5 |   count: 50
    6 | setups:
      |
    hint: docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    "#);
}

#[test]
fn a_list_where_none_is_allowed() {
    assert_says!(with("name: orders", "name: [orders, items]"), @r#"
    exit 2
    error: s.yaml:1:7: expected a text
      |
    1 | name: [orders, items]
      |       ^
    2 | cluster: {bootstrap: "127.0.0.1:1"}
    3 | load:
      |
    hint: docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    "#);
}

#[test]
fn a_negative_rate() {
    assert_says!(with("rate: 100", "rate: -100"), @r"
    exit 2
    error: s.yaml:4: load.rate is -100; it must be between 0.01 and 10000000, because no single generator sends more, and less is not a measurement
    ");
}

#[test]
fn a_rate_that_is_no_number() {
    assert_says!(with("rate: 100", "rate: .nan"), @r#"
    exit 2
    error: s.yaml:4:9: `.nan` is no finite number
      |
    2 | cluster: {bootstrap: "127.0.0.1:1"}
    3 | load:
    4 |   rate: .nan
      |         ^
    5 |   count: 50
    6 | setups:
      |
    hint: docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    "#);
}

#[test]
fn no_rate() {
    assert_says!(with("  rate: 100\n", ""), @r"
    exit 2
    error: s.yaml:3: load.rate is missing: latency has a meaning only at a rate; say how many messages per second, or max to measure throughput
    ");
}

#[test]
fn no_cluster() {
    assert_says!(with("cluster: {bootstrap: \"127.0.0.1:1\"}\n", ""), @r#"
    exit 2
    error: cluster is missing: say `lab` for a real broker on this machine, or where yours is: {bootstrap: "host:9092"}
    "#);
}

#[test]
fn a_count_with_a_duration() {
    assert_says!(with("count: 50", "count: 50\n  duration: 5s"), @r"
    exit 2
    error: s.yaml:6: load.count and load.duration cannot both be given: each says when the measured part ends
    ");
}

#[test]
fn a_size_without_a_unit_that_exists() {
    assert_says!(with("count: 50", "count: 50\n  size: 1 kilo"), @r#"
    exit 2
    error: s.yaml:6:9: "1 kilo" is not a size; expected bytes with a unit, such as 100B, 1KiB, 240KB, 1MiB or 4GiB
      |
    4 |   rate: 100
    5 |   count: 50
    6 |   size: 1 kilo
      |         ^
    7 | setups:
    8 |   - name: low
      |
    hint: docs/reference/scenario.schema.json lists every key; scenarios/ has examples
    "#);
}

#[test]
fn two_setups_of_one_name() {
    assert_says!(with("  - name: low\n", "  - name: low\n  - name: low\n"), @r#"
    exit 2
    error: s.yaml:8: two setups are called "low"; each needs a name of its own
    "#);
}

#[test]
fn a_property_that_the_client_library_does_not_know() {
    assert_says!(with("linger.ms: 0", "lingr.ms: 0"), @r#"
    exit 2
    error: s.yaml:8: client property lingr.ms = "0" is refused: No such configuration property: "lingr.ms"
    hint: did you mean linger.ms? the names are librdkafka's: see its CONFIGURATION.md
    "#);
}

#[test]
fn a_property_value_that_the_client_library_does_not_take() {
    assert_says!(with("linger.ms: 0", "compression.type: zip"), @r#"
    exit 2
    error: s.yaml:8: client property compression.type = "zip" is refused: Invalid value "zip" for configuration property "compression.type"
    hint: the names are librdkafka's: see its CONFIGURATION.md
    "#);
}

#[test]
fn acks_that_idempotence_excludes() {
    for driver in ["librdkafka", "wire"] {
        let said =
            with("linger.ms: 0}", &format!("acks: 1, enable.idempotence: true}}\n    driver: {driver}"));
        assert!(said.starts_with("exit 2\nerror: s.yaml:8: ") && said.contains("acks"), "{said}");
    }
}

#[test]
fn a_property_of_producers_for_consumers_and_the_other_way_round() {
    assert_says!(with("producer: {linger.ms: 0}", "consumer: {linger.ms: 5}"), @r"
    exit 2
    error: s.yaml:8: client property linger.ms is one of producers, and consumers ignore it
    hint: write it under `producer:` (-X producer.KEY=VALUE), or leave it out
    ");
    assert_says!(with("producer: {linger.ms: 0}", "producer: {fetch.min.bytes: 5}"), @r"
    exit 2
    error: s.yaml:8: client property fetch.min.bytes is one of consumers, and producers ignore it
    hint: write it under `consumer:` (-X consumer.KEY=VALUE), or leave it out
    ");
}

#[test]
fn a_connection_property_in_a_setup() {
    assert_says!(with("linger.ms: 0", "sasl.password: hunter2"), @r"
    exit 2
    error: s.yaml:8: producer.sasl.password cannot be set here: it belongs to the cluster: put it into the client properties file (cluster.config or --config)
    ");
}

#[test]
fn yaml_that_is_none() {
    assert_says!(with("producer: {linger.ms: 0}", "producer: {linger.ms: 0"), @r"
    exit 2
    error: s.yaml:8:15: `{` is not closed
      |
    6 | setups:
    7 |   - name: low
    8 |     producer: {linger.ms: 0
      |               ^
    hint: close it with `}` behind its last value
    ");
}

#[test]
fn a_bracket_that_is_open_where_other_keys_follow() {
    assert_says!(with("\"127.0.0.1:1\"}", "\"127.0.0.1:1\""), @r#"
    exit 2
    error: s.yaml:2:10: `{` is not closed
      |
    1 | name: orders
    2 | cluster: {bootstrap: "127.0.0.1:1"
      |          ^
    3 | load:
    4 |   rate: 100
      |
    hint: close it with `}` behind its last value
    "#);
}

#[test]
fn a_tab_that_indents() {
    let said = with("  rate: 100", "\trate: 100");
    assert!(said.starts_with("exit 2\nerror: s.yaml:4:1: a tab indents this line\n"), "{said}");
    assert!(
        said.ends_with("hint: YAML is indented with spaces alone: put spaces in the tab's place\n"),
        "{said}"
    );
}

#[test]
fn a_file_that_does_not_exist() {
    assert_says!(complaint(&Program::new(["run", "nowhere.yaml"]).run()), @r"
    exit 2
    error: cannot read the scenario
      cause: failed to open file `nowhere.yaml`: No such file or directory (os error 2)
    hint: ready ones are in scenarios/
    ");
}

#[test]
fn a_payload_file_that_does_not_exist() {
    assert_says!(with("count: 50", "count: 50\n  payload: {file: nowhere.bin}"), @r"
    exit 2
    error: s.yaml:6: payload file nowhere.bin: No such file or directory (os error 2)
    hint: load.payload.file names the file whose bytes the messages carry
    ");
}
