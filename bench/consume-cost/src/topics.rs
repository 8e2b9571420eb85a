//! The topics that are read: one for each size, filled once, and a small one to see what starting costs.

use plumb_bench_frame::tell;
use plumb_bench_peers::BenchError;
use plumb_bench_peers::broker::Broker;
use plumb_bench_peers::contest::NEXT_TO_NOTHING;
use plumb_bench_peers::job::{Acks, Work};
use plumb_bench_peers::run::{Order, measure};
use plumb_bench_peers::table::figure;
use plumb_bench_peers::tool::Tool;

/// So much is read a second at most, by what was seen of brokers on two CPUs: a topic has that for every second of a run.
const BYTES_PER_S: f64 = 500e6;
const MESSAGES_PER_S: f64 = 1.5e6;

/// A topic that stays for the whole comparison.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Its name.
    pub(crate) topic: String,
    /// Bytes of each value.
    pub(crate) size_bytes: usize,
    /// Messages, by the broker's count.
    pub(crate) messages: u64,
    /// The program that filled it.
    pub(crate) writer: &'static str,
}

impl Prepared {
    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> u64 {
        self.messages * self.size_bytes as u64
    }
}

/// Messages of a topic for runs of so many seconds.
pub(crate) fn count(size_bytes: usize, seconds: f64) -> u64 {
    let of_bytes = BYTES_PER_S / size_bytes as f64;
    ((of_bytes.min(MESSAGES_PER_S) * seconds) as u64).max(NEXT_TO_NOTHING)
}

/// Makes a topic and has it filled by the first of `writers` that can.
///
/// # Errors
/// What the last of them says.
pub(crate) fn prepare(
    broker: &mut Broker,
    writers: &[Box<dyn Tool>],
    size_bytes: usize,
    count: u64,
) -> Result<Prepared, BenchError> {
    let mut last = BenchError::Absent { path: "the list of tools".into(), expected: "tool that produces" };
    for writer in writers {
        let topic = broker.make_topic()?;
        let work = Work::Produce(Acks::All);
        let order = Order { round: 0, size_bytes, work, count, topic: Some(&topic) };
        match measure(broker, writer.as_ref(), &order) {
            Ok(_) => {
                let messages = broker.end_offset(&topic)?;
                let size = figure(size_bytes as f64);
                tell(&format!("{} messages of {size} B from {}", figure(messages as f64), writer.name()));
                return Ok(Prepared { topic, size_bytes, messages, writer: writer.name() });
            }
            Err(error) => {
                broker.delete_topic(&topic)?;
                last = error;
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_bounded_by_bytes_and_by_messages() {
        assert_eq!(count(100, 4.0), 6_000_000);
        assert_eq!(count(10_000, 4.0), 200_000);
        assert_eq!(count(240_000, 0.01), NEXT_TO_NOTHING);
    }
}
