//! What `plumb tune revert` puts back, leaves, and says.

use super::in_a_namespace;

#[test]
fn what_somebody_else_changed_since_is_left_and_told_and_the_rest_goes_back() {
    let script = r#"
        all > before
        "$1" tune apply plan.json --output json > applied.json 2> /dev/null || exit 91
        grep -q '"journal_id"' applied.json || exit 92
        echo 77 > /proc/sys/net/ipv4/tcp_fin_timeout
        "$1" tune revert > reverted.txt; [ $? = 1 ] || exit 93
        [ "$(cat /proc/sys/net/ipv4/tcp_fin_timeout)" = 77 ] || exit 94
        echo "$(grep -c . before)" > /dev/null
        sysctl_before=$(sed -n 6p before); echo "$sysctl_before" > /proc/sys/net/ipv4/tcp_fin_timeout
        all | cmp - before || exit 95
        "$1" tune revert || exit 96"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let text = std::fs::read_to_string(ended.path("reverted.txt")).unwrap();
    assert!(
        text.contains("net.ipv4.tcp_fin_timeout is left: somebody else has set it to 77 since"),
        "{text}"
    );
    assert!(ended.stdout.contains("Nothing to put back"), "{}", ended.stdout);
}

#[test]
fn a_host_that_changed_since_the_plan_is_refused_before_anything_is_changed() {
    let script = r#"
        echo 444 > /proc/sys/net/ipv4/tcp_max_syn_backlog; all > before
        "$1" tune apply plan.json; code=$?
        all | cmp - before || exit 95
        exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("is not as it was when the plan was made"), "{}", ended.stderr);
}

#[test]
fn a_step_that_fails_puts_back_those_before_it_and_says_which() {
    // The kernel refuses a range that ends before it begins, which no check beforehand can know.
    let script = r#"
        all > before
        sed 's/20000 60001/60001 20000/' plan.json > bad.json
        "$1" tune apply bad.json; code=$?
        all | cmp - before || exit 95
        exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("of 25 failed; all"), "{}", ended.stderr);
    assert!(ended.stderr.contains("net.ipv4.ip_local_port_range"), "{}", ended.stderr);
}

#[test]
fn a_journal_of_a_later_version_is_named_and_nothing_new_is_changed() {
    let script = r#"
        mkdir -p state/journal
        printf '{"record":"opened","schema_version":9,"plumb_version":"7.1.0","id":"x","opened":"2030-01-01T00:00:00Z","boot_id":null,"owner":{"plan":{"confirm_within_s":null,"changes":1,"bootstrap":null}}}\n' > state/journal/x.jsonl
        all > before; "$1" tune apply plan.json; code=$?
        all | cmp - before || exit 95
        printf 'no record at all\n' > state/journal/x.jsonl
        "$1" tune revert x; echo "revert $?"
        exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("was written by plumb 7.1.0"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("damaged in line 1") && ended.stdout.contains("revert 3"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_trial_and_a_plan_do_not_change_one_host_at_once() {
    let script = r#"
        "$1" tune apply plan.json --confirm-within 60s > /dev/null || exit 91
        printf 'load: {rate: 100, duration: 1s}\ntrial: {primary: end_to_end.mean}\narms: {a: {}, b: {host: {net.core.somaxconn: 99}}}\n' > s.yaml
        "$1" trial run s.yaml --bootstrap 127.0.0.1:1 --dry-run; code=$?
        "$1" tune revert > /dev/null || exit 92; exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("plumb tune confirm"), "{}", ended.stderr);
}
