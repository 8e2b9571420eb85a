//! For how long each TCP connection was held back while it had something to send: by the receiver's window, or by its own send buffer. And
//! of each socket that listens, how many connections wait to be accepted, and how many may; of each other one, how large its buffers are.
//!
//! A share of 0 does not clear a buffer: the kernel counts it as full only while it sends, so that one that holds a single segment (a small one on
//! the loopback, whose segments are 64 KiB) is never counted.
//!
//! The kernel counts this for each connection (`tcp_info`, since Linux 4.10) and in no counter of the host. It is asked over netlink
//! (sock_diag(7)) for the sockets of the caller's network namespace; no privilege is needed.

use crate::netlink::{Question, attribute, dump, number};
use std::io;

/// `NETLINK_SOCK_DIAG`, and the type of its only message.
const SOCK_DIAG: i32 = 4;
const BY_FAMILY: u16 = 20;
/// The attribute with `tcp_info`, and the bit that asks for it.
const INFO: u16 = 2;
const ASK_INFO: u8 = 1 << (INFO - 1);
/// The attribute with what a socket takes of memory, and the bit that asks for it.
const MEMORY: u16 = 7;
const ASK_MEMORY: u8 = 1 << (MEMORY - 1);
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The bits of connections that are established, and of sockets that listen.
const ESTABLISHED: u32 = 1 << 1;
const LISTEN: u32 = 1 << 10;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
/// Bytes of `inet_diag_msg`, and the place of the connection's cookie in it.
const MESSAGE_BYTES: usize = 72;
const COOKIE: usize = 44;
/// Places in it of both ports (big-endian), and of both queues: of one that listens, connections that wait, and how many may.
const LOCAL_PORT: usize = 4;
const REMOTE_PORT: usize = 6;
const RECEIVE_QUEUE: usize = 56;
const SEND_QUEUE: usize = 60;
/// Places in `tcp_info` (linux/tcp.h).
const RECEIVED_BYTES: usize = 128;
const ROUND_TRIP_US: usize = 148;
const BUSY_US: usize = 168;
const WINDOW_LIMITED_US: usize = 176;
const BUFFER_LIMITED_US: usize = 184;
/// The place of the drops among the words of memory.
const DROPS: usize = 32;
/// More connections than are looked at (ours): a hundred thousand take a tenth of a second.
const CONNECTIONS_MAX: usize = 100_000;

/// What the kernel counted of a connection since it was opened, in microseconds, and what it holds for it now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpLimits {
    /// The kernel's own number of the connection, which no other one gets.
    pub(crate) cookie: u64,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// It had something to send or to be acknowledged.
    pub(crate) busy_us: u64,
    /// Of it, the receiver's window was full.
    pub(crate) window_limited_us: u64,
    /// Of it, the send buffer was full.
    pub(crate) buffer_limited_us: u64,
    /// Bytes that came, without those that came twice.
    pub(crate) received_bytes: u64,
    /// The least round trip of late; none where there was none.
    pub(crate) round_trip_us: Option<u32>,
    /// The sizes of its buffers, which the kernel doubles when a program asks for one; none where it does not tell.
    pub(crate) buffers: Option<Buffers>,
}

/// Bytes that a socket may take in memory, with all that is about the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) receive_bytes: u32,
    pub(crate) send_bytes: u32,
    /// What the receive buffer holds now.
    pub(crate) unread_bytes: u32,
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

/// A socket for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UdpBuffer {
    pub(crate) port: u16,
    pub(crate) buffers: Buffers,
    /// Datagrams that found its buffer full since it was opened.
    pub(crate) drops: u32,
}

/// The established connections of this network namespace. Where the kernel tells none there are none.
pub(crate) fn tcp_limits() -> io::Result<Vec<TcpLimits>> {
    sockets(TCP, ASK_INFO | ASK_MEMORY, ESTABLISHED, connection)
}

/// The sockets of this network namespace that listen.
pub(crate) fn tcp_listeners() -> io::Result<Vec<TcpListener>> {
    sockets(TCP, 0, LISTEN, listener)
}

/// The sockets of this network namespace for datagrams. A kernel without `udp_diag` tells none.
pub(crate) fn udp_buffers() -> io::Result<Vec<UdpBuffer>> {
    sockets(UDP, ASK_MEMORY, u32::MAX, datagrams)
}

/// What is made of all sockets of a protocol in these states.
fn sockets<T>(protocol: u8, ask: u8, states: u32, of: fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    for family in [IPV4, IPV6] {
        let body = request(family, protocol, ask, states);
        let most = CONNECTIONS_MAX.saturating_sub(found.len());
        let question =
            Question { protocol: SOCK_DIAG, kind: BY_FAMILY, answer: BY_FAMILY, body: &body, most };
        found.extend(dump(&question, of)?);
    }
    Ok(found)
}

/// `inet_diag_req_v2` with an empty address.
fn request(family: u8, protocol: u8, ask: u8, states: u32) -> Vec<u8> {
    let mut body = vec![family, protocol, ask, 0];
    body.extend(states.to_ne_bytes());
    body.extend([0; 48]);
    body
}

/// A port in the network's byte order.
fn port(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

/// A socket that listens.
fn listener(message: &[u8]) -> Option<TcpListener> {
    Some(TcpListener {
        port: port(message, LOCAL_PORT)?,
        queue: number(message, RECEIVE_QUEUE)?,
        limit: number(message, SEND_QUEUE)?,
    })
}

/// A connection with its `tcp_info`; none where the kernel's is shorter.
fn connection(message: &[u8]) -> Option<TcpLimits> {
    let long = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let attributes = message.get(MESSAGE_BYTES..)?;
    let info = attribute(attributes, INFO)?;
    Some(TcpLimits {
        cookie: long(message, COOKIE)?,
        local_port: port(message, LOCAL_PORT)?,
        remote_port: port(message, REMOTE_PORT)?,
        busy_us: long(info, BUSY_US)?,
        window_limited_us: long(info, WINDOW_LIMITED_US)?,
        buffer_limited_us: long(info, BUFFER_LIMITED_US)?,
        received_bytes: long(info, RECEIVED_BYTES)?,
        round_trip_us: number(info, ROUND_TRIP_US).filter(|least_us| *least_us != u32::MAX),
        buffers: attribute(attributes, MEMORY).and_then(buffers),
    })
}

fn datagrams(message: &[u8]) -> Option<UdpBuffer> {
    let memory = attribute(message.get(MESSAGE_BYTES..)?, MEMORY)?;
    Some(UdpBuffer {
        port: port(message, LOCAL_PORT)?,
        buffers: buffers(memory)?,
        drops: number(memory, DROPS)?,
    })
}

/// `SK_MEMINFO_*`: words of 32 bits.
fn buffers(memory: &[u8]) -> Option<Buffers> {
    Some(Buffers {
        unread_bytes: number(memory, 0)?,
        receive_bytes: number(memory, 4)?,
        send_bytes: number(memory, 12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
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
    fn a_socket_for_datagrams_tells_its_own_buffer() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let default = std::fs::read_to_string("/proc/sys/net/core/rmem_default");
        let own = socket.local_addr().unwrap().port();
        // A kernel may be built without what tells it, and a namespace does not show the default.
        let (Ok(all), Ok(default)) = (udp_buffers(), default) else { return };
        if let Some(found) = all.iter().find(|one| one.port == own) {
            assert_eq!(found.buffers.receive_bytes.to_string(), default.trim());
            assert_eq!((found.buffers.unread_bytes, found.drops), (0, 0));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_connections_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = (listener(&bytes), connection(&bytes), datagrams(&bytes));
        }
    }
}
