//! The labs that a plan starts, and the memory that they take of this machine.

use super::{ClusterPlan, Plan};
use crate::fault::UsageError;

/// What a broker's JVM takes beside its heap: classes, compiled code, threads, the collector's own tables. By the account of
/// Java 17 itself, Kafka 4.3 has 196 MiB of it after some seconds of load; more clients take more (ours).
const BESIDE_HEAP_BYTES: u64 = 256 << 20;

/// A heap in MiB, as the JVM writes it: `512m`, `2g`.
///
/// # Errors
/// [`UsageError`] for other text.
pub fn heap_mib(text: &str) -> Result<u32, UsageError> {
    let read = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let number: u32 = number.parse().ok()?;
        match unit {
            "m" | "M" => Some(number),
            "g" | "G" => number.checked_mul(1024),
            _ => None,
        }
    };
    read().ok_or_else(|| {
        UsageError::new(format!("{text:?} is not a heap size"), "write it as the JVM does: 512m or 2g")
    })
}

impl Plan {
    /// The labs that are up at the same time: the one that steps share, and those that steps have to themselves.
    pub fn labs(&self) -> Vec<&ClusterPlan> {
        let shared = self.steps.iter().any(|step| step.cluster.is_none()).then_some(&self.cluster);
        let own = self.steps.iter().filter_map(|step| step.cluster.as_ref());
        shared.into_iter().chain(own).filter(|cluster| matches!(cluster, ClusterPlan::Lab { .. })).collect()
    }
}

impl ClusterPlan {
    /// How many brokers it starts; none where brokers are there.
    pub fn brokers(&self) -> Option<u32> {
        match self {
            ClusterPlan::Lab { brokers, .. } => Some(*brokers),
            ClusterPlan::Brokers { .. } => None,
        }
    }

    /// Memory that the brokers take, page cache apart; 0 for brokers that are there. None where the heap cannot be read.
    pub fn memory_bytes(&self) -> Option<u64> {
        match self {
            ClusterPlan::Lab { brokers, heap, .. } => {
                let heap_bytes = u64::from(heap_mib(heap).ok()?) << 20;
                u64::from(*brokers).checked_mul(heap_bytes + BESIDE_HEAP_BYTES)
            }
            ClusterPlan::Brokers { .. } => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_is_read_as_the_jvm_writes_it() {
        assert_eq!(["512m", "2g", "1G"].map(|text| heap_mib(text).unwrap()), [512, 2048, 1024]);
        for wrong in ["", "m", "512", "5t", "-1m", "9999999g", "1\u{e9}"] {
            assert!(heap_mib(wrong).is_err(), "{wrong}");
        }
    }
}
