//! Exchanges of clock readings on a connection of their own: frames of the users, which may be long, are not before them.
//!
//! ```text
//! question   0 number (64 bits, little-endian)
//! answer     0 number   8 raw clock after    16 monotonic clock   24 raw clock before
//!                         the question arrived                       the answer goes
//! ```
//!
//! The number comes back with the answer: whoever answers before being asked cannot know it.

use super::PeerClock;
use crate::channel::{Channel, Over, Wait};
use crate::error::LinkError;
use crate::frame::own;
use crate::reading::reading;
use plumb_stats::clock_offset::{Exchange, WallExchange, WallReading};
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const QUESTION_BYTES: usize = 8;
const ANSWER_BYTES: usize = 32;
/// No clock that counts nanoseconds since a boot reads more. It keeps differences within 64 bits.
const READING_NS_MAX: i64 = 1 << 62;
/// Exchanges at once at the beginning, as `plumb probe clock` makes them: the quickest of so many is near the least that the way takes.
const FIRST_EXCHANGES: u32 = 50;
/// Where they take long they end after this. Ours.
const FIRST_TIME: Duration = Duration::from_secs(2);
/// Exchanges a second after that: they load nothing. Ours.
const EXCHANGES_PER_S: u32 = 10;
/// An answer that takes longer is no answer: by then the link is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The exchanges of the beginning.
pub(crate) fn ask_first(
    channel: &mut Channel,
    clock: &PeerClock,
    name: &str,
    over: &AtomicBool,
) -> Result<(), LinkError> {
    let end = Instant::now() + FIRST_TIME;
    for _ in 0..FIRST_EXCHANGES {
        clock.push(&exchange(channel, name, over)?);
        if Instant::now() >= end {
            break;
        }
    }
    Ok(())
}

/// Those after that, until the link is over.
pub(crate) fn ask_on(channel: &mut Channel, clock: &PeerClock, name: &str, over: &AtomicBool) -> LinkError {
    let between = Duration::from_secs(1) / EXCHANGES_PER_S;
    let mut due = Instant::now();
    while !over.load(Relaxed) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match exchange(channel, name, over) {
            Ok(exchange) => clock.push(&exchange),
            Err(error) => return error,
        }
        // Those that were due while one was held up are left out: they would be as late as it was.
        due = (due + between).max(Instant::now());
    }
    LinkError::Stopped
}

fn exchange(channel: &mut Channel, name: &str, over: &AtomicBool) -> Result<WallExchange, LinkError> {
    let mut question = [0; QUESTION_BYTES];
    SystemRandom::new().fill(&mut question).map_err(|_| LinkError::NoRandomness)?;
    let wait = Wait { until: Instant::now() + PATIENCE, stop: over };
    let broken = |error: Over| error.error(name);
    let sent = reading();
    channel.send(own::QUESTION, &question, wait).map_err(broken)?;
    let answer = channel.receive(ANSWER_BYTES, wait).map_err(broken)?;
    let returned = reading();
    let name = || name.to_owned();
    if answer.kind != own::ANSWER {
        return Err(LinkError::UnexpectedKind { name: name(), kind: answer.kind });
    }
    let there = read_answer(&answer.bytes, &question);
    let there = there.ok_or_else(|| LinkError::ImpossibleReadings { name: name() })?;
    let exchange = WallExchange { sent, there, returned };
    match Exchange::from(&exchange).round_trip_ns() >= 0 {
        true => Ok(exchange),
        false => Err(LinkError::ImpossibleReadings { name: name() }),
    }
}

/// Answers questions until the link is over.
pub(crate) fn answer_questions(channel: &mut Channel, name: &str, over: &AtomicBool) -> LinkError {
    loop {
        // The link itself knows when the other side is silent.
        let wait = Wait { until: Instant::now() + Duration::from_secs(60), stop: over };
        let question = match channel.receive(QUESTION_BYTES, wait) {
            Ok(question) if question.kind == own::QUESTION => question,
            Ok(other) => return LinkError::UnexpectedKind { name: name.to_owned(), kind: other.kind },
            Err(error) => return error.error(name),
        };
        let Ok(number) = question.bytes.try_into() else {
            return LinkError::ImpossibleReadings { name: name.to_owned() };
        };
        let wait = Wait { until: Instant::now() + PATIENCE, stop: over };
        if let Err(error) = channel.send(own::ANSWER, &answer(number, &reading()), wait) {
            return error.error(name);
        }
    }
}

fn answer(number: [u8; QUESTION_BYTES], reading: &WallReading) -> [u8; ANSWER_BYTES] {
    let mut bytes = [0; ANSWER_BYTES];
    bytes[..8].copy_from_slice(&number);
    bytes[8..16].copy_from_slice(&reading.before_ns.to_le_bytes());
    bytes[16..24].copy_from_slice(&reading.wall_ns.to_le_bytes());
    bytes[24..].copy_from_slice(&reading.after_ns.to_le_bytes());
    bytes
}

/// None where the bytes say what none of ours would.
fn read_answer(bytes: &[u8], question: &[u8; QUESTION_BYTES]) -> Option<WallReading> {
    let bytes: &[u8; ANSWER_BYTES] = bytes.try_into().ok()?;
    let number = |at: usize| {
        let ns = i64::from_le_bytes(bytes[at..at + 8].try_into().ok()?);
        (0..READING_NS_MAX).contains(&ns).then_some(ns)
    };
    let reading = WallReading { before_ns: number(8)?, wall_ns: number(16)?, after_ns: number(24)? };
    (bytes[..8] == question[..] && reading.before_ns <= reading.after_ns).then_some(reading)
}
