//! The documents that `plumb probe` prints, one for each resource of a host.
//!
//! Each is complete in itself, so that two hosts can be compared from two files. Data only: the measuring is the work of
//! `plumb_probe`, what the host says of itself that of `observe`.

mod clock;
mod clock_offset;
mod conditions;
pub mod crypto;
mod facts;
mod figure;
mod memory;
mod network;
pub mod storage;

pub use clock::{AcrossCpus, ClockProbe, ClockRead, KernelSync, PacingRow, Smallest, TimerRow};
pub use clock_offset::{
    ClaimSource, ClockAccount, ClockClaim, ClockDifference, ClockOffsetPlan, ClockOffsetProbe, ClockRates,
    ClockRelation, RateBand, SteppedClock, SteppedWhich,
};
pub use conditions::{Conditions, Noise, ProbeKind, SCHEMA_VERSION};
pub use facts::FactsProbe;
pub use figure::Figure;
pub use memory::{
    Bandwidth, Cache, Knee, LatencyCurve, LatencyPoint, MemoryKernel, MemoryProbe, MemoryRatio, Pages,
    ProbedNode, Stores,
};
pub use network::{
    ConnectionRate, NetworkPlan, NetworkProbe, RoundTrips, StreamRate, TcpState, WritePattern,
};
