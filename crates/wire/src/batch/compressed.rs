//! A batch whose records are compressed, in a buffer of its own.

use super::header::{self, HEADER_BYTES, Seal};
use crate::compression::{Codec, CompressionError, Compressor};

/// The output of [`super::BatchBuffer::seal_compressed`]; made once and filled again and again.
#[derive(Debug, Clone, Default)]
pub struct CompressedBatch {
    bytes: Vec<u8>,
    records: usize,
    codec: Codec,
}

impl CompressedBatch {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes that were sealed last, for sending them again; empty before that.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same records with another seal, without compressing them again.
    ///
    /// # Panics
    /// Where nothing was sealed before.
    pub(crate) fn reseal(&mut self, seal: &Seal) -> &[u8] {
        assert!(self.records > 0, "an empty batch cannot be sent");
        header::write(&mut self.bytes, self.records, self.codec, seal);
        &self.bytes
    }

    pub(super) fn fill(
        &mut self,
        plain: &[u8],
        records: usize,
        seal: &Seal,
        compressor: &mut Compressor,
    ) -> Result<&[u8], CompressionError> {
        self.bytes.clear();
        self.bytes.resize(HEADER_BYTES, 0);
        self.records = 0;
        compressor.compress(plain, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        self.records = records;
        self.codec = compressor.codec();
        Ok(self.reseal(seal))
    }
}
