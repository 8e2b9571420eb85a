//! Which fields of a packet choose its receive queue, in ethtool's letters: `sd` addresses, `fn` ports.

use super::Failure;
use plumb_observe::ethtool::{Command, call, joined, parted};
use std::io;

/// Letters of `ethtool -N DEVICE rx-flow-hash` with their bits (`RXH_*` of linux/ethtool.h), in the order in which they are written here.
const LETTERS: [(char, u64); 10] = [
    ('m', 1 << 1),
    ('v', 1 << 2),
    ('t', 1 << 3),
    ('s', 1 << 4),
    ('d', 1 << 5),
    ('f', 1 << 6),
    ('n', 1 << 7),
    ('e', 1 << 8),
    ('l', 1 << 9),
    ('r', 1 << 31),
];

/// In place of letters, where there are none.
const NONE: &str = "none";

/// Kinds of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Tcp4,
    Udp4,
    Tcp6,
    Udp6,
}

impl Flow {
    pub(super) const ALL: [Flow; 4] = [Flow::Tcp4, Flow::Udp4, Flow::Tcp6, Flow::Udp6];

    /// As ethtool calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Flow::Tcp4 => "tcp4",
            Flow::Udp4 => "udp4",
            Flow::Tcp6 => "tcp6",
            Flow::Udp6 => "udp6",
        }
    }

    /// `TCP_V4_FLOW` and its like.
    fn number(self) -> u32 {
        match self {
            Flow::Tcp4 => 1,
            Flow::Udp4 => 2,
            Flow::Tcp6 => 5,
            Flow::Udp6 => 6,
        }
    }

    pub(super) fn read(self, interface: &str) -> io::Result<Fields> {
        let mut words = self.words(0);
        call(interface, Command::GetFlowHash, &mut words)?;
        let bits = joined([words[2], words[3]]);
        let known = LETTERS.iter().fold(0, |known, (_, bit)| known | bit);
        match bits & !known {
            0 => Ok(Fields(bits)),
            // They could not be put back.
            unknown => {
                Err(io::Error::other(format!("fields of a packet that have no letter here: {unknown:#x}")))
            }
        }
    }

    pub(super) fn write(self, interface: &str, fields: Fields) -> io::Result<()> {
        call(interface, Command::SetFlowHash, &mut self.words(fields.0)).map(drop)
    }

    /// The head of `struct ethtool_rxnfc`: cmd, flow type, data.
    fn words(self, data: u64) -> [u32; 4] {
        let [low, high] = parted(data);
        [0, self.number(), low, high]
    }
}

/// Fields of a packet, by their bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields(u64);

impl Fields {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text.trim() == NONE {
            return Ok(Fields(0));
        }
        let mut bits = 0;
        for letter in text.trim().chars() {
            let known = LETTERS.iter().find(|(own, _)| *own == letter);
            let (_, bit) = known.ok_or_else(|| {
                let letters: String = LETTERS.iter().map(|(own, _)| own).collect();
                Failure::Words(format!(
                    "{letter:?} is no field of a packet, expected letters of {letters:?} or {NONE}"
                ))
            })?;
            bits |= bit;
        }
        match bits {
            0 => Err(Failure::Words(format!("it names no field, expected {NONE} where none is meant"))),
            bits => Ok(Fields(bits)),
        }
    }

    pub(super) fn text(self) -> String {
        let letters: String =
            LETTERS.iter().filter(|(_, bit)| self.0 & bit != 0).map(|(letter, _)| letter).collect();
        if letters.is_empty() { NONE.to_owned() } else { letters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_any_order_are_the_same_fields() {
        let text = |letters: &str| Fields::parse(letters).map(Fields::text);
        assert_eq!(text("nfds").unwrap(), "sdfn");
        assert_eq!(text("none").unwrap(), "none");
        for letters in ["", "sdx", "s d"] {
            assert!(matches!(text(letters), Err(Failure::Words(_))), "{letters:?}");
        }
    }
}
