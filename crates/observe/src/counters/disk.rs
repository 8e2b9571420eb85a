//! `/proc/diskstats`: traffic of the disks (kernel documentation, admin-guide/iostats).

use plumb_model::facts::DiskDelta;

use crate::growth;

/// Sectors are 512 bytes here, whatever the disk's own are.
const SECTOR_BYTES: u64 = 512;

/// One disk's traffic since boot, as printed: times in milliseconds, most of them wrapping at 32 bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DiskCounters {
    pub(super) name: String,
    reads: u64,
    read_sectors: u64,
    read_ms: u64,
    writes: u64,
    written_sectors: u64,
    write_ms: u64,
    busy_ms: u64,
    flushes: Option<u64>,
    flush_ms: Option<u64>,
}

pub(super) fn parse(text: &str) -> Vec<DiskCounters> {
    text.lines().filter_map(parse_disk).collect()
}

/// `major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms weighted-ms`, then since Linux
/// 4.18 four columns of discards, and since 5.5 flushes and their ms.
fn parse_disk(line: &str) -> Option<DiskCounters> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?.to_owned();
    let columns: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let [reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, _, busy_ms, ..] = columns[..]
    else {
        return None;
    };
    let (flushes, flush_ms) = (columns.get(15).copied(), columns.get(16).copied());
    Some(DiskCounters {
        name,
        reads,
        read_sectors,
        read_ms,
        writes,
        written_sectors,
        write_ms,
        busy_ms,
        flushes,
        flush_ms,
    })
}

impl DiskCounters {
    /// True if a count went back since `before`: another disk of the same name, so no counter can be compared. Times are left out
    /// because they wrap, each for itself.
    fn is_anew(&self, before: &DiskCounters) -> bool {
        self.reads < before.reads
            || self.writes < before.writes
            || self.read_sectors < before.read_sectors
            || self.written_sectors < before.written_sectors
    }
}

/// Deltas of the disks that had traffic since boot.
pub(super) fn deltas(before: &[DiskCounters], after: &[DiskCounters]) -> Vec<DiskDelta> {
    let of = |after: &DiskCounters| {
        let before = before.iter().find(|before| before.name == after.name && !after.is_anew(before));
        let grown =
            |counter: fn(&DiskCounters) -> Option<u64>| growth(before.and_then(counter), counter(after));
        let bytes = |sectors: Option<u64>| sectors?.checked_mul(SECTOR_BYTES);
        let ns = |ms: Option<u64>| ms?.checked_mul(1_000_000);
        DiskDelta {
            name: after.name.clone(),
            read_bytes: bytes(grown(|disk| Some(disk.read_sectors))),
            written_bytes: bytes(grown(|disk| Some(disk.written_sectors))),
            reads: grown(|disk| Some(disk.reads)),
            writes: grown(|disk| Some(disk.writes)),
            flushes: grown(|disk| disk.flushes),
            read_ns: ns(grown(|disk| Some(disk.read_ms))),
            write_ns: ns(grown(|disk| Some(disk.write_ms))),
            flush_ns: ns(grown(|disk| disk.flush_ms)),
            busy_ns: ns(grown(|disk| Some(disk.busy_ms))),
        }
    };
    after.iter().filter(|disk| disk.reads > 0 || disk.writes > 0).map(of).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEFORE: &str = " 259 0 nvme0n1 100 0 800 40 200 0 1600 90 0 4294967000 130 0 0 0 0 30 15\n";
    const AFTER: &str = " 259 0 nvme0n1 110 0 880 44 260 0 3600 120 0 204 190 0 0 0 0 33 21\n";

    #[test]
    fn sectors_are_512_bytes_and_times_milliseconds() {
        let delta = &deltas(&parse(BEFORE), &parse(AFTER))[0];
        assert_eq!((delta.read_bytes, delta.written_bytes), (Some(40_960), Some(1_024_000)));
        assert_eq!((delta.reads, delta.writes, delta.flushes), (Some(10), Some(60), Some(3)));
        assert_eq!((delta.write_ns, delta.flush_ns), (Some(30_000_000), Some(6_000_000)));
    }

    #[test]
    fn a_time_that_wrapped_at_32_bits_is_absent_not_negative() {
        assert_eq!(deltas(&parse(BEFORE), &parse(AFTER))[0].busy_ns, None);
    }

    #[test]
    fn a_disk_that_was_plugged_anew_has_absent_deltas() {
        let anew = parse(" 259 0 nvme0n1 5 0 40 2 900 0 7200 90 0 9 9 0 0 0 0 40 20\n");
        let delta = &deltas(&parse(BEFORE), &anew)[0];
        assert_eq!((delta.reads, delta.writes, delta.written_bytes, delta.flushes), (None, None, None, None));
    }

    #[test]
    fn flushes_are_absent_on_an_old_kernel() {
        let old = parse(" 8 0 sda 1 0 8 1 1 0 8 1 0 2 2\n");
        assert_eq!(deltas(&old, &old)[0].flushes, None);
        assert_eq!(deltas(&old, &old)[0].writes, Some(0));
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)( 8 0 sda( [0-9]{0,22}){0,20}\n){0,3}.{0,30}") {
            let disks = parse(&text);
            let _ = deltas(&disks, &disks);
        }
    }
}
