//! Room: for logs, for partitions, for copies. None of it is a rate.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Limit, Need, Planned};
use super::super::input::Input;
use super::super::kept::{kept, partitions_given};
use super::{Gap, Outcome, brokers, figures, not_asked, wanted};
use plumb_model::figure;

/// The least that Kafka's documentation asks of memory: some seconds of what is written, for consumers that read at the end.
pub(super) fn page_cache(case: &Case) -> Outcome {
    let [memory] = figures([wanted(&case.machine.memory_bytes, "--memory")])?;
    let seconds = case.assumptions.get(Assumed::PageCacheSeconds);
    let written = case.ingress.peak_bytes_per_s * f64::from(case.target.replication);
    let need = Need::of(written * seconds / memory.value, Growth::Load);
    let rule = format!("Kafka's documentation: memory for {} s of writes", figure::short(seconds));
    let inputs = vec![memory.input("memory"), case.assumptions.input(Assumed::PageCacheSeconds)];
    brokers(
        Limit::of(memory.value, "bytes of memory of a broker"),
        None,
        Some(Planned { need, rule }),
        inputs,
    )
}

pub(super) fn replica_memory(case: &Case) -> Outcome {
    let Some(each) = &case.machine.memory_per_replica_bytes else {
        return Err(not_asked(
            "no memory per replica is given (--memory-per-replica; Redpanda asks for 2 MB)",
        ));
    };
    let [memory] = figures([wanted(&case.machine.memory_bytes, "--memory")])?;
    let (replicas, partitions) = replicas_asked(case)?;
    let physics = Need::of(replicas * each.value / memory.value, Growth::Fixed);
    let plan = Planned { need: physics, rule: "as the hard bound".to_owned() };
    let inputs = vec![memory.input("memory"), each.input("memory per replica"), partitions];
    brokers(Limit::of(memory.value, "bytes of memory of a broker"), Some(physics), Some(plan), inputs)
}

pub(super) fn replicas(case: &Case) -> Outcome {
    let [most] = figures([wanted(&case.machine.replicas, "--replicas")])?;
    let (replicas, partitions) = replicas_asked(case)?;
    let need = Need::of(replicas / most.value, Growth::Fixed);
    let rule = "no more replicas than a broker should hold".to_owned();
    brokers(
        Limit::of(most.value, "replicas of a broker"),
        None,
        Some(Planned { need, rule }),
        vec![most.input("replicas of a broker"), partitions],
    )
}

fn replicas_asked(case: &Case) -> Result<(f64, Input), Gap> {
    let Some(partitions) = case.target.partitions else {
        return Err(Gap::Unknown { missing: vec!["--partitions".to_owned()] });
    };
    Ok((partitions as f64 * f64::from(case.target.replication), partitions_given(partitions)))
}

pub(super) fn storage(case: &Case) -> Outcome {
    let Some(kept) = kept(case) else {
        return Err(Gap::Unknown { missing: vec!["--retention".to_owned()] });
    };
    if let (None, Some(why)) = (&case.machine.storage_bytes, &case.machine.hidden) {
        return Err(not_asked(why));
    }
    let [space] = figures([wanted(&case.machine.storage_bytes, "--storage")])?;
    let physics = Need::of(kept.bytes / space.value, Growth::Load);
    let headroom = case.assumptions.get(Assumed::StorageHeadroom);
    let plan = Planned {
        need: Need::of(physics.exact * headroom, Growth::Load),
        rule: format!("AWS MSK sizing: {} times what is kept", figure::short(headroom)),
    };
    let mut inputs = vec![space.input("storage")];
    inputs.extend(kept.inputs);
    inputs.push(case.assumptions.input(Assumed::StorageHeadroom));
    brokers(Limit::of(space.value, "bytes kept by a broker"), Some(physics), Some(plan), inputs)
}

pub(super) fn copies(case: &Case) -> Outcome {
    let copies = f64::from(case.target.replication);
    let need = Need::of(copies, Growth::Fixed);
    let plan = Planned { need, rule: "as the hard bound".to_owned() };
    brokers(Limit::of(1.0, "copy of a record on a broker"), Some(need), Some(plan), Vec::new())
}
