//! The reason why a figure is absent, in words: an empty cell without a reason looks like a fault of the report.

use plumb_model::figure::count;
use plumb_model::observation::Distribution;

/// The reason why the quantile `q` of a distribution is absent. A quantile needs 10/(1-q) samples.
pub(crate) fn quantile(distribution: &Distribution, q: f64) -> String {
    let needed = (10.0 / (1.0 - q)).round() as u64;
    match distribution.samples {
        0 => "nothing was recorded".to_owned(),
        samples if samples < needed => {
            format!("needs {} samples, has {}", count(needed), count(samples))
        }
        _ => "not recorded by this run".to_owned(),
    }
}

/// The reason why a figure that needs only one sample is absent.
pub(crate) fn moment(distribution: &Distribution) -> String {
    match distribution.samples {
        0 => "nothing was recorded".to_owned(),
        _ => "not recorded by this run".to_owned(),
    }
}

/// The reason why the interval of a figure that is there is absent.
pub(crate) const INTERVAL: &str = "too few blocks or samples for an interval";

/// Reasons gathered over a table: each once, with the columns and the setups (numbered from 1) that it holds for.
#[derive(Default)]
pub(crate) struct Footnotes(Vec<Footnote>);

struct Footnote {
    column: String,
    reason: String,
    setups: Vec<usize>,
}

impl Footnotes {
    /// Notes that `column` of `setup` (numbered from 1) is absent.
    pub(crate) fn add(&mut self, column: &str, setup: usize, reason: String) {
        match self.0.iter_mut().find(|note| note.column == column && note.reason == reason) {
            Some(note) if note.setups.contains(&setup) => {}
            Some(note) => note.setups.push(setup),
            None => self.0.push(Footnote { column: column.to_owned(), reason, setups: vec![setup] }),
        }
    }

    /// One sentence a footnote: `p99 of 3, 4: needs 1,000 samples, has 412`. Columns with one reason are joined.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut joined: Vec<(Vec<&str>, &[usize], &str)> = Vec::new();
        for note in &self.0 {
            match joined
                .iter_mut()
                .find(|(_, setups, reason)| *setups == note.setups && *reason == note.reason)
            {
                Some((columns, ..)) => columns.push(&note.column),
                None => joined.push((vec![&note.column], &note.setups, &note.reason)),
            }
        }
        joined
            .into_iter()
            .map(|(columns, setups, reason)| {
                format!("{} of {}: {reason}", columns.join(", "), setup_list(setups))
            })
            .collect()
    }
}

/// `#1`, `#1, #2 and #5`, `#1 to #8`, `#1, #3 to #6 and #8`. The numbers ascend.
pub(crate) fn setup_list(setups: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in setups.chunk_by(|one, next| one + 1 == *next) {
        match run {
            [first, _, .., last] => parts.push(format!("#{first} to #{last}")),
            few => parts.extend(few.iter().map(|setup| format!("#{setup}"))),
        }
    }
    match parts.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_without_enough_samples_says_how_many_it_needs() {
        let few = Distribution { samples: 412, ..Default::default() };
        assert_eq!(quantile(&few, 0.99), "needs 1,000 samples, has 412");
        assert_eq!(quantile(&Distribution::default(), 0.99), "nothing was recorded");
    }

    #[test]
    fn a_reason_is_given_once_for_all_columns_and_setups_that_share_it() {
        let mut notes = Footnotes::default();
        for setup in [1, 2, 3] {
            notes.add("p99", setup, "a".to_owned());
            notes.add("p95", setup, "a".to_owned());
        }
        notes.add("p99", 7, "b".to_owned());
        assert_eq!(notes.sentences(), ["p99, p95 of #1 to #3: a", "p99 of #7: b"]);
    }

    #[test]
    fn setups_are_listed_shortly() {
        assert_eq!(setup_list(&[4]), "#4");
        assert_eq!(setup_list(&[1, 2]), "#1 and #2");
        assert_eq!(setup_list(&[1, 3, 5]), "#1, #3 and #5");
        assert_eq!(setup_list(&[2, 3, 4]), "#2 to #4");
    }
}
