//! Tells watchers when brokers have given no answer for some seconds: how long, and how long they are waited for. A run whose brokers hang
//! looks like one that works otherwise, until its last wait is over.

use crate::context::RunContext;
use crate::watcher::Event;
use plumb_load::patience::{Patience, Unanswered};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Silence that is told (ours): a cluster that works answers within it, also while it elects leaders.
const TOLD_FROM: Duration = Duration::from_secs(5);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Watches the waits for the brokers of one cluster until it is dropped.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    /// Its end is the thread's.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SilenceWatch {
    pub(super) fn begin(patience: &Patience, context: &RunContext) -> Self {
        let (over, is_over) = channel();
        let (patience, context) = (patience.clone(), context.clone());
        let thread = std::thread::spawn(move || {
            let mut told = Told::default();
            while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                told.tell(patience.unanswered(), &context);
            }
            told.tell(None, &context);
        });
        SilenceWatch { over: Some(over), thread: Some(thread) }
    }
}

impl Drop for SilenceWatch {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that is not known without it.
            let _ = thread.join();
        }
    }
}

/// Whether a silence was told that is not over.
#[derive(Debug, Default)]
struct Told {
    is_silent: bool,
}

impl Told {
    fn tell(&mut self, unanswered: Option<Unanswered>, context: &RunContext) {
        let silence = unanswered.filter(|wait| wait.since >= TOLD_FROM);
        if silence.is_some() || self.is_silent {
            context.tell(&Event::Silence(silence));
        }
        self.is_silent = silence.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watcher::Watcher;
    use plumb_load::patience::Awaited;
    use plumb_model::plan::Properties;
    use std::sync::{Arc, Mutex};

    /// Keeps the silences that it is told of.
    #[derive(Default)]
    struct Ears(Mutex<Vec<Option<Unanswered>>>);

    impl Watcher for Ears {
        fn event(&self, event: &Event<'_>) {
            if let Event::Silence(silence) = event {
                self.0.lock().unwrap().push(*silence);
            }
        }
    }

    #[test]
    fn a_silence_is_told_from_some_seconds_on_until_it_is_over_and_its_end_once() {
        let ears = Arc::<Ears>::default();
        let watcher: Arc<dyn Watcher> = Arc::clone(&ears) as Arc<dyn Watcher>;
        let context = RunContext::new(Properties::new(), &Arc::default(), &watcher);
        let after = |seconds: u64| {
            let [since, at_most] = [seconds, 30 - seconds].map(Duration::from_secs);
            Some(Unanswered { awaited: Awaited::Answer, since, at_most })
        };
        let mut told = Told::default();
        for wait in [None, after(1), after(4), after(5), after(6), None, None, after(2)] {
            told.tell(wait, &context);
        }
        assert_eq!(*ears.0.lock().unwrap(), [after(5), after(6), None]);
    }
}
