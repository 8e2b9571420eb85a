//! Lets the tools run in turns, and keeps what every run gave, also why one failed.

use crate::broker::Broker;
use crate::error::BenchError;
use crate::job::Work;
use crate::options::Options;
use crate::rounds;
use crate::run::{Order, Run, measure};
use crate::table::{figure, maybe, percent};
use crate::tool::{Entry, Tool};
use plumb_stats::median::median;
use plumb_stats::random::Random;
use serde::Serialize;
use std::time::Instant;

/// Messages of a run that shall show what starting costs: a few for every partition.
pub const NEXT_TO_NOTHING: u64 = 60;

/// One comparison: tools that do the same with values of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Each value.
    pub size_bytes: usize,
    /// The direction, and the acknowledgements.
    pub work: Work,
}

/// The amount that a tool has to move in a cell, and the topic.
#[derive(Debug, Clone, Copy)]
pub struct Errand<'a> {
    /// Messages.
    pub count: u64,
    /// The topic to read; none when it produces.
    pub topic: Option<&'a str>,
    /// CPU time that the tool needs to start and end, where known.
    pub start_up_cpu_s: Option<f64>,
}

/// A run that came to nothing.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The tool's name.
    pub tool: &'static str,
    /// The round, from 1; 0 before the first.
    pub round: usize,
    /// In which cell.
    pub cell: String,
    /// The reason.
    pub why: String,
}

/// The results of all rounds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    /// Runs in the order in which they were made.
    pub runs: Vec<Run>,
    /// Those that failed.
    pub failures: Vec<Failure>,
}

impl Cell {
    /// In words.
    pub fn words(&self) -> String {
        let size = figure(self.size_bytes as f64);
        match self.work {
            Work::Produce(acks) => format!("{size} B values, acks={acks}"),
            Work::Consume => format!("{size} B values"),
        }
    }
}

impl Failure {
    fn of(tool: &dyn Tool, round: usize, cell: Cell, error: &BenchError) -> Failure {
        Failure { tool: tool.name(), round, cell: cell.words(), why: error.line() }
    }
}

/// The tools that take part, and those that could not.
#[derive(Default)]
pub struct Roster {
    /// Those that can run.
    pub tools: Vec<Box<dyn Tool>>,
    /// The others, with the reason.
    pub absent: Vec<Absent>,
}

/// A tool that could not be had.
#[derive(Debug, Clone, Serialize)]
pub struct Absent {
    /// The name that it would have.
    pub name: &'static str,
    /// The reason.
    pub why: String,
}

impl Roster {
    /// Of all entries those that the options want.
    pub fn of(entries: Vec<Entry>, options: &Options) -> Roster {
        let mut roster = Roster::default();
        for entry in entries.into_iter().filter(|entry| options.wants(entry.name())) {
            match entry {
                Entry::Ready(tool) => roster.tools.push(tool),
                Entry::Absent { name, why } => roster.absent.push(Absent { name, why }),
            }
        }
        roster
    }

    /// A line for each.
    pub fn text(&self, work: Work) -> String {
        let ready = self.tools.iter().map(|tool| format!("  {}: {}\n", tool.name(), tool.about(work)));
        let absent =
            self.absent.iter().map(|absent| format!("  {}: NOT HERE: {}\n", absent.name, absent.why));
        ready.chain(absent).collect()
    }
}

/// Lets tools run in turns on one broker.
pub struct Contest<'a> {
    /// All work on it.
    pub broker: &'a mut Broker,
    /// The tools that take part.
    pub tools: &'a [Box<dyn Tool>],
    /// Told of every run.
    pub tell: &'a dyn Fn(&str),
}

impl Contest<'_> {
    /// Produces in turns for so long, so that the broker's JVM has compiled what it needs. Nothing is kept of it: a tool that
    /// fails here will fail again where it is told.
    pub fn warm_up(&mut self, cell: Cell, count: u64, seconds: f64) {
        let order = Order { round: 0, size_bytes: cell.size_bytes, work: cell.work, count, topic: None };
        let started = Instant::now();
        for tool in self.tools.iter().cycle() {
            if started.elapsed().as_secs_f64() > seconds {
                break;
            }
            (self.tell)(&format!("warming up the broker: {}", tool.name()));
            let _ = measure(self.broker, tool.as_ref(), &order);
        }
    }

    /// The number of messages that a tool needs for a run of so many seconds, found by trying.
    ///
    /// # Errors
    /// When it fails.
    pub fn count(&mut self, tool: &dyn Tool, cell: Cell, first: u64, seconds: f64) -> Result<u64, Failure> {
        let mut count = first;
        for _ in 0..4 {
            let order = Order { round: 0, size_bytes: cell.size_bytes, work: cell.work, count, topic: None };
            let run = measure(self.broker, tool, &order).map_err(|error| {
                (self.tell)(&format!("trying {}, {}: {}", tool.name(), cell.words(), error.line()));
                Failure::of(tool, 0, cell, &error)
            })?;
            // Without a rate all came between two looks.
            let span_s = run.messages_per_s.map_or(0.0, |rate| run.messages as f64 / rate);
            let (next, long_enough) = rounds::next_count(count, span_s, seconds);
            count = next;
            if long_enough {
                break;
            }
        }
        (self.tell)(&format!("{}, {}: {} messages a run", tool.name(), cell.words(), figure(count as f64)));
        Ok(count)
    }

    /// CPU time of a tool that moves next to nothing, about [`NEXT_TO_NOTHING`] messages: what it costs to start and to end.
    /// The median of three runs.
    ///
    /// # Errors
    /// When it fails.
    pub fn start_up(&mut self, tool: &dyn Tool, cell: Cell, errand: Errand<'_>) -> Result<f64, Failure> {
        let (size_bytes, work, Errand { count, topic, .. }) = (cell.size_bytes, cell.work, errand);
        let order = Order { round: 0, size_bytes, work, count, topic };
        let cpu_s = (0..3).map(|_| measure(self.broker, tool, &order).map(|run| run.client_cpu_s));
        let cpu_s: Vec<f64> = cpu_s.collect::<Result<_, _>>().map_err(|error| {
            (self.tell)(&format!("{} sits out: {}", tool.name(), error.line()));
            Failure::of(tool, 0, cell, &error)
        })?;
        Ok(median(cpu_s).unwrap_or(f64::NAN))
    }

    /// All rounds. `errand` tells a tool, by its number, what to do in a cell; none: it sits this cell out.
    pub fn run<'e>(
        &mut self,
        cells: &[Cell],
        options: &Options,
        errand: impl Fn(Cell, usize) -> Option<Errand<'e>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut random = Random::new(options.seed);
        for round in 1..=options.rounds {
            for (cell, order) in rounds::round(cells, self.tools.len(), &mut random) {
                for number in order {
                    let Some(errand) = errand(cell, number) else { continue };
                    let (size_bytes, work, Errand { count, topic, .. }) =
                        (cell.size_bytes, cell.work, errand);
                    let order = Order { round, size_bytes, work, count, topic };
                    let tool = self.tools[number].as_ref();
                    let result = measure(self.broker, tool, &order);
                    let head = format!("round {round}/{}, {}, {}", options.rounds, cell.words(), tool.name());
                    (self.tell)(&match &result {
                        Ok(run) => format!("{head}: {}", line(run)),
                        Err(error) => format!("{head}: {}", error.line()),
                    });
                    match result {
                        Ok(run) => {
                            outcome.runs.push(Run { start_up_cpu_s: errand.start_up_cpu_s, ..run });
                        }
                        Err(error) => {
                            outcome.failures.push(Failure::of(tool, round, cell, &error));
                            if self.broker.has_ended() {
                                (self.tell)(
                                    "the broker has ended, and with it the comparison: is the disk full?",
                                );
                                return outcome;
                            }
                        }
                    }
                }
            }
        }
        outcome
    }
}

fn line(run: &Run) -> String {
    format!(
        "{} msgs/s, client {}, broker {} cpu-s/M, others {}",
        maybe(run.messages_per_s),
        figure(run.client_cpu_s_per_million()),
        figure(run.broker_cpu_s_per_million()),
        percent(Some(run.foreign_share))
    )
}
