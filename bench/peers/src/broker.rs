//! The one broker that all tools work on, and the topics that they get.

use crate::error::BenchError;
use crate::machine;
use crate::offsets::Offsets;
use plumb_lab::kafka::{LabCluster, LabOptions, PlainClient};
use std::time::{Duration, Instant};

/// Of every topic here. Ours: as many as a small application has, and more than this machine has CPUs.
pub const PARTITIONS: i32 = 6;

/// Heap of the broker. Kafka's own default.
const HEAP_MIB: u32 = 1024;

/// The settings in which every topic differs from the broker's defaults: batches of large messages fit, and what was deleted is gone soon,
/// because the next run shall not find the disk busy with it.
const TOPIC: &[(&str, &str)] =
    &[("max.message.bytes", "2097152"), ("segment.bytes", "268435456"), ("file.delete.delay.ms", "1000")];

/// Longest wait for a topic to work, or for the broker to calm down.
const PATIENCE: Duration = Duration::from_secs(10);

/// A calm broker uses less of one CPU than this. An idle one was seen to use 3 to 7 %.
const CALM_CPUS: f64 = 0.15;

/// Over so long at a time it is looked whether the broker is calm.
const LOOK: Duration = Duration::from_millis(250);

/// A broker of ours.
pub struct Broker {
    lab: LabCluster,
    offsets: Offsets,
    topics_made: u32,
}

impl Broker {
    /// Starts one that ends with this process.
    ///
    /// # Errors
    /// What the lab says.
    pub fn start() -> Result<Broker, BenchError> {
        let lab = LabCluster::start(&LabOptions { heap_mib: HEAP_MIB, ..LabOptions::default() })?;
        let offsets = Offsets::connect(lab.plaintext_addresses()[0])?;
        Ok(Broker { lab, offsets, topics_made: 0 })
    }

    /// The address on which it listens.
    pub fn bootstrap(&self) -> String {
        self.lab.plaintext_bootstrap()
    }

    /// The broker with its version and settings, in words.
    pub fn about(&self) -> String {
        let version = self.lab.kafka_version();
        format!("Apache Kafka {version}, one broker, heap {HEAP_MIB} MiB, G1 with a pause goal of 20 ms")
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.lab.broker_pids().first().copied().unwrap_or_default()
    }

    /// True if its process is gone.
    pub fn has_ended(&self) -> bool {
        machine::process_cpu_s(self.pid()).is_err()
    }

    /// Makes a topic of [`PARTITIONS`] partitions and waits until it works. Its name.
    ///
    /// # Errors
    /// What the broker says, or [`BenchError::Late`].
    pub fn make_topic(&mut self) -> Result<String, BenchError> {
        self.topics_made += 1;
        let topic = format!("bench-{}", self.topics_made);
        let assignment = vec![vec![1]; PARTITIONS as usize];
        self.client()?.create_topic(&topic, &assignment, TOPIC)?;
        let deadline = Instant::now() + PATIENCE;
        while self.end_offset(&topic).is_err() {
            if Instant::now() > deadline {
                return Err(late(format!("leader for every partition of {topic}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(topic)
    }

    /// Deletes it.
    ///
    /// # Errors
    /// What the broker says.
    pub fn delete_topic(&mut self, topic: &str) -> Result<(), BenchError> {
        Ok(self.client()?.delete_topic(topic)?)
    }

    /// Messages in all its partitions.
    ///
    /// # Errors
    /// What the broker says.
    pub fn end_offset(&mut self, topic: &str) -> Result<u64, BenchError> {
        Ok(self.offsets.ends(topic, PARTITIONS)?.iter().sum())
    }

    /// Waits until the broker has next to nothing to do, because what a run leaves behind (compilation, collection,
    /// deletion) would be charged to the next one. One that stays busy for [`PATIENCE`] is left so.
    ///
    /// # Errors
    /// When its CPU time cannot be read.
    pub(crate) fn calm_down(&self) -> Result<(), BenchError> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let before_s = machine::process_cpu_s(self.pid())?;
            std::thread::sleep(LOOK);
            if machine::process_cpu_s(self.pid())? - before_s < CALM_CPUS * LOOK.as_secs_f64() {
                break;
            }
        }
        Ok(())
    }

    fn client(&self) -> Result<PlainClient, BenchError> {
        Ok(PlainClient::connect(self.lab.plaintext_addresses()[0], PATIENCE)?)
    }
}

fn late(expected: String) -> BenchError {
    BenchError::Late { expected, waited_s: PATIENCE.as_secs() }
}
