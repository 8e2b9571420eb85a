//! One running broker.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fs_err as fs;
use rustix::process::Signal;

use super::configuration::BrokerPlan;
use super::error::Result;
use super::identity::ProcessId;
use super::install::last_lines;
use super::launch::Launcher;

/// The longest time for brokers to end by themselves. Measured: 0.3 to 0.6 s for one; but the last of several waits minutes for a
/// quorum that is no longer there. What a longer wait would save is thrown away anyway.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// The longest wait for the system to end a killed process.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// The number of lines that an error carries of each of a broker's files.
const LINES: usize = 12;

/// A broker's process and where it is.
pub(super) struct Broker {
    pub(super) plan: BrokerPlan,
    pub(super) process: ProcessId,
    child: Child,
}

impl Broker {
    /// Starts the broker from the settings in its directory. `java`: program, class path and flags set.
    pub(super) fn start(plan: BrokerPlan, launcher: &Launcher, mut java: Command) -> Result<Self> {
        let console = fs::File::create(plan.console())?.into_parts().0;
        java.args(["kafka.Kafka", "server.properties"])
            .current_dir(&plan.directory)
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console);
        let child = launcher.spawn(java)?;
        let pid = child.id().cast_signed();
        // A child that has ended already is a zombie until it is waited for; its number is not used again meanwhile.
        let process = ProcessId::read(pid).unwrap_or_else(|| ProcessId::ended(pid));
        Ok(Self { plan, process, child })
    }

    /// Its exit status, if it has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// The last lines that it left: its console first, then what its log complains of. A broker that gives up logs
    /// a page about stopping everything, so the very last lines of a log rarely say why.
    pub(super) fn last_words(&self) -> String {
        let console = last_lines(&self.plan.console(), LINES, |_| true);
        let mut log = last_lines(&self.plan.log(), LINES, is_complaint);
        if log.is_empty() {
            log = last_lines(&self.plan.log(), LINES, |_| true);
        }
        [console, log].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The first log directory that it could not write to.
    pub(super) fn failed_log_dir(&self) -> Option<LogDirFailure> {
        LogDirFailure::told_by(&fs::read_to_string(self.plan.log()).unwrap_or_default())
    }

    /// Takes the ended process off the system's list.
    fn reap(&mut self) {
        // Fails only when that was done before. A process that even a kill did not end is not waited for.
        let _ = self.child.try_wait();
    }
}

/// A log directory to which a broker writes no more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogDirFailure {
    pub(super) directory: String,
    pub(super) reason: String,
}

impl LogDirFailure {
    /// Reads a broker's log: the line of the failure, and the exception's on the next.
    fn told_by(log: &str) -> Option<Self> {
        let mut lines = log.lines().skip_while(|line| !line.contains(" LogDirFailureChannel: "));
        let failure = lines.next()?;
        let after = |mark: &str| Some(failure.split_once(mark)?.1.split_whitespace().next()?.to_owned());
        let directory = after(" in dir ").or_else(|| after(" in directory ")).or_else(|| after(" dir "))?;
        let exception = lines.next().filter(|line| !line.starts_with(|first: char| first.is_ascii_digit()));
        let reason =
            exception.map_or("the broker's log tells why", |line| line.rsplit(": ").next().unwrap_or(line));
        Some(Self { directory, reason: reason.to_owned() })
    }
}

/// A warning or error, or a line that continues one: those have no date.
fn is_complaint(line: &str) -> bool {
    !line.starts_with(|first: char| first.is_ascii_digit())
        || [" WARN ", " ERROR ", " FATAL "].iter().any(|level| line.contains(level))
}

/// Ends brokers of ours.
pub(super) fn stop(brokers: &mut Vec<Broker>) {
    end(&brokers.iter().map(|broker| broker.process).collect::<Vec<_>>());
    brokers.drain(..).for_each(|mut broker| broker.reap());
}

/// Ends processes: politely, then not.
pub(super) fn end(processes: &[ProcessId]) {
    if !have_ended_after(Signal::TERM, processes, STOP_PATIENCE) {
        have_ended_after(Signal::KILL, processes, KILL_PATIENCE);
    }
}

/// Sends all processes the signal and waits. Whether all have ended.
pub(super) fn have_ended_after(signal: Signal, processes: &[ProcessId], patience: Duration) -> bool {
    processes.iter().for_each(|process| process.signal(signal));
    let deadline = Instant::now() + patience;
    processes
        .iter()
        .all(|process| process.has_ended_within(deadline.saturating_duration_since(Instant::now())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_directory_that_failed_is_told_with_what_the_system_said() {
        let log = "2026-11-24T13:44:40,000 INFO  [main] X: up\n\
             2026-11-24T13:44:40,831 ERROR [handler] LogDirFailureChannel: Error while appending records to t-4 in dir /small/broker-1\n\
             java.io.IOException: No space left on device\n\tat a.b\n\
             2026-11-24T13:44:40,870 ERROR [handler] LogManager: Shutdown broker because all log dirs in /small/broker-1 have failed\n";
        let failure = LogDirFailure::told_by(log).unwrap();
        let (directory, reason) = ("/small/broker-1".to_owned(), "No space left on device".to_owned());
        assert_eq!(failure, LogDirFailure { directory, reason });
        assert_eq!(LogDirFailure::told_by("2026-11-24T13:44:40,000 INFO  [main] X: up\n"), None);
    }

    #[test]
    fn a_complaint_is_found_before_a_page_about_stopping() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("server.log");
        let stopping = "2026-11-21T11:31:34,633 INFO  [hook] X: Stopped\n".repeat(50);
        std::fs::write(
            &log,
            format!("2026-11-21T11:31:34,000 ERROR [main] X: no\njava.net.E: taken\n\tat a.b\n{stopping}"),
        )
        .unwrap();
        let found = last_lines(&log, LINES, is_complaint);
        assert_eq!(found, "2026-11-21T11:31:34,000 ERROR [main] X: no\njava.net.E: taken");
    }
}
