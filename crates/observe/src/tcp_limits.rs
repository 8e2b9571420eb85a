//! For how long each TCP connection was held back while it had something to send: by the receiver's window, or by its own send buffer. And
//! of each socket that listens, how many connections wait to be accepted, and how many may.
//!
//! A share of 0 does not clear a buffer: the kernel counts it as full only while it sends, so that one that holds a single segment (a small one on
//! the loopback, whose segments are 64 KiB) is never counted.
//!
//! The kernel counts this for each connection (`tcp_info`, since Linux 4.10) and in no counter of the host. It is asked over netlink
//! (sock_diag(7)) for the sockets of the caller's network namespace; no privilege is needed.

use crate::ethtool::netlink_socket;
use std::fs::File;
use std::io::{self, Read, Write};

/// `NETLINK_SOCK_DIAG`, and the type of its only message.
const SOCK_DIAG: i32 = 4;
const BY_FAMILY: u16 = 20;
/// A request that is answered with everything that there is.
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The attribute with `tcp_info`, and the bit that asks for it.
const INFO: u16 = 2;
const ASK_INFO: u8 = 1 << (INFO - 1);
const TCP: u8 = 6;
/// The bits of connections that are established, and of sockets that listen.
const ESTABLISHED: u32 = 1 << 1;
const LISTEN: u32 = 1 << 10;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const HEAD_BYTES: usize = 16;
/// Bytes of `inet_diag_msg`, and the place of the connection's cookie in it.
const MESSAGE_BYTES: usize = 72;
const COOKIE: usize = 44;
/// Places in it of the local port (big-endian), and of both queues: of one that listens, connections that wait, and how many may.
const LOCAL_PORT: usize = 4;
const RECEIVE_QUEUE: usize = 56;
const SEND_QUEUE: usize = 60;
/// Places in `tcp_info` (linux/tcp.h).
const BUSY_US: usize = 168;
const WINDOW_LIMITED_US: usize = 176;
const BUFFER_LIMITED_US: usize = 184;
/// More connections than are looked at (ours): a hundred thousand take a tenth of a second.
const CONNECTIONS_MAX: usize = 100_000;
const ANSWER_BYTES: usize = 64 << 10;

/// What the kernel counted of a connection since it was opened, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpLimits {
    /// The kernel's own number of the connection, which no other one gets.
    pub(crate) cookie: u64,
    /// It had something to send or to be acknowledged.
    pub(crate) busy_us: u64,
    /// Of it, the receiver's window was full.
    pub(crate) window_limited_us: u64,
    /// Of it, the send buffer was full.
    pub(crate) buffer_limited_us: u64,
}

/// A socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpListener {
    pub(crate) port: u16,
    /// Connections that wait to be accepted.
    pub(crate) queue: u32,
    /// How many may wait: what the program asked for, or the kernel's bound at that time.
    pub(crate) limit: u32,
}

/// The established connections of this network namespace. Where the kernel tells none there are none.
pub(crate) fn tcp_limits() -> io::Result<Vec<TcpLimits>> {
    dump(ASK_INFO, ESTABLISHED, connection)
}

/// The sockets of this network namespace that listen.
pub(crate) fn tcp_listeners() -> io::Result<Vec<TcpListener>> {
    dump(0, LISTEN, listener)
}

/// What is made of all TCP sockets in these states.
fn dump<T>(ask: u8, states: u32, of: fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    for family in [IPV4, IPV6] {
        let mut socket = File::from(netlink_socket(SOCK_DIAG)?);
        socket.write_all(&request(family, ask, states))?;
        let mut answer = vec![0; ANSWER_BYTES];
        loop {
            let length = socket.read(&mut answer)?;
            if !read(&answer[..length], of, &mut found)? || found.len() >= CONNECTIONS_MAX {
                break;
            }
        }
    }
    Ok(found)
}

/// netlink's head, then `inet_diag_req_v2` with an empty address.
fn request(family: u8, ask: u8, states: u32) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(((HEAD_BYTES + 56) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST_DUMP.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([family, TCP, ask, 0]);
    message.extend(states.to_ne_bytes());
    message.extend([0; 48]);
    message
}

/// Reads the messages of an answer; false after the last.
fn read<T>(answer: &[u8], of: fn(&[u8]) -> Option<T>, found: &mut Vec<T>) -> io::Result<bool> {
    let mut rest = answer;
    while let Some(head) = rest.get(..HEAD_BYTES) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(message) = rest.get(HEAD_BYTES..length) else { break };
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(false),
            ERROR => {
                let code = message
                    .get(..4)
                    .map_or(0, |code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]]));
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            BY_FAMILY => found.extend(of(message)),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(!answer.is_empty())
}

/// A socket that listens.
fn listener(message: &[u8]) -> Option<TcpListener> {
    let number = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    Some(TcpListener {
        port: u16::from_be_bytes(message.get(LOCAL_PORT..LOCAL_PORT + 2)?.try_into().ok()?),
        queue: number(RECEIVE_QUEUE)?,
        limit: number(SEND_QUEUE)?,
    })
}

/// A connection with its `tcp_info`; none where the kernel's is shorter.
fn connection(message: &[u8]) -> Option<TcpLimits> {
    let number = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let cookie = number(message, COOKIE)?;
    let mut rest = message.get(MESSAGE_BYTES..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(4..length)?;
        if kind == INFO {
            return Some(TcpLimits {
                cookie,
                busy_us: number(value, BUSY_US)?,
                window_limited_us: number(value, WINDOW_LIMITED_US)?,
                buffer_limited_us: number(value, BUFFER_LIMITED_US)?,
            });
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpStream;

    /// A reader that does not read: the sender is held back by its window.
    #[test]
    fn a_sender_whose_reader_does_not_read_is_held_back_by_the_window() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_reader, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        let block = vec![0u8; 1 << 20];
        while sender.write(&block).is_ok() {}
        let limited = |_| tcp_limits().unwrap().iter().any(|one| one.window_limited_us > 0);
        let wait = |look: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            limited(*look)
        };
        assert!((0..500).any(|look| wait(&look)), "{:?}", tcp_limits().unwrap());
    }

    /// Its own backlog is 128 (std::net), or the kernel's bound where that is less; two connect, and nobody accepts them.
    #[test]
    fn a_socket_that_listens_tells_its_queue_and_how_many_may_wait() {
        let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listening.local_addr().unwrap();
        let _waiting = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        let own = |_| tcp_listeners().unwrap().into_iter().find(|one| one.port == address.port());
        let wait = |look: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            own(*look).is_some_and(|one| one.queue == 2 && one.limit > 2)
        };
        assert!((0..500).any(|look| wait(&look)), "{:?}", own(0));
    }

    #[test]
    fn an_error_of_the_kernels_is_told_and_the_end_is_the_end() {
        let message = |kind: u16, body: &[u8]| {
            let head = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes();
            [&head[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
        };
        let mut found = Vec::new();
        assert!(!read(&message(DONE, &[0; 4]), connection, &mut found).unwrap());
        let error = read(&message(ERROR, &(-13i32).to_ne_bytes()), connection, &mut found).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(13));
    }

    proptest! {
        #[test]
        fn any_bytes_are_connections_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut found = Vec::new();
            let _ = read(&bytes, connection, &mut found);
            let _ = listener(&bytes);
            let _ = connection(&bytes);
        }
    }
}
