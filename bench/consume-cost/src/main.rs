//! The cost of a consumed message: Plumb, which checks every batch and every record, beside Kafka's ConsumerPerformance,
//! librdkafka's rdkafka_performance and franz-go, in turns on one broker and the same topics.
//!
//! Not a test: it ends with 0 whatever it finds. `docs/guide/benchmarks.md` says how to read it. The order of reading is
//! [`compare`], then [`topics`] and [`ratios`]; how tools are run is in the library `bench/peers`.

mod compare;
mod ratios;
mod topics;

use plumb_bench_peers::program;
use std::process::ExitCode;

const HELP: &str = "\
What a consumed message costs: Plumb beside other tools, in turns on one broker
";

fn main() -> ExitCode {
    program::run(HELP, false, compare::run)
}
