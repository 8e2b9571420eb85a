//! Runs a program to its end and takes what it cost: its own CPU time, the broker's, and what others used meanwhile.

use crate::cache::tail;
use crate::error::BenchError;
use crate::machine;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The interval at which the end of the program is looked for, and the watcher gets its turn.
const LOOK: Duration = Duration::from_millis(25);

/// The cost of a run.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// From before its start to after its end, to 25 ms.
    pub wall_s: f64,
    /// CPU time of the program from its first instruction to its last, and of the programs that it waited for.
    pub client_cpu_s: f64,
    /// CPU time of the broker meanwhile, to 10 ms.
    pub broker_cpu_s: f64,
    /// Share of the machine's CPU time meanwhile that neither of them, nor this process, used.
    pub foreign_share: f64,
}

/// The output of a program.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// To standard output.
    pub stdout: String,
    /// To standard error.
    pub stderr: String,
}

/// Measures runs beside one broker.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    /// The broker's process.
    pub broker_pid: i32,
    /// A program that runs longer is ended.
    pub limit: Duration,
    /// Exit codes of a program that did what it should.
    pub good_codes: &'static [i32],
}

impl Meter {
    /// Runs `command`; what it writes goes through files in `scratch`. `watch` is called before it starts, every 25 ms with
    /// the seconds since then, and after it has ended.
    ///
    /// # Errors
    /// When it cannot be started, fails, or runs too long; or what `watch` says: the program has ended then, too.
    pub fn run(
        &self,
        mut command: Command,
        scratch: &Path,
        mut watch: impl FnMut(f64) -> Result<(), BenchError>,
    ) -> Result<(Said, Spent), BenchError> {
        let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
        command.stdin(Stdio::null());
        command
            .stdout(fs_err::File::create(&out)?.into_file())
            .stderr(fs_err::File::create(&err)?.into_file());
        let program = command.get_program().to_string_lossy().into_owned();
        let before = self.read()?;
        let started = Instant::now();
        watch(0.0)?;
        let mut child = Guard(Some(command.spawn()?));
        let ended = loop {
            std::thread::sleep(LOOK);
            watch(started.elapsed().as_secs_f64())?;
            if let Some(ended) = child.ended()? {
                break ended;
            }
            if started.elapsed() > self.limit {
                child.end();
                let said = tail(&fs_err::read_to_string(&err)?);
                return Err(BenchError::Endless { program, limit_s: self.limit.as_secs(), said });
            }
        };
        let wall_s = started.elapsed().as_secs_f64();
        let after = self.read()?;
        watch(wall_s)?;
        let text =
            |path: &Path| Ok::<_, BenchError>(String::from_utf8_lossy(&fs_err::read(path)?).into_owned());
        let said = Said { stdout: text(&out)?, stderr: text(&err)? };
        if !ended.status.code().is_some_and(|code| self.good_codes.contains(&code)) {
            let said = tail(&(said.stdout + &said.stderr));
            return Err(BenchError::Program { program, status: ended.status, said });
        }
        let broker_cpu_s = after.broker_s - before.broker_s;
        let known_s = ended.cpu_s + broker_cpu_s + after.own_s - before.own_s;
        let foreign_s = after.busy_s - before.busy_s - known_s;
        let foreign_share = (foreign_s / (wall_s * machine::cpus() as f64)).clamp(0.0, 1.0);
        Ok((said, Spent { wall_s, client_cpu_s: ended.cpu_s, broker_cpu_s, foreign_share }))
    }

    fn read(&self) -> Result<Reading, BenchError> {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        Ok(Reading {
            busy_s: machine::busy_s()?,
            broker_s: machine::process_cpu_s(self.broker_pid)?,
            own_s: machine::process_cpu_s(own)?,
        })
    }
}

/// CPU time so far.
struct Reading {
    busy_s: f64,
    broker_s: f64,
    own_s: f64,
}

/// The end of a program.
struct Ended {
    status: ExitStatus,
    cpu_s: f64,
}

/// A program that does not outlive the interest in it.
struct Guard(Option<Child>);

impl Guard {
    /// Its end, if it has come, with its CPU time, which only the one call that takes the process away gives.
    fn ended(&mut self) -> Result<Option<Ended>, BenchError> {
        let Some(child) = &self.0 else { return Ok(None) };
        let pid = i32::try_from(child.id()).unwrap_or_default();
        let Some((status, cpu_s)) = wait4(pid)? else { return Ok(None) };
        self.0 = None;
        Ok(Some(Ended { status: ExitStatus::from_raw(status), cpu_s }))
    }

    fn end(&mut self) {
        if let Some(mut child) = self.0.take() {
            // One that is gone already is what is wanted.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

/// Status and CPU time of a child that has ended; none while it runs.
#[expect(unsafe_code, reason = "no safe library gives a child's resource usage in less than ticks of 10 ms")]
fn wait4(pid: i32) -> Result<Option<(i32, f64)>, BenchError> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid one: it holds integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals of the types that wait4(2) writes, alive for the whole call.
    let waited = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
    match waited {
        0 => Ok(None),
        -1 => Err(std::io::Error::last_os_error().into()),
        _ => {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            Ok(Some((status, seconds(usage.ru_utime) + seconds(usage.ru_stime))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(limit: Duration) -> Meter {
        Meter { broker_pid: i32::try_from(std::process::id()).unwrap(), limit, good_codes: &[0] }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_says_and_burns_is_taken_and_what_it_only_waits_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let meter = meter(Duration::from_secs(60));
        let busy = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done");
        let (said, spent) = meter.run(busy, scratch.path(), |_| Ok(())).unwrap();
        assert_eq!(said.stdout, "done\n");
        let (_, idle) = meter.run(shell("sleep 0.2"), scratch.path(), |_| Ok(())).unwrap();
        assert!(idle.wall_s >= 0.2, "{idle:?}");
        assert!(idle.client_cpu_s < spent.client_cpu_s, "{idle:?} {spent:?}");
    }

    #[test]
    fn a_failure_carries_the_end_of_what_was_said() {
        let scratch = tempfile::tempdir().unwrap();
        let script = shell("echo no broker >&2; exit 3");
        let error = meter(Duration::from_secs(60)).run(script, scratch.path(), |_| Ok(())).unwrap_err();
        let BenchError::Program { said, status, .. } = error else { panic!("{error}") };
        assert_eq!((said.as_str(), status.code()), ("no broker", Some(3)));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let error = meter(Duration::from_millis(50))
            .run(shell("exec sleep 600"), scratch.path(), |_| Ok(()))
            .unwrap_err();
        assert!(matches!(error, BenchError::Endless { .. }), "{error}");
    }

    #[test]
    fn a_watcher_that_fails_ends_the_program() {
        let scratch = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let watch = |at_s: f64| match at_s > 0.0 {
            true => Err(BenchError::Late { expected: "answer".into(), waited_s: 0 }),
            false => Ok(()),
        };
        let error =
            meter(Duration::from_secs(60)).run(shell("exec sleep 600"), scratch.path(), watch).unwrap_err();
        assert!(matches!(error, BenchError::Late { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(600));
    }
}
