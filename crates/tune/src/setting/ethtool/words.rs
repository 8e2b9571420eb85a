//! `rx 512 tx 512`: keys and values, in the order in which a driver's settings are read.

use super::Failure;
use std::collections::BTreeMap;

/// Keys with their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// From text. A key that is there twice has its last value.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut pairs = Pairs::default();
        let mut words = text.split_whitespace();
        while let Some(key) = words.next() {
            let value = words.next().ok_or_else(|| Failure::Words(format!("{key} has no value")))?;
            pairs.set(key, value);
        }
        Ok(pairs)
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(own, _)| own == key) {
            Some((_, own)) => value.clone_into(own),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The keys, as a sentence lists them.
    pub(super) fn keys(&self) -> String {
        self.0.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(" ")
    }

    /// The numbers among them.
    pub(super) fn numbers(&self) -> BTreeMap<String, u64> {
        self.iter().filter_map(|(key, value)| Some((key.to_owned(), value.parse().ok()?))).collect()
    }

    /// The same text with these values in place of its own, and each blank as it was.
    pub(super) fn put_into(&self, text: &str) -> String {
        let mut out = String::new();
        let mut key = None;
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            let value = key.take_if(|_| !word.is_empty()).map(|key| self.get(key).unwrap_or(word));
            if value.is_none() && !word.is_empty() {
                key = Some(word);
            }
            out.push_str(value.unwrap_or(word));
            out.push_str(&piece[word.len()..]);
        }
        out
    }
}

/// `on` or `off`.
pub(super) fn flag(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// From `on` or `off`.
pub(super) fn parse_flag(key: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Failure::Words(format!("{key} is {value:?}, expected on or off"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_into_a_text_whose_blanks_stay() {
        let pairs = Pairs::parse("rx 1 tx 2").unwrap();
        assert_eq!(pairs.put_into("\n rx  512\ttx 512 rx-mini 9\n"), "\n rx  1\ttx 2 rx-mini 9\n");
    }

    #[test]
    fn a_key_without_a_value_is_named() {
        let Err(Failure::Words(words)) = Pairs::parse("rx 1 tx") else { panic!() };
        assert_eq!(words, "tx has no value");
    }
}
