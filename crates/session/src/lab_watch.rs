//! Ends the work on a lab whose every broker has ended: no broker is left to answer, and each exchange would be waited for in
//! turn. The measurements by then are kept; the error is [`Target::check_lab`](super::target::Target::check_lab)'s.

use crate::context::RunContext;
use plumb_lab::kafka::BrokerProcesses;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest time after which a user's wish to stop is passed on, and within which the watch itself ends.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Watches the processes of a lab's brokers until it is dropped.
#[derive(Debug)]
pub(super) struct LabWatch {
    flags: Arc<Flags>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Flags {
    /// Set by the watch: what is under way is to end.
    stop: Arc<AtomicBool>,
    /// Set by its owner: nothing is to be watched any more.
    over: AtomicBool,
}

impl LabWatch {
    pub(super) fn begin(brokers: BrokerProcesses, context: &RunContext) -> Self {
        let flags = Arc::<Flags>::default();
        let thread = std::thread::spawn({
            let (flags, context) = (Arc::clone(&flags), context.clone());
            move || watch(&brokers, &flags, &context)
        });
        LabWatch { flags, thread: Some(thread) }
    }

    /// Set once what is under way is to end: no broker is left, or the user wants it.
    pub(super) fn stop(&self) -> &Arc<AtomicBool> {
        &self.flags.stop
    }
}

impl Drop for LabWatch {
    fn drop(&mut self) {
        self.flags.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that is not known without it.
            let _ = thread.join();
        }
    }
}

fn watch(brokers: &BrokerProcesses, flags: &Flags, context: &RunContext) {
    let Flags { stop, over } = flags;
    while !over.load(Ordering::Relaxed) {
        let ended = brokers.have_ended_within(LOOK_EVERY);
        if context.is_stopped() {
            return stop.store(true, Ordering::Relaxed);
        }
        if ended && !over.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
            return context
                .note("plumb: every broker of the lab has ended: the run ends with what was measured");
        }
    }
}
