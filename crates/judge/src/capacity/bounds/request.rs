//! Bounds of one connection, one partition or one follower: requests one after the other.
//!
//! Apache Kafka serves one request of a connection at a time (SocketServer mutes the connection until the response is sent), so more
//! requests in flight hide the network's time and never the broker's.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Limit, Need, Unit};
use super::super::headroom::{self, Headroom};
use super::super::input::Figure;
use super::sync::batch;
use super::{Gap, Outcome, Wanted, brokers, figures, not_asked, parallel, wanted};

pub(super) fn connection(case: &Case) -> Outcome {
    one_at_a_time(
        case,
        &Serial {
            time: wanted(&case.machine.service_time_s, "--service-time"),
            time_name: "service time",
            unit: Unit::Connections,
            limit_unit: "bytes/s of a connection",
            have: case.target.connections,
        },
    )
}

pub(super) fn append(case: &Case) -> Outcome {
    one_at_a_time(
        case,
        &Serial {
            time: wanted(&case.machine.append_time_s, "--append-time"),
            time_name: "append time",
            unit: Unit::Partitions,
            limit_unit: "bytes/s to a partition",
            have: case.target.partitions,
        },
    )
}

/// Units that each serve one batch at a time.
struct Serial<'a> {
    /// The time that one batch takes.
    time: Wanted<'a>,
    time_name: &'static str,
    unit: Unit,
    limit_unit: &'static str,
    /// The number of units that are there, where the target tells it.
    have: Option<u64>,
}

fn one_at_a_time(case: &Case, serial: &Serial) -> Outcome {
    let batch = batch(case);
    let [time, batch] = figures([serial.time, wanted(&batch, "--batch")])?;
    let each = batch.value / time.value;
    let need = Need::of(case.ingress.peak_bytes_per_s / each, Growth::Load);
    let inputs = vec![time.input(serial.time_name), batch.input("batch")];
    parallel(serial.unit, Limit::of(each, serial.limit_unit), need, serial.have, inputs)
}

/// Leader and follower: in a balanced cluster every broker follows every other.
pub(super) fn follower(case: &Case) -> Outcome {
    let round_trip = round_trip(case)?;
    let get = |assumed| case.assumptions.get(assumed);
    let pair = get(Assumed::FetchResponseBytes) * get(Assumed::Fetchers) / round_trip.value;
    let copied = case.ingress.peak_bytes_per_s * case.target.follower_copies();
    // N (N - 1) pairs carry what is copied.
    let exact = f64::midpoint(1.0, (1.0 + 4.0 * copied / pair).sqrt());
    let physics = Need::of(exact, Growth::Pairs);
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::Utilisation);
    let inputs = vec![
        round_trip.input("fetch round trip"),
        case.assumptions.input(Assumed::FetchResponseBytes),
        case.assumptions.input(Assumed::Fetchers),
        share,
    ];
    brokers(Limit::of(pair, "bytes/s from one broker to another"), Some(physics), Some(plan), inputs)
}

pub(super) fn follower_partition(case: &Case) -> Outcome {
    let round_trip = round_trip(case)?;
    let each = case.assumptions.get(Assumed::FetchPartitionBytes) / round_trip.value;
    let need = Need::of(case.ingress.peak_bytes_per_s / each, Growth::Load);
    let inputs =
        vec![round_trip.input("fetch round trip"), case.assumptions.input(Assumed::FetchPartitionBytes)];
    parallel(
        Unit::Partitions,
        Limit::of(each, "bytes/s of a partition to a follower"),
        need,
        case.target.partitions,
        inputs,
    )
}

fn round_trip<'a>(case: &Case<'a>) -> Result<&'a Figure, Gap> {
    if case.target.replication < 2 {
        return Err(not_asked("there is one copy: nothing is replicated"));
    }
    let [round_trip] = figures([wanted(&case.machine.fetch_round_trip_s, "--fetch-round-trip")])?;
    Ok(round_trip)
}
