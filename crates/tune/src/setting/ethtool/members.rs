//! Groups that the kernel keeps as a row of numbers: channels, rings, coalescing, pause frames.

use super::Failure;
use super::words::{Pairs, flag, parse_flag};
use plumb_observe::ethtool::{Command, call, coalesce_words};
use std::io;

/// A row of numbers that one command reads and another writes.
#[derive(Debug)]
pub(super) struct Row {
    get: Command,
    set: Command,
    members: &'static [Member],
}

/// A number of the row. Words count from the command, which is 0.
#[derive(Debug)]
struct Member {
    key: &'static str,
    at: usize,
    /// Where its maximum is, which is 0 of a member that the driver has not.
    max_at: Option<usize>,
    is_flag: bool,
}

const fn number(key: &'static str, at: usize) -> Member {
    Member { key, at, max_at: None, is_flag: false }
}

const fn bounded(key: &'static str, at: usize, max_at: usize) -> Member {
    Member { key, at, max_at: Some(max_at), is_flag: false }
}

const fn switch(key: &'static str, at: usize) -> Member {
    Member { key, at, max_at: None, is_flag: true }
}

/// `struct ethtool_channels`.
pub(super) const CHANNELS: Row = Row {
    get: Command::GetChannels,
    set: Command::SetChannels,
    members: &[bounded("rx", 5, 1), bounded("tx", 6, 2), bounded("other", 7, 3), bounded("combined", 8, 4)],
};

/// `struct ethtool_ringparam`.
pub(super) const RINGS: Row = Row {
    get: Command::GetRings,
    set: Command::SetRings,
    members: &[bounded("rx", 5, 1), bounded("rx-mini", 6, 2), bounded("rx-jumbo", 7, 3), bounded("tx", 8, 4)],
};

/// `struct ethtool_pauseparam`.
pub(super) const PAUSE: Row = Row {
    get: Command::GetPause,
    set: Command::SetPause,
    members: &[switch("autoneg", 1), switch("rx", 2), switch("tx", 3)],
};

/// `struct ethtool_coalesce`.
pub(super) const COALESCE: Row = Row {
    get: Command::GetCoalesce,
    set: Command::SetCoalesce,
    members: &[
        switch(ADAPTIVE[0].0, ADAPTIVE[0].1),
        switch(ADAPTIVE[1].0, ADAPTIVE[1].1),
        number("rx-usecs", 1),
        number("rx-frames", 2),
        number("rx-usecs-irq", 3),
        number("rx-frames-irq", 4),
        number("tx-usecs", 5),
        number("tx-frames", 6),
        number("tx-usecs-irq", 7),
        number("tx-frames-irq", 8),
        number("stats-block-usecs", 9),
        number("pkt-rate-low", 12),
        number("rx-usecs-low", 13),
        number("rx-frames-low", 14),
        number("tx-usecs-low", 15),
        number("tx-frames-low", 16),
        number("pkt-rate-high", 17),
        number("rx-usecs-high", 18),
        number("rx-frames-high", 19),
        number("tx-usecs-high", 20),
        number("tx-frames-high", 21),
        number("sample-interval", 22),
    ],
};

/// The words with which the driver is let to choose the numbers itself, and where they are.
const ADAPTIVE: [(&str, usize); 2] = [("adaptive-rx", 10), ("adaptive-tx", 11)];

/// Words of the longest row.
const WORDS: usize = 23;

impl Row {
    /// What the driver has and is set to.
    pub(super) fn read(&self, interface: &str) -> io::Result<Pairs> {
        let words = self.words(interface)?;
        let mut pairs = Pairs::default();
        for member in self.there(interface, &words) {
            let word = words[member.at];
            let value = if member.is_flag { flag(word != 0).to_owned() } else { word.to_string() };
            pairs.set(member.key, &value);
        }
        Ok(pairs)
    }

    /// The maxima, of those that have one.
    pub(super) fn limits(&self, interface: &str) -> io::Result<Pairs> {
        let words = self.words(interface)?;
        let mut limits = Pairs::default();
        for member in self.there(interface, &words) {
            if let Some(at) = member.max_at {
                limits.set(member.key, &words[at].to_string());
            }
        }
        Ok(limits)
    }

    /// The members that the driver has. Of coalescing netlink tells it; where it does not, those that the driver has not read as 0, and may be
    /// written as 0 only.
    fn there(&self, interface: &str, words: &[u32; WORDS]) -> Vec<&'static Member> {
        let told = if self.get == Command::GetCoalesce { coalesce_words(interface).ok() } else { None };
        let is_there = |member: &&Member| match (&told, member.max_at) {
            (Some(told), _) => told.contains(&member.at),
            (None, Some(at)) => words[at] > 0,
            (None, None) => true,
        };
        self.members.iter().filter(is_there).collect()
    }

    /// Refuses a value that is none for its key.
    pub(super) fn check(&self, pairs: &Pairs) -> Result<(), Failure> {
        for (key, value) in pairs.iter() {
            self.word(key, value)?;
        }
        Ok(())
    }

    /// Tells the driver what differs from what it has.
    pub(super) fn write(&self, interface: &str, pairs: &Pairs) -> Result<(), Failure> {
        let now = self.words(interface)?;
        let mut wanted = now;
        for (key, value) in pairs.iter() {
            let (at, word) = self.word(key, value)?;
            wanted[at] = word;
        }
        for (at, mut words) in self.steps(&now, &wanted).into_iter().enumerate() {
            call(interface, self.set, &mut words).map_err(|error| match at {
                0 => error,
                // It is no longer as it was, so it is not told as what cannot be changed.
                _ => io::Error::other(format!("it took the numbers, and then: {error}")),
            })?;
        }
        Ok(())
    }

    /// The rows to be written one after the other: of coalescing the numbers first while the driver does not choose them itself, because
    /// some drivers refuse or forget numbers while they do; then the adaptive flags.
    fn steps(&self, now: &[u32; WORDS], wanted: &[u32; WORDS]) -> Vec<[u32; WORDS]> {
        let is_adaptive =
            |at: &usize| self.set == Command::SetCoalesce && ADAPTIVE.iter().any(|(_, own)| own == at);
        let numbers_differ = (0..WORDS).any(|at| !is_adaptive(&at) && now[at] != wanted[at]);
        let mut first = *wanted;
        for at in (0..WORDS).filter(is_adaptive) {
            first[at] = 0;
        }
        let mut steps = Vec::new();
        if numbers_differ && first != *wanted {
            steps.push(first);
        }
        if now != wanted {
            steps.push(*wanted);
        }
        steps
    }

    /// Where a key's word is, and what it has to be.
    fn word(&self, key: &str, value: &str) -> Result<(usize, u32), Failure> {
        let member = self.members.iter().find(|member| member.key == key);
        let member = member.ok_or_else(|| Failure::Words(format!("there is no {key}")))?;
        let word = match member.is_flag {
            true => u32::from(parse_flag(key, value)?),
            false => value
                .parse()
                .map_err(|_| Failure::Words(format!("{key} is {value:?}, expected a whole number")))?,
        };
        Ok((member.at, word))
    }

    fn words(&self, interface: &str) -> io::Result<[u32; WORDS]> {
        let mut words = [0; WORDS];
        call(interface, self.get, &mut words)?;
        // The command's own place, which is not compared.
        words[0] = 0;
        Ok(words)
    }
}

/// Numbers that a driver may show as it chose them, not as they were set, because it is let to choose.
pub(super) fn is_chosen_by_driver(key: &str, pairs: &Pairs) -> bool {
    ADAPTIVE.iter().any(|(adaptive, _)| {
        let direction = adaptive.strip_prefix("adaptive-").and_then(|direction| key.strip_prefix(direction));
        direction.is_some_and(|rest| rest.starts_with('-')) && pairs.get(adaptive) == Some("on")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(adaptive: u32, usecs: u32) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        (words[10], words[1]) = (adaptive, usecs);
        words
    }

    #[test]
    fn numbers_are_written_before_the_driver_is_let_to_choose_them() {
        let steps = |now, wanted| COALESCE.steps(&now, &wanted);
        assert_eq!(steps(row(0, 8), row(1, 3)), [row(0, 3), row(1, 3)]);
        assert_eq!(steps(row(1, 8), row(1, 3)), [row(0, 3), row(1, 3)]);
        assert_eq!(steps(row(1, 8), row(0, 3)), [row(0, 3)]);
        assert_eq!(steps(row(0, 8), row(1, 8)), [row(1, 8)]);
        assert!(steps(row(1, 8), row(1, 8)).is_empty());
    }

    #[test]
    fn of_other_rows_no_word_is_a_flag_of_coalescing() {
        assert_eq!(RINGS.steps(&row(1, 8), &row(1, 3)), [row(1, 3)]);
    }

    #[test]
    fn every_member_has_a_word_of_its_own() {
        for row in [CHANNELS, RINGS, PAUSE, COALESCE] {
            let mut at: Vec<usize> = row.members.iter().map(|member| member.at).collect();
            at.sort_unstable();
            at.dedup();
            assert_eq!(at.len(), row.members.len(), "{row:?}");
            assert!(at.iter().all(|at| (1..WORDS).contains(at)), "{row:?}");
        }
    }
}
