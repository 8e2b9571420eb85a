//! Ends what is under way on a lab whose every broker has ended: nobody is left to answer, and each exchange would be waited
//! for in turn. What had been measured by then is kept; the error is [`Target::check_lab`]'s.

#[cfg(doc)]
use super::target::Target;
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
    stop: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LabWatch {
    pub(super) fn begin(brokers: BrokerProcesses, context: &RunContext) -> Self {
        let (stop, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let thread = std::thread::spawn({
            let (stop, over, context) = (Arc::clone(&stop), Arc::clone(&over), context.clone());
            move || watch(&brokers, (&stop, &over), &context)
        });
        LabWatch { stop, over, thread: Some(thread) }
    }

    /// Set once what is under way is to end: no broker is left, or the user wants it.
    pub(super) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }
}

impl Drop for LabWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that is not known without it.
            let _ = thread.join();
        }
    }
}

fn watch(brokers: &BrokerProcesses, (stop, over): (&AtomicBool, &AtomicBool), context: &RunContext) {
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
