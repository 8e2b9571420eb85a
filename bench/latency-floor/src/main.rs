//! The latency that Plumb adds to the one that it measures: Plumb, the least code around librdkafka that can measure the
//! same, and Kafka's own EndToEndLatency, in turns on one broker. Beside it the time that idempotent producers wait for acknowledgements:
//! Plumb's two drivers, and as little as can be put around librdkafka and around the Java client.
//!
//! Not a test: it ends with 0 whatever it finds. `docs/guide/benchmarks.md` says how to read it. The order of reading is
//! [`rounds`], then one contestant after the other: [`plumb`], [`bare`], [`java`]; [`acknowledge`] is the second comparison.

mod acknowledge;
mod arguments;
mod bare;
mod bench;
mod error;
mod figures;
mod java;
mod machine;
mod plumb;
mod rounds;
mod table;

use arguments::{Job, Measured};
use error::BenchError;
use plumb_bench_frame::say;
use std::process::ExitCode;

fn main() -> ExitCode {
    plumb_bench_frame::end(run())
}

fn run() -> Result<(), BenchError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match arguments::parse(&words)? {
        Job::Help => Ok(say(arguments::HELP)?),
        Job::Bare { what: Measured::EndToEnd, bootstrap, topic, load } => {
            Ok(say(&bare::in_this_process(&bootstrap, &topic, &load)?)?)
        }
        Job::Bare { what: Measured::Acknowledge, bootstrap, topic, load } => {
            Ok(say(&bare::acknowledged_in_this_process(&bootstrap, &topic, &load)?)?)
        }
        Job::Awake => {
            machine::stay_awake();
            Ok(())
        }
        Job::Bench(options) => rounds::run(&options),
    }
}
