//! `plumb check` on this host and in namespaces: which layer loses, what it advises, and what it does not claim.

use super::in_a_namespace;
use crate::program::Program;
use serde_json::Value;

#[test]
fn every_setting_has_a_status_a_reason_and_a_source() {
    let ended = Program::new(["check", "--window", "100ms", "--output", "json"]).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    let document = ended.json();
    let checks = document["checks"].as_array().unwrap();
    assert!(checks.len() > 30, "{}", checks.len());
    for check in checks {
        for key in ["id", "status", "reason", "risk", "source"] {
            assert!(check[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {check}");
        }
        let is_change = check["status"] == "change";
        assert!(!is_change || check["evidence"].as_array().is_some_and(|list| !list.is_empty()), "{check}");
    }
}

#[test]
fn a_name_that_no_tunable_has_is_refused_with_the_one_that_was_meant() {
    let ended = Program::new(["check", "--only", "swapines"]).run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean swappiness?"), "{}", ended.stderr);
}

#[test]
fn a_process_that_is_not_there_is_refused() {
    let ended = Program::new(["check", "--pid", "4190000", "--window", "0s"]).run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("no process 4190000"), "{}", ended.stderr);
}

/// A program that listens, accepts nothing, and connects to itself more often than its queue holds while the host is watched.
const OVERFLOW: &str = r#"
import socket, time
listening = socket.socket(); listening.bind(("127.0.0.1", 7777)); listening.listen(100)
tries = [socket.socket() for _ in range(60)]
for one in tries: one.setblocking(False)
time.sleep(0.7)
for one in tries:
    try: one.connect(("127.0.0.1", 7777))
    except BlockingIOError: pass
time.sleep(20)
"#;

#[test]
fn an_accept_queue_that_overflows_is_named_as_the_layer_and_the_plan_lengthens_it() {
    let script = format!(
        r#"
        echo 4 > /proc/sys/net/core/somaxconn
        python3 -c '{OVERFLOW}' & server=$!
        trap 'kill $server' EXIT
        "$1" check --window 2s --output json > check.json
        "$1" tune plan --window 0s --only accept-queue --output json > calm.json
        exit 0"#
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(ended.path(name)).unwrap()).unwrap()
    };
    let (check, calm) = (read("check.json"), read("calm.json"));
    assert_eq!(check["losses"][0]["layer"], "accept_queue", "{}", check["losses"]);
    let found =
        check["checks"].as_array().unwrap().iter().find(|check| check["id"] == "accept-queue").unwrap();
    assert_eq!((&found["status"], &found["recommended"]), (&"change".into(), &"4096".into()), "{found}");
    // Without an overflow in the window nothing is planned.
    assert_eq!(calm["changes"].as_array().unwrap().len(), 0, "{calm}");
    assert_eq!(calm["left_out"][0]["status"], "no_evidence", "{calm}");
}

/// A sender whose reader takes a little a second, and one whose reader takes all.
const SLOW_READER: &str = r#"
import socket, sys, threading, time
slow = sys.argv[1] == "slow"
port = 7778 if slow else 7779
listening = socket.socket(); listening.bind(("127.0.0.1", port)); listening.listen(1)
def send():
    one = socket.create_connection(("127.0.0.1", port))
    end = time.time() + 60
    while time.time() < end: one.sendall(b"x" * 20000); time.sleep(0.002)
threading.Thread(target=send, daemon=True).start()
reading, _ = listening.accept()
end = time.time() + 60
while time.time() < end: reading.recv(2000 if slow else 1 << 20); time.sleep(0.05 if slow else 0)
"#;

#[test]
fn a_reader_that_is_slow_is_told_as_what_holds_the_sender_back_and_one_that_is_not_is_not() {
    let script = format!(
        r#"
        for kind in quick slow; do
            python3 -c '{SLOW_READER}' $kind & sender=$!
            # A busy machine may take its time until the reader is behind.
            for look in 1 2 3 4 5; do
                sleep 1; "$1" check --window 2s --only socket-buffers --output json > $kind.json
                [ $kind = quick ] || grep -q 'windows of receivers' $kind.json && break
            done
            kill $sender; wait $sender
        done 2> /dev/null; exit 0"#
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    let windows = |name: &str| -> Option<Value> {
        let text = std::fs::read_to_string(ended.path(name)).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let checks = document["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["target"] == "windows of receivers")
    };
    let slow = windows("slow.json").unwrap_or_else(|| panic!("{}", ended.stderr));
    assert_eq!((&slow["status"], &slow["evidence"][0]["unit"]), (&"advice".into(), &"%".into()), "{slow}");
    assert_eq!(windows("quick.json"), None);
}

#[test]
fn hosts_that_differ_are_held_against_each_other_and_the_unusual_one_is_named() {
    let first = Program::new(["check", "--window", "0s", "--output", "json"]).run();
    let document = first.json();
    let program = Program::new(["check", "a.json", "b.json", "c.json", "d.json", "--output", "json"]);
    for name in ["a", "b", "c", "d"] {
        let mut of = document.clone();
        of["label"] = name.into();
        if name == "d" {
            for check in of["checks"].as_array_mut().unwrap() {
                if ["slow-start-after-idle", "netdev-backlog", "accept-queue", "syn-backlog"]
                    .contains(&check["id"].as_str().unwrap())
                {
                    check["configured"] = "12345".into();
                    check["effective"] = "12345".into();
                }
            }
        }
        std::fs::write(program.directory().join(format!("{name}.json")), of.to_string()).unwrap();
    }
    let ended = program.run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert_eq!(ended.json()["outliers"], serde_json::json!(["d"]));
}
