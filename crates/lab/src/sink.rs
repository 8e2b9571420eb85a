//! A small broker that speaks the Kafka protocol on loopback TCP and misbehaves exactly as told.
//!
//! It is how the instrument is tested and calibrated: a stall, a delay, a loss, a duplicate, a swap, an error or a closed
//! connection goes in, and the figures must say so. It is no Kafka: one node, in memory, no replication, no transactions,
//! no authentication, no TLS, whatever is not needed to produce and to fetch is left out. Nothing that it measures is a
//! fact about a broker. It listens on 127.0.0.1 only.
//!
//! Every API that it answers is a row in `sink/api/table.rs`. Start with [`SinkBroker::start`], then misbehave through
//! [`SinkBroker::control`]. Requests of a connection take effect in the order of their arrival, at once; answers go out in
//! that order, each when its delay and every stall that concerns it is over.
//!
//! ```
//! use std::{collections::HashMap, time::Duration};
//! use plumb_lab::sink::{Apis, Records, SinkBroker, SinkOptions};
//!
//! let sink = SinkBroker::start(SinkOptions::default())?;
//! let control = sink.control();
//! control.create_topic("events", 1, &HashMap::new())?;
//! control.stall_at_record("events", 5_000, Apis::data(), Duration::from_millis(500));
//! control.drop_records(Records::every("events", 1_000));
//! // ... clients of sink.bootstrap() produce and consume ...
//! assert_eq!(control.stats().topic("events").dropped, 0);
//! # Ok::<(), plumb_lab::sink::SinkError>(())
//! ```

mod api;
mod arrival;
mod batch;
mod broker;
mod connection;
mod control;
mod delay;
mod faults;
mod frame;
mod group;
mod log;
mod producers;
mod shape;
mod state;
mod stats;
mod timer;
mod topic;
mod witness;

pub use broker::SinkBroker;
pub use control::Control;
pub use delay::Delay;
pub use faults::{Apis, Effect, Records, Refusal, RequestFault, TimestampLie};
pub use kafka_protocol::{ResponseError, messages::ApiKey};
pub use log::Keep;
pub use state::{SinkError, SinkOptions};
pub use stats::{ConnectionStats, GroupStats, PartitionStats, RefusalStats, RequestStats, StallStats, Stats};
pub use witness::ArrivedRecord;
