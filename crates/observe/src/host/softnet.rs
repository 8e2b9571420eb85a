//! Receive queues by CPU: `/proc/net/softnet_stat`, which is of the whole host, whatever the network namespace.

use plumb_model::observed::SoftnetOfCpu;

/// Counters of one reading.
pub(super) type Softnet = Vec<SoftnetOfCpu>;

/// One line a CPU that is on line, of hexadecimal numbers: processed, dropped, time_squeeze ...; the 13th is the CPU's number since
/// Linux 5.10. Before, lines are numbered.
pub(super) fn parse(text: &str) -> Softnet {
    let row = |(line, text): (usize, &str)| {
        let numbers: Vec<u64> =
            text.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let cpu = match numbers.get(12) {
            Some(cpu) => u32::try_from(*cpu).ok()?,
            None => line as u32,
        };
        let [processed, dropped, time_squeeze, ..] = numbers[..] else { return None };
        Some(SoftnetOfCpu { cpu, processed, dropped, time_squeeze })
    };
    text.lines().enumerate().filter_map(row).collect()
}

/// What happened between two readings. A CPU that came, went, or counted anew has no row: its counters are of 32 bits.
pub(super) fn delta(before: &Softnet, after: &Softnet) -> Softnet {
    let row = |later: &SoftnetOfCpu| {
        let earlier = before.iter().find(|row| row.cpu == later.cpu)?;
        Some(SoftnetOfCpu {
            cpu: later.cpu,
            processed: later.processed.checked_sub(earlier.processed)?,
            dropped: later.dropped.checked_sub(earlier.dropped)?,
            time_squeeze: later.time_squeeze.checked_sub(earlier.time_squeeze)?,
        })
    };
    after.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_is_told_by_its_cpu_and_by_its_line_where_the_kernel_tells_none() {
        let row = |cpu| SoftnetOfCpu { cpu, processed: 10, dropped: 1, time_squeeze: 2 };
        assert_eq!(parse("0000000a 00000001 00000002 0 0 0 0 0 0 0 0 0 00000003\n"), [row(3)]);
        assert_eq!(parse("0 0 0\n0000000a 00000001 00000002 0 0\n")[1], row(1));
    }

    #[test]
    fn a_cpu_that_came_on_line_meanwhile_or_counts_anew_has_no_row() {
        let before = parse("a 0 0 0 0 0 0 0 0 0 0 0 0\nffffffff 0 0 0 0 0 0 0 0 0 0 0 1\n");
        let after =
            parse("e 1 2 0 0 0 0 0 0 0 0 0 0\n5 0 0 0 0 0 0 0 0 0 0 0 1\n900 0 0 0 0 0 0 0 0 0 0 0 2\n");
        assert_eq!(
            delta(&before, &after),
            [SoftnetOfCpu { cpu: 0, processed: 4, dropped: 1, time_squeeze: 2 }]
        );
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)(([0-9a-f]{0,18} ){0,14}\n){0,3}.{0,20}") {
            let rows = parse(&text);
            let _ = delta(&rows, &rows);
        }
    }
}
