//! The thread that carries the frames of one link, and what it shares with those who send and receive.
//!
//! It alone touches the socket. It says each second that this side lives, and gives up when nothing was heard of the other side for
//! three: Locust's figures (a heartbeat a second, missing after three). A reader that falls behind holds back the other side's frames, not
//! this side's signs of life.

use crate::channel::{Bell, Channel, Over};
use crate::error::LinkError;
use crate::frame::{FIRST_KIND, FRAME_BYTES_MAX, Frame, encoded, json_bytes, own};
use crate::goodbye::Goodbye;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two signs of life.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(1);
/// Without a byte for so long, the other side is given up.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(3);
/// Time for the last frame.
const PARTING: Duration = Duration::from_millis(500);
/// Content of frames that wait to be sent; more makes the sender wait. One frame more is taken, whatever its size.
const OUTGOING_BYTES_MAX: usize = 8 << 20;
/// Content of frames that wait to be received; at more the other side is not listened to.
const INCOMING_BYTES_MAX: usize = 32 << 20;

/// What the thread shares with the senders and receivers.
pub(crate) struct Shared {
    /// The other side's name in errors.
    name: String,
    state: Mutex<State>,
    changed: Condvar,
    bell: Bell,
    /// True once `state.broken` is there; looked at without the lock.
    over: AtomicBool,
}

#[derive(Default)]
struct State {
    outgoing: VecDeque<Vec<u8>>,
    outgoing_bytes: usize,
    incoming: VecDeque<Frame>,
    incoming_bytes: usize,
    closing: Option<Goodbye>,
    broken: Option<LinkError>,
}

impl Shared {
    pub(crate) fn new(name: &str) -> Result<Arc<Shared>, LinkError> {
        let no_bell = |error| Over::Failed(error).error(name);
        Ok(Arc::new(Shared {
            name: name.to_owned(),
            state: Mutex::default(),
            changed: Condvar::new(),
            bell: Bell::new().map_err(no_bell)?,
            over: AtomicBool::new(false),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Set when the link is no more.
    pub(crate) fn over(&self) -> &AtomicBool {
        &self.over
    }

    /// The reason why the link is no more.
    pub(crate) fn broken(&self) -> Option<LinkError> {
        self.state().broken.clone()
    }

    /// Puts a frame into the queue; waits while it is full.
    pub(crate) fn send(&self, kind: u8, bytes: &[u8]) -> Result<(), LinkError> {
        if kind < FIRST_KIND || bytes.len() > FRAME_BYTES_MAX {
            return Err(LinkError::CannotSend { kind, bytes: bytes.len() });
        }
        let frame = encoded(kind, bytes);
        let mut state = self.state();
        while state.broken.is_none() && state.closing.is_none() && state.outgoing_bytes >= OUTGOING_BYTES_MAX
        {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = self.no_more(&state) {
            return Err(error);
        }
        state.outgoing_bytes += frame.len();
        state.outgoing.push_back(frame);
        drop(state);
        self.bell.ring();
        Ok(())
    }

    fn no_more(&self, state: &State) -> Option<LinkError> {
        let closed =
            |goodbye: &Goodbye| LinkError::ClosedHere { name: self.name.clone(), goodbye: goodbye.clone() };
        state.broken.clone().or_else(|| state.closing.as_ref().map(closed))
    }

    /// The next frame, or none within the time. What came before the link broke is handed out first.
    pub(crate) fn receive(&self, timeout: Duration) -> Result<Option<Frame>, LinkError> {
        let until = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(frame) = state.incoming.pop_front() {
                let was_full = state.incoming_bytes >= INCOMING_BYTES_MAX;
                state.incoming_bytes -= frame.bytes.len();
                if was_full {
                    self.bell.ring();
                }
                return Ok(Some(frame));
            }
            if let Some(error) = self.no_more(&state) {
                return Err(error);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Frames that are in the queue are sent, then the reason, then nothing more.
    pub(crate) fn close(&self, goodbye: Goodbye) {
        let mut state = self.state();
        if state.broken.is_none() && state.closing.is_none() {
            state.closing = Some(goodbye);
        }
        drop(state);
        self.changed.notify_all();
        self.bell.ring();
    }

    /// Ends the link. The first reason counts.
    pub(crate) fn fail(&self, error: LinkError) {
        let mut state = self.state();
        state.broken.get_or_insert(error);
        drop(state);
        self.over.store(true, Relaxed);
        self.changed.notify_all();
        self.bell.ring();
    }

    /// Waits until the link is no more, or the time is over.
    pub(crate) fn await_end(&self, time: Duration) {
        let state = self.state();
        let lives = |state: &mut State| state.broken.is_none();
        drop(self.changed.wait_timeout_while(state, time, lives));
    }
}

/// Begins to carry.
pub(crate) fn start(shared: &Arc<Shared>, channel: Channel) -> Result<(), LinkError> {
    let carrier = Carrier::new(Arc::clone(shared), channel);
    let thread = std::thread::Builder::new().name("plumb-link".to_owned());
    let failed = |error| Over::Failed(error).error(&shared.name);
    thread.spawn(|| carrier.run()).map(drop).map_err(failed)
}

struct Carrier {
    shared: Arc<Shared>,
    channel: Channel,
    /// The frame that is being sent, and how much of it went.
    sending: Vec<u8>,
    sent: usize,
    heard: Instant,
    pinged: Instant,
    parting: Option<Parting>,
}

/// The last frame was put into the queue.
struct Parting {
    goodbye: Goodbye,
    until: Instant,
}

/// The link ends, for a reason.
struct End(LinkError);

impl Carrier {
    fn new(shared: Arc<Shared>, channel: Channel) -> Self {
        let now = Instant::now();
        Carrier { shared, channel, sending: Vec::new(), sent: 0, heard: now, pinged: now, parting: None }
    }

    fn run(mut self) {
        let end = loop {
            if let Err(End(error)) = self.turn() {
                break error;
            }
        };
        // Whoever heard the goodbye hangs up, and may be seen to before the look at the time.
        let end = self.parted().unwrap_or(end);
        let parting = self.parting.is_some();
        // The other side has to see the end no later than whoever asks here.
        self.shared.fail(end);
        if parting {
            self.channel.part(Instant::now() + PARTING);
        }
    }

    fn turn(&mut self) -> Result<(), End> {
        // Frames of before the connection was handed over may wait already.
        self.hand_out()?;
        self.send()?;
        let reading = self.is_listening();
        let time = PING_EVERY.saturating_sub(self.pinged.elapsed());
        let end = |name: &str, over: Over| End(over.error(name));
        self.channel
            .wait(reading, time, Some(&self.shared.bell))
            .map_err(|over| end(&self.shared.name, over))?;
        self.shared.bell.quiet();
        if reading {
            let read = self.channel.read();
            // What came before the end is handed out.
            self.hand_out()?;
            if read.map_err(|over| end(&self.shared.name, over))? > 0 {
                self.heard = Instant::now();
            }
            if self.channel.has_ended() {
                return Err(end(&self.shared.name, self.channel.end()));
            }
        } else {
            self.heard = Instant::now();
        }
        self.look()
    }

    /// False while the receivers are behind.
    fn is_listening(&self) -> bool {
        self.shared.state().incoming_bytes < INCOMING_BYTES_MAX
    }

    /// Passes whole frames on.
    fn hand_out(&mut self) -> Result<(), End> {
        let name = &self.shared.name;
        while let Some(frame) = self.channel.frame(FRAME_BYTES_MAX).map_err(|over| End(over.error(name)))? {
            match frame.kind {
                own::PING => {}
                own::BYE => {
                    return Err(End(LinkError::Closed {
                        name: name.clone(),
                        goodbye: Goodbye::read(&frame),
                    }));
                }
                FIRST_KIND.. => {
                    let mut state = self.shared.state();
                    state.incoming_bytes += frame.bytes.len();
                    state.incoming.push_back(frame);
                    drop(state);
                    self.shared.changed.notify_all();
                }
                kind => return Err(End(LinkError::UnexpectedKind { name: name.clone(), kind })),
            }
        }
        Ok(())
    }

    /// Sends as much as the socket takes.
    fn send(&mut self) -> Result<(), End> {
        loop {
            if self.sent == self.sending.len() && !self.next() {
                self.write()?;
                return Ok(());
            }
            if self.write()? == 0 {
                return Ok(());
            }
        }
    }

    fn write(&mut self) -> Result<usize, End> {
        let written = self.channel.write(&self.sending[self.sent..]);
        let written = written.map_err(|over| End(over.error(&self.shared.name)))?;
        self.sent += written;
        Ok(written)
    }

    /// The next frame to send, if there is one.
    fn next(&mut self) -> bool {
        let mut state = self.shared.state();
        let Some(frame) = state.outgoing.pop_front() else {
            let closing = state.closing.clone();
            drop(state);
            if let (Some(goodbye), None) = (closing, &self.parting) {
                let content = json_bytes("a goodbye", &goodbye).unwrap_or_default();
                self.begin(encoded(own::BYE, &content));
                self.parting = Some(Parting { goodbye, until: Instant::now() + PARTING });
                return true;
            }
            return false;
        };
        let was_full = state.outgoing_bytes >= OUTGOING_BYTES_MAX;
        state.outgoing_bytes -= frame.len();
        drop(state);
        if was_full {
            self.shared.changed.notify_all();
        }
        self.begin(frame);
        true
    }

    fn begin(&mut self, frame: Vec<u8>) {
        self.sending = frame;
        self.sent = 0;
    }

    /// The end of a link that is closed here, once the goodbye is sent or its time is over.
    fn parted(&self) -> Option<LinkError> {
        let Parting { goodbye, until } = self.parting.as_ref()?;
        let is_sent = self.sent == self.sending.len() && !self.channel.wants_write();
        let closed = || LinkError::ClosedHere { name: self.shared.name.clone(), goodbye: goodbye.clone() };
        (is_sent || Instant::now() >= *until).then(closed)
    }

    /// Looks at the time: whether to say that we live, whether to give the other side up.
    fn look(&mut self) -> Result<(), End> {
        let name = || self.shared.name.clone();
        if let Some(broken) = self.shared.broken() {
            return Err(End(broken));
        }
        if let Some(parted) = self.parted() {
            return Err(End(parted));
        }
        let silence = self.heard.elapsed();
        if silence >= SILENCE_MAX {
            return Err(End(LinkError::Silent { name: name(), silence }));
        }
        if self.pinged.elapsed() >= PING_EVERY {
            self.pinged = Instant::now();
            let mut state = self.shared.state();
            // Other frames say so as well.
            if state.outgoing.is_empty() && self.sent == self.sending.len() {
                state.outgoing.push_back(encoded(own::PING, &[]));
                state.outgoing_bytes += encoded(own::PING, &[]).len();
            }
        }
        Ok(())
    }
}
