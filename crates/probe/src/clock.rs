//! Clocks and timers: what a reading costs, how late a thread wakes, whether the processors agree. Another host's clock is asked by `network`.
//!
//! Returns blocks and single times; the figures are made of them by whoever has the statistics. Plumb's own pacing is
//! measured by `plumb_load`, whose it is. Start with `cost.rs`; every call into C is in `system.rs`.

mod agreement;
mod cost;
mod system;
mod timer;
mod wall;

pub use agreement::{Agreement, across_cpus};
pub use cost::{Clock, ClockCost, read_costs};
pub use system::kernel_sync;
pub use timer::{TimerCase, TimerTimes, wake_ups};
pub(crate) use wall::wall_reading;
