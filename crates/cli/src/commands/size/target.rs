//! What is asked, from the flags: what nobody said takes the usual value, and is named as such.

use crate::args::size::SizeArgs;
use plumb_judge::capacity::{Load, Target, Tiering};

/// The target of the flags.
pub(super) fn target(arguments: &SizeArgs) -> Target {
    let mut defaulted = Vec::new();
    let usual = Target::default();
    Target {
        load: Load {
            messages_per_s: arguments.messages.as_ref().map(|said| said.value),
            message_bytes: arguments.size.as_ref().map(|said| said.value),
            bytes_per_s: arguments.bytes.as_ref().map(|said| said.value),
        },
        compression_ratio: or(
            arguments.compression,
            usual.compression_ratio,
            "compression_ratio",
            &mut defaulted,
        ),
        peak_factor: or(arguments.peak, usual.peak_factor, "peak_factor", &mut defaulted),
        replication: or(arguments.replication, usual.replication, "replication", &mut defaulted),
        groups: or(arguments.groups, usual.groups, "groups", &mut defaulted),
        retention_s: arguments.retention.as_ref().map(|said| said.value),
        tls: or(arguments.tls.map(Into::into), usual.tls, "tls", &mut defaulted),
        flush: or(arguments.flush.map(Into::into), usual.flush, "flush", &mut defaulted),
        batch_bytes: arguments.batch.as_ref().map(|said| said.value),
        partitions: arguments.partitions,
        connections: arguments.connections,
        zones: or(arguments.zones, usual.zones, "zones", &mut defaulted),
        reserve: or(arguments.reserve.map(Into::into), usual.reserve, "reserve", &mut defaulted),
        tiered: arguments.tiered.then(|| Tiering {
            local_retention_s: arguments.local_retention.as_ref().map(|said| said.value),
        }),
        brokers: arguments.brokers,
        brokers_per_cluster: arguments.brokers_per_cluster,
        defaulted,
    }
}

/// What was said, or the usual with its name noted.
fn or<T>(said: Option<T>, usual: T, name: &str, defaulted: &mut Vec<String>) -> T {
    said.unwrap_or_else(|| {
        defaulted.push(name.to_owned());
        usual
    })
}
