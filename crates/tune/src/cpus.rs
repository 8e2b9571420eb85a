//! Sets of processors in the kernel's two notations: lists (`0-3,8`) and masks (`ff,00000001`).

use std::collections::BTreeSet;

/// More processors than any kernel is built for (`NR_CPUS` is at most 8192).
const CPUS_MAX: u32 = 8192;

/// The processors of a list; none where it is none, or reaches beyond what there can be.
pub(crate) fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(BTreeSet::new());
    }
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// A set as the kernel lists it: `0-3,8`.
pub(crate) fn list(cpus: &BTreeSet<u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let part = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// The processors of a mask: groups of eight hexadecimal digits, the highest first.
pub(crate) fn parse_mask(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for (group, digits) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits.trim(), 16).ok()?;
        let first = u32::try_from(group).ok()?.checked_mul(32).filter(|first| *first < CPUS_MAX)?;
        cpus.extend((0..32).filter(|bit| bits & (1 << bit) != 0).map(|bit| first + bit));
    }
    Some(cpus)
}

/// A set as a mask, with as many groups as it needs.
pub(crate) fn mask(cpus: &BTreeSet<u32>) -> String {
    let groups = cpus.last().map_or(0, |last| last / 32);
    let group = |group: u32| {
        let bits =
            cpus.iter().filter(|cpu| **cpu / 32 == group).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
        if group == groups { format!("{bits:x}") } else { format!("{bits:08x}") }
    };
    (0..=groups).rev().map(group).collect::<Vec<_>>().join(",")
}

/// A list in one form; text that is no list stays.
pub(crate) fn canonical(text: &str) -> String {
    parse_list(text).map_or_else(|| text.trim().to_owned(), |cpus| list(&cpus))
}

/// A mask in one form; text that is no mask stays.
pub(crate) fn canonical_mask(text: &str) -> String {
    parse_mask(text).map_or_else(|| text.trim().to_owned(), |cpus| mask(&cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_set_in_two_spellings_is_the_same() {
        assert_eq!(canonical("0,1,2,3,8"), "0-3,8");
        assert_eq!(canonical_mask("00000000,0000000f"), "f");
        assert_eq!(canonical_mask("1,00000000"), "1,00000000");
        assert_eq!(parse_mask("1,00000000").unwrap(), [32].into());
        assert_eq!(list(&parse_list("").unwrap()), "");
    }

    #[test]
    fn what_is_no_set_is_none() {
        for text in ["x", "3-1", "0-99999999", "1-2-3", "-1"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
        assert_eq!(parse_mask("fffffffff"), None);
    }

    proptest! {
        #[test]
        fn a_set_reads_back_from_both_notations(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            prop_assert_eq!(parse_list(&list(&cpus)), Some(cpus.clone()));
            prop_assert_eq!(parse_mask(&mask(&cpus)), Some(cpus));
        }
    }
}
