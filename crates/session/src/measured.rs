//! The measured part of a run so far: its document, the folds that its figures are made of, and both on disk.

use super::block::Figures;
use super::checkpoint::{self, CandidateCheckpoint, StepCheckpoint};
use super::document::Record;
use super::fold::StepFold;
use crate::error::Result;
use crate::run_dir::RunDir;

/// The measured part of a run.
pub(crate) struct Measured {
    pub(super) record: Record,
    /// The folds from which the figures of each step are made.
    pub(super) folds: Vec<StepFold>,
    pub(super) dir: RunDir,
}

impl Measured {
    /// The step's own places that take the figures of a block.
    pub(super) fn figures(&mut self, step: usize) -> Figures<'_> {
        Figures { record: &mut self.record, step, fold: &mut self.folds[step], dir: &mut self.dir }
    }

    /// Writes the document.
    pub(super) fn write(&self) -> Result<()> {
        Ok(self.dir.write_document(&self.record.document)?)
    }

    /// Keeps a step as it is after a block, so that the run can go on from here.
    pub(super) fn keep(&self, index: usize, candidates: Vec<CandidateCheckpoint>) -> Result<()> {
        let fold = &self.folds[index];
        let step = StepCheckpoint {
            run: self.record.document.run.id.clone(),
            result: self.record.document.steps[index].clone(),
            span: self.record.spans[index],
            fold: fold.state(&self.dir),
            candidates,
        };
        if self.record.document.plan.trial.is_some() {
            self.dir.rename_state(&checkpoint::file(fold.stem()), &checkpoint::file_before(fold.stem()))?;
        }
        checkpoint::write(&self.dir, fold.stem(), &step)?;
        Ok(())
    }

    /// A complete run does not go on.
    pub(super) fn forget_state(&self) -> Result<()> {
        for fold in &self.folds {
            self.dir.remove_state(&checkpoint::file(fold.stem()))?;
            self.dir.remove_state(&checkpoint::file_before(fold.stem()))?;
        }
        Ok(())
    }
}
