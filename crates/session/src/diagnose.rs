//! Watches a path and finds what bounds it: beside the path's own load, or with a load of Plumb's own on a topic of its own.

pub mod confirm;

use crate::client_config;
use crate::error::Result;
use crate::observe::{ObserveSettings, observe};
use crate::run;
use crate::watcher::{Event, Watcher};
use plumb_load::librdkafka::connect::connect;
use plumb_model::fault::chain;
use plumb_model::observed::{ClientWindow, ObservedPath, Unseen};
use plumb_model::plan::{Plan, TopicPlan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What is watched, and the load meanwhile.
#[derive(Debug, Clone)]
pub struct DiagnoseSettings {
    /// What is watched.
    pub observe: ObserveSettings,
    /// A load of Plumb's own; none where the path has its own.
    pub probe_load: Option<Plan>,
}

/// Watches and judges.
///
/// # Errors
/// When the settings cannot be used, or the load of Plumb's own cannot be sent.
pub fn diagnose(
    settings: &DiagnoseSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<ObservedPath> {
    let mut path = match &settings.probe_load {
        None => observe(&settings.observe, stop, watcher)?,
        Some(plan) => under_probe_load(&settings.observe, plan.clone(), stop, watcher)?,
    };
    path.diagnosis = Some(plumb_judge::diagnosis::diagnose(&path));
    Ok(path)
}

/// Runs the load beside the watching, in a directory that is not kept.
fn under_probe_load(
    settings: &ObserveSettings,
    mut plan: Plan,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<ObservedPath> {
    spread(&mut plan, settings, stop)?;
    run::check(&plan)?;
    let directory = tempfile::tempdir().map_err(crate::run_dir::RunDirError::Write)?;
    let load_stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let load = scope.spawn(|| {
            let silent: Arc<dyn Watcher> = Arc::new(Silent);
            run::run(plan, Some(&directory.path().join("load")), &load_stop, &silent)
        });
        let path = observe(settings, stop, watcher);
        load_stop.store(true, Ordering::Relaxed);
        let load = load.join();
        let mut path = path?;
        match load {
            Ok(Ok(finished)) => {
                path.clients.extend(finished.document.steps.iter().flat_map(ClientWindow::from_step));
            }
            Ok(Err(error)) => path.unseen.push(Unseen {
                what: "what a client of Plumb's own waits for".to_owned(),
                reason: chain(&error).join(": "),
                hint: None,
            }),
            Err(_) => path.unseen.push(Unseen {
                what: "what a client of Plumb's own waits for".to_owned(),
                reason: "the load ended by a fault of Plumb".to_owned(),
                hint: None,
            }),
        }
        Ok(path)
    })
}

/// Replicas of a topic that matters, where there are as many brokers.
const REPLICAS: usize = 3;

/// Gives the load's topic replicas, for with one alone nobody would wait for followers, and a partition for each broker, so that it sees all of them.
fn spread(plan: &mut Plan, settings: &ObserveSettings, stop: &Arc<AtomicBool>) -> Result<()> {
    let Some(bootstrap) = &settings.bootstrap else { return Ok(()) };
    let config = client_config::read(settings.config.as_deref())?;
    let brokers = connect(bootstrap, &config.properties, stop)?.brokers.len();
    for step in &mut plan.steps {
        if let TopicPlan::Own { partitions, replication, .. } = &mut step.topic {
            *partitions = (*partitions).max(brokers as u32);
            *replication = brokers.clamp(1, REPLICAS) as u32;
        }
    }
    Ok(())
}

/// Tells nobody: the load is a part of the watching.
struct Silent;

impl Watcher for Silent {
    fn event(&self, _: &Event<'_>) {}
}
