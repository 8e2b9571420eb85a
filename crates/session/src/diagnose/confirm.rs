//! Proves a cause by its flip: the one setting is changed on topics of Plumb's own, in turns with the setting as it is.
//!
//! Settings of Plumb's own clients and topics are tried on the watched cluster, with all else as the watched path has it; settings of brokers and of
//! their JVMs only where the cluster is a lab, on two more labs like it (`lab.rs`). What was found is confirmed where the change moved what it
//! should move; where it surely did not under the load that was watched, it goes back to suspected; where neither can be told, it stays as it was.

mod lab;

use crate::error::Result;
use crate::run;
use crate::run_dir::RunDirError;
use crate::watcher::Watcher;
use plumb_model::diagnosis::{Cause, Confirmation, ConfirmationOutcome};
use plumb_model::document::RunDocument;
use plumb_model::fault::chain;
use plumb_model::finding::{Expect, FlipSetting, ValidityVerdict};
use plumb_model::observed::{ClientKind, ObservedPath, Unseen};
use plumb_model::plan::{Mode, Plan};
use plumb_model::property::usual_name;
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{ClusterWords, LoadWords, OneOrMany, Scalar, Scenario, SetupWords, TopicWords};
use plumb_model::units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Measured time of all blocks of one setting.
pub const DURATION: Nanos = Nanos::from_secs(18);
/// Blocks of each of the two settings: seven are the fewest whose signed ranks can show a difference at 95 % in each of a run's three comparisons
/// (mean, median, p99) at once; two more, because a block may be cut short.
const BLOCKS: u32 = 9;
/// The names of the two.
const AS_IT_IS: &str = "as it is";
const CHANGED: &str = "changed";

/// A ratio that would matter (ours): below 5 % nobody changes a setting for it.
const MATTERS: f64 = 0.05;
/// What is compared: the two means that a run has of every setup. Of other observations a flip is not tried on clients.
const METRICS: [&str; 2] = ["acknowledge.mean", "end_to_end.mean"];

/// One cause that can be tried.
#[derive(Debug, Clone)]
pub struct FlipTrial {
    /// The cause's id.
    pub id: String,
    setting: FlipSetting,
    change: String,
    metric: String,
    expect: Expect,
    /// Whether it has the load that was watched: what does not move under another load may move under that one.
    is_watched_load: bool,
    place: TrialPlace,
    scenario: Scenario,
}

/// Where a flip is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialPlace {
    /// Two kinds of topics and clients on the watched cluster.
    Cluster,
    /// Two labs like the watched one.
    Labs,
}

impl FlipTrial {
    /// What would be done, in a line.
    #[must_use]
    pub fn words(&self) -> String {
        let place = match self.place {
            TrialPlace::Cluster => "on a topic like the busiest one",
            TrialPlace::Labs => "on two more labs like this one, under the load that was watched",
        };
        format!(
            "{}: {} ({}: {}), {BLOCKS} blocks each way {place}",
            self.id, self.change, self.setting.path, self.setting.value
        )
    }

    /// Its plan.
    ///
    /// # Errors
    /// When the setting is none that a scenario takes.
    pub fn plan(&self, sources: &Sources) -> Result<Plan> {
        Ok(resolve(&self.scenario, sources)?)
    }
}

/// The trials of a diagnosis' causes, in their order. None of a cause whose flip is no setting of a client or topic, whose observation a
/// run does not compare, or of which it is not known how the watched path has it: defaults held against each other would say nothing
/// of that path.
#[must_use]
pub fn trials(path: &ObservedPath, cluster: &ClusterWords, load: &LoadWords) -> Vec<FlipTrial> {
    let causes = path.diagnosis.iter().flat_map(|diagnosis| &diagnosis.findings);
    causes.filter_map(|cause| trial(path, cause, cluster, load)).collect()
}

fn trial(path: &ObservedPath, cause: &Cause, cluster: &ClusterWords, load: &LoadWords) -> Option<FlipTrial> {
    let flip = cause.finding.flip.as_ref()?;
    let setting = flip.setting.clone()?;
    let place = match setting.path.starts_with(lab::PREFIX) {
        true => TrialPlace::Labs,
        false => TrialPlace::Cluster,
    };
    let named = Scenario {
        name: Some(format!("confirm {}", cause.finding.id)),
        cluster: Some(cluster.clone()),
        load: load.clone(),
        ..Scenario::default()
    };
    let metrics = match place {
        TrialPlace::Cluster => &METRICS[..],
        TrialPlace::Labs => &lab::METRICS[..],
    };
    let metric = metrics.iter().find(|metric| **metric == flip.observe)?;
    let scenario = match place {
        TrialPlace::Cluster => on_cluster(path, &setting, measuring(metric, named))?,
        TrialPlace::Labs => lab::scenario(path, &setting, metric, named)?,
    };
    Some(FlipTrial {
        id: cause.finding.id.clone(),
        metric: (*metric).to_owned(),
        setting,
        change: flip.change.clone(),
        expect: flip.expect,
        // A load of Plumb's own was watched: the trial has the same.
        is_watched_load: place == TrialPlace::Labs
            || path.clients.iter().any(|client| client.kind == ClientKind::Probe),
        place,
        scenario,
    })
}

/// The load with what its metric needs: where records are consumed, a run compares the time to the consumer alone.
fn measuring(metric: &str, scenario: Scenario) -> Scenario {
    if metric != METRICS[0] {
        return scenario;
    }
    let load = LoadWords { mode: Some(Mode::Produce), consumers: Some(OneOrMany::One(0)), ..scenario.load };
    Scenario { load, ..scenario }
}

/// Two setups on the watched cluster: settings as the watched path told them, and with the one changed.
fn on_cluster(path: &ObservedPath, setting: &FlipSetting, scenario: Scenario) -> Option<Scenario> {
    let observed = observed_settings(path)?;
    if !is_known(setting, &observed) {
        return None;
    }
    let as_it_is = SetupWords { name: Some(AS_IT_IS.to_owned()), ..observed.clone() };
    let mut changed = SetupWords { name: Some(CHANGED.to_owned()), ..observed };
    place(setting, &mut changed)?;
    Some(Scenario { blocks: Some(BLOCKS), setups: vec![as_it_is, changed], ..scenario })
}

/// Settings of the watched path: its clients' as far as they told them, and the busiest topic's shape and configs. None without the
/// topic, on whose replicas and configs every figure depends.
fn observed_settings(path: &ObservedPath) -> Option<SetupWords> {
    let traffic = path.brokers.iter().flat_map(|broker| &broker.topics);
    let named = traffic.filter_map(|topic| path.settings.topics.get(&topic.topic));
    let topic = named.into_iter().next()?;
    let word = |value: &String| OneOrMany::One(Scalar(value.clone()));
    let of = |is_producer: bool| {
        let client = path.clients.iter().find(|client| client.is_producer == is_producer);
        let settings = client.into_iter().flat_map(|client| &client.settings);
        // A client tells a property by each of its names, and a scenario takes one of them.
        let usual = settings.map(|(key, value)| (usual_name(key), value));
        let kept = usual.filter(|(key, _)| CLIENT_KEPT.contains(key));
        kept.map(|(key, value)| (key.to_owned(), word(value))).collect()
    };
    let configs = topic.configs.iter().filter(|(key, _)| TOPIC_KEPT.contains(&key.as_str()));
    Some(SetupWords {
        producer: of(true),
        consumer: of(false),
        topic: TopicWords {
            partitions: Some(OneOrMany::One(topic.partitions)),
            replication: Some(OneOrMany::One(topic.replication)),
            configs: configs.map(|(key, value)| (key.clone(), word(value))).collect(),
            ..TopicWords::default()
        },
        ..SetupWords::default()
    })
}

/// Whether the watched path told the value that would be changed.
fn is_known(setting: &FlipSetting, observed: &SetupWords) -> bool {
    let has = |known: &BTreeMap<String, OneOrMany<Scalar>>, key: &str| known.contains_key(usual_name(key));
    match setting.path.split_once('.') {
        Some(("producer", key)) => has(&observed.producer, key),
        Some(("consumer", key)) => has(&observed.consumer, key),
        _ => setting.path.strip_prefix("topic.configs.").is_some_and(|key| has(&observed.topic.configs, key)),
    }
}

/// Client properties, by their usual names, that are taken over from the observed client: what a flip changes, and what it depends on.
const CLIENT_KEPT: [&str; 11] = [
    "acks",
    "linger.ms",
    "batch.size",
    "batch.num.messages",
    "max.in.flight.requests.per.connection",
    "enable.idempotence",
    "compression.type",
    "socket.nagle.disable",
    "fetch.wait.max.ms",
    "fetch.min.bytes",
    "isolation.level",
];
/// Configs that are taken over from the observed topic.
const TOPIC_KEPT: [&str; 5] =
    ["min.insync.replicas", "flush.messages", "flush.ms", "compression.type", "message.timestamp.type"];

/// Puts the setting where it belongs; none where Plumb may not change it.
fn place(setting: &FlipSetting, setup: &mut SetupWords) -> Option<()> {
    let value = || OneOrMany::One(Scalar(setting.value.clone()));
    if let Some(key) = setting.path.strip_prefix("producer.") {
        setup.producer.insert(usual_name(key).to_owned(), value());
    } else if let Some(key) = setting.path.strip_prefix("consumer.") {
        setup.consumer.insert(usual_name(key).to_owned(), value());
    } else if let Some(key) = setting.path.strip_prefix("topic.configs.") {
        setup.topic.configs.insert(key.to_owned(), value());
    } else {
        return None;
    }
    Some(())
}

/// Runs the trials and writes into the diagnosis what came of them. A trial that cannot be run is unseen, and what was watched stays.
pub fn confirm(
    path: &mut ObservedPath,
    trials: &[FlipTrial],
    sources: &Sources,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) {
    for trial in trials {
        if stop.load(Ordering::Relaxed) {
            path.unseen.push(Unseen {
                what: format!("whether {} holds", trial.id),
                reason: "stopped before it was tried".to_owned(),
                hint: None,
            });
            continue;
        }
        match run_trial(trial, sources, stop, watcher) {
            Ok(document) => {
                let Some(confirmation) = outcome(trial, &document) else {
                    path.unseen.push(Unseen {
                        what: format!("whether {} holds", trial.id),
                        reason: without_outcome(&document),
                        hint: None,
                    });
                    continue;
                };
                let causes = path.diagnosis.iter_mut().flat_map(|diagnosis| &mut diagnosis.findings);
                for cause in causes.filter(|cause| cause.finding.id == trial.id) {
                    plumb_judge::diagnosis::confirmed(cause, confirmation.clone());
                }
            }
            Err(error) => path.unseen.push(Unseen {
                what: format!("whether {} holds", trial.id),
                reason: chain(&error).join(": "),
                hint: None,
            }),
        }
    }
    if let Some(diagnosis) = &mut path.diagnosis {
        plumb_judge::diagnosis::conclude(diagnosis);
    }
}

fn run_trial(
    trial: &FlipTrial,
    sources: &Sources,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<RunDocument> {
    let directory = tempfile::tempdir().map_err(RunDirError::Write)?;
    Ok(run::run(trial.plan(sources)?, Some(&directory.path().join("run")), stop, watcher)?.document)
}

/// Why a trial that ran has no outcome, in words.
fn without_outcome(document: &RunDocument) -> String {
    let reasons: Vec<&str> =
        document.validity.reasons.iter().map(|reason| reason.claim.as_str()).take(2).collect();
    match reasons.is_empty() {
        true => "it was tried, and its blocks do not tell the two settings apart by an interval".to_owned(),
        false => format!("it was tried, and its blocks give no comparison: {}", reasons.join("; ")),
    }
}

/// What came of it; none where the run has no comparison, as when it was stopped.
fn outcome(trial: &FlipTrial, document: &RunDocument) -> Option<Confirmation> {
    let compared = match trial.place {
        TrialPlace::Cluster => compared(trial, document)?,
        TrialPlace::Labs => lab::compared(&trial.metric, document)?,
    };
    let valid = document.validity.verdict != ValidityVerdict::Invalid;
    let outcome = match decide(trial.expect, compared.ratio_low, compared.ratio_high) {
        _ if !valid => ConfirmationOutcome::Undecided,
        ConfirmationOutcome::DoesNotHold if !trial.is_watched_load => ConfirmationOutcome::Undecided,
        outcome => outcome,
    };
    Some(Confirmation {
        change: format!("{}: {}", trial.setting.path, trial.setting.value),
        metric: trial.metric.clone(),
        before_ns: compared.before_ns,
        after_ns: compared.after_ns,
        ratio_low: compared.ratio_low,
        ratio_high: compared.ratio_high,
        outcome,
    })
}

/// Both ways of a trial, and the interval of changed over as it is.
struct Compared {
    before_ns: f64,
    after_ns: f64,
    ratio_low: f64,
    ratio_high: f64,
}

fn compared(trial: &FlipTrial, document: &RunDocument) -> Option<Compared> {
    let comparison = document.comparisons.iter().find(|comparison| comparison.metric == trial.metric)?;
    let mean = |step: usize| {
        let latency = &document.steps.get(step)?.latency;
        if trial.metric == METRICS[0] { latency.acknowledge.mean_ns } else { latency.end_to_end.mean_ns }
    };
    Some(Compared {
        before_ns: mean(0)?,
        after_ns: mean(1)?,
        ratio_low: comparison.ratio_low?,
        ratio_high: comparison.ratio_high?,
    })
}

/// What the interval of a ratio says of what was expected. That something stays is shown by an interval that is narrow, not by one
/// that is wide.
fn decide(expect: Expect, low: f64, high: f64) -> ConfirmationOutcome {
    let (falls, rises) = (high < 1.0, low > 1.0);
    let (no_fall, no_rise) = (low > 1.0 - MATTERS, high < 1.0 + MATTERS);
    let (holds, does_not) = match expect {
        Expect::Falls | Expect::Gone => (falls, no_fall),
        Expect::Rises => (rises, no_rise),
        Expect::Stays => (no_fall && no_rise, falls || rises),
    };
    match () {
        () if holds => ConfirmationOutcome::Holds,
        () if does_not => ConfirmationOutcome::DoesNotHold,
        () => ConfirmationOutcome::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_judge::{Family, FlipRow};
    use plumb_model::diagnosis::Diagnosis;
    use plumb_model::finding::Finding;
    use plumb_model::observed::{BrokerWindow, ClientWindow, TopicSettings, TopicTraffic};
    use plumb_model::plan::SizePlan;
    use plumb_model::scenario::{RateWords, SizeWords};
    use plumb_model::units::Bytes;

    #[test]
    fn only_clients_and_own_topics_are_changed() {
        let place = |path: &str| {
            let setting = FlipSetting { path: path.to_owned(), value: "5".to_owned() };
            place(&setting, &mut SetupWords::default())
        };
        for path in ["producer.linger.ms", "consumer.fetch.wait.max.ms", "topic.configs.flush.messages"] {
            assert!(place(path).is_some(), "{path}");
        }
        for path in ["broker.num.io.threads", "cluster.jvm_flags", "host.vm.dirty_bytes", "linger.ms"] {
            assert!(place(path).is_none(), "{path}");
        }
    }

    #[test]
    fn a_wide_interval_neither_confirms_nor_rejects_whatever_was_expected() {
        use ConfirmationOutcome::{DoesNotHold, Holds, Undecided};
        for (expect, low, high, outcome) in [
            (Expect::Falls, 0.3, 0.6, Holds),
            (Expect::Falls, 0.5, 1.4, Undecided),
            (Expect::Falls, 0.97, 1.02, DoesNotHold),
            (Expect::Falls, 1.2, 1.9, DoesNotHold),
            (Expect::Rises, 1.2, 1.9, Holds),
            (Expect::Rises, 0.8, 1.4, Undecided),
            (Expect::Stays, 0.5, 1.9, Undecided),
            (Expect::Stays, 0.98, 1.02, Holds),
            (Expect::Stays, 0.3, 0.6, DoesNotHold),
        ] {
            assert_eq!(decide(expect, low, high), outcome, "{expect:?} {low} {high}");
        }
    }

    /// A path with every cause that has a flip, of whose topic and clients everything is known.
    fn path_with_every_flip() -> ObservedPath {
        let clients = [true, false].map(|is_producer| ClientWindow {
            is_producer,
            settings: CLIENT_KEPT.iter().map(|key| ((*key).to_owned(), default_of(key).to_owned())).collect(),
            ..ClientWindow::default()
        });
        let topic = TopicSettings {
            partitions: 3,
            replication: 1,
            configs: [("flush.messages".to_owned(), "1".to_owned())].into(),
            ..TopicSettings::default()
        };
        let mut path = ObservedPath { clients: clients.into(), ..ObservedPath::default() };
        path.settings.topics.insert("t".to_owned(), topic);
        let traffic = TopicTraffic { topic: "t".to_owned(), ..TopicTraffic::default() };
        path.brokers = vec![BrokerWindow { topics: vec![traffic], ..BrokerWindow::default() }];
        let rows = plumb_judge::rows().filter(|row| row.family == Family::Diagnosis);
        let causes = rows.map(|row| {
            let flip = row.flip.as_ref().map(FlipRow::flip);
            let finding = Finding { flip, ..Finding::new(row.id, row.severity, String::new()) };
            Cause {
                finding,
                fix: None,
                share_of_gap: None,
                consequence_of: Vec::new(),
                rivals: Vec::new(),
                confirmation: None,
            }
        });
        path.diagnosis = Some(Diagnosis { findings: causes.collect(), ..Diagnosis::default() });
        path
    }

    fn default_of(key: &str) -> &'static str {
        match key {
            "acks" => "all",
            "enable.idempotence" | "socket.nagle.disable" => "false",
            "compression.type" => "none",
            "isolation.level" => "read_committed",
            _ => "100",
        }
    }

    fn everything(path: &ObservedPath) -> Vec<FlipTrial> {
        let cluster = ClusterWords { bootstrap: Some("127.0.0.1:1".to_owned()), ..ClusterWords::default() };
        let load = LoadWords {
            rate: Some(OneOrMany::One(RateWords::PerSecond(50.0))),
            size: Some(OneOrMany::One(SizeWords(SizePlan::Fixed(Bytes(1_000))))),
            duration: Some(OneOrMany::One(DURATION)),
            ..LoadWords::default()
        };
        trials(path, &cluster, &load)
    }

    #[test]
    fn every_flip_that_would_be_tried_is_a_plan_whose_two_setups_differ_in_it() {
        let path = path_with_every_flip();
        let trials = everything(&path);
        let ids: Vec<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
        assert!(ids.contains(&"linger-too-long") && ids.contains(&"flush-forced"), "{ids:?}");
        for trial in trials {
            let plan = trial.plan(&Sources::new()).unwrap();
            let [as_it_is, changed] = [&plan.steps[0], &plan.steps[1]];
            let settings = |step: &plumb_model::plan::StepPlan| {
                format!("{:?} {:?} {:?}", step.producer, step.consumer, step.topic)
            };
            assert_ne!(settings(as_it_is), settings(changed), "{}", trial.id);
            // A run with consumers compares the time to them alone.
            let is_acknowledge = trial.metric == "acknowledge.mean";
            for step in [as_it_is, changed].iter().filter(|_| trial.place == TrialPlace::Cluster) {
                assert_eq!(step.load.consumers == 0, is_acknowledge, "{}", trial.id);
            }
        }
    }

    #[test]
    fn nothing_is_tried_of_a_setting_that_the_watched_path_did_not_tell() {
        let mut path = path_with_every_flip();
        path.clients.clear();
        let ids: Vec<String> = everything(&path).into_iter().map(|trial| trial.id).collect();
        assert_eq!(ids, ["flush-forced"]);
        path.settings.topics.clear();
        assert_eq!(everything(&path).len(), 0);
    }
}
