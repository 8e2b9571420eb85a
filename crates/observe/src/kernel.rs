//! What the kernel makes a process wait for, and what it loses: counts and times of its trace points over a window.
//!
//! Small BPF programs (`kernel/programs/*.bpf.c`) count in maps inside the kernel; here they are loaded, and their maps are
//! read once, at the end. Each part is an object of its own that attaches alone: where a kernel lacks what one needs, the
//! others still tell, and [`KernelWindow::missing`] says why. Programs and maps belong to open files of this process and
//! nothing is pinned, so that nothing stays loaded however it ends.
//!
//! Needs Linux 5.11 or newer with BTF, on x86_64 or aarch64, and root (CAP_BPF and CAP_PERFMON). What it costs is measured in
//! the decision page on kernel tracing; [`KernelTrace::programs_cpu_ns`] tells it of this run.
//!
//! Not for judging the numbers. Read `kernel/part.rs` next, the list of the parts.

mod histogram;
mod load;
mod part;
mod reasons;
mod source;
mod stacks;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::time::Instant;

use aya::sys::{Stats, enable_stats};
use aya::{Btf, Ebpf, Endianness};
use plumb_model::observed::{KernelWindow, ProcessWaits};

use crate::{HostRoot, ObserveError};
use load::{LoadError, detach, load};
use part::{PARTS, Part};
use reasons::reason_names;
use source::Source;

/// The kernel's own types, which programs are relocated by.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Which security features keep even root out.
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// The first process-id namespace (`PROC_PID_INIT_INO`), by whose numbers the programs know a process.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// What the programs counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelCounts {
    /// Of the whole host.
    pub host: KernelWindow,
    /// Of each process that was traced, by its number.
    pub processes: BTreeMap<u32, ProcessWaits>,
}

impl KernelCounts {
    fn of_process(&mut self, pid: u32) -> &mut ProcessWaits {
        self.processes.entry(pid).or_default()
    }
}

/// Programs that count until [`KernelTrace::finish`].
pub struct KernelTrace {
    since: Instant,
    loaded: Vec<(&'static Part, Ebpf)>,
    missing: Vec<String>,
    reasons: BTreeMap<u32, String>,
    /// While this is open the kernel keeps the time of programs; a kernel before 5.8 cannot.
    stats: Option<OwnedFd>,
}

impl KernelTrace {
    /// Starts to count: of the whole host, and of the threads of each of these processes.
    ///
    /// # Errors
    /// [`ObserveError::KernelTrace`] where no part can be had: no privilege, no BTF, a kernel that is locked down or too old. One
    /// part that cannot be had is no error, and neither is a process that is not there: [`KernelWindow::missing`] has it.
    pub fn attach(pids: &[u32]) -> Result<KernelTrace, ObserveError> {
        let root = HostRoot::default();
        not_locked_down(&root)?;
        let bytes = root.read_bytes(BTF).map_err(|error| ObserveError::KernelTrace {
            reason: error.reason(),
            hint: "the kernel has to be built with CONFIG_DEBUG_INFO_BTF, as those of distributions have been since about 2020",
        })?;
        let btf = Btf::parse(&bytes, Endianness::default()).map_err(|error| ObserveError::KernelTrace {
            reason: format!("{BTF}: {error}"),
            hint: "the kernel's BTF is of a form that is not known here",
        })?;

        let mut missing = Vec::new();
        let traced = traced(&root, pids, &mut missing);
        let mut loaded = Vec::new();
        let mut first_refusal = None;
        for part in PARTS {
            let pids: &[u32] = match (&part.watched, &traced) {
                (None, _) => &[],
                (Some(_), Ok(pids)) => pids,
                (Some(_), Err(reason)) => {
                    missing.push(format!("{}: {reason}", part.name));
                    continue;
                }
            };
            match load(part, pids, &btf) {
                Ok(programs) => loaded.push((part, programs)),
                Err(error) => {
                    missing.push(format!("{}: {error}", part.name));
                    first_refusal.get_or_insert(error);
                }
            }
        }
        if let (true, Some(error)) = (loaded.is_empty(), first_refusal) {
            return Err(refused(&error));
        }
        let reasons = reason_names(&bytes).unwrap_or_default();
        let stats = enable_stats(Stats::RunTime).ok();
        Ok(KernelTrace { since: Instant::now(), loaded, missing, reasons, stats })
    }

    /// Processor time of the programs since they were attached, without what the kernel needs to call them and to keep
    /// this time. Absent before Linux 5.8.
    pub fn programs_cpu_ns(&self) -> Option<u64> {
        self.stats.as_ref()?;
        let programs = self.loaded.iter().flat_map(|(_, programs)| programs.programs());
        Some(
            programs
                .filter_map(|(_, program)| program.info().ok())
                .map(|info| info.run_time().as_nanos() as u64)
                .sum(),
        )
    }

    /// Takes the programs out of the kernel and says what they counted.
    pub fn finish(self) -> KernelCounts {
        let root = HostRoot::default();
        let host = KernelWindow { missing: self.missing, ..KernelWindow::default() };
        let mut counts = KernelCounts { host, ..KernelCounts::default() };
        let counted: Vec<_> =
            self.loaded.into_iter().map(|(part, programs)| (part, detach(programs))).collect();
        let elapsed_ns = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        for (part, maps) in counted {
            let source = Source { maps, root: &root, reasons: &self.reasons };
            if let Err(error) = (part.read)(source, &mut counts) {
                counts.host.missing.push(format!("{}: {error}", part.name));
            }
        }
        counts.host.elapsed_ns = elapsed_ns;
        counts.processes.values_mut().for_each(|process| process.elapsed_ns = elapsed_ns);
        counts
    }
}

/// A locked-down kernel refuses with an error that says nothing.
fn not_locked_down(root: &HostRoot) -> Result<(), ObserveError> {
    match root.read(LOCKDOWN) {
        Ok(text) if text.contains("[confidentiality]") => Err(ObserveError::KernelTrace {
            reason: format!("{LOCKDOWN} says confidentiality, which keeps programs from the kernel's memory"),
            hint: "boot without lockdown=confidentiality; integrity is enough for secure boot",
        }),
        _ => Ok(()),
    }
}

/// The processes as the programs know them, each once and without those that are not there; or the reason why there are none.
fn traced(root: &HostRoot, pids: &[u32], missing: &mut Vec<String>) -> Result<Vec<u32>, String> {
    let named: BTreeSet<u32> = pids.iter().copied().collect();
    if named.is_empty() {
        return Err("no process was named".to_owned());
    }
    if root.link("/proc/self/ns/pid").is_some_and(|namespace| namespace != FIRST_NAMESPACE) {
        let reason = "processes have other numbers outside of this container's process-id namespace";
        return Err(reason.to_owned());
    }
    let (there, gone): (Vec<u32>, Vec<u32>) =
        named.into_iter().partition(|pid| root.exists(&format!("/proc/{pid}")));
    missing.extend(gone.iter().map(|pid| format!("waits of process {pid}: there is none of this number")));
    if there.is_empty() { Err("no process that was named is there".to_owned()) } else { Ok(there) }
}

/// Nothing could be had; the first part's reason stands for all.
fn refused(error: &LoadError) -> ObserveError {
    match error.is_permission() {
        true => ObserveError::KernelTrace {
            reason: format!("it needs root, or CAP_BPF and CAP_PERFMON ({error})"),
            hint: "run as root; in a container, on the host",
        },
        false => ObserveError::KernelTrace {
            reason: error.to_string(),
            hint: "Linux 5.11 or newer is needed, with CONFIG_BPF_SYSCALL and trace points",
        },
    }
}

#[cfg(test)]
mod truth;
