//! What a management controller (BMC) says of the firmware's settings, by Redfish (DMTF DSP0266): read, and never changed.
//!
//! From the service's root by its own links to the system that is this host, its `Bios`, what waits for the next start (`SettingsObject`),
//! and the values that the firmware takes (`AttributeRegistry`). Every request is a GET. What a setting means is not known here:
//! see `plumb_tune`. Read `bmc/tree.rs` next.

mod error;
mod registry;
mod same_host;
mod tree;

pub use error::BmcError;

use crate::http::{Login, Target};
use crate::root::HostRoot;
use registry::values_taken;
use serde_json::Value;
use std::collections::BTreeMap;
use tree::Tree;

const ROOT: &str = "/redfish/v1/";
/// Systems of one controller that are looked at to find this host: the largest chassis that we know of have sixteen nodes.
const SYSTEMS_MAX: usize = 16;
/// Attributes of one system; the most that we know of are about a thousand.
const ATTRIBUTES_MAX: usize = 10_000;

/// A controller, how to log in, and how it is known to be the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bmc {
    /// `https://HOST[:PORT]`.
    address: String,
    /// The path of the system that is meant; none: the only one, or the one that is this host.
    system: Option<String>,
    login: Login,
    certificate_sha256: Option<[u8; 32]>,
}

impl Bmc {
    /// `url`: `https://HOST[:PORT]`, or the address of one of its systems, `https://HOST/redfish/v1/Systems/ID`. Without a certificate's
    /// SHA-256 an authority of this system has to have signed what the controller shows.
    ///
    /// # Errors
    /// When the address is none of these.
    pub fn new(url: &str, login: Login, certificate_sha256: Option<[u8; 32]>) -> Result<Self, BmcError> {
        let fault = || BmcError::address(url);
        let target = Target::parse(url).map_err(|_| fault())?;
        let path = target.uri.path().trim_end_matches('/');
        let system = match path {
            "" | "/redfish" | "/redfish/v1" => None,
            path if path.starts_with("/redfish/v1/Systems/") => Some(path.to_owned()),
            _ => return Err(fault()),
        };
        if !target.encrypted || target.uri.query().is_some() {
            return Err(fault());
        }
        Ok(Bmc { address: format!("https://{}", target.host), system, login, certificate_sha256 })
    }
}

/// The firmware's settings of one system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FirmwareSettings {
    /// The system's path at its controller.
    pub system: String,
    /// Who made it, where it says so.
    pub maker: Option<String>,
    /// Whether the system is this host, by the numbers that both state; none where they state none in common.
    pub is_this_host: Option<bool>,
    /// The values in force, by the firmware's own names.
    pub in_force: BTreeMap<String, String>,
    /// Values that are set, differ from those in force, and wait for the next start.
    pub waiting: BTreeMap<String, String>,
    /// The values that an attribute takes, where the controller has a list.
    pub taken: BTreeMap<String, Vec<String>>,
    /// The path at which values for the next start are set.
    pub set_at: Option<String>,
    /// What could not be read beside the values in force, with the reason.
    pub unread: Vec<String>,
}

/// Reads the settings of this host's firmware from its controller. It takes a minute at most.
///
/// # Errors
/// When the controller does not answer, is not trusted, refuses the login, says something that is no Redfish, has no such system or
/// several of which none is known to be this host, or tells nothing of the firmware.
pub fn firmware_settings(bmc: &Bmc, root: &HostRoot) -> Result<FirmwareSettings, BmcError> {
    let tree = Tree::of(bmc);
    let path = match &bmc.system {
        Some(path) => path.clone(),
        None => system_path(&tree, root)?,
    };
    let system = tree.get(&path)?;
    let no_bios = || BmcError::NoBios { system: tree::shown(&path) };
    let bios = tree.get(&tree::link(&system, "/Bios").ok_or_else(no_bios)?)?;
    let in_force = attributes(&bios).ok_or_else(no_bios)?;
    let mut unread = Vec::new();
    let set_at = tree::link(&bios, "/@Redfish.Settings/SettingsObject");
    let mut also = |what: &str, error: &BmcError| unread.push(format!("{what}: {}", error.in_words()));
    let waiting = match set_at.as_deref().map(|path| tree.get(path)).transpose() {
        Ok(settings) => differing(&in_force, settings.as_ref().and_then(attributes).unwrap_or_default()),
        Err(error) => {
            also("values that wait for the next start", &error);
            BTreeMap::new()
        }
    };
    let taken = values_taken(&tree, &bios).unwrap_or_else(|error| {
        also("the values that the firmware takes", &error);
        BTreeMap::new()
    });
    Ok(FirmwareSettings {
        maker: text(&system, "Manufacturer"),
        is_this_host: same_host::is_this_host(&system, root),
        system: path,
        in_force,
        waiting,
        taken,
        set_at,
        unread,
    })
}

/// The path of the only system, or of the one that is this host.
fn system_path(tree: &Tree<'_>, root: &HostRoot) -> Result<String, BmcError> {
    let service = tree.get(ROOT)?;
    let systems = tree::link(&service, "/Systems")
        .ok_or_else(|| BmcError::shape(ROOT, "a link to Systems, as a Redfish service has it"))?;
    let collection = tree.get(&systems)?;
    let members = collection.pointer("/Members").and_then(Value::as_array);
    let paths: Vec<String> =
        members.into_iter().flatten().filter_map(|member| tree::link(member, "")).collect();
    if let [only] = paths.as_slice() {
        return Ok(only.clone());
    }
    for path in paths.iter().take(SYSTEMS_MAX) {
        if same_host::is_this_host(&tree.get(path)?, root) == Some(true) {
            return Ok(path.clone());
        }
    }
    Err(BmcError::Systems { paths: paths.iter().map(|path| tree::shown(path)).collect() })
}

/// The settings of a resource, each as text; none where it has none.
fn attributes(resource: &Value) -> Option<BTreeMap<String, String>> {
    let found = resource.pointer("/Attributes")?.as_object()?;
    let pair = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return None,
        };
        Some((tree::shown(name), tree::shown(&text)))
    };
    Some(found.iter().take(ATTRIBUTES_MAX).filter_map(pair).collect())
}

/// Those of the second that are not as in the first.
fn differing(in_force: &BTreeMap<String, String>, set: BTreeMap<String, String>) -> BTreeMap<String, String> {
    set.into_iter()
        .filter(|(name, value)| in_force.get(name).is_some_and(|present| present != value))
        .collect()
}

fn text(resource: &Value, name: &str) -> Option<String> {
    let found = resource.get(name)?.as_str()?.trim();
    (!found.is_empty()).then(|| tree::shown(found))
}

#[cfg(test)]
mod tests;
