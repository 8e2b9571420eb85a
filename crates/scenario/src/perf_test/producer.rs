//! kafka-producer-perf-test.

use super::flags::{ProducerPerfArgs, ProducerPerfRefused};
use super::lines::{self, Percentiles, Sent};
use super::properties::{self, PropertiesFile, ToolProperties};
use super::windows::{Last, windows};
use crate::java_client::{Generation, Role, producer_defaults};
use plumb_model::document::StepResult;
use plumb_model::fault::UsageError;
use plumb_model::figure::{percent, time, time_interval};
use plumb_model::plan::{Driver, Mode, Payload, SizePlan, WeightedSize};
use plumb_model::scenario::{
    ClusterWords, LoadWords, OneOrMany, RateWords, Scalar, Scenario, SetupWords, SizeWords, TopicWords,
};
use plumb_model::units::{Bytes, Nanos};
use plumb_stats::histogram::Histogram;

/// The time for which the tool's client tries to deliver a record (delivery.timeout.ms).
const DRAIN: Nanos = Nanos(120_000_000_000);
/// Compressed size of the tool's random capital letters by codecs that code letters by their frequency, as a share of random
/// bytes. The others find nothing to take away.
const LETTERS: f64 = 0.61;

/// Share of the time to the acknowledgement from which on the queue makes it (ours: half).
const QUEUE_MOSTLY: f64 = 0.5;

/// The contents of the files that the flags name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files<'a> {
    /// Of --command-config.
    pub config: Option<&'a str>,
    /// Of --payload-file.
    pub payload: Option<&'a [u8]>,
}

/// Most sizes of a mix. Records of more sizes are put together in as many groups of equal number, each with its mean size.
const SIZES_MAX: usize = 64;

/// The sizes of a file's records, each as often as in the file.
fn sizes_of_records(content: &[u8], delimiter: &str) -> Result<SizePlan, UsageError> {
    // As the tool takes it: the escape of a line's end is written out.
    let delimiter = delimiter.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r");
    let text = String::from_utf8_lossy(content);
    let records = text.split(delimiter.as_str()).map(str::len).filter(|size| *size > 0);
    let mut sizes: Vec<u64> = records.map(|size| size as u64).collect();
    if sizes.is_empty() || delimiter.is_empty() {
        let hint = "each record ends with --payload-delimiter, by default the end of the line";
        return Err(UsageError::new("--payload-file has no record", hint));
    }
    sizes.sort_unstable();
    let distinct: Vec<&[u64]> = sizes.chunk_by(|a, b| a == b).collect();
    let groups = match distinct.len() <= SIZES_MAX {
        true => distinct,
        false => sizes.chunks(sizes.len().div_ceil(SIZES_MAX)).collect(),
    };
    let mix = groups.into_iter().map(|group| WeightedSize {
        size: Bytes((group.iter().sum::<u64>() as f64 / group.len() as f64).round() as u64),
        weight: u32::try_from(group.len()).unwrap_or(u32::MAX),
    });
    Ok(SizePlan::Mix(mix.collect()))
}

/// The tool's flags as a scenario, with what to know of them.
pub fn scenario(
    arguments: &ProducerPerfArgs,
    driver: Driver,
    files: Files<'_>,
) -> Result<(Scenario, Vec<String>), UsageError> {
    refuse(&arguments.refused)?;
    let size = match (arguments.record_size, files.payload) {
        (Some(size), _) => SizePlan::Fixed(Bytes(size)),
        (None, Some(content)) => sizes_of_records(content, &arguments.payload_delimiter)?,
        (None, None) => {
            let hint =
                "give the size of the records: --record-size BYTES, or a file of them: --payload-file FILE";
            return Err(UsageError::new("--record-size is missing", hint));
        }
    };
    let rate = match arguments.throughput {
        rate if rate < 0.0 => RateWords::Max,
        rate if rate > 0.0 => RateWords::PerSecond(rate),
        _ => {
            let hint = "-1 is as fast as possible; the tool itself sends nothing and does not end at 0";
            return Err(UsageError::new("--throughput 0 sends nothing", hint));
        }
    };
    let file = PropertiesFile::of(arguments.command_config.as_deref(), files.config);
    let given = properties::read(Role::Producer, &arguments.command_property, file)?;
    let ToolProperties { bootstrap, config, client, mut notes } = given;
    let Some(bootstrap) = arguments.bootstrap_server.clone().or(bootstrap) else {
        let hint = "--bootstrap-server HOST:PORT,... (or bootstrap.servers among the properties)";
        return Err(UsageError::new("the cluster's address is missing", hint));
    };
    let defaults = producer_defaults(Generation::Four, |name| client.get(name).map(String::as_str));
    let mut producer: std::collections::BTreeMap<String, OneOrMany<Scalar>> = defaults
        .into_iter()
        .map(|(name, value)| (name.to_owned(), OneOrMany::One(Scalar(value.to_owned()))))
        .collect();
    let entropy = match client.get("compression.type").map(String::as_str) {
        Some("gzip" | "zstd") => {
            notes.push(format!(
                "values are random in {LETTERS} of their bytes and zero in the rest: gzip and zstd make about as much of \
                 the tool's random letters"
            ));
            LETTERS
        }
        _ => 1.0,
    };
    let payload = match &arguments.payload_file {
        None => Payload::Entropy(entropy),
        Some(path) => {
            notes.push(
                "values are as long as the file's records and made of the file's bytes, cut anew: no value is one of the records"
                    .to_owned(),
            );
            Payload::File(path.clone())
        }
    };
    if arguments.print_metrics {
        notes.push("--print-metrics has no effect: run.json has the client's statistics".to_owned());
    }
    producer.extend(client.into_iter().map(|(name, value)| (name, OneOrMany::One(Scalar(value)))));
    let scenario = Scenario {
        name: Some("kafka-producer-perf-test".to_owned()),
        cluster: Some(ClusterWords { bootstrap: Some(bootstrap), config, ..ClusterWords::default() }),
        driver: Some(OneOrMany::One(driver.into())),
        blocks: Some(1),
        settle: Some(Nanos(0)),
        twin: Some(0),
        topic: TopicWords { name: Some(arguments.topic.clone()), ..TopicWords::default() },
        load: LoadWords {
            rate: Some(OneOrMany::One(rate)),
            mode: Some(Mode::Produce),
            count: Some(OneOrMany::One(arguments.num_records)),
            warm_up: Some(Nanos(0)),
            drain: Some(DRAIN),
            producers: Some(OneOrMany::One(1)),
            consumers: Some(OneOrMany::One(0)),
            size: Some(OneOrMany::One(SizeWords(size))),
            payload: Some(payload),
            ..LoadWords::default()
        },
        setups: vec![SetupWords { name: Some(arguments.topic.clone()), producer, ..SetupWords::default() }],
        ..Scenario::default()
    };
    Ok((scenario, notes))
}

fn refuse(given: &ProducerPerfRefused) -> Result<(), UsageError> {
    let refused =
        |flag: &str, reason: &str| Err(UsageError::new(format!("{flag} cannot be honoured"), reason));
    let ProducerPerfRefused { payload_monotonic, transactional_id, transaction_duration_ms, warmup_records } =
        given;
    if *payload_monotonic {
        return refused(
            "--payload-monotonic",
            "each value carries Plumb's stamp; --record-size says how large it is",
        );
    }
    if transactional_id.is_some() || transaction_duration_ms.is_some() {
        return refused(
            "--transactional-id",
            "Plumb sends no transactions; leave it out to measure the same load without",
        );
    }
    if warmup_records.is_some_and(|records| records > 0) {
        let reason = "the tool's first line counts them in, and Plumb keeps no latency of a warm-up; `plumb latency --warm-up \
                      TIME` leaves the warm-up out of everything";
        return refused("--warmup-records", reason);
    }
    Ok(())
}

/// The tool's output for a run: progress lines and the last line. `service` has the times from send to acknowledgement of each row of the
/// step's series; it is empty where they are not known.
pub fn output(step: &StepResult, service: &[Option<Histogram>], interval_ms: u64) -> String {
    let bytes = step.value_bytes_mean;
    let most_ms = ms(step.latency.acknowledge_service.max_ns.map(|ns| ns as f64));
    let mut out = String::new();
    for window in windows(&step.series, interval_ms, Last::LeftOut) {
        let Some(seconds) = service.get(window.rows.clone()) else { break };
        let records: u64 = step.series[window.rows].iter().map(|row| row.acked).sum();
        let mut times = Histogram::new();
        seconds.iter().flatten().for_each(|second| times.merge(second));
        let records_per_s = records as f64 / f64::from(window.to - window.from);
        // The seconds' times come out of buckets, whose upper end may lie above the largest time of all.
        let max_ms = ms(times.exact().max_ns.map(|ns| ns as f64)).map(|ms| ms.min(most_ms.unwrap_or(ms)));
        let mean_ms = ms(times.mean_ns()).map(|ms| ms.min(max_ms.unwrap_or(ms)));
        let sent = Sent { records, records_per_s, bytes_per_s: records_per_s * bytes, mean_ms, max_ms };
        out += &lines::progress(&sent);
    }
    let mut whole = Histogram::new();
    service.iter().flatten().for_each(|second| whole.merge(second));
    let records_per_s = reached_per_s(step).unwrap_or(0.0);
    let mean_ns = step.latency.acknowledge_service.mean_ns;
    let sent = Sent {
        records: step.counts.acked,
        records_per_s,
        bytes_per_s: records_per_s * bytes,
        mean_ms: ms(mean_ns),
        max_ms: most_ms,
    };
    let of = |quantile: f64| {
        let ms = ms(whole.at_quantile(quantile).map(|ns| ns as f64))?;
        Some(ms.min(most_ms.unwrap_or(ms)).round() as u64)
    };
    let percentiles = Percentiles { p50_ms: of(0.5), p95_ms: of(0.95), p99_ms: of(0.99), p999_ms: of(0.999) };
    out + &lines::last(&sent, &percentiles)
}

/// The rate as the tool counts it: until the last acknowledgement, also where the schedule ends later.
fn reached_per_s(step: &StepResult) -> Option<f64> {
    let within_s = step.blocks.iter().map(|block| block.acknowledged_within_s).sum::<Option<f64>>();
    let reached =
        within_s.filter(|within_s| *within_s > 0.0).map(|within_s| step.counts.acked as f64 / within_s);
    reached.or(step.achieved_per_s)
}

/// Sentences on what the tool's lines leave out.
pub fn corrections(step: &StepResult) -> Vec<String> {
    let mut notes = Vec::new();
    if step.asked_per_s.is_none() {
        notes.push(at_full_load(step));
    } else {
        let corrected = &step.latency.acknowledge;
        let interval = corrected.mean_interval.map_or(String::new(), |interval| {
            format!(" ({} interval {})", percent(interval.level), time_interval(interval.low, interval.high))
        });
        notes.push(format!(
            "from the intended send time, which the line leaves out: mean {}{interval}, p50 {}, p95 {}, p99 {}, p99.9 {}, max {}",
            shown(corrected.mean_ns),
            shown_ns(corrected.p50_ns),
            shown_ns(corrected.p95_ns),
            shown_ns(corrected.p99_ns),
            shown_ns(corrected.p999_ns),
            shown_ns(corrected.max_ns),
        ));
        if corrected.samples > 0 && corrected.p999_ns.is_none() {
            notes.push(format!(
                "{} records are too few for a p99.9 (10,000): that of the line rests on {} of them",
                corrected.samples,
                (corrected.samples / 1_000).max(1)
            ));
        }
    }
    let counts = &step.counts;
    notes.push(format!(
        "of {} records sent, {} were acknowledged, {} failed, {} have an unknown outcome; the broker's log grew by {}, with the record that tries each partition before",
        counts.sent,
        counts.acked,
        counts.failed,
        counts.unknown,
        step.accounting.offset_delta.map_or("an unknown number".to_owned(), |delta| delta.to_string()),
    ));
    notes
}

/// A sentence on the meaning of the line's latency where nothing paces the records.
fn at_full_load(step: &StepResult) -> String {
    let service = step.latency.acknowledge_service.mean_ns;
    let queue = step.producer_statistics.queue_mean_ns;
    let times = format!("mean {}, mean time in the client's own queue {}", shown(service), shown(queue));
    let what = match service.zip(queue) {
        None => "the latency of the line is that at full load, with whatever waits in the client's own queue",
        Some((service, queue)) if queue >= QUEUE_MOSTLY * service => {
            "the latency of the line is mostly how long the client's own queue is, not how fast the path is"
        }
        Some(_) => {
            "the latency of the line is that at full load, with as many requests under way as the client allows, not that of a \
             path with room"
        }
    };
    format!(
        "as fast as possible: {what} ({times}). Give a --throughput that the path keeps up with to measure latency"
    )
}

fn ms(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e6)
}

fn shown(ns: Option<f64>) -> String {
    ns.map_or("not known".to_owned(), time)
}

fn shown_ns(ns: Option<u64>) -> String {
    shown(ns.map(|ns| ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};
    use plumb_model::document::BlockResult;
    use plumb_model::observation::{Distribution, SecondRow};
    use plumb_model::resolve::{Sources, resolve};

    fn arguments(line: &str) -> ProducerPerfArgs {
        let words = std::iter::once("tool").chain(line.split(' '));
        let matches =
            ProducerPerfArgs::augment_args(Command::new("tool")).try_get_matches_from(words).unwrap();
        ProducerPerfArgs::from_arg_matches(&matches).unwrap()
    }

    const OLD: &str = "--topic t --num-records 500 --record-size 100 --throughput 50 --producer-props bootstrap.servers=b:1 \
                       acks=1 linger.ms=7";
    const NEW: &str = "--topic t --num-records 500 --record-size 100 --throughput 50 --bootstrap-server b:1 \
                       --command-property acks=1 linger.ms=7";

    #[test]
    fn old_and_new_names_of_flags_mean_the_same() {
        let of = |line| scenario(&arguments(line), Driver::Librdkafka, Files::default()).unwrap().0;
        assert_eq!(of(OLD), of(NEW));
        let plan = resolve(&of(NEW), &Sources::new()).unwrap();
        let step = &plan.steps[0];
        assert_eq!(
            (step.load.rate_per_s, step.load.messages(), step.load.consumers),
            (Some(50.0), Some(500), 0)
        );
        let property = |name: &str| step.producer.get(name).map(String::as_str);
        assert_eq!(
            (property("acks"), property("linger.ms"), property("batch.size")),
            (Some("1"), Some("7"), Some("16384"))
        );
        assert_eq!(property("enable.idempotence"), None, "with acks=1 the Java client has none");
    }

    #[test]
    fn minus_one_is_as_fast_as_possible_and_0_is_refused() {
        let max = arguments(&NEW.replace("--throughput 50", "--throughput -1"));
        let (max, _) = scenario(&max, Driver::Wire, Files::default()).unwrap();
        assert!(resolve(&max, &Sources::new()).unwrap().steps[0].load.saturating());
        let zero = arguments(&NEW.replace("--throughput 50", "--throughput 0"));
        assert!(scenario(&zero, Driver::Wire, Files::default()).is_err());
    }

    #[test]
    fn flags_that_cannot_be_honoured_are_refused_by_name() {
        for flag in ["--payload-monotonic", "--transactional-id t", "--warmup-records 5"] {
            let line = format!("{NEW} {flag}");
            let error = scenario(&arguments(&line), Driver::Librdkafka, Files::default()).unwrap_err();
            let name = flag.split(' ').next().unwrap();
            assert!(error.message.contains(name) && error.hint.is_some(), "{}", error.message);
        }
        let nowhere = NEW.replace(" --bootstrap-server b:1", "");
        assert!(scenario(&arguments(&nowhere), Driver::Librdkafka, Files::default()).is_err());
        let sizeless = NEW.replace(" --record-size 100", "");
        assert!(scenario(&arguments(&sizeless), Driver::Librdkafka, Files::default()).is_err());
    }

    #[test]
    fn a_file_of_records_gives_the_sizes_and_the_bytes() {
        let line = NEW.replace("--record-size 100", "--payload-file f");
        let of = |content: &[u8], more: &str| {
            let files = Files { payload: Some(content), ..Files::default() };
            scenario(&arguments(&format!("{line}{more}")), Driver::Wire, files)
        };
        let sizes = |scenario: Scenario| {
            let load = resolve(&scenario, &Sources::new()).unwrap().steps.remove(0).load;
            assert_eq!(load.payload, Payload::File("f".to_owned()));
            load.size
        };
        let mix = |sizes: &[(u64, u32)]| {
            SizePlan::Mix(
                sizes
                    .iter()
                    .map(|(size, weight)| WeightedSize { size: Bytes(*size), weight: *weight })
                    .collect(),
            )
        };
        let (three, notes) = of(b"aaaa\nbb\nbb\n", "").unwrap();
        assert_eq!(sizes(three), mix(&[(2, 2), (4, 1)]));
        assert!(notes.iter().any(|note| note.contains("no value is one of the records")), "{notes:?}");
        assert_eq!(sizes(of(b"aaa;b", " --payload-delimiter ;").unwrap().0), mix(&[(1, 1), (3, 1)]));
        assert!(of(b"\n\n", "").unwrap_err().message.contains("no record"));
        let many: Vec<u8> = (1..=1_000).flat_map(|size| [vec![b'x'; size], vec![b'\n']].concat()).collect();
        let SizePlan::Mix(groups) = sizes(of(&many, "").unwrap().0) else { panic!() };
        assert!(groups.len() <= SIZES_MAX);
        let mean =
            groups.iter().map(|group| group.size.0 as f64 * f64::from(group.weight)).sum::<f64>() / 1_000.0;
        assert!((mean - 500.5).abs() <= 0.5, "{mean}");
    }

    fn second(second: u32, times_ms: &[i64]) -> (SecondRow, Option<Histogram>) {
        let mut histogram = Histogram::new();
        times_ms.iter().for_each(|ms| histogram.record_ns(ms * 1_000_000));
        let row = SecondRow { second, acked: times_ms.len() as u64, ..SecondRow::default() };
        (row, (!times_ms.is_empty()).then_some(histogram))
    }

    #[test]
    fn the_tools_lines_are_about_the_time_from_send_to_acknowledgement() {
        let (series, service): (Vec<_>, Vec<_>) =
            [second(0, &[1, 3]), second(1, &[2, 2]), second(2, &[8])].into_iter().unzip();
        let mut step = StepResult {
            series,
            value_bytes_mean: 1_048_576.0,
            achieved_per_s: Some(2.0),
            ..StepResult::default()
        };
        step.asked_per_s = Some(2.0);
        step.counts.acked = 5;
        step.latency.acknowledge_service =
            Distribution { mean_ns: Some(3.2e6), max_ns: Some(8_000_000), ..Distribution::default() };
        assert_eq!(
            output(&step, &service, 2_000),
            "4 records sent, 2.0 records/sec (2.00 MB/sec), 2.0 ms avg latency, 3.0 ms max latency.\n5 records sent, 2.000000 \
             records/sec (2.00 MB/sec), 3.20 ms avg latency, 8.00 ms max latency, 2 ms 50th, 8 ms 95th, 8 ms 99th, 8 ms \
             99.9th.\n"
        );
        assert_eq!(
            output(&step, &service, 5_000).lines().count(),
            1,
            "no progress line of a part of an interval"
        );
    }

    fn second_with(at: u32, count: usize) -> (SecondRow, Option<Histogram>) {
        second(at, &vec![2; count])
    }

    fn step_of(rows: Vec<(SecondRow, Option<Histogram>)>) -> (StepResult, Vec<Option<Histogram>>) {
        let (series, service): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let step = StepResult { series, value_bytes_mean: 100.0, ..StepResult::default() };
        (step, service)
    }

    #[test]
    fn seconds_without_a_record_count_in_a_lines_rate() {
        // One record every two seconds.
        let (step, service) = step_of((0..12).step_by(2).map(|at| second_with(at, 1)).collect());
        let rates = |interval_ms| -> Vec<String> {
            let out = output(&step, &service, interval_ms);
            let progress = out.lines().filter(|line| !line.contains("50th"));
            progress.map(|line| line.split(" (").next().unwrap().to_owned()).collect()
        };
        assert_eq!(rates(2_000), vec!["1 records sent, 0.5 records/sec"; 5]);
        assert_eq!(rates(5_000), ["3 records sent, 0.6 records/sec", "2 records sent, 0.4 records/sec"]);
        // A line needs a record: the interval goes on until one comes.
        assert_eq!(
            rates(1_000),
            [&["1 records sent, 1.0 records/sec"][..], &["1 records sent, 0.5 records/sec"; 4]].concat()
        );
    }

    #[test]
    fn the_rate_of_the_last_line_is_the_one_that_was_reached_and_not_the_one_that_was_asked_for() {
        let mut step = StepResult { achieved_per_s: Some(1_000.0), ..StepResult::default() };
        step.counts.acked = 5_000;
        let last = |step: &StepResult| output(step, &[], 5_000);
        assert!(last(&step).starts_with("5000 records sent, 1000.000000 records/sec"), "an older document");
        let block = BlockResult { acknowledged_within_s: Some(5.005_36), ..BlockResult::default() };
        step.blocks.push(block);
        assert!(last(&step).starts_with("5000 records sent, 998.929148 records/sec"), "{}", last(&step));
        step.blocks[0].acknowledged_within_s = Some(4.999);
        assert!(last(&step).starts_with("5000 records sent, 1000.200040 records/sec"), "{}", last(&step));
    }

    #[test]
    fn no_interval_and_no_percentile_is_above_the_largest_time_of_all() {
        // A log keeps 692.94 ms as the upper end of their bucket.
        let mut in_bucket = Histogram::new();
        in_bucket.record_ns(694_500_000);
        let row = |second| SecondRow { second, acked: 1, ..SecondRow::default() };
        let (mut step, service) = step_of(vec![(row(0), Some(in_bucket)), (row(1), None)]);
        step.latency.acknowledge_service =
            Distribution { mean_ns: Some(692.94e6), max_ns: Some(692_940_000), ..Distribution::default() };
        let out = output(&step, &service, 1_000);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].ends_with("692.9 ms avg latency, 692.9 ms max latency."), "{out}");
        assert!(lines[1].contains("692.94 ms max latency, 693 ms 50th"), "{out}");
    }

    #[test]
    fn as_fast_as_possible_the_queue_is_blamed_only_where_the_time_passed_in_it() {
        let note = |service_ms: Option<f64>, queue_ms: Option<f64>| {
            let mut step = StepResult { achieved_per_s: Some(9.0), ..StepResult::default() };
            step.latency.acknowledge_service.mean_ns = service_ms.map(|ms| ms * 1e6);
            step.producer_statistics.queue_mean_ns = queue_ms.map(|ms| ms * 1e6);
            corrections(&step).remove(0)
        };
        let queued = note(Some(337.71), Some(349.11));
        assert!(queued.contains("mostly how long the client's own queue is"), "{queued}");
        assert!(queued.contains("(mean 338 ms, mean time in the client's own queue 349 ms)"), "{queued}");
        let in_flight = note(Some(0.72), Some(0.02));
        assert!(in_flight.contains("as many requests under way as the client allows"), "{in_flight}");
        assert!(!in_flight.contains("mostly"), "{in_flight}");
        assert!(note(Some(5.0), None).contains("own queue not known"));
    }
}
