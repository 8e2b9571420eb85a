//! A check that the processors' clocks agree: a reading is handed from one to another and back, many times.
//!
//! A reading made after another must not be smaller, on whatever processor. And as a hand-over takes no negative time, the
//! quickest one there and the quickest back bound by how much the two clocks differ.

use super::system::read_ns;
use crate::cpus::{allowed, stay_on};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Hand-overs of a pair, there and back.
const EXCHANGES: u64 = 2_000;
/// Pairs that are looked at; of more processors, evenly spread ones.
const PAIRS_MAX: usize = 32;
/// Turns of waiting before the processor is offered to somebody else, who may be the partner.
const SPINS: u32 = 5_000;

/// The result over all pairs of processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Pairs of processors.
    pub pairs: u32,
    /// Readings handed over.
    pub handed_over: u64,
    /// Readings smaller than the one that was handed over.
    pub backward: u64,
    /// The largest of these.
    pub backward_most_ns: u64,
    /// The clocks of the worst pair agree within this.
    pub agree_within_ns: u64,
}

/// The first allowed processor with each other one; none where there is only one, or the kernel does not let threads be
/// placed.
pub fn across_cpus(stop: &AtomicBool) -> Option<Agreement> {
    let cpus = allowed().ok()?;
    let (first, others) = cpus.split_first()?;
    let apart = others.len().div_ceil(PAIRS_MAX).max(1);
    let mut all = Agreement::default();
    for other in others.iter().step_by(apart) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if let Some(gaps) = pair(*first, *other, || read_ns(libc::CLOCK_MONOTONIC)) {
            all.add(&gaps);
        }
    }
    (all.pairs > 0).then_some(all)
}

impl Agreement {
    fn add(&mut self, gaps: &Gaps) {
        self.pairs += 1;
        for way in [&gaps.there_ns, &gaps.back_ns] {
            self.handed_over += way.len() as u64;
            self.backward += way.iter().filter(|gap| **gap < 0).count() as u64;
            let quickest = way.iter().copied().min().unwrap_or(0);
            self.backward_most_ns = self.backward_most_ns.max(quickest.min(0).unsigned_abs());
            self.agree_within_ns = self.agree_within_ns.max(quickest.unsigned_abs());
        }
    }
}

/// Later reading less earlier one, of each hand-over.
struct Gaps {
    there_ns: Vec<i64>,
    back_ns: Vec<i64>,
}

/// A reading on its way: the number of the hand-over says that it is there.
#[derive(Default)]
struct Slot {
    number: AtomicU64,
    reading_ns: AtomicU64,
}

impl Slot {
    fn put(&self, number: u64, reading_ns: u64) {
        self.reading_ns.store(reading_ns, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    fn take(&self, number: u64) -> u64 {
        let mut spins = 0;
        while self.number.load(Ordering::Acquire) < number {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.reading_ns.load(Ordering::Relaxed)
    }
}

/// Exchanges readings between threads on two processors; none when a thread could not be placed.
fn pair(here: u32, there: u32, read: impl Fn() -> u64 + Sync) -> Option<Gaps> {
    let (going, coming) = (Slot::default(), Slot::default());
    std::thread::scope(|scope| {
        let partner = scope.spawn(|| {
            let placed = stay_on(there).is_ok();
            let mut gaps = Vec::with_capacity(EXCHANGES as usize);
            for number in 1..=EXCHANGES {
                let sent = going.take(number);
                let now = read();
                gaps.push(now.wrapping_sub(sent) as i64);
                coming.put(number, now);
            }
            placed.then_some(gaps)
        });
        let own = scope.spawn(|| {
            let placed = stay_on(here).is_ok();
            let mut gaps = Vec::with_capacity(EXCHANGES as usize);
            for number in 1..=EXCHANGES {
                going.put(number, read());
                let sent = coming.take(number);
                gaps.push(read().wrapping_sub(sent) as i64);
            }
            placed.then_some(gaps)
        });
        let (back_ns, there_ns) = (own.join().ok()??, partner.join().ok()??);
        Some(Gaps { there_ns, back_ns })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getcpu;

    /// Two processors that the test may use; none on a machine with one.
    fn two() -> Option<(u32, u32)> {
        let cpus = allowed().unwrap();
        (cpus.len() > 1).then(|| (cpus[0], cpus[1]))
    }

    #[test]
    fn a_processor_whose_clock_is_a_second_behind_is_found_and_by_how_much() {
        let Some((here, there)) = two() else { return };
        let read = || {
            let true_ns = read_ns(libc::CLOCK_MONOTONIC);
            if sched_getcpu() as u32 == there { true_ns - 1_000_000_000 } else { true_ns }
        };
        let mut all = Agreement::default();
        all.add(&pair(here, there, read).unwrap());
        assert_eq!((all.handed_over, all.backward), (2 * EXCHANGES, EXCHANGES));
        // Behind by a second less the time that the quickest hand-over took.
        assert!(all.backward_most_ns <= 1_000_000_000 && all.agree_within_ns >= 1_000_000_000, "{all:?}");
    }

    #[test]
    fn clocks_that_agree_are_bounded_by_the_quickest_hand_overs() {
        let mut all = Agreement::default();
        all.add(&Gaps { there_ns: vec![90, 70, 500], back_ns: vec![110, 85] });
        all.add(&Gaps { there_ns: vec![60], back_ns: vec![40] });
        let expected =
            Agreement { pairs: 2, handed_over: 7, backward: 0, backward_most_ns: 0, agree_within_ns: 85 };
        assert_eq!(all, expected);
    }
}
