//! Flushing cache lines to memory, with the best instruction that this processor has.
//!
//! x86: CLWB keeps the line, CLFLUSHOPT gives it up, CLFLUSH does so one after the other; SFENCE orders the first two (Intel
//! SDM volume 2). Arm: DC CVAP cleans a line to the point of persistence, DSB waits for it (Arm ARM, FEAT_DPB).

#![expect(unsafe_code, reason = "there are no intrinsics for these instructions")]

use std::arch::asm;

/// Bytes of a cache line: 64 on every x86 that has these instructions; on Arm smaller steps than the line do no harm.
const LINE_BYTES: usize = 64;

/// The instruction to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    #[cfg(target_arch = "x86_64")]
    Clwb,
    #[cfg(target_arch = "x86_64")]
    Clflushopt,
    #[cfg(target_arch = "x86_64")]
    Clflush,
    #[cfg(target_arch = "aarch64")]
    DcCvap,
}

impl Flush {
    /// The best one of this processor, by the kernel's list of flags; none on processors without any.
    pub(super) fn of_this_processor() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self::of_flags(&text)
    }

    #[cfg(target_arch = "x86_64")]
    fn of_flags(cpuinfo: &str) -> Option<Self> {
        let has = |name: &str| flags(cpuinfo).any(|flag| flag == name);
        [("clwb", Flush::Clwb), ("clflushopt", Flush::Clflushopt), ("clflush", Flush::Clflush)]
            .into_iter()
            .find_map(|(name, flush)| has(name).then_some(flush))
    }

    #[cfg(target_arch = "aarch64")]
    fn of_flags(cpuinfo: &str) -> Option<Self> {
        flags(cpuinfo).any(|flag| flag == "dcpop").then_some(Flush::DcCvap)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn of_flags(_cpuinfo: &str) -> Option<Self> {
        None
    }

    /// Flushes what lies there and waits until it is done.
    ///
    /// # Safety
    /// `len` bytes from `place` on are mapped.
    pub(super) unsafe fn range(self, place: *const u8, len: usize) {
        let first = place as usize / LINE_BYTES * LINE_BYTES;
        for line in (first..place as usize + len).step_by(LINE_BYTES) {
            // SAFETY: the line holds at least one byte that is mapped, and memory is mapped in pages.
            unsafe { self.line(line) };
        }
        // SAFETY: a fence has no operands.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("sfence", options(nostack, preserves_flags));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!("dsb sy", options(nostack, preserves_flags));
        }
    }

    /// # Safety
    /// The line is mapped.
    #[cfg(target_arch = "x86_64")]
    unsafe fn line(self, line: usize) {
        // SAFETY: the instruction writes a mapped line back and changes nothing else; the processor has it.
        unsafe {
            match self {
                Flush::Clwb => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                Flush::Clflushopt => asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)),
                Flush::Clflush => asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags)),
            }
        }
    }

    /// # Safety
    /// The line is mapped.
    #[cfg(target_arch = "aarch64")]
    unsafe fn line(self, line: usize) {
        // SAFETY: the instruction writes a mapped line back and changes nothing else; the processor has it.
        unsafe { asm!("dc cvap, {}", in(reg) line, options(nostack, preserves_flags)) }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unsafe fn line(self, _line: usize) {}
}

/// Words of the first line of flags (x86: `flags`, Arm: `Features`).
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn flags(cpuinfo: &str) -> impl Iterator<Item = &str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    line.and_then(|line| line.split_once(':')).map_or("", |(_, words)| words).split_whitespace()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_best_instruction_that_the_processor_names_is_taken() {
        let of = |flags: &str| Flush::of_flags(&format!("processor\t: 0\nflags\t\t: fpu {flags} sse\n"));
        assert_eq!(of("clflush clflushopt clwb"), Some(Flush::Clwb));
        assert_eq!(of("clflush clflushopt"), Some(Flush::Clflushopt));
        assert_eq!(of("clflush"), Some(Flush::Clflush));
        assert_eq!(of(""), None);
    }

    #[test]
    fn flushing_leaves_the_bytes_as_they_are() {
        let Some(flush) = Flush::of_this_processor() else { return };
        let bytes: Vec<u8> = (0..1_000u32).map(|n| n as u8).collect();
        // SAFETY: the vector is mapped.
        unsafe { flush.range(bytes[3..].as_ptr(), 990) };
        assert!(bytes.iter().enumerate().all(|(n, byte)| *byte == n as u8));
    }
}
