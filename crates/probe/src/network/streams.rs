//! As much as goes through: streams that are kept full, counted by what the other side's kernel acknowledged.

use super::messages::{LOOK, Over, Wire, went};
use super::peer::{NetworkError, Peer};
use super::protocol::Role;
use super::socket::{TcpInfo, congestion_control, tcp_info};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A slice of the measured part, and fewest slices of a short one.
const SLICE: Duration = Duration::from_millis(100);
const SLICES_MIN: u32 = 4;

/// A number of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamCase {
    /// Connections.
    pub streams: u32,
    /// Bytes of each write.
    pub write_bytes: u32,
}

/// The bytes that went through.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Bytes per second acknowledged in each slice, all streams; empty when the kernel does not tell.
    pub bytes_per_s: Vec<f64>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes that the other side says it read.
    pub received_bytes: u64,
    /// The kernel's figures of each connection before it ends.
    pub tcp: Vec<TcpInfo>,
    /// Name of the congestion control.
    pub congestion_control: Option<String>,
}

impl Peer<'_> {
    /// Keeps so many streams full for `warm_up`, in which their windows grow, and then for `duration`, which counts. What is
    /// stopped in the middle is thrown away: how much the other side read is not known then.
    pub fn flow(
        &self,
        case: StreamCase,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<Flow, NetworkError> {
        self.sign()?;
        let wires: Result<Vec<Wire>, _> = (0..case.streams).map(|_| self.connect(Role::Sink)).collect();
        let wires = wires?;
        let ended = AtomicBool::new(false);
        let (bytes_per_s, sent) = std::thread::scope(|scope| {
            let write = |stream| write_until(stream, case.write_bytes, self.patience(), &ended);
            let writers: Vec<_> = wires.iter().map(|wire| scope.spawn(move || write(&wire.stream))).collect();
            let bytes_per_s = slices(&wires, warm_up, duration, self.stop());
            ended.store(true, Relaxed);
            // A thread that panics is a bug, and goes on as one.
            let joined = writers
                .into_iter()
                .map(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let sent: Result<Vec<u64>, Over> = joined.collect();
            (bytes_per_s, sent)
        });
        let sent_bytes = sent.map_err(|over| self.broken(over))?.iter().sum();
        let tcp = wires.iter().filter_map(|wire| tcp_info(&wire.stream)).collect();
        let congestion_control = wires.first().and_then(|wire| congestion_control(&wire.stream));
        let until = self.until(Instant::now());
        let received: Result<Vec<u64>, Over> = wires.iter().map(|wire| read_count(wire, until)).collect();
        let received_bytes = received.map_err(|over| self.broken(over))?.iter().sum();
        Ok(Flow { bytes_per_s, sent_bytes, received_bytes, tcp, congestion_control })
    }
}

/// Bytes that were written until the end, or until none went for as long as there is patience.
fn write_until(
    mut stream: &TcpStream,
    write_bytes: u32,
    patience: Duration,
    ended: &AtomicBool,
) -> Result<u64, Over> {
    let bytes = vec![0x55; write_bytes as usize];
    let mut sent = 0;
    let mut until = Instant::now() + patience;
    while !ended.load(Relaxed) {
        match went(stream.write(&bytes))? {
            Some(n) => {
                sent += n as u64;
                until = Instant::now() + patience;
            }
            None if Instant::now() >= until => return Err(Over::Late { bytes: 0 }),
            None => {}
        }
    }
    Ok(sent)
}

/// Rates of acknowledged bytes between looks at the connections.
fn slices(wires: &[Wire], warm_up: Duration, duration: Duration, stop: &AtomicBool) -> Vec<f64> {
    let mut next = Instant::now() + warm_up;
    let end = next + duration;
    let slice = SLICE.min(duration / SLICES_MIN);
    let mut rates = Vec::new();
    let mut before: Option<(Instant, u64)> = None;
    while next <= end && !stop.load(Relaxed) {
        let left = next.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(LOOK));
        if left > LOOK {
            continue;
        }
        let acknowledged: Option<u64> =
            wires.iter().map(|wire| tcp_info(&wire.stream)?.acknowledged_bytes).sum();
        let now = Instant::now();
        if let (Some((then, less)), Some(more)) = (before, acknowledged) {
            rates.push(more.saturating_sub(less) as f64 / now.duration_since(then).as_secs_f64());
        }
        before = acknowledged.map(|bytes| (now, bytes));
        next = now + slice;
    }
    rates
}

/// Ends our side of the stream, and reads how much the other has read.
fn read_count(wire: &Wire, until: Instant) -> Result<u64, Over> {
    wire.stream.shutdown(Shutdown::Write).map_err(Over::Failed)?;
    let mut count = [0; 8];
    wire.fill(&mut count, until)?;
    Ok(u64::from_le_bytes(count))
}
