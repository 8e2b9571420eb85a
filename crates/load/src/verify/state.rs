//! A set of sequence numbers in the form in which it is sent: page by page, exactly, and no larger than the set itself.

use super::{PAGE_BITS, PAGE_WORDS, Page, SequenceSet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A set as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetState {
    /// All pages below this one are full.
    full_below: u64,
    /// The others that are not empty.
    pages: Vec<PageState>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PageState {
    at: u64,
    /// The page's words up to the last one that is not 0; absent where the page is full.
    words: Option<Vec<u64>>,
}

/// A set that was sent and cannot be one.
#[derive(Debug, Error)]
#[error("page {at} of a set of sequence numbers cannot be: {reason}")]
pub(super) struct DamagedSet {
    at: u64,
    reason: &'static str,
}

impl From<SequenceSet> for SetState {
    fn from(set: SequenceSet) -> Self {
        let page = |(at, page): (&u64, &Page)| PageState { at: *at, words: used_words(page) };
        SetState { full_below: set.full_below, pages: set.pages.iter().map(page).collect() }
    }
}

fn used_words(page: &Page) -> Option<Vec<u64>> {
    match page {
        Page::Full => None,
        Page::Part { words, .. } => {
            let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
            Some(words[..used].to_vec())
        }
    }
}

impl TryFrom<SetState> for SequenceSet {
    type Error = DamagedSet;

    fn try_from(state: SetState) -> Result<Self, DamagedSet> {
        let most = u64::MAX / PAGE_BITS;
        let beyond = |at| DamagedSet { at, reason: "it is beyond the largest number" };
        if state.full_below > most {
            return Err(beyond(state.full_below));
        }
        let mut set = SequenceSet {
            full_below: state.full_below,
            len: state.full_below * PAGE_BITS,
            ..SequenceSet::default()
        };
        for PageState { at, words } in state.pages {
            if at >= most {
                return Err(beyond(at));
            }
            if at < state.full_below || set.pages.contains_key(&at) {
                return Err(DamagedSet { at, reason: "it is there twice" });
            }
            let page = match words {
                None => Page::Full,
                Some(words) => part(&words).ok_or(DamagedSet { at, reason: "it is too long" })?,
            };
            set.len = set.len.saturating_add(page.below(PAGE_BITS));
            set.pages.insert(at, page);
        }
        set.advance();
        Ok(set)
    }
}

/// A page of these words and 0 behind them; none where there are too many.
fn part(sent: &[u64]) -> Option<Page> {
    let mut words = Box::new([0; PAGE_WORDS]);
    words.get_mut(..sent.len())?.copy_from_slice(sent);
    let set = words.iter().map(|word| u64::from(word.count_ones())).sum();
    Some(if set == PAGE_BITS { Page::Full } else { Page::Part { words, set } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(set: &SequenceSet) -> SequenceSet {
        serde_json::from_str(&serde_json::to_string(set).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn a_set_that_was_sent_is_the_same_and_goes_on_as_it_would_have(
            runs in proptest::collection::vec((0u64..200_000, 1u64..70_000), 0..6),
            more in (0u64..200_000, 1u64..70_000),
        ) {
            let mut set = SequenceSet::default();
            for (first, count) in runs {
                set.insert_run(first, count);
            }
            let mut arrived = sent(&set);
            prop_assert_eq!(arrived.len(), set.len());
            prop_assert_eq!(arrived.missing_from(&set) + set.missing_from(&arrived), 0);
            prop_assert_eq!(arrived.insert_run(more.0, more.1), set.insert_run(more.0, more.1));
            prop_assert_eq!(arrived.below(100_000), set.below(100_000));
        }
    }

    #[test]
    fn a_long_run_in_which_all_arrived_is_a_few_bytes() {
        let mut set = SequenceSet::default();
        set.insert_run(0, 30 * PAGE_BITS);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#"{"full_below":30,"pages":[]}"#);
    }

    #[test]
    fn what_cannot_be_a_set_is_refused() {
        let too_long =
            format!(r#"{{"full_below":0,"pages":[{{"at":0,"words":{:?}}}]}}"#, [1; PAGE_WORDS + 1]);
        let far = u64::MAX / PAGE_BITS;
        for text in [
            too_long.as_str(),
            r#"{"full_below":2,"pages":[{"at":1,"words":[1]}]}"#,
            r#"{"full_below":0,"pages":[{"at":1,"words":[1]},{"at":1,"words":null}]}"#,
            &format!(r#"{{"full_below":{},"pages":[]}}"#, far + 1),
            &format!(r#"{{"full_below":0,"pages":[{{"at":{far},"words":[1]}}]}}"#),
        ] {
            assert!(serde_json::from_str::<SequenceSet>(text).is_err(), "{text}");
        }
    }
}
