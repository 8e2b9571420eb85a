//! The flags of `plumb trial fleet` as a request for figures and a question to them.

use crate::args::trial::{FleetArgs, GoodWord, IntervalWord, Sampled, StratumWord};
use crate::errors::UsageError;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_fleet::{
    FleetColumns, FleetFiles, FleetGroups, FleetInterval, FleetRequest, FleetSource, FleetWindow, GroupNames,
    PrometheusSource, Sampling,
};
use plumb_judge::fleet::{FleetQuestion, Stratum, SurgeTime};
use plumb_model::fleet::{FleetTable, SampleKind};
use plumb_model::trial::Good;

/// Seed of the permutations: any will do, as long as it stays.
const SEED: u64 = 1;

const DAY_S: u64 = 86_400;

const TIMES: &str = "write it as 2026-03-01T10:00:00Z, 2026-03-01T10:00:00+01:00, \"2026-03-01 10:00\" or 2026-03-01 (in --time-zone), or \
                     in seconds since 1970";

/// The zone in which days begin.
pub(super) fn zone(arguments: &FleetArgs) -> Result<TimeZone, UsageError> {
    TimeZone::get(&arguments.time_zone).map_err(|_| {
        let message = format!("--time-zone {:?} is not known", arguments.time_zone);
        UsageError::new(message, "names are those of the IANA database, such as Europe/Berlin or UTC")
    })
}

fn moment(flag: &str, text: &str, zone: &TimeZone) -> Result<Timestamp, UsageError> {
    let ms = plumb_fleet::instant(text, zone);
    ms.and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .ok_or_else(|| UsageError::new(format!("{flag} {text:?} is no time"), TIMES))
}

fn optional(flag: &str, text: Option<&str>, zone: &TimeZone) -> Result<Option<Timestamp>, UsageError> {
    text.map(|text| moment(flag, text, zone)).transpose()
}

/// The question to the table.
pub(super) fn question(arguments: &FleetArgs, zone: &TimeZone) -> Result<FleetQuestion, UsageError> {
    let change = arguments.change.as_deref().unwrap_or_default();
    let metric = metric(arguments)?;
    let margin = arguments.margin.0;
    if !(0.0..1.0).contains(&margin) {
        let message = format!("--margin {margin} is no margin");
        return Err(UsageError::new(message, "expected 0% to 99%, such as 3%"));
    }
    Ok(FleetQuestion {
        metric: metric.name.clone(),
        metric_kind: sampling(arguments, metric).kind(),
        load: arguments.load.as_ref().map(|load| load.name.clone()),
        good: match arguments.good {
            GoodWord::Lower => Good::Lower,
            GoodWord::Higher => Good::Higher,
        },
        changed_at_s: moment("--change", change, zone)?.as_second(),
        interval_s: match arguments.interval {
            IntervalWord::Days => DAY_S,
            IntervalWord::Seconds(seconds) => u64::from(seconds),
        },
        margin,
        level: arguments.level,
        strata: arguments
            .strata
            .iter()
            .map(|word| match word {
                StratumWord::Site => Stratum::Site,
                StratumWord::Hardware => Stratum::Hardware,
            })
            .collect(),
        surge: surge(arguments, zone)?,
        fleet_servers: arguments.fleet_size,
        seed: arguments.seed.unwrap_or(SEED),
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

fn metric(arguments: &FleetArgs) -> Result<&Sampled, UsageError> {
    arguments.metric.as_ref().ok_or_else(|| {
        UsageError::new(
            "--metric is missing",
            "name the metric's column: --metric drops, or --metric p99_ms:level",
        )
    })
}

/// The kind of a sample where no flag gives it: events since the last one in files, counters on servers.
fn sampling(arguments: &FleetArgs, of: &Sampled) -> Sampling {
    let usual = if arguments.prometheus.is_some() { SampleKind::Counter } else { SampleKind::Increments };
    of.kind.map_or(Sampling::Usual(usual), Sampling::Stated)
}

fn surge(arguments: &FleetArgs, zone: &TimeZone) -> Result<Option<SurgeTime>, UsageError> {
    let Some(text) = &arguments.surge else { return Ok(None) };
    let Some((from, until)) = text.split_once('/') else {
        let message = format!("--surge {text:?} has no end");
        return Err(UsageError::new(message, "write FROM/UNTIL, or FROM/ for one that went on to the end"));
    };
    let from_s = moment("--surge", from, zone)?.as_second();
    let until_s =
        optional("--surge", (!until.is_empty()).then_some(until), zone)?.map(|until| until.as_second());
    if until_s.is_some_and(|until_s| until_s <= from_s) {
        let message = format!("--surge {text:?} ends before it begins");
        return Err(UsageError::new(message, "write FROM/UNTIL, the earlier time first"));
    }
    Ok(Some(SurgeTime { from_s, until_s }))
}

/// The request for the table's figures.
pub(super) fn request(arguments: &FleetArgs, zone: &TimeZone) -> Result<FleetRequest, UsageError> {
    let names = GroupNames { control: arguments.control.clone(), test: arguments.test.clone() };
    let named = arguments.group_column.as_ref().or(arguments.group_label.as_ref());
    let groups = match (&arguments.groups, named) {
        (Some(path), _) => FleetGroups::File { path: path.clone(), names },
        (None, Some(_)) => FleetGroups::Source { names },
        (None, None) if arguments.assign.is_some() => FleetGroups::None,
        (None, None) => {
            return Err(UsageError::new(
                "nothing says which server is in which group",
                "give --groups FILE (a CSV with server,group), --group-column NAME or --group-label NAME; --assign draws groups",
            ));
        }
    };
    let metric = metric(arguments)?;
    load_is_another(arguments, metric)?;
    // Without a load nothing is read of one.
    let load_kind = arguments
        .load
        .as_ref()
        .map_or(Sampling::Stated(SampleKind::Increments), |load| sampling(arguments, load));
    Ok(FleetRequest {
        source: source(arguments, metric),
        groups,
        window: FleetWindow {
            changed_at: optional("--change", arguments.change.as_deref(), zone)?,
            interval: match arguments.interval {
                IntervalWord::Days => FleetInterval::Days,
                IntervalWord::Seconds(seconds) => FleetInterval::Seconds(seconds),
            },
            zone: zone.clone(),
            from: optional("--from", arguments.from.as_deref(), zone)?,
            until: optional("--until", arguments.until.as_deref(), zone)?,
        },
        metric_kind: sampling(arguments, metric),
        load_kind,
        step_s: arguments.step.map(|step| step.as_secs_f64()),
    })
}

/// A metric at equal metric never changes.
fn load_is_another(arguments: &FleetArgs, metric: &Sampled) -> Result<(), UsageError> {
    let Some(load) = &arguments.load else { return Ok(()) };
    // Blanks in a selector say nothing.
    let bare = |name: &str| name.split_whitespace().collect::<String>();
    let same = match arguments.prometheus {
        Some(_) => bare(&metric.name) == bare(&load.name),
        None => metric.name == load.name,
    };
    if !same {
        return Ok(());
    }
    let message = format!("--load {:?} is the metric itself", load.name);
    Err(UsageError::new(
        message,
        "at equal load it would never change: name what the servers had to do, such as packets or requests, or leave --load out",
    ))
}

fn source(arguments: &FleetArgs, metric: &Sampled) -> FleetSource {
    let load = arguments.load.as_ref().map(|load| load.name.clone());
    let Some(url) = &arguments.prometheus else {
        return FleetSource::Files(FleetFiles {
            paths: arguments.data.clone(),
            columns: FleetColumns {
                server: arguments.server_column.clone(),
                part: arguments.part_column.clone(),
                time: arguments.time_column.clone(),
                metric: metric.name.clone(),
                load,
                group: arguments.group_column.clone(),
                site: arguments.site_column.clone(),
                hardware: arguments.hardware_column.clone(),
            },
        });
    };
    FleetSource::Prometheus(PrometheusSource {
        url: url.clone(),
        metric: metric.name.clone(),
        load,
        server_label: arguments.server_label.clone(),
        group_label: arguments.group_label.clone(),
        site_label: arguments.site_label.clone(),
        hardware_label: arguments.hardware_label.clone(),
        config: arguments.prometheus_config.clone(),
        authorities: arguments.prometheus_ca.clone(),
        timeout_s: arguments.prometheus_timeout.0.div_ceil(1_000_000_000),
        accept_warnings: arguments.accept_warnings,
    })
}

/// Strata that nobody knows would be one stratum in silence.
pub(super) fn strata_are_there(arguments: &FleetArgs, table: &FleetTable) -> Result<(), UsageError> {
    for word in &arguments.strata {
        let (name, known) = match word {
            StratumWord::Site => ("site", table.servers.iter().any(|server| !server.site.is_empty())),
            StratumWord::Hardware => {
                ("hardware", table.servers.iter().any(|server| !server.hardware.is_empty()))
            }
        };
        if !known {
            let message = format!("--strata {name}: no server's {name} is known");
            let hint =
                format!("give --{name}-column or --{name}-label NAME, or a column {name} in the groups file");
            return Err(UsageError::new(message, hint));
        }
    }
    Ok(())
}
