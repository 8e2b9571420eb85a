//! Rounds: in each, every size, way to write and number of streams has its part of the time, in random order and on connections
//! of its own. A neighbour who comes and goes then disturbs all alike.

use crate::args::probe::NetworkArgs;
use crate::commands::probe::LEVEL;
use crate::progress::steps::Steps;
use plumb_model::observation::Distribution;
use plumb_model::probe::{ConnectionRate, NetworkPlan, RoundTrips, StreamRate, TcpState, WritePattern};
use plumb_model::random::Random;
use plumb_probe::network::{Connected, Flow, NetworkError, Peer, StreamCase, TcpInfo, WriteCase};
use plumb_stats::distribution::figures;
use plumb_stats::figure::consecutive;
use plumb_stats::histogram::Histogram;
use plumb_stats::interval::Spread;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Fewest rounds of which a mean has an interval; more would cost the streams more warm-ups (ours).
const ROUNDS: u32 = 3;
const SEED: u64 = 1;
/// Part of the streams' time that goes before each of their rounds: windows grow meanwhile.
const STREAM_WARM_UP: f64 = 0.2;
/// Bytes of a write of a stream: larger ones change nothing, smaller ones measure system calls.
const WRITE_BYTES: u32 = 256 << 10;
/// The request whose writes are varied: smaller than any segment.
const REQUEST_BYTES: u32 = 100;
/// One write and two, with Nagle's algorithm and without.
const WRITES: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// Something to measure, and what it came to, round by round.
pub(super) enum Phase {
    RoundTrip(WriteCase, Vec<Vec<i64>>),
    Writes(WriteCase, Vec<Vec<i64>>),
    Streams(StreamCase, Vec<Flow>),
    Connections(Vec<Connected>),
}

/// What was measured, each absent when nothing of it was.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) round_trips: Vec<RoundTrips>,
    pub(super) writes: Vec<WritePattern>,
    pub(super) throughput: Vec<StreamRate>,
    pub(super) connections: Option<ConnectionRate>,
}

impl Measured {
    pub(super) fn is_empty(&self) -> bool {
        self.round_trips.is_empty()
            && self.writes.is_empty()
            && self.throughput.is_empty()
            && self.connections.is_none()
    }
}

pub(super) fn plan(arguments: &NetworkArgs) -> NetworkPlan {
    let duration_ns = arguments.duration.to_duration().as_nanos() as u64;
    NetworkPlan { duration_ns, rounds: ROUNDS, seed: SEED }
}

/// Seconds that all rounds take.
pub(super) fn estimate_s(arguments: &NetworkArgs) -> f64 {
    let streams = arguments.streams.len() as f64 * (1.0 + STREAM_WARM_UP * f64::from(ROUNDS));
    // The connections are one more.
    let others = (arguments.sizes.len() + WRITES.len() + 1) as f64;
    (streams + others) * arguments.duration.to_duration().as_secs_f64()
}

/// Runs the rounds until they are over, the user stops them or one thing fails; then with the error what was measured before.
pub(super) fn measure(
    arguments: &NetworkArgs,
    peer: &Peer,
    steps: &Steps,
    stop: &AtomicBool,
) -> (Measured, Option<NetworkError>) {
    let mut phases = phases(arguments);
    let each = arguments.duration.to_duration() / ROUNDS;
    let mut random = Random::new(SEED);
    let mut error = None;
    'rounds: for round in 1..=ROUNDS {
        for index in random.order(phases.len()) {
            if stop.load(Relaxed) {
                break 'rounds;
            }
            steps.now(&format!("round {round}/{ROUNDS}  {}", phases[index].words()));
            match phases[index].run(peer, each) {
                Ok(()) => {}
                Err(NetworkError::Stopped) => break 'rounds,
                Err(failed) => {
                    error = Some(failed);
                    break 'rounds;
                }
            }
        }
    }
    (folded(phases), error)
}

/// Everything to measure, in the order in which it is shown.
fn phases(arguments: &NetworkArgs) -> Vec<Phase> {
    let mut phases = Vec::new();
    for message_bytes in &arguments.sizes {
        let case = WriteCase { message_bytes: *message_bytes, two_writes: false, nodelay: true };
        phases.push(Phase::RoundTrip(case, Vec::new()));
    }
    for (two_writes, nodelay) in WRITES {
        let case = WriteCase { message_bytes: REQUEST_BYTES, two_writes, nodelay };
        phases.push(Phase::Writes(case, Vec::new()));
    }
    for streams in &arguments.streams {
        let case = StreamCase { streams: *streams, write_bytes: WRITE_BYTES };
        phases.push(Phase::Streams(case, Vec::new()));
    }
    phases.push(Phase::Connections(Vec::new()));
    phases
}

impl Phase {
    fn words(&self) -> String {
        match self {
            Phase::RoundTrip(case, _) => format!("round trips of {} bytes", case.message_bytes),
            Phase::Writes(case, _) if case.two_writes => "two writes".to_owned(),
            Phase::Writes(..) => "one write".to_owned(),
            Phase::Streams(case, _) => format!("{} streams", case.streams),
            Phase::Connections(_) => "new connections".to_owned(),
        }
    }

    fn run(&mut self, peer: &Peer, each: Duration) -> Result<(), NetworkError> {
        match self {
            Phase::RoundTrip(case, rounds) | Phase::Writes(case, rounds) => {
                let times_ns = peer.exchanges(*case, each)?;
                // Stopped in its warm-up.
                if !times_ns.is_empty() {
                    rounds.push(times_ns);
                }
            }
            Phase::Streams(case, rounds) => {
                let warm_up = (each * ROUNDS).mul_f64(STREAM_WARM_UP);
                rounds.push(peer.flow(*case, warm_up, each)?);
            }
            Phase::Connections(rounds) => rounds.push(peer.connections(each)?),
        }
        Ok(())
    }
}

fn folded(phases: Vec<Phase>) -> Measured {
    let mut measured = Measured::default();
    for phase in phases {
        match phase {
            Phase::RoundTrip(case, rounds) if !rounds.is_empty() => {
                let row = RoundTrips { message_bytes: case.message_bytes, round_trip: distribution(&rounds) };
                measured.round_trips.push(row);
            }
            Phase::Writes(case, rounds) if !rounds.is_empty() => {
                let writes = if case.two_writes { 2 } else { 1 };
                let row = WritePattern { writes, nodelay: case.nodelay, round_trip: distribution(&rounds) };
                measured.writes.push(row);
            }
            Phase::Streams(case, rounds) if !rounds.is_empty() => {
                measured.throughput.push(stream_rate(case, &rounds));
            }
            Phase::Connections(rounds) => measured.connections = connection_rate(&rounds),
            Phase::RoundTrip(..) | Phase::Writes(..) | Phase::Streams(..) => {}
        }
    }
    measured
}

/// The figures of single times; a round is a block.
fn distribution(rounds: &[Vec<i64>]) -> Distribution {
    let mut histogram = Histogram::new();
    rounds.iter().flatten().for_each(|time_ns| histogram.record_ns(*time_ns));
    let mean = |times: &Vec<i64>| times.iter().sum::<i64>() as f64 / times.len() as f64;
    let means: Vec<f64> = rounds.iter().filter(|times| !times.is_empty()).map(mean).collect();
    figures(&histogram, &Spread { level: LEVEL, block_means_ns: &means, batches: &[] })
}

fn stream_rate(case: StreamCase, rounds: &[Flow]) -> StreamRate {
    let slices: Vec<f64> = rounds.iter().flat_map(|flow| flow.bytes_per_s.iter().copied()).collect();
    let connections: Vec<TcpInfo> = rounds.iter().flat_map(|flow| flow.tcp.iter().copied()).collect();
    let state = tcp_state(&connections);
    StreamRate {
        streams: case.streams,
        write_bytes: case.write_bytes,
        bytes_per_s: consecutive(&slices),
        sent_bytes: rounds.iter().map(|flow| flow.sent_bytes).sum(),
        received_bytes: rounds.iter().map(|flow| flow.received_bytes).sum(),
        tcp: TcpState {
            congestion_window_segments: state
                .congestion_window_segments
                .map(|sum| sum / rounds.len().max(1) as u64),
            congestion_control: rounds.first().and_then(|flow| flow.congestion_control.clone()),
            ..state
        },
    }
}

/// All connections together; absent as soon as one does not tell.
fn tcp_state(connections: &[TcpInfo]) -> TcpState {
    let Some(first) = connections.first() else { return TcpState::default() };
    let sum = |field: fn(&TcpInfo) -> Option<u64>| connections.iter().map(field).sum::<Option<u64>>();
    let busy_ns = sum(|stream| stream.busy_ns).filter(|busy| *busy > 0);
    let share = |part_ns: Option<u64>| Some(part_ns? as f64 / busy_ns? as f64);
    TcpState {
        retransmitted_segments: sum(|stream| stream.retransmitted_segments.map(u64::from)),
        retransmitted_bytes: sum(|stream| stream.retransmitted_bytes),
        rtt_ns: sum(|stream| stream.rtt_ns).map(|sum| sum / connections.len() as u64),
        min_rtt_ns: connections.iter().filter_map(|stream| stream.min_rtt_ns).min(),
        congestion_window_segments: sum(|stream| stream.congestion_window_segments.map(u64::from)),
        segment_bytes: first.segment_bytes,
        receiver_limited_share: share(sum(|stream| stream.receiver_limited_ns)),
        send_buffer_limited_share: share(sum(|stream| stream.send_buffer_limited_ns)),
        congestion_control: None,
    }
}

fn connection_rate(rounds: &[Connected]) -> Option<ConnectionRate> {
    let number: usize = rounds.iter().map(|seen| seen.connect_ns.len()).sum();
    let elapsed: Duration = rounds.iter().map(|seen| seen.elapsed).sum();
    let times = |of: fn(&Connected) -> &Vec<i64>| {
        distribution(&rounds.iter().map(|seen| of(seen).clone()).collect::<Vec<_>>())
    };
    (number > 0 && !elapsed.is_zero()).then(|| ConnectionRate {
        rate_per_s: number as f64 / elapsed.as_secs_f64(),
        connect: times(|seen| &seen.connect_ns),
        first_answer: times(|seen| &seen.first_answer_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_does_not_tell_makes_the_sum_absent() {
        let tells = TcpInfo {
            retransmitted_bytes: Some(5),
            rtt_ns: Some(10),
            min_rtt_ns: Some(7),
            ..TcpInfo::default()
        };
        let silent = TcpInfo { rtt_ns: Some(30), ..TcpInfo::default() };
        let state = tcp_state(&[tells, silent]);
        assert_eq!((state.retransmitted_bytes, state.rtt_ns, state.min_rtt_ns), (None, Some(20), Some(7)));
        assert_eq!(tcp_state(&[tells, tells]).retransmitted_bytes, Some(10));
    }

    #[test]
    fn rounds_add_up_and_only_the_window_is_their_mean() {
        let told = TcpInfo {
            retransmitted_bytes: Some(5),
            congestion_window_segments: Some(10),
            ..TcpInfo::default()
        };
        let flow = |bytes_per_s: f64| Flow {
            bytes_per_s: vec![bytes_per_s; 3],
            sent_bytes: 100,
            received_bytes: 100,
            tcp: vec![told, told],
            congestion_control: Some("cubic".to_owned()),
        };
        let rate = stream_rate(StreamCase { streams: 2, write_bytes: 1 }, &[flow(1.0), flow(3.0), flow(2.0)]);
        assert_eq!((rate.sent_bytes, rate.received_bytes), (300, 300));
        assert_eq!((rate.tcp.retransmitted_bytes, rate.tcp.congestion_window_segments), (Some(30), Some(20)));
        let figure = rate.bytes_per_s.unwrap();
        assert_eq!((figure.median, figure.blocks), (2.0, 9));
    }

    #[test]
    fn a_mean_over_three_rounds_has_an_interval_from_them() {
        let times = distribution(&[vec![90, 110], vec![100, 100], vec![110, 130]]);
        assert_eq!((times.samples, times.mean_ns.map(f64::round)), (6, Some(107.0)));
        assert!(times.mean_interval.is_some());
        assert!(distribution(&[vec![90, 110]]).mean_interval.is_none());
    }
}
