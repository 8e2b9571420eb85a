//! async-profiler in a JVM: loaded for a time that it keeps itself, its stacks read at the end.

use super::attach::Attached;
use super::attach_error::AttachError;
use super::directory::{Directory, read_at_most};
use super::jar::file_in;
use crate::profile::Sampled;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

/// The library within the jar of async-profiler 4.1, and its SHA-256.
struct Library {
    path: &'static str,
    sha256: &'static str,
}

const LIBRARY: Library = if cfg!(target_arch = "aarch64") {
    Library {
        path: "linux-arm64/libasyncProfiler.so",
        sha256: "b2f7fa5a7caaf6ebf1f5e4c46af40d6fe7b623ed5421a4f9be7d45a08537a9e7",
    }
} else {
    Library {
        path: "linux-x64/libasyncProfiler.so",
        sha256: "8d16556469adc3fe6661f0c023bfc2081342c930796b1d68ae1cd8248bef4c28",
    }
};
/// Beyond the window: the profile ends by itself after this even if nobody asks for it.
const GRACE: Duration = Duration::from_secs(10);
/// The profiler's jar and its library: less than 2 MB each.
const LIBRARY_BYTES_MAX: u64 = 64 << 20;
/// Collapsed stacks of ten minutes of a large broker are a few MB.
const STACKS_BYTES_MAX: u64 = 128 << 20;
/// The library's name, whoever loaded it.
const LIBRARY_NAME: &str = "libasyncProfiler.so";
const STACKS: &str = "stacks.collapsed";
/// Where it says how long its samples took; without one it would write to the JVM's own output.
const LOG: &str = "profiler.log";
/// A line or two.
const LOG_BYTES_MAX: u64 = 1 << 20;
const VERSION: &str = "version";

/// The library out of the profiler's jar.
fn library_of(jar: &Path) -> Result<Vec<u8>, AttachError> {
    let failed = |reason: String| AttachError::Library { reason: format!("{}: {reason}", jar.display()) };
    let read = File::open(jar).and_then(|file| read_at_most(&file, LIBRARY_BYTES_MAX));
    let bytes = read.map_err(|error| failed(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| failed(format!("larger than {LIBRARY_BYTES_MAX} bytes")))?;
    let library = file_in(&bytes, LIBRARY.path, LIBRARY_BYTES_MAX).map_err(failed)?;
    let got: String = Sha256::digest(&library).iter().map(|byte| format!("{byte:02x}")).collect();
    match got == LIBRARY.sha256 {
        true => Ok(library),
        // It would be loaded into a broker.
        false => Err(failed(format!("{} has SHA-256 {got}, expected {}", LIBRARY.path, LIBRARY.sha256))),
    }
}

/// A profile under way.
#[derive(Debug)]
pub struct CpuProfiler {
    jvm: Attached,
    /// Where the library is while the profile goes on: some systems know it again by its file only.
    directory: Directory,
    began: Instant,
    timeout: Duration,
    /// `cpu` or `ctimer`.
    pub event: &'static str,
}

impl CpuProfiler {
    /// What [`Sampled::cpu_ns`] is of.
    pub const COST_IS_OF: &str = "the time of async-profiler's stack walks in the JVM by its own clock, without the kernel's part in its signals";

    /// Starts one that ends by itself some seconds after the window. The library comes out of the profiler's jar.
    ///
    /// # Errors
    /// [`AttachError`] where the JVM refuses, and where somebody else's profiler is in it.
    pub fn start(pid: u32, jar: &Path, window: Duration) -> Result<Self, AttachError> {
        let library = library_of(jar)?;
        let jvm = Attached::new(pid)?;
        let directory = Directory::new(&jvm.target, "profiler")?;
        let path = directory.inside(LIBRARY_NAME);
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        if let Some(path) = other_profiler(&maps, &path) {
            return Err(AttachError::OtherProfiler { pid, path });
        }
        directory.write(LIBRARY_NAME, &library)?;
        let timeout = Duration::from_secs((window + GRACE).as_secs());
        let began = Instant::now();
        let log = directory.inside(LOG);
        let options = format!("interval=1ms,threads,timeout={},features=stats,log={log}", timeout.as_secs());
        // Samples of perf events are exact; where they are not allowed, each thread's own timer is.
        let mut refused = None;
        for event in ["cpu", "ctimer"] {
            match jvm.load(&path, &format!("start,event={event},{options}")) {
                Ok(answer) if succeeded(&answer) => {
                    return Ok(CpuProfiler { jvm, directory, began, timeout, event });
                }
                Ok(answer) => {
                    refused = Some(AttachError::ProfilerRefused { pid, answer: answer.trim().to_owned() });
                }
                Err(error) => refused = Some(error),
            }
        }
        close_log(&jvm, &directory);
        Err(refused.unwrap_or(AttachError::Silent { pid }))
    }

    /// Ends it. The JVM writes the stacks to a file that is removed.
    ///
    /// # Errors
    /// [`AttachError`] where the JVM is gone or refuses, and where the profile had ended by itself: what runs now is somebody else's.
    pub fn stop(self) -> Result<Sampled, AttachError> {
        if self.began.elapsed() >= self.timeout {
            let reason = format!("the profile ended by itself after {} s", self.timeout.as_secs());
            return Err(AttachError::Library { reason });
        }
        let (file, log) = (self.directory.inside(STACKS), self.directory.inside(LOG));
        let options = format!("stop,file={file},collapsed,log={log}");
        let answer = self.jvm.load(&self.directory.inside(LIBRARY_NAME), &options)?;
        // What the profiler says of itself is not worth losing its stacks for.
        let said = self.directory.read(LOG, LOG_BYTES_MAX).unwrap_or_default();
        close_log(&self.jvm, &self.directory);
        if !succeeded(&answer) {
            let answer = answer.trim().to_owned();
            return Err(AttachError::Answer { pid: self.jvm.target.pid, answer });
        }
        let stacks = self.directory.read(STACKS, STACKS_BYTES_MAX)?;
        Ok(Sampled {
            stacks: String::from_utf8_lossy(&stacks).into_owned(),
            cpu_ns: walks_ns(&String::from_utf8_lossy(&said)),
        })
    }
}

/// Has the JVM let go of the log: the profiler holds it open until it is told of another, which here is its own output, and then says
/// what it has to say into a file of ours.
fn close_log(jvm: &Attached, directory: &Directory) {
    let options = format!("version,file={}", directory.inside(VERSION));
    // Whoever does not answer any more holds nothing that could be let go.
    let _ = jvm.load(&directory.inside(LIBRARY_NAME), &options);
}

/// `[INFO] Collected 1234 stacks, avg time = 5678 ns`: all of them together.
fn walks_ns(log: &str) -> Option<u64> {
    let (_, said) = log.rsplit_once("Collected ")?;
    let (stacks, mean) = said.split_once(" stacks, avg time = ")?;
    let mean: u64 = mean.split_once(" ns")?.0.parse().ok()?;
    stacks.parse::<u64>().ok()?.checked_mul(mean)
}

/// `return code: 0`, or before Java 9 the number alone.
fn succeeded(answer: &str) -> bool {
    answer.trim().trim_start_matches("return code: ") == "0"
}

/// Somebody else's copy of the profiler among what a process has mapped: two at a time take each other's signals.
fn other_profiler(maps: &str, own: &str) -> Option<String> {
    let paths =
        maps.lines().filter_map(|line| Some(line.get(line.find('/')?..)?.trim_end_matches(" (deleted)")));
    let mut others = paths.filter(|path| path.ends_with(LIBRARY_NAME) && !path.ends_with(own));
    others.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_that_is_not_there_or_is_another_is_an_error() {
        let error = library_of(Path::new("/nowhere/profiler.jar")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/profiler.jar"), "{error}");
        let jar = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvm/agent/agent.jar");
        let error = library_of(&jar).unwrap_err().to_string();
        assert!(error.contains(&format!("it has no {}", LIBRARY.path)), "{error}");
    }

    #[test]
    fn a_library_with_other_bytes_is_refused_and_says_which_were_expected() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("profiler.jar");
        fs::write(&jar, stored(LIBRARY.path, b"not the profiler")).unwrap();
        let error = library_of(&jar).unwrap_err().to_string();
        assert!(error.contains(LIBRARY.sha256), "{error}");
    }

    /// A jar with one file in it that is not packed.
    fn stored(name: &str, content: &[u8]) -> Vec<u8> {
        let (name_bytes, bytes) = ((name.len() as u16).to_le_bytes(), (content.len() as u32).to_le_bytes());
        let mut jar = [&b"PK\x03\x04"[..], &[0; 22], &name_bytes, &[0; 2], name.as_bytes(), content].concat();
        let directory = (jar.len() as u32).to_le_bytes();
        let entry = [&b"PK\x01\x02"[..], &[0; 16], &bytes, &bytes, &name_bytes, &[0; 16], name.as_bytes()];
        jar.extend(entry.concat());
        jar.extend([&b"PK\x05\x06"[..], &[0; 12], &directory, &[0; 2]].concat());
        jar
    }

    #[test]
    fn what_all_stacks_took_is_their_number_times_their_mean() {
        let log = "[WARN] Unable to create perf event\n[INFO] Collected 1234 stacks, avg time = 5678 ns\n";
        assert_eq!(walks_ns(log), Some(1234 * 5678));
        for other in [
            "",
            "[INFO] Collected none",
            "Collected 1 stacks, avg time = x ns",
            "Collected 18446744073709551615 stacks, avg time = 2 ns",
        ] {
            assert_eq!(walks_ns(other), None, "{other}");
        }
    }

    #[test]
    fn a_copy_of_somebody_else_is_found_and_ours_is_not_taken_for_it() {
        let own = "/tmp/plumb-jvm-0-7-profiler/libasyncProfiler.so";
        let ours = format!("7f00-7f01 r-xp 00000000 08:01 12 {own} (deleted)\n7f02-7f03 rw-p 0 00:00 0 \n");
        assert_eq!(other_profiler(&ours, own), None);
        let both = format!("{ours}7f04-7f05 r-xp 0 08:01 13   /opt/ap/lib/libasyncProfiler.so\n");
        assert_eq!(other_profiler(&both, own).as_deref(), Some("/opt/ap/lib/libasyncProfiler.so"));
    }
}
