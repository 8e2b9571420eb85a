//! Facts about the host, read once before a run.
//!
//! One file for each part of the host. Every fact is a value with its source or unknown with the reason; reading never
//! fails as a whole. Not for what changes during a run: see `counters.rs`.

mod cgroup;
mod clock;
mod cpu;
mod memory;
mod surroundings;
mod system;

use plumb_model::facts::HostFacts;

use crate::{CommandRunner, HostRoot};

pub use clock::clock_sources;
pub(crate) use memory::meminfo_bytes;

/// What the host says of itself. Takes some milliseconds, or as long as the runner lets the time service take.
pub fn host_facts(root: &HostRoot, commands: &dyn CommandRunner) -> HostFacts {
    HostFacts {
        host_digest: system::host_digest(root),
        os_name: system::os_name(root),
        kernel_release: system::kernel_release(root),
        boot_time_unix_s: system::boot_time(root),
        load_average: system::load_average(root),
        machine: surroundings::machine(root),
        virtualisation: surroundings::virtualisation(root),
        container: surroundings::container(root),
        cpu_model: cpu::model(root),
        logical_cpus: cpu::logical_cpus(root),
        cpu_flags: cpu::flags(root),
        cpu_governors: cpu::governors(root),
        numa_nodes: cpu::numa_nodes(root),
        mitigations: cpu::mitigations(root),
        vulnerabilities: cpu::vulnerabilities(root),
        cgroup_cpu_limit_cpus: cgroup::cpu_limit(root),
        cgroup_memory_limit_bytes: cgroup::memory_limit(root),
        memory_total_bytes: memory::total(root),
        memory_available_bytes: memory::available(root),
        swap_total_bytes: memory::swap_total(root),
        swap_used_bytes: memory::swap_used(root),
        transparent_huge_pages: memory::transparent_huge_pages(root),
        dirty_limits: memory::dirty_limits(root),
        clock_source: clock::source(root),
        clock_sync: clock::sync(commands),
    }
}
