//! Whatever comes through the door of a run, before the token and after it: nothing panics, no claimed length is allocated for, and whoever
//! knows the token is let in all the same.
//!
//! An allocator that takes notes shows the largest piece that was asked for, by any thread of this process. `PROPTEST_CASES` makes it a
//! longer search.
#![expect(unsafe_code, reason = "an allocator cannot be watched in another way")]
#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

#[path = "links/door.rs"]
#[expect(dead_code, reason = "shared with the tests of links")]
mod door;
#[path = "links/stranger.rs"]
#[expect(dead_code, reason = "shared with the tests of links")]
mod stranger;

use door::{Door, PATIENCE};
use plumb_link::Workers;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use stranger::{Stranger, frame, greeting};

struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static PANICS: AtomicUsize = AtomicUsize::new(0);
/// Tests of this file take turns: the notes are of the whole process.
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call is passed on as it is; the note is a number.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// What is read of a socket in one turn, twice: a vector grows by doubling. Far less than the lengths that are claimed.
const MODEST_BYTES: usize = 1 << 20;

/// Has somebody do his worst, and checks what it did to this process.
fn harmless(worst: impl FnOnce(&Door)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let door = Door::open(Workers::Any(2));
    // A thread of the door that panics ends no test by itself.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Relaxed);
        usual(info);
    }));
    LARGEST.store(0, Relaxed);
    PANICS.store(0, Relaxed);
    worst(&door);
    let (largest, panics) = (LARGEST.load(Relaxed), PANICS.load(Relaxed));
    drop(std::panic::take_hook());
    assert_eq!(panics, 0);
    assert!(largest <= MODEST_BYTES, "{largest} bytes at once");
    let good = door.worker("good");
    assert!(good.broken().is_none());
}

/// Somebody who knows the token and was let in.
fn welcomed(door: &Door) -> Stranger {
    let mut worker = Stranger::at(door);
    let hello = json!({
        "build": "one build", "host": "there", "boot": null, "namespace_offset_ns": null, "claim": null,
        "cpus": 1, "facts": null,
    });
    worker.greet(&greeting(door, &json!({ "frames": hello })));
    worker
}

/// Bytes as somebody may say them: made up, or frames of which some claim more than there is.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let claims = (any::<u32>(), any::<u8>(), vec(any::<u8>(), 0..300));
    let claiming =
        claims.prop_map(|(length, kind, rest)| [&length.to_le_bytes()[..], &[kind], &rest].concat());
    let whole = (any::<u8>(), vec(any::<u8>(), 0..300)).prop_map(|(kind, content)| frame(kind, &content));
    let one = prop_oneof![vec(any::<u8>(), 0..600), claiming, whole];
    vec(one, 1..4).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_instead_of_tls_or_of_a_greeting_does_no_harm(bytes in bytes()) {
        harmless(|door| {
            let mut plain = TcpStream::connect(door.gathering.address()).unwrap();
            plain.set_read_timeout(Some(PATIENCE)).unwrap();
            // The other side may have closed already.
            let _closed = plain.write_all(&bytes).and_then(|()| plain.shutdown(std::net::Shutdown::Write));
            let _rest = plain.read_to_end(&mut Vec::new());
            let mut within_tls = Stranger::at(door);
            within_tls.say_last(&bytes);
            within_tls.hear_all();
        });
    }

    /// Somebody who knows the token, as a worker with a fault does.
    #[test]
    fn whatever_a_worker_says_after_it_was_welcomed_does_no_harm(bytes in bytes()) {
        harmless(|door| {
            let mut worker = welcomed(door);
            worker.say_last(&bytes);
            worker.hear_all();
        });
    }
}

#[test]
fn a_worker_that_sends_a_frame_of_four_gigabytes_is_closed_at_its_length() {
    harmless(|door| {
        let mut worker = welcomed(door);
        worker.say(&u32::MAX.to_le_bytes());
        worker.hear_all();
    });
}
