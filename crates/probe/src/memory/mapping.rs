//! Memory of our own: which pages it is on and which node, asked for and read back.

#![expect(unsafe_code, reason = "mapping memory and binding it to a node are system calls on addresses")]

use plumb_model::fault::{Fault, HasFault};
use plumb_model::probe::Pages;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::borrow::Cow;
use std::ptr::{NonNull, null_mut};
use thiserror::Error;

/// Memory is had in multiples of the usual huge page.
pub const STEP_BYTES: u64 = 2 << 20;
/// `MPOL_BIND` of set_mempolicy(2): from these nodes or not at all.
const MPOL_BIND: libc::c_int = 2;

/// Memory or a processor that cannot be had as asked.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The kernel gave none.
    #[error("{bytes} bytes of memory cannot be had")]
    Map {
        /// The size.
        bytes: usize,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// The kernel does not keep a thread there.
    #[error("a thread cannot be kept on processor {cpu}")]
    Pin {
        /// The processor.
        cpu: u32,
        /// The kernel's word.
        source: std::io::Error,
    },
    /// The kernel does not put it on the node.
    #[error("memory cannot be put on node {node}")]
    Bind {
        /// The node.
        node: u32,
        /// The kernel's word.
        source: std::io::Error,
    },
}

impl HasFault for MemoryError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        matches!(self, MemoryError::Map { .. }).then(|| "give a smaller --array and --largest".into())
    }
}

/// Zeroed memory of this process; unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    address: NonNull<u64>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and shared access to it is through `&self` only.
unsafe impl Send for Mapping {}
// SAFETY: as above; through `&self` it is only read.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A mapping of at least so many bytes, all touched, on such pages as far as the kernel can, on the node if one is named.
    pub(super) fn new(bytes: u64, pages: Pages, node: Option<u32>) -> Result<Self, MemoryError> {
        let bytes = usize::try_from(bytes.next_multiple_of(STEP_BYTES)).unwrap_or(usize::MAX);
        let fault = |source: rustix::io::Errno| MemoryError::Map { bytes, source: source.into() };
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses touches nothing of ours.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, access, flags) }.map_err(fault)?;
        let address = NonNull::new(start.cast::<u64>()).ok_or_else(|| fault(rustix::io::Errno::NOMEM))?;
        let mut mapping = Mapping { address, bytes };
        let advice = match pages {
            Pages::Base => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // Only a wish: a kernel without huge pages refuses it, and what came of it is read back.
        // SAFETY: the range is the whole of our own mapping, and these advices change no content.
        let _ = unsafe { madvise(start, bytes, advice) };
        if let Some(node) = node {
            mapping.bind(node)?;
        }
        mapping.as_words().fill(0);
        Ok(mapping)
    }

    fn bind(&self, node: u32) -> Result<(), MemoryError> {
        const BITS: u32 = u64::BITS;
        let mut mask = vec![0u64; node as usize / BITS as usize + 1];
        mask[(node / BITS) as usize] |= 1 << (node % BITS);
        // One more than there are: the kernel takes one off (mbind(2), notes).
        let bits = mask.len() as u64 * u64::from(BITS) + 1;
        // SAFETY: mbind(2) with the range of our own mapping and a mask of `bits` bits that outlives the call.
        let result = unsafe {
            let (address, mask) = (self.address.as_ptr(), mask.as_ptr());
            libc::syscall(libc::SYS_mbind, address, self.bytes, MPOL_BIND, mask, bits, 0)
        };
        match result {
            0 => Ok(()),
            _ => Err(MemoryError::Bind { node, source: std::io::Error::last_os_error() }),
        }
    }

    /// All of it.
    pub(super) fn as_words(&mut self) -> &mut [u64] {
        // SAFETY: the mapping is ours, aligned to pages, zeroed by the kernel, and borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.bytes / size_of::<u64>()) }
    }

    /// All of it, as floating point: every pattern of bits is a number or none.
    pub(super) fn doubles(&mut self) -> &mut [f64] {
        // SAFETY: as `words`; f64 has the size and alignment of u64.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().cast(), self.bytes / size_of::<f64>()) }
    }

    /// Part of it that lies on huge pages, 0 to 1; absent when the kernel does not tell.
    pub(super) fn huge_share(&self) -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let start = self.address.as_ptr() as usize;
        let huge = huge_bytes(&text, start, start + self.bytes)?;
        Some(huge as f64 / self.bytes as f64)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is our own mapping, and nobody holds a reference into it any more.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// Bytes on huge pages of the mappings that overlap the range. Neighbours with the same properties are one mapping to
/// the kernel, so a mapping counts by the part that is in the range.
fn huge_bytes(smaps: &str, start: usize, end: usize) -> Option<usize> {
    let (mut inside, mut found, mut sum) = (0.0, false, 0.0);
    for line in smaps.lines() {
        if let Some((from, to)) = range(line) {
            let common = to.min(end).saturating_sub(from.max(start));
            inside = common as f64 / (to - from).max(1) as f64;
            found |= common > 0;
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let kibibytes: f64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            sum += kibibytes * 1024.0 * inside;
        }
    }
    found.then_some(sum as usize)
}

/// `7f0c00000000-7f0c00200000 rw-p ...`
fn range(line: &str) -> Option<(usize, usize)> {
    let (from, rest) = line.split_once('-')?;
    let (to, _) = rest.split_once(' ')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_writable_and_at_least_as_large_as_asked() {
        let mut mapping = Mapping::new(3 << 20, Pages::Base, None).unwrap();
        assert_eq!(mapping.as_words().len() * 8, 4 << 20);
        assert!(mapping.as_words().iter().all(|word| *word == 0));
        mapping.doubles()[7] = 1.5;
        assert_eq!(mapping.as_words()[7], 1.5f64.to_bits());
    }

    #[test]
    fn base_pages_are_what_is_had_when_they_are_asked_for() {
        let mapping = Mapping::new(8 << 20, Pages::Base, None).unwrap();
        assert_eq!(mapping.huge_share(), Some(0.0));
    }

    #[test]
    fn more_memory_than_there_is_ends_as_an_error_that_says_how_much() {
        let error = Mapping::new(1 << 60, Pages::Base, None).unwrap_err();
        assert_eq!(error.to_string(), "1152921504606846976 bytes of memory cannot be had");
    }

    #[test]
    fn a_node_that_is_not_there_is_refused() {
        let error = Mapping::new(2 << 20, Pages::Base, Some(1_000)).unwrap_err();
        assert!(matches!(error, MemoryError::Bind { node: 1_000, .. }), "{error:?}");
    }

    #[test]
    fn huge_pages_count_by_the_part_of_a_mapping_that_is_ours() {
        let smaps = "1000-3000 rw-p 00000000 00:00 0\nRss: 8 kB\nAnonHugePages:      8 kB\n\
                     8000-9000 rw-p 00000000 00:00 0\nAnonHugePages:      4 kB\n";
        assert_eq!(huge_bytes(smaps, 0x1000, 0x3000), Some(8 << 10));
        assert_eq!(huge_bytes(smaps, 0x2000, 0x3000), Some(4 << 10));
        assert_eq!(huge_bytes(smaps, 0x4000, 0x5000), None);
    }
}
