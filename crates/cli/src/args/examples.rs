//! The examples of each command's help. A test reads each of them as the program would.

use super::Arguments;
use clap::{Command, CommandFactory};

/// A command, and examples of it.
const EXAMPLES: &[(&[&str], &[&str])] = &[
    (
        &[],
        &[
            "plumb demo",
            "plumb latency --bootstrap kafka.example.com:9092 --rate 1000",
            "plumb explain saturated",
        ],
    ),
    (&["demo"], &["plumb demo", "plumb demo --out runs/first"]),
    (
        &["run"],
        &[
            "plumb run scenarios/event-hubs-latency.yaml --quick",
            "plumb run s.yaml -b kafka.example.com:9092 --fail-if 'p99>20ms' --junit plumb.xml",
        ],
    ),
    (
        &["driver", "check"],
        &[
            "plumb driver check -- ./my-driver --verbose",
            "plumb driver check --java --java-classpath 'libs/*' --output json",
        ],
    ),
    (&["driver", "librdkafka"], &["plumb driver check -- plumb driver librdkafka"]),
    (&["worker"], &["plumb worker --join 10.0.0.5:7070 --cert-file certificate.pem --token-file token"]),
    (
        &["worker", "manifest"],
        &["plumb worker manifest s.yaml --image registry.example.com/plumb:0.1 --workers 4"],
    ),
    (&["worker", "secrets"], &["plumb worker secrets --out plumb-link"]),
    (
        &["latency"],
        &[
            "plumb latency --lab --rate 200",
            "plumb latency -b kafka.example.com:9092 --rate 10k --duration 1m -X linger.ms=0 --output json",
        ],
    ),
    (
        &["throughput"],
        &[
            "plumb throughput --lab --size 1KiB",
            "plumb throughput -b kafka.example.com:9092 --size 100B,1KiB,10KiB --producers 1,2,4",
            "plumb throughput --lab --size 1KiB --goal 'p99<20ms'",
        ],
    ),
    (&["lab", "up"], &["plumb lab up", "plumb lab up --brokers 3 --tls --broker-property num.io.threads=16"]),
    (&["lab", "status"], &["plumb lab status --output json"]),
    (&["lab", "down"], &["plumb lab down", "plumb lab down lab-8nqPBZ3o"]),
    (
        &["lab", "sink"],
        &[
            "plumb lab sink --topic t --partitions 6",
            "plumb lab sink --topic t --drop-every 1000 --duration 1m --output json",
        ],
    ),
    (
        &["probe", "clock"],
        &["plumb probe clock", "plumb probe clock broker-1.example.com --duration 30s --output json"],
    ),
    (
        &["check"],
        &[
            "plumb check",
            "plumb check --role load-generator --window 1m --output json",
            "plumb check host-a.json host-b.json host-c.json",
        ],
    ),
    (
        &["tune", "plan"],
        &[
            "plumb tune plan --out plan.json",
            "plumb tune plan --profile mine.yaml --only profile --out plan.json",
        ],
    ),
    (
        &["tune", "apply"],
        &[
            "plumb tune apply plan.json",
            "plumb tune apply plan.json --confirm-within 60s --keep-reachable kafka.example.com:9092",
        ],
    ),
    (&["tune", "trial"], &["plumb tune trial plan.json --load scenarios/event-hubs-latency.yaml --pairs 12"]),
    (&["tune", "revert"], &["plumb tune revert", "plumb tune revert 2026-11-26T04-17-24Z"]),
    (
        &["size"],
        &[
            "plumb size --messages 1.6M/s --size 1KB --brokers 12",
            "plumb size --messages 200k/s --size 1KB --nic 10Gbit/s --disk 500MiB/s",
        ],
    ),
    (
        &["search"],
        &[
            "plumb search s.yaml --dry-run",
            "plumb search s.yaml -b kafka.example.com:9092 --goal 'p99<20ms' --budget 40",
            "plumb search --resume runs/2026-11-20T15-04-05Z-search",
        ],
    ),
    (
        &["trial", "run"],
        &[
            "plumb trial run s.yaml --pairs 20 --margin 5%",
            "plumb trial run s.yaml --until-decided --fail-on worse,invalid",
        ],
    ),
    (&["trial", "latency"], &["plumb trial latency --lab --rate 200 -X linger.ms=5 --vs linger.ms=0"]),
    (
        &["trial", "power"],
        &["plumb trial power s.yaml --detect 5%", "plumb trial power --from runs/earlier --detect 5%"],
    ),
    (
        &["trial", "fleet"],
        &["plumb trial fleet --data drops.csv --groups groups.csv --change 2026-03-01T10:00:00Z"],
    ),
    (
        &["observe"],
        &[
            "plumb observe",
            "plumb observe --duration 1m --broker-metrics http://kafka-1:9404/metrics --out runs/broker-1",
        ],
    ),
    (
        &["diagnose"],
        &[
            "plumb diagnose -b kafka-1:9092 --broker-metrics http://kafka-1:9404/metrics",
            "plumb diagnose -b kafka-1:9092 --probe-load --size 240KB --confirm",
        ],
    ),
    (&["judge"], &["plumb judge runs/broker-1"]),
    (&["compare"], &["plumb compare runs/before runs/after", "plumb compare 'runs/sweep#1' 'runs/sweep#3'"]),
    (
        &["report"],
        &[
            "plumb report runs/first",
            "plumb report runs/first --output csv",
            "plumb report runs/first --html page.html",
        ],
    ),
    (&["explain"], &["plumb explain", "plumb explain saturated"]),
    (&["completions"], &["plumb completions bash"]),
    (&["man"], &["plumb man man1"]),
];

/// The command line with its examples.
pub(crate) fn command() -> Command {
    EXAMPLES.iter().fold(Arguments::command(), |command, (path, examples)| with(command, path, examples))
}

fn with(command: Command, path: &[&str], examples: &[&str]) -> Command {
    let Some((first, rest)) = path.split_first() else {
        let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        return command.after_help(format!("{before}Examples:\n  {}", examples.join("\n  ")));
    };
    match command.find_subcommand(first) {
        Some(_) => command.mut_subcommand(first, |below| with(below, rest, examples)),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    /// As a shell would take the line apart; no example has other quotes.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn every_example_is_understood_and_stands_in_the_help_of_its_command() {
        for (path, examples) in EXAMPLES {
            let mut of = command();
            for name in *path {
                of = of.find_subcommand(name).unwrap_or_else(|| panic!("there is no {path:?}")).clone();
            }
            let help = of.render_long_help().to_string();
            for example in *examples {
                assert!(help.contains(example), "{example}: {help}");
                let matches = command().try_get_matches_from(words(example));
                let read = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
                assert!(
                    read.is_ok(),
                    "{example}: {}",
                    read.err().map(|error| error.to_string()).unwrap_or_default()
                );
            }
        }
    }

    #[test]
    fn every_command_that_measures_or_shows_has_examples() {
        // Probes and other tools' words have theirs in the guide.
        for of in command().get_subcommands().filter(|of| !of.has_subcommands()) {
            assert!(of.get_after_help().is_some(), "{} has no example", of.get_name());
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
