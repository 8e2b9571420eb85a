//! The longest pause of a window, out of the log of collections that a JVM writes (`-Xlog:gc`, JDK 9 and later; Kafka's scripts turn it on).
//!
//! The log is the file that the process has open: its name may hold its number and its start (`%p`, `%t`), and it may be in another
//! file system than ours. What was written before the window is not read.

use super::target::Target;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A log grows by less than a MB in a minute; one that was changed grows by what it likes.
const GROWTH_BYTES_MAX: u64 = 64 << 20;

/// A log, open at the place where the window began.
#[derive(Debug)]
pub struct GcLog {
    pid: u32,
    file: File,
    inode: u64,
}

impl GcLog {
    /// Opens the log of a process; none where it writes none to a file, or this user may not read it.
    pub fn open(pid: u32) -> Option<Self> {
        let (mut file, inode) = current(pid)?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(GcLog { pid, file, inode })
    }

    /// The longest pause that was written since; none where there was none, or the log cannot be read any more.
    pub fn longest_pause_ns(mut self) -> Option<u64> {
        let mut text = read(&mut self.file)?;
        // A log that is full goes by another name, and a new one takes its place. Once in a window, that is: it holds megabytes.
        if let Some((mut next, inode)) = current(self.pid)
            && inode != self.inode
        {
            text += &read(&mut next)?;
        }
        longest(&text)
    }
}

fn read(file: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(GROWTH_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= GROWTH_BYTES_MAX).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The file that the process writes its log to, at its beginning, and its inode.
fn current(pid: u32) -> Option<(File, u64)> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let wanted = logs(&String::from_utf8_lossy(&command));
    let target = Target::new(pid).ok()?;
    let found = wanted.iter().find_map(|wanted| match wanted {
        Log::Stdout => Some(PathBuf::from(format!("/proc/{pid}/fd/1"))),
        Log::File(pattern) => open_file(pid, pattern),
    })?;
    // What stands there may be a pipe, which is not to be waited for.
    let open = || fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&found);
    let file = target.as_owner(|| Ok(open().ok())).ok()??;
    let metadata = file.metadata().ok()?;
    metadata.is_file().then(|| (file, metadata.ino()))
}

/// The process's descriptor of a file of that name.
fn open_file(pid: u32, pattern: &str) -> Option<PathBuf> {
    let name = Path::new(pattern).file_name()?.to_str()?.to_owned();
    fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten().map(|entry| entry.path()).find(|descriptor| {
        let link = fs::read_link(descriptor).ok();
        link.as_ref().and_then(|link| link.file_name()?.to_str()).is_some_and(|open| fits(open, &name))
    })
}

/// Where a log of collections goes.
#[derive(Debug, PartialEq)]
enum Log {
    File(String),
    Stdout,
}

/// The logs of collections that a command line names: `-Xlog:gc*=info:file=/var/log/gc.log:time:filecount=5`, `-Xloggc:gc.log`.
fn logs(command: &str) -> Vec<Log> {
    let log = |word: &str| {
        if let Some(file) = word.strip_prefix("-Xloggc:") {
            return Some(Log::File(file.to_owned()));
        }
        let (what, rest) =
            word.strip_prefix("-Xlog:").map(|rest| rest.split_once(':').unwrap_or((rest, "")))?;
        what.split(',').find(|tags| tags.starts_with("gc") || tags.starts_with("all"))?;
        let file = rest.strip_prefix("file=").or_else(|| rest.strip_prefix("\"file="));
        let quoted = rest.strip_prefix('"').or_else(|| rest.strip_prefix("file=\""));
        match (quoted, file) {
            (Some(quoted), _) => {
                Some(Log::File(quoted.trim_start_matches("file=").split('"').next()?.to_owned()))
            }
            (None, Some(file)) => Some(Log::File(file.split(':').next()?.to_owned())),
            // A bare name is a file too.
            (None, None) => match rest.split(':').next().unwrap_or_default() {
                "" | "stdout" => Some(Log::Stdout),
                "stderr" => None,
                name => Some(Log::File(name.to_owned())),
            },
        }
    };
    command.split('\0').filter_map(log).collect()
}

/// Whether a name is that of a pattern in which `%p`, `%t` and `%hn` stand for anything.
fn fits(name: &str, pattern: &str) -> bool {
    let pattern = pattern.replace("%hn", "%").replace("%p", "%").replace("%t", "%");
    let mut parts = pattern.split('%');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The longest of the pauses: `[...] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 3.123ms`. Phases within a pause are not
/// called so, and its announcement has no time.
fn longest(text: &str) -> Option<u64> {
    let pause = |line: &str| {
        let (_, event) = line.split_once("GC(")?;
        let (_, event) = event.split_once(") ")?;
        // Of generational ZGC: `GC(7) Y: Pause Mark Start 0.010ms`.
        let event = event.trim_start_matches("Y: ").trim_start_matches("y: ").trim_start_matches("O: ");
        event.trim_start().strip_prefix("Pause ")?;
        let ms: f64 = event.trim_end().strip_suffix("ms")?.rsplit(' ').next()?.parse().ok()?;
        (ms.is_finite() && (0.0..1e9).contains(&ms)).then_some((ms * 1e6).round() as u64)
    };
    text.lines().filter_map(pause).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn the_longest_pause_is_told_and_phases_and_announcements_are_none() {
        let text = "[2026-01-01T00:00:00.000+0000][gc,start    ] GC(3) Pause Young (Normal) (G1 Evacuation Pause)\n\
            [2026-01-01T00:00:00.003+0000][gc,phases   ] GC(3)   Evacuate Collection Set: 900.1ms\n\
            [2026-01-01T00:00:00.003+0000][gc          ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 3.123ms\n\
            [2026-01-01T00:00:00.003+0000][gc,cpu      ] GC(3) User=0.01s Sys=0.00s Real=0.00s\n\
            [12.345s][info][gc] GC(4) Concurrent Mark Cycle 700.5ms\n\
            [12.345s][info][gc] GC(4) Pause Full (G1 Compaction Pause) 60M->58M(64M) 41.250ms\n";
        assert_eq!(longest(text), Some(41_250_000));
        assert_eq!(longest("[1s][info][gc,phases] GC(0) Y: Pause Mark Start 0.012ms\n"), Some(12_000));
        assert_eq!(longest("GC(1) Pause x NaNms\nGC(2) Pause y 1e300ms\nGC(\n"), None);
    }

    #[test]
    fn logs_are_found_on_the_command_line_whatever_form_they_have() {
        let file = |name: &str| vec![Log::File(name.to_owned())];
        let kafka =
            "java\0-Xlog:gc*:file=/opt/kafka/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M\0";
        assert_eq!(logs(kafka), file("/opt/kafka/logs/kafkaServer-gc.log"));
        assert_eq!(logs("-Xloggc:gc.log\0"), file("gc.log"));
        assert_eq!(logs("-Xlog:gc:\"file=/a:b.log\":time\0"), file("/a:b.log"));
        assert_eq!(logs("-Xlog:safepoint,gc=info:gc-%p.log\0"), file("gc-%p.log"));
        assert_eq!(logs("-Xlog:gc\0-Xlog:gc:stderr\0-Xlog:class*:x\0-Xlog:disable\0"), [Log::Stdout]);
    }

    #[test]
    fn names_fit_patterns_with_numbers_in_them() {
        assert!(fits("gc-17-2026.log", "gc-%p-%t.log"));
        assert!(fits("gc.log", "gc.log"));
        assert!(!fits("gc.log.0", "gc.log"));
        assert!(!fits("other.log", "gc-%p.log"));
        assert!(fits("gc17", "gc%p"));
    }

    #[test]
    fn only_what_was_written_within_the_window_counts_also_in_the_log_that_came_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        fs::write(&path, "GC(1) Pause Young 900.0ms\n").unwrap();
        let mut file = File::open(&path).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        // A process whose log is unknown: only the file that is open is read.
        let log = GcLog { pid: u32::MAX, file, inode: 0 };
        let mut writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
        writer.write_all(b"GC(2) Pause Young 7.5ms\n").unwrap();
        assert_eq!(log.longest_pause_ns(), Some(7_500_000));
    }
}
