//! Speaks the Kafka protocol on sockets: connections, control exchanges, and the hot path's produce and fetch bytes.
//! Knows no load, no schedule and no report.
//!
//! [`connection::Transport`] says how to connect and opens a [`connection::Connection`], which a single-threaded event loop polls beside others.
//! [`control`] has the exchanges that are asked and waited for (producer ids, offsets, log directories), [`metadata`] the one that finds leaders,
//! [`quotas`] the one for clients' quotas.
//! [`batch`] and [`produce`] write what a load sends, [`fetch`] and [`record`] read what a broker returns.
//!
//! Every request is in a version from before flexible encoding and is written and read by hand. What a broker sends is a
//! stranger's word: [`read::Reader`] is the only way to its bytes, a wrong length is an error before anything is allocated.

pub mod batch;
pub mod compression;
pub mod connection;
pub mod control;
pub mod error;
pub mod fetch;
pub mod metadata;
pub mod produce;
pub mod quotas;
pub mod read;
pub mod record;
pub mod sasl;
pub mod tls;
pub mod versions;
pub mod write;
