//! Tests of damaged and unusual batches.

use super::*;
use crate::batch::{BatchBuffer, HEADER_BYTES, RecordHeader, Seal};

/// Two batches of three and one records.
fn two_batches() -> (Vec<u8>, usize) {
    let mut batch = BatchBuffer::new(10_000);
    for value in [&b"one"[..], b"two", b"three"] {
        batch.push(Some(b"key"), value, &[RecordHeader { name: b"name", value: b"header" }]).unwrap();
    }
    let seal = Seal { timestamp_ms: 1_000, producer: None };
    let mut bytes = batch.seal(3, &seal).to_vec();
    let first = bytes.len();
    bytes.extend_from_slice(batch.seal(1, &seal));
    (bytes, first)
}

fn patched(at: usize, field: &[u8]) -> Vec<u8> {
    let (mut bytes, first) = two_batches();
    bytes.truncate(first);
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes
}

/// The reason why the only batch, or a record in it, is refused.
fn refusal(bytes: &[u8]) -> String {
    let mut all = batches(bytes);
    let batch = match all.next().expect("a batch or an error") {
        Ok(batch) => batch,
        Err(error) => {
            assert_eq!(all.next(), None, "nothing comes after an error");
            return error.to_string();
        }
    };
    let mut decompressor = Decompressor::default();
    let refused = match batch.records(&mut decompressor) {
        Err(error) => error,
        Ok(mut records) => {
            let error = records.find_map(|record| record.err()).expect("an error");
            assert_eq!(records.next(), None, "nothing comes after an error");
            error
        }
    };
    refused.to_string()
}

#[test]
fn a_last_batch_that_is_cut_off_anywhere_is_no_error_and_no_batch() {
    let (bytes, first) = two_batches();
    for end in 0..=bytes.len() {
        let whole = batches(&bytes[..end]).map(|batch| batch.unwrap().record_count).collect::<Vec<_>>();
        let expected: &[u32] = match end {
            end if end < first => &[],
            end if end < bytes.len() => &[3],
            _ => &[3, 1],
        };
        assert_eq!(whole, expected);
    }
}

#[test]
fn a_length_that_no_batch_can_have_is_an_error() {
    for length in [i32::MIN, -1, 0, 48, (1 << 30) + 1, i32::MAX] {
        let error = refusal(&patched(8, &length.to_be_bytes()));
        assert_eq!(error, format!("batch length at byte 8: {length} is not within 49 to 1073741824"));
    }
}

#[test]
fn the_place_of_an_error_counts_from_the_first_batch() {
    let (mut bytes, first) = two_batches();
    bytes[first + 8] = 0xff;
    let error = batches(&bytes).nth(1).unwrap().unwrap_err();
    assert_eq!(error.at, first + 8);
}

#[test]
fn old_messages_are_an_error_that_says_so() {
    for magic in [0, 1] {
        let error = refusal(&patched(16, &[magic]));
        assert!(error.contains("magic 0 or 1, from before Kafka 0.11"), "{error}");
    }
    assert_eq!(refusal(&patched(16, &[3])), "batch magic at byte 16: 3 is not within 2 to 2");
}

#[test]
fn a_checksum_is_wrong_after_any_change_that_it_covers() {
    let (bytes, first) = two_batches();
    let bytes = &bytes[..first];
    for at in 17..first {
        let mut changed = bytes.to_vec();
        changed[at] ^= 0x20;
        // Some changes make it something that is no batch at all.
        if let Some(Ok(batch)) = batches(&changed).next() {
            assert!(!batch.crc_is_right(), "byte {at}");
        }
    }
    assert!(batches(bytes).next().unwrap().unwrap().crc_is_right());
}

#[test]
fn the_leader_may_write_offset_and_epoch_without_a_new_checksum() {
    let mut bytes = patched(0, &500_i64.to_be_bytes());
    bytes[12..16].copy_from_slice(&9_i32.to_be_bytes());
    let batch = batches(&bytes).next().unwrap().unwrap();
    assert!(batch.crc_is_right());
    assert_eq!((batch.base_offset, batch.next_offset(), batch.leader_epoch), (500, 503, 9));
}

#[test]
fn a_record_count_that_does_not_match_is_an_error() {
    let fewer = refusal(&patched(57, &4_i32.to_be_bytes()));
    assert!(fewer.contains("bytes are needed, 0 are left"), "{fewer}");
    let more = refusal(&patched(57, &2_i32.to_be_bytes()));
    assert!(
        more.starts_with("records of a batch") && more.contains("are left where it should end"),
        "{more}"
    );
    let absurd = refusal(&patched(57, &i32::MAX.to_be_bytes()));
    assert!(absurd.starts_with("records of a batch at byte 0"), "{absurd}");
    let negative = refusal(&patched(57, &(-1_i32).to_be_bytes()));
    assert_eq!(negative, "record count at byte 57: length -1 is negative");
}

#[test]
fn a_batch_that_compaction_emptied_is_right() {
    let mut bytes = patched(57, &0_i32.to_be_bytes());
    bytes.truncate(HEADER_BYTES);
    bytes[8..12].copy_from_slice(&49_i32.to_be_bytes());
    let batch = batches(&bytes).next().unwrap().unwrap();
    assert_eq!(batch.next_offset(), 3);
    assert_eq!(batch.records(&mut Decompressor::default()).unwrap().next(), None);
}

#[test]
fn an_offset_outside_of_the_batch_is_an_error() {
    let error = refusal(&patched(23, &1_i32.to_be_bytes()));
    assert!(error.starts_with("offset delta") && error.ends_with("2 is not within 0 to 1"), "{error}");
    let error = refusal(&patched(23, &(-1_i32).to_be_bytes()));
    assert_eq!(error, "last offset delta at byte 23: length -1 is negative");
    for base in [i64::MIN, -1, i64::MAX] {
        let error = refusal(&patched(0, &base.to_be_bytes()));
        assert!(error.starts_with(&format!("base offset at byte 0: {base} is not within 0 to")), "{error}");
    }
}

#[test]
fn a_codec_that_there_is_not_is_an_error() {
    let error = refusal(&patched(21, &7_i16.to_be_bytes()));
    assert_eq!(error, "compression of a batch at byte 21: 7 is not within 0 to 4");
}

#[test]
fn attributes_say_whose_time_it_is_and_what_the_batch_is_for() {
    let mut bytes = patched(21, &(8 + 16 + 32_i16).to_be_bytes());
    bytes[35..43].copy_from_slice(&7_777_i64.to_be_bytes());
    let batch = batches(&bytes).next().unwrap().unwrap();
    assert!(batch.transactional && batch.control);
    assert_eq!(batch.timestamp_type, TimestampType::LogAppend);
    assert_eq!(batch.max_timestamp_ms, 7_777);
}

#[test]
fn a_record_that_is_longer_or_shorter_than_its_parts_is_an_error() {
    let (bytes, _) = two_batches();
    let length = bytes[HEADER_BYTES];
    let shorter = refusal(&patched(HEADER_BYTES, &[4]));
    assert!(shorter.contains("its parts are longer than itself"), "{shorter}");
    // It takes the next record's first bytes for its headers, and what is left is no record.
    let longer = refusal(&patched(HEADER_BYTES, &[length + 4]));
    assert!(longer.starts_with("record"), "{longer}");
}

#[test]
fn headers_are_read_when_asked_for_and_the_last_of_a_name_counts() {
    let mut batch = BatchBuffer::new(10_000);
    batch
        .push(
            None,
            b"",
            &[
                RecordHeader { name: b"a", value: b"1" },
                RecordHeader { name: b"b", value: b"2" },
                RecordHeader { name: b"a", value: b"3" },
            ],
        )
        .unwrap();
    let bytes = batch.seal(1, &Seal { timestamp_ms: 0, producer: None }).to_vec();
    let read = |bytes: &[u8]| {
        let batch = batches(bytes).next().unwrap().unwrap();
        let mut decompressor = Decompressor::default();
        let record = batch.records(&mut decompressor).unwrap().next().unwrap().unwrap();
        record.header(b"a").map(|value| value.map(<[u8]>::to_vec))
    };
    assert_eq!(read(&bytes), Ok(Some(b"3".to_vec())));

    // A value that is longer than what is left of the record.
    let mut damaged = bytes.clone();
    let last_length = damaged.len() - 2;
    damaged[last_length] = 40;
    assert!(read(&damaged).unwrap_err().to_string().starts_with("header value"));

    // A null value.
    let mut null = bytes;
    null[last_length] = 1;
    assert!(matches!(read(&null).unwrap_err().problem, Problem::LeftOver(1)));
}
