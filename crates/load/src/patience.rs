//! The longest wait of a control exchange for its answer: the usual time, and once the user asked to stop, no longer than a
//! person would wait. Nobody who pressed Ctrl-C on a cluster that is gone waits for each question in turn. Nor does a block whose brokers
//! fell silent wait for each of its last questions: the first that was asked in vain has answered the others.
//!
//! It also knows what is waited for at the moment, and since when in vain, for whoever shows it to a person.

use crate::clock::now_ns;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait in vain, of all exchanges together, once the user asked to stop. Ours: a busy cluster answers within it.
const STOPPED: Duration = Duration::from_secs(4);
/// An exchange that waited so long in vain speaks for those that follow. Ours: an election is over within it.
const SILENCE: Duration = Duration::from_secs(10);
/// Longest wait of those, while nothing is heard. Ours: a cluster that is back answers within it.
const SILENT: Duration = Duration::from_secs(1);
/// The time that each exchange has left when that is used up. Ours: a cluster that is back answers within it.
const USED_UP: Duration = Duration::from_millis(200);

/// The time that exchanges with a cluster may wait.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    stop: Arc<AtomicBool>,
    /// Waited in vain since the stop.
    in_vain_ns: Arc<AtomicU64>,
    silence: Arc<Mutex<Silence>>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The answer to a request.
    Answer,
    /// The acknowledgement of messages that were sent.
    Acknowledgement,
    /// The first record of each partition, and the consumers' places in their group.
    FirstRecords,
}

/// A wait under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unanswered {
    /// What for.
    pub awaited: Awaited,
    /// So long nothing has been heard.
    pub since: Duration,
    /// So much longer it may go on.
    pub at_most: Duration,
}

/// What was heard of the brokers.
#[derive(Debug, Default)]
struct Silence {
    /// The begin of the first wait that nothing was heard in, and of all that followed it.
    since_ns: Option<u64>,
    /// The wait under way, and its latest end.
    now: Option<(Awaited, u64)>,
    /// An exchange waited long in vain.
    in_vain: bool,
}

impl Silence {
    fn asked_in_vain(&mut self, waited_ns: u64) {
        self.in_vain |= waited_ns >= nanos(SILENCE);
    }
}

impl Patience {
    /// `stop` is set when the user asks to stop.
    pub(crate) fn new(stop: &Arc<AtomicBool>) -> Self {
        Patience { stop: Arc::clone(stop), ..Patience::default() }
    }

    /// Longest wait now, where it is `usual` otherwise.
    pub(crate) fn longest_wait(&self, usual: Duration) -> Duration {
        let usual = if self.silence().in_vain { usual.min(SILENT) } else { usual };
        if !self.stop.load(Ordering::Relaxed) {
            return usual;
        }
        let in_vain = Duration::from_nanos(self.in_vain_ns.load(Ordering::Relaxed));
        usual.min(STOPPED.saturating_sub(in_vain).max(USED_UP))
    }

    /// True once the user asked to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks within the time that [`Patience::longest_wait`] allows, and remembers it if that was in vain.
    pub fn ask<T, E>(&self, usual: Duration, ask: impl FnOnce(Duration) -> Result<T, E>) -> Result<T, E> {
        let begun = now_ns();
        let answer = self.wait(usual, ask);
        match answer.is_ok() {
            true => self.heard(),
            false => self.silence().asked_in_vain(now_ns() - begun),
        }
        answer
    }

    /// The next exchange has its usual time, whatever was asked in vain before it: more hangs on its answer than a figure.
    pub fn anew(&self) {
        self.silence().in_vain = false;
    }

    /// How long nothing has been heard; none where the last exchange was answered.
    pub(crate) fn silent_for(&self) -> Option<Duration> {
        let since_ns = self.silence().since_ns?;
        Some(Duration::from_nanos(now_ns().saturating_sub(since_ns)))
    }

    /// The same for what ends by itself once it is over, and for those who are no brokers: that it ended says nothing of these.
    pub fn wait<T, E>(&self, usual: Duration, wait: impl FnOnce(Duration) -> Result<T, E>) -> Result<T, E> {
        let begun = now_ns();
        let longest = self.longest_wait(usual);
        let was_silent = self.silence().since_ns.is_some();
        self.waits(Awaited::Answer, begun, begun.saturating_add(nanos(longest)));
        let answer = wait(longest);
        self.silence().now = None;
        // A refusal is an answer, too; but a connection that is refused at once ends no silence.
        if now_ns() - begun < nanos(longest) && !was_silent {
            self.silence().since_ns = None;
        }
        if answer.is_err() && self.stop.load(Ordering::Relaxed) {
            self.in_vain_ns.fetch_add(now_ns() - begun, Ordering::Relaxed);
        }
        answer
    }

    /// Something is waited for, since and until these times by the monotonic clock.
    pub(crate) fn waits(&self, awaited: Awaited, since_ns: u64, until_ns: u64) {
        let mut silence = self.silence();
        silence.since_ns.get_or_insert(since_ns);
        silence.now = Some((awaited, until_ns));
    }

    /// Something came of the brokers, or nothing is waited for.
    pub(crate) fn heard(&self) {
        *self.silence() = Silence::default();
    }

    /// The wait under way.
    pub fn unanswered(&self) -> Option<Unanswered> {
        let silence = self.silence();
        let ((awaited, until_ns), since_ns) = silence.now.zip(silence.since_ns)?;
        let now = now_ns();
        Some(Unanswered {
            awaited,
            since: Duration::from_nanos(now.saturating_sub(since_ns)),
            at_most: Duration::from_nanos(until_ns.saturating_sub(now)),
        })
    }

    fn silence(&self) -> MutexGuard<'_, Silence> {
        self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason why there was no answer, where that is not that one exchange took too long: none came since the user asked to
    /// stop.
    pub(crate) fn why_none(&self) -> Option<String> {
        let used_up = self.in_vain_ns.load(Ordering::Relaxed) >= STOPPED.as_nanos() as u64;
        used_up.then(|| {
            let seconds = STOPPED.as_secs();
            format!(
                "the brokers gave no answer in the {seconds} s for which a run that is stopped waits for them"
            )
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_secs(15);

    #[test]
    fn before_a_stop_every_exchange_has_its_usual_time() {
        let patience = Patience::default();
        assert_eq!(patience.ask(USUAL, Err::<(), _>), Err(USUAL));
        assert_eq!(patience.longest_wait(USUAL), USUAL);
    }

    #[test]
    fn after_an_exchange_that_waited_long_in_vain_the_others_wait_no_more_than_a_moment() {
        let patience = Patience::default();
        let vain = |waited: Duration| {
            let _ = patience.ask(Duration::ZERO, |_| Err::<(), _>(()));
            patience.silence().asked_in_vain(nanos(waited));
        };
        vain(SILENCE / 2);
        assert_eq!(patience.longest_wait(USUAL), USUAL, "it may be an election");
        vain(SILENCE);
        assert_eq!(patience.longest_wait(USUAL), SILENT);
        assert_eq!(patience.ask(USUAL, Err::<(), _>), Err(SILENT));
        // What has to be made or put back waits as long as ever.
        patience.anew();
        assert_eq!(patience.longest_wait(USUAL), USUAL);
        vain(SILENCE);
        assert!(patience.silent_for().is_some());
        assert_eq!(patience.ask(USUAL, Ok::<_, ()>), Ok(SILENT));
        assert_eq!((patience.longest_wait(USUAL), patience.silent_for()), (USUAL, None), "it was answered");
    }

    #[test]
    fn after_a_stop_what_was_waited_in_vain_is_taken_off_and_an_answer_costs_nothing() {
        let stop = Arc::new(AtomicBool::new(true));
        let patience = Patience::new(&stop);
        assert_eq!(patience.ask(USUAL, Ok::<_, ()>), Ok(STOPPED));
        assert_eq!(patience.longest_wait(USUAL), STOPPED);
        assert_eq!(patience.longest_wait(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(patience.why_none(), None);
        patience.in_vain_ns.store(STOPPED.as_nanos() as u64, Ordering::Relaxed);
        assert_eq!(patience.longest_wait(USUAL), USED_UP);
        let why = "the brokers gave no answer in the 4 s for which a run that is stopped waits for them";
        assert_eq!(patience.why_none().as_deref(), Some(why));
    }

    #[test]
    fn a_wait_is_known_while_it_goes_on_and_what_was_waited_in_vain_before_belongs_to_it() {
        let patience = Patience::default();
        let during = |usual: Duration, answer: Result<(), ()>| {
            let mut seen = None;
            let _ = patience.ask(usual, |_| {
                seen = patience.unanswered();
                answer
            });
            seen.unwrap()
        };
        let first = during(Duration::ZERO, Err(()));
        assert_eq!((first.awaited, first.at_most), (Awaited::Answer, Duration::ZERO));
        assert_eq!(patience.unanswered(), None, "nothing is waited for between two exchanges");
        let second = during(USUAL, Ok(()));
        assert!(second.since >= first.since && second.at_most <= USUAL && second.at_most > Duration::ZERO);
        // It was answered.
        assert_eq!(patience.silence().since_ns, None);
        during(USUAL, Err(()));
        assert_eq!(patience.silence().since_ns, None, "a refusal at once is an answer");
        during(Duration::ZERO, Err(()));
        let silent = patience.silence().since_ns;
        during(USUAL, Err(()));
        assert_eq!(patience.wait(USUAL, |_| Ok::<_, ()>(())), Ok(()));
        assert_eq!(patience.silence().since_ns, silent, "what is refused at once, or ended, ends no silence");
        during(USUAL, Ok(()));
        assert_eq!(patience.silence().since_ns, None);
    }

    #[test]
    fn what_is_heard_ends_a_wait() {
        let patience = Patience::default();
        patience.waits(Awaited::Acknowledgement, now_ns(), u64::MAX);
        patience.waits(Awaited::Acknowledgement, u64::MAX, 0);
        let wait = patience.unanswered().unwrap();
        assert_eq!((wait.awaited, wait.at_most), (Awaited::Acknowledgement, Duration::ZERO));
        patience.heard();
        assert_eq!(patience.unanswered(), None);
    }
}
