//! Attributes of the firmware that a management controller told: which are known, what their values mean, and how somebody sets them.
//!
//! Told and never changed: each takes a restart, and a wrong one can keep a host from starting. What the values do to memory and processors
//! is said by the tunables that ask here (`snoop_mode.rs`, `power_profile.rs`).

use super::{Context, Look};
use plumb_model::check::Status;
use plumb_observe::FirmwareSettings;

/// What is known of the firmware's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Firmware {
    /// No management controller was named.
    #[default]
    NotAsked,
    /// One was named and did not tell: the reason.
    Unread(String),
    /// What it told.
    Read(FirmwareSettings),
}

/// What an attribute of the firmware decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decides {
    /// How many memory nodes a processor is.
    Nodes,
    /// How caches ask each other.
    Snoop,
    /// The same, as a switch of one way of asking.
    EarlySnoop,
    /// Power against speed.
    Power,
}

/// An attribute by the name that its makers gave it.
struct Known {
    name: &'static str,
    decides: Decides,
    /// Where the name and its values are known from.
    source: &'static str,
}

/// No machine of these makers was at hand: `dump` was seen in an answer of such a controller that somebody has published, `guide` in a
/// maker's or a third party's text. None is verified against the effect that it has.
const KNOWN: &[Known] = &[
    known("SubNumaCluster", Decides::Nodes, "Dell, iDRAC9, dump"),
    known("NumaNodesPerSocket", Decides::Nodes, "Dell with AMD, guide; not verified"),
    known("CcxAsNumaDomain", Decides::Nodes, "Dell with AMD, guide; not verified"),
    known("SubNumaClustering", Decides::Nodes, "HPE, iLO 5, dump"),
    known("NumaMemoryDomainsPerSocket", Decides::Nodes, "HPE with AMD, the maker's list of attributes"),
    known("LastLevelCacheAsNUMANode", Decides::Nodes, "HPE with AMD, guide; not verified"),
    known("Processors_SNC", Decides::Nodes, "Lenovo, XCC, dump"),
    known("Memory_NUMANodesperSocket", Decides::Nodes, "Lenovo with AMD, guide; not verified"),
    known("Processors_CODPreference", Decides::Nodes, "Lenovo, from the name in its OneCLI; not verified"),
    known("SNC", Decides::Nodes, "Supermicro and Cisco, guide; not verified"),
    known("CODEnable", Decides::Nodes, "Supermicro and Fujitsu, from the words of their menus; not verified"),
    known("SnoopMode", Decides::Snoop, "Dell, iDRAC8 and iDRAC9, dump"),
    known("QpiSnoopConfig", Decides::Snoop, "HPE Gen9, iLO 4, dump; of its values only Standard was seen"),
    known("Processors_SnoopPreference", Decides::Snoop, "Lenovo, dump of its OneCLI"),
    known(
        "Processors_EarlySnoopPreference",
        Decides::EarlySnoop,
        "Lenovo, from the name in its OneCLI; not verified",
    ),
    known("CpuConfig_EarlySnoop", Decides::EarlySnoop, "a schema whose maker is not known; not verified"),
    known(
        "EarlySnoop",
        Decides::EarlySnoop,
        "Supermicro and Fujitsu, from the words of their menus; not verified",
    ),
    known("SysProfile", Decides::Power, "Dell, iDRAC8 and iDRAC9, dump"),
    known("PowerRegulator", Decides::Power, "HPE, iLO 4 and iLO 5, dump"),
    known("PowerProfile", Decides::Power, "HPE Gen9, iLO 4, dump"),
    known("WorkloadProfile", Decides::Power, "HPE Gen10 and later, dump"),
    known("OperatingModes_ChooseOperatingMode", Decides::Power, "Lenovo, XCC, dump"),
    known(
        "PowerTechnology",
        Decides::Power,
        "Supermicro, the maker's guide to its Redfish; values not verified",
    ),
];

const fn known(name: &'static str, decides: Decides, source: &'static str) -> Known {
    Known { name, decides, source }
}

/// One attribute of this host's firmware.
pub(super) struct Attribute<'c> {
    pub(super) name: &'static str,
    /// The value in force.
    pub(super) value: &'c str,
    settings: &'c FirmwareSettings,
    source: &'static str,
}

impl<'c> Attribute<'c> {
    /// The first of these values that the firmware takes, in its own spelling; the first one where it has no list.
    pub(super) fn spelled(&self, wanted: &[&str]) -> Option<String> {
        match self.settings.taken.get(self.name) {
            None => wanted.first().map(|first| (*first).to_owned()),
            Some(taken) => {
                let in_its_words =
                    |wanted: &&str| taken.iter().find(|value| value.eq_ignore_ascii_case(wanted)).cloned();
                wanted.iter().find_map(in_its_words)
            }
        }
    }

    /// The row of it: the value in force as effective, what waits for the next start as configured.
    pub(super) fn look(&self, status: Status, reason: &str) -> Look {
        let waiting = self.settings.waiting.get(self.name);
        let of_next_start = waiting.map_or_else(String::new, |value| {
            format!("; {value} is set already and waits for the next start of this host")
        });
        Look {
            configured: Some(waiting.map_or(self.value, String::as_str).to_owned()),
            effective: Some(self.value.to_owned()),
            ..Look::plain(
                &format!("the firmware's {}", self.name),
                status,
                format!("{reason}{of_next_start}. The name is known from {}", self.source),
            )
        }
    }

    /// The same row with the value that the attribute should rather have and how somebody sets it; where it waits already, nobody has to.
    pub(super) fn rather(&self, look: Look, value: Option<String>) -> Look {
        let Some(value) = value else { return look };
        let is_waiting = self.settings.waiting.get(self.name) == Some(&value);
        let look = look.recommending(&value);
        if is_waiting {
            return look;
        }
        let body = |value: &str| serde_json::json!({"Attributes": {self.name: value}}).to_string();
        let place = self.settings.set_at.as_deref().unwrap_or(&self.settings.system);
        look.by_hand(format!(
            "PATCH {place} of the management controller with {}, then restart this host; back with {}. Try it on one host: the firmware may call it otherwise than Plumb knows",
            body(&value),
            body(self.value)
        ))
    }
}

/// The attributes that decide this, of the firmware of this host.
pub(super) fn attributes<'c>(context: &Context<'c>, decides: Decides) -> Vec<Attribute<'c>> {
    let Firmware::Read(settings) = context.firmware else { return Vec::new() };
    if settings.is_this_host == Some(false) {
        return Vec::new();
    }
    let of = |known: &Known| {
        let value = settings.in_force.get(known.name)?;
        Some(Attribute { name: known.name, value, settings, source: known.source })
    };
    KNOWN.iter().filter(|known| known.decides == decides).filter_map(of).collect()
}

/// Why nothing is known of the firmware's settings although a controller was named; none where they are known.
pub(super) fn untold(context: &Context<'_>, has_some: bool) -> Option<Look> {
    let target = "the firmware";
    match context.firmware {
        Firmware::NotAsked => None,
        Firmware::Unread(_) => Some(Look::unknown(
            target,
            "the management controller did not tell; what was not seen has the reason",
        )),
        Firmware::Read(settings) if settings.is_this_host == Some(false) => Some(Look::unknown(
            target,
            "the management controller's system has other numbers (UUID, serial) than this host states: it is another machine's firmware, or this is a virtual machine",
        )),
        Firmware::Read(_) if has_some => None,
        Firmware::Read(settings) => {
            let maker = settings.maker.as_deref().unwrap_or("a maker that is not told");
            Some(Look::unknown(
                target,
                format!(
                    "the firmware, of {maker}, has no attribute for this that Plumb knows by name; it has {} others",
                    settings.in_force.len()
                ),
            ))
        }
    }
}

/// What could not be read of the firmware, for the list of what was not seen.
pub(crate) fn unseen(firmware: &Firmware) -> Vec<String> {
    match firmware {
        Firmware::NotAsked => Vec::new(),
        Firmware::Unread(why) => vec![format!("the firmware's settings: {why}")],
        Firmware::Read(settings) => {
            settings.unread.iter().map(|why| format!("the firmware's settings: {why}")).collect()
        }
    }
}

/// True of a switch or choice that is off.
pub(super) fn is_off(value: &str) -> bool {
    ["disabled", "disable", "off", "no", "false", "0"].contains(&value.to_lowercase().as_str())
}

/// True where the firmware itself decides.
pub(super) fn is_auto(value: &str) -> bool {
    value.eq_ignore_ascii_case("auto")
}
