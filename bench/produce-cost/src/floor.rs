//! The floor of any client that writes its bytes to a socket: the kernel's copy of them. A checksum is not in it: one of bytes
//! that are sent again and again need not read them again.
//!
//! A thread writes prepared buffers into a loopback connection that another one drains; only the CPU time of the writing
//! thread counts. On loopback it contains what the kernel does to deliver the bytes, as it does in every tool here.

use plumb_bench_peers::BenchError;
use plumb_bench_peers::report::{CellReport, Row};
use plumb_bench_peers::table::{Table, figure, maybe};
use plumb_bench_peers::tool::plumb::Driver;
use plumb_stats::median::median;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Bytes of a write: about those of a full produce request.
const WRITE_BYTES: usize = 1 << 20;

/// One at work and one on its way: the fewer bytes are sent again and again, the warmer they are.
const BUFFERS: usize = 2;

/// Writes of a measurement: 2 GB.
const WRITES: usize = 2000;

/// Measurements.
const REPEATS: usize = 5;

/// The cost of the bytes alone.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Floor {
    /// The sender's part of a copy through a loopback socket, in CPU seconds for 10^9 bytes.
    pub(crate) socket_cpu_s_per_gb: f64,
}

/// Measures it here and now.
///
/// # Errors
/// When loopback does not work.
pub(crate) fn measure() -> Result<Floor, BenchError> {
    let buffers: Vec<Vec<u8>> = (0..BUFFERS).map(|seed| vec![seed as u8; WRITE_BYTES]).collect();
    let cpu_s = (0..REPEATS).map(|_| socket_cpu_s(&buffers)).collect::<Result<Vec<f64>, _>>()?;
    let gb = (WRITES * WRITE_BYTES) as f64 / 1e9;
    Ok(Floor { socket_cpu_s_per_gb: median(cpu_s).unwrap_or(f64::NAN) / gb })
}

fn socket_cpu_s(buffers: &[Vec<u8>]) -> Result<f64, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    sender.set_nodelay(true)?;
    let (mut receiver, _) = listener.accept()?;
    let reader = thread::spawn(move || {
        let mut into = vec![0; WRITE_BYTES];
        while receiver.read(&mut into).is_ok_and(|bytes| bytes > 0) {}
    });
    let before_s = thread_cpu_s();
    let written = buffers.iter().cycle().take(WRITES).try_for_each(|buffer| sender.write_all(buffer));
    let cpu_s = thread_cpu_s() - before_s;
    drop(sender);
    // A reader that is gone has ended, as it should.
    let _ = reader.join();
    written?;
    Ok(cpu_s)
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes of a record without key and headers in a batch: Kafka's record format, version 2. `records` of a batch decide how
/// long an offset delta is; those that fit into a megabyte are meant.
fn record_bytes(size_bytes: usize) -> usize {
    let offset_delta = varint_bytes(WRITE_BYTES / size_bytes.max(1) / 2);
    // Attributes, timestamp delta, no key, no headers: a byte each.
    let body = 4 + offset_delta + varint_bytes(size_bytes) + size_bytes;
    varint_bytes(body) + body
}

/// Of a number as a zigzag varint.
fn varint_bytes(number: usize) -> usize {
    let bits = usize::BITS - (number * 2).leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

impl Floor {
    /// CPU seconds of the bytes of a million messages.
    fn cpu_s_per_million(&self, size_bytes: usize) -> f64 {
        self.socket_cpu_s_per_gb * record_bytes(size_bytes) as f64 / 1e3
    }

    /// The wire driver beside it.
    pub(crate) fn text(&self, cells: &[CellReport]) -> String {
        let mut text = format!(
            "The floor on this machine: {} CPU s/GB for the sender's part of a loopback socket.\n",
            figure(self.socket_cpu_s_per_gb)
        );
        let wire = |row: &&Row| row.tool == Driver::Wire.name();
        let rows: Vec<_> =
            cells.iter().filter_map(|cell| Some((cell, cell.tools.iter().find(wire)?))).collect();
        if rows.is_empty() {
            return text;
        }
        let mut table =
            Table::new(&["cpu-s for a million messages", "floor", "plumb wire", "x", "less start-up", "x"]);
        for (cell, row) in rows {
            let floor = self.cpu_s_per_million(cell.size_bytes);
            let (whole, part) =
                (row.client_cpu_s_per_million_messages, row.moving_cpu_s_per_million_messages);
            let times = |cpu_s: Option<f64>| maybe(cpu_s.map(|cpu_s| cpu_s / floor));
            table.row(vec![
                cell.cell.clone(),
                figure(floor),
                maybe(whole),
                times(whole),
                maybe(part),
                times(part),
            ]);
        }
        text += &table.text();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_as_long_as_the_protocol_says() {
        let lengths: Vec<_> = [0, 63, 64, 8191, 8192, 1_048_575, 1_048_576].map(varint_bytes).into();
        assert_eq!(lengths, [1, 1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn a_record_of_100_bytes_has_ten_more() {
        // Two for its own length, two for the value's, two for the offset delta, four of a byte each.
        assert_eq!(record_bytes(100), 110);
    }

    #[test]
    fn a_million_messages_of_a_kilobyte_are_a_gigabyte_and_a_little() {
        let floor = Floor { socket_cpu_s_per_gb: 0.15 };
        let cpu_s = floor.cpu_s_per_million(1000);
        assert!((0.15..0.153).contains(&cpu_s), "{cpu_s}");
    }
}
