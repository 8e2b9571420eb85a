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

/// How long brokers may take to end by themselves. Measured: 0.3 to 0.6 s; but the last of several waits minutes for
/// a quorum that is no longer there, and what it would save is thrown away.
const STOP_DEADLINE: Duration = Duration::from_secs(3);

/// How long the system may take to end a killed process before it is no longer waited for.
const KILL_DEADLINE: Duration = Duration::from_secs(10);

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
        let process = ProcessId::of(pid).unwrap_or_else(|| ProcessId::ended(pid));
        Ok(Self { plan, process, child })
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// The last lines that it left: its console first, then its log.
    pub(super) fn last_words(&self) -> String {
        let parts = [last_lines(&self.plan.console(), 15), last_lines(&self.plan.log(), 15)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Takes the ended process off the system's list.
    fn reap(&mut self) {
        // Fails only when that was done before. A process that even a kill did not end is not waited for.
        let _ = self.child.try_wait();
    }
}

/// Ends brokers of ours.
pub(super) fn stop(brokers: &mut Vec<Broker>) {
    end(&brokers.iter().map(|broker| broker.process).collect::<Vec<_>>());
    brokers.drain(..).for_each(|mut broker| broker.reap());
}

/// Ends processes: politely, then not.
pub(super) fn end(processes: &[ProcessId]) {
    for (signal, patience) in [(Signal::TERM, STOP_DEADLINE), (Signal::KILL, KILL_DEADLINE)] {
        processes.iter().for_each(|process| process.signal(signal));
        let deadline = Instant::now() + patience;
        let left = || deadline.saturating_duration_since(Instant::now());
        if processes.iter().all(|process| process.has_ended_within(left())) {
            return;
        }
    }
}
