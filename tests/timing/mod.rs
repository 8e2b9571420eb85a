//! Tests of exact times: a delay, a stall or a linger of known length has a known effect on latencies.
//!
//! They hold on a machine that does little else. `make test` runs them last, one after another, and nothing beside them;
//! where they run among others, they wait for a calm moment. A test belongs here if the work of its neighbours could make
//! it fail; all others count, and counts do not depend on how busy the machine is.

mod backlog;
mod delay;
mod latency;
mod proof;
mod search;
mod stall;
