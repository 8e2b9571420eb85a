//! The command line: what to run and how often.

use crate::error::BenchError;
use std::path::PathBuf;
use std::str::FromStr;

/// The text for `--help`.
pub(crate) const HELP: &str = "\
Plumb's latencies beside those of a bare librdkafka loop and of Kafka's EndToEndLatency

  --rounds N     each contestant runs once a round [default: 10]
  --rate N       messages per second [default: 300]
  --count N      measured messages in each run [default: those of 5 s]
  --seed N       decides the order within the rounds [default: 1]
  --acknowledge  acknowledge latency of idempotent producers instead, at 1,000 messages per second unless --rate is given:
                 Plumb's two drivers, a bare librdkafka loop, and a bare loop around the Java client
  --without-java leave EndToEndLatency, or the Java client, out
  --realtime     contestants and broker go before all other programs, and no CPU falls asleep (chrt, needs root): for a
                 machine that others use, or a virtual one
  --plumb FILE   a program to measure; built from this workspace without it
  --keep DIR     keep plumb's documents and the bare loop's samples";

/// The work of the process.
pub(crate) enum Job {
    Help,
    Bench(Options),
    /// The bare loop, in a process of its own.
    Bare {
        what: Measured,
        bootstrap: String,
        topic: String,
        load: Load,
    },
    /// Keeps a CPU awake, in a process of its own.
    Awake,
}

/// The latency that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measured {
    EndToEnd,
    Acknowledge,
}

impl Measured {
    /// The word for the bare loop.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Measured::EndToEnd => "end-to-end",
            Measured::Acknowledge => "acknowledge",
        }
    }

    fn of(word: &str) -> Result<Measured, BenchError> {
        let known = [Measured::EndToEnd, Measured::Acknowledge].into_iter().find(|what| what.word() == word);
        known.ok_or_else(|| bad("end-to-end or acknowledge", word))
    }

    fn rate_per_s(self) -> u64 {
        match self {
            Measured::EndToEnd => 300,
            Measured::Acknowledge => 1_000,
        }
    }
}

/// The load to compare with, and the length of the comparison.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) what: Measured,
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    pub(crate) with_java: bool,
    pub(crate) realtime: bool,
    pub(crate) plumb: Option<PathBuf>,
    pub(crate) keep: Option<PathBuf>,
    pub(crate) load: Load,
}

/// An even schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) rate_per_s: u64,
    pub(crate) warm_up_count: u64,
    pub(crate) count: u64,
}

/// Every value, in bytes.
pub(crate) const VALUE_BYTES: usize = 1024;

/// Warm-up of each run, the default of `plumb latency`.
pub(crate) const WARM_UP_S: u64 = 2;

/// The properties of the producers under test: the profile for low latency.
pub(crate) const PRODUCER: &[(&str, &str)] =
    &[("acks", "all"), ("linger.ms", "0"), ("socket.nagle.disable", "true")];

/// The properties of idempotent producers, where acknowledgements are compared.
pub(crate) const IDEMPOTENT: &[(&str, &str)] = &[
    ("acks", "all"),
    ("linger.ms", "0"),
    ("enable.idempotence", "true"),
    ("max.in.flight.requests.per.connection", "5"),
];

/// The same for the consumers.
pub(crate) const CONSUMER: &[(&str, &str)] = &[("fetch.wait.max.ms", "10"), ("socket.nagle.disable", "true")];

/// Reads the words after the program's name.
pub(crate) fn parse(words: &[String]) -> Result<Job, BenchError> {
    if let [word, what, bootstrap, topic, rate, warm_up, count] = words
        && word == "bare"
    {
        let load = Load { rate_per_s: number(rate)?, warm_up_count: number(warm_up)?, count: number(count)? };
        let (bootstrap, topic) = (bootstrap.clone(), topic.clone());
        return Ok(Job::Bare { what: Measured::of(what)?, bootstrap, topic, load });
    }
    let what = Measured::EndToEnd;
    let load = Load { rate_per_s: 0, warm_up_count: 0, count: 0 };
    let mut options = Options {
        what,
        rounds: 10,
        seed: 1,
        with_java: true,
        realtime: false,
        plumb: None,
        keep: None,
        load,
    };
    let (mut rate_per_s, mut count) = (None, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| bad("a value after it", word));
        match word.as_str() {
            "--rounds" => options.rounds = number(value()?)?,
            "--acknowledge" => options.what = Measured::Acknowledge,
            "--count" => count = Some(number(value()?)?),
            "--rate" => rate_per_s = Some(number(value()?)?),
            "--seed" => options.seed = number(value()?)?,
            "--without-java" => options.with_java = false,
            "--realtime" => options.realtime = true,
            "--plumb" => options.plumb = Some(value()?.into()),
            "--keep" => options.keep = Some(value()?.into()),
            "--help" | "-h" => return Ok(Job::Help),
            "awake" => return Ok(Job::Awake),
            _ => return Err(bad("one of the flags that --help lists", word)),
        }
    }
    options.load.rate_per_s = rate_per_s.unwrap_or(options.what.rate_per_s());
    options.load.count = count.unwrap_or(5 * options.load.rate_per_s);
    if options.load.count == 0 || options.load.rate_per_s == 0 {
        return Err(bad("a count and a rate above 0", "0"));
    }
    options.load.warm_up_count = WARM_UP_S * options.load.rate_per_s;
    Ok(Job::Bench(options))
}

fn number<T: FromStr>(word: &str) -> Result<T, BenchError> {
    word.parse().map_err(|_| bad("a whole number", word))
}

fn bad(expected: &'static str, got: &str) -> BenchError {
    BenchError::Argument { expected, got: got.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_warm_up_follows_the_rate() {
        let Ok(Job::Bench(options)) = parse(&words("--rate 100 --rounds 3")) else { panic!() };
        assert_eq!((options.rounds, options.load.warm_up_count, options.load.count), (3, 200, 500));
        let Ok(Job::Bench(options)) = parse(&words("--acknowledge")) else { panic!() };
        assert_eq!((options.load.rate_per_s, options.load.count), (1_000, 5_000));
    }

    #[test]
    fn a_flag_that_does_not_exist_or_lacks_its_value_is_named() {
        for (line, got) in [("--rouns 3", "--rouns"), ("--rounds", "--rounds"), ("--rate x", "x")] {
            let Err(BenchError::Argument { got: named, .. }) = parse(&words(line)) else { panic!("{line}") };
            assert_eq!(named, got);
        }
    }
}
