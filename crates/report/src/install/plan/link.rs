//! `.link` files of systemd: rings, channels, times of coalescing and offloads, set once when the device appears.
//!
//! Only the first file that fits a device is used (systemd.link(5)), so that each has what the system's own default has of names.

use super::setting::{Group, Kind, Words, Written, is_word};
use super::udev::path_of;
use super::{InstallFile, Surroundings};
use crate::install::comment;
use std::collections::{BTreeMap, BTreeSet};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Number,
    Micros,
    Flag,
}

/// Keys of a driver's settings with those of a `.link` file (systemd.link(5)).
const KEYS: [(Words, &str, &str, Form); 37] = [
    (Words::Rings, "rx", "RxBufferSize", Form::Number),
    (Words::Rings, "rx-mini", "RxMiniBufferSize", Form::Number),
    (Words::Rings, "rx-jumbo", "RxJumboBufferSize", Form::Number),
    (Words::Rings, "tx", "TxBufferSize", Form::Number),
    (Words::Channels, "rx", "RxChannels", Form::Number),
    (Words::Channels, "tx", "TxChannels", Form::Number),
    (Words::Channels, "other", "OtherChannels", Form::Number),
    (Words::Channels, "combined", "CombinedChannels", Form::Number),
    (Words::Pause, "rx", "RxFlowControl", Form::Flag),
    (Words::Pause, "tx", "TxFlowControl", Form::Flag),
    (Words::Pause, "autoneg", "AutoNegotiationFlowControl", Form::Flag),
    (Words::Coalesce, "adaptive-rx", "UseAdaptiveRxCoalesce", Form::Flag),
    (Words::Coalesce, "adaptive-tx", "UseAdaptiveTxCoalesce", Form::Flag),
    (Words::Coalesce, "rx-usecs", "RxCoalesceSec", Form::Micros),
    (Words::Coalesce, "rx-usecs-irq", "RxCoalesceIrqSec", Form::Micros),
    (Words::Coalesce, "tx-usecs", "TxCoalesceSec", Form::Micros),
    (Words::Coalesce, "tx-usecs-irq", "TxCoalesceIrqSec", Form::Micros),
    (Words::Coalesce, "rx-frames", "RxMaxCoalescedFrames", Form::Number),
    (Words::Coalesce, "rx-frames-irq", "RxMaxCoalescedIrqFrames", Form::Number),
    (Words::Coalesce, "tx-frames", "TxMaxCoalescedFrames", Form::Number),
    (Words::Coalesce, "tx-frames-irq", "TxMaxCoalescedIrqFrames", Form::Number),
    (Words::Features, "rx-checksum", "ReceiveChecksumOffload", Form::Flag),
    (Words::Features, "rx", "ReceiveChecksumOffload", Form::Flag),
    (Words::Features, "tx", "TransmitChecksumOffload", Form::Flag),
    (Words::Features, "tx-tcp-segmentation", "TCPSegmentationOffload", Form::Flag),
    (Words::Features, "tx-tcp6-segmentation", "TCP6SegmentationOffload", Form::Flag),
    (Words::Features, "tx-generic-segmentation", "GenericSegmentationOffload", Form::Flag),
    (Words::Features, "gso", "GenericSegmentationOffload", Form::Flag),
    (Words::Features, "rx-gro", "GenericReceiveOffload", Form::Flag),
    (Words::Features, "gro", "GenericReceiveOffload", Form::Flag),
    (Words::Features, "rx-gro-hw", "GenericReceiveOffloadHardware", Form::Flag),
    (Words::Features, "rx-lro", "LargeReceiveOffload", Form::Flag),
    (Words::Features, "lro", "LargeReceiveOffload", Form::Flag),
    (Words::Features, "rx-vlan-hw-parse", "ReceiveVLANCTAGHardwareAcceleration", Form::Flag),
    (Words::Features, "tx-vlan-hw-insert", "TransmitVLANCTAGHardwareAcceleration", Form::Flag),
    (Words::Features, "rx-ntuple-filter", "NTupleFilter", Form::Flag),
    (Words::Features, "ntuple", "NTupleFilter", Form::Flag),
];

/// Files in the making, by interface.
#[derive(Debug, Default)]
pub(super) struct Links {
    of: BTreeMap<String, Link>,
    without_identity: BTreeSet<String>,
}

#[derive(Debug)]
struct Link {
    matches: String,
    is_for_many: bool,
    lines: Vec<String>,
}

/// A file, and whether it fits other hosts.
pub(super) struct LinkFile {
    pub(super) file: InstallFile,
    pub(super) is_for_many: bool,
}

impl Links {
    /// Takes the keys that a `.link` file has, and gives back the setting with the others.
    pub(super) fn take(
        &mut self,
        written: &Written,
        interface: &str,
        group: &Group,
        around: &Surroundings,
    ) -> Option<Written> {
        let Group::Pairs(words, pairs) = group else { return Some(written.clone()) };
        let (held, rest): (Vec<_>, Vec<_>) =
            pairs.iter().cloned().partition(|(key, value)| line(*words, key, value).is_some());
        if held.is_empty() {
            return Some(written.clone());
        }
        let Some((matches, is_for_many)) = matched(interface, around) else {
            self.without_identity.insert(written.name.clone());
            return Some(written.clone());
        };
        let link = Link { matches, is_for_many, lines: Vec::new() };
        let link = self.of.entry(interface.to_owned()).or_insert(link);
        link.lines.extend(held.iter().filter_map(|(key, value)| line(*words, key, value)));
        (!rest.is_empty()).then(|| {
            let value =
                rest.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(" ");
            let kind = Kind::Driver { interface: interface.to_owned(), group: Group::Pairs(*words, rest) };
            Written { name: written.name.clone(), kind, value }
        })
    }

    pub(super) fn files(&self) -> Vec<LinkFile> {
        let file = |(interface, link): (&String, &Link)| {
            let path = format!("network/70-plumb-{interface}.link");
            let head = comment(&format!(
                "Copy to /etc/systemd/{path}. It is used once, when the device appears: at the next start of the host. Of all .link files that \
                 fit a device only the first by name is used: where udevadm info /sys/class/net/{interface} has another ID_NET_LINK_FILE than \
                 99-default.link, put the lines below [Link] from the first buffer, channel or offload on into a file of that one's .d directory. \
                 Some drivers forget ring sizes when the interface goes up: look with ethtool after a start, and use plumb-tune.service \
                 with the call of apply.sh where it is so."
            ));
            let names = "NamePolicy=keep kernel database onboard slot path\nAlternativeNamesPolicy=database onboard slot path mac\nMACAddressPolicy=persistent\n";
            let text = format!("{head}[Match]\n{}\n\n[Link]\n{names}{}", link.matches, link.lines.concat());
            LinkFile { file: InstallFile::plain(&path, text), is_for_many: link.is_for_many }
        };
        self.of.iter().map(file).collect()
    }

    /// Settings that a file could hold if the device were known.
    pub(super) fn without_identity(&self) -> BTreeSet<String> {
        self.without_identity.clone()
    }
}

/// The line that finds the device, and whether it finds the like of it on other hosts.
fn matched(interface: &str, around: &Surroundings) -> Option<(String, bool)> {
    let identity = around.interfaces.get(interface)?;
    match (path_of(identity.path.as_ref()), path_of(identity.address.as_ref())) {
        (Some(path), _) => Some((format!("Path={path}"), true)),
        (None, Some(address)) => Some((format!("PermanentMACAddress={address}"), false)),
        (None, None) => None,
    }
}

fn line(words: Words, key: &str, value: &str) -> Option<String> {
    let (.., name, form) = KEYS.iter().find(|(group, own, ..)| *group == words && *own == key)?;
    let is_number = is_word(value, "") && value.bytes().all(|byte| byte.is_ascii_digit());
    let text = match (form, value) {
        (Form::Number, _) if is_number && value != "0" => value.to_owned(),
        (Form::Micros, _) if is_number => format!("{value}us"),
        (Form::Flag, "on") => "yes".to_owned(),
        (Form::Flag, "off") => "no".to_owned(),
        _ => return None,
    };
    Some(format!("{name}={text}\n"))
}
