//! The settings of a network driver, in the words of ethtool(8).
//!
//! | group | reads as |
//! |---|---|
//! | `channels`, `rings`, `coalesce`, `pause` | `combined 4`, `rx 512 tx 512`, `adaptive-rx on ... rx-usecs 3 ...`, `autoneg on rx on tx on` |
//! | `features` | `rx-gro on tx-tcp-segmentation on ...`: those that may be changed, on where they are wanted |
//! | `rss` | `default`, `equal 4`, `weight 3 1` or `table 0 1 2 ...`, then `hkey 6d:5a:...` |
//! | `flow-hash-udp4` and its like | `sdfn` |
//!
//! A value that is written may name some keys alone; the others stay. Nothing is told to a driver that has it already: for some, being told
//! takes the link down. On a recorded host a group is a file `/ethtool/INTERFACE/GROUP`, with its maxima in `GROUP.max`, and `GROUP.fixed`
//! where the driver does not let it be changed. Not here: the call to the kernel (`plumb_observe::ethtool`).

mod card;
mod features;
mod flow_hash;
mod group;
mod members;
mod spread;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod veth;
mod words;

use super::SettingError;
use crate::host::Host;
use group::{Group, Value};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;

/// Bytes of an interface's name, at most (`IFNAMSIZ` without the end).
const NAME_BYTES_MAX: usize = 15;

/// One group of settings of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DriverSettings {
    interface: String,
    group: Group,
}

/// Why a driver's setting was not changed.
#[derive(Debug)]
enum Failure {
    /// The value does not fit what the driver has.
    Words(String),
    /// The driver does not let it be changed.
    Fixed(String),
    /// The kernel did not take it.
    Call(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Call(error)
    }
}

/// The maxima of a group by their keys; of `rss` the queues and the entries of the table. None where the driver tells none.
pub(crate) fn limits(host: &Host, interface: &str, group: &str) -> Option<BTreeMap<String, u64>> {
    DriverSettings::new(&format!("{interface}:{group}"))?.limits(host)
}

impl DriverSettings {
    /// True if many drivers stop and start the device for it.
    pub(super) fn resets_the_device(&self) -> bool {
        matches!(self.group, Group::Channels | Group::Rings | Group::Features | Group::Pause)
    }

    /// From `eth0:rings`.
    pub(super) fn new(rest: &str) -> Option<Self> {
        let (interface, group) = rest.rsplit_once(':')?;
        // As the kernel has it; and no name that a program takes for an option.
        let plain = (1..=NAME_BYTES_MAX).contains(&interface.len())
            && interface != "."
            && interface != ".."
            && !interface.starts_with('-')
            && !interface.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control());
        let group = Group::new(group)?;
        plain.then(|| DriverSettings { interface: interface.to_owned(), group })
    }

    /// The interface, where the group is its channels.
    pub(super) fn interface_of_channels(&self) -> Option<&str> {
        (self.group == Group::Channels).then_some(self.interface.as_str())
    }

    /// The device's place on its bus; none of an interface that is no device.
    pub(super) fn identity(&self, host: &Host) -> Option<String> {
        host.root().link(&format!("/sys/class/net/{}/device", self.interface))
    }

    /// What it is set to.
    pub(super) fn read(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        match host.root().is_host() {
            true => self.told(name, self.group.read(&self.interface)),
            false => Ok(super::plain(&self.recorded_text(name, host)?)),
        }
    }

    /// What is in effect: of features those that are active.
    pub(super) fn effective(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        match host.root().is_host() && self.group == Group::Features {
            true => self.told(name, features::active(&self.interface).map(Value::Pairs)),
            false => self.read(name, host),
        }
    }

    /// Refuses a value that does not fit what the driver has. Whether it lets it be changed is seen when it is.
    pub(super) fn check(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        let reads = self.read(name, host)?;
        match self.asked(host, value, &reads) {
            Err(Failure::Words(reason)) => Err(self.refusal(name, value, Failure::Words(reason))),
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        let reads = self.read(name, host)?;
        self.tell(name, host, value, &reads).map_err(|failure| self.refusal(name, value, failure))
    }

    fn tell(&self, name: &str, host: &Host, value: &str, reads: &str) -> Result<(), Failure> {
        let asked = self.asked(host, value, reads)?;
        let now = self.group.parse(reads)?;
        if asked.is_met(&now, self.size(host)) {
            return Ok(());
        }
        if host.root().is_host() {
            return self.group.write(&self.interface, &asked);
        }
        if let Ok(why) = host.root().read(&format!("{}.fixed", self.recorded())) {
            let why = super::plain(&why);
            return Err(Failure::Fixed(if why.is_empty() { self.is_fixed() } else { why }));
        }
        let text = self.recorded_text(name, host).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(fs_err::write(host.root().locate(&self.recorded()), asked.put_into(&text, now))?)
    }

    /// A value in full words, each of which the driver has and may have.
    fn asked(&self, host: &Host, value: &str, reads: &str) -> Result<Value, Failure> {
        let now = self.group.parse(reads)?;
        let asked = self.group.parse(value)?.spelled_out(&now, self.group);
        if let (Value::Pairs(asked), Value::Pairs(now)) = (&asked, &now)
            && let Some((key, _)) = asked.iter().find(|(key, _)| now.get(key).is_none())
        {
            return Err(match host.root().is_host() && self.group == Group::Features {
                true => features::why_not(&self.interface, key),
                false => {
                    Failure::Words(format!("{} has no {key}, expected one of {}", self.interface, now.keys()))
                }
            });
        }
        self.group.check(&asked, &now, &self.limits(host).unwrap_or_default())?;
        Ok(asked)
    }

    /// True if what it reads is what the value asks for.
    pub(super) fn is_met(&self, value: &str, reads: &str) -> bool {
        self.compare(value, reads, |asked, reads| asked.is_met(reads, None))
    }

    /// True if what it reads is what a driver may have made of the value: rounded, or chosen by itself where it is let to.
    pub(super) fn is_taken(&self, host: &Host, value: &str, reads: &str) -> bool {
        self.compare(value, reads, |asked, reads| asked.is_taken(reads, self.group, self.size(host)))
    }

    /// True if two readings are the same, but for numbers that the driver is let to choose in both.
    pub(super) fn reads_alike(&self, one: &str, other: &str) -> bool {
        let both = |text: &str| Some(self.group.parse(text).ok()?.without_chosen(self.group));
        super::plain(one) == super::plain(other) || both(one).is_some_and(|one| Some(one) == both(other))
    }

    fn compare(&self, value: &str, reads: &str, same: impl Fn(&Value, &Value) -> bool) -> bool {
        let (Ok(asked), Ok(reads)) = (self.group.parse(value), self.group.parse(reads)) else { return false };
        same(&asked.spelled_out(&reads, self.group), &reads)
    }

    fn limits(&self, host: &Host) -> Option<BTreeMap<String, u64>> {
        let limits = match host.root().is_host() {
            true => self.group.limits(&self.interface)?,
            false => words::Pairs::parse(&host.root().read(&format!("{}.max", self.recorded())).ok()?)
                .ok()?
                .numbers(),
        };
        (!limits.is_empty()).then_some(limits)
    }

    fn size(&self, host: &Host) -> Option<spread::Size> {
        (self.group == Group::Spread)
            .then(|| self.limits(host))
            .flatten()
            .and_then(|limits| spread::Size::of(&limits))
    }

    /// The command with which a person sets it.
    pub(super) fn by_hand(&self, value: &str) -> String {
        // An interface may have any name, and a command is pasted.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        let interface = match self.interface.chars().all(is_plain) {
            true => self.interface.clone(),
            false => format!("'{}'", self.interface.replace('\'', r"'\''")),
        };
        self.group.by_hand(&interface, &super::plain(value))
    }

    fn recorded(&self) -> String {
        format!("/ethtool/{}/{}", self.interface, self.group.name())
    }

    fn recorded_text(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        let path = self.recorded();
        host.root().read(&path).map_err(|_| SettingError::Unknown {
            name: name.to_owned(),
            path: path.into(),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// What the driver told, as text.
    fn told(&self, name: &str, told: io::Result<Value>) -> Result<String, SettingError> {
        let none = || format!("the driver of {} has none", self.interface);
        let text = told.map(|value| value.text()).map_err(|error| match errno(&error) {
            Some(Errno::OPNOTSUPP) => io::Error::new(io::ErrorKind::Unsupported, none()),
            _ => error,
        });
        let text = text.and_then(|text| match text.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::Unsupported, none())),
            false => Ok(text),
        });
        text.map_err(|source| SettingError::Unknown {
            name: name.to_owned(),
            path: self.what().into(),
            source,
        })
    }

    fn refusal(&self, name: &str, value: &str, failure: Failure) -> SettingError {
        let (name, value) = (name.to_owned(), value.to_owned());
        match failure {
            Failure::Words(reason) => SettingError::Unfit { name, value, reason },
            Failure::Fixed(reason) => SettingError::Unchangeable { name, reason },
            Failure::Call(source) => match errno(&source) {
                Some(Errno::OPNOTSUPP) => SettingError::Unchangeable { name, reason: self.is_fixed() },
                Some(Errno::PERM | Errno::ACCESS) => {
                    SettingError::Permission { name, path: self.what().into(), source }
                }
                Some(Errno::INVAL) if self.group == Group::Channels => {
                    SettingError::Refused { name, value, source: self.why_not_so_many(source) }
                }
                _ => SettingError::Refused { name, value, source },
            },
        }
    }

    /// The kernel takes no number of queues with which a table that somebody wrote would name queues that are not there
    /// (`ethnl_set_channels`), and does not say so.
    fn why_not_so_many(&self, source: io::Error) -> io::Error {
        match Group::Spread.read(&self.interface) {
            Ok(_) => io::Error::new(
                source.kind(),
                format!(
                    "{source}: its table of queues may name some that would be gone; set ethtool:{}:rss to fewer first, such as equal 2",
                    self.interface
                ),
            ),
            Err(_) => source,
        }
    }

    /// `the rings of eth0`.
    fn what(&self) -> String {
        format!("{} of {}", self.group.name(), self.interface)
    }

    fn is_fixed(&self) -> String {
        format!("the driver of {} does not let it be changed so", self.interface)
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}
