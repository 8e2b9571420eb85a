//! `plumb throughput`: how much goes through, or the highest rate that holds a latency goal, from flags alone.

use super::property::{place, place_acks};
use super::{End, carry_on, carry_out};
use crate::args::{ModeWord, ThroughputArgs};
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::plan::{Driver, LogDirLayout, Mode, Origin};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ClusterWords, LabWords, LoadWords, LogDirsWords, OneOrMany, RateWords, Scenario, SetupWords, TopicWords,
};
use plumb_model::units::{Bytes, Nanos};

/// Partitions of a topic: as many as a single broker takes in parallel with ease, and a multiple of 1, 2 and 3 brokers.
const PARTITIONS: u32 = 6;
/// Measured time of a setting, over all its blocks.
const DURATION: Nanos = Nanos::from_secs(10);
/// Blocks of a setting, and full-length runs that confirm a rate: three are the fewest with an interval.
const BLOCKS: u32 = 5;
const CONFIRMING: u32 = 3;
/// The backlog before its consumers begin.
const BACKLOG: Bytes = Bytes(1 << 30);

pub(super) fn throughput(arguments: &ThroughputArgs) -> Result<End> {
    if let Some(directory) = &arguments.resume {
        return carry_on(directory, &arguments.output);
    }
    if arguments.calibrate && !arguments.output.dry_run {
        plumb_session::forget_ceilings();
    }
    let (scenario, sources) = scenario(arguments)?;
    carry_out(resolve(&scenario, &sources)?, &arguments.output)
}

/// The flags as a scenario.
fn scenario(arguments: &ThroughputArgs) -> Result<(Scenario, Sources), UsageError> {
    let mut sources = Sources::new();
    let mut setup = SetupWords::default();
    for property in &arguments.property {
        place(property, &mut setup, &mut sources)?;
    }
    if let Some(acks) = &arguments.acks {
        place_acks(acks, &mut setup, &mut sources)?;
    }
    let mode = mode(arguments)?;
    let rate = arguments.rate.clone().or_else(|| {
        let paced = arguments.goal.is_some() || mode == Mode::Consume;
        (!paced).then_some(OneOrMany::One(RateWords::Max))
    });
    let timed = arguments.count.is_none().then_some(arguments.duration.unwrap_or(DURATION));
    let load = LoadWords {
        rate,
        mode: Some(mode),
        size: arguments.size.clone(),
        count: arguments.count.map(OneOrMany::One),
        duration: timed.map(OneOrMany::One),
        warm_up: arguments.warm_up,
        producers: arguments.producers.clone(),
        consumers: arguments.consumers.clone(),
        until_device: arguments.until_device.then_some(true),
        ..LoadWords::default()
    };
    let own = arguments.topic.is_none();
    let topic = TopicWords {
        name: arguments.topic.clone(),
        partitions: arguments.partitions.clone().or_else(|| own.then_some(OneOrMany::One(PARTITIONS))),
        replication: arguments.replication.clone(),
        ..TopicWords::default()
    };
    note_flags(arguments, &mut sources);
    let scenario = Scenario {
        seed: arguments.seed,
        cluster: Some(cluster(arguments)),
        driver: arguments.driver.clone().or(Some(OneOrMany::One(Driver::Wire.into()))),
        blocks: Some(arguments.blocks.unwrap_or_else(|| blocks(arguments))),
        goal: arguments.goal,
        topic,
        load,
        setups: vec![setup],
        ..Scenario::default()
    };
    Ok((scenario, sources))
}

fn cluster(arguments: &ThroughputArgs) -> ClusterWords {
    let together = arguments.log_dirs_together.as_ref();
    let lab = || LabWords {
        log_dirs: LogDirsWords(arguments.log_dir.clone()),
        log_dir_layout: together.map(|_| LogDirLayout::Together),
        log_dirs_used: together.cloned().flatten(),
        ..LabWords::default()
    };
    ClusterWords {
        lab: arguments.lab.then(lab),
        bootstrap: arguments.bootstrap.clone(),
        config: arguments.config.clone(),
        metrics: arguments.metrics.clone(),
    }
}

fn mode(arguments: &ThroughputArgs) -> Result<Mode, UsageError> {
    let word = arguments.mode.unwrap_or(ModeWord::Produce);
    if arguments.backlog.is_some() && word != ModeWord::Backlog {
        let hint = "add --mode backlog, or leave --backlog out";
        return Err(UsageError::new("--backlog says how much waits for consumers that wait", hint));
    }
    let names: Vec<&str> = arguments.log_dir.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(name) = twice(&names) {
        let hint = "give each directory a name of its own";
        return Err(UsageError::new(format!("two log directories are called {name:?}"), hint));
    }
    let only_reads = word == ModeWord::Consume && arguments.topic.is_some();
    if arguments.size.is_none() && !only_reads {
        let hint = "say how large values are: --size 1KiB, or a list such as 100B,1KiB,240KiB";
        return Err(UsageError::new("--size is missing", hint));
    }
    if arguments.size.is_some() && only_reads {
        let hint = "leave --size out: the topic's records have the size that they have";
        return Err(UsageError::new("--size says nothing of a topic that is only read", hint));
    }
    Ok(match word {
        ModeWord::Produce => Mode::Produce,
        ModeWord::Consume => Mode::Consume,
        ModeWord::Mixed => Mode::Mixed,
        ModeWord::Backlog => Mode::Backlog(arguments.backlog.unwrap_or(BACKLOG)),
    })
}

/// The first name that an earlier one equals.
fn twice<'a>(names: &[&'a str]) -> Option<&'a str> {
    (0..names.len()).find(|at| names[..*at].contains(&names[*at])).map(|at| names[at])
}

/// A setting with fewer messages than blocks has a block for each message.
fn blocks(arguments: &ThroughputArgs) -> u32 {
    let usual = if arguments.goal.is_some() { CONFIRMING } else { BLOCKS };
    let most = arguments.count.map_or(usual, |count| u32::try_from(count).unwrap_or(usual));
    usual.min(most).max(1)
}

/// Notes the flag of each value; a value that no flag gave is a default.
fn note_flags(arguments: &ThroughputArgs, sources: &mut Sources) {
    let given = [
        ("cluster", if arguments.lab { "--lab" } else { "--bootstrap" }, true),
        ("cluster.bootstrap", "--bootstrap", true),
        ("cluster.config", "--config", arguments.config.is_some()),
        ("cluster.metrics", "--metrics", !arguments.metrics.is_empty()),
        ("cluster.lab.log_dirs", "--log-dir", !arguments.log_dir.is_empty()),
        ("cluster.lab.log_dir_layout", "--log-dirs-together", arguments.log_dirs_together.is_some()),
        ("cluster.lab.log_dirs_used", "--log-dirs-together", arguments.log_dirs_together.is_some()),
        ("driver", "--driver", arguments.driver.is_some()),
        ("goal", "--goal", arguments.goal.is_some()),
        ("blocks", "--blocks", arguments.blocks.is_some()),
        ("seed", "--seed", arguments.seed.is_some()),
        ("load.rate", "--rate", arguments.rate.is_some()),
        ("load.mode", "--mode", arguments.mode.is_some()),
        ("load.size", "--size", true),
        ("load.count", "--count", true),
        ("load.duration", "--duration", arguments.duration.is_some()),
        ("load.warm_up", "--warm-up", true),
        ("load.producers", "--producers", true),
        ("load.consumers", "--consumers", true),
        ("load.until_device", "--until-device", true),
        ("topic.name", "--topic", true),
        ("topic.partitions", "--partitions", arguments.partitions.is_some()),
        ("topic.replication", "--replication", true),
    ];
    for (path, flag, _) in given.into_iter().filter(|(.., given)| *given) {
        sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;
    use plumb_model::plan::{ClusterPlan, Length, Plan, Schedule, TopicPlan};

    fn plan(flags: &str) -> Plan {
        let words = ["plumb", "throughput", "--lab"].into_iter().chain(flags.split(' '));
        let Command::Throughput(arguments) = Arguments::try_parse_from(words).unwrap().command else {
            unreachable!("the words say so")
        };
        let (scenario, sources) = scenario(&arguments).unwrap();
        resolve(&scenario, &sources).unwrap()
    }

    #[test]
    fn a_size_alone_is_as_fast_as_possible_in_five_blocks_on_the_wire_driver() {
        let plan = plan("--size 1KiB");
        let step = &plan.steps[0];
        assert_eq!((plan.name.as_str(), plan.blocks, plan.steps.len()), ("throughput", 5, 1));
        assert_eq!((step.driver, step.load.mode, step.load.rate_per_s), (Driver::Wire, Mode::Produce, None));
        assert_eq!(step.load.schedule, Schedule::Saturating);
        assert_eq!((step.load.producers, step.load.consumers), (1, 0));
        assert_eq!(step.load.length, Length::Duration(DURATION));
        assert!(matches!(step.topic, TopicPlan::Own { partitions: PARTITIONS, .. }));
        assert_eq!(plan.origins["steps.0.driver"], Origin::Default);
    }

    #[test]
    fn lists_and_ranges_are_swept_over() {
        let plan = plan("--size 1KiB,240KiB --producers 1..3 --acks 1,all");
        let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names.len(), 12);
        assert_eq!(names[0], "producers 1, size 1KiB, acks 1");
        assert_eq!(plan.origins["steps.0.producer.acks"], Origin::Flag { flag: "--acks".into() });
    }

    #[test]
    fn a_goal_takes_the_place_of_the_rate() {
        let plan = plan("--size 1KiB --goal p99=20ms --duration 5s");
        assert!(plan.goal.is_some());
        assert_eq!((plan.blocks, plan.steps[0].load.rate_per_s), (3, None));
        assert_eq!(plan.steps[0].load.schedule, Schedule::Constant);
    }

    #[test]
    fn log_directories_that_are_used_together_are_all_of_them_or_swept_over() {
        let with = |together: &str| plan(&format!("--size 1KiB --log-dir a=/a --log-dir b=/b {together}"));
        let layout = |plan: &Plan| match &plan.cluster {
            ClusterPlan::Lab { log_dir_layout, .. } => *log_dir_layout,
            ClusterPlan::Brokers { .. } => panic!(),
        };
        let all = with("--log-dirs-together");
        assert_eq!((layout(&all), all.steps.len()), (LogDirLayout::Together, 1));
        let swept = with("--log-dirs-together 1..2");
        assert_eq!((layout(&swept), swept.steps.len(), swept.labs().len()), (LogDirLayout::Together, 2, 2));
        assert_eq!(layout(&with("--acks all")), LogDirLayout::BrokerEach);
    }

    #[test]
    fn consumers_alone_need_no_rate() {
        let plan = plan("--size 1KiB --mode consume --consumers 2");
        assert_eq!((plan.steps[0].load.mode, plan.steps[0].load.consumers), (Mode::Consume, 2));
    }
}
