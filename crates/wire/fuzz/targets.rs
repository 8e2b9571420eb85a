//! Every decoder of bytes from the network, each as a function of any bytes that must neither panic nor allocate more than it was given.
//!
//! The fuzz targets run them, and so does the test `hostile_bytes`, with mutated valid messages. The first byte chooses a version or a codec
//! where there is a choice.

use plumb_wire::compression::{Codec, Decompressor};
use plumb_wire::connection::FrameBuffer;
use plumb_wire::sasl::{Authenticate, Handshake};
use plumb_wire::versions::ApiVersions;
use plumb_wire::{control, fetch, metadata, produce, record};
use std::cell::RefCell;
use std::ops::RangeInclusive;

/// Most bytes that come out of a decompressor.
pub const LIMIT_BYTES: usize = 1 << 20;

/// A name and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; each has a file of its name in `fuzz_targets`.
pub const ALL: [Target; 10] = [
    ("api_versions", api_versions),
    ("decompress", decompress),
    ("fetch_response", fetch_response),
    ("frames", frames),
    ("list_offsets", list_offsets),
    ("metadata", metadata_response),
    ("produce_response", produce_response),
    ("producer_id", producer_id),
    ("records", records),
    ("sasl", sasl),
];

/// The response to ApiVersions.
pub fn api_versions(data: &[u8]) {
    let _ = ApiVersions::read(data);
}

/// Reads the content of a compressed batch.
pub fn decompress(data: &[u8]) {
    let Some((choice, compressed)) = data.split_first() else { return };
    let codec = Codec::ALL[usize::from(*choice) % Codec::ALL.len()];
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        if let Ok(plain) = decompressor.decompress(codec, compressed) {
            assert!(codec == Codec::None || plain.len() <= LIMIT_BYTES);
        }
    });
}

/// The response to Fetch, with the records in it.
pub fn fetch_response(data: &[u8]) {
    let Some((version, body)) = version(data, fetch::VERSIONS) else { return };
    let _ = fetch::read_response(version, body, &mut |partition| records(partition.records));
}

/// A stream, in pieces of sizes that the first byte says.
pub fn frames(data: &[u8]) {
    let Some((piece, mut stream)) = data.split_first() else { return };
    let mut buffer = FrameBuffer::new(1 << 16);
    while !stream.is_empty() {
        let _ = buffer.fill(|room| {
            let length = room.len().min(stream.len()).min(1 + usize::from(*piece));
            room[..length].copy_from_slice(&stream[..length]);
            stream = &stream[length..];
            Ok(length)
        });
        loop {
            match buffer.take_next() {
                Ok(Some(found)) => assert!(buffer.frame(found).body.len() <= 1 << 16),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// The response to ListOffsets.
pub fn list_offsets(data: &[u8]) {
    let Some((version, body)) = version(data, 1..=5) else { return };
    let _ = control::read_offsets(version, "t", body);
}

/// The response to Metadata.
pub fn metadata_response(data: &[u8]) {
    let Some((version, body)) = version(data, 1..=8) else { return };
    let _ = metadata::read_response(version, "t", body);
}

/// The response to Produce.
pub fn produce_response(data: &[u8]) {
    let Some((version, body)) = version(data, produce::VERSIONS) else { return };
    let _ = produce::read_response(version, body, &mut |_| {});
}

/// The response to InitProducerId.
pub fn producer_id(data: &[u8]) {
    let _ = control::read_producer_id(data);
}

/// Batches with their records and headers.
pub fn records(data: &[u8]) {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let mut walked = 0;
        for batch in record::batches(data).map_while(Result::ok) {
            walked += batch.bytes().len();
            batch.crc_is_right();
            assert!(batch.next_offset() > batch.base_offset);
            let Ok(records) = batch.records(decompressor) else { continue };
            let mut count = 0;
            for record in records.map_while(Result::ok) {
                count += 1;
                assert!((batch.base_offset..batch.next_offset()).contains(&batch.offset(&record)));
                let _ = record.header(b"plumb");
            }
            assert!(count <= batch.record_count);
        }
        assert!(walked <= data.len());
    });
}

/// The responses to SaslHandshake and SaslAuthenticate.
pub fn sasl(data: &[u8]) {
    let _ = Handshake::read(data);
    let Some((version, body)) = version(data, 0..=1) else { return };
    let _ = Authenticate::read(version, body);
}

thread_local! {
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new(LIMIT_BYTES));
}

/// One of the versions, as the first byte says, and the rest.
fn version(data: &[u8], versions: RangeInclusive<i16>) -> Option<(i16, &[u8])> {
    let (choice, body) = data.split_first()?;
    let count = versions.end() - versions.start() + 1;
    Some((versions.start() + i16::from(*choice) % count, body))
}
