//! End to end: the program's binary against a sink broker in this process, or against a real broker.
//!
//! One binary for all of it, so that its tests run beside each other and link once.

mod architecture;
mod instrument;
mod program;
mod references;
