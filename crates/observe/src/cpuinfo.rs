//! `/proc/cpuinfo`: its values, and the processor flags that Plumb looks for, each with who looks for it.

/// The file.
pub(crate) const CPUINFO: &str = "/proc/cpuinfo";

/// A processor flag, by the kernel's name.
pub(crate) struct CpuFlag {
    pub(crate) name: &'static str,
    /// True if it is among the host's facts: it decides how fast AES-GCM, SHA, CRC-32C and compression can be.
    pub(crate) is_fact: bool,
    /// True if OpenSSL, ring or Java look for it.
    pub(crate) is_for_crypto: bool,
}

const fn both(name: &'static str) -> CpuFlag {
    CpuFlag { name, is_fact: true, is_for_crypto: true }
}

const fn fact(name: &'static str) -> CpuFlag {
    CpuFlag { name, is_fact: true, is_for_crypto: false }
}

const fn crypto(name: &'static str) -> CpuFlag {
    CpuFlag { name, is_fact: false, is_for_crypto: true }
}

/// Flags of x86, in the line `flags`.
pub(crate) const X86_FLAGS: &[CpuFlag] = &[
    both("aes"),
    both("pclmulqdq"),
    both("vaes"),
    both("vpclmulqdq"),
    both("sha_ni"),
    both("ssse3"),
    both("sse4_2"),
    both("avx"),
    both("avx2"),
    both("avx512f"),
    crypto("avx512bw"),
    crypto("avx512vl"),
    crypto("avx512ifma"),
    both("bmi2"),
    both("adx"),
];

/// Flags of Arm, in the line `Features`.
pub(crate) const ARM_FLAGS: &[CpuFlag] = &[
    both("aes"),
    both("pmull"),
    crypto("sha1"),
    both("sha2"),
    both("sha512"),
    both("crc32"),
    fact("atomics"),
    crypto("asimd"),
    fact("sve"),
    both("sve2"),
];

/// The values of a key, one for each processor.
pub(crate) fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}
