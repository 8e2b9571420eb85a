//! The values that a firmware takes, by its own registry of attributes.

use super::BmcError;
use super::tree::{self, Tree};
use serde_json::Value;
use std::collections::BTreeMap;

const REGISTRIES: &str = "/redfish/v1/Registries";
/// How registries of the firmware's attributes begin, whoever made them.
const OF_FIRMWARE: &str = "BiosAttributeRegistry";
/// Values of one attribute; more are no choice.
const VALUES_MAX: usize = 100;

/// The values of each attribute that has a list of them; empty where the controller names no registry.
pub(super) fn values_taken(tree: &Tree<'_>, bios: &Value) -> Result<BTreeMap<String, Vec<String>>, BmcError> {
    let Some(name) = bios.get("AttributeRegistry").and_then(Value::as_str) else {
        return Ok(BTreeMap::new());
    };
    let path = member(&tree.get(REGISTRIES)?, name)
        .ok_or_else(|| BmcError::shape(REGISTRIES, "the registry that the firmware's settings name"))?;
    let uri = place(&tree.get(&path)?)
        .ok_or_else(|| BmcError::shape(&path, "a place of the registry on the controller"))?;
    Ok(choices(&tree.get(&uri)?))
}

/// The registry of that name; or the only one of a firmware's attributes, as some call it by another version.
fn member(collection: &Value, name: &str) -> Option<String> {
    let members = collection.get("Members").and_then(Value::as_array);
    let paths: Vec<String> =
        members.into_iter().flatten().filter_map(|member| tree::link(member, "")).collect();
    let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(same) = paths.iter().find(|path| last(path) == name) {
        return Some(same.clone());
    }
    let mut of_firmware = paths.iter().filter(|path| last(path).starts_with(OF_FIRMWARE));
    of_firmware.next().filter(|_| of_firmware.next().is_none()).cloned()
}

/// Where the registry itself is, in English.
fn place(file: &Value) -> Option<String> {
    let places = file.get("Location").and_then(Value::as_array);
    let found = places.into_iter().flatten().find(|place| {
        let language = place.get("Language").and_then(Value::as_str);
        language.is_none_or(|language| language.starts_with("en"))
    })?;
    let uri = found.get("Uri")?;
    // A text; of older ones of HPE's an object with it.
    let uri = uri.as_str().or_else(|| uri.get("extref")?.as_str())?;
    tree::is_path(uri).then(|| uri.to_owned())
}

fn choices(registry: &Value) -> BTreeMap<String, Vec<String>> {
    let entries = registry.pointer("/RegistryEntries/Attributes").and_then(Value::as_array);
    let choice = |entry: &Value| {
        let values = entry.get("Value")?.as_array()?.iter().take(VALUES_MAX);
        let names: Vec<String> =
            values.filter_map(|value| Some(tree::shown(value.get("ValueName")?.as_str()?))).collect();
        let name = entry.get("AttributeName")?.as_str()?;
        (!names.is_empty()).then(|| (tree::shown(name), names))
    };
    entries.into_iter().flatten().take(super::ATTRIBUTES_MAX).filter_map(choice).collect()
}
