//! HotSpot's attach protocol (`attachListener_posix.cpp`): a socket that a JVM opens when it is asked by a file and a signal.
//!
//! No JDK is needed. The signal is SIGQUIT, which ends any process that is no JVM, and one whose JVM does not listen to it: it is sent only to a
//! process that has `libjvm.so` mapped, catches the signal, and has not been told to refuse (`-XX:+DisableAttachMechanism`, `-Xrs`).

#![expect(unsafe_code, reason = "the standard library does not say who is at the other end of a socket")]

use super::attach_error::{AttachError, PATIENCE};
use super::target::Target;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest answer: `Thread.print` of ten thousand threads is about 10 MB.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Variables of the environment whose words a JVM takes for its own flags.
const FLAG_VARIABLES: [&[u8]; 3] = [b"JAVA_TOOL_OPTIONS=", b"JDK_JAVA_OPTIONS=", b"_JAVA_OPTIONS="];

/// A JVM that can be asked.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) target: Arc<Target>,
}

impl Attached {
    /// Finds the JVM's socket, and has it opened where it is not yet.
    pub(super) fn new(pid: u32) -> Result<Self, AttachError> {
        let target = Arc::new(Target::new(pid)?);
        let maps =
            fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|_| AttachError::NoProcess { pid })?;
        if !maps.contains("/libjvm.so") {
            return Err(AttachError::NoJvm { pid });
        }
        let attached = Attached { target };
        attached.connect()?;
        Ok(attached)
    }

    /// Opens a connection for one request.
    fn connect(&self) -> Result<UnixStream, AttachError> {
        let (pid, socket) = (self.target.pid, self.socket());
        let stream = self.target.as_owner(|| match UnixStream::connect(&socket) {
            Err(error) if is_closed(&error) => {
                let refused = refusal(pid);
                // Of a process that is gone nothing can be read, and nothing is refused.
                if self.target.has_ended() {
                    return Err(AttachError::Ended { pid });
                }
                if let Some(flag) = refused {
                    return Err(AttachError::Refused { pid, flag });
                }
                self.have_it_opened(&socket)
            }
            connected => connected.map_err(|source| AttachError::Connection { pid, source }),
        })?;
        match peer(&stream) {
            Ok(peer) if peer == pid => Ok(stream),
            Ok(_) => Err(AttachError::Impostor { pid }),
            Err(source) => Err(AttachError::Connection { pid, source }),
        }
    }

    fn socket(&self) -> PathBuf {
        self.target.tmp().join(format!(".java_pid{}", self.target.inside))
    }

    /// The JVM opens its socket when it finds a file of a certain name, of its own user, on SIGQUIT.
    fn have_it_opened(&self, socket: &Path) -> Result<UnixStream, AttachError> {
        let request = self.target.tmp().join(format!(".attach_pid{}", self.target.inside));
        create_anew(&request).map_err(|source| AttachError::Directory {
            pid: self.target.pid,
            path: "/tmp".to_owned(),
            source,
        })?;
        let opened = self.target.quit().and_then(|()| self.wait_for(socket));
        // A file that is gone already is what was wanted.
        let _ = fs::remove_file(request);
        opened
    }

    fn wait_for(&self, socket: &Path) -> Result<UnixStream, AttachError> {
        let pid = self.target.pid;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => return Ok(stream),
                Err(error) if !is_closed(&error) => {
                    return Err(AttachError::Connection { pid, source: error });
                }
                Err(_) if self.target.has_ended() => return Err(AttachError::Ended { pid }),
                Err(_) if Instant::now() >= deadline => return Err(AttachError::Silent { pid }),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Answer to a diagnostic command, as `jcmd` gives it.
    pub(super) fn command(&self, command: &str) -> Result<String, AttachError> {
        self.ask(["jcmd", command, "", ""])
    }

    /// Loads a native agent with options.
    pub(super) fn load(&self, library: &str, options: &str) -> Result<String, AttachError> {
        self.ask(["load", library, "true", options])
    }

    /// Loads a Java agent with options, or calls it again, and waits for its end.
    pub(super) fn load_java(&self, jar: &str, options: &str) -> Result<(), AttachError> {
        let pid = self.target.pid;
        let answer = self.ask(["load", "instrument", "false", &format!("{jar}={options}")])?;
        match answer.trim().trim_start_matches("return code: ") {
            "0" | "" => Ok(()),
            text if text.contains("EnableDynamicAgentLoading") => {
                Err(AttachError::Refused { pid, flag: "-XX:-EnableDynamicAgentLoading".to_owned() })
            }
            text => Err(AttachError::Answer { pid, answer: text.chars().take(200).collect() }),
        }
    }

    /// A request of protocol version 1: each word ends with a zero. The answer's first line is a number, 0 where all went well.
    fn ask(&self, words: [&str; 4]) -> Result<String, AttachError> {
        let pid = self.target.pid;
        let mut request = b"1\0".to_vec();
        for word in words {
            request.extend_from_slice(word.as_bytes());
            request.push(0);
        }
        let mut stream = self.connect()?;
        let answer = stream
            .write_all(&request)
            .and_then(|()| read_until(&stream, Instant::now() + PATIENCE, ANSWER_BYTES_MAX))
            .map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::Silent { pid },
                io::ErrorKind::FileTooLarge => AttachError::TooLarge { pid, bytes_max: ANSWER_BYTES_MAX },
                _ if self.target.has_ended() => AttachError::Ended { pid },
                _ => AttachError::Connection { pid, source },
            })?;
        let answer = String::from_utf8_lossy(&answer);
        match answer.split_once('\n') {
            Some(("0", text)) => Ok(text.to_owned()),
            _ if answer.is_empty() && self.target.has_ended() => Err(AttachError::Ended { pid }),
            _ => Err(AttachError::Answer { pid, answer: answer.trim().chars().take(200).collect() }),
        }
    }
}

/// No socket, or one that nobody listens to any more.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// A file that was not there: a link of somebody else's is not followed, and what a killed one left goes.
fn create_anew(path: &Path) -> io::Result<()> {
    let create = || fs::OpenOptions::new().write(true).create_new(true).open(path).map(drop);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}

/// Everything until the other end closes, all of it by the deadline.
fn read_until(mut stream: &UnixStream, deadline: Instant, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(read) if (answer.len() + read) as u64 > bytes_max => {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The process that listens at the other end, by its number here; 0 where it has none.
fn peer(stream: &UnixStream) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `credentials`, which is of that size, and keeps neither pointer.
    let told = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    match told {
        0 => Ok(u32::try_from(credentials.pid).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The reason why a JVM whose socket is closed must not be sent SIGQUIT: it would end by it, or write all its stacks to its log.
fn refusal(pid: u32) -> Option<String> {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    if let Some(flag) = refusing_flag(&command, &environment) {
        return Some(flag);
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    (!catches_quit(&status)).then(|| "it does not catch SIGQUIT".to_owned())
}

/// The flag by which a JVM serves nobody, on its command line or in the environment.
fn refusing_flag(command: &[u8], environment: &[u8]) -> Option<String> {
    let arguments = command.split(|byte| *byte == 0);
    let of_variables = environment
        .split(|byte| *byte == 0)
        .filter_map(|line| FLAG_VARIABLES.iter().find_map(|name| line.strip_prefix(*name)))
        .flat_map(|value| value.split(u8::is_ascii_whitespace));
    let refuses =
        |word: &&[u8]| matches!(*word, b"-XX:+DisableAttachMechanism" | b"-Xrs" | b"-XX:+ReduceSignalUsage");
    arguments.chain(of_variables).find(refuses).map(|flag| String::from_utf8_lossy(flag).into_owned())
}

/// Whether a process has a handler for SIGQUIT (proc_pid_status(5), `SigCgt`).
fn catches_quit(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (libc::SIGQUIT - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_process_that_is_no_jvm_is_refused_and_lives_on() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let error = Attached::new(child.id()).unwrap_err();
        assert!(matches!(error, AttachError::NoJvm { .. }), "{error}");
        assert!(child.try_wait().unwrap().is_none(), "no signal was sent");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_socket_that_another_process_opened_in_its_place_is_not_believed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let attached = Attached { target: Arc::new(Target::new(child.id()).unwrap()) };
        let listener = UnixListener::bind(attached.socket()).unwrap();
        let error = attached.command("VM.version").unwrap_err();
        fs::remove_file(attached.socket()).unwrap();
        drop(listener);
        assert!(matches!(error, AttachError::Impostor { .. }), "{error}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_answer_without_end_is_refused_in_time_and_in_bytes() {
        let kind = |bytes_max: u64, wait: Duration| {
            let (near, mut far) = UnixStream::pair().unwrap();
            let flood = std::thread::spawn(move || while far.write_all(&[b'x'; 4096]).is_ok() {});
            let error = read_until(&near, Instant::now() + wait, bytes_max).unwrap_err();
            drop(near);
            flood.join().unwrap();
            error.kind()
        };
        assert_eq!(kind(1 << 20, PATIENCE), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(u64::MAX, Duration::from_millis(20)), io::ErrorKind::TimedOut);
        let (near, _far) = UnixStream::pair().unwrap();
        let silent = read_until(&near, Instant::now() + Duration::from_millis(20), 10).unwrap_err();
        assert!(matches!(silent.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    }

    #[test]
    fn flags_that_refuse_are_found_wherever_a_jvm_takes_them_from() {
        let flag = |command: &[u8], environment: &[u8]| refusing_flag(command, environment);
        assert_eq!(flag(b"java\0-Xrs\0kafka.Kafka\0", b"").as_deref(), Some("-Xrs"));
        let variables = b"HOME=/\0JAVA_TOOL_OPTIONS=-Xmx1g -XX:+DisableAttachMechanism\0";
        assert_eq!(flag(b"java\0A\0", variables).as_deref(), Some("-XX:+DisableAttachMechanism"));
        assert_eq!(flag(b"java\0-XX:-DisableAttachMechanism\0", b"OTHER=-Xrs\0"), None);
    }

    #[test]
    fn status_tells_the_caught_signals() {
        assert!(catches_quit("Name:\tjava\nSigCgt:\t0000000000000004\n"));
        assert!(!catches_quit("SigCgt:\t0000000000000002\n"));
    }
}
