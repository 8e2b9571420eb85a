//! Changes that have to be confirmed come back by themselves: when nobody confirms, when whoever made them is killed, when the terminal goes
//! away, and when a peer cannot be reached any more.

use super::{in_a_namespace, passed_over};

/// Waits until the settings are as before, or gives up after 10 s.
const COMES_BACK: &str = r#"comes_back() { for (( look = 0; look < 500; look++ )); do all | cmp -s - before && return 0; sleep 0.02; done; return 1; }
    all > before
"#;

fn script(rest: &str) -> String {
    format!("{COMES_BACK}{rest}")
}

#[test]
fn what_nobody_confirms_comes_back_by_itself_and_what_is_confirmed_stays() {
    let rest = r#"
        "$1" tune apply plan.json --confirm-within 300ms > applied.txt || exit 91
        comes_back || exit 92
        "$1" tune history | grep -q "nobody confirmed in time" || exit 93
        "$1" tune confirm 2> late.txt && exit 94
        "$1" tune apply plan.json --confirm-within 60s > applied.txt || exit 95
        "$1" tune apply plan.json 2> second.txt; [ $? = 3 ] || exit 96
        guard=$("$1" tune status --output json | grep '"guard"' | tr -dc 0-9)
        "$1" tune confirm || exit 97
        while kill -0 $guard 2> /dev/null; do sleep 0.02; done
        all | cmp -s - before && exit 98
        "$1" tune revert > /dev/null && all | cmp - before"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let second = std::fs::read_to_string(ended.path("second.txt")).unwrap();
    assert!(second.contains("neither confirmed nor put back"), "{second}");
    let late = std::fs::read_to_string(ended.path("late.txt")).unwrap();
    assert!(late.contains("no changes wait to be confirmed"), "{late}");
}

#[test]
fn what_a_killed_apply_began_comes_back_by_its_guard() {
    let rest = r#"
        for (( kill = 0; kill < 10; kill++ )); do
            rm -rf state
            "$1" tune apply plan.json --confirm-within 60s > /dev/null 2>&1 & pid=$!
            # Killed once a step is written down; where it was faster, it waits to be confirmed, and a user reverts.
            until grep -q '"begun"' state/journal/*.jsonl 2> /dev/null; do :; done
            kill -KILL $pid; wait $pid
            "$1" tune status --output json | grep -q "waits to be confirmed" && "$1" tune revert > /dev/null
            comes_back || { "$1" tune history >&2; exit 92; }
        done"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_change_that_cuts_off_a_peer_comes_back_by_itself() {
    // The peer is at the other end of a virtual cable, in a namespace of its own; the plan takes the cable down.
    let rest = r#"
        ip link add here type veth peer name there || exit 77
        unshare --net sleep 600 & peer=$!
        until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
        ip link set there netns $peer; ip address add 10.9.9.1/24 dev here; ip link set here up
        nsenter --net --target $peer sh -c 'ip address add 10.9.9.2/24 dev there; ip link set there up; ip link set lo up'
        nsenter --net --target $peer python3 -m http.server --bind 10.9.9.2 9999 > sink.txt 2>&1 & sink=$!
        trap 'kill $peer $sink' EXIT
        until (: < /dev/tcp/10.9.9.2/9999) 2> /dev/null; do sleep 0.05; kill -0 $sink 2> /dev/null || { cat sink.txt >&2; exit 78; }; done
        printf '/sys/class/net/here/flags: "0x1002"\n' > cut.yaml
        mount -t sysfs none /sys 2> /dev/null || exit 77
        "$1" tune plan --profile cut.yaml --only profile --window 0s --out cut.json > /dev/null || exit 91
        "$1" tune apply cut.json --confirm-within 60s 2> refused.txt && exit 90
        "$1" tune apply cut.json --force --confirm-within 60s --keep-reachable 10.9.9.2:9999 > applied.txt || exit 92
        ip link show here | grep -q 'UP' && exit 93
        for (( look = 0; look < 500; look++ )); do ip link show here | grep -q ',UP' && break; sleep 0.02; done
        (: < /dev/tcp/10.9.9.2/9999) || exit 94
        "$1" tune history | grep -q "peer could not be reached" || exit 95"#;
    let Some(ended) = in_a_namespace(&format!(
        "exec unshare --mount bash -c '{}' bash \"$1\"",
        format!("{}\n{}", super::all_settings(), script(rest)).replace('\'', "'\\''")
    )) else {
        return;
    };
    if ended.code() == Some(77) {
        passed_over(&format!("this machine lacks what the script needs: {}", ended.stderr));
        return;
    }
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_peer_that_cannot_be_reached_before_is_refused_and_nothing_is_changed() {
    let rest = r#""$1" tune apply plan.json --confirm-within 60s --keep-reachable 127.0.0.1:1; code=$?
        all | cmp - before || exit 96; exit $code"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(2), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("127.0.0.1:1 takes no connection now"), "{}", ended.stderr);
}

#[test]
fn what_was_made_from_a_terminal_that_goes_away_comes_back_by_itself() {
    let rest = r#"
        command -v script > /dev/null || exit 77
        # The terminal ends with its shell; the guard is the shell's child and outlives it.
        script --quiet --command "bash -c '$1 tune apply plan.json --confirm-within 60s > applied.txt 2>&1; sleep 0.3; true'" /dev/null < /dev/null > /dev/null
        comes_back || { "$1" tune history >&2; cat applied.txt >&2; exit 92; }
        "$1" tune history | grep -q "terminal went away" || { "$1" tune history >&2; exit 93; }"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    if ended.code() == Some(77) {
        passed_over(&format!("this machine lacks what the script needs: {}", ended.stderr));
        return;
    }
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_session_that_began_outside_a_container_is_no_obstacle() {
    // As `docker exec` starts it: the leader of the session is in no process list that can be seen here.
    let rest = r#"unshare --pid --fork --mount-proc bash -c '
        "$1" tune apply plan.json --confirm-within 300ms > applied.txt || exit 91
        '"$(declare -f all comes_back)"'
        comes_back || exit 92' bash "$1""#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn what_an_apply_that_stands_still_began_comes_back_by_its_guard() {
    let rest = r#"
        "$1" tune apply plan.json --confirm-within 300ms > /dev/null 2>&1 & pid=$!
        until grep -q '"begun"' state/journal/*.jsonl 2> /dev/null; do :; done
        kill -STOP $pid 2> /dev/null
        # It does not go on, so it ends when the guard ends it.
        wait $pid; comes_back || { "$1" tune history >&2; exit 92; }"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_journal_that_is_taken_away_or_damaged_is_no_way_to_keep_what_was_not_confirmed() {
    let rest = r#"
        for harm in 'rm -rf state' 'sed -i 3s/.*/nothing/ state/journal/*.jsonl'; do
            rm -rf state
            "$1" tune apply plan.json --confirm-within 60s > /dev/null || exit 91
            eval "$harm"
            comes_back || exit 92
        done
        # What cannot be read is never called nothing.
        "$1" tune status; [ $? = 3 ] || exit 93
        "$1" tune revert; [ $? = 3 ] || exit 94"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("damaged in line 3"), "{}", ended.stderr);
}

#[test]
fn what_is_confirmed_stays_although_its_journal_is_taken_away_at_once() {
    let rest = r#"
        "$1" tune apply plan.json --confirm-within 60s > /dev/null || exit 91
        guard=$("$1" tune status --output json | grep '"guard"' | tr -dc 0-9)
        all > after; kill -STOP $guard
        "$1" tune confirm > /dev/null && mv state taken && kill -CONT $guard || exit 92
        while kill -0 $guard 2> /dev/null; do sleep 0.02; done
        all | cmp - after || exit 93
        mv taken state; "$1" tune revert > /dev/null && all | cmp - before"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn on_a_full_disk_the_guard_puts_back_once_and_leaves_alone_what_is_set_after_that() {
    let rest = r#"
        mkdir small; mount -t tmpfs -o size=64k none small || exit 77
        trap 'umount --lazy small' EXIT
        export PLUMB_STATE_DIR=$PWD/small
        "$1" tune apply plan.json --confirm-within 500ms > applied.txt || exit 91
        guard=$("$1" tune status --output json | grep '"guard"' | tr -dc 0-9)
        head -c 100000 /dev/zero > small/fill 2> /dev/null
        comes_back || exit 92
        # The very value of the plan, now by hand.
        echo 8191 > /proc/sys/net/core/somaxconn
        sleep 1.5
        [ "$(cat /proc/sys/net/core/somaxconn)" = 8191 ] || exit 93
        rm small/fill
        while kill -0 $guard 2> /dev/null; do sleep 0.02; done
        [ "$(cat /proc/sys/net/core/somaxconn)" = 8191 ] || exit 94
        "$1" tune history | grep -q "nobody confirmed in time" || { "$1" tune history >&2; exit 95; }"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    match ended.code() {
        Some(77) => passed_over("no file system in memory can be mounted here"),
        code => assert_eq!(code, Some(0), "{} {}", ended.stdout, ended.stderr),
    }
}

#[test]
fn a_guard_that_was_killed_is_told() {
    let rest = r#"
        "$1" tune apply plan.json --confirm-within 60s > /dev/null || exit 91
        kill -KILL $("$1" tune status --output json | grep '"guard"' | tr -dc 0-9)
        until "$1" tune status | grep -q "its guard is gone"; do sleep 0.05; done
        "$1" tune revert > /dev/null && all | cmp - before"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn a_journal_that_is_cut_at_once_is_no_way_to_keep_what_was_not_confirmed() {
    let rest = r#"
        for lines in 0 1 2 20; do
            rm -rf state
            "$1" tune apply plan.json --confirm-within 60s > /dev/null || exit 91
            journal=$(echo state/journal/*.jsonl); head -n $lines $journal > cut; cat cut > $journal
            comes_back || exit 92
        done"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

#[test]
fn on_a_disk_that_is_read_only_by_now_guard_and_revert_put_back_all_the_same() {
    let rest = r#"
        mkdir small; mount -t tmpfs none small || exit 77
        trap 'umount --lazy small' EXIT
        export PLUMB_STATE_DIR=$PWD/small
        "$1" tune apply plan.json --confirm-within 500ms > applied.txt || exit 91
        mount -o remount,ro small || exit 77
        comes_back || exit 92
        mount -o remount,rw small
        # What became of them is written down once that is possible.
        until "$1" tune history | grep -q "nobody confirmed in time"; do sleep 0.05; done
        "$1" tune apply plan.json > applied.txt || exit 93
        mount -o remount,ro small || exit 94
        "$1" tune revert > reverted.txt || exit 95
        all | cmp - before"#;
    let Some(ended) = in_a_namespace(&script(rest)) else { return };
    match ended.code() {
        Some(77) => passed_over("no file system in memory can be mounted here, or made read-only"),
        code => {
            assert_eq!(code, Some(0), "{} {}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains("goes on showing these changes"), "{}", ended.stderr);
        }
    }
}
