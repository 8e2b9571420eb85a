//! `/proc/stat`: processor times and context switches (proc_stat(5)).

use std::collections::BTreeMap;

use plumb_model::facts::{CpuTime, OneCpu};

use crate::{growth, ticks_ns};

/// Counters of one reading.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CpuCounters {
    pub(super) total: Ticks,
    pub(super) each: BTreeMap<u32, Ticks>,
    pub(super) context_switches: Option<u64>,
}

/// Ticks since boot, by use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ticks {
    /// user + nice + system + irq + softirq. The guest columns are part of user and nice already.
    busy: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

pub(super) fn parse(text: &str) -> Option<CpuCounters> {
    let mut total = None;
    let mut each = BTreeMap::new();
    let mut context_switches = None;
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        match (key, key.strip_prefix("cpu")) {
            ("cpu", _) => total = Some(parse_ticks(rest)?),
            (_, Some(number)) => {
                each.insert(number.parse().ok()?, parse_ticks(rest)?);
            }
            ("ctxt", _) => context_switches = rest.trim().parse().ok(),
            _ => {}
        }
    }
    Some(CpuCounters { total: total?, each, context_switches })
}

/// `user nice system idle iowait irq softirq steal ...`
fn parse_ticks(text: &str) -> Option<Ticks> {
    let mut columns = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || columns.next().flatten();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
    let busy = [nice, system, irq, softirq].into_iter().try_fold(user, u64::checked_add)?;
    Some(Ticks { busy, idle, iowait, steal })
}

pub(super) fn delta(before: &Ticks, after: &Ticks) -> CpuTime {
    let ns = |part: fn(&Ticks) -> u64| growth(Some(part(before)), Some(part(after))).and_then(ticks_ns);
    // The kernel may take from iowait what it gives to idle, so only their sum is sure to grow.
    let waiting = |ticks: &Ticks| ticks.idle.checked_add(ticks.iowait);
    let waiting_ns = growth(waiting(before), waiting(after)).and_then(ticks_ns);
    let (busy_ns, steal_ns) = (ns(|ticks| ticks.busy), ns(|ticks| ticks.steal));
    let total_ns =
        busy_ns.zip(steal_ns).zip(waiting_ns).and_then(|((a, b), c)| a.checked_add(b)?.checked_add(c));
    CpuTime { busy_ns, steal_ns, iowait_ns: ns(|ticks| ticks.iowait), total_ns }
}

pub(super) fn each_delta(before: &CpuCounters, after: &CpuCounters) -> Vec<OneCpu> {
    let both = after.each.iter().filter_map(|(cpu, ticks)| Some((*cpu, before.each.get(cpu)?, ticks)));
    both.map(|(cpu, before, after)| OneCpu { cpu, time: delta(before, after) }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ticks(text: &str) -> Ticks {
        parse_ticks(text).unwrap()
    }

    #[test]
    fn busy_is_all_but_idle_iowait_and_steal_and_counts_guests_once() {
        let before = ticks("100 10 50 1000 20 3 4 5 60 0");
        let after = ticks("130 10 60 1040 30 3 9 10 90 0");
        let time = delta(&before, &after);
        assert_eq!(time.busy_ns, Some(450_000_000), "user 30, system 10, softirq 5");
        assert_eq!(time.steal_ns, Some(50_000_000));
        assert_eq!(time.iowait_ns, Some(100_000_000));
        assert_eq!(time.total_ns, Some(1_000_000_000));
        assert_eq!(time.busy_share(), Some(0.45));
        assert_eq!(time.steal_share(), Some(0.05));
    }

    #[test]
    fn iowait_that_goes_back_is_absent_and_leaves_the_total_whole() {
        let time = delta(&ticks("0 0 0 1000 20 0 0 0"), &ticks("0 0 0 1101 19 0 0 0"));
        assert_eq!(time.iowait_ns, None);
        assert_eq!(time.total_ns, Some(1_000_000_000));
    }

    #[test]
    fn counters_that_were_reset_give_absent_times() {
        let time = delta(&ticks("900 0 0 9000 30 0 0 8"), &ticks("1 0 0 9 0 0 0 0"));
        assert_eq!(time, CpuTime::default());
    }

    #[test]
    fn a_processor_that_came_on_line_meanwhile_has_no_delta() {
        let before = parse("cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
        let after = parse("cpu 2 2 2 2 2 2 2 2\ncpu0 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1\n").unwrap();
        let cpus: Vec<u32> = each_delta(&before, &after).iter().map(|one| one.cpu).collect();
        assert_eq!(cpus, [0]);
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(lines in proptest::collection::vec("(cpu[0-9]{0,12}|ctxt|.{0,5})( [0-9]{0,22}){0,12}", 0..6)) {
            if let Some(counters) = parse(&lines.join("\n")) {
                let _ = delta(&counters.total, &counters.total);
                let _ = each_delta(&counters, &counters);
            }
        }
    }
}
