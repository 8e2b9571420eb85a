//! What arrived for a topic, record by record with the time: whoever tries a client holds the client's own account against it.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use bytes::{Buf, Bytes};
use rustix::time::{ClockId, clock_gettime};

use super::batch::{Record, varint};

/// A record as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivedRecord {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// The time at which its request had been read: nanoseconds of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The time from which on readers may see it.
    pub shown_ns: u64,
    /// The time right before its request's answer was sent; absent where none was sent.
    pub answered_ns: Option<u64>,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its headers in their order, names as they came.
    pub headers: Vec<(Bytes, Bytes)>,
    /// Its value.
    pub value: Bytes,
}

impl ArrivedRecord {
    /// None of a record that is damaged.
    pub(super) fn of(
        record: &Record,
        partition: i32,
        offset: i64,
        at_ns: u64,
        shown_ns: u64,
    ) -> Option<Self> {
        let mut content = record.content().clone();
        let key = bytes(&mut content)?;
        let value = bytes(&mut content)?.unwrap_or_default();
        let count = varint(&mut content)?;
        let header =
            |_| Some((bytes(&mut content)?.unwrap_or_default(), bytes(&mut content)?.unwrap_or_default()));
        let headers = (0..count).map(header).collect::<Option<Vec<_>>>()?;
        let answered_ns = None;
        Some(ArrivedRecord { partition, offset, at_ns, shown_ns, answered_ns, key, headers, value })
    }
}

/// What a topic's records told, each with the answer to its request.
pub(super) type Witnessed = Vec<(ArrivedRecord, Answered)>;

/// The time at which a request was answered, once it was.
#[derive(Debug, Clone, Default)]
pub(super) struct Answered(Arc<OnceLock<u64>>);

impl Answered {
    /// It is answered now.
    pub(super) fn now(&self) {
        self.0.get_or_init(now_ns);
    }

    /// The record with it.
    pub(super) fn of(&self, record: &ArrivedRecord) -> ArrivedRecord {
        ArrivedRecord { answered_ns: self.0.get().copied(), ..record.clone() }
    }
}

/// A length, and so many bytes; `Some(None)` where the length is -1.
fn bytes(content: &mut Bytes) -> Option<Option<Bytes>> {
    match usize::try_from(varint(content)?) {
        Err(_) => Some(None),
        Ok(length) => (length <= content.remaining()).then(|| Some(content.split_to(length))),
    }
}

/// An instant on CLOCK_MONOTONIC, which is what it is an instant of: right to the microsecond.
pub(super) fn monotonic_ns(at: Instant) -> u64 {
    // A thread that is put aside in between makes the two readings differ: then again.
    for _ in 0..1_000 {
        let before = now_ns();
        let ago = at.elapsed();
        if now_ns() - before < 1_000 {
            return before - ago.as_nanos() as u64;
        }
    }
    now_ns() - at.elapsed().as_nanos() as u64
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::{super::batch::made, *};

    #[test]
    fn a_record_is_told_with_key_headers_and_value() {
        let records = made::batch(&["a", "b"]).records().unwrap();
        let second = ArrivedRecord::of(&records[1], 3, 11, 5, 9).unwrap();
        assert_eq!((second.partition, second.offset, second.at_ns, second.shown_ns), (3, 11, 5, 9));
        assert_eq!((second.key.as_deref(), &second.value[..]), (Some(&b"key"[..]), &b"b"[..]));
        assert_eq!(second.headers, [(Bytes::from_static(b"trace"), Bytes::from_static(b"1"))]);
    }

    #[test]
    fn the_time_of_an_answer_is_that_of_the_first_and_absent_before_it() {
        let records = made::batch(&["a"]).records().unwrap();
        let record = ArrivedRecord::of(&records[0], 0, 0, 5, 5).unwrap();
        let answered = Answered::default();
        assert_eq!(answered.of(&record), record);
        let before = now_ns();
        answered.now();
        let told = answered.of(&record).answered_ns.unwrap();
        assert!((before..=now_ns()).contains(&told));
        answered.now();
        assert_eq!(answered.of(&record).answered_ns, Some(told));
    }

    #[test]
    fn an_instant_is_one_of_the_clock_that_everybody_reads() {
        let before = now_ns();
        let at = Instant::now();
        let after = now_ns();
        let told = monotonic_ns(at);
        assert!((before - 1_000..=after + 1_000).contains(&told), "{before} {told} {after}");
    }
}
