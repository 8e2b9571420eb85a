//! Which messages arrived: exact loss, duplicates and order. With one consumer the memory does not grow with a healthy
//! run; with several, each sees a part of the sequences only, and a million messages take it 125 KB.

use std::collections::{BTreeMap, HashMap};

const PAGE_BITS: u64 = 1 << 15;
const PAGE_WORDS: usize = (PAGE_BITS / 64) as usize;

/// A set of sequence numbers. Full pages below and between are a marker only, so that a run in which everything arrives
/// needs a page or two however long it is.
#[derive(Debug, Default, Clone)]
pub(crate) struct SequenceSet {
    pages: BTreeMap<u64, Page>,
    /// All pages below this one are full.
    full_below: u64,
    len: u64,
}

#[derive(Debug, Clone)]
enum Page {
    Full,
    Part { words: Box<[u64; PAGE_WORDS]>, set: u64 },
}

impl SequenceSet {
    /// Adds a number; false when it was there already.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let (at, bit) = (number / PAGE_BITS, number % PAGE_BITS);
        if at < self.full_below {
            return false;
        }
        let page =
            self.pages.entry(at).or_insert_with(|| Page::Part { words: Box::new([0; PAGE_WORDS]), set: 0 });
        let Page::Part { words, set } = page else { return false };
        let word = &mut words[(bit / 64) as usize];
        let mask = 1u64 << (bit % 64);
        if *word & mask != 0 {
            return false;
        }
        *word |= mask;
        *set += 1;
        self.len += 1;
        if *set == PAGE_BITS {
            *page = Page::Full;
            self.advance();
        }
        true
    }

    fn advance(&mut self) {
        while matches!(self.pages.get(&self.full_below), Some(Page::Full)) {
            self.pages.remove(&self.full_below);
            self.full_below += 1;
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let (at, bit) = (number / PAGE_BITS, number % PAGE_BITS);
        at < self.full_below
            || match self.pages.get(&at) {
                None => false,
                Some(Page::Full) => true,
                Some(Page::Part { words, .. }) => words[(bit / 64) as usize] & (1 << (bit % 64)) != 0,
            }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Numbers of the set that are not in the other.
    pub(crate) fn missing_from(&self, other: &SequenceSet) -> u64 {
        self.numbers().filter(|number| !other.contains(*number)).count() as u64
    }

    /// Adds all numbers of the other; returns how many were there already.
    pub(crate) fn absorb(&mut self, other: &SequenceSet) -> u64 {
        other.numbers().filter(|number| !self.insert(*number)).count() as u64
    }

    fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let below = 0..self.full_below * PAGE_BITS;
        let above = self.pages.iter().flat_map(|(at, page)| {
            let numbers = at * PAGE_BITS..(at + 1) * PAGE_BITS;
            numbers.filter(move |number| match page {
                Page::Full => true,
                Page::Part { words, .. } => {
                    let bit = number % PAGE_BITS;
                    words[(bit / 64) as usize] & (1 << (bit % 64)) != 0
                }
            })
        });
        below.chain(above)
    }
}

/// What one consumer received of the measured part.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// By producer.
    pub(crate) received: HashMap<u16, SequenceSet>,
    /// Highest sequence so far, by producer and partition.
    highest: HashMap<(u16, i32), u64>,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
}

impl Arrivals {
    /// Notes an arrival; true when it is the first of this message.
    pub(crate) fn note(&mut self, producer: u16, partition: i32, sequence: u64) -> bool {
        if !self.received.entry(producer).or_default().insert(sequence) {
            self.duplicated += 1;
            return false;
        }
        let highest = self.highest.entry((producer, partition)).or_insert(sequence);
        if sequence < *highest {
            self.reordered += 1;
        } else {
            *highest = sequence;
        }
        true
    }

    /// Adds what another consumer of the group received.
    pub(crate) fn absorb(&mut self, other: &Arrivals) {
        for (producer, set) in &other.received {
            self.duplicated += self.received.entry(*producer).or_default().absorb(set);
        }
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
    }

    /// Distinct messages.
    pub(crate) fn distinct(&self) -> u64 {
        self.received.values().map(SequenceSet::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_long_run_in_which_all_arrives_needs_one_page() {
        let mut set = SequenceSet::default();
        for number in 0..1_000_000 {
            assert!(set.insert(number));
        }
        assert!(set.pages.len() <= 1);
        assert_eq!(set.len(), 1_000_000);
        assert!(!set.insert(17));
    }

    #[test]
    fn a_swap_is_one_reordering_and_a_repeat_one_duplicate() {
        let mut arrivals = Arrivals::default();
        for sequence in [0, 2, 1, 3, 3] {
            arrivals.note(0, 0, sequence);
        }
        assert_eq!((arrivals.reordered, arrivals.duplicated, arrivals.distinct()), (1, 1, 4));
    }

    #[test]
    fn order_is_judged_within_a_partition_and_producer() {
        let mut arrivals = Arrivals::default();
        arrivals.note(0, 0, 5);
        arrivals.note(0, 1, 3);
        arrivals.note(1, 0, 1);
        assert_eq!(arrivals.reordered, 0);
    }

    #[test]
    fn a_message_seen_by_two_consumers_is_a_duplicate() {
        let (mut first, mut second) = (Arrivals::default(), Arrivals::default());
        first.note(0, 0, 1);
        second.note(0, 0, 1);
        second.note(0, 0, 2);
        first.absorb(&second);
        assert_eq!((first.distinct(), first.duplicated), (2, 1));
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_set_holds(
            a in proptest::collection::vec(0u64..100_000, 0..300),
            b in proptest::collection::vec(0u64..100_000, 0..300),
        ) {
            let (mut set_a, mut set_b) = (SequenceSet::default(), SequenceSet::default());
            let plain_a: BTreeSet<u64> = a.iter().copied().collect();
            let plain_b: BTreeSet<u64> = b.iter().copied().collect();
            a.iter().for_each(|n| { set_a.insert(*n); });
            b.iter().for_each(|n| { set_b.insert(*n); });
            prop_assert_eq!(set_a.len(), plain_a.len() as u64);
            prop_assert_eq!(set_a.missing_from(&set_b), plain_a.difference(&plain_b).count() as u64);
            prop_assert_eq!(set_a.absorb(&set_b), plain_a.intersection(&plain_b).count() as u64);
            prop_assert_eq!(set_a.len(), plain_a.union(&plain_b).count() as u64);
        }
    }
}
