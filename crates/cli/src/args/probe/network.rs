//! The words of `plumb probe network`.

use crate::args::result::ResultArgs;
use clap::Args;
use plumb_model::units::Nanos;
use plumb_probe::network::{MESSAGE_BYTES_MAX, STREAMS_MAX};

/// `plumb probe network`
#[derive(Debug, Args)]
pub(crate) struct NetworkArgs {
    /// The other side, where `plumb probe network --listen` runs; without it, loopback
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) peer: Option<String>,
    /// Be the other side, for one peer at a time, until Ctrl-C [default: 127.0.0.1:7586]
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1",
        conflicts_with_all = ["peer", "streams", "sizes", "duration", "output"]
    )]
    pub(crate) listen: Option<String>,
    /// Numbers of streams at once
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,4", value_parser = clap::value_parser!(u32).range(1..=i64::from(STREAMS_MAX)))]
    pub(crate) streams: Vec<u32>,
    /// Sizes of the messages that go there and back
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64B,1KiB,16KiB,64KiB", value_parser = message)]
    pub(crate) sizes: Vec<u32>,
    /// How long each size, each way to write and each number of streams is measured
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = step)]
    pub(crate) duration: Nanos,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

fn message(text: &str) -> Result<u32, String> {
    let bytes = crate::args::parse_bytes(text)?.0;
    match u32::try_from(bytes) {
        Ok(bytes) if (1..=MESSAGE_BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("1B to {}KiB", MESSAGE_BYTES_MAX >> 10)),
    }
}

/// The listener gives up on a peer that it has not heard of for a minute.
fn step(text: &str) -> Result<Nanos, String> {
    let duration = crate::args::parse_nanos(text)?;
    let allowed = Nanos::from_millis(100)..=Nanos::from_secs(30);
    if allowed.contains(&duration) { Ok(duration) } else { Err("100ms to 30s".to_owned()) }
}
