//! As much as goes through: streams that are kept full, counted by what the other side's kernel acknowledged.

use super::peer::{NetworkError, Peer};
use super::protocol::Role;
use super::socket::{TcpInfo, congestion_control, tcp_info};
use std::io::{Read, Write};
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

/// What went through.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Bytes per second acknowledged in each slice, all streams; empty when the kernel does not tell.
    pub bytes_per_s: Vec<f64>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes that the other side says it read.
    pub received_bytes: u64,
    /// What the kernel says of each connection before it ends.
    pub tcp: Vec<TcpInfo>,
    /// Name of the congestion control.
    pub congestion_control: Option<String>,
}

impl Peer {
    /// Keeps so many streams full for `warm_up`, in which their windows grow, and then for `duration`, which counts.
    pub fn flow(
        &self,
        case: StreamCase,
        warm_up: Duration,
        duration: Duration,
        stop: &AtomicBool,
    ) -> Result<Flow, NetworkError> {
        self.sign()?;
        let streams: Result<Vec<TcpStream>, _> =
            (0..case.streams).map(|_| self.connect(Role::Sink)).collect();
        let streams = streams?;
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = streams
                .iter()
                .map(|stream| scope.spawn(|| write_until(stream, case.write_bytes, &ended)))
                .collect();
            let bytes_per_s = slices(&streams, warm_up, duration, stop);
            ended.store(true, Relaxed);
            // A thread that panics is a bug, and goes on as one.
            let joined = writers
                .into_iter()
                .map(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let sent: Result<Vec<u64>, std::io::Error> = joined.collect();
            let sent_bytes = sent.map_err(|source| self.broken(source))?.iter().sum();
            let tcp = streams.iter().filter_map(tcp_info).collect();
            let congestion_control = streams.first().and_then(congestion_control);
            let received: Result<Vec<u64>, std::io::Error> = streams.iter().map(read_count).collect();
            let received_bytes = received.map_err(|source| self.broken(source))?.iter().sum();
            Ok(Flow { bytes_per_s, sent_bytes, received_bytes, tcp, congestion_control })
        })
    }
}

fn write_until(mut stream: &TcpStream, write_bytes: u32, ended: &AtomicBool) -> std::io::Result<u64> {
    let bytes = vec![0x55; write_bytes as usize];
    let mut sent = 0;
    while !ended.load(Relaxed) {
        stream.write_all(&bytes)?;
        sent += bytes.len() as u64;
    }
    Ok(sent)
}

/// Rates of acknowledged bytes between looks at the connections.
fn slices(streams: &[TcpStream], warm_up: Duration, duration: Duration, stop: &AtomicBool) -> Vec<f64> {
    let mut next = Instant::now() + warm_up;
    let end = next + duration;
    let slice = SLICE.min(duration / SLICES_MIN);
    let mut rates = Vec::new();
    let mut before: Option<(Instant, u64)> = None;
    while next <= end && !stop.load(Relaxed) {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let acknowledged: Option<u64> =
            streams.iter().map(|stream| tcp_info(stream)?.acknowledged_bytes).sum();
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
fn read_count(mut stream: &TcpStream) -> std::io::Result<u64> {
    stream.shutdown(Shutdown::Write)?;
    let mut count = [0; 8];
    stream.read_exact(&mut count)?;
    Ok(u64::from_le_bytes(count))
}
