//! The words of `plumb probe storage`.

use crate::args::result::ResultArgs;
use clap::Args;
use plumb_model::probe::storage::CommitMethod;
use plumb_model::units::{Bytes, Nanos};
use std::path::PathBuf;

/// Largest commit: a Kafka batch or a database page is far below it.
const BLOCK_MAX: u64 = 1 << 20;
/// Shortest measured time of a case (ours: below it nothing is learned of any device).
const DURATION_MIN_NS: u64 = 10_000_000;
/// Most committers, and most commits under way of each: each committer is a thread with a file.
const MANY: u32 = 1_024;

/// `plumb probe storage`
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    /// Directories, one for each device to compare; plumb writes only into files of its own there, which it removes
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// How to commit: fsync, fdatasync, direct, dsync, direct_dsync, sync_file_range, io_uring, msync, map_sync, or all
    /// [default: all]
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',', value_parser = methods)]
    pub(crate) method: Vec<Methods>,
    /// Bytes of a commit, to 1MiB
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', default_value = "4KiB", value_parser = block)]
    pub(crate) block: Vec<Bytes>,
    /// Threads that commit at the same time, each to a file of its own: 1,4,16, or 1..16 for 1,2,4,8,16 [default: 1, and
    /// fsync also with 4 and 16]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = counts)]
    pub(crate) committers: Vec<Counts>,
    /// Commits under way at the same time in each thread, with io_uring [default: 1,8]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = counts)]
    pub(crate) queue_depth: Vec<Counts>,
    /// Overwrite preallocated files instead of appending [default: append, and what the device alone does by overwriting]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Bytes of each file that is overwritten; commits go round in it
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = file)]
    pub(crate) file: Bytes,
    /// Leave out the sequential writes and reads
    #[arg(long)]
    pub(crate) no_streams: bool,
    /// Measured time of each way to commit on each path, in all rounds together
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub(crate) duration: Nanos,
    /// Rounds; in each, every way to commit has its turn on every path, in random order
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: u32,
    /// Where the random order starts
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// One method, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Methods(pub Vec<CommitMethod>);

/// One count, or a range in doublings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub Vec<u32>);

fn methods(text: &str) -> Result<Methods, String> {
    if text == "all" {
        return Ok(Methods(CommitMethod::ALL.to_vec()));
    }
    let found = CommitMethod::ALL.into_iter().find(|method| method.name() == text);
    found.map(|method| Methods(vec![method])).ok_or_else(|| {
        let names: Vec<&str> = CommitMethod::ALL.iter().map(|method| method.name()).collect();
        format!("expected one of {}, or all", names.join(", "))
    })
}

fn block(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: plumb_model::units::UnitError| error.to_string())?;
    if (1..=BLOCK_MAX).contains(&bytes.0) { Ok(bytes) } else { Err("expected 1 byte to 1MiB".to_owned()) }
}

fn file(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: plumb_model::units::UnitError| error.to_string())?;
    if bytes.0 >= 1 { Ok(bytes) } else { Err("expected at least 1 byte".to_owned()) }
}

fn counts(text: &str) -> Result<Counts, String> {
    let expected = || format!("expected a count of 1 to {MANY}, or a range such as 1..16");
    let count =
        |text: &str| text.parse().ok().filter(|count| (1..=MANY).contains(count)).ok_or_else(expected);
    let Some((first, last)) = text.split_once("..") else { return Ok(Counts(vec![count(text)?])) };
    let (first, last) = (count(first)?, count(last)?);
    if first > last {
        return Err(expected());
    }
    let doublings =
        std::iter::successors(Some(first), |count| Some(count * 2)).take_while(|count| *count < last);
    Ok(Counts(doublings.chain([last]).collect()))
}

fn duration(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error: plumb_model::units::UnitError| error.to_string())?;
    if time.0 >= DURATION_MIN_NS { Ok(time) } else { Err("expected at least 10ms".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_committers_goes_up_in_doublings_and_ends_where_it_says() {
        assert_eq!(counts("1..16"), Ok(Counts(vec![1, 2, 4, 8, 16])));
        assert_eq!(counts("3..20"), Ok(Counts(vec![3, 6, 12, 20])));
        assert_eq!(counts("4..4"), Ok(Counts(vec![4])));
        for wrong in ["0", "16..1", "1..", "2000", "-1", "x"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn methods_have_the_names_of_the_documents() {
        for method in CommitMethod::ALL {
            assert_eq!(serde_json::to_value(method).unwrap(), method.name());
            assert_eq!(methods(method.name()), Ok(Methods(vec![method])));
        }
        assert!(methods("sync").unwrap_err().contains("fdatasync"));
    }

    #[test]
    fn blocks_are_one_byte_to_a_mebibyte() {
        assert_eq!(block("1MiB"), Ok(Bytes(1 << 20)));
        assert!(block("0").is_err() && block("2MiB").is_err());
    }
}
