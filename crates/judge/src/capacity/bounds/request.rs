//! What one connection, one partition or one follower can do: requests one after the other.
//!
//! Apache Kafka serves one request of a connection at a time (SocketServer mutes the connection until the response is sent), so more
//! requests in flight hide the network's time and never the broker's.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Need, Unit};
use super::super::headroom;
use super::super::machine::Figure;
use super::sync::batch;
use super::{Gap, Outcome, brokers, figures, not_asked, parallel};

pub(super) fn connection(case: &Case) -> Outcome {
    one_at_a_time(
        case,
        (&case.machine.service_time_s, "service time", "--service-time"),
        (Unit::Connections, "bytes/s of a connection", case.target.connections),
    )
}

pub(super) fn append(case: &Case) -> Outcome {
    one_at_a_time(
        case,
        (&case.machine.append_time_s, "append time", "--append-time"),
        (Unit::Partitions, "bytes/s to a partition", case.target.partitions),
    )
}

fn one_at_a_time(
    case: &Case,
    (time, name, flag): (&Option<Figure>, &'static str, &'static str),
    (unit, of, have): (Unit, &'static str, Option<u64>),
) -> Outcome {
    let batch = batch(case);
    let [time, batch] = figures([(time, flag), (&batch, "--batch")])?;
    let each = batch.value / time.value;
    let need = Need::of(case.ingress.peak_bytes_per_s / each, Growth::Load);
    parallel(unit, (each, of), need, have, vec![time.input(name), batch.input("batch")])
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
    let (plan, share) = headroom::of_physics(case, physics, Assumed::Utilisation);
    let inputs = vec![
        round_trip.input("fetch round trip"),
        case.assumptions.input(Assumed::FetchResponseBytes),
        case.assumptions.input(Assumed::Fetchers),
        share,
    ];
    brokers((pair, "bytes/s from one broker to another"), Some(physics), Some(plan), inputs)
}

pub(super) fn follower_partition(case: &Case) -> Outcome {
    let round_trip = round_trip(case)?;
    let each = case.assumptions.get(Assumed::FetchPartitionBytes) / round_trip.value;
    let need = Need::of(case.ingress.peak_bytes_per_s / each, Growth::Load);
    let inputs =
        vec![round_trip.input("fetch round trip"), case.assumptions.input(Assumed::FetchPartitionBytes)];
    parallel(
        Unit::Partitions,
        (each, "bytes/s of a partition to a follower"),
        need,
        case.target.partitions,
        inputs,
    )
}

fn round_trip<'a>(case: &Case<'a>) -> Result<&'a Figure, Gap> {
    if case.target.replication < 2 {
        return Err(not_asked("there is one copy: nothing is replicated"));
    }
    let [round_trip] = figures([(&case.machine.fetch_round_trip_s, "--fetch-round-trip")])?;
    Ok(round_trip)
}
