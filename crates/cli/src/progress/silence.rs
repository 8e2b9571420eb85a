//! What is said while brokers give no answer.

use plumb_load::patience::{Awaited, Unanswered};
use plumb_model::figure;
use std::time::Duration;

/// A wait that is to end so much later than the last one is another.
const ANOTHER: Duration = Duration::from_secs(2);
/// An end that is so far away is none.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The silence that goes on.
#[derive(Debug, Default)]
pub(super) struct Silences {
    now: Option<Unanswered>,
    /// What was awaited in the wait of which a line was printed, and how long after the begin of the silence it ends.
    said: Option<(Awaited, Duration)>,
}

impl Silences {
    /// Takes what is known of it now; a sentence where another wait has begun.
    pub(super) fn hear(&mut self, silence: Option<Unanswered>) -> Option<String> {
        self.now = silence;
        let Some(wait) = silence else {
            self.said = None;
            return None;
        };
        let end = wait.since.saturating_add(wait.at_most);
        let is_said =
            self.said.is_some_and(|(awaited, said)| awaited == wait.awaited && end.abs_diff(said) < ANOTHER);
        self.said = Some((wait.awaited, end));
        (!is_said).then(|| words(wait))
    }

    /// The sentence on it.
    pub(super) fn words(&self) -> Option<String> {
        self.now.map(words)
    }
}

fn words(wait: Unanswered) -> String {
    let what = match wait.awaited {
        Awaited::Answer => "the brokers have given no answer",
        Awaited::Acknowledgement => "no message was acknowledged",
        Awaited::FirstRecords => "the first records have not come through",
    };
    let seconds = |time: Duration| figure::estimate(time.as_secs_f64().round());
    let most = match wait.at_most < ENDLESS {
        true => format!("; this wait ends within {}, and others may follow it", seconds(wait.at_most)),
        false => String::new(),
    };
    format!("{what} for {}{most}", seconds(wait.since))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(awaited: Awaited, since_s: u64, at_most_s: u64) -> Option<Unanswered> {
        let [since, at_most] = [since_s, at_most_s].map(Duration::from_secs);
        Some(Unanswered { awaited, since, at_most })
    }

    #[test]
    fn each_wait_of_a_silence_has_one_line_and_the_line_that_moves_follows_it() {
        let mut silences = Silences::default();
        let first = silences.hear(wait(Awaited::Acknowledgement, 5, 7)).unwrap();
        assert_eq!(
            first,
            "no message was acknowledged for 5 s; this wait ends within 7 s, and others may follow it"
        );
        assert_eq!(silences.hear(wait(Awaited::Acknowledgement, 6, 6)), None);
        assert_eq!(
            silences.words().unwrap(),
            "no message was acknowledged for 6 s; this wait ends within 6 s, and others may follow it"
        );
        let next = silences.hear(wait(Awaited::Answer, 13, 15)).unwrap();
        assert_eq!(
            next,
            "the brokers have given no answer for 13 s; this wait ends within 15 s, and others may follow it"
        );
        assert!(silences.hear(wait(Awaited::Answer, 29, 15)).is_some(), "another exchange");
        assert_eq!((silences.hear(None), silences.words()), (None, None));
        assert!(silences.hear(wait(Awaited::Answer, 5, 10)).is_some());
    }

    #[test]
    fn a_wait_without_an_end_promises_none() {
        let mut silences = Silences::default();
        let forever = silences.hear(Some(Unanswered {
            awaited: Awaited::FirstRecords,
            since: Duration::from_secs(64),
            at_most: Duration::MAX,
        }));
        assert_eq!(forever.unwrap(), "the first records have not come through for 64 s");
    }
}
