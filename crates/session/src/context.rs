//! The surroundings that every part of a session needs.

use crate::watcher::{Event, Watcher};
use crate::workers::WorkerCrew;
use plumb_load::remote::LostWorker;
use plumb_model::plan::Properties;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The connection settings, the flag to stop, and the watcher of a run.
#[derive(Clone)]
pub(crate) struct RunContext {
    /// Client properties that say how to connect.
    pub(crate) security: Properties,
    /// Set once the user wants the run to end.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) watcher: Arc<dyn Watcher>,
    /// The workers that run the clients, where any do.
    pub(crate) workers: Option<Arc<WorkerCrew>>,
    /// The worker that was lost: the run ends before its time.
    lost_worker: Arc<OnceLock<LostWorker>>,
}

impl RunContext {
    pub(crate) fn new(security: Properties, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Self {
        RunContext {
            security,
            stop: Arc::clone(stop),
            watcher: Arc::clone(watcher),
            workers: None,
            lost_worker: Arc::default(),
        }
    }

    /// A worker was lost. The first one counts.
    pub(crate) fn lose(&self, lost: LostWorker) {
        // One that is known already is the cause.
        let _ = self.lost_worker.set(lost);
    }

    /// The worker that was lost.
    pub(crate) fn lost_worker(&self) -> Option<&LostWorker> {
        self.lost_worker.get()
    }

    /// The run ends before its time: the user wants it, or a worker was lost.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.lost_worker.get().is_some()
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        self.watcher.event(event);
    }

    /// Says what is done from now on.
    pub(crate) fn phase(&self, what: &str) {
        self.tell(&Event::Phase(what));
    }

    /// Says what the user has to know.
    pub(crate) fn note(&self, what: &str) {
        self.tell(&Event::Note(what));
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunContext").field("stop", &self.stop).finish_non_exhaustive()
    }
}
