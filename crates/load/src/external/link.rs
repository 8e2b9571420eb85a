//! The frames to and from one program: written as it takes them, read as it sends them, none of them believed.

use super::command::Role;
use super::frame::{FRAME_MAX, Order, Report, SendOrder, VERSION};
use super::pauses::Beats;
use super::process::{LINES_MOST, Program};
use crate::clock::now_ns;
use crate::error::LoadError;
use plumb_model::observation::ProgramAccount;
use plumb_model::plan::Properties;
use plumb_model::secret::{REDACTED, is_secret, shown};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// Longest wait for a program to be ready (ours: a JVM on a machine that is busy takes some seconds).
const READY_S: u64 = 60;
/// Longest silence of a program of which something is due.
pub(super) const SILENT_S: u64 = 10;
/// Longest wait for its end once it is told.
const END: Duration = Duration::from_secs(3);
/// Between two looks at what it says, where nothing waits for it (ours: short beside the lead of orders).
const UNHURRIED: Duration = Duration::from_millis(5);
/// So much at one look, and it says more than may wait (ours: a third of what a socket takes by default).
const MUCH: usize = 1 << 16;
/// Longest time from the end of its socket to its own.
const ENDING: Duration = Duration::from_millis(500);
/// The longest report: a sentence (a record's head is 48 bytes).
const REPORT_MAX: usize = 1 << 16;
/// The shortest secret that is looked for in what a program says: a shorter one is in any text (ours).
const SECRET_MIN: usize = 4;
/// Sentences that are kept.
const NOTES_KEPT: usize = 20;
/// Most sentences, beats and changes of the group in a second: beyond it, a program does nothing else (ours).
const IDLE_WORDS_PER_S: u64 = 10_000;

/// What a program is told before it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Introduction<'p> {
    pub(super) role: Role,
    pub(super) topic: &'p str,
    pub(super) group: &'p str,
    pub(super) properties: &'p Properties,
}

/// A program, and what is under way to and from it.
#[derive(Debug)]
pub(crate) struct Link {
    program: Program,
    out: Vec<u8>,
    written: usize,
    incoming: Vec<u8>,
    started_ns: u64,
    /// The last look at what it says. What is younger may lie unread: nothing can be said of it.
    looked_ns: u64,
    heard_ns: u64,
    ready: bool,
    /// What it said of records while it was waited for.
    early: Vec<Report>,
    /// Its properties in effect, secrets redacted.
    pub(super) effective: Properties,
    about: Properties,
    notes: Vec<String>,
    beats: Beats,
    idle_words: u64,
    ended: bool,
    /// What it says is taken as it comes.
    hurries: bool,
    /// The bytes that it said at the last look.
    last_read: usize,
    /// Values that it was told and that nothing which it says may show.
    secrets: Vec<String>,
    /// The CPU time of the process when it was last read.
    cpu_ns: Option<u64>,
    /// The same when the measured part had begun.
    cpu_before_ns: Option<u64>,
}

impl Link {
    pub(super) fn new(program: Program) -> Self {
        Link {
            program,
            out: Vec::new(),
            written: 0,
            incoming: Vec::new(),
            started_ns: now_ns(),
            looked_ns: now_ns(),
            heard_ns: now_ns(),
            ready: false,
            early: Vec::new(),
            effective: Properties::new(),
            about: Properties::new(),
            notes: Vec::new(),
            beats: Beats::default(),
            idle_words: 0,
            ended: false,
            hurries: true,
            last_read: 0,
            secrets: Vec::new(),
            cpu_ns: None,
            cpu_before_ns: None,
        }
    }

    /// Tells it its role, its properties, and to begin.
    pub(super) fn introduce(&mut self, part: &Introduction<'_>) {
        let Introduction { role, topic, group, properties } = part;
        let settings = [
            ("version", VERSION.to_string()),
            ("role", role.word().to_owned()),
            ("topic", (*topic).to_owned()),
        ];
        for (name, value) in settings {
            Order::Setting(name.to_owned(), value).write(&mut self.out);
        }
        if *role == Role::Consumer {
            Order::Setting("group".to_owned(), (*group).to_owned()).write(&mut self.out);
        }
        let secrets = properties.iter().filter(|(name, value)| is_secret(name) && value.len() >= SECRET_MIN);
        self.secrets = secrets.flat_map(|(_, value)| within(value)).map(str::to_owned).collect();
        for (name, value) in *properties {
            Order::Property(name.clone(), value.clone()).write(&mut self.out);
        }
        Order::Begin.write(&mut self.out);
    }

    /// Nothing waits for its reports, which have their own times: they are taken some at a time from now on. A process that wakes for
    /// each takes the processors from what is measured.
    pub(super) fn need_not_hurry(&mut self) {
        self.hurries = false;
    }

    /// Adds an order.
    pub(super) fn order(&mut self, order: &SendOrder) {
        order.write(&mut self.out);
    }

    /// Stops it, as far as its processes can be stopped, and lets it go on: true once nothing of it runs.
    pub(super) fn stop(&self) -> bool {
        self.program.stop()
    }

    pub(super) fn go_on(&self) {
        self.program.go_on();
    }

    /// Bytes that it has not taken yet.
    pub(super) fn queued(&self) -> usize {
        self.out.len() - self.written
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// The time at which it was last heard of.
    pub(super) fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// Waits until it is ready, or until nobody wants it any more.
    pub(super) fn wait_until_ready(&mut self, is_over: impl Fn() -> bool) -> Result<(), LoadError> {
        let mut early = Vec::new();
        while !self.ready && !is_over() {
            self.exchange(Duration::from_millis(20), |report, _| {
                early.push(report);
                Ok(())
            })?;
        }
        self.early = early;
        Ok(())
    }

    /// Waits up to `wait` for something to read or to write, and does it. The reports that concern records are given to `take`.
    pub(super) fn exchange(
        &mut self,
        wait: Duration,
        mut take: impl FnMut(Report, u64) -> Result<(), String>,
    ) -> Result<(), LoadError> {
        if !self.hurries && self.queued() == 0 && self.last_read < MUCH {
            std::thread::sleep(wait.min(UNHURRIED));
        }
        let mut flags = PollFlags::IN;
        if self.queued() > 0 {
            flags |= PollFlags::OUT;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let _ = poll(&mut [PollFd::new(&self.program.socket, flags)], Some(&timeout));
        self.write();
        let before = self.incoming.len();
        self.looked_ns = now_ns();
        let open = self.read();
        self.last_read = self.incoming.len() - before;
        let now = now_ns();
        for report in std::mem::take(&mut self.early) {
            take(report, now).map_err(|reason| self.fault(&reason))?;
        }
        let mut at = 0;
        loop {
            let next =
                frame(&self.incoming[at..]).map(|found| found.map(|(kind, body)| (kind, body.to_vec())));
            let (kind, body) = match next {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(reason) => return Err(self.fault(&reason)),
            };
            at += 5 + body.len();
            let report = Report::of(kind, &body).ok_or_else(|| {
                self.fault(&format!("it sent a frame of kind {:?} that is none", char::from(kind)))
            })?;
            self.heard_ns = now;
            if let Some(report) = self.keep(report, now)? {
                take(report, now).map_err(|reason| self.fault(&reason))?;
            }
        }
        self.incoming.drain(..at);
        if !open {
            // The socket of one that ends is closed a moment before it has ended.
            return Err(match self.program.ends_within(ENDING) {
                true => self.fault("it ended before it was told to"),
                false => self.fault("it closed its socket before it was told to end, and went on"),
            });
        }
        self.check_patience(now)
    }

    fn check_patience(&mut self, now: u64) -> Result<(), LoadError> {
        if !self.ready && now - self.started_ns > READY_S * 1_000_000_000 {
            return Err(self.fault(&format!("it was not ready within {READY_S} s")));
        }
        if self.program.said(|said| said.count) > LINES_MOST {
            return Err(self.fault(&format!("it printed more than {LINES_MOST} lines")));
        }
        let seconds = (now - self.started_ns) / 1_000_000_000 + 1;
        if self.idle_words > IDLE_WORDS_PER_S * seconds {
            return Err(
                self.fault(&format!("it sends more than {IDLE_WORDS_PER_S} notes and beats per second"))
            );
        }
        Ok(())
    }

    /// Keeps what a program says of itself; returns what it says of records.
    fn keep(&mut self, report: Report, now: u64) -> Result<Option<Report>, LoadError> {
        self.idle_words += 1;
        match report {
            Report::Beat(at_ns) if at_ns > now => {
                return Err(self.fault(
                    "it reports a time that has not come: its clock is not CLOCK_MONOTONIC of this host",
                ));
            }
            Report::Beat(at_ns) => self.beats.note(at_ns),
            Report::Property(name, value) => {
                let value = shown(&name, &value).to_owned();
                self.effective.insert(name, value);
            }
            Report::Ready(text) => {
                let pairs = text.lines().filter_map(|line| line.split_once('='));
                self.about.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
                self.ready = true;
            }
            Report::Note(text) if self.notes.len() < NOTES_KEPT => self.notes.push(text),
            Report::Note(_) => {}
            Report::Fatal(reason) => return Err(self.fault(&reason)),
            of_records => {
                self.idle_words -= u64::from(!matches!(of_records, Report::Joined(_)));
                return Ok(Some(of_records));
            }
        }
        Ok(None)
    }

    fn write(&mut self) {
        while self.written < self.out.len() {
            match self.program.socket.write(&self.out[self.written..]) {
                Ok(0) => break,
                Ok(written) => self.written += written,
                // One that has gone is noticed by what is read.
                Err(_) => break,
            }
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        } else if self.written > 1 << 20 {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Reads what is there; false once there will be no more.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 1 << 16];
        // As much as fits the socket's buffer a few times: a flood must not keep us here.
        for _ in 0..16 {
            match self.program.socket.read(&mut bytes) {
                Ok(0) => return false,
                Ok(read) => self.incoming.extend_from_slice(&bytes[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// The error of a program that did what it must not; it is ended.
    pub(super) fn fault(&mut self, reason: &str) -> LoadError {
        self.read_cpu();
        self.ended = true;
        self.beats.end(self.looked_ns);
        let last_words = self.program.last_words();
        LoadError::Driver {
            role: self.program.role.word(),
            reason: self.without_secrets(reason),
            last_words: self.without_secrets(&last_words),
        }
    }

    /// The error of one that says nothing.
    pub(super) fn silent(&mut self) -> LoadError {
        self.fault(&format!(
            "it has said nothing for {SILENT_S} s though there is something to report: it hangs"
        ))
    }

    /// What it said as it may be shown.
    fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// The measured part has begun: its CPU time counts from here.
    pub(super) fn note_measured_part(&mut self) {
        if self.cpu_before_ns.is_none() && !self.ended {
            self.cpu_before_ns = cpu_ns(self.program.id());
        }
    }

    fn read_cpu(&mut self) {
        if !self.ended {
            self.cpu_ns = cpu_ns(self.program.id()).or(self.cpu_ns);
        }
    }

    /// Tells it to end.
    pub(super) fn tell_end(&mut self) {
        self.read_cpu();
        self.beats.end(self.looked_ns);
        Order::End.write(&mut self.out);
        self.write();
        let _ = self.program.socket.shutdown(std::net::Shutdown::Write);
    }

    /// What it said of itself, and its pauses. It is ended, if it had not.
    pub(super) fn account(&mut self) -> ProgramAccount {
        if !self.ended {
            self.ended = true;
            if let Err(how) = self.drain_until_end() {
                self.notes.push(how);
            }
            self.program.end();
        }
        let pauses = self.program.said(|said| self.beats.account(&said.safepoints));
        ProgramAccount {
            role: self.program.role.word().to_owned(),
            about: self.about.clone(),
            notes: self.notes.iter().map(|note| self.without_secrets(note)).collect(),
            printed_lines: self.program.said(|said| said.count),
            printed: self
                .program
                .said(|said| said.lines.iter().map(|line| self.without_secrets(line)).collect()),
            cpu_ns: self.cpu_ns,
            measured_cpu_ns: self
                .cpu_ns
                .zip(self.cpu_before_ns)
                .map(|(all, before)| all.saturating_sub(before)),
            pauses,
        }
    }

    /// Tells it to end.
    ///
    /// # Errors
    /// How it did not, or not well.
    pub(super) fn ends_when_told(&mut self) -> Result<(), String> {
        self.tell_end();
        self.drain_until_end()
    }

    /// Waits for its end, taking what it still says so that it need not wait for room.
    fn drain_until_end(&mut self) -> Result<(), String> {
        let until = now_ns() + END.as_nanos() as u64;
        let mut open = true;
        while now_ns() < until {
            if self.program.has_ended() {
                return self
                    .program
                    .wrong_end()
                    .map_or(Ok(()), |how| Err(format!("{how} when it was told to end")));
            }
            self.write();
            open = open && self.read();
            self.incoming.clear();
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(format!("it was still there {} s after it was told to end, and was killed", END.as_secs()))
    }
}

/// A secret and what of it is one by itself: a JAAS line has its password in quotes.
fn within(secret: &str) -> impl Iterator<Item = &str> {
    let quoted = secret.split('"').skip(1).step_by(2);
    [secret].into_iter().chain(quoted.filter(|part| part.len() >= SECRET_MIN))
}

/// The next whole frame: its kind and body.
fn frame(bytes: &[u8]) -> Result<Option<(u8, &[u8])>, String> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 || length > REPORT_MAX.min(FRAME_MAX) {
        return Err(format!("it sent a frame of {length} bytes: frames are 1 to {REPORT_MAX}"));
    }
    Ok(rest.get(..length).map(|frame| (frame[0], &frame[1..])))
}

/// CPU time of a process so far (proc(5), fields 14 and 15 of stat, at 100 ticks a second).
fn cpu_ns(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) * 10_000_000)
}
