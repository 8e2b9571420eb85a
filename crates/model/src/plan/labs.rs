//! The labs that a plan starts, and the memory that they take of this machine.

use super::{ClusterPlan, Plan};
use crate::fault::UsageError;

/// The memory of a broker's JVM beside its heap: classes, compiled code, threads, the collector's own tables. By the account of
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

/// The paths under test of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths<'p> {
    /// All of them. Those that are labs are up at the same time.
    pub all: Vec<&'p ClusterPlan>,
    /// For each step, which of them it runs on.
    pub of_step: Vec<usize>,
}

impl Plan {
    /// The paths under test. Steps with the same brokers share them, but for the arms of a trial that have brokers of their own:
    /// what one start of a broker has and another has not is to be in each of them.
    pub fn paths(&self) -> Paths<'_> {
        let mut paths = Paths { all: Vec::new(), of_step: Vec::new() };
        for (index, step) in self.steps.iter().enumerate() {
            let starts_alone = self.trial.is_some() && step.cluster.is_some();
            let same = self.steps[..index].iter().position(|before| before.cluster == step.cluster);
            let path = match same.filter(|_| !starts_alone) {
                Some(before) => paths.of_step[before],
                None => {
                    paths.all.push(step.cluster.as_ref().unwrap_or(&self.cluster));
                    paths.all.len() - 1
                }
            };
            paths.of_step.push(path);
        }
        paths
    }

    /// The labs that are up at the same time.
    pub fn labs(&self) -> Vec<&ClusterPlan> {
        let mut all = self.paths().all;
        all.retain(|cluster| matches!(cluster, ClusterPlan::Lab { .. }));
        all
    }
}

impl ClusterPlan {
    /// The number of brokers that it starts; none where brokers are there.
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
