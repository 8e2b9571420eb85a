//! What the kernel and the driver do for packets: offloads and filters, by the kernel's own names, or ethtool's short ones.
//!
//! A feature is wanted or not, and active or not: one that needs another (segmentation needs scatter-gather) is wanted all the while. What is
//! read and written is what is wanted, so that features that went off with another come back with it.

use super::Failure;
use super::words::{Pairs, flag, parse_flag};
use plumb_observe::ethtool::{Command, Names, call, names};
use std::io;

/// ethtool's short names, with the start and the end of the kernel's names that they stand for (ethtool(8), `-K`).
const SHORT: [(&str, &str, &str); 9] = [
    ("rx", "rx-checksum", ""),
    ("tx", "tx-checksum-", ""),
    ("sg", "tx-scatter-gather", ""),
    ("tso", "tx-tcp", "-segmentation"),
    ("gso", "tx-generic-segmentation", ""),
    ("gro", "rx-gro", "rx-gro"),
    ("lro", "rx-lro", ""),
    ("ntuple", "rx-ntuple-filter", ""),
    ("rxhash", "rx-hashing", ""),
];

/// A feature of an interface.
struct Feature {
    name: String,
    is_changeable: bool,
    is_wanted: bool,
    is_active: bool,
}

/// Those that may be changed: on where they are wanted.
pub(super) fn read(interface: &str) -> io::Result<Pairs> {
    Ok(changeable(&features(interface)?, |feature| feature.is_wanted))
}

/// Those that may be changed: on where they are active.
pub(super) fn active(interface: &str) -> io::Result<Pairs> {
    Ok(changeable(&features(interface)?, |feature| feature.is_active))
}

fn changeable(features: &[Feature], is_on: impl Fn(&Feature) -> bool) -> Pairs {
    let mut pairs = Pairs::default();
    for feature in features.iter().filter(|feature| feature.is_changeable) {
        pairs.set(&feature.name, flag(is_on(feature)));
    }
    pairs
}

/// The same with the kernel's names in place of short ones, each standing for those of its names that are there.
pub(super) fn spelled_out(value: &Pairs, there: &Pairs) -> Pairs {
    let mut out = Pairs::default();
    for (key, value) in value.iter() {
        let stands_for: Vec<&str> =
            there.iter().map(|(name, _)| name).filter(|name| is_short_for(key, name)).collect();
        for name in &stands_for {
            out.set(name, value);
        }
        if stands_for.is_empty() {
            out.set(key, value);
        }
    }
    out
}

fn is_short_for(short: &str, name: &str) -> bool {
    SHORT.iter().any(|(own, start, end)| *own == short && name.starts_with(start) && name.ends_with(end))
}

/// Refuses a value that is neither on nor off.
pub(super) fn check(pairs: &Pairs) -> Result<(), Failure> {
    pairs.iter().try_for_each(|(key, value)| parse_flag(key, value).map(drop))
}

/// Why a feature that is not among those that may be changed is not: fixed, or not there at all.
pub(super) fn why_not(interface: &str, key: &str) -> Failure {
    let features = match features(interface) {
        Ok(features) => features,
        Err(error) => return error.into(),
    };
    let fixed: Vec<String> = features
        .iter()
        .filter(|feature| feature.name == key || is_short_for(key, &feature.name))
        .map(|feature| format!("{} is fixed {}", feature.name, flag(feature.is_active)))
        .collect();
    match fixed.is_empty() {
        true => Failure::Words(format!("there is no feature {key}")),
        false => Failure::Fixed(format!("of {interface}, {}", fixed.join(", "))),
    }
}

/// Makes features wanted, or not.
pub(super) fn write(interface: &str, pairs: &Pairs) -> Result<(), Failure> {
    let features = features(interface)?;
    // cmd and number of blocks, then for each block of 32 which are told, and what.
    let blocks = features.len().div_ceil(32);
    let mut words = vec![0u32; 2 + 2 * blocks];
    words[1] = blocks as u32;
    for (at, feature) in features.iter().enumerate() {
        let Some(value) = pairs.get(&feature.name) else { continue };
        let is_wanted = parse_flag(&feature.name, value)?;
        if is_wanted != feature.is_wanted {
            words[2 + at / 32 * 2] |= 1 << (at % 32);
            words[3 + at / 32 * 2] |= u32::from(is_wanted) << (at % 32);
        }
    }
    if words[2..].iter().any(|word| *word != 0) {
        // What it returns tells of features that are wanted now and not active, which `effective` reads.
        call(interface, Command::SetFeatures, &mut words)?;
    }
    Ok(())
}

/// All features that have a name, by their bits.
fn features(interface: &str) -> io::Result<Vec<Feature>> {
    let names = names(interface, Names::Features)?;
    // cmd and number of blocks, then for each block of 32: available, requested, active, never changed.
    let blocks = names.len().div_ceil(32);
    let mut words = vec![0u32; 2 + 4 * blocks];
    words[1] = blocks as u32;
    call(interface, Command::GetFeatures, &mut words)?;
    let is_set = |at: usize, part: usize| words[2 + at / 32 * 4 + part] >> (at % 32) & 1 == 1;
    let feature = |(at, name): (usize, String)| Feature {
        is_changeable: !name.is_empty() && is_set(at, 0) && !is_set(at, 3),
        is_wanted: is_set(at, 1),
        is_active: is_set(at, 2),
        name,
    };
    Ok(names.into_iter().enumerate().map(feature).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_stands_for_all_of_its_features_that_are_there() {
        let there = Pairs::parse(
            "tx-scatter-gather on tx-tcp-segmentation on tx-tcp6-segmentation off rx-gro on rx-gro-list off",
        )
        .unwrap();
        let spelled = |text: &str| spelled_out(&Pairs::parse(text).unwrap(), &there).text();
        assert_eq!(spelled("tso off"), "tx-tcp-segmentation off tx-tcp6-segmentation off");
        assert_eq!(spelled("gro off"), "rx-gro off");
        assert_eq!(spelled("rx-gro-list on sg off"), "rx-gro-list on tx-scatter-gather off");
        assert_eq!(spelled("lro off"), "lro off");
    }
}
