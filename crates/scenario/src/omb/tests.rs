//! Every key of both files, in both dialects.

use super::fate::Fate;
use super::*;
use plumb_model::plan::{
    ClusterPlan, Keys, Length, Mode, Origin, Payload, Plan, Schedule, SizePlan, TopicPlan,
};
use plumb_model::resolve::resolve;
use plumb_model::units::{Bytes, Nanos};

const WORKLOAD: &str = "\
name: orders, one topic
topics: 1
partitionsPerTopic: 16
messageSize: 1024
useRandomizedPayloads: true
randomBytesRatio: 0.5
randomizedPayloadPoolSize: 1000
subscriptionsPerTopic: 1
consumerPerSubscription: 4
producersPerTopic: 2
producerRate: 50000
keyDistributor: NO_KEY
consumerBacklogSizeGB: 0
testDurationMinutes: 15
warmupDurationMinutes: 2
";

const DRIVER: &str = "\
name: Kafka, acks all
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 3
topicConfig: |
  min.insync.replicas=2
commonConfig: |
  bootstrap.servers=b1:9092,b2:9092
  client.id=benchmark-{zone.id}
producerConfig: |
  acks=all
  linger.ms=1
  batch.size=131072
  buffer.memory=33554432
consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
";

fn request() -> Request<'static> {
    Request {
        workload: Path::new("w.yaml"),
        driver: Path::new("d.yaml"),
        dialect: None,
        goal: None,
        merge_topics: false,
        bootstrap: None,
        config: None,
        client: Client::Wire,
    }
}

fn try_import(workload: &str, driver: &str, request: &Request<'_>) -> (Result<Import, UsageError>, Fates) {
    let mut fates = Fates::default();
    let entries = file::parse("w.yaml", workload).and_then(|w| Ok((w, file::parse("d.yaml", driver)?)));
    let result = entries.and_then(|(w, d)| translate(&w, &d, request, &mut fates));
    (result, fates)
}

fn import(workload: &str, driver: &str, request: &Request<'_>) -> (Import, Fates) {
    let (result, fates) = try_import(workload, driver, request);
    (result.unwrap_or_else(|error| panic!("{error}: {:?}\n{}", error.hint, fates.text())), fates)
}

fn plan(import: &Import) -> Plan {
    let (scenario, mut sources) = crate::file::parse("s.yaml", &import.text).unwrap();
    sources.extend(import.sources.clone());
    resolve(&scenario, &sources).unwrap_or_else(|error| panic!("{error}\n{}", import.text))
}

fn planned(workload: &str) -> Plan {
    plan(&import(workload, DRIVER, &request()).0)
}

fn refusal(workload: &str, driver: &str) -> String {
    let (result, fates) = try_import(workload, driver, &request());
    assert!(result.is_err(), "{}", fates.text());
    fates.refusals().join("\n")
}

fn error(workload: &str, driver: &str, request: &Request<'_>) -> (String, String) {
    let (result, _) = try_import(workload, driver, request);
    let error = result.unwrap_err();
    (error.message, error.hint.unwrap())
}

#[test]
fn the_scenario_can_be_read_and_kept() {
    let (import, fates) = import(WORKLOAD, DRIVER, &request());
    insta::assert_snapshot!("scenario", import.text);
    insta::assert_snapshot!("fates", fates.text());
    assert_eq!(import.connection, "");
}

#[test]
fn each_value_arrives_in_the_plan_and_knows_its_line() {
    let plan = planned(WORKLOAD);
    let step = &plan.steps[0];
    assert_eq!((plan.name.as_str(), plan.blocks), ("orders, one topic", 1));
    assert_eq!(step.name, "Kafka, acks all");
    let configs = [("min.insync.replicas".to_owned(), "2".to_owned())].into();
    assert_eq!(step.topic, TopicPlan::Own { partitions: 16, replication: 3, configs, log_dir: None });
    let load = &step.load;
    assert_eq!(
        (load.rate_per_s, load.mode, load.producers, load.consumers),
        (Some(50_000.0), Mode::Mixed, 2, 4)
    );
    assert_eq!(load.length, Length::Duration(Nanos::from_secs(900)));
    assert_eq!(load.warm_up, Nanos::from_secs(120));
    assert_eq!((&load.size, &load.payload), (&SizePlan::Fixed(Bytes(1024)), &Payload::Entropy(0.5)));
    assert_eq!(load.keys, Keys::None);
    let of = |name: &str| step.producer.get(name).map(String::as_str);
    assert_eq!(of("linger.ms"), Some("1"));
    assert_eq!(of("queue.buffering.max.kbytes"), Some("32768"));
    assert_eq!(of("enable.idempotence"), Some("true"), "the Java client's default");
    assert_eq!(step.consumer["enable.auto.commit"], "false");
    let ClusterPlan::Brokers { bootstrap, config, .. } = &plan.cluster else { panic!("{:?}", plan.cluster) };
    assert_eq!((bootstrap.as_str(), config), ("b1:9092,b2:9092", &None));
    let line = |path: &str, line| Origin::File { path: path.into(), line };
    assert_eq!(plan.origins["steps.0.load.rate_per_s"], line("w.yaml", 11));
    assert_eq!(plan.origins["steps.0.producer.linger.ms"], line("d.yaml", 11));
    assert_eq!(plan.origins["steps.0.topic.configs.min.insync.replicas"], line("d.yaml", 5));
}

#[test]
fn what_the_client_does_not_take_is_refused_at_its_key_and_never_called_taken() {
    let driver = DRIVER
        .replace("  linger.ms=1\n", "  lingr.ms=1\n")
        .replace("batch.size=131072", "batch.size=many")
        .replace("  auto.offset.reset=earliest\n", "  acks=1\n");
    for client in [Client::Wire, Client::Librdkafka] {
        let (found, mut fates) = import(WORKLOAD, &driver, &Request { client, ..request() });
        let (message, hint) = match client::refuse_by_client(&plan(&found), &mut fates) {
            Err(error) => (error.message, error.hint.unwrap()),
            Ok(()) => panic!("{client:?} {}", fates.text()),
        };
        assert!(message.starts_with("3 things stand in the way:"), "{client:?} {message}");
        assert!(hint.contains("as a whole or not at all"), "{hint}");
        for (line, key) in
            [(11, "producerConfig lingr.ms"), (12, "producerConfig batch.size"), (15, "consumerConfig acks")]
        {
            let refused = format!("d.yaml:{line}: {key}: refused: the client does not take it: ");
            assert!(fates.text().contains(&refused), "{client:?} {refused}\n{}", fates.text());
        }
        assert!(
            fates.text().contains("producerConfig acks: taken as producer acks: all"),
            "{}",
            fates.text()
        );
    }
    let (found, mut fates) = import(WORKLOAD, DRIVER, &Request { client: Client::Librdkafka, ..request() });
    assert!(client::refuse_by_client(&plan(&found), &mut fates).is_ok(), "{}", fates.text());
}

#[test]
fn properties_that_contradict_are_refused_at_one_of_them() {
    let driver = DRIVER.replace("  acks=all\n", "  acks=1\n  enable.idempotence=true\n");
    for client in [Client::Wire, Client::Librdkafka] {
        let (found, mut fates) = import(WORKLOAD, &driver, &Request { client, ..request() });
        assert!(client::refuse_by_client(&plan(&found), &mut fates).is_err());
        let [refusal] = &fates.refusals()[..] else { panic!("{client:?} {}", fates.text()) };
        assert!(refusal.contains("acks") && refusal.contains("idempoten"), "{client:?} {refusal}");
    }
}

#[test]
fn what_the_scenario_refuses_is_refused_at_its_key() {
    let (found, mut fates) = import(WORKLOAD, &DRIVER.replace("acks=all", "acks=5"), &request());
    let (scenario, mut sources) = crate::file::parse("s.yaml", &found.text).unwrap();
    sources.extend(found.sources.clone());
    let message = resolve(&scenario, &sources).unwrap_err().to_string();
    let error = client::refuse_by_place(&message, &mut fates).unwrap();
    assert!(
        error.message.starts_with("d.yaml:10: producerConfig acks: producer.acks is \"5\""),
        "{}",
        error.message
    );
    assert!(!fates.text().contains("acks: taken"), "{}", fates.text());
    assert!(client::refuse_by_place("elsewhere: no", &mut fates).is_none());
}

#[test]
fn a_line_without_a_value_is_refused_in_every_block() {
    for (line, key) in [
        ("min.insync.replicas=2", "topicConfig min.insync.replicas"),
        ("client.id=benchmark-{zone.id}", "commonConfig client.id"),
        ("linger.ms=1", "producerConfig linger.ms"),
        ("auto.offset.reset=earliest", "consumerConfig auto.offset.reset"),
    ] {
        let name = line.split('=').next().unwrap();
        let told = refusal(WORKLOAD, &DRIVER.replace(&format!("  {line}\n"), &format!("  {name}\n")));
        assert!(told.contains(&format!("{key}: it has no value: write `name=value`")), "{told}");
    }
}

#[test]
fn a_key_that_is_written_twice_and_a_tab_are_told_in_plain_words_and_without_the_lines_around() {
    let twice = format!("{WORKLOAD}topics: 2\n");
    let (message, _) = error(&twice, DRIVER, &request());
    assert_eq!(message, "w.yaml:16:1: `topics` is written twice");
    let (message, hint) = error(WORKLOAD, &DRIVER.replace("  acks=all", "\tacks=all"), &request());
    assert!(
        message.starts_with("d.yaml:") && !message.contains('\n') && hint.contains("spaces"),
        "{message} {hint}"
    );
}

#[test]
fn every_key_has_one_fate() {
    let (_, fates) = import(WORKLOAD, DRIVER, &request());
    let fate_of = |file: &str, line: usize| {
        fates.0.iter().filter(|key| key.place.file == file && key.place.line as usize == line).count()
    };
    for (file, text) in [("w.yaml", WORKLOAD), ("d.yaml", DRIVER)] {
        for (index, line) in text.lines().enumerate() {
            // What opens a block of text is no key with a value of its own.
            let expected = usize::from(!line.ends_with('|'));
            assert_eq!(fate_of(file, index + 1), expected, "{file}:{}: {line}", index + 1);
        }
    }
}

#[test]
fn the_warm_up_that_a_workload_leaves_out_depends_on_the_dialect() {
    let silent = WORKLOAD.replace("warmupDurationMinutes: 2\n", "");
    let (message, hint) = error(&silent, DRIVER, &request());
    assert!(message.contains("1 minute or 30"), "{message}");
    assert!(hint.contains("--dialect"), "{hint}");
    for (dialect, seconds) in [(Dialect::Upstream, 60), (Dialect::Redpanda, 1_800)] {
        let request = Request { dialect: Some(dialect), ..request() };
        let plan = plan(&import(&silent, DRIVER, &request).0);
        assert_eq!(plan.steps[0].load.warm_up, Nanos::from_secs(seconds));
    }
    let fork = silent + "sampleRateMillis: 1000\n";
    assert_eq!(planned(&fork).steps[0].load.warm_up, Nanos::from_secs(1_800), "a key tells the dialect");
}

#[test]
fn a_key_of_the_other_dialect_is_refused() {
    let request = Request { dialect: Some(Dialect::Upstream), ..request() };
    let (result, fates) = try_import(&format!("{WORKLOAD}sampleRateMillis: 1000\n"), DRIVER, &request);
    assert!(result.is_err());
    assert!(fates.refusals()[0].contains("upstream dialect has no such key"), "{}", fates.text());
    let both = format!("{WORKLOAD}sampleRateMillis: 1000\nbacklogDrainRatio: 1.0\n");
    let (message, _) = error(&both, DRIVER, &self::request());
    assert!(message.contains("backlogDrainRatio") && message.contains("sampleRateMillis"), "{message}");
}

#[test]
fn an_unknown_key_is_an_error_that_lists_the_choices() {
    let told = refusal(&format!("{WORKLOAD}producerRates: 5\n"), DRIVER);
    assert!(told.starts_with("w.yaml:16: producerRates: unknown key; a workload has name,"), "{told}");
    let told = refusal(WORKLOAD, &format!("{DRIVER}zone: a\n"));
    assert!(told.starts_with("d.yaml:17: zone: unknown key; a driver file for Kafka has name,"), "{told}");
}

#[test]
fn a_reset_is_told_to_be_left_out_as_it_deletes_the_topics_of_others() {
    let (import, fates) = import(WORKLOAD, &format!("{DRIVER}reset: true\n"), &request());
    assert!(fates.refusals().is_empty());
    assert!(
        fates.text().contains("reset: without meaning here: the benchmark deletes topics"),
        "{}",
        fates.text()
    );
    assert!(import.text.lines().all(|line| !line.trim().starts_with("reset")), "{}", import.text);
}

#[test]
fn the_fork_s_own_driver_tells_the_dialect() {
    let silent = WORKLOAD.replace("warmupDurationMinutes: 2\n", "");
    let fork = DRIVER.replace("kafka.KafkaBenchmarkDriver", "redpanda.RedpandaBenchmarkDriver");
    let plan = plan(&import(&silent, &fork, &request()).0);
    assert_eq!(plan.steps[0].load.warm_up, Nanos::from_secs(1_800));
}

#[test]
fn all_that_stands_in_the_way_is_in_one_message() {
    let workload = WORKLOAD.replace("producerRate: 50000", "producerRate: 0");
    let driver = format!("{}zone: a\n", DRIVER.replace("bootstrap.servers", "boostrap.servers"));
    let (message, _) = error(&workload, &driver, &request());
    for part in
        ["stand in the way:", "w.yaml:11: producerRate: 0", "--goal", "zone: unknown key", "--bootstrap"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn the_load_is_driven_by_plumb_s_own_client_or_by_the_one_that_is_asked_for() {
    assert_eq!(planned(WORKLOAD).steps[0].driver, Client::Wire);
    let asked = Request { client: Client::Librdkafka, ..request() };
    assert_eq!(plan(&import(WORKLOAD, DRIVER, &asked).0).steps[0].driver, Client::Librdkafka);
}

#[test]
fn rate_0_asks_for_a_goal_and_10_million_is_as_fast_as_possible() {
    let with = |rate: &str| WORKLOAD.replace("producerRate: 50000", &format!("producerRate: {rate}"));
    let (message, hint) = error(&with("0"), DRIVER, &request());
    assert!(
        message.starts_with("w.yaml:11: producerRate: 0") && hint.contains("--goal"),
        "{message}\n{hint}"
    );
    let goal = Request { goal: Some("acknowledge p99=20ms"), ..request() };
    let found = plan(&import(&with("0"), DRIVER, &goal).0).goal.unwrap();
    assert_eq!((found.quantile, found.limit), (0.99, Nanos::from_millis(20)));
    assert!(error(WORKLOAD, DRIVER, &goal).0.contains("--goal searches for a rate"));
    assert_eq!(planned(&with("10000000")).steps[0].load.schedule, Schedule::Saturating);
    assert_eq!(planned(&with("9999999")).steps[0].load.rate_per_s, Some(9_999_999.0));
}

#[test]
fn a_template_becomes_a_sweep() {
    let template = WORKLOAD
        .replace("name: orders, one topic", "nameFormat: \"${topics}-topic-${messageSize}\"")
        .replace("messageSize: 1024", "messageSize: [100, 1024]")
        .replace("producerRate: 50000", "producerRate: [1000, 10000000]");
    let plan = planned(&template);
    assert_eq!((plan.name.as_str(), plan.steps.len()), ("w", 4));
    let told = refusal(&WORKLOAD.replace("testDurationMinutes: 15", "testDurationMinutes: [1, 2]"), DRIVER);
    assert!(told.contains("is not a whole number"), "{told}");
}

#[test]
fn several_topics_become_one_only_when_asked() {
    let workload = WORKLOAD.replace("topics: 1", "topics: 100");
    assert!(refusal(&workload, DRIVER).contains("--merge-topics"));
    let merged = Request { merge_topics: true, ..request() };
    let step = &plan(&import(&workload, DRIVER, &merged).0).steps[0];
    assert!(matches!(step.topic, TopicPlan::Own { partitions: 1_600, .. }), "{:?}", step.topic);
    assert_eq!((step.load.producers, step.load.consumers), (200, 400));
}

#[test]
fn without_consumers_the_load_only_produces() {
    let step = &planned(&WORKLOAD.replace("subscriptionsPerTopic: 1", "subscriptionsPerTopic: 0")).steps[0];
    assert_eq!((step.load.mode, step.load.consumers), (Mode::Produce, 0));
    let told = refusal(&WORKLOAD.replace("subscriptionsPerTopic: 1", "subscriptionsPerTopic: 3"), DRIVER);
    assert!(told.contains("one consumer group"), "{told}");
    let told = refusal(&WORKLOAD.replace("producersPerTopic: 2", "producersPerTopic: 0"), DRIVER);
    assert!(told.contains("mode: consume"), "{told}");
}

#[test]
fn a_backlog_is_built_in_gibibytes_and_drained_to_its_end() {
    let with = |ratio: &str| {
        WORKLOAD.replace("BacklogSizeGB: 0", "BacklogSizeGB: 3") + &format!("backlogDrainRatio: {ratio}\n")
    };
    assert_eq!(planned(&with("1.0")).steps[0].load.mode, Mode::Backlog(Bytes(3 << 30)));
    assert!(refusal(&with("0.5"), DRIVER).contains("to its end"));
}

#[test]
fn keys_and_sizes_of_the_benchmark_are_translated() {
    let keyed = |kind: &str| WORKLOAD.replace("NO_KEY", kind);
    assert_eq!(planned(&keyed("KEY_ROUND_ROBIN")).steps[0].load.keys, Keys::RoundRobin { count: 10_000 });
    assert_eq!(planned(&keyed("RANDOM_NANO")).steps[0].load.keys, Keys::Uniform { count: 10_000 });
    assert!(refusal(&keyed("ZIPF"), DRIVER).contains("none of NO_KEY"));
    let mixed = format!("{WORKLOAD}messageSizeDistribution:\n  100-700: 3\n  4096-4096: 1\n");
    let SizePlan::Mix(mix) = &planned(&mixed).steps[0].load.size else { panic!() };
    assert_eq!(mix.len(), 4);
}

#[test]
fn a_payload_file_is_named_and_one_source_of_values_is_needed() {
    let file = WORKLOAD.replace("useRandomizedPayloads: true", "payloadFile: Cargo.toml");
    assert_eq!(planned(&file).steps[0].load.payload, Payload::File("Cargo.toml".into()));
    let missing = WORKLOAD.replace("useRandomizedPayloads: true", "payloadFile: payload/1Kb.data");
    assert!(refusal(&missing, DRIVER).contains("payloadFile: no such file here"));
    let neither = WORKLOAD.replace("useRandomizedPayloads: true\n", "");
    assert!(error(&neither, DRIVER, &request()).0.contains("payloadFile is missing"));
    let here = WORKLOAD.replace("useRandomizedPayloads: true", "payloadFile: src");
    assert!(refusal(&here, DRIVER).contains("a directory"));
}

#[test]
fn an_existing_topic_is_used_as_it_is() {
    let existing = WORKLOAD.replace("topics: 1", "topics: 0") + "existingTopicList: [orders]\n";
    let (found, fates) = import(&existing, DRIVER, &request());
    assert_eq!(plan(&found).steps[0].topic, TopicPlan::Existing { name: "orders".into() });
    let left_out = |key: &str| {
        let fate = fates.0.iter().find(|fate| fate.key == key).unwrap();
        assert!(matches!(fate.fate, Fate::WithoutMeaning { .. }), "{fate:?}");
    };
    for key in ["topics", "partitionsPerTopic", "replicationFactor", "topicConfig min.insync.replicas"] {
        left_out(key);
    }
    assert!(refusal(&existing.replace("[orders]", "[a, b]"), DRIVER).contains("these are 2"));
    let consumed = WORKLOAD.to_owned() + "existingConsumeTopicList: [a]\n";
    assert!(refusal(&consumed, DRIVER).contains("producersPerTopic: 0 reads what is there"));
    let step = &planned(&consumed.replace("producersPerTopic: 2", "producersPerTopic: 0")).steps[0];
    assert_eq!((step.load.mode, step.load.consumers), (Mode::Consume, 4));
    let two = WORKLOAD.to_owned() + "existingProduceTopicList: [a]\nexistingConsumeTopicList: [b]\n";
    assert!(refusal(&two, DRIVER).contains("names another"));
}

const SECURED: &str = "  security.protocol=SASL_SSL\n  sasl.mechanism=PLAIN\n  sasl.jaas.config=org.apache.kafka.common.\
                       security.plain.PlainLoginModule required username=\"ann\" password=\"hunter2\";\n";

#[test]
fn a_secret_reaches_only_the_file_that_the_user_names() {
    let driver = DRIVER.replace("commonConfig: |\n", &format!("commonConfig: |\n{SECURED}"));
    let (result, fates) = try_import(WORKLOAD, &driver, &request());
    assert!(result.unwrap_err().message.contains("--client-config"));
    assert!(!fates.text().contains("hunter2"));
    let named = Request { config: Some("c.properties"), ..request() };
    let (found, fates) = import(WORKLOAD, &driver, &named);
    assert!(found.connection.contains("password=\"hunter2\""));
    assert!(!found.text.contains("hunter2") && !fates.text().contains("hunter2"));
    assert!(found.text.contains("config: c.properties"), "{}", found.text);
    let hidden = DRIVER.replace("  acks=all\n", "  my.password=hunter2\n");
    let (result, fates) = try_import(WORKLOAD, &hidden, &named);
    assert!(result.is_err() && !fates.text().contains("hunter2"), "{}", fates.text());
}

#[test]
fn what_is_said_for_one_side_counts_before_what_is_said_for_both() {
    let driver =
        DRIVER.replace("  client.id", "  acks=1\n  fetch.min.bytes=7\n  reconnect.backoff.ms=9\n  client.id");
    let step = &plan(&import(WORKLOAD, &driver, &request()).0).steps[0];
    assert_eq!(step.producer["acks"], "all");
    assert_eq!(step.consumer["fetch.min.bytes"], "7");
    assert!(!step.producer.contains_key("fetch.min.bytes") && !step.consumer.contains_key("acks"));
    assert_eq!(
        (&*step.producer["reconnect.backoff.ms"], &*step.consumer["reconnect.backoff.ms"]),
        ("9", "9")
    );
}

#[test]
fn drivers_of_other_systems_and_files_of_other_shapes_are_refused() {
    let pulsar = DRIVER.replace("kafka.KafkaBenchmarkDriver", "pulsar.PulsarBenchmarkDriver");
    assert!(refusal(WORKLOAD, &pulsar).contains("does not speak the Kafka protocol"));
    let transactional = DRIVER.replace("  acks=all\n", "  transactional.id=t\n");
    assert!(refusal(WORKLOAD, &transactional).contains("sends no transactions"));
    let (message, hint) = error("- a\n- b\n", DRIVER, &request());
    assert!(message.starts_with("w.yaml:1:1: ") && hint.contains("one YAML object"), "{message}");
    let (message, _) = error(&format!("{WORKLOAD}topics: 2\n"), DRIVER, &request());
    assert!(message.contains("topics"), "{message}");
    let (message, hint) =
        error(WORKLOAD, &DRIVER.replace("  bootstrap.servers=b1:9092,b2:9092\n", ""), &request());
    assert!(message.contains("bootstrap.servers is missing") && hint.contains("--bootstrap"), "{message}");
}

#[test]
fn a_payload_file_is_found_from_the_workload_as_from_the_benchmark_s_directory() {
    let benchmark = tempfile::tempdir().unwrap();
    for directory in ["workloads", "payload"] {
        fs_err::create_dir(benchmark.path().join(directory)).unwrap();
    }
    fs_err::write(benchmark.path().join("payload/of-mine.data"), "abc").unwrap();
    let text = WORKLOAD.replace("useRandomizedPayloads: true", "payloadFile: payload/of-mine.data");
    let workload = benchmark.path().join("workloads/w.yaml");
    fs_err::write(&workload, text).unwrap();
    let driver = benchmark.path().join("d.yaml");
    fs_err::write(&driver, DRIVER).unwrap();
    let request = Request { workload: &workload, driver: &driver, ..request() };
    let Payload::File(found) =
        plan(&super::import(&request, &mut Fates::default()).unwrap()).steps[0].load.payload.clone()
    else {
        panic!("values come from the file")
    };
    assert_eq!(fs_err::read_to_string(found).unwrap(), "abc");
}

#[test]
fn a_missing_warm_up_does_not_hide_what_else_is_in_the_way() {
    let workload = WORKLOAD
        .replace("warmupDurationMinutes: 2\n", "")
        .replace("messageSize: 1024", "messageSize: much")
        .replace("NO_KEY", "BY_MOON");
    let (message, _) = error(&workload, DRIVER, &request());
    for part in ["--dialect upstream", "messageSize: much", "keyDistributor: BY_MOON"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_place_to_be_filled_in_has_its_default_and_says_so() {
    let workload = WORKLOAD.replace("testDurationMinutes: 15", "testDurationMinutes: ${minutes:-7}");
    let (import, fates) = import(&workload, DRIVER, &request());
    assert_eq!(plan(&import).steps[0].load.length, Length::Duration(Nanos::from_secs(420)));
    let told = "translated to load.duration: 7m: the default in ${minutes:-7}";
    assert!(fates.text().contains(told), "{}", fates.text());
    let without = WORKLOAD.replace("testDurationMinutes: 15", "testDurationMinutes: ${minutes}");
    assert!(refusal(&without, DRIVER).contains("${minutes} is not a whole number"));
}

#[test]
fn the_known_keys_are_listed_once_for_a_file() {
    let told = refusal(&format!("{WORKLOAD}one: 1\ntwo: 2\n"), &format!("{DRIVER}three: 3\nfour: 4\n"));
    assert_eq!(told.matches("a workload has name").count(), 1, "{told}");
    assert_eq!(told.matches("a driver file for Kafka has name").count(), 1, "{told}");
    assert_eq!(told.matches(": unknown key").count(), 4, "{told}");
}

#[test]
fn kop_s_driver_is_taken_where_both_of_its_clients_are_kafka_s() {
    let kop = "\
name: a proxy
driverClass: io.openmessaging.benchmark.driver.kop.KopBenchmarkDriver
producerType: kafka
consumerType: kafka
pulsarConfig:
  serviceUrl: pulsar://b1:6650
kafkaConfig: |
  bootstrap.servers=b1:9092
  linger.ms=3
";
    let plan = plan(&import(WORKLOAD, kop, &request()).0);
    assert_eq!(plan.steps[0].producer["linger.ms"], "3");
    let ClusterPlan::Brokers { bootstrap, .. } = &plan.cluster else { panic!("{:?}", plan.cluster) };
    assert_eq!(bootstrap, "b1:9092");
    let half = refusal(WORKLOAD, &kop.replace("producerType: kafka", "producerType: pulsar"));
    assert_eq!(half.lines().count(), 1, "{half}");
    assert!(half.contains("producerType: a client of pulsar does not speak the Kafka protocol"), "{half}");
}

#[test]
fn what_forks_add_is_refused_with_what_to_do() {
    let rising = refusal(&format!("{WORKLOAD}producerStartRate: 100\n"), DRIVER);
    assert!(rising.contains("schedule: {ramp"), "{rising}");
    let driver = format!("{DRIVER}useTransactions: true\nskipCreateTopic: true\ntopicPrefix: t\n");
    let told = refusal(WORKLOAD, &driver);
    assert!(told.contains("send no transactions") && !told.contains("unknown key"), "{told}");
    assert_eq!(told.matches("existingTopicList").count(), 2, "{told}");
    let (_, fates) =
        import(WORKLOAD, &format!("{DRIVER}useTransactions: false\nskipCreateTopic: false\n"), &request());
    assert_eq!(fates.refusals(), Vec::<String>::new());
}

#[test]
fn what_a_deployment_was_to_fill_in_is_refused_where_nothing_takes_its_place() {
    let jaas = "  sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"${TOKEN}\";\n";
    let driver = DRIVER.replace("  acks=all\n", &format!("  acks=all\n  sasl.mechanism=PLAIN\n{jaas}"));
    assert_ne!(driver, DRIVER);
    let told = refusal(WORKLOAD, &driver);
    assert!(
        told.contains("`${...}` is filled in by the benchmark's deployment") && told.contains("--config"),
        "{told}"
    );
    assert!(!told.contains("TOKEN"), "{told}");
}
