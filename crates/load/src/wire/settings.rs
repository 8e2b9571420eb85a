//! The wire driver's settings from a step's properties. The names are librdkafka's, so that one scenario runs on either driver;
//! each is honoured, or has no meaning here and is listed as such, or is refused.

use crate::error::LoadError;
use plumb_model::plan::{LoadPlan, Properties, StepPlan};
use plumb_model::property::same_value;
use plumb_wire::compression::Codec;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Names that mean the same, first the one that is used here. As in librdkafka's CONFIGURATION.md.
const SAME: &[(&str, &str)] = &[
    ("acks", "request.required.acks"),
    ("linger.ms", "queue.buffering.max.ms"),
    ("compression.type", "compression.codec"),
    ("max.in.flight.requests.per.connection", "max.in.flight"),
    ("message.timeout.ms", "delivery.timeout.ms"),
    ("message.send.max.retries", "retries"),
    ("fetch.message.max.bytes", "max.partition.fetch.bytes"),
];

/// Properties of librdkafka that change nothing here: there is no group, no callback and no statistics thread.
const WITHOUT_MEANING: &[&str] = &[
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "check.crcs",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "heartbeat.interval.ms",
    "log_level",
    "max.poll.interval.ms",
    "message.copy.max.bytes",
    "partition.assignment.strategy",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.messages",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "session.timeout.ms",
    "socket.keepalive.enable",
    "sticky.partitioning.linger.ms",
    "topic.metadata.refresh.interval.ms",
];

/// The rule that decides on the partition of a record with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partitioner {
    /// CRC32 of the key (librdkafka's default).
    Crc32,
    /// The Java client's hash.
    Murmur2,
}

/// The settings of a producer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProducerSettings {
    /// 0, 1, or -1 for all.
    pub(crate) acks: i16,
    pub(crate) linger_ns: u64,
    /// Most bytes of a batch.
    pub(crate) batch_bytes: usize,
    /// Most records of a batch.
    pub(crate) batch_records: usize,
    pub(crate) codec: Codec,
    pub(crate) compression_level: Option<i32>,
    /// Requests of one connection that may be unanswered.
    pub(crate) in_flight: usize,
    pub(crate) idempotent: bool,
    /// The time from the moment at which a record is enqueued until it is given up.
    pub(crate) message_timeout_ns: u64,
    pub(crate) request_timeout_ns: u64,
    /// Times that a batch is sent again.
    pub(crate) retries: u64,
    pub(crate) retry_backoff_ns: u64,
    /// Bytes of batches that a producer may hold.
    pub(crate) buffer_bytes: usize,
    pub(crate) partitioner: Partitioner,
}

/// The settings of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsumerSettings {
    pub(crate) wait_ms: i32,
    pub(crate) min_bytes: i32,
    pub(crate) max_bytes: i32,
    pub(crate) partition_max_bytes: i32,
}

/// Socket settings of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketSettings {
    pub(crate) no_delay: bool,
    pub(crate) send_bytes: Option<usize>,
    pub(crate) receive_bytes: Option<usize>,
}

impl SocketSettings {
    /// Sockets of requests that are no load: buffers as the system makes them.
    pub(crate) const CONTROL: SocketSettings =
        SocketSettings { no_delay: true, send_bytes: None, receive_bytes: None };
}

/// All settings of the clients of one side.
#[derive(Debug)]
pub(crate) struct ClientSettings<T> {
    pub(crate) client: T,
    pub(crate) socket: SocketSettings,
    /// The properties that are in effect.
    pub(crate) effective: Properties,
}

/// Properties that are taken out one by one, so that what is left is unknown.
struct Taking<'a> {
    properties: Properties,
    effective: &'a mut Properties,
}

impl Taking<'_> {
    /// The value of a property, or its default; noted as what is in effect.
    fn take<T: FromStr + ToString>(&mut self, key: &str, default: T, expected: &str) -> Result<T, LoadError> {
        let value = match self.properties.remove(key) {
            None => default,
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| LoadError::property(key, &text, format!("expected {expected}")))?,
        };
        self.effective.insert(key.to_owned(), value.to_string());
        Ok(value)
    }

    /// Truth as librdkafka takes it.
    fn truth(&mut self, key: &str, default: bool) -> Result<bool, LoadError> {
        if let Some(text) = self.properties.get_mut(key)
            && let Some(truth) = [true, false].into_iter().find(|truth| same_value(text, &truth.to_string()))
        {
            *text = truth.to_string();
        }
        self.take(key, default, "true or false")
    }

    fn whole(&mut self, key: &str, default: u64, range: RangeInclusive<u64>) -> Result<u64, LoadError> {
        let value = self.take(key, default, "a whole number")?;
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            return Err(LoadError::property(key, &value.to_string(), format!("expected {least} to {most}")));
        }
        Ok(value)
    }

    fn milliseconds(&mut self, key: &str, default: f64) -> Result<u64, LoadError> {
        let value: f64 = self.take(key, default, "milliseconds")?;
        if !(0.0..=1e9).contains(&value) {
            return Err(LoadError::property(
                key,
                &value.to_string(),
                "expected 0 to 1000000000 milliseconds",
            ));
        }
        Ok((value * 1e6) as u64)
    }

    fn socket(&mut self) -> Result<SocketSettings, LoadError> {
        let bytes = |value: u64| usize::try_from(value).ok().filter(|bytes| *bytes > 0);
        Ok(SocketSettings {
            no_delay: self.truth("socket.nagle.disable", true)?,
            send_bytes: bytes(self.whole("socket.send.buffer.bytes", 0, 0..=100_000_000)?),
            receive_bytes: bytes(self.whole("socket.receive.buffer.bytes", 0, 0..=100_000_000)?),
        })
    }

    /// Refuses what nobody took.
    fn end(self) -> Result<(), LoadError> {
        let unknown = self.properties.iter().find(|(key, _)| !WITHOUT_MEANING.contains(&key.as_str()));
        match unknown {
            None => Ok(()),
            Some((key, value)) => Err(LoadError::property(
                key,
                value,
                "the wire driver does not have it; driver librdkafka may",
            )),
        }
    }
}

/// The properties under the names that are used here.
fn renamed(properties: &Properties) -> Properties {
    let name = |key: &String| {
        SAME.iter().find(|(_, other)| other == key).map_or(key.clone(), |(name, _)| (*name).to_owned())
    };
    properties.iter().map(|(key, value)| (name(key), value.clone())).collect()
}

/// Most a request may ask of a broker that has its defaults (`socket.request.max.bytes` is 100 MiB).
const BATCH_BYTES_MOST: u64 = 100_000_000;
/// librdkafka's own defaults, where it has the property; ours are explained at their place.
const BATCH_BYTES: u64 = 1_000_000;
const BATCH_RECORDS: u64 = 10_000;
/// As the Java client has it.
const IN_FLIGHT: u64 = 5;
/// The same where the load is as fast as possible. Kafka works on one request of a connection at a time, so that one at work and
/// one on its way keep it busy; more only push what is sent again out of the processor's cache.
const IN_FLIGHT_SATURATING: u64 = 2;
/// As librdkafka: time, not number, is what ends tries.
const RETRIES: u64 = i32::MAX as u64;
const BUFFER_KIB: u64 = 64 * 1024;

/// The settings of a step's producers.
pub(crate) fn producer(step: &StepPlan) -> Result<ClientSettings<ProducerSettings>, LoadError> {
    let mut effective = Properties::new();
    let mut taking = Taking { properties: renamed(&step.producer), effective: &mut effective };
    let acks = match taking.take("acks", "-1".to_owned(), "0, 1 or all")?.as_str() {
        "all" | "-1" => -1,
        "0" => 0,
        "1" => 1,
        other => return Err(LoadError::property("acks", other, "expected 0, 1 or all")),
    };
    let codec_name = taking.take("compression.type", "none".to_owned(), "a codec")?;
    let codecs = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    let codec = codecs.into_iter().find(|codec| codec.name() == codec_name).ok_or_else(|| {
        LoadError::property("compression.type", &codec_name, "expected none, gzip, snappy, lz4 or zstd")
    })?;
    let level: i32 = taking.take("compression.level", -1, "a whole number, -1 for the codec's own")?;
    let message_max = taking.whole("message.max.bytes", BATCH_BYTES, 1_000..=BATCH_BYTES_MOST)?;
    let batch_bytes = taking.whole("batch.size", BATCH_BYTES, 1..=BATCH_BYTES_MOST)?.min(message_max);
    let idempotent = taking.truth("enable.idempotence", false)?;
    let in_flight = if step.load.saturating() { IN_FLIGHT_SATURATING } else { IN_FLIGHT };
    let in_flight = taking.whole("max.in.flight.requests.per.connection", in_flight, 1..=1_000_000)?;
    if idempotent && (in_flight > 5 || acks != -1) {
        let reason = "an idempotent producer needs acks=all and at most 5 requests in flight";
        return Err(LoadError::property("enable.idempotence", "true", reason));
    }
    let partitioner =
        match taking.take("partitioner", "consistent_random".to_owned(), "a partitioner")?.as_str() {
            "consistent" | "consistent_random" => Partitioner::Crc32,
            "murmur2" | "murmur2_random" => Partitioner::Murmur2,
            other => {
                let reason = "expected consistent, consistent_random, murmur2 or murmur2_random";
                return Err(LoadError::property("partitioner", other, reason));
            }
        };
    let client = ProducerSettings {
        acks,
        linger_ns: taking.milliseconds("linger.ms", 5.0)?,
        // A record that is larger than a batch is one by itself.
        batch_bytes: usize::try_from(batch_bytes).unwrap_or(usize::MAX).max(largest_batch_of_one(&step.load)),
        batch_records: usize::try_from(taking.whole("batch.num.messages", BATCH_RECORDS, 1..=1_000_000)?)
            .unwrap_or(usize::MAX),
        codec,
        compression_level: (level != -1).then_some(level),
        in_flight: usize::try_from(in_flight).unwrap_or(usize::MAX),
        idempotent,
        message_timeout_ns: taking.milliseconds("message.timeout.ms", 300_000.0)?,
        request_timeout_ns: taking.milliseconds("request.timeout.ms", 30_000.0)?,
        retries: taking.whole("message.send.max.retries", RETRIES, 0..=RETRIES)?,
        retry_backoff_ns: taking.milliseconds("retry.backoff.ms", 100.0)?,
        buffer_bytes: usize::try_from(
            taking.whole("queue.buffering.max.kbytes", BUFFER_KIB, 1..=2_000_000)? * 1024,
        )
        .unwrap_or(usize::MAX),
        partitioner,
    };
    let socket = taking.socket()?;
    taking.end()?;
    Ok(ClientSettings { client, socket, effective })
}

/// The settings of a step's consumers.
pub(crate) fn consumer(step: &StepPlan) -> Result<ClientSettings<ConsumerSettings>, LoadError> {
    let mut effective = Properties::new();
    let mut taking = Taking { properties: renamed(&step.consumer), effective: &mut effective };
    let whole = |taking: &mut Taking<'_>, key, default, least| -> Result<i32, LoadError> {
        let value = taking.whole(key, default, least..=i32::MAX as u64)?;
        Ok(i32::try_from(value).unwrap_or(i32::MAX))
    };
    let client = ConsumerSettings {
        wait_ms: whole(&mut taking, "fetch.wait.max.ms", 500, 0)?,
        min_bytes: whole(&mut taking, "fetch.min.bytes", 1, 1)?,
        max_bytes: whole(&mut taking, "fetch.max.bytes", 52_428_800, 1)?,
        partition_max_bytes: whole(&mut taking, "fetch.message.max.bytes", 1_048_576, 1)?,
    };
    // librdkafka's default is read_committed; the difference is there only where somebody writes transactions.
    let isolation = taking.take("isolation.level", "read_uncommitted".to_owned(), "a level")?;
    if isolation != "read_uncommitted" {
        let reason = "the wire driver reads what is not committed too; driver librdkafka has read_committed";
        return Err(LoadError::property("isolation.level", &isolation, reason));
    }
    let socket = taking.socket()?;
    taking.end()?;
    Ok(ClientSettings { client, socket, effective })
}

/// Bytes that a batch of the largest record takes at most.
fn largest_batch_of_one(load: &LoadPlan) -> usize {
    let headers: usize = load.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let overhead = plumb_wire::batch::largest_record_overhead(load.headers.len() + 1);
    let stamp = crate::stamp::STAMP_HEADER.len() + crate::stamp::STAMP_BYTES;
    plumb_wire::batch::HEADER_BYTES
        + overhead
        + load.size.largest().as_usize()
        + crate::keys::KEY_BYTES
        + headers
        + stamp
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::sample::step;

    #[test]
    fn the_same_property_under_its_other_name_is_the_same() {
        let mut step = step();
        step.producer = [("request.required.acks", "1"), ("queue.buffering.max.ms", "0.5")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let ClientSettings { client, socket, effective } = producer(&step).unwrap();
        assert_eq!((client.acks, client.linger_ns), (1, 500_000));
        assert!(socket.no_delay);
        assert_eq!(effective["acks"], "1");
        assert_eq!(effective["linger.ms"], "0.5");
    }

    #[test]
    fn truth_is_written_as_for_the_other_driver() {
        let mut step = step();
        step.producer.insert("socket.nagle.disable".into(), "0".into());
        let ClientSettings { socket, effective, .. } = producer(&step).unwrap();
        assert_eq!((socket.no_delay, effective["socket.nagle.disable"].as_str()), (false, "false"));
        step.producer.insert("socket.nagle.disable".into(), "2".into());
        assert!(producer(&step).is_err());
    }

    #[test]
    fn what_is_not_known_is_refused_and_what_means_nothing_here_is_not() {
        let mut step = step();
        step.consumer.insert("enable.auto.commit".into(), "true".into());
        assert!(consumer(&step).is_ok());
        step.consumer.insert("fetch.wait.max.seconds".into(), "1".into());
        let error = consumer(&step).unwrap_err();
        assert!(matches!(error, LoadError::Property { key, .. } if key == "fetch.wait.max.seconds"));
    }

    #[test]
    fn idempotence_asks_for_its_conditions() {
        let mut step = step();
        step.producer.insert("enable.idempotence".into(), "true".into());
        assert!(producer(&step).unwrap().client.idempotent);
        step.producer.insert("acks".into(), "1".into());
        assert!(producer(&step).is_err());
    }

    #[test]
    fn a_batch_has_room_for_the_largest_record_whatever_its_limit() {
        let mut step = step();
        step.producer.insert("batch.size".into(), "16384".into());
        step.load.size = plumb_model::plan::SizePlan::Fixed(plumb_model::units::Bytes(240_000));
        assert!(producer(&step).unwrap().client.batch_bytes > 240_000);
    }
}
