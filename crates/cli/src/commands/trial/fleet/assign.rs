//! `plumb trial fleet --assign N`: groups drawn at random from an inventory.

use super::{GROUPS, Read, read, refuse_taken, request};
use crate::args::trial::{FleetArgs, FleetOutput};
use crate::commands::End;
use crate::errors::UsageError;
use crate::{printer, stop, whole_file};
use anyhow::{Context, Result};
use jiff::Timestamp;
use plumb_judge::fleet::assign::{AssignError, Assignment, BaselineMeans, assign as draw};
use plumb_model::fleet::FleetServer;
use plumb_report::fleet::groups::{Row, render};
use plumb_report::sheet::{self, Column, Section, Sheet};
use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

pub(super) fn assign(arguments: &FleetArgs, servers: usize) -> Result<End> {
    let path = arguments.inventory.as_deref().unwrap_or(Path::new(""));
    if let Some(directory) = &arguments.out {
        refuse_taken(directory)?;
    }
    let inventory = inventory(path)?;
    let Some(baselines) = baselines(arguments, &inventory)? else { return Ok(End::Interrupted) };
    // Two trials must not have the same groups: the effects of the first would be in the second.
    let seed =
        arguments.seed.unwrap_or_else(|| Timestamp::now().as_microsecond().unsigned_abs() % 1_000_000_007);
    let drawn = draw(&inventory, &baselines, servers, seed).map_err(|error| usage(&error))?;
    let groups = render(drawn.servers.iter().map(|it| Row {
        server: &it.name,
        group: it.group,
        site: &it.site,
        hardware: &it.hardware,
        pair: it.pair,
        seed,
    }));
    let table = sheet::text::render(&sheet(&drawn, arguments), printer::style());
    if let (Some(weakness), FleetOutput::Json) = (&drawn.weakness, arguments.output) {
        printer::note(weakness);
    }
    match (&arguments.out, arguments.output) {
        (None, FleetOutput::Text) => {
            // The groups may go into a file: what is for a person stays out of it.
            printer::out(&groups);
            table.lines().for_each(printer::note);
        }
        (Some(_), FleetOutput::Text) => printer::out(&table),
        (_, FleetOutput::Json) => {
            printer::out(&format!("{}\n", serde_json::to_string_pretty(&json(&drawn))?))
        }
    }
    if let Some(directory) = &arguments.out {
        fs_err::create_dir_all(directory).context("cannot make the directory of --out")?;
        let file = directory.join(GROUPS);
        whole_file::write(&file, &groups)?;
        printer::note(&format!("groups: {}", file.display()));
    }
    Ok(End::Done)
}

fn usage(error: &AssignError) -> UsageError {
    let hint = match error {
        AssignError::TooMany { .. } => {
            "ask for fewer, or leave out the column of the inventory that parts it most".to_owned()
        }
        AssignError::TooFew { .. } => {
            "the report of a trial has the numbers that show a given ratio".to_owned()
        }
    };
    UsageError::new(error.to_string(), hint)
}

/// The servers, by name; a name twice is an error, as it would be in both groups.
fn inventory(path: &Path) -> Result<Vec<FleetServer>> {
    let mut file = BufReader::new(fs_err::File::open(path)?.into_parts().0);
    let delimiter = plumb_fleet::delimiter(path, &mut file)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(file);
    let unreadable = |error: csv::Error| {
        UsageError::new(
            format!("{} is no CSV: {error}", path.display()),
            "expected the columns server, site, hardware",
        )
    };
    let header = reader.headers().map_err(unreadable)?.clone();
    let place = |name: &str| {
        header.iter().position(|head| head.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name))
    };
    let Some(server) = place("server") else {
        let heads = header.iter().collect::<Vec<_>>().join(", ");
        let message = format!("{} has no column \"server\"; it has {heads}", path.display());
        return Err(UsageError::new(
            message,
            "expected the columns server and, if there are any, site and hardware",
        )
        .into());
    };
    let (site, hardware) = (place("site"), place("hardware"));
    let mut lines = HashMap::<String, u64>::new();
    let mut servers = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |place: Option<usize>| place.and_then(|place| record.get(place)).unwrap_or("").to_owned();
        let name = cell(Some(server));
        if name.is_empty() {
            let message = format!("{}:{line} has no server", path.display());
            return Err(UsageError::new(message, "every row names one").into());
        }
        if let Some(first) = lines.insert(name.clone(), line) {
            let message = format!("{}:{line} has {name:?}, which line {first} has already", path.display());
            return Err(UsageError::new(
                message,
                "a server can be in one group only: leave one of the rows out",
            )
            .into());
        }
        servers.push(FleetServer {
            name,
            site: cell(site),
            hardware: cell(hardware),
            ..FleetServer::default()
        });
    }
    // The same inventory in another order gives the same groups.
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(servers)
}

/// Each server's mean of the metric so far; empty without --data, none when the user ended it.
fn baselines(arguments: &FleetArgs, inventory: &[FleetServer]) -> Result<Option<Vec<Option<f64>>>> {
    if arguments.data.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let zone = request::zone(arguments)?;
    let request = request::request(arguments, &zone)?;
    let stop = stop::flag()?;
    let Read::Table(table) = read(&request, &stop)? else { return Ok(None) };
    let mean = |server: &FleetServer| {
        let known: Vec<f64> =
            server.metric.iter().flatten().copied().filter(|value| value.is_finite()).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let means: HashMap<&str, f64> =
        table.servers.iter().filter_map(|server| Some((server.name.as_str(), mean(server)?))).collect();
    let found: Vec<Option<f64>> =
        inventory.iter().map(|server| means.get(server.name.as_str()).copied()).collect();
    let without = found.iter().filter(|mean| mean.is_none()).count();
    if without == found.len() {
        let message = "no server of the inventory has figures in --data".to_owned();
        return Err(UsageError::new(message, "the names have to be the same in both").into());
    }
    if without > 0 {
        printer::note(&format!(
            "{without} servers of the inventory have no figures; they are balanced by kind only"
        ));
    }
    Ok(Some(found))
}

/// The sheet that shows how alike the groups are.
fn sheet(drawn: &Assignment, arguments: &FleetArgs) -> Sheet {
    let each = drawn.servers.len() / 2;
    let how = if drawn.paired {
        "matched in pairs, the coin decides which of two"
    } else {
        "drawn at random within each kind"
    };
    let kinds = drawn.kinds.iter().map(|kind| {
        let each = kind.each.to_string();
        let or_any = |word: &str| if word.is_empty() { "any".to_owned() } else { word.to_owned() };
        vec![or_any(&kind.site), or_any(&kind.hardware), kind.servers.to_string(), each.clone(), each]
    });
    let columns = [
        Column::text("site"),
        Column::text("hardware"),
        Column::number("inventory"),
        Column::number("control"),
        Column::number("test"),
    ];
    let mut sections = vec![Section::table("Balance", "servers of each kind", columns, kinds.collect())];
    if let (Some(BaselineMeans { control, test }), Some(metric)) = (drawn.baseline_means, &arguments.metric) {
        let mean = plumb_model::figure::short;
        let sentence = format!(
            "{} so far, mean of a server and interval: control {}, test {}.",
            metric.name,
            mean(control),
            mean(test)
        );
        sections.push(Section::sentences("Metric before", "", vec![sentence]));
    }
    if let Some(weakness) = &drawn.weakness {
        sections.push(Section::sentences("Few", "", vec![weakness.clone()]));
    }
    Sheet {
        title: format!("{each} servers for each group, {how}; seed {} draws the same again", drawn.seed),
        sections,
        ..Sheet::default()
    }
}

fn json(drawn: &Assignment) -> serde_json::Value {
    serde_json::json!({
        "seed": drawn.seed,
        "paired": drawn.paired,
        "weakness": drawn.weakness,
        "baseline_mean": drawn.baseline_means.map(|means| serde_json::json!({"control": means.control, "test": means.test})),
        "servers": drawn.servers.iter().map(|it| serde_json::json!({
            "server": it.name, "group": it.group.name(), "site": it.site, "hardware": it.hardware, "pair": it.pair,
        })).collect::<Vec<_>>(),
        "kinds": drawn.kinds.iter().map(|kind| serde_json::json!({
            "site": kind.site, "hardware": kind.hardware, "inventory": kind.servers, "control": kind.each, "test": kind.each,
        })).collect::<Vec<_>>(),
    })
}
