//! A walk over memory in which every load needs the one before: lines in one random circle, so that no prefetcher knows the next.

use plumb_model::random::Random;

/// A step of the walk goes to another line; 64 bytes on x86 and most of Arm.
pub(super) const LINE_BYTES: u64 = 64;
const LINE_WORDS: usize = LINE_BYTES as usize / size_of::<u64>();

/// Ties the lines of a working set into one circle through all of them, every circle equally likely.
pub(super) fn tie(words: &mut [u64], random: &mut Random) {
    let mut order: Vec<u32> = (0..(words.len() / LINE_WORDS) as u32).collect();
    random.shuffle(&mut order);
    for (place, line) in order.iter().enumerate() {
        let next = order[(place + 1) % order.len()];
        words[*line as usize * LINE_WORDS] = u64::from(next) * LINE_WORDS as u64;
    }
}

/// The index after so many steps from `at`.
pub(super) fn walk(words: &[u64], mut at: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        at = words[at as usize];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circle_goes_through_every_line_once_and_home() {
        let mut words = vec![0; 100 * LINE_WORDS];
        tie(&mut words, &mut Random::new(5));
        let mut seen: Vec<u64> = (0..100).map(|steps| walk(&words, 0, steps)).collect();
        assert_eq!(walk(&words, 0, 100), 0);
        seen.sort_unstable();
        assert_eq!(seen, (0..100).map(|line| line * LINE_WORDS as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_single_line_leads_to_itself() {
        let mut words = vec![7; LINE_WORDS];
        tie(&mut words, &mut Random::new(5));
        assert_eq!(walk(&words, 0, 3), 0);
    }
}
