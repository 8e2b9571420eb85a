//! Memory: bandwidth as STREAM measures it, and the time of a load by size of the working set.
//!
//! Every thread stays on one processor and every page on one memory node; what the kernel made of it is read back. Start
//! with `bandwidth.rs` and `latency.rs`; calls that need `unsafe` are in `mapping.rs` and `stream.rs`.

mod bandwidth;
mod chase;
mod knees;
mod latency;
mod mapping;
mod nodes;
mod stream;

pub use bandwidth::{Arrays, Cell, Moved, block};
pub use knees::{MedianLoad, knees};
pub use latency::{LatencyCase, Loads, working_sets};
pub use mapping::{MemoryError, STEP_BYTES};
pub use nodes::{CpuListError, NodesError, nodes, only_node};
pub use stream::has as has_stores;
