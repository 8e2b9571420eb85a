//! What a broker does not take is learnt: it is said in whose words, and not tried again.

use super::{LINGERS, assert_replays, document, json, search, sink};
use plumb_lab::sink::{ApiKey, Apis, Delay, Effect, Refusal, RequestFault, ResponseError, SinkBroker};
use plumb_model::settings_search::SearchBlock;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A topic that takes no batches beyond 20,000 B; the presets of larger batches make such.
const SMALL: &str = "\
load: {rate: 2000, size: 1000B, warm_up: 100ms}
topic: {configs: {max.message.bytes: 20000}}
search: {budget: 20, block: 300ms, settings: [producer.linger.ms, producer.batch.size]}
setups:
- producer: {linger.ms: 30, batch.size: 16384}
";

/// The sink knows no such setting of topics.
const UNKNOWN: &str = "\
load: {rate: 200, warm_up: 100ms}
search: {budget: 24, block: 300ms, settings: [producer.linger.ms, topic.index.interval.bytes]}
setups:
- producer: {linger.ms: 30}
";

/// The value of a setting in the blocks that were refused, and in those that ran.
fn values(blocks: &[SearchBlock], setting: &str) -> (Vec<f64>, Vec<f64>) {
    let of = |is_refused: bool| {
        let blocks = blocks.iter().filter(|block| block.refused.is_some() == is_refused);
        blocks.filter_map(|block| block.settings.get(setting)?.parse().ok()).collect()
    };
    (of(true), of(false))
}

fn refused<'r>(report: &'r Value, setting: &str) -> &'r Value {
    let all = report["refused"].as_array().unwrap();
    let is_it = |row: &&Value| row["settings"].get(setting).is_some();
    all.iter().find(is_it).unwrap_or_else(|| panic!("{setting}: {all:#?} of {:#?}", report["blocks"]))
}

#[test]
fn batches_that_the_topic_does_not_take_are_refused_in_the_brokers_words_and_not_tried_again() {
    let sink = sink();
    // So slow a broker that no preset's linger is ruled out beforehand.
    sink.control().delay_answers(Apis::data(), Delay::Constant(Duration::from_millis(60)));
    let ended = search(&sink, SMALL).args(["--trial-only"]).run();
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let report = json(&ended.path("found/search.json"));
    let row = refused(&report, "producer.batch.size");
    assert_eq!((&row["by"], &row["beyond"]), (&"broker".into(), &true.into()));
    assert!(row["words"].as_str().unwrap().contains("MSG_SIZE_TOO_LARGE"), "{row}");
    assert!(ended.stderr.contains("refused by the broker: "), "{}", ended.stderr);
    let searched = document(&ended.path("found/search"));
    // A batch that does not fill before its linger is over is taken, so that it may be refused in company alone.
    let blocks = &searched.settings_search.as_ref().unwrap().blocks;
    let refused: Vec<&SearchBlock> = blocks.iter().filter(|block| block.refused.is_some()).collect();
    for (at, block) in refused.iter().enumerate() {
        assert_eq!(block.refused.as_ref().unwrap().suspects, ["producer.batch.size"], "{block:?}");
        assert!(refused[..at].iter().all(|earlier| earlier.settings != block.settings), "{refused:?}");
    }
    assert_replays(&searched);
}

/// What waits in the client is more than the topic takes in a batch, with the user's own settings too.
const TOO_LARGE: &str = "\
load: {rate: 2000, size: 1000B, warm_up: 100ms}
topic: {configs: {max.message.bytes: 5000}}
search: {budget: 14, block: 300ms, settings: [producer.linger.ms]}
setups:
- producer: {linger.ms: 30}
";

#[test]
fn what_the_broker_does_not_take_of_ones_own_settings_is_no_refusal_of_others() {
    let sink = sink();
    let ended = search(&sink, TOO_LARGE).args(["--trial-only"]).run();
    let blocks = document(&ended.path("found/search")).settings_search.unwrap().blocks;
    let failed = |is_own: bool| {
        let is_it = |block: &&SearchBlock| block.settings.is_empty() == is_own;
        blocks.iter().filter(is_it).filter_map(|block| block.failed.as_deref()).collect::<Vec<_>>()
    };
    let says_why = |why: &&str| why.contains("MSG_SIZE_TOO_LARGE");
    assert!(!failed(true).is_empty() && failed(true).iter().all(says_why), "{blocks:#?}");
    assert!(blocks.iter().all(|block| block.refused.is_none()), "{blocks:#?}");
    assert_eq!(json(&ended.path("found/search.json"))["refused"], serde_json::json!([]));
}

#[test]
fn a_topic_that_the_broker_does_not_make_is_about_the_topics_settings_and_the_rest_is_searched() {
    let sink = sink();
    let ended = search(&sink, UNKNOWN).args(["--trial-only"]).run();
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let report = json(&ended.path("found/search.json"));
    let row = refused(&report, "topic.index.interval.bytes");
    assert!(row["words"].as_str().unwrap().contains("INVALID_CONFIG"), "{row}");
    let searched = document(&ended.path("found/search"));
    let blocks = &searched.settings_search.as_ref().unwrap().blocks;
    let (refused, ran) = values(blocks, "topic.index.interval.bytes");
    assert!(ran.is_empty() && !refused.is_empty(), "{ran:?} {refused:?}");
    assert!(refused.windows(2).all(|pair| pair[1] < pair[0]), "{refused:?}");
    // The other setting is not blamed: it was found.
    assert_eq!(report["candidates"][0]["setting"], "producer.linger.ms", "{report}");
    assert_replays(&searched);
}

/// What waits in the client and at the broker, by two settings.
const WAITS: &str = "\
load: {rate: 200, size: 100B, warm_up: 100ms}
search: {budget: 20, block: 300ms, settings: [producer.linger.ms, consumer.fetch.min.bytes]}
setups:
- producer: {linger.ms: 30}
  consumer: {fetch.min.bytes: 65536, fetch.wait.max.ms: 50}
";

/// Topics are refused from now on, so many times.
fn make_no_topics(sink: &SinkBroker, times: u64) {
    sink.control().refuse(RequestFault {
        apis: Apis::one(ApiKey::CreateTopics),
        skip: 0,
        count: times,
        refusal: Refusal::Error(ResponseError::PolicyViolation, Effect::Skipped),
    });
}

/// The search in this directory is over; what proves it is not.
fn has_searched(run: &Path) -> Option<()> {
    let text = std::fs::read_to_string(run.join("run.json")).ok()?;
    text.contains("\"ending\": \"better\"").then_some(())
}

#[test]
fn a_proof_that_the_broker_refuses_is_told_and_what_was_found_stays_a_candidate() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    let run = running.path("found/search");
    running.wait_for("the search's end", |_| has_searched(&run));
    make_no_topics(&sink, u64::MAX);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    let report = json(&ended.path("found/search.json"));
    assert_eq!(report["outcome"], "not_proven", "{report:#}");
    assert_eq!(report["candidates"][0]["setting"], "producer.linger.ms");
    let refused = &report["refused_trials"][0];
    assert_eq!((&refused["stage"], &refused["run"]), (&"proof".into(), &"proof".into()), "{report:#}");
    assert!(ended.stdout.contains("The trial in proof was refused"), "{}", ended.stdout);
    assert!(ended.stdout.contains("POLICY_VIOLATION"), "{}", ended.stdout);
}

#[test]
fn changes_whose_parts_the_broker_does_not_let_measure_go_to_the_proof_together() {
    let sink = sink();
    let mut running = search(&sink, WAITS).start();
    let run = running.path("found/search");
    running.wait_for("the search's end", |_| has_searched(&run));
    make_no_topics(&sink, 1);
    let proof = running.path("found/proof/run.json");
    running.wait_for("the proof", |_| proof.exists().then_some(()));
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{} {}", ended.stdout, ended.stderr);
    let report = json(&ended.path("found/search.json"));
    let refused = &report["refused_trials"][0];
    assert_eq!((&refused["stage"], &refused["run"]), (&"taking_back".into(), &"parts".into()), "{report:#}");
    assert_eq!(report["candidates"].as_array().unwrap().len(), 2, "{report:#}");
    let arms: Vec<String> =
        document(&ended.path("found/proof")).plan.steps.into_iter().map(|step| step.name).collect();
    assert_eq!(arms, ["as it is", "proposed", "as it is, again"]);
}
