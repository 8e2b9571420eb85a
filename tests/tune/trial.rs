//! `plumb tune trial`: plans of several changes of which one matters, by latency and by the packets that the host loses.

use super::in_a_namespace;
use crate::program::Program;
use serde_json::Value;

/// Send buffers that hold less than a message; the plan has buffers of the usual size, and two settings that this load cannot feel.
#[test]
#[ignore = "takes more than a minute: `make trials`"]
fn of_a_plan_that_helps_only_the_change_that_matters_is_proposed_and_the_host_is_as_before() {
    let script = r#"
        echo "4096 4096 4096" > /proc/sys/net/ipv4/tcp_wmem
        printf 'net.ipv4.tcp_wmem: "4096 16384 4194304"\nnet.ipv4.tcp_fin_timeout: 40\nnet.ipv4.tcp_keepalive_time: 700\n' > three.yaml
        "$1" tune plan --profile three.yaml --only profile --window 0s --out three.json > /dev/null || exit 91
        all > before
        "$1" lab sink --topic t > sink.txt & sink=$!
        trap 'kill $sink' EXIT
        until port=$(grep -o '127.0.0.1:[0-9]*' sink.txt); do sleep 0.02; done
        printf "load: {rate: 20, size: 100KB, duration: 600ms, warm_up: 100ms}\ntrial: {primary: end_to_end.mean}\n" > load.yaml
        "$1" tune trial three.json --load load.yaml --bootstrap $port --pairs 7 --level 0.75 --out out; code=$?
        all | cmp - before || exit 96; exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let proposed: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("out/proposed.json")).unwrap()).unwrap();
    let changes = proposed["changes"].as_array().unwrap();
    let names: Vec<&str> = changes.iter().map(|change| change["target"]["key"].as_str().unwrap()).collect();
    assert!(names.contains(&"net.ipv4.tcp_wmem"), "{names:?}: {}", ended.stdout);
    assert!(ended.stdout.contains("net.ipv4.tcp_wmem: matters"), "{}", ended.stdout);
}

/// "Raise everything" against settings that the load cannot feel: nothing is proposed. At this level pairs rarely look better
/// by chance.
#[test]
fn of_a_plan_that_does_not_help_nothing_is_proposed() {
    let script = r#"
        printf 'net.ipv4.tcp_fin_timeout: 40\nnet.ipv4.tcp_keepalive_time: 700\n' > idle.yaml
        "$1" tune plan --profile idle.yaml --only profile --window 0s --out idle.json > /dev/null || exit 91
        all > before
        "$1" lab sink --topic t > sink.txt & sink=$!
        trap 'kill $sink' EXIT
        until port=$(grep -o '127.0.0.1:[0-9]*' sink.txt); do sleep 0.02; done
        printf "load: {rate: 50, size: 1KB, duration: 300ms, warm_up: 100ms}\ntrial: {primary: end_to_end.mean}\n" > load.yaml
        "$1" tune trial idle.json --load load.yaml --bootstrap $port --pairs 11 --level 0.995 --margin 50% --out out; code=$?
        all | cmp - before || exit 96; exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(1), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("nothing is proposed"), "{}", ended.stdout);
    assert!(!ended.path("out/proposed.json").exists());
}

/// Datagrams in bursts to a socket that is read with some delay, both made anew all the while: what its buffer does not hold is lost.
const BURSTS: &str = r#"
import socket, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reader.bind(("127.0.0.1", 0)); reader.setblocking(False)
    for _ in range(40): one.sendto(b"x" * 500, reader.getsockname())
    time.sleep(0.02)
    try:
        while reader.recv(2000): pass
    except BlockingIOError: pass
    reader.close(); time.sleep(0.03)
"#;

/// The whole way of a loss on this host: `check` names the layer, a plan raises everything that one hears of, and the trial by packets keeps
/// the one change that matters.
#[test]
#[ignore = "takes more than a minute and changes this host's default buffer of datagrams meanwhile: `make trials`"]
fn of_a_plan_that_raises_everything_the_one_change_that_loses_fewer_packets_is_proposed() {
    let script = format!(
        r#"
        was=$(cat /proc/sys/net/core/rmem_default)
        echo 4608 > /proc/sys/net/core/rmem_default || exit 97
        python3 -c '{BURSTS}' & bursts=$!
        "$1" lab sink --topic t > sink.txt & sink=$!
        trap 'kill $sink $bursts; echo $was > /proc/sys/net/core/rmem_default' EXIT
        until port=$(grep -o '127.0.0.1:[0-9]*' sink.txt); do sleep 0.02; done
        "$1" check --window 2s --output json > check.json
        printf 'net.core.rmem_default: 212992\nnet.core.netdev_max_backlog: 5000\nnet.ipv4.tcp_fin_timeout: 40\n' > all.yaml
        "$1" tune plan --profile all.yaml --only profile --window 0s --out all.json > /dev/null || exit 91
        printf "load: {{rate: 50, size: 1KB, duration: 500ms, warm_up: 100ms}}\n" > load.yaml
        "$1" tune trial all.json --load load.yaml --bootstrap $port --primary host.packets_lost --pairs 12 --out out"#
    );
    let ended = Program::new::<&str>([]).under(&["bash", "-c", &script, "bash"]).run();
    if ended.code() == Some(97) {
        super::passed_over("this host's buffers cannot be changed (root is needed)");
        return;
    }
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let document = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(ended.path(name)).unwrap()).unwrap()
    };
    let layers = document("check.json")["losses"].as_array().unwrap().clone();
    assert!(layers.iter().any(|loss| loss["layer"] == "socket"), "{layers:?}");
    let proposed = document("out/proposed.json")["changes"].as_array().unwrap().clone();
    let names: Vec<&str> = proposed.iter().map(|change| change["target"]["key"].as_str().unwrap()).collect();
    assert_eq!(names, ["net.core.rmem_default"], "{}", ended.stdout);
}

/// An interface whose queue is too small for what is sent, in one arm. What tc(8) counts at the end of each block is the truth.
#[test]
fn a_trial_by_lost_packets_counts_no_more_than_the_kernel_and_names_the_arm_that_loses_none() {
    let script = r#"
        ip link add v0 type veth peer name v1
        ip addr add 10.9.0.1/24 dev v0; ip link set v0 up; ip link set v1 up
        ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
        python3 -c '
import socket, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(20): one.sendto(b"x" * 1000, ("10.9.0.2", 9))
    time.sleep(0.02)
' & sender=$!
        "$1" lab sink --topic t > sink.txt & sink=$!
        trap 'kill $sink $sender' EXIT
        until port=$(grep -o '127.0.0.1:[0-9]*' sink.txt); do sleep 0.02; done
        cat > s.yaml << END
cluster: {bootstrap: "$port"}
load: {rate: 50, duration: 400ms, warm_up: 0s}
trial: {primary: host.packets_lost, pairs: 8}
arms:
  small queue:
    before: "tc qdisc replace dev v0 root handle 7: tbf rate 1mbit burst 3kb limit 6kb"
    after: "tc -s qdisc show dev v0 >> tc.txt; tc qdisc del dev v0 root"
  no limit: {}
END
        "$1" trial run s.yaml --out out"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("out/run.json")).unwrap()).unwrap();
    let trial = &run["trial"];
    assert_eq!(
        (&trial["verdicts"][0]["arm"], &trial["verdicts"][0]["verdict"]),
        (&"no limit".into(), &"better".into()),
        "{trial:#}"
    );
    let tc = std::fs::read_to_string(ended.path("tc.txt")).unwrap();
    let dropped: f64 = tc
        .split("dropped ")
        .skip(1)
        .map(|rest| rest.split(',').next().unwrap().parse::<f64>().unwrap())
        .sum();
    // The reference runs twice a pair, and what is lost before and after the measured part is in tc's count alone.
    let lost_by = |step: usize| -> f64 {
        let blocks = run["steps"][step]["blocks"].as_array().unwrap();
        let losses = blocks.iter().flat_map(|block| block["host_losses"].as_array().unwrap());
        losses
            .flat_map(|loss| loss["counters"].as_array().unwrap())
            .map(|one| one["amount"].as_f64().unwrap())
            .sum()
    };
    let (small, none, again) = (lost_by(0), lost_by(1), lost_by(2));
    assert_eq!(none, 0.0);
    assert!(small + again <= dropped && small + again > 0.2 * dropped, "{small} and {again} of {dropped}");
    assert!(ended.stdout.contains("packets lost by this host"), "{}", ended.stdout);
}
