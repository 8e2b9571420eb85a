//! Runs the contestants in turns: in every round each of them once, in an order drawn anew.

use crate::arguments::{Load, Measured, Options};
use crate::error::BenchError;
use crate::figures::Run;
use crate::machine::Meter;
use crate::{acknowledge, bare, java, plumb, table};
use plumb_bench_frame::say;
use plumb_lab::kafka::{LabCluster, LabOptions, PlainClient};
use plumb_stats::random::Random;
use std::path::PathBuf;
use std::time::Duration;

/// Before the first round: messages at a rate at which the broker's JVM compiles what it needs.
const SETTLE: Load = Load { rate_per_s: 1_000, warm_up_count: 0, count: 20_000 };

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contestant {
    Plumb,
    Bare,
    Java,
}

/// One round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) order: Vec<Contestant>,
    pub(crate) plumb: Run,
    pub(crate) bare: Run,
    pub(crate) java: Option<java::Printed>,
}

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

/// What all contestants work with.
pub(crate) struct Bench {
    pub(crate) lab: LabCluster,
    pub(crate) meter: Meter,
    pub(crate) program: PathBuf,
    /// Takes documents and samples.
    pub(crate) keep: PathBuf,
    pub(crate) load: Load,
}

impl Bench {
    fn round(&self, number: usize, order: Vec<Contestant>) -> Result<Round, BenchError> {
        let (mut plumb, mut bare, mut java) = (None, None, None);
        for contestant in &order {
            match contestant {
                Contestant::Plumb => plumb = Some(self.plumb(&format!("round-{number:02}-plumb"))?),
                Contestant::Bare => bare = Some(self.bare(&format!("round-{number:02}-bare"), &self.load)?),
                Contestant::Java => java = Some(self.java(&format!("round-{number:02}-java"))?),
            }
        }
        match (plumb, bare) {
            (Some(plumb), Some(bare)) => Ok(Round { order, plumb, bare, java }),
            _ => unreachable!("both are in every order"),
        }
    }

    fn plumb(&self, name: &str) -> Result<Run, BenchError> {
        plumb::run(&self.program, &self.lab.bootstrap(), &self.load, &self.meter, &self.keep.join(name))
    }

    fn bare(&self, name: &str, load: &Load) -> Result<Run, BenchError> {
        let keep = self.keep.join(name).with_extension("samples");
        self.with_topic(name, |topic| {
            bare::run((Measured::EndToEnd, &self.lab.bootstrap(), topic), load, &self.meter, &keep)
        })
    }

    fn java(&self, name: &str) -> Result<java::Printed, BenchError> {
        let pid = self.lab.broker_pids().first().copied().unwrap_or_default();
        self.with_topic(name, |topic| {
            java::run(pid, &self.lab.bootstrap(), topic, self.load.count, &self.meter)
        })
    }

    /// With a topic as Plumb makes them: one partition, one replica, the broker's settings.
    pub(crate) fn with_topic<T>(
        &self,
        name: &str,
        run: impl FnOnce(&str) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let connect = || PlainClient::connect(self.lab.plaintext_addresses()[0], Duration::from_secs(10));
        connect()?.create_topic(name, &[vec![1]], &[])?;
        let result = run(name);
        connect()?.delete_topic(name)?;
        result
    }
}
