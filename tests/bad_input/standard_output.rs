//! Standard output that does not take what is printed: every command says so, whatever else it found.

use crate::program::{Ended, Program};

/// Commands that print, each from another part of the program, and that take no time.
const COMMANDS: [&[&str]; 6] = [
    &["--help"],
    &["--version"],
    &["explain"],
    &["probe", "facts", "--output", "json"],
    &["size", "--machine", "list"],
    &["latency", "--lab", "--rate", "10", "--dry-run", "--output", "json"],
];

fn into(redirection: &str, words: &[&str]) -> Ended {
    let script = format!("exec \"$@\" {redirection}");
    Program::new(words).under(&["sh", "-c", &script, "sh"]).run()
}

#[test]
fn what_cannot_be_printed_is_an_error_of_the_environment_with_its_cause() {
    for (redirection, cause) in
        [("> /dev/full", "No space left on device"), ("1< /dev/null", "Bad file descriptor")]
    {
        for words in COMMANDS {
            let ended = into(redirection, words);
            assert_eq!(ended.code(), Some(3), "{redirection} {words:?}: {}", ended.stderr);
            for part in ["error: cannot write to standard output", cause, "hint: "] {
                assert!(ended.stderr.contains(part), "{redirection} {words:?}: {}", ended.stderr);
            }
        }
    }
}

#[test]
fn a_reader_that_went_away_and_a_bin_for_it_are_no_errors() {
    for words in COMMANDS {
        for redirection in ["> /dev/null", "1<> /dev/null", ">&-"] {
            let ended = into(redirection, words);
            assert_eq!((ended.code(), ended.stderr.contains("error:")), (Some(0), false), "{}", ended.stderr);
        }
        // `sleep 0` reads nothing and goes.
        let script = "{ \"$@\"; echo \"code $?\" >&2; } | sleep 0";
        let ended = Program::new(words).under(&["sh", "-c", script, "sh"]).run();
        assert!(ended.stderr.contains("code 0"), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn an_error_of_the_command_comes_before_one_of_the_output() {
    let ended = into("> /dev/full", &["explain", "no-such-finding"]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(!ended.stderr.contains("standard output"), "{}", ended.stderr);
}
