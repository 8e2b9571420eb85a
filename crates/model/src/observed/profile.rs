//! The processor time of a process, by stacks.

use super::ThreadClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A profile of one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// The profiler, its version and event: `async-profiler 4.1, ctimer, 1 ms`.
    pub source: String,
    /// Time that it ran.
    pub elapsed_ns: u64,
    /// Samples.
    pub samples: u64,
    /// Samples without those of compilers and collections: what shares are of.
    pub samples_of_work: u64,
    /// Shares by class, largest first, of `samples_of_work`.
    pub shares: Vec<ProfileShare>,
    /// The stacks with most samples, at most 2,000; all of them are in the file.
    pub stacks: Vec<Stack>,
    /// The file of all collapsed stacks in the run's directory.
    pub file: Option<String>,
    /// Processor time that taking the samples took, as far as the profiler tells it; absent where it does not.
    pub cpu_ns: Option<u64>,
    /// What that time is of, and what is not in it.
    pub cpu_is_of: Option<String>,
}

/// Name of a file of the profile of process `pid` in the directory of a watched path: `profile.collapsed`, or `profile-1234.collapsed`
/// where several processes were watched.
pub fn profile_file(stem: &str, pid: u32, processes: usize, ending: &str) -> String {
    match processes {
        0 | 1 => format!("{stem}.{ending}"),
        _ => format!("{stem}-{pid}.{ending}"),
    }
}

/// The class of a frame's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuClass {
    /// AES and GHASH themselves.
    Aes,
    /// The rest of TLS and its handshakes.
    Tls,
    /// Compression.
    Compress,
    /// Decompression.
    Decompress,
    /// Checksums.
    Checksum,
    /// Copies in memory and page cache.
    Copy,
    /// The network stack and its system calls.
    NetworkStack,
    /// Appending to the log.
    LogAppend,
    /// fsync and what it waits for.
    Fsync,
    /// Locks.
    Lock,
    /// Collections.
    Gc,
    /// The JVM's compilers.
    Jit,
    /// Checking who may do what.
    Authorize,
    /// Serialisation in an application.
    Serialize,
    /// All else.
    Other,
}

/// The share of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileShare {
    /// The class.
    pub class: CpuClass,
    /// Of all threads but compilers and collections, or of one class of threads.
    pub threads: Option<ThreadClass>,
    /// Samples.
    pub samples: u64,
    /// Their share of the samples of these threads, 0 to 1.
    pub share: f64,
}

/// A stack with its samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stack {
    /// Frames with semicolons between them, outermost first; the first is the thread's name in brackets.
    pub frames: String,
    /// Samples.
    pub samples: u64,
    /// The class that its samples count for; absent in documents of earlier versions.
    pub class: Option<CpuClass>,
    /// The class of its thread; absent in documents of earlier versions.
    pub threads: Option<ThreadClass>,
}
