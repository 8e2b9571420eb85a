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
    let ended = Program::new(["check", "--pid", "4190000", "--window", "100ms"]).run();
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
                [ $kind = quick ] || grep -q 'receiving peers' $kind.json && break
            done
            kill $sender; wait $sender
        done 2> /dev/null; exit 0"#
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    let windows = |name: &str| -> Option<Value> {
        let text = std::fs::read_to_string(ended.path(name)).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let checks = document["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["target"] == "receiving peers")
    };
    let slow = windows("slow.json").unwrap_or_else(|| panic!("{}", ended.stderr));
    assert_eq!((&slow["status"], &slow["evidence"][0]["unit"]), (&"advice".into(), &"%".into()), "{slow}");
    assert_eq!(windows("quick.json"), None);
}

/// A host that sends faster than its own queue lets packets out, to a neighbour that takes them all. What tc(8) says of the queue comes after
/// the window, so that it is the exact number to find.
const OWN_QUEUE: &str = r#"
    ip link add v0 type veth peer name v1
    ip addr add 10.9.0.1/24 dev v0; ip link set v0 up; ip link set v1 up
    ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
    tc qdisc add dev v0 root handle 7: tbf rate 1mbit burst 3kb limit 6kb || exit 91
    (sleep 0.7; python3 -c '
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(3000): one.sendto(b"x" * 1000, ("10.9.0.2", 9))
') &
"#;

#[test]
fn what_this_hosts_own_queue_drops_is_a_layer_with_its_interface_and_its_exact_number() {
    let script = format!(
        r#"{OWN_QUEUE}
        "$1" check --window 4s --output json > check.json; code=$?
        tc -s qdisc show dev v0 > tc.txt
        exit $code"#
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    let check: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("check.json")).unwrap()).unwrap();
    let tc = std::fs::read_to_string(ended.path("tc.txt")).unwrap();
    let dropped: f64 = tc.split("dropped ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(dropped > 1000.0, "{tc}");
    let own = check["losses"].as_array().unwrap().iter().find(|loss| loss["layer"] == "own_queue").unwrap();
    let counters = own["counters"].as_array().unwrap();
    assert_eq!(counters.len(), 1, "{own}");
    assert_eq!(
        (&counters[0]["counter"], counters[0]["amount"].as_f64()),
        (&"qdisc.v0.tbf 7:.drops".into(), Some(dropped))
    );
    let found = check["checks"].as_array().unwrap().iter().find(|check| check["id"] == "own-queue").unwrap();
    assert_eq!((&found["status"], &found["target"]), (&"advice".into(), &"v0".into()), "{found}");
    assert!(found["by_hand"].as_str().unwrap().contains("tc -s qdisc show dev v0"), "{found}");
}

#[test]
fn a_traced_drop_of_this_hosts_own_queue_is_at_its_layer_and_not_at_another_one_as_well() {
    let script = format!(
        r#"{OWN_QUEUE}
        "$1" check --kernel --window 4s --output json; exit $?"#
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    let check = ended.json();
    let unseen = check["unseen"].to_string();
    if unseen.contains("the kernel's reasons of drops") {
        super::passed_over(&format!("the kernel cannot be traced here: {unseen}"));
        return;
    }
    let losses = check["losses"].as_array().unwrap();
    let layers: Vec<&str> = losses
        .iter()
        .filter(|loss| loss.to_string().contains("QDISC_DROP"))
        .map(|loss| loss["layer"].as_str().unwrap())
        .collect();
    assert_eq!(layers, ["own_queue"], "{losses:?}");
    let own = losses.iter().find(|loss| loss["layer"] == "own_queue").unwrap();
    assert!(own["reasons"].to_string().contains("counted here among them"), "{own}");
}

/// A socket with a small buffer that nobody reads, and datagrams that find it full.
#[test]
fn datagrams_that_a_programs_own_small_buffer_drops_are_laid_to_it_and_not_to_the_kernels_bound() {
    let script = r#"
        python3 -c '
import socket, time
reading = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); reading.bind(("127.0.0.1", 7790))
sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100):
    time.sleep(0.05)
    for _ in range(20): sending.sendto(b"x" * 500, ("127.0.0.1", 7790))
' & sender=$!
        sleep 1; "$1" check --window 2s --only socket-buffers --output json; code=$?
        kill $sender; exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    let check = ended.json();
    let checks = check["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["target"] == "UDP receivers").unwrap();
    assert_eq!((&found["status"], &found["recommended"]), (&"advice".into(), &Value::Null), "{found}");
    assert_eq!(found["configured"], "8,192 bytes at port 7790", "{found}");
    assert!(found["reason"].as_str().unwrap().contains("reads too slowly"), "{found}");
}

#[test]
fn a_program_that_does_not_accept_is_named_and_its_clients_tries_are_no_connections() {
    let script = r#"
        python3 -c '
import socket, time
listening = socket.socket(); listening.bind(("127.0.0.1", 7791)); listening.listen(3)
tries = [socket.socket() for _ in range(20)]
for one in tries:
    one.setblocking(False)
    try: one.connect(("127.0.0.1", 7791))
    except BlockingIOError: pass
open("ready", "w")
time.sleep(60)
' & server=$!
        until [ -e ready ]; do sleep 0.02; done
        "$1" check --window 3s --only accept-queue --output json; code=$?
        kill $server; exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    let check = ended.json();
    let found = &check["checks"][0];
    assert_eq!((&found["status"], &found["recommended"]), (&"advice".into(), &Value::Null), "{found}");
    let reason = found["reason"].as_str().unwrap();
    assert!(
        reason.contains("(python3), which listens at port 7791, accepts too slowly, or not at all"),
        "{reason}"
    );
    assert_eq!(check["losses"][0]["counters"][0]["unit"], "attempts to connect", "{check}");
}

/// A sender over an interface whose receiver asked for a small buffer and reads all the time.
#[test]
fn a_receiver_whose_program_asked_for_a_small_buffer_is_told() {
    let script = r#"
        python3 -c '
import socket, threading
listening = socket.socket(); listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
listening.bind(("127.0.0.1", 7792)); listening.listen(1)
def send():
    one = socket.create_connection(("127.0.0.1", 7792))
    while True: one.sendall(b"x" * 65536)
threading.Thread(target=send, daemon=True).start()
reading, _ = listening.accept()
while reading.recv(1 << 16): pass
' & sender=$!
        sleep 1; "$1" check --window 3s --only socket-buffers --output json
        kill $sender; exit 0"#;
    let Some(ended) = in_a_namespace(script) else { return };
    let check = ended.json();
    let checks = check["checks"].as_array().unwrap();
    let small = checks.iter().find(|check| check["target"] == "TCP receivers with a buffer of their own");
    let small = small.unwrap_or_else(|| panic!("{check}"));
    assert!(small["reason"].as_str().unwrap().contains("to port"), "{small}");
    assert_ne!(small["status"], "ok", "{small}");
}

#[test]
fn a_window_in_which_nothing_can_grow_is_refused() {
    for window in ["0s", "99ms"] {
        let ended = Program::new(["check", "--window", window]).run();
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("is too short"), "{}", ended.stderr);
        assert!(ended.stderr.contains("--window 10s"), "{}", ended.stderr);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_the_window_by_the_name_that_was_given() {
    for option in ["--html", "--out"] {
        let ended = Program::new(["check", "--window", "1h", option, "/sys/kernel/page"]).run();
        assert_eq!(ended.code(), Some(3), "{option}: {}", ended.stderr);
        assert!(ended.stderr.contains("/sys/kernel"), "{}", ended.stderr);
        assert!(!ended.stderr.contains(".partial"), "{}", ended.stderr);
    }
}

#[test]
fn what_goes_with_no_comparison_is_refused() {
    for more in [["--out", "d"], ["--html", "p.html"], ["--window", "3s"], ["--pid", "1"], ["--only", "thp"]]
    {
        let ended = Program::new(["check", "a.json", "b.json"]).args(more).run();
        assert_eq!(ended.code(), Some(2), "{more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("cannot be used with"), "{}", ended.stderr);
    }
}

#[test]
fn a_document_that_is_no_check_is_told_what_one_is() {
    let program = Program::new(["check", "a.json", "b.json"]);
    std::fs::write(program.directory().join("a.json"), "{}").unwrap();
    let ended = program.run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("a.json is not the check of a host"), "{}", ended.stderr);
    assert!(ended.stderr.contains("check.json") && !ended.stderr.contains("run.json"), "{}", ended.stderr);
}

#[test]
fn compared_hosts_of_which_one_loses_end_with_a_finding_and_one_document_twice_is_remarked() {
    let document = Program::new(["check", "--window", "100ms", "--output", "json"]).run().json();
    let compare = |loses: bool| {
        let program = Program::new(["check", "a.json", "b.json", "--output", "json"]);
        for name in ["a", "b"] {
            let mut of = document.clone();
            of["label"] = name.into();
            of["losses"] = serde_json::json!([]);
            for check in of["checks"].as_array_mut().unwrap() {
                if check["status"] == "advice" || check["status"] == "change" {
                    check["status"] = "ok".into();
                }
            }
            if loses && name == "b" {
                of["losses"] = serde_json::json!([{"layer": "own_queue", "counters": []}]);
            }
            std::fs::write(program.directory().join(format!("{name}.json")), of.to_string()).unwrap();
        }
        program.run()
    };
    let calm = compare(false);
    assert_eq!(calm.code(), Some(0), "{}", calm.stderr);
    assert!(calm.json()["remarks"].to_string().contains("same check"), "{}", calm.stdout);
    let loses = compare(true);
    assert_eq!(loses.code(), Some(1), "{}", loses.stderr);
}

#[test]
fn hosts_that_differ_are_held_against_each_other_and_the_unusual_one_is_named() {
    let first = Program::new(["check", "--window", "100ms", "--output", "json"]).run();
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
