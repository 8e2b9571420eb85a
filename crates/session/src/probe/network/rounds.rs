//! The rounds of a network probe: every size, way to write and number of streams, each turn on connections of its own.

use super::NetworkSettings;
use crate::probe::distribution;
use crate::probe::rounds::{self, Experiment, Turn};
use plumb_model::probe::{ConnectionRate, NetworkPlan, RoundTrips, StreamRate, TcpState, WritePattern};
use plumb_model::random::Random;
use plumb_probe::network::{Connected, Flow, NetworkError, Peer, StreamCase, TcpInfo, WriteCase};
use plumb_stats::figure::consecutive;
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
enum Phase {
    RoundTrip(WriteCase, Vec<Vec<i64>>),
    Writes(WriteCase, Vec<Vec<i64>>),
    Streams(StreamCase, Vec<Flow>),
    Connections(Vec<Connected>),
}

/// The measurements, each absent when nothing of it was measured.
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

pub(super) fn plan(settings: &NetworkSettings) -> NetworkPlan {
    NetworkPlan { duration_ns: settings.duration.as_nanos() as u64, rounds: ROUNDS, seed: SEED }
}

/// Everything that is measured against a peer.
pub(super) struct NetworkRounds<'a> {
    phases: Vec<Phase>,
    peer: &'a Peer<'a>,
    /// Measured time of a turn.
    each: Duration,
}

impl<'a> NetworkRounds<'a> {
    pub(super) fn new(settings: &NetworkSettings, peer: &'a Peer<'a>) -> Self {
        NetworkRounds { phases: phases(settings), peer, each: settings.duration / ROUNDS }
    }

    pub(super) fn turns(&self) -> Vec<Turn> {
        let cases: Vec<usize> = (0..self.phases.len()).collect();
        rounds::order(&mut Random::new(SEED), &cases, ROUNDS)
    }

    /// The measurements so far.
    pub(super) fn measured(self) -> Measured {
        folded(self.phases)
    }

    fn stream_warm_up(&self) -> Duration {
        (self.each * ROUNDS).mul_f64(STREAM_WARM_UP)
    }
}

impl Experiment for NetworkRounds<'_> {
    type Error = NetworkError;

    fn title(&self, case: usize) -> String {
        self.phases[case].title()
    }

    fn planned_s(&self, case: usize) -> f64 {
        let warm_up = match self.phases[case] {
            Phase::Streams(..) => self.stream_warm_up(),
            Phase::RoundTrip(..) | Phase::Writes(..) | Phase::Connections(_) => Duration::ZERO,
        };
        (self.each + warm_up).as_secs_f64()
    }

    fn measure(&mut self, turn: Turn) -> Result<(), NetworkError> {
        let warm_up = self.stream_warm_up();
        match self.phases[turn.case].run(self.peer, self.each, warm_up) {
            // The user stops it, which ends the rounds before their next turn.
            Err(NetworkError::Stopped) => Ok(()),
            other => other,
        }
    }
}

/// Everything to measure, in the order in which it is shown.
fn phases(settings: &NetworkSettings) -> Vec<Phase> {
    let mut phases = Vec::new();
    for message_bytes in &settings.message_bytes {
        let case = WriteCase { message_bytes: *message_bytes, two_writes: false, nodelay: true };
        phases.push(Phase::RoundTrip(case, Vec::new()));
    }
    for (two_writes, nodelay) in WRITES {
        let case = WriteCase { message_bytes: REQUEST_BYTES, two_writes, nodelay };
        phases.push(Phase::Writes(case, Vec::new()));
    }
    for streams in &settings.streams {
        let case = StreamCase { streams: *streams, write_bytes: WRITE_BYTES };
        phases.push(Phase::Streams(case, Vec::new()));
    }
    phases.push(Phase::Connections(Vec::new()));
    phases
}

impl Phase {
    fn title(&self) -> String {
        match self {
            Phase::RoundTrip(case, _) => format!("round trips of {} bytes", case.message_bytes),
            Phase::Writes(case, _) if case.two_writes => "two writes".to_owned(),
            Phase::Writes(..) => "one write".to_owned(),
            Phase::Streams(case, _) => format!("{} streams", case.streams),
            Phase::Connections(_) => "new connections".to_owned(),
        }
    }

    fn run(&mut self, peer: &Peer, each: Duration, stream_warm_up: Duration) -> Result<(), NetworkError> {
        match self {
            Phase::RoundTrip(case, rounds) | Phase::Writes(case, rounds) => {
                let times_ns = peer.exchanges(*case, each)?;
                // Stopped in its warm-up.
                if !times_ns.is_empty() {
                    rounds.push(times_ns);
                }
            }
            Phase::Streams(case, rounds) => {
                rounds.push(peer.flow(*case, stream_warm_up, each)?);
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
}
