//! The second comparison: how long an idempotent producer with `acks=all` waits for its acknowledgements. Each contestant once
//! a round, in an order drawn anew; nothing consumes, but with Plumb, which follows every message.

use crate::arguments::{Measured, Options};
use crate::bare::BarePath;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::figures::Run;
use crate::{bare, java, plumb};
use plumb_bench_frame::say;
use plumb_stats::median::median;
use plumb_stats::paired::{Pair, paired_ratio};
use plumb_stats::random::Random;
use std::fmt::Write as _;

/// The contestants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contestant {
    Wire,
    Librdkafka,
    Bare,
    Java,
}

const ALL: [Contestant; 4] = [Contestant::Wire, Contestant::Librdkafka, Contestant::Bare, Contestant::Java];

const LEVEL: f64 = 0.95;

impl Contestant {
    fn name(self) -> &'static str {
        match self {
            Contestant::Wire => "plumb wire",
            Contestant::Librdkafka => "plumb librdkafka",
            Contestant::Bare => "bare librdkafka",
            Contestant::Java => "Java client",
        }
    }

    fn run(self, bench: &Bench, round: usize) -> Result<Run, BenchError> {
        let name = format!("round-{round:02}-{}", self.name().replace(' ', "-").to_lowercase());
        let (load, meter) = (&bench.load, &bench.meter);
        let bootstrap = bench.lab.bootstrap();
        let keep = bench.keep.join(&name);
        let ours = |driver| plumb::acknowledge((&bench.program, driver), &bootstrap, load, meter, &keep);
        match self {
            Contestant::Wire => ours("wire"),
            Contestant::Librdkafka => ours("librdkafka"),
            Contestant::Bare => bench.with_topic(&name, |topic| {
                let path = BarePath { measured: Measured::Acknowledge, bootstrap: &bootstrap, topic };
                bare::run(&path, load, meter, &keep.with_extension("samples"))
            }),
            Contestant::Java => bench.with_topic(&name, |topic| {
                let pid = bench.lab.broker_pids().first().copied().unwrap_or_default();
                java::acknowledge(pid, (&bootstrap, topic), load, meter, &keep)
            }),
        }
    }
}

/// All rounds, each with its line, then the table.
pub(crate) fn run(bench: &Bench, options: &Options) -> Result<(), BenchError> {
    let taking_part: Vec<Contestant> =
        ALL.into_iter().filter(|one| options.with_java || *one != Contestant::Java).collect();
    let mut random = Random::new(options.seed);
    let mut rounds: Vec<Vec<(Contestant, Run)>> = Vec::new();
    say(
        "\nround  contestant          service p50      p99     mean, us   response p99   CPU us/msg  foreign load",
    )?;
    for number in 1..=options.rounds {
        let mut order = taking_part.clone();
        random.shuffle(&mut order);
        let mut round = Vec::new();
        for contestant in order {
            let run = contestant.run(bench, number)?;
            say(&row(number, contestant, &run))?;
            round.push((contestant, run));
        }
        rounds.push(round);
    }
    Ok(say(&summary(&taking_part, &rounds, options))?)
}

fn row(number: usize, contestant: Contestant, run: &Run) -> String {
    format!(
        "{number:5}  {:18} {:12.0} {:8.0} {:12.0} {:14.0} {:12.0} {:12.0}%",
        contestant.name(),
        run.service.p50_us,
        run.service.p99_us,
        run.service.mean_us,
        run.response.p99_us,
        run.measured_cpu_us,
        run.foreign_share * 100.0,
    )
}

/// A figure, how it is called, and how it is taken from a run.
type Figure = (&'static str, fn(&Run) -> f64);

const FIGURES: [Figure; 5] = [
    ("service p50, us", |run| run.service.p50_us),
    ("service p99, us", |run| run.service.p99_us),
    ("service mean, us", |run| run.service.mean_us),
    ("response p99, us", |run| run.response.p99_us),
    ("CPU us/msg", |run| run.measured_cpu_us),
];

/// Medians of the rounds, and each contestant's ratio to the last one, the Java client where it takes part.
fn summary(taking_part: &[Contestant], rounds: &[Vec<(Contestant, Run)>], options: &Options) -> String {
    let load = &options.load;
    let mut text = format!(
        "\nacknowledge latency of idempotent producers, acks=all: medians of {} rounds of {} messages at {}/s\n",
        rounds.len(),
        load.count,
        load.rate_per_s
    );
    let Some(base) = taking_part.last().copied() else { return text };
    for (name, figure) in FIGURES {
        let _ = writeln!(text, "\n{name:20} {:>10}   times {}, 95 % interval", "median", base.name());
        let of = |who: Contestant| -> Vec<f64> {
            let runs = rounds.iter().flat_map(|round| round.iter().filter(move |(other, _)| *other == who));
            runs.map(|(_, run)| figure(run)).collect()
        };
        for contestant in taking_part {
            let (theirs, ours) = (of(base), of(*contestant));
            let pairs: Vec<Pair> = theirs.iter().zip(&ours).map(|(a, b)| Pair { a: *a, b: *b }).collect();
            let ratio = match paired_ratio(&pairs, LEVEL) {
                _ if *contestant == base => String::new(),
                Some(r) => format!("{:.2}  {:.2}-{:.2}", r.ratio, r.low, r.high),
                None => "too few rounds".to_owned(),
            };
            let _ = writeln!(
                text,
                "  {:18} {:10.0}   {ratio}",
                contestant.name(),
                median(ours).unwrap_or(f64::NAN)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Job, parse};
    use crate::figures::Figures;

    #[test]
    fn each_contestant_is_held_against_the_java_client_of_its_own_round() {
        let run = |us: f64| {
            let figures = Figures { p50_us: us, p99_us: us, mean_us: us };
            Run {
                service: figures,
                response: figures,
                measured_cpu_us: us,
                whole_cpu_s: 1.0,
                foreign_share: 0.0,
            }
        };
        let round =
            |slow: f64| vec![(Contestant::Java, run(100.0 * slow)), (Contestant::Wire, run(50.0 * slow))];
        let rounds: Vec<_> = [1.0, 2.0, 3.0, 4.0].map(round).into();
        let words: Vec<String> = ["--acknowledge".to_owned()].into();
        let Ok(Job::Bench(options)) = parse(&words) else { panic!() };
        let text = summary(&[Contestant::Wire, Contestant::Java], &rounds, &options);
        assert!(text.contains("0.50  0.50-0.50"), "{text}");
        assert!(!text.contains("1.00  "), "the base is held against nothing: {text}");
    }
}
