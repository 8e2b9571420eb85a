//! Advice on the bound that binds. Copies and syncs are never traded for brokers: nothing here proposes fewer of them.

use super::Case;
use super::bound::{Bound, BoundName, Resource};
use super::headroom::utilisation;
use super::result::{Capacity, Count};
use super::target::Tiering;
use plumb_model::figure;

pub(super) fn advice(case: &Case, bounds: &[Bound], capacity: &Capacity) -> Vec<String> {
    let mut advice = Vec::new();
    let binding = capacity.plan.binding.and_then(|name| bounds.iter().find(|bound| bound.name == name));
    // What no number of brokers mends comes before what binds their number.
    let levers = bounds.iter().filter(|bound| bound.is_short()).chain(binding);
    advice.extend(levers.filter_map(|bound| lever(case, bound)));
    advice.extend(capacity.stated.as_ref().and_then(|stated| not_throughput(case, stated)));
    if let Some(flip) = capacity.flip_test.as_ref().filter(|flip| !flip.separates)
        && let Some((next, distance)) = flip.next.zip(flip.next_above)
    {
        advice.push(format!(
            "{} and {} are {} apart: raising one alone shows little, so raise both.",
            flip.bound.words(),
            next.words(),
            figure::percent(distance)
        ));
    }
    if !capacity.physics.unknown_bounds.is_empty() {
        advice.push(
            "The counts are lower bounds: a bound that is not known may ask for more. Measure its figure, or give it."
                .to_owned(),
        );
    }
    advice
}

/// The lever of a binding bound.
fn lever(case: &Case, bound: &Bound) -> Option<String> {
    let uncompressed = (case.target.compression_ratio - 1.0).abs() < f64::EPSILON;
    let text = match bound.resource {
        Resource::Disk | Resource::StorageNetwork if uncompressed => {
            "Faster or more devices for the log, or compression at the producers: every byte saved there is saved once for each copy."
        }
        Resource::Disk | Resource::StorageNetwork => "Faster or more devices for the log.",
        Resource::Nic if bound.name == BoundName::NicOut && case.target.groups > 1.0 => {
            "A faster NIC, or fewer full reads: each consumer group sends the whole load once more."
        }
        Resource::Nic => "A faster NIC.",
        Resource::VendorLimit => "A larger broker, or compression at the producers.",
        Resource::Fsync => {
            "Larger batches (each sync covers one), or a device that confirms a sync from protected memory."
        }
        Resource::Cores if bound.name == BoundName::Tls => {
            "Check that the brokers' CPUs show the flag aes and that their TLS provider uses it; then more cores."
        }
        Resource::Cores => "More cores, or larger batches: a request costs CPU of its own.",
        Resource::Connections if uncompressed => {
            "More producing connections, larger batches, compression at the producers, or a shorter service time: with acks=all it \
             contains the wait for followers."
        }
        Resource::Connections => {
            "More producing connections, larger batches, or a shorter service time: with acks=all it contains the wait for followers."
        }
        Resource::Partitions if bound.name == BoundName::FollowerFetchPartition => {
            "More partitions, more bytes of each in a fetch (replica.fetch.max.bytes), or a shorter round trip between the brokers."
        }
        Resource::Partitions if bound.name == BoundName::FsyncPartition => {
            "More partitions, larger batches (each sync covers one), or a device that confirms a sync from protected memory."
        }
        Resource::Partitions => "More partitions, or larger batches.",
        Resource::FetchRoundTrip => {
            "More fetchers (num.replica.fetchers), larger responses (replica.fetch.response.max.bytes), or a shorter round trip \
             between the brokers."
        }
        Resource::MemoryBandwidth => "Machines with more memory channels or sockets.",
        Resource::Memory => "More memory, or consumers that stay close to the end of the log.",
        Resource::Storage => match case.target.tiered {
            None => {
                "More storage for each broker, tiered storage with a local retention (--tiered --local-retention), or a shorter \
                 retention where it may be."
            }
            Some(Tiering { local_retention_s: None }) => {
                "A local retention (local.retention.ms; --local-retention says what it saves), or more storage for each broker."
            }
            Some(Tiering { local_retention_s: Some(_) }) => {
                "More storage for each broker, a shorter local retention, or fewer partitions or smaller segments, of which one is open \
                 in each replica."
            }
        },
        Resource::Brokers => return None,
    };
    Some(text.to_owned())
}

/// A sentence about a stated number of brokers that no rate decides; none where one does.
fn not_throughput(case: &Case, count: &Count) -> Option<String> {
    let share = count.fullest_share.filter(|share| *share < utilisation(case).share)?;
    let fullest = count.fullest?.words();
    let share = figure::percent(share);
    Some(format!(
        "{} brokers are not throughput-bound: the fullest rate that is known is {fullest}, {share} of it used. Retention, \
         isolation, failover or a bound that is not known decides their number.",
        count.brokers
    ))
}
