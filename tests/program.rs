//! The program as a user has it: its binary, a directory of its own, what it printed and how it ended.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest that a test waits for a program, where it says no other; one that takes longer is stopped and the test fails.
const LIMIT: Duration = Duration::from_secs(180);
/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Programs share the machine, except one whose latency is to be exact: that one has it to itself, as far as this
/// process goes. A test that has a program running must not start a second one: a third that waits to be alone would
/// hold it back, and be held back by the first.
static MACHINE: RwLock<()> = RwLock::new(());

#[derive(Debug)]
#[expect(dead_code, reason = "held, never looked at")]
enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
    /// That of a program of the same test, which runs.
    Beside,
}

/// A program that has not been started, in an empty directory of its own.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    directory: TempDir,
    wanted: Wanted,
    limit: Duration,
}

/// The turn that a program waits for.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Shared,
    Alone,
    Beside,
}

impl Wanted {
    fn turn(self) -> Turn {
        match self {
            Wanted::Shared => Turn::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner)),
            Wanted::Alone => Turn::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner)),
            Wanted::Beside => Turn::Beside,
        }
    }
}

impl Program {
    pub(crate) fn new<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
        command.args(arguments).current_dir(directory.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Program { command, directory, wanted: Wanted::Shared, limit: LIMIT }
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// The same in another surrounding: `wrapper` is a command that ends by running what follows it.
    pub(crate) fn under(mut self, wrapper: &[impl AsRef<OsStr>]) -> Self {
        let mut command = Command::new(&wrapper[0]);
        command.args(&wrapper[1..]).arg(self.command.get_program()).args(self.command.get_args());
        command.current_dir(self.directory.path());
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command = command;
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// A file is open in it, of a number that it does not expect, as it is in what a script starts that holds a lock.
    pub(crate) fn inheriting(self, file: File) -> Self {
        let mut program = self.under(&["sh", "-c", "exec 9<&0 </dev/null; exec \"$@\"", "sh"]);
        program.command.stdin(file);
        program
    }

    /// No other program of this process runs beside it.
    pub(crate) fn alone(mut self) -> Self {
        self.wanted = Wanted::Alone;
        self
    }

    /// It runs beside another program of this test, which runs already and has had its turn.
    pub(crate) fn beside(mut self) -> Self {
        self.wanted = Wanted::Beside;
        self
    }

    /// It may take so long.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The directory in which it will run; it finds what is written there before it starts.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn start(mut self) -> Running {
        let turn = self.wanted.turn();
        let mut child = self.command.spawn().unwrap();
        let stdout = Pipe::new(child.stdout.take().unwrap());
        let stderr = Pipe::new(child.stderr.take().unwrap());
        let directory = Some(self.directory);
        Running { child, stdout, stderr, directory, limit: self.limit, _turn: turn }
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ended {
        self.start().wait()
    }
}

/// A program that runs; stopped when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Pipe,
    stderr: Pipe,
    directory: Option<TempDir>,
    limit: Duration,
    _turn: Turn,
}

impl Running {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.as_ref().unwrap().path().join(name)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub(crate) fn said(&self) -> String {
        self.stdout.so_far()
    }

    /// Its standard error so far.
    pub(crate) fn complained(&self) -> String {
        self.stderr.so_far()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Looks again and again until `look` finds something; fails when the program ends or time is up before.
    pub(crate) fn wait_for<T>(&mut self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + self.limit;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended ({ended:?}) before {what}");
            assert!(Instant::now() < deadline, "no {what} within {:?}", self.limit);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until a Ctrl-C ends it with what it has. That a signal is caught says too little: one that comes before what it is to do
    /// is registered is lost. The thread of this name is started after that.
    pub(crate) fn wait_until_it_listens_for_signals(&mut self) {
        self.wait_for("the thread that listens for signals", |running| {
            let threads = std::fs::read_dir(format!("/proc/{}/task", running.pid())).ok()?;
            let names = threads
                .flatten()
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
            names.into_iter().any(|name| name.trim() == "signals").then_some(())
        });
    }

    pub(crate) fn wait(mut self) -> Ended {
        let deadline = Instant::now() + self.limit;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() >= deadline => {
                    self.child.kill().unwrap();
                    let stderr = self.stderr.all();
                    panic!("not over after {:?}:\n{stderr}", self.limit);
                }
                None => std::thread::sleep(LOOK),
            }
        };
        let (stdout, stderr) = (self.stdout.all(), self.stderr.all());
        let unknown: Vec<String> = shown_ids(&stdout)
            .into_iter()
            .chain(shown_ids(&stderr))
            .filter(|id| plumb_judge::row(id).is_none())
            .collect();
        assert!(
            unknown.is_empty(),
            "plumb explain does not know what this output shows: {unknown:?}\n{stdout}{stderr}"
        );
        Ended { status, stdout, stderr, directory: self.directory.take().unwrap() }
    }
}

/// Ids of findings and checks that an output shows: in brackets in a text, in JSON where something has an id beside a claim or a statement.
fn shown_ids(output: &str) -> Vec<String> {
    // A line may break within the bracket.
    let words: Vec<&str> = output.split_whitespace().collect();
    let after = words.windows(3).filter(|three| three[0] == "(plumb" && three[1] == "explain");
    let mut ids: Vec<String> =
        after.filter_map(|three| Some(three[2].split_once(')')?.0.to_owned())).collect();
    if let Ok(document) = serde_json::from_str(output) {
        in_json(&document, &mut ids);
    }
    ids
}

fn in_json(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| in_json(value, ids)),
        Value::Object(fields) => {
            if fields.contains_key("claim") || fields.contains_key("statement") {
                ids.extend(fields.get("id").and_then(Value::as_str).map(str::to_owned));
            }
            fields.values().for_each(|value| in_json(value, ids));
        }
        _ => {}
    }
}

#[test]
fn ids_that_an_output_shows_are_found_in_text_and_json() {
    assert_eq!(
        shown_ids("It is so (plumb explain saturated); and so (plumb explain\nknee)."),
        ["saturated", "knee"]
    );
    let json = r#"{"checks": [{"id": "pre-trend", "statement": "It holds."}], "run": {"id": "1f"}}"#;
    assert_eq!(shown_ids(json), ["pre-trend"]);
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without effect on one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    directory: TempDir,
}

impl Ended {
    /// The exit code; absent when a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// A place in the directory where it ran.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Its standard output, read as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The bytes of a pipe, as they come.
#[derive(Debug)]
struct Pipe {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 8 << 10];
            loop {
                match pipe.read(&mut bytes).unwrap() {
                    0 => return,
                    n => into.lock().unwrap().extend_from_slice(&bytes[..n]),
                }
            }
        });
        Pipe { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    /// All of it, once the other end is closed.
    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.so_far()
    }
}
