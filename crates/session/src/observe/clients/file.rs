//! librdkafka's statistics in a file that grows.

use super::Shared;
use plumb_observe::ClientsSeen;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Time between two looks at a file (ours): librdkafka writes every second at most often.
const PACE: Duration = Duration::from_millis(100);
/// Bytes that are read of a file at once.
const READ_BYTES: usize = 256 << 10;

const HINT: &str = "--client-statistics takes a file to which an application writes librdkafka's statistics, one object in a line";

/// A file that grows.
pub(super) struct FileSource {
    pub(super) shared: Shared,
    thread: JoinHandle<io::Result<()>>,
}

impl FileSource {
    pub(super) fn begin(path: &str) -> Self {
        let shared = Shared::new(path);
        // The end of the file is looked up here and not in the thread, which may come to run later.
        let growing = GrowingFile::at_end(path);
        let of_thread = shared.clone();
        FileSource { shared, thread: spawn(move || growing.follow(&of_thread)) }
    }

    pub(super) fn close(self) -> ClientsSeen {
        match self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its reader failed"))) {
            Ok(()) => self.shared.close(),
            Err(error) => self.shared.unseen(error.to_string(), HINT),
        }
    }
}

/// A file, and how far it has been read. A file that is replaced or cut while it is read is read from its begin on.
struct GrowingFile {
    path: String,
    open: io::Result<Opened>,
}

struct Opened {
    file: File,
    /// Of which file system, and which file in it.
    identity: Identity,
    at: u64,
    /// It was opened within a line, whose rest is passed over.
    within_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl GrowingFile {
    fn at_end(path: &str) -> Self {
        let opened = Opened::new(path).and_then(Opened::seek_end);
        GrowingFile { path: path.to_owned(), open: opened }
    }

    /// Reads what comes until told to stop.
    ///
    /// # Errors
    /// When there is no such file until the end, or it cannot be read.
    fn follow(mut self, shared: &Shared) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            // What was written before the window ended is read, and nothing of what comes after.
            let last = shared.is_stopped();
            self.read(&mut buffer, shared)?;
            if last {
                return self.open.map(|_| ());
            }
            std::thread::sleep(PACE);
        }
    }

    fn read(&mut self, buffer: &mut [u8], shared: &Shared) -> io::Result<()> {
        if self.open.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            // All of a file that appears within the window was written within it.
            self.open = Opened::new(&self.path);
        }
        let Ok(opened) = &mut self.open else { return Ok(()) };
        opened.read_rest(buffer, shared)?;
        match Opened::new(&self.path) {
            Ok(now) if now.identity != opened.identity => {
                opened.read_rest(buffer, shared)?;
                *opened = now;
                opened.read_rest(buffer, shared)
            }
            _ => Ok(()),
        }
    }
}

impl Opened {
    fn new(path: &str) -> io::Result<Self> {
        // Without waiting: a pipe without a writer would hold the reader up.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        Ok(Opened { file, identity, at: 0, within_line: false })
    }

    fn seek_end(mut self) -> io::Result<Self> {
        self.at = self.file.seek(SeekFrom::End(0))?;
        if self.at > 0 {
            let mut last = [0];
            self.file.seek(SeekFrom::Start(self.at - 1))?;
            self.file.read_exact(&mut last)?;
            self.within_line = last[0] != b'\n';
        }
        Ok(self)
    }

    fn read_rest(&mut self, buffer: &mut [u8], shared: &Shared) -> io::Result<()> {
        if self.file.metadata()?.len() < self.at {
            self.file.seek(SeekFrom::Start(0))?;
            (self.at, self.within_line) = (0, false);
        }
        // No more than there is at this moment: an application that writes faster than this reads would hold the reader for ever.
        let end = self.file.metadata()?.len();
        while self.at < end {
            let most = usize::try_from(end - self.at).map_or(buffer.len(), |rest| rest.min(buffer.len()));
            let count = self.file.read(&mut buffer[..most])?;
            if count == 0 {
                break;
            }
            self.at += count as u64;
            let mut bytes = &buffer[..count];
            if self.within_line {
                let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { continue };
                (bytes, self.within_line) = (&bytes[end + 1..], false);
            }
            shared.readings().take(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn emission(ts_us: u64, messages: u64) -> String {
        format!(
            r#"{{"name": "a#producer-1", "client_id": "a", "type": "producer", "ts": {ts_us}, "age": {ts_us}, "txmsgs": {messages}, "brokers": {{}}}}"#
        )
    }

    /// What is seen of a file that is changed while it is read.
    fn followed(before: Option<&str>, change: impl FnOnce(&std::path::Path)) -> ClientsSeen {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("statistics.log");
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let source = FileSource::begin(path.to_str().unwrap());
        change(&path);
        source.shared.stop();
        source.close()
    }

    fn append(path: &std::path::Path, text: &str) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn what_a_file_had_before_the_window_does_not_count() {
        let before = format!("{}\n{}", emission(1_000_000, 0), &emission(2_000_000, 999)[..40]);
        let seen = followed(Some(&before), |path| {
            let rest = &emission(2_000_000, 999)[40..];
            append(path, &format!("{rest}\n{}\n{}\n", emission(3_000_000, 100), emission(5_000_000, 300)));
        });
        assert_eq!(seen.clients.len(), 1, "{:?}", seen.unseen);
        assert_eq!(seen.clients[0].messages_per_s, Some(100.0));
        assert_eq!(seen.unseen, []);
    }

    #[test]
    fn a_file_that_appears_is_read_whole() {
        let seen = followed(None, |path| {
            std::fs::write(path, format!("{}\n{}\n", emission(1_000_000, 0), emission(3_000_000, 50)))
                .unwrap();
        });
        assert_eq!(seen.clients[0].messages_per_s, Some(25.0), "{:?}", seen.unseen);
    }

    #[test]
    fn a_file_that_is_replaced_or_cut_goes_on() {
        let replaced = followed(Some(""), |path| {
            append(path, &format!("{}\n", emission(1_000_000, 0)));
            std::fs::rename(path, path.with_extension("old")).unwrap();
            std::fs::write(path, format!("{}\n", emission(3_000_000, 50))).unwrap();
        });
        assert_eq!(replaced.clients[0].messages_per_s, Some(25.0), "{:?}", replaced.unseen);
        let cut = followed(Some(&"old lines\n".repeat(100)), |path| {
            std::fs::write(path, format!("{}\n{}\n", emission(1_000_000, 0), emission(3_000_000, 50)))
                .unwrap();
        });
        assert_eq!(cut.clients[0].messages_per_s, Some(25.0), "{:?}", cut.unseen);
    }

    #[test]
    fn no_file_a_directory_and_a_silent_file_say_why_nothing_is_seen() {
        let reason = |seen: ClientsSeen| seen.unseen[0].reason.clone();
        assert!(reason(followed(None, |_| ())).contains("No such file"));
        assert!(
            reason(followed(None, |path| std::fs::create_dir(path).unwrap())).contains("no regular file")
        );
        let silent = followed(Some("old\n"), |_| ());
        assert_eq!(silent.unseen[0].reason, "no line came within the window");
        assert!(silent.unseen[0].hint.as_ref().unwrap().contains("statistics.interval.ms"));
    }
}
