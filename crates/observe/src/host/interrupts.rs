//! Interrupts by CPU: `/proc/interrupts`, `/proc/softirqs` and the columns irq and softirq of `/proc/stat`.
//!
//! The first two are tables of unsigned counters of 32 bits with a head of CPUs, of which only those on line have a column. A row
//! that goes away (an interrupt that was freed) is no growth; a counter that went back makes the figure of its CPU absent.

use crate::{HostRoot, growth, ticks_ns};
use plumb_model::observed::InterruptsOfCpu;
use std::collections::BTreeMap;

/// Counters of one reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Interrupts {
    hardware: Table,
    soft: Table,
    times: BTreeMap<u32, Ticks>,
}

/// Time since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ticks {
    interrupt: u64,
    softirq: u64,
}

/// Rows of counters by their label.
#[derive(Debug, Clone, Default, PartialEq)]
struct Table {
    cpus: Vec<u32>,
    rows: BTreeMap<String, Vec<u64>>,
}

pub(super) fn read(root: &HostRoot) -> Interrupts {
    let text = |path: &str| root.read(path).unwrap_or_default();
    let is_device = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    Interrupts {
        hardware: table(&text("/proc/interrupts"), is_device),
        soft: table(&text("/proc/softirqs"), |label| label == "NET_RX"),
        times: times(&text("/proc/stat")),
    }
}

/// The wanted rows of a table; a row with fewer counters than CPUs is of another kind and left out.
fn table(text: &str, is_wanted: impl Fn(&str) -> bool) -> Table {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_ascii_whitespace();
    let cpus: Option<Vec<u32>> = head.map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let cpus = cpus.unwrap_or_default();
    let row = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let label = Some(label.trim()).filter(|label| !label.is_empty() && is_wanted(label))?;
        let counters: Vec<u64> =
            rest.split_ascii_whitespace().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
        (counters.len() == cpus.len()).then(|| (label.to_owned(), counters))
    };
    Table { rows: lines.filter_map(row).collect(), cpus }
}

/// `cpu3 user nice system idle iowait irq softirq ...`
fn times(stat: &str) -> BTreeMap<u32, Ticks> {
    let row = |line: &str| {
        let (cpu, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
        let mut columns = rest.split_ascii_whitespace().skip(5).map(|word| word.parse().ok());
        let (interrupt, softirq) = (columns.next()??, columns.next()??);
        Some((cpu.parse().ok()?, Ticks { interrupt, softirq }))
    };
    stat.lines().filter_map(row).collect()
}

impl Table {
    /// Growth of a CPU's counters over all rows that both readings have; absent where one went back, or a reading lacks the CPU.
    fn growth(before: &Table, after: &Table, cpu: u32) -> Option<u64> {
        let column = |table: &Table| table.cpus.iter().position(|other| *other == cpu);
        let (earlier, later) = (column(before)?, column(after)?);
        let mut sum = 0u64;
        for (label, counters) in &after.rows {
            let Some(earlier_counters) = before.rows.get(label) else { continue };
            sum = sum.checked_add(growth(Some(earlier_counters[earlier]), Some(counters[later]))?)?;
        }
        (!after.rows.is_empty()).then_some(sum)
    }
}

/// What happened between two readings, for the CPUs that were on line at both.
pub(super) fn delta(before: &Interrupts, after: &Interrupts) -> Vec<InterruptsOfCpu> {
    let of = |(cpu, later): (&u32, &Ticks)| {
        let earlier = before.times.get(cpu)?;
        let ns =
            |ticks: fn(&Ticks) -> u64| growth(Some(ticks(earlier)), Some(ticks(later))).and_then(ticks_ns);
        Some(InterruptsOfCpu {
            cpu: *cpu,
            hardware: Table::growth(&before.hardware, &after.hardware, *cpu),
            net_rx: Table::growth(&before.soft, &after.soft, *cpu),
            interrupt_ns: ns(|ticks| ticks.interrupt),
            softirq_ns: ns(|ticks| ticks.softirq),
        })
    };
    after.times.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;

    /// A host with two processors, of which the second may be off line.
    fn host(folder: &Path, interrupts: &str, softirqs: &str, stat: &str) -> Interrupts {
        let proc = folder.join("proc");
        fs::create_dir_all(&proc).unwrap();
        for (name, text) in [("interrupts", interrupts), ("softirqs", softirqs), ("stat", stat)] {
            fs::write(proc.join(name), text).unwrap();
        }
        read(&HostRoot::new(folder))
    }

    #[test]
    fn devices_are_counted_by_cpu_and_timers_and_freed_interrupts_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let before = host(
            folder.path(),
            "      CPU0  CPU2\n 24:  10  20  PCI-MSIX eth0-rx\n 25:  5  5  freed\nLOC:  900  900  Local timer\nERR:  0\n",
            "      CPU0  CPU1  CPU2\n NET_RX:  100  0  300\n TIMER:  7  7  7\n",
            "cpu  1 1 1 1 1 1 1 0\ncpu0 1 1 1 1 1 2 30 0\ncpu2 1 1 1 1 1 0 50 0\n",
        );
        let after = host(
            folder.path(),
            "      CPU0  CPU2\n 24:  17  20  PCI-MSIX eth0-rx\nLOC:  999  999  Local timer\nERR:  0\n",
            "      CPU0  CPU1  CPU2\n NET_RX:  150  0  301\n TIMER:  9  9  9\n",
            "cpu  1 1 1 1 1 1 1 0\ncpu0 1 1 1 1 1 3 34 0\ncpu2 1 1 1 1 1 0 50 0\n",
        );
        let of = |cpu, hardware, net_rx, interrupt_ns, softirq_ns| InterruptsOfCpu {
            cpu,
            hardware: Some(hardware),
            net_rx: Some(net_rx),
            interrupt_ns: Some(interrupt_ns),
            softirq_ns: Some(softirq_ns),
        };
        let expected = [of(0, 7, 50, 10_000_000, 40_000_000), of(2, 0, 1, 0, 0)];
        assert_eq!(delta(&before, &after), expected);
    }

    #[test]
    fn a_cpu_that_came_or_went_has_no_row_and_a_counter_that_went_back_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let stat = "cpu0 1 1 1 1 1 1 9 0\ncpu1 1 1 1 1 1 1 9 0\n";
        let before =
            host(folder.path(), " CPU0 CPU1\n 24: 10 20 x\n", " CPU0 CPU1\n NET_RX: 4294967290 5\n", stat);
        let after =
            host(folder.path(), " CPU0\n 24: 9 x\n", " CPU0 CPU1\n NET_RX: 4 6\n", "cpu0 1 1 1 1 1 1 8 0\n");
        let delta = delta(&before, &after);
        assert_eq!(delta.len(), 1, "{delta:?}");
        let row = &delta[0];
        assert_eq!((row.cpu, row.hardware, row.net_rx, row.softirq_ns), (0, None, None, None));
    }

    #[test]
    fn a_host_that_shows_none_of_it_has_no_rows() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = read(&HostRoot::new(folder.path()));
        assert_eq!(delta(&nothing, &nothing), []);
    }

    #[test]
    fn this_host_shows_its_own() {
        let root = HostRoot::default();
        let before = read(&root);
        let rows = delta(&before, &read(&root));
        assert!(!rows.is_empty() && rows.iter().all(|row| row.softirq_ns.is_some()), "{rows:?}");
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)( CPU[0-9]{0,11}){0,3}\n(( [0-9]{0,3}|NET_RX|.{0,3}):( [0-9]{0,22}){0,4}\n){0,4}.{0,20}") {
            let table = table(&text, |_| true);
            let _ = Table::growth(&table, &table, 0);
            let _ = times(&text);
        }
    }
}
