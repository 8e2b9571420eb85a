//! The job of a driver: a block, and the part of each of its producers.

use crate::external::command::Programs;
use crate::keys::KeySource;
use crate::pace::Pace;
use crate::payload::PayloadSource;
use crate::produce::{Course, Outstanding};
use crate::schedule::{Due, Share};
use crate::seconds::Seconds;
use crate::shared::Shared;
use plumb_model::plan::StepPlan;
use std::sync::mpsc::Receiver;

/// The specification of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockSpec<'a> {
    /// Tells this block's records from all others: the run's id mixed with the block's place.
    pub run: u64,
    /// Name of the consumer group, the block's own.
    pub group: &'a str,
    /// The step.
    pub step: &'a StepPlan,
    /// The topic's name.
    pub topic: &'a str,
    /// Its partitions.
    pub partitions: usize,
    /// The block's share of the measured part.
    pub share: Share,
    /// Seed of this block.
    pub seed: u64,
    /// The time before a send at which sleeping stops, from the calibration.
    pub spin_ns: u64,
    /// The programs that are its clients, where the driver is an external one.
    pub programs: Option<&'a Programs>,
}

/// The keys and values of one producer's messages.
#[derive(Debug)]
pub(crate) struct MessageContents {
    pub(crate) keys: KeySource,
    pub(crate) payloads: PayloadSource,
}

/// The job of a producer of either driver.
pub(crate) struct ProducerJob<'b, 'a> {
    /// Its number among all producers of the block.
    pub(crate) index: usize,
    pub(crate) shared: &'b Shared<'a>,
    pub(crate) outstanding: &'b Outstanding,
    pub(crate) topic: &'b str,
    /// The partitions that it probes before anything else.
    pub(crate) probes: std::ops::Range<i32>,
    pub(crate) contents: MessageContents,
    pub(crate) course: Course<Box<dyn Iterator<Item = Due> + Send>>,
    pub(crate) pace: Pace,
    /// Tells when the block starts; ends when it cannot.
    pub(crate) begun: Receiver<u64>,
    /// The recorder of sends and their slip.
    pub(crate) slips: Seconds<'b>,
    /// The recorder of acknowledgements.
    pub(crate) acks: Seconds<'b>,
}
