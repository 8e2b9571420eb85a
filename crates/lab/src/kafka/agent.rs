//! Loading a Java agent into a running JVM, the way `jcmd` does it. `jcmd` itself is part of a JDK only, and a broker
//! runs on a JRE.
//!
//! The protocol is HotSpot's attach mechanism: the sources of the JDK, `attachListener_posix.cpp`, describe it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs_err as fs;
use rustix::process::Signal;

use super::error::{LabError, Result};
use super::identity::ProcessId;

/// The longest time for the JVM to open its socket, and for an agent to start. Ours: it takes a fraction of a second.
const DEADLINE: Duration = Duration::from_secs(15);

/// Loads the agent with its options into the JVM, whose working directory is `directory`.
pub(super) fn load(process: ProcessId, directory: &Path, jar: &Path, options: &str) -> Result<()> {
    let failed =
        |reason: String| LabError::Agent { pid: process.pid, agent: jar.display().to_string(), reason };
    let mut socket = connect(process, directory).map_err(|e| failed(format!("no attach socket: {e}")))?;
    let answer = (|| {
        socket.set_read_timeout(Some(DEADLINE))?;
        // Protocol version, command, agent library, "the library's path is not absolute", the library's options.
        write!(socket, "1\0load\0instrument\0false\0{}={options}\0", jar.display())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    })()
    .map_err(|e: std::io::Error| failed(e.to_string()))?;
    if is_success(&answer) { Ok(()) } else { Err(failed(answer.trim().replace('\n', " "))) }
}

/// The first line is the command's result; then, for `load`, the agent's own.
fn is_success(answer: &str) -> bool {
    let mut lines = answer.lines();
    let agent = |line: &str| line.trim().trim_start_matches("return code: ") == "0";
    lines.next().is_some_and(|line| line.trim() == "0") && lines.next().is_none_or(agent)
}

/// The JVM opens its socket when it finds a file of a certain name in its working directory on SIGQUIT.
fn connect(process: ProcessId, directory: &Path) -> std::io::Result<UnixStream> {
    let socket = PathBuf::from(format!("/tmp/.java_pid{}", process.pid));
    if let Ok(stream) = UnixStream::connect(&socket) {
        return Ok(stream);
    }
    let request = directory.join(format!(".attach_pid{}", process.pid));
    fs::write(&request, "")?;
    process.signal(Signal::QUIT);
    let deadline = Instant::now() + DEADLINE;
    let stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break Ok(stream),
            Err(e) if Instant::now() > deadline => break Err(e),
            Err(_) if process.has_ended_within(Duration::from_millis(20)) => {
                break Err(rustix::io::Errno::SRCH.into());
            }
            Err(_) => {}
        }
    };
    fs::remove_file(request)?;
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_jvm_and_the_agent_have_to_report_success() {
        assert!(is_success("0\nreturn code: 0\n"));
        assert!(is_success("0\n0\n"));
        assert!(!is_success("0\nreturn code: 100\n"));
        assert!(!is_success("101\nno such library\n"));
        assert!(!is_success(""));
    }
}
