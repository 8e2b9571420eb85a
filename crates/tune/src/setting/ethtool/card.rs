//! The table and key of a card, read and written.

use super::Failure;
use super::spread::{Size, Spread, Table, key_bytes, key_text};
use plumb_observe::ethtool::{Command, call, joined};
use std::io;

/// Words of `struct ethtool_rxfh` before its table: cmd, context, table's size, key's size, hash function and three bytes, reserved.
const HEAD: usize = 6;
/// In place of a table's size: leave the table (`ETH_RXFH_INDIR_NO_CHANGE`).
const NO_CHANGE: u32 = u32::MAX;

/// More than any card has, of table and key.
const WORDS_MAX: usize = 1 << 17;

/// What the kernel tells of a card's spread.
#[derive(Debug, PartialEq)]
struct Card {
    /// The word of the hash function and the change of the input before it.
    function: u32,
    entries: Vec<u32>,
    key: Vec<u8>,
}

pub(super) fn read(interface: &str) -> io::Result<Spread> {
    Ok(card(interface)?.spread(queues(interface).unwrap_or_default()))
}

/// The size of the table, and the number of queues that it may name.
pub(super) fn size(interface: &str) -> io::Result<Size> {
    match card(interface)?.entries.len() as u64 {
        0 => Err(io::ErrorKind::Unsupported.into()),
        entries => Ok(Size { entries, queues: queues(interface)? }),
    }
}

/// Tells the card a table, a key, or both, as far as they differ from what it has.
pub(super) fn write(interface: &str, wanted: &Spread) -> Result<(), Failure> {
    if let Some(mut words) = order(&card(interface)?, queues(interface).unwrap_or_default(), wanted) {
        call(interface, Command::SetSpread, &mut words)?;
    }
    Ok(())
}

/// The words that tell a card what it has not yet; none where it has all.
fn order(card: &Card, queues: u64, wanted: &Spread) -> Option<Vec<u32>> {
    let now = card.spread(queues);
    let key = wanted.key.as_ref().filter(|key| now.key.as_ref() != Some(key));
    let key = key.map(|key| key_bytes(key)).unwrap_or_default();
    let size = Size { entries: card.entries.len() as u64, queues };
    let table = wanted.table.as_ref().filter(|table| now.table.as_ref() != Some(table));
    // No entries stand for the driver's own table, which none of the user's is in the way of afterwards.
    let table = table.map(|table| if *table == Table::Default { Vec::new() } else { table.entries(size) });
    if table.is_none() && key.is_empty() {
        return None;
    }
    // The hash function stays (0); the change of its input is given back as it is, which old kernels know as reserved and 0.
    let [_, input, ..] = card.function.to_ne_bytes();
    let function = u32::from_ne_bytes([0, input, 0, 0]);
    let entries = table.as_ref().map_or(NO_CHANGE, |table| table.len() as u32);
    let mut words = vec![0, 0, entries, key.len() as u32, function, 0];
    words.extend(table.unwrap_or_default());
    words.extend(key.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_ne_bytes(word)
    }));
    Some(words)
}

impl Card {
    /// Of an answer.
    fn of(words: &[u32]) -> Option<Self> {
        let (head, rest) = words.split_at_checked(HEAD)?;
        let (entries, key) = rest.split_at_checked(head[2] as usize)?;
        let key: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).take(head[3] as usize).collect();
        (key.len() == head[3] as usize).then(|| Card { function: head[4], entries: entries.to_vec(), key })
    }

    fn spread(&self, queues: u64) -> Spread {
        Spread {
            table: (!self.entries.is_empty()).then(|| Table::of(&self.entries, queues)),
            key: (!self.key.is_empty()).then(|| key_text(&self.key)),
        }
    }
}

fn card(interface: &str) -> io::Result<Card> {
    // Without room it tells the sizes.
    let mut head = [0; HEAD];
    call(interface, Command::GetSpread, &mut head)?;
    let (entries, key_bytes) = (head[2], head[3]);
    let length = HEAD.saturating_add(entries as usize).saturating_add(key_bytes.div_ceil(4) as usize);
    if length > WORDS_MAX {
        return Err(io::Error::other(format!("a table of {entries} entries and a key of {key_bytes} bytes")));
    }
    let mut words = vec![0; length];
    (words[2], words[3]) = (entries, key_bytes);
    call(interface, Command::GetSpread, &mut words)?;
    Card::of(&words).ok_or_else(|| io::Error::other("the card changed its table meanwhile"))
}

/// Receive queues that a table may name.
fn queues(interface: &str) -> io::Result<u64> {
    let mut words = [0; 4];
    call(interface, Command::GetReceiveQueues, &mut words)?;
    Ok(joined([words[2], words[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card with a key of six bytes whose input is changed before it is hashed.
    fn card() -> Card {
        let bytes = |bytes| u32::from_ne_bytes(bytes);
        let words = [
            9,
            0,
            4,
            6,
            bytes([1, 2, 0, 0]),
            0,
            0,
            1,
            0,
            1,
            bytes([0x6d, 0x5a, 0x56, 0xda]),
            bytes([1, 2, 0, 0]),
        ];
        Card::of(&words).unwrap()
    }

    fn order_of(text: &str) -> Option<Vec<u32>> {
        order(&card(), 2, &Spread::parse(text).unwrap())
    }

    #[test]
    fn a_card_tells_its_table_and_its_key() {
        assert_eq!(card().spread(2).text(), "default hkey 6d:5a:56:da:01:02");
        assert_eq!(card().spread(4).text(), "equal 2 hkey 6d:5a:56:da:01:02");
        assert_eq!(Card::of(&[0, 0, 4, 0, 0, 0, 1, 2, 3]), None);
        assert_eq!(Card::of(&[0, 0, 1, 5, 0, 0, 1, 2]), None);
    }

    #[test]
    fn a_key_that_stays_is_not_told_and_nor_is_a_table() {
        let function = u32::from_ne_bytes([0, 2, 0, 0]);
        assert_eq!(order_of("default hkey 6d:5a:56:da:01:02"), None);
        assert_eq!(
            order_of("weight 3 1 hkey 6d:5a:56:da:01:02").unwrap(),
            [0, 0, 4, 0, function, 0, 0, 0, 0, 1]
        );
        let key = [u32::from_ne_bytes([1, 2, 3, 4]), u32::from_ne_bytes([5, 6, 0, 0])];
        let expected = [0, 0, NO_CHANGE, 6, function, 0, key[0], key[1]];
        assert_eq!(order_of("default hkey 01:02:03:04:05:06").unwrap(), expected);
    }

    #[test]
    fn the_drivers_own_table_is_asked_for_by_none() {
        let order = order(&card(), 4, &Spread::parse("default").unwrap()).unwrap();
        assert_eq!(order[..4], [0, 0, 0, 0]);
    }
}
