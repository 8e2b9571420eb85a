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
use crate::secret_error::SecretError;
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
/// Between two exchanges that count, after that: they load nothing. Ours.
const BETWEEN: Duration = Duration::from_millis(100);
/// The same once the band is narrow: by then each exchange narrows it little, and many workers' load the coordinator. Ours.
const BETWEEN_LATER: Duration = Duration::from_millis(200);
/// The band is narrow after that. Ours.
const LATER: Duration = Duration::from_secs(10);
/// The most exchanges for one that counts, the quickest. The first one wakes both processes, and those after it find them awake. Ours.
const TRIES: u32 = 3;
/// Later, an exchange that took no more than so many times the least that any took is as good as another would be. Ours: before, two of
/// 20,000 made-up bands were wider than they are to be.
const QUICK: f64 = 1.25;
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
    let begun = Instant::now();
    let mut due = begun;
    while !over.load(Relaxed) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let is_later = begun.elapsed() >= LATER;
        let between = if is_later { BETWEEN_LATER } else { BETWEEN };
        // Over a long way there is time for one alone.
        let until = Instant::now() + between / 2;
        let least_ns = clock.least_round_trip_ns().filter(|_| is_later);
        let quick_ns = least_ns.map_or(0, |least_ns| (least_ns as f64 * QUICK) as i64);
        match quickest(|| exchange(channel, name, over), Enough { quick_ns, until }) {
            Ok(exchange) => clock.push(&exchange),
            Err(error) => return error,
        }
        // Those that were due while one was held up are left out: they would be as late as it was.
        due = (due + between).max(Instant::now());
    }
    LinkError::Stopped
}

/// When no exchange more is needed for one that counts.
struct Enough {
    /// One took no longer.
    quick_ns: i64,
    /// It is so late.
    until: Instant,
}

/// The quickest of a few exchanges, until there are enough.
fn quickest(
    mut exchange: impl FnMut() -> Result<WallExchange, LinkError>,
    enough: Enough,
) -> Result<WallExchange, LinkError> {
    let round_trip_ns = |exchange: &WallExchange| Exchange::from(exchange).round_trip_ns();
    let mut quickest = exchange()?;
    for _ in 1..TRIES {
        if round_trip_ns(&quickest) <= enough.quick_ns || Instant::now() >= enough.until {
            break;
        }
        let next = exchange()?;
        if round_trip_ns(&next) < round_trip_ns(&quickest) {
            quickest = next;
        }
    }
    Ok(quickest)
}

fn exchange(channel: &mut Channel, name: &str, over: &AtomicBool) -> Result<WallExchange, LinkError> {
    let mut question = [0; QUESTION_BYTES];
    SystemRandom::new().fill(&mut question).map_err(|_| SecretError::NoRandomness)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reading(ns: i64) -> WallReading {
        WallReading { before_ns: ns, wall_ns: ns, after_ns: ns }
    }

    /// An exchange that took so long.
    fn taking(ns: i64) -> WallExchange {
        WallExchange { sent: reading(0), there: reading(5), returned: reading(ns) }
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    fn quickest_of(mut times_ns: Vec<i64>, enough: Enough) -> (i64, usize) {
        times_ns.reverse();
        let quickest = quickest(|| Ok(taking(times_ns.pop().unwrap())), enough).unwrap();
        (Exchange::from(&quickest).round_trip_ns(), times_ns.len())
    }

    #[test]
    fn of_three_exchanges_the_quickest_counts_and_over_a_long_way_one_is_enough() {
        let within = |until| Enough { quick_ns: 20, until };
        assert_eq!(quickest_of(vec![90, 40, 60, 10], within(later())), (40, 1));
        assert_eq!(quickest_of(vec![30, 40, 60, 10], within(later())), (30, 1));
        assert_eq!(quickest_of(vec![90, 40, 60, 10], within(Instant::now())), (90, 3));
    }

    #[test]
    fn after_an_exchange_that_is_about_as_quick_as_any_there_is_none_more() {
        let quick = |quick_ns| Enough { quick_ns, until: later() };
        assert_eq!(quickest_of(vec![90, 40, 60, 10], quick(40)), (40, 2));
        assert_eq!(quickest_of(vec![40, 30, 60, 10], quick(40)), (40, 3));
    }

    #[test]
    fn a_link_that_breaks_between_the_tries_is_broken() {
        let mut answers = vec![Err(LinkError::Stopped), Ok(taking(50))];
        let enough = Enough { quick_ns: 20, until: later() };
        assert!(matches!(quickest(|| answers.pop().unwrap(), enough), Err(LinkError::Stopped)));
    }

    #[test]
    fn an_answer_is_the_readings_that_were_sent_with_the_number_that_was_asked() {
        let sent = WallReading { before_ns: 1, wall_ns: 2, after_ns: 3 };
        let number = [7; QUESTION_BYTES];
        assert_eq!(read_answer(&answer(number, &sent), &number), Some(sent));
        assert_eq!(read_answer(&answer(number, &sent), &[8; QUESTION_BYTES]), None);
    }

    proptest! {
        #[test]
        fn whatever_answer_comes_it_is_none_or_has_readings_in_their_order(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            known in any::<bool>(),
        ) {
            let mut bytes = bytes;
            let number = [7; QUESTION_BYTES];
            if known && bytes.len() >= QUESTION_BYTES {
                bytes[..QUESTION_BYTES].copy_from_slice(&number);
            }
            if let Some(reading) = read_answer(&bytes, &number) {
                prop_assert!(bytes.len() == ANSWER_BYTES && bytes[..QUESTION_BYTES] == number);
                prop_assert!(0 <= reading.before_ns && reading.before_ns <= reading.after_ns);
                prop_assert!(reading.after_ns < READING_NS_MAX && (0..READING_NS_MAX).contains(&reading.wall_ns));
            }
        }
    }
}
