//! The groups of a driver's settings, and their values in the words of each.

use super::flow_hash::{Fields, Flow};
use super::members::{self, CHANNELS, COALESCE, PAUSE, RINGS, Row};
use super::spread::{Size, Spread};
use super::words::Pairs;
use super::{Failure, card, features};
use std::collections::BTreeMap;
use std::io;

/// What is read and written together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Channels,
    Rings,
    Coalesce,
    Pause,
    Features,
    Spread,
    FlowHash(Flow),
}

/// A value of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Pairs(Pairs),
    Spread(Spread),
    Fields(Fields),
}

impl Group {
    /// By its name.
    pub(super) fn new(name: &str) -> Option<Self> {
        let plain =
            [Group::Channels, Group::Rings, Group::Coalesce, Group::Pause, Group::Features, Group::Spread];
        let flows = Flow::ALL.map(Group::FlowHash);
        plain.into_iter().chain(flows).find(|group| group.name() == name)
    }

    pub(super) fn name(self) -> String {
        match self {
            Group::Channels => "channels".to_owned(),
            Group::Rings => "rings".to_owned(),
            Group::Coalesce => "coalesce".to_owned(),
            Group::Pause => "pause".to_owned(),
            Group::Features => "features".to_owned(),
            Group::Spread => "rss".to_owned(),
            Group::FlowHash(flow) => format!("flow-hash-{}", flow.name()),
        }
    }

    pub(super) fn parse(self, text: &str) -> Result<Value, Failure> {
        match self {
            Group::Spread => Ok(Value::Spread(Spread::parse(text)?)),
            Group::FlowHash(_) => Ok(Value::Fields(Fields::parse(text)?)),
            _ => match Pairs::parse(text)? {
                pairs if pairs.is_empty() => Err(Failure::Words("it names no key".to_owned())),
                pairs => Ok(Value::Pairs(pairs)),
            },
        }
    }

    pub(super) fn read(self, interface: &str) -> io::Result<Value> {
        match self {
            Group::Features => Ok(Value::Pairs(features::read(interface)?)),
            Group::Spread => Ok(Value::Spread(card::read(interface)?)),
            Group::FlowHash(flow) => Ok(Value::Fields(flow.read(interface)?)),
            Group::Channels | Group::Rings | Group::Coalesce | Group::Pause => match self.row() {
                Some(row) => Ok(Value::Pairs(row.read(interface)?)),
                None => Err(io::ErrorKind::Unsupported.into()),
            },
        }
    }

    /// Tells the driver what a value names; what it does not name stays.
    pub(super) fn write(self, interface: &str, value: &Value) -> Result<(), Failure> {
        match (self, self.row(), value) {
            (_, Some(row), Value::Pairs(pairs)) => row.write(interface, pairs),
            (Group::Features, _, Value::Pairs(pairs)) => features::write(interface, pairs),
            (_, _, Value::Spread(spread)) => card::write(interface, spread),
            (Group::FlowHash(flow), _, Value::Fields(fields)) => Ok(flow.write(interface, *fields)?),
            _ => Err(Failure::Words("it is no value of this group".to_owned())),
        }
    }

    pub(super) fn limits(self, interface: &str) -> Option<BTreeMap<String, u64>> {
        match self {
            Group::Spread => {
                let size = card::size(interface).ok()?;
                Some([("entries".to_owned(), size.entries), ("queues".to_owned(), size.queues)].into())
            }
            _ => Some(self.row()?.limits(interface).ok()?.numbers()),
        }
    }

    /// Refuses what is no value of its key, or beyond its maximum. What stays as it is may be anything.
    pub(super) fn check(
        self,
        asked: &Value,
        now: &Value,
        limits: &BTreeMap<String, u64>,
    ) -> Result<(), Failure> {
        match (asked, now) {
            (Value::Pairs(asked), Value::Pairs(now)) => {
                match self.row() {
                    Some(row) => row.check(asked)?,
                    None => features::check(asked)?,
                }
                let beyond = asked.iter().find_map(|(key, value)| {
                    let most = limits.get(key)?;
                    let is_beyond = value.parse::<u64>().is_ok_and(|number| number > *most);
                    (is_beyond && now.get(key) != Some(value)).then_some((key, value, most))
                });
                match beyond {
                    Some((key, value, most)) => {
                        Err(Failure::Words(format!("{key} {value} is beyond its maximum, {most}")))
                    }
                    None => Ok(()),
                }
            }
            (Value::Spread(asked), Value::Spread(now)) => asked.check(now, Size::of(limits)),
            _ => Ok(()),
        }
    }

    /// True if its numbers may be rounded by a driver.
    fn is_rounded(self) -> bool {
        matches!(self, Group::Rings | Group::Coalesce)
    }

    fn row(self) -> Option<&'static Row> {
        match self {
            Group::Channels => Some(&CHANNELS),
            Group::Rings => Some(&RINGS),
            Group::Coalesce => Some(&COALESCE),
            Group::Pause => Some(&PAUSE),
            Group::Features | Group::Spread | Group::FlowHash(_) => None,
        }
    }

    /// The command with which a person sets it.
    pub(super) fn by_hand(self, interface: &str, value: &str) -> String {
        let option = match self {
            Group::Channels => "-L",
            Group::Rings => "-G",
            Group::Coalesce => "-C",
            Group::Pause => "-A",
            Group::Features => "-K",
            // ethtool(8) has no words for a table that is neither in turn nor in runs.
            Group::Spread if value.starts_with("table") => {
                return format!("ethtool has no command for it: {interface} {value}");
            }
            Group::Spread => "-X",
            Group::FlowHash(flow) => {
                let letters = if value == "none" { "''" } else { value };
                return format!("ethtool -N {interface} rx-flow-hash {} {letters}", flow.name());
            }
        };
        format!("ethtool {option} {interface} {value}")
    }
}

impl Value {
    pub(super) fn text(&self) -> String {
        match self {
            Value::Pairs(pairs) => pairs.text(),
            Value::Spread(spread) => spread.text(),
            Value::Fields(fields) => fields.text(),
        }
    }

    /// With the kernel's own names of features.
    pub(super) fn spelled_out(self, now: &Value, group: Group) -> Value {
        match (self, now) {
            (Value::Pairs(asked), Value::Pairs(now)) if group == Group::Features => {
                Value::Pairs(features::spelled_out(&asked, now))
            }
            (asked, _) => asked,
        }
    }

    /// True if all that it names reads so.
    pub(super) fn is_met(&self, reads: &Value, size: Option<Size>) -> bool {
        match (self, reads) {
            (Value::Pairs(asked), Value::Pairs(reads)) => {
                asked.iter().all(|(key, value)| reads.get(key).is_some_and(|reads| is_same(value, reads)))
            }
            (Value::Spread(asked), Value::Spread(reads)) => asked.is_met(reads, size),
            _ => self == reads,
        }
    }

    /// True if all that it names reads as a driver may have taken it.
    pub(super) fn is_taken(&self, reads: &Value, group: Group, size: Option<Size>) -> bool {
        match (self, reads) {
            (Value::Pairs(asked), Value::Pairs(all)) if group.is_rounded() => {
                asked.iter().all(|(key, value)| {
                    let is_chosen = group == Group::Coalesce && members::is_chosen_by_driver(key, all);
                    is_chosen
                        || all.get(key).is_some_and(|reads| is_same(value, reads) || is_rounded(value, reads))
                })
            }
            _ => self.is_met(reads, size),
        }
    }

    /// Without the numbers that the driver is let to choose.
    pub(super) fn without_chosen(self, group: Group) -> Value {
        match self {
            Value::Pairs(all) if group == Group::Coalesce => {
                let mut left = Pairs::default();
                for (key, value) in all.iter().filter(|(key, _)| !members::is_chosen_by_driver(key, &all)) {
                    left.set(key, value);
                }
                Value::Pairs(left)
            }
            other => other,
        }
    }

    /// The text with this in place of what it said, and its blanks as they were.
    pub(super) fn put_into(self, text: &str, now: Value) -> String {
        let whole = match (self, now) {
            (Value::Pairs(pairs), _) => return pairs.put_into(text),
            (Value::Spread(asked), Value::Spread(now)) => asked.over(now).text(),
            (asked, _) => asked.text(),
        };
        let own = text.trim();
        match own.is_empty() {
            true => whole,
            false => text.replacen(own, &whole, 1),
        }
    }
}

/// `007` is 7.
fn is_same(asked: &str, reads: &str) -> bool {
    asked == reads || asked.parse::<u64>().is_ok_and(|number| reads.parse() == Ok(number))
}

/// True of a number that a driver may have rounded another to: rings go to powers of two, so at least half and at most twice of it.
fn is_rounded(asked: &str, reads: &str) -> bool {
    let (Ok(asked), Ok(reads)) = (asked.parse::<u32>(), reads.parse::<u32>()) else { return false };
    let (asked, reads) = (u64::from(asked), u64::from(reads));
    reads * 2 >= asked && reads <= asked * 2
}
