//! Bytes to write: aligned for O_DIRECT, and nothing that a file system could compress, share or leave out.

/// Alignment of every buffer: the largest logical block of a disk, and a page.
const ALIGNMENT: usize = 4096;

/// Bytes at an aligned place.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
    stamped: u64,
}

impl Buffer {
    /// `len` bytes that look random; `seed` tells buffers apart.
    pub(super) fn new(len: usize, seed: u64) -> Self {
        let mut bytes = vec![0u8; len + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        // xorshift64 (Marsaglia 2003): a compressor finds nothing in it.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for word in bytes[start..start + len].chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
        }
        Buffer { bytes, start, len, stamped: seed << 32 }
    }

    /// The bytes, changed in the first eight: no two commits write the same.
    pub(super) fn next(&mut self) -> &[u8] {
        self.stamped += 1;
        let stamp = self.stamped.to_le_bytes();
        let bytes = &mut self.bytes[self.start..self.start + self.len];
        let end = stamp.len().min(bytes.len());
        bytes[..end].copy_from_slice(&stamp[..end]);
        bytes
    }

    /// The bytes, to be read into.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_no_two_commits_write_the_same() {
        let mut buffer = Buffer::new(4096, 3);
        let first = buffer.next().to_vec();
        assert_eq!(buffer.next().as_ptr().align_offset(ALIGNMENT), 0);
        assert_eq!(first.len(), 4096);
        assert_ne!(first, buffer.next());
        assert_ne!(Buffer::new(64, 1).next(), Buffer::new(64, 2).next());
    }
}
