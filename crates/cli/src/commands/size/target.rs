//! The target of a sizing, from the flags: a value that no flag gives is the usual one, and is named as such.

use crate::args::size::SizeArgs;
use plumb_judge::capacity::{Load, Target, Tiering};

/// The target of the flags.
pub(super) fn target(arguments: &SizeArgs) -> Target {
    let mut defaulted = Vec::new();
    let usual = Target::default();
    Target {
        load: Load {
            messages_per_s: arguments.messages.as_ref().map(|quantity| quantity.value),
            message_bytes: arguments.size.as_ref().map(|quantity| quantity.value),
            bytes_per_s: arguments.bytes.as_ref().map(|quantity| quantity.value),
        },
        compression_ratio: given_or(
            arguments.compression,
            usual.compression_ratio,
            "compression_ratio",
            &mut defaulted,
        ),
        peak_factor: given_or(arguments.peak, usual.peak_factor, "peak_factor", &mut defaulted),
        replication: given_or(arguments.replication, usual.replication, "replication", &mut defaulted),
        groups: given_or(arguments.groups, usual.groups, "groups", &mut defaulted),
        retention_s: arguments.retention.as_ref().map(|quantity| quantity.value),
        tls: given_or(arguments.tls.map(Into::into), usual.tls, "tls", &mut defaulted),
        flush: given_or(arguments.flush.map(Into::into), usual.flush, "flush", &mut defaulted),
        batch_bytes: arguments.batch.as_ref().map(|quantity| quantity.value),
        partitions: arguments.partitions,
        connections: arguments.connections,
        zones: given_or(arguments.zones, usual.zones, "zones", &mut defaulted),
        reserve: given_or(arguments.reserve.map(Into::into), usual.reserve, "reserve", &mut defaulted),
        tiered: arguments.tiered.then(|| Tiering {
            local_retention_s: arguments.local_retention.as_ref().map(|quantity| quantity.value),
        }),
        brokers: arguments.brokers,
        brokers_per_cluster: arguments.brokers_per_cluster,
        defaulted,
    }
}

/// The value that was given, or the usual one with its name noted.
fn given_or<T>(given: Option<T>, usual: T, name: &str, defaulted: &mut Vec<String>) -> T {
    given.unwrap_or_else(|| {
        defaulted.push(name.to_owned());
        usual
    })
}
