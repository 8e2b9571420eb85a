//! The processor time of the seconds of a block, read from the processes' own clocks at the beginning of each second.
//!
//! Only so can the CPU time of a block without its warm-up be told, whose length nobody knows before the block is over. The CPU
//! time of a whole measured part, thread by thread, is read at its ends (`readings.rs`).

use super::fold::beginning::SECONDS_MOST;
use plumb_observe::process_cpu_ns;
use std::collections::BTreeMap;

/// Processor time that processes had used so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuReading {
    client_ns: Option<u64>,
    /// Of all brokers; absent where they are not known, or one of them is not there.
    brokers_ns: Option<u64>,
}

impl CpuReading {
    pub(super) fn now(broker_pids: &[u32]) -> Self {
        let brokers_ns = broker_pids.iter().map(|pid| process_cpu_ns(*pid)).sum();
        CpuReading {
            client_ns: process_cpu_ns(std::process::id()),
            brokers_ns: if broker_pids.is_empty() { None } else { brokers_ns },
        }
    }
}

/// Readings of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuBySecond {
    /// At the begin of a second of the measured part, as far as a warm-up may reach.
    at: BTreeMap<u32, CpuReading>,
    end: Option<CpuReading>,
}

/// Processor time from one of the block's seconds to the end of its measured part; absent where it was not read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuSince {
    pub(super) client_s: Option<f64>,
    pub(super) brokers_s: Option<f64>,
}

impl CpuBySecond {
    pub(super) fn second_begins(&mut self, second: u32, reading: CpuReading) {
        if self.at.len() <= SECONDS_MOST {
            self.at.insert(second, reading);
        }
    }

    pub(super) fn measured_part_ends(&mut self, reading: CpuReading) {
        self.end = Some(reading);
    }

    pub(super) fn since(&self, second: u32) -> CpuSince {
        let used_s = |of: fn(&CpuReading) -> Option<u64>| {
            let (begin, end) = (of(self.at.get(&second)?)?, of(self.end.as_ref()?)?);
            Some(end.checked_sub(begin)? as f64 / 1e9)
        };
        CpuSince { client_s: used_s(|at| at.client_ns), brokers_s: used_s(|at| at.brokers_ns) }
    }
}

#[cfg(test)]
impl CpuBySecond {
    /// A block that ends with second `end`, whose client uses so much in each second, and whose brokers twice as much.
    pub(super) fn made_up(end: u32, client_ns: impl Fn(u32) -> u64) -> Self {
        let mut cpu = CpuBySecond::default();
        let mut used_ns = 0;
        for second in 0..=end {
            let reading = CpuReading { client_ns: Some(used_ns), brokers_ns: Some(2 * used_ns) };
            if second == end {
                cpu.measured_part_ends(reading);
            } else {
                cpu.second_begins(second, reading);
            }
            used_ns += client_ns(second);
        }
        cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_second_cost_before_the_cut_is_left_out_and_a_second_that_was_not_read_has_none() {
        let cpu = CpuBySecond::made_up(10, |second| if second < 4 { 900_000_000 } else { 100_000_000 });
        assert_eq!(cpu.since(4), CpuSince { client_s: Some(0.6), brokers_s: Some(1.2) });
        assert_eq!(cpu.since(3).client_s, Some(1.5));
        assert_eq!(cpu.since(11), CpuSince { client_s: None, brokers_s: None });
    }

    #[test]
    fn brokers_that_are_not_known_have_no_cpu_time_and_neither_do_those_that_are_gone() {
        assert_eq!(CpuReading::now(&[]).brokers_ns, None);
        let own = std::process::id();
        assert!(CpuReading::now(&[own]).brokers_ns.is_some());
        assert_eq!(CpuReading::now(&[own, u32::MAX]).brokers_ns, None);
    }
}
