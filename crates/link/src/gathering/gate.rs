//! What a connection goes through: TLS, one frame that is held against the token, and then its place in the run.

use super::GREETERS_MAX;
use super::roll::{Admitted, Roll};
use crate::carrier;
use crate::channel::{Channel, LOOK, Over, Wait};
use crate::clock::{ask_first, ask_on};
use crate::error::LinkError;
use crate::frame::{Frame, Unreadable, json_bytes, own};
use crate::greeting::{AnyVersion, FirstFrame, GREETING_BYTES_MAX, PROTOCOL, Purpose, Refusal, is_name};
use crate::peer::{Inner, Peer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time for the handshake and the first frame.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// Time until the connection of clock exchanges is there.
const CLOCK_TIME: Duration = Duration::from_secs(5);
/// One end of a link is seen on both connections, a little apart.
const OTHER_CONNECTION: Duration = Duration::from_secs(1);

pub(super) struct Gate {
    pub(super) listener: TcpListener,
    pub(super) config: Arc<ServerConfig>,
    pub(super) roll: Arc<Roll>,
    pub(super) closing: Arc<AtomicBool>,
}

impl Gate {
    /// Takes connections until the gathering is closed.
    pub(super) fn run(self) {
        let greeting = Arc::new(AtomicUsize::new(0));
        while !self.closing.load(Ordering::Relaxed) {
            if greeting.load(Ordering::Relaxed) >= GREETERS_MAX {
                std::thread::sleep(LOOK);
                continue;
            }
            match self.listener.accept() {
                Ok((socket, from)) => self.greet(socket, from, &greeting),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => self.wait(),
                // Out of descriptors, or the other side is gone already.
                Err(_) => std::thread::sleep(LOOK),
            }
        }
    }

    fn wait(&self) {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        let _ready = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&time));
    }

    fn greet(&self, socket: TcpStream, from: SocketAddr, greeting: &Arc<AtomicUsize>) {
        let place = Place::take(greeting);
        let visit = Visit {
            roll: Arc::clone(&self.roll),
            config: Arc::clone(&self.config),
            closing: Arc::clone(&self.closing),
            from,
        };
        let thread = std::thread::Builder::new().name("plumb-link-greet".to_owned());
        // Without a thread the connection is closed, and its worker comes again.
        let _spawned = thread.spawn(move || visit.run(socket, place));
    }
}

/// One of those who greet.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(greeting: &Arc<AtomicUsize>) -> Self {
        greeting.fetch_add(1, Ordering::Relaxed);
        Place(Arc::clone(greeting))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Visit {
    roll: Arc<Roll>,
    config: Arc<ServerConfig>,
    closing: Arc<AtomicBool>,
    from: SocketAddr,
}

impl Visit {
    fn run(self, socket: TcpStream, place: Place) {
        let until = Instant::now() + GREETING_TIME;
        let Ok((mut channel, first)) = self.first_frame(socket, until) else {
            self.roll.count_stranger();
            return;
        };
        match self.judge(&first) {
            Ok((name, Purpose::Frames(hello))) => {
                let admitted = match self.roll.admit(&name, &hello) {
                    Ok(Ok(admitted)) => admitted,
                    Ok(Err(refusal)) => return self.refuse(channel, Some(&name), &refusal, until),
                    Err(_) => return,
                };
                drop(place);
                self.serve(channel, &admitted, until);
            }
            Ok((name, Purpose::Clock { epoch, ticket })) => {
                if let Err(refusal) = self.roll.expects_clock(&name, epoch, &ticket) {
                    return self.refuse(channel, Some(&name), &refusal, until);
                }
                let wait = Wait { until, stop: &self.closing };
                let welcome = self.roll.welcome_of(&name);
                let sent = welcome.is_some_and(|bytes| channel.send(own::WELCOME, &bytes, wait).is_ok());
                if sent {
                    self.roll.bring_clock(&name, epoch, channel);
                }
            }
            Err(Turned { refusal, name }) => self.refuse(channel, name.as_deref(), &refusal, until),
        }
    }

    fn first_frame(&self, socket: TcpStream, until: Instant) -> Result<(Channel, Frame), Over> {
        let session = ServerConnection::new(Arc::clone(&self.config)).map_err(Over::Tls)?;
        let mut channel = Channel::new(session, socket)?;
        let first = channel.receive(GREETING_BYTES_MAX, Wait { until, stop: &self.closing })?;
        Ok((channel, first))
    }

    /// Whether the first frame is one of this run's workers.
    fn judge(&self, first: &Frame) -> Result<(String, Purpose), Turned> {
        let stranger = |refusal| Turned { refusal, name: None };
        if first.kind != own::HELLO {
            return Err(stranger(Refusal::Unreadable));
        }
        let unreadable = |_: Unreadable| stranger(Refusal::Unreadable);
        let AnyVersion { protocol } = first.json("a greeting").map_err(unreadable)?;
        if protocol != PROTOCOL {
            return Err(stranger(Refusal::Protocol { coordinator: PROTOCOL, worker: protocol }));
        }
        let first: FirstFrame = first.json("a greeting").map_err(unreadable)?;
        if !first.token().is_some_and(|token| self.roll.token().is(&token)) {
            return Err(stranger(Refusal::Token));
        }
        if !is_name(&first.name) {
            return Err(stranger(Refusal::Name));
        }
        if let Purpose::Frames(hello) = &first.purpose
            && hello.build != self.roll.build()
        {
            let refusal =
                Refusal::Build { coordinator: self.roll.build().to_owned(), worker: hello.build.clone() };
            return Err(Turned { refusal, name: Some(first.name) });
        }
        Ok((first.name, first.purpose))
    }

    /// Says why, and closes.
    fn refuse(&self, mut channel: Channel, name: Option<&str>, refusal: &Refusal, until: Instant) {
        self.roll.note_refusal(name, self.from, refusal);
        if let Ok(bytes) = json_bytes("a refusal", refusal)
            && channel.send(own::REFUSED, &bytes, Wait { until, stop: &self.closing }).is_ok()
        {
            channel.part(until);
        }
    }

    /// A worker's link, from its welcome to its end.
    fn serve(&self, mut channel: Channel, admitted: &Admitted, until: Instant) {
        let Admitted { name, shared, clock, .. } = admitted;
        let begun = channel
            .send(own::WELCOME, &admitted.welcome, Wait { until, stop: &self.closing })
            .map_err(|over| over.error(name))
            .and_then(|()| carrier::start(shared, channel));
        if let Err(error) = begun {
            return shared.fail(error);
        }
        let Some(mut exchanges) =
            self.roll.take_clock(name, admitted.place.epoch, Instant::now() + CLOCK_TIME)
        else {
            return shared.fail(LinkError::Cut { name: name.clone(), source: None });
        };
        let error = match ask_first(&mut exchanges, clock, name, shared.over()) {
            Ok(()) => {
                self.roll.is_ready(Peer::new(Inner {
                    name: name.clone(),
                    place: admitted.place,
                    hello: admitted.hello.clone(),
                    clock: Some(clock.clone()),
                    shared: Arc::clone(shared),
                }));
                ask_on(&mut exchanges, clock, name, shared.over())
            }
            Err(error) => error,
        };
        shared.await_end(OTHER_CONNECTION);
        shared.fail(error);
    }
}

/// A connection that is not taken.
struct Turned {
    refusal: Refusal,
    /// Known only of one that knows the token.
    name: Option<String>,
}
