//! The messages that arrived: exact loss, duplicates and order. With one consumer the memory does not grow with a healthy run;
//! with several, each sees a part of the sequences only, and a million messages take it 125 KB.

mod state;

use serde::{Deserialize, Serialize};
use state::SetState;
use std::collections::BTreeMap;
use std::ops::Range;

const PAGE_BITS: u64 = 1 << 15;
const PAGE_WORDS: usize = (PAGE_BITS / 64) as usize;

/// A set of sequence numbers. Full pages below and between are a marker only, so that a run in which everything arrives
/// needs a page or two however long it is.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(into = "SetState", try_from = "SetState")]
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
    /// Adds the numbers from `first` on, `count` of them; returns how many were there already.
    pub(crate) fn insert_run(&mut self, first: u64, count: u64) -> u64 {
        let (mut at, end, before) = (first, first + count, self.len);
        while at < end {
            let page = at / PAGE_BITS;
            let page_end = end.min((page + 1) * PAGE_BITS);
            self.insert_within(page, (at % PAGE_BITS) as usize, (page_end - at) as usize);
            at = page_end;
        }
        count - (self.len - before)
    }

    /// Adds a run that lies within one page.
    fn insert_within(&mut self, at: u64, first_bit: usize, count: usize) {
        if at < self.full_below {
            return;
        }
        let page =
            self.pages.entry(at).or_insert_with(|| Page::Part { words: Box::new([0; PAGE_WORDS]), set: 0 });
        let Page::Part { words, set } = page else { return };
        let (mut bit, end) = (first_bit, first_bit + count);
        let mut added = 0;
        while bit < end {
            let in_word = (64 - bit % 64).min(end - bit);
            let mask = (u64::MAX >> (64 - in_word)) << (bit % 64);
            let word = &mut words[bit / 64];
            added += u64::from((mask & !*word).count_ones());
            *word |= mask;
            bit += in_word;
        }
        *set += added;
        self.len += added;
        if *set == PAGE_BITS {
            *page = Page::Full;
            self.advance();
        }
    }

    fn advance(&mut self) {
        while matches!(self.pages.get(&self.full_below), Some(Page::Full)) {
            self.pages.remove(&self.full_below);
            self.full_below += 1;
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The number of members of the set below a number.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let full = end.min(self.full_below * PAGE_BITS);
        let pages = self.pages.range(..end.div_ceil(PAGE_BITS));
        full + pages.map(|(at, page)| page.below(end - at * PAGE_BITS)).sum::<u64>()
    }

    /// The number of members of the set in a range.
    pub(crate) fn within(&self, range: &Range<u64>) -> u64 {
        self.below(range.end).saturating_sub(self.below(range.start))
    }

    /// Numbers of the set that are not in the other.
    pub(crate) fn missing_from(&self, other: &SequenceSet) -> u64 {
        self.beyond(other, &(0..u64::MAX))
    }

    /// Numbers of the set in a range that are not in the other.
    pub(crate) fn beyond(&self, other: &SequenceSet, range: &Range<u64>) -> u64 {
        let (first, last) = (range.start / PAGE_BITS, range.end.div_ceil(PAGE_BITS));
        let below = (first..last.min(self.full_below)).map(|at| (at, &Page::Full));
        let above = self.pages.range(first.min(last)..last).map(|(at, page)| (*at, page));
        let bits = |at: u64| {
            let (start, end) = (range.start.saturating_sub(at * PAGE_BITS), range.end - at * PAGE_BITS);
            start..end.min(PAGE_BITS)
        };
        below.chain(above).map(|(at, page)| page.minus(other.page(at), &bits(at))).sum()
    }

    fn page(&self, at: u64) -> Option<&Page> {
        if at < self.full_below { Some(&Page::Full) } else { self.pages.get(&at) }
    }

    /// Adds all numbers of the other, page by page; returns how many were there already.
    pub(crate) fn absorb(&mut self, other: &SequenceSet) -> u64 {
        let before = self.len;
        for at in 0..other.full_below {
            self.insert_within(at, 0, PAGE_BITS as usize);
        }
        for (at, page) in &other.pages {
            match page {
                Page::Full => self.insert_within(*at, 0, PAGE_BITS as usize),
                Page::Part { words, .. } => self.absorb_part(*at, words),
            }
        }
        other.len - (self.len - before)
    }

    /// Adds the numbers of a page that is not full.
    fn absorb_part(&mut self, at: u64, theirs: &[u64; PAGE_WORDS]) {
        if at < self.full_below {
            return;
        }
        let page =
            self.pages.entry(at).or_insert_with(|| Page::Part { words: Box::new([0; PAGE_WORDS]), set: 0 });
        let Page::Part { words, set } = page else { return };
        let before = *set;
        words.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
        *set = words.iter().map(|word| u64::from(word.count_ones())).sum();
        self.len += *set - before;
        if *set == PAGE_BITS {
            *page = Page::Full;
            self.advance();
        }
    }
}

impl Page {
    /// The number of members of this page below a place in it, or behind it.
    fn below(&self, end: u64) -> u64 {
        match self {
            Page::Full => end.min(PAGE_BITS),
            Page::Part { set, .. } if end >= PAGE_BITS => *set,
            Page::Part { words, .. } => {
                let (whole, rest) = ((end / 64) as usize, end % 64);
                let in_whole: u64 = words[..whole].iter().map(|word| u64::from(word.count_ones())).sum();
                in_whole + u64::from((words[whole] & ((1u64 << rest) - 1)).count_ones())
            }
        }
    }

    /// The number of members in a part of this page that are not in the other.
    fn minus(&self, other: Option<&Page>, bits: &Range<u64>) -> u64 {
        if matches!(other, Some(Page::Full)) {
            return 0;
        }
        let words = bits.start / 64..bits.end.div_ceil(64);
        let within = |at: u64| {
            let (start, end) = (bits.start.saturating_sub(at * 64), (bits.end - at * 64).min(64));
            (u64::MAX << start) & (u64::MAX >> (64 - end))
        };
        let theirs = |at| other.map_or(0, |page| page.word(at));
        words.map(|at| u64::from((self.word(at) & !theirs(at) & within(at)).count_ones())).sum()
    }

    fn word(&self, at: u64) -> u64 {
        match self {
            Page::Full => u64::MAX,
            Page::Part { words, .. } => words[at as usize],
        }
    }
}

/// A set whose numbers mostly come one after the other: a run goes into it as one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunningSet {
    set: SequenceSet,
    first: u64,
    count: u64,
    repeated: u64,
}

impl RunningSet {
    /// Adds a number.
    #[inline]
    pub(crate) fn note(&mut self, number: u64) {
        self.note_run(number, 1);
    }

    /// Adds the numbers from `first` on, `count` of them.
    #[inline]
    pub(crate) fn note_run(&mut self, first: u64, count: u64) {
        if self.count > 0 && self.first + self.count == first {
            self.count += count;
        } else {
            self.end_run();
            (self.first, self.count) = (first, count);
        }
    }

    /// Puts the run that was noted into the set.
    pub(crate) fn end_run(&mut self) {
        if self.count > 0 {
            self.repeated += self.set.insert_run(self.first, self.count);
            self.count = 0;
        }
    }

    /// Takes all numbers of another in, those that were repeated there too.
    pub(crate) fn take_in(&mut self, mut other: RunningSet) {
        self.end_run();
        other.end_run();
        self.repeated += other.repeated;
        if self.set.len() == 0 {
            self.set = other.set;
        } else {
            self.repeated += self.set.absorb(&other.set);
        }
    }

    /// Numbers that were added and had been there already; the last run must have ended.
    pub(crate) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The set, with the last run.
    pub(crate) fn into_set(mut self) -> SequenceSet {
        self.end_run();
        self.set
    }

    /// The set; the last run must have ended.
    pub(crate) fn set(&self) -> &SequenceSet {
        &self.set
    }
}

/// The measured messages that one consumer received.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Arrivals {
    /// The numbers received, by producer.
    received: Vec<SequenceSet>,
    /// Highest sequence so far, by producer and partition.
    highest: Vec<Vec<Option<u64>>>,
    /// The run of sequences that goes on: records mostly follow one another, and a run is noted as one.
    run: Run,
    duplicated: u64,
    reordered: u64,
}

/// Sequences of one producer that came one after the other in a partition.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct Run {
    producer: u16,
    partition: i32,
    first: u64,
    count: u64,
}

impl Arrivals {
    /// Notes an arrival.
    #[inline]
    pub(crate) fn note(&mut self, producer: u16, partition: i32, sequence: u64) {
        let run = &mut self.run;
        if run.count > 0
            && run.producer == producer
            && run.partition == partition
            && run.first + run.count == sequence
        {
            run.count += 1;
        } else {
            self.end_run();
            self.run = Run { producer, partition, first: sequence, count: 1 };
        }
    }

    /// Notes an arrival at once; true when it is the first of this message.
    pub(crate) fn note_first(&mut self, producer: u16, partition: i32, sequence: u64) -> bool {
        self.end_run();
        let duplicated = self.duplicated;
        self.run = Run { producer, partition, first: sequence, count: 1 };
        self.end_run();
        self.duplicated == duplicated
    }

    /// Puts the runs that were noted into the sets.
    pub(crate) fn end_run(&mut self) {
        let Run { producer, partition, first, count } = std::mem::take(&mut self.run);
        if count == 0 {
            return;
        }
        let known = element(&mut self.received, usize::from(producer)).insert_run(first, count);
        self.duplicated += known;
        if known == count {
            return;
        }
        let by_partition = element(&mut self.highest, usize::from(producer));
        let highest = element(by_partition, usize::try_from(partition).unwrap_or(0));
        let last = first + count - 1;
        match highest {
            // Only what came before the highest so far is out of order, and a repeat is no reordering.
            Some(highest) if first <= *highest => {
                self.reordered += ((*highest).min(last) + 1 - first).saturating_sub(known);
                *highest = (*highest).max(last);
            }
            highest => *highest = Some(last),
        }
    }

    /// Adds what another consumer of the group received.
    pub(crate) fn absorb(&mut self, other: &mut Arrivals) {
        self.end_run();
        other.end_run();
        for (producer, set) in other.received.iter().enumerate() {
            self.duplicated += element(&mut self.received, producer).absorb(set);
        }
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
    }

    /// Distinct messages; the last run must have ended.
    pub(crate) fn distinct(&self) -> u64 {
        self.received.iter().map(SequenceSet::len).sum()
    }

    /// Receptions beyond the first of a message.
    pub(crate) fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// Messages received after a later one of the same producer and partition.
    pub(crate) fn reordered(&self) -> u64 {
        self.reordered
    }

    /// The messages received of one producer.
    pub(crate) fn of_producer(&self, producer: u16) -> Option<&SequenceSet> {
        self.received.get(usize::from(producer))
    }
}

/// The element at a place, made with all before it when it is not there yet.
fn element<T: Default>(elements: &mut Vec<T>, at: usize) -> &mut T {
    if elements.len() <= at {
        elements.resize_with(at + 1, T::default);
    }
    &mut elements[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Adds a number; false when it was there already.
    fn insert(set: &mut SequenceSet, number: u64) -> bool {
        set.insert_run(number, 1) == 0
    }

    #[test]
    fn a_long_run_in_which_all_arrives_needs_one_page() {
        let mut set = SequenceSet::default();
        for number in 0..1_000_000 {
            assert!(insert(&mut set, number));
        }
        assert!(set.pages.len() <= 1);
        assert_eq!(set.len(), 1_000_000);
        assert!(!insert(&mut set, 17));
    }

    #[test]
    fn numbers_below_a_place_are_counted_in_full_pages_and_in_parts_of_them() {
        let mut set = SequenceSet::default();
        let (first, last) = (3, 2 * PAGE_BITS + 70);
        set.insert_run(first, last - first);
        for end in [0, 3, 4, 64, PAGE_BITS - 1, PAGE_BITS, PAGE_BITS + 1, 2 * PAGE_BITS, last, last + 1] {
            assert_eq!(set.below(end), end.min(last).saturating_sub(first), "{end}");
        }
        set.insert_run(0, 3);
        assert_eq!((set.below(2 * PAGE_BITS), set.below(last + PAGE_BITS)), (2 * PAGE_BITS, last));
    }

    #[test]
    fn a_swap_is_one_reordering_and_a_repeat_one_duplicate() {
        let mut arrivals = Arrivals::default();
        for sequence in [0, 2, 1, 3, 3] {
            arrivals.note(0, 0, sequence);
        }
        arrivals.end_run();
        assert_eq!((arrivals.reordered, arrivals.duplicated, arrivals.distinct()), (1, 1, 4));
    }

    #[test]
    fn order_is_judged_within_a_partition_and_producer() {
        let mut arrivals = Arrivals::default();
        arrivals.note(0, 0, 5);
        arrivals.note(0, 1, 3);
        arrivals.note(1, 0, 1);
        arrivals.end_run();
        assert_eq!(arrivals.reordered, 0);
    }

    #[test]
    fn a_message_seen_by_two_consumers_is_a_duplicate() {
        let (mut first, mut second) = (Arrivals::default(), Arrivals::default());
        first.note(0, 0, 1);
        second.note(0, 0, 1);
        second.note(0, 0, 2);
        first.absorb(&mut second);
        assert_eq!((first.distinct(), first.duplicated), (2, 1));
    }

    proptest! {
        #[test]
        fn runs_are_counted_as_their_records_one_by_one(
            parts in proptest::collection::vec((0u64..400, 1u64..80), 1..20),
        ) {
            let mut arrivals = Arrivals::default();
            let (mut seen, mut highest) = (BTreeSet::new(), None);
            let (mut duplicated, mut reordered) = (0, 0);
            for (first, count) in parts {
                for sequence in first..first + count {
                    arrivals.note(3, 1, sequence);
                    if !seen.insert(sequence) {
                        duplicated += 1;
                    } else if highest.is_some_and(|highest| sequence < highest) {
                        reordered += 1;
                    }
                    highest = highest.max(Some(sequence));
                }
            }
            arrivals.end_run();
            prop_assert_eq!(arrivals.distinct(), seen.len() as u64);
            prop_assert_eq!(arrivals.duplicated(), duplicated);
            prop_assert_eq!(arrivals.reordered(), reordered);
        }

        #[test]
        fn a_run_is_added_as_its_numbers(runs in proptest::collection::vec((0u64..100_000, 1u64..40_000), 1..6)) {
            let (mut by_run, mut plain) = (SequenceSet::default(), vec![false; 140_000]);
            for (first, count) in runs {
                let numbers = &mut plain[first as usize..(first + count) as usize];
                let known = numbers.iter().filter(|there| **there).count() as u64;
                numbers.fill(true);
                prop_assert_eq!(by_run.insert_run(first, count), known);
                prop_assert_eq!(by_run.len(), plain.iter().filter(|there| **there).count() as u64);
            }
            let mut one_by_one = SequenceSet::default();
            let there = plain.iter().enumerate().filter(|(_, there)| **there);
            there.for_each(|(number, _)| { insert(&mut one_by_one, number as u64); });
            prop_assert_eq!(by_run.missing_from(&one_by_one) + one_by_one.missing_from(&by_run), 0);
            let nothing = SequenceSet::default();
            for range in [0..10, 64..40_000, PAGE_BITS..2 * PAGE_BITS, 100..120_000] {
                prop_assert_eq!(by_run.beyond(&nothing, &range), by_run.within(&range));
            }
        }

        #[test]
        fn sets_of_long_runs_are_put_together_as_their_numbers(
            mine in proptest::collection::vec((0u64..150_000, 1u64..70_000), 0..4),
            theirs in proptest::collection::vec((0u64..150_000, 1u64..70_000), 0..4),
        ) {
            let of = |runs: &[(u64, u64)]| {
                let mut set = SequenceSet::default();
                runs.iter().for_each(|(first, count)| { set.insert_run(*first, *count); });
                set
            };
            let (mut all, other) = (of(&mine), of(&theirs));
            let known = other.len() - other.missing_from(&all);
            let together = of(&[mine, theirs].concat());
            prop_assert_eq!(all.absorb(&other), known);
            prop_assert_eq!(all.len(), together.len());
            prop_assert_eq!(all.missing_from(&together) + together.missing_from(&all), 0);
            prop_assert_eq!((all.full_below, all.pages.len()), (together.full_below, together.pages.len()));
        }

        #[test]
        fn it_holds_what_a_plain_set_holds(
            a in proptest::collection::vec(0u64..100_000, 0..300),
            b in proptest::collection::vec(0u64..100_000, 0..300),
        ) {
            let (mut set_a, mut set_b) = (SequenceSet::default(), SequenceSet::default());
            let plain_a: BTreeSet<u64> = a.iter().copied().collect();
            let plain_b: BTreeSet<u64> = b.iter().copied().collect();
            a.iter().for_each(|n| { insert(&mut set_a, *n); });
            b.iter().for_each(|n| { insert(&mut set_b, *n); });
            prop_assert_eq!(set_a.len(), plain_a.len() as u64);
            prop_assert_eq!(set_a.missing_from(&set_b), plain_a.difference(&plain_b).count() as u64);
            let apart: Vec<u64> = plain_a.difference(&plain_b).copied().collect();
            for range in [0..64, 63..65, 70..70, 1_000..PAGE_BITS, PAGE_BITS - 1..PAGE_BITS + 1, 5..90_001] {
                let expected = apart.iter().filter(|number| range.contains(number)).count() as u64;
                prop_assert_eq!(set_a.beyond(&set_b, &range), expected);
                let expected = plain_a.iter().filter(|number| range.contains(number)).count() as u64;
                prop_assert_eq!(set_a.within(&range), expected);
            }
            prop_assert_eq!(set_a.absorb(&set_b), plain_a.intersection(&plain_b).count() as u64);
            prop_assert_eq!(set_a.len(), plain_a.union(&plain_b).count() as u64);
        }
    }
}
