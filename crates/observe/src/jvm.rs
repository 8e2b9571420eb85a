//! A JVM of this host, asked over HotSpot's attach protocol: its flags, the whole names of its threads, its metrics, a CPU profile.
//!
//! Nothing of Plumb's runs in it afterwards. What stays loaded until it ends is the profiler's library and the agent's class, both idle; a
//! profile has a time limit of its own, so that it ends also when Plumb was killed.

mod attach;
mod attach_error;
mod beans;
mod counters;
mod directory;
mod flags;
mod gc_log;
mod jar;
mod profiler;
mod target;

pub use attach_error::AttachError;
pub use beans::{JvmBeans, jvm_beans};
pub use counters::{GcCounters, gc_counters};
pub use gc_log::GcLog;
pub use profiler::CpuProfiler;

use crate::thread_class::thread_names;
use attach::Attached;
use plumb_model::observed::JvmFacts;
use std::collections::BTreeMap;

/// What a JVM says of itself.
///
/// # Errors
/// [`AttachError`] where it is no JVM, refuses, or does not answer.
pub fn jvm_facts(pid: u32) -> Result<JvmFacts, AttachError> {
    let jvm = Attached::new(pid)?;
    let flags = flags::parse(&jvm.command("VM.flags -all")?);
    let version = flags::version(&jvm.command("VM.version")?);
    Ok(JvmFacts { version, collector: flags::collector(&flags), flags })
}

/// Whole names of a JVM's threads by the kernel's number.
///
/// # Errors
/// [`AttachError`], as for [`jvm_facts`].
pub fn jvm_thread_names(pid: u32) -> Result<BTreeMap<u32, String>, AttachError> {
    Ok(thread_names(&Attached::new(pid)?.command("Thread.print")?))
}
