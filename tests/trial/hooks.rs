//! Commands and host settings around blocks: in order, undone however a block ends, also by the part that goes on.

use super::{LINGER, apart, blocks, document, is_left, sink, trial};
use crate::program::Program;
use plumb_lab::sink::SinkBroker;
use rustix::process::Signal;
use std::path::Path;

/// Two equal arms, one of them with commands that write down when they are called.
const HOOKED: &str = "\
load: {rate: 200, duration: 300ms, warm_up: 0s}
trial: {primary: end_to_end.mean}
arms:
  plain: {}
  hooked:
    before: 'echo before $PLUMB_ARM $PLUMB_PAIR $PLUMB_BOOTSTRAP >> calls.txt'
    after: 'echo after $PLUMB_ARM $PLUMB_PAIR $PLUMB_BOOTSTRAP >> calls.txt'
";

#[test]
fn commands_run_before_and_after_each_block_of_their_arm_and_of_no_other() {
    let sink = sink();
    let ended = trial(&sink, HOOKED).run();
    let calls = std::fs::read_to_string(ended.path("calls.txt")).unwrap();
    let bootstrap = sink.bootstrap();
    let expected: String = (1..=3)
        .map(|pair| format!("before hooked {pair} {bootstrap}\nafter hooked {pair} {bootstrap}\n"))
        .collect();
    assert_eq!(calls, expected, "{}", ended.stderr);
    assert!(!is_left(&ended.path("")));
}

#[test]
fn a_command_that_fails_ends_the_trial_with_its_words_and_what_it_began_is_undone() {
    let sink = sink();
    let scenario =
        HOOKED.replace("before: 'echo before", "before: 'echo no such switch >&2; exit 7; echo before");
    let ended = trial(&sink, &scenario).run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    let said =
        "the command before a block of arm \"hooked\" ended with exit status: 7; it printed: no such switch";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: it runs by `sh -c`"), "{}", ended.stderr);
    let calls = std::fs::read_to_string(ended.path("calls.txt")).unwrap();
    assert!(calls.starts_with("after hooked 1 ") && calls.lines().count() == 1, "{calls}");
    assert!(sink.control().stats().partitions.is_empty(), "topics are left");
}

#[test]
fn what_a_command_prints_on_the_way_back_after_a_kill_is_told_without_secrets() {
    let sink = sink();
    let scenario = HOOKED.replace("300ms", "1s").replace(
        "after: 'echo after",
        "after: 'echo called >> called.txt; cat client.properties; cat client.properties.old; exit 7; ",
    );
    let program = trial(&sink, &scenario).args(["--config", "client.properties"]);
    let config = program.directory().join("client.properties");
    std::fs::write(config, "sasl.username=u\nsasl.password=hunter2-hunter2\n").unwrap();
    let mut running = program.start();
    running.wait_for("a block with commands", |running| is_left(&running.path("")).then_some(()));
    running.signal(Signal::KILL);
    let killed = running.wait();
    let failed = within(&killed.path(""), &["trial", "run", "--resume", "run"]).run();
    assert_eq!(failed.code(), Some(3), "{}", failed.stderr);
    assert!(failed.stderr.contains("sasl.password=[redacted]"), "{}", failed.stderr);
    assert!(!failed.stderr.contains("hunter2"), "{}", failed.stderr);
    // Without the file with the secrets the command is still run, and nothing that it prints is repeated.
    std::fs::rename(killed.path("client.properties"), killed.path("client.properties.old")).unwrap();
    let called = killed.path("called.txt");
    let resumed = within(&killed.path(""), &["trial", "run", "--resume", "run"]).run();
    assert_eq!(resumed.code(), Some(3), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("what it printed is not told"), "{}", resumed.stderr);
    assert_eq!(std::fs::read_to_string(called).unwrap(), "called\ncalled\n");
}

/// The program in the directory of an earlier one, with its journal.
fn within(directory: &Path, arguments: &[&str]) -> Program {
    let script = "cd \"$0\" && exec \"$@\"";
    apart(Program::new(arguments), directory).under(&["sh", "-c", script, directory.to_str().unwrap()])
}

/// Arms whose second has a command after its blocks that fails as long as `broken` is there.
fn with_a_way_back() -> String {
    let after = "after: 'echo after >> calls.txt; test ! -e broken'";
    HOOKED.replace("after: 'echo after $PLUMB_ARM $PLUMB_PAIR $PLUMB_BOOTSTRAP >> calls.txt'", after)
}

#[test]
fn a_command_after_a_block_that_failed_is_run_again_before_the_trial_goes_on() {
    let sink = sink();
    let program = trial(&sink, &with_a_way_back());
    std::fs::write(program.directory().join("broken"), "").unwrap();
    let ended = program.run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("is not undone; --resume runs it again"), "{}", ended.stderr);
    assert!(is_left(&ended.path("")));
    let calls = || std::fs::read_to_string(ended.path("calls.txt")).unwrap().matches("after\n").count();
    assert_eq!(calls(), 1);
    let status = within(&ended.path(""), &["tune", "status"]).run();
    let run = std::fs::canonicalize(ended.path("run")).unwrap().display().to_string();
    for said in [
        format!("a command by the trial {run}: left by a trial that was killed\n"),
        "perhaps to be run: the command after a block of \"hooked\" (pair 1): echo after >> calls.txt"
            .to_owned(),
        format!("to undo it: plumb trial run --resume {run} runs the command and goes on with it\n"),
    ] {
        assert!(status.stdout.contains(&said), "{said}: {}", status.stdout);
    }

    // Others hear of it: another trial is refused, a run is suspect.
    let directory = ended.path("");
    let bootstrap = sink.bootstrap();
    let refused =
        within(&directory, &["trial", "run", "s.yaml", "--bootstrap", &bootstrap, "--dry-run"]).run();
    assert_eq!(refused.code(), Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("the command after a block of \"hooked\""), "{}", refused.stderr);
    let plain = ["latency", "--bootstrap", &bootstrap, "--rate", "200", "--count", "100", "--output", "json"];
    let plain = within(&directory, &plain).run();
    let reasons = plain.json()["validity"]["reasons"].clone();
    let is_told = reasons.as_array().unwrap().iter().any(|reason| reason["id"] == "host-changed");
    assert!(is_told, "{reasons} {}", plain.stderr);

    let resume = ["trial", "run", "--resume", "run", "--output", "json"];
    let again = within(&directory, &resume).run();
    assert_eq!((again.code(), calls()), (Some(3), 2), "{}", again.stderr);
    assert!(!again.stderr.contains("plumb: pair"), "it measured on: {}", again.stderr);
    std::fs::remove_file(ended.path("broken")).unwrap();
    let resumed = within(&directory, &resume).run();
    assert!(matches!(resumed.code(), Some(0 | 1)), "{}", resumed.stderr);
    assert!(!is_left(&ended.path("")));
    assert!(calls() >= 5, "once for what was left, and after every block: {}", calls());
}

#[test]
fn what_a_trial_left_is_not_undone_on_another_host() {
    let sink = sink();
    let program = trial(&sink, &with_a_way_back());
    std::fs::write(program.directory().join("broken"), "").unwrap();
    let ended = program.run();
    let run = ended.path("run/run.json");
    let mut elsewhere = document(&ended.path("run"));
    let kernel = &mut elsewhere["environment"]["host"]["kernel_release"];
    *kernel = serde_json::json!({"value": "0.1-elsewhere", "source": kernel["source"].clone()});
    std::fs::write(&run, elsewhere.to_string()).unwrap();
    std::fs::remove_file(ended.path("broken")).unwrap();
    let refused = within(&ended.path(""), &["trial", "run", "--resume", "run"]).run();
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("was begun on another host"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(ended.path("calls.txt")).unwrap().matches("after\n").count(), 1);
    assert!(is_left(&ended.path("")), "the way back is lost");
}

#[test]
fn a_terminal_that_goes_away_stops_the_trial_and_what_it_changed_is_undone() {
    let sink = sink();
    // Whoever runs the tests may ignore it, as `nohup` does, and what they start with them.
    let program = trial(&sink, &HOOKED.replace("300ms", "1s")).under(&["env", "--default-signal=HUP"]);
    let mut running = program.start();
    running.wait_for("the command before a block", |running| {
        let calls = std::fs::read_to_string(running.path("calls.txt")).unwrap_or_default();
        calls.contains("before").then_some(())
    });
    // One from the shell, one from the kernel.
    running.signal(Signal::HUP);
    running.signal(Signal::HUP);
    let stopped = running.wait();
    assert_eq!(stopped.code(), Some(130), "{}", stopped.stderr);
    assert_eq!(document(&stopped.path("run"))["run"]["state"]["kind"], "interrupted");
    assert!(!is_left(&stopped.path("")));
    let calls = std::fs::read_to_string(stopped.path("calls.txt")).unwrap();
    let of = |word: &str| calls.lines().filter(|line| line.starts_with(word)).count();
    assert!(of("after") >= 1 && of("after") == of("before"), "{calls}");
}

#[test]
fn who_ignores_the_terminals_end_is_not_stopped_by_it() {
    let sink = sink();
    let script = "trap '' HUP; exec \"$@\"";
    let mut running = trial(&sink, HOOKED).under(&["sh", "-c", script, "sh"]).start();
    running.wait_for("a block with commands", |running| is_left(&running.path("")).then_some(()));
    running.signal(Signal::HUP);
    let ended = running.wait();
    assert_eq!(document(&ended.path("run"))["run"]["state"]["kind"], "complete", "{}", ended.stderr);
}

/// The host's name, which a UTS namespace has to itself: a kernel setting that can be changed without harm.
fn with_hostname(value: &str) -> String {
    format!("{LINGER}    host: {{kernel.hostname: {value}}}\n")
        .replace("  fast: {producer: {linger.ms: 0}}\n", "  fast:\n    producer: {linger.ms: 0}\n")
}

/// The program within a script, in a UTS namespace of its own.
fn in_a_namespace(sink: &SinkBroker, script: &str) -> Program {
    let wrapper = ["unshare", "--uts", "sh", "-c", script, "sh"];
    trial(sink, &with_hostname("plumb-changed")).under(&wrapper)
}

#[test]
#[ignore = "needs root: `make trials`"]
fn a_host_setting_is_there_in_its_arms_blocks_and_put_back_after_the_trial() {
    let sink = sink();
    let script = r#"before=$(cat /proc/sys/kernel/hostname); "$@"; code=$?
        [ "$(cat /proc/sys/kernel/hostname)" = "$before" ] || exit 99; exit $code"#;
    let ended = in_a_namespace(&sink, script).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{:?} {}", ended.code(), ended.stderr);
    let document = document(&ended.path("run"));
    let read = |step: usize| document["steps"][step]["effective"]["host"]["kernel.hostname"].clone();
    assert_eq!(read(1), "plumb-changed");
    assert_ne!(read(0), "plumb-changed");
    assert_eq!(read(0), read(2));
    assert_eq!(blocks(&document, "fast").len(), 3);
    assert!(ended.stdout.contains("\"host.kernel.hostname\": \"plumb-changed\""), "{}", ended.stdout);
}

#[test]
#[ignore = "needs root: `make trials`"]
fn a_host_setting_that_a_killed_trial_left_is_put_back_by_the_one_that_goes_on() {
    let sink = sink();
    let script = r#"before=$(cat /proc/sys/kernel/hostname); "$@" & pid=$!
        until [ "$(cat /proc/sys/kernel/hostname)" = plumb-changed ]; do sleep 0.01; done
        kill -KILL $pid; wait $pid
        [ "$(cat /proc/sys/kernel/hostname)" = plumb-changed ] || exit 98
        "$1" trial run s.yaml --bootstrap 127.0.0.1:1 --dry-run; [ $? = 3 ] || exit 97
        "$1" trial run --resume run --output json; code=$?
        [ "$(cat /proc/sys/kernel/hostname)" = "$before" ] || exit 99; exit $code"#;
    let ended = in_a_namespace(&sink, script).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "{:?} {}", ended.code(), ended.stderr);
    assert!(
        ended.stderr.contains("undoing what the part that was killed left: kernel.hostname back to"),
        "{}",
        ended.stderr
    );
    let refused = "a trial that was killed may have left settings of this host changed";
    assert!(ended.stderr.contains(refused), "{}", ended.stderr);
    assert!(ended.stderr.contains("run puts them back and goes on with it"), "{}", ended.stderr);
    let document = document(&ended.path("run"));
    assert_eq!(document["run"]["state"]["kind"], "complete");
    assert_eq!(document["run"]["resumed"][0]["changes"], serde_json::json!([]));
    assert_eq!(blocks(&document, "fast").len(), 3);
    assert!(!is_left(&ended.path("")));
}

#[test]
#[ignore = "needs root: `make trials`"]
fn a_host_setting_is_put_back_when_the_user_stops_the_trial() {
    let sink = sink();
    let script = r#"before=$(cat /proc/sys/kernel/hostname); "$@" & pid=$!
        until [ "$(cat /proc/sys/kernel/hostname)" = plumb-changed ]; do sleep 0.01; done
        kill -TERM $pid; wait $pid; code=$?
        [ "$(cat /proc/sys/kernel/hostname)" = "$before" ] || exit 99; exit $code"#;
    let ended = in_a_namespace(&sink, script).run();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    assert!(!is_left(&ended.path("")));
}

/// Halves of one limit, and a disk's scheduler, which takes the queue's length and tunables with it: on the kernel itself.
#[test]
#[ignore = "needs root: `make trials`"]
fn settings_that_the_kernel_changes_together_are_all_as_they_were_after_the_trial() {
    let sink = sink();
    let scenario = "\
load: {rate: 200, duration: 300ms, warm_up: 100ms}
trial: {primary: end_to_end.mean}
arms:
  default: {}
  changed:
    host: {vm.dirty_bytes: 200000000, vm.dirty_background_bytes: 50000000, DISK/scheduler: mq-deadline, DISK/nr_requests: 64}
";
    // Exit code 77: this machine has no loop device to spare, or one without that scheduler.
    let script = r#"truncate -s 16M disk && loop=$(losetup --find --show disk) || exit 77
        trap 'losetup -d "$loop"' EXIT
        queue=/sys/block/$(basename "$loop")/queue
        grep -q mq-deadline "$queue/scheduler" || exit 77
        sed -i "s|DISK|$queue|g" s.yaml
        settings() { cat /proc/sys/vm/dirty_* "$queue/scheduler" "$queue/nr_requests" "$queue/read_ahead_kb" "$queue/wbt_lat_usec"
            ls "$queue"; } 2> /dev/null
        before=$(settings); "$@"; code=$?
        [ "$(settings)" = "$before" ] || { settings >&2; exit 99; }; exit $code"#;
    let ended = trial(&sink, scenario).under(&["sh", "-c", script, "sh"]).run();
    if ended.code() == Some(77) {
        return;
    }
    assert!(matches!(ended.code(), Some(0 | 1)), "{:?} {}", ended.code(), ended.stderr);
    let document = document(&ended.path("run"));
    let read = |step: usize, name: &str| {
        let host = document["steps"][step]["effective"]["host"].as_object().unwrap();
        host.iter().find(|(key, _)| key.ends_with(name)).map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!((read(1, "vm.dirty_bytes"), read(0, "vm.dirty_bytes")), ("200000000".into(), "0".into()));
    assert_eq!((read(1, "scheduler"), read(1, "nr_requests")), ("mq-deadline".into(), "64".into()));
    assert_ne!(read(0, "scheduler"), "mq-deadline");
}

#[test]
#[ignore = "needs root: `make trials`"]
fn without_the_right_to_write_a_setting_nothing_is_started() {
    let sink = sink();
    let program = trial(&sink, &with_hostname("plumb-changed"));
    // Everybody may look into the directory and at the program; nobody's is the right to write kernel settings.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program.directory(), open).unwrap();
    let ended = program
        .under(&[
            "setpriv",
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--reuid=65534",
            "--clear-groups",
            "--",
        ])
        .run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    let said = "host setting kernel.hostname: /proc/sys/kernel/hostname may not be written by this user";
    assert!(ended.stderr.contains(said) && ended.stderr.contains("as root"), "{}", ended.stderr);
    assert_eq!(sink.control().stats().partitions.len(), 0);
    assert!(!ended.path("run").exists());
}
