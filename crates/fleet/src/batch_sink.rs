//! The receiver of batches: the interface between the reader of a file format and the rows.

use crate::batch::Batch;
use crate::rows::Refused;

/// The receiver of the batches that a reader of one file format reads.
pub(crate) trait BatchSink {
    /// The names of what follows are numbered anew.
    fn begin(&mut self);

    /// `read` is how much of the file is behind, 0..1.
    ///
    /// # Errors
    ///
    /// [`Refused`], and the reader ends.
    fn batch(&mut self, batch: &Batch, read: f64) -> Result<(), Refused>;
}
