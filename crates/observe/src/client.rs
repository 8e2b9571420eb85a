//! Clients over a window, by their own statistics.
//!
//! librdkafka's statistics come as text that grows ([`ClientReadings`]), the Java client's as a page of metrics that is read twice
//! ([`java_clients`]). Not here: who reads a file or an address while it grows, which is `plumb_session`'s.

mod emission;
mod follow;
pub(crate) mod java;
mod page;
mod readings;

pub use java::java_clients;
pub use page::{StatisticsPage, statistics_at, statistics_of};
pub use readings::{ClientReadings, ClientsSeen};
