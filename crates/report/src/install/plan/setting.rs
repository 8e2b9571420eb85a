//! The names of a plan, and what of them may be written into a file at all.
//!
//! A plan may come from anywhere, and its files are run by root. So names have the letters that the kernel's own names have and no others,
//! and values are one line of printable ASCII; a format that gives more letters a meaning takes fewer ([`is_plain`]).

use plumb_model::setting_name::{InterruptName, kernel_file};

/// Bytes of an interface's name, at most (`IFNAMSIZ` without the end).
const INTERFACE_BYTES_MAX: usize = 15;

/// A setting of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file below `/proc/sys`, by its path from there.
    Sysctl { path: String },
    /// A file below `/sys`, by its whole path.
    Sys { path: String },
    /// A driver's settings.
    Driver { interface: String, group: Group },
    /// The processors of an interrupt.
    Interrupt { device: String, name: String },
    /// The processors of a process.
    Process { pid: u32 },
    /// A broker's setting.
    Broker { id: u32, key: String },
    /// A topic's setting.
    Topic { name: String, key: String },
}

/// A group of a driver's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Group {
    /// Keys with their values: channels, rings, coalesce, pause, features.
    Pairs(Words, Vec<(String, String)>),
    /// How packets are spread over queues, in the words of `ethtool -X`.
    Spread(Vec<String>),
    /// The fields that choose a queue: the kind of packets, and letters.
    FlowHash(String, String),
}

/// The groups whose values are keys with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Channels,
    Rings,
    Coalesce,
    Pause,
    Features,
}

impl Words {
    const ALL: [Words; 5] = [Words::Channels, Words::Rings, Words::Coalesce, Words::Pause, Words::Features];

    pub(super) fn name(self) -> &'static str {
        match self {
            Words::Channels => "channels",
            Words::Rings => "rings",
            Words::Coalesce => "coalesce",
            Words::Pause => "pause",
            Words::Features => "features",
        }
    }
}

/// A setting and what is written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// Its name in the plan.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Of one line, with one blank between words.
    pub(super) value: String,
}

/// A setting that is in no file, or not in all, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) name: String,
    pub(super) reason: String,
}

impl LeftOut {
    pub(super) fn new(name: &str, reason: &str) -> Self {
        LeftOut { name: name.to_owned(), reason: reason.to_owned() }
    }
}

impl Written {
    pub(super) fn new(name: &str, value: &str) -> Result<Self, LeftOut> {
        let is_text = value.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c == '\t');
        let value = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !is_text || value.is_empty() {
            return Err(LeftOut::new(name, "its value is not one line of printable ASCII"));
        }
        match kind(name, &value) {
            Ok(kind) => Ok(Written { name: name.to_owned(), kind, value }),
            Err(reason) => Err(LeftOut::new(name, reason)),
        }
    }

    /// The interface that it belongs to, if it is one's.
    pub(super) fn interface(&self) -> Option<&str> {
        match &self.kind {
            Kind::Driver { interface, .. } => Some(interface),
            Kind::Sys { path } => Some(path.strip_prefix("/sys/class/net/")?.split('/').next()?),
            _ => None,
        }
    }

    /// The setting as a file; none of what is no file.
    pub(super) fn file(&self) -> Option<String> {
        match &self.kind {
            Kind::Sysctl { path } => Some(format!("/proc/sys/{path}")),
            Kind::Sys { path } => Some(path.clone()),
            _ => None,
        }
    }

    /// True of a setting of the host that has the same name on another one of its kind, and after a restart.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(
            self.kind,
            Kind::Sysctl { .. } | Kind::Sys { .. } | Kind::Driver { .. } | Kind::Interrupt { .. }
        )
    }
}

/// True of a value that no format gives a meaning: no quote, no `$`, `%`, backslash, bracket or comment.
pub(super) fn is_plain(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || " ._,:/+@-".contains(c))
}

fn kind(name: &str, value: &str) -> Result<Kind, &'static str> {
    let unknown = "it is no name of a setting that can be written into a file";
    match name.split_once(':') {
        Some(("ethtool", rest)) => {
            let (interface, group) = rest.rsplit_once(':').ok_or(unknown)?;
            if !is_interface(interface) {
                return Err("the name of its interface has characters that are not safe in all files");
            }
            Ok(Kind::Driver { interface: interface.to_owned(), group: group_of(group, value)? })
        }
        Some(("irq", rest)) => {
            let InterruptName { device, name } = InterruptName::new(rest).ok_or(unknown)?;
            let is_list = value.chars().all(|c| c.is_ascii_digit() || ",-".contains(c));
            match is_word(device, ".:_@-") && is_word(name, ".:_@,+-") && is_list {
                true => Ok(Kind::Interrupt { device: device.to_owned(), name: name.to_owned() }),
                false => Err("its device, name or processors have characters that are not safe in all files"),
            }
        }
        Some(("affinity", rest)) => match rest.parse() {
            Ok(pid) if value.chars().all(|c| c.is_ascii_digit() || ",-".contains(c)) => {
                Ok(Kind::Process { pid })
            }
            Ok(_) => Err("its threads have different processors, which no unit can give them"),
            Err(_) => Err(unknown),
        },
        Some(("broker", rest)) => {
            let (id, key) = rest.rsplit_once(':').ok_or(unknown)?;
            let id = id.parse().map_err(|_| unknown)?;
            is_word(key, "._-").then(|| Kind::Broker { id, key: key.to_owned() }).ok_or(unknown)
        }
        Some(("topic", rest)) => {
            let (topic, key) = rest.rsplit_once(':').ok_or(unknown)?;
            let topic_kind = || Kind::Topic { name: topic.to_owned(), key: key.to_owned() };
            (is_word(topic, "._-") && is_word(key, "._-")).then(topic_kind).ok_or(unknown)
        }
        _ => file(name),
    }
}

fn file(name: &str) -> Result<Kind, &'static str> {
    let path = kernel_file(name);
    // A name that starts with a minus is an order to sysctl and to tmpfiles.
    let is_part = |part: &str| is_word(part, "._@:+~,-") && part != "." && part != "..";
    if !path.split('/').skip(1).all(is_part) {
        return Err("its name has characters that are not safe in all files");
    }
    match (path.strip_prefix("/proc/sys/"), path.starts_with("/sys/")) {
        (Some(below), _) => Ok(Kind::Sysctl { path: below.to_owned() }),
        (None, true) => Ok(Kind::Sys { path }),
        (None, false) => Err("it is no file below /proc/sys or /sys"),
    }
}

fn group_of(group: &str, value: &str) -> Result<Group, &'static str> {
    let words: Vec<String> = value.split(' ').map(str::to_owned).collect();
    if !words.iter().all(|word| is_word(word, "._:-")) {
        return Err("its value has characters that no driver's setting has");
    }
    if let Some(words_of) = Words::ALL.into_iter().find(|words| words.name() == group) {
        if !words.len().is_multiple_of(2) {
            return Err("its value is not keys with values");
        }
        let pairs = words.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        return Ok(Group::Pairs(words_of, pairs.collect()));
    }
    match (group, group.strip_prefix("flow-hash-")) {
        ("rss", _) if words[0] == "table" => Err("ethtool has no words for a table of its kind"),
        ("rss", _) => Ok(Group::Spread(words)),
        (_, Some(flow @ ("tcp4" | "udp4" | "tcp6" | "udp6"))) if words.len() == 1 => {
            Ok(Group::FlowHash(flow.to_owned(), words[0].clone()))
        }
        _ => Err("no driver has such a group of settings"),
    }
}

pub(super) fn is_interface(name: &str) -> bool {
    name.len() <= INTERFACE_BYTES_MAX && is_word(name, "._@-") && name != "." && name != ".."
}

/// True of a word of ASCII letters, digits and these marks, that no program takes for an option.
pub(super) fn is_word(text: &str, marks: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}
