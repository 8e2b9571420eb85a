//! Batches against another implementation of the protocol: what is written here it reads, what it writes is read here.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use plumb_wire::batch::{
    BatchBuffer, CompressedBatch, ProducerSequence, RecordHeader, Seal, largest_record_overhead,
};
use plumb_wire::compression::{Codec, Compressor, Decompressor};
use plumb_wire::record::batches;
use proptest::collection::vec;
use proptest::prelude::*;

/// A record as both sides know it; header names differ, because the oracle keeps them in a map.
#[derive(Debug, Clone, PartialEq)]
struct Plain {
    key: Option<Vec<u8>>,
    value: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
}

fn plain() -> impl Strategy<Value = Plain> {
    let bytes = || vec(any::<u8>(), 0..200);
    (proptest::option::of(bytes()), bytes(), vec(vec(any::<u8>(), 0..70), 0..4)).prop_map(
        |(key, value, headers)| Plain {
            key,
            value,
            headers: headers.into_iter().enumerate().map(|(i, value)| (format!("h{i}"), value)).collect(),
        },
    )
}

fn seal() -> impl Strategy<Value = Seal> {
    let producer = (0..i64::MAX, 0..i16::MAX, 0..i32::MAX - 1000)
        .prop_map(|(id, epoch, base_sequence)| ProducerSequence { id, epoch, base_sequence });
    (0..i64::MAX / 2, proptest::option::of(producer))
        .prop_map(|(timestamp_ms, producer)| Seal { timestamp_ms, producer })
}

fn codec() -> impl Strategy<Value = Codec> {
    proptest::sample::select(Codec::ALL.to_vec())
}

fn push(batch: &mut BatchBuffer, record: &Plain) -> usize {
    let headers: Vec<_> =
        record.headers.iter().map(|(name, value)| RecordHeader { name: name.as_bytes(), value }).collect();
    let at = batch.len();
    let before = batch.size_bytes(at);
    assert_eq!(batch.push(record.key.as_deref(), &record.value, &headers), Ok(at));
    let took = batch.size_bytes(at + 1) - before;
    let content: usize = headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    let content = content + record.value.len() + record.key.as_ref().map_or(0, Vec::len);
    assert!(took <= content + largest_record_overhead(headers.len()));
    at
}

fn fill(records: &[Plain]) -> BatchBuffer {
    let mut batch = BatchBuffer::new(1 << 20);
    for record in records {
        let at = push(&mut batch, record);
        assert_eq!(batch.key_mut(at), record.key.as_deref().unwrap_or_default());
        assert_eq!(batch.value(at), record.value);
        let last = record.headers.last().map(|(_, value)| &value[..]).unwrap_or_default();
        assert_eq!(batch.last_header(at), last);
    }
    batch
}

fn sealed(batch: &mut BatchBuffer, records: usize, seal: &Seal, codec: Codec) -> Vec<u8> {
    match codec {
        Codec::None => batch.seal(records, seal).to_vec(),
        _ => {
            let mut compressor = Compressor::new(codec, None).unwrap();
            let mut out = CompressedBatch::new();
            batch.seal_compressed(records, seal, &mut compressor, &mut out).unwrap().to_vec()
        }
    }
}

fn of_oracle(record: &Record) -> Plain {
    Plain {
        key: record.key.as_ref().map(|key| key.to_vec()),
        value: record.value.as_ref().unwrap().to_vec(),
        headers: record
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.as_ref().unwrap().to_vec()))
            .collect(),
    }
}

fn to_oracle(index: usize, record: &Plain, seal: &Seal) -> Record {
    let producer = seal.producer.unwrap_or(ProducerSequence { id: -1, epoch: -1, base_sequence: -1 });
    Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 7,
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        timestamp_type: TimestampType::Creation,
        offset: 1_000 + index as i64,
        sequence: producer.base_sequence.wrapping_add(index as i32),
        timestamp: seal.timestamp_ms + index as i64 * 300,
        key: record.key.clone().map(Bytes::from),
        value: Some(Bytes::from(record.value.clone())),
        headers: record
            .headers
            .iter()
            .map(|(name, value)| (StrBytes::from_string(name.clone()), Some(Bytes::from(value.clone()))))
            .collect(),
    }
}

fn compression(codec: Codec) -> Compression {
    match codec {
        Codec::None => Compression::None,
        Codec::Gzip => Compression::Gzip,
        Codec::Snappy => Compression::Snappy,
        Codec::Lz4 => Compression::Lz4,
        Codec::Zstd => Compression::Zstd,
    }
}

fn of_ours(bytes: &[u8]) -> Vec<Plain> {
    let mut decompressor = Decompressor::default();
    let mut all = Vec::new();
    for batch in batches(bytes) {
        let batch = batch.unwrap();
        assert!(batch.crc_is_right());
        for record in batch.records(&mut decompressor).unwrap() {
            let record = record.unwrap();
            let headers: Vec<_> = record.headers().map(Result::unwrap).collect();
            if let Some(last) = headers.last() {
                assert_eq!(record.header(last.name).unwrap(), last.value);
            }
            assert_eq!(record.header(b"absent").unwrap(), None);
            all.push(Plain {
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.unwrap().to_vec(),
                headers: headers
                    .iter()
                    .map(|header| {
                        (String::from_utf8(header.name.to_vec()).unwrap(), header.value.unwrap().to_vec())
                    })
                    .collect(),
            });
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_sealed_the_oracle_reads(
        records in vec(plain(), 1..40), part in 1..40_usize, seal in seal(), codec in codec(),
    ) {
        let part = part.min(records.len());
        let mut batch = fill(&records);
        let bytes = sealed(&mut batch, part, &seal, codec);
        let set = RecordBatchDecoder::decode(&mut Bytes::from(bytes.clone())).unwrap();
        prop_assert_eq!(set.compression, compression(codec));
        prop_assert_eq!(set.records.iter().map(of_oracle).collect::<Vec<_>>(), &records[..part]);
        let producer = seal.producer.unwrap_or(ProducerSequence { id: -1, epoch: -1, base_sequence: -1 });
        for (index, record) in set.records.iter().enumerate() {
            prop_assert_eq!(record.timestamp, seal.timestamp_ms);
            prop_assert_eq!(record.offset, index as i64);
            prop_assert_eq!((record.producer_id, record.producer_epoch), (producer.id, producer.epoch));
        }
        prop_assert_eq!(of_ours(&bytes), &records[..part]);
    }

    #[test]
    fn what_the_oracle_writes_is_read(
        records in vec(plain(), 1..40), seal in seal(), codec in codec(),
    ) {
        let theirs: Vec<_> = records.iter().enumerate().map(|(i, record)| to_oracle(i, record, &seal)).collect();
        let mut bytes = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: compression(codec) };
        RecordBatchEncoder::encode(&mut bytes, &theirs, &options).unwrap();

        let views: Vec<_> = batches(&bytes).map(Result::unwrap).collect();
        let mut decompressor = Decompressor::default();
        let mut at = 0;
        for view in views {
            prop_assert_eq!(view.codec, codec);
            prop_assert_eq!(view.leader_epoch, 7);
            prop_assert_eq!(view.base_offset, theirs[at].offset);
            prop_assert_eq!(view.base_sequence, theirs[at].sequence);
            for record in view.records(&mut decompressor).unwrap() {
                let record = record.unwrap();
                prop_assert_eq!(view.offset(&record), theirs[at].offset);
                prop_assert_eq!(view.base_timestamp_ms + record.timestamp_delta, theirs[at].timestamp);
                at += 1;
            }
            prop_assert_eq!(view.next_offset(), theirs[at - 1].offset + 1);
        }
        prop_assert_eq!(of_ours(&bytes), records);
    }

    #[test]
    fn what_is_patched_is_in_what_is_sealed_and_nothing_else_changes(
        records in vec(plain(), 1..20), stamp in any::<u8>(), seal in seal(), codec in codec(),
    ) {
        let mut batch = fill(&records);
        let mut expected = records.clone();
        for (index, record) in expected.iter_mut().enumerate() {
            batch.value_mut(index).fill(stamp);
            record.value.fill(stamp);
            batch.key_mut(index).fill(!stamp);
            if let Some(key) = &mut record.key {
                key.fill(!stamp);
            }
            batch.last_header_mut(index).fill(stamp ^ 1);
            if let Some((_, value)) = record.headers.last_mut() {
                value.fill(stamp ^ 1);
            }
        }
        let bytes = sealed(&mut batch, records.len(), &seal, codec);
        prop_assert_eq!(of_ours(&bytes), expected);
    }
}

#[test]
fn the_oracle_reads_batches_of_many_blocks_in_every_codec() {
    // More than a block of any codec, with parts that compress and parts that do not.
    let mut noise = 1_u64;
    let mut value = |index: usize| -> Vec<u8> {
        (0..4_000)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if index.is_multiple_of(2) { (noise >> 56) as u8 } else { b'x' }
            })
            .collect()
    };
    let records: Vec<_> =
        (0..100).map(|index| Plain { key: None, value: value(index), headers: Vec::new() }).collect();
    let seal = Seal { timestamp_ms: 1_700_000_000_000, producer: None };
    for codec in Codec::ALL {
        let mut batch = fill(&records);
        let bytes = sealed(&mut batch, records.len(), &seal, codec);
        let set = RecordBatchDecoder::decode(&mut Bytes::from(bytes.clone())).unwrap();
        assert!(set.records.iter().map(of_oracle).eq(records.iter().cloned()), "{codec}");
        assert!(of_ours(&bytes) == records, "{codec}");
    }
}
