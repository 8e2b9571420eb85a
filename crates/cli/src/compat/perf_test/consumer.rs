//! kafka-consumer-perf-test.

use super::lines::{self, CONSUMER_HEADER, Consumed, DETAILED_HEADER, Interval};
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
    let topic = topic(arguments)?.to_owned();
    if strftime(&arguments.date_format).is_none() {
        let message = format!("--date-format {:?} cannot be honoured", arguments.date_format);
        return Err(UsageError::new(message, "letters that are known: y, M (a number), d, H, m, s, SSS"));
    }
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
    notes.extend(without_effect(arguments));
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
    let ConsumerPerfRefused { from_latest, zookeeper } = given;
    if *from_latest {
        return refused(
            "--from-latest",
            "a topic is read from its beginning; `plumb latency` measures reading what is new",
        );
    }
    if zookeeper.is_some() {
        return refused(
            "--zookeeper",
            "consumers ask the brokers since Kafka 2.0: --bootstrap-server HOST:PORT,...",
        );
    }
    Ok(())
}

/// What is taken and has no effect, each in a sentence.
fn without_effect(arguments: &ConsumerPerfArgs) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(group) = &arguments.group {
        notes.push(format!(
            "--group {group}: not used. The tool goes on where that group stands; here the topic is read from its beginning, and the \
             group's offsets are left alone"
        ));
    }
    if arguments.threads.is_some() {
        notes.push("--threads has no effect, as in the tool: one consumer reads".to_owned());
    }
    if arguments.print_metrics {
        notes.push("--print-metrics has no effect: run.json has the client's statistics".to_owned());
    }
    notes
}

/// The one topic to read. A pattern that is a plain name means that topic.
fn topic(arguments: &ConsumerPerfArgs) -> Result<&str, UsageError> {
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match (&arguments.topic, &arguments.include) {
        (Some(topic), _) => Ok(topic),
        (None, Some(pattern)) => Some(pattern.as_str()).filter(plain).ok_or_else(|| {
            UsageError::new(
                "--include is a pattern that cannot be honoured",
                "one topic is read: name it with --topic",
            )
        }),
        (None, None) => Err(UsageError::new("--topic is missing", "name the topic to read: --topic NAME")),
    }
}

/// A pattern of Java's SimpleDateFormat for [`jiff`]; none where it has letters beside those of the tool's own.
fn strftime(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let letters: Vec<char> = pattern.chars().collect();
    for run in letters.chunk_by(|a, b| a == b) {
        let text: String = run.iter().collect();
        match run[0] {
            'y' => out.push_str(if run.len() == 2 { "%y" } else { "%Y" }),
            'M' if run.len() <= 2 => out.push_str("%m"),
            'd' => out.push_str("%d"),
            'H' => out.push_str("%H"),
            'm' => out.push_str("%M"),
            's' => out.push_str("%S"),
            'S' if run.len() == 3 => out.push_str("%3f"),
            '%' => out.push_str(&"%%".repeat(run.len())),
            letter if letter.is_ascii_alphabetic() || letter == '\'' => return None,
            _ => out.push_str(&text),
        }
    }
    Some(out)
}

/// A topic from which no rate can be had.
pub(crate) fn without_rate(received: u64, arguments: &ConsumerPerfArgs) -> UsageError {
    let topic = arguments.topic.as_ref().or(arguments.include.as_ref()).map_or("", String::as_str);
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
    let format = strftime(&arguments.date_format)?;
    let time = |at: Timestamp| at.to_zoned(TimeZone::system()).strftime(&format).to_string();
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
    if !arguments.show_detailed_stats {
        return Some((format!("{header}{}", lines::row(&consumed)), notes));
    }
    let mut out = if arguments.hide_header { String::new() } else { DETAILED_HEADER.to_owned() };
    let per_line = usize::try_from(arguments.reporting_interval.div_ceil(1_000)).unwrap_or(usize::MAX);
    let bytes_per_record = bytes_per_s / per_s;
    let (mut records, mut seconds) = (0, 0.0);
    for rows in step.series.chunks(per_line) {
        let grown: u64 = rows.iter().map(|row| row.received).sum();
        // The last interval ends when the last record came.
        let length_s = (rows.len() as f64).min(elapsed_s - seconds).max(0.0);
        if grown == 0 || length_s == 0.0 {
            continue;
        }
        records += grown;
        seconds += length_s;
        let interval = Interval { records, grown, length_s, bytes_per_record };
        out += &lines::detailed(&time(start + Duration::from_secs_f64(seconds)), &interval);
    }
    Some((out, notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command, Tool};
    use clap::Parser;
    use plumb_model::document::BlockResult;
    use plumb_model::observation::SecondRow;
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
        for flag in ["--from-latest", "--zookeeper z:1", "--date-format EEE"] {
            let error = scenario(&arguments(&format!("{NEW} {flag}")), Driver::Librdkafka, None).unwrap_err();
            assert!(error.message.contains(flag.split(' ').next().unwrap()), "{}", error.message);
        }
        let pattern = arguments("--include x.* --messages 5 --broker-list b:1");
        assert!(scenario(&pattern, Driver::Librdkafka, None).unwrap_err().message.contains("--include"));
    }

    #[test]
    fn flags_without_effect_are_taken_and_told() {
        let of = |line: &str| scenario(&arguments(line), Driver::Librdkafka, None).unwrap();
        for flag in ["--group g", "--threads 4", "--num-fetch-threads 2", "--print-metrics"] {
            let (taken, notes) = of(&format!("{NEW} {flag}"));
            assert_eq!(taken, of(NEW).0, "{flag}");
            let name = if flag.starts_with("--num") { "--threads" } else { flag.split(' ').next().unwrap() };
            assert!(notes.iter().any(|note| note.starts_with(name)), "{flag}: {notes:?}");
        }
        assert_eq!(of("--include t --messages 500 --broker-list b:1").0, of(NEW).0);
    }

    #[test]
    fn detailed_rows_are_of_intervals_and_end_with_the_last_record() {
        let mut step = StepResult::default();
        step.counts.received = 500;
        step.throughput.received_per_s = Some(200.0);
        step.throughput.received_bytes_per_s = Some(200.0 * 1_048_576.0);
        let at = "2026-11-21T14:33:33Z".to_owned();
        step.blocks.push(BlockResult { started_at: at, ..BlockResult::default() });
        let row = |second, received| SecondRow { second, received, ..SecondRow::default() };
        step.series = vec![row(0, 200), row(1, 200), row(2, 100)];
        let line = format!("{NEW} --show-detailed-stats --reporting-interval 2000 --date-format ss");
        let out = output(&step, &arguments(&line)).unwrap().0;
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], DETAILED_HEADER.trim_end());
        assert_eq!(lines[1], "35, 0, 400.0000, 200.0000, 400, 200.0000, 0, 2000, 200.0000, 200.0000");
        assert_eq!(lines[2], "35, 0, 500.0000, 200.0000, 500, 200.0000, 0, 500, 200.0000, 200.0000");
        assert_eq!(lines.len(), 3, "and no row of the whole, as in the tool");
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
