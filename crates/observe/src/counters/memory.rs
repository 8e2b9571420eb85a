//! `/proc/meminfo` and `/proc/vmstat`: how much is dirty, and where the kernel's limits are at this moment.

use crate::facts::meminfo_bytes;

/// Smallest page of any architecture that Kafka runs on.
const PAGE_BYTES_MIN: u64 = 4096;

/// Levels at one reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MemoryGauges {
    pub(super) total_bytes: Option<u64>,
    pub(super) available_bytes: Option<u64>,
    pub(super) dirty_bytes: Option<u64>,
    pub(super) writeback_bytes: Option<u64>,
    pub(super) dirty_background_threshold_bytes: Option<u64>,
    pub(super) dirty_threshold_bytes: Option<u64>,
}

pub(super) fn parse(meminfo: &str, vmstat: &str) -> MemoryGauges {
    let page_bytes = page_bytes(meminfo, vmstat);
    let threshold = |key| pages(vmstat, key)?.checked_mul(page_bytes?);
    MemoryGauges {
        total_bytes: meminfo_bytes(meminfo, "MemTotal"),
        available_bytes: meminfo_bytes(meminfo, "MemAvailable"),
        dirty_bytes: meminfo_bytes(meminfo, "Dirty"),
        writeback_bytes: meminfo_bytes(meminfo, "Writeback"),
        dirty_background_threshold_bytes: threshold("nr_dirty_background_threshold"),
        dirty_threshold_bytes: threshold("nr_dirty_threshold"),
    }
}

/// The size of a page. One file counts in KiB and the other in pages, so a figure that both have gives it: a power of two, so
/// that it does not matter that memory came and went between the two readings.
fn page_bytes(meminfo: &str, vmstat: &str) -> Option<u64> {
    let (bytes, pages) = (meminfo_bytes(meminfo, "MemFree")?, pages(vmstat, "nr_free_pages")?);
    let nearest = (bytes as f64 / pages as f64).log2().round();
    (pages > 0 && nearest < 30.0).then(|| PAGE_BYTES_MIN.max(1 << nearest as u32))
}

fn pages(vmstat: &str, key: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_limits_of_dirty_pages_are_in_bytes_whatever_the_size_of_a_page() {
        let vmstat =
            "nr_free_pages 1000\nnr_dirty 3\nnr_dirty_threshold 50\nnr_dirty_background_threshold 20\n";
        let small = parse("MemFree: 4010 kB\nDirty: 12 kB\n", vmstat);
        assert_eq!(small.dirty_threshold_bytes, Some(50 * 4096));
        assert_eq!(small.dirty_background_threshold_bytes, Some(20 * 4096));
        assert_eq!(small.dirty_bytes, Some(12 * 1024));
        let large = parse("MemFree: 63900 kB\n", vmstat);
        assert_eq!(large.dirty_threshold_bytes, Some(50 * 65_536));
    }

    #[test]
    fn without_a_page_size_there_are_no_limits() {
        assert_eq!(parse("", "nr_dirty_threshold 50\n").dirty_threshold_bytes, None);
        assert_eq!(
            parse("MemFree: 0 kB", "nr_free_pages 0\nnr_dirty_threshold 50\n").dirty_threshold_bytes,
            None
        );
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(free in "[0-9]{0,22}", pages in "[0-9]{0,22}", rest in "(?s).{0,40}") {
            let _ = parse(&format!("MemFree: {free} kB\n{rest}"), &format!("nr_free_pages {pages}\nnr_dirty_threshold {free}\n{rest}"));
        }
    }
}
