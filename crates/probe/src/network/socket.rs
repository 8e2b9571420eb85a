//! The kernel's own figures of a connection: `TCP_INFO` and the name of its congestion control.
//!
//! Fields are taken by their place in the kernel's `struct tcp_info` (include/uapi/linux/tcp.h), which only ever grows at its
//! end: an older kernel returns fewer bytes, and what lies beyond them is absent.

#![expect(unsafe_code, reason = "getsockopt with options that have no safe form")]

use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// The part of `struct tcp_info` that is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Largest segment that is sent.
    pub segment_bytes: Option<u32>,
    /// Smoothed round trip.
    pub rtt_ns: Option<u64>,
    /// Smallest round trip.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window in segments.
    pub congestion_window_segments: Option<u32>,
    /// Segments sent again.
    pub retransmitted_segments: Option<u32>,
    /// Bytes sent again; since Linux 4.19.
    pub retransmitted_bytes: Option<u64>,
    /// Bytes that the other side's kernel acknowledged; since Linux 4.1.
    pub acknowledged_bytes: Option<u64>,
    /// Time in which there was something to send; since Linux 4.9, as the next two.
    pub busy_ns: Option<u64>,
    /// Part of it in which the receiver's window was the limit.
    pub receiver_limited_ns: Option<u64>,
    /// Part of it in which the send buffer was the limit.
    pub send_buffer_limited_ns: Option<u64>,
}

/// Asks for it.
pub(super) fn tcp_info(stream: &TcpStream) -> Option<TcpInfo> {
    let mut bytes = [0; 512];
    let length = option(stream, libc::TCP_INFO, &mut bytes)?;
    Some(parse(&bytes[..length]))
}

/// Name of the congestion control.
pub(super) fn congestion_control(stream: &TcpStream) -> Option<String> {
    let mut bytes = [0; 16];
    let length = option(stream, libc::TCP_CONGESTION, &mut bytes)?;
    let name = bytes[..length].split(|byte| *byte == 0).next()?;
    String::from_utf8(name.to_vec()).ok().filter(|name| !name.is_empty())
}

/// Fills `bytes` with an option of TCP; how many were filled.
fn option(stream: &TcpStream, name: libc::c_int, bytes: &mut [u8]) -> Option<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the socket is open as long as `stream` lives; `bytes` has `length` bytes and both outlive the call.
    let result = unsafe {
        let value = bytes.as_mut_ptr().cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, name, value, &raw mut length)
    };
    (result == 0).then(|| (length as usize).min(bytes.len()))
}

fn parse(bytes: &[u8]) -> TcpInfo {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let microseconds = |us: u64| us * 1_000;
    TcpInfo {
        segment_bytes: word(16),
        rtt_ns: word(68).map(u64::from).map(microseconds),
        // Before the first measurement it is the largest there is.
        min_rtt_ns: word(148).filter(|us| *us != u32::MAX).map(u64::from).map(microseconds),
        congestion_window_segments: word(80),
        retransmitted_segments: word(100),
        retransmitted_bytes: long(208),
        acknowledged_bytes: long(120),
        busy_ns: long(168).map(microseconds),
        receiver_limited_ns: long(176).map(microseconds),
        send_buffer_limited_ns: long(184).map(microseconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn the_kernel_tells_what_was_acknowledged_to_the_byte() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.write_all(&[7; 1_234]).unwrap();
        there.read_exact(&mut [0; 1_234]).unwrap();
        // The answer carries the acknowledgement.
        there.write_all(&[1]).unwrap();
        here.read_exact(&mut [0; 1]).unwrap();
        let info = tcp_info(&here).unwrap();
        // The kernel counts the SYN as a byte on some versions and not on others.
        assert!([1_234, 1_235].contains(&info.acknowledged_bytes.unwrap()), "{info:?}");
        assert_eq!(info.retransmitted_bytes, Some(0));
        assert!(info.segment_bytes.unwrap() > 0 && info.congestion_window_segments.unwrap() > 0);
        assert!(congestion_control(&here).is_some());
    }

    #[test]
    fn what_an_older_kernel_does_not_return_is_absent() {
        let info = parse(&[1; 104]);
        assert_eq!(info.retransmitted_segments, Some(0x0101_0101));
        assert_eq!((info.acknowledged_bytes, info.min_rtt_ns, info.retransmitted_bytes), (None, None, None));
        assert_eq!(parse(&[]), TcpInfo::default());
    }
}
