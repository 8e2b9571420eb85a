//! Syncs to the device before a record is acknowledged. With group commit the batch is what one sync covers at most.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Limit, Need, Unit};
use super::super::headroom::{self, Headroom};
use super::super::input::Figure;
use super::super::target::Flush;
use super::{Gap, Outcome, brokers, figures, not_asked, parallel, wanted};
use plumb_model::figure;

const NOT_SYNCED: &str = "records are not synced before they are acknowledged (--flush os)";

pub(super) fn broker(case: &Case) -> Outcome {
    let batch = asked(case)?;
    let [sync, batch] = figures([wanted(&case.machine.fsync_s, "--fsync"), wanted(&batch, "--batch")])?;
    let queues = case.assumptions.get(Assumed::FsyncQueues);
    let queue = batch.value / sync.value;
    let written = case.ingress.peak_bytes_per_s * f64::from(case.target.replication);
    let physics = Need::of(written / (queue * queues), Growth::Load);
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::Utilisation);
    let inputs =
        vec![sync.input("sync"), batch.input("batch"), case.assumptions.input(Assumed::FsyncQueues), share];
    brokers(Limit::of(queue, "bytes/s written by a queue"), Some(physics), Some(plan), inputs)
}

pub(super) fn partition(case: &Case) -> Outcome {
    let batch = asked(case)?;
    let [sync, batch] = figures([wanted(&case.machine.fsync_s, "--fsync"), wanted(&batch, "--batch")])?;
    let each = batch.value / sync.value;
    let need = Need::of(case.ingress.peak_bytes_per_s / each, Growth::Load);
    let inputs = vec![sync.input("sync"), batch.input("batch")];
    parallel(
        Unit::Partitions,
        Limit::of(each, "bytes/s to a partition"),
        need,
        case.target.partitions,
        inputs,
    )
}

/// The batch, where records are synced at all.
fn asked(case: &Case) -> Result<Option<Figure>, Gap> {
    if case.target.flush == Flush::Os { Err(not_asked(NOT_SYNCED)) } else { Ok(batch(case)) }
}

/// The batch as a figure.
pub(super) fn batch(case: &Case) -> Option<Figure> {
    case.target.batch_bytes.map(|bytes| Figure::given(bytes, &figure::bytes(bytes), "--batch"))
}
