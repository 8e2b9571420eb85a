//! What `observe` found behind a directory, one line a layer.

use plumb_model::facts::{Device, FileSystem, Layer, Medium, Storage};
use plumb_model::probe::storage::TargetLayer;
use plumb_report::number;

/// Mount options that every file system has and that say nothing of durability or speed.
const USUAL: [&str; 6] = ["rw", "relatime", "nosuid", "nodev", "noexec", "seclabel"];

pub(super) fn layers(storage: &Storage) -> Vec<TargetLayer> {
    let line = |depth, layer: &Layer| {
        let (kind, name, detail) = match layer {
            Layer::FileSystem(found) => ("file_system".to_owned(), found.fs_type.clone(), file_system(found)),
            Layer::Device(found) => (kind(found), found.name.clone(), device(found)),
        };
        TargetLayer { depth, kind, name, detail }
    };
    storage.layers.iter().map(|layer| line(layer.depth, &layer.layer)).collect()
}

/// The class, as documents write it.
fn kind(device: &Device) -> String {
    match serde_json::to_value(device.class) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "other".to_owned(),
    }
}

fn file_system(found: &FileSystem) -> String {
    let mut parts = vec![format!("on {}", found.mount_point)];
    let options: Vec<&str> =
        found.options.iter().map(String::as_str).filter(|option| !USUAL.contains(option)).collect();
    if !options.is_empty() {
        parts.push(options.join(","));
    }
    match found.medium {
        Medium::Memory => parts.push("kept in memory".to_owned()),
        Medium::Network => parts.push("kept by another host".to_owned()),
        Medium::Unknown => parts.push("what keeps its content cannot be told".to_owned()),
        Medium::Device | Medium::FileSystem => {}
    }
    if found.dax {
        parts.push("DAX on".to_owned());
    }
    parts.join("; ")
}

fn device(found: &Device) -> String {
    let mut parts: Vec<String> = found.model.iter().chain(&found.detail).cloned().collect();
    if let Some(bytes) = found.size_bytes {
        parts.push(format!("{} GB", number::significant(bytes as f64 / 1e9, 3)));
    }
    if let Some(rotational) = found.rotational {
        parts.push(if rotational { "says that it rotates" } else { "does not rotate" }.to_owned());
    }
    match found.write_cache.as_deref() {
        Some("write back") => parts.push("volatile write cache, flushed when asked".to_owned()),
        Some("write through") => parts.push("no volatile write cache".to_owned()),
        Some(other) => parts.push(format!("write cache: {other}")),
        None => {}
    }
    parts.extend(found.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    parts.extend(found.backing_file.as_ref().map(|file| format!("is the file {file}")));
    match found.direct_io {
        Some(true) => parts.push("around the page cache below".to_owned()),
        Some(false) => parts.push("through the page cache below".to_owned()),
        None => {}
    }
    if found.dax == Some(true) {
        parts.push("memory that can be mapped".to_owned());
    }
    parts.join("; ")
}
