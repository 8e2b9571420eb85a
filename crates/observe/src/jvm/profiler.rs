//! async-profiler in a JVM: loaded for a time that it keeps itself, its stacks read at the end.

use super::attach::{AttachError, Attached};
use super::directory::{Directory, read_at_most};
use super::jar::file_in;
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
        let (began, options) =
            (Instant::now(), format!("interval=1ms,threads,timeout={}", timeout.as_secs()));
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
        Err(refused.unwrap_or(AttachError::Silent { pid }))
    }

    /// Ends it: collapsed stacks, one a line, with the number of samples last. The JVM writes them to a file that is removed.
    ///
    /// # Errors
    /// [`AttachError`] where the JVM is gone or refuses, and where the profile had ended by itself: what runs now is somebody else's.
    pub fn stop(self) -> Result<String, AttachError> {
        if self.began.elapsed() >= self.timeout {
            let reason = format!("the profile ended by itself after {} s", self.timeout.as_secs());
            return Err(AttachError::Library { reason });
        }
        let options = format!("stop,file={},collapsed", self.directory.inside(STACKS));
        let answer = self.jvm.load(&self.directory.inside(LIBRARY_NAME), &options)?;
        if !succeeded(&answer) {
            let answer = answer.trim().to_owned();
            return Err(AttachError::Answer { pid: self.jvm.target.pid, answer });
        }
        let stacks = self.directory.read(STACKS, STACKS_BYTES_MAX)?;
        Ok(String::from_utf8_lossy(&stacks).into_owned())
    }
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
    fn a_copy_of_somebody_else_is_found_and_ours_is_not_taken_for_it() {
        let own = "/tmp/plumb-jvm-0-7-profiler/libasyncProfiler.so";
        let ours = format!("7f00-7f01 r-xp 00000000 08:01 12 {own} (deleted)\n7f02-7f03 rw-p 0 00:00 0 \n");
        assert_eq!(other_profiler(&ours, own), None);
        let both = format!("{ours}7f04-7f05 r-xp 0 08:01 13   /opt/ap/lib/libasyncProfiler.so\n");
        assert_eq!(other_profiler(&both, own).as_deref(), Some("/opt/ap/lib/libasyncProfiler.so"));
    }
}
