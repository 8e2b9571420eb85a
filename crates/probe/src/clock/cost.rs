//! The cost of a reading of each clock, by either way, and the clock's smallest step.

use super::system::{read_by_system_call_ns, read_ns, stated_step_ns};
use plumb_model::random::Random;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Readings in a block: a quarter of a millisecond at 25 ns each, so that the two readings around it do not count.
const READS: u32 = 10_000;
const BLOCKS: usize = 15;

/// A clock is looked at for so many steps or so long: the coarse ones step once in 1 to 10 ms.
const STEPS: u32 = 1_000;
const STEPS_TIME_NS: u64 = 30_000_000;

/// A clock that programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Name as in `clock_gettime(2)`.
    pub name: &'static str,
    id: libc::clockid_t,
}

/// Plumb's latencies are read from the first; brokers' timestamps come from the second.
const CLOCKS: [Clock; 5] = [
    Clock { name: "CLOCK_MONOTONIC", id: libc::CLOCK_MONOTONIC },
    Clock { name: "CLOCK_REALTIME", id: libc::CLOCK_REALTIME },
    Clock { name: "CLOCK_MONOTONIC_RAW", id: libc::CLOCK_MONOTONIC_RAW },
    Clock { name: "CLOCK_BOOTTIME", id: libc::CLOCK_BOOTTIME },
    Clock { name: "CLOCK_MONOTONIC_COARSE", id: libc::CLOCK_MONOTONIC_COARSE },
];

/// The measurements of one clock.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockCost {
    /// The clock.
    pub clock: Clock,
    /// Cost of a reading as programs do it, of each block.
    pub read_ns: Vec<f64>,
    /// Cost of a reading by a system call, of each block.
    pub system_call_ns: Vec<f64>,
    /// Step that the kernel states.
    pub stated_step_ns: Option<u64>,
    /// Smallest difference of two readings in a row that differ.
    pub step_ns: Option<u64>,
    /// Readings smaller than the one before.
    pub backward: u64,
}

/// Measures all clocks, in blocks of random order; about a quarter of a second.
pub fn read_costs(stop: &AtomicBool) -> Vec<ClockCost> {
    let mut costs: Vec<ClockCost> = CLOCKS.iter().map(|clock| ClockCost::new(*clock)).collect();
    let ways = 2 * costs.len();
    let mut order: Vec<usize> = (0..ways).collect();
    let mut random = Random::new(1);
    for _ in 0..BLOCKS {
        random.shuffle(&mut order);
        for way in &order {
            if stop.load(Relaxed) {
                return costs;
            }
            let cost = &mut costs[way / 2];
            let id = cost.clock.id;
            match way % 2 {
                0 => cost.read_ns.push(block_ns(|| read_ns(id))),
                _ => cost.system_call_ns.push(block_ns(|| read_by_system_call_ns(id))),
            }
        }
    }
    for cost in &mut costs {
        (cost.step_ns, cost.backward) = steps(|| read_ns(cost.clock.id));
    }
    costs
}

impl ClockCost {
    fn new(clock: Clock) -> Self {
        ClockCost {
            clock,
            read_ns: Vec::new(),
            system_call_ns: Vec::new(),
            stated_step_ns: stated_step_ns(clock.id),
            step_ns: None,
            backward: 0,
        }
    }
}

/// Mean cost of a reading. The time is taken from the monotonic clock: the one that is read may stand still.
fn block_ns(read: impl Fn() -> u64) -> f64 {
    let start = read_ns(libc::CLOCK_MONOTONIC);
    for _ in 0..READS {
        std::hint::black_box(read());
    }
    (read_ns(libc::CLOCK_MONOTONIC) - start) as f64 / f64::from(READS)
}

/// Smallest step of a clock, and how often it went back.
fn steps(read: impl Fn() -> u64) -> (Option<u64>, u64) {
    let until = read_ns(libc::CLOCK_MONOTONIC) + STEPS_TIME_NS;
    let (mut smallest, mut backward, mut seen) = (None, 0, 0);
    let mut last = read();
    while seen < STEPS && read_ns(libc::CLOCK_MONOTONIC) < until {
        let now = read();
        match now.checked_sub(last) {
            None => backward += 1,
            Some(0) => {}
            Some(step) => {
                smallest = Some(smallest.map_or(step, |least: u64| least.min(step)));
                seen += 1;
            }
        }
        last = now;
    }
    (smallest, backward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_clock_that_steps_by_seven_and_once_goes_back_is_told_as_that() {
        let readings = Cell::new(0u64);
        // 0 0 7 7 14 14 ..., and the 41st reading is one of long ago.
        let clock = || {
            let n = readings.get();
            readings.set(n + 1);
            if n == 40 { 3 } else { n / 2 * 7 }
        };
        assert_eq!(steps(clock), (Some(7), 1));
    }

    #[test]
    fn a_clock_that_stands_still_has_no_step() {
        assert_eq!(steps(|| 5), (None, 0));
    }

    #[test]
    fn every_clock_is_read_by_both_ways() {
        let costs = read_costs(&AtomicBool::new(false));
        assert_eq!(costs.len(), CLOCKS.len());
        for cost in costs {
            assert_eq!((cost.read_ns.len(), cost.system_call_ns.len()), (BLOCKS, BLOCKS), "{cost:?}");
            assert!(cost.read_ns.iter().all(|ns| *ns > 0.0), "{cost:?}");
        }
    }

    #[test]
    fn a_stop_ends_it_with_what_was_measured() {
        let costs = read_costs(&AtomicBool::new(true));
        assert!(costs.iter().all(|cost| cost.read_ns.is_empty() && cost.step_ns.is_none()));
    }
}
