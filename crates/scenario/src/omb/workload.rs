//! The fate of each key of a workload file: here clients, rates and times, in [`topic`] and [`values`] the rest.

mod topic;
mod values;

use super::Dialect;
use super::draft::{Draft, Setting, quoted};
use super::fate::{Fates, Place};
use super::file::Entry;
use crate::yaml::Value;
use plumb_model::fault::UsageError;
use plumb_model::units::Nanos;

/// Rates from here on stand for `as fast as possible` in the workloads that ship with the benchmark.
const RATE_FOR_MAX: u64 = 10_000_000;

/// Keys that a template may give several values.
const LISTABLE: &[&str] = &[
    "topics",
    "partitionsPerTopic",
    "messageSize",
    "subscriptionsPerTopic",
    "producersPerTopic",
    "consumerPerSubscription",
    "producerRate",
];

const KNOWN: &[&str] = &[
    "name",
    "nameFormat",
    "topics",
    "partitionsPerTopic",
    "keyDistributor",
    "messageSize",
    "messageSizeDistribution",
    "useRandomizedPayloads",
    "randomBytesRatio",
    "randomizedPayloadPoolSize",
    "payloadFile",
    "subscriptionsPerTopic",
    "consumerPerSubscription",
    "producersPerTopic",
    "producerRate",
    "consumerBacklogSizeGB",
    "backlogDrainRatio",
    "testDurationMinutes",
    "warmupDurationMinutes",
    "sampleRateMillis",
    "existingTopicList",
    "existingProduceTopicList",
    "existingConsumeTopicList",
];

/// Keys of workloads by which others of the benchmark's forks let a rate rise.
const RISING_RATE: &[&str] = &["producerStartRate", "producerIncrementRate", "producerIncrementSeconds"];

/// The user's wishes about the import.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes<'a> {
    pub(super) goal: Option<&'a str>,
    pub(super) merge_topics: bool,
}

/// Translates a workload into the draft, to its end. Gives what is in the way and is no single key's refusal.
pub(super) fn translate(
    entries: &[Entry],
    dialect: Option<Dialect>,
    wishes: Wishes<'_>,
    draft: &mut Draft,
    fates: &mut Fates,
) -> Vec<UsageError> {
    let mut workload = Workload { entries, dialect, wishes, draft, fates };
    workload.refuse_unknown();
    workload.name();
    let (topics, of_topic) = match workload.topic() {
        Ok(topics) => (topics, None),
        Err(error) => (1, Some(error)),
    };
    let parts = [workload.clients(topics), workload.rate(), workload.lengths(), workload.values()];
    workload.keys();
    of_topic.into_iter().chain(parts.into_iter().filter_map(Result::err)).collect()
}

/// A workload on its way into a scenario.
struct Workload<'a> {
    entries: &'a [Entry],
    dialect: Option<Dialect>,
    wishes: Wishes<'a>,
    draft: &'a mut Draft,
    fates: &'a mut Fates,
}

impl<'a> Workload<'a> {
    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key == key && entry.value != Value::Nothing)
    }

    fn required(&self, key: &str) -> Result<&'a Entry, UsageError> {
        let file = self.entries.first().map_or("the workload", |entry| entry.place.file.as_str());
        self.entry(key).ok_or_else(|| {
            UsageError::new(
                format!("{file}: {key} is missing"),
                "the benchmark would take 0 for it; write what is meant",
            )
        })
    }

    /// The whole numbers of a key; a refusal and none when they are something else.
    fn numbers(&mut self, entry: &Entry) -> Option<Vec<u64>> {
        let number = |value: &Value| match value {
            Value::Scalar(text) => text.parse::<u64>().ok(),
            _ => None,
        };
        let listable = LISTABLE.contains(&entry.key.as_str());
        let numbers: Option<Vec<u64>> = match &entry.value {
            Value::List(items) if listable && !items.is_empty() => items.iter().map(number).collect(),
            value => number(value).map(|number| vec![number]),
        };
        if numbers.is_none() {
            let expected = if listable { "a whole number, or a list of them" } else { "a whole number" };
            self.fates.refused(
                &entry.place,
                &entry.key,
                format!("{} is not {expected}, from 0 up", entry.value),
            );
        }
        numbers
    }

    fn number(&mut self, key: &str) -> Option<(&'a Entry, u64)> {
        let entry = self.entry(key)?;
        self.numbers(entry).map(|numbers| (entry, numbers[0]))
    }

    fn load(&mut self, key: &str, value: &str, place: &Place, foreign: &str) {
        self.draft.load.push(Setting::from_key(key, value, place, &comment(place, foreign)));
    }

    fn refuse_unknown(&mut self) {
        let mut listed = false;
        for entry in self.entries {
            let Entry { place, key, value } = entry;
            if RISING_RATE.contains(&key.as_str()) {
                let reason = "a rate that rises is `schedule: {ramp: ...}` or `{steps: ...}` of a scenario: take these keys out, \
                              import the rest, and write the schedule there";
                self.fates.refused(place, key, reason);
            } else if !KNOWN.contains(&key.as_str()) {
                self.fates.refused(place, key, unknown("a workload", KNOWN, &mut listed));
            } else if let Some(dialect) = self.dialect.filter(|dialect| dialect.lacks(key)) {
                let reason = format!("the {} dialect has no such key, and would not heed it", dialect.name());
                self.fates.refused(place, key, reason);
            } else if *value == Value::Nothing {
                self.fates.without_meaning(place, key, "nothing is written there");
            }
        }
    }

    fn name(&mut self) {
        if let Some(entry) = self.entry("nameFormat") {
            self.fates.without_meaning(
                &entry.place,
                &entry.key,
                "steps are named by what varies between them",
            );
        }
        match self.entry("name") {
            Some(entry) => {
                let name = quoted(&entry.value.to_string());
                self.fates.taken(&entry.place, &entry.key, format!("name: {name}"));
                let comment = comment(&entry.place, &entry.key);
                self.draft.top.insert(0, Setting::from_key("name", name, &entry.place, &comment));
            }
            None => {
                let file = self.entries.first().map_or("", |entry| entry.place.file.as_str());
                let stem = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
                self.draft.top.insert(0, Setting::added("name", quoted(&stem), "the workload file's name"));
            }
        }
    }

    fn clients(&mut self, topics: u64) -> Result<(), UsageError> {
        let entry = self.required("producersPerTopic")?;
        let existing = self.draft.topic.iter().any(|setting| setting.key == "name");
        match self.numbers(entry).as_deref() {
            None => {}
            Some([0]) if existing => {
                let note = "consumers read from the topic's beginning to its end, as fast as they can";
                self.fates.translated(&entry.place, &entry.key, "load.mode: consume", note);
                self.load("mode", "consume", &entry.place, &entry.key);
            }
            Some(numbers) if numbers.contains(&0) => {
                let reason = "without producers nothing is in a new topic; `mode: consume` of a scenario fills it first";
                self.fates.refused(&entry.place, &entry.key, reason);
            }
            Some(numbers) => {
                let value = list(numbers.iter().map(|n| n * topics));
                self.fates.taken(&entry.place, &entry.key, format!("load.producers: {value}"));
                self.load("producers", &value, &entry.place, &entry.key);
            }
        }
        let (groups, consumers) =
            (self.required("subscriptionsPerTopic")?, self.required("consumerPerSubscription")?);
        let Some((groups_n, consumers_n)) = self.numbers(groups).zip(self.numbers(consumers)) else {
            return Ok(());
        };
        if groups_n == [0] || consumers_n == [0] {
            self.fates.taken(&groups.place, &groups.key, "load.mode: produce");
            self.fates.taken(&consumers.place, &consumers.key, "load.mode: produce");
            self.load("mode", "produce", &groups.place, "no consumers");
            return self.backlog(false);
        }
        if groups_n != [1] {
            let reason = format!(
                "a step here has one consumer group, and {} would read everything {} times over",
                groups.value, groups.value
            );
            self.fates.refused(&groups.place, &groups.key, reason);
        } else {
            self.fates.taken(&groups.place, &groups.key, "one consumer group");
        }
        if consumers_n.contains(&0) {
            let reason = "with and without consumers are two experiments: import a workload for each";
            self.fates.refused(&consumers.place, &consumers.key, reason);
        } else {
            let value = list(consumers_n.iter().map(|n| n * topics));
            self.fates.taken(&consumers.place, &consumers.key, format!("load.consumers: {value}"));
            self.load("consumers", &value, &consumers.place, &consumers.key);
        }
        self.backlog(true)
    }

    fn backlog(&mut self, consumed: bool) -> Result<(), UsageError> {
        let backlog = self.number("consumerBacklogSizeGB");
        match backlog {
            Some((entry, 0)) => self.fates.without_meaning(&entry.place, &entry.key, "0 asks for no backlog"),
            Some((entry, _)) if !consumed => {
                self.fates.refused(&entry.place, &entry.key, "without consumers nobody drains it");
            }
            Some((entry, gib)) => {
                let value = format!("{{backlog: {gib}GiB}}");
                let note =
                    "consumers wait until so much is in the log, and drain it all while producers go on";
                self.fates.translated(&entry.place, &entry.key, format!("load.mode: {value}"), note);
                self.load("mode", &value, &entry.place, &entry.key);
            }
            None => {}
        }
        let Some(entry) = self.entry("backlogDrainRatio") else { return Ok(()) };
        let ratio = entry.value.to_string();
        if backlog.is_none_or(|(_, gib)| gib == 0) {
            self.fates.without_meaning(&entry.place, &entry.key, "no backlog is asked for");
        } else if ratio.parse() == Ok(1.0) {
            self.fates.taken(&entry.place, &entry.key, "the whole backlog is drained");
        } else {
            let reason = format!("a backlog is drained to its end here, not to {ratio} of it");
            self.fates.refused(&entry.place, &entry.key, reason);
        }
        Ok(())
    }

    fn rate(&mut self) -> Result<(), UsageError> {
        let entry = self.required("producerRate")?;
        let Some(rates) = self.numbers(entry) else { return Ok(()) };
        let Entry { place, key, .. } = entry;
        if self.has_no_producers() {
            self.fates.without_meaning(place, key, "nobody produces");
            return Ok(());
        }
        match (rates.as_slice(), self.wishes.goal) {
            ([0], None) => Err(UsageError::new(
                format!(
                    "{place}: producerRate: 0 asks for the highest sustainable rate, and there is none without a goal"
                ),
                "say which latency it has to hold, such as --goal p99=20ms; or write producerRate: 10000000 for as fast as \
                 possible",
            )),
            ([0], Some(goal)) => {
                let note = "the benchmark looks at backlogs alone; here the highest rate that holds a latency is \
                            searched for";
                self.fates.translated(place, key, format!("goal: {goal}"), note);
                let comment = comment(place, key);
                self.draft.top.push(Setting::from_key("goal", quoted(goal), place, &comment));
                Ok(())
            }
            (several, _) if several.contains(&0) => {
                let reason = "0 is a search and not a rate: it needs a workload of its own";
                self.fates.refused(place, key, reason);
                Ok(())
            }
            (_, Some(_)) => Err(UsageError::new(
                format!("{place}: producerRate is {}, and --goal searches for a rate", entry.value),
                "--goal is for producerRate: 0",
            )),
            (rates, None) => {
                let words =
                    |rate: &u64| if *rate >= RATE_FOR_MAX { "max".to_owned() } else { rate.to_string() };
                let value = if rates.len() == 1 {
                    words(&rates[0])
                } else {
                    format!("[{}]", rates.iter().map(words).collect::<Vec<_>>().join(", "))
                };
                if rates.iter().any(|rate| *rate >= RATE_FOR_MAX) {
                    let note =
                        "10 million and more stand for as fast as possible, where a latency has no meaning";
                    self.fates.translated(place, key, format!("load.rate: {value}"), note);
                } else {
                    self.fates.taken(place, key, format!("load.rate: {value}"));
                }
                self.load("rate", &value, place, key);
                Ok(())
            }
        }
    }

    fn lengths(&mut self) -> Result<(), UsageError> {
        let entry = self.required("testDurationMinutes")?;
        match self.numbers(entry).map(|numbers| numbers[0]) {
            None => {}
            Some(0) => {
                self.fates.refused(&entry.place, &entry.key, "0 is a test without end; a run here has one");
            }
            Some(minutes) => {
                let value = minutes_text(minutes);
                self.fates.taken(&entry.place, &entry.key, format!("load.duration: {value}"));
                self.load("duration", &value, &entry.place, &entry.key);
            }
        }
        match (self.number("warmupDurationMinutes"), self.entry("warmupDurationMinutes"), self.dialect) {
            (Some((entry, minutes)), ..) => {
                let value = minutes_text(minutes);
                self.fates.taken(&entry.place, &entry.key, format!("load.warm_up: {value}"));
                self.load("warm_up", &value, &entry.place, &entry.key);
            }
            (None, Some(_), _) => {}
            (None, None, Some(dialect)) => {
                let value = minutes_text(dialect.warm_up_minutes());
                let comment = format!("the {} dialect's default", dialect.name());
                self.draft.load.push(Setting::added("warm_up", value, &comment));
            }
            (None, None, None) => {
                let file = &entry.place.file;
                return Err(UsageError::new(
                    format!("{file}: warmupDurationMinutes is missing, and its default is 1 minute or 30"),
                    "say which benchmark the file was written for: --dialect upstream (1 minute) or --dialect redpanda (30)",
                ));
            }
        }
        if let Some(entry) = self.entry("sampleRateMillis") {
            self.fates.without_meaning(&entry.place, &entry.key, "every second is kept");
        }
        Ok(())
    }
}

/// That a key is not known. What is known stands there once for a file.
pub(super) fn unknown(file: &str, known: &[&str], listed: &mut bool) -> String {
    if std::mem::replace(listed, true) {
        return "unknown key".to_owned();
    }
    format!("unknown key; {file} has {}", known.join(", "))
}

fn comment(place: &Place, key: &str) -> String {
    format!("{}, {key}", place.short())
}

/// One value as it is, several as a list.
fn list(values: impl Iterator<Item = impl ToString>) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.len() == 1 { values[0].clone() } else { format!("[{}]", values.join(", ")) }
}

fn minutes_text(minutes: u64) -> String {
    Nanos::from_secs(minutes.saturating_mul(60)).to_string()
}
