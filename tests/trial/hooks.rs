//! Commands and host settings around blocks: in order, undone however a block ends, also by the part that goes on.

use super::{LINGER, blocks, document, sink, trial};
use crate::program::Program;
use plumb_lab::sink::SinkBroker;

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
    assert!(!ended.path("run/undo.json").exists());
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
    let scenario = HOOKED
        .replace("300ms", "1s")
        .replace("after: 'echo after", "after: 'cat client.properties; exit 7; ");
    let program = trial(&sink, &scenario).args(["--config", "client.properties"]);
    let config = program.directory().join("client.properties");
    std::fs::write(config, "sasl.username=u\nsasl.password=hunter2-hunter2\n").unwrap();
    let mut running = program.start();
    running.wait_for("a block with commands", |running| running.path("run/undo.json").exists().then_some(()));
    running.signal(rustix::process::Signal::KILL);
    let directory = running.path("");
    let killed = running.wait();
    let script = "cd \"$0\" && exec \"$@\"";
    let resumed = Program::new(["trial", "run", "--resume", "run"])
        .under(&["sh", "-c", script, directory.to_str().unwrap()])
        .run();
    assert_eq!(resumed.code(), Some(3), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("sasl.password=[redacted]"), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains("hunter2"), "{}", resumed.stderr);
    drop(killed);
}

/// The host's name, which a UTS namespace has to itself: a kernel setting that can be changed without harm.
fn with_hostname(value: &str) -> String {
    format!("{LINGER}    host: {{kernel.hostname: {value}}}\n")
        .replace("  fast: {producer: {linger.ms: 0}}\n", "  fast:\n    producer: {linger.ms: 0}\n")
}

/// The program within a script, in a UTS namespace of its own.
fn in_a_namespace(sink: &SinkBroker, script: &str) -> Program {
    let wrapper = ["unshare", "--uts", "sh", "-c", script, "sh"];
    let program = trial(sink, &with_hostname("plumb-changed")).under(&wrapper);
    // The name is changed in the namespace alone, so it is no business of other trials on this host.
    let journal = program.directory().join("journal");
    program.env("PLUMB_RUNTIME_DIR", journal)
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
    let refused = "a trial that was killed may have left settings of this host changed: ";
    assert!(ended.stderr.contains(refused), "{}", ended.stderr);
    assert!(ended.stderr.contains("run puts them back and goes on with it"), "{}", ended.stderr);
    assert!(!ended.path("journal/host-settings.json").exists());
    let document = document(&ended.path("run"));
    assert_eq!(document["run"]["state"]["kind"], "complete");
    assert_eq!(document["run"]["resumed"][0]["changes"], serde_json::json!([]));
    assert_eq!(blocks(&document, "fast").len(), 3);
    assert!(!ended.path("run/undo.json").exists());
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
    assert!(!ended.path("run/undo.json").exists());
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
