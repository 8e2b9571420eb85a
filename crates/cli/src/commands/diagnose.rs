//! `plumb diagnose`: watches a running path, names what bounds it, and proves it where asked.

use super::End;
use super::watched::{settings, show_watched};
use crate::args::observe::DiagnoseArgs;
use crate::errors::UsageError;
use crate::{printer, progress, stop};
use anyhow::Result;
use plumb_model::observed::ObservedPath;
use plumb_model::plan::{Origin, Plan, SizePlan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ClusterWords, LoadWords, OneOrMany, RateWords, Scalar, Scenario, SetupWords, SizeWords,
};
use plumb_model::units::Nanos;
use plumb_session::diagnose::{DiagnoseSettings, confirm, diagnose as watch};
use plumb_session::observe::ObserveSettings;
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) fn diagnose(arguments: &DiagnoseArgs) -> Result<End> {
    // Asked at the end, it must be possible to ask: a window's work would be lost otherwise.
    if arguments.confirm && !arguments.yes && !std::io::stdin().is_terminal() {
        let message = "--confirm asks before it does anything, and there is no terminal to ask";
        return Err(UsageError::new(message, "add --yes where nobody can be asked").into());
    }
    // The flags with which a broker's Java encrypts are known by attaching to it.
    let calibrate = !arguments.watch.no_attach;
    let observe = ObserveSettings { calibrate, ..settings(&arguments.watch, &arguments.result)? };
    let probe_load = arguments.probe_load.then(|| probe_load(arguments)).transpose()?;
    let stop = stop::flag()?;
    let mut path = watch(&DiagnoseSettings { observe, probe_load }, &stop, &progress::watcher())?;
    if arguments.confirm && path.complete {
        confirm_causes(&mut path, arguments, &stop)?;
    }
    show_watched(&path, &arguments.watch, &arguments.result)
}

/// A load on a topic of Plumb's own for as long as the path is watched.
fn probe_load(arguments: &DiagnoseArgs) -> Result<Plan> {
    let scenario = Scenario {
        name: Some("probe load".to_owned()),
        cluster: Some(cluster(arguments)),
        blocks: Some(1),
        load: load(arguments, arguments.watch.duration),
        setups: vec![SetupWords {
            name: Some("probe load".to_owned()),
            producer: BTreeMap::from([("acks".to_owned(), OneOrMany::One(Scalar("all".to_owned())))]),
            ..SetupWords::default()
        }],
        ..Scenario::default()
    };
    Ok(resolve(&scenario, &sources())?)
}

fn cluster(arguments: &DiagnoseArgs) -> ClusterWords {
    ClusterWords {
        bootstrap: arguments.watch.bootstrap.clone(),
        config: arguments.watch.config.clone(),
        ..ClusterWords::default()
    }
}

fn load(arguments: &DiagnoseArgs, duration: Nanos) -> LoadWords {
    LoadWords {
        rate: Some(OneOrMany::One(RateWords::PerSecond(arguments.rate))),
        size: Some(OneOrMany::One(SizeWords(SizePlan::Fixed(arguments.size)))),
        duration: Some(OneOrMany::One(duration)),
        warm_up: Some(Nanos::from_secs(1)),
        producers: Some(OneOrMany::One(1)),
        consumers: Some(OneOrMany::One(1)),
        ..LoadWords::default()
    }
}

fn sources() -> Sources {
    let flag = |path: &str, flag: &str| (path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    [
        flag("cluster", "--bootstrap"),
        flag("cluster.bootstrap", "--bootstrap"),
        flag("cluster.config", "--config"),
        flag("load.rate", "--rate"),
        flag("load.size", "--size"),
        flag("load.duration", "--duration"),
    ]
    .into_iter()
    .collect()
}

/// Lists what would be done, asks, and does it.
fn confirm_causes(path: &mut ObservedPath, arguments: &DiagnoseArgs, stop: &Arc<AtomicBool>) -> Result<()> {
    let load = load(arguments, confirm::DURATION);
    let trials = confirm::trials(path, &cluster(arguments), &load);
    if trials.is_empty() {
        printer::note(
            "nothing to confirm: of no cause that was found is there a setting that the watched path told and that can be tried on a topic of Plumb's own",
        );
        return Ok(());
    }
    printer::note(
        "to confirm what was found, on topics that Plumb makes and deletes (no topic or setting of yours is touched):",
    );
    for trial in &trials {
        printer::note(&format!("  {}", trial.words()));
    }
    if !arguments.yes && !is_allowed()? {
        printer::note("not confirmed: nobody said yes");
        return Ok(());
    }
    confirm::confirm(path, &trials, &sources(), stop, &progress::watcher());
    Ok(())
}

fn is_allowed() -> Result<bool> {
    printer::note("go on? [y/N]");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
