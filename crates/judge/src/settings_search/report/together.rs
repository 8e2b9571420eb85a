//! Which settings the blocks of a search do not tell apart, because they changed together.
//!
//! The model divides what they do among them, and is as sure of each share as if it had been seen: so they are found by counting. A setting
//! is told apart where the blocks can be added and subtracted until a change of it alone is left: its column then adds to the rank of the
//! table of what changed where. Either of two tables will do: of whether a setting changed, where what several do is taken to add up, or of
//! the values that it had, which finds blocks that differ in one value alone.

use plumb_model::plan::Properties;
use plumb_model::search_report::{Together, TogetherIn};
use std::collections::{BTreeMap, BTreeSet};

/// Settings that changed apart in one block of so many, or in fewer, are not told apart by it (ours): one block is as much noise as effect.
const APART_LEAST: usize = 10;

/// What is smaller than this is zero, in a table of zeros and ones.
const ZERO: f64 = 1e-9;

/// The settings that are not told apart from others, by the blocks with figures: what each of them changed.
pub(super) fn together(blocks: &[&Properties]) -> BTreeMap<String, Together> {
    let table = Table { blocks };
    let changed: Vec<&str> = table.settings().into_iter().collect();
    let untold: Vec<&str> =
        changed.iter().copied().filter(|setting| !table.is_told_apart(&changed, setting)).collect();
    let found = changed.iter().filter_map(|setting| {
        let together = match untold.contains(setting) {
            true => table.alike(setting, &untold, &changed),
            false => table.nearly_alike(setting, &changed),
        };
        Some(((*setting).to_owned(), together?))
    });
    found.collect()
}

/// What changed in which block.
struct Table<'a> {
    blocks: &'a [&'a Properties],
}

impl<'a> Table<'a> {
    fn settings(&self) -> BTreeSet<&'a str> {
        self.blocks.iter().flat_map(|settings| settings.keys().map(String::as_str)).collect()
    }

    /// The blocks in which a setting changed, by their places.
    fn changes(&self, setting: &str) -> BTreeSet<usize> {
        (0..self.blocks.len()).filter(|at| self.blocks[*at].contains_key(setting)).collect()
    }

    fn values(&self, setting: &str) -> BTreeSet<&'a str> {
        self.blocks.iter().filter_map(|settings| settings.get(setting).map(String::as_str)).collect()
    }

    fn is_told_apart(&self, changed: &[&str], setting: &str) -> bool {
        let of_change = |name: &str| vec![self.column(name, None)];
        let of_values =
            |name: &str| self.values(name).into_iter().map(|value| self.column(name, Some(value))).collect();
        adds_to_the_rank(changed, setting, of_change) || adds_to_the_rank(changed, setting, of_values)
    }

    /// For each block 1 where the setting changed, to this value if one is given, else 0.
    fn column(&self, setting: &str, value: Option<&str>) -> Vec<f64> {
        let is_it = |of: &String| value.is_none_or(|value| value == of);
        let entry = |settings: &&Properties| f64::from(u8::from(settings.get(setting).is_some_and(is_it)));
        self.blocks.iter().map(entry).collect()
    }

    /// What a setting is not told apart from: what changed in the same blocks; else what changed in all of its own; else what changed in any
    /// of them. Of these those alone that are not told apart themselves, if there are any.
    fn alike(&self, setting: &str, untold: &[&str], changed: &[&str]) -> Option<Together> {
        let own = self.changes(setting);
        let find = |among: &[&str], is_alike: &dyn Fn(&BTreeSet<usize>) -> bool| -> Vec<String> {
            let others = among.iter().filter(|other| **other != setting);
            others.filter(|other| is_alike(&self.changes(other))).map(|other| (*other).to_owned()).collect()
        };
        for among in [untold, changed] {
            let same = find(among, &|other| *other == own);
            let in_all = find(among, &|other| other.is_superset(&own));
            let in_some = find(among, &|other| !other.is_disjoint(&own));
            for (with, blocks) in
                [(same, TogetherIn::Every), (in_all, TogetherIn::Every), (in_some, TogetherIn::Some)]
            {
                if !with.is_empty() {
                    return Some(Together { with, blocks });
                }
            }
        }
        None
    }

    /// Settings of one value each that changed together with this one in nearly every block that changed any of them.
    fn nearly_alike(&self, setting: &str, changed: &[&str]) -> Option<Together> {
        let own = self.changes(setting);
        let has_one_value = |name: &str| self.values(name).len() == 1;
        let is_nearly_alike = |other: &&&str| {
            let others = self.changes(other);
            let apart = own.symmetric_difference(&others).count();
            apart * APART_LEAST <= own.union(&others).count()
        };
        let others = changed.iter().filter(|other| **other != setting && has_one_value(other));
        let with: Vec<String> = others.filter(is_nearly_alike).map(|other| (*other).to_owned()).collect();
        (!with.is_empty() && has_one_value(setting))
            .then_some(Together { with, blocks: TogetherIn::NearlyEvery })
    }
}

/// True if the rank of the columns of all settings is higher than that without this one's.
fn adds_to_the_rank(settings: &[&str], setting: &str, columns: impl Fn(&str) -> Vec<Vec<f64>>) -> bool {
    let without = settings.iter().filter(|name| **name != setting).flat_map(|name| columns(name));
    let mut basis = Basis::default();
    without.for_each(|column| {
        basis.add(column);
    });
    columns(setting).into_iter().any(|column| basis.add(column))
}

/// Columns in echelon form: each has its first entry where no other has its own.
#[derive(Default)]
struct Basis {
    columns: Vec<(usize, Vec<f64>)>,
}

impl Basis {
    /// Adds a column; false where it is a sum of multiples of those that there are.
    fn add(&mut self, mut column: Vec<f64>) -> bool {
        for (pivot, known) in &self.columns {
            let times = column[*pivot] / known[*pivot];
            if times != 0.0 {
                column.iter_mut().zip(known).for_each(|(entry, known)| *entry -= times * known);
            }
        }
        let largest = (0..column.len()).max_by(|a, b| column[*a].abs().total_cmp(&column[*b].abs()));
        match largest.filter(|at| column[*at].abs() > ZERO) {
            Some(pivot) => {
                self.columns.push((pivot, column));
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks as `a=1 b=2`; an empty one is of the settings that there are.
    fn found(blocks: &[&str]) -> BTreeMap<String, Together> {
        let settings = |block: &&str| -> Properties {
            let pairs = block.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let all: Vec<Properties> = blocks.iter().map(settings).collect();
        together(&all.iter().collect::<Vec<_>>())
    }

    fn with(names: &[&str], blocks: TogetherIn) -> Together {
        Together { with: names.iter().map(|name| (*name).to_owned()).collect(), blocks }
    }

    #[test]
    fn what_a_preset_changes_together_is_not_told_apart_and_what_another_changes_alone_is() {
        let found = found(&["", "a=1 b=1 c=1", "c=1", "d=1", "a=1 b=1 c=1", ""]);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(found["a"], with(&["b"], TogetherIn::Every));
        assert_eq!(found["a"].sentence(), "changed together with b in every block");
        assert_eq!(found["b"], with(&["a"], TogetherIn::Every));
    }

    #[test]
    fn settings_of_which_each_preset_changes_some_are_not_told_apart_either() {
        let found = found(&["", "a=1 b=1", "b=1 c=1"]);
        assert_eq!(found["a"], with(&["b"], TogetherIn::Every));
        assert_eq!(found["b"], with(&["a", "c"], TogetherIn::Some));
        assert_eq!(found["b"].sentence(), "no blocks tell it apart from a, c");
    }

    #[test]
    fn blocks_that_differ_in_one_value_alone_tell_it_apart() {
        let found = found(&["", "a=1 b=1", "a=2 b=1"]);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["b"]);
        assert!(self::found(&["", "a=1 b=1", "a=2 b=2"]).contains_key("a"));
    }

    #[test]
    fn what_adds_up_is_told_apart_by_three_pairs() {
        assert!(found(&["", "a=1 b=1", "b=1 c=1", "a=1 c=1"]).is_empty());
    }

    #[test]
    fn one_block_in_ten_apart_tells_nothing_and_two_do() {
        let mut blocks = vec!["", "a=1"];
        blocks.extend(["a=1 b=1"; 9]);
        let nearly = found(&blocks);
        assert_eq!(nearly["a"], with(&["b"], TogetherIn::NearlyEvery));
        assert_eq!(nearly["a"].sentence(), "changed together with b in nearly every block");
        blocks.push("b=1");
        assert!(found(&blocks).is_empty());
        // Another value is another block apart.
        assert!(found(&[&blocks[..11], &["a=1 b=2"]].concat()).is_empty());
    }

    #[test]
    fn many_are_named_by_the_first_three_and_their_number() {
        let found = found(&["", "a=1 b=1 c=1 d=1 e=1"]);
        assert_eq!(found["a"].sentence(), "changed together with b, c, d and 1 more in every block");
    }
}
