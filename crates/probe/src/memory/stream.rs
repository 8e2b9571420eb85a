//! STREAM's four kernels on a part of the arrays, with ordinary and with non-temporal stores.
//!
//! Ordinary stores are plain loops that the compiler turns into vectors. A plain copy it would turn into a call of memcpy,
//! whose stores are of the one or the other kind as the C library sees fit; a mask of zeros that it does not know keeps it
//! from that.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "non-temporal stores are intrinsics on addresses")
)]

use plumb_model::probe::{MemoryKernel, Stores};

/// STREAM's scalar.
const SCALAR: f64 = 3.0;

/// Parts begin at multiples of a cache line, which is more than vectors ask for.
pub(super) const PART_DOUBLES: usize = 8;

/// A thread's part of the three arrays, of equal length, a multiple of [`PART_DOUBLES`].
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) a: &'a mut [f64],
    pub(super) b: &'a mut [f64],
    pub(super) c: &'a mut [f64],
}

/// True if this processor has such stores.
pub fn has(stores: Stores) -> bool {
    match stores {
        Stores::Ordinary => true,
        Stores::NonTemporal => cfg!(target_arch = "x86_64"),
    }
}

/// Makes one pass of a kernel over a part.
pub(super) fn pass(part: &mut Part, kernel: MemoryKernel, stores: Stores) {
    match stores {
        Stores::Ordinary => ordinary(part, kernel),
        Stores::NonTemporal => non_temporal(part, kernel),
    }
}

fn ordinary(part: &mut Part, kernel: MemoryKernel) {
    let Part { a, b, c } = part;
    match kernel {
        MemoryKernel::Copy => {
            let zeros = std::hint::black_box(0u64);
            c.iter_mut().zip(a.iter()).for_each(|(c, a)| *c = f64::from_bits(a.to_bits() ^ zeros));
        }
        MemoryKernel::Scale => b.iter_mut().zip(c.iter()).for_each(|(b, c)| *b = SCALAR * c),
        MemoryKernel::Add => {
            c.iter_mut().zip(a.iter().zip(b.iter())).for_each(|(c, (a, b))| *c = a + b);
        }
        MemoryKernel::Triad => {
            a.iter_mut().zip(b.iter().zip(c.iter())).for_each(|(a, (b, c))| *a = b + SCALAR * c);
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn non_temporal(part: &mut Part, kernel: MemoryKernel) {
    let Part { a, b, c } = part;
    match kernel {
        MemoryKernel::Copy => streamed(c, a, a, |a, _| a),
        MemoryKernel::Scale => streamed(b, c, c, |c, _| SCALAR * c),
        MemoryKernel::Add => streamed(c, a, b, |a, b| a + b),
        MemoryKernel::Triad => streamed(a, b, c, |b, c| b + SCALAR * c),
    }
}

/// Stores what `make` makes of each two elements, two at a time, past the caches.
#[cfg(target_arch = "x86_64")]
fn streamed(to: &mut [f64], x: &[f64], y: &[f64], make: impl Fn(f64, f64) -> f64) {
    use std::arch::x86_64::{_mm_set_pd, _mm_sfence, _mm_stream_pd};
    let (pairs, _) = to.as_chunks_mut::<2>();
    let (x, y) = (x.as_chunks::<2>().0, y.as_chunks::<2>().0);
    for ((pair, x), y) in pairs.iter_mut().zip(x).zip(y) {
        let (low, high) = (make(x[0], y[0]), make(x[1], y[1]));
        // SAFETY: SSE2 is part of x86_64; `pair` is two doubles of ours, and parts begin at multiples of 64 bytes.
        unsafe { _mm_stream_pd(pair.as_mut_ptr(), _mm_set_pd(high, low)) };
    }
    // SAFETY: SSE is part of x86_64. The fence makes the stores visible before the clock is read.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn non_temporal(part: &mut Part, kernel: MemoryKernel) {
    ordinary(part, kernel);
}

#[cfg(test)]
mod tests {
    use super::super::mapping::Mapping;
    use super::*;
    use plumb_model::probe::Pages;

    /// STREAM's own check: after each kernel every element is what arithmetic says.
    #[test]
    fn every_kernel_computes_what_stream_says_with_either_store() {
        for stores in [Stores::Ordinary, Stores::NonTemporal].into_iter().filter(|stores| has(*stores)) {
            let mut maps = [0, 1, 2].map(|_| Mapping::new(2 << 20, Pages::Base, None).unwrap());
            let [a, b, c] = &mut maps;
            a.doubles().fill(1.0);
            b.doubles().fill(2.0);
            let mut part = Part { a: a.doubles(), b: b.doubles(), c: c.doubles() };
            for (kernel, expected) in [
                (MemoryKernel::Copy, (1.0, 2.0, 1.0)),
                (MemoryKernel::Scale, (1.0, 3.0, 1.0)),
                (MemoryKernel::Add, (1.0, 3.0, 4.0)),
                (MemoryKernel::Triad, (15.0, 3.0, 4.0)),
            ] {
                pass(&mut part, kernel, stores);
                let all = |array: &[f64], value: f64| array.iter().all(|element| *element == value);
                let right = all(part.a, expected.0) && all(part.b, expected.1) && all(part.c, expected.2);
                assert!(right, "{kernel:?} {stores:?}");
            }
        }
    }
}
