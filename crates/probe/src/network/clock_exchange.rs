//! Readings of two hosts' clocks, exchanged: what bounds how far they differ (`plumb_stats::clock_offset`).
//!
//! ```text
//! account, once     0 boot     16 offset of the     24 largest error of    32 flags  33 who claims  34 0
//!                              time namespace (LE)     the wall clock (LE)           that
//! question          0 number    8 0
//! answer            0 number    8 raw clock after    16 wall clock          24 raw clock before
//!                              the question arrived                            the answer goes
//! ```
//!
//! The number comes back with the answer: whoever answers before being asked cannot know it. A reading has its wall clock between two
//! of the raw one, on both sides. What is read is what this process reads: a time namespace shifts the raw clock, and not the wall clock.

use super::messages::Wire;
use super::peer::{NetworkError, Peer, unforeseen};
use super::protocol::Role;
use crate::clock::wall_reading;
use plumb_model::probe::{ClaimSource, ClockAccount, ClockClaim};
use plumb_model::random::Random;
use plumb_stats::clock_offset::{Exchange, WallExchange, WallReading};
use std::time::Instant;

pub(super) const ACCOUNT_BYTES: usize = 48;
pub(super) const QUESTION_BYTES: usize = 32;
const NUMBER_BYTES: usize = 8;
/// No clock that counts nanoseconds since a boot or since 1970 reads more before the year 2116. It keeps differences within 64 bits.
const READING_NS_MAX: i64 = 1 << 62;

const BOOT_KNOWN: u8 = 1;
const NAMESPACE_KNOWN: u8 = 2;

/// An account as it is sent.
pub(super) fn account_bytes(account: &ClockAccount) -> [u8; ACCOUNT_BYTES] {
    let mut bytes = [0; ACCOUNT_BYTES];
    bytes[..16].copy_from_slice(&account.boot_id.unwrap_or_default());
    bytes[16..24].copy_from_slice(&account.namespace_offset_ns.unwrap_or_default().to_le_bytes());
    bytes[24..32].copy_from_slice(&account.claim.map_or(0, |claim| claim.error_ns).to_le_bytes());
    let known = |known: bool, flag: u8| if known { flag } else { 0 };
    bytes[32] = known(account.boot_id.is_some(), BOOT_KNOWN)
        | known(account.namespace_offset_ns.is_some(), NAMESPACE_KNOWN);
    bytes[33] = match account.claim.map(|claim| claim.source) {
        None => 0,
        Some(ClaimSource::TimeService) => 1,
        Some(ClaimSource::Kernel) => 2,
    };
    bytes
}

/// None where the bytes say what none of ours would.
fn read_account(bytes: &[u8; ACCOUNT_BYTES]) -> Option<ClockAccount> {
    let source = match bytes[33] {
        0 => None,
        1 => Some(ClaimSource::TimeService),
        2 => Some(ClaimSource::Kernel),
        _ => return None,
    };
    if bytes[32] > (BOOT_KNOWN | NAMESPACE_KNOWN) || bytes[34..].iter().any(|byte| *byte != 0) {
        return None;
    }
    let boot_id = bytes[..16].try_into().ok()?;
    let error_ns = u64::from_le_bytes(bytes[24..32].try_into().ok()?);
    Some(ClockAccount {
        boot_id: (bytes[32] & BOOT_KNOWN != 0).then_some(boot_id),
        namespace_offset_ns: (bytes[32] & NAMESPACE_KNOWN != 0).then_some(number(bytes, 16)),
        claim: source.map(|source| ClockClaim { error_ns, source }),
    })
}

/// The answer to a question, with the clocks as they are now.
pub(super) fn answer_now(question: &[u8; QUESTION_BYTES]) -> [u8; QUESTION_BYTES] {
    let reading = wall_reading();
    let mut bytes = *question;
    bytes[8..16].copy_from_slice(&reading.before_ns.to_le_bytes());
    bytes[16..24].copy_from_slice(&reading.wall_ns.to_le_bytes());
    bytes[24..].copy_from_slice(&reading.after_ns.to_le_bytes());
    bytes
}

fn number(bytes: &[u8], at: usize) -> i64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    i64::from_le_bytes(number)
}

/// A connection on which clocks are read on both sides.
#[derive(Debug)]
pub struct ClockExchanges<'a> {
    peer: &'a Peer<'a>,
    wire: Wire<'a>,
    numbers: Random,
    asked: u64,
    account: ClockAccount,
}

impl Peer<'_> {
    /// A connection to exchange readings of the clocks on.
    pub fn clock(&self) -> Result<ClockExchanges<'_>, NetworkError> {
        let address = self.address();
        let wire = self.connect(Role::Clock).map_err(|error| match error {
            // It welcomed us before, so it is one of ours.
            NetworkError::Foreign { .. } => NetworkError::NoClock { address },
            error => error,
        })?;
        let mut bytes = [0; ACCOUNT_BYTES];
        wire.fill(&mut bytes, self.until(Instant::now())).map_err(|over| self.broken(over))?;
        let account = read_account(&bytes).ok_or(NetworkError::ImpossibleReadings { address, number: 0 })?;
        Ok(ClockExchanges { peer: self, wire, numbers: Random::new(unforeseen()), asked: 0, account })
    }
}

impl ClockExchanges<'_> {
    /// What the other host says of its clocks.
    pub fn account(&self) -> &ClockAccount {
        &self.account
    }

    /// Shows the listener that we live. At least twice a minute.
    pub fn sign(&self) -> Result<(), NetworkError> {
        self.peer.sign()
    }

    /// One exchange, now.
    pub fn exchange(&mut self) -> Result<WallExchange, NetworkError> {
        self.asked += 1;
        let address = self.peer.address();
        let broken = |over| self.peer.broken(over);
        let mut question = [0; QUESTION_BYTES];
        self.numbers.fill(&mut question[..NUMBER_BYTES]);
        let mut answer = [0; QUESTION_BYTES];
        let until = self.peer.until(Instant::now());
        let sent = wall_reading();
        self.wire.send(&question, until).map_err(broken)?;
        self.wire.fill(&mut answer, until).map_err(broken)?;
        let returned = wall_reading();
        if answer[..NUMBER_BYTES] != question[..NUMBER_BYTES] {
            return Err(NetworkError::Altered { address, number: self.asked });
        }
        let there = WallReading {
            before_ns: number(&answer, 8),
            wall_ns: number(&answer, 16),
            after_ns: number(&answer, 24),
        };
        let exchange = WallExchange { sent, there, returned };
        let within = |ns: i64| (0..READING_NS_MAX).contains(&ns);
        let possible = within(there.before_ns)
            && within(there.wall_ns)
            && within(there.after_ns)
            && there.before_ns <= there.after_ns
            && Exchange::from(&exchange).round_trip_ns() >= 0;
        match possible {
            true => Ok(exchange),
            false => Err(NetworkError::ImpossibleReadings { address, number: self.asked }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says_of_its_clocks_is_understood() {
        let claim = |source| Some(ClockClaim { error_ns: u64::MAX, source });
        for account in [
            ClockAccount::default(),
            ClockAccount {
                boot_id: Some([7; 16]),
                namespace_offset_ns: Some(-1),
                claim: claim(ClaimSource::Kernel),
            },
            ClockAccount {
                boot_id: None,
                namespace_offset_ns: Some(i64::MIN),
                claim: claim(ClaimSource::TimeService),
            },
        ] {
            assert_eq!(read_account(&account_bytes(&account)), Some(account));
        }
    }

    #[test]
    fn an_account_that_none_of_ours_gives_is_refused() {
        for (at, byte) in [(32, 4), (33, 3), (34, 1), (47, 9)] {
            let mut bytes = account_bytes(&ClockAccount::default());
            bytes[at] = byte;
            assert_eq!(read_account(&bytes), None, "{at}");
        }
    }

    #[test]
    fn whatever_bytes_come_what_is_understood_of_them_is_said_again_alike() {
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let mut bytes = [0; ACCOUNT_BYTES];
            random.fill(&mut bytes[..32]);
            bytes[32] = random.below(6) as u8;
            bytes[33] = random.below(5) as u8;
            if let Some(account) = read_account(&bytes) {
                assert_eq!(read_account(&account_bytes(&account)), Some(account));
            }
        }
    }

    #[test]
    fn an_answer_has_the_questions_number_and_a_wall_clock_between_two_readings() {
        let answer = answer_now(&[9; QUESTION_BYTES]);
        assert_eq!(answer[..NUMBER_BYTES], [9; NUMBER_BYTES]);
        assert!(number(&answer, 8) <= number(&answer, 24) && number(&answer, 16) > 1 << 60);
    }
}
