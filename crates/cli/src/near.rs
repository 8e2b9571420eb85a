//! The known word that an unknown one probably means.

/// Least similarity (Jaro, 0..1) of a word to what is proposed for it: ours; a letter that is missing, doubled or exchanged stays above.
const SIMILAR: f64 = 0.85;
/// Most proposals.
const MOST: usize = 3;

/// The names that a word is a whole part of (`linger` of `linger.ms`), those that begin with it first; else those that it resembles, the
/// most alike first.
pub(crate) fn near<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let names: Vec<&str> = names.into_iter().collect();
    let has_part = |name: &&&str| name.split(['.', '-', '_']).any(|part| part == word);
    let mut found: Vec<&str> = names.iter().filter(has_part).copied().collect();
    found.sort_by_key(|name| !name.starts_with(&word));
    if found.is_empty() {
        let similarity = |name: &str| {
            let as_written = strsim::jaro(&word, name);
            as_written.max(strsim::jaro(&in_order(&word), &in_order(name)))
        };
        let mut alike: Vec<(f64, &str)> = names.iter().map(|name| (similarity(name), *name)).collect();
        alike.retain(|(similarity, _)| *similarity >= SIMILAR);
        alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        found = alike.into_iter().map(|(_, name)| name).collect();
    }
    found.truncate(MOST);
    found
}

/// The parts of a name in one order, whichever they were written in: `slow-consumer` is like `consumer-slow`.
fn in_order(name: &str) -> String {
    let mut parts: Vec<&str> = name.split(['.', '-', '_']).collect();
    parts.sort_unstable();
    parts.join("-")
}

/// `did you mean a, or b?`, or nothing.
pub(crate) fn question(found: &[&str]) -> Option<String> {
    (!found.is_empty()).then(|| format!("did you mean {}?", found.join(", or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["sticky.partitioning.linger.ms", "linger.ms", "fetch.wait.max.ms", "acks"];

    #[test]
    fn a_part_of_a_name_or_a_slip_of_the_hand_is_recognised() {
        assert_eq!(near("linger", NAMES), ["linger.ms", "sticky.partitioning.linger.ms"]);
        assert_eq!(near("lingr.ms", NAMES), ["linger.ms"]);
        assert_eq!(near("Linger.ms", NAMES), ["linger.ms"]);
        assert_eq!(near("fetch.wiat.max.ms", NAMES), ["fetch.wait.max.ms"]);
        assert_eq!(near("slow-consumer", ["consumer-slow", "slow-follower"]), ["consumer-slow"]);
    }

    #[test]
    fn what_resembles_nothing_is_given_nothing() {
        assert!(near("compression", NAMES).is_empty());
        assert_eq!(question(&near("", NAMES)), None);
    }
}
