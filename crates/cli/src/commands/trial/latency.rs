//! `plumb trial latency`: settings of the clients compared with each other at a rate, from flags alone.

use super::super::End;
use super::super::latency::scenario as of_flags;
use super::super::property::{FlagPlace, place_at};
use super::run::{carry_out, planned};
use crate::args::LatencyArgs;
use crate::args::trial::TrialLatencyArgs;
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::plan::{Origin, Plan};
use plumb_model::resolve::Sources;
use plumb_model::scenario::{ArmWords, ArmsWords, OneOrMany, Scenario, SetupWords};
use plumb_model::units::Nanos;

/// Length of each block where nobody says: at 200 messages a second the fewest that tell a p99 when half of it is cut as warm-up; 12 pairs
/// with the reference's repetition take seven minutes (ours).
const DURATION: Nanos = Nanos::from_secs(10);

/// The reference where none of what differs is said of it.
const DEFAULT: &str = "default";

pub(super) fn latency(arguments: &TrialLatencyArgs) -> Result<End> {
    carry_out(plan(arguments)?, &arguments.judged, &arguments.latency.output)
}

fn plan(arguments: &TrialLatencyArgs) -> Result<Plan> {
    let (scenario, sources) = scenario(arguments)?;
    planned(scenario, sources, &arguments.judged, false)
}

/// The flags as a scenario with arms.
fn scenario(arguments: &TrialLatencyArgs) -> Result<(Scenario, Sources), UsageError> {
    let flags = &arguments.latency;
    if flags.blocks.is_some() {
        let message = "--blocks: in a trial every pair is a block of each arm";
        return Err(UsageError::new(message, "--pairs says how many there are"));
    }
    let (mut scenario, mut sources) = of_flags(flags)?;
    scenario.blocks = None;
    sources.remove("blocks");
    if flags.count.is_none() && flags.duration.is_none() {
        scenario.load.duration = Some(OneOrMany::One(DURATION));
        let reason = "length of each block where nobody says one".to_owned();
        sources.insert("load.duration".to_owned(), Origin::Derived { reason });
    }
    let reference = std::mem::take(&mut scenario.setups).pop().unwrap_or_default();
    let called = reference_name(flags, &arguments.vs);
    let said = take_origins(&mut sources);
    note_origins(&said, &called, &mut sources);
    let mut arms = vec![(called, arm(&reference))];
    for vs in &arguments.vs {
        let mut setup = reference.clone();
        let name = vs.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            let hint =
                "write it as --vs KEY=VALUE, such as --vs linger.ms=0 or --vs 'linger.ms=0 batch.size=1'";
            return Err(UsageError::new(format!("--vs {vs:?} says nothing that differs"), hint));
        }
        if arms[1..].iter().any(|(other, _)| *other == name) {
            let hint = "leave one of them out: equal arms are what plumb trial power measures";
            return Err(UsageError::new(format!("--vs {name:?} is given twice"), hint));
        }
        note_origins(&said, &name, &mut sources);
        for property in vs.split_whitespace() {
            let at = FlagPlace { path: &format!("arms.{name}"), flag: "--vs" };
            place_at(at, property, &mut setup, &mut sources)?;
        }
        arms.push((name, arm(&setup)));
    }
    scenario.arms = ArmsWords(arms);
    Ok((scenario, sources))
}

/// The origins of the only setup's values, by their paths within it.
fn take_origins(sources: &mut Sources) -> Sources {
    const SETUP: &str = "setups.0.";
    let of = |path: &String| path.strip_prefix(SETUP).map(str::to_owned);
    let all = sources.iter().filter_map(|(path, origin)| Some((of(path)?, origin.clone())));
    let all: Sources = all.collect();
    sources.retain(|path, _| !path.starts_with(SETUP));
    all
}

fn note_origins(said: &Sources, arm: &str, sources: &mut Sources) {
    let of_arm = said.iter().map(|(path, origin)| (format!("arms.{arm}.{path}"), origin.clone()));
    sources.extend(of_arm);
}

fn arm(setup: &SetupWords) -> ArmWords {
    ArmWords { producer: setup.producer.clone(), consumer: setup.consumer.clone(), ..ArmWords::default() }
}

/// The name of the reference: its values of the settings that differ, as they were given.
fn reference_name(flags: &LatencyArgs, vs: &[String]) -> String {
    let key = |property: &str| property.split_once('=').map_or(property, |(key, _)| key).to_owned();
    let differing: Vec<String> = vs.iter().flat_map(|vs| vs.split_whitespace()).map(key).collect();
    let acks = flags.acks.iter().map(|acks| format!("acks={}", acks.0));
    let said = flags.property.iter().cloned().chain(acks);
    let said: Vec<String> = said.filter(|property| differing.contains(&key(property))).collect();
    if said.is_empty() { DEFAULT.to_owned() } else { said.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command, trial::TrialCommand};
    use clap::Parser;

    fn parsed(flags: &str) -> TrialLatencyArgs {
        let words = format!("plumb trial latency --lab --rate 200 {flags}");
        let Command::Trial(trial) = Arguments::parse_from(words.split('|').flat_map(quoted)).command else {
            panic!("no trial")
        };
        let TrialCommand::Latency(arguments) = trial.command else { panic!("no trial of latencies") };
        *arguments
    }

    /// Between bars, what is one word of the shell.
    fn quoted(part: &str) -> Vec<String> {
        match part.strip_prefix('\'') {
            Some(word) => vec![word.to_owned()],
            None => part.split_whitespace().map(str::to_owned).collect(),
        }
    }

    fn arms(flags: &str) -> Vec<(String, Vec<String>)> {
        let (scenario, _) = scenario(&parsed(flags)).unwrap();
        let properties = |arm: &ArmWords| {
            let all = arm.producer.iter().chain(&arm.consumer);
            all.map(|(key, value)| match value {
                OneOrMany::One(value) => format!("{key}={}", value.0),
                OneOrMany::Many(_) => panic!("several"),
            })
            .collect::<Vec<_>>()
        };
        scenario.arms.0.iter().map(|(name, arm)| (name.clone(), properties(arm))).collect()
    }

    fn named(name: &str, properties: &[&str]) -> (String, Vec<String>) {
        (name.to_owned(), properties.iter().map(|property| (*property).to_owned()).collect())
    }

    #[test]
    fn each_vs_is_an_arm_that_has_the_references_other_properties() {
        assert_eq!(
            arms("-X linger.ms=5 -X acks=all --vs linger.ms=0 --vs|'linger.ms=0  fetch.min.bytes=9|"),
            [
                named("linger.ms=5", &["acks=all", "linger.ms=5"]),
                named("linger.ms=0", &["acks=all", "linger.ms=0"]),
                named("linger.ms=0 fetch.min.bytes=9", &["acks=all", "linger.ms=0", "fetch.min.bytes=9"]),
            ]
        );
        assert_eq!(arms("--vs acks=1")[0], named("default", &[]));
        assert_eq!(arms("--acks all --vs acks=1")[0], named("acks=all", &["acks=all"]));
    }

    #[test]
    fn a_block_has_ten_seconds_unless_it_is_said_and_the_flags_of_a_trial_hold() {
        let flags = "--vs linger.ms=0 --pairs 20 --margin 5% --seed 7";
        let plan = plan(&parsed(flags)).unwrap();
        assert_eq!((plan.blocks, plan.seed, plan.steps.len()), (20, 7, 3));
        assert_eq!(plan.steps[0].load.messages(), Some(20 * 2_000));
        let trial = plan.trial.unwrap();
        assert!((trial.margin - 0.05).abs() < 1e-12);
        assert_eq!(trial.primary, "end_to_end.p99");
        let (scenario, _) = scenario(&parsed("--vs linger.ms=0 --count 50")).unwrap();
        assert_eq!((scenario.load.count, scenario.load.duration), (Some(OneOrMany::One(50)), None));
    }

    #[test]
    fn blocks_and_an_arm_without_a_difference_are_refused() {
        assert!(scenario(&parsed("--vs linger.ms=0 --blocks 5")).is_err());
        assert!(scenario(&parsed("--vs|' |")).is_err());
        assert!(scenario(&parsed("--vs linger.ms")).is_err());
        assert!(scenario(&parsed("--vs|'linger.ms=0 linger.ms=1|")).is_err());
        let twice = scenario(&parsed("--vs linger.ms=0 --vs linger.ms=0")).unwrap_err().to_string();
        assert!(twice.contains("\"linger.ms=0\" is given twice"), "{twice}");
    }

    #[test]
    fn an_arm_that_is_the_reference_is_sent_to_what_measures_equal_arms() {
        let refusal = plan(&parsed("-X linger.ms=5 --vs linger.ms=5")).unwrap_err().to_string();
        assert!(refusal.contains("plumb trial power"), "{refusal}");
    }
}
