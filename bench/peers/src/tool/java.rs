//! Kafka's own `ProducerPerformance` and `ConsumerPerformance`, from the jars that the lab's broker runs on.

use super::{Claim, Tool, number_behind};
use crate::error::BenchError;
use crate::job::{Job, Work};
use crate::meter::Said;
use plumb_stats::random::Random;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::Command;

const PRODUCER: &str = "org.apache.kafka.tools.ProducerPerformance";
const CONSUMER: &str = "org.apache.kafka.tools.ConsumerPerformance";

/// The settings that a patient user tunes: batches that fill, a moment to fill them, room for them.
const TUNED: &[&str] = &["batch.size=262144", "linger.ms=5", "buffer.memory=67108864"];

/// Lines of a payload file hold so many bytes together, at most so many lines.
const PAYLOAD_BYTES: usize = 4_800_000;
const PAYLOAD_LINES: usize = 200;

/// One of Kafka's tools.
pub struct KafkaTool {
    java: PathBuf,
    class_path: OsString,
    variant: Variant,
}

/// The settings with which it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// `ProducerPerformance` as it comes.
    Producer,
    /// With [`TUNED`] properties.
    Tuned,
    /// The same, with payloads from a file: it does not draw random letters for every byte then.
    TunedPayloadFile,
    /// `ConsumerPerformance` as it comes.
    Consumer,
}

impl Variant {
    /// The name of the tool with them.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Producer => "ProducerPerformance",
            Variant::Tuned => "ProducerPerformance, tuned",
            Variant::TunedPayloadFile => "ProducerPerformance, tuned, payload file",
            Variant::Consumer => "ConsumerPerformance",
        }
    }
}

impl KafkaTool {
    /// With the Java and the class path of the broker that has this process id.
    ///
    /// # Errors
    /// When the process hides them.
    pub fn new(broker_pid: i32, variant: Variant) -> Result<KafkaTool, BenchError> {
        let java = fs_err::read_link(format!("/proc/{broker_pid}/exe"))?;
        let path = format!("/proc/{broker_pid}/environ");
        // The lab gives its brokers their class path in the environment.
        let environment = fs_err::read(&path)?;
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(b"CLASSPATH="));
        let missing = || BenchError::Absent { path: path.into(), expected: "CLASSPATH" };
        let class_path = OsString::from_vec(value.ok_or_else(missing)?.to_vec());
        Ok(KafkaTool { java, class_path, variant })
    }

    fn produce(&self, command: &mut Command, job: &Job<'_>, acks: &str) -> Result<(), BenchError> {
        command.args([PRODUCER, "--topic", job.topic, "--num-records", &job.count.to_string()]);
        if self.variant == Variant::TunedPayloadFile {
            let file = job.scratch.join("payload");
            write_payload(&file, job.size_bytes)?;
            command.arg("--payload-file").arg(file);
        } else {
            command.args(["--record-size", &job.size_bytes.to_string()]);
        }
        command.args(["--throughput", "-1", "--bootstrap-server", job.bootstrap, "--command-property"]);
        command.arg(format!("acks={acks}"));
        if self.variant != Variant::Producer {
            command.args(TUNED);
        }
        Ok(())
    }
}

impl Tool for KafkaTool {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn about(&self, _: Work) -> String {
        match self.variant {
            Variant::Producer => format!("{PRODUCER}, its properties left alone"),
            Variant::Tuned => format!("{PRODUCER} with {}", TUNED.join(" ")),
            Variant::TunedPayloadFile => {
                format!("{PRODUCER} with {}, and --payload-file instead of --record-size", TUNED.join(" "))
            }
            Variant::Consumer => format!("{CONSUMER}; it sets check.crcs=false and offers no way to check"),
        }
    }

    fn command(&self, job: &Job<'_>) -> Result<Command, BenchError> {
        let mut command = Command::new(&self.java);
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(variable);
        }
        command.env("CLASSPATH", &self.class_path).arg("-Xmx1g");
        match job.work {
            Work::Produce(acks) => self.produce(&mut command, job, acks.name())?,
            Work::Consume => {
                command.args([CONSUMER, "--bootstrap-server", job.bootstrap, "--topic", job.topic]);
                command.args([
                    "--num-records",
                    &job.count.to_string(),
                    "--timeout",
                    "20000",
                    "--hide-header",
                ]);
                command.args(["--group", &job.group()]);
            }
        }
        Ok(command)
    }

    fn claim(&self, job: &Job<'_>, said: &Said) -> Claim {
        match job.work {
            Work::Produce(_) => producer_claim(&said.stdout),
            Work::Consume => consumer_claim(&said.stdout),
        }
    }
}

/// Lines of random letters. Each is a record.
fn write_payload(file: &std::path::Path, size_bytes: usize) -> Result<(), BenchError> {
    let lines = (PAYLOAD_BYTES / size_bytes).clamp(1, PAYLOAD_LINES);
    let mut random = Random::new(size_bytes as u64);
    let mut text = Vec::with_capacity(lines * (size_bytes + 1));
    for _ in 0..lines {
        text.extend((0..size_bytes).map(|_| b'A' + random.below(26) as u8));
        text.push(b'\n');
    }
    Ok(fs_err::File::create(file)?.write_all(&text)?)
}

/// From the last line: `N records sent, R records/sec (M MB/sec), ...`.
fn producer_claim(text: &str) -> Claim {
    let Some(line) = text.lines().rev().find(|line| line.contains(" records sent, ")) else {
        return Claim::default();
    };
    let messages = line.split(' ').next().and_then(|word| word.parse().ok());
    Claim { messages, messages_per_s: number_behind(line, "records sent, "), ..Claim::default() }
}

/// From the one line of values: start, end, MB, MB/s, messages, messages/s, rebalance ms, fetch ms, fetch MB/s, fetch
/// messages/s. The last is of the time after the group was joined.
fn consumer_claim(text: &str) -> Claim {
    let columns = text.lines().rev().map(|line| line.split(", ").collect::<Vec<_>>());
    let Some(columns) = columns.into_iter().find(|columns| columns.len() == 10) else {
        return Claim::default();
    };
    Claim {
        messages: columns[4].parse().ok(),
        messages_per_s: columns[9].trim().parse().ok(),
        ..Claim::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_producers_last_line_is_its_claim() {
        let text = "12 records sent, 2.4 records/sec (0.00 MB/sec), 1.0 ms avg latency, 2.0 ms max latency.\n\
                    500000 records sent, 714626.120000 records/sec (68.15 MB/sec), 200.13 ms avg latency\n";
        let claim = producer_claim(text);
        assert_eq!((claim.messages, claim.messages_per_s), (Some(500_000), Some(714_626.12)));
        assert_eq!(producer_claim("Exception in thread\n"), Claim::default());
    }

    #[test]
    fn the_consumers_rate_is_that_after_the_group_was_joined() {
        let text = "2026-11-20 10:00:00:000, 2026-11-20 10:00:04:000, 95.3674, 23.8419, 1000000, 250000.0000, 3000, 1000, \
                    95.3674, 1000000.0000\n";
        let claim = consumer_claim(text);
        assert_eq!((claim.messages, claim.messages_per_s), (Some(1_000_000), Some(1_000_000.0)));
    }

    #[test]
    fn a_payload_file_has_lines_of_the_record_size() {
        let home = tempfile::tempdir().unwrap();
        for (size, lines) in [(100, 200), (10_000, 200), (240_000, 20)] {
            let file = home.path().join(size.to_string());
            write_payload(&file, size).unwrap();
            let text = fs_err::read_to_string(file).unwrap();
            assert_eq!(text.lines().count(), lines);
            assert!(text.lines().all(|line| line.len() == size));
        }
    }
}
