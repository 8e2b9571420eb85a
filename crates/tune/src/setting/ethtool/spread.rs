//! How a card spreads packets over its receive queues: the table of queues that the hash of a packet picks from, and the hash's key.

use super::Failure;
use std::collections::BTreeMap;

/// More entries than any card's table has.
const TABLE_MAX: u64 = 1 << 16;

/// What is told of the spread; what is none stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Spread {
    pub(super) table: Option<Table>,
    /// As ethtool writes it: bytes of two digits with colons between.
    pub(super) key: Option<String>,
}

/// The table of queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Table {
    /// As the driver makes it, which is over all queues in turn.
    Default,
    /// Over the first queues in turn.
    Equal(u32),
    /// A run of entries for each queue, with lengths in this ratio.
    Weight(Vec<u32>),
    /// A queue for each entry.
    Explicit(Vec<u32>),
}

/// The size of a card's table and the number of its queues, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) entries: u64,
    pub(super) queues: u64,
}

impl Size {
    /// From limits: `queues 8 entries 128`.
    pub(super) fn of(limits: &BTreeMap<String, u64>) -> Option<Self> {
        let limit = |key: &str| limits.get(key).copied().filter(|number| (1..=TABLE_MAX).contains(number));
        Some(Size { entries: limit("entries")?, queues: limit("queues")? })
    }
}

impl Spread {
    /// `default`, `equal 4`, `weight 3 1` or `table 0 1 2`, then `hkey 6d:5a:...`, either of them alone or both.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut words = text.split_whitespace().peekable();
        let mut spread = Spread::default();
        while let Some(word) = words.next() {
            let mut numbers = || -> Result<Vec<u32>, Failure> {
                let mut numbers = Vec::new();
                while let Some(text) = words.next_if(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
                    numbers.push(
                        text.parse()
                            .map_err(|_| Failure::Words(format!("{text:?} is no number of a queue")))?,
                    );
                }
                Ok(numbers)
            };
            match word {
                "default" => spread.table = Some(Table::Default),
                "equal" => match numbers()?[..] {
                    [queues] if queues > 0 => spread.table = Some(Table::Equal(queues)),
                    _ => return Err(Failure::Words("equal has no number of queues".to_owned())),
                },
                "weight" => {
                    let weights = numbers()?;
                    if weights.iter().all(|weight| *weight == 0) {
                        return Err(Failure::Words("weight has no weight above 0".to_owned()));
                    }
                    spread.table = Some(Table::Weight(weights));
                }
                "table" => {
                    spread.table = Some(Table::Explicit(numbers()?))
                        .filter(|table| *table != Table::Explicit(Vec::new()))
                }
                "hkey" => spread.key = Some(key(words.next().unwrap_or_default())?),
                _ => {
                    let expected =
                        "expected default, equal N, weight W0 W1 ..., table Q0 Q1 ..., or hkey AA:BB:...";
                    return Err(Failure::Words(format!("{word:?} is no word of it: {expected}")));
                }
            }
        }
        match spread == Spread::default() {
            true => Err(Failure::Words("it names neither a table nor a key".to_owned())),
            false => Ok(spread),
        }
    }

    pub(super) fn text(&self) -> String {
        let table = self.table.as_ref().map(Table::text);
        let key = self.key.as_ref().map(|key| format!("hkey {key}"));
        table.into_iter().chain(key).collect::<Vec<_>>().join(" ")
    }

    /// This, and of the other what this does not say.
    pub(super) fn over(self, other: Spread) -> Spread {
        Spread { table: self.table.or(other.table), key: self.key.or(other.key) }
    }

    /// True if what it says reads so. Forms of a table that differ are compared where the size is known.
    pub(super) fn is_met(&self, reads: &Spread, size: Option<Size>) -> bool {
        let table = match (&self.table, &reads.table) {
            (None, _) => true,
            (Some(asked), Some(reads)) => asked == reads || asked.is_same(reads, size),
            (Some(_), None) => false,
        };
        table && (self.key.is_none() || self.key == reads.key)
    }

    /// Refuses queues that the card has not, and a table of another size.
    pub(super) fn check(&self, now: &Spread, size: Option<Size>) -> Result<(), Failure> {
        if let (Some(asked), Some(own)) = (&self.key, &now.key)
            && asked.len() != own.len()
        {
            return Err(Failure::Words(format!(
                "the key has {} bytes, expected {}",
                asked.len().div_ceil(3),
                own.len().div_ceil(3)
            )));
        }
        if self.key.is_some() && now.key.is_none() {
            return Err(Failure::Words("the card has no key".to_owned()));
        }
        match (&self.table, size) {
            (Some(table), Some(size)) => table.check(size),
            _ => Ok(()),
        }
    }
}

impl Table {
    /// The plainest form of what a card has.
    pub(super) fn of(entries: &[u32], queues: u64) -> Self {
        let in_turn = |over: u64| {
            over > 0 && entries.iter().zip(0..).all(|(queue, at): (_, u64)| u64::from(*queue) == at % over)
        };
        let last = entries.iter().copied().max().unwrap_or_default();
        if in_turn(queues) {
            return Table::Default;
        }
        if in_turn(u64::from(last) + 1) {
            return Table::Equal(last + 1);
        }
        if !entries.is_sorted() || u64::from(last) >= TABLE_MAX {
            return Table::Explicit(entries.to_vec());
        }
        let mut weights = vec![0; last as usize + 1];
        for queue in entries {
            weights[*queue as usize] += 1;
        }
        Table::Weight(weights)
    }

    /// A queue for each entry, as ethtool makes them of its words.
    pub(super) fn entries(&self, size: Size) -> Vec<u32> {
        let in_turn = |over: u64| (0..size.entries).map(|at| (at % over) as u32).collect();
        match self {
            Table::Default => in_turn(size.queues),
            Table::Equal(queues) => in_turn(u64::from(*queues)),
            Table::Explicit(entries) => entries.clone(),
            Table::Weight(weights) => {
                let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
                let ends = weights.iter().scan(0, |end, weight| {
                    *end += u64::from(*weight);
                    // The first entry that is beyond this queue's share; ethtool's own rounding.
                    Some(size.entries * *end / sum)
                });
                let ends: Vec<u64> = ends.collect();
                let queue = |at: u64| ends.iter().position(|end| at < *end).unwrap_or_default() as u32;
                (0..size.entries).map(queue).collect()
            }
        }
    }

    fn is_same(&self, other: &Table, size: Option<Size>) -> bool {
        // What reads as weights has one for each entry, so it tells the size itself.
        let told = || match other {
            Table::Weight(weights) => Some(weights.iter().map(|weight| u64::from(*weight)).sum()),
            Table::Explicit(entries) => Some(entries.len() as u64),
            _ => None,
        };
        let needs_queues = *self == Table::Default || *other == Table::Default;
        let size = size.or_else(|| {
            let entries = told().filter(|entries| (1..=TABLE_MAX).contains(entries) && !needs_queues)?;
            Some(Size { entries, queues: 1 })
        });
        size.is_some_and(|size| self.entries(size) == other.entries(size))
    }

    fn check(&self, size: Size) -> Result<(), Failure> {
        let last = match self {
            Table::Default => 0,
            Table::Equal(queues) => queues - 1,
            Table::Weight(weights) => {
                weights.iter().rposition(|weight| *weight > 0).unwrap_or_default() as u32
            }
            Table::Explicit(entries) => entries.iter().copied().max().unwrap_or_default(),
        };
        if u64::from(last) >= size.queues {
            let words = format!(
                "it names queue {last}, but the last one is {} ({} queues at most)",
                size.queues - 1,
                size.queues
            );
            return Err(Failure::Words(words));
        }
        match self {
            Table::Weight(weights)
                if weights.iter().map(|weight| u64::from(*weight)).sum::<u64>() > size.entries =>
            {
                Err(Failure::Words(format!("the weights are more than the table's {} entries", size.entries)))
            }
            Table::Explicit(entries) if entries.len() as u64 != size.entries => Err(Failure::Words(format!(
                "the table has {} entries, expected {}",
                entries.len(),
                size.entries
            ))),
            _ => Ok(()),
        }
    }

    fn text(&self) -> String {
        let row = |word: &str, numbers: &[u32]| {
            let numbers = numbers.iter().map(u32::to_string);
            std::iter::once(word.to_owned()).chain(numbers).collect::<Vec<_>>().join(" ")
        };
        match self {
            Table::Default => "default".to_owned(),
            Table::Equal(queues) => format!("equal {queues}"),
            Table::Weight(weights) => row("weight", weights),
            Table::Explicit(entries) => row("table", entries),
        }
    }
}

/// `6d:5a:56`, in small letters.
fn key(text: &str) -> Result<String, Failure> {
    let is_byte = |byte: &str| byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
    match text.split(':').all(is_byte) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Failure::Words(format!("hkey is {text:?}, expected bytes such as 6d:5a:56"))),
    }
}

/// A key's text of its bytes.
pub(super) fn key_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

/// A key's bytes of its text.
pub(super) fn key_bytes(text: &str) -> Vec<u8> {
    text.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Size = Size { entries: 8, queues: 4 };

    #[test]
    fn a_table_reads_in_its_plainest_form() {
        let text = |entries: &[u32]| Table::of(entries, SIZE.queues).text();
        assert_eq!(text(&[0, 1, 2, 3, 0, 1, 2, 3]), "default");
        assert_eq!(text(&[0, 1, 0, 1, 0, 1, 0, 1]), "equal 2");
        assert_eq!(text(&[0, 0, 0, 0, 0, 0, 1, 1]), "weight 6 2");
        assert_eq!(text(&[2, 2, 2, 2, 3, 3, 3, 3]), "weight 0 0 4 4");
        assert_eq!(text(&[3, 1, 2, 0, 0, 1, 2, 3]), "table 3 1 2 0 0 1 2 3");
    }

    #[test]
    fn weights_make_the_table_that_ethtool_makes_of_them() {
        let entries = |text: &str| Spread::parse(text).unwrap().table.unwrap().entries(SIZE);
        assert_eq!(entries("weight 3 1"), [0, 0, 0, 0, 0, 0, 1, 1]);
        // 8 / 3 and 16 / 3 are rounded down.
        assert_eq!(entries("weight 1 1 1"), [0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!(entries("weight 0 1"), [1; 8]);
    }

    #[test]
    fn one_table_in_two_forms_is_the_same() {
        let met = |asked: &str, reads: &str, size| {
            Spread::parse(asked).unwrap().is_met(&Spread::parse(reads).unwrap(), size)
        };
        assert!(met("equal 4", "default", Some(SIZE)));
        assert!(!met("equal 4", "default", None));
        assert!(met("weight 3 1", "weight 6 2", None));
        assert!(met("weight 3 1", "weight 6 2 hkey 6d:5a", Some(SIZE)));
        assert!(!met("default", "equal 2", Some(SIZE)));
        assert!(!met("hkey 6d:5b", "equal 2 hkey 6d:5a", None));
        assert!(met("hkey 6D:5A", "equal 2 hkey 6d:5a", None));
    }

    #[test]
    fn what_a_card_has_not_is_refused_with_what_it_has() {
        let refused = |text: &str| {
            let now = Spread::parse("default hkey 6d:5a").unwrap();
            match Spread::parse(text).and_then(|spread| spread.check(&now, Some(SIZE))) {
                Err(Failure::Words(words)) => words,
                other => panic!("{text}: {other:?}"),
            }
        };
        assert_eq!(refused("equal 5"), "it names queue 4, but the last one is 3 (4 queues at most)");
        assert_eq!(refused("table 0 1"), "the table has 2 entries, expected 8");
        assert_eq!(refused("weight 6 3"), "the weights are more than the table's 8 entries");
        assert_eq!(refused("hkey 6d:5a:56"), "the key has 3 bytes, expected 2");
        for text in ["", "equal", "equal 0", "weight 0", "table", "some 3", "hkey 6", "equal 99999999999"] {
            refused(text);
        }
    }

    proptest! {
        #[test]
        fn any_table_reads_as_text_of_which_it_is_made_again(entries in prop::collection::vec(0u32..6, 1..40), queues in 6u64..8) {
            let size = Size { entries: entries.len() as u64, queues };
            let text = Table::of(&entries, queues).text();
            prop_assert_eq!(Spread::parse(&text).unwrap().table.unwrap().entries(size), entries);
        }

        #[test]
        fn any_text_is_a_spread_or_an_error(text in "[a-z0-9: ]{0,40}") {
            if let Ok(spread) = Spread::parse(&text) {
                prop_assert_eq!(Spread::parse(&spread.text()).unwrap(), spread);
            }
        }
    }
}
