//! One round of the comparison: each contestant once, on the same broker.

use crate::arguments::{Load, Measured};
use crate::bare::BarePath;
use crate::error::BenchError;
use crate::figures::Run;
use crate::machine::Meter;
use crate::{bare, java, plumb};
use plumb_lab::kafka::{LabCluster, PlainClient};
use std::path::PathBuf;
use std::time::Duration;

/// A program that takes part.
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

/// The broker, the meter and the load that all contestants share.
pub(crate) struct Bench {
    pub(crate) lab: LabCluster,
    pub(crate) meter: Meter,
    pub(crate) program: PathBuf,
    /// Takes documents and samples.
    pub(crate) keep: PathBuf,
    pub(crate) load: Load,
}

impl Bench {
    pub(crate) fn round(&self, number: usize, order: Vec<Contestant>) -> Result<Round, BenchError> {
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

    pub(crate) fn bare(&self, name: &str, load: &Load) -> Result<Run, BenchError> {
        let keep = self.keep.join(name).with_extension("samples");
        self.with_topic(name, |topic| {
            let bootstrap = &self.lab.bootstrap();
            let path = BarePath { measured: Measured::EndToEnd, bootstrap, topic };
            bare::run(&path, load, &self.meter, &keep)
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
