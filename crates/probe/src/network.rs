//! TCP to itself or to a peer: throughput, round trips, what Nagle's algorithm does, new connections, and the clocks of both.
//!
//! The other side is a [`Listener`] that speaks a small protocol of our own (`protocol.rs`) and is made to be left open to
//! strangers for a while: everything has a bound. The measuring side is [`Peer`]. Calls into C are in `socket.rs`.

mod clock_exchange;
mod exchange;
mod listener;
mod messages;
mod peer;
mod protocol;
mod socket;
mod streams;

pub use clock_exchange::ClockExchanges;
pub use exchange::{Connected, WriteCase};
pub use listener::{Limits, Listener, Visit};
pub use peer::{NetworkError, Peer};
pub use protocol::{MESSAGE_BYTES_MAX, PORT, STREAMS_MAX, VERSION};
pub use socket::TcpInfo;
pub use streams::{Flow, StreamCase};
