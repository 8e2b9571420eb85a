//! kafka-consumer-perf-test.

use super::flags::{ConsumerPerfArgs, ConsumerPerfRefused};
use super::lines::{self, CONSUMER_HEADER, Consumed, DETAILED_HEADER, Interval};
use super::properties::{self, PropertiesFile, ToolProperties};
use super::windows::{Last, windows};
use crate::java_client::Role;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_model::document::StepResult;
use plumb_model::fault::UsageError;
use plumb_model::figure::{counted, time};
use plumb_model::plan::{Driver, Mode};
use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, Scalar, Scenario, SetupWords, TopicWords};
use plumb_model::units::Nanos;
use std::time::Duration;

/// Seconds from which on a rate is one of the path (ours, as long as the rows of the series).
const RATE_FROM_S: f64 = 1.0;

/// The tool's flags as a scenario, with what to know of them. `config` is the content of --command-config.
pub fn scenario(
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
    let file = PropertiesFile::of(arguments.command_config.as_deref(), config);
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
        driver: Some(OneOrMany::One(driver.into())),
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

/// The flags that are taken and have no effect, each in a sentence.
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
pub fn without_rate(received: u64, arguments: &ConsumerPerfArgs) -> UsageError {
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

/// The tool's output for a run, with notes on it; none when nothing was received, or in no time.
pub fn output(step: &StepResult, arguments: &ConsumerPerfArgs) -> Option<(String, Vec<String>)> {
    let reading = Reading::of(step)?;
    let format = strftime(&arguments.date_format)?;
    let time = |second: f64| {
        let at = reading.seconds_from + Duration::from_secs_f64(second);
        at.to_zoned(TimeZone::system()).strftime(&format).to_string()
    };
    let notes = notes(step, &reading, arguments);
    let header = match arguments.show_detailed_stats {
        _ if arguments.hide_header => "",
        true => DETAILED_HEADER,
        false => CONSUMER_HEADER,
    };
    let rows = match arguments.show_detailed_stats {
        true => detailed(step, &reading, arguments.reporting_interval, time),
        false => lines::row(&Consumed {
            start: time(reading.begun_s),
            end: time(reading.ended_s),
            records: reading.records,
            bytes: reading.bytes_per_record * reading.records as f64,
            elapsed_s: reading.ended_s - reading.begun_s,
        }),
    };
    Some((format!("{header}{rows}"), notes))
}

/// The messages that were read, by time.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The beginning of the block's seconds.
    seconds_from: Timestamp,
    /// From there to the release of the consumer, and to its last record.
    begun_s: f64,
    ended_s: f64,
    records: u64,
    bytes_per_record: f64,
}

impl Reading {
    fn of(step: &StepResult) -> Option<Self> {
        let records = step.counts.received;
        let per_s = step.throughput.received_per_s.filter(|rate| *rate > 0.0)?;
        let block = step.blocks.first()?;
        let begun_s = block.measured_after_s?;
        Some(Reading {
            seconds_from: block.seconds_from.as_ref()?.parse().ok()?,
            begun_s,
            ended_s: begun_s + records as f64 / per_s,
            records,
            bytes_per_record: step.throughput.received_bytes_per_s? / per_s,
        })
    }
}

/// A row for each interval with records, in place of the one of the whole. The last ends with the last record.
fn detailed(step: &StepResult, reading: &Reading, interval_ms: u64, time: impl Fn(f64) -> String) -> String {
    let mut out = String::new();
    let (mut records, mut from_s) = (0, reading.begun_s);
    for window in windows(&step.series, interval_ms, Last::Counts) {
        let grown: u64 = step.series[window.rows].iter().map(|row| row.received).sum();
        let to_s = f64::from(window.to).min(reading.ended_s);
        let length_s = to_s - from_s;
        if grown == 0 || length_s <= 0.0 {
            continue;
        }
        records += grown;
        from_s = to_s;
        let interval = Interval { records, grown, length_s, bytes_per_record: reading.bytes_per_record };
        out += &lines::detailed(&time(to_s), &interval);
    }
    out
}

/// Notes on a reading, each a sentence.
fn notes(step: &StepResult, reading: &Reading, arguments: &ConsumerPerfArgs) -> Vec<String> {
    let (records, counts) = (reading.records, &step.counts);
    let missing = step.accounting.offset_delta.map(|delta| delta.saturating_sub(records));
    let mut notes =
        vec!["the time begins when the group has settled: rebalance.time.ms is 0, and fetch.* are those of the whole".to_owned()];
    let elapsed_s = reading.ended_s - reading.begun_s;
    if elapsed_s < RATE_FROM_S {
        notes.push(format!(
            "all {} came within {}: rates of less than a second are more of the client's first fetches than \
             of the path; read a topic with more in it",
            counted(records, "record"),
            time(elapsed_s * 1e9)
        ));
    }
    let asked = arguments.num_records;
    if records > asked {
        notes.push(format!("--num-records is {asked}, and all {records} records of the topic were read"));
    } else if records < asked && missing == Some(0) {
        notes.push(format!(
            "the topic has {records} records and not {asked}: the reading ended with the topic, where the tool waits out its \
             --timeout ({} ms, which are in its rates) and warns of it",
            arguments.timeout
        ));
    } else if records < asked && !step.blocks.iter().any(|block| block.cut_short) {
        // The tool's own words.
        notes.push(format!(
            "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can use the \
             --timeout option to increase the timeout.",
            arguments.timeout
        ));
    }
    notes.push(format!(
        "{} records of the log are missing, {} came twice, {} out of order, {} are damaged",
        missing.map_or("an unknown number of".to_owned(), |missing| missing.to_string()),
        counts.duplicated,
        counts.reordered,
        step.accounting.corrupt,
    ));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};
    use plumb_model::document::BlockResult;
    use plumb_model::observation::SecondRow;
    use plumb_model::resolve::{Sources, resolve};

    fn arguments(line: &str) -> ConsumerPerfArgs {
        let words = std::iter::once("tool").chain(line.split(' '));
        let matches =
            ConsumerPerfArgs::augment_args(Command::new("tool")).try_get_matches_from(words).unwrap();
        ConsumerPerfArgs::from_arg_matches(&matches).unwrap()
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

    /// So many records of 1 MiB at 200 a second, released 0.25 s after the block's seconds began.
    fn read(records: u64, series: &[(u32, u64)]) -> StepResult {
        let mut step = StepResult::default();
        step.counts.received = records;
        step.accounting.offset_delta = Some(records);
        step.throughput.received_per_s = Some(200.0);
        step.throughput.received_bytes_per_s = Some(200.0 * 1_048_576.0);
        step.blocks.push(BlockResult {
            started_at: "2026-11-21T14:33:32Z".into(),
            seconds_from: Some("2026-11-21T14:33:33.241Z".into()),
            measured_after_s: Some(0.25),
            ..BlockResult::default()
        });
        let row = |(second, received): &(u32, u64)| SecondRow {
            second: *second,
            received: *received,
            ..SecondRow::default()
        };
        step.series = series.iter().map(row).collect();
        step
    }

    #[test]
    fn the_row_begins_with_the_release_and_ends_with_the_last_record_to_the_millisecond() {
        let (out, _) = output(&read(400, &[]), &arguments(&format!("{NEW} --date-format ss:SSS"))).unwrap();
        let row = out.lines().nth(1).unwrap();
        assert_eq!(row, "33:491, 35:491, 400.0000, 200.0000, 400, 200.0000, 0, 2000, 200.0000, 200.0000");
        let bare = output(&read(400, &[]), &arguments(&format!("{NEW} --hide-header"))).unwrap().0;
        assert_eq!(bare.lines().count(), 1);
        assert!(
            output(&StepResult::default(), &arguments(NEW)).is_none(),
            "nothing received is no row of zeros"
        );
    }

    #[test]
    fn detailed_rows_are_of_intervals_and_end_with_the_last_record() {
        let line = format!("{NEW} --show-detailed-stats --reporting-interval 2000 --date-format ss:SSS");
        let rows = |series| -> Vec<String> {
            output(&read(500, series), &arguments(&line)).unwrap().0.lines().map(str::to_owned).collect()
        };
        assert_eq!(
            rows(&[(0, 150), (1, 200), (2, 150)]),
            [
                DETAILED_HEADER.trim_end(),
                "35:241, 0, 350.0000, 200.0000, 350, 200.0000, 0, 1750, 200.0000, 200.0000",
                "35:991, 0, 500.0000, 200.0000, 500, 200.0000, 0, 750, 200.0000, 200.0000",
            ],
            "and no row of the whole, as in the tool"
        );
        // Nothing came in the first two seconds: they are time of the first row, and not left out.
        assert_eq!(
            rows(&[(2, 500)])[1..],
            ["35:991, 0, 500.0000, 200.0000, 500, 200.0000, 0, 2500, 200.0000, 200.0000"]
        );
    }

    #[test]
    fn the_timeout_is_blamed_only_where_it_passed() {
        let notes = |step: &StepResult| output(step, &arguments(NEW)).unwrap().1.join("\n");
        let short = read(400, &[]);
        let told = notes(&short);
        assert!(
            told.contains("the topic has 400 records and not 500") && !told.contains("WARNING"),
            "{told}"
        );
        let mut stuck = read(400, &[]);
        stuck.accounting.offset_delta = Some(450);
        let told = notes(&stuck);
        assert!(
            told.contains("WARNING: Exiting before consuming")
                && told.contains("50 records of the log are missing")
        );
        stuck.blocks[0].cut_short = true;
        assert!(!notes(&stuck).contains("WARNING"), "who stopped it knows why");
        let told = notes(&read(500, &[]));
        assert!(!told.contains("WARNING") && !told.contains("the topic has"), "{told}");
    }

    #[test]
    fn rates_of_less_than_a_second_are_told_to_be() {
        let notes = |records| output(&read(records, &[]), &arguments(NEW)).unwrap().1.join("\n");
        assert!(notes(100).contains("all 100 records came within 500 ms"));
        assert!(!notes(400).contains("came within"));
    }
}
