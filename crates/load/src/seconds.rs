//! Cuts what one thread records into seconds and passes them on.
//!
//! Parts are recycled: the thread takes an empty one that the block's bookkeeping has given back, so that a second's
//! end costs no allocation on the sending or receiving path once the block runs.

use crate::observation::{Measure, Origin, SecondPart};
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
    /// A part that is given back this way.
    pub(crate) fn of(part: SecondPart, back: &Sender<SecondPart>) -> Self {
        Parcel { part, back: back.clone() }
    }

    /// Keeps the part; the thread makes another.
    pub(crate) fn keep(self) -> SecondPart {
        self.part
    }

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
    /// The parts of the current second: one or two, and as many for each process whose messages come here.
    current: Vec<SecondPart>,
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
        Seconds { measure, start_ns, current: Vec::new(), out, back, empty }
    }

    /// The part for something that happened now.
    #[inline]
    pub(crate) fn at(&mut self, now_ns: u64, warm_up: bool) -> &mut SecondPart {
        self.at_from(None, now_ns, warm_up)
    }

    /// The part for something that happened now to a message of another process.
    #[inline]
    pub(crate) fn at_from(&mut self, origin: Option<Origin>, now_ns: u64, warm_up: bool) -> &mut SecondPart {
        self.pass(now_ns);
        let is_it = |part: &SecondPart| part.warm_up == warm_up && part.origin == origin;
        let at = match self.current.iter().position(is_it) {
            Some(at) => at,
            None => {
                let second = self.second_of(now_ns);
                let mut part = self.empty.try_recv().unwrap_or_else(|_| SecondPart::new(self.measure));
                (part.second, part.warm_up, part.origin) = (second, warm_up, origin);
                self.current.push(part);
                self.current.len() - 1
            }
        };
        &mut self.current[at]
    }

    /// Passes on what belongs to seconds that are over.
    #[inline]
    pub(crate) fn pass(&mut self, now_ns: u64) {
        let second = self.second_of(now_ns);
        while let Some(at) = self.current.iter().position(|part| part.second < second) {
            let part = self.current.swap_remove(at);
            // When the block's bookkeeping has ended, nobody wants the part any more.
            let _ = self.out.send(Parcel::of(part, &self.back));
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
