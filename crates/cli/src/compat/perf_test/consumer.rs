//! kafka-consumer-perf-test.

use super::lines::{self, CONSUMER_HEADER, Consumed};
use super::properties::{self, ToolProperties};
use crate::args::{ConsumerPerfArgs, ConsumerPerfRefused};
use crate::compat::java_client::Role;
use crate::errors::UsageError;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_model::document::StepResult;
use plumb_model::plan::{Driver, Mode};
use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, Scalar, Scenario, SetupWords, TopicWords};
use plumb_model::units::Nanos;
use std::time::Duration;

/// The tool's flags as a scenario, with what to know of them. `config` is the content of --command-config.
pub(crate) fn scenario(
    arguments: &ConsumerPerfArgs,
    driver: Driver,
    config: Option<&str>,
) -> Result<(Scenario, Vec<String>), UsageError> {
    refuse(&arguments.refused)?;
    let Some(topic) = &arguments.topic else {
        return Err(UsageError::new("--topic is missing", "name the topic to read: --topic NAME"));
    };
    let file = arguments.command_config.as_deref().zip(config);
    let given = properties::read(Role::Consumer, &arguments.command_property, file)?;
    let ToolProperties { bootstrap, config, client, mut notes } = given;
    let Some(bootstrap) = arguments.bootstrap_server.clone().or(bootstrap) else {
        let hint = "--bootstrap-server HOST:PORT,... (or bootstrap.servers among the properties)";
        return Err(UsageError::new("the cluster's address is missing", hint));
    };
    notes.push(
        "reads from the topic's beginning to its end, with a group of its own that is deleted".to_owned(),
    );
    let mut consumer = std::collections::BTreeMap::new();
    for (name, value) in [
        ("max.partition.fetch.bytes", arguments.fetch_size),
        ("socket.receive.buffer.bytes", arguments.socket_buffer_size),
    ] {
        consumer.insert(name.to_owned(), OneOrMany::One(Scalar(value.to_string())));
    }
    consumer.extend(client.into_iter().map(|(name, value)| (name, OneOrMany::One(Scalar(value)))));
    let scenario = Scenario {
        name: Some("kafka-consumer-perf-test".to_owned()),
        cluster: Some(ClusterWords { bootstrap: Some(bootstrap), config, ..ClusterWords::default() }),
        driver: Some(OneOrMany::One(driver)),
        blocks: Some(1),
        settle: Some(Nanos(0)),
        twin: Some(0),
        topic: TopicWords { name: Some(topic.clone()), ..TopicWords::default() },
        load: LoadWords {
            mode: Some(Mode::Consume),
            count: Some(OneOrMany::One(arguments.num_records)),
            drain: Some(Nanos::from_millis(arguments.timeout)),
            consumers: Some(OneOrMany::One(1)),
            ..LoadWords::default()
        },
        setups: vec![SetupWords { name: Some(topic.clone()), consumer, ..SetupWords::default() }],
        ..Scenario::default()
    };
    Ok((scenario, notes))
}

fn refuse(given: &ConsumerPerfRefused) -> Result<(), UsageError> {
    let refused =
        |flag: &str, reason: &str| Err(UsageError::new(format!("{flag} cannot be honoured"), reason));
    let ConsumerPerfRefused { group, from_latest, include, print_metrics, show_detailed_stats, date_format } =
        given;
    if group.is_some() {
        return refused(
            "--group",
            "each run uses a group of its own and leaves the offsets of yours alone; leave it out",
        );
    }
    if *from_latest {
        return refused(
            "--from-latest",
            "a topic is read from its beginning; `plumb latency` measures reading what is new",
        );
    }
    if include.is_some() {
        return refused("--include", "one topic is read: name it with --topic");
    }
    if *print_metrics {
        return refused(
            "--print-metrics",
            "the Java client's metrics are not here; run.json has librdkafka's statistics",
        );
    }
    if *show_detailed_stats {
        return refused("--show-detailed-stats", "run.json has a row for every second (steps[].series)");
    }
    if date_format.is_some() {
        return refused("--date-format", "times are printed as by default, yyyy-MM-dd HH:mm:ss:SSS");
    }
    Ok(())
}

/// A topic from which no rate can be had.
pub(crate) fn without_rate(received: u64, arguments: &ConsumerPerfArgs) -> UsageError {
    let topic = arguments.topic.as_deref().unwrap_or_default();
    let hint = "kafka-producer-perf-test fills a topic; reading has to take a second or more to be measured";
    match received {
        0 => UsageError::new(format!("nothing was read from topic {topic:?}"), hint),
        records => {
            let message = format!("the {records} records of topic {topic:?} are too few: they came at once");
            UsageError::new(message, hint)
        }
    }
}

/// What the tool prints of a run, and what to know of it; none when nothing was received, or in no time.
pub(crate) fn output(step: &StepResult, arguments: &ConsumerPerfArgs) -> Option<(String, Vec<String>)> {
    let records = step.counts.received;
    let per_s = step.throughput.received_per_s.filter(|rate| *rate > 0.0)?;
    let bytes_per_s = step.throughput.received_bytes_per_s?;
    let elapsed_s = records as f64 / per_s;
    let start: Timestamp = step.blocks.first()?.started_at.parse().ok()?;
    let time = |at: Timestamp| at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S:%3f").to_string();
    let consumed = Consumed {
        start: time(start),
        end: time(start + Duration::from_secs_f64(elapsed_s)),
        records,
        bytes: bytes_per_s * elapsed_s,
        elapsed_s,
    };
    let header = if arguments.hide_header { "" } else { CONSUMER_HEADER };
    let mut notes =
        vec!["the time begins when the group has settled: rebalance.time.ms is 0, and fetch.* are those of the whole".to_owned()];
    if records < arguments.num_records {
        // The tool's own words.
        notes.push(format!(
            "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can use the \
             --timeout option to increase the timeout.",
            arguments.timeout
        ));
    } else if records > arguments.num_records {
        notes.push(format!(
            "--num-records is {}, and all {records} records of the topic were read",
            arguments.num_records
        ));
    }
    let counts = &step.counts;
    notes.push(format!(
        "{} records of the log are missing, {} came twice, {} out of order, {} are damaged",
        step.accounting
            .offset_delta
            .map_or("an unknown number of".to_owned(), |delta| { delta.saturating_sub(records).to_string() }),
        counts.duplicated,
        counts.reordered,
        step.accounting.corrupt,
    ));
    Some((format!("{header}{}", lines::row(&consumed)), notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command, Tool};
    use clap::Parser;
    use plumb_model::document::BlockResult;
    use plumb_model::resolve::{Sources, resolve};

    fn arguments(line: &str) -> ConsumerPerfArgs {
        let words = ["plumb", "compat", "kafka-consumer-perf-test"].into_iter().chain(line.split(' '));
        let Command::Compat(compat) = Arguments::try_parse_from(words).unwrap().command else { panic!() };
        let Tool::KafkaConsumerPerfTest(arguments) = compat.tool else { panic!() };
        arguments
    }

    const NEW: &str = "--topic t --num-records 500 --bootstrap-server b:1";

    #[test]
    fn old_and_new_names_of_flags_mean_the_same() {
        let of = |line| scenario(&arguments(line), Driver::Librdkafka, None).unwrap().0;
        assert_eq!(of("--topic t --messages 500 --bootstrap-server b:1"), of(NEW));
        let step = resolve(&of(NEW), &Sources::new()).unwrap().steps.remove(0);
        assert_eq!((step.load.mode, step.load.consumers), (Mode::Consume, 1));
        assert_eq!(step.consumer["max.partition.fetch.bytes"], "1048576");
        assert_eq!(step.load.drain, Nanos::from_secs(10));
    }

    #[test]
    fn flags_that_cannot_be_honoured_are_refused_by_name() {
        for flag in [
            "--group g",
            "--from-latest",
            "--include x.*",
            "--print-metrics",
            "--show-detailed-stats",
            "--date-format y",
        ] {
            let error = scenario(&arguments(&format!("{NEW} {flag}")), Driver::Librdkafka, None).unwrap_err();
            assert!(error.message.contains(flag.split(' ').next().unwrap()), "{}", error.message);
        }
    }

    #[test]
    fn the_row_is_of_what_was_received_and_too_few_records_are_told_as_the_tool_does() {
        let mut step = StepResult::default();
        step.counts.received = 400;
        step.throughput.received_per_s = Some(200.0);
        step.throughput.received_bytes_per_s = Some(200.0 * 1_048_576.0);
        step.blocks
            .push(BlockResult { started_at: "2026-11-21T14:33:33.241Z".into(), ..BlockResult::default() });
        let (out, notes) = output(&step, &arguments(NEW)).unwrap();
        let row = out.lines().nth(1).unwrap();
        assert!(row.ends_with(", 400.0000, 200.0000, 400, 200.0000, 0, 2000, 200.0000, 200.0000"), "{row}");
        assert!(notes[1].starts_with("WARNING: Exiting before consuming"), "{notes:?}");
        let bare = output(&step, &arguments(&format!("{NEW} --hide-header"))).unwrap().0;
        assert_eq!(bare.lines().count(), 1);
        assert!(
            output(&StepResult::default(), &arguments(NEW)).is_none(),
            "nothing received is no row of zeros"
        );
    }
}
