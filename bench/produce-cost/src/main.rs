//! The cost of a produced message: Plumb beside Kafka's ProducerPerformance, librdkafka's rdkafka_performance and
//! franz-go, in turns on one broker: messages a second, CPU time of client and broker, and how far Plumb is from what the
//! kernel and a checksum alone cost.
//!
//! Not a test: it ends with 0 whatever it finds. `docs/guide/benchmarks.md` says how to read it. The order of reading is
//! [`compare`], then [`goals`] and [`floor`]; how tools are run is in the library `bench/peers`.

mod compare;
mod floor;
mod goals;

use plumb_bench_peers::program;
use std::process::ExitCode;

const HELP: &str = "\
What a produced message costs: Plumb beside other tools, in turns on one broker

  --acks LIST    of 1,all [default: 1,all]";

fn main() -> ExitCode {
    program::run(HELP, true, compare::run)
}
