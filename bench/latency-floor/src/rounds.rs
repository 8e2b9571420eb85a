//! Runs the contestants in turns: in every round each of them once, in an order drawn anew.

use crate::arguments::{Load, Measured, Options};
use crate::bench::{Bench, Contestant};
use crate::error::BenchError;
use crate::machine::Meter;
use crate::{acknowledge, plumb, table};
use plumb_bench_frame::say;
use plumb_lab::kafka::{LabCluster, LabOptions};
use plumb_stats::random::Random;

/// Before the first round: messages at a rate at which the broker's JVM compiles what it needs.
const SETTLE: Load = Load { rate_per_s: 1_000, warm_up_count: 0, count: 20_000 };

/// Everything, from the broker's start to the last line.
pub(crate) fn run(options: &Options) -> Result<(), BenchError> {
    let program = match &options.plumb {
        Some(program) => program.clone(),
        None => plumb::build()?,
    };
    let scratch = tempfile::tempdir()?;
    let keep = options.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    fs_err::create_dir_all(&keep)?;
    let lab = LabCluster::start(&LabOptions::default())?;
    let mut bench = Bench { meter: Meter::new(lab.broker_pids()), program, keep, lab, load: options.load };
    say(&format!("Apache Kafka {} at {}, warming up", bench.lab.kafka_version(), bench.lab.bootstrap()))?;
    bench.bare("settle", &SETTLE)?;
    if options.realtime {
        bench.meter.make_realtime()?;
    }
    if options.what == Measured::Acknowledge {
        return acknowledge::run(&bench, options);
    }
    say(table::HEADER)?;
    let mut random = Random::new(options.seed);
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let mut order = vec![Contestant::Plumb, Contestant::Bare];
        order.extend(options.with_java.then_some(Contestant::Java));
        random.shuffle(&mut order);
        match bench.round(number, order) {
            Ok(round) => {
                say(&table::row(number, &round))?;
                rounds.push(round);
            }
            // What the rounds before it say is worth having all the same.
            Err(error) => {
                say(&table::summary(&rounds, &options.load))?;
                return Err(error);
            }
        }
    }
    Ok(say(&table::summary(&rounds, &options.load))?)
}
