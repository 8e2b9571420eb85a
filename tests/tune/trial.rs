//! `plumb tune trial`: a plan of three changes of which one matters, on a path that the kernel's buffers hold back.

use super::in_a_namespace;
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
