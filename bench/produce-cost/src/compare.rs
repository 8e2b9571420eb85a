//! Everything, from the broker's start to the last line.

use crate::floor::{self, Floor};
use crate::goals;
use plumb_bench_frame::{say, tell};
use plumb_bench_peers::BenchError;
use plumb_bench_peers::broker::Broker;
use plumb_bench_peers::cache::Cache;
use plumb_bench_peers::contest::{Cell, Contest, Errand, NEXT_TO_NOTHING, Outcome, Roster};
use plumb_bench_peers::job::{Acks, Work};
use plumb_bench_peers::machine::Machine;
use plumb_bench_peers::options::Options;
use plumb_bench_peers::report::{CellReport, CellRuns};
use plumb_bench_peers::tool::franz::{self, Franz};
use plumb_bench_peers::tool::java::{self, KafkaTool};
use plumb_bench_peers::tool::librdkafka::{self, RdkafkaPerformance};
use plumb_bench_peers::tool::plumb::{self, Driver, Plumb};
use plumb_bench_peers::tool::{Entry, Tool};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;

/// Bytes of values of the first try to find out how many messages a run needs.
const FIRST_BYTES: usize = 100_000_000;

/// With these the broker is warmed up.
const WARM_UP_SIZE_BYTES: usize = 1_000;

/// Beside the runs themselves: making a topic, starting a tool, waiting until the broker is calm.
const BETWEEN_S: f64 = 1.5;

/// Compares.
///
/// # Errors
/// When there is no broker, or a result cannot be written. A tool that cannot be had or fails is part of the result.
pub(crate) fn run(options: &Options) -> Result<(), BenchError> {
    let cache = Cache::of_user()?;
    let mut broker = Broker::start()?;
    let roster = Roster::of(entries(&cache, &broker, options), options);
    let machine = Machine::here();
    say(&format!("{}; {} x {}, Linux {}", broker.about(), machine.cpus, machine.model, machine.kernel))?;
    say(&roster.text(Work::Produce(Acks::All)))?;
    let tools = &roster.tools;
    let cells = cells(options);
    let runs = (tools.len() * cells.len() * options.rounds) as f64;
    let minutes = (runs * (options.seconds + BETWEEN_S) + options.warm_up_s) / 60.0;
    tell(&format!("about {:.0} minutes, seed {}", minutes.ceil(), options.seed));

    let outcome = contest(&mut broker, tools, &cells, options);
    let floor = floor::measure()?;
    let names: Vec<&'static str> = tools.iter().map(|tool| tool.name()).collect();
    let reports: Vec<CellReport> =
        cells.iter().map(|cell| goals::judge(&CellRuns::of(*cell, &outcome.runs), &names)).collect();
    print(&reports, &outcome, &floor, options)?;
    if let Some(path) = &options.json {
        let tools: Vec<_> = tools
            .iter()
            .map(|t| json!({"name": t.name(), "about": t.about(Work::Produce(Acks::All))}))
            .collect();
        let document = json!({
            "schema": "plumb-bench-produce-cost/1",
            "machine": machine, "broker": broker.about(), "seed": options.seed, "seconds": options.seconds,
            "rounds": options.rounds, "tools": tools, "absent": roster.absent, "cells": reports, "floor": floor,
            "runs": outcome.runs, "failures": outcome.failures,
        });
        write(path, &document)?;
    }
    Ok(())
}

fn entries(cache: &Cache, broker: &Broker, options: &Options) -> Vec<Entry> {
    let program = match &options.plumb {
        Some(program) => Ok(program.clone()),
        None => {
            tell("building plumb");
            plumb::build()
        }
    };
    let plumb = |driver: Driver| match &program {
        Ok(program) => Entry::of(driver.name(), Plumb::new(program, driver, options.clients)),
        Err(error) => Entry::absent(driver.name(), error),
    };
    let java = |variant: java::Variant| Entry::of(variant.name(), KafkaTool::new(broker.pid(), variant));
    tell("building librdkafka and franz-go, unless they are there");
    let librdkafka = librdkafka::Variant::AsIs;
    vec![
        plumb(Driver::Wire),
        plumb(Driver::Librdkafka),
        Entry::of(librdkafka.name(), RdkafkaPerformance::new(cache, librdkafka)),
        Entry::of(franz::NAME, Franz::new(cache)),
        java(java::Variant::TunedPayloadFile),
        java(java::Variant::Tuned),
        java(java::Variant::Producer),
    ]
}

fn cells(options: &Options) -> Vec<Cell> {
    let of_size = |size_bytes: &usize| {
        let size_bytes = *size_bytes;
        options.acks.iter().map(move |acks| Cell { size_bytes, work: Work::Produce(*acks) })
    };
    options.sizes_bytes.iter().flat_map(of_size).collect()
}

fn contest(broker: &mut Broker, tools: &[Box<dyn Tool>], cells: &[Cell], options: &Options) -> Outcome {
    let Some(first) = cells.first() else { return Outcome::default() };
    let mut contest = Contest { broker, tools, tell: &tell };
    let warm_up = Cell { size_bytes: WARM_UP_SIZE_BYTES, work: first.work };
    contest.warm_up(warm_up, (FIRST_BYTES * 5 / WARM_UP_SIZE_BYTES) as u64, options.warm_up_s);
    // As many messages whatever the acks, which cost next to nothing on one broker.
    let (mut counts, mut start_up_s, mut failures) = (HashMap::new(), HashMap::new(), Vec::new());
    for (number, tool) in tools.iter().enumerate() {
        let little = Errand { count: NEXT_TO_NOTHING, topic: None, start_up_cpu_s: None };
        match contest.start_up(tool.as_ref(), warm_up, little) {
            Ok(cpu_s) => _ = start_up_s.insert(number, cpu_s),
            Err(failure) => failures.push(failure),
        }
    }
    for size_bytes in &options.sizes_bytes {
        let cell = Cell { size_bytes: *size_bytes, work: first.work };
        for (number, tool) in tools.iter().enumerate() {
            // One that failed to move next to nothing will move no more.
            if !start_up_s.contains_key(&number) {
                continue;
            }
            let first = (FIRST_BYTES / size_bytes) as u64;
            match contest.count(tool.as_ref(), cell, first, options.seconds) {
                Ok(count) => _ = counts.insert((*size_bytes, number), count),
                Err(failure) => failures.push(failure),
            }
        }
    }
    let errand = |cell: Cell, tool| {
        let count = *counts.get(&(cell.size_bytes, tool))?;
        Some(Errand { count, topic: None, start_up_cpu_s: start_up_s.get(&tool).copied() })
    };
    let mut outcome = contest.run(cells, options, errand);
    failures.append(&mut outcome.failures);
    Outcome { failures, ..outcome }
}

fn print(
    reports: &[CellReport],
    outcome: &Outcome,
    floor: &Floor,
    options: &Options,
) -> Result<(), BenchError> {
    say(&format!(
        "\nMedians of {} rounds of about {} s. msgs/s: as the broker saw them come, over the middle 98 %. CPU: of the whole\n\
         process, for messages that the broker has. M: a million messages, GB: 10^9 bytes of values. others: share of\n\
         the machine that other programs used. Ratios are geometric means over the rounds.\n",
        options.rounds, options.seconds
    ))?;
    for report in reports {
        say(&report.text())?;
    }
    for failure in &outcome.failures {
        say(&format!(
            "failed: round {}, {}, {}: {}",
            failure.round, failure.cell, failure.tool, failure.why
        ))?;
    }
    Ok(say(&floor.text(reports))?)
}

fn write(path: &Path, document: &serde_json::Value) -> Result<(), BenchError> {
    Ok(fs_err::write(path, serde_json::to_vec_pretty(document)?)?)
}
