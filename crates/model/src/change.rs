//! A change: a setting's value before and after, and what to write to have it as it was.
//!
//! What an arm of a trial changes on this host is one, and so is what a finished experiment hands over to be installed. Not here: making
//! and undoing it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The owner of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A producer's property.
    Producer,
    /// A consumer's property.
    Consumer,
    /// A topic's configuration.
    Topic,
    /// A broker's property.
    Broker,
    /// An option of the broker's Java virtual machine.
    Jvm,
    /// The log directories of a broker.
    LogDirectory,
    /// A kernel setting of the host.
    Host,
    /// It cannot be installed: the client itself, the number of partitions, a command around the blocks.
    Other,
}

impl Owner {
    /// The owner within a sentence; empty where there is none.
    pub fn word(self) -> &'static str {
        match self {
            Owner::Producer => "producer",
            Owner::Consumer => "consumer",
            Owner::Topic => "topic",
            Owner::Broker => "broker",
            Owner::Jvm => "broker's JVM",
            Owner::LogDirectory => "log directory",
            Owner::Host => "host",
            Owner::Other => "",
        }
    }
}

/// A setting that is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Its owner.
    pub owner: Owner,
    /// Its key: a property's name, a sysctl name, a path.
    pub key: String,
}

/// A key and the value that is written to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// One setting changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The setting.
    pub target: Target,
    /// Its value before; none: not known, or not set.
    pub before: Option<String>,
    /// Its value after; none: it is left out.
    pub after: Option<String>,
    /// The values to write, in this order, to have everything as it was: mostly the value before, and more where the change resets other
    /// settings. Empty where the value before is not known.
    pub inverse: Vec<Assignment>,
}

impl Change {
    /// A change whose way back is the value before.
    pub fn plain(target: Target, before: Option<String>, after: Option<String>) -> Self {
        let back = before.iter().map(|value| Assignment { key: target.key.clone(), value: value.clone() });
        Change { inverse: back.collect(), target, before, after }
    }
}

/// The values to write, in this order, to undo changes that were made in theirs: the last one first, each key once, as what one change reset
/// has to be put back after it.
pub fn way_back(changes: &[Change]) -> Vec<Assignment> {
    let mut back: Vec<Assignment> = Vec::new();
    for assignment in changes.iter().rev().flat_map(|change| &change.inverse) {
        back.retain(|earlier| earlier.key != assignment.key);
        back.push(assignment.clone());
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(key: &str) -> Target {
        Target { owner: Owner::Host, key: key.to_owned() }
    }

    fn to(key: &str, value: &str) -> Assignment {
        Assignment { key: key.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_plain_change_goes_back_to_what_was_before_where_that_is_known() {
        let known = Change::plain(host("a"), Some("1".to_owned()), Some("2".to_owned()));
        assert_eq!(known.inverse, [to("a", "1")]);
        assert!(Change::plain(host("a"), None, Some("2".to_owned())).inverse.is_empty());
    }

    #[test]
    fn the_last_change_is_undone_first_and_what_another_one_reset_after_that() {
        let scheduler = Change {
            inverse: vec![to("scheduler", "none"), to("length", "64")],
            ..Change::plain(host("scheduler"), Some("none".to_owned()), Some("kyber".to_owned()))
        };
        let length = Change::plain(host("length"), Some("64".to_owned()), Some("8".to_owned()));
        assert_eq!(way_back(&[scheduler, length]), [to("scheduler", "none"), to("length", "64")]);
    }
}
