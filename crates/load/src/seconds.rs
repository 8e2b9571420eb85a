//! Cuts what one thread records into seconds and passes them on.
//!
//! Parts are recycled: the thread takes an empty one that the block's bookkeeping has given back, so that a second's
//! end costs no allocation on the sending or receiving path once the block runs.

use crate::observation::{Measure, SecondPart};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

const SECOND_NS: u64 = 1_000_000_000;

/// A part and where to give it back to.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) part: SecondPart,
    back: Sender<SecondPart>,
}

impl Parcel {
    /// Gives the part back, emptied.
    pub(crate) fn give_back(mut self) {
        self.part.clear();
        // A thread that has ended needs it no more.
        let _ = self.back.send(self.part);
    }
}

/// The seconds of one thread.
#[derive(Debug)]
pub(crate) struct Seconds<'a> {
    measure: Measure,
    /// The block's start; nothing happens before it is known.
    start_ns: &'a AtomicU64,
    /// Warm-up and measured part of the current second.
    current: [Option<SecondPart>; 2],
    out: Sender<Parcel>,
    back: Sender<SecondPart>,
    empty: Receiver<SecondPart>,
}

impl<'a> Seconds<'a> {
    /// Seconds counted from `start_ns`, passed on to `out`.
    pub(crate) fn new(measure: Measure, start_ns: &'a AtomicU64, out: Sender<Parcel>) -> Self {
        let (back, empty) = std::sync::mpsc::channel();
        for _ in 0..3 {
            // The receiver is at hand, so this cannot fail.
            let _ = back.send(SecondPart::new(measure));
        }
        Seconds { measure, start_ns, current: [None, None], out, back, empty }
    }

    /// The part for something that happened now.
    pub(crate) fn at(&mut self, now_ns: u64, warm_up: bool) -> &mut SecondPart {
        self.pass(now_ns);
        let second = self.second_of(now_ns);
        let (empty, measure) = (&self.empty, self.measure);
        self.current[usize::from(warm_up)].get_or_insert_with(|| {
            let mut part = empty.try_recv().unwrap_or_else(|_| SecondPart::new(measure));
            part.second = second;
            part.warm_up = warm_up;
            part
        })
    }

    /// Passes on what belongs to seconds that are over.
    pub(crate) fn pass(&mut self, now_ns: u64) {
        let second = self.second_of(now_ns);
        for slot in &mut self.current {
            if let Some(part) = slot.take_if(|part| part.second < second) {
                // When the block's bookkeeping has ended, nobody wants the part any more.
                let _ = self.out.send(Parcel { part, back: self.back.clone() });
            }
        }
    }

    /// Passes on everything.
    pub(crate) fn finish(mut self) {
        self.pass(u64::MAX);
    }

    fn second_of(&self, now_ns: u64) -> u32 {
        u32::try_from(now_ns.saturating_sub(self.start_ns.load(Ordering::Acquire)) / SECOND_NS)
            .unwrap_or(u32::MAX)
    }
}
