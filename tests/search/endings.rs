//! The ends of a search that is not what one hopes for: each says what was learned, and leaves what can go on.

use super::{LINGERS, apart, assert_replays, document, json, search, sink};
use crate::program::{Program, Running};
use plumb_lab::sink::{Apis, Delay, SinkBroker};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn a_search_that_is_killed_goes_on_with_the_blocks_that_it_had() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).args(["--trial-only"]).start();
    let run = running.path("found/search");
    let done = |run: &std::path::Path| {
        let text = std::fs::read_to_string(run.join("run.json")).ok()?;
        let document: plumb_model::document::RunDocument = serde_json::from_str(&text).ok()?;
        Some(document.settings_search?.blocks.len())
    };
    running.wait_for("five blocks", |_| done(&run).filter(|blocks| *blocks >= 5));
    running.signal(Signal::KILL);
    let killed = running.wait();
    let before = document(&killed.path("found/search")).settings_search.unwrap().blocks;
    let resume = Program::new(["search".as_ref(), "--resume".as_ref(), killed.path("found").as_os_str()]);
    let ended = apart(resume, &killed.path("")).args(["--output", "json"]).run();
    let after = document(&killed.path("found/search"));
    assert_eq!(after.settings_search.as_ref().unwrap().blocks[..before.len()], before, "{}", ended.stderr);
    assert!(after.settings_search.as_ref().unwrap().ending.is_some());
    assert_replays(&after);
}

#[test]
fn a_search_that_is_stopped_says_what_it_saw_and_how_it_goes_on() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    let run = running.path("found/search/run.json");
    running.wait_for("a block", |_| std::fs::read_to_string(&run).ok()?.contains("\"noise\"").then_some(()));
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("was stopped after"), "{}", ended.stdout);
    assert!(ended.stderr.contains("plumb search --resume found"), "{}", ended.stderr);
    assert_eq!(json(&ended.path("found/search.json"))["outcome"], "interrupted");
}

/// Brokers whose answers take so long that equal blocks hardly differ, however busy this machine is.
fn slow_sink() -> SinkBroker {
    let sink = sink();
    sink.control().delay_answers(Apis::data(), Delay::Constant(Duration::from_millis(100)));
    sink
}

/// A goal that no block holds; the latency is what counts, because the CPU time of a busy machine differs between equal blocks.
const UNREACHABLE: [&str; 4] = ["--goal", "p50<1us", "--objective", "latency"];

#[test]
fn a_goal_that_nothing_holds_is_said_so_and_nothing_is_proposed() {
    let ended = search(&slow_sink(), LINGERS).args(UNREACHABLE).args(["--output", "json"]).run();
    let report = ended.json();
    assert_eq!(report["outcome"], "nothing_meets_goal", "{report} {}", ended.stderr);
    assert_eq!(ended.code(), Some(1));
    assert_eq!(report["proposed"].as_array().unwrap().len(), 0);
    assert!(!ended.path("found/proof").exists());
}

/// The second promise's brokers are gone: the answer for the first has been found, and stays whole.
#[test]
fn an_error_in_the_search_for_another_promise_leaves_the_first_answer_with_its_page() {
    let setups = LINGERS.replace("30}\n", "30}\n- producer: {linger.ms: 30, acks: 1}\n");
    let setups = setups.replace("search: {", "search: {allow: [durability], ");
    let sink = slow_sink();
    let mut running = search(&sink, &setups).args(UNREACHABLE).start();
    let second = running.path("found/promise-2/search/run.json");
    running.wait_for("the second search", |_| second.is_file().then_some(()));
    drop(sink);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(4), "{} {}", ended.stdout, ended.stderr);
    assert_eq!(json(&ended.path("found/search.json"))["outcome"], "nothing_meets_goal");
    let page = std::fs::read_to_string(ended.path("found/report.html")).unwrap();
    assert!(page.contains("holds the goal"), "{page}");
}

/// Waits until a search has two blocks.
fn wait_for_two_blocks(running: &mut Running) {
    let run = running.path("found/search/run.json");
    running.wait_for("two blocks", |_| {
        let text = std::fs::read_to_string(&run).ok()?;
        (text.matches("\"purpose\": \"noise\"").count() >= 2).then_some(())
    });
}

/// No block is blamed on the settings that it tried, and each way of reading the answer has the reason.
#[test]
fn brokers_that_fall_silent_end_the_search_at_that_block_with_the_reason_in_its_answer() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    wait_for_two_blocks(&mut running);
    sink.control().stall(Apis::All, Duration::from_secs(3_600));
    let ended = running.wait();
    assert_eq!(ended.code(), Some(4), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("have given no answer for "), "{}", ended.stderr);
    assert!(ended.stderr.contains("it can go on: plumb search --resume found\n"), "{}", ended.stderr);
    let answer = json(&ended.path("found/search.json"));
    assert_eq!(answer["outcome"], "interrupted");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("have given no answer for "), "{error}");
    let blocks = answer["blocks"].as_array().unwrap();
    assert!(blocks.iter().all(|block| block["failed"].is_null()), "{blocks:#?}");
    let summary = answer["summary"].to_string();
    assert!(summary.contains(error) && summary.contains("plumb search --resume found"), "{summary}");
    let page = std::fs::read_to_string(ended.path("found/report.html")).unwrap();
    assert!(page.contains("have given no answer for "), "{page}");
    let found = ended.path("found").display().to_string();
    let shown = Program::new(["report", &found]).run().stdout;
    assert!(
        shown.split_whitespace().collect::<Vec<_>>().join(" ").contains("ended with an error after"),
        "{shown}"
    );
}

#[test]
fn a_broker_that_dies_ends_the_search_and_what_it_saw_stays() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    wait_for_two_blocks(&mut running);
    drop(sink);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(4), "{} {}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr.matches("it can go on").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("it can go on: plumb search --resume found\n"), "{}", ended.stderr);
    let blocks = document(&ended.path("found/search")).settings_search.unwrap().blocks.len();
    assert!(blocks >= 2);
    // The answer so far is there, and its page, and it opens as any result does.
    let answer = json(&ended.path("found/search.json"));
    assert_eq!(
        (&answer["outcome"], answer["blocks"].as_array().map(Vec::len)),
        (&"interrupted".into(), Some(blocks))
    );
    assert!(ended.path("found/report.html").is_file());
    let found = ended.path("found").display().to_string();
    let shown = Program::new(["report", &found]).run();
    assert!(shown.stdout.contains("ended with an error after"), "{} {}", shown.stdout, shown.stderr);
}

#[test]
fn a_search_without_an_answer_says_how_it_comes_to_one() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("request.json"), "{}").unwrap();
    let found = place.path().display().to_string();
    let shown = Program::new(["report", &found]).run();
    assert_eq!(shown.code(), Some(2), "{} {}", shown.stdout, shown.stderr);
    let hint = format!("go on with it: plumb search --resume {found}");
    assert!(shown.stderr.contains(&hint), "{}", shown.stderr);
}

/// The answer of a search whose proof came to `ratio`, in a directory of its own.
fn proven(objective: &str, ratio: f64) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("proof")).unwrap();
    std::fs::write(place.path().join("proof/run.json"), "{}").unwrap();
    let change = serde_json::json!({
        "setting": "producer.linger.ms", "from": "30", "from_is_written": true, "to": "1", "effect": null,
        "interval_low": null, "interval_high": null, "verdict": "whole"
    });
    let proof = serde_json::json!({
        "estimate_ratio": ratio, "interval_low": ratio - 0.1, "interval_high": ratio + 0.1, "level": 0.95, "verdict": "better",
        "vetoes": [], "reason": null, "before": null, "after": null, "unit": "ns", "pairs": 12, "starts": 1, "guards": [],
        "goal_held": null, "unequal_guarantees": [], "guarantees": {}
    });
    let answer = serde_json::json!({
        "schema_version": 1, "name": "s", "started_at": format!("2026-01-02T03:04:05Z {ratio}"), "seed": 1,
        "objective": objective, "metric": "end_to_end.p50", "goal": null, "promise": "acks=all", "other_promises": [],
        "outcome": "better", "ending": "better", "summary": ["1 change proven better."], "proposed": [change],
        "candidates": [], "proof": proof, "highest_rates": [], "other_rates": [], "restart": [], "envelope": [],
        "blocks": [], "front": [], "aborted": 0, "failed": 0, "refused": [], "ruled_out": [],
        "smallest_gain_ratio": null, "spread_log": null, "importance": [], "space": [], "left_out": [], "runs": ["proof"]
    });
    std::fs::write(place.path().join("search.json"), answer.to_string()).unwrap();
    place
}

#[test]
fn two_searches_stand_side_by_side_with_what_each_proved_and_whether_they_asked_the_same() {
    let places = [proven("latency", 0.5), proven("latency", 0.7), proven("cpu", 0.9)];
    let [a, b, other] = places.each_ref().map(|place| place.path().display().to_string());
    let compared = Program::new(["compare", &a, &b]).run();
    assert_eq!(compared.code(), Some(0), "{}", compared.stderr);
    let said = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["producer.linger.ms 30 -> 1 30 -> 1", "×0.400 to ×0.600 (95 %)", "better better"] {
        assert!(said.contains(words), "{words}: {}", compared.stdout);
    }
    assert!(!said.contains("no answers to the same question"), "{}", compared.stdout);
    let command = format!("plumb compare {a}/proof#proposed {b}/proof#proposed");
    let one_line = compared.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&command), "{}", compared.stderr);
    let unlike = Program::new(["compare", &a, &other, "--output", "json"]).run();
    let document = unlike.json();
    assert_eq!(document["differences"][0]["what"], "objective", "{document:#}");
    assert!(document["cannot_show"][0].as_str().unwrap().contains("no answers to the same question"));
    // With itself, or with a run, it is not compared.
    let run = format!("{a}/proof#proposed");
    for (second, why) in [(&a, "itself"), (&run, "is a search, which is several runs")] {
        let refused = Program::new(["compare", &a, second]).run();
        assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
        let one_line = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(why) && one_line.contains("hint: "), "{}", refused.stderr);
    }
}

#[test]
fn brokers_that_hang_are_told_while_they_are_waited_for() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    wait_for_two_blocks(&mut running);
    sink.control().stall(Apis::All, Duration::from_secs(3_600));
    running.wait_for("a line on the silence", |running| {
        running.complained().contains("; this wait ends within ").then_some(())
    });
    running.signal(Signal::KILL);
    let said = running.wait().stderr;
    let line = said.lines().find(|line| line.contains("this wait ends within")).unwrap();
    assert!(line.starts_with("plumb: ") && line.contains(" for "), "{line}");
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_made() {
    let cases = [
        ("search: {budget: 5}\nload: {rate: 100}\n", "search.budget is 5"),
        ("search: {settings: [producer.acks]}\nload: {rate: 100}\n", "producer.acks"),
        ("search: {objective: latency}\nload: {rate: max}\n", "as fast as possible has no latency"),
        ("search: {objective: rate}\nload: {rate: 100}\n", "search.goal"),
        (
            "search: {objective: rate, goal: 'p50<20ms', restart: {heap: 1g}}\nload: {rate: 100}\n",
            "search.objective: rate",
        ),
        ("arms: {a: {}, b: {producer: {linger.ms: 0}}}\nload: {rate: 100}\n", "a search makes the arms"),
        (
            "search: {settings: [topic]}\nload: {rate: 100}\ntopic: {name: mine}\n",
            "of the settings that the search may change none",
        ),
    ];
    let sink = sink();
    for (scenario, words) in cases {
        let ended = search(&sink, scenario).run();
        assert_eq!(ended.code(), Some(2), "{scenario}: {} {}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(words), "{scenario}: {}", ended.stderr);
        assert!(!ended.path("found").exists(), "{scenario}");
    }
}

#[test]
fn a_scenario_with_a_search_is_no_run_of_its_setups() {
    let ended = Program::new(["run", "s.yaml"]);
    std::fs::write(ended.directory().join("s.yaml"), LINGERS).unwrap();
    let ended = ended.run();
    assert_eq!(ended.code(), Some(2), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("plumb search s.yaml"), "{}", ended.stderr);
}

#[test]
fn settings_of_this_host_are_tried_around_blocks_and_put_back() {
    let script = r#"
        "$1" lab sink --topic t > sink.txt & sink=$!
        trap 'kill $sink' EXIT
        until port=$(grep -o '127.0.0.1:[0-9]*' sink.txt); do sleep 0.02; done
        echo "net.ipv4.tcp_fin_timeout: 40" > profile.yaml
        "$1" tune plan --profile profile.yaml --only profile --window 0s --out fin.json > /dev/null || exit 91
        printf 'load: {rate: 200, warm_up: 100ms}\nsearch: {budget: 14, block: 300ms, settings: [producer.linger.ms]}\n' > s.yaml
        cat /proc/sys/net/ipv4/tcp_fin_timeout > before
        "$1" search s.yaml --plan fin.json --bootstrap $port --trial-only --seed 3 --out found > /dev/null
        cmp before /proc/sys/net/ipv4/tcp_fin_timeout || exit 92
        grep -q '"host.net.ipv4.tcp_fin_timeout": "40"' found/search/run.json || exit 93
        ! ls state/journal/*.jsonl 2> /dev/null"#;
    let Some(ended) = crate::tune::in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}
