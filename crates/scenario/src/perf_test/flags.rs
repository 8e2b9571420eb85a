//! The flags of Kafka's performance tools, by their names there.

use clap::Args;

/// Flags of kafka-producer-perf-test.
#[derive(Debug, Args)]
pub struct ProducerPerfArgs {
    /// An existing topic
    #[arg(long)]
    pub topic: String,
    /// Records to send
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub num_records: u64,
    /// Size of each record's value in bytes
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub record_size: Option<u64>,
    /// Records per second; -1 for as fast as possible
    #[arg(long, allow_negative_numbers = true)]
    pub throughput: f64,
    /// host:port,...
    #[arg(long, value_name = "HOSTS", alias = "broker-list")]
    pub bootstrap_server: Option<String>,
    /// Properties of the producer
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., alias = "producer-props")]
    pub command_property: Vec<String>,
    /// Properties file of the producer
    #[arg(long, value_name = "FILE", alias = "producer.config")]
    pub command_config: Option<String>,
    /// Milliseconds between progress lines
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reporting_interval: u64,
    /// A file whose lines are as long as the values are to be; in place of --record-size
    #[arg(long, value_name = "FILE", conflicts_with = "record_size")]
    pub payload_file: Option<String>,
    /// What ends a record of --payload-file
    #[arg(long, value_name = "TEXT", default_value = "\\n")]
    pub payload_delimiter: String,
    /// Taken, and of no effect: the run's document has the client's statistics
    #[arg(long)]
    pub print_metrics: bool,
    /// Of the tool, and refused.
    #[command(flatten)]
    pub refused: ProducerPerfRefused,
}

/// Flags of kafka-producer-perf-test that cannot be honoured.
#[derive(Debug, Args)]
pub struct ProducerPerfRefused {
    /// Refused.
    #[arg(long, hide = true)]
    pub payload_monotonic: bool,
    /// Refused.
    #[arg(long, hide = true)]
    pub transactional_id: Option<String>,
    /// Refused.
    #[arg(long, hide = true)]
    pub transaction_duration_ms: Option<u64>,
    /// Refused.
    #[arg(long, hide = true)]
    pub warmup_records: Option<u64>,
}

/// Flags of kafka-consumer-perf-test.
#[derive(Debug, Args)]
pub struct ConsumerPerfArgs {
    /// An existing topic with records in it
    #[arg(long)]
    pub topic: Option<String>,
    /// Records to consume at least
    #[arg(long, alias = "messages", value_parser = clap::value_parser!(u64).range(1..))]
    pub num_records: u64,
    /// host:port,...
    #[arg(long, value_name = "HOSTS", alias = "broker-list")]
    pub bootstrap_server: Option<String>,
    /// A property of the consumer; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub command_property: Vec<String>,
    /// Properties file of the consumer
    #[arg(long, value_name = "FILE", alias = "consumer.config")]
    pub command_config: Option<String>,
    /// Most bytes of one partition in a response
    #[arg(long, value_name = "BYTES", default_value_t = 1_048_576)]
    pub fetch_size: u64,
    /// Receive buffer of each connection
    #[arg(long, value_name = "BYTES", default_value_t = 2_097_152)]
    pub socket_buffer_size: u64,
    /// Longest wait for a record in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Print no header
    #[arg(long)]
    pub hide_header: bool,
    /// Milliseconds between the lines of --show-detailed-stats
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reporting_interval: u64,
    /// A line for each interval in place of the one of the whole
    #[arg(long)]
    pub show_detailed_stats: bool,
    /// How times are printed, by Java's letters: y, M, d, H, m, s, S
    #[arg(long, value_name = "PATTERN", default_value = "yyyy-MM-dd HH:mm:ss:SSS")]
    pub date_format: String,
    /// Taken, and not used: each run reads with a group of its own and leaves the offsets of this one alone
    #[arg(long)]
    pub group: Option<String>,
    /// Taken, and of no effect: the run's document has the client's statistics
    #[arg(long)]
    pub print_metrics: bool,
    /// Taken, and of no effect, as in the tool
    #[arg(long, value_name = "N", alias = "num-fetch-threads")]
    pub threads: Option<u32>,
    /// The topic, where it is a name and no pattern
    #[arg(long, conflicts_with = "topic", alias = "whitelist")]
    pub include: Option<String>,
    /// Of the tool, and refused.
    #[command(flatten)]
    pub refused: ConsumerPerfRefused,
}

/// Flags of kafka-consumer-perf-test that cannot be honoured.
#[derive(Debug, Args)]
pub struct ConsumerPerfRefused {
    /// Refused.
    #[arg(long, hide = true)]
    pub from_latest: bool,
    /// Refused.
    #[arg(long, hide = true)]
    pub zookeeper: Option<String>,
}
