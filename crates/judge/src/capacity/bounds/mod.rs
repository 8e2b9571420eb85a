//! The registry of bounds: one row each, one function each.
//!
//! A function reads the known figures of target and machine, and returns its resource's need, or the figures that are missing.

mod flow;
mod processor;
mod request;
mod space;
mod sync;

use super::Case;
use super::bound::{Bound, BoundName, Known, Limit, Need, Planned, Resource, Standing, Unit};
use super::input::{Figure, Input};

/// The result of a bound.
type Outcome = Result<Known, Gap>;

/// The reason why a bound could not be worked out.
enum Gap {
    /// Figures are missing; these flags would give them.
    Unknown { missing: Vec<String> },
    /// The target does not meet it.
    NotAsked { why: String },
}

/// A bound's row.
struct Row {
    name: BoundName,
    resource: Resource,
    formula: &'static str,
    check: fn(&Case) -> Outcome,
}

const REGISTRY: &[Row] = &[
    row(BoundName::Disk, Resource::Disk, "P x r / N is written by each broker: N = P r / disk", flow::disk),
    row(
        BoundName::StorageNetwork,
        Resource::StorageNetwork,
        "P x r / N goes to the volumes: N = P r / storage network",
        flow::storage_network,
    ),
    row(BoundName::NicIn, Resource::Nic, "P x r / N is received: N = P r / NIC", flow::nic_in),
    row(
        BoundName::NicOut,
        Resource::Nic,
        "P x (r - 1 + c, and 1 with tiered storage) / N is sent: N = that / NIC",
        flow::nic_out,
    ),
    row(
        BoundName::VendorIngress,
        Resource::VendorLimit,
        "P / N is taken in: N = P / ingress",
        flow::vendor_ingress,
    ),
    row(
        BoundName::VendorEgress,
        Resource::VendorLimit,
        "P x c / N is given out: N = P c / egress",
        flow::vendor_egress,
    ),
    row(
        BoundName::Fsync,
        Resource::Fsync,
        "a queue writes one batch a sync: N = P r x sync / (batch x queues)",
        sync::broker,
    ),
    row(
        BoundName::FsyncPartition,
        Resource::Partitions,
        "a partition writes one batch a sync: partitions = P x sync / batch",
        sync::partition,
    ),
    row(
        BoundName::Tls,
        Resource::Cores,
        "P x (1 + c + 2 (r - 1) if brokers encrypt too) / N is en- or decrypted: N = that / (AES rate x cores)",
        processor::tls,
    ),
    row(BoundName::Cpu, Resource::Cores, "N = P x CPU seconds per byte at r and c / cores", processor::cpu),
    row(
        BoundName::MemoryBandwidth,
        Resource::MemoryBandwidth,
        "N = P x (touches x r + touches sent x (r - 1 + c)) / memory bandwidth",
        processor::memory_bandwidth,
    ),
    row(
        BoundName::Connection,
        Resource::Connections,
        "a broker serves one request of a connection at a time: connections = P x service time / batch",
        request::connection,
    ),
    row(
        BoundName::PartitionAppend,
        Resource::Partitions,
        "a partition appends one batch at a time: partitions = P x append time / batch",
        request::append,
    ),
    row(
        BoundName::FollowerFetch,
        Resource::FetchRoundTrip,
        "a follower fetches one response a round trip from each leader: P (r - 1) / (N (N - 1)) = response x fetchers / round trip",
        request::follower,
    ),
    row(
        BoundName::FollowerFetchPartition,
        Resource::Partitions,
        "a fetch brings so much of a partition at most: partitions = P x round trip / fetch bytes",
        request::follower_partition,
    ),
    row(
        BoundName::PageCache,
        Resource::Memory,
        "planning only: the page cache holds some seconds of writes for consumers",
        space::page_cache,
    ),
    row(
        BoundName::ReplicaMemory,
        Resource::Memory,
        "N = partitions x r x memory per replica / memory",
        space::replica_memory,
    ),
    row(
        BoundName::Replicas,
        Resource::Brokers,
        "planning only: partitions x r / replicas that a broker should hold",
        space::replicas,
    ),
    row(
        BoundName::Storage,
        Resource::Storage,
        "P (mean) x r x retention is kept, with tiered storage x local retention and half a segment of each replica: N = that / storage",
        space::storage,
    ),
    row(BoundName::Copies, Resource::Brokers, "each copy needs a broker of its own: N = r", space::copies),
];

const fn row(name: BoundName, resource: Resource, formula: &'static str, check: fn(&Case) -> Outcome) -> Row {
    Row { name, resource, formula, check }
}

/// Every bound, worked out as far as it is known.
pub(super) fn all(case: &Case) -> Vec<Bound> {
    REGISTRY
        .iter()
        .map(|row| Bound {
            name: row.name,
            resource: row.resource,
            formula: row.formula.into(),
            standing: match (row.check)(case) {
                Ok(known) => Standing::Known(known),
                Err(Gap::Unknown { missing }) => Standing::Unknown { missing },
                Err(Gap::NotAsked { why }) => Standing::NotAsked { why },
            },
        })
        .collect()
}

/// A bound on the number of brokers, before it is known what is left of it.
fn brokers(limit: Limit, physics: Option<Need>, plan: Option<Planned>, inputs: Vec<Input>) -> Outcome {
    Ok(Known { unit: Unit::Brokers, limit, physics, plan, have: None, slack: None, inputs })
}

/// A bound that more brokers do not move.
fn parallel(unit: Unit, limit: Limit, need: Need, have: Option<u64>, inputs: Vec<Input>) -> Outcome {
    Ok(Known {
        unit,
        limit,
        physics: Some(need),
        plan: None,
        have: have.map(|have| have as f64),
        slack: None,
        inputs,
    })
}

fn not_asked(why: &str) -> Gap {
    Gap::NotAsked { why: why.to_owned() }
}

/// A figure that a bound needs.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// None where it is missing.
    figure: Option<&'a Figure>,
    /// The flag that would give it.
    flag: &'static str,
}

fn wanted<'a>(figure: &'a Option<Figure>, flag: &'static str) -> Wanted<'a> {
    Wanted { figure: figure.as_ref(), flag }
}

/// The figures that a bound needs; an error names the flags of those that are missing.
fn figures<const N: usize>(wanted: [Wanted<'_>; N]) -> Result<[&Figure; N], Gap> {
    let missing = wanted.iter().filter(|wanted| wanted.figure.is_none());
    let missing: Vec<String> = missing.map(|wanted| wanted.flag.to_owned()).collect();
    if !missing.is_empty() {
        return Err(Gap::Unknown { missing });
    }
    // Every one is there: the first is only named to have a value for what cannot be.
    let mut found = wanted.iter().filter_map(|wanted| wanted.figure);
    let first = found.next().ok_or(Gap::Unknown { missing: Vec::new() })?;
    let mut figures = [first; N];
    for (place, figure) in figures.iter_mut().skip(1).zip(found) {
        *place = figure;
    }
    Ok(figures)
}
