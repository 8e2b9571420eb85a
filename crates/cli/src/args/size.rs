//! The words of `plumb size`. Every quantity keeps how it was written, so that the result can show it.

use clap::{Args, ValueEnum};
use plumb_judge::capacity::{Flush, Reserve, Tls, quantity};
use std::path::PathBuf;

const LOAD: &str = "The load (a mean, unless --peak is 1)";
const CLUSTER: &str = "What is asked of the cluster";
const MACHINE: &str = "A broker's machine (what is not given stays unknown, and so does its bound)";

/// A quantity with the text that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantity {
    /// In the unit of its kind.
    pub(crate) value: f64,
    /// The text as it was written.
    pub(crate) text: String,
}

/// `plumb size`
#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// Messages per second: 1.6M/s
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = LOAD)]
    pub(crate) messages: Option<Quantity>,
    /// Bytes of a message: 240KB
    #[arg(long, value_parser = bytes, help_heading = LOAD)]
    pub(crate) size: Option<Quantity>,
    /// Bytes per second: 800GB/s; beside --messages and --size it is checked against them
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = LOAD)]
    pub(crate) bytes: Option<Quantity>,
    /// Bytes before compression over bytes after it [default: 1]
    #[arg(long, value_name = "RATIO", help_heading = LOAD)]
    pub(crate) compression: Option<f64>,
    /// Peak over mean [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = LOAD)]
    pub(crate) peak: Option<f64>,

    /// Copies of each record [default: 3]
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) replication: Option<u32>,
    /// Consumer groups that read everything; a fraction is bytes out over bytes in [default: 1]
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) groups: Option<f64>,
    /// How long records are kept: 24h, 7d
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = CLUSTER)]
    pub(crate) retention: Option<Quantity>,
    /// What is encrypted [default: off]
    #[arg(long, value_enum, help_heading = CLUSTER)]
    pub(crate) tls: Option<TlsWord>,
    /// When a broker syncs a record to its device [default: os]
    #[arg(long, value_enum, value_name = "POLICY", help_heading = CLUSTER)]
    pub(crate) flush: Option<FlushWord>,
    /// Bytes of one produce request for one partition; with group commit, the most that a sync covers
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = CLUSTER)]
    pub(crate) batch: Option<Quantity>,
    /// Partitions in all
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) partitions: Option<u64>,
    /// Connections that produce
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) connections: Option<u64>,
    /// Zones over which brokers are spread [default: 3]
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) zones: Option<u32>,
    /// What may fail without the load being turned away [default: zone]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = CLUSTER)]
    pub(crate) reserve: Option<ReserveWord>,
    /// Closed segments are copied to tiered storage
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) tiered: bool,
    /// How long records stay at the brokers where tiered storage has them too (local.retention.ms): 6h [default: all of --retention]
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "tiered", help_heading = CLUSTER)]
    pub(crate) local_retention: Option<Quantity>,
    /// Brokers that are there already: how full each bound is
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) brokers: Option<u64>,
    /// Most brokers that one cluster is to have, by your vendor's limit or your own: the plan is told in clusters
    #[arg(long, value_name = "N", help_heading = CLUSTER)]
    pub(crate) brokers_per_cluster: Option<u64>,

    /// A published machine type, or `list`
    #[arg(long, value_name = "NAME", help_heading = MACHINE)]
    pub(crate) machine: Option<String>,
    /// A run of plumb's: what its brokers carried, and their CPU time
    #[arg(long, value_name = "RUN", help_heading = MACHINE)]
    pub(crate) from: Option<PathBuf>,
    /// The run's step to take [default: the one with the most bytes per second]
    #[arg(long, value_name = "NAME", requires = "from", help_heading = MACHINE)]
    pub(crate) step: Option<String>,
    /// Sustained write rate of the log's devices: 500MiB/s
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) disk: Option<Quantity>,
    /// Sustained rate to storage over a network (EBS)
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) storage_network: Option<Quantity>,
    /// Sustained rate of the NIC, each way: 10Gbit/s
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) nic: Option<Quantity>,
    /// What a broker takes in from producers, by its vendor or by your own measurement
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) ingress: Option<Quantity>,
    /// What a broker gives out to consumers, likewise
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) egress: Option<Quantity>,
    /// Time of one sync to the device: 2ms
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = MACHINE)]
    pub(crate) fsync: Option<Quantity>,
    /// AES-GCM rate of one core with the brokers' TLS provider: 4GiB/s
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) aes: Option<Quantity>,
    /// Cores
    #[arg(long, value_name = "N", help_heading = MACHINE)]
    pub(crate) cores: Option<f64>,
    /// CPU seconds that brokers spend on 10^9 bytes from producers, all copies and groups together
    #[arg(long, value_name = "SECONDS", help_heading = MACHINE)]
    pub(crate) cpu_per_gb: Option<f64>,
    /// Memory: 64GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = MACHINE)]
    pub(crate) memory: Option<Quantity>,
    /// Memory that each replica of a partition takes (Redpanda: 2MB)
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = MACHINE)]
    pub(crate) memory_per_replica: Option<Quantity>,
    /// Rate of the memory: 100GB/s
    #[arg(long, value_name = "RATE", value_parser = byte_rate, help_heading = MACHINE)]
    pub(crate) memory_bandwidth: Option<Quantity>,
    /// Space for logs: 2TiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = MACHINE)]
    pub(crate) storage: Option<Quantity>,
    /// Replicas of partitions that a broker should hold at most
    #[arg(long, value_name = "N", help_heading = MACHINE)]
    pub(crate) replicas: Option<f64>,
    /// Broker's total time of a produce request (TotalTimeMs)
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = MACHINE)]
    pub(crate) service_time: Option<Quantity>,
    /// Broker's time to append one batch (LocalTimeMs)
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = MACHINE)]
    pub(crate) append_time: Option<Quantity>,
    /// Round trip of a follower's fetch
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = MACHINE)]
    pub(crate) fetch_round_trip: Option<Quantity>,
    /// Share of disk, NIC and vendor's limits that a plan uses [default: the machine's, or 0.5]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = MACHINE)]
    pub(crate) utilisation: Option<f64>,
    /// Replace an assumption; may be repeated. `--assume list` shows them
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) assume: Vec<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: SizeOutput,
    /// Also keep the sizing and its page in this directory; `plumb report DIR` shows it again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// The format of a sizing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SizeOutput {
    /// For people.
    Text,
    /// All of it, for programs.
    Json,
}

/// The traffic that is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsWord {
    /// Nothing
    Off,
    /// Producers and consumers
    Clients,
    /// These, and what brokers send each other
    All,
}

/// The moment at which a broker syncs a record to its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlushWord {
    /// When the operating system does: Kafka's default
    Os,
    /// Before it is acknowledged
    BeforeAck,
}

/// The part that may fail without the load being turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReserveWord {
    /// Nothing
    Nothing,
    /// One broker
    Broker,
    /// One zone
    Zone,
}

impl From<TlsWord> for Tls {
    fn from(word: TlsWord) -> Self {
        match word {
            TlsWord::Off => Tls::Off,
            TlsWord::Clients => Tls::Clients,
            TlsWord::All => Tls::All,
        }
    }
}

impl From<FlushWord> for Flush {
    fn from(word: FlushWord) -> Self {
        match word {
            FlushWord::Os => Flush::Os,
            FlushWord::BeforeAck => Flush::BeforeAck,
        }
    }
}

impl From<ReserveWord> for Reserve {
    fn from(word: ReserveWord) -> Self {
        match word {
            ReserveWord::Nothing => Reserve::Nothing,
            ReserveWord::Broker => Reserve::Broker,
            ReserveWord::Zone => Reserve::Zone,
        }
    }
}

fn said(
    text: &str,
    read: fn(&str) -> Result<f64, quantity::QuantityError>,
) -> Result<Quantity, quantity::QuantityError> {
    Ok(Quantity { value: read(text)?, text: text.trim().to_owned() })
}

fn bytes(text: &str) -> Result<Quantity, quantity::QuantityError> {
    said(text, quantity::bytes)
}

fn byte_rate(text: &str) -> Result<Quantity, quantity::QuantityError> {
    said(text, quantity::byte_rate)
}

fn rate(text: &str) -> Result<Quantity, quantity::QuantityError> {
    said(text, quantity::rate)
}

fn seconds(text: &str) -> Result<Quantity, quantity::QuantityError> {
    said(text, quantity::seconds)
}

/// A share of a whole: `50%` or `0.5`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    let read = number.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    read.map(|number| number * unit).ok_or_else(|| "a share is written as 50% or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction_and_nothing_else_is() {
        assert_eq!([share("50%"), share("0.5"), share("50 %")], [Ok(0.5), Ok(0.5), Ok(0.5)]);
        for wrong in ["", "%", "half", "nan", "inf%"] {
            assert_eq!(share(wrong), Err("a share is written as 50% or 0.5".to_owned()), "{wrong}");
        }
    }
}
