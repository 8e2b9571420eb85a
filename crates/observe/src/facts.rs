//! Facts about the host, read once before a run.
//!
//! One file for each part of the host. Every fact is a value with its source or unknown with the reason; reading never
//! fails as a whole. Not for what changes during a run: see `counters.rs`.

mod boot;
mod cgroup;
mod clock;
mod cpu;
mod java;
mod limits;
mod memory;
mod modules;
mod network;
mod persistent_memory;
mod smbios;
mod surroundings;
mod system;
mod topology;

use plumb_model::facts::HostFacts;

use crate::{CommandRunner, HostRoot, storage};

pub(crate) use cgroup::{device_limits, parse_quota};
pub use clock::{clock_sources, clock_sync};
pub(crate) use cpu::{cpu_list, numa_nodes};
pub(crate) use memory::meminfo_bytes;
pub use memory::{FreeMemory, free_memory, unused_memory_bytes};

/// The facts that the host states. Takes some milliseconds, or as long as the runner lets the time service take.
pub fn host_facts(root: &HostRoot, commands: &dyn CommandRunner) -> HostFacts {
    let virtualisation = surroundings::virtualisation(root);
    HostFacts {
        host_digest: system::host_digest(root),
        os_name: system::os_name(root),
        kernel_release: system::kernel_release(root),
        boot_time_unix_s: system::boot_time(root),
        load_average: system::load_average(root),
        machine: surroundings::machine(root),
        memory_error_correction: modules::correction(root, &virtualisation),
        memory_modules: modules::modules(root, &virtualisation),
        network_interfaces: network::interfaces(root, &virtualisation),
        virtualisation,
        container: surroundings::container(root),
        cpu_model: cpu::model(root),
        cpu_identity: topology::identity(root),
        cpu_microcode: topology::microcode(root),
        cpu_topology: topology::topology(root),
        cpus_allowed: topology::allowed(root),
        logical_cpus: cpu::logical_cpus(root),
        cpu_flags: cpu::flags(root),
        cpu_governors: cpu::governors(root),
        numa_nodes: cpu::numa_nodes(root),
        mitigations: cpu::mitigations(root),
        kernel_options: boot::options(root),
        vulnerabilities: cpu::vulnerabilities(root),
        cgroup_cpu_limit_cpus: cgroup::cpu_limit(root),
        cgroup_memory_limit_bytes: cgroup::memory_limit(root),
        cgroup_pids_limit: cgroup::pids_limit(root),
        cgroup_io_limits: cgroup::io_limits(root),
        persistent_memory: persistent_memory::memory(root),
        memory_total_bytes: memory::total(root),
        memory_available_bytes: memory::available(root),
        swap_total_bytes: memory::swap_total(root),
        swap_used_bytes: memory::swap_used(root),
        transparent_huge_pages: memory::transparent_huge_pages(root),
        dirty_limits: memory::dirty_limits(root),
        clock_source: clock::source(root),
        clock_sync: clock::clock_sync(commands),
        disks: storage::disks(root, commands),
        java_runtimes: java::runtimes(root),
        process_limits: limits::process(root),
        kernel_settings: limits::settings(root),
    }
}
