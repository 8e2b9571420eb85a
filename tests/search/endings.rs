//! The ends of a search that is not what one hopes for: each says what was learned, and leaves what can go on.

use super::{LINGERS, apart, assert_replays, document, json, search, sink};
use crate::program::Program;
use plumb_lab::sink::Apis;
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

#[test]
fn a_goal_that_nothing_holds_is_said_so_and_nothing_is_proposed() {
    let sink = sink();
    let ended = search(&sink, LINGERS).args(["--goal", "p50<1us", "--output", "json"]).run();
    let report = ended.json();
    assert_eq!(report["outcome"], "nothing_meets_goal", "{report} {}", ended.stderr);
    assert_eq!(ended.code(), Some(1));
    assert_eq!(report["proposed"].as_array().unwrap().len(), 0);
    assert!(!ended.path("found/proof").exists());
}

#[test]
fn a_broker_that_dies_ends_the_search_and_what_it_saw_stays() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    let run = running.path("found/search/run.json");
    running.wait_for("two blocks", |_| {
        let text = std::fs::read_to_string(&run).ok()?;
        (text.matches("\"purpose\": \"noise\"").count() >= 2).then_some(())
    });
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
    assert!(shown.stdout.contains("was stopped after"), "{} {}", shown.stdout, shown.stderr);
    // It is several runs.
    let compared = Program::new(["compare", &found, &found]).run();
    assert_eq!(compared.code(), Some(2), "{}", compared.stderr);
    assert!(
        compared
            .stderr
            .contains("it proved nothing, so it has no run whose settings could be held against others"),
        "{}",
        compared.stderr
    );
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

#[test]
fn the_proofs_of_two_searches_are_named_where_the_searches_are_to_be_compared() {
    let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for place in &places {
        std::fs::create_dir(place.path().join("proof")).unwrap();
        std::fs::write(place.path().join("proof/run.json"), "{}").unwrap();
        std::fs::write(place.path().join("search.json"), "{}").unwrap();
    }
    let [a, b] = places.each_ref().map(|place| place.path().display().to_string());
    let compared = Program::new(["compare", &a, &b]).run();
    assert_eq!(compared.code(), Some(2), "{}", compared.stderr);
    let command = format!("plumb compare {a}/proof#proposed {b}/proof#proposed");
    let one_line = compared.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&command), "{}", compared.stderr);
}

#[test]
fn brokers_that_hang_are_told_while_they_are_waited_for() {
    let sink = sink();
    let mut running = search(&sink, LINGERS).start();
    let run = running.path("found/search/run.json");
    running.wait_for("two blocks", |_| {
        let text = std::fs::read_to_string(&run).ok()?;
        (text.matches("\"purpose\": \"noise\"").count() >= 2).then_some(())
    });
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
