//! The layers behind a path, as a tree.

use crate::sheet::{Column, Section};
use plumb_model::figure;
use plumb_model::probe::storage::{StorageTarget, TargetLayer};

/// The layers, each under the one that it lies on.
pub(super) fn behind(target: &StorageTarget) -> Section {
    let branch = |depth: u32| match depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth as usize - 1)),
    };
    let line = |layer: &TargetLayer| {
        // ext4 needs no word beside it, vda does.
        let kind = if layer.kind == "file_system" { String::new() } else { layer.kind.replace('_', " ") };
        vec![format!("{}{}", branch(layer.depth), layer.name), kind, layer.detail.clone()]
    };
    let unknown = |missing: &String| vec!["?".to_owned(), "not known".to_owned(), missing.clone()];
    let rows = target.layers.iter().map(line).chain(target.storage.missing.iter().map(unknown));
    let free = format!("{} free", figure::bytes(target.available_bytes as f64));
    Section::table(
        &target.path,
        &free,
        &[Column::text(""), Column::text(""), Column::text("")],
        rows.collect(),
    )
}
