//! Everything, from the broker's start to the last line.

use crate::ratios;
use crate::topics::{self, Prepared};
use plumb_bench_frame::{say, tell};
use plumb_bench_peers::BenchError;
use plumb_bench_peers::broker::Broker;
use plumb_bench_peers::cache::Cache;
use plumb_bench_peers::contest::{Cell, Contest, Errand, NEXT_TO_NOTHING, Outcome, Roster};
use plumb_bench_peers::job::{Acks, Work};
use plumb_bench_peers::machine::Machine;
use plumb_bench_peers::options::Options;
use plumb_bench_peers::report::{CellReport, CellRuns};
use plumb_bench_peers::table::figure;
use plumb_bench_peers::tool::franz::{self, Franz};
use plumb_bench_peers::tool::java::{self, KafkaTool};
use plumb_bench_peers::tool::librdkafka::{RdkafkaPerformance, Variant};
use plumb_bench_peers::tool::plumb::{self, Driver, Plumb};
use plumb_bench_peers::tool::{Entry, Tool};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// Of the topic on which the broker is warmed up and starting is measured.
const SMALL_SIZE_BYTES: usize = 1_000;

/// Beside the runs themselves: starting a tool, joining a group, waiting until the broker is calm.
const BETWEEN_S: f64 = 1.5;

/// Compares.
///
/// # Errors
/// When there is no broker, no tool that fills a topic, or a result cannot be written. A tool that cannot be had or fails
/// is part of the result.
pub(crate) fn run(options: &Options) -> Result<(), BenchError> {
    let cache = Cache::of_user()?;
    let mut broker = Broker::start()?;
    let program = match &options.plumb {
        Some(program) => Ok(program.clone()),
        None => {
            tell("building plumb");
            plumb::build()
        }
    };
    tell("building librdkafka and franz-go, unless they are there");
    let roster = Roster::of(entries(&cache, &broker, &program, options), options);
    let writers = writers(&cache, &program, options);
    let machine = Machine::here();
    say(&format!("{}; {} x {}, Linux {}", broker.about(), machine.cpus, machine.model, machine.kernel))?;
    say(&roster.text(Work::Consume))?;
    let tools = &roster.tools;
    let runs = (tools.len() * options.sizes_bytes.len() * options.rounds) as f64;
    let minutes = (runs * (options.seconds + BETWEEN_S) + options.warm_up_s) / 60.0;
    tell(&format!("about {:.0} minutes, seed {}", minutes.ceil(), options.seed));

    Contest { broker: &mut broker, tools: &writers, tell: &tell }.warm_up(
        Cell { size_bytes: SMALL_SIZE_BYTES, work: Work::Produce(Acks::All) },
        topics::count(SMALL_SIZE_BYTES, 1.0),
        options.warm_up_s,
    );
    let mut prepared = Vec::new();
    for size_bytes in &options.sizes_bytes {
        let count = topics::count(*size_bytes, options.seconds);
        prepared.push(topics::prepare(&mut broker, &writers, *size_bytes, count)?);
    }
    let small = topics::prepare(&mut broker, &writers, SMALL_SIZE_BYTES, NEXT_TO_NOTHING)?;
    let outcome = contest(&mut broker, tools, &prepared, &small, options);
    let names: Vec<&'static str> = tools.iter().map(|tool| tool.name()).collect();
    let judge = |size_bytes: &usize| {
        let cell = Cell { size_bytes: *size_bytes, work: Work::Consume };
        ratios::judge(&CellRuns::of(cell, &outcome.runs), &names)
    };
    let reports: Vec<CellReport> = options.sizes_bytes.iter().map(judge).collect();
    print(&reports, &outcome, &prepared, options)?;
    if let Some(path) = &options.json {
        let tools: Vec<_> =
            tools.iter().map(|t| json!({"name": t.name(), "about": t.about(Work::Consume)})).collect();
        let document = json!({
            "schema": "plumb-bench-consume-cost/1",
            "machine": machine, "broker": broker.about(), "seed": options.seed, "seconds": options.seconds,
            "rounds": options.rounds, "tools": tools, "absent": roster.absent, "cells": reports,
            "runs": outcome.runs, "failures": outcome.failures,
        });
        fs_err::write(path, serde_json::to_vec_pretty(&document)?)?;
    }
    Ok(())
}

fn entries(
    cache: &Cache,
    broker: &Broker,
    program: &Result<PathBuf, BenchError>,
    options: &Options,
) -> Vec<Entry> {
    let plumb = |driver: Driver| match program {
        Ok(program) => Entry::of(driver.name(), Plumb::new(program, driver, options.clients)),
        Err(error) => Entry::absent(driver.name(), error),
    };
    let librdkafka = |variant: Variant| Entry::of(variant.name(), RdkafkaPerformance::new(cache, variant));
    let java = java::Variant::Consumer;
    vec![
        plumb(Driver::Wire),
        plumb(Driver::Librdkafka),
        librdkafka(Variant::AsIs),
        librdkafka(Variant::Batches),
        librdkafka(Variant::CheckedBatches),
        Entry::of(franz::NAME, Franz::new(cache)),
        Entry::of(java.name(), KafkaTool::new(broker.pid(), java)),
    ]
}

/// Plumb fills the topics, because it finds loss and disorder by the stamps that it wrote; without it anyone does.
fn writers(cache: &Cache, program: &Result<PathBuf, BenchError>, options: &Options) -> Vec<Box<dyn Tool>> {
    let mut writers: Vec<Box<dyn Tool>> = Vec::new();
    if let Ok(program) = program
        && let Ok(plumb) = Plumb::new(program, Driver::Wire, options.clients)
    {
        writers.push(Box::new(plumb));
    }
    if let Ok(librdkafka) = RdkafkaPerformance::new(cache, Variant::AsIs) {
        writers.push(Box::new(librdkafka));
    }
    writers
}

fn contest(
    broker: &mut Broker,
    tools: &[Box<dyn Tool>],
    prepared: &[Prepared],
    small: &Prepared,
    options: &Options,
) -> Outcome {
    let mut contest = Contest { broker, tools, tell: &tell };
    let (mut start_up_s, mut failures) = (HashMap::new(), Vec::new());
    let of_small = Cell { size_bytes: small.size_bytes, work: Work::Consume };
    for (number, tool) in tools.iter().enumerate() {
        let little = Errand { count: small.messages, topic: Some(&small.topic), start_up_cpu_s: None };
        match contest.start_up(tool.as_ref(), of_small, little) {
            Ok(cpu_s) => _ = start_up_s.insert(number, cpu_s),
            Err(failure) => failures.push(failure),
        }
    }
    let cells: Vec<Cell> =
        prepared.iter().map(|p| Cell { size_bytes: p.size_bytes, work: Work::Consume }).collect();
    let mut outcome = contest.run(&cells, options, |cell, tool| {
        let of_cell = prepared.iter().find(|prepared| prepared.size_bytes == cell.size_bytes)?;
        // One that failed to read next to nothing will read no more.
        let start_up_cpu_s = Some(*start_up_s.get(&tool)?);
        Some(Errand { count: of_cell.messages, topic: Some(&of_cell.topic), start_up_cpu_s })
    });
    failures.append(&mut outcome.failures);
    Outcome { failures, ..outcome }
}

fn print(
    reports: &[CellReport],
    outcome: &Outcome,
    prepared: &[Prepared],
    options: &Options,
) -> Result<(), BenchError> {
    say(&format!(
        "\nMedians of {} rounds. Every tool reads each topic whole, from the page cache, as it was written just before. msgs/s:\n\
         as the tool says, since only it knows when its first message came; ConsumerPerformance's is that after the group\n\
         was joined. CPU: of the whole process. M: a million messages, GB: 10^9 bytes of values. others: share of the\n\
         machine that other programs used. Ratios are geometric means over the rounds.",
        options.rounds
    ))?;
    for topic in prepared {
        let (messages, size) = (figure(topic.messages as f64), figure(topic.size_bytes as f64));
        let gb = figure(topic.bytes() as f64 / 1e9);
        say(&format!("{size} B values: {messages} messages, {gb} GB, written by {}", topic.writer))?;
    }
    say("")?;
    for report in reports {
        say(&report.text())?;
    }
    for failure in &outcome.failures {
        say(&format!(
            "failed: round {}, {}, {}: {}",
            failure.round, failure.cell, failure.tool, failure.why
        ))?;
    }
    Ok(())
}
