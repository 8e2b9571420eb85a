//! A command of the user's before or after a block.
//!
//! It runs in a group of its own: Ctrl-C, which a terminal sends to all that it started, is the trial's to handle.

use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::Properties;
use plumb_model::secret::METRICS_PASSWORD;
use plumb_model::secret::{REDACTED, is_secret};
use rustix::process::{Pid, Signal, kill_process_group};
use std::borrow::Cow;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Longest that a command may take (ours: a broker restarts within it, and one that hangs is found out).
const LIMIT: Duration = Duration::from_secs(120);
/// From being asked to end until it is made to.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Most bytes of its output that a message repeats, from the end.
const TAIL_BYTES: usize = 2_000;
/// Secrets shorter than this are not looked for: they would be found in every other word.
const SECRET_LEAST: usize = 4;

/// A command that did not do what it should.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum HookError {
    #[error("the command {when} a block of arm {arm:?} cannot be started")]
    Start {
        when: &'static str,
        arm: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the command {when} a block of arm {arm:?} ended with {status}; {output}")]
    Failed { when: &'static str, arm: String, status: ExitStatus, output: String },
    #[error("the command {when} a block of arm {arm:?} was not over after {} s and was ended; {output}", LIMIT.as_secs())]
    TooLong { when: &'static str, arm: String, output: String },
    #[error("stopped by the user")]
    Stopped,
}

impl HasFault for HookError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        Some(
            "it runs by `sh -c` where plumb was started, with PLUMB_ARM, PLUMB_PAIR and \
                                   PLUMB_BOOTSTRAP set: try it by hand"
                .into(),
        )
    }
}

/// A command with what it is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hook<'a> {
    /// `before` or `after`.
    pub(super) when: &'static str,
    pub(super) command: &'a str,
    pub(super) arm: &'a str,
    /// From 1.
    pub(super) pair: u32,
    pub(super) bootstrap: &'a str,
}

impl Hook<'_> {
    /// Runs it to its end. `stop`: the user's wish to stop ends it early.
    pub(super) fn run(&self, stop: Option<&AtomicBool>, secrets: &Secrets) -> Result<(), HookError> {
        let (when, arm) = (self.when, self.arm.to_owned());
        // Into a file without a name: a child of the command that stays behind cannot hold this up.
        let output =
            tempfile_without_name().map_err(|source| HookError::Start { when, arm: arm.clone(), source })?;
        let handles = output.try_clone().and_then(|first| Ok((first, output.try_clone()?)));
        let (first, second) =
            handles.map_err(|source| HookError::Start { when, arm: arm.clone(), source })?;
        let child = Command::new("sh")
            .args(["-c", self.command])
            .env("PLUMB_ARM", self.arm)
            .env("PLUMB_PAIR", self.pair.to_string())
            .env("PLUMB_BOOTSTRAP", self.bootstrap)
            .env_remove(METRICS_PASSWORD)
            .stdin(Stdio::null())
            .stdout(first)
            .stderr(second)
            .process_group(0)
            .spawn();
        let mut child = child.map_err(|source| HookError::Start { when, arm: arm.clone(), source })?;
        let deadline = Instant::now() + LIMIT;
        loop {
            match child.try_wait() {
                Err(source) => return Err(HookError::Start { when, arm, source }),
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(HookError::Failed { when, arm, status, output: tail(output, secrets) });
                }
                Ok(None) => {}
            }
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                end(&mut child);
                return Err(HookError::Stopped);
            }
            if Instant::now() >= deadline {
                end(&mut child);
                return Err(HookError::TooLong { when, arm, output: tail(output, secrets) });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The values that no message may repeat.
#[derive(Debug, Clone)]
pub(super) enum Secrets {
    Known(Vec<String>),
    /// The client properties that hold them cannot be read, so nothing that a command printed may be repeated.
    Unknown,
}

impl Secrets {
    /// Those of client properties.
    pub(super) fn of(properties: &Properties) -> Self {
        let secret = properties.iter().filter(|(key, value)| is_secret(key) && value.len() >= SECRET_LEAST);
        Secrets::Known(secret.map(|(_, value)| value.clone()).collect())
    }
}

/// Ends it with all that it started: asked first, then made to.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let deadline = Instant::now() + GRACE;
    if let Some(group) = group {
        // One that has ended by itself meanwhile needs no signal.
        let _ = kill_process_group(group, Signal::TERM);
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// A file that is gone when nobody has it open any more.
fn tempfile_without_name() -> std::io::Result<std::fs::File> {
    let file = rustix::fs::memfd_create("plumb-hook", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(file.into())
}

/// The end of what it printed, in words, without secrets.
fn tail(mut output: std::fs::File, secrets: &Secrets) -> String {
    use std::io::{Seek, SeekFrom};
    let Secrets::Known(secrets) = secrets else {
        return "what it printed is not told, as the client properties with the secrets cannot be read"
            .to_owned();
    };
    let mut bytes = Vec::new();
    let longest = secrets.iter().map(String::len).max().unwrap_or(0);
    let length = output.seek(SeekFrom::End(0)).unwrap_or(0);
    let start = length.saturating_sub((TAIL_BYTES + longest) as u64);
    let read = output
        .seek(SeekFrom::Start(start))
        .and_then(|_| output.take((TAIL_BYTES + longest) as u64).read_to_end(&mut bytes));
    let shown = &bytes[after_secrets(&bytes, bytes.len().saturating_sub(TAIL_BYTES), secrets)..];
    let mut text = String::from_utf8_lossy(shown).trim().to_owned();
    // The longest first: one that begins as a longer one does would leave the end of that one.
    let mut secrets: Vec<&String> = secrets.iter().collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets {
        text = text.replace(secret.as_str(), REDACTED);
    }
    match (read, text.is_empty()) {
        (Err(_), _) | (_, true) => "it printed nothing".to_owned(),
        _ => format!("it printed: {text}"),
    }
}

/// The first place from `cut` on that is not inside a secret, so that no end of one is left without its beginning.
fn after_secrets(bytes: &[u8], mut cut: usize, secrets: &[String]) -> usize {
    let across = |cut: usize| {
        secrets.iter().find_map(|secret| {
            let first = (cut + 1).saturating_sub(secret.len());
            (first..cut).find(|&at| bytes[at..].starts_with(secret.as_bytes())).map(|at| at + secret.len())
        })
    };
    while let Some(end) = across(cut) {
        cut = end;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Secrets = Secrets::Known(Vec::new());

    fn hook(command: &str) -> Hook<'_> {
        Hook { when: "before", command, arm: "low", pair: 3, bootstrap: "host:9092" }
    }

    #[test]
    fn a_command_knows_its_arm_its_pair_and_the_brokers() {
        let command = r#"test "$PLUMB_ARM $PLUMB_PAIR $PLUMB_BOOTSTRAP" = "low 3 host:9092""#;
        hook(command).run(None, &NONE).unwrap();
    }

    #[test]
    fn one_that_fails_is_told_with_the_end_of_its_output_and_without_secrets() {
        let secrets = Secrets::Known(vec!["hunter2".to_owned()]);
        let failing = hook("echo so it goes; echo hunter2 >&2; exit 3");
        let error = failing.run(None, &secrets).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the command before a block of arm \"low\" ended with exit status: 3; it printed: so it goes\n[redacted]"
        );
        let error = failing.run(None, &Secrets::Unknown).unwrap_err();
        assert!(error.to_string().contains("exit status: 3; what it printed is not told"), "{error}");
    }

    #[test]
    fn a_secret_across_the_cut_leaves_no_end_of_it() {
        let secrets = Secrets::Known(vec!["hunter2-and-more".to_owned(), "hunter2".to_owned()]);
        for inside in 1.."hunter2-and-more".len() {
            let filler = TAIL_BYTES - inside;
            let command = format!("printf hunter2-and-more; printf '%0{filler}d' 0; exit 3");
            let error = hook(&command).run(None, &secrets).unwrap_err().to_string();
            assert!(error.ends_with(&format!("it printed: {}", "0".repeat(filler))), "{inside}: {error}");
        }
        let error = hook("echo hunter2-and-more; exit 3").run(None, &secrets).unwrap_err().to_string();
        assert!(error.ends_with("it printed: [redacted]"), "{error}");
    }

    #[test]
    fn a_stop_ends_a_command_before_a_block_with_all_that_it_started() {
        let stop = AtomicBool::new(true);
        let begun = Instant::now();
        let error = hook("sleep 100 & sleep 100").run(Some(&stop), &NONE).unwrap_err();
        assert!(matches!(error, HookError::Stopped));
        assert!(begun.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn what_a_command_leaves_running_does_not_hold_the_trial_up() {
        let place = tempfile::tempdir().unwrap();
        let (group, ended) = (place.path().join("group"), place.path().join("ended"));
        // It keeps both of the command's outputs open. Who waits for their end finds the file that it leaves at its own.
        let command =
            format!("echo $$ > '{}'; (sleep 20; : > '{}') & exit 0", group.display(), ended.display());
        hook(&command).run(None, &NONE).unwrap();
        let waited = ended.exists();
        let group: i32 = fs_err::read_to_string(&group).unwrap().trim().parse().unwrap();
        let stopped = kill_process_group(Pid::from_raw(group).unwrap(), Signal::KILL);
        assert!(!waited, "the trial waited for what its command left");
        stopped.expect("what its command left was still there");
    }
}
