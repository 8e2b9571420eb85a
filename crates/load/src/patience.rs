//! The longest wait of a control exchange for its answer: the usual time, and once the user asked to stop, no longer than a
//! person would wait. Nobody who pressed Ctrl-C on a cluster that is gone waits for each question in turn.

use crate::clock::now_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Longest wait in vain, of all exchanges together, once the user asked to stop. Ours: a busy cluster answers within it.
const STOPPED: Duration = Duration::from_secs(4);
/// The time that each exchange has left when that is used up. Ours: a cluster that is back answers within it.
const USED_UP: Duration = Duration::from_millis(200);

/// The time that exchanges with a cluster may wait.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    stop: Arc<AtomicBool>,
    /// Waited in vain since the stop.
    in_vain_ns: Arc<AtomicU64>,
}

impl Patience {
    /// `stop` is set when the user asks to stop.
    pub(crate) fn new(stop: &Arc<AtomicBool>) -> Self {
        Patience { stop: Arc::clone(stop), in_vain_ns: Arc::default() }
    }

    /// Longest wait now, where it is `usual` otherwise.
    pub(crate) fn longest_wait(&self, usual: Duration) -> Duration {
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
        let answer = ask(self.longest_wait(usual));
        if answer.is_err() && self.stop.load(Ordering::Relaxed) {
            self.in_vain_ns.fetch_add(now_ns() - begun, Ordering::Relaxed);
        }
        answer
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
}
