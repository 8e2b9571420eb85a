//! The load before a block that goes on until the log's device is the limit, not the page cache.
//!
//! A broker writes into the page cache, and the kernel writes that to the device later; until so much is dirty that
//! writers have to wait, the path is as fast as memory, whatever is behind it. So the block's own load runs before it,
//! unmeasured, until what reaches the device keeps up with what goes into the log.

use super::log_dirs::LogDirectoryPlace;
use super::target::Target;
use crate::context::RunContext;
use crate::error::Result;
use plumb_lab::kafka::LogDir;
use plumb_load::LoadError;
use plumb_load::block::{self, BlockSpec};
use plumb_load::observation::Observation;
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::facts::{Storage, UntilDevice, UntilDeviceEnd};
use plumb_model::plan::{LoadPlan, Mode, StepPlan};
use plumb_model::units::Nanos;
use plumb_observe::{HostRoot, HostSample, host_delta, read_io, sample_host};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest load. Ours: a fifth of 128 GB of memory is filled in that time by 43 MB/s more than the device takes.
const LIMIT: Duration = Duration::from_secs(600);
/// Over so long the device has to keep up. Ours: the kernel's flusher wakes every 5 s by default, and does not pause
/// between two rounds once it has more to write than it may leave.
const WINDOW: Duration = Duration::from_secs(3);
/// Share of what goes into the log that has to reach the device (ours: an estimate of both counters is good to a
/// few percent, and memory that still fills takes most of it).
const SHARE_MIN: f64 = 0.8;
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Bytes that have to stay free in a directory, beside room for the measured part.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// Runs the block's load until its device is the limit, where the plan asks for that.
pub(super) fn until_device(
    spec: &BlockSpec<'_>,
    target: &Target,
    context: &RunContext,
) -> Result<Option<UntilDevice>> {
    // A block that only consumes writes nothing.
    if !spec.step.load.until_device {
        return Ok(None);
    }
    let directories = target.log_dirs.for_topic(&spec.step.topic);
    let Some(device) = DeviceWatch::of(&directories, target, spec) else {
        let memory = |directory: &&LogDirectoryPlace| {
            let storage = &directory.facts.storage;
            storage.is_memory() || storage.is_dax()
        };
        let no_device = !directories.is_empty() && directories.iter().all(memory);
        let end = if no_device { UntilDeviceEnd::NoDevice } else { UntilDeviceEnd::NotCounted };
        return Ok(Some(ended(end)));
    };
    context.phase(&format!("{}  loading until the device is the limit, not measured", spec.step.name));
    let step = unmeasured(spec.step);
    let group = format!("{}-until-device", spec.group);
    let own = BlockSpec {
        run: Random::for_part(spec.run, u64::MAX).bits(),
        group: &group,
        step: &step,
        share: Share::Time(Nanos(LIMIT.as_nanos() as u64)),
        ..*spec
    };
    let (enough, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (result, seen) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| device.look(target.stop(), &over, &enough));
        let result = block::run(&target.cluster, &own, &enough, &mut |_: Observation<'_>| {});
        over.store(true, Ordering::Relaxed);
        (result, looking.join())
    });
    target.cluster.delete_group(&group);
    match result {
        Ok(_) | Err(LoadError::Stopped) => Ok(seen.ok()),
        Err(error) => Err(error.into()),
    }
}

/// The step's load without an end and without warm-up.
fn unmeasured(step: &StepPlan) -> StepPlan {
    let mode = match step.load.mode {
        // The backlog is the measured part's.
        Mode::Backlog(_) => Mode::Produce,
        other => other,
    };
    let consumers = if mode == Mode::Mixed { step.load.consumers } else { 0 };
    let load = LoadPlan { warm_up: Nanos(0), mode, consumers, until_device: false, ..step.load.clone() };
    StepPlan { load, ..step.clone() }
}

fn ended(end: UntilDeviceEnd) -> UntilDevice {
    UntilDevice {
        end,
        elapsed_ns: 0,
        log_bytes: None,
        device_bytes: None,
        device_share: None,
        dirty_bytes: None,
    }
}

/// Reads what goes into the log and what reaches the device.
struct DeviceWatch<'a> {
    root: HostRoot,
    storages: Vec<&'a Storage>,
    places: Vec<&'a LogDir>,
    broker_pids: Vec<u32>,
    before: (HostSample, u64),
    /// The measured part with its warm-up, in seconds.
    measured_s: f64,
    begun: Instant,
}

impl<'a> DeviceWatch<'a> {
    /// None where it cannot be told, or where there is no device.
    fn of(directories: &[&'a LogDirectoryPlace], target: &Target, spec: &BlockSpec<'_>) -> Option<Self> {
        let root = HostRoot::default();
        let storages: Vec<&Storage> = directories.iter().map(|directory| &directory.facts.storage).collect();
        if storages.is_empty() || storages.iter().any(|storage| storage.is_memory() || storage.is_dax()) {
            return None;
        }
        let pids = target.lab.as_ref()?.broker_pids();
        let brokers = directories.iter().flat_map(|directory| &directory.facts.brokers);
        let mut broker_pids: Vec<u32> =
            brokers.filter_map(|id| u32::try_from(*pids.get(*id as usize - 1)?).ok()).collect();
        broker_pids.sort_unstable();
        broker_pids.dedup();
        let before = (sample_host(&root).ok()?, log_bytes(&root, &broker_pids)?);
        let planned_s = match spec.share {
            Share::Time(time) => time.as_secs_f64(),
            Share::Count(_) => 0.0,
        };
        let measured_s = planned_s + spec.step.load.warm_up.as_secs_f64();
        let places = directories.iter().map(|directory| &directory.place).collect();
        Some(DeviceWatch { root, storages, places, broker_pids, before, measured_s, begun: Instant::now() })
    }

    /// Looks until the device is the limit, then says that it is enough; or until the load is over.
    fn look(&self, stop: &AtomicBool, over: &AtomicBool, enough: &AtomicBool) -> UntilDevice {
        let own_limit = self.storages.iter().all(|storage| {
            storage.file_system().is_some_and(|file_system| file_system.own_dirty_limit == Some(true))
        });
        let mut window = Window::new(own_limit);
        let mut last = ended(UntilDeviceEnd::TimeLimit);
        loop {
            if let Some(reading) = self.read() {
                last = UntilDevice {
                    end: UntilDeviceEnd::TimeLimit,
                    elapsed_ns: reading.at.as_nanos() as u64,
                    log_bytes: Some(reading.log_bytes),
                    device_bytes: Some(reading.device_bytes),
                    device_share: None,
                    dirty_bytes: Some(reading.dirty_bytes),
                };
                window.take(reading);
                last.device_share = window.share();
            } else {
                last.end = UntilDeviceEnd::NotCounted;
            }
            let end = if stop.load(Ordering::Relaxed) {
                UntilDeviceEnd::Stopped
            } else if last.end == UntilDeviceEnd::NotCounted {
                UntilDeviceEnd::NotCounted
            } else if window.device_is_the_limit() {
                UntilDeviceEnd::Reached
            } else if self.is_short_of_space(&window) {
                UntilDeviceEnd::SpaceLimit
            } else if over.load(Ordering::Relaxed) {
                UntilDeviceEnd::TimeLimit
            } else {
                std::thread::sleep(LOOK_EVERY);
                continue;
            };
            enough.store(true, Ordering::Relaxed);
            return UntilDevice { end, ..last };
        }
    }

    fn read(&self) -> Option<Reading> {
        let log_bytes = log_bytes(&self.root, &self.broker_pids)?;
        let host = host_delta(&self.before.0, &sample_host(&self.root).ok()?);
        Some(Reading {
            at: self.begun.elapsed(),
            log_bytes: log_bytes.saturating_sub(self.before.1),
            device_bytes: Storage::written_bytes_of(&self.storages, &host)?,
            dirty_bytes: host.dirty_bytes? + host.writeback_bytes?,
            background_bytes: host.dirty_background_threshold_bytes,
        })
    }

    fn is_short_of_space(&self, window: &Window) -> bool {
        let needed = FREE_BYTES_MIN + (window.log_bytes_per_s() * self.measured_s) as u64;
        self.places.iter().any(|place| place.free_bytes().is_ok_and(|free| free < needed))
    }
}

/// Bytes that the brokers made dirty since they were started.
fn log_bytes(root: &HostRoot, broker_pids: &[u32]) -> Option<u64> {
    broker_pids.iter().map(|pid| read_io(root, *pid)?.dirtied_bytes).sum()
}

/// Sums since the load began, and a level.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Duration,
    log_bytes: u64,
    device_bytes: u64,
    dirty_bytes: u64,
    /// Dirty bytes from which the kernel begins to write pages that are not old yet; absent when it does not say.
    background_bytes: Option<u64>,
}

/// The last readings, and whether memory was filled before.
struct Window {
    readings: VecDeque<Reading>,
    filled: bool,
}

impl Window {
    /// `own_limit`: the file system has a limit of dirty pages of its own, so that the host's is not reached.
    fn new(own_limit: bool) -> Self {
        Window { readings: VecDeque::new(), filled: own_limit }
    }

    fn take(&mut self, reading: Reading) {
        self.filled |= reading.background_bytes.is_none_or(|background| reading.dirty_bytes >= background);
        self.readings.push_back(reading);
        // One reading stays that is as old as the window.
        while self.readings.get(1).is_some_and(|second| reading.at - second.at >= WINDOW) {
            self.readings.pop_front();
        }
    }

    /// Bytes that reached the device for each byte that went into the log; absent before a whole window.
    fn share(&self) -> Option<f64> {
        let (first, last) = (self.readings.front()?, self.readings.back()?);
        let log_bytes = last.log_bytes.saturating_sub(first.log_bytes);
        let device_bytes = last.device_bytes.saturating_sub(first.device_bytes);
        (last.at - first.at >= WINDOW && log_bytes > 0).then(|| device_bytes as f64 / log_bytes as f64)
    }

    fn log_bytes_per_s(&self) -> f64 {
        let ends = self.readings.front().zip(self.readings.back());
        let time_s = ends.map_or(0.0, |(first, last)| (last.at - first.at).as_secs_f64());
        match ends {
            Some((first, last)) if time_s > 0.0 => {
                last.log_bytes.saturating_sub(first.log_bytes) as f64 / time_s
            }
            _ => 0.0,
        }
    }

    fn device_is_the_limit(&self) -> bool {
        self.filled && self.share().is_some_and(|share| share >= SHARE_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    /// A load of so many MB/s onto a device of so many, with memory that takes the rest until it is full: after how
    /// many seconds the device is said to be the limit.
    fn seconds_until(log_mb_per_s: u64, device_mb_per_s: u64, memory_mb: u64) -> Option<f64> {
        let mut window = Window::new(false);
        let (mut log, mut device) = (0, 0);
        for step in 0..2_400 {
            let dirty = log - device;
            window.take(Reading {
                at: LOOK_EVERY * step,
                log_bytes: log * MB / 4,
                device_bytes: device * MB / 4,
                dirty_bytes: dirty * MB / 4,
                background_bytes: Some(memory_mb * MB / 2),
            });
            if window.device_is_the_limit() {
                return Some((LOOK_EVERY * step).as_secs_f64());
            }
            device += device_mb_per_s.min(dirty);
            log += if dirty / 4 < memory_mb { log_mb_per_s } else { device_mb_per_s };
        }
        None
    }

    #[test]
    fn the_device_is_the_limit_once_memory_is_full_and_not_before() {
        // 400 MB/s too much fill 4 GB in 10 s, and the window has to lie behind that, but for a fifth.
        let seconds = seconds_until(500, 100, 4_000).unwrap();
        assert!((10.0..13.5).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_load_that_never_fills_memory_never_gets_there() {
        assert_eq!(seconds_until(80, 100, 4_000), None);
    }

    #[test]
    fn a_file_system_with_a_limit_of_its_own_need_not_fill_the_hosts() {
        let mut window = Window::new(true);
        for second in 0..5 {
            window.take(Reading {
                at: Duration::from_secs(second),
                log_bytes: second * 100 * MB,
                device_bytes: second * 90 * MB,
                dirty_bytes: MB,
                background_bytes: Some(1_000 * MB),
            });
        }
        assert_eq!(window.share(), Some(0.9));
        assert!(window.device_is_the_limit());
        assert!((window.log_bytes_per_s() - 1e8).abs() < 1.0);
    }
}
