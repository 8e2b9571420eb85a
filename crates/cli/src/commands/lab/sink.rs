//! `plumb lab sink`: the broker that the instrument is tested with, for other programs' clients.

use crate::args::{LabSinkArgs, OutputFormat};
use crate::commands::End;
use crate::errors::UsageError;
use crate::{printer, stop};
use anyhow::Result;
use plumb_lab::sink::{Apis, Delay, Keep, Records, SinkBroker, SinkOptions, Stats};
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks if the user stops it.
const LOOKED_EVERY: Duration = Duration::from_millis(50);

pub(super) fn sink(arguments: &LabSinkArgs) -> Result<End> {
    let faults = [("--drop-every", arguments.drop_every), ("--duplicate-every", arguments.duplicate_every)];
    let fault = faults.into_iter().find(|(_, every)| every.is_some());
    if let (Some((flag, _)), None) = (fault, &arguments.topic) {
        let hint = format!("name the topic whose records it is about: --topic NAME {flag} N");
        return Err(UsageError::new(
            format!("{flag} counts the records of a topic, and none is named"),
            hint,
        )
        .into());
    }
    let stop = stop::flag()?;
    let sink = SinkBroker::start(SinkOptions {
        port: arguments.port.unwrap_or(0),
        keep: match arguments.keep.0 {
            0 => Keep::Nothing,
            bytes => Keep::Last(usize::try_from(bytes).unwrap_or(usize::MAX)),
        },
        partitions: arguments.partitions,
        ..SinkOptions::default()
    })?;
    misbehave(&sink, arguments)?;
    // Where the counts are for a program, so is standard output.
    match arguments.output {
        OutputFormat::Json | OutputFormat::Csv => printer::note(&format!("bootstrap {}", sink.bootstrap())),
        OutputFormat::Text => printer::out(&format!("bootstrap   {}\n", sink.bootstrap())),
    }
    printer::remark("Ctrl-C ends it and shows what it got.");
    let until = arguments.duration.map(|duration| Instant::now() + Duration::from_nanos(duration.0));
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        thread::sleep(LOOKED_EVERY);
    }
    show(&sink.control().stats(), arguments.output)?;
    Ok(End::Done)
}

fn misbehave(sink: &SinkBroker, arguments: &LabSinkArgs) -> Result<()> {
    let control = sink.control();
    if let Some(delay) = arguments.delay {
        control.delay_answers(Apis::data(), Delay::Constant(Duration::from_nanos(delay.0)));
    }
    let Some(topic) = &arguments.topic else { return Ok(()) };
    control.create_topic(topic, arguments.partitions, &HashMap::new())?;
    if let Some(every) = arguments.drop_every {
        control.drop_records(Records::every(topic, every));
    }
    if let Some(every) = arguments.duplicate_every {
        control.duplicate_records(Records::every(topic, every));
    }
    Ok(())
}

/// A row for each partition that got anything or was made.
fn show(stats: &Stats, format: OutputFormat) -> Result<()> {
    if format == OutputFormat::Json {
        let partitions = stats.partitions.iter().map(|((topic, partition), it)| {
            json!({
                "topic": topic, "partition": partition, "arrived": it.arrived, "repeated": it.repeated,
                "stored": it.stored, "dropped": it.dropped, "duplicated": it.duplicated,
                "batches": it.batches, "batches_refused": it.batches_refused,
                "log_start": it.log_start, "log_end": it.log_end,
            })
        });
        let clients: Vec<&String> = stats.client_ids.iter().collect();
        let all = json!({
            "connections": stats.connections.opened, "cut_off": stats.connections.cut_off,
            "client_ids": clients, "partitions": partitions.collect::<Vec<_>>(),
        });
        printer::out(&format!("{}\n", serde_json::to_string_pretty(&all)?));
        return Ok(());
    }
    let separator = if format == OutputFormat::Csv { "," } else { "  " };
    let topics =
        stats.partitions.keys().map(|(topic, _)| topic.chars().count()).chain([5]).max().unwrap_or(5);
    let line = |cells: [&str; 8]| {
        let text = cells.iter().enumerate().map(|(column, cell)| match (format, column) {
            (OutputFormat::Csv, _) => (*cell).to_owned(),
            (_, 0) => format!("{cell:<topics$}"),
            _ => format!("{cell:>10}"),
        });
        printer::out(&format!("{}\n", text.collect::<Vec<_>>().join(separator)));
    };
    line(["topic", "partition", "arrived", "stored", "dropped", "duplicated", "batches", "log end"]);
    for ((topic, partition), it) in &stats.partitions {
        let numbers = [
            u64::from(partition.unsigned_abs()),
            it.arrived,
            it.stored,
            it.dropped,
            it.duplicated,
            it.batches,
        ];
        let [partition, arrived, stored, dropped, duplicated, batches] =
            numbers.map(|number| number.to_string());
        let end = it.log_end.to_string();
        line([topic, &partition, &arrived, &stored, &dropped, &duplicated, &batches, &end]);
    }
    if stats.partitions.is_empty() {
        printer::remark("No client asked for a topic.");
    }
    Ok(())
}
