//! Whether a controller's system is the host on which Plumb runs, by the numbers that its firmware states in both places.

use super::text;
use crate::root::HostRoot;
use serde_json::Value;

/// None where both state no number in common; the kernel lets only root read its own.
pub(super) fn is_this_host(system: &Value, root: &HostRoot) -> Option<bool> {
    let own = |file: &str| {
        let text = root.read(&format!("/sys/class/dmi/id/{file}")).ok()?.trim().to_lowercase();
        is_a_number(&text).then_some(text)
    };
    let told =
        |name: &str| text(system, name).map(|text| text.to_lowercase()).filter(|text| is_a_number(text));
    let is_same = |own: Option<String>, told: Option<String>| Some(is_one(&own?, &told?));
    let by_uuid = is_same(own("product_uuid"), told("UUID"));
    let by_serial = is_same(own("product_serial"), told("SerialNumber"));
    let by_tag = is_same(own("product_serial"), told("SKU"));
    let said: Vec<bool> = [by_uuid, by_serial, by_tag].into_iter().flatten().collect();
    // One that is equal suffices: makers write one number in several ways, and change boards.
    (!said.is_empty()).then(|| said.contains(&true))
}

/// Makers leave "Not Specified", "To be filled by O.E.M.", zeros.
fn is_a_number(text: &str) -> bool {
    text.len() >= 4
        && text.chars().any(|c| c.is_ascii_digit())
        && text.chars().any(|c| !matches!(c, '0' | '-' | ' ' | 'f'))
}

/// True of one number. Firmware writes the first three fields of a UUID in either order of bytes (SMBIOS 3, 7.2.1).
fn is_one(own: &str, told: &str) -> bool {
    own == told || turned(own).is_some_and(|own| own == told)
}

fn turned(uuid: &str) -> Option<String> {
    let fields: Vec<&str> = uuid.split('-').collect();
    if !uuid.is_ascii() || fields.iter().map(|field| field.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let back =
        |field: &str| -> String { (0..field.len()).step_by(2).rev().map(|at| &field[at..at + 2]).collect() };
    Some(format!("{}-{}-{}-{}-{}", back(fields[0]), back(fields[1]), back(fields[2]), fields[3], fields[4]))
}
