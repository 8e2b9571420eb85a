//! Room for the log: where the brokers' directories are at hand, no block begins that would fill them.

use super::target::Target;
use crate::context::RunContext;
use crate::error::Result;
use crate::shortage::TooLittleSpace;
use plumb_lab::kafka::{LabCluster, LogDir};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes that have to stay free, beside room for a block: a broker that cannot write takes the whole cluster with it (ours).
const RESERVE_BYTES: u64 = 256 << 20;
/// Room for a block is so many times what the largest so far took (ours: the next may be faster).
const FACTOR: f64 = 1.5;
/// Longest wait until a broker has removed what was deleted: Kafka's own delay of a minute, and some.
const WAIT: Duration = Duration::from_secs(75);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Free bytes of each directory before a block.
#[derive(Debug)]
pub(super) struct Room(Vec<(PathBuf, u64)>);

/// Most that a block took of any directory so far.
#[derive(Debug, Default)]
pub(super) struct Space {
    most_bytes: u64,
}

impl Space {
    /// Waits until there is room for a block; an error when there will be none.
    pub(super) fn wait_for_room(&self, target: &Target, context: &RunContext) -> Result<Room> {
        let needed_bytes = (self.most_bytes as f64 * FACTOR) as u64 + RESERVE_BYTES;
        let begun = Instant::now();
        loop {
            let room = Room(free(target));
            let Some((path, free_bytes)) = room.0.iter().find(|(_, free)| *free < needed_bytes) else {
                return Ok(room);
            };
            if context.is_stopped() {
                return Ok(room);
            }
            // Before the first block nothing of ours is deleted that could still make room.
            if self.most_bytes == 0 || begun.elapsed() > WAIT {
                let (path, free_bytes) = (path.clone(), *free_bytes);
                return Err(TooLittleSpace { path, free_bytes, needed_bytes }.into());
            }
            context.phase("waiting until the brokers have removed the last topics");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Notes what a block took, before its topic is deleted.
    pub(super) fn note_use(&mut self, target: &Target, before: &Room) {
        let after = free(target);
        let taken = before.0.iter().filter_map(|(path, before)| {
            let (_, after) = after.iter().find(|(other, _)| other == path)?;
            Some(before.saturating_sub(*after))
        });
        self.most_bytes = taken.max().unwrap_or(0).max(self.most_bytes);
    }
}

/// Free bytes of the directories of a lab; of brokers that were there, none are at hand.
fn free(target: &Target) -> Vec<(PathBuf, u64)> {
    let directories = target.lab.as_ref().map(LabCluster::log_dirs).unwrap_or_default();
    let free_of =
        |directory: &LogDir| Some((directory.brokers.first()?.1.clone(), directory.free_bytes().ok()?));
    directories.iter().filter_map(free_of).collect()
}
