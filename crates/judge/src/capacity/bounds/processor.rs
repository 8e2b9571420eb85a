//! Cores and memory bandwidth.

use super::super::Case;
use super::super::assumptions::Assumed;
use super::super::bound::{Growth, Limit, Need};
use super::super::headroom::{self, Headroom};
use super::super::input::{Input, Source};
use super::super::machine::CpuCost;
use super::super::target::Tls;
use super::{Gap, Outcome, brokers, figures, not_asked, wanted};

/// Bytes that pass through encryption, cluster-wide, for each from producers.
fn encrypted_share(case: &Case) -> f64 {
    let target = case.target;
    match target.tls {
        Tls::Off => 0.0,
        Tls::Clients => 1.0 + target.groups,
        Tls::All => 1.0 + target.groups + 2.0 * target.follower_copies(),
    }
}

pub(super) fn tls(case: &Case) -> Outcome {
    if case.target.tls == Tls::Off {
        return Err(not_asked("nothing is encrypted (--tls off)"));
    }
    let machine = case.machine;
    let [aes, cores] =
        figures([wanted(&machine.aes_bytes_per_s_per_core, "--aes"), wanted(&machine.cores, "--cores")])?;
    let busy = case.ingress.peak_bytes_per_s * encrypted_share(case) / aes.value;
    let physics = Need::of(busy / cores.value, Growth::Load);
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::CpuUtilisation);
    let inputs = vec![aes.input("AES-GCM rate of a core"), cores.input("cores"), share];
    brokers(
        Limit::of(aes.value * cores.value, "bytes/s en- or decrypted by a broker"),
        Some(physics),
        Some(plan),
        inputs,
    )
}

/// All that a broker does, encryption included where its rate is known and the measurement was without it.
pub(super) fn cpu(case: &Case) -> Outcome {
    let machine = case.machine;
    let cost = machine.cpu.as_ref().map(|cpu| cpu.s_per_gb.clone());
    let [cost, cores] = figures([wanted(&cost, "--cpu-per-gb"), wanted(&machine.cores, "--cores")])?;
    let Some(measured) = &machine.cpu else { return Err(Gap::Unknown { missing: Vec::new() }) };
    let copies_and_groups = weight(case, case.target.follower_copies(), case.target.groups)
        / weight(case, f64::from(measured.replication) - 1.0, measured.groups);
    let mut cpu_s_per_byte = cost.value / 1e9 * copies_and_groups;
    let mut inputs = vec![cost.input("CPU seconds per GB"), load_of(measured), cores.input("cores")];
    if case.target.tls != Tls::Off && !measured.tls {
        let Some(aes) = &machine.aes_bytes_per_s_per_core else {
            return Err(Gap::Unknown { missing: vec!["--aes".to_owned()] });
        };
        cpu_s_per_byte += encrypted_share(case) / aes.value;
        inputs.push(aes.input("AES-GCM rate of a core"));
    }
    let physics = Need::of(case.ingress.peak_bytes_per_s * cpu_s_per_byte / cores.value, Growth::Load);
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::CpuUtilisation);
    inputs.push(share);
    if (copies_and_groups - 1.0).abs() > 1e-9 {
        for assumed in [Assumed::CpuWeightIn, Assumed::CpuWeightReplica, Assumed::CpuWeightOut] {
            inputs.push(case.assumptions.input(assumed));
        }
    }
    brokers(Limit::of(cores.value, "CPU seconds a second of a broker"), Some(physics), Some(plan), inputs)
}

/// Weight of one byte from producers with all that follows from it.
fn weight(case: &Case, follower_copies: f64, groups: f64) -> f64 {
    let get = |assumed| case.assumptions.get(assumed);
    get(Assumed::CpuWeightIn)
        + get(Assumed::CpuWeightReplica) * follower_copies
        + get(Assumed::CpuWeightOut) * groups
}

fn load_of(cost: &CpuCost) -> Input {
    let tls = if cost.tls { ", under TLS" } else { "" };
    let (copies, groups) = (cost.replication, cost.groups);
    Input {
        name: "measured with".to_owned(),
        shown: format!("r = {copies}, c = {groups}{tls}"),
        source: match &cost.s_per_gb.source {
            Source::Given(_) => Source::Given(
                "--cpu-per-gb, taken to be of the target's own copies, groups and TLS".to_owned(),
            ),
            other => other.clone(),
        },
    }
}

pub(super) fn memory_bandwidth(case: &Case) -> Outcome {
    let [bandwidth] = figures([wanted(&case.machine.memory_bandwidth_bytes_per_s, "--memory-bandwidth")])?;
    let target = case.target;
    let (followers, consumers) = match target.tls {
        Tls::Off => (Assumed::MemoryTouchesSent, Assumed::MemoryTouchesSent),
        Tls::Clients => (Assumed::MemoryTouchesSent, Assumed::MemoryTouchesSentTls),
        Tls::All => (Assumed::MemoryTouchesSentTls, Assumed::MemoryTouchesSentTls),
    };
    let get = |assumed| case.assumptions.get(assumed);
    let touched = get(Assumed::MemoryTouchesWritten) * f64::from(target.replication)
        + get(followers) * target.follower_copies()
        + get(consumers) * target.groups;
    let physics = Need::of(case.ingress.peak_bytes_per_s * touched / bandwidth.value, Growth::Load);
    let Headroom { plan, share } = headroom::of_physics(case, physics, Assumed::Utilisation);
    let mut inputs =
        vec![bandwidth.input("memory bandwidth"), case.assumptions.input(Assumed::MemoryTouchesWritten)];
    inputs.push(case.assumptions.input(followers));
    if consumers != followers {
        inputs.push(case.assumptions.input(consumers));
    }
    inputs.push(share);
    brokers(Limit::of(bandwidth.value, "bytes/s of memory of a broker"), Some(physics), Some(plan), inputs)
}
