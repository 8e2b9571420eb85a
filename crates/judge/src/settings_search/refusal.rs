//! What a refusal of a block's settings is about, from the words of the one who refused.
//!
//! Which of the changes is to blame over several blocks is [`crate::best::refused`]'s to say; this reads one refusal alone.

use super::Course;
use crate::best;
use plumb_model::plan::Properties;
use plumb_model::property::{same_value, usual_name};
use plumb_model::search_report::RefusedSettings;
use plumb_model::settings_search::{Refusal, RefusedBy, split};
use plumb_model::tunable::{Owner, TUNABLES};

/// Errors of a broker for messages that it does not take, with the setting that each is about where it is about one. Others are
/// those of a broker in trouble, and refuse no settings.
const CODES: &[(&str, Option<&str>)] = &[
    // As librdkafka calls it, and as the protocol does.
    ("MSG_SIZE_TOO_LARGE", Some("producer.batch.size")),
    ("MESSAGE_TOO_LARGE", Some("producer.batch.size")),
    ("RECORD_LIST_TOO_LARGE", Some("producer.batch.size")),
    ("UNSUPPORTED_COMPRESSION_TYPE", Some("producer.compression.type")),
    ("POLICY_VIOLATION", None),
];

/// What is refused, as far as that is known without reading the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About<'a> {
    /// A property of a client.
    Property {
        /// Its name.
        key: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// Properties of a client.
    Clients,
    /// The block's topic.
    Topic,
    /// A setting of this host or of a running broker, by `tune`'s name.
    Host(&'a str),
    /// What was sent, by the broker's error.
    Messages(&'a str),
    /// Nobody knows.
    Anything,
}

/// True if a broker's error for messages is a refusal of them.
pub fn refuses_messages(code: &str) -> bool {
    CODES.iter().any(|(known, _)| *known == code)
}

/// A refusal of a block with these settings.
pub fn refusal(settings: &Properties, by: RefusedBy, about: About<'_>, words: &str) -> Refusal {
    let of = |is_it: &dyn Fn(Owner, &str, &str) -> bool| -> Vec<String> {
        let changed = settings.iter().filter(|(setting, value)| {
            split(setting).is_some_and(|(owner, name)| is_it(owner, name, value.as_str()))
        });
        changed.map(|(setting, _)| setting.clone()).collect()
    };
    let named = |owners: &[Owner]| {
        let of_owners = of(&|owner, _, _| owners.contains(&owner));
        let in_words = of(&|owner, name, _| owners.contains(&owner) && is_named(owner, name, words));
        if in_words.is_empty() { of_owners } else { in_words }
    };
    let clients = [Owner::Producer, Owner::Consumer];
    let suspects = match about {
        About::Property { key, value } => of(&|owner, name, changed| {
            clients.contains(&owner) && usual_name(key) == name && same_value(value, changed)
        }),
        About::Clients => named(&clients),
        About::Topic => named(&[Owner::Topic]),
        About::Host(setting) => of(&|owner, name, _| owner == Owner::Host && name == setting),
        About::Messages(code) => {
            let setting = CODES.iter().find(|(known, _)| *known == code).and_then(|(_, setting)| *setting);
            settings.keys().filter(|changed| setting == Some(changed.as_str())).cloned().collect()
        }
        About::Anything => named(&[Owner::Producer, Owner::Consumer, Owner::Topic, Owner::Host]),
    };
    let suspects = if suspects.is_empty() { settings.keys().cloned().collect() } else { suspects };
    Refusal { by, words: words.to_owned(), suspects }
}

/// True if words have the name of a setting, or another name of it, as a word of its own.
fn is_named(owner: Owner, name: &str, words: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let java = TUNABLES.iter().find(|row| row.owner == owner && row.name == name).and_then(|row| row.java);
    let is_it = |word: &str| {
        let word = word.trim_matches('.');
        usual_name(word) == name || Some(word) == java
    };
    words.split(|c| !is_of_a_name(c)).any(is_it)
}

impl Course<'_> {
    /// What was refused, so that it is not tried again.
    pub fn refused(&self) -> Vec<RefusedSettings> {
        let of = |refused: best::Refused| {
            let first = self.result.blocks.get(*refused.tries.first()?)?.refused.clone()?;
            let value = |value: &best::RefusedValue| {
                let dimension = &self.search.dimensions[value.dimension];
                (dimension.setting.clone(), dimension.values[value.level].clone())
            };
            Some(RefusedSettings {
                settings: refused.values.iter().map(value).collect(),
                beyond: refused.values.iter().any(|value| value.held_off.is_some()),
                grounds: refused.grounds,
                by: first.by,
                words: first.words,
                blocks: refused.tries.len(),
            })
        };
        best::refused(&self.tried(), &self.plan()).into_iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Properties {
        let all = [
            ("producer.linger.ms", "100"),
            ("producer.socket.nagle.disable", "false"),
            ("consumer.socket.nagle.disable", "true"),
            ("consumer.fetch.wait.max.ms", "1"),
            ("topic.segment.bytes", "134217728"),
            ("topic.index.interval.bytes", "65536"),
            ("host.broker:1:num.io.threads", "64"),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn suspects(about: About<'_>, words: &str) -> Vec<String> {
        refusal(&settings(), RefusedBy::Broker, about, words).suspects
    }

    #[test]
    fn the_setting_that_the_words_name_is_the_one_whichever_of_its_names_they_use() {
        let clients = |words| suspects(About::Clients, words);
        assert_eq!(clients("`message.timeout.ms` must be >= `linger.ms`."), ["producer.linger.ms"]);
        assert_eq!(clients("queue.buffering.max.ms is too large"), ["producer.linger.ms"]);
        assert_eq!(clients("fetch.max.wait.ms must not exceed 0"), ["consumer.fetch.wait.max.ms"]);
        let topic = "Invalid value 134217728 for configuration segment.bytes: Value must be at most 1000 (INVALID_CONFIG)";
        assert_eq!(suspects(About::Topic, topic), ["topic.segment.bytes"]);
        assert_eq!(suspects(About::Anything, topic), ["topic.segment.bytes"]);
        // A longer name is another setting.
        assert_eq!(clients("sticky.partitioning.linger.ms is too large").len(), 4);
    }

    #[test]
    fn without_a_name_it_is_what_the_request_was_about() {
        let topic = ["topic.index.interval.bytes", "topic.segment.bytes"];
        assert_eq!(suspects(About::Topic, "not here (POLICY_VIOLATION)"), topic);
        assert_eq!(suspects(About::Clients, "no").len(), 4);
        assert_eq!(suspects(About::Anything, "no").len(), settings().len());
        let none: Properties = [("producer.linger.ms".to_owned(), "1".to_owned())].into();
        let refused = refusal(&none, RefusedBy::Broker, About::Topic, "no");
        assert_eq!(refused.suspects, ["producer.linger.ms"], "what is left is better than nothing");
    }

    #[test]
    fn a_property_of_both_clients_is_the_one_of_that_value() {
        let nagle = |value| suspects(About::Property { key: "socket.nagle.disable", value }, "no");
        assert_eq!(nagle("false"), ["producer.socket.nagle.disable"]);
        assert_eq!(nagle("true"), ["consumer.socket.nagle.disable"]);
        let host = suspects(About::Host("broker:1:num.io.threads"), "no");
        assert_eq!(host, ["host.broker:1:num.io.threads"]);
    }

    #[test]
    fn a_batch_that_is_too_large_is_about_the_size_of_batches_where_that_was_changed() {
        let about = About::Messages("MSG_SIZE_TOO_LARGE");
        assert_eq!(suspects(about, "too large").len(), settings().len());
        let mut batch = settings();
        batch.insert("producer.batch.size".to_owned(), "1048576".to_owned());
        let refused = refusal(&batch, RefusedBy::Broker, about, "too large");
        assert_eq!(refused.suspects, ["producer.batch.size"]);
        assert!(refuses_messages("MSG_SIZE_TOO_LARGE") && !refuses_messages("_MSG_TIMED_OUT"));
    }
}
