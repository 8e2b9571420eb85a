//! `plumb run`: any experiment from a scenario file.

use super::driver::use_driver;
use super::worker::use_workers;
use super::{End, carry_on_with, carry_out_with};
use crate::args::{ClusterArgs, RunArgs};
use crate::errors::UsageError;

use anyhow::Result;
use plumb_model::plan::Origin;
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, Scenario};
use plumb_model::units::Nanos;
use std::path::Path;

/// The factor by which --quick shortens.
const QUICK: u64 = 10;

pub(super) fn run(arguments: &RunArgs) -> Result<End> {
    if let Some(directory) = &arguments.resume {
        return carry_on_with(directory, &arguments.output, &arguments.workers);
    }
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let (mut scenario, mut sources) = plumb_scenario::file::read(path)?;
    if !scenario.arms.0.is_empty() {
        let place = sources.get("arms").map(|origin| format!("{origin}: ")).unwrap_or_default();
        let hint = format!("plumb trial run {}", path.display());
        return Err(
            UsageError::new(format!("{place}arms are held against each other in a trial"), hint).into()
        );
    }
    if scenario.search.is_some() {
        let place = sources.get("search").map(|origin| format!("{origin}: ")).unwrap_or_default();
        let hint = format!(
            "plumb search {}; or leave `search` out to measure the setups as they are",
            path.display()
        );
        return Err(UsageError::new(format!("{place}a search tries settings of its own"), hint).into());
    }
    if arguments.quick {
        quicken(&mut scenario, &mut sources, "--quick");
    }
    use_brokers(&arguments.cluster, &mut scenario, &mut sources)?;
    use_driver(&arguments.driver, &mut scenario, &mut sources)?;
    use_workers(&arguments.workers, &mut scenario, &mut sources);
    carry_out_with(resolve(&scenario, &sources)?, &arguments.output, &arguments.workers)
}

/// The brokers of the flags, if any, take the place of the whole cluster that the file names.
pub(super) fn use_brokers(flags: &ClusterArgs, scenario: &mut Scenario, sources: &mut Sources) -> Result<()> {
    let ClusterArgs { bootstrap, config } = flags.clone();
    if bootstrap.is_none() {
        return Ok(());
    }
    if !scenario.clusters.is_empty() {
        let names = scenario.clusters.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(UsageError::new(
            format!("--bootstrap names one cluster for all, the scenario has several (`clusters`: {names})"),
            "leave it out, and write the addresses in the scenario",
        )
        .into());
    }
    scenario.cluster = Some(ClusterWords { bootstrap, config, ..ClusterWords::default() });
    sources.retain(|path, _| path != "cluster" && !path.starts_with("cluster."));
    for (path, flag) in
        [("cluster", "--bootstrap"), ("cluster.bootstrap", "--bootstrap"), ("cluster.config", "--config")]
    {
        sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    }
    Ok(())
}

/// A tenth of each count and duration.
pub(super) fn quicken(scenario: &mut Scenario, sources: &mut Sources, flag: &str) {
    let origin = Origin::Flag { flag: flag.to_owned() };
    let mut shorten = |load: &mut LoadWords, at: String| {
        if let Some(count) = &mut load.count {
            *count = map(count, |count| (count / QUICK).max(1));
            sources.insert(format!("{at}load.count"), origin.clone());
        }
        if let Some(duration) = &mut load.duration {
            *duration = map(duration, |time| Nanos(time.0 / QUICK));
            sources.insert(format!("{at}load.duration"), origin.clone());
        }
    };
    shorten(&mut scenario.load, String::new());
    for (index, setup) in scenario.setups.iter_mut().enumerate() {
        shorten(&mut setup.load, format!("setups.{index}."));
    }
    for (name, arm) in &mut scenario.arms.0 {
        shorten(&mut arm.load, format!("arms.{name}."));
    }
}

fn map<T: Copy>(value: &OneOrMany<T>, change: impl Fn(T) -> T) -> OneOrMany<T> {
    match value {
        OneOrMany::One(value) => OneOrMany::One(change(*value)),
        OneOrMany::Many(values) => OneOrMany::Many(values.iter().map(|value| change(*value)).collect()),
    }
}
