//! Whenever `plumb tune apply` is killed, what it changed is put back to the byte.

use super::{in_a_namespace, passed_over};

/// Ends the program at every so many bytes of its journal: the kernel ends a process that writes beyond the size it is allowed, at the very
/// byte. So it ends before steps, within the line that announces one, and after a value was written and before that is noted.
#[test]
fn a_kill_at_any_byte_of_the_journal_leaves_nothing_changed_after_a_revert() {
    let script = r#"
        all > before; kills=0; changed=0
        "$1" tune apply plan.json --output json > whole.json 2> /dev/null || exit 91
        whole=$(stat -c %s state/journal/*.jsonl | tail -1)
        "$1" tune revert > /dev/null || exit 92
        all | cmp - before || exit 93
        step=$(( whole / 210 ))
        for (( size = 1; size < whole; size += step )); do
            rm -rf state
            prlimit --fsize=$size "$1" tune apply plan.json > /dev/null 2>&1; code=$?
            [ $code -gt 128 ] || { echo "not killed at $size: $code" >&2; exit 94; }
            kills=$(( kills + 1 ))
            all | cmp -s - before || changed=$(( changed + 1 ))
            "$1" tune revert > reverted.txt 2>&1 || { cat reverted.txt >&2; exit 95; }
            all | cmp - before || { echo "not put back after a kill at $size" >&2; cat reverted.txt >&2; exit 96; }
            "$1" tune revert > /dev/null || exit 97
        done
        echo "$kills kills, $changed of them with changes made""#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    let words: Vec<u32> = ended.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [kills, changed] = words[..] else { panic!("{}", ended.stdout) };
    assert!(kills >= 200 && changed > kills / 2, "{}", ended.stdout);
}

/// The same by signals at moments that nobody chose.
#[test]
fn a_kill_at_any_moment_leaves_nothing_changed_after_a_revert() {
    let script = r#"
        all > before
        for (( kill = 0; kill < 40; kill++ )); do
            rm -rf state
            "$1" tune apply plan.json > /dev/null 2>&1 & pid=$!
            sleep 0.0$(( kill % 10 ))$(( kill * 7 % 10 )); kill -KILL $pid 2> /dev/null; wait $pid
            "$1" tune revert > reverted.txt 2>&1 || { cat reverted.txt >&2; exit 95; }
            all | cmp - before || { cat reverted.txt >&2; exit 96; }
        done"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
}

/// A write beyond the size that it is allowed fails for a program that ignores the signal: the journal has no room in the middle of a line. What
/// was made is put back, that is written down where there is room for it, and the journal stays whole.
#[test]
fn without_room_for_a_record_what_was_made_is_put_back_and_the_journal_stays_whole() {
    let script = r#"
        all > before; told=0
        "$1" tune apply plan.json > /dev/null 2>&1 || exit 91
        whole=$(stat -c %s state/journal/*.jsonl)
        "$1" tune revert > /dev/null || exit 92
        for (( size = 500; size < whole; size += whole / 25 )); do
            rm -rf state
            (trap '' XFSZ; prlimit --fsize=$size "$1" tune apply plan.json > /dev/null 2> failed.txt); [ $? = 3 ] || exit 93
            all | cmp - before || { echo "not put back at $size" >&2; cat failed.txt >&2; exit 94; }
            "$1" tune history > history.txt || { cat history.txt >&2; exit 95; }
            grep -q '"record":"reverting"' state/journal/*.jsonl && told=$(( told + 1 ))
            "$1" tune revert > /dev/null && "$1" tune apply plan.json > /dev/null 2>&1 && "$1" tune revert > /dev/null || exit 96
        done
        echo "$told""#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.trim().parse::<u32>().unwrap() > 5, "{}", ended.stdout);
}

/// Where the journal cannot be written nothing is changed.
#[test]
fn without_room_for_the_journal_nothing_is_changed() {
    let script = r#"
        all > before; mkdir state; mount -t tmpfs -o size=4k,nr_inodes=5 none state 2> /dev/null || exit 77
        head -c 4096 /dev/zero > state/full
        "$1" tune apply plan.json; code=$?
        all | cmp - before || exit 96; exit $code"#;
    let Some(ended) = in_a_namespace(
        &format!("unshare --mount bash -c '{}' bash \"$1\"", script.replace('\'', "'\\''"))
            .replace("all >", &format!("{}; all >", super::all_settings())),
    ) else {
        return;
    };
    if ended.code() == Some(77) {
        passed_over(&format!("this machine lacks what the script needs: {}", ended.stderr));
        return;
    }
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("cannot write down"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was changed"), "{}", ended.stderr);
}
