//! The words of `plumb probe memory`.

use crate::args::result::ResultArgs;
use clap::Args;
use plumb_model::units::Bytes;

/// `plumb probe memory`
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Each of the three arrays of the bandwidth [default: four times the last-level caches]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) array: Option<Bytes>,
    /// Largest working set of the latency [default: eight times the largest cache]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) largest: Option<Bytes>,
    /// Blocks of each way to move memory; an interval needs 6
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

fn size(text: &str) -> Result<Bytes, String> {
    let size = crate::args::parse_bytes(text)?;
    if size.0 < 4 << 10 { Err("at least 4KiB".to_owned()) } else { Ok(size) }
}
