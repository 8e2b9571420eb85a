//! Speaks the Kafka protocol on sockets: connections, control exchanges, and the hot path's produce and fetch bytes.
//! Knows no load, no schedule and no report.
//!
//! [`Transport`] says how to connect and opens a [`Connection`], which a single-threaded event loop polls beside others.
//! [`control`] has the exchanges that are asked and waited for (metadata, producer ids, offsets, log directories).
//! [`batch`] and [`produce`] write what a load sends, [`fetch`] and [`record`] read what a broker returns.
//!
//! Every request is in a version from before flexible encoding and is written and read by hand. What a broker sends is a
//! stranger's word: [`read::Reader`] is the only way to its bytes, a wrong length is an error before anything is allocated.

pub mod batch;
pub mod compression;
pub mod fetch;
pub mod produce;
pub mod read;
pub mod record;
