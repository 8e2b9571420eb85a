//! Draws the key of each record.

use crate::random::Random;
use plumb_model::plan::Keys;

/// Bytes of a key: eight digits behind a letter, so that keys sort and read well.
pub(crate) const KEY_BYTES: usize = 9;

/// The key of probes, where messages have keys.
const PROBE_KEY: &[u8; KEY_BYTES] = b"probe-key";

/// A source of keys.
#[derive(Debug)]
pub struct KeySource {
    keys: Keys,
    random: Random,
    next: u32,
    /// Cumulative likelihood, for Zipf only.
    cumulative: Vec<f64>,
    text: [u8; KEY_BYTES],
    drawn: bool,
}

impl KeySource {
    /// Keys as planned, from a stream of their own.
    pub(crate) fn new(keys: Keys, random: Random) -> Self {
        let cumulative = match keys {
            Keys::Zipf { count, exponent } => zipf(count, exponent),
            _ => Vec::new(),
        };
        KeySource { keys, random, next: 0, cumulative, text: [b'k'; KEY_BYTES], drawn: false }
    }

    /// Takes a key that no message has, where messages have keys: a probe must be like them (a compacted topic refuses
    /// records without a key), and must not be one of them.
    pub(crate) fn draw_probe(&mut self) {
        if self.keys != Keys::None {
            self.text = *PROBE_KEY;
            self.drawn = true;
        }
    }

    /// Goes on to the next key.
    pub(crate) fn draw(&mut self) {
        let key = match self.keys {
            Keys::None => return,
            Keys::RoundRobin { count } => {
                let key = self.next;
                self.next = (self.next + 1) % count;
                key
            }
            Keys::Uniform { count } => self.random.below(count as usize) as u32,
            Keys::Zipf { .. } => {
                let at = self.random.unit();
                self.cumulative.partition_point(|likelihood| *likelihood <= at) as u32
            }
        };
        self.drawn = true;
        self.text[0] = b'k';
        let mut rest = key;
        for digit in self.text[1..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    /// The key drawn last, if there are keys.
    pub(crate) fn current(&self) -> Option<&[u8]> {
        self.drawn.then_some(&self.text[..])
    }
}

fn zipf(count: u32, exponent: f64) -> Vec<f64> {
    let weights = (1..=count).map(|k| f64::from(k).powf(-exponent));
    let total: f64 = weights.clone().sum();
    let mut sum = 0.0;
    let mut cumulative: Vec<f64> = weights
        .map(|weight| {
            sum += weight / total;
            sum
        })
        .collect();
    // Rounding must not leave a gap at the end.
    if let Some(last) = cumulative.last_mut() {
        *last = 1.0;
    }
    cumulative
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn drawn(keys: Keys, n: usize) -> HashMap<Vec<u8>, usize> {
        let mut source = KeySource::new(keys, Random::new(3));
        let mut seen = HashMap::new();
        for _ in 0..n {
            source.draw();
            *seen.entry(source.current().unwrap().to_vec()).or_default() += 1;
        }
        seen
    }

    #[test]
    fn no_keys_are_no_keys() {
        let mut source = KeySource::new(Keys::None, Random::new(1));
        source.draw();
        assert_eq!(source.current(), None);
    }

    #[test]
    fn round_robin_uses_each_key_equally() {
        let seen = drawn(Keys::RoundRobin { count: 4 }, 100);
        assert_eq!(seen.len(), 4);
        assert!(seen.values().all(|n| *n == 25));
        assert!(seen.contains_key(&b"k00000003"[..]));
    }

    #[test]
    fn a_probes_key_is_no_messages_and_takes_no_turn() {
        let mut source = KeySource::new(Keys::RoundRobin { count: 4 }, Random::new(3));
        source.draw_probe();
        assert_eq!(source.current(), Some(&b"probe-key"[..]));
        source.draw();
        assert_eq!(source.current(), Some(&b"k00000000"[..]));
    }

    #[test]
    fn zipf_draws_the_first_key_as_often_as_its_share_of_the_harmonic_sum() {
        let seen = drawn(Keys::Zipf { count: 100, exponent: 1.0 }, 100_000);
        // 1 / H(100) = 1 / 5.18738
        let share = seen[&b"k00000000"[..]] as f64 / 1e5;
        assert!((share - 0.19278).abs() < 0.005, "{share}");
    }
}
