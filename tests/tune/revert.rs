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
    assert!(text.contains("not put back, because somebody else has set it to 77 since"), "{text}");
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
fn a_journal_that_was_cut_within_its_first_line_is_named_and_nothing_is_said_to_be_unchanged() {
    let script = r#"
        "$1" tune apply plan.json > /dev/null || exit 91
        journal=$(echo state/journal/*.jsonl); cp $journal whole
        for length in 0 40; do
            head -c $length whole > $journal
            for command in status history revert 'apply plan.json'; do
                "$1" tune $command; [ $? = 3 ] || exit 92
            done
        done
        cp whole $journal; "$1" tune revert > reverted.txt"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr.matches("was cut off within its first line").count(), 8, "{}", ended.stderr);
    for claim in ["has no changes", "Nothing to put back", "No changes are written down"] {
        assert!(!ended.stdout.contains(claim), "{claim}: {}", ended.stdout);
    }
}

#[test]
fn a_history_says_what_was_not_put_back_and_why_and_what_it_has_not() {
    let script = r#"
        printf 'net.ipv4.tcp_fin_timeout: 31\nnet.core.somaxconn: 8191\n' > two.yaml
        "$1" tune plan --profile two.yaml --only profile --window 0s --out two.json > /dev/null || exit 90
        "$1" tune apply two.json > /dev/null || exit 91
        echo 77 > /proc/sys/net/ipv4/tcp_fin_timeout
        sed -i '/"begun"/s/"key":"net.core.somaxconn","value":"[0-9]*"/"key":"net.core.somaxconn","value":"1234"/' state/journal/*.jsonl
        "$1" tune revert > reverted.txt; [ $? = 1 ] || exit 92
        [ "$(cat /proc/sys/net/core/somaxconn)" = 1234 ] || exit 93
        "$1" tune history"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let reverted = std::fs::read_to_string(ended.path("reverted.txt")).unwrap();
    assert!(reverted.contains("leads to 1234 and not to"), "{reverted}");
    assert!(!reverted.contains("again\n"), "{reverted}");
    for says in [
        "put back in part: plumb tune revert tries the rest again; 2 are not as before",
        "not put back, because somebody else has set it to 77 since",
        "could not be put back: the way back that is written down leads to 1234",
        "Trials that put back all that they changed are not listed",
    ] {
        assert!(ended.stdout.contains(says), "{says}: {}", ended.stdout);
    }
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

#[test]
fn a_full_disk_keeps_nothing_from_being_put_back() {
    let script = r#"
        all > before; mkdir small; mount -t tmpfs -o size=64k none small || exit 77
        trap 'umount small' EXIT
        export PLUMB_STATE_DIR=$PWD/small/state
        "$1" tune apply plan.json > /dev/null || exit 91
        head -c 100000 /dev/zero > small/full 2> /dev/null
        "$1" tune revert; code=$?
        all | cmp - before || exit 96
        rm small/full; "$1" tune revert > /dev/null || exit 97
        "$1" tune status; exit $code"#;
    let script = format!(
        "exec unshare --mount bash -c '{}' bash \"$1\"",
        format!("{}\n{script}", super::all_settings()).replace('\'', "'\\''")
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    if ended.code() == Some(77) {
        return super::passed_over("no file system of memory can be mounted here");
    }
    assert!(matches!(ended.code(), Some(0 | 3)), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("This host has no changes of Plumb's"), "{}", ended.stdout);
}

#[test]
fn a_plan_whose_way_back_was_edited_goes_back_to_what_the_host_had() {
    let script = r#"
        all > before
        sed 's/"value": "[0-9][0-9 ]*"/"value": "1111"/' plan.json > edited.json
        cmp -s plan.json edited.json && exit 90
        "$1" tune apply edited.json > /dev/null && "$1" tune revert > /dev/null || exit 91
        all | cmp - before || exit 92
        sed '/"host_digest"/d' plan.json > nowhere.json
        "$1" tune apply nowhere.json; [ $? = 2 ] || exit 93
        all | cmp - before"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn what_later_changes_were_made_over_is_put_back_after_them_and_an_interface_by_whatever_name() {
    let script = r#"
        all > before
        "$1" tune apply plan.json --output json > first.json 2> /dev/null || exit 91
        first=$(grep -o '"journal_id": "[^"]*"' first.json | cut -d'"' -f4)
        printf 'net.core.somaxconn: 9999\n' > over.yaml
        "$1" tune plan --profile over.yaml --only profile --out over.json > /dev/null || exit 92
        "$1" tune apply over.json > /dev/null || exit 93
        "$1" tune revert $first; [ $? = 2 ] || exit 94
        "$1" tune revert > /dev/null && "$1" tune revert > /dev/null || exit 95
        all | cmp - before || exit 96
        ip link add w0 type dummy || exit 77
        mount -t sysfs none /sys 2> /dev/null || exit 77
        printf '/sys/class/net/w0/gro_flush_timeout: 20000\n' > w0.yaml
        "$1" tune plan --profile w0.yaml --only profile --out w0.json > /dev/null || exit 97
        "$1" tune apply w0.json > /dev/null || exit 98
        ip link set w0 name w8
        "$1" tune revert > /dev/null || exit 99
        [ "$(cat /sys/class/net/w8/gro_flush_timeout)" = 0 ]"#;
    let script = format!(
        "exec unshare --mount bash -c '{}' bash \"$1\"",
        format!("{}\n{script}", super::all_settings()).replace('\'', "'\\''")
    );
    let Some(ended) = in_a_namespace(&script) else { return };
    if ended.code() == Some(77) {
        return super::passed_over("no interface can be made, or shown, here");
    }
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("was changed again by"), "{}", ended.stderr);
}

#[test]
fn what_cuts_off_routes_or_keeps_a_secret_is_refused() {
    let script = r#"
        all > before
        refused() { printf "$1\n" > r.yaml; "$2" tune plan --profile r.yaml --only profile --out r.json > /dev/null && "$2" tune apply r.json; code=$?; rm -f r.json; return $code; }
        for line in 'net.ipv4.conf.lo.forwarding: 1' 'net.ipv4.conf.lo.rp_filter: 2' '/sys/class/net/lo/mtu: 1200'; do refused "$line" "$1"; [ $? = 2 ] || exit 91; done
        for line in 'net.ipv4.ip_forward: 1' 'net.ipv6.conf.lo.disable_ipv6: 1' 'vm.drop_caches: 1' 'net.ipv4.tcp_fastopen_key: 00000000-00000000-00000000-00000001' 'net.ipv4.neigh.lo.retrans_time: 200'; do refused "$line" "$1"; [ $? = 3 ] || exit 92; done
        printf 'net.core.somaxconn: 0x100\n' > hex.yaml; "$1" tune plan --profile hex.yaml --only profile --output json | grep -q '"after": "0x100"' || exit 93
        "$1" tune plan --only profile; [ $? = 2 ] || exit 94
        all | cmp - before"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    for says in [
        "its value is a secret",
        "writing it again brings none of that back",
        "it is a command and no setting",
    ] {
        assert!(ended.stderr.contains(says), "{says}: {}", ended.stderr);
    }
}
