//! What the device of a broker's logs can do at most: one committer, then bytes in a row, in files without names in the log directory itself.
//!
//! The means are those of `plumb probe storage`. All files together stay below 64 MB, the kernel removes them however this process ends, and nothing is
//! ever seen in the directory. It runs beside the broker's own load, so that commits are those that the device has left; of bytes what others wrote
//! meanwhile is added. A control group that holds back the broker does not hold back this process: its limit is a bound of its own.

use crate::context::RunContext;
use plumb_model::observed::LogDirectory;
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, PageCache, Placement, StreamCase, StreamDirection,
};
use plumb_observe::{HostRoot, HostSample, host_delta, sample_host};
use plumb_probe::storage::{Committers, Directory, Prepared, StorageError, Streams};
use std::path::Path;
use std::time::Duration;

/// Bytes of the commits' file, and of each of the two of the stream: together below 64 MB.
const COMMIT_FILE_BYTES: u64 = 12 << 20;
const STREAM_FILE_BYTES: u64 = 24 << 20;
/// Space that must be left, so that a broker's logs cannot run out of it (ours).
const FREE_BYTES_MIN: u64 = 1 << 30;
/// Bytes of a commit.
const COMMIT_BYTES: u64 = 4096;
/// Length of a look at how fast commits are, and of the measuring; commits for which it goes on longer.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const COMMITS: Duration = Duration::from_millis(500);
const COMMITS_LEAST: u64 = 20;
/// Length of the stream, unless its files are full before: of a slow device a second would be a few blocks and their sync.
const STREAM: Duration = Duration::from_secs(5);

/// What was measured; absent where the user said stop, or the file system refuses the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) commits_per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
}

/// Measures the device behind a log directory of a process.
pub(super) fn measure(pid: u32, log: &LogDirectory, context: &RunContext) -> Result<Measured, StorageError> {
    let place = format!("/proc/{pid}/root{}", log.path);
    measure_at(Path::new(&place), log.device.as_deref(), context)
}

fn measure_at(place: &Path, device: Option<&str>, context: &RunContext) -> Result<Measured, StorageError> {
    let directory = Directory::open_unnamed(place)?.stopped_by(&context.stop);
    let available_bytes = directory.available_bytes()?;
    if available_bytes < FREE_BYTES_MIN {
        let path = place.to_owned();
        return Err(StorageError::TooLittleSpace { path, available_bytes, needed_bytes: FREE_BYTES_MIN });
    }
    Ok(Measured {
        commits_per_s: commits(&directory, context)?,
        bytes_per_s: bytes(&directory, device, context)?,
    })
}

/// As a broker flushes: to the file's end, with its metadata.
fn commits(directory: &Directory, context: &RunContext) -> Result<Option<f64>, StorageError> {
    let case = CommitCase {
        method: CommitMethod::Fsync,
        placement: Placement::Append,
        block_bytes: COMMIT_BYTES,
        committers: 1,
        queue_depth: 1,
    };
    let Prepared::Ready(mut committers) = Committers::prepare(directory, case, COMMIT_FILE_BYTES)? else {
        return Ok(None);
    };
    let first = committers.run(FIRST_LOOK, COMMITS_LEAST, &context.stop)?.rate_per_s();
    let fits = COMMIT_FILE_BYTES as f64 / COMMIT_BYTES as f64 / 2.0;
    let length = COMMITS.min(Duration::try_from_secs_f64(fits / first).unwrap_or(COMMITS));
    let sample = committers.run(length, COMMITS_LEAST, &context.stop)?;
    Ok(Some(sample.rate_per_s()).filter(|rate| *rate > 0.0 && !context.is_stopped()))
}

/// Around the page cache, so that only the device counts; through it where that is refused.
fn bytes(
    directory: &Directory,
    device: Option<&str>,
    context: &RunContext,
) -> Result<Option<f64>, StorageError> {
    let streams = Streams::prepare(directory, STREAM_FILE_BYTES)?;
    let case =
        |page_cache| StreamCase { direction: StreamDirection::Write, page_cache, block_bytes: 1 << 20 };
    let root = HostRoot::default();
    for page_cache in [PageCache::Direct, PageCache::Buffered] {
        let before = sample_host(&root).ok();
        let Ok(sample) = streams.run(&case(page_cache), STREAM, &context.stop)? else { continue };
        let seconds = (sample.transfer_ns + sample.sync_ns) as f64 / 1e9;
        if seconds <= 0.0 || context.is_stopped() {
            return Ok(None);
        }
        let others = others_per_s(before, sample_host(&root).ok(), device, sample.bytes);
        return Ok(Some(sample.bytes as f64 / seconds + others.unwrap_or(0.0)));
    }
    Ok(None)
}

/// What the device wrote beyond these bytes, a second.
fn others_per_s(
    before: Option<HostSample>,
    after: Option<HostSample>,
    device: Option<&str>,
    own_bytes: u64,
) -> Option<f64> {
    let delta = host_delta(&before?, &after?);
    let disk = delta.disks.iter().find(|disk| Some(disk.name.as_str()) == device)?;
    let others = disk.written_bytes?.saturating_sub(own_bytes);
    (delta.elapsed_ns > 0).then(|| others as f64 * 1e9 / delta.elapsed_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watcher::{Event, Watcher};
    use plumb_model::plan::Properties;
    use std::sync::Arc;

    struct Nobody;

    impl Watcher for Nobody {
        fn event(&self, _event: &Event<'_>) {}
    }

    fn context() -> RunContext {
        let watcher: Arc<dyn Watcher> = Arc::new(Nobody);
        RunContext::new(Properties::new(), &Arc::default(), &watcher)
    }

    #[test]
    fn commits_and_bytes_are_measured_and_nothing_is_left_in_the_directory() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        match measure_at(place.path(), None, &context()) {
            Ok(measured) => {
                assert!(measured.commits_per_s.is_some_and(|rate| rate > 0.0), "{measured:?}");
                assert!(measured.bytes_per_s.is_some_and(|rate| rate > 0.0), "{measured:?}");
            }
            // Where this tree lies on a file system whose files need names, it is refused.
            Err(error) => assert!(matches!(error, StorageError::NamesNeeded { .. }), "{error}"),
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    /// `scripts/devices` names a file system whose device takes 10 MB/s.
    #[test]
    #[ignore = "needs a device of known speed: make devices"]
    fn a_device_that_takes_ten_megabytes_a_second_is_measured_so() {
        let place = std::env::var_os("PLUMB_TEST_SLOW_DIR").expect("run by `make devices`");
        let measured = measure_at(Path::new(&place), None, &context()).unwrap();
        let bytes_per_s = measured.bytes_per_s.unwrap();
        assert!((bytes_per_s / 10_485_760.0 - 1.0).abs() < 0.1, "{bytes_per_s}");
    }
}
