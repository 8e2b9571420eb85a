//! `/proc/pressure`: time in which work waited for a resource (kernel documentation, accounting/psi).

use plumb_model::facts::Pressure;

use crate::growth;

/// Counters of one reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PressureCounters {
    pub(super) cpu: Stall,
    pub(super) io: Stall,
    pub(super) memory: Stall,
}

/// Stall time since boot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stall {
    some_ns: Option<u64>,
    full_ns: Option<u64>,
}

/// `some avg10=0.00 avg60=0.18 avg300=0.63 total=7403707`, in microseconds.
pub(super) fn parse(text: &str) -> Stall {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let us: u64 = line.split_once("total=")?.1.trim().parse().ok()?;
        us.checked_mul(1000)
    };
    Stall { some_ns: total("some "), full_ns: total("full ") }
}

pub(super) fn delta(before: &PressureCounters, after: &PressureCounters) -> Pressure {
    Pressure {
        cpu_some_ns: growth(before.cpu.some_ns, after.cpu.some_ns),
        io_some_ns: growth(before.io.some_ns, after.io.some_ns),
        io_full_ns: growth(before.io.full_ns, after.io.full_ns),
        memory_some_ns: growth(before.memory.some_ns, after.memory.some_ns),
        memory_full_ns: growth(before.memory.full_ns, after.memory.full_ns),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn totals_are_microseconds_and_an_absent_line_is_absent() {
        let stall = parse("some avg10=0.00 avg60=0.18 avg300=0.63 total=7403707\n");
        assert_eq!(stall, Stall { some_ns: Some(7_403_707_000), full_ns: None });
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)((some|full) .{0,10}total=[0-9]{0,22}\n?){0,3}.{0,30}") {
            let _ = parse(&text);
        }
    }
}
