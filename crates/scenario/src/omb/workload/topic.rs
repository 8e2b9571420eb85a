//! One topic: made for the run, put together from several, or one that is there.

use super::{Workload, comment, list};
use crate::omb::draft::{Setting, quoted};
use crate::omb::file::Entry;
use crate::yaml::Value;
use plumb_model::fault::UsageError;

impl Workload<'_> {
    /// The topic. Gives the number of topics that are put together in one.
    pub(super) fn topic(&mut self) -> Result<u64, UsageError> {
        if let Some(name) = self.existing_topic() {
            let reason = format!("topic {name} is used as it is");
            for key in ["topics", "partitionsPerTopic"] {
                if let Some(entry) = self.entry(key) {
                    self.fates.without_meaning(&entry.place, key, reason.clone());
                }
            }
            return Ok(1);
        }
        let (entry, partitions) = (self.required("topics")?, self.required("partitionsPerTopic")?);
        let topics = match self.numbers(entry).as_deref() {
            None => 1,
            Some([1]) => {
                self.fates.taken(&entry.place, &entry.key, "one topic");
                1
            }
            Some([0]) if !self.names_topics() => {
                self.fates.refused(&entry.place, &entry.key, "0 topics leave nothing to send to");
                1
            }
            Some([0]) => 1,
            Some([topics]) if self.wishes.merge_topics => {
                let note = format!(
                    "--merge-topics: as many partitions, producers and consumers as {topics} topics have; every \
                     producer sends to all partitions, so batches are smaller than in the benchmark"
                );
                self.fates.translated(&entry.place, &entry.key, "one topic", note);
                *topics
            }
            Some([_]) => {
                let reason = "a step here has one topic; --merge-topics makes one with the partitions, producers and \
                              consumers of all (its batches are smaller, because every producer sends to all partitions)";
                self.fates.refused(&entry.place, &entry.key, reason);
                1
            }
            Some(_) => {
                let reason = "a step here has one topic: import a workload for each number of topics";
                self.fates.refused(&entry.place, &entry.key, reason);
                1
            }
        };
        if let Some(numbers) = self.numbers(partitions) {
            let value = list(numbers.iter().map(|n| n * topics));
            let place = &partitions.place;
            self.fates.taken(place, &partitions.key, format!("topic.partitions: {value}"));
            let comment = comment(place, &partitions.key);
            self.draft.topic.push(Setting::from_key("partitions", value, place, &comment));
        }
        Ok(topics)
    }

    pub(super) fn has_no_producers(&self) -> bool {
        self.entry("producersPerTopic").is_some_and(|entry| entry.value == Value::Scalar("0".to_owned()))
    }

    fn names_topics(&self) -> bool {
        self.entries.iter().any(|entry| entry.key.starts_with("existing") && entry.value != Value::Nothing)
    }

    /// The topic that an existing list names; a refusal where it is not exactly one.
    fn existing_topic(&mut self) -> Option<String> {
        let keys = ["existingTopicList", "existingProduceTopicList", "existingConsumeTopicList"];
        let lists: Vec<&Entry> = keys.iter().filter_map(|key| self.entry(key)).collect();
        let (first, others) = lists.split_first()?;
        let names = |entry: &Entry| match &entry.value {
            Value::List(items) => items.iter().map(Value::to_string).collect(),
            value => vec![value.to_string()],
        };
        let name = match names(first).as_slice() {
            [name] => name.clone(),
            several => {
                let reason = format!("a step here has one topic, and these are {}", several.len());
                self.fates.refused(&first.place, &first.key, reason);
                return None;
            }
        };
        let value = quoted(&name);
        for entry in lists.iter() {
            if names(entry) == [name.as_str()] {
                self.fates.taken(
                    &entry.place,
                    &entry.key,
                    format!("topic.name: {value} (never altered or deleted)"),
                );
            } else {
                let reason = format!(
                    "producers and consumers of a step have the same topic, and {} names another",
                    first.key
                );
                self.fates.refused(&entry.place, &entry.key, reason);
            }
        }
        let only_consumed = others.is_empty() && first.key == "existingConsumeTopicList";
        if only_consumed && !self.has_no_producers() {
            let reason = "producers and consumers of a step have the same topic: existingTopicList names it for both, and \
                          producersPerTopic: 0 reads what is there";
            self.fates.refused(&first.place, &first.key, reason);
        }
        let comment = comment(&first.place, &first.key);
        self.draft.topic.push(Setting::from_key("name", value, &first.place, &comment));
        Some(name)
    }
}
