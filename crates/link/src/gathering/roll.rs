//! Who is taken, under which index, and who is there.

use super::Workers;
use super::refusals::{Refusals, TurnedAway};
use crate::carrier::Shared;
use crate::channel::{Channel, LOOK};
use crate::clock::PeerClock;
use crate::error::LinkError;
use crate::frame::json_bytes;
use crate::goodbye::Goodbye;
use crate::greeting::{Hello, Introduction, Refusal, Welcome};
use crate::peer::{CLOSING_MAX, Peer, Place};
use crate::token::Token;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Who came so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Connections that did not get as far as a frame that could be a worker's.
    pub strangers: u64,
    /// Frames that could be a worker's and were refused.
    pub refused: u64,
    /// The last of those, each once: who, from where, why, how often.
    pub refusals: Vec<String>,
}

/// Somebody who came while a run waits for its workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A worker is there and its clock is known.
    Joined {
        /// Its name.
        name: String,
        /// The number of workers that are there with it.
        present: usize,
    },
    /// One was turned away: who, from where, why. It is told once, however often it tries, until the reason is another.
    TurnedAway(String),
}

/// What was told of those who came.
#[derive(Default)]
struct ToldOf {
    /// The names of those who are there.
    present: Vec<String>,
    /// Different ones that were turned away.
    turned_away: u64,
}

impl ToldOf {
    /// Tells what is new.
    fn tell(&mut self, state: &State, told: &mut dyn FnMut(Arrival)) {
        let new = state.refusals.after(self.turned_away).map(TurnedAway::who);
        new.for_each(|who| told(Arrival::TurnedAway(who)));
        self.turned_away = state.refusals.different();
        let names = || state.slots.iter().filter(|slot| slot.is_ready()).map(|slot| &slot.name);
        self.present.retain(|name| names().any(|ready| ready == name));
        for name in names() {
            if !self.present.contains(name) {
                self.present.push(name.clone());
                told(Arrival::Joined { name: name.clone(), present: self.present.len() });
            }
        }
    }
}

pub(super) struct Roll {
    workers: Workers,
    token: Token,
    hello: Hello,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    /// True once they were handed out: then names keep their places.
    gathered: bool,
    /// What those hear who come when it is over.
    over: Option<Goodbye>,
    strangers: u64,
    refusals: Refusals,
}

/// A worker's place.
struct Slot {
    name: String,
    index: usize,
    epoch: u32,
    ticket: Token,
    welcome: Vec<u8>,
    shared: Arc<Shared>,
    /// The connection of clock exchanges, on its way to the link's thread.
    clock: Option<Channel>,
    /// The worker, until it is handed out.
    ready: Option<Peer>,
}

impl Slot {
    fn lives(&self) -> bool {
        !self.shared.over().load(Relaxed)
    }

    fn is_ready(&self) -> bool {
        self.ready.is_some() && self.lives()
    }
}

/// A worker that was taken.
pub(super) struct Admitted {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) hello: Hello,
    pub(super) shared: Arc<Shared>,
    pub(super) clock: PeerClock,
    pub(super) welcome: Vec<u8>,
}

impl Roll {
    pub(super) fn new(workers: Workers, token: Token, introduction: Introduction) -> Self {
        let hello = introduction.hello();
        Roll { workers, token, hello, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    pub(super) fn build(&self) -> &str {
        &self.hello.build
    }

    pub(super) fn count_stranger(&self) {
        self.state().strangers += 1;
    }

    pub(super) fn note_refusal(&self, name: Option<&str>, from: SocketAddr, refusal: &Refusal) {
        self.state().refusals.note(name, from.ip(), refusal);
        self.changed.notify_all();
    }

    pub(super) fn seen(&self) -> Seen {
        let state = self.state();
        Seen { strangers: state.strangers, refused: state.refusals.times(), refusals: state.refusals.words() }
    }

    /// Takes a worker that knows the token and is of the same build, or says why not.
    ///
    /// # Errors
    /// When the system refuses what a link needs.
    pub(super) fn admit(&self, name: &str, hello: &Hello) -> Result<Result<Admitted, Refusal>, LinkError> {
        let (shared, ticket) = (Shared::new(name)?, Token::random()?);
        let mut state = self.state();
        let (index, epoch) = match self.place(&state, name) {
            Ok(place) => place,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let place = Place { index, workers: self.workers.count(), epoch };
        let welcome = json_bytes(
            "a welcome",
            &Welcome {
                index,
                workers: place.workers,
                epoch,
                ticket: ticket.hex(),
                hello: self.hello.clone(),
            },
        )?;
        state.slots.retain(|slot| slot.index != index);
        state.slots.push(Slot {
            name: name.to_owned(),
            index,
            epoch,
            ticket,
            welcome: welcome.clone(),
            shared: Arc::clone(&shared),
            clock: None,
            ready: None,
        });
        let clock = PeerClock::new(self.ahead_ns(hello));
        Ok(Ok(Admitted { name: name.to_owned(), place, hello: hello.clone(), shared, clock, welcome }))
    }

    /// The index and the epoch of a worker that is taken.
    fn place(&self, state: &State, name: &str) -> Result<(usize, u32), Refusal> {
        if let Some(slot) = state.slots.iter().find(|slot| slot.name == name) {
            return match slot.lives() {
                true => Err(Refusal::NameTaken { name: name.to_owned() }),
                false => Ok((slot.index, slot.epoch + 1)),
            };
        }
        match &self.workers {
            Workers::Named(names) => {
                let index = names.iter().position(|expected| expected == name);
                index.map(|index| (index, 1)).ok_or_else(|| Refusal::NotExpected { name: name.to_owned() })
            }
            Workers::Any(count) => {
                // Until all are there, the place of one that is gone is free.
                let has = |slot: &Slot| state.gathered || slot.lives();
                let free = |index: &usize| !state.slots.iter().any(|slot| slot.index == *index && has(slot));
                let index = (0..*count).find(free);
                index.map(|index| (index, 1)).ok_or(Refusal::Full { workers: *count })
            }
        }
    }

    /// The distance between the clocks if both hosts say that they are one.
    fn ahead_ns(&self, worker: &Hello) -> Option<i64> {
        let (here, there) = (self.hello.boot.as_ref()?, worker.boot.as_ref()?);
        let ahead_ns = worker.namespace_offset_ns?.checked_sub(self.hello.namespace_offset_ns?)?;
        (here == there).then_some(ahead_ns)
    }

    /// Whether a connection of clock exchanges is of a link that lives.
    pub(super) fn expects_clock(&self, name: &str, epoch: u32, ticket: &str) -> Result<(), Refusal> {
        let state = self.state();
        let of_link = |slot: &&Slot| slot.name == name && slot.epoch == epoch && slot.lives();
        let slot = state.slots.iter().find(of_link).ok_or(Refusal::OldLink { epoch })?;
        match Token::from_hex(ticket).is_some_and(|ticket| slot.ticket.is(&ticket)) {
            true => Ok(()),
            false => Err(Refusal::OldLink { epoch }),
        }
    }

    pub(super) fn welcome_of(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.slots.iter().find(|slot| slot.name == name).map(|slot| slot.welcome.clone())
    }

    /// Brings the connection of clock exchanges to its link.
    pub(super) fn bring_clock(&self, name: &str, epoch: u32, channel: Channel) {
        let mut state = self.state();
        if let Some(slot) = state.slots.iter_mut().find(|slot| slot.name == name && slot.epoch == epoch) {
            slot.clock = Some(channel);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for it.
    pub(super) fn take_clock(&self, name: &str, epoch: u32, until: Instant) -> Option<Channel> {
        let mut state = self.state();
        loop {
            let mut slots = state.slots.iter_mut();
            let slot = slots.find(|slot| slot.name == name && slot.epoch == epoch)?;
            if slot.clock.is_some() || !slot.lives() {
                return slot.clock.take();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.wait(state, left.min(LOOK));
        }
    }

    /// A worker's clock is known: it can be handed out.
    pub(super) fn is_ready(&self, peer: Peer) {
        let mut state = self.state();
        if let Some(goodbye) = &state.over {
            return peer.close(goodbye.clone());
        }
        let mut slots = state.slots.iter_mut();
        if let Some(slot) = slots.find(|slot| slot.index == peer.index() && slot.epoch == peer.epoch()) {
            slot.ready = Some(peer);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn gather(
        &self,
        deadline: Instant,
        stop: &AtomicBool,
        told: &mut dyn FnMut(Arrival),
    ) -> Result<Vec<Peer>, LinkError> {
        let begun = Instant::now();
        let count = self.workers.count();
        let mut told_of = ToldOf::default();
        let mut state = self.state();
        loop {
            told_of.tell(&state, told);
            if state.slots.iter().filter(|slot| slot.is_ready()).count() >= count {
                break;
            }
            if stop.load(Relaxed) {
                return Err(LinkError::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.too_few(&state, begun.elapsed()));
            }
            state = self.wait(state, left.min(LOOK));
        }
        state.gathered = true;
        state.slots.sort_by_key(|slot| slot.index);
        Ok(state.slots.iter_mut().filter_map(|slot| slot.ready.take()).collect())
    }

    fn too_few(&self, state: &State, waited: Duration) -> LinkError {
        let mut there: Vec<&Slot> = state.slots.iter().filter(|slot| slot.is_ready()).collect();
        there.sort_by_key(|slot| slot.index);
        let absent = |index: &usize| !there.iter().any(|slot| slot.index == *index);
        let name = |index: usize| match &self.workers {
            Workers::Named(names) => names[index].clone(),
            Workers::Any(_) => format!("number {}", index + 1),
        };
        LinkError::TooFew {
            expected: self.workers.count(),
            waited,
            present: there.iter().map(|slot| slot.name.clone()).collect(),
            missing: (0..self.workers.count()).filter(absent).map(name).collect(),
            refused: state.refusals.words(),
        }
    }

    pub(super) fn rejoin(&self, name: &str, within: Duration, stop: &AtomicBool) -> Result<Peer, LinkError> {
        let until = Instant::now() + within;
        let mut state = self.state();
        loop {
            let slot = state.slots.iter_mut().find(|slot| slot.name == name);
            let slot = slot.ok_or_else(|| LinkError::NoSuchWorker { name: name.to_owned() })?;
            if slot.is_ready()
                && let Some(peer) = slot.ready.take()
            {
                return Ok(peer);
            }
            if stop.load(Relaxed) {
                return Err(LinkError::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LinkError::NotBack { name: name.to_owned(), within });
            }
            state = self.wait(state, left.min(LOOK));
        }
    }

    /// Says goodbye to the workers that nobody took over, and to those who come now, and waits a little until they know.
    pub(super) fn dismiss(&self, goodbye: &Goodbye) {
        let mut state = self.state();
        state.over.get_or_insert_with(|| goodbye.clone());
        let waiting: Vec<Peer> = state.slots.iter_mut().filter_map(|slot| slot.ready.take()).collect();
        drop(state);
        waiting.iter().for_each(|peer| peer.close(goodbye.clone()));
        let until = Instant::now() + CLOSING_MAX;
        waiting.iter().for_each(|peer| peer.await_end(until.saturating_duration_since(Instant::now())));
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }
}
