//! The rate that is used most, of so many brokers.

use super::bound::{Bound, BoundName};

/// The use of one bound's resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundUse {
    pub(super) bound: BoundName,
    /// The share of the resource that is used; above 1 where it is too little.
    pub(super) share: f64,
}

/// The rate of which so many brokers use the largest share; none where no rate is known.
pub(super) fn fullest(bounds: &[Bound], brokers: u64) -> Option<BoundUse> {
    let rates = bounds.iter().filter(|bound| bound.is_throughput());
    let uses = rates.filter_map(|bound| {
        let need = bound.physics_brokers()?;
        Some(BoundUse { bound: bound.name, share: 1.0 / need.carried_by(brokers as f64) })
    });
    uses.max_by(|a, b| a.share.total_cmp(&b.share))
}
