//! Whatever a broker sends, nothing panics and no claimed length is allocated for.
//!
//! The decoders are those of the fuzz targets; here they get valid messages that were damaged (`PROPTEST_CASES=100000` makes it a
//! longer search). An allocator that takes notes shows what they ask for. Memory that the C libraries of LZ4 and Zstandard take for
//! themselves is not seen: see those modules.
#![expect(unsafe_code, reason = "an allocator cannot be watched in another way")]

#[path = "../fuzz/seeds.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use it from outside")]
mod seeds;
#[path = "../fuzz/targets.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use it from outside")]
mod targets;

use plumb_wire::batch::{BatchBuffer, CompressedBatch, LARGEST_BATCH_BYTES, RecordHeader, Seal};
use plumb_wire::compression::{Codec, Compressor, Decompressor};
use plumb_wire::fetch;
use plumb_wire::record::batches;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Passes everything on, and keeps for each thread how often and how much at once it was asked for.
struct Watched;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on as it is; the notes are in cells that need no allocation.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn note(bytes: usize) {
    COUNT.set(COUNT.get() + 1);
    LARGEST.set(LARGEST.get().max(bytes));
}

/// The number of requests for memory, and the largest of them.
fn watched(run: impl FnOnce()) -> (usize, usize) {
    COUNT.set(0);
    LARGEST.set(0);
    run();
    (COUNT.get(), LARGEST.get())
}

/// More than a reader's first buffers, less than any length that a test claims.
const MODEST_BYTES: usize = 256 << 10;

/// A kind of damage to a message.
#[derive(Debug, Clone)]
enum Damage {
    Byte(Index, u8),
    Length(Index, i32),
    Cut(Index),
    Repeat(Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let lengths = [i32::MAX, i32::MIN, -1, -2, 0, 1, 0x7fff, 1 << 20, 1 << 30];
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        4 => (any::<Index>(), proptest::sample::select(lengths.to_vec())).prop_map(|(at, to)| Damage::Length(at, to)),
        1 => any::<Index>().prop_map(Damage::Cut),
        1 => (any::<Index>(), 1..20_u8).prop_map(|(at, times)| Damage::Repeat(at, times)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Byte(at, byte) => *at.get_mut(&mut bytes) = *byte,
            Damage::Length(at, to) => {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + 4);
                bytes[at..end].copy_from_slice(&to.to_be_bytes()[..end - at]);
            }
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Repeat(at, times) => {
                let tail = bytes[at.index(bytes.len())..].to_vec();
                for _ in 0..*times {
                    bytes.extend_from_slice(&tail[..tail.len().min(100)]);
                }
            }
        }
    }
    bytes
}

proptest! {
    #[test]
    fn a_damaged_message_is_no_panic_and_no_large_allocation(
        chosen in any::<Index>(), damages in vec(damage(), 1..6),
    ) {
        for (name, target) in targets::ALL {
            let bytes = damaged(chosen.get(&seeds::of(name)).clone(), &damages);
            let (_, largest) = watched(|| target(&bytes));
            // A damaged frame of compressed bytes may really hold as much as a decompressor lets out.
            let most = MODEST_BYTES + if ["decompress", "fetch_response", "records"].contains(&name) { targets::LIMIT_BYTES } else { 0 };
            prop_assert!(largest <= most, "{} asked for {} bytes at once", name, largest);
        }
    }

    #[test]
    fn any_bytes_are_no_panic(bytes in vec(any::<u8>(), 0..300)) {
        for (_, target) in targets::ALL {
            target(&bytes);
        }
    }
}

#[test]
fn every_target_has_a_fuzz_target_and_seeds() {
    for (name, target) in targets::ALL {
        let file = format!("{}/fuzz/fuzz_targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&file).exists(), "{file}");
        let seeds = seeds::of(name);
        assert!(!seeds.is_empty());
        seeds.iter().for_each(|seed| target(seed));
    }
}

#[test]
fn a_length_of_two_gigabytes_at_any_place_is_not_allocated_for() {
    for (name, target) in targets::ALL {
        for seed in seeds::of(name) {
            for at in 0..seed.len().saturating_sub(4) {
                let mut bytes = seed.clone();
                bytes[at..at + 4].copy_from_slice(&i32::MAX.to_be_bytes());
                let (_, largest) = watched(|| target(&bytes));
                assert!(largest <= MODEST_BYTES, "{name} at byte {at}: {largest} bytes at once");
            }
        }
    }
}

#[test]
fn a_compressed_batch_that_claims_gigabytes_is_an_error_before_they_are_allocated() {
    let snappy_claim =
        [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x06"[..], &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]].concat();
    let raw_snappy_claim = vec![0xff, 0xff, 0xff, 0x7f, 0, 0];
    // A frame with an eight-byte content size of 2^40 and one raw block.
    let zstd_claim =
        [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &(1_u64 << 40).to_le_bytes(), &[0x09, 0, 0, b'x']].concat();
    // A window of 2^41 bytes.
    let zstd_window = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x09, 0, 0, b'x'];
    for (codec, bytes) in [
        (Codec::Snappy, snappy_claim),
        (Codec::Snappy, raw_snappy_claim),
        (Codec::Zstd, zstd_claim),
        (Codec::Zstd, zstd_window),
    ] {
        let (_, largest) = watched(|| {
            Decompressor::new(1 << 30).decompress(codec, &bytes).unwrap_err();
        });
        assert!(largest <= MODEST_BYTES, "{codec}: {largest} bytes at once");
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let plain = vec![0; 64 << 20];
    for codec in Codec::ALL.into_iter().skip(1) {
        let mut bomb = Vec::new();
        Compressor::new(codec, None).unwrap().compress(&plain, &mut bomb).unwrap();
        assert!(bomb.len() < plain.len() / 20);
        let (_, largest) = watched(|| {
            let error = *Box::new(Decompressor::new(1 << 20).decompress(codec, &bomb).unwrap_err());
            assert!(error.to_string().contains("is not within 0 to 1048576"), "{codec}: {error}");
        });
        assert!(largest <= 3 << 20, "{codec}: {largest} bytes at once");
        assert_eq!(Decompressor::new(plain.len()).decompress(codec, &bomb).unwrap().len(), plain.len());
        Decompressor::new(plain.len() - 1).decompress(codec, &bomb).unwrap_err();
    }
}

#[test]
fn a_batch_that_is_used_again_allocates_nothing() {
    let seal = Seal { timestamp_ms: 1, producer: None };
    let mut batch = BatchBuffer::new(LARGEST_BATCH_BYTES);
    let mut snappy = Compressor::new(Codec::Snappy, None).unwrap();
    let mut out = CompressedBatch::new();
    let mut round = || {
        batch.clear();
        for _ in 0..500 {
            batch.push(Some(b"key"), &[1; 100], &[RecordHeader { name: b"plumb", value: &[0; 48] }]).unwrap();
        }
        batch.last_header_mut(3).fill(9);
        batch.seal(400, &seal);
        batch.seal_compressed(500, &seal, &mut snappy, &mut out).unwrap();
    };
    round();
    assert_eq!(watched(round).0, 0);
}

#[test]
fn reading_what_was_fetched_allocates_nothing_per_record() {
    let seed = seeds::of("fetch_response").pop().unwrap();
    let mut batch = BatchBuffer::new(1 << 20);
    for _ in 0..1_000 {
        batch.push(None, &[1; 100], &[RecordHeader { name: b"plumb", value: &[0; 48] }]).unwrap();
    }
    let plain = batch.seal(1_000, &Seal { timestamp_ms: 1, producer: None }).to_vec();
    let mut out = CompressedBatch::new();
    let mut snappy = Compressor::new(Codec::Snappy, None).unwrap();
    let seal = Seal { timestamp_ms: 1, producer: None };
    batch.seal_compressed(1_000, &seal, &mut snappy, &mut out).unwrap();
    let mut decompressor = Decompressor::default();
    let mut round = || {
        fetch::read_response(11, &seed[1..], &mut |_| {}).unwrap();
        for bytes in [&plain[..], out.bytes()] {
            let batch = batches(bytes).next().unwrap().unwrap();
            assert!(batch.crc_is_right());
            let records = batch.records(&mut decompressor).unwrap();
            let stamps =
                records.filter(|record| record.as_ref().unwrap().header(b"plumb").unwrap().is_some());
            assert_eq!(stamps.count(), 1_000);
        }
    };
    round();
    assert_eq!(watched(round).0, 0);
}
