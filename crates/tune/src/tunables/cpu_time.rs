//! Shares of processors' time over the window.

use super::Context;
use plumb_model::check::Evidence;

const COLUMNS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// The share of a processor's time (`cpu3`; `cpu` for all) that went to some columns of `/proc/stat`; none where it was not read.
pub(super) fn share(context: &Context<'_>, cpu: &str, columns: &[&str]) -> Option<f64> {
    let ticks = |column: &&str| context.window.growth(&format!("{cpu}.{column}_ticks"));
    let all: u64 = COLUMNS.iter().filter_map(ticks).sum();
    let of: u64 = columns.iter().filter_map(ticks).sum();
    (all > 0).then(|| of as f64 / all as f64)
}

/// The share of time over the window in which a resource was waited for, by the kernel's pressure of it (`cpu`, `io`, `memory`).
pub(super) fn pressure(context: &Context<'_>, of: &str) -> Option<f64> {
    Some(context.window.per_s(&format!("pressure.{of}.some_us"))? / 1e6)
}

/// A share as evidence, in percent.
pub(super) fn percent(context: &Context<'_>, name: &str, share: f64) -> Evidence {
    Evidence {
        counter: name.to_owned(),
        amount: (1000.0 * share).round() / 10.0,
        unit: "%".to_owned(),
        over_s: Some(context.window.seconds()),
    }
}
